import math
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import PlanError
from support import refuses

DAY = dn.Grid()


def test_nothing_at_all_stands_beside_every_plan():
    """With a reference its error is hypot(spread, mismatch); without one a twentieth of the domain, a guess at the
    mean reading; of shares the spread of a part of equally likely parts.
    """
    known = dn.predict(support.daily_plan(reference=support.REFERENCE), support.SHAPE)
    assert known.without_data.errors.step == pytest.approx(
        math.hypot(float(support.REFERENCE.spread), float(support.REFERENCE.mismatch))
    )
    assert known.unspent.errors.step == pytest.approx(float(support.REFERENCE.mismatch))
    blind = dn.predict(support.daily_plan(), support.SHAPE)
    assert blind.without_data.errors.step == blind.unspent.errors.step == 400
    assert "guessed at a twentieth of the domain" in blind.without_data.note
    counting = {"level": "cycle", "epsilon": "1", "domain": (0, 8000)}
    share, histogram = (
        dn.predict(dn.Plan(query=query, **counting), support.SHAPE).without_data
        for query in (dn.Share(above=500), dn.Histogram((100, 500, 1000)))
    )
    parts = np.random.default_rng(1).dirichlet([1] * 4, size=20_000)
    assert share.errors.step == pytest.approx(math.sqrt(1 / 12))
    times = support.SHAPE.group_sizes[0] / dn.Histogram((100, 500, 1000)).denominator(support.SHAPE.group_sizes[0])
    assert histogram.errors.step == pytest.approx(times * parts[:, 0].std(), rel=0.03)
    for words in (str(known), str(blind)):
        assert "nothing at all" in words
        assert "eps_z = 0" in words


def test_in_strong_mode_nothing_is_exact_so_eps_z_0_is_not_offered():
    """eps_z = 0 stands beside pattern plans only."""
    assert dn.predict(support.daily_plan(level="strong"), support.SHAPE).unspent is None


def test_auto_never_picks_a_biased_mechanism_without_a_reference():
    """Without a public reference auto stays with slots; with one it may take a basis."""
    assert dn.choose(support.daily_plan(), support.SHAPE).mechanism == "cube"
    assert dn.choose(support.daily_plan(level="strong", variation_bound=500), support.SHAPE).mechanism == "cube"
    assert dn.choose(support.daily_plan(reference=support.REFERENCE), support.SHAPE).mechanism == "basis"
    strong = dn.choose(
        support.daily_plan(level="strong", reference=support.REFERENCE, variation_bound=500), support.SHAPE
    )
    assert (strong.mechanism, strong.cycle_mechanism) == ("basis", "cube")


def test_auto_takes_a_basis_for_cycles_only_with_open_data():
    """What a basis drops of variations is known from open data alone."""
    rng = np.random.default_rng(4)
    profile = np.array(support.REFERENCE.profile)[:, None] * rng.uniform(0.5, 1.5, size=(1, 60))
    readings = np.tile(profile, (10, 1)) + rng.integers(-40, 40, size=(480, 60))
    open_data = dn.Panel.from_array(np.maximum(readings, 0).astype(int))
    one = support.daily_plan(level="strong", reference=support.REFERENCE, variation_bound=dn.Ellipsoid(radius=800))
    with refuses(PlanError, "planner-no-mechanism"):
        dn.choose(one, support.SHAPE)
    assert dn.choose(one, support.SHAPE, open_data=open_data).cycle_mechanism == "basis"
    assert dn.predict(one, support.SHAPE, open_data=open_data).row("basis+basis").bias is not None


def test_the_largest_group_of_sums_has_its_error_said():
    """What is dropped of a sum grows with the group: the smallest is named, and what the largest has is said."""
    shape = dn.Shape(group_sizes=(75, 225))
    fields = {"mechanism": "basis", "reference": support.REFERENCE, "groups": "suburb"}
    said = dn.explain(support.daily_plan(query=dn.Sum(), **fields), shape)
    row = dn.predict(support.daily_plan(query=dn.Sum(), **fields), dn.Shape(group_sizes=(225,))).row("basis")
    assert f"For a group of 225 households, the largest, the predicted error is {row.said()} Wh." in said
    assert any(
        each.startswith("A report's predicted error, for a group of 75 households, the smallest,") for each in said
    )
    assert not any("the largest, it is" in each for each in dn.explain(support.daily_plan(**fields), shape))


