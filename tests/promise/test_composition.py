import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import support
from diurnal import Basis, Ellipsoid, Plan, Share
from diurnal.promise.body import Sensitivity
from diurnal.promise.budget import epsilon_of
from diurnal.promise.composition import LaplaceLaw, Law, NormLaw, _norm_below, norm_law
from diurnal.promise.mechanisms import Cube, Laplace
from diurnal.readings.grid import Grid

ONE = Fraction(1)
DELTA = Fraction("1e-6")
NORM = NormLaw(epsilon=ONE, zcdp=ONE / 2, size=5)
LAPLACE = LaplaceLaw(epsilon=ONE, zcdp=ONE / 96, parts=48)
CUBE = LaplaceLaw(epsilon=ONE, zcdp=ONE / 2, parts=1)
PLAIN = Law(epsilon=ONE, zcdp=ONE / 2)


@pytest.mark.parametrize(
    ("law", "figures"),
    [
        (NORM, (5.07, 13.37, 75.02)),
        (LAPLACE, (1.664, 3.728, 16.26)),
        (CUBE, (7.0, 27.77, 204.4)),
        (PLAIN, (7.0, 29.99, 244.6)),
    ],
    ids=["l2-norm", "laplace", "cube", "anything"],
)
def test_a_week_a_month_and_a_year_cost_what_theory_says(law, figures):
    """At epsilon 1 and delta 1e-6 the composed losses are the figures of theory 3.1, each below m times epsilon."""
    found = [float(law.composed(times, DELTA)) for times in (7, 30, 365)]
    assert found == pytest.approx(figures, rel=2e-3)


def test_zcdp_of_a_laplace_day_is_a_valid_reading_and_a_larger_one():
    """By zCDP 48 slots of Laplace noise cost 1.80, 4.01 and 17.3 over a week, a month and a year."""
    found = [float(epsilon_of(times * LAPLACE.zcdp, DELTA)) for times in (7, 30, 365)]
    assert found == pytest.approx([1.80, 4.01, 17.3], rel=5e-3)
    assert all(LAPLACE.composed(times, DELTA) < value for times, value in zip((7, 30, 365), found, strict=True))


@pytest.mark.parametrize(("law", "share"), [(NORM, 0.253), (CUBE, 0.826), (LAPLACE, 0.037)])
def test_a_fortnight_away_is_told_far_more_often_than_a_day(law, share):
    """At one false alarm in a hundred: 25 % for five coefficients, 83 % for cube, and one day at most e %."""
    assert law.told(14, 0.01) == pytest.approx(share, rel=0.01)
    assert law.told(1, 0.01) <= math.e * 0.01 + 1e-9


def test_no_composition_is_above_m_times_epsilon_or_below_what_one_costs():
    """A composed loss lies between that of one release and m times epsilon, and grows with m."""
    for law in (NORM, LAPLACE, CUBE, PLAIN):
        found = [law.composed(times, DELTA) for times in (1, 2, 5, 20)]
        assert found == sorted(found)
        assert all(value <= times for times, value in zip((1, 2, 5, 20), found, strict=True))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17])
def test_the_law_of_l2_norm_noise_is_that_of_its_draws(size):
    """P(L <= l) of continuous l2-norm noise agrees with a hundred thousand draws; a law 10 % off does not."""
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(100_000, size))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    v = directions * rng.gamma(size, size=100_000)[:, None]
    losses = np.linalg.norm(v + np.eye(size)[0], axis=1) - np.linalg.norm(v, axis=1)
    for epsilon in (0.0, 0.3, 0.6):
        # delta(e) = E max(0, 1 - e^(e - L)), by the draws and by the distribution.
        drawn = np.maximum(0, 1 - np.exp(epsilon - losses))
        error = 5 * drawn.std() / math.sqrt(len(drawn)) + 1e-4
        assert _delta(norm_law(ONE, size, Fraction(1, 10**9)), epsilon) == pytest.approx(drawn.mean(), abs=error)
    off = _delta(norm_law(Fraction("1.1"), size, Fraction(1, 10**9)), 0.0)
    assert abs(off - np.maximum(0, 1 - np.exp(-losses)).mean()) > error


