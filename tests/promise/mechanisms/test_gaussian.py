"""Gaussian noise: its scale, and the loss of a shift."""

import pytest

from diurnal import Body
from diurnal.promise.mechanisms import Gaussian
from mechanisms import DELTA, EPSILON


def test_gaussian_noise_at_a_coefficient():
    """At epsilon 1 and delta 1e-6 OpenDP's conversion needs 4.53 D_2, below the simple formula's 5.3."""
    sensitivity = Body(high=3000).sensitivity(1)
    gaussian = Gaussian(sensitivity, weight=1, epsilon=EPSILON, delta=DELTA)
    assert float(gaussian.scale) / 3000 == pytest.approx(4.53, abs=0.01)


def test_a_shift_loses_by_its_squared_length():
    """A shift of half of the diameter loses a quarter of the zCDP."""
    gaussian = Gaussian(Body(high=10).sensitivity(4), weight=1, epsilon=EPSILON, delta=DELTA)
    assert gaussian.loss_of_shift([5] * 4).zcdp == gaussian.loss.zcdp / 4
