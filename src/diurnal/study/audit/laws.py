"""Laws: how likely each mechanism's noise is, and how far apart a move puts two of them.

Written apart from the samplers they judge. Logarithms, not normalised; vectors in units of 1/multiplier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from diurnal.promise.budget import Loss
from diurnal.promise.mechanisms import Cube, Gaussian, Laplace, Mechanism
from diurnal.promise.mechanisms.basis import BasisMechanism
from diurnal.promise.mechanisms.blocks import Blocks
from diurnal.readings.data import Floats, Integers


def log_laplace(v: Floats | Integers, scale: float | Fraction) -> Floats:
    """Independent Laplace noise: -|v|_1/scale of each row."""
    said: Floats = -np.abs(np.asarray(v, dtype=float)).sum(axis=-1) / float(scale)
    return said


def log_gaussian(v: Floats | Integers, scale: float | Fraction) -> Floats:
    """Independent Gaussian noise: -|v|_2^2/(2 scale^2) of each row."""
    said: Floats = -(np.asarray(v, dtype=float) ** 2).sum(axis=-1) / (2 * float(scale) ** 2)
    return said


def log_cube(v: Floats | Integers, ranges: Sequence[int], rate: float | Fraction) -> Floats:
    """Cube noise: -rate K(v), K the largest over s of the least r with |v_s| <= floor(r share_s)."""
    sizes, levels = np.abs(np.rint(v)).astype(np.int64), np.zeros(np.shape(v))
    for slot, share in enumerate(cube_shares(ranges)):
        here = sizes[:, slot]
        if share:
            levels[:, slot] = -(-here * share.denominator // share.numerator)
        else:
            levels[:, slot] = np.where(here == 0, 0, np.inf)
    said: Floats = -float(rate) * levels.max(axis=1)
    return said


def cube_shares(ranges: Sequence[int]) -> list[Fraction]:
    """How far each slot's noise reaches, as a share of the widest; the j-th widest at least 1/(2j), or none."""
    order = sorted(range(len(ranges)), key=lambda slot: -ranges[slot])
    shares = [Fraction(width, max(ranges)) for width in ranges]
    for j, slot in enumerate((each for each in order if ranges[each]), start=1):
        shares[slot] = max(shares[slot], Fraction(1, 2 * j))
    return shares


def log_l2(v: Floats | Integers, rate: float | Fraction) -> Floats:
    """l2-norm noise: -rate |v|_2 of each row."""
    said: Floats = -float(rate) * np.sqrt((np.asarray(v, dtype=float) ** 2).sum(axis=-1))
    return said


def log_mass(mechanism: Mechanism, v: Floats | Integers) -> Floats:
    """The logarithm of a mechanism's noise mass at vectors, a row each."""
    if isinstance(mechanism, Laplace):
        return log_laplace(v, mechanism.scale)
    if isinstance(mechanism, Gaussian):
        return log_gaussian(v, mechanism.scale)
    if isinstance(mechanism, Cube):
        return log_cube(v, mechanism.sensitivity.ranges, mechanism.rate)
    assert isinstance(mechanism, (BasisMechanism, Blocks))
    noise = noise_kind(mechanism)
    if noise == "l2-norm":
        return log_l2(v, mechanism.rate)
    scale = 1 / mechanism.rate
    return log_laplace(v, scale) if noise == "laplace" else log_gaussian(v, scale)


def draw(mechanism: Mechanism, number: int, rng: np.random.Generator) -> Floats:
    """Draws of a mechanism's law, a row each: for study, and never for a release.

    The law is taken as continuous, so noise must be wide. A cube's radius is then a Gamma variable, and so is the
    length of l2-norm noise, whose direction is anything.
    """
    if isinstance(mechanism, Laplace):
        return rng.laplace(scale=float(mechanism.scale), size=(number, mechanism.dimension))
    if isinstance(mechanism, Gaussian):
        return rng.normal(scale=float(mechanism.scale), size=(number, mechanism.dimension))
    if isinstance(mechanism, (BasisMechanism, Blocks)):
        return _coefficients(mechanism, number, rng)
    assert isinstance(mechanism, Cube)
    shares = np.array([float(share) for share in cube_shares(mechanism.sensitivity.ranges)])
    radius = rng.gamma(np.count_nonzero(shares) + 1, 1 / float(mechanism.rate), size=(number, 1))
    drawn: Floats = rng.uniform(-1, 1, size=(number, len(shares))) * radius * shares
    return drawn


def _coefficients(mechanism: BasisMechanism | Blocks, number: int, rng: np.random.Generator) -> Floats:
    kind, size, scale = noise_kind(mechanism), (number, mechanism.dimension), 1 / float(mechanism.rate)
    if kind == "laplace":
        return rng.laplace(scale=scale, size=size)
    drawn = rng.normal(scale=scale, size=size)
    if kind == "gaussian":
        return drawn
    lengths = rng.gamma(mechanism.dimension, scale, size=(number, 1))
    drawn *= lengths / np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def shape(mechanism: Mechanism) -> float:
    """What kind of variable -log_mass of a draw is: Gamma of this shape and scale 1, where noise is wide.

    The mass is exp(-r) at a distance r in the law's own norm, and within r there is room like r^d: one for each
    component that moves. Of Gaussian noise r is half a square, and there is room like r^(d/2).
    """
    ranges = mechanism.sensitivity.ranges if isinstance(mechanism, Cube) else (1,) * mechanism.dimension
    return sum(width > 0 for width in ranges) / (2 if is_gaussian(mechanism) else 1)


def distances(mechanism: Mechanism, moves: Integers) -> Floats:
    """How far moves of the totals (a row each, in units of a total) put two laws of what is released apart.

    All noises but the Gaussian are norms, or subadditive: the worst log ratio of a move v is that of v from 0. The
    Gaussian's is its concentrated loss, |v|^2/(2 scale^2).
    """
    return -log_mass(mechanism, np.asarray(moves, dtype=np.int64) * mechanism.multiplier)


def epsilon_at(mechanism: Mechanism, distance: float, delta: Fraction | None) -> float:
    """A distance as an epsilon; for Gaussian noise, at a delta."""
    if not is_gaussian(mechanism) or distance == 0 or not math.isfinite(distance):
        return distance
    return float(Loss.concentrated(Fraction(distance)).at(delta))


def is_gaussian(mechanism: Mechanism) -> bool:
    """Whether the noise is Gaussian, and the promise with a delta."""
    return noise_kind(mechanism) == "gaussian"


def noise_kind(mechanism: Mechanism) -> str:
    """What noise a mechanism's numbers have: laplace, gaussian, cube or l2-norm."""
    if isinstance(mechanism, BasisMechanism):
        return mechanism.basis.noise
    return "l2-norm" if isinstance(mechanism, Blocks) else mechanism.name
