"""The level cycle: counts with noise that is fresh in every cycle, and nothing that is learned."""

import numpy as np
import pytest

import diurnal as dn
import support

COUNTS = {"level": "cycle", "mechanism": "laplace", "history": 0}


def deviation(query):
    """The standard deviation of one count in one slot."""
    plan = support.bare_plan(**COUNTS, query=query)
    layer = plan.cycle_layer()
    return np.sqrt(layer.variance(np.eye(layer.dimension)[0]))


def test_noise_does_not_grow_with_bins_beyond_two():
    """A household leaves one bin and enters another: any number of bins has the noise of two, a share of one."""
    few, many = deviation(dn.Histogram([50])), deviation(dn.Histogram([10, 20, 30, 40, 50]))
    assert few == many
    assert few == pytest.approx(2 * deviation(dn.Share(above=50)), rel=0.01)


def test_a_cycle_costs_its_epsilon_and_a_usual_cycle_has_no_promise():
    """A plan of counts loses nothing of a pattern cap, and its guarantee has no loss of the periodic component."""
    plan = support.bare_plan(**COUNTS, query=dn.Share(above=50))
    assert plan.pattern_layer() is None
    assert plan.losses["pattern"].epsilon == 0
    assert plan.losses["strong"].epsilon == plan.eps_w == 1
    assert "is not protected: other cycles tell" in str(plan.guarantee())
