import math
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator.release import Layers
from diurnal.errors import PlanError
from diurnal.planning.accuracy import known_total
from diurnal.planning.prediction import Errors, Prediction, Row
from diurnal.promise.mechanisms import SLOTS
from diurnal.show.certificate import certificate
from diurnal.study.audit import exact
from support import refuses

DAY = dn.Grid()
SHAPE = dn.Shape(group_sizes=(226,))
REFERENCE = dn.Reference(profile=[300 + 50 * (s % 24) // 8 for s in range(48)])


def plan(**more) -> dn.Plan:
    fields = {"epsilon": "1", "domain": (0, 8000), "history": 91, "level": "pattern", "body": dn.Body(high=3000)}
    return dn.Plan(**{**fields, **more})


def test_theorem_1_is_predicted_by_its_formula():
    """A mean over 226 homes with a range of 3 kWh: sqrt(2) T R/(n epsilon) = 901 Wh."""
    row = dn.predict(plan(), SHAPE).row("laplace")
    assert row.std == pytest.approx(math.sqrt(2) * 48 * 3000 / 226, rel=1e-4)
    assert row.relative_to_laplace == pytest.approx(1)


def test_cube_is_predicted_below_laplace():
    """2.38 times below at T = 48."""
    prediction = dn.predict(plan(), SHAPE)
    assert 1 / prediction.row("cube").relative_to_laplace == pytest.approx(2.38, abs=0.01)


def test_split_budgets_are_predicted_by_their_formulas():
    """Over a year: Laplace sqrt(2) tau R/(n epsilon); Gaussian sqrt(tau) times what one report needs."""
    laplace, gaussian = dn.predict(plan(), SHAPE).split
    assert laplace.std == pytest.approx(math.sqrt(2) * 17520 * 8000 / 226)
    assert gaussian.std == pytest.approx(4.53 * math.sqrt(17520) * 8000 / 226, rel=0.01)


def test_nothing_at_all_stands_beside_every_plan():
    """With a reference its error is hypot(spread, mismatch); without one a twentieth of the domain, a guess at the
    mean reading; of shares the spread of a part of equally likely parts.
    """
    known = dn.predict(plan(reference=REFERENCE), SHAPE)
    assert known.without_data.errors.step == pytest.approx(
        math.hypot(float(REFERENCE.spread), float(REFERENCE.mismatch))
    )
    assert known.unspent.errors.step == pytest.approx(float(REFERENCE.mismatch))
    blind = dn.predict(plan(), SHAPE)
    assert blind.without_data.errors.step == blind.unspent.errors.step == 400
    assert "guessed at a twentieth of the domain" in blind.without_data.note
    counting = {"level": "cycle", "epsilon": "1", "domain": (0, 8000)}
    share, histogram = (
        dn.predict(dn.Plan(query=query, **counting), SHAPE).without_data
        for query in (dn.Share(above=500), dn.Histogram((100, 500, 1000)))
    )
    parts = np.random.default_rng(1).dirichlet([1] * 4, size=20_000)
    assert share.errors.step == pytest.approx(math.sqrt(1 / 12))
    times = SHAPE.group_sizes[0] / dn.Histogram((100, 500, 1000)).denominator(SHAPE.group_sizes[0])
    assert histogram.errors.step == pytest.approx(times * parts[:, 0].std(), rel=0.03)
    for words in (str(known), str(blind)):
        assert "nothing at all" in words
        assert "eps_z = 0" in words


def test_in_strong_mode_nothing_is_exact_so_eps_z_0_is_not_offered():
    """eps_z = 0 stands beside pattern plans only."""
    assert dn.predict(plan(level="strong"), SHAPE).unspent is None


def test_pattern_noise_adds_up_over_days_and_strong_noise_averages_out():
    """A year's total carries pattern noise 365 times a day's, fresh cycle noise sqrt(365) times."""
    row = dn.predict(plan(), SHAPE).row("cube")
    assert row.errors.year / row.errors.day == pytest.approx(365)
    assert row.errors.day == pytest.approx(row.std * math.sqrt(48))
    counting = dn.Plan(query=dn.Share(above=500), level="cycle", epsilon="1", domain=(0, 8000))
    fresh = dn.predict(counting, SHAPE).row("cube")
    assert fresh.errors.year / fresh.errors.day == pytest.approx(math.sqrt(365))


@pytest.mark.parametrize("level", ["pattern", "strong"])
@pytest.mark.parametrize("mechanism", ["laplace", "cube"])
def test_predicted_errors_of_totals_are_the_measured_ones(level, mechanism):
    """Totals over four days of a silent town have the predicted error, repeating noise and fresh noise alike."""
    silent = dn.Panel.from_array(np.full((4 * 5, 20), 57), grid=dn.Grid(slots=4, minutes=360))
    panel = support.of_groups(silent, 500)
    one = support.plan_for(
        panel,
        query=dn.Sum(),
        level=level,
        mechanism=mechanism,
        cycle_mechanism=mechanism,
        history=1,
        groups="group",
    )
    rows = support.start(panel, one).report(panel.after(1))
    errors = np.array(support.numerators(rows), dtype=float).reshape(16, 500).sum(axis=0) - 16 * 57 * 20
    layer, cycle, ones = one.pattern_layer(), one.cycle_layer(), np.ones(4)
    predicted = 16 * layer.variance(ones) + (4 * cycle.variance(ones) if cycle else 0)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(math.sqrt(predicted), rel=0.2)


def test_auto_never_picks_a_biased_mechanism_without_a_reference():
    """Without a public reference auto stays with slots; with one it may take a basis."""
    assert dn.choose(plan(), SHAPE).mechanism == "cube"
    assert dn.choose(plan(level="strong", variation_bound=500), SHAPE).mechanism == "cube"
    assert dn.choose(plan(reference=REFERENCE), SHAPE).mechanism == "basis"
    strong = dn.choose(plan(level="strong", reference=REFERENCE, variation_bound=500), SHAPE)
    assert (strong.mechanism, strong.cycle_mechanism) == ("basis", "cube")


def test_auto_takes_a_basis_for_cycles_only_with_open_data():
    """What a basis drops of variations is known from open data alone."""
    rng = np.random.default_rng(4)
    profile = np.array(REFERENCE.profile)[:, None] * rng.uniform(0.5, 1.5, size=(1, 60))
    readings = np.tile(profile, (10, 1)) + rng.integers(-40, 40, size=(480, 60))
    open_data = dn.Panel.from_array(np.maximum(readings, 0).astype(int))
    one = plan(level="strong", reference=REFERENCE, variation_bound=dn.Ellipsoid(radius=800))
    with refuses(PlanError, "planner-no-mechanism"):
        dn.choose(one, SHAPE)
    assert dn.choose(one, SHAPE, open_data=open_data).cycle_mechanism == "basis"
    assert dn.predict(one, SHAPE, open_data=open_data).row("basis+basis").bias is not None


def test_columns_of_the_table_stay_apart():
    """Errors as long as they are ever written leave a gap between any two columns of a printed prediction."""
    errors = Errors(step=9_999_000, peak=9_999_000, day=9_999_000, month=9_999_000, year=9_999_000)
    row = Row(name="nothing at all", promise="", std=0.0, bias=0.0, errors=errors)
    made = Prediction(plan=plan(), n_households=9, mechanisms=(), without_data=row, unspent=None, split=())
    head, line = str(made).splitlines()[1:]
    assert head.split() == ["report", "peak", "day", "month", "year", "dropped"]
    assert line.split()[3:] == ["9,999,000"] * 5 + ["0"]


def test_an_unknown_bias_is_said():
    """A basis named by the user without a reference has bias None, and the explanation says it comes on top."""
    one = plan(mechanism="basis")
    assert dn.predict(one, SHAPE).row("basis").bias is None
    assert any("is not known" in said for said in dn.explain(one, SHAPE))


def test_an_error_of_which_not_all_is_known_is_a_least_one():
    """Where what is dropped is not known, errors are said to be least ones, and are held against no others."""
    one = plan(mechanism="basis")
    row = dn.predict(one, SHAPE).row("basis")
    assert row.said() == f"at least {row.errors.step:.4g}"
    said = " ".join(dn.explain(one, SHAPE))
    assert f"predicted error is {row.said()} Wh" in said
    assert "It cannot be held against the" in said
    assert "has least predicted error" not in said
    known = dn.predict(plan(), SHAPE).row("cube")
    assert "least" not in known.said()
    table = certificate(one, SHAPE)
    assert "reckoned with the whole domain" in said
    assert "reckoned with the whole domain" in table.partition("## Predicted error")[2]
    assert f"| **basis** (this plan) | {row.said()} | {row.said('day')} | {row.said('year')} |" in table


@pytest.mark.parametrize("level", ["pattern", "strong"])
@pytest.mark.parametrize("sizes", [(30,), (20, 280), (40, 260)])
def test_predicted_noise_is_that_of_rows_where_small_groups_are_drawn_towards_the_reference(level, sizes):
    """A layer that shrinks noisy coefficients does so by the group's size: rows have the predicted noise."""
    asked = dn.Plan(epsilon="1", domain=(0, 20_000), history=91, level=level, groups="suburb")
    chosen = dn.choose(
        dn.with_public_bounds(asked, dn.Shape(group_sizes=sizes), mean_reading=400), dn.Shape(group_sizes=sizes)
    )
    assert chosen.shrink
    n = min(sizes)
    layers = Layers(chosen, 1, n, n)
    rows = math.sqrt(np.mean([form.deviation**2 for form in layers.forms])) / n
    row = dn.predict(chosen, dn.Shape(group_sizes=sizes)).row(chosen.mechanisms_text)
    assert row.std == pytest.approx(rows)
    assert known_total(chosen, n).unknown == pytest.approx(rows)


def test_a_split_histogram_pays_for_two_bins():
    """A household that changes leaves one bin and enters another: twice the noise of a share, or sqrt(2) times."""
    counting = {"level": "cycle", "epsilon": "1", "domain": (0, 8000), "mechanism": "laplace"}
    share, bins = (
        dn.predict(dn.Plan(query=query, **counting), SHAPE).split
        for query in (dn.Share(above=500), dn.Histogram((100, 500, 1000)))
    )
    homes = SHAPE.group_sizes[0]
    assert bins[0].std == pytest.approx(2 * homes * share[0].std)
    assert bins[1].std == pytest.approx(math.sqrt(2) * homes * share[1].std)


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        (
            {"default_reading": 7},
            "A missing reading counts as the home's usual one, put into the bounds. A home with fewer than 46 "
            "readings of a slot in the history counts there as 7 Wh, put into the bounds, as long as the plan "
            "reports, whatever it sends.",
        ),
        ({"statistic": "base-load"}, "A missing reading counts as the home's least reading of that slot in the"),
        (
            {"level": "cycle", "query": dn.Share(above=500), "history": 0, "body": None},
            "as one in no bin; what that",
        ),
    ],
)
def test_what_a_missing_reading_counts_as_is_said_with_every_error(fields, counts):
    """Explanation and certificate say what a missing reading counts as, and that no stated error has it."""
    one = plan(mechanism="laplace", **fields)
    assert counts in " ".join(dn.explain(one, SHAPE))
    assert counts in certificate(one, SHAPE).partition("## Predicted error")[2]


