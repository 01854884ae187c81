"""Ingest: readings that a head-end sends, each batch taken once. Nothing of a reading is ever answered.

Batches come as JSON, CSV or Arrow. Numbers of JSON and CSV stay the text they were written as, so that a float
loses nothing of them.

**Guarantee**: what is answered does not depend on the value of a reading that is held, or was reported. Whoever
sends guesses is answered alike whether they are right, in any format, with a key or without (`batch`), in a dry run
or not (`rehearsal`). Whether units are plausible is told of what was sent under the same token alone (`units`).
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable
from logging import WARNING
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.csv
from fastapi import APIRouter, Header, Query, Request
from starlette.requests import ClientDisconnect

from diurnal.curator import intake
from diurnal.curator.intake import Sent
from diurnal.curator.release import Outcome
from diurnal.errors import ClockError, ReadingsError, UnitError
from diurnal.readings.formats import Format
from diurnal.readings.formats.long import Long, unit_in
from diurnal.readings.importing import read
from diurnal.readings.panel import Panel
from diurnal.show import log
from diurnal.show.web import arrow, problems
from diurnal.show.web.access import FOR_INGEST, IngestRoute
from diurnal.show.web.models import batches, shape
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.public import service_of
from diurnal.show.web.service import Service

router = APIRouter(prefix="/v1", tags=["ingest"], dependencies=[FOR_INGEST], route_class=IngestRoute)

ARROW, CSV, JSON = "application/vnd.apache.arrow.stream", "text/csv", "application/json"
KINDS = {JSON: "json", CSV: "csv", ARROW: "arrow"}
"""What readings may be sent as."""

BODY = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": {"$ref": shape.PLACE.format(model="Readings")}},
            **shape.text_of(CSV, "household,time,wh\n17,2022-07-01T00:00,231\n"),
            ARROW: {"schema": shape.BYTES},
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
    kind = kind_of(request.headers.get("content-type"))
    if service.batches >= service.settings.limits.batches:
        raise ProblemError("http-batches-busy", retry=1, limit="batches")
    service.batches += 1
    try:
        limits = service.settings.limits
        body = await taken_in(request, limits.json if kind == "json" else limits.body)
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
    await service.feed.nudge()
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
    table = table_of(body, kind, unit=unit or "Wh", rows=service.settings.limits.rows)
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


async def taken_in(request: Request, limit: int) -> bytes:
    """The body of a request, unpacked, of no more than so many bytes.

    Raises:
        ProblemError: It is too large, or packed in an unknown way.
    """
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip", ""):
        raise ProblemError("http-encoding")
    unpacking = zlib.decompressobj(31) if packed == "gzip" else None
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk if unpacking is None else _unpacked(unpacking, chunk, limit - len(body))
            if len(body) > limit:
                raise problems.too_large(limit)
    except ClientDisconnect:
        raise ProblemError("http-body-broken") from None
    except zlib.error:
        raise ProblemError("http-not-gzip") from None
    if unpacking is not None and not unpacking.eof:
        raise ProblemError("http-gzip-broken")
    return bytes(body)


def _unpacked(unpacking: Any, chunk: bytes, room: int) -> bytes:
    """A part of a body unpacked, and no more than there is room for and a byte."""
    out: bytes = unpacking.decompress(chunk, room + 1)
    if unpacking.unused_data:
        raise zlib.error("more than one part")
    return out


def kind_of(content_type: str | None) -> str:
    """Which kind of body a request says it has.

    Raises:
        ProblemError: None that is known.
    """
    said = (content_type or "").partition(";")[0].strip().lower()
    if said not in KINDS:
        raise ProblemError("http-media-type", choices=", ".join(KINDS))
    return KINDS[said]


def table_of(body: bytes, kind: str, *, unit: str, rows: int) -> pa.Table:
    """Readings as a table; no value is looked at yet.

    Args:
        body: What was sent.
        kind: json, csv or arrow.
        unit: What values of JSON are in.
        rows: How many there may be.

    Raises:
        ReadingsError: It cannot be read so, or there are too many.
    """
    if not body:
        raise ReadingsError("body-no-readings")
    if kind == "arrow":
        return arrow.table_of(body, rows=rows)
    table = _of_csv(body) if kind == "csv" else _of_json(body, unit)
    if table.num_rows > rows:
        raise ReadingsError("body-too-many-rows", rows=rows)
    return table


def _of_csv(body: bytes) -> pa.Table:
    """Everything as text: what is a number is decided by who knows units."""
    try:
        names = pa.csv.open_csv(pa.py_buffer(body)).schema.names
        if len(names) > 64:
            raise ReadingsError("body-too-many-columns")
        texts = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
        return pa.csv.read_csv(pa.py_buffer(body), convert_options=texts)
    except (pa.ArrowException, UnicodeDecodeError, ValueError, KeyError):
        raise ReadingsError("body-not-csv") from None


def _of_json(body: bytes, unit: str) -> pa.Table:
    try:
        content = json.loads(body, parse_float=str, parse_constant=_refused)
        rows = content["readings"]
        columns = {name: [row[name] for row in rows] for name in ("household", "time", "value")}
        if not isinstance(rows, list) or not all(len(row) == 3 for row in rows):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ReadingsError("body-not-json") from None
    texts = {name: _texts(values, numbers=name == "value") for name, values in columns.items()}
    return pa.table({"household": texts["household"], "time": texts["time"], unit.lower(): texts["value"]})


def _refused(_: str) -> Any:
    raise ValueError("a number that is none")


def _texts(values: list[Any], *, numbers: bool) -> pa.Array:
    """A column as texts; numbers as they were written."""
    known = [isinstance(each, str) or (numbers and type(each) is int) for each in values]
    if not all(known):
        row = known.index(False) + 1
        raise ReadingsError("body-value-kind", row=row)
    try:
        return pa.array([str(each) for each in values], pa.string())
    except UnicodeEncodeError:
        raise ReadingsError("body-not-utf8") from None
