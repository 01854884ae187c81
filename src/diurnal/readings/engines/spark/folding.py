"""Folding: a kernel over the blocks of a panel in the lake, and what tasks see of a block."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.engines.spark.session import Batches, alone, batches_of, mapped, refusal, refuse, running
from diurnal.readings.panel import Arrays, Panel

READINGS = 1 << 20
"""How many readings a batch has, about."""

FEW = 16
"""How many tasks' results the driver adds up itself, about: a stage more would cost more than it saves."""

FAN = 64
"""How many results one task adds up, about."""

Result = TypeVar("Result")

RESULT = pa.schema([("result", pa.binary())])


@dataclass(frozen=True, repr=False)
class Cut:
    """Which steps of the table's rows are meant."""

    steps: int
    """How many the table has."""
    window: tuple[int, int]
    """Which of them are meant; where it goes beyond them, everything is missing."""
    gone: tuple[int, ...]
    """Which are missing for everybody since."""

    @property
    def inside(self) -> tuple[int, int]:
        """Which steps of the table are meant."""
        start, stop = self.window
        first = min(max(start, 0), stop)
        return first, max(first, min(stop, self.steps))

    def arrays(self, column: pa.ListArray) -> Arrays:
        """The readings of some rows of the table.

        Raises:
            ReadingsError: The rows are not those of a panel.
        """
        values = column.flatten()
        n, steps = len(column), self.steps
        if column.null_count or not (np.diff(column.offsets.to_numpy()) == steps).all():
            raise ReadingsError("lake-table-damaged")
        whole = values.null_count == 0
        marks = np.ones((n, steps), dtype=bool) if whole else values.is_valid().to_numpy(zero_copy_only=False)
        readings = (values if whole else values.fill_null(0)).to_numpy(zero_copy_only=whole).reshape(n, steps)
        start, stop = self.window
        first, last = self.inside
        arrays = Arrays(readings[:, first:last].T, marks.reshape(n, steps)[:, first:last].T)
        if (first, last) != (start, stop):
            beyond = ((first - start, stop - last), (0, 0))
            arrays = Arrays(np.pad(arrays.readings, beyond), np.pad(arrays.present, beyond))
        gone = np.array([row - start for row in self.gone if start <= row < stop], dtype=np.int64)
        return arrays.without(gone) if len(gone) else arrays


@alone
def fold(
    kernel: Callable[[Panel], Result],
    panel: Panel,
    table: Any,
    cut: Cut,
    add: Callable[[Result, Result], Result],
    *,
    tasks: int,
    label: str,
) -> Result:
    """What a kernel finds in the rows of a table, added up by tasks; the driver gets one result, or few.

    Args:
        kernel: A function of a panel of whole households whose results add up.
        panel: The panel whose table this is.
        table: The rows that are meant.
        cut: Which of their steps are meant.
        add: Adds two results, in any order.
        tasks: How many tasks made the table, and so about how many read it.
        label: What this is about.

    Raises:
        DiurnalError: The kernel refuses.
    """
    nobody = np.zeros((0, 0), dtype=np.int64)
    like = replace(panel, data=Arrays(nobody, nobody.astype(bool)), households=(), groups={}, quality=None)
    partitions, session = tuple(panel.groups), table.sparkSession

    def find(batches: Batches) -> Batches:
        return _summed((kernel(block) for block in _panels(batches, like, partitions, cut)), add)

    def join(batches: Batches) -> Batches:
        return _summed((_opened(each.as_py()) for batch in batches for each in batch.column(0)), add)

    with running(label), batches_of(session, READINGS // max(1, cut.steps)):
        found = mapped(table.select("household", *map(quoted, partitions), "values"), find, "result binary")
        if tasks > FAN:
            found = mapped(found.repartition(math.isqrt(tasks)), join, "result binary")
        if tasks > FEW:
            found = mapped(found.repartition(1), join, "result binary")
        results = [_opened(each) for each in found.toArrow().column(0).to_pylist()]
    if not results:
        raise ValueError("a panel has at least one household")
    total: Result = functools.reduce(add, results)
    return total


def _panels(batches: Batches, like: Panel, partitions: Iterable[str], cut: Cut) -> Iterator[Panel]:
    for batch in batches:
        if batch.num_rows:
            yield replace(
                like,
                data=cut.arrays(batch.column(batch.num_columns - 1)),
                households=tuple(batch.column(0).to_pylist()),
                groups={name: tuple(batch.column(1 + i).to_pylist()) for i, name in enumerate(partitions)},
            )


def _summed(results: Iterator[Result], add: Callable[[Result, Result], Result]) -> Batches:
    """The sum of some results as a row of bytes, or the refusal that stood in the way; no row if there are none."""
    total: Any = None
    with threadpool_limits(1, user_api="blas"):
        try:
            for result in results:
                total = result if total is None else add(total, result)
            content: Any = ("found", total)
        except DiurnalError as error:
            content = ("refused", refusal(error))
    if content[1] is not None:
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(content)], pa.binary())], schema=RESULT)


def _opened(content: bytes) -> Any:
    kind, found = pickle.loads(content)
    if kind == "refused":
        refuse(found)
    return found


def quoted(name: str) -> str:
    """A column's name as Spark's own language says it."""
    return f"`{name.replace('`', '``')}`"


def places_of(table: Any, places: Integers) -> Any:
    """The rows of a table at some places; as far as it goes, no other is read."""
    from pyspark.sql import functions as f

    places = np.unique(places)
    low, high = int(places.min()), int(places.max())
    some = table.where(f.col("place").between(low, high))
    if high - low + 1 == len(places):
        return some
    wanted = table.sparkSession.createDataFrame(pa.table({"place": pa.array(places, pa.int64())}))
    return some.join(f.broadcast(wanted), "place", "left_semi")
