import re
from fractions import Fraction

import numpy as np
import pytest

import support
from diurnal import Basis, Body, Ellipsoid, Grid, Share
from diurnal.promise import levels
from diurnal.promise.budget import epsilon_of
from diurnal.study.town import Town

LEVELS = [
    {"level": "pattern"},
    {"level": "strong", "cycle_mechanism": "cube"},
    {"level": "cycle", "query": Share(above=3), "history": 0},
]


@pytest.mark.parametrize("fields", LEVELS, ids=lambda f: f["level"])
def test_a_guarantee_is_never_said_in_part(fields):
    """Its words hold every neighbour, epsilon, assumption and limit of its level."""
    promise = support.guarantee(**fields)
    words = str(promise)
    level = levels.LEVELS[promise.level]
    for part in (*level.neighbours, *promise.assumptions, *level.limits, "epsilon = 1"):
        assert part in words


@pytest.mark.parametrize("fields", LEVELS, ids=lambda f: f["level"])
def test_every_guarantee_assumes_one_store_that_goes_on_sound_tools_and_a_plan_of_no_readings(fields):
    """Among its assumptions are: no copy that reports, a sound generator and digest, a plan not chosen by readings;
    in pattern mode but for variations, which neighbours share.
    """
    assumed = [said for said in support.guarantee(**fields).sentences() if said.startswith("Assumed: ")]
    wanted = ("No copy of the store", "random generator is sound", "not chosen by looking at these readings")
    for part in wanted:
        assert sum(part in said for said in assumed) == 1, part
    assert any("but for their variations" in said for said in assumed) == (fields["level"] == "pattern")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"level": "pattern"}, "epsilon 1 for a shift of the periodic component"),
        (
            {"level": "strong", "cycle_mechanism": "cube", "cycle_epsilon": "2"},
            "epsilon 1 for a shift of the periodic component, 2 for variations in any one reported cycle",
        ),
        ({"level": "cycle", "query": Share(above=3), "history": 0}, "epsilon 1 for any one reported cycle"),
        ({"mechanism": "gaussian", "delta": "1e-6"}, "for a shift of the periodic component, delta 0.000001"),
    ],
    ids=["pattern", "strong", "cycle", "gaussian"],
)
def test_in_brief_a_number_is_for_a_shift_or_for_a_reported_cycle(fields, words):
    """Where a table has no room for sentences, no number is for a cycle of the history, or for all of a pattern."""
    assert support.guarantee(**fields).brief.endswith(words)


def test_numbers_and_words_agree_on_gaussian_noise():
    """A Gaussian plan states epsilon, delta and zCDP, and its epsilon is at most the plan's."""
    promise = support.guarantee(level="strong", mechanism="gaussian", cycle_mechanism="gaussian", delta="1e-6")
    numbers = promise.numbers()
    assert float(numbers["epsilon"]) <= 1
    assert numbers["delta"] == "0.000001"
    assert float(numbers["zcdp"]) == pytest.approx(0.02436, abs=1e-5)
    assert numbers["zcdp"] in str(promise)


def test_the_history_bound_is_the_formula():
    """With cube in both layers: eps_z d/D_z, and eps_w d/D_w more for each cycle touched, d = ceil(R_x/k_min)."""
    promise = support.guarantee(
        level="strong", mechanism="cube", cycle_mechanism="cube", variation_bound=20, history=8, horizon=10
    )
    assert promise.history.base.epsilon == pytest.approx(25 / 100)
    assert promise.history.each.epsilon == pytest.approx(25 / 40)
    assert float(promise.numbers()["history_epsilon_at_horizon"]) == pytest.approx(0.25 + 10 * 0.625)


def test_the_history_moves_a_profile_by_a_whole_unit_more():
    """D is rounded up: a domain of 101 over k_min = 4 moves a floor mean by 26."""
    promise = support.guarantee(
        level="strong", mechanism="cube", cycle_mechanism="cube", domain=(0, 101), history=8
    )
    assert promise.history.base.epsilon * 101 == 26


