"""The paper's mechanisms as they are printed, on integer arrays, with the noise given from outside.

F. Farokhi, "Differential Privacy for Evolving Almost-Periodic Datasets with Continual Linear Queries"
(arXiv 1909.11812). Its Theorem 1 is what the curator does in pattern mode with one cycle of history, Laplace
noise and no clipping. Its Corollary 1 **does not keep its promise** (theory 3): it is here to be studied and
attacked, and no curator can run it. The two-layer repair is what the curator does in strong mode.

Readings have a row a step and a column a household, profiles a row a slot. Queries are sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diurnal.readings.data import Integers


def theorem_1(readings: Integers, profile: Integers, noise: Integers) -> Integers:
    """Theorem 1 by the paper's own recursion.

    The first cycle is F(x) + v. Every later step takes the report of its slot in the first cycle, less the
    variations then, plus the variations now. It equals F(x(t)) + v(s): one noise vector, repeated.

    Guarantee:
        With v discrete Laplace of scale T Df_z/epsilon: epsilon-DP for pattern neighbours on every horizon
        (theory 2).
    """
    slots = len(noise)
    variation = _variation_sums(readings, profile)
    reports: Integers = readings.sum(axis=1)
    reports[:slots] += noise
    for step in range(slots, len(reports)):
        slot = step % slots
        reports[step] = reports[slot] - variation[slot] + variation[step]
    return reports


def corollary_1_as_printed(readings: Integers, profile: Integers, first: Integers, later: Integers) -> Integers:
    """Corollary 1 as printed: fresh noise in later cycles only.

    Guarantee:
        None for strong neighbours. Every later cycle contains the first cycle's variations behind noise of its
        own, so a change in the first cycle is seen again and again; see `corollary_1_loss` (theory 3).

    Args:
        readings: A row a step.
        profile: A row a slot.
        first: v of the first cycle, scale T (Df_z + Df_w)/epsilon.
        later: v of each later cycle, a row each, scale T Df_w/epsilon.
    """
    reports = theorem_1(readings, profile, first)
    reports[len(first) :] += later.reshape(-1)
    return reports


def two_layers(readings: Integers, pattern: Integers, cycles: Integers) -> Integers:
    """The repair: y(t) = F(x(t)) + v_z(s) + v_w(t), with fresh v_w in the first cycle too.

    Guarantee:
        With scales T Df_z/eps_z and T Df_w/eps_w: eps_z for the periodic component, eps_w for one household's
        variations in any one cycle (theory 3).
    """
    repeated = np.tile(pattern, len(cycles))
    reports: Integers = readings.sum(axis=1) + repeated + cycles.reshape(-1)
    return reports


def corollary_1_loss(*, cycles: int, epsilon: float, df_z: float, df_w: float) -> float:
    """The worst loss of Corollary 1 as printed when only the first cycle of a household changes."""
    return epsilon * df_w / (df_z + df_w) + (cycles - 1) * epsilon


def corollary_1_mean_loss(*, slots: int, cycles: int, epsilon: float, df_z: float, df_w: float) -> float:
    """The mean loss of Corollary 1 as printed when all slots of the first cycle move by Df_w."""
    first = epsilon * df_w / (slots * (df_z + df_w))
    later = epsilon / slots
    return slots * (_laplace_divergence(first) + (cycles - 1) * _laplace_divergence(later))


def relative_error(reports: Any, truth: Any) -> float:
    """The paper's utility: root mean square error over the largest absolute true value."""
    error = np.asarray(reports, dtype=float) - np.asarray(truth, dtype=float)
    return math.sqrt(float(np.mean(error**2))) / float(np.abs(truth).max())


def skill(reports: Any, truth: Any) -> float:
    """1 - MSE/Var(f): 0 for the best constant, 1 for the truth."""
    error = np.asarray(reports, dtype=float) - np.asarray(truth, dtype=float)
    return 1 - float(np.mean(error**2)) / float(np.var(truth))


def _variation_sums(readings: Integers, profile: Integers) -> Integers:
    cycles: Integers = readings.reshape(-1, *profile.shape)
    sums: Integers = (cycles - profile).sum(axis=2).reshape(-1)
    return sums


def _laplace_divergence(ratio: float) -> float:
    """KL of a Laplace variable from itself shifted by `ratio` scales."""
    return math.exp(-ratio) + ratio - 1


__all__ = [
    "corollary_1_as_printed",
    "corollary_1_loss",
    "corollary_1_mean_loss",
    "relative_error",
    "skill",
    "theorem_1",
    "two_layers",
]
