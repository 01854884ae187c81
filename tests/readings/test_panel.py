from dataclasses import replace

import numpy as np
import pytest

import support
from diurnal import Grid, Panel
from diurnal.errors import ReadingsError


def test_a_panel_says_nothing_private():
    """Neither repr nor str of a panel shows a reading or a household's name."""
    panel = Panel.from_array([[987654321, 3]], households=["secret-home", "other"])
    assert "987654321" not in repr(panel)
    assert "secret-home" not in str(panel)


def test_calendar_steps_are_missing_for_everybody():
    """A step on the calendar has no reading of any household."""
    panel = support.small_panel([[1, 2], [3, 4], [5, 6]], calendar=[1])
    assert panel.present.tolist() == [[True, True], [False, False], [True, True]]
    assert panel.readings[1].tolist() == [0, 0]


def test_a_masked_array_brings_its_gaps():
    """The mask of a masked array becomes the missing marks."""
    readings = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert support.small_panel(readings).present.tolist() == [[True, False], [True, True]]


def test_cutting_keeps_the_steps():
    """first, after and between cut whole rows and keep each row's step."""
    panel = support.town(cycles=5)
    assert panel.first(2).steps == range(8)
    assert panel.after(2).steps == range(8, 20)
    assert panel.between(3, 7).steps == range(3, 7)
    assert np.array_equal(panel.between(3, 7).readings, panel.readings[3:7])


def test_the_roster_digest_knows_who_and_in_which_group():
    """Another household, order or group gives another digest; another reading does not."""
    panel = support.town(n=3, groups={"side": ["a", "a", "b"]})
    same = support.town(n=3, seed=2, groups={"side": ["a", "a", "b"]})
    other = support.town(n=3, groups={"side": ["a", "b", "b"]})
    assert panel.roster("side") == same.roster("side")
    assert panel.roster("side") != other.roster("side")
    assert panel.roster(None) == other.roster(None)
    assert panel.roster(None) != panel.without(["0"]).roster(None)


@pytest.mark.parametrize(
    ("readings", "says"),
    [
        ([[1.0, 2.0]], "float64"),
        ([[1.0, float("nan")]], "NaN"),
        ([[1, 2], [3]], "ragged"),
        ([1, 2, 3], "dimension"),
        (np.zeros((3, 0), dtype=int), "household"),
        ([["a", "b"]], "integers"),
        (np.zeros((2, 2), dtype=np.uint64), "uint64"),
        (np.zeros((2, 2), dtype=bool), "bool"),
    ],
)
def test_what_is_no_integer_table_is_refused(readings, says):
    """Floats, NaN, ragged rows, one dimension, no household and text each raise a ReadingsError that says so."""
    with pytest.raises(ReadingsError, match=says) as caught:
        Panel.from_array(readings)
    assert caught.value.hint


@pytest.mark.parametrize(
    "wrong",
    [
        {"households": ["a"]},
        {"households": ["a", "a"]},
        {"present": [[True]]},
        {"present": [[1, 0]]},
        {"groups": {"side": ["a"]}},
    ],
)
def test_marks_names_and_groups_must_fit(wrong):
    """Another number of names, marks or groups, and a name twice, raise a ReadingsError."""
    with pytest.raises(ReadingsError):
        Panel.from_array([[1, 2]], **wrong)


@pytest.mark.parametrize(
    "wrong", [{"slots": 0}, {"slots": -1}, {"minutes": 0}, {"zone": "Mars"}, {"anchor": "noon"}, {"slots": 2.0}]
)
def test_a_grid_without_slots_or_place_is_refused(wrong):
    """T = 0, a time zone or an anchor that does not exist raise a ReadingsError."""
    with pytest.raises(ReadingsError):
        Grid(**wrong)


def test_a_slot_keeps_its_wall_clock_time():
    """Slot 20 is ten o'clock local time on both sides of a clock change, with another offset."""
    grid = Grid(zone="Australia/Sydney", anchor="2012-10-06T00:00")
    assert grid.time(20) == "2012-10-06T10:00:00+10:00"
    assert grid.time(48 + 20) == "2012-10-07T10:00:00+11:00"


def test_more_cycles_than_there_are_is_an_error():
    """first(k) beyond the panel raises, and says how many cycles there are."""
    with pytest.raises(ReadingsError, match="between 0 and 12"):
        support.town().first(13)


def test_a_domain_that_somebody_says_is_not_believed():
    """Readings in memory are held against a domain whatever the panel's own says; the bound is enforced."""
    panel = replace(Panel.from_array([[5, 900]], grid=Grid(slots=1)), domain=(0, 10))
    kept, outside = panel.within(0, 100)
    assert outside == 1
    assert kept.present.tolist() == [[True, False]]