@pytest.mark.parametrize("size", [48, 100, 168, 336, 672])
def test_many_coefficients_are_composed_by_the_same_law(size):
    """However many coefficients there are, P(L <= l) is that of draws, and losses are at most those by zCDP.

    On the reals l2-norm noise is epsilon^2/(2 size)-zCDP, which a privacy-loss distribution only improves on, and a
    Gaussian of that zCDP is close to it: a loss far below it would be a wrong integral.
    """
    law = norm_law(ONE, size, Fraction(1, 10**12))
    for times in (1, 7, 52):
        by_zcdp = float(epsilon_of(times * ONE / (2 * size), DELTA))
        assert 0.8 * by_zcdp < float(law.composed(times, DELTA)) < by_zcdp
        assert 0.01 <= law.told(times, 0.01) <= 1
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(40_000, size))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    v = directions * rng.gamma(size, size=40_000)[:, None]
    losses = np.linalg.norm(v + np.eye(size)[0], axis=1) - np.linalg.norm(v, axis=1)
    levels = np.quantile(losses, [0.1, 0.5, 0.9])
    assert _norm_below(levels, 1.0, size) == pytest.approx([0.1, 0.5, 0.9], abs=0.01)


def _delta(law, epsilon):
    return float(law._distribution().get_delta_for_epsilon(epsilon))


@pytest.mark.parametrize("slots", [1, 2, 5, 48])
def test_cube_noise_loses_as_one_laplace_number_does(slots):
    """Of draws of cube noise with all slots moved, the loss has the law of one Laplace number, whatever T is."""
    rng = np.random.default_rng(2)
    radius = rng.gamma(slots + 1, size=200_000)
    v = rng.uniform(-1, 1, size=(200_000, slots)) * radius[:, None]
    losses = np.abs(v + 1).max(axis=1) - np.abs(v).max(axis=1)
    for level in (-0.9, -0.5, 0.0, 0.5, 0.9):
        assert np.mean(losses <= level) == pytest.approx(math.exp(-(1 - level) / 2) / 2, abs=0.005)


def _hockey(ours, theirs, epsilon):
    return float(np.maximum(ours - math.exp(epsilon) * theirs, 0).sum())


def _masses(log_mass, slots, reach):
    """A law on a cube of integers, as an array with an axis a slot."""
    points = np.array(list(itertools.product(range(-reach, reach + 1), repeat=slots)))
    masses = np.exp(log_mass(points)).reshape((2 * reach + 1,) * slots)
    return masses / masses.sum()


NORMS = {
    "cube": lambda v: -np.abs(v).max(axis=1) / 2,
    "laplace": lambda v: -np.abs(v).sum(axis=1) / 3,
    "l2-norm": lambda v: -np.sqrt((v**2).sum(axis=1)) / 2,
}


@pytest.mark.parametrize("name", NORMS)
def test_the_corner_is_the_worst_move_of_a_box_for_every_epsilon(name):
    """Enumerated in two slots: no move within a box is further apart, at any epsilon, than its corner is."""
    reach, box = 40, 3
    masses = _masses(NORMS[name], 2, reach)
    inner = np.s_[box:-box, box:-box]
    for epsilon in (0.0, 0.2, 0.5, 1.0):
        found = {
            move: _hockey(masses[inner], np.roll(masses, move, axis=(0, 1))[inner], epsilon)
            for move in itertools.product(range(-box, box + 1), repeat=2)
        }
        assert found[box, box] >= max(found.values()) - 1e-9


@pytest.mark.parametrize("name", NORMS)
def test_reacting_to_reports_gains_nothing_in_a_box(name):
    """Two slots, one after the other: a second move that is any function of the first report tells no more.

    The best second move is found for every first report by itself, which is the best of all strategies.
    """
    reach, box = 40, 3
    masses = _masses(NORMS[name], 2, reach)
    for epsilon in (0.0, 0.3, 0.8):
        best, fixed = 0.0, 0.0
        for first in range(-box, box + 1):
            gains = [
                np.maximum(masses - math.exp(epsilon) * np.roll(masses, (first, second), axis=(0, 1)), 0)[
                    box:-box, box:-box
                ].sum(axis=1)
                for second in range(-box, box + 1)
            ]
            best = max(best, float(np.max(gains, axis=0).sum()))
            fixed = max(fixed, *(float(each.sum()) for each in gains))
        assert best == pytest.approx(fixed, abs=1e-9)


