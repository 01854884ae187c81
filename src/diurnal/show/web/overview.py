"""Overview: what the custodian's room shows besides: the panel's size, the last batches, the ledger in words."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from diurnal.private import private
from diurnal.show.page.ledger import lines
from diurnal.show.web.access import FOR_CUSTODIAN, CustodianRoute
from diurnal.show.web.custodian import panel_of
from diurnal.show.web.models import standing
from diurnal.show.web.public import service_of

router = APIRouter(
    prefix="/v1/custodian", tags=["custodian"], dependencies=[FOR_CUSTODIAN], route_class=CustodianRoute
)


@router.get("/panel", response_model=standing.Homes, summary="How large the panel is")
async def homes(request: Request) -> dict[str, Any]:
    """Of the panel that the service was told of: what a plan is asked with."""
    service = service_of(request)
    panel = await service.think(lambda: panel_of(service))
    return {
        "households": panel.n_households,
        "cycles": panel.n_cycles,
        **{name: getattr(panel.grid, name) for name in ("minutes", "slots", "unit")},
        "domain": panel.domain,
        "partitions": {name: min(panel.shape_by(name).group_sizes) for name in panel.groups},
    }


@router.get("/lately", response_model=standing.Lately, summary="When readings last came in")
async def lately(request: Request) -> dict[str, Any]:
    """Of each stream, when a batch came in with which reports were released, and its end by its own clock."""
    service = service_of(request)
    streams = service.hub.streams()
    ends = {each.key: each.plan.grid.time(each.end) for each in streams if each.end is not None}

    def look() -> dict[str, str | None]:
        hub, found = service.hub, {}
        for stream in streams:
            numbers = [number for _, number in hub.released(stream.key, hub.places(stream.key) - 1, 1)]
            found[stream.key] = service.reader.events(numbers[-1] - 1, 1)[0].time if numbers else None
        return found

    return {"streams": await service.read(look), "ends": ends}


@router.get("/told", response_model=standing.Told, summary="The ledger in words")
async def told(
    request: Request, last: Annotated[int, Query(ge=1, le=5000, description="How many decisions.")] = 200
) -> dict[str, Any]:
    """The last decisions, those about people among them, for the custodian's eyes.

    Reports do not count, however many there are: between two decisions they are one line.
    """
    service = service_of(request)
    # Folded where it is read: a year of batches is many events, and no more than a line.
    told_lines = await service.read(lambda: list(lines(service.reader.decided(last), people=True)))
    content: dict[str, Any] = private({"lines": told_lines})
    return content
