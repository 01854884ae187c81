"""How good reports are on real homes: the project's targets, drawn through the shipped mechanisms.

Few draws each, to be quick; `python -m benchmarks.accuracy` has 200, with intervals (docs/accuracy-figures.md).
"""

import os

import pytest
from benchmarks import accuracy


@pytest.fixture(scope="module")
def homes():
    """226 Ausgrid homes after a year of history; the public level is that year's."""
    if not os.path.isdir(os.path.join(os.environ.get("DIURNAL_DATA", ""), "ausgrid")):
        pytest.skip("needs the real data: set DIURNAL_DATA to its folder")
    return accuracy.ausgrid()


def test_a_pattern_plan_has_a_thirtieth_of_theorem_1_s_error(homes):
    """Relative error at most 0.025 and skill at least 0.94 at epsilon 1, against 0.71 and -45."""
    found = accuracy.pattern(accuracy.made(homes), homes, 60)
    assert found.error <= 0.025
    assert found.skill >= 0.94


def test_what_is_free_brings_a_fifth(homes):
    """Without the free reference the same plan has a fifth more error or so, and still beats doing nothing."""
    free = accuracy.pattern(accuracy.made(homes), homes, 40)
    plain = accuracy.pattern(accuracy.made(homes, free=False), homes, 40)
    assert 1.2 * free.error < plain.error < 0.4 * accuracy.nothing(homes)


def test_a_base_load_has_half_of_that(homes):
    """Relative error at most 0.012 with the least reading of a slot as the profile."""
    assert accuracy.pattern(accuracy.made(homes, statistic="base-load"), homes, 40).error <= 0.012


def test_weeks(homes):
    """Relative error at most 0.028 with a period of a week."""
    week = accuracy.weeks(homes)
    assert accuracy.pattern(accuracy.made(week), week, 40).error <= 0.028


def test_a_strong_plan_has_three_quarters_skill(homes):
    """At the end of the day relative error at most 0.052 and skill at least 0.75, 1 for the pattern and 1 a day."""
    found = accuracy.strong(accuracy.made(homes, level="strong"), homes, 4)
    assert found.error <= 0.052
    assert found.skill >= 0.75


def test_sooner_costs_more_and_beats_nothing_still(homes):
    """Reports every few hours lie between those of a day and of a slot, and all beat doing nothing at 226 homes."""
    day = accuracy.strong(accuracy.made(homes, level="strong"), homes, 3)
    block = accuracy.strong(accuracy.by_block(homes), homes, 3)
    slot = accuracy.strong(accuracy.by_slot(homes), homes, 3)
    assert day.error < block.error < slot.error < accuracy.nothing(homes)


def test_a_draw_of_the_parts_is_a_draw_of_the_whole(homes):
    """The strong error that is put together from the layers is that of a stream's own rows, within a tenth."""
    plan = accuracy.made(homes, level="strong")
    budget = accuracy.dn.Budget(pattern="1", strong="1")
    curator = accuracy.dn.Curator.in_memory(budget)
    stream = curator.start(plan, history=homes.history, acknowledge="untested")
    rows = {row.step: float(row.exact) for row in stream.report(homes.year)}
    reported = [rows[homes.year.steps[place]] for place in homes.open]
    error = float(((reported - homes.truth) ** 2).mean() ** 0.5 / homes.truth.max())
    assert error == pytest.approx(accuracy.strong(plan, homes, 4).error, rel=0.1)
