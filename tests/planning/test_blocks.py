"""Blocks in the planner: for who asks for them."""

import numpy as np
import pytest

import diurnal as dn
import support


@pytest.fixture(scope="module")
def asked():
    """A plan with blocks of a quarter of the cycle, its shape, and open data."""
    panel = support.town(n=60, slots=8, high=2000)
    fields = {**support.BLOCKS, "domain": (0, 3000), "cycle_basis": dn.Basis(size=4), "basis": dn.Basis(size=3)}
    plan = support.plan_for(panel, **{**fields, "mechanism": "auto", "variation_bound": dn.Ellipsoid(radius=700)})
    return plan, dn.Shape(group_sizes=(500,), grid=panel.grid, n_cycles=30), panel


def test_blocks_are_predicted_where_they_are_asked_for(asked):
    """The prediction has a row for them, with the noise of the mechanism and what open data say is dropped."""
    plan, shape, open_data = asked
    chosen = dn.choose(plan, shape, open_data=open_data)
    assert chosen.cycle_mechanism == "blocks"
    row = dn.predict(chosen, shape, open_data=open_data).row(f"{chosen.mechanism}+blocks")
    assert row.bias > 0
    noise = chosen.pattern_layer().variance, chosen.cycle_layer().variance
    assert row.std == pytest.approx(
        sum(sum(layer(slot) for slot in np.eye(8)) / 8 for layer in noise) ** 0.5 / 500, rel=1e-6
    )


def test_blocks_are_never_chosen_by_themselves(asked):
    """Left to auto, the cycle layer is one of the others: blocks come at times that nobody has asked for."""
    plan, shape, open_data = asked
    free = plan.with_(cycle_mechanism="auto", variation_bound=None)
    assert dn.choose(free, shape, open_data=open_data).cycle_mechanism != "blocks"
    assert not [row for row in dn.predict(free, shape, open_data=open_data).mechanisms if "blocks" in row.name]


def test_a_plan_with_blocks_explains_itself(asked):
    """Its sentences name the mechanism and say that the history is not covered."""
    plan, shape, open_data = asked
    said = " ".join(dn.explain(plan, shape, open_data=open_data))
    assert "+blocks" in said
    assert "history is not covered" in said
