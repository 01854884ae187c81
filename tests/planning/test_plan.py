import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal import Basis, Body, Ellipsoid, Grid, Histogram, Mean, Plan, Reference, Share, Sum, Weighted
from diurnal.errors import DiurnalError, PlanError
from support import refuses

DAY = Grid(slots=4, minutes=360)


def plan(**more) -> Plan:
    return Plan(**{"epsilon": "1", "domain": (0, 100), "history": 2, "grid": DAY, **more})


@st.composite
def plans(draw):
    """Plans of every level, query, body and mechanism."""
    level = draw(st.sampled_from(["pattern", "strong", "cycle"]))
    fields = {
        "epsilon": draw(st.sampled_from(["1", "0.1", "1/3", 2])),
        "cycle_epsilon": draw(st.sampled_from([None, "0.25"])) if level == "strong" else None,
        "delta": draw(st.sampled_from([None, "1e-6"])),
        "level": level,
        "groups": draw(st.sampled_from([None, "suburb"])),
        "reference": draw(st.sampled_from([None, Reference(profile=[1, 2, 3, 4], spread="0.5")])),
    }
    if level == "cycle":
        fields |= {"history": 0, "query": draw(st.sampled_from([Share(above=3), Histogram([1, 2])]))}
    else:
        fields |= {
            "query": draw(st.sampled_from([Sum(), Mean(), Weighted([1, 2], over=3)])),
            "body": draw(st.sampled_from([None, Body(high=9, cap_2=5), Ellipsoid(radius=3)])),
            "variation_bound": draw(st.sampled_from([None, 5, Ellipsoid(radius=2)])) if level == "strong" else None,
            "basis": Basis(kind="cosine", size=3),
        }
    return plan(**fields)


@given(plans())
def test_a_plan_reads_back_as_it_was_written(one):
    """Through JSON text and back it is the same plan with the same hash, decimals exact."""
    again = Plan.from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    assert again.hash == one.hash


@given(plans(), plans())
def test_plans_that_differ_have_other_hashes(one, other):
    """Equal hashes mean equal plans."""
    assert (one.hash == other.hash) == (one == other)


def test_numpy_numbers_are_numbers():
    """NumPy's integers are taken as integers everywhere, and the plan is the same."""
    ours = plan(variation_bound=5, body=Body(high=9, cap=7, cap_2=5), minimum_group=3)
    theirs = plan(
        epsilon=np.int64(1),
        history=np.int64(2),
        variation_bound=np.int32(5),
        body=Body(high=np.int64(9), cap=np.int64(7), cap_2=np.int16(5)),
        minimum_group=np.uint8(3),
        grid=Grid(slots=np.int64(4), minutes=np.int64(360)),
    )
    assert theirs.hash == ours.hash


def test_the_hash_is_stable():
    """The hash of a given plan never changes: stored streams are found by it."""
    assert plan().hash == "2037799dc98e456f1223f976d4ac87436af1fce503d25edb17f1beacb16abcff"


def test_epsilon_is_exact():
    """A tenth is a tenth in the plan and in its JSON."""
    assert plan(epsilon="0.1").eps_z * 10 == 1
    assert plan(epsilon="0.10").to_json()["epsilon"] == "0.1"
    assert plan(epsilon="0.10").hash == plan(epsilon="1/10").hash


def test_strong_is_the_default():
    """A plan that says nothing of its level is strong, the one we recommend."""
    assert plan().level == "strong"


def test_half_of_the_history_must_be_there():
    """k_min is half of the history, rounded up, unless given."""
    assert [plan(history=k).k_min for k in (1, 2, 91)] == [1, 1, 46]
    assert plan(history=91, min_readings=5).k_min == 5


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
        plan(**wrong)


@pytest.mark.parametrize(
    "change",
    [
        {"grid": None},
        {"query": None},
        {"domain": 3},
        {"basis": {"size": 3, "colour": 1}},
        {"diurnal_plan": 2},
        {"diurnal_plan": None},
        {"epsilon": "x"},
        {"more": 1},
        {"query": {"kind": "?"}},
    ],
)
def test_plan_files_of_another_kind_are_refused(change):
    """Another version, an unknown field, a broken number or query raise, and say what is expected."""
    with pytest.raises(DiurnalError):
        Plan.from_json({**plan().to_json(), **change})


def test_a_plan_file_without_a_field_is_refused():
    """A missing field is named."""
    data = plan().to_json()
    del data["domain"]
    with refuses(PlanError, "plan-file-fields"):
        Plan.from_json(data)


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
        plan(**{"cycle_mechanism": "cube", **mixed}).guarantee()


def test_a_plan_left_to_auto_promises_nothing_yet():
    """The guarantee of a plan whose mechanism is not chosen is an error with a remedy, not a number."""
    with refuses(PlanError, "mechanism-impossible"):
        plan().guarantee()


def test_the_variation_bound_never_promises_more_than_the_domain():
    """R_w is min(2W, R_x)."""
    assert plan(cycle_mechanism="laplace", variation_bound=30).cycle_layer().sensitivity.linf == 60
    assert plan(cycle_mechanism="laplace", variation_bound=80).cycle_layer().sensitivity.linf == 100
    assert plan(cycle_mechanism="laplace").cycle_layer().sensitivity.linf == 100
    by_basis = [plan(cycle_mechanism="basis", cycle_basis=Basis(size=3), variation_bound=w) for w in (50, None)]
    assert by_basis[0].cycle_layer().rate == by_basis[1].cycle_layer().rate
    layer = by_basis[0].cycle_layer()
    assert layer.sensitivity_square >= np.linalg.norm(layer.matrix.astype(float), ord=2) ** 2 * 4 * 100**2 * 0.999


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


def test_a_plan_s_fields_are_checked_by_name():
    """with_ refuses a field that a plan has not, and from_json what is no mapping."""
    with refuses(PlanError, "plan-unknown-fields"):
        plan().with_(epsiln="2")
    with pytest.raises(PlanError, match=r"json\.loads"):
        Plan.from_json("{}")
