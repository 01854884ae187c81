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
    """Cube noise: -rate K(v), K the largest over s of the least r with |v_s| <= floor(r ranges_s/widest)."""
    sizes, widths, widest = np.abs(np.rint(v)).astype(np.int64), np.array(ranges), max(ranges)
    levels = -(-sizes * widest // np.maximum(widths, 1)).astype(float)
    levels[:, widths == 0] = np.where(sizes[:, widths == 0] == 0, 0, np.inf)
    said: Floats = -float(rate) * levels.max(axis=1)
    return said


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
    noise = _noise(mechanism)
    if noise == "l2-norm":
        return log_l2(v, mechanism.rate)
    scale = 1 / mechanism.rate
    return log_laplace(v, scale) if noise == "laplace" else log_gaussian(v, scale)


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
    return isinstance(mechanism, Gaussian) or (
        isinstance(mechanism, BasisMechanism) and mechanism.basis.noise == "gaussian"
    )


def _noise(mechanism: BasisMechanism | Blocks) -> str:
    return mechanism.basis.noise if isinstance(mechanism, BasisMechanism) else "l2-norm"
