"""From rows to readings: the rules, against an independent count with fractions."""

import collections
import itertools
import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings import quality
from diurnal.readings.resampling import half_even
from support import refuses

START = datetime(2012, 7, 1)


def frame(rows, **more):
    """Rows of (home, time, value) as a frame."""
    columns = {
        "household": pa.array([row[0] for row in rows], pa.string()),
        "time": pa.array([row[1] for row in rows]),
        "kwh": pa.array([row[2] for row in rows]),
    }
    return pa.table({**columns, **{name: pa.array(values) for name, values in more.items()}})


def half_hours(n, value=0.5, home="a", start=START, minutes=30):
    """So many rows of one home."""
    return [(home, start + timedelta(minutes=minutes * i), value) for i in range(n)]


@dataclass(frozen=True, kw_only=True)
class Given(dn.Format):
    """A format that reads what it was given."""

    name: ClassVar[str] = "given"
    batches: tuple = ()

    def read(self, part):
        yield from self.batches


def make(rows, *, minutes=30, zone="UTC", **options):
    """A panel of rows of (home, time, value)."""
    return dn.panel(dn.read(frame(rows), minutes=minutes), zone=zone, **options)


# An independent count.

VALUES = st.one_of(
    st.sampled_from([None, float("nan"), float("inf"), 1e9, -0.4, 60.0]),
    st.integers(0, 4_000_000).map(lambda micro: micro / 1e6),
    st.integers(0, 8).map(lambda half: half * 0.0005),
)


@st.composite
def cases(draw):
    """Rows of 15 minutes of up to three homes and five meters over a day, with everything that can be wrong."""
    pairs = draw(st.sampled_from([[("a", "m")], [("a", "m"), ("b", "n")], [("a", "m"), ("a", "n"), ("b", "o")]]))
    n = draw(st.integers(1, 60))
    rows = []
    for _ in range(n):
        home, meter = draw(st.sampled_from(pairs))
        minute = draw(st.one_of(st.integers(0, 11).map(lambda i: 15 * i), st.integers(-40, 190)))
        rows.append((home, meter, minute, draw(VALUES)))
        if draw(st.integers(0, 5)) == 0:
            rows.append((home, meter, minute, draw(st.sampled_from([rows[-1][3], 0.25]))))
    return rows


