"""Fourier: a few coefficients of the whole horizon, with Laplace noise.

V. Rastogi, S. Nath, "Differentially private aggregation of distributed time-series with transformation and
encryption", SIGMOD 2010: FPA_k keeps k coefficients and gives each noise of scale sqrt(k) D_2/epsilon, because the
l1 norm of k numbers is at most sqrt(k) times their l2 norm, which an orthonormal transform does not change. Theirs
are the k lowest frequencies; with `daily` the harmonics of the cycle come first, which is what one knows of such
data. k is the best one *known from the true series*: better than any private choice could be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diurnal.readings.data import Floats, Integers
from diurnal.study.baselines.base import Additive, Promise, Random, laplace, laplace_variance, totals
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Fourier(Additive):
    """k real coefficients (a constant, then a cosine and a sine each) with D_2 = sqrt(tau) R/n."""

    name: str = "Fourier"
    order: Literal["lowest", "daily"] = "daily"
    """Which coefficients come first: the lowest frequencies, or the harmonics of the cycle."""
    coefficients: int | None = None
    """k; the best one for the true series unless given."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        return Promise(
            protects="everything",
            over="this horizon",
            when="offline",
            sentence="All readings of a household over the horizon; known when it is over. k is chosen from the "
            "true series for nothing, which flatters it.",
        )

    def sensitivity(self, task: Task) -> float:
        """By how much the coefficients that are kept can move, in the l1 norm."""
        return math.sqrt(self.size(task) * task.steps) * task.reach(self.clamp)

    def size(self, task: Task) -> int:
        """k, the one given or the one with the least expected error."""
        if self.coefficients is not None:
            return min(self.coefficients, task.steps)
        energy = self._coefficients(task) ** 2
        k = np.arange(1, task.steps + 1)
        noise = laplace_variance(task.reach(self.clamp) / float(task.epsilon)) * k.astype(float) ** 2
        return 1 + int(np.argmin(noise - np.cumsum(energy) / task.steps))

    def statistics(self, task: Task, values: Floats) -> Floats:
        """The coefficients that get noise."""
        return forward(values)[self.places(task)[: self.size(task)]]

    def expected(self, task: Task) -> Floats:
        return self._back(task, self._coefficients(task)[: self.size(task)])

    def noise(self, task: Task, rng: Random) -> Floats:
        return self._back(task, laplace(rng, self.sensitivity(task) / float(task.epsilon), self.size(task)))

    def noise_variance(self, task: Task, length: int = 1) -> float:
        each = laplace_variance(self.sensitivity(task) / float(task.epsilon))
        if length == 1:
            return each * self.size(task) / task.steps
        waves = (self._back(task, row) for row in np.eye(self.size(task)))
        return each * sum(float(np.mean(totals(wave, length) ** 2)) for wave in waves)

    def places(self, task: Task) -> Integers:
        """The order of the coefficients, as places in what `forward` gives."""
        harmonic = (np.arange(task.steps) + 1) // 2
        if self.order == "lowest":
            return np.arange(task.steps)
        return np.lexsort((harmonic, harmonic % task.cycles != 0))

    def _coefficients(self, task: Task) -> Floats:
        return forward(task.clamped(self.clamp))[self.places(task)]

    def _back(self, task: Task, kept: Floats) -> Floats:
        full = np.zeros(task.steps)
        full[self.places(task)[: len(kept)]] = kept
        return backward(full)


def forward(values: Floats) -> Floats:
    """Coefficients in the orthonormal real Fourier basis: 1, cos 1, sin 1, cos 2, ..."""
    found = np.fft.rfft(values, norm="ortho")
    pairs = np.stack([found.real, found.imag], axis=1).reshape(-1) * math.sqrt(2)
    # The constant and, for an even length, the fastest wave stand alone.
    inner = pairs[2 : 1 + len(values)] if len(values) % 2 else pairs[2 : len(values)]
    ends = [found.real[0]], inner, [] if len(values) % 2 else [found.real[-1]]
    return np.concatenate(ends)


def backward(coefficients: Floats) -> Floats:
    """The values that `forward` makes these coefficients of."""
    size = len(coefficients)
    full = np.zeros(size // 2 + 1, dtype=complex)
    full[0] = coefficients[0]
    inner = (size - 1) // 2
    pairs = coefficients[1 : 1 + 2 * inner].reshape(-1, 2) / math.sqrt(2)
    full[1 : 1 + inner] = pairs[:, 0] + 1j * pairs[:, 1]
    if size % 2 == 0:
        full[-1] = coefficients[-1]
    return np.fft.irfft(full, size, norm="ortho")
