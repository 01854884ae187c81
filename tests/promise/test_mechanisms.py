"""One contract for every mechanism, for light and heavy households."""

import math
from fractions import Fraction

import numpy as np
import pytest

import support
from diurnal import Basis, Body, Ellipsoid
from diurnal.errors import LimitError, PlanError
from diurnal.promise.body import counting_sensitivity
from diurnal.promise.mechanisms import SLOTS, BasisMechanism, Blocks, Cube, Gaussian, Laplace
from diurnal.study.audit import exact
from support import refuses

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
BODY = Body(high=300)
ROUND = Body(high=300, cap=700, cap_2=400)
SIGNED = Body(low=-200, high=300, cap=500, cap_2=300, reference=[50] * 8)
UNEVEN = Body(high=[300, 200, 0, 100, 300, 10, 1, 250])


def slot_mechanism(kind, body, weight):
    return kind(body.sensitivity(8), weight=weight, epsilon=EPSILON, body=body, **delta_of(kind))


def delta_of(kind):
    return {"delta": DELTA} if kind.needs_delta else {}


def basis_mechanism(body, weight, noise="l2-norm", kind="fourier", size=5, days=1):
    return BasisMechanism(
        Basis(kind=kind, size=size, noise=noise, days=days),
        body,
        slots=8,
        magnitude=5000,
        weight=weight,
        epsilon=EPSILON,
        delta=DELTA,
    )


def blocks_mechanism(bound, weight, number=4):
    return Blocks(number, bound, slots=8, width=300, weight=weight, epsilon=EPSILON)


MECHANISMS = {
    f"{kind.name}, {name} body": lambda weight, kind=kind, body=body: slot_mechanism(kind, body, weight)
    for kind in SLOTS.values()
    for name, body in {"plain": BODY, "round": ROUND, "signed": SIGNED, "uneven": UNEVEN}.items()
}
MECHANISMS |= {
    f"basis, {noise} noise, {name} body": lambda weight, noise=noise, body=body: basis_mechanism(
        body, weight, noise
    )
    for noise in ("l2-norm", "laplace", "gaussian")
    for name, body in {
        "round": ROUND,
        "ellipsoid": Ellipsoid(radius=250, reference=[60] * 8, weighting="harmonic"),
        "ball": Ellipsoid(radius=250),
    }.items()
}
MECHANISMS["basis, cosine"] = lambda weight: basis_mechanism(ROUND, weight, kind="cosine")
MECHANISMS["basis, spline"] = lambda weight: basis_mechanism(
    Ellipsoid(radius=250, reference=[60] * 8, weighting="harmonic", scale="1.3"), weight, kind="spline"
)
MECHANISMS["basis, days"] = lambda weight: basis_mechanism(Ellipsoid(radius=250), weight, size=3, days=2)
MECHANISMS["basis, every coefficient"] = lambda weight: basis_mechanism(ROUND, weight, size=8)
MECHANISMS |= {
    f"blocks, {name}": lambda weight, bound=bound: blocks_mechanism(bound, weight)
    for name, bound in {"ball": Ellipsoid(radius=250), "clipped": 100}.items()
}

everyone = pytest.mark.parametrize("name", MECHANISMS)
weights = pytest.mark.parametrize("weight", [1, 7])


def loss_of_move(mechanism, move):
    """The worst loss when totals move by a vector: the noise's own norm of it, written apart from the mechanism."""
    return float(exact.distances(mechanism, [mechanism.weight * np.asarray(move)])[0])


def adversaries(mechanism):
    """Contributions of households at corners, in random directions and at the ends of what may be given."""
    rng = np.random.default_rng(7)
    ends = 300 if isinstance(mechanism, BasisMechanism) else 2**30
    corners = rng.choice([-ends, -1, 0, 1, 300, ends], size=(8, 150))
    waves = np.rint(5000 * np.cos(2 * np.pi * np.outer(np.arange(8), np.arange(1, 9)) / 8)).astype(np.int64)
    spikes = 5000 * np.eye(8, dtype=np.int64)
    given = np.concatenate([corners, waves, -waves, spikes, -spikes], axis=1)
    return mechanism.contribute(given).T


def worst_loss(mechanism):
    """The worst loss of a move from any adversary to any other."""
    contributions = adversaries(mechanism)
    moves = (contributions[:, None, :] - contributions[None, :, :]).reshape(-1, mechanism.dimension)
    return float(exact.distances(mechanism, mechanism.weight * moves).max())


