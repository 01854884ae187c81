"""A Spark frame as a source: its rows stay where they are, and nothing says which row was wrong."""

import types

import pyarrow as pa
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.engines.spark.frame import SparkFrame, buffered, learn
from diurnal.readings.formats.long import Long
from halfhours import TIMES, two_homes
from support import refuses

LONG = Long(household="household", time="time", value="kwh", unit="kWh", minutes=30)


def test_a_frame_tells_its_columns_and_no_rows():
    """Whoever asks for its rows here is refused; two columns of one name are, too; its repr has nothing of it."""
    frame = types.SimpleNamespace(columns=["household", "time", "kwh"], secret="7654321")
    part = SparkFrame(frame)
    assert part.column_names == ("household", "time", "kwh")
    assert "7654321" not in repr(part)
    with refuses(ReadingsError, "spark-rows-elsewhere"):
        list(part.tables(["time"]))
    with refuses(ReadingsError, "columns-repeated"):
        _ = SparkFrame(types.SimpleNamespace(columns=["kwh", "kwh"])).column_names


def test_a_batch_is_buffered_and_its_rows_have_no_numbers():
    """A task buffers rows as a local import does; what it refuses names the frame, for a row's number in a batch is
    no number in the frame.
    """
    (batch,) = two_homes().to_batches()
    buffer = buffered(LONG, batch)
    assert sorted(meter for _, meter in buffer.meters) == ["a", "b"]
    assert sum(len(records) for records in buffer.spill.batches()) == 96
    buffer.close()
    rows = two_homes().set_column(2, "kwh", pa.array(["much"] * 96)).to_batches()[0]
    with pytest.raises(ReadingsError, match=r"^the frame: column value: Expected a number") as caught:
        buffered(LONG, rows)
    assert "much" not in str(caught.value)


def test_one_pass_learns_every_name_and_time_once(spark):
    """From rows in any number of parts: how many they are, and a buffer with each home and each time of them."""
    frame = spark.createDataFrame(two_homes()).repartition(3)
    buffer, n_rows = learn(dn.read(frame, minutes=30))
    try:
        assert n_rows == 96
        assert sorted(meter for _, meter in buffer.meters) == ["a", "b"]
        times = {second for records in buffer.spill.batches() for second in records["seconds"].tolist()}
        assert len(times) == len(TIMES)
    finally:
        buffer.close()
