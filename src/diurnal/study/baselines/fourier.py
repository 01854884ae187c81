"""Fourier: a few coefficients of the whole horizon, or of each day, with Laplace noise.

V. Rastogi, S. Nath, "Differentially private aggregation of distributed time-series with transformation and
encryption", SIGMOD 2010: FPA_k keeps k coefficients and gives each noise of scale sqrt(k) D_2/epsilon, because the
l1 norm of k numbers is at most sqrt(k) times their l2 norm, which an orthonormal transform does not change. Theirs
are the k lowest frequencies of the whole series; with `daily` the harmonics of the cycle come first, which is what
one knows of such data.

Three things help it on such data, and all are settings: to count how far a household can move k coefficients and
not to bound it, to take the public mean day off first, and to release each day on its own, which hides a day.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diurnal.readings.data import Floats, Integers
from diurnal.study.baselines.base import Additive, Promise, Random, laplace, laplace_variance, totals
from diurnal.study.baselines.task import Task

COUNTED = 13
"""Up to how many coefficients their l1 norm is counted: there are 2^(k - 1) combinations of signs to try."""


@dataclass(frozen=True, kw_only=True)
class Fourier(Additive):
    """k real coefficients (a constant, then a cosine and a sine each) of h steps with D_2 = sqrt(h) R/n."""

    name: str = "Fourier"
    span: Literal["cycle", "everything"] = "everything"
    """What is transformed and hidden at once: each cycle, or the whole horizon as in the paper."""
    order: Literal["lowest", "daily"] = "daily"
    """Which coefficients come first: the lowest frequencies, or the harmonics of the cycle."""
    coefficients: int | None = None
    """k; the best one for the true series unless given, which no private choice could know."""
    counted: bool = False
    """Whether a household's reach is counted over all signs, and not bounded by sqrt(k) D_2 as in the paper."""
    centred: bool = False
    """Whether the public mean day is taken off first and put back after."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        known = "" if self.coefficients else " k is chosen from the true series for nothing, which flatters it."
        if self.span == "everything":
            return Promise(
                protects="everything",
                over="this horizon",
                when="offline",
                sentence=f"All readings of a household over the horizon; known when it is over.{known}",
            )
        return Promise(
            protects="calendar day",
            over="for ever",
            when="day's end",
            sentence="All readings of a household within one cycle, from its first slot to its last; an event "
            f"across midnight costs up to 2 epsilon, where a rival that hides any {task.slots} consecutive steps "
            f"has epsilon. Its pattern is in every cycle, and m cycles cost m epsilon.{known}",
        )

    def sensitivity(self, task: Task) -> float:
        """By how much the coefficients that are kept can move, in the l1 norm."""
        size, length = self.size(task), task.length(self.span)
        if self.counted and size <= COUNTED:
            return task.reach(self.clamp) * _l1_norm(length, tuple(self.places(task)[:size].tolist()))
        return task.reach(self.clamp) * math.sqrt(size * length)

    def size(self, task: Task) -> int:
        """k, the one given or the one with the least expected error."""
        length = task.length(self.span)
        if self.coefficients is not None:
            return min(self.coefficients, length)
        energy = (self._coefficients(task) ** 2).sum(axis=0)
        noise = laplace_variance(task.reach(self.clamp) / float(task.epsilon)) * np.arange(1.0, length + 1) ** 2
        return 1 + int(np.argmin(noise - np.cumsum(energy) / task.steps))

    def statistics(self, task: Task, values: Floats) -> Floats:
        """The coefficients that get noise, a row a transform."""
        rows = forward(values.reshape(-1, task.length(self.span)))
        return np.asarray(rows[:, self.places(task)[: self.size(task)]])

    def expected(self, task: Task) -> Floats:
        return task.centre(self.centred) + self._back(task, self._coefficients(task)[:, : self.size(task)])

    def noise(self, task: Task, rng: Random) -> Floats:
        rows, size = task.steps // task.length(self.span), self.size(task)
        drawn = laplace(rng, self.sensitivity(task) / float(task.epsilon), rows * size)
        return self._back(task, drawn.reshape(rows, size))

    def noise_variance(self, task: Task, length: int = 1) -> float:
        each, own = laplace_variance(self.sensitivity(task) / float(task.epsilon)), task.length(self.span)
        if length == 1:
            return each * self.size(task) / own
        waves = self._back(task, np.eye(self.size(task))).reshape(-1, own)
        # Transforms of different days have noise of their own.
        squares = (float(np.mean(totals(wave, min(length, own)) ** 2)) for wave in waves)
        return each * max(1, length // own) * sum(squares)

    def places(self, task: Task) -> Integers:
        """The order of the coefficients, as places in what `forward` gives."""
        length = task.length(self.span)
        harmonic = (np.arange(length) + 1) // 2
        if self.order == "lowest":
            return np.arange(length)
        return np.lexsort((harmonic, harmonic % (length // task.slots) != 0))

    def _coefficients(self, task: Task) -> Floats:
        values = task.clamped(self.clamp) - task.centre(self.centred)
        return np.asarray(forward(values.reshape(-1, task.length(self.span)))[:, self.places(task)])

    def _back(self, task: Task, kept: Floats) -> Floats:
        full = np.zeros((len(kept), task.length(self.span)))
        full[:, self.places(task)[: kept.shape[1]]] = kept
        return backward(full).reshape(-1)


@functools.cache
def _l1_norm(length: int, places: tuple[int, ...]) -> float:
    """The largest l1 norm of these coefficients over all values of at most 1: that of the worst signs.

    Values that move one sum of signed coefficients furthest are the signs of the waves' signed sum.
    """
    units = np.zeros((len(places), length))
    units[np.arange(len(places)), list(places)] = 1.0
    waves = backward(units)
    # The other half of the signs are these turned round.
    signs = np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=len(places) - 1)])
    parts = np.array_split(signs, -(-len(signs) // 64))
    return max(float(np.abs(part @ waves).sum(axis=1).max()) for part in parts)


def forward(values: Floats) -> Floats:
    """Coefficients of each row in the orthonormal real Fourier basis: 1, cos 1, sin 1, cos 2, ..."""
    size = values.shape[-1]
    found = np.fft.rfft(values, norm="ortho")
    pairs = np.stack([found.real, found.imag], axis=-1).reshape(*values.shape[:-1], -1) * math.sqrt(2)
    # The constant and, for an even length, the fastest wave stand alone.
    last = [] if size % 2 else [found.real[..., -1:]]
    return np.concatenate([found.real[..., :1], pairs[..., 2 : size + size % 2], *last], axis=-1)


def backward(coefficients: Floats) -> Floats:
    """The values that `forward` makes these coefficients of."""
    size = coefficients.shape[-1]
    full = np.zeros((*coefficients.shape[:-1], size // 2 + 1), dtype=complex)
    full[..., 0] = coefficients[..., 0]
    inner = (size - 1) // 2
    pairs = coefficients[..., 1 : 1 + 2 * inner] / math.sqrt(2)
    full[..., 1 : 1 + inner] = pairs[..., 0::2] + 1j * pairs[..., 1::2]
    if size % 2 == 0:
        full[..., -1] = coefficients[..., -1]
    return np.fft.irfft(full, size, norm="ortho")
