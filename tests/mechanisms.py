"""What tests of several mechanisms share: bodies, mechanisms of eight slots, and what their noise hides."""

from fractions import Fraction

import numpy as np

from diurnal import Basis, Body
from diurnal.promise.mechanisms import BasisMechanism
from diurnal.study.audit import exact

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)
BODY = Body(high=300)
ROUND = Body(high=300, cap=700, cap_2=400)


def delta_of(kind):
    """The delta of a mechanism that needs one."""
    return {"delta": DELTA} if kind.needs_delta else {}


def basis_mechanism(body, weight, noise="l2-norm", kind="fourier", size=5, days=1):
    """Coefficients of eight slots."""
    return BasisMechanism(
        Basis(kind=kind, size=size, noise=noise, days=days),
        body,
        slots=8,
        magnitude=5000,
        weight=weight,
        epsilon=EPSILON,
        delta=DELTA,
    )


def loss_of_move(mechanism, move):
    """The worst loss when totals move by a vector: the noise's own norm of it, written apart from the mechanism."""
    return float(exact.distances(mechanism, [mechanism.weight * np.asarray(move)])[0])


def measured_deviation(mechanism, slots, draws):
    """The root mean square over slots and draws of a mechanism's noise."""
    drawn = np.array([mechanism.to_slots(mechanism.noise()) for _ in range(draws)], dtype=float)
    return np.sqrt((drawn**2).mean()) / mechanism.multiplier