def count(rows, *, interval, is_power, closed, on_duplicate, domain):
    """Readings and the fate of every row, written down plainly."""
    fate = collections.Counter()
    by_time = collections.defaultdict(list)
    meters = collections.defaultdict(set)
    last = max((minute + 15 for _, _, minute, _ in rows), default=0)
    steps = max(0, math.ceil(last / interval))
    for home, meter, minute, value in rows:
        meters[home].add(meter)
        if minute < 0:
            fate[quality.EARLY] += 1
        elif value is None:
            fate[quality.BLANK] += 1
        elif not math.isfinite(value):
            fate[quality.NOT_A_NUMBER] += 1
        elif abs(value) >= 1_000:
            fate[quality.OUTSIDE_DOMAIN] += 1
        elif minute % interval + 15 > interval:
            fate[quality.OFF_GRID] += 1
        elif minute // interval in closed:
            fate[quality.CALENDAR] += 1
        else:
            by_time[home, meter, minute].append(Fraction(round(value * 10**9), 10**6))
    cells = collections.defaultdict(list)
    for (home, meter, minute), values in by_time.items():
        chosen = values[-1] if on_duplicate == "last" else values[0]
        place = len(values) - 1 if on_duplicate == "last" else 0
        for i, value in enumerate(values):
            if i != place:
                fate[quality.SAME if value == chosen else quality.ANOTHER] += 1
        cells[home, meter, minute // interval].append((minute, chosen))
    energy, n_rows = {}, {}
    for cell, parts in cells.items():
        parts.sort()
        clash = any(a[0] + 15 > b[0] for a, b in itertools.pairwise(parts))
        covered = 15 * len(parts)
        if clash:
            fate[quality.OVERLAP] += len(parts)
        elif (2 * covered < interval) if is_power else (covered != interval):
            fate[quality.INCOMPLETE] += len(parts)
        else:
            total = sum(value for _, value in parts)
            energy[cell] = total / len(parts) * Fraction(interval, 60) if is_power else total
            n_rows[cell] = len(parts)
    readings, kept = {}, 0
    for home in meters:
        for step in range(steps):
            there = [(home, meter, step) for meter in sorted(meters[home]) if (home, meter, step) in energy]
            number = sum(n_rows[cell] for cell in there)
            if len(there) < len(meters[home]):
                fate[quality.OTHER_METER] += number
                continue
            if is_power and len(there) > 1:
                # Each meter of a mean power is a whole number of millionths first.
                total = sum(Fraction(round(energy[cell] * 10**6), 10**6) for cell in there)
            else:
                total = sum(energy[cell] for cell in there)
            value = round(total)
            if domain[0] <= value <= domain[1]:
                readings[home, step] = value
                kept += number
            else:
                fate[quality.OUTSIDE_DOMAIN] += number
    return readings, kept, +fate


@given(
    rows=cases(),
    interval=st.sampled_from([15, 30, 60]),
    is_power=st.booleans(),
    on_duplicate=st.sampled_from(["first", "last"]),
    closes=st.booleans(),
)
@settings(max_examples=400)
def test_readings_and_counts_are_those_of_a_plain_count(rows, interval, is_power, on_duplicate, closes):
    """For any rows, readings and the fate of every row equal an independent count; no row is lost."""
    calendar = [("2012-07-01 01:00", "2012-07-01 02:00")] if closes else []
    closed = {step for step in range(200) if closes and step * interval < 120 and (step + 1) * interval > 60}
    expected, kept, fate = count(
        rows, interval=interval, is_power=is_power, closed=closed, on_duplicate=on_duplicate, domain=(0, 50_000)
    )
    table = pa.table(
        {
            "household": [row[0] for row in rows],
            "meter": [row[1] for row in rows],
            "time": [START + timedelta(minutes=row[2]) for row in rows],
            "kw" if is_power else "kwh": pa.array([row[3] for row in rows], pa.float64()),
        }
    )
    options = {
        "zone": "UTC",
        "interval": interval,
        "anchor": START.isoformat(),
        "domain": (0, 50_000),
        "on_duplicate": on_duplicate,
        "calendar": calendar,
    }
    if not expected:
        with pytest.raises(ReadingsError):
            dn.panel(dn.read(table, minutes=15), **options)
        return
    panel = dn.panel(dn.read(table, minutes=15), **options)
    found = {
        (home, step): int(panel.readings[step, column])
        for column, home in enumerate(panel.households)
        for step in np.flatnonzero(panel.present[:, column]).tolist()
    }
    assert found == expected
    assert panel.quality.kept == kept
    assert dict(panel.quality.set_aside) == dict(fate)
    assert panel.quality.rows == len(rows)


@given(rows=cases(), seed=st.integers(0, 1000))
@settings(max_examples=100)
def test_the_order_of_rows_does_not_matter(rows, seed):
    """Rows in another order, without different duplicates, give the same panel."""
    distinct = {}
    for home, meter, minute, value in rows:
        distinct.setdefault((home, meter, minute), value)
    rows = [(*key, value) for key, value in distinct.items()] + [("a", "m", 0, 0.1), ("a", "m", 15, 0.1)]
    rows = list({row[:3]: row for row in rows}.values())
    order = np.random.default_rng(seed).permutation(len(rows))
    made = []
    for some in (rows, [rows[i] for i in order]):
        table = pa.table(
            {
                "meter": [f"{row[0]}{row[1]}" for row in some],
                "time": [START + timedelta(minutes=row[2]) for row in some],
                "kwh": pa.array([row[3] for row in some], pa.float64()),
            }
        )
        try:
            made.append(dn.panel(dn.read(table, minutes=15), zone="UTC", interval=15, anchor=START.isoformat()))
        except ReadingsError as error:
            made.append(str(error))
    if isinstance(made[0], str):
        assert made[0] == made[1]
        return
    np.testing.assert_array_equal(made[0].readings, made[1].readings)
    np.testing.assert_array_equal(made[0].present, made[1].present)
    assert made[0].quality.set_aside == made[1].quality.set_aside


@given(numerator=st.integers(-(10**15), 10**15), denominator=st.integers(1, 10**6))
def test_rounding_is_half_to_even(numerator, denominator):
    """The quotient of whole numbers is rounded as Python rounds a fraction: exactly, ties to even."""
    found = half_even(np.array([numerator]), np.array([denominator]))
    assert found[0] == round(Fraction(numerator, denominator))


@given(micro=st.integers(-(10**12) + 1, 10**12 - 1), as_text=st.booleans())
def test_nine_decimals_of_a_kwh_are_exact(micro, as_text):
    """A decimal of a kWh with nine places is taken exactly, from text and from the nearest float."""
    from diurnal.readings.formats import micro_values

    text = f"{'-' if micro < 0 else ''}{abs(micro) // 10**9}.{abs(micro) % 10**9:09d}"
    column = pa.array([text]) if as_text else pa.array([float(text)])
    values, wrong = micro_values(column, "kWh")
    assert wrong is None
    assert values[0] == micro


# The clock.


def test_a_skipped_hour_is_on_the_calendar():
    """In Sydney the hour from 2 on 7 October 2012 never was: rows that claim it are set aside, for everybody."""
    rows = half_hours(96, start=datetime(2012, 10, 7)) + half_hours(96, home="b", start=datetime(2012, 10, 7))
    panel = make(rows, zone="Australia/Sydney")
    assert panel.calendar == {4, 5}
    assert not panel.present[4:6].any()
    assert panel.present[:4].all()
    assert panel.quality.set_aside == {quality.NEVER: 4}


def doubled(times, value):
    """Rows of a day on which Sydney's clock shows the hour from 2 twice."""
    here = ZoneInfo("Australia/Sydney")
    moment = datetime(2013, 4, 7, tzinfo=here).astimezone(ZoneInfo("UTC"))
    moments = [moment + timedelta(minutes=30 * i) for i in range(50)]
    walls = [each.astimezone(here) for each in moments]
    return [
        ("a", wall.replace(tzinfo=None) if times == "wall" else each, value(wall, i))
        for i, (each, wall) in enumerate(zip(moments, walls, strict=True))
    ]


@pytest.mark.parametrize("times", ["wall", "moments"])
def test_a_doubled_hour_is_on_the_calendar(times):
    """The hour that comes twice on 7 April 2013 is on the calendar, whether times have offsets or not."""
    panel = make(doubled(times, lambda wall, i: 0.5), zone="Australia/Sydney")
    assert panel.calendar == {4, 5}
    assert panel.quality.set_aside == {quality.CALENDAR: 4}
    assert panel.quality.kept == 46


@pytest.mark.parametrize("times", ["wall", "moments"])
@pytest.mark.parametrize(("fold", "expected"), [("first", [100, 200]), ("mean", [151, 350])])
def test_a_doubled_hour_is_folded_never_added(times, fold, expected):
    """The first of two readings is taken, or their floor mean; their sum never is."""
    values = {4: 0.1, 5: 0.2, 6: 0.203, 7: 0.501}
    panel = make(doubled(times, lambda wall, i: values.get(i, 0.5)), zone="Australia/Sydney", fold=fold)
    assert panel.readings[4:6, 0].tolist() == expected
    assert panel.readings[6, 0] == 500
    assert panel.calendar == frozenset()
    assert panel.quality.kept + sum(panel.quality.set_aside.values()) == 50


@given(shift=st.integers(-1000, 1000), values=st.lists(st.integers(1000, 3000), min_size=2, max_size=2))
def test_the_fold_commutes_with_shifts(shift, values):
    """If a slot's readings all move by d, so does a folded doubled hour: pattern neighbours stay neighbours."""
    folded = []
    for move in (0, shift):
        watts = {4: values[0] + move, 6: values[1] + move}
        rows = doubled("moments", lambda wall, i, watts=watts: watts.get(i, 500))
        panel = dn.panel(dn.read(frame(rows), unit="Wh", minutes=30), zone="Australia/Sydney", fold="mean")
        folded.append(int(panel.readings[4, 0]))
    assert folded[1] - folded[0] == shift


def test_a_clock_of_its_own():
    """Times by market time (Brisbane, no daylight saving) come out by the homes' clock (Sydney)."""
    rows = half_hours(96, start=datetime(2012, 12, 31, 23))
    homes = dn.read(frame(rows), minutes=30, zone="Australia/Brisbane")
    panel = dn.panel(homes, zone="Australia/Sydney")
    assert panel.grid.anchor == "2013-01-01T00:00"
    assert panel.present.all()
    assert panel.n_steps == 96


def test_labels_at_the_end():
    """A row labelled 0:30 by its end is the first half hour of its day, one labelled 0:00 the last."""
    rows = half_hours(48, start=START + timedelta(minutes=30))
    panel = dn.panel(dn.read(frame(rows), minutes=30, label="end"), zone="UTC")
    assert panel.grid.anchor == "2012-07-01T00:00"
    assert panel.n_steps == 48


def test_the_first_complete_day():
    """Step 0 is the first midnight after the first row; rows before it are counted."""
    panel = make(half_hours(100, start=START + timedelta(hours=22)))
    assert panel.grid.anchor == "2012-07-02T00:00"
    assert panel.quality.set_aside == {quality.EARLY: 4}


def test_a_span_that_is_asked_for():
    """With anchor and until, steps without rows are gaps and rows outside are counted."""
    panel = make(half_hours(10), anchor="2012-06-30T00:00", until="2012-07-01T04:00")
    assert panel.n_steps == 56
    assert panel.quality.set_aside == {quality.AFTER: 2}
    assert panel.quality.gaps == 48


# Meters, groups, calendar, tenancies.


def written(tmp_path, text, name="list.csv"):
    """A small file."""
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_household_is_the_sum_of_its_meters(tmp_path):
    """Meters of a household are added, and where one of them is missing the household is."""
    rows = half_hours(4, 0.25, "m1") + half_hours(3, 0.5, "m2") + half_hours(4, 1.0, "m3")
    meters = written(tmp_path, "meter,household\nm1,home\nm2,home\nm3,other\n")
    panel = make(rows, meters=meters)
    assert panel.households == ("home", "other")
    assert panel.readings[:3, 0].tolist() == [750] * 3
    assert panel.present[:, 0].tolist() == [True, True, True, False]
    assert panel.present[:, 1].all()
    assert panel.quality.set_aside == {quality.OTHER_METER: 1}


def test_rounding_comes_after_adding_meters():
    """Two meters of 0.4 Wh are 0.8 Wh, which is 1 Wh: rounding happens once, at the end."""
    rows = half_hours(2, 0.0004, "m1") + half_hours(2, 0.0004, "m2")
    panel = make(rows, meters={"m1": "home", "m2": "home"})
    assert panel.readings.tolist() == [[1], [1]]


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


def test_groups_from_columns():
    """Groups may be columns of the rows; a household with two of them is an error that names the row."""
    table = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill", "Hill", "Lake", "Lake"])
    panel = dn.panel(dn.read(table, minutes=30, groups=["suburb"]), zone="UTC")
    assert panel.groups == {"suburb": ("Hill", "Lake")}
    table = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill", "Hill", "Lake", "Hill"])
    with pytest.raises(ReadingsError, match="the frame, row 4: column suburb: Expected one group"):
        dn.panel(dn.read(table, minutes=30, groups=["suburb"]), zone="UTC")


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


# Duplicates, domain, quality.


def test_different_duplicates_are_refused_by_place():
    """Two values for one meter and time are refused, naming both rows and no value."""
    rows = [*half_hours(4), ("a", START + timedelta(minutes=30), 0.7)]
    with pytest.raises(ReadingsError, match="the frame, row 2 and the frame, row 5: Two values") as error:
        make(rows)
    assert "0.7" not in str(error.value)


def test_net_export_is_data_where_the_domain_says_so():
    """Negative readings are set aside by default and kept in a domain that begins below zero."""
    rows = half_hours(4, -0.3) + half_hours(4, 0.3, "b")
    panel = make(rows)
    assert panel.quality.set_aside == {quality.OUTSIDE_DOMAIN: 4}
    assert panel.quality.places[quality.OUTSIDE_DOMAIN] == "the frame, row 1"
    assert panel.quality.silent == 1
    panel = make(rows, domain=(-5000, 5000))
    assert panel.readings[:, 0].tolist() == [-300] * 4
    assert panel.domain == (-5000, 5000)


@pytest.mark.parametrize("homes", [1, 3])
def test_readings_of_another_unit_are_refused(homes, tmp_path):
    """If a hundred rows and most of all lie above the domain, nothing is made: the unit is another, surely."""
    wrong = [row for home in range(homes) for row in half_hours(150, 400.0, str(home))]
    right = half_hours(100, 0.4, "right")
    with pytest.raises(ReadingsError, match=f"{150 * homes} rows are above .* and only 100 are not") as error:
        make(wrong + right, out=tmp_path / "homes.parquet")
    assert "read as kWh" in error.value.hint
    assert not list(tmp_path.iterdir())
    assert make(half_hours(99, 400.0) + right).quality.set_aside == {quality.OUTSIDE_DOMAIN: 99}
    assert make(half_hours(100, 400.0) + right).quality.set_aside == {quality.OUTSIDE_DOMAIN: 100}
    assert make(half_hours(150, -0.4) + right).quality.set_aside == {quality.OUTSIDE_DOMAIN: 150}


def test_a_unit_against_the_columns_name_is_noted():
    """What is read in another unit than its column is named for is told; what agrees is not."""
    rows = frame(half_hours(4, 400.0))
    for unit, told in (("Wh", True), ("kWh", False)):
        notes = dn.panel(dn.read(rows, unit=unit, minutes=30), zone="UTC", domain=(0, 10**6)).quality.notes
        assert any("though its name says kWh" in note for note in notes) is told


def test_quality_knows_who_starts_late_and_who_stops():
    """Households that start or stop more than a day from the panel's ends, and all-zero days, are counted."""
    rows = half_hours(240) + half_hours(96, home="b") + half_hours(100, 0.0, "c", start=START + timedelta(days=2))
    panel = make(rows)
    account = panel.quality
    assert (account.late, account.stopped, account.silent, account.zero_days) == (1, 1, 0, 2)
    assert account.gaps == 144 + 140
    assert "set aside" not in account.table()
    assert account.to_json()["households"] == 3


def test_tenths_of_a_minute_are_off_the_grid():
    """A row that does not lie inside one step is set aside and counted."""
    rows = [*half_hours(4), ("a", START + timedelta(minutes=7), 0.1)]
    assert make(rows).quality.set_aside == {quality.OFF_GRID: 1}


def test_one_wrong_date_does_not_make_a_panel_of_decades():
    """A single date forty years off is refused, because the rows would fill almost nothing."""
    rows = [*(row for home in "abcdefgh" for row in half_hours(48, home=home)), ("a", datetime(1972, 1, 1), 0.1)]
    with pytest.raises(ReadingsError, match="less than 1 in 100"):
        make(rows)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"interval": "7min"}, "divides a day"),
        ({"interval": "fortnight"}, "as a length"),
        ({"interval": "15min"}, "Rows of 30 minutes cannot be split"),
        ({"period": "45min"}, "whole intervals"),
        ({"unit": "J"}, "'Wh' or 'kWh'"),
        ({"zone": "Mars/Olympus"}, "Expected an IANA time zone"),
        ({"anchor": "noon"}, "anchor as a local time"),
        ({"anchor": "0001-01-01T00:00"}, "from 1900 to 2199"),
        ({"until": "2012-07-01T00:10"}, "whole steps"),
        ({"domain": (5, 1)}, "low at most high"),
        ({"domain": 7}, "smallest and the largest"),
        ({"fold": "add"}, "calendar, first, mean"),
        ({"on_duplicate": "sum"}, "refuse, first, last"),
        ({"out": "/"}, "cannot be written"),
        ({"domain": (900, 1000)}, "All readings were set aside"),
    ],
)
def test_mistakes_in_options(options, match):
    """An option that makes no sense is an error that says what would."""
    with pytest.raises(ReadingsError, match=match):
        make(half_hours(48), **options)


