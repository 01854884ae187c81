"""Plans from the table of public constants."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import PlanError
from diurnal.planning import constants, public_tables
from diurnal.planning.accuracy import _peak, kept_share, mechanism_row
from diurnal.planning.public_tables import typical
from diurnal.promise.mechanisms.prior import spread
from support import refuses

GRID = dn.Grid()
WEEK = dn.Grid(slots=336)


LEVEL = sum(typical(WEEK, 370).profile) / 336


def draft(level="pattern", grid=GRID, **more):
    fields = {"epsilon": "1", "domain": (0, 8000), "history": 366, "grid": grid, "level": level}
    return dn.Plan(**{**fields, **more})


def shape(*sizes, grid=GRID):
    return dn.Shape(grid=grid, n_cycles=365, group_sizes=sizes)


def informed(plan, *sizes, **more):
    return dn.with_public_bounds(plan, shape(*(sizes or (226,)), grid=plan.grid), **{"mean_reading": "370", **more})


def test_a_level_is_enough():
    """From the public mean of a reading come a typical day, a body around it, a basis, a free reference."""
    plan = informed(draft())
    assert plan.reference == typical(GRID, 370)
    assert plan.body.reference == plan.reference.profile
    assert (plan.basis.size, plan.body.scale, plan.fill) == (7, Fraction("1.3"), Fraction("0.25"))
    assert plan.body.radius == round(0.9 * sum(plan.reference.profile) / 48 * math.sqrt(48))
    assert (plan.free.blend, plan.free.low, plan.free.slope) == tuple(map(Fraction, ("0.75", "0.6", "1.7")))


def test_a_strong_plan_takes_nothing_from_variations():
    """Strong plans get a ball for days, and no free reference, whatever is asked."""
    plan = informed(draft("strong"))
    assert plan.free is None
    assert (plan.cycle_basis.size, plan.variation_bound.weighting) == (5, "harmonic")
    assert dn.choose(plan, shape(226)).cycle_mechanism == "basis"


def test_reports_that_come_sooner_have_bounds_of_their_own():
    """Block by block a ball and the number of blocks, slot by slot a clip: what is asked for is bounded."""
    blocks = informed(draft("strong", cycle_mechanism="blocks"))
    assert (blocks.cycle_basis.size, blocks.variation_bound.weighting) == (4, "flat")
    assert blocks.cycle_layer() is not None
    slots = informed(draft("strong", cycle_mechanism="cube"))
    assert slots.variation_bound == round(0.8 * sum(slots.reference.profile) / 48)


def test_what_is_free_can_be_left_out():
    """With free=False, with a short history, or with very many homes, the reference is public alone."""
    assert informed(draft(), free=False).free is None
    assert informed(draft(history=30)).free is None
    assert informed(draft(), 100_000).free is None


def test_a_base_load_is_put_around_standby():
    """The least reading of a slot is a small part of the level, the same all day, smaller the longer one looks."""
    levels = []
    for history in (28, 366):
        plan = informed(draft(statistic="base-load", history=history))
        (flat,) = set(plan.body.reference)
        assert plan.free is None
        levels.append(flat)
    assert levels[1] < levels[0] < 370 / 2


def test_a_week_keeps_its_mean_day():
    """Over a week coefficients are those of its mean day, and half of the rest of the public week is put back."""
    plan = informed(draft(grid=WEEK, history=52))
    assert (plan.basis.days, plan.basis.size, plan.fill) == (7, 7, Fraction(1, 2))
    assert plan.free is not None
    strong = informed(draft("strong", grid=WEEK, history=52))
    assert (strong.cycle_basis.size, strong.variation_bound.radius) == (15, round(1.2 * LEVEL * math.sqrt(336)))


def test_what_a_plan_says_itself_stays():
    """A basis, a body, a reference and a bound that were given are kept."""
    own = {"basis": dn.Basis(size=11), "cycle_basis": dn.Basis(size=3)}
    plan = informed(draft("strong", **own))
    assert (plan.basis.size, plan.cycle_basis.size) == (11, 3)
    body = dn.Ellipsoid(radius=777)
    assert informed(draft("strong", body=body, variation_bound=50)).body == body
    assert informed(draft("strong", body=body, variation_bound=50)).variation_bound == 50


def test_other_readings_have_no_table():
    """Generation and odd periods get their bounds from open data, or none."""
    assert informed(draft(channel="generation")).body is None
    odd = dn.Grid(slots=10)
    with refuses(PlanError, "public-shape-unknown"):
        informed(draft(grid=odd))


def test_something_public_must_be_given():
    """Neither open data nor a level: a PlanError that asks for one."""
    with refuses(PlanError, "public-knowledge-missing"):
        dn.with_public_bounds(draft(), shape(226))


def test_open_data_is_brought_to_the_level():
    """With both, the shape is the open homes' and the level the public one; spread and mismatch go along."""
    reference = dn.Reference(profile=[100, 300] * 24)
    moved = reference.at_level(400)
    assert moved.profile == (200, 600) * 24
    assert (moved.spread, moved.mismatch) == (2 * reference.spread, 2 * reference.mismatch)