@everyone
@weights
def test_no_household_moves_the_totals_by_more_than_the_promise(name, weight):
    """Any two contributions, times the heaviest weight, differ by at most the stated loss in the noise's norm."""
    mechanism = MECHANISMS[name](weight)
    promised = float(mechanism.loss.epsilon or mechanism.loss.zcdp)
    worst = worst_loss(mechanism)
    assert worst <= promised * (1 + 1e-9)
    assert worst > 0.02 * promised  # the adversary is not asleep


def test_a_sensitivity_understated_by_a_tenth_is_caught():
    """The same adversaries find a mechanism whose body is 10 % wider than its noise was made for."""
    for kind in SLOTS.values():
        mechanism = slot_mechanism(kind, Body(high=270), 1)
        mechanism.body = BODY
        assert worst_loss(mechanism) > float(mechanism.loss.epsilon or mechanism.loss.zcdp)
    narrow = basis_mechanism(Ellipsoid(radius=225), 1)
    narrow.body = Ellipsoid(radius=250)
    assert worst_loss(narrow) > 1
    narrow, wide = (blocks_mechanism(Ellipsoid(radius=radius), 1) for radius in (225, 250))
    narrow._ball = wide._ball
    assert worst_loss(narrow) > 1


@everyone
def test_a_release_is_totals_plus_noise(name, monkeypatch):
    """What is released is the totals times the multiplier plus one whole noise vector, in integers."""
    mechanism = MECHANISMS[name](1)
    totals = list(range(1000, 1000 + mechanism.dimension))
    noise = list(range(5, 5 + mechanism.dimension))
    monkeypatch.setattr(type(mechanism), "noise", lambda self: noise)
    released = mechanism.release(totals)
    assert released == [mechanism.multiplier * t + v for t, v in zip(totals, noise, strict=True)]
    assert all(type(value) is int for value in released + mechanism.to_slots(released))


@everyone
def test_contributions_are_integers_within_the_stated_magnitude(name):
    """Contributions are 64-bit integers whose size the mechanism states beforehand."""
    mechanism = MECHANISMS[name](1)
    contributions = adversaries(mechanism)
    assert contributions.dtype == np.int64
    assert np.abs(contributions).max() <= mechanism.magnitude


@everyone
def test_predicted_deviations_are_the_drawn_ones(name):
    """Noise brought to the slots has the predicted variance, of a slot and of a total, within sampling error."""
    mechanism = MECHANISMS[name](1)
    draws = 1200
    drawn = np.array([mechanism.to_slots(mechanism.noise()) for _ in range(draws)], dtype=float)
    drawn /= mechanism.multiplier
    for direction in (np.eye(8)[0], np.ones(8)):
        measured = float(((drawn @ direction) ** 2).mean())
        assert measured == pytest.approx(mechanism.variance(direction), rel=0.35, abs=0.2)


def test_cube_is_2_38_times_below_laplace_at_a_day():
    """At T = 48 and a plain range the predicted deviations of Laplace and cube differ by 2.38."""
    sensitivity = Body(high=3000).sensitivity(48)
    laplace = Laplace(sensitivity, weight=1, epsilon=EPSILON)
    cube = Cube(sensitivity, weight=1, epsilon=EPSILON)
    assert support.standard_deviation(laplace, 48) / support.standard_deviation(cube, 48) == pytest.approx(
        2.38, abs=0.01
    )


def test_gaussian_noise_at_a_coefficient():
    """At epsilon 1 and delta 1e-6 OpenDP's conversion needs 4.53 D_2, below the simple formula's 5.3."""
    sensitivity = Body(high=3000).sensitivity(1)
    gaussian = Gaussian(sensitivity, weight=1, epsilon=EPSILON, delta=DELTA)
    assert float(gaussian.scale) / 3000 == pytest.approx(4.53, abs=0.01)


def test_small_totals_are_multiplied_before_cube_noise():
    """Counts, whose range is 1, are refined by a public integer, and the promise stays the same."""
    cube = Cube(counting_sensitivity(48, 1), weight=1, epsilon=EPSILON)
    assert cube.multiplier == 24
    assert loss_of_move(cube, [1] * 48) == pytest.approx(1)
    assert support.standard_deviation(cube, 48) == pytest.approx(math.sqrt(49 * 50 / 3), rel=0.01)


