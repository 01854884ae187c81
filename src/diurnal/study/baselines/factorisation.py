"""Factorisation: running totals A x from C x + noise, with A = C C the prefix-sum matrix and C its square root.

H. Fichtenberger, M. Henzinger, J. Upadhyay, "Constant matters: fine-grained error bound on differentially private
continual observation", ICML 2023. C is lower triangular and Toeplitz with c_k = binom(2k, k)/4^k, so that a horizon
of years needs FFTs and no matrix. A report is the difference of two running totals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Additive, Promise, Random, gaussian_scale
from diurnal.study.baselines.split import span_promise
from diurnal.study.baselines.task import Span, Task


@dataclass(frozen=True, kw_only=True)
class Factorisation(Additive):
    """Running totals A x + C z, z Gaussian of standard deviation D/sqrt(2 rho), D = |C 1_h|_2 R/n.

    C has no negative entry and its columns get shorter, so that no change of h readings in a row moves C x further
    than raising the first h by R each.
    """

    name: str = "factorisation"
    span: Span = "reading"
    """How much of a household is hidden; the paper's is one reading."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        return span_promise(self.span, task, gaussian=True, more="; the horizon is fixed before")

    def sensitivity(self, task: Task) -> float:
        """By how much C x moves, in the l2 norm."""
        length, sums = task.length(self.span), np.cumsum(root(task.steps))
        sums[length:] -= sums[:-length].copy()
        return task.reach(self.clamp) * float(np.linalg.norm(sums))

    def statistics(self, values: Floats) -> Floats:
        """C x."""
        return convolved(root(len(values)), values)

    def expected(self, task: Task) -> Floats:
        return task.clamped(self.clamp)

    def noise(self, task: Task, rng: Random) -> Floats:
        drawn = rng.normal(0.0, gaussian_scale(task, self.sensitivity(task)), task.steps)
        return np.diff(convolved(root(task.steps), drawn), prepend=0.0)

    def noise_variance(self, task: Task, length: int = 1) -> float:
        # Two rows of C that far apart differ by c_k - c_(k - length) in a column k steps back.
        change = root(task.steps)
        change[length:] -= root(task.steps)[:-length]
        square = np.cumsum(change**2)[length - 1 :: length]
        return gaussian_scale(task, self.sensitivity(task)) ** 2 * float(square.mean())


def root(size: int) -> Floats:
    """The first column of C: 1, 1/2, 3/8, ..."""
    k = np.arange(1, size)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def convolved(column: Floats, values: Floats) -> Floats:
    """The lower triangular Toeplitz matrix with that first column, times a vector."""
    size = len(values)
    room = 1 << (2 * size - 1).bit_length()
    product = np.fft.irfft(np.fft.rfft(column, room) * np.fft.rfft(values, room), room)
    return product[:size]