def test_a_clock_must_be_said():
    """Times without a zone are refused until the user says by which clock the homes live."""
    with refuses(ReadingsError, "zone-missing"):
        dn.panel(dn.read(frame(half_hours(48)), minutes=30))


# What a review found.


def test_a_meter_swap_inside_a_step_counts_nothing_twice():
    """Mean power of a household whose meter is swapped within a step: that step is missing, others whole."""
    rows = [
        (name, START + timedelta(minutes=15 * i), 1.0)
        for name, span in (("old", range(49)), ("new", range(49, 96)))
        for i in span
    ]
    listed = pa.table(
        {
            "meter": ["old", "new"],
            "household": ["home", "home"],
            "from": ["", "2012-07-01 12:15"],
            "until": ["2012-07-01 12:15", ""],
        }
    )
    panel = dn.panel(dn.read(frame(rows), unit="kW", minutes=15), zone="UTC", meters=listed)
    assert panel.readings[22:27, 0].tolist() == [500, 500, 0, 500, 500]
    assert panel.present[22:27, 0].tolist() == [True, True, False, True, True]


def test_a_listed_meter_without_rows_is_a_missing_meter():
    """A household one of whose listed meters has no row at all is missing, not halved; other households are not."""
    rows = half_hours(4, home="a") + half_hours(4, home="c")
    panel = make(rows, meters={"a": "H", "b": "H", "c": "K", "z": "elsewhere"})
    assert panel.households == ("H", "K")
    assert not panel.present[:, 0].any()
    assert panel.present[:, 1].all()
    assert panel.quality.set_aside == {quality.OTHER_METER: 4}


