import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from diurnal import Basis, Body, Ellipsoid, Grid, Histogram, Mean, Plan, Reference, Share, Sum, Weighted
from diurnal.errors import DiurnalError, PlanError
from support import refuses


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
    return support.bare_plan(**fields)


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
    ours = support.bare_plan(variation_bound=5, body=Body(high=9, cap=7, cap_2=5), minimum_group=3)
    theirs = support.bare_plan(
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
    assert support.bare_plan().hash == "2037799dc98e456f1223f976d4ac87436af1fce503d25edb17f1beacb16abcff"


def test_epsilon_is_exact():
    """A tenth is a tenth in the plan and in its JSON."""
    assert support.bare_plan(epsilon="0.1").eps_z * 10 == 1
    assert support.bare_plan(epsilon="0.10").to_json()["epsilon"] == "0.1"
    assert support.bare_plan(epsilon="0.10").hash == support.bare_plan(epsilon="1/10").hash


def test_strong_is_the_default():
    """A plan that says nothing of its level is strong, the one we recommend."""
    assert support.bare_plan().level == "strong"


def test_half_of_the_history_must_be_there():
    """k_min is half of the history, rounded up, unless given."""
    assert [support.bare_plan(history=k).k_min for k in (1, 2, 91)] == [1, 1, 46]
    assert support.bare_plan(history=91, min_readings=5).k_min == 5


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
        Plan.from_json({**support.bare_plan().to_json(), **change})


def test_a_plan_file_without_a_field_is_refused():
    """A missing field is named."""
    data = support.bare_plan().to_json()
    del data["domain"]
    with refuses(PlanError, "plan-file-fields"):
        Plan.from_json(data)


def test_a_plan_left_to_auto_promises_nothing_yet():
    """The guarantee of a plan whose mechanism is not chosen is an error with a remedy, not a number."""
    with refuses(PlanError, "mechanism-impossible"):
        support.bare_plan().guarantee()
