import math
from fractions import Fraction

import pytest

from diurnal.promise.budget import zcdp_for
from diurnal.study.baselines import Split


@pytest.mark.parametrize(("span", "length"), [("everything", 128), ("cycle", 8), ("reading", 1)])
def test_laplace_noise_is_that_of_the_papers(task, span, length):
    """Standard deviation sqrt(2) h R/(n epsilon), h the readings that are hidden."""
    assert math.sqrt(Split(span=span).noise_variance(task)) == pytest.approx(math.sqrt(2) * length * 100 / 30)


def test_gaussian_noise_grows_with_the_root_of_the_horizon(task):
    """Standard deviation sqrt(tau/(2 rho)) R/n, rho from epsilon and delta."""
    rho = float(zcdp_for(Fraction(1), Fraction(1, 10**6)))
    std = math.sqrt(Split(kind="gaussian").noise_variance(task))
    assert std == pytest.approx(math.sqrt(128 / (2 * rho)) * 100 / 30)
    promise = Split(kind="gaussian").promise(task)
    assert "delta 1e-06" in promise.sentence
    assert promise.hides == "everything, delta 1e-06"


def test_cutting_off_trades_noise_for_bias(task):
    """At half a level the noise is less and the mean is too low."""
    cut = Split(span="reading", clamp=0.5)
    assert cut.noise_variance(task) < Split(span="reading").noise_variance(task) / 4
    assert (cut.expected(task) < task.truth).all()
    assert cut.mean_square_error(task) > cut.noise_variance(task)
