"""Constant: one noisy number, the mean over the horizon, as the report of every step.

Centred, it is the mean distance from the public mean day, and the report is that day moved up or down by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Additive, Promise, Random, laplace, laplace_variance
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Constant(Additive):
    """y(t) = mean over time of f + Laplace of scale R/(n epsilon) (Dwork et al. 2006).

    A household's readings move its mean over time by at most R, so all of them are covered.
    """

    name: str = "constant"
    clamp: float | None = None
    """Where readings are cut off, in levels."""
    centred: bool = False
    """Whether the public mean day is taken off first and put back after."""
    exact: bool = False
    """Without noise: no promise, and the best that any constant could do."""

    def promise(self, task: Task) -> Promise:
        if self.exact:
            return Promise(
                protects="nothing",
                over="never",
                when="offline",
                sentence="The true mean over the horizon: no promise. What a skill of 0 stands for.",
            )
        return Promise(
            protects="everything",
            over="this horizon",
            when="offline",
            sentence="All readings of a household over the horizon, epsilon once; known when the horizon is over.",
        )

    def sensitivity(self, task: Task) -> float:
        """By how much one household moves the mean over time."""
        return task.reach(self.clamp)

    def statistics(self, values: Floats) -> Floats:
        """What is released with noise."""
        return np.array([values.mean()])

    def expected(self, task: Task) -> Floats:
        centre = task.centre(self.centred)
        return np.asarray(centre + self.statistics(task.clamped(self.clamp) - centre)[0])

    def noise(self, task: Task, rng: Random) -> Floats:
        return np.full(task.steps, laplace(rng, self._scale(task), 1)[0])

    def noise_variance(self, task: Task, length: int = 1) -> float:
        return length**2 * laplace_variance(self._scale(task))

    def _scale(self, task: Task) -> float:
        return 0.0 if self.exact else self.sensitivity(task) / float(task.epsilon)