def test_what_is_dropped_has_one_sign_in_totals():
    """A basis that drops as much above as below is predicted for totals as if it all went one way."""
    one = plan(mechanism="basis", reference=REFERENCE, basis=dn.Basis(kind="fourier", size=3))
    row = dn.predict(one, SHAPE).row("basis")
    layer = one.pattern_layer(1, 226)
    noise = math.sqrt(layer.variance(np.ones(48))) / 226
    assert row.bias > 1
    assert row.errors.day**2 - noise**2 > (0.7 * 48 * row.bias) ** 2


def test_the_largest_group_of_sums_has_its_error_said():
    """What is dropped of a sum grows with the group: the smallest is named, and what the largest has is said."""
    shape = dn.Shape(group_sizes=(75, 225))
    fields = {"mechanism": "basis", "reference": REFERENCE, "groups": "suburb"}
    said = dn.explain(plan(query=dn.Sum(), **fields), shape)
    row = dn.predict(plan(query=dn.Sum(), **fields), dn.Shape(group_sizes=(225,))).row("basis")
    assert f"For a group of 225 households, the largest, the predicted error is {row.said()} Wh." in said
    assert any(
        each.startswith("A report's predicted error, for a group of 75 households, the smallest,") for each in said
    )
    assert not any("the largest, it is" in each for each in dn.explain(plan(**fields), shape))