def test_auto_never_drops_the_user_s_bounds():
    """An Ellipsoid is for a basis: without a public reference auto refuses, rather than take the domain instead."""
    with refuses(PlanError, "planner-no-mechanism"):
        dn.choose(support.daily_plan(body=dn.Ellipsoid(radius=3000)), support.SHAPE)
    chosen = dn.choose(
        support.daily_plan(body=dn.Ellipsoid(radius=3000), reference=support.REFERENCE), support.SHAPE
    )
    assert (chosen.mechanism, chosen.body) == ("basis", dn.Ellipsoid(radius=3000))


def test_a_named_mechanism_is_kept():
    """Choose changes nothing that was named."""
    one = support.daily_plan(level="strong", mechanism="laplace")
    assert dn.choose(one, support.SHAPE).mechanism == "laplace"
    named = support.daily_plan(mechanism="laplace")
    assert dn.choose(named, support.SHAPE) is named


def test_gaussian_is_a_candidate_only_with_a_delta():
    """Without a delta no row and no choice is Gaussian."""
    names = [row.name for row in dn.predict(support.daily_plan(), support.SHAPE).mechanisms]
    assert names == ["cube", "laplace"]
    assert "gaussian" in [
        row.name for row in dn.predict(support.daily_plan(delta="1e-6"), support.SHAPE).mechanisms
    ]


@pytest.mark.parametrize("target", ["50", "200", "901"])
def test_epsilon_for_a_target_error_reaches_it_and_not_much_more(target):
    """At the epsilon found the predicted error is at most the target, at 1 % less it is above."""
    one = support.daily_plan(mechanism="cube")
    epsilon = dn.epsilon_for(one, support.SHAPE, target)

    def error(e):
        return dn.predict(one.with_(epsilon=e), support.SHAPE).row("cube").errors.step

    assert error(epsilon) <= float(target)
    assert error(epsilon * Fraction(99, 100)) > float(target)


def test_an_error_below_the_bias_is_out_of_reach():
    """No epsilon removes what a basis drops: a PlanError says so."""
    spiky = dn.Reference(profile=[2000 if s == 7 else 100 for s in range(48)])
    with refuses(PlanError, "planner-error-unreachable"):
        dn.epsilon_for(support.daily_plan(mechanism="basis", reference=spiky), support.SHAPE, "1")


def test_a_plan_worse_than_nothing_is_warned_of():
    """At n = 226 Theorem 1 loses to a public profile, and the explanation says so."""
    one = support.daily_plan(mechanism="laplace", reference=support.REFERENCE)
    said = dn.explain(one, support.SHAPE)
    assert any("worse" in s and "nothing at all" in s for s in said)
    assert any("worse" in s and "eps_z = 0" in s for s in said)


def test_small_populations_are_told_to_spend_nothing():
    """Below n epsilon of about 100 the plan says that no release of the mean profile is likely to help."""
    small = dn.Shape(group_sizes=(20, 60))
    assert any(
        "no release of the mean profile" in s for s in dn.explain(support.daily_plan(mechanism="cube"), small)
    )
    assert not any(
        "no release of the mean profile" in s
        for s in dn.explain(support.daily_plan(mechanism="cube"), support.SHAPE)
    )


def test_an_explanation_holds_the_whole_guarantee():
    """Every sentence of the guarantee is in the explanation."""
    one = support.daily_plan(mechanism="cube")
    said = dn.explain(one, support.SHAPE)
    assert set(one.guarantee().sentences()) <= set(said)
    assert dn.numbered(said).startswith("1. ")


def test_predictions_are_for_the_smallest_group():
    """A mean's error falls with the group's size; the smallest group's is shown."""
    grouped = dn.predict(support.daily_plan(), dn.Shape(group_sizes=(20, 206)))
    assert grouped.n_households == 20
    assert grouped.row("cube").std == pytest.approx(
        dn.predict(support.daily_plan(), support.SHAPE).row("cube").std * 226 / 20
    )


def test_sums_and_weights_are_predicted_in_their_own_unit():
    """A sum has n times the error of a mean; a weighted sum that of its heaviest weight over its denominator."""
    mean = dn.predict(support.daily_plan(), support.SHAPE).row("cube").std
    assert dn.predict(support.daily_plan(query=dn.Sum()), support.SHAPE).row("cube").std == pytest.approx(
        226 * mean
    )
    weighted = dn.Weighted([1] * 113 + [2] * 113, over=339)
    assert dn.predict(support.daily_plan(query=weighted), support.SHAPE).row("cube").std == pytest.approx(
        mean * 226 * 2 / 339, rel=1e-6
    )
    double = dn.predict(
        support.daily_plan(query=dn.Weighted([1] * 226, over=113), reference=support.REFERENCE), support.SHAPE
    )
    assert double.unspent.errors.step == pytest.approx(2 * float(support.REFERENCE.mismatch))