def test_distances_add_up_for_concentrated_losses():
    """With caps the pattern layer must hide the body's diameter and the shift: at least (sqrt a + sqrt b)^2."""
    gaussian = {"mechanism": "gaussian", "cycle_mechanism": "gaussian", "delta": "1e-6", "level": "strong"}
    plain, capped = (support.guarantee(body=Body(high=100, cap=cap), **gaussian) for cap in (None, 399))
    shift, diameter = float(plain.history.base.zcdp), float(capped.pattern.zcdp)
    assert float(capped.history.base.zcdp) >= (shift**0.5 + diameter**0.5) ** 2 * 0.99


def test_shown_numbers_are_never_below_the_exact_ones():
    """A third is shown as 0.333334."""
    promise = support.guarantee(epsilon="1/3")
    assert promise.numbers()["epsilon"] == "0.333334"


def test_a_basis_layer_says_that_history_is_not_covered():
    """Either layer a basis: no bound for the history, and the words say so."""
    promise = support.guarantee(
        level="strong",
        mechanism="basis",
        basis=Basis(size=3),
        body=Ellipsoid(radius=100),
        cycle_mechanism="cube",
    )
    assert promise.history is None
    assert "not covered" in str(promise)
    assert "that a pattern plan reported or learned from has that plan's promise only" in str(promise)


def test_a_slot_that_cannot_move_leaves_history_uncovered_by_cube():
    """A slot of range zero gets no cube noise, so a history cycle has no bound; Laplace noise still has one."""
    body = Body(high=[100, 100, 0, 100])
    cube = support.guarantee(level="strong", mechanism="cube", cycle_mechanism="cube", body=body)
    laplace = support.guarantee(level="strong", mechanism="laplace", cycle_mechanism="cube", body=body)
    assert cube.history is None
    assert laplace.history is not None


def test_groups_cost_what_one_costs():
    """A grouped plan says that its groups share no household and no cost."""
    promise = support.plan_for(support.town(), groups="side").guarantee()
    assert "the groups together cost what one costs" in str(promise)


def test_a_guarantee_says_what_a_week_and_a_year_cost():
    """Its words have composed losses with their delta, everything about a household, and the unit of privacy."""
    daily = Grid(slots=4, minutes=360)
    promise = support.guarantee(
        level="strong",
        mechanism="laplace",
        domain=(0, 8000),
        cycle_mechanism="cube",
        variation_bound=500,
        grid=daily,
    )
    week, month, year, both, everything = promise.curve()
    assert both.epsilon == 2
    assert [float(row.epsilon) for row in (week, month, year)] == pytest.approx([7, 28, 210], rel=0.05)
    assert everything.epsilon == year.epsilon + 1
    words = str(promise)
    for row in promise.curve():
        assert f"{row.to_json()['epsilon']}" in words
    assert "delta = 0.000001" in words
    assert "event level, not user level" in words


def test_few_homes_could_have_another_homes_usual_day():
    """In a made-up town at most one home in five could have another's usual day with its own variations."""
    panel = Town(homes=60, days=28, gap_rate=0).panel()
    readings = panel.readings.reshape(-1, panel.grid.slots, panel.n_households)
    usual = readings.sum(axis=0) // len(readings)
    lowest = (readings - usual).min(axis=0)
    possible = [(usual + lowest[:, [home]] >= 0).all(axis=0).sum() - 1 for home in range(panel.n_households)]
    assert 0.02 < np.mean(possible) / (panel.n_households - 1) < 0.2


@pytest.mark.parametrize(
    ("pattern", "cycle"), [("gaussian", "cube"), ("cube", "gaussian"), ("gaussian", "gaussian")]
)
def test_the_zcdp_that_is_said_belongs_to_the_epsilon_beside_it(pattern, cycle):
    """Where a Gaussian layer and a pure one add up, half the square of each pure loss is in the zCDP."""
    fields = {"level": "strong", "mechanism": pattern, "cycle_mechanism": cycle, "delta": "1e-6"}
    promise = support.guarantee(**fields, variation_bound=20)
    bound = promise.history
    for loss in (bound.base, bound.worst()):
        said = promise._promise(loss)
        if not loss.zcdp:
            assert "zCDP" not in said
            continue
        rho = Fraction(re.search(r"zCDP ([0-9.]+)", said)[1])
        assert loss.at(promise.delta) <= epsilon_of(rho, promise.delta)
        assert float(rho) == pytest.approx(float(loss.zcdp + loss.squares / 2), rel=1e-3, abs=1e-6)
    assert bound.worst().squares > 0 or cycle == "gaussian"