@pytest.mark.parametrize("kind", [Laplace, Cube], ids=["laplace", "cube"])
def test_integers_lose_no_more_than_is_said_of_them(kind):
    """Exact laws of integer noise, two releases of two slots: the loss is at most the composed one."""
    layer = kind(Sensitivity(ranges=(6, 6), l1=12, l2_square=72), weight=1, epsilon=ONE)
    reach = 60 * layer.multiplier
    rate = layer.rate if kind is Cube else 1 / layer.scale
    ways = {Cube: lambda v: np.abs(v).max(axis=1), Laplace: lambda v: np.abs(v).sum(axis=1)}
    masses = _masses(lambda v: -float(rate) * ways[kind](v), 2, reach)
    move = 6 * layer.multiplier
    inner = np.s_[move:-move, move:-move]
    ours, theirs = masses[inner].ravel(), np.roll(masses, (move, move), axis=(0, 1))[inner].ravel()
    losses = np.round(np.log(ours / theirs), 9)
    values, places = np.unique(losses, return_inverse=True)
    chances = np.bincount(places, weights=ours)
    both = (values[:, None] + values[None]).ravel()
    weights = (chances[:, None] * chances[None]).ravel()
    for delta in (Fraction("0.01"), Fraction("0.001")):
        said = float(layer.law(ONE).composed(2, delta))
        assert float((weights * np.maximum(0, 1 - np.exp(said - both))).sum()) <= float(delta)


def test_blocks_in_a_ball_claim_no_more_than_epsilon_gives():
    """A causal ball depends on reports, so its law is the plain one; without a ball it is that of l2-norm noise."""
    fields = {"level": "strong", "cycle_mechanism": "blocks", "cycle_basis": Basis(size=2), "domain": (0, 100)}
    ball, box = (
        support.plan_for(support.town(), **fields, variation_bound=bound).cycle_layer().law(ONE)
        for bound in (Ellipsoid(radius=9), 30)
    )
    assert type(ball) is Law
    assert isinstance(box, NormLaw)


def test_a_weekly_plan_counts_every_cycle_that_days_can_touch():
    """Of a weekly plan 7 days touch two cycles, 30 days six and a year 53; of a daily one 7, 30 and 365."""
    weekly, daily = (
        Plan(
            epsilon="1",
            domain=(0, 100),
            history=2,
            grid=Grid(slots=slots),
            mechanism="cube",
            cycle_mechanism="cube",
            variation_bound=10,
        )
        for slots in (336, 48)
    )
    assert [row.cycles for row in weekly.guarantee().curve()[:3]] == [2, 6, 53]
    assert [row.cycles for row in daily.guarantee().curve()[:3]] == [7, 30, 365]


@pytest.mark.parametrize(
    ("slots", "hour", "cycles"),
    [(48, 4, [8, 31, 366]), (24, 0, [14, 60, 730]), (24, 6, [15, 61, 731]), (72, 0, [6, 21, 245])],
    ids=["days from 04:00", "half days", "half days from 06:00", "a day and a half"],
)
def test_cycles_that_do_not_begin_at_midnight_are_touched_once_more(slots, hour, cycles):
    """Days that begin at four in the morning are cut by midnight: a week touches eight; so for any odd length."""
    grid = Grid(slots=slots, anchor=f"2022-07-01T0{hour}:00")
    fields = {"mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": 10}
    plan = Plan(epsilon="1", domain=(0, 100), history=2, grid=grid, **fields)
    assert [row.cycles for row in plan.guarantee().curve()[:3]] == cycles


def test_a_count_moves_two_cells_a_slot():
    """A histogram's household leaves one cell and enters another: 2T parts of its epsilon each."""
    share = support.plan_for(support.town(), level="cycle", query=Share(above=3), history=0, mechanism="laplace")
    assert share.cycle_layer().law(ONE).parts == share.grid.slots