def test_auto_never_drops_the_user_s_bounds():
    """An Ellipsoid is for a basis: without a public reference auto refuses, rather than take the domain instead."""
    with refuses(PlanError, "planner-no-mechanism"):
        dn.choose(plan(body=dn.Ellipsoid(radius=3000)), SHAPE)
    chosen = dn.choose(plan(body=dn.Ellipsoid(radius=3000), reference=REFERENCE), SHAPE)
    assert (chosen.mechanism, chosen.body) == ("basis", dn.Ellipsoid(radius=3000))


def test_a_named_mechanism_is_kept():
    """Choose changes nothing that was named."""
    one = plan(level="strong", mechanism="laplace")
    assert dn.choose(one, SHAPE).mechanism == "laplace"
    named = plan(mechanism="laplace")
    assert dn.choose(named, SHAPE) is named


def test_gaussian_is_a_candidate_only_with_a_delta():
    """Without a delta no row and no choice is Gaussian."""
    names = [row.name for row in dn.predict(plan(), SHAPE).mechanisms]
    assert names == ["cube", "laplace"]
    assert "gaussian" in [row.name for row in dn.predict(plan(delta="1e-6"), SHAPE).mechanisms]


@pytest.mark.parametrize("target", ["50", "200", "901"])
def test_epsilon_for_a_target_error_reaches_it_and_not_much_more(target):
    """At the epsilon found the predicted error is at most the target, at 1 % less it is above."""
    one = plan(mechanism="cube")
    epsilon = dn.epsilon_for(one, SHAPE, target)

    def error(e):
        return dn.predict(one.with_(epsilon=e), SHAPE).row("cube").errors.step

    assert error(epsilon) <= float(target)
    assert error(epsilon * Fraction(99, 100)) > float(target)


