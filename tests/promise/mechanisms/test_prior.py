"""What is known beside a release: it fills, it draws, and it costs nothing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from diurnal import Basis, Ellipsoid
from diurnal.promise.mechanisms import BasisMechanism
from diurnal.promise.mechanisms.prior import SHARES, Prior

TARGET = np.array([50, 60, 90, 70, 40, 30, 20, 40])
FILL = np.array([5, 80, 10, 60, 0, 90, 3, 44])


def mechanism(prior=None, *, total=1, epsilon=1, radius=4000, size=3):
    return BasisMechanism(
        Basis(size=size),
        Ellipsoid(radius=radius),
        slots=8,
        magnitude=5000,
        weight=1,
        epsilon=Fraction(epsilon),
        prior=prior,
        total=total,
    )


def without_noise(made, vectors):
    """What is reported of vectors, a column a household, where noise is zero."""
    return np.array(made.to_slots(made.contribute(vectors).sum(axis=1).tolist()))


def test_what_the_basis_drops_comes_from_the_fill():
    """In the basis a report is the households', outside of it the fill's, once for each of the total weight."""
    vectors = np.random.default_rng(3).integers(0, 100, size=(8, 20))
    made = mechanism(Prior(target=TARGET, fill=FILL), total=20)
    rows = Basis(size=3).rows(8)
    inside = rows.T @ rows
    expected = inside @ vectors.sum(axis=1) + 20 * (FILL - inside @ FILL)
    assert np.abs(without_noise(made, vectors) - expected).max() < 1.5


def test_without_a_prior_nothing_is_put_back():
    """The report is the households' part in the basis alone."""
    vectors = np.random.default_rng(3).integers(0, 100, size=(8, 20))
    rows = Basis(size=3).rows(8)
    assert np.abs(without_noise(mechanism(), vectors) - rows.T @ (rows @ vectors.sum(axis=1))).max() < 1.5


@pytest.mark.parametrize("distance", [None, 1.0, 300.0])
def test_the_expected_report_is_the_one_without_noise(distance):
    """`expected` of a mean contribution is what a report without noise says, for one household of the total."""
    vectors = np.random.default_rng(5).integers(0, 100, size=(8, 30))
    made = mechanism(Prior(target=TARGET, fill=FILL, distance=distance), total=30)
    expected = made.expected(made.contribute(vectors).mean(axis=1))
    assert np.abs(without_noise(made, vectors) / 30 - expected).max() < 0.1


def test_coefficients_are_drawn_to_the_target_as_far_as_noise_says():
    """With a mean thought to be near the target little is kept of a noisy release; with many households all is."""
    vectors = np.zeros((8, 10), dtype=np.int64)
    rows = Basis(size=3).rows(8)
    target = rows.T @ (rows @ TARGET)
    near = Prior(target=TARGET, fill=np.zeros(8, dtype=np.int64), distance=0.01)
    assert np.abs(without_noise(mechanism(near, total=10), vectors) / 10 - target).max() < 0.5
    far = Prior(target=TARGET, fill=np.zeros(8, dtype=np.int64), distance=100.0)
    made = mechanism(far, total=10**7)
    assert np.abs(np.array(made.to_slots([0, 0, 0]))).max() / 10**7 < 0.1


def test_shares_are_those_of_least_square_error():
    """A share is tau^2/(tau^2 + noise), tau falling off with frequency, all coefficients' together the distance."""
    prior = Prior(target=TARGET, fill=FILL, distance=2.0)
    every = np.array([1, 1, 1, 2, 2, 3, 3, 4])
    thought = 8 * 2.0**2 * (1.0 / every**2) / np.sum(1.0 / np.maximum(1, (np.arange(8) + 1) // 2) ** 2)
    shares = prior.shares([1] * 3, [0, 1, 1], 5.0)
    assert shares == [round(SHARES * each / (each + 5)) for each in thought[:3]]


@settings(max_examples=40, deadline=None)
@given(
    noise=st.floats(0.01, 1e6), more=st.floats(1.01, 100), harmonic=st.integers(0, 10), distance=st.floats(0.1, 1e3)
)
def test_more_noise_keeps_less(noise, more, harmonic, distance):
    """A share lies between nothing and all, and never grows with the noise or the frequency."""
    prior = Prior(target=TARGET, fill=FILL, distance=distance)
    ((one,), (noisier,), (higher,)) = (
        prior.shares([4], [harmonic], noise),
        prior.shares([4], [harmonic], noise * more),
        prior.shares([4], [harmonic + 1], noise),
    )
    assert 0 <= noisier <= one <= SHARES
    assert higher <= one


def test_drawing_makes_the_error_smaller_where_the_prior_is_right():
    """Over means that are off the target as the prior thinks, a drawn report has less square error than a plain."""
    rng = np.random.default_rng(7)
    drawn = mechanism(Prior(target=TARGET, fill=TARGET, distance=20.0), total=1, radius=30)
    plain = mechanism(Prior(target=TARGET, fill=TARGET), total=1, radius=30)
    rows = Basis(size=3).rows(8)
    sizes = np.sqrt(8 * 20.0**2 / np.sum(1.0 / np.maximum(1, (np.arange(8) + 1) // 2) ** 2)) * np.ones(3)
    errors = {"drawn": 0.0, "plain": 0.0}
    deviation = np.sqrt(drawn._coefficient_variance)
    for _ in range(300):
        mean = TARGET + rows.T @ (rng.normal(size=3) * sizes)
        released = drawn.matrix @ mean + rng.normal(size=3) * deviation
        for name, made in (("drawn", drawn), ("plain", plain)):
            errors[name] += float(np.sum((made.expected(released) - mean) ** 2))
    assert errors["drawn"] < 0.8 * errors["plain"]


def test_a_prior_costs_nothing_and_changes_no_noise():
    """Loss, sensitivity and rate of noise are the same with a prior and without; deviations shrink with shares."""
    prior = Prior(target=TARGET, fill=FILL, distance=10.0)
    with_it, without = mechanism(prior, radius=50), mechanism(radius=50)
    assert (with_it.loss, with_it.sensitivity_square, with_it.rate) == (
        without.loss,
        without.sensitivity_square,
        without.rate,
    )
    assert support.standard_deviation(with_it, 8) < support.standard_deviation(without, 8)
