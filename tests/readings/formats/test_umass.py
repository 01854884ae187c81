"""A folder with a file an apartment: whose it is, how long its rows last, what can be written so."""

import numpy as np
import pyarrow as pa
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.formats.umass import UMass
from diurnal.readings.source import Frame, TextFile
from support import refuses


def test_a_row_lasts_until_its_nearest_neighbour(tmp_path):
    """Quarters of an hour and then minutes, in one file; beside a gap, 15 minutes and no more."""
    path = tmp_path / "Apt12_2015.csv"
    times = ["00:00:00", "00:15:00", "00:16:00", "00:17:00", "03:00:00"]
    path.write_text("".join(f"2015-01-01 {time},1.5\n" for time in times))
    (rows,) = UMass().read(TextFile(path))
    assert rows.meter == "Apt12"
    assert np.asarray(rows.minutes).tolist() == [15, 1, 1, 1, 15]
    assert np.asarray(rows.line).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("2015-01-01 00:00:00,1.5\n", True),
        ("2015-01-01 00:00:00,\n", True),
        ("time,kw\n2015-01-01 00:00:00,1.5\n", False),
        ("2015-01-01 00:00:00,1.5,2\n", False),
        ("2015-01-01 00:00:00,much\n", False),
    ],
)
def test_it_is_known_by_its_first_line(tmp_path, text, is_one):
    """A time and a number, or a blank, without a header; nothing else is an apartment."""
    path = tmp_path / "Apt1_2015.csv"
    path.write_text(text)
    assert (UMass().recognises(TextFile(path)) is not None) is is_one


def test_what_is_no_text_has_no_apartments():
    """A frame cannot be read as one."""
    frame = Frame(pa.table({"time": ["2015-01-01"], "kw": [1.5]}))
    with refuses(ReadingsError, "umass-not-text"):
        list(UMass().read(frame))


@pytest.mark.parametrize(
    ("minutes", "name", "code"),
    [(20, "Apt1", "umass-write-grid"), (30, "../Apt1", "umass-write-name"), (30, "a/b", "umass-write-name")],
)
def test_what_does_not_fit_is_not_written(tmp_path, minutes, name, code):
    """Steps that are no quarters of an hour and names that are other files are refused; nothing is left."""
    panel = dn.Panel.from_array(
        np.ones((1440 // minutes, 1), dtype=int),
        households=[name],
        grid=dn.Grid(slots=1440 // minutes, minutes=minutes),
    )
    with refuses(ReadingsError, code):
        dn.write(panel, tmp_path / "apartments", format="umass")
    assert not list(tmp_path.iterdir())
