"""One contract for every mechanism, for light and heavy households."""

from fractions import Fraction

import numpy as np
import pytest

import support
from diurnal import Body, Ellipsoid
from diurnal.promise.mechanisms import SLOTS, BasisMechanism, Blocks
from diurnal.study.audit import exact
from mechanisms import BODY, EPSILON, ROUND, basis_mechanism, delta_of, loss_of_move, measured_deviation

SIGNED = Body(low=-200, high=300, cap=500, cap_2=300, reference=[50] * 8)
UNEVEN = Body(high=[300, 200, 0, 100, 300, 10, 1, 250])


def slot_mechanism(kind, body, weight):
    return kind(body.sensitivity(8), weight=weight, epsilon=EPSILON, body=body, **delta_of(kind))


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


@pytest.mark.parametrize("slots", [48, 336])
@pytest.mark.parametrize("kind", SLOTS.values())
def test_deviations_are_predicted_within_2_percent(kind, slots):
    """Predicted and measured standard deviations agree within 2 % at a day's and a week's length."""
    mechanism = kind(Body(high=3000).sensitivity(slots), weight=1, epsilon=EPSILON, **delta_of(kind))
    measured = measured_deviation(mechanism, slots, 4000 if slots == 48 else 900)
    assert measured == pytest.approx(support.standard_deviation(mechanism, slots), rel=0.02)