def test_an_error_below_the_bias_is_out_of_reach():
    """No epsilon removes what a basis drops: a PlanError says so."""
    spiky = dn.Reference(profile=[2000 if s == 7 else 100 for s in range(48)])
    with refuses(PlanError, "planner-error-unreachable"):
        dn.epsilon_for(plan(mechanism="basis", reference=spiky), SHAPE, "1")


def test_a_plan_worse_than_nothing_is_warned_of():
    """At n = 226 Theorem 1 loses to a public profile, and the explanation says so."""
    one = plan(mechanism="laplace", reference=REFERENCE)
    said = dn.explain(one, SHAPE)
    assert any("worse" in s and "nothing at all" in s for s in said)
    assert any("worse" in s and "eps_z = 0" in s for s in said)


def test_small_populations_are_told_to_spend_nothing():
    """Below n epsilon of about 100 the plan says that no release of the mean profile is likely to help."""
    small = dn.Shape(group_sizes=(20, 60))
    assert any("no release of the mean profile" in s for s in dn.explain(plan(mechanism="cube"), small))
    assert not any("no release of the mean profile" in s for s in dn.explain(plan(mechanism="cube"), SHAPE))


def test_an_explanation_holds_the_whole_guarantee():
    """Every sentence of the guarantee is in the explanation."""
    one = plan(mechanism="cube")
    said = dn.explain(one, SHAPE)
    assert set(one.guarantee().sentences()) <= set(said)
    assert dn.numbered(said).startswith("1. ")


def test_predictions_are_for_the_smallest_group():
    """A mean's error falls with the group's size; the smallest group's is shown."""
    grouped = dn.predict(plan(), dn.Shape(group_sizes=(20, 206)))
    assert grouped.n_households == 20
    assert grouped.row("cube").std == pytest.approx(dn.predict(plan(), SHAPE).row("cube").std * 226 / 20)


