"""From placed rows to readings: the rules, against an independent count with fractions."""

import collections
import itertools
import math
from datetime import datetime, timedelta
from fractions import Fraction
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
from halfhours import START, frame, half_hours, make, written
from support import refuses

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


def test_tenths_of_a_minute_are_off_the_grid():
    """A row that does not lie inside one step is set aside and counted."""
    rows = [*half_hours(4), ("a", START + timedelta(minutes=7), 0.1)]
    assert make(rows).quality.set_aside == {quality.OFF_GRID: 1}


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


def test_a_duplicate_is_named_by_the_rows_that_differ():
    """Of a blank, a value twice and another value at one time, the two that contradict each other are named."""
    at = START + timedelta(minutes=30)
    rows = [*half_hours(1), ("a", at, None), ("a", at, 0.1), ("a", at, 0.1), ("a", at, 0.2)]
    with pytest.raises(ReadingsError, match="row 3 and the frame, row 5: Two values"):
        make(rows)


def test_another_clock_inside_a_doubled_hour_of_the_panel():
    """Where both clocks change at once, all that the panel's clock shows of the ambiguous hours is closed."""
    rows = half_hours(96, start=datetime(2012, 11, 4))
    homes = dn.read(frame(rows), minutes=30, zone="America/New_York")
    panel = dn.panel(homes, zone="America/Chicago", fold="mean", anchor="2012-11-04T00:00")
    assert {0, 1, 2, 3} <= panel.calendar
