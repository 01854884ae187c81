"""Scores of rivals, and how sure they are."""

import math

import numpy as np
import pytest
from scipy import stats

from diurnal.study.baselines import Window
from diurnal.study.baselines.score import half_width, relative_error, student


@pytest.mark.parametrize("freedom", [*range(1, 32), 60, 200])
def test_intervals_are_student_s(freedom):
    """To within a ten-thousandth of SciPy's quantile, for two draws as for many."""
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4)


def test_an_estimate_s_uncertainty_is_the_wider_half(task):
    """A root makes the lower half of an interval the wider one."""
    window, found = Window(block=8), relative_error(Window(block=8), task, draws=3)
    rng = np.random.default_rng(1)
    squares = np.array([np.mean((window.draw(task, rng) - task.truth) ** 2) for _ in range(3)])
    low = max(0.0, squares.mean() - half_width(squares))
    assert found.within == pytest.approx((math.sqrt(squares.mean()) - math.sqrt(low)) / task.largest)
