import numpy as np
import pytest

from diurnal.study.baselines import Constant


def test_the_true_constant_has_skill_zero(task, rng):
    """Its error is the standard deviation of the truth, and no total is off."""
    exact = Constant(exact=True)
    assert exact.mean_square_error(task) == pytest.approx(np.var(task.truth))
    assert exact.mean_square_error(task, task.steps) == pytest.approx(0, abs=1e-9)
    assert len(set(exact.draw(task, rng))) == 1
    assert exact.promise(task).protects == "nothing"


def test_a_centred_constant_moves_the_public_day(task):
    """The report is the public mean day, moved by the mean distance from it."""
    off = Constant(centred=True).expected(task) - task.public
    assert off == pytest.approx(np.full(task.steps, task.truth.mean() - task.public.mean()))


def test_a_private_constant_pays_for_one_number_only(task):
    """Var f + 2 (R/(n epsilon))^2, however long the horizon."""
    assert Constant().mean_square_error(task) == pytest.approx(np.var(task.truth) + 2 * (100 / 30) ** 2)
