import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import ReadingsError
from diurnal.periodicity.drift import drift
from diurnal.readings.grid import Grid

GRID = Grid(slots=6)


@dataclass(frozen=True)
class Row:
    step: int
    group: str
    exact: Fraction
    unit: str = "Wh"


def rows_of(values, group="all", first=0):
    """Rows of a table with a row a cycle."""
    flat = np.asarray(values).ravel()
    return [Row(first + at, group, Fraction(float(value))) for at, value in enumerate(flat) if not np.isnan(value)]


def steady(seed, cycles=120, memory=0.5):
    """Cycles around a level of 100 whose days carry over to the next."""
    rng = np.random.default_rng(seed)
    level = np.zeros(cycles)
    for at in range(1, cycles):
        level[at] = memory * level[at - 1] + rng.standard_normal() * 10
    return 100 + level[:, None] + rng.standard_normal((cycles, 6)) * 10


def test_a_steady_pattern_raises_no_alarm():
    """Of 200 steady series whose days are alike none is called moved, with or without a profile."""
    profile = {"all": [Fraction(100)] * 6}
    for seed in range(200):
        rows = rows_of(steady(seed))
        assert not drift(rows, GRID)["all"].alarm
        assert not drift(rows, GRID, profile)["all"].alarm


def test_chance_alone_is_rarely_taken_for_a_move():
    """Even with a threshold near nothing, at most one steady series in eight is called moved by its last window."""
    moved = [drift(rows_of(steady(seed)), GRID, threshold=1e-9)["all"].alarm for seed in range(200)]
    assert np.mean(moved) < 0.125


@pytest.mark.parametrize("known", [True, False])
def test_a_moved_pattern_is_found_and_dated(known):
    """A pattern that moves by half of its level at cycle 60 raises an alarm, dated within the window after it."""
    values = steady(3)
    values[60:] += [50, 50, -50, 50, -50, 50]
    found = drift(rows_of(values), GRID, {"all": [Fraction(100)] * 6} if known else None, window=14)["all"]
    assert found.alarm
    assert found.moves[-1] / found.level == pytest.approx(0.5, abs=0.1)
    first = next(cycle for cycle, alarm in zip(found.cycles, found.alarms, strict=True) if alarm)
    assert 60 < first <= 74
    assert found.since == GRID.time(first * 6)
    assert "has moved" in str(found)


def test_a_pattern_that_comes_back_ends_the_alarm():
    """Once the pattern is back for a window, there is no alarm, and the past one is still to be seen."""
    values = steady(4)
    values[50:80] += 60
    found = drift(rows_of(values), GRID, {"all": [Fraction(100)] * 6}, window=14)["all"]
    assert any(found.alarms)
    assert not found.alarm
    assert found.since is None


def test_gaps_and_half_cycles_are_left_out():
    """Cycles with too few reports do not count; a missing report in one that does is no move."""
    values = steady(5, cycles=40)
    values[10, :3] = np.nan
    whole = drift(rows_of(values), GRID, {"all": [Fraction(100)] * 6}, window=7)["all"]
    assert 10 not in whole.cycles
    assert whole.cycles[-1] == 39


def test_too_few_cycles_say_so():
    """Before there is a window there is no move, no alarm and no error."""
    found = drift(rows_of(steady(1, cycles=5)), GRID)["all"]
    assert (found.cycles, found.alarm, found.since) == ((), False, None)
    assert "yet" in str(found)


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_a_stream_watches_its_own_rows(level):
    """Each group of a stream has its drift: against G in pattern mode, against its first cycles in strong mode."""
    panel = support.town(n=400, cycles=90, slots=4, high=100, groups={"side": ["a"] * 200 + ["b"] * 200})
    moved = panel.readings.copy()
    moved[50 * 4 :, 200:] = np.minimum(moved[50 * 4 :, 200:] + 40, 100)
    panel = panel.following(moved, first_step=0)
    plan = support.plan_for(panel, level=level, groups="side", epsilon="20")
    stream = support.start(panel, plan)
    assert stream.drift() == {}
    stream.report(panel.after(4))
    found = stream.drift(window=14)
    assert found.keys() == {"a", "b"}
    assert not found["a"].alarm
    assert found["b"].alarm
    against = "the noisy profile" if level == "pattern" else "its first 14 reported cycles"
    assert found["b"].against == against


