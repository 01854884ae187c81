"""What all rivals share: totals of steps, noise of a study, and a promise in the words of a table."""

import math

import numpy as np
import pytest

from diurnal.errors import PlanError
from diurnal.study.baselines.base import Promise, gaussian_scale, laplace, laplace_variance, totals
from support import refuses


def test_totals_are_sums_of_whole_blocks():
    """Of any length that divides the steps; a length that does not is refused."""
    values = np.arange(12.0)
    assert totals(values, 4).tolist() == [6, 22, 38]
    assert totals(values, 1).tolist() == values.tolist()
    with refuses(PlanError, "baseline-length"):
        totals(values, 5)


def test_noise_has_the_variance_that_formulas_take(rng):
    """Drawn Laplace noise has mean 0 and the variance of the formula, to within some standard errors."""
    drawn = laplace(rng, 7.0, 200_000)
    assert abs(drawn.mean()) < 5 * 7 * math.sqrt(2 / drawn.size)
    assert drawn.var() == pytest.approx(laplace_variance(7.0), rel=0.03)


def test_a_gaussian_scale_spends_the_task_s_whole_budget(task):
    """Delta^2 / (2 sigma^2) is the rho that epsilon and delta allow, whatever the sensitivity."""
    for sensitivity in (1.0, 250.0):
        assert sensitivity**2 / (2 * gaussian_scale(task, sensitivity) ** 2) == pytest.approx(task.zcdp())


def test_a_promise_that_may_fail_says_so_in_tables():
    """What is hidden, with the delta where there is one."""
    said = {"protects": "one day", "over": "for ever", "when": "continual", "sentence": "Some words."}
    assert Promise(**said).hides == "one day"
    assert Promise(**said, delta=1e-6).hides == "one day, delta 1e-06"
