"""Waiting: rows of steps that are still open, in a table that goes from batch to batch beside Spark's notes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from diurnal.readings.engines.spark.folder import Folder
from diurnal.readings.engines.spark.folding import quoted
from diurnal.readings.engines.spark.frame import SparkFrame
from diurnal.readings.engines.spark.session import alone, running
from diurnal.readings.formats.long import Long
from diurnal.readings.grid import Grid


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
            raise SparkFrame(batch).error(
                "Rows that wait in the lake need a time that Spark understands, and a row a reading.",
                hint="frame.withColumn('time', to_timestamp('time')), for example: a moment.",
            )
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
        names = (self._format.household, self._format.meter, self._format.time)
        keys = [name for name in names if name is not None]
        with running("keeping rows of open steps"):
            self._folder.make()
            whole = {int(name[5:]) for name in self._folder.names() or () if name.startswith("done-")}
            before = max((each for each in whole if each < number), default=None)
            rows = self._batch
            if before is not None:
                first = self._from(self._table(before), since)
                rows = first.unionByName(rows.join(first.select(*map(quoted, keys)), keys, "left_anti"))
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

    def _from(self, frame: Any, step: int) -> Any:
        """The rows of a frame from a step on."""
        from pyspark.sql import functions as f

        wall, begin = f.col(quoted(str(self._format.time))), self._grid.wall(step)
        first = f.lit(begin.isoformat(sep=" ")).cast("timestamp_ntz")
        if self._kind == "timestamp":
            # As a number: what the session's own clock shows must not matter.
            wall = f.unix_micros(f.from_utc_timestamp(wall, self._grid.zone))
            first = f.lit((begin - datetime(1970, 1, 1)) // timedelta(microseconds=1))
        # A row that says when it ends is of the step before.
        return frame.where(wall > first if self._format.label == "end" else wall >= first)
