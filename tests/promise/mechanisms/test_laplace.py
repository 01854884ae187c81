"""Laplace noise: its scale, its variance, and what a shift loses."""

from fractions import Fraction

import numpy as np
import pytest

from diurnal import Body
from diurnal.promise.body import counting_sensitivity
from diurnal.promise.composition import LaplaceLaw
from diurnal.promise.mechanisms import Laplace
from diurnal.promise.mechanisms.laplace import laplace_variance


def test_the_scale_is_the_heaviest_weight_times_d1_over_epsilon():
    """Exactly: for 48 slots of a range of 3,000, a weight of 7 and an epsilon of a third."""
    assert Laplace(Body(high=3000).sensitivity(48), weight=7, epsilon=Fraction(1, 3)).scale == 7 * 48 * 3000 * 3


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(40)])
def test_the_variance_is_that_of_the_mass_function(scale):
    """2q/(1-q)^2 is the second moment of masses (1-q)/(1+q) q^|k|, added up."""
    steps, q = np.arange(-3000, 3001), np.exp(-1 / float(scale))
    masses = (1 - q) / (1 + q) * q ** np.abs(steps)
    assert laplace_variance(scale) == pytest.approx(float((masses * steps.astype(float) ** 2).sum()), rel=1e-9)


def test_a_shift_loses_its_share_of_d1():
    """A shift of one in every slot of a range of ten loses a tenth of epsilon, and its sign does not count."""
    mechanism = Laplace(Body(high=10).sensitivity(4), weight=1, epsilon=Fraction(2))
    assert mechanism.loss_of_shift([1, -1, 1, -1]).epsilon == Fraction(1, 5)


def test_a_count_moves_two_numbers_a_slot():
    """The law of a histogram's cycle has two parts a slot; that of uneven ranges is not known so closely."""
    counts = Laplace(counting_sensitivity(4, 5), weight=1, epsilon=Fraction(1)).law(Fraction(1))
    assert isinstance(counts, LaplaceLaw)
    assert counts.parts == 8
    uneven = Laplace(Body(high=[3, 2, 1]).sensitivity(3), weight=1, epsilon=Fraction(1)).law(Fraction(1))
    assert not isinstance(uneven, LaplaceLaw)
