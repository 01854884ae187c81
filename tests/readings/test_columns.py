"""Files with many columns: those of a town are read, and more than anybody could read are refused at once."""

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.source import MOST_COLUMNS

TIMES = ["2022-07-01 00:00", "2022-07-01 00:30"]
SECONDS = 60
"""A reader that compares every column with every other takes many minutes."""


def wide(path, meters, *, quote=""):
    """A row a time and a column a meter, the first of which reads 0.1 kWh, the next 0.2, and so on from there."""
    names = [f"{quote}m{number}{quote}" for number in range(meters)]
    values = [f"{1 + number % 10 / 10}" for number in range(meters)]
    lines = [",".join(["time", *names]), *(",".join([when, *values]) for when in TIMES)]
    path.write_text("\n".join([lines[0], "", *lines[1:], "," * meters, ""]))
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_twenty_thousand_meters_are_read_in_seconds(kind, tmp_path):
    """A wide file of 20,000 meters has every reading in its place, blank lines left out."""
    if kind == "csv":
        path = wide(tmp_path / "wide.csv", 20_000)
    else:
        path = tmp_path / "wide.parquet"
        columns = {f"m{number}": np.full(2, 1 + number % 10 / 10) for number in range(20_000)}
        pq.write_table(pa.table({"time": TIMES, **columns}), path)
    began = time.monotonic()
    panel = dn.panel(path, zone="UTC", period="1h")
    assert time.monotonic() - began < SECONDS
    assert (panel.n_steps, panel.n_households) == (2, 20_000)
    told = {name: 1000 + 100 * (int(name[1:]) % 10) for name in panel.households}
    assert (panel.readings == [told[name] for name in panel.households]).all()


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_million_columns_are_refused_at_once(quote, tmp_path):
    """Of a file of a million columns a sentence names it, counts them and says what to do; it takes seconds."""
    path = wide(tmp_path / "wide.csv", 10**6, quote=quote)
    began = time.monotonic()
    with pytest.raises(
        ReadingsError, match=r"wide.csv, line 1: Expected at most .* columns, got 1,000,001"
    ) as caught:
        dn.panel(path, zone="UTC")
    assert time.monotonic() - began < SECONDS
    assert "layout `long`" in caught.value.hint


def test_a_frame_of_too_many_columns_is_refused_at_once():
    """So is a frame."""
    names = ["time", *map(str, range(MOST_COLUMNS))]
    frame = pa.table([pa.array(["2022-07-01 00:00"])] * len(names), names=names)
    with pytest.raises(ReadingsError, match=f"the frame, row 1: Expected at most {MOST_COLUMNS:,} columns"):
        dn.panel(frame, zone="UTC")