@pytest.mark.parametrize("rows", [constants.PATTERN, constants.BASE_LOAD, constants.DAY], ids=["P", "B", "D"])
def test_a_row_s_noise_is_the_mechanism_s(rows):
    """The noise that is taken off a tabled error is what the shipped mechanism predicts for that row, with what it
    draws to the reference.
    """
    plan = informed(draft("strong"))
    level = sum(plan.reference.profile) / 48
    for row in rows:
        distance = getattr(row, "distance", None)
        layer = plan.with_(
            body=dataclasses.replace(plan.body, radius=round(row.radius * level * math.sqrt(48))),
            basis=dn.Basis(size=row.size),
            mechanism="basis",
            epsilon=str(row.n_epsilon),
            shrink=distance is not None,
            reference=dataclasses.replace(plan.reference, mismatch=Fraction((distance or 1) * level)),
        ).pattern_layer()
        expected = math.hypot(support.standard_deviation(layer, 48), layer.drawn) / level
        assert public_tables._noise(row, row.n_epsilon) == pytest.approx(expected, rel=0.01)


def test_the_row_with_the_least_error_is_taken():
    """More homes never make the predicted error larger, and rows suit about the size they were made for."""
    errors, sizes = [], []
    for n in (10, 30, 100, 226, 700, 2000, 10_000, 50_000):
        plan = dn.choose(informed(draft(), n), shape(n))
        errors.append(mechanism_row(plan, n, None, None).errors.step)
        sizes.append(plan.basis.size)
    assert errors == sorted(errors, reverse=True)
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (3, 17)


def test_the_predicted_error_is_the_tabled_one():
    """At n epsilon 226 a plan is predicted to have the cross-validated errors of its rows, pattern and day."""
    plan = dn.choose(informed(draft("strong")), shape(226))
    level = sum(plan.reference.profile) / 48
    expected = level * math.hypot(0.069, 0.1092)
    assert mechanism_row(plan, 226, None, None).errors.step == pytest.approx(expected, rel=0.02)


def test_small_groups_are_drawn_to_the_reference():
    """Groups of very different size share a body; the noise of small ones is shrunk, that of large ones hardly."""
    plan = informed(draft(), 20, 200, 2000)
    assert plan.shrink
    plan = plan.with_(mechanism="basis")
    small, large = (support.standard_deviation(plan.pattern_layer(1, total), 48) for total in (20, 2000))
    assert small < 0.9 * large
    assert not informed(draft(), 200, 300).shrink


def test_eps_z_0_is_told_with_the_same_free_reference():
    """What a plan takes for free, doing without epsilon may take too: the rival is not made worse than it is."""
    plan = dn.choose(informed(draft()), shape(226))
    plain = dn.choose(informed(draft(), free=False), shape(226))
    with_it, without = (dn.predict(each, shape(226)).unspent.errors.step for each in (plan, plain))
    assert with_it == pytest.approx(without * 0.156 / 0.225)


def test_a_small_panel_is_warned():
    """At n epsilon 20, doing without is predicted to be about as good: the explanation says so."""
    plan = dn.choose(informed(draft(minimum_group=1), 20), shape(20))
    assert any("eps_z = 0" in sentence for sentence in dn.explain(plan, shape(20)))


def test_why_and_how_long_are_said():
    """The explanation names the next best way with its error, and what a longer history brings."""
    said = " ".join(dn.explain(informed(draft(history=91)), shape(226)))
    assert "ways to add noise it has least predicted error of a report; of the others" in said
    assert "91 days of history hold few seasons" in said
    assert "few seasons" not in " ".join(dn.explain(informed(draft()), shape(226)))


def test_a_total_is_split_at_best():
    """The two epsilons add up to the total, and no other split of the grid is predicted to be better."""
    plan = dn.best_split(draft("strong"), shape(226), "2", mean_reading="370")
    assert plan.eps_z + plan.eps_w == 2

    def error(eps_z):
        other = draft("strong", epsilon=eps_z, cycle_epsilon=2 - eps_z)
        return mechanism_row(dn.choose(informed(other), shape(226)), 226, None, None).errors.step

    assert error(plan.eps_z) <= min(error(Fraction(part, 8)) for part in (2, 4, 6, 8, 10, 12, 14))
    assert abs(plan.eps_z - 1) <= Fraction(1, 2)
    with refuses(PlanError, "planner-needs-strong"):
        dn.best_split(draft(), shape(226), "2", mean_reading="370")


def test_the_largest_of_noisy_slots_is_larger():
    """Independent noise moves a day's largest report by more than one slot's, as drawing shows; a wave does not."""
    plan = informed(draft())
    profile = np.array(plan.reference.profile, dtype=float)
    deviations = np.full(48, 200.0)
    rng = np.random.default_rng(1)
    drawn = (profile + rng.normal(0, 200, size=(20_000, 48))).max(axis=1) - profile.max()
    assert _peak(plan, deviations, 1.0, apart=True) == pytest.approx(math.sqrt(np.mean(drawn**2)), rel=0.03)
    assert _peak(plan, deviations, 1.0, apart=False) == 200


