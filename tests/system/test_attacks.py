"""Attacks a stranger can make with a calendar and a newspaper (theory 4.4, 6.1)."""

import numpy as np
import pytest

import diurnal as dn
from diurnal.curator import guard


@pytest.fixture(scope="module")
def spring(ausgrid):
    """28 days around 7 October 2012, when every home read zero in the hour the clocks skipped."""
    day = 366 + 98
    return ausgrid.between((day - 14) * 48, (day + 14) * 48)


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
    return dn.Curator.in_memory().start(plan, history=panel)


def test_the_two_zero_half_hours_are_in_the_data(spring):
    """All 226 homes read 0 at two half hours of 7 October 2012, local time 02:00 and 02:30."""
    steps = known_zero_steps(spring)
    assert [spring.grid.time(step)[:16] for step in steps] == ["2012-10-07T02:00", "2012-10-07T02:30"]


def test_a_known_total_undoes_its_slot_for_ever(spring):
    """Without the calendar: the report of a step known to be zero is the noise, and its slot's totals follow."""
    rows = {row.step: row.numerator for row in start(spring).report(spring)}
    for step in known_zero_steps(spring):
        noise = rows[step]
        same_slot = range(spring.first_step + step % 48, spring.steps.stop, 48)
        truth = [int(spring.readings[t - spring.first_step].sum()) for t in same_slot]
        assert [rows[t] - noise for t in same_slot] == truth


def test_with_the_calendar_there_is_no_known_total(spring):
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
    stream = start(guarded)
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
        history=365,
        level="pattern",
        mechanism="laplace",
        body=dn.Body(high=3000),
    )
    rows = dn.Curator.in_memory().start(plan, history=year).report(year)
    reports = np.array([float(row.exact) for row in rows]).reshape(365, 48)
    # The minimum over the year is the slot's noise plus the population's base load; guess the latter 25 % off.
    base = 1.25 * truth.reshape(365, 48).min(axis=0).mean()
    stripped = reports - reports.min(axis=0) + base
    before = np.sqrt(np.mean((reports.reshape(-1) - truth) ** 2)) / truth.max()
    after = np.sqrt(np.mean((stripped.reshape(-1) - truth) ** 2)) / truth.max()
    assert before > 0.3
    assert after < 0.09
    assert after < before / 3


def lonely_day(panel):
    """How well an outsider works out what one home did on a history day when only its meter came through.

    Variations of a slot add up to nearly nothing over the history, so the missing day is what the others lack.
    """
    slots, days, day, n = 48, 28, 9, panel.n_households
    present = panel.present.copy()
    present[day * slots : (day + 1) * slots, 1:] = False
    gappy = panel.following(panel.readings, present=present, first_step=panel.first_step)
    stream = start(gappy)
    rows = np.array([float(row.numerator) for row in stream.report(gappy)]).reshape(days, slots)
    profile = np.array([float(value) for value in stream.noisy_profile["all"]])
    guess = (n - 1) * (days - 2) / 2 - (rows - profile).sum(axis=0)
    home = panel.readings[:, 0].reshape(days, slots)
    return np.corrcoef(guess, home[day] - home.mean(axis=0))[0, 1]


def test_a_lonely_day_is_worked_out_only_if_profiles_know_it(spring, monkeypatch):
    """Were profiles made from what cannot be published, the attack's guess would correlate with the truth above
    0.9; as shipped it knows nothing.
    """
    assert lonely_day(spring) < 0.6
    monkeypatch.setattr(guard, "unspeakable", lambda record, history, store: np.zeros_like(history.present))
    assert lonely_day(spring) > 0.9