@pytest.mark.parametrize("kind", ["fourier", "cosine", "spline"])
@pytest.mark.parametrize("slots", [1, 2, 3, 7, 8, 48])
def test_bases_are_orthonormal(kind, slots):
    """The rows of a basis of any size are orthonormal, and all of them span everything."""
    rows = Basis(kind=kind, size=slots, noise="laplace").rows(slots)
    assert np.allclose(rows @ rows.T, np.eye(slots))


def test_days_repeat():
    """A basis of days has orthonormal rows that repeat, and keeps a mean day whole; days must divide the slots."""
    basis = Basis(size=4, days=3, noise="laplace")
    rows = basis.rows(12)
    assert np.allclose(rows @ rows.T, np.eye(4))
    assert np.allclose(rows[:, :4], rows[:, 4:8])
    week = np.arange(12.0)
    assert np.allclose(rows.T @ (rows @ week), np.tile(week.reshape(3, 4).mean(axis=0), 3))
    with refuses(PlanError, "basis-size"):
        Basis(size=3, days=5).rows(12)


def test_splines_are_smooth_curves_through_their_knots():
    """Every sum of splines with eight knots is one: its third differences jump at the knots alone."""
    rows = Basis(kind="spline", size=8).rows(48)
    curve = np.random.default_rng(1).normal(size=8) @ rows
    fourth = np.diff(np.r_[curve, curve[:4]], 4)
    inside = [t for t in range(48) if (t + 2) % 6 not in (5, 0, 1)]
    assert np.abs(fourth[inside]).max() < 1e-9 < np.abs(fourth).max()


def test_every_coefficient_brings_the_slots_back():
    """A basis of T coefficients drops nothing: slots come back to the unit from their integer coefficients."""
    mechanism = basis_mechanism(Body(high=300), 1, noise="laplace", size=8)
    vectors = np.random.default_rng(2).integers(0, 300, size=(8, 50))
    totals = mechanism.contribute(vectors).sum(axis=1).tolist()
    assert np.abs(np.array(mechanism.to_slots(totals)) - vectors.sum(axis=1)).max() <= 8


def test_the_bias_is_what_the_basis_drops():
    """The predicted bias of a reference is what its slots lose on the way through the coefficients."""
    mechanism = basis_mechanism(Body(high=3000), 1, size=3)
    reference = np.array([0, 100, 900, 100, 0, 50, 700, 20])
    came_back = np.array(mechanism.to_slots(mechanism.contribute(reference[:, None]).sum(axis=1).tolist()))
    expected = mechanism.expected(mechanism.contribute(reference[:, None])[:, 0].astype(float))
    assert np.allclose(came_back, expected, atol=1)
    assert np.abs(came_back - reference).max() > 100


def test_the_dropped_part_never_reaches_a_release():
    """A household that uses only frequencies the basis drops leaves the coefficients as they were."""
    mechanism = basis_mechanism(Ellipsoid(radius=250), 1, size=3)
    high = np.rint(1000 * np.cos(np.pi * np.arange(8))).astype(np.int64)[:, None]
    assert np.array_equal(mechanism.contribute(high), mechanism.contribute(np.zeros_like(high)))


def test_coefficients_beyond_64_bits_are_refused():
    """Readings too large for exact coefficients raise a LimitError that asks for a coarser unit."""
    with refuses(LimitError, "coefficients-overflow"):
        BasisMechanism(Basis(), Body(high=300), slots=48, magnitude=2**30, weight=1, epsilon=EPSILON)


@pytest.mark.parametrize(
    "wrong",
    [{"size": 0}, {"size": 18}, {"size": 1.5}, {"kind": "wavelet"}, {"noise": "pink"}, {"days": 0}],
)
def test_a_basis_that_cannot_be_is_refused(wrong):
    """No coefficients, too many for l2-norm noise, unknown kinds and noises raise a PlanError."""
    with pytest.raises(PlanError):
        Basis(**wrong)


def test_a_radius_beyond_reach_changes_nothing():
    """A ball wider than any vector leaves coefficients as they are, however wide it is."""
    vectors = np.random.default_rng(3).integers(-4000, 4000, size=(8, 50))
    wide, wider = (basis_mechanism(Ellipsoid(radius=radius), 1) for radius in (10**5, 10**15))
    assert np.array_equal(wide.contribute(vectors), wider.contribute(vectors))
    assert np.array_equal(wide.contribute(vectors), wide.matrix @ vectors)


