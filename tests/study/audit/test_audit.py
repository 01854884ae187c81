"""Audits of honest curators: sharp, and without false alarms."""

import json
from dataclasses import replace

import numpy as np
import pytest

import support
from diurnal import Basis, Body, Ellipsoid, Grid, Histogram, Plan, Share, Weighted
from diurnal.errors import PlanError
from diurnal.planning.free import VariationReference
from diurnal.planning.reference import Reference
from diurnal.study.audit.audit import Effort, audit
from support import refuses

LITTLE, LEAST = Effort(copies=60, eventful=45, drawn=6000), Effort(copies=24, eventful=12, drawn=6000)


def honest(rng):
    """A plan at random, of every kind there is."""
    slots = int(rng.choice([1, 2, 3, 4, 6]))
    low = int(rng.choice([0, 0, -400]))
    level = str(rng.choice(["pattern", "strong", "strong", "cycle"]))
    fields = {
        "grid": Grid(slots=slots),
        "domain": (low, low + int(rng.choice([1, 2, 7, 300, 2000]))),
        "epsilon": str(rng.choice(["0.01", "0.1", "1", "2", "8"])),
        "level": level,
        "minimum_group": int(rng.choice([1, 4, 15])),
        "history": 0 if level == "cycle" else int(rng.integers(1, 40)),
        "mechanism": str(rng.choice(["laplace", "cube", "gaussian"])),
        "default_reading": low,
    }
    width = fields["domain"][1] - low
    if level == "cycle":
        middle = low + width // 2
        fields["query"] = [Share(above=middle), Histogram(sorted({low + width // 3, middle}))][rng.integers(2)]
    elif level == "pattern":
        fields["statistic"] = str(rng.choice(["mean", "base-load"]))
    elif rng.random() < 0.4:
        fields["query"] = Weighted([int(rng.integers(-4, 0)), 1, 2])
    if level == "strong":
        fields["cycle_mechanism"] = str(rng.choice(["laplace", "cube", "gaussian"]))
        fields["variation_bound"] = [None, int(rng.integers(1, width + 1))][rng.integers(2)]
    if level != "cycle" and rng.random() < 0.4:
        high = low + int(rng.integers(1, width + 1))
        fields["body"] = Body(low=low, high=high, cap=[None, max(1, high - low)][rng.integers(2)])
    if level == "strong" and rng.random() < 0.3:
        size = Basis(
            size=int(rng.integers(1, slots + 1)), noise=str(rng.choice(["l2-norm", "laplace", "gaussian"]))
        )
        fields |= {
            "mechanism": "basis",
            "basis": size,
            "body": Ellipsoid(radius=max(1, width // 3), reference=[low + width // 2 or 1] * slots),
            "cycle_mechanism": "basis",
            "cycle_basis": size,
            "variation_bound": Ellipsoid(radius=max(1, width // 2)),
            "reference": Reference(profile=[low + width // 2 or 1] * slots, mismatch=max(1, width // 10)),
            "fill": str(rng.choice(["0", "0.5"])),
            "shrink": bool(rng.random() < 0.5),
        }
    if "gaussian" in str(fields):
        fields["delta"] = str(rng.choice(["1e-5", "0.01"]))
    return Plan(**fields)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, 10))])
def test_a_hundred_audits_of_honest_plans_raise_no_alarm(part):
    """Plans at random, of every level, mechanism, body, weight and length of cycle: the shipped curator passes."""
    for number in range(10):
        plan = honest(np.random.default_rng([7, part, number]))
        # What could be a false alarm is tried in all of them, on many transcripts in some.
        result = audit(plan, effort=LITTLE if number < 3 else LEAST)
        assert result.passed, (plan, result.breaches)


@support.nightly
def test_the_bound_for_cube_at_48_slots_reaches_four_fifths_of_epsilon():
    """The shipped cube mechanism at T = 48: at least 0.8 of what is promised is found, and no more than all."""
    plan = Plan(domain=(0, 8000), epsilon="2", level="pattern", mechanism="cube", body=Body(high=3000), history=28)
    found = audit(plan, effort=Effort(copies=5500, eventful=30)).sharpest("pattern")
    assert 0.8 * 2 <= found.found <= 2


def test_the_bound_for_laplace_at_a_short_period_reaches_four_fifths_of_epsilon():
    """The shipped Laplace mechanism at T = 2: at least 0.8 of what is promised is found, and no more than all."""
    plan = Plan(domain=(0, 8000), epsilon="2", level="pattern", mechanism="laplace", grid=Grid(slots=2), history=28)
    found = audit(plan, effort=Effort(copies=13_000, eventful=30)).sharpest("pattern")
    assert 0.8 * 2 <= found.found <= 2


def test_a_free_reference_passes():
    """A plan that takes its reference from the history's variations passes too."""
    plan = Plan(
        domain=(0, 1000),
        epsilon="1",
        grid=Grid(slots=4),
        level="pattern",
        mechanism="basis",
        basis=Basis(size=2),
        body=Ellipsoid(radius=300, reference=[400] * 4),
        reference=Reference(profile=[400] * 4, mismatch=100),
        free=VariationReference(quantile="0.1", slope="1", blend="0.5", low="0.2", grain="0.1"),
        history=60,
    )
    assert audit(plan, effort=LITTLE).passed


def test_an_undecided_plan_is_not_audited():
    """What is not decided cannot be audited: the error says how to choose."""
    with refuses(PlanError, "audit-plan-undecided"):
        audit(Plan(domain=(0, 8000), epsilon="1", history=28))


@pytest.fixture(scope="module")
def small():
    return audit(
        Plan(domain=(0, 100), epsilon="1", grid=Grid(slots=2), level="strong", mechanism="laplace",
             cycle_mechanism="laplace", history=3),
        effort=LITTLE,
    )  # fmt: skip


def test_an_audit_is_plain_data_with_the_promise_whole(small):
    """As JSON it has the plan's hash, the promise with all its sentences, every bound and the verdict."""
    content = json.loads(json.dumps(small.to_json()))
    assert content["plan"] == small.plan.hash
    assert content["promise"]["sentences"] == small.plan.guarantee().sentences()
    assert content["passed"] is True
    assert {each["change"] for each in content["exact"]} == {"pattern", "cycle", "history"}
    assert len(content["bounds"]) == len(small.bounds)


def test_a_broken_fact_breaks_the_promise(small):
    """One fact that does not hold is enough, and the verdict says so before anything else."""
    broken = replace(small, facts=(replace(small.facts[0], held=False), *small.facts[1:]))
    assert not broken.passed
    assert broken.verdict.startswith("The promise is broken")
    assert small.facts[0].name in str(broken)
