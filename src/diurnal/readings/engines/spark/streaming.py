"""Streaming: rows that keep coming into a Spark frame, batch after batch.

Spark writes down which rows a batch has before it gives it away, and that it is done with it after. Killed in
between, it gives the same batch once more: whoever takes batches must know one that was taken, by its name. Rows
of steps that are still open wait in a table that goes from batch to batch beside Spark's notes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.engines.spark.folding import quoted
from diurnal.readings.engines.spark.frame import SparkFrame
from diurnal.readings.engines.spark.lake import Folder
from diurnal.readings.engines.spark.session import alone, running
from diurnal.readings.formats.long import Long
from diurnal.readings.grid import Grid

QUERY = "sql.streaming.queryId"
"""Under which name Spark tells what a query goes by, as long as its checkpoint lasts."""


def each_batch(
    frame: Any,
    take: Callable[[str, int, Any], None],
    *,
    checkpoint: str,
    once: bool = False,
    every: float = 10.0,
) -> None:
    """Give every batch of a streaming frame to somebody, in order, until the query is stopped.

    Args:
        frame: A streaming frame: `spark.readStream...`.
        take: Is given a batch's name and number, the same whenever it is given again, and the batch, a frame.
        checkpoint: The folder where Spark writes down how far it has come.
        once: Whether to end when there are no more rows.
        every: How many seconds there are between two batches, at least.

    Raises:
        DiurnalError: What `take` has refused; the batch is given again after a restart.
    """
    if not frame.isStreaming:
        raise ReadingsError("frame-not-streaming")
    refused: list[DiurnalError] = []

    def given(batch: Any, number: int) -> None:
        query = batch.sparkSession.sparkContext.getLocalProperty(QUERY)
        try:
            take(f"spark {query} {number}", number, batch)
        except DiurnalError as error:
            # Spark would make a trace of it, with texts of its own: it is told here, after the query has ended.
            refused.append(error)
            raise

    trigger: dict[str, Any] = {"availableNow": True} if once else {"processingTime": f"{every} seconds"}
    with running("taking batches"):
        writer = frame.writeStream.foreachBatch(given).option("checkpointLocation", checkpoint)
        query = writer.trigger(**trigger).start()
        try:
            query.awaitTermination()
        except Exception:
            if refused:
                raise refused[0] from None
            raise
        finally:
            query.stop()


class WaitingRows:
    """Rows that wait for others: a table for each of the last two batches.

    The table of a batch is all that waited before it with all that it has, so that a batch that comes again finds
    the one before it as it was.
    """

    def __init__(self, batch: Any, format_: Any, grid: Grid, checkpoint: str) -> None:
        """See where the rows of a batch would wait.

        Args:
            batch: A frame of Spark's.
            format_: What `read` found its rows to be.
            grid: On which steps are counted.
            checkpoint: Where Spark's notes are.

        Raises:
            ReadingsError: Rows do not say plainly when they are.
        """
        kinds = dict(batch.dtypes)
        kind = kinds.get(str(format_.time)) if isinstance(format_, Long) else None
        elsewhere = kind == "timestamp_ntz" and format_.zone not in (None, grid.zone)
        if kind not in ("timestamp", "timestamp_ntz") or elsewhere:
            raise SparkFrame(batch).fault("spark-waiting-time")
        self._batch, self._format, self._grid, self._kind = batch, format_, grid, kind
        self._folder = Folder(batch.sparkSession, f"{checkpoint}/diurnal-open")

    @alone
    def with_batch(self, number: int, since: int) -> Any:
        """The rows of a batch, and those before it that wait still, as a frame that lies in the lake.

        What was there before counts: a row of the batch for the same meter and time is left out.

        Args:
            number: That of the batch.
            since: The first step that is open.
        """
        from pyspark.sql import functions as f

        names = (self._format.household, self._format.meter, self._format.time)
        keys = [name for name in names if name is not None]
        with running("keeping rows of open steps"):
            rows, before = self._batch, self._before(number)
            if before is not None:
                first = self._table(before).where(self._step() >= since)
                # A blank is no value: what comes for it later counts.
                told = first.where(f.col(quoted(self._format.value)).isNotNull()).select(*map(quoted, keys))
                rows = first.unionByName(rows.join(told, keys, "left_anti"))
            return self._keep(number, rows, before)

    @alone
    def without_batch(self, number: int) -> None:
        """Let wait what waited before a batch, and nothing of the batch."""
        with running("keeping rows of open steps"):
            before = self._before(number)
            self._keep(number, self._batch.limit(0) if before is None else self._table(before), before)

    @alone
    def by_step(self, rows: Any) -> dict[int, int]:
        """How many rows there are of each step."""
        with running("counting rows"):
            found = rows.groupBy(self._step().alias("step")).count().toArrow()
        steps = found.column("step").to_pylist()
        return {
            step: n for step, n in zip(steps, found.column("count").to_pylist(), strict=True) if step is not None
        }

    def between(self, rows: Any, steps: range) -> Any:
        """The rows of some steps; and those without a time, for the import to refuse."""
        step = self._step()
        return rows.where(step.between(steps.start, steps.stop - 1) | step.isNull())

    def _before(self, number: int) -> int | None:
        """The last batch before one of which there is a table."""
        self._folder.make()
        whole = {int(name[5:]) for name in self._folder.names() or () if name.startswith("done-")}
        return max((each for each in whole if each < number), default=None)

    def _keep(self, number: int, rows: Any, before: int | None) -> Any:
        rows.write.mode("overwrite").parquet(self._path(number))
        self._folder.write(f"done-{number}", "")
        for name in self._folder.names() or ():
            if name.rpartition("-")[2] not in (str(before), str(number)):
                self._folder.delete(name)
        return self._table(number)

    def _table(self, number: int) -> Any:
        return self._batch.sparkSession.read.schema(self._batch.schema).parquet(self._path(number))

    def _path(self, number: int) -> str:
        return f"{self._folder.path}/rows-{number}"

    def _step(self) -> Any:
        """The step of a row, as Spark works it out."""
        from pyspark.sql import functions as f

        time, epoch = f.col(quoted(self._format.time)), datetime(1970, 1, 1)
        if self._kind == "timestamp":
            # As a number: what the session's own clock shows must not matter.
            micros = f.unix_micros(f.from_utc_timestamp(time, self._grid.zone))
        else:
            start = f.lit(epoch.isoformat(sep=" ")).cast("timestamp_ntz")
            micros = f.timestamp_diff("MICROSECOND", start, time)
        since = micros - (self._grid.wall(0) - epoch) // timedelta(microseconds=1)
        # A row that says when it ends is of the step before.
        since = since - 1 if self._format.label == "end" else since
        length = f.lit(self._grid.minutes * 60_000_000)
        # Whole steps before they are divided: far from the anchor a quotient's fraction would be rounded away.
        return ((since - f.pmod(since, length)) / length).cast("bigint")
