"""Health: whether the service lives, whether it can be asked and written to, and what it counts."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from diurnal.errors import DiurnalError
from diurnal.show.web.models import answers
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.public import service_of

router = APIRouter(tags=["operation"])


@router.get("/healthz", response_model=answers.Ready, summary="Is it alive?")
async def alive() -> dict[str, str]:
    """It answers: it is."""
    return {"status": "ok"}


@router.get("/readyz", response_model=answers.Ready, summary="Can it be asked?")
async def ready(request: Request) -> dict[str, str]:
    """Whether the store can be reached, there is room to write, and nobody has told the service to stop."""
    service = service_of(request)
    try:
        has_room = await service.state()
    except DiurnalError:
        raise ProblemError("http-store-unreachable", retry=5) from None
    if not has_room:
        raise ProblemError("http-store-full", retry=30)
    if service.feed.stopping:
        raise ProblemError("http-stopping", retry=5)
    return {"status": "ok"}


@router.get("/metrics", summary="Metrics for Prometheus", response_class=Response)
async def metrics(request: Request) -> Response:
    """What is counted about public routes; nothing private is among it."""
    service = service_of(request)
    service.metrics.streams(stream.end is not None for stream in service.feed.streams())
    return Response(service.metrics.public_text(), media_type="text/plain; version=0.0.4; charset=utf-8")
