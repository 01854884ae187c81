"""Rows that keep coming: which frames can be taken batch by batch, and which rows can wait."""

import types
from datetime import timedelta

import pyarrow as pa
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.engines.spark.streaming import WaitingRows, each_batch
from diurnal.readings.formats.long import Long
from halfhours import START
from support import refuses


def test_only_a_streaming_frame_has_batches(tmp_path):
    """A frame that is all there is refused before Spark is asked for anything."""
    taken = []
    with refuses(ReadingsError, "frame-not-streaming"):
        each_batch(
            types.SimpleNamespace(isStreaming=False), lambda *given: taken.append(given), checkpoint=str(tmp_path)
        )
    assert taken == []


@pytest.mark.parametrize(
    ("kind", "zone"), [("string", None), ("date", None), ("timestamp_ntz", "Australia/Sydney")]
)
def test_rows_that_do_not_say_plainly_when_they_are_cannot_wait(kind, zone):
    """Times as text, days, and a clock that is not the grid's are refused."""
    batch = types.SimpleNamespace(dtypes=[("household", "string"), ("time", kind), ("kwh", "double")])
    format_ = Long(household="household", time="time", value="kwh", unit="kWh", minutes=30, zone=zone)
    with refuses(ReadingsError, "spark-waiting-time"):
        WaitingRows(batch, format_, dn.Grid(), "checkpoint")


@pytest.mark.parametrize("again", [False, True], ids=["once", "given again"])
def test_rows_of_open_steps_go_on_to_the_next_batch(spark, tmp_path, again):
    """What waited counts before what comes for the same time, closed steps are left out, and a batch that is given
    again finds what it found.
    """
    grid = dn.Grid(slots=48, anchor=START.isoformat(timespec="minutes"))
    format_ = Long(household="household", time="time", value="wh", unit="Wh", minutes=30)

    def waiting(rows):
        table = pa.table(
            {
                "household": [home for home, _, _ in rows],
                "time": pa.array([START + timedelta(minutes=30 * step) for _, step, _ in rows], pa.timestamp("us")),
                "wh": [value for _, _, value in rows],
            }
        )
        return WaitingRows(spark.createDataFrame(table), format_, grid, str(tmp_path))

    first = waiting([("a", 0, 1), ("a", 1, 2), ("b", 1, None)])
    assert first.by_step(first.with_batch(0, 0)) == {0: 1, 1: 2}
    second = waiting([("a", 1, 9), ("b", 1, 3), ("a", 2, 4)])
    for _ in range(1 + again):
        rows = second.with_batch(1, 1)
    found = sorted(tuple(row) for row in rows.select("household", "wh").collect() if row["wh"] is not None)
    assert found == [("a", 2), ("a", 4), ("b", 3)]
    assert second.by_step(second.between(rows, range(2, 3))) == {2: 1}
