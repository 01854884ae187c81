"""What a plan must be before it is one."""

import pytest

import diurnal as dn
import support
from diurnal import Body, Ellipsoid, Mean, Plan, Reference, Share
from diurnal.errors import DiurnalError, PlanError
from support import refuses


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "-1"},
        {"epsilon": "0"},
        {"epsilon": 0.5},
        {"cycle_epsilon": "0"},
        {"delta": "2"},
        {"domain": (5, 5)},
        {"domain": (6, 5)},
        {"domain": (0, 1.5)},
        {"domain": 7},
        {"domain": (0, 2**31)},
        {"level": "weak"},
        {"mechanism": "magic"},
        {"mechanism": "gaussian"},
        {"statistic": "median"},
        {"statistic": "base-load"},
        {"history": 0},
        {"history": -1},
        {"history": 2.0},
        {"horizon": 0},
        {"minimum_group": 0},
        {"min_readings": 3},
        {"grace": -1},
        {"query": Share(above=3)},
        {"level": "cycle"},
        {"level": "cycle", "query": Share(above=3)},
        {"level": "cycle", "query": Share(above=3), "history": 0, "mechanism": "basis"},
        {"body": Body(low=5, high=2)},
        {"body": Body(high=[1, 2, 3])},
        {"body": Ellipsoid(radius=1, reference=[1, 2])},
        {"variation_bound": 0},
        {"variation_bound": 1.5},
        {"default_reading": 0.5},
        {"default_reading": 101},
        {"default_reading": -1},
        {"reference": Reference(profile=[1, 2])},
        {"level": "pattern", "cycle_epsilon": "1"},
        {"level": "pattern", "variation_bound": 5},
        {"query": "mean"},
        {"query": Mean},
        {"grid": "1d"},
        {"body": 3000},
        {"basis": 9},
        {"groups": ["a"]},
        {"reference": [1, 2, 3, 4]},
        {"epsilon": "1e-400"},
        {"epsilon": "1e400"},
        {"delta": "1e-400"},
        {"history": "10"},
    ],
    ids=str,
)
def test_plans_that_contradict_themselves_are_refused(wrong):
    """Each raises a DiurnalError with a remedy when the plan is made, before any data is seen."""
    with pytest.raises(DiurnalError, match="Hint:"):
        support.bare_plan(**wrong)


def test_a_plan_s_fields_are_checked_by_name():
    """with_ refuses a field that a plan has not, and from_json what is no mapping."""
    with refuses(PlanError, "plan-unknown-fields"):
        support.bare_plan().with_(epsiln="2")
    with pytest.raises(PlanError, match=r"json\.loads"):
        Plan.from_json("{}")


@pytest.mark.parametrize("name", ["", "weak", None, 3, ["strong"], {}])
def test_a_level_that_nobody_knows_is_refused_in_a_sentence(name):
    """Whatever kind of value it is."""
    with refuses(dn.errors.PlanError, "field-unknown-value"):
        dn.Plan(epsilon="1", domain=(0, 100), history=4, level=name)
