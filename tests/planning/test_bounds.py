"""Bounds from public readings."""

import numpy as np
import pytest

import diurnal as dn
from diurnal.errors import PlanError
from diurnal.study.town import Town
from support import refuses


@pytest.fixture(scope="module")
def elsewhere():
    """Open data of another town."""
    return Town(homes=40, days=12, seed=2).panel()


def draft(panel, **more):
    fields = {"epsilon": "1", "domain": (0, 8000), "history": 10, "grid": panel.grid}
    return dn.Plan(**{**fields, **more})


def shape(panel, n=200):
    return dn.Shape(grid=panel.grid, n_cycles=100, group_sizes=(n,))


def test_public_readings_give_reference_and_bounds(elsewhere):
    """A plan gets the open homes' profile as its reference, a body around it, and a bound of a day's variations."""
    plan = dn.with_public_bounds(draft(elsewhere), shape(elsewhere), open_data=elsewhere)
    assert plan.reference == dn.public_reference(elsewhere)
    assert plan.body.reference == plan.reference.profile
    assert plan.variation_bound.radius > 0
    chosen = dn.choose(plan, shape(elsewhere), open_data=elsewhere)
    prediction = dn.predict(chosen, shape(elsewhere), open_data=elsewhere)
    assert prediction.row("basis+basis").errors.step < prediction.without_data.errors.step


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_what_a_plan_says_itself_stays(elsewhere, level):
    """Bounds and reference that the plan has are not replaced, and a mechanism by slots gets no Ellipsoid."""
    own = dn.Ellipsoid(radius=777)
    reference = dn.Reference(profile=[5] * 48)
    plan = dn.with_public_bounds(
        draft(elsewhere, level=level, body=own, reference=reference), shape(elsewhere), open_data=elsewhere
    )
    assert (plan.body, plan.reference) == (own, reference)
    by_slot = {"mechanism": "cube", "cycle_mechanism": "cube"}
    plan = dn.with_public_bounds(draft(elsewhere, level=level, **by_slot), shape(elsewhere), open_data=elsewhere)
    assert plan.body is None
    assert isinstance(plan.variation_bound, int) == (level == "strong")


def test_more_homes_allow_wider_bodies(elsewhere):
    """Noise is divided by the number of homes and what is clipped is not, so bodies grow with it."""
    radii = [
        dn.with_public_bounds(draft(elsewhere), shape(elsewhere, n), open_data=elsewhere).body.radius
        for n in (20, 200, 20_000)
    ]
    assert radii == sorted(radii)
    assert radii[0] < radii[-1]


def test_the_body_is_not_the_reference_alone(elsewhere):
    """A body so narrow that everybody is put on the reference would look good on the open homes themselves: homes
    that use a quarter more would all be reported as these.
    """
    plan = dn.with_public_bounds(draft(elsewhere, level="pattern"), shape(elsewhere, 2000), open_data=elsewhere)
    basis = dn.choose(plan, shape(elsewhere, 2000), open_data=elsewhere)
    more = elsewhere.following(elsewhere.readings * 5 // 4, present=elsewhere.present, first_step=0)
    layer = basis.pattern_layer()
    profile = np.array(dn.public_reference(more).profile)[:, None]
    kept = np.array(layer.to_slots([int(v) for v in layer.contribute(profile).sum(axis=1)]), dtype=float)
    missed = np.abs(kept / layer.multiplier - profile[:, 0]).mean()
    gap = np.abs(profile[:, 0] - np.array(plan.reference.profile)).mean()
    assert missed < gap / 2


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_more_epsilon_is_never_predicted_to_be_worse(elsewhere, level):
    """Radii are chosen by the very error that is predicted, so it falls as epsilon grows."""
    errors = []
    for epsilon in ("0.2", "0.5", "1", "1.5", "2", "5"):
        plan = dn.with_public_bounds(
            draft(elsewhere, level=level, epsilon=epsilon), shape(elsewhere), open_data=elsewhere
        )
        chosen = dn.choose(plan, shape(elsewhere), open_data=elsewhere)
        errors.append(dn.predict(chosen, shape(elsewhere), open_data=elsewhere).mechanisms[0].errors.step)
    assert errors == sorted(errors, reverse=True)


def test_an_epsilon_of_its_own_for_a_cycle_is_no_hindrance(elsewhere):
    """A strong plan with another cycle_epsilon gets its bounds too."""
    plan = dn.with_public_bounds(draft(elsewhere, cycle_epsilon="3"), shape(elsewhere), open_data=elsewhere)
    assert (plan.cycle_epsilon, plan.level) == (3, "strong")


def test_counting_needs_no_bounds(elsewhere):
    """A plan at level cycle is left as it is."""
    plan = draft(elsewhere, query=dn.Share(above=500), level="cycle", history=0)
    assert dn.with_public_bounds(plan, shape(elsewhere), open_data=elsewhere) is plan


def test_open_data_on_another_grid_is_refused(elsewhere):
    """Slots and units must be the plan's."""
    weekly = elsewhere.with_period("2d")
    with refuses(PlanError, "open-data-grid"):
        dn.with_public_bounds(draft(elsewhere), shape(elsewhere), open_data=weekly)