def test_in_pattern_mode_noise_takes_no_part():
    """Reports less G have no noise: in pattern mode the move is that of the exact variations."""
    panel = support.town(n=60, cycles=40)
    streams = [support.start(panel, support.plan_for(panel, epsilon="0.5")) for _ in range(2)]
    for stream in streams:
        stream.report(panel.after(4))
    one, two = (stream.drift(window=7, mean_reading=50)["all"] for stream in streams)
    assert one.chance == pytest.approx(two.chance)
    assert one.moves == pytest.approx(two.moves)
    assert one.alarms == two.alarms


def test_a_level_that_noise_hides_is_not_guessed_at():
    """Where noise is not small against it the level is unknown, moves are in units, and chance alone decides."""
    panel = support.town(n=60, cycles=60)
    noisy, quiet = (support.start(panel, support.plan_for(panel, epsilon=epsilon)) for epsilon in ("0.01", "100"))
    for stream in (noisy, quiet):
        stream.report(panel.after(4))
    hidden, seen = (stream.drift(window=7)["all"] for stream in (noisy, quiet))
    assert hidden.level is None
    assert "noise hides the level" in str(hidden)
    assert hidden.alarms == tuple(
        times > 4 and move > 0 for times, move in zip(hidden.chance, hidden.moves, strict=True)
    )
    assert seen.level == pytest.approx(panel.readings[:16].mean(), rel=0.05)
    assert noisy.drift(window=7, mean_reading=50)["all"].level == 50


def test_a_slot_that_the_pattern_does_not_know_is_no_move():
    """A slot that was on the calendar while the pattern was learned is compared with nothing."""
    values = 100 + np.random.default_rng(1).standard_normal((60, 10))
    values[:28, 3] = np.nan
    grid = Grid(slots=10)
    found = drift(rows_of(values), grid)["all"]
    assert not any(found.alarms)
    assert found.level == pytest.approx(100, rel=0.01)


def test_what_never_varies_and_moves_is_still_json():
    """A constant that jumps is a move beyond all chance, said in a number that JSON has."""
    values = np.full((60, 6), 100.0)
    values[40:] = 200
    found = drift(rows_of(values), GRID, window=7)["all"]
    assert found.alarm
    assert "Infinity" not in json.dumps(found.to_json())


def test_windows_are_those_of_a_naive_count():
    """Moves and chance agree with the definition, written out, on cycles with a missing report."""
    values = steady(2, cycles=20)
    values[12, 4] = np.nan
    profile = np.arange(6) + 97.0
    found = drift(rows_of(values), GRID, {"all": [Fraction(float(value)) for value in profile]}, window=5)["all"]
    kept = [cycle for cycle in range(20) if cycle != 12]
    assert found.cycles == tuple(kept[4:])
    for at, last in enumerate(kept[4:]):
        inside = values[kept[kept.index(last) - 4 : kept.index(last) + 1]] - profile
        mean = inside.mean(axis=0)
        rest = inside - mean
        reach = 1 + round(5 ** (1 / 3))
        spread = (rest**2).mean() + sum(
            2 * (1 - lag / (reach + 1)) * (rest[lag:] * rest[:-lag]).sum() / rest.size
            for lag in range(1, reach + 1)
        )
        chance = max(spread, (rest**2).mean() / 10) / 5
        assert found.chance[at] == pytest.approx((mean**2).mean() / chance)
        assert found.moves[at] == pytest.approx(np.sqrt(max(0, (mean**2).mean() - chance)))


def test_on_private_readings_it_is_private():
    """The same on the readings themselves is marked private, and is what released reports without noise tell."""
    panel = support.town(n=60, cycles=40)
    found = dn.private_drift(panel, history=4, window=7)
    assert isinstance(found, dn.Private)
    assert repr(found) == "<PrivateDrift, private>"
    assert "custodian" in str(found)
    stream = support.start(panel, support.plan_for(panel, epsilon="1000"))
    stream.report(panel.after(4))
    released = stream.drift(window=7)["all"]
    assert released.cycles == found.cycles
    # Profiles are whole numbers, a half below the mean.
    assert released.level == pytest.approx(found.level, abs=1)
    assert released.moves == pytest.approx(found.moves, abs=1)


@pytest.mark.parametrize("fields", [{"window": 1}, {"window": 2.5}, {"threshold": 0}, {"threshold": "0.3"}])
def test_windows_and_thresholds_that_are_none_are_refused(fields):
    """A window of one cycle and a threshold of zero are refused by name."""
    with pytest.raises(ReadingsError, match=next(iter(fields))):
        drift(rows_of(steady(1)), GRID, **fields)
