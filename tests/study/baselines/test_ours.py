import numpy as np
import pytest

import support
from diurnal.errors import PlanError
from diurnal.planning.accuracy import mechanism_row
from diurnal.study.baselines import OURS, Ours, task_of
from support import refuses


@pytest.mark.parametrize("rival", OURS, ids=lambda each: each.name)
def test_what_is_expected_is_the_curator_without_noise(task, rng, silence, rival):
    """With every sampler silent the shipped curator's reports are the expected ones, but for rounding."""
    off = rival.draw(task, rng) - rival.expected(task)
    assert np.abs(off).max() <= 2 / task.n


@pytest.mark.parametrize("rival", OURS, ids=lambda each: each.name)
def test_the_noise_is_what_the_plan_predicts(task, rival):
    """The standard deviation is that of `mechanism_row`, the one that users see."""
    row = mechanism_row(rival.plan(task), task.n, None, None)
    assert np.sqrt(rival.noise_variance(task)) == pytest.approx(row.std)


def test_a_year_s_total_carries_the_pattern_s_noise_every_day(task):
    """The pattern's noise does not average out: the horizon's total has cycles^2 times a day's variance."""
    pattern = OURS[0]
    day, whole = (pattern.noise_variance(task, length) for length in (task.slots, task.steps))
    assert whole == pytest.approx(task.cycles**2 * day)


def test_theorem_1_is_the_paper_s_scale(make):
    """Standard deviation sqrt(2) T Dz/(n epsilon) with the public range of a profile."""
    task = make(profile_range=(0, 60))
    assert np.sqrt(OURS[0].noise_variance(task)) == pytest.approx(np.sqrt(2) * 8 * 60 / 30, rel=1e-3)


def test_plans_come_from_public_knowledge_alone(make):
    """Other private readings, the same plan: bounds are from open data and the number of households."""
    task = make()
    other = task.among(np.arange(29, -1, -1))
    for rival in OURS:
        assert rival.plan(task).hash == rival.plan(other).hash


def test_strong_says_what_midnight_and_history_cost(task):
    """In what it differs from hiding any consecutive steps: an event across midnight, a cycle of the history."""
    by_name = {rival.name: rival.promise(task).sentence for rival in OURS}
    for name in ("strong, chosen", "repair, Laplace"):
        assert "An event across midnight costs two cycles, 2 epsilon" in by_name[name]
        assert "any 8 consecutive steps" in by_name[name]
    assert "A change in one cycle of the history is not covered" in by_name["strong, chosen"]
    assert "A change in one cycle of the history costs at most" in by_name["repair, Laplace"]


def test_a_domain_above_zero_will_do(make):
    """Where 0 is no possible reading, the least stands for a slot without a profile."""
    panel = support.small_panel(support.town(n=30, slots=8, cycles=24).readings + 50, slots=8)
    other = support.small_panel(support.town(n=20, slots=8, seed=2).readings + 50, slots=8)
    task = task_of(panel.after(8), history=panel.first(8), epsilon="1", domain=(40, 200), open_data=other)
    for rival in OURS:
        assert rival.plan(task).default_reading == 40
        assert np.isfinite(rival.draw(task, np.random.default_rng(1))).all()


def test_the_curator_draws_for_real_households_only(task, rng):
    """Copies of households are for formulas."""
    with refuses(PlanError, "baseline-copies-curator"):
        Ours().draw(task.at(copies=2), rng)
