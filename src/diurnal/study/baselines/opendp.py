"""OpenDP: the same job as its user would write it, with its Python API (opendp.org, 0.14 or later).

The user cuts readings off, adds them up at every step, and asks for noisy sums of a block of steps at a time: the
privacy unit is an l1 distance, the readings of the block times the largest reading. The noise is OpenDP's own,
exact and without a seed, so that draws cannot be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.errors import PlanError
from diurnal.promise.mechanisms.laplace import laplace_variance
from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Additive, Promise, Random
from diurnal.study.baselines.split import span_promise
from diurnal.study.baselines.task import Span, Task


@dataclass(frozen=True, kw_only=True)
class OpenDP(Additive):
    """Discrete Laplace noise in every sum, of the scale that OpenDP finds for the unit."""

    name: str = "OpenDP"
    span: Span = "cycle"
    """How much of a household is hidden: one day, each day in a release of its own, or everything in one."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        when = "offline" if self.span == "everything" else "day's end"
        return span_promise(self.span, task, when="continual" if self.span == "reading" else when)

    def sensitivity(self, task: Task) -> float:
        """By how much the means move, in the l1 norm."""
        return self._unit(task) / task.n

    def expected(self, task: Task) -> Floats:
        return task.clamped(self.clamp)

    def draw(self, task: Task, rng: Random) -> Floats:
        if task.copies > 1:
            raise PlanError("baseline-copies-opendp")
        low, high = task.domain[0], task.top(self.clamp)
        sums = np.clip(task.panel.readings, low, high).sum(axis=1)
        blocks = sums.reshape(-1, task.length(self.span)).tolist()
        noisy = measurement(task.length(self.span), reach=high - low, epsilon=float(task.epsilon))
        released = [noisy(block) for block in blocks]
        return np.array(released, dtype=float).reshape(-1) / task.n

    def noise(self, task: Task, rng: Random) -> Floats:
        return self.draw(task, rng) - self.expected(task)

    def noise_variance(self, task: Task, length: int = 1) -> float:
        # Discrete noise, in units of a sum.
        return length * laplace_variance(Fraction(self._unit(task)) / task.epsilon) / task.n**2

    def _unit(self, task: Task) -> int:
        return task.length(self.span) * (task.top(self.clamp) - task.domain[0])


def measurement(steps: int, *, reach: int, epsilon: float) -> Any:
    """What the user builds: noise that hides one household in so many sums, of the least scale that does."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.binary_search_chain(
        lambda scale: dp.m.make_laplace(*space, scale=scale), d_in=steps * reach, d_out=epsilon, T=float
    )