POWERS = [0.001, 0.001000001, 0.001000001]


@pytest.mark.parametrize("others", [[], [("b1", "B"), ("b2", "B")]])
def test_a_reading_does_not_depend_on_who_else_is_there(others):
    """A household's reading is the same alone and beside a household of two meters, to the last half Wh."""
    meters = {"a": "A", **dict(others)}
    rows = [(name, START + timedelta(minutes=10 * i), POWERS[i % 3]) for name in meters for i in range(144)]
    panel = dn.panel(dn.read(frame(rows), unit="kW", minutes=10), zone="UTC", meters=meters)
    exact = Fraction(sum(round(power * 10**9) for power in POWERS), 6 * 10**6)
    assert set(panel.readings[:, 0].tolist()) == {round(exact)} == {1}


@given(parts=st.lists(st.tuples(st.integers(0, 4000), st.sampled_from([15, 20, 25, 30])), min_size=1, max_size=4))
def test_the_power_of_several_meters_is_rounded_once(parts):
    """The sum of mean powers, over minutes of any number each, is rounded half to even once, exactly."""
    meters = {f"m{i}": "home" for i in range(len(parts))}
    rows = [
        (f"m{i}", START + timedelta(minutes=5 * j), milli / 10**6)
        for i, (milli, minutes) in enumerate(parts)
        for j in range(minutes // 5)
    ]
    panel = dn.panel(dn.read(frame(rows), unit="kW", minutes=5), zone="UTC", meters=meters, domain=(0, 50_000))
    exact = sum(Fraction(milli, 1000) for milli, _ in parts) / 2
    assert panel.readings[0, 0] == round(exact)


def test_the_length_of_rows_does_not_depend_on_their_order():
    """With hourly rows first and half-hourly ones after, the half hours add up whole, whatever comes first."""
    hourly = half_hours(24, 1.0, "A", minutes=60)
    halves = half_hours(48, 0.5, "B")
    for rows in ([hourly, halves], [halves, hourly]):
        table = pa.concat_tables([frame(part) for part in rows])
        panel = dn.panel(dn.read(table), zone="UTC", interval="1h")
        assert panel.readings[:, 1].tolist() == [1000] * 24
        assert not panel.present[:, 0].any()
        assert panel.quality.set_aside == {quality.INCOMPLETE: 24}


def test_another_clock_s_changes_are_no_readings():
    """By a source's clock that changes, the hour it skips is set aside and the hour it doubles closed."""
    spring = half_hours(96, 0.0, start=datetime(2012, 10, 7)) + half_hours(
        96, 0.5, "b", start=datetime(2012, 10, 7)
    )
    panel = dn.panel(dn.read(frame(spring), minutes=30, zone="Australia/Sydney"), zone="UTC")
    assert panel.quality.set_aside[quality.NEVER] == 4
    autumn = doubled("wall", lambda wall, i: 0.1 * i)
    panel = dn.panel(
        dn.read(frame(autumn), minutes=30, zone="Australia/Sydney"), zone="UTC", anchor="2013-04-06T13:00"
    )
    assert panel.calendar == {4, 5, 6, 7}
    assert panel.quality.set_aside == {quality.CALENDAR: 4}


def test_the_calendar_covers_the_whole_span():
    """Clock changes after the last row, but before the end that is asked for, are on the calendar."""
    panel = make(half_hours(48, start=datetime(2012, 10, 1)), zone="Australia/Sydney", until="2012-10-10T00:00")
    assert panel.calendar == {6 * 48 + 4, 6 * 48 + 5}


def test_groups_of_columns_follow_the_meters():
    """Groups that the source says by meter hold for the household that a list gives the meter to."""
    rows = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill"] * 4)
    panel = dn.panel(dn.read(rows, minutes=30, groups=["suburb"]), zone="UTC", meters={"a": "H", "b": "H"})
    assert panel.groups == {"suburb": ("Hill",)}
    rows = frame(half_hours(2, home="a") + half_hours(2, home="b"), suburb=["Hill", "Hill", "Lake", "Lake"])
    with refuses(ReadingsError, "groups-across-meters"):
        dn.panel(dn.read(rows, minutes=30, groups=["suburb"]), zone="UTC", meters={"a": "H", "b": "H"})


def test_duplicates_outside_the_doubled_hour_are_duplicates():
    """On a day with a doubled hour, a second value at ten o'clock is refused, also where a step is a day long."""
    rows = [*doubled("wall", lambda wall, i: 0.5), ("a", datetime(2013, 4, 7, 10), 0.7)]
    with refuses(ReadingsError, "duplicate-values"):
        make(rows, zone="Australia/Sydney", interval="1d", fold="first")


def test_the_top_of_the_domain_is_inside():
    """The least and the largest reading of the domain are readings."""
    rows = half_hours(1, 0.1) + half_hours(1, 0.2, "b") + half_hours(1, 0.201, "c") + half_hours(1, 0.099, "d")
    panel = make(rows, domain=(100, 200))
    assert panel.present[0].tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("text", "utc"),
    [("2012-07-01T00:00:00-05:00", 5), ("2012-07-01T00:00:00+05:00", -5), ("2012-07-01T00:00:00Z", 0)],
)
def test_offsets_of_both_signs(text, utc):
    """A time with an offset is the moment it says, east and west of Greenwich."""
    panel = make([("a", text, 0.5)], anchor="2012-06-30T00:00")
    assert np.flatnonzero(panel.present[:, 0]).tolist() == [48 + 2 * utc]