@pytest.mark.parametrize("weight", [1, 2, 4, 5, 100])
@pytest.mark.parametrize("ranges", [(8, *[7] * 47), (5, 4, 3), (9, 9)])
def test_the_loss_of_a_shift_holds_for_every_weight(weight, ranges):
    """The stated loss of a shift is at least the noise's norm of it, whatever the household's weight."""
    body = Body(high=list(ranges))
    for kind in SLOTS.values():
        sensitivity = body.sensitivity(len(ranges))
        light, heavy = (kind(sensitivity, weight=w, epsilon=Fraction(2), **delta_of(kind)) for w in (1, weight))
        for d in (1, 2, 3):
            stated = light.loss_of_shift([d] * len(ranges))
            assert loss_of_move(heavy, [d] * len(ranges)) <= float(stated.epsilon or stated.zcdp) * (1 + 1e-9)


def test_a_contribution_outside_its_body_stops_everything(monkeypatch):
    """If a projection were wrong, nothing would be released: the check is no assert that -O takes away."""
    from diurnal.promise import body

    monkeypatch.setattr(body, "shrink", lambda vectors, sizes, limit: vectors)
    with pytest.raises(AssertionError, match="left its body"):
        ROUND.project(np.full((8, 1), 300))


@pytest.mark.parametrize("kind", ["fourier", "cosine", "spline"])
@pytest.mark.parametrize("size", [1, 5, 8])
def test_a_basis_is_never_shorter_than_its_matrix_can_stretch(kind, size):
    """The diameter of coefficients is at least the integer matrix's norm times the body's diameter, and close."""
    mechanism = basis_mechanism(BODY, 3, noise="laplace", kind=kind, size=size)
    norm = np.linalg.norm(mechanism.matrix.astype(float), ord=2)
    needed = (3 * norm) ** 2 * BODY.sensitivity(8).l2_square
    assert needed * (1 - 1e-12) <= mechanism.sensitivity_square <= needed * 1.01


def measured_deviation(mechanism, slots, draws):
    """The root mean square over slots and draws of a mechanism's noise."""
    drawn = np.array([mechanism.to_slots(mechanism.noise()) for _ in range(draws)], dtype=float)
    return np.sqrt((drawn**2).mean()) / mechanism.multiplier


@pytest.mark.parametrize("slots", [48, 336])
@pytest.mark.parametrize("kind", SLOTS.values())
def test_deviations_are_predicted_within_2_percent(kind, slots):
    """Predicted and measured standard deviations agree within 2 % at a day's and a week's length."""
    mechanism = kind(Body(high=3000).sensitivity(slots), weight=1, epsilon=EPSILON, **delta_of(kind))
    measured = measured_deviation(mechanism, slots, 4000 if slots == 48 else 900)
    assert measured == pytest.approx(support.standard_deviation(mechanism, slots), rel=0.02)


def test_measured_cube_is_2_38_times_below_measured_laplace():
    """The ratio of drawn deviations at T = 48."""
    sensitivity = Body(high=3000).sensitivity(48)
    laplace, cube = (kind(sensitivity, weight=1, epsilon=EPSILON) for kind in (Laplace, Cube))
    ratio = measured_deviation(laplace, 48, 4000) / measured_deviation(cube, 48, 4000)
    assert ratio == pytest.approx(2.38, rel=0.025)


@pytest.mark.parametrize(("size", "draws"), [(3, 24000), (9, 7000), (17, 2500)])
def test_l2_norm_deviations_are_predicted_within_2_percent(size, draws):
    """l2-norm noise of m coefficients, brought to 48 slots, has the predicted deviation."""
    mechanism = BasisMechanism(
        Basis(size=size), Body(high=3000, cap_2=6500), slots=48, magnitude=3000, weight=1, epsilon=EPSILON
    )
    drawn = np.array([mechanism.noise() for _ in range(draws)], dtype=float)
    per_slot = np.sqrt((drawn**2).mean() * size / 48) / (mechanism.matrix[0, 0] * np.sqrt(48))
    assert per_slot == pytest.approx(support.standard_deviation(mechanism, 48), rel=0.02)
    formula = np.sqrt(size * (size + 1) / 48) * np.sqrt(2) * 6500
    assert support.standard_deviation(mechanism, 48) == pytest.approx(formula, rel=0.01)