@pytest.mark.parametrize(("pattern", "cycle"), [("auto", "basis"), ("basis", "auto")])
def test_naming_a_basis_for_one_layer_does_not_choose_it_for_the_other(pattern, cycle):
    """Without public knowledge auto stays unbiased in the layer that was left to it."""
    one = support.daily_plan(level="strong", body=None, mechanism=pattern, cycle_mechanism=cycle)
    chosen = dn.choose(one, support.SHAPE)
    assert {chosen.mechanism, chosen.cycle_mechanism} == {"basis", "cube"}


def test_auto_chooses_each_layer_by_itself():
    """With Laplace named for the pattern, the cycle still gets the better cube."""
    one = support.daily_plan(level="strong", mechanism="laplace", variation_bound=500)
    assert dn.choose(one, support.SHAPE).cycle_mechanism == "cube"


def test_a_panel_will_do_for_its_shape():
    """predict, choose and explain take the panel itself, by the plan's groups."""
    panel = support.town(groups={"side": ["a"] * 10 + ["b"] * 30})
    one = support.plan_for(panel, groups="side", mechanism="cube")
    assert dn.predict(one, panel).n_households == 10
    assert dn.explain(one, panel) == dn.explain(one, panel.shape_by("side"))


def test_when_rows_come_out():
    """A plan says whether its rows come step by step, block by block or cycle by cycle; no guarantee does."""
    strong = {"level": "strong", "mechanism": "laplace", "body": None}
    quarters = support.daily_plan(**strong, cycle_mechanism="blocks", cycle_basis=dn.Basis(size=4), grace=2)
    told = {
        support.daily_plan(mechanism="cube"): "Rows come out step by step",
        support.daily_plan(**strong, cycle_mechanism="cube"): "Rows come out step by step",
        quarters: "every 12 steps, or up to 2 steps later",
        support.daily_plan(**strong, cycle_mechanism="basis", deadline=9): (
            "every 48 steps, and 9 steps later at the latest. The cycle mechanism blocks gives them sooner"
        ),
    }
    for one, words in told.items():
        assert [words in said for said in dn.explain(one, support.SHAPE)].count(True) == 1
        assert not any("come out" in said for said in one.guarantee().sentences())


def test_a_short_history_is_said_to_hold_few_seasons():
    """That predictions know nothing of other seasons is said of every plan with less than a year of history."""
    for days, told in ((91, True), (299, True), (300, False)):
        assert (
            any("few seasons" in said for said in dn.explain(support.daily_plan(history=days), support.SHAPE))
            is told
        )


STRONG = {"level": "strong", "epsilon": "1", "domain": (0, 8001), "history": 30}


@pytest.mark.parametrize("cycle", ["auto", "laplace", "cube", "basis"])
def test_a_strong_plan_without_a_ball_gets_half_the_domain_and_no_more_noise(cycle):
    """A plan that names no bound is given W = R_x/2: its layers then add up plainly, and its noise is no wider."""
    asked = dn.Plan(**STRONG, mechanism="cube", cycle_mechanism=cycle)
    chosen = dn.choose(asked, dn.Shape(group_sizes=(50,), n_cycles=365))
    assert chosen.variation_bound == 4000
    assert chosen.stretch == 1
    before = chosen.with_(variation_bound=None)
    rows = np.eye(48)
    assert sum(map(chosen.cycle_layer().variance, rows)) <= sum(map(before.cycle_layer().variance, rows))


def test_what_a_plan_says_of_its_variations_stays():
    """A W above half the domain, or a ball, is the user's: the guarantee says what it costs."""
    shape = dn.Shape(group_sizes=(50,), n_cycles=365)
    for bound in (6000, 100, dn.Ellipsoid(radius=500)):
        asked = dn.Plan(**STRONG, mechanism="cube", cycle_mechanism="basis", variation_bound=bound)
        assert dn.choose(asked, shape).variation_bound == bound


def test_a_ball_of_blocks_that_does_not_bind_becomes_half_the_domain():
    """Blocks would leave it out, and cut nothing: the planner takes W instead."""
    wide = dn.Ellipsoid(radius=10**6)
    asked = dn.Plan(**STRONG, mechanism="cube", cycle_mechanism="blocks", variation_bound=wide)
    asked = asked.with_(cycle_basis=dn.Basis(size=4))
    assert dn.choose(asked, dn.Shape(group_sizes=(50,), n_cycles=365)).variation_bound == 4000


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