def test_sums_and_weights_are_predicted_in_their_own_unit():
    """A sum has n times the error of a mean; a weighted sum that of its heaviest weight over its denominator."""
    mean = dn.predict(plan(), SHAPE).row("cube").std
    assert dn.predict(plan(query=dn.Sum()), SHAPE).row("cube").std == pytest.approx(226 * mean)
    weighted = dn.Weighted([1] * 113 + [2] * 113, over=339)
    assert dn.predict(plan(query=weighted), SHAPE).row("cube").std == pytest.approx(mean * 226 * 2 / 339, rel=1e-6)
    double = dn.predict(plan(query=dn.Weighted([1] * 226, over=113), reference=REFERENCE), SHAPE)
    assert double.unspent.errors.step == pytest.approx(2 * float(REFERENCE.mismatch))


def test_a_public_reference_is_the_open_data_s_mean_day():
    """Profile and spread come from the open panel, gaps left out of the means."""
    readings = np.array([[10, 30], [20, 40], [30, 50], [20, 60]])
    present = np.array([[True, True], [True, False], [True, True], [True, True]])
    open_data = support.small_panel(readings, present=present, slots=2)
    reference = dn.public_reference(open_data)
    assert reference.profile == (30, 30)
    assert float(reference.spread) == pytest.approx(10, abs=0.01)


def test_predictions_are_plain_data():
    """A prediction's JSON holds every row with its totals."""
    data = dn.predict(plan(), SHAPE).to_json()
    assert {row["name"] for row in data["mechanisms"]} == {
        name for name, kind in SLOTS.items() if not kind.needs_delta
    }
    assert set(data["without_data"]["error_of_totals"]) == {"day", "month", "year"}


def homes(n=60, cycles=10, level=300):
    """Public-looking homes around a level, with a shape and scatter of their own."""
    rng = np.random.default_rng(6)
    shape = 1 + 0.5 * np.sin(2 * np.pi * np.arange(48) / 48)
    readings = level * shape[:, None] * rng.uniform(0.5, 1.5, size=n) * rng.uniform(0.8, 1.2, size=(cycles, 48, n))
    return dn.Panel.from_array(np.rint(readings).astype(int).reshape(-1, n))


@pytest.mark.parametrize("mechanism", ["laplace", "cube", "basis"])
def test_what_bounds_clip_is_predicted_from_open_data(mechanism):
    """A body far too narrow is predicted to be off by nearly the whole level of homes that use a quarter more than
    the open ones, and is warned of.
    """
    open_data = homes()
    narrow = plan(
        mechanism=mechanism, body=dn.Body(high=10), reference=dn.public_reference(open_data), basis=dn.Basis(size=3)
    )
    row = dn.predict(narrow, SHAPE, open_data=open_data).row(mechanism)
    assert row.bias == pytest.approx(1.25 * 305, rel=0.1)
    alike = narrow.with_(reference=dn.public_reference(open_data, mismatch="0.001"))
    assert dn.predict(alike, SHAPE, open_data=open_data).row(mechanism).bias == pytest.approx(305, rel=0.1)
    assert row.errors.step > 290
    prediction = dn.predict(narrow, SHAPE, open_data=open_data)
    assert any("eps_z = 0" in warning for warning in prediction.warnings(row))


def test_clipped_variations_are_predicted_from_open_data():
    """A W of 1 drops nearly all of the mean's variation."""
    open_data = homes()
    profile, moved = open_data.readings.reshape(10, 48, -1).mean(axis=0), open_data.readings.reshape(10, 48, -1)
    off = np.sqrt(np.mean((moved - profile).mean(axis=2) ** 2))
    tight = plan(level="strong", mechanism="cube", cycle_mechanism="cube", body=None, variation_bound=1)
    assert dn.predict(tight, SHAPE, open_data=open_data).row("cube+cube").bias == pytest.approx(off, rel=0.2)


def test_unpredicted_clipping_is_said():
    """Without open data the table and the sentences say that what bounds clip is not in the numbers."""
    assert "+ clip?" in str(dn.predict(plan(), SHAPE))
    assert any("clip" in said for said in dn.explain(plan(mechanism="cube"), SHAPE))
    assert "+ clip?" not in str(dn.predict(plan(body=None), SHAPE))


