"""What is kept beside readings: lists of meters, groups, a calendar, tenancies."""

from datetime import timedelta

import pyarrow as pa
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings import quality
from halfhours import START, frame, half_hours, make, written
from support import refuses


def test_a_meter_swap_makes_no_new_household(tmp_path):
    """With terms, one meter follows another; rows outside a meter's term are counted, not added."""
    rows = half_hours(6, 0.1, "old") + half_hours(4, 0.2, "new", start=START + timedelta(hours=2))
    meters = written(
        tmp_path, "meter,household,from,until\nold,home,,2012-07-01 02:00\nnew,home,2012-07-01 02:00,\n"
    )
    panel = make(rows, meters=meters)
    assert panel.households == ("home",)
    assert panel.readings[:, 0].tolist() == [100] * 4 + [200] * 4
    assert panel.quality.set_aside == {quality.TERM: 2}


def test_a_meter_that_is_not_listed(tmp_path):
    """A meter without a household in the list is an error, not a household of its own."""
    with pytest.raises(ReadingsError, match="1 of 2 meters have no household"):
        make(half_hours(2, home="m1") + half_hours(2, home="m2"), meters={"m1": "home"})


def test_groups_from_a_file(tmp_path):
    """Groups come from a file with a column a partition; a household without one is an error."""
    rows = half_hours(2, home="a") + half_hours(2, home="b")
    groups = written(tmp_path, "household,suburb,feeder\na,Hill,F1\nb,Lake,F1\nc,Lake,F2\n")
    panel = make(rows, groups=groups)
    assert panel.groups == {"suburb": ("Hill", "Lake"), "feeder": ("F1", "F1")}
    assert panel.select(suburb="Lake").households == ("b",)
    with pytest.raises(ReadingsError, match="1 of 2 households have no group"):
        make(rows, groups={"suburb": {"a": "Hill"}})


def test_a_calendar_from_a_file(tmp_path):
    """Outages and tests close their steps for every household; a date alone is a whole day."""
    calendar = written(tmp_path, "from,until,reason\n2012-07-01 01:10,2012-07-01 02:00,outage\n2012-07-02,,test\n")
    panel = make(half_hours(144), calendar=calendar)
    assert panel.calendar == {2, 3, *range(48, 96)}
    assert panel.quality.closed == 50
    assert panel.quality.gaps == 0


def test_changes_of_tenancy_are_counted(tmp_path):
    """Where changes of tenancy are given, those inside the panel are counted."""
    tenancies = written(tmp_path, "household,from\na,2012-07-01 05:00\na,2019-01-01\nzz,2012-07-01\n")
    assert make(half_hours(48), tenancies=tenancies).quality.tenancy_changes == 1
    assert make(half_hours(48)).quality.tenancy_changes is None


@pytest.mark.parametrize(
    ("option", "text", "match"),
    [
        ("meters", "meter,home\nm,h\n", "The column 'household' is missing"),
        ("meters", "meter,household\nm,h\nm,k\n", "list.csv, line 3: The meter is already listed"),
        ("meters", "meter,household\nm,\n", "line 2: column household: Expected text, got a blank"),
        ("groups", "household\na\n", "one column per partition"),
        (
            "groups",
            "household,suburb\na,x\na,y\n",
            "line 3: column suburb: The household is already in another group",
        ),
        ("calendar", "from,until\n2012-02-30,\n", "line 2: column from: Expected a local date"),
        ("calendar", "from,until\n2012-07-02,2012-07-01\n", "line 2: Expected `from` to be earlier than `until`"),
        ("tenancies", "household,from\na,yesterday\n", "line 2: column from"),
    ],
)
def test_mistakes_in_lists(tmp_path, option, text, match):
    """A mistake in a list is an error that names its file and line."""
    with pytest.raises(ReadingsError, match=match):
        make(half_hours(48, home="a"), **{option: written(tmp_path, text)})


def test_calendar_spans_may_begin_before_the_panel():
    """A span of the calendar that begins before step 0 or ends after the last closes what lies inside."""
    panel = make(half_hours(48), calendar=[("2012-06-01", "2012-07-01 01:00"), ("2012-07-01 23:00", "2013-01-01")])
    assert panel.calendar == {0, 1, 46, 47}


def test_terms_by_household():
    """Where a list names a source's household, its term holds for all its meters."""
    listed = pa.table({"meter": ["a"], "household": ["H"], "from": ["2012-07-01 12:00"], "until": [""]})
    table = pa.table(
        {
            "household": ["a"] * 96,
            "meter": ["m1"] * 48 + ["m2"] * 48,
            "time": [START + timedelta(minutes=30 * i) for i in range(48)] * 2,
            "kwh": [0.1] * 96,
        }
    )
    panel = dn.panel(dn.read(table, minutes=30), zone="UTC", meters=listed)
    assert panel.present[:, 0].tolist() == [False] * 24 + [True] * 24
    assert panel.quality.set_aside == {quality.TERM: 48}


def test_too_many_meters():
    """A household of more meters than sums have room for is refused."""
    rows = [row for i in range(251) for row in half_hours(1, home=f"m{i}")]
    with pytest.raises(ReadingsError, match="at most 250 meters"):
        make(rows, meters={f"m{i}": "H" for i in range(251)})


def test_meters_of_one_name_in_several_households():
    """A list that names a meter which several households of the source have is refused: whose is it?"""
    table = frame(half_hours(2, home="a") + half_hours(2, home="b"), meter=["main"] * 4)
    with refuses(ReadingsError, "meters-ambiguous"):
        dn.panel(dn.read(table, minutes=30), zone="UTC", meters={"main": "H"})
    panel = dn.panel(dn.read(table, minutes=30), zone="UTC", meters={"a": "A", "b": "B", "c": "C", "b2": "B"})
    assert panel.present.all(axis=0).tolist() == [True, False]
    assert "1 listed households have no row at all" in panel.quality.notes