def test_peaks_are_predicted_for_every_way():
    """Each row of a prediction has an error of the peak; slot mechanisms' is above their report's."""
    plan = dn.choose(informed(draft()), shape(226))
    prediction = dn.predict(plan, shape(226))
    assert all(row.errors.peak > 0 for row in prediction.rows)
    cube = prediction.row("cube")
    assert cube.errors.peak > cube.errors.step
    assert "peak" in str(prediction).splitlines()[1]


def test_what_is_drawn_to_the_reference_is_in_the_error():
    """A layer that keeps a share of each coefficient leaves homes as far from it as the layer itself says."""
    plan = informed(draft(epsilon="0.1", history=28, mechanism="basis"), 60, free=False)
    layer, rng = plan.pattern_layer(1, 60), np.random.default_rng(3)
    assert plan.shrink
    assert layer.kept[1] < 0.3
    rows = layer.matrix / np.sqrt((layer.matrix.astype(float) ** 2).sum(axis=1))[:, None]
    mismatch = float(plan.reference.mismatch)
    deviations = np.sqrt(spread(mismatch, plan.basis.harmonics(), 48))
    reference, off = np.array(plan.reference.profile, dtype=float), []
    for _ in range(2000):
        mean_day = reference + rows.T @ (deviations * rng.standard_normal(len(rows)))
        off.append(np.mean((layer.expected(layer.matrix @ mean_day) - mean_day) ** 2))
    alone = np.mean((layer.expected(layer.matrix @ reference) - reference) ** 2)
    assert math.sqrt(np.mean(off) - alone) == pytest.approx(layer.drawn, rel=0.05)
    assert layer.drawn < mismatch


@pytest.mark.parametrize("sizes", [(60,), (15, 226, 500), (15, 3000, 9000)])
@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_no_plan_has_a_smaller_error_with_less_epsilon(level, sizes):
    """Of one plan, and of what is chosen for each epsilon for groups of one size, predicted errors only grow."""
    epsilons = ["3", "1", "0.3", "0.1", "0.03", "0.01", "0.001", "0.0001"]
    fixed = dn.choose(informed(draft(level, epsilon="0.1", history=28), *sizes, free=False), shape(*sizes))
    tried = [[fixed.with_(epsilon=each) for each in epsilons]]
    if len(sizes) == 1:
        tried.append(
            [dn.choose(informed(draft(level, epsilon=e, history=28), *sizes), shape(*sizes)) for e in epsilons]
        )
    for plans in tried:
        errors = [mechanism_row(each, min(sizes), None, None).errors.step for each in plans]
        assert errors == sorted(errors)


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_fewer_homes_never_have_a_smaller_error(level):
    """Where reports are drawn to the reference, fewer homes are drawn further: that is no gain."""
    sizes = [1, 2, 4, 8, 16, 32, 64, 128]
    plans = [dn.choose(informed(draft(level, history=28), n), shape(n)) for n in sizes]
    errors = [mechanism_row(plan, n, None, None).errors.step for plan, n in zip(plans, sizes, strict=True)]
    assert errors == sorted(errors, reverse=True)


def test_a_plan_that_says_almost_nothing_is_as_good_as_what_is_public():
    """With hardly any epsilon a report is the public reference, and its error that of a free profile or more."""
    plan = dn.choose(informed(draft(epsilon="0.0001", history=28), 60, free=False), shape(60))
    row = mechanism_row(plan, 60, None, None)
    assert kept_share(plan, 60) == "0 %"
    assert row.errors.step >= float(plan.reference.mismatch)
    said = " ".join(dn.explain(plan, shape(60)))
    assert "of a group of 60 households, the smallest, 0 % of each coefficient is their own" in said
    assert "what is dropped or drawn to the reference" in said
    plain = dn.choose(informed(draft(), 226), shape(226))
    assert kept_share(plain, 226) is None
    assert "drawn to" not in " ".join(dn.explain(plain, shape(226)))


def test_a_table_says_that_it_knows_no_small_groups():
    """Below the smallest population that it was found on, an error is said to be more; from there on it is not."""
    for level in ("pattern", "strong"):
        few, enough = (dn.choose(informed(draft(level, history=28), n), shape(n)) for n in (12, 60))
        assert "expect about twice as much of a handful" in mechanism_row(few, 12, None, None).note
        assert "expect about twice" in " ".join(dn.explain(few, shape(12)))
        assert "expect about twice" not in " ".join(dn.explain(enough, shape(60)))


@pytest.mark.parametrize("slots", [1, 4, 8, 48])
def test_a_day_of_few_slots_gets_no_more_coefficients_than_it_has(slots):
    """However many homes there are, what the table chooses can be made on the plan's grid."""
    grid = dn.Grid(slots=slots, minutes=1440 // slots)
    for n in (20, 60, 1000, 100_000):
        for level in ("pattern", "strong"):
            plan = dn.choose(informed(draft(level, grid=grid), n), shape(n, grid=grid))
            assert plan.mechanism != "basis" or plan.basis.size <= slots
            assert plan.guarantee().pattern is not None
