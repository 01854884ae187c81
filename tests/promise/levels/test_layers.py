"""The mechanisms that levels are made of: how far variations reach, and which bounds fit which noise."""

import numpy as np
import pytest

import support
from diurnal import Basis, Ellipsoid
from diurnal.errors import PlanError


@pytest.mark.parametrize(
    "mixed",
    [
        {"mechanism": "cube", "body": Ellipsoid(radius=3)},
        {"mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": Ellipsoid(radius=3)},
    ],
)
def test_coefficients_and_slots_do_not_mix(mixed):
    """A slot mechanism with a body of coefficients raises when its layer is made."""
    with pytest.raises(PlanError, match="basis"):
        support.bare_plan(**{"cycle_mechanism": "cube", **mixed}).guarantee()


def test_the_variation_bound_never_promises_more_than_the_domain():
    """R_w is min(2W, R_x)."""
    assert support.bare_plan(cycle_mechanism="laplace", variation_bound=30).cycle_layer().sensitivity.linf == 60
    assert support.bare_plan(cycle_mechanism="laplace", variation_bound=80).cycle_layer().sensitivity.linf == 100
    assert support.bare_plan(cycle_mechanism="laplace").cycle_layer().sensitivity.linf == 100
    by_basis = [
        support.bare_plan(cycle_mechanism="basis", cycle_basis=Basis(size=3), variation_bound=w) for w in (50, None)
    ]
    assert by_basis[0].cycle_layer().rate == by_basis[1].cycle_layer().rate
    layer = by_basis[0].cycle_layer()
    assert layer.sensitivity_square >= np.linalg.norm(layer.matrix.astype(float), ord=2) ** 2 * 4 * 100**2 * 0.999