def test_end_labels_go_back_by_the_row_s_own_length():
    """Rows of different lengths labelled by their ends start where their own length says."""
    rows = [
        dn.Rows(
            meter="a",
            time=np.array([1341101700, 1341102600, *(1341102600 + 60 * i for i in range(1, 31))]),
            value=[0.1, 0.2, *[0.01] * 30],
            line=1,
            minutes=np.array([15, 15, *[1] * 30]),
        )
    ]

    class Mixed(dn.Format):
        name = "mixed"

        def read(self, part):
            yield from rows

    panel = dn.panel(dn.read(frame(half_hours(1)), format=Mixed(minutes=15, label="end")), zone="UTC")
    assert panel.readings[:, 0].tolist() == [300, 300]
    assert panel.quality.set_aside == {}


def test_rows_of_odd_seconds_say_no_length():
    """Times that are 45 seconds apart do not say how many minutes a row lasts."""
    rows = [("a", START + timedelta(seconds=45 * i), 0.1) for i in range(9)]
    with refuses(ReadingsError, "row-length-unknown"):
        dn.panel(dn.read(frame(rows)), zone="UTC")


def test_duplicates_of_another_length_are_not_the_same():
    """Two rows of one start and value but of different lengths are no duplicates to keep once."""

    class Lengths(dn.Format):
        name = "lengths"

        def read(self, part):
            start = 1341100800
            yield dn.Rows(
                meter="a", time=np.array([start, start]), value=[0.1, 0.1], line=1, minutes=np.array([15, 30])
            )

    with refuses(ReadingsError, "duplicate-values"):
        dn.panel(dn.read(frame(half_hours(1)), format=Lengths(minutes=30)), zone="UTC")


