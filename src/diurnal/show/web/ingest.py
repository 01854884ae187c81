"""Ingest: readings that a head-end sends, each batch taken once. Nothing of a reading is ever answered.

**Guarantee**: what is answered does not depend on the value of a reading that is held, or was reported. Whoever
sends guesses is answered alike whether they are right, in any format, with a key or without (`batch`), in a dry run
or not (`rehearsal`). Whether units are plausible is told of what was sent under the same token alone (`units`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from logging import WARNING
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request

from diurnal.curator import intake
from diurnal.curator.intake import Sent
from diurnal.curator.release import Outcome
from diurnal.errors import ClockError, ReadingsError, UnitError
from diurnal.readings.formats import Format
from diurnal.readings.formats.long import Long, unit_in
from diurnal.readings.importing import read
from diurnal.readings.panel import Panel
from diurnal.show.web import bodies, log, problems
from diurnal.show.web.access import FOR_INGEST, IngestRoute
from diurnal.show.web.models import batches, shape
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.public import service_of
from diurnal.show.web.service import Service

router = APIRouter(prefix="/v1", tags=["ingest"], dependencies=[FOR_INGEST], route_class=IngestRoute)

BODY = {
    "requestBody": {
        "required": True,
        "content": {
            bodies.JSON: {"schema": {"$ref": shape.PLACE.format(model="Readings")}},
            **shape.text_of(bodies.CSV, "household,time,wh\n17,2022-07-01T00:00,231\n"),
            bodies.ARROW: {"schema": shape.BYTES},
        },
    }
}


@router.post("/readings", response_model=batches.Taken, summary="Send readings", openapi_extra=BODY)
async def send(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(max_length=200, description="What the batch goes by: any word that is not made from its readings."),
    ] = None,
    key: Annotated[str | None, Query(max_length=200, description="The same, in the address.")] = None,
    stream: Annotated[
        str | None, Query(pattern="^[0-9a-f]{8,64}$", description="The one stream it is for; all unless given.")
    ] = None,
    unit: Annotated[
        Literal["Wh", "kWh"] | None,
        Query(
            description="What values are in: of JSON Wh unless given, of CSV and Arrow as their column is named."
        ),
    ] = None,
    minutes: Annotated[int | None, Query(ge=1, le=1440, description="How long a row lasts; a step.")] = None,
    dry_run: Annotated[
        bool, Query(description="Say what would become of the batch: nothing is written, and its key stays unused.")
    ] = False,
) -> Any:
    """Take a batch: for every stream at once, and once; sent again it is known by its key, and nothing happens.

    A key is its token's own, and for one batch: whatever comes under it again is answered alike, and nothing of it
    is taken. Give each batch a new one, at random, and keep it until an answer comes. Without a key, readings that
    are there already are set aside, as late or as held before.

    Answered is how many readings were taken and how many were set aside, and why. A batch that cannot be read is
    refused, and nothing of it is taken; so is one that is in another unit, by the plan's public reference and by
    what came under the same token before (422, `unit`). `units` says what the batch alone looks like.

    A step is reported when every home has sent it; or when a tenth of the homes have, and the plan's grace is over.
    With a grace of 0 that is at once, and what other homes send later is late: send all homes of a step in one
    batch, or give the plan a grace. What is left closes by its deadline, two days unless the plan says otherwise.
    Readings of times that have not come yet, by the clock of the service, are set aside; a batch of nothing else is
    refused (`clock`), and may be sent again under its key. Readings ahead of what other homes have sent are
    `waiting`. Reasons whose name begins with "steps" count steps, all others readings.
    """
    service = service_of(request)
    kind = bodies.kind_of(request.headers.get("content-type"))
    if service.batches >= service.settings.limits.batches:
        raise ProblemError("http-batches-busy", retry=1, limit="batches")
    service.batches += 1
    try:
        limits = service.settings.limits
        body = await bodies.taken_in(request, limits.json if kind == "json" else limits.body)
        # The same bytes in another unit are other readings.
        digest = hashlib.sha256(f"{kind} {unit or 'Wh'} {minutes}\n".encode() + body).hexdigest()
        sent = Sent(sender=request.state.token.digest, key=idempotency_key or key or None, content=digest)

        def make() -> Panel:
            return _panel(service, body, kind, unit, minutes, intake.takes(service.curator, stream=stream))

        if dry_run:
            return await _rehearsed(service, sent, stream, make)
        known, head = await service.write(lambda: _known(service, sent, stream))
        if known is not None:
            return _answer(sent, None, known, head)
        try:
            panel = await service.make(make)
        except ClockError as error:
            rows = error.rows
            await service.write(lambda: intake.count_ahead(service.curator, rows, stream=stream))
            raise
        outcomes, head = await service.write(lambda: _take(service, sent, panel, stream))
    except UnitError:
        log.told("units", level=WARNING, refused=True)
        raise
    finally:
        service.batches -= 1
    await service.hub.nudge()
    return _answer(sent, panel, outcomes, head)


async def _rehearsed(service: Service, sent: Sent, stream: str | None, make: Callable[[], Panel]) -> dict[str, Any]:
    """What would become of a batch."""

    def known() -> tuple[tuple[Outcome, ...] | None, str]:
        return intake.known_rehearsal(service.curator, sent, stream=stream), service.curator.head

    found, head = await service.write(known)
    if found is not None:
        return {**_answer(sent, None, found, head), "dry_run": True}
    panel = await service.make(make)
    outcomes, refusal = await service.write(lambda: intake.rehearse(service.curator, sent, panel, stream=stream))
    refused = None if refusal is None else problems.of_error(refusal).message
    return {**_answer(sent, panel, outcomes, head), "dry_run": True, "refused": refused}


def _panel(service: Service, body: bytes, kind: str, unit: str | None, minutes: int | None, steps: range) -> Panel:
    table = bodies.table_of(body, kind, unit=unit or "Wh", rows=service.settings.limits.rows)
    grid, _ = service.population()
    said = {} if unit is None else {"unit": unit}
    given = read(table, format="long", minutes=minutes or grid.minutes, **said)
    check_unit(given.format, unit)
    return service.panel(given, steps)


def check_unit(found: Format, unit: str | None) -> None:
    """Refuse a unit that contradicts the name of the column: one of the two is wrong.

    Raises:
        ReadingsError: It does.
    """
    named = unit_in(found.value or "") if isinstance(found, Long) else ""
    if unit is not None and named not in ("", unit):
        raise ReadingsError("body-unit-conflict", unit=unit, named=named)


def _known(service: Service, sent: Sent, stream: str | None) -> tuple[tuple[Outcome, ...] | None, str]:
    return intake.known(service.curator, sent, stream=stream), service.curator.head


def _take(service: Service, sent: Sent, panel: Panel, stream: str | None) -> tuple[tuple[Outcome, ...], str]:
    return intake.take(service.curator, sent, panel, stream=stream), service.curator.head


def _answer(sent: Sent, panel: Panel | None, outcomes: tuple[Outcome, ...], head: str) -> dict[str, Any]:
    quality = None if panel is None else panel.quality
    fields = ("stream", "again", "taken", "waiting", "set_aside", "reports", "units")
    return {
        "key": sent.key or "",
        "again": all(each.again for each in outcomes),
        "rows": 0 if quality is None else quality.rows,
        "kept": 0 if quality is None else quality.kept,
        "set_aside": {} if quality is None else dict(quality.set_aside),
        "streams": [{field: getattr(each, field) for field in fields} for each in outcomes],
        "head": head,
        "dry_run": False,
        "refused": None,
    }
