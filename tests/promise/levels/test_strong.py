"""The level strong: how much more a cycle counts where the periodic component changes as well."""

from fractions import Fraction

import pytest

import support
from diurnal import Basis, Ellipsoid

STRONG = {"level": "strong", "mechanism": "laplace", "domain": (0, 100)}


@pytest.mark.parametrize(
    ("bound", "stretch"),
    [(None, 2), (100, 2), (400, 2), (75, Fraction(3, 2)), (50, 1), (20, 1)],
)
def test_a_cycle_counts_more_where_variations_are_not_bound_by_half_the_domain(bound, stretch):
    """2 min(W, R_x)/min(2W, R_x) is on the cycle's epsilon wherever the periodic component changes as well."""
    promise = support.guarantee(**STRONG, cycle_mechanism="laplace", variation_bound=bound)
    both, everything = promise.curve()[-2:]
    assert (promise.stretch, both.epsilon) == (stretch, 1 + stretch)
    assert everything.epsilon >= promise.curve()[2].epsilon + 1
    assert (" times then, " in str(promise)) == (stretch > 1)


def test_a_gaussian_cycle_counts_the_square_of_it():
    """Without W the zCDP of a cycle counts four times where the periodic component changes as well."""
    gaussian = {"mechanism": "gaussian", "cycle_mechanism": "gaussian", "delta": "1e-6"}
    promise = support.guarantee(**{**STRONG, **gaussian})
    both = promise.curve()[-2]
    assert both.epsilon == (promise.pattern + promise.cycle + promise.cycle + promise.cycle + promise.cycle).at(
        Fraction("1e-6")
    )


@pytest.mark.parametrize("radius", [9, 10**4])
def test_a_ball_of_blocks_that_does_not_bind_is_none(radius):
    """Blocks leave a ball out that is wider than the domain: then a cycle counts twice, else once."""
    promise = support.guarantee(
        **STRONG, cycle_mechanism="blocks", cycle_basis=Basis(size=2), variation_bound=Ellipsoid(radius=radius)
    )
    assert promise.stretch == (1 if radius == 9 else 2)


def test_a_ball_of_coefficients_always_binds():
    """What a basis keeps of a cycle lies in its ball, however wide: the diameter is what noise is made for."""
    promise = support.guarantee(
        **STRONG, cycle_mechanism="basis", cycle_basis=Basis(size=3), variation_bound=Ellipsoid(radius=10**4)
    )
    assert promise.stretch == 1