def test_the_right_rows_are_named_in_a_later_bucket(monkeypatch):
    """A refused duplicate is named by its own rows when its household is not in the first bucket."""
    from diurnal.readings import importing

    monkeypatch.setattr(importing, "BUCKET", 100)
    homes = [f"h{i:02d}" for i in range(30)]
    rows = [row for home in homes for row in half_hours(48, home=home)]
    rows.append(("h23", START + timedelta(minutes=30), 0.9))
    with pytest.raises(ReadingsError, match=f"row {23 * 48 + 2} and the frame, row {len(rows)}: Two values"):
        make(rows)


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


def test_netted_gaps_stay_gaps():
    """Generation that is netted turns readings round, not blanks, NaN or what is too large."""

    class Net(dn.Format):
        name = "net"

        def read(self, part):
            times = 1341100800 + 1800 * np.arange(4)
            yield dn.Rows(meter="a", time=times, value=[0.5, None, float("nan"), 1e9], line=1, sign=-1)

    panel = dn.panel(dn.read(frame(half_hours(1)), format=Net(minutes=30)), zone="UTC", domain=(-1000, 1000))
    assert panel.readings[:, 0].tolist() == [-500, 0, 0, 0]
    assert panel.quality.set_aside == {quality.BLANK: 1, quality.NOT_A_NUMBER: 1, quality.OUTSIDE_DOMAIN: 1}


