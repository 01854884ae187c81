"""Streaming: rows that keep coming into a Spark frame, batch after batch.

Spark writes down which rows a batch has before it gives it away, and that it is done with it after. Killed in
between, it gives the same batch once more: whoever takes batches must know one that was taken, by its name. Rows
of steps that are still open go from batch to batch: see `waiting`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings.engines.spark.session import running

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
