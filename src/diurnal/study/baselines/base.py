"""Base: the promise that every rival must state, and one interface for all of them.

What differs between rivals is whom they protect, over what and when. Floats and NumPy's generators are fine here:
nothing of this reaches a release.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from diurnal.errors import PlanError
from diurnal.exact import whole
from diurnal.readings.data import Floats
from diurnal.study.baselines.task import Task

Random = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Whom a release protects, over what, and when it can be made."""

    protects: str
    """What of a household is hidden, in two words: `everything`, `one day`, `one reading`, `pattern`, ..."""
    over: str
    """For how long: `this horizon`, `for ever`."""
    when: str
    """`continual`: each step when it comes; `block's end`; `day's end`; `offline`: when the horizon is over."""
    sentence: str
    """All of it, with what it costs."""
    delta: float = 0.0
    """By how much more than a factor chances may differ: Gaussian noise has one, pure differential privacy none."""

    @property
    def hides(self) -> str:
        """What is hidden, in the words of a table."""
        return f"{self.protects}, delta {self.delta:g}" if self.delta else self.protects


@dataclass(frozen=True, kw_only=True)
class Baseline(ABC):
    """One way to report, with the promise it keeps; its settings are its fields."""

    name: str
    """What it is called in tables."""

    @abstractmethod
    def promise(self, task: Task) -> Promise:
        """Whom it protects, over what, and when."""

    @abstractmethod
    def draw(self, task: Task, rng: Random) -> Floats:
        """One simulated release: a value a step."""

    def mean_square_error(self, task: Task, length: int = 1) -> float | None:
        """The expected square error of totals over `length` steps, by formula; None where there is none.

        Args:
            task: What is reported.
            length: 1 for a report, `task.slots` for a day's total, `task.steps` for that of the horizon.
        """
        return None


class Additive(Baseline):
    """Noise that does not depend on the readings, around something that follows from them."""

    def expected(self, task: Task) -> Floats:
        """The mean of a release: a value a step."""
        return task.truth

    @abstractmethod
    def noise(self, task: Task, rng: Random) -> Floats:
        """The noise of one release: a value a step."""

    @abstractmethod
    def noise_variance(self, task: Task, length: int = 1) -> float:
        """The variance of the noise of a total over `length` steps, mean over the horizon."""

    def draw(self, task: Task, rng: Random) -> Floats:
        return self.expected(task) + self.noise(task, rng)

    def mean_square_error(self, task: Task, length: int = 1) -> float | None:
        off = totals(self.expected(task) - task.truth, length)
        return float(np.mean(off**2)) + self.noise_variance(task, length)


def totals(values: Floats, length: int) -> Floats:
    """Sums over consecutive blocks of so many steps."""
    whole(length, "length", least=1)
    if len(values) % length:
        raise PlanError("baseline-length", length=length, steps=len(values))
    return np.asarray(values.reshape(-1, length).sum(axis=1))


def laplace(rng: Random, scale: float, size: int) -> Floats:
    """Laplace noise of a study; releases draw theirs in promise/noise.py."""
    return rng.laplace(0.0, scale, size)


def laplace_variance(scale: float) -> float:
    """That of continuous Laplace noise."""
    return 2 * scale**2


def gaussian_scale(task: Task, sensitivity: float) -> float:
    """The standard deviation that makes an l2 sensitivity (epsilon, delta)-DP, by zCDP."""
    return sensitivity / math.sqrt(2 * task.zcdp())
