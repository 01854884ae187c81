"""Public knowledge of what such households use, and that it is never made from private readings."""

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal import Reference
from diurnal.errors import PlanError
from diurnal.study.town import Town
from support import refuses


def test_a_public_reference_is_the_open_data_s_mean_day():
    """Profile and spread come from the open panel, gaps left out of the means."""
    readings = np.array([[10, 30], [20, 40], [30, 50], [20, 60]])
    present = np.array([[True, True], [True, False], [True, True], [True, True]])
    open_data = support.small_panel(readings, present=present, slots=2)
    reference = dn.public_reference(open_data)
    assert reference.profile == (30, 30)
    assert float(reference.spread) == pytest.approx(10, abs=0.01)


def test_a_reference_defaults_to_a_quarter_of_its_level():
    """Spread and mismatch are a quarter of the profile's mean unless given."""
    reference = Reference(profile=[100, 300])
    assert (reference.spread, reference.mismatch) == (50, 50)


@pytest.mark.parametrize(
    "wrong", [{"profile": 5}, {"profile": []}, {"profile": [0.5]}, {"profile": [1], "spread": 0}]
)
def test_references_are_integers_slot_by_slot(wrong):
    """A reference that is no list of integers raises a PlanError."""
    with pytest.raises(PlanError):
        Reference(**wrong)


def test_private_readings_are_no_open_data():
    """The private panel, a part of it or a copy under the same names is refused as open data; other homes that have
    the same names are not.
    """
    homes, other = (Town(homes=40, days=12, seed=seed).panel() for seed in (2, 7))
    copy = homes.following(homes.readings, present=homes.present, first_step=0)
    plan = support.daily_plan(level="strong", history=10, body=None)
    for private in (homes, copy, homes.columns(np.arange(5, 9)), homes.first(3)):
        for use in (dn.with_public_bounds, dn.choose, dn.predict):
            with refuses(PlanError, "open-data-private"):
                use(plan, homes, open_data=private)
    assert dn.with_public_bounds(plan, homes, open_data=other).reference is not None
