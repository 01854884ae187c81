"""Cube noise: how far it lies below Laplace noise, and what it does to small totals."""

import math

import pytest

import support
from diurnal import Body
from diurnal.promise.body import counting_sensitivity
from diurnal.promise.mechanisms import Cube, Laplace
from mechanisms import EPSILON, loss_of_move, measured_deviation


def test_cube_is_2_38_times_below_laplace_at_a_day():
    """At T = 48 and a plain range the predicted deviations of Laplace and cube differ by 2.38."""
    sensitivity = Body(high=3000).sensitivity(48)
    laplace = Laplace(sensitivity, weight=1, epsilon=EPSILON)
    cube = Cube(sensitivity, weight=1, epsilon=EPSILON)
    assert support.standard_deviation(laplace, 48) / support.standard_deviation(cube, 48) == pytest.approx(
        2.38, abs=0.01
    )


def test_small_totals_are_multiplied_before_cube_noise():
    """Counts, whose range is 1, are refined by a public integer, and the promise stays the same."""
    cube = Cube(counting_sensitivity(48, 1), weight=1, epsilon=EPSILON)
    assert cube.multiplier == 24
    assert loss_of_move(cube, [1] * 48) == pytest.approx(1)
    assert support.standard_deviation(cube, 48) == pytest.approx(math.sqrt(49 * 50 / 3), rel=0.01)


def test_measured_cube_is_2_38_times_below_measured_laplace():
    """The ratio of drawn deviations at T = 48."""
    sensitivity = Body(high=3000).sensitivity(48)
    laplace, cube = (kind(sensitivity, weight=1, epsilon=EPSILON) for kind in (Laplace, Cube))
    ratio = measured_deviation(laplace, 48, 4000) / measured_deviation(cube, 48, 4000)
    assert ratio == pytest.approx(2.38, rel=0.025)
