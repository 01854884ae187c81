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


def test_each_day_on_its_own_has_the_paper_s_noise_of_a_day(task):
    """With sqrt(k) D_2 and D_2 = sqrt(T) R/n a report's variance is 2 k^2 (R/(n epsilon))^2, as over the horizon; a
    day's total has that of the constant alone.
    """
    day = Fourier(span="cycle", coefficients=3)
    assert day.noise_variance(task) == pytest.approx(2 * 3**2 * (100 / 30) ** 2)
    alone = Fourier(span="cycle", coefficients=1)
    assert alone.noise_variance(task, task.slots) == pytest.approx(2 * (task.slots * 100 / 30) ** 2)
    assert alone.noise_variance(task, task.steps) == pytest.approx(
        task.cycles * alone.noise_variance(task, task.slots)
    )


def test_with_all_coefficients_a_day_is_the_truth(task):
    """As many as the day has slots drop nothing."""
    assert Fourier(span="cycle", coefficients=8).expected(task) == pytest.approx(task.truth)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7])
def test_a_counted_norm_is_at_most_the_paper_s_bound(task, k):
    """Over all signs k coefficients move by no more than sqrt(k) D_2, and by less for k of 3 or more."""
    counted, bounded = (
        Fourier(span="cycle", coefficients=k, counted=each).sensitivity(task) for each in (True, False)
    )
    assert counted <= bounded * (1 + 1e-12)
    assert k < 3 or counted < 0.95 * bounded


def test_many_coefficients_are_bounded_and_not_counted(make):
    """Beyond 13 there would be too many signs to try: the paper's bound holds."""
    task = make(slots=16, cycles=4)
    assert Fourier(coefficients=20, counted=True).sensitivity(task) == pytest.approx(
        Fourier(coefficients=20).sensitivity(task)
    )


def test_only_a_k_of_the_true_series_is_said_to_flatter(task):
    """A k that was given is no secret of the series."""
    assert "flatters" in Fourier().promise(task).sentence
    assert "flatters" not in Fourier(coefficients=3).promise(task).sentence
