"""PeGaSus: perturb every value, group steps that are alike, smooth within the group.

Y. Chen, A. Machanavajjhala, M. Hay, G. Miklau, "PeGaSus: data-adaptive differentially private stream processing",
CCS 2017. The perturber gives each value Laplace noise with one part of epsilon. The grouper, with the rest, asks
for each step whether the group with it would still have a deviation below a noisy threshold (scales 4 and 8 over
its part, for a deviation that one reading moves by less than 2 R/n); the step that breaks a group stands alone, and
the next one opens a new group with a new threshold, so that no reading is asked about by two groups. The smoother
takes the median or the mean of the noisy values of a step's group up to that step.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Baseline, Promise, Random
from diurnal.study.baselines.split import span_promise
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Pegasus(Baseline):
    """Protects one reading, as in the paper; longer spans would cost as many times the noise."""

    name: str = "PeGaSus"
    share: float = 0.2
    """The part of epsilon that groups; 0.2 in the paper."""
    threshold: float = 5.0
    """theta, in scales of the perturber's noise."""
    smoother: Literal["median", "average"] = "median"
    """What is made of a group's noisy values."""
    centred: bool = False
    """Whether the public mean day is taken off first and put back after."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        return span_promise("reading", task)

    def draw(self, task: Task, rng: Random) -> Floats:
        public = task.centre(self.centred)
        series = task.clamped(self.clamp) - public
        reach, epsilon = task.reach(self.clamp), float(task.epsilon)
        scale = reach / ((1 - self.share) * epsilon)
        noisy = series + rng.laplace(0.0, scale, len(series))
        groups = self.groups(series, self.threshold * scale, reach / (self.share * epsilon), rng)
        return self.smoothed(noisy, groups) + public

    def groups(self, series: Floats, threshold: float, unit: float, rng: Random) -> list[int]:
        """Where the group of each step begins.

        Args:
            series: The true values.
            threshold: theta.
            unit: R/n over the grouper's epsilon; its noises are 4 and 8 of these.
            rng: For both.
        """
        limits = threshold + rng.laplace(0.0, 4 * unit, len(series))
        asked = rng.laplace(0.0, 8 * unit, len(series))
        values, starts = series.tolist(), [0]
        first: int | None = 0
        for t in range(1, len(values)):
            if first is None:
                first = t
            elif deviation(values[first : t + 1]) + asked[t] >= limits[first]:
                first = None
            starts.append(t if first is None else first)
        return starts

    def smoothed(self, noisy: Floats, starts: list[int]) -> Floats:
        """The median or mean of each step's group up to it."""
        if self.smoother == "average":
            sums, ends = np.cumsum(np.r_[0.0, noisy]), np.arange(1, len(noisy) + 1)
            begins = np.array(starts)
            return np.asarray((sums[ends] - sums[begins]) / (ends - begins))
        values = noisy.tolist()
        return np.array([statistics.median(values[start : t + 1]) for t, start in enumerate(starts)])


def deviation(values: list[float]) -> float:
    """The sum of distances from the mean."""
    mean = sum(values) / len(values)
    return sum(abs(value - mean) for value in values)
