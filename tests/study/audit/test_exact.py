"""Worst cases in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from diurnal import Basis, Body, Ellipsoid, Grid, Histogram, Plan, Share, Weighted
from diurnal.study.audit.exact import contribution, two_layers, worst_cases
from diurnal.study.audit.transcripts import canaries, to_audit

COMMON = {"domain": (0, 1000), "epsilon": "1", "grid": Grid(slots=6), "history": 9}
STRONG = {**COMMON, "level": "strong", "variation_bound": 300}
BALL = {
    **COMMON,
    "level": "strong",
    "mechanism": "basis",
    "basis": Basis(size=3),
    "body": Ellipsoid(radius=300, reference=[400] * 6),
}

HONEST = {
    "laplace": Plan(**COMMON, level="pattern", mechanism="laplace", body=Body(high=500)),
    "cube": Plan(**COMMON, level="pattern", mechanism="cube"),
    "cube, unequal ranges": Plan(
        **COMMON, level="pattern", mechanism="cube", body=Body(high=[100, 200, 300, 400, 500, 1000])
    ),
    "caps": Plan(**COMMON, level="pattern", mechanism="laplace", body=Body(high=1000, cap=900, cap_2=700)),
    "gaussian": Plan(**COMMON, level="pattern", mechanism="gaussian", delta="1e-6"),
    "base load": Plan(**COMMON, level="pattern", mechanism="cube", statistic="base-load"),
    "weights": Plan(**STRONG, mechanism="cube", cycle_mechanism="laplace", query=Weighted([-5, 2])),
    "strong gaussian": Plan(**STRONG, mechanism="gaussian", cycle_mechanism="gaussian", delta="1e-6"),
    "strong, mixed": Plan(**STRONG, mechanism="laplace", cycle_mechanism="cube"),
    "strong, no bound": Plan(**{**STRONG, "variation_bound": None}, mechanism="cube", cycle_mechanism="cube"),
    "basis": Plan(
        **BALL, cycle_mechanism="basis", cycle_basis=Basis(size=3), variation_bound=Ellipsoid(radius=500)
    ),
    "blocks": Plan(
        **BALL, cycle_mechanism="blocks", cycle_basis=Basis(size=2), variation_bound=Ellipsoid(radius=500)
    ),
    "share": Plan(**{**COMMON, "history": 0}, level="cycle", mechanism="cube", query=Share(above=500)),
    "histogram": Plan(**{**COMMON, "history": 0}, level="cycle", mechanism="laplace", query=Histogram([200, 500])),
}


@pytest.mark.parametrize("name", HONEST)
def test_no_pair_costs_more_than_is_promised_and_some_cost_all_of_it(name):
    """Of every mechanism the worst pair found stays within the promise, and reaches it nearly."""
    found = worst_cases(to_audit(HONEST[name]), tries=100, rng=np.random.default_rng(1))
    assert found
    for each in found:
        assert each.kept, each
        # A capped body's farthest two points are none of those that are tried.
        if each.change != "history" and "caps" not in name:
            assert each.worst >= 0.97 * each.promised


@pytest.mark.parametrize("change", ["pattern", "cycle", "history"])
@pytest.mark.parametrize("mechanism", ["laplace", "cube"])
@settings(max_examples=30)
@given(data=st.data())
def test_the_closed_form_is_never_below_the_enumerated_loss(mechanism, change, data):
    """Tiny populations, gaps and clipping included: the exact law's worst ratio is at most the closed form's."""
    top, cycles = 3, 3
    plan = Plan(
        domain=(0, top),
        epsilon="1",
        grid=Grid(slots=1),
        level="strong",
        mechanism=mechanism,
        cycle_mechanism=mechanism,
        history=2,
        min_readings=1,
        variation_bound=data.draw(st.sampled_from([None, 1])),
        body=Body(high=data.draw(st.sampled_from([1, top]))),
    )
    cells = st.lists(st.integers(0, top), min_size=2 + cycles, max_size=2 + cycles)
    readings = np.array(data.draw(cells))[:, None]
    present = np.array(data.draw(st.lists(st.booleans(), min_size=2 + cycles, max_size=2 + cycles)))[:, None]
    other = readings.copy()
    if change == "pattern":
        other += data.draw(st.integers(-int(readings.min()), top - int(readings.max())))
    else:
        other[0 if change == "history" else 3] = data.draw(st.integers(0, top))
    ours, theirs = (contribution(plan, each, present, weight=1) for each in (readings, other))
    pattern, moves = (theirs.pattern - ours.pattern)[:, 0], (theirs.cycles - ours.cycles)[:, :, 0]
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), pattern + moves, 9)
    assert worst <= two_layers(plan, pattern, moves) + 1e-7


def test_what_is_told_without_noise_costs_everything(monkeypatch):
    """Where a mean does not move with its readings, variations tell profiles apart, and the loss has no end."""
    from diurnal.readings import kernels

    real = kernels.profiles
    monkeypatch.setattr(
        kernels, "profiles", lambda *given, **more: (real(*given, **more)[0] // 2 * 2, real(*given, **more)[1])
    )
    (found,) = worst_cases(to_audit(HONEST["cube"]), tries=50, rng=np.random.default_rng(1))
    assert math.isinf(found.worst)
    assert not found.kept
    assert found.to_json()["worst"] is None


@pytest.mark.parametrize("name", HONEST)
def test_canaries_are_neighbours(name):
    """Both data sets of a canary lie in the domain, and differ by a shift that repeats, or in one cycle."""
    plan = to_audit(HONEST[name])
    low, high = plan.domain
    for canary in canaries(plan, 2):
        difference = canary.theirs - canary.ours
        assert low <= min(canary.ours.min(), canary.theirs.min())
        assert max(canary.ours.max(), canary.theirs.max()) <= high
        changed = np.flatnonzero(difference.any(axis=1))
        if canary.change == "pattern":
            assert (difference == difference[0]).all()
        else:
            assert len(changed) == 1
            assert (changed[0] < plan.history) == (canary.change == "history")
