"""A row a reading: columns of any name, what they are taken for, and what is refused."""

import pyarrow as pa
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from halfhours import ROWS, are_two_homes, two_homes
from support import refuses


def test_any_column_names(tmp_path):
    """Columns of any name are taken as the user says, with their unit, separator and time format."""
    path = tmp_path / "strange.csv"
    lines = ["wann;wer;wieviel", *(f"{t:%d.%m.%Y %H:%M};{h};{round(v * 1000)}" for h, t, v in ROWS)]
    path.write_text("\n".join(lines))
    homes = dn.read(
        path,
        format="long",
        household="wer",
        time="wann",
        value="wieviel",
        unit="Wh",
        time_format="%d.%m.%Y %H:%M",
        minutes=30,
    )
    are_two_homes(dn.panel(homes, zone="UTC"))


def test_a_unit_must_be_known():
    """A value column whose name has no unit is refused until the user says it."""
    rows = two_homes().rename_columns(["household", "time", "value"])
    with refuses(ReadingsError, "column-unit-unclear"):
        dn.read(rows)
    are_two_homes(dn.panel(dn.read(rows, unit="kWh"), zone="UTC"))


def test_a_column_may_be_household_and_group():
    """A household column may serve as a partition too."""
    panel = dn.panel(dn.read(two_homes(), household="household", groups=["household"]), zone="UTC")
    assert panel.groups == {"household": ("a", "b")}


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (pa.float64(), "Expected names as text, got double"),
        (pa.binary(), "Expected names as text, got binary"),
    ],
)
def test_names_are_text_or_whole_numbers(kind, match):
    """Meters named by floats or bytes are refused: 1.0 and 1 would be two households. Whole numbers are names."""
    column = pa.array([1.0, 2.0] * 48) if kind == pa.float64() else pa.array([b"a", b"b"] * 48)
    rows = two_homes().set_column(0, "household", column)
    with pytest.raises(ReadingsError, match=match):
        dn.panel(dn.read(rows), zone="UTC")
    rows = two_homes().set_column(0, "household", pa.array([1] * 48 + [2] * 48))
    assert dn.panel(dn.read(rows), zone="UTC").households == ("1", "2")


def test_a_label_that_is_said_is_kept():
    """A column called `period_end` holds ends, unless the user says that it holds starts."""
    rows = two_homes().rename_columns(["household", "period_end", "kwh"])
    homes = dn.read(rows, time="period_end")
    assert homes.format.label == "end"
    are_two_homes(dn.panel(dn.read(rows, time="period_end", label="start"), zone="UTC"))
