"""Arrow: a stream of record batches from somebody one does not know, looked at before anything is made of it.

A message may say that a few bytes are a terabyte once unpacked, or that a column without any bytes has a trillion
rows. So bodies that Arrow itself would unpack are refused, columns are of the plain kinds that readings need, rows
are counted before they are touched, and every value is checked to lie where it says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from diurnal.errors import ReadingsError

LONGEST = 100
"""How many letters a text has, at most."""

HINT = "Send an uncompressed Arrow IPC stream with columns household, time and kwh or wh."


def table_of(body: bytes, *, rows: int) -> pa.Table:
    """The table of an IPC stream.

    Args:
        body: The stream's bytes.
        rows: How many rows it may have.

    Raises:
        ReadingsError: It is no such stream, has other columns than readings have, or too many rows.
    """
    try:
        _check_packed(body)
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            _check_columns(reader.schema)
            batches = list(_batches(reader, rows))
            if not batches:
                raise ReadingsError("body-no-readings")
            return pa.Table.from_batches(batches)
    except ReadingsError:
        raise
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError, UnicodeDecodeError):
        raise ReadingsError("body-not-arrow") from None


def _batches(reader: pa.RecordBatchReader, rows: int) -> Iterator[pa.RecordBatch]:
    count = 0
    for batch in reader:
        count += batch.num_rows
        if count > rows:
            raise ReadingsError("body-too-many-rows", rows=rows)
        batch.validate(full=True)
        yield _plain(batch)


def _check_columns(schema: pa.Schema) -> None:
    if len(schema) > 64 or not all(_is_plain(field.type) or _is_names(field) for field in schema):
        raise ReadingsError("body-column-kind")


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    return _is_text(kind) or any(
        check(kind)
        for check in (types.is_integer, types.is_floating, types.is_decimal, types.is_timestamp, types.is_date)
    )


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return any(check(kind) for check in (types.is_string, types.is_large_string, types.is_string_view))


def _is_names(field: pa.Field) -> bool:
    """Names may come as a dictionary. Of anything else it would be a few bytes that stand for many."""
    kind = field.type
    return field.name == "household" and pa.types.is_dictionary(kind) and _is_text(kind.value_type)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch whose texts are of one kind, none of them longer than a name or a number is."""
    columns = []
    for column in batch.columns:
        texts = column.dictionary if pa.types.is_dictionary(column.type) else column
        if _is_text(texts.type) and _longest(texts) > LONGEST:
            raise ReadingsError("body-text-too-long", longest=LONGEST)
        columns.append(column.cast(pa.string()) if pa.types.is_string_view(column.type) else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _longest(texts: pa.Array) -> int:
    return pc.max(pc.binary_length(texts.cast(pa.large_string()))).as_py() or 0


def _check_packed(body: bytes) -> None:
    """Refuse messages whose bodies Arrow would unpack: nobody knows to what size before it is done."""
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(body))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        if message.type in ("record batch", "dictionary") and _is_packed(message):
            raise ReadingsError("body-compressed")


def _is_packed(message: pa.ipc.Message) -> bool:
    """Whether a message has the field `compression`. Its metadata is a flatbuffer (Arrow's Message.fbs)."""
    data = message.metadata.to_pybytes()
    header = _field(data, struct.unpack_from("<I", data, 0)[0], 2)
    batch = _follow(data, header)
    if message.type == "dictionary":
        batch = _follow(data, _field(data, batch, 1))
    return _field(data, batch, 3) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table lies; None if it is not there."""
    layout = table - struct.unpack_from("<i", data, table)[0]
    if layout < 0 or 4 + 2 * number >= struct.unpack_from("<H", data, layout)[0]:
        return None
    offset = struct.unpack_from("<H", data, layout + 4 + 2 * number)[0]
    return table + offset if offset else None


def _follow(data: bytes, place: int | None) -> int:
    if place is None:
        raise ValueError("a message without a header")
    return int(place + struct.unpack_from("<I", data, place)[0])