@pytest.mark.parametrize(("pattern", "cycle"), [("auto", "basis"), ("basis", "auto")])
def test_naming_a_basis_for_one_layer_does_not_choose_it_for_the_other(pattern, cycle):
    """Without public knowledge auto stays unbiased in the layer that was left to it."""
    one = plan(level="strong", body=None, mechanism=pattern, cycle_mechanism=cycle)
    chosen = dn.choose(one, SHAPE)
    assert {chosen.mechanism, chosen.cycle_mechanism} == {"basis", "cube"}


def test_auto_chooses_each_layer_by_itself():
    """With Laplace named for the pattern, the cycle still gets the better cube."""
    one = plan(level="strong", mechanism="laplace", variation_bound=500)
    assert dn.choose(one, SHAPE).cycle_mechanism == "cube"


def test_a_panel_will_do_for_its_shape():
    """predict, choose and explain take the panel itself, by the plan's groups."""
    panel = support.town(groups={"side": ["a"] * 10 + ["b"] * 30})
    one = support.plan_for(panel, groups="side", mechanism="cube")
    assert dn.predict(one, panel).n_households == 10
    assert dn.explain(one, panel) == dn.explain(one, panel.shape_by("side"))


def test_when_rows_come_out():
    """A plan says whether its rows come step by step, block by block or cycle by cycle; no guarantee does."""
    strong = {"level": "strong", "mechanism": "laplace", "body": None}
    quarters = plan(**strong, cycle_mechanism="blocks", cycle_basis=dn.Basis(size=4), grace=2)
    told = {
        plan(mechanism="cube"): "Rows come out step by step",
        plan(**strong, cycle_mechanism="cube"): "Rows come out step by step",
        quarters: "every 12 steps, or up to 2 steps later",
        plan(**strong, cycle_mechanism="basis", deadline=9): (
            "every 48 steps, and 9 steps later at the latest. The cycle mechanism blocks gives them sooner"
        ),
    }
    for one, words in told.items():
        assert [words in said for said in dn.explain(one, SHAPE)].count(True) == 1
        assert not any("come out" in said for said in one.guarantee().sentences())


def test_a_short_history_is_said_to_hold_few_seasons():
    """That predictions know nothing of other seasons is said of every plan with less than a year of history."""
    for days, told in ((91, True), (299, True), (300, False)):
        assert any("few seasons" in said for said in dn.explain(plan(history=days), SHAPE)) is told


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


def test_the_price_of_a_known_total_is_predicted():
    """With cube in both layers the noise falls from 2,304 to 403 Wh; the plan that is chosen is hardly moved."""
    shape = dn.Shape(group_sizes=(100,), n_cycles=365)
    fields = {"epsilon": "1", "domain": (0, 8000), "history": 91}
    cube = dn.Plan(**fields, mechanism="cube", cycle_mechanism="cube", variation_bound=500)
    assert known_total(cube, 100) == pytest.approx((2304, 402.6, 2304), abs=0.5)
    chosen = dn.choose(dn.with_public_bounds(dn.Plan(**fields), shape, mean_reading=300), shape)
    unknown, slot, beside = known_total(chosen, 100)
    assert 0.9 * unknown < slot <= unknown
    # Of five waves slots beside each other have most of their noise in common.
    assert beside < 0.2 * unknown
    assert "falls from 2,304 to 402.6 Wh in other cycles" in " ".join(dn.explain(cube, shape))


def test_what_a_known_total_gives_away_is_what_is_predicted():
    """Noise drawn by the law of each layer: taking the known step's off leaves the predicted deviation, to 3 %."""
    rng = np.random.default_rng(1)
    cube = dn.Plan(
        epsilon="1", domain=(0, 8000), history=91, mechanism="cube", cycle_mechanism="cube", variation_bound=500
    )
    repeats, known, other = (
        exact.draw(layer, 3000, rng) for layer in (cube.pattern_layer(), *[cube.cycle_layer()] * 2)
    )
    variances = [float(np.mean(each**2)) for each in (repeats, known)]
    guess = (repeats + known) * variances[0] / sum(variances)
    assert np.sqrt(np.mean((repeats + other - guess) ** 2)) == pytest.approx(known_total(cube, 1).slot, rel=0.03)
