"""Attacks a stranger can make with a calendar and a newspaper (theory 4.4, 6.1)."""

import numpy as np
import pytest

import diurnal as dn


@pytest.fixture(scope="module")
def spring(ausgrid):
    """28 days around 7 October 2012, when every home read zero in the hour the clocks skipped."""
    day = 366 + 98
    return ausgrid.between((day - 14) * 48, (day + 14) * 48)


@pytest.fixture(scope="module")
def winter(ausgrid, spring):
    """The 28 days before them."""
    return ausgrid.between(spring.first_step - 28 * 48, spring.first_step)


def known_zero_steps(panel):
    return [step for step, row in zip(panel.steps, panel.readings, strict=True) if not row.any()]


def start(panel, **more):
    plan = dn.Plan(
        query=dn.Sum(),
        epsilon="1",
        domain=(0, 8000),
        grid=panel.grid,
        history=28,
        level="pattern",
        mechanism="cube",
        body=dn.Body(high=3000),
        **more,
    )
    return dn.Curator.in_memory().start(plan, history=panel, acknowledge="untested", accept_worse=True)


def test_the_two_zero_half_hours_are_in_the_data(spring):
    """All 226 homes read 0 at two half hours of 7 October 2012, local time 02:00 and 02:30."""
    steps = known_zero_steps(spring)
    assert [spring.grid.time(step)[:16] for step in steps] == ["2012-10-07T02:00", "2012-10-07T02:30"]


def test_a_known_total_undoes_its_slot_for_ever(winter, spring):
    """Without the calendar: the report of a step known to be zero is the noise, and its slot's totals follow."""
    rows = {row.step: row.numerator for row in start(winter).report(spring)}
    for step in known_zero_steps(spring):
        noise = rows[step]
        same_slot = range(spring.first_step + step % 48, spring.steps.stop, 48)
        truth = [int(spring.readings[t - spring.first_step].sum()) for t in same_slot]
        assert [rows[t] - noise for t in same_slot] == truth


def test_with_the_calendar_there_is_no_known_total(winter, spring):
    """On the calendar the two steps are never reported, and what an attacker would subtract instead, the smallest
    report of the slot, is not the noise: no total of these slots follows from it.
    """
    steps = known_zero_steps(spring)
    guarded = dn.Panel.from_array(
        spring.readings,
        households=spring.households,
        grid=spring.grid,
        first_step=spring.first_step,
        calendar=steps,
    )
    stream = start(winter)
    stream.report(guarded)
    rows = {row.step: row.numerator for row in stream.report(spring)}
    assert set(steps).isdisjoint(rows)
    assert set(rows) == set(spring.steps) - set(steps)
    for slot in {step % 48 for step in steps}:
        same_slot = [t for t in sorted(rows) if t % 48 == slot]
        truth = {t: int(spring.readings[t - spring.first_step].sum()) for t in same_slot}
        guess = min(rows[t] for t in same_slot)
        assert not any(rows[t] - guess == truth[t] for t in same_slot)


def test_the_slot_minimum_removes_most_of_theorem_1_s_noise(ausgrid):
    """From the released year alone an outsider who takes each slot's minimum, and guesses the base load within a
    quarter, removes nine tenths of the noise (0.63 to about 0.05 of the peak): pattern privacy of non-negative
    data is worth little.
    """
    year = ausgrid.after(366)
    truth = year.readings.mean(axis=1)
    plan = dn.Plan(
        epsilon="1",
        domain=(0, 8000),
        grid=year.grid,
        history=366,
        level="pattern",
        mechanism="laplace",
        body=dn.Body(high=3000),
    )
    rows = (
        dn.Curator.in_memory()
        .start(plan, history=ausgrid.first(366), acknowledge="untested", accept_worse=True)
        .report(year)
    )
    reports = np.array([float(row.exact) for row in rows]).reshape(365, 48)
    # The minimum over the year is the slot's noise plus the population's base load; guess the latter 25 % off.
    base = 1.25 * truth.reshape(365, 48).min(axis=0).mean()
    stripped = reports - reports.min(axis=0) + base
    before = np.sqrt(np.mean((reports.reshape(-1) - truth) ** 2)) / truth.max()
    after = np.sqrt(np.mean((stripped.reshape(-1) - truth) ** 2)) / truth.max()
    assert before > 0.3
    assert after < 0.09
    assert after < before / 3


def test_a_household_that_leaves_gives_nothing_away(silence):
    """A home leaves after day 30. Averaging reports before and after gives its profile from a naive stream, which
    sums who is there (correlation 0.99); from ours it gives nothing: a leaver counts as its profile for ever.
    """
    from diurnal.study.planted import planted

    panel = planted(homes=20, cycles=400, slots=12, noise="normal", seed=3)
    readings = panel.readings.copy()
    home = np.rint(3000 + 2000 * np.sin(np.arange(12))).astype(np.int64)
    readings[:, 7] += np.tile(home, 400)
    present = np.ones(readings.shape, dtype=bool)
    present[30 * 12 :, 7] = False
    panel = panel.following(readings, present=present, first_step=0)
    truth = readings[: 10 * 12, 7].reshape(-1, 12).mean(axis=0)

    def difference(values):
        """What an outsider makes of the series: the mean day before less the mean day after."""
        days = np.asarray(values, dtype=float).reshape(-1, 12)
        return days[:20].mean(axis=0) - days[20:].mean(axis=0)

    naive = np.where(present, readings, 0).sum(axis=1)[10 * 12 :]
    assert np.corrcoef(difference(naive), truth)[0, 1] > 0.99
    plan = dn.Plan(
        query=dn.Sum(),
        epsilon="1",
        domain=(0, 20000),
        history=10,
        grid=panel.grid,
        level="pattern",
        mechanism="cube",
    )
    stream = dn.Curator.in_memory().start(plan, history=panel.first(10), acknowledge="untested", accept_worse=True)
    ours = difference([row.exact for row in stream.report(panel.after(10))])
    assert abs(np.corrcoef(ours, truth)[0, 1]) < 0.6
    assert np.abs(ours).max() < np.abs(difference(naive)).max() / 10
    # With another profile of that home every report is the same, up to what G says once.
    moved = readings.copy()
    moved[:, 7] += np.tile(np.arange(12) * 300, 400)
    other = panel.following(np.where(present, moved, 0), present=present, first_step=0)
    again = dn.Curator.in_memory().start(plan, history=other.first(10), acknowledge="untested", accept_worse=True)
    assert difference([row.exact for row in again.report(other.after(10))]) == pytest.approx(ours, abs=1e-6)
