"""Frame: a Spark frame as a part of a source, and who is in it, and when, from one pass over its rows.

Each batch is buffered as a local import buffers a file, and its distinct names and times go on as rows with counts;
Spark adds these up. From them the driver makes a buffer of its own that holds every name and every time once: all
that an import asks of buffered rows before it sorts them depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.engines.spark.session import Batches, alone, batches_of, mapped, refusal, refuse, running
from diurnal.readings.formats import Format, Rows
from diurnal.readings.importing import rows_of
from diurnal.readings.row_buffer import RowBuffer
from diurnal.readings.source import Frame, Part, Table

NAME = "the frame"
"""As any other is called: which engine reads it is nobody's business afterwards."""

ROWS = 1 << 18
"""How many rows of a source a task takes at a time."""

REMEMBERED = 1 << 20
"""How many meters a task remembers to have told of."""

SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("names", pa.list_(pa.string())),
        ("seconds", pa.int64()),
        ("minutes", pa.int64()),
        ("n", pa.int64()),
    ]
)
DDL = "kind string, names array<string>, seconds bigint, minutes bigint, n bigint"


@dataclass(frozen=True)
class SparkFrame(Part):
    """A frame of Spark's: its rows stay where they are, and are read by tasks."""

    frame: Any = field(repr=False)
    name: str = NAME
    engine = "spark"

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._unique(self.frame.columns)

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        raise self.fault("spark-rows-elsewhere")

    def fault(
        self, code: str, *, line: int | None = None, kind: type[ReadingsError] = ReadingsError, **params: Any
    ) -> ReadingsError:
        return super().fault(code, kind=kind, **params)


@dataclass(frozen=True)
class Batch(Frame):
    """Some rows of a Spark frame, in a task. Their numbers are no numbers of the frame, and are not said."""

    name: str = NAME

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Batch:
        """A batch as a part."""
        return cls(pa.Table.from_batches([batch]))

    def fault(
        self, code: str, *, line: int | None = None, kind: type[ReadingsError] = ReadingsError, **params: Any
    ) -> ReadingsError:
        return super().fault(code, kind=kind, **params)


def buffered(format_: Format, batch: pa.RecordBatch) -> RowBuffer:
    """A batch of rows, buffered; close it.

    Raises:
        ReadingsError: A row is none.
    """
    buffer, part = RowBuffer(None, format_), Batch.of(batch)
    try:
        for rows in rows_of(format_, part):
            buffer.add(part, rows)
        buffer.flush()
    except BaseException:
        buffer.close()
        raise
    return buffer


@alone
def learn(given: Any) -> tuple[RowBuffer, int]:
    """A buffer with every name and time of a frame's rows once, and how many rows there are.

    Args:
        given: Readings of a Spark frame.

    Raises:
        ReadingsError: A row is none, or rows contradict each other.
    """
    part: SparkFrame = given.parts[0]
    format_, session = given.format, part.frame.sparkSession

    def facts(batches: Batches) -> Batches:
        said: set[tuple[str, ...]] = set()
        for batch in batches:
            if batch.num_rows:
                yield pa.RecordBatch.from_pylist(list(_facts(format_, batch, said)), schema=SCHEMA)
            if len(said) > REMEMBERED:
                said.clear()

    with running("looking at the rows"), batches_of(session, ROWS):
        from pyspark.sql import functions as f

        found = mapped(part.frame, facts, DDL).groupBy("kind", "names", "seconds", "minutes").agg(f.sum("n"))
        table = found.toArrow()
    return _stage_of(table, format_, part)


def _facts(format_: Format, batch: pa.RecordBatch, said: set[tuple[str, ...]]) -> Iterator[dict[str, Any]]:
    """What is in a batch; of meters, what has not been said before."""
    try:
        with closing(buffered(format_, batch)) as buffer:
            for household, meter in buffer.meters:
                names = (household, meter, *(buffer.groups[name][household] for name in buffer.groups))
                if names not in said:
                    said.add(names)
                    yield {"kind": "meter", "names": names, "n": 1}
            clock = "moments" if buffer.instants else "wall"
            for records in buffer.spill.batches():
                # Lengths are few, and whole numbers sort faster than pairs.
                for minutes in np.unique(records["minutes"]).tolist():
                    times = np.unique(records["seconds"][records["minutes"] == minutes], return_counts=True)
                    for seconds, n in zip(*(each.tolist() for each in times), strict=True):
                        yield {"kind": "time", "names": [clock], "seconds": seconds, "minutes": minutes, "n": n}
            for reason, n in buffer.asides.items():
                yield {"kind": "aside", "names": [reason], "n": n}
            yield {"kind": "lengths", "names": ["their own" if buffer.mixed else "the format's"], "n": 1}
            yield {"kind": "partitions", "names": list(buffer.groups), "n": 1}
    except DiurnalError as error:
        yield {"kind": "error", "names": list(refusal(error)), "n": 1}


def _stage_of(table: pa.Table, format_: Format, part: SparkFrame) -> tuple[RowBuffer, int]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    columns = table.rename_columns(["kind", "names", "seconds", "minutes", "n"])
    for row in columns.to_pylist():
        kinds.setdefault(row["kind"], []).append(row)
    for row in sorted(kinds.get("error", []), key=lambda row: row["names"]):
        refuse(tuple(row["names"]))
    times = sorted(kinds.get("time", []), key=lambda row: (row["names"], row["seconds"], row["minutes"]))
    asides = {row["names"][0]: row["n"] for row in kinds.get("aside", [])}
    if not times:
        raise part.fault("spark-no-rows")
    buffer = RowBuffer(None, format_)
    try:
        _fill(buffer, part, kinds, times)
    except BaseException:
        buffer.close()
        raise
    buffer.asides.update(asides)
    return buffer, sum(row["n"] for row in times)


def _fill(
    buffer: RowBuffer, part: SparkFrame, kinds: dict[str, list[dict[str, Any]]], times: list[dict[str, Any]]
) -> None:
    keys = sorted(row["names"] for row in kinds["meter"])
    partitions = kinds["partitions"][0]["names"]
    own = any(row["names"] == ["their own"] for row in kinds["lengths"])

    def rows(keys: list[list[str]], times: list[dict[str, Any]]) -> Rows:
        return Rows(
            meter=[key[1] for key in keys],
            household=[key[0] for key in keys],
            time=np.array([row["seconds"] for row in times], dtype=np.int64),
            minutes=np.array([row["minutes"] for row in times]) if own else None,
            instants=times[0]["names"] == ["moments"],
            value=pa.nulls(len(times), pa.int64()),
            line=1,
            groups={name: [key[2 + i] for key in keys] for i, name in enumerate(partitions)},
        )

    buffer.add(part, rows(keys, [times[0]] * len(keys)))
    for clock in (["moments"], ["wall"]):
        shown = [row for row in times if row["names"] == clock]
        if shown:
            buffer.add(part, rows([keys[0]] * len(shown), shown))
    buffer.flush()
