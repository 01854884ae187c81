"""Bodies: what is sent to the service, taken in as far as limits go, and made into readings.

JSON, CSV and Arrow. Numbers of JSON and CSV stay the text they were written as, so that nothing is lost in a float.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import pyarrow as pa
import pyarrow.csv
from fastapi import Request
from starlette.requests import ClientDisconnect

from diurnal.errors import ReadingsError
from diurnal.show.web import arrow, problems
from diurnal.show.web.problems import ProblemError

ARROW, CSV, JSON = "application/vnd.apache.arrow.stream", "text/csv", "application/json"
KINDS = {JSON: "json", CSV: "csv", ARROW: "arrow"}
"""What readings may be sent as."""

SHAPE = 'Send {"readings": [{"household": "17", "time": "2022-07-01T00:00", "value": "231"}]}.'


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
