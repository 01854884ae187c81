"""A row a time and a column a meter: those of a town are read, and more than anybody could read are refused."""

import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.source import MOST_COLUMNS
from halfhours import START, TIMES
from support import refuses

WHEN = ["2022-07-01 00:00", "2022-07-01 00:30"]
SECONDS = 60
"""A reader that compares every column with every other takes many minutes."""


def wide(path, meters, *, quote=""):
    """A row a time and a column a meter, the first of which reads 0.1 kWh, the next 0.2, and so on from there."""
    names = [f"{quote}m{number}{quote}" for number in range(meters)]
    values = [f"{1 + number % 10 / 10}" for number in range(meters)]
    lines = [",".join(["time", *names]), *(",".join([when, *values]) for when in WHEN)]
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
        pq.write_table(pa.table({"time": WHEN, **columns}), path)
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


def test_a_wide_frame():
    """A frame with a time column and a column a meter is a wide source; whole and broken numbers may mix."""
    frame = pd.DataFrame({"time": pd.date_range(START, periods=48, freq="30min"), "b": range(100, 148), "a": 0.5})
    panel = dn.panel(dn.read(frame, unit="Wh"), zone="UTC")
    assert panel.households == ("a", "b")
    assert panel.readings[:, 1].tolist() == list(range(100, 148))
    assert panel.readings[:, 0].tolist() == [0] * 48


def test_a_pandas_index_is_no_household(tmp_path):
    """The index of a frame is not a meter; a named one that speaks of time is the time."""
    frame = pd.DataFrame({"time": TIMES, "17": 0.5, "18": 0.25})
    panel = dn.panel(dn.read(frame.sample(frac=1, random_state=1)), zone="UTC")
    assert panel.households == ("17", "18")
    panel = dn.panel(dn.read(frame.set_index("time")), zone="UTC")
    assert panel.households == ("17", "18")
    assert panel.quality.kept == 96


def test_what_folders_say_is_no_household(tmp_path):
    """In a wide Parquet file in `month=7`, the month is no meter."""
    folder = tmp_path / "month=7"
    folder.mkdir()
    pq.write_table(pa.table({"time": TIMES, "17": [0.5] * 48}), folder / "wide.parquet")
    assert dn.panel(dn.read(tmp_path), zone="UTC").households == ("17",)


def test_wide_memory_goes_by_cells(tmp_path, monkeypatch):
    """Wide tables are read so many values at a time, not so many rows."""
    from diurnal.readings import source

    monkeypatch.setattr(source, "BATCH_CELLS", 100)
    rows = pa.table({"time": TIMES, **{f"m{i}": [0.001 * i] * 48 for i in range(9)}})
    pq.write_table(rows, tmp_path / "wide.parquet")
    sizes = [part.columns.num_rows for part in dn.read(tmp_path).parts[0].tables(rows.column_names)]
    assert max(sizes) == 10
    assert dn.panel(dn.read(tmp_path), zone="UTC").readings[5].tolist() == list(range(9))


def test_a_wide_column_that_is_no_number():
    """In a wide frame, a column of lists is named as what is no meter."""
    rows = pa.table({"time": TIMES, "17": [0.5] * 48, "tags": [[1, 2]] * 48})
    with refuses(ReadingsError, "wide-not-numbers"):
        dn.panel(dn.read(rows), zone="UTC")


def test_a_wide_file_with_a_nameless_time_column(tmp_path):
    """A pandas index has no name; with format='wide' it is the time all the same."""
    path = tmp_path / "wide.csv"
    path.write_text(",a\n" + "".join(f"2012-07-01 {i // 2:02d}:{i % 2 * 30:02d},0.5\n" for i in range(48)))
    assert dn.panel(dn.read(path, format="wide"), zone="UTC").quality.kept == 48
    path.write_text("\n\n")
    with refuses(ReadingsError, "wide-no-columns"):
        dn.read(path, format="wide")
