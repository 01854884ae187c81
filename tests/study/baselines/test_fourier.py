import numpy as np
import pytest

from diurnal.study.baselines import Constant, Fourier
from diurnal.study.baselines.fourier import backward, forward


@pytest.mark.parametrize("size", [3, 4, 7, 48, 127])
def test_the_transform_is_orthonormal(rng, size):
    """It keeps lengths, and backward undoes forward."""
    matrix = np.array([forward(row) for row in np.eye(size)])
    assert matrix @ matrix.T == pytest.approx(np.eye(size))
    values = rng.normal(size=size)
    assert backward(forward(values)) == pytest.approx(values)


@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_the_noise_is_the_paper_s(task, k):
    """K coefficients of scale sqrt(k) D_2/epsilon: a report's variance is 2 k^2 (R/(n epsilon))^2."""
    assert Fourier(coefficients=k).noise_variance(task) == pytest.approx(2 * k**2 * (100 / 30) ** 2)


@pytest.mark.parametrize("order", ["lowest", "daily"])
@pytest.mark.parametrize("epsilon", ["1/10", "3", "100"])
def test_the_best_k_is_the_best(make, order, epsilon):
    """No other number of coefficients has a smaller expected error."""
    task = make(epsilon=epsilon, slots=4, cycles=8)
    errors = [Fourier(order=order, coefficients=k).mean_square_error(task) for k in range(1, task.steps + 1)]
    assert Fourier(order=order).mean_square_error(task) == pytest.approx(min(errors))


def test_one_coefficient_is_the_private_constant(task):
    """The constant of the transform: the same noise, the same error."""
    assert Fourier(coefficients=1).mean_square_error(task) == pytest.approx(Constant().mean_square_error(task))


def test_harmonics_of_the_day_come_first(task):
    """`daily` with as many coefficients as slots keeps the mean day exactly; `lowest` keeps slow waves."""
    day = task.truth.reshape(task.cycles, task.slots).mean(axis=0)
    assert Fourier(coefficients=task.slots).expected(task) == pytest.approx(np.tile(day, task.cycles))
    assert Fourier(order="lowest").places(task)[:5].tolist() == [0, 1, 2, 3, 4]
