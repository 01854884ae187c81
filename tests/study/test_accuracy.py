"""How good reports are on real homes: the project's targets, drawn through the shipped mechanisms.

Few draws each, to be quick; `python -m benchmarks.accuracy` has 200, with intervals (docs/accuracy-figures.md).
"""

import math
import os

import pytest
from benchmarks import accuracy

import support

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("accuracy")


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
    assert accuracy.pattern(accuracy.made(week), week, 150).error <= 0.028


def test_a_strong_plan_has_three_quarters_skill(homes):
    """At the end of the day relative error at most 0.052 and skill at least 0.75, 1 for the pattern and 1 a day."""
    found = accuracy.strong(accuracy.made(homes, level="strong"), homes, 4)
    assert found.error <= 0.052
    assert found.skill >= 0.75


def expected(plan, homes):
    """The error of a strong plan by formula: what is dropped, where noise is silent, and the noise's deviation."""
    n, slots = homes.year.n_households, plan.grid.slots
    layers = (plan.pattern_layer(1, n), plan.cycle_layer())
    noise = math.hypot(*(support.standard_deviation(layer, slots) for layer in layers)) / n / homes.truth.max()
    return math.hypot(accuracy.strong(plan, homes, 2).error, noise)


def test_sooner_costs_more_and_beats_nothing_still(homes, silence):
    """Reports every few hours lie between those of a day and of a slot, and all beat doing nothing at 226 homes."""
    plans = (accuracy.made(homes, level="strong"), accuracy.by_block(homes), accuracy.by_slot(homes))
    day, block, slot = (expected(plan, homes) for plan in plans)
    assert day < block < slot < accuracy.nothing(homes)


def test_the_parts_make_the_whole(homes, silence):
    """Without noise, the strong reports that are put together from the layers are a stream's own rows."""
    plan = accuracy.made(homes, level="strong")
    curator = accuracy.dn.Curator.in_memory(accuracy.dn.Budget(pattern="1", cycle="1"))
    stream = curator.start(plan, history=homes.history, acknowledge="untested", accept_worse=True)
    rows = {row.step: float(row.exact) for row in stream.report(homes.year)}
    reported = [rows[homes.year.steps[place]] for place in homes.open]
    error = float(((reported - homes.truth) ** 2).mean() ** 0.5 / homes.truth.max())
    assert error == pytest.approx(accuracy.strong(plan, homes, 2).error, rel=1e-3)
