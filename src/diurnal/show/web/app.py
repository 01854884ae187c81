"""App: the application over one store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI

from diurnal import __version__
from diurnal.show.web import custodian, health, ingest, models, problems, public, site
from diurnal.show.web.access import Access
from diurnal.show.web.middleware import Gate
from diurnal.show.web.models import answers, batches, shape
from diurnal.show.web.service import Service
from diurnal.show.web.settings import Settings

ABOUT = """Differentially private reports, without end, on data that repeats.

Reports are public, and never change. Values and epsilons are decimals in text. Every refusal is a problem of
RFC 9457 with `code`, `remedy` and `request`. No number of a promise means anything without its neighbours,
assumptions and limits: see `/v1/streams/{stream}/promise`.
"""

REFUSALS = {
    status: {"model": answers.Problem, "description": words}
    for status, words in {
        400: "The request cannot be parsed.",
        401: "A token is needed.",
        403: "A token with another role is needed.",
        404: "Nothing was found at this path.",
        409: "The curator refused; nothing was drawn, spent or published.",
        413: "The body is too large.",
        422: "Validation failed.",
        429: "Too many requests. Retry-After says how long to wait.",
        503: "Temporarily unavailable. Retry-After says how long to wait.",
    }.items()
}
"""What any route may answer."""

SOME_REFUSE = {
    "406": ("get", "/reports", "The format does not exist."),
    "408": ("post", "", "The body did not arrive in time."),
    "415": ("post", "/readings", "The media type of the readings is not supported."),
}
"""What some may answer besides: by which method, and how their paths end."""


class Application(FastAPI):
    """An application that says all of what it is."""

    def openapi(self) -> dict[str, Any]:
        """The description, with what the framework leaves out of it."""
        if self.openapi_schema is None:
            self.openapi_schema = _finished(super().openapi())
        return self.openapi_schema


def _finished(content: dict[str, Any]) -> dict[str, Any]:
    paths, schemas = content["paths"], content["components"]["schemas"]
    refused = {"application/json": {"schema": {"$ref": shape.PLACE.format(model="Error")}}}
    for path, methods in paths.items():
        for method, told in methods.items():
            for status, (by, end, words) in SOME_REFUSE.items():
                if method == by and path.endswith(end):
                    told["responses"][status] = {"description": words, "content": refused}
            if told.get("security") == [{"public token": []}]:
                # Only where the operator has closed reading.
                told["security"] = [{}, *told["security"]]
    paths["/metrics"]["get"]["responses"]["200"] = paths["/v1/custodian/metrics"]["get"]["responses"]["200"]
    # Its model stands instead of what the code says, which is less; it is too large to be made of it each time.
    checked = paths["/v1/custodian/check"]["get"]["responses"]["200"]["content"]["application/json"]
    checked["schema"] = {"$ref": shape.PLACE.format(model="Checked")}
    sent = batches.Readings.model_json_schema(ref_template=shape.PLACE)
    schemas.update(sent.pop("$defs"), Readings=sent)
    for name, examples in models.examples().items():
        # The framework leaves out of them what is null.
        if name in schemas:
            schemas[name]["examples"] = examples
    return content


def application(settings: Settings) -> FastAPI:
    """The application over a store.

    Raises:
        StoreError: There is no store, or it cannot be opened.
        InputError: The file of tokens cannot be read.
    """
    service, access = Service(settings), Access(settings)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        await service.open()
        try:
            yield
        finally:
            await service.close()

    # The framework's own pages of documentation load scripts from elsewhere: there are none.
    app = Application(
        title="diurnal",
        version=__version__,
        description=ABOUT,
        lifespan=living,
        docs_url=None,
        redoc_url=None,
        responses=REFUSALS,  # type: ignore[arg-type]
        redirect_slashes=False,
    )
    app.state.service, app.state.access, app.state.verdicts = service, access, {}
    app.include_router(site.router)
    for room in (public, ingest, custodian, health):
        app.include_router(room.router, dependencies=[Depends(problems.check_query)])
    problems.install(app)
    app.add_middleware(
        Gate,
        settings=settings,
        access=access,
        metrics=service.metrics,
        met=service.met,
        listeners=service.listeners,
    )
    return app