def test_small_batches_are_put_together_with_their_lines():
    """A reader that yields a row at a time is as good as one that yields many: values, gaps, lines of errors."""

    class One(dn.Format):
        name = "one"
        values: tuple = ()

        def read(self, part):
            for i, value in enumerate(self.values):
                yield dn.Rows(meter="a", time=[str(START + timedelta(minutes=30 * i))], value=[value], line=10 + i)

    One.values = ("0.1", "", "0.3")
    panel = dn.panel(dn.read(frame(half_hours(1)), format=One(minutes=30)), zone="UTC")
    assert panel.readings[:, 0].tolist() == [100, 0, 300]
    One.values = ("0.1", "0.2", "x")
    with pytest.raises(ReadingsError, match="row 12: column value"):
        dn.panel(dn.read(frame(half_hours(1)), format=One(minutes=30)), zone="UTC")


def test_a_blank_first_showing_is_a_showing():
    """By order alone, a blank or NaN in the first showing of a doubled hour does not make the second the first."""
    values = {4: None, 5: 0.1, 6: 0.2, 7: 0.3}
    for odd in (None, float("nan")):
        values[4] = odd
        for fold, expected in (("first", [False, True]), ("mean", [True, True])):
            made = [
                make(doubled(times, lambda wall, i: values.get(i, 0.5)), zone="Australia/Sydney", fold=fold)
                for times in ("wall", "moments")
            ]
            for panel in made:
                assert panel.present[4:6, 0].tolist() == expected
                assert panel.readings[5, 0] == (100 if fold == "first" else 200)
            np.testing.assert_array_equal(made[0].readings, made[1].readings)


@pytest.mark.parametrize("fold", ["calendar", "first", "mean"])
def test_ends_around_a_doubled_hour_are_closed(fold):
    """Times that are ends, as the clock shows them, are ambiguous from half an hour before the doubled hour on."""
    here = ZoneInfo("Australia/Sydney")
    start = datetime(2013, 4, 7, tzinfo=here).astimezone(ZoneInfo("UTC"))
    ends = [(start + timedelta(minutes=30 * i)).astimezone(here) for i in range(1, 51)]
    rows = [("a", end.replace(tzinfo=None), 0.01 * i) for i, end in enumerate(ends)]
    homes = dn.read(frame(rows), minutes=30, label="end")
    panel = dn.panel(homes, zone="Australia/Sydney", fold=fold)
    assert panel.calendar == {3, 4, 5}
    assert panel.readings[:3, 0].tolist() == [0, 10, 20]
    assert panel.readings[6, 0] == 80
    by_market = dn.panel(
        dn.read(frame(rows), minutes=30, label="end", zone="Australia/Sydney"),
        zone="Australia/Brisbane",
        anchor="2013-04-06T23:00",
    )
    assert by_market.calendar == {3, 4, 5, 6, 7}
    assert by_market.readings[8, 0] == 80


def test_batches_of_uneven_columns_are_refused():
    """A batch whose columns have different lengths is refused; nothing slides from one household to another."""
    times = [str(START + timedelta(minutes=30 * i)) for i in range(3)]

    for batches in (
        (
            dn.Rows(meter="a", time=times, value=["1", "2"], line=1),
            dn.Rows(meter="b", time=times[:2], value=["3", "4", "5"], line=4),
        ),
        (dn.Rows(meter="a", time=times, value=["1"], line=1),),
        (dn.Rows(meter=["a", "b"], time=times, value=["1"] * 3, line=1),),
        (dn.Rows(meter="a", time=times, value=["1"] * 3, line=np.array([1, 2])),),
        (dn.Rows(meter="a", time=times, value=["1"] * 3, line=1, minutes=np.array([30])),),
    ):
        with pytest.raises(ReadingsError, match=r"Expected 3 entries, one per row"):
            dn.panel(dn.read(frame(half_hours(1)), format=Given(minutes=30, batches=batches)), zone="UTC")


