"""Coefficients: what a basis keeps, what it drops, and how far a household can move them."""

import numpy as np
import pytest

import support
from diurnal import Basis, Body, Ellipsoid
from diurnal.errors import LimitError, PlanError
from diurnal.promise.mechanisms import BasisMechanism
from mechanisms import BODY, EPSILON, basis_mechanism
from support import refuses


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
    [{"size": 0}, {"size": 1.5}, {"kind": "wavelet"}, {"noise": "pink"}, {"days": 0}],
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


@pytest.mark.parametrize("kind", ["fourier", "cosine", "spline"])
@pytest.mark.parametrize("size", [1, 5, 8])
def test_a_basis_is_never_shorter_than_its_matrix_can_stretch(kind, size):
    """The diameter of coefficients is at least the integer matrix's norm times the body's diameter, and close."""
    mechanism = basis_mechanism(BODY, 3, noise="laplace", kind=kind, size=size)
    norm = np.linalg.norm(mechanism.matrix.astype(float), ord=2)
    needed = (3 * norm) ** 2 * BODY.sensitivity(8).l2_square
    assert needed * (1 - 1e-12) <= mechanism.sensitivity_square <= needed * 1.01


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
