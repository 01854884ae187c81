"""Overview: what the custodian's room shows besides: the panel's size, the last batches, the ledger in words."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from diurnal.private import private
from diurnal.readings.kept import open_panel
from diurnal.show.page.ledger import lines
from diurnal.show.web.access import FOR_CUSTODIAN
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.public import service_of

router = APIRouter(prefix="/v1/custodian", tags=["custodian"], dependencies=[FOR_CUSTODIAN])


class Homes(BaseModel):
    """How large the panel is."""

    households: int
    cycles: int = Field(description="How many cycles of its own period it has.")
    minutes: int
    slots: int
    unit: str
    domain: tuple[int, int] | None = Field(description="What a meter can read in a step.")
    partitions: dict[str, int] = Field(description="How many homes the smallest group of each has.")


class Told(BaseModel):
    """The ledger's last events in words."""

    lines: list[list[str]] = Field(description="Number, time, words, spent; reports in a row are one line.")


class Lately(BaseModel):
    """When a batch last had reports released."""

    streams: dict[str, str | None] = Field(description="By stream, by the service's clock; null before the first.")


@router.get("/panel", response_model=Homes, summary="How large the panel is")
async def homes(request: Request) -> dict[str, Any]:
    """Of the panel that the service was told of: what a plan is asked with."""
    service = service_of(request)
    path = service.settings.panel
    if path is None:
        raise ProblemError(
            409, "panel", "The service was not told of a panel.", "Start it with --panel homes.parquet."
        )
    panel = await service.make(lambda: open_panel(path))
    return {
        "households": panel.n_households,
        "cycles": panel.n_cycles,
        **{name: getattr(panel.grid, name) for name in ("minutes", "slots", "unit")},
        "domain": panel.domain,
        "partitions": {name: min(panel.shape_by(name).group_sizes) for name in panel.groups},
    }


@router.get("/lately", response_model=Lately, summary="When readings last came in")
async def lately(request: Request) -> dict[str, Any]:
    """Of each stream, when a batch came in with which reports were released."""
    service = service_of(request)

    def look() -> dict[str, str | None]:
        hub, found = service.hub, {}
        for stream in hub.streams():
            numbers = [number for _, number in hub.released(stream.key, hub.places(stream.key) - 1)]
            found[stream.key] = service.reader.events(numbers[-1] - 1, 1)[0].time if numbers else None
        return found

    return {"streams": await service.read(look)}


@router.get("/told", response_model=Told, summary="The ledger in words")
async def told(
    request: Request, last: Annotated[int, Query(ge=1, le=5000, description="How many events.")] = 200
) -> dict[str, Any]:
    """The last events, those about people among them: for the custodian's eyes."""
    service = service_of(request)
    number = await service.read(service.reader.number)
    events = await service.read(lambda: service.reader.events(max(0, number - last), last))
    content: dict[str, Any] = private({"lines": list(lines(events, people=True))})
    return content
