import math

import numpy as np
import pytest

from diurnal.study.baselines import Factorisation
from diurnal.study.baselines.factorisation import convolved, root


def matrix(size):
    column = root(size)
    return np.array([[column[i - j] if i >= j else 0 for j in range(size)] for i in range(size)])


def test_the_factor_is_the_square_root_of_the_prefix_sums():
    """C C is the lower triangular matrix of ones; its entries are binom(2k, k)/4^k."""
    assert matrix(40) @ matrix(40) == pytest.approx(np.tril(np.ones((40, 40))))
    assert root(6) == pytest.approx([math.comb(2 * k, k) / 4**k for k in range(6)])


def test_the_fast_product_is_the_matrix_product(rng):
    """FFTs give C x."""
    values = rng.normal(size=33)
    assert convolved(root(33), values) == pytest.approx(matrix(33) @ values)


@pytest.mark.parametrize("size", [2, 48, 1000, 17520])
def test_its_squared_length_is_within_the_known_bounds(size):
    """By Wallis' inequality, as in Fichtenberger et al.: c_k^2 is between 1/(pi (k + 1/2)) and 1/(pi (k + 1/4)), so
    that the squared norm of a column grows as (ln n)/pi.
    """
    square = float((root(size) ** 2).sum())
    below = 1 + math.log((size + 0.5) / 1.5) / math.pi
    above = 1 + (4 / 5 + math.log((4 * size - 3) / 5)) / math.pi
    assert below <= square <= above


@pytest.mark.parametrize("length", [1, 8, 128])
def test_variances_are_those_of_the_matrix(task, length):
    """The noise of a total is a difference of two rows of C, written out."""
    rows = np.vstack([np.zeros(128), matrix(128)])[::length]
    scale = Factorisation().noise_variance(task, 128) / float((rows[-1] ** 2).sum())
    expected = scale * float((np.diff(rows, axis=0) ** 2).sum(axis=1).mean())
    assert Factorisation().noise_variance(task, length) == pytest.approx(expected)


def test_a_year_takes_no_matrix(make, rng):
    """17,520 steps are drawn in a moment."""
    task = make(slots=48, cycles=365, n=16)
    assert np.isfinite(Factorisation(span="cycle").draw(task, rng)).all()