def test_batches_of_mixed_types_show_nothing():
    """Entries of several types, numbers too large for Arrow and mixed offsets are errors that show no entry."""
    time = str(START)

    for batches in (
        (dn.Rows(meter="a", time=[time], value=[0.7, "0.2512345"], line=1),),
        (dn.Rows(meter="a", time=[time, time], value=[0.7, "0.2512345"], line=1),),
        (dn.Rows(meter="a", time=[time], value=[2**70], line=1),),
        (dn.Rows(meter=[1, "secret"], time=[time] * 2, value=[1, 2], line=1),),
        (
            dn.Rows(meter="a", time=[START], value=[1.0], line=1),
            dn.Rows(meter="a", time=[START.replace(tzinfo=ZoneInfo("UTC"))], value=[1.0], line=2),
        ),
        (
            dn.Rows(meter="a", time=[time], value=["1"], line=1),
            dn.Rows(meter="a", time=[f"{time}+10:00"], value=["1"], line=2),
        ),
    ):
        with pytest.raises(ReadingsError) as error:
            dn.panel(dn.read(frame(half_hours(1)), format=Given(minutes=30, batches=batches)), zone="UTC")
        assert "secret" not in str(error.value)
        assert "0.2512345" not in str(error.value)


def test_a_reader_of_one_s_own_that_fails_shows_nothing():
    """What goes wrong in somebody's own reader is named by its kind; what it could not read stays hidden."""

    class Broken(dn.Format):
        name = "broken"

        def read(self, part):
            yield dn.Rows(meter="a", time=[str(START)], value=[float("0,7654321")], line=1)

    with pytest.raises(ReadingsError, match=r"reader of the format broken failed \(ValueError\)") as error:
        dn.panel(dn.read(frame(half_hours(1)), format=Broken(minutes=30)), zone="UTC")
    assert error.value.__context__ is None


def test_a_duplicate_is_named_by_the_rows_that_differ():
    """Of a blank, a value twice and another value at one time, the two that contradict each other are named."""
    at = START + timedelta(minutes=30)
    rows = [*half_hours(1), ("a", at, None), ("a", at, 0.1), ("a", at, 0.1), ("a", at, 0.2)]
    with pytest.raises(ReadingsError, match="row 3 and the frame, row 5: Two values"):
        make(rows)


def test_meters_of_one_name_in_several_households():
    """A list that names a meter which several households of the source have is refused: whose is it?"""
    table = frame(half_hours(2, home="a") + half_hours(2, home="b"), meter=["main"] * 4)
    with refuses(ReadingsError, "meters-ambiguous"):
        dn.panel(dn.read(table, minutes=30), zone="UTC", meters={"main": "H"})
    panel = dn.panel(dn.read(table, minutes=30), zone="UTC", meters={"a": "A", "b": "B", "c": "C", "b2": "B"})
    assert panel.present.all(axis=0).tolist() == [True, False]
    assert "1 listed households have no row at all" in panel.quality.notes


def test_net_needs_a_domain(tmp_path):
    """Net readings are refused until a domain says what they may be."""
    dn.write(make(half_hours(48)), tmp_path / "year.csv", format="ausgrid")
    with refuses(ReadingsError, "panel-net-domain"):
        dn.panel(dn.read(tmp_path / "year.csv", channel="net"))


def test_another_clock_inside_a_doubled_hour_of_the_panel():
    """Where both clocks change at once, all that the panel's clock shows of the ambiguous hours is closed."""
    rows = half_hours(96, start=datetime(2012, 11, 4))
    homes = dn.read(frame(rows), minutes=30, zone="America/New_York")
    panel = dn.panel(homes, zone="America/Chicago", fold="mean", anchor="2012-11-04T00:00")
    assert {0, 1, 2, 3} <= panel.calendar


def test_nothing_private_is_in_a_repr():
    """What holds readings or names on the way of an import shows none of them in its repr."""
    from diurnal.readings.resampling import Roster
    from diurnal.readings.row_buffer import RowBuffer
    from diurnal.readings.side_tables import meter_list
    from diurnal.readings.source import Table

    rows = half_hours(48, 0.7654321, "secret-home")
    homes = dn.read(frame(rows), minutes=30)
    panel = dn.panel(homes, zone="UTC", unit="Wh")
    buffer = RowBuffer(None, homes.format)
    with buffer.spill:
        for batch in homes.format.read(homes.parts[0]):
            buffer.add(homes.parts[0], batch)
            shown = [batch, buffer]
        shown += [
            panel,
            panel.data,
            panel.quality,
            next(panel.blocks()),
            homes,
            homes.parts[0],
            Table(frame(rows), 1),
        ]
        shown += [Roster.of(buffer.meters), meter_list({"secret-home": "secret-home"})]
    for each in shown:
        for text in (repr(each), str(each)):
            assert "secret-home" not in text, type(each)
            assert "765" not in text, type(each)
