"""Score: one rival's errors against the truth, by formula where there is one and from draws where not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from diurnal.private import PrivateDict, private
from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Baseline, Promise, Random, totals
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Score:
    """One rival's errors on the task."""

    name: str
    """Who."""
    promise: Promise
    """Whom it protects, over what and when."""
    relative_error: float
    """The paper's: root mean square error of a report over the largest true value."""
    skill: float
    """1 - MSE/Var(f): 0 for the best constant, 1 for the truth."""
    mean_absolute_error: float
    """Of a report, in the unit of a reading."""
    day_error: float
    """Root mean square error of a cycle's total, over the mean of these totals."""
    year_error: float
    """That of the total over the horizon, over the total."""
    peak_error: float
    """That of a cycle's largest value, over the largest true value."""
    seconds: float
    """How long a report takes."""
    draws: int
    """How many releases were drawn."""
    intervals: Mapping[str, tuple[float, float]]
    """Where each error that comes from draws lies with 95 % confidence; what is not here follows from a formula."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """That of the relative error; None if it follows from a formula."""
        return self.intervals.get("relative_error")

    @property
    def got(self) -> str:
        """How the errors of reports and totals were found."""
        return "closed form" if self.interval is None else f"{self.draws} draws"

    def to_json(self) -> PrivateDict:
        """Plain data."""
        made: PrivateDict = private({**asdict(self), "got": self.got})
        return made


class Estimate(NamedTuple):
    """An error, and how sure it is."""

    value: float
    """The error."""
    within: float
    """How far it may be off with 95 % confidence, the wider half; 0 if it follows from a formula."""


class Measure(NamedTuple):
    """One of the errors of a release."""

    name: str
    """What it is called in a score."""
    scale: float
    """What it is divided by."""
    length: int | None = None
    """Of totals over how many steps; None if no formula tells it."""
    square: bool = True
    """Whether it is the root of a mean square, and not a mean."""

    def of(self, mean: float) -> float:
        """The error whose square, or size, has that mean."""
        return (math.sqrt(max(0.0, mean)) if self.square else mean) / self.scale


def score(
    baseline: Baseline, task: Task, *, draws: int, rng: Random, drawn: Callable[[int], None] = lambda _: None
) -> Score:
    """Run a rival so many times.

    Errors of reports and totals follow from its formulas where it has them; absolute errors and those of a cycle's
    largest value come from the draws in any case.

    Args:
        baseline: The rival.
        task: What it is asked.
        draws: How many releases are drawn.
        rng: Where draws come from.
        drawn: Told after each draw.
    """
    found, seconds = [], math.inf
    for _ in range(draws):
        began = time.perf_counter()
        released = baseline.draw(task, rng)
        seconds = min(seconds, time.perf_counter() - began)
        found.append(_means(released, task))
        drawn(1)
    errors: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    for measure, means in zip(_measures(task), np.array(found).T, strict=True):
        known = None if measure.length is None else baseline.mean_square_error(task, measure.length)
        if known is None:
            known, half = float(np.mean(means)), half_width(means)
            intervals[measure.name] = measure.of(known - half), measure.of(known + half)
        errors[measure.name] = measure.of(known)
    return Score(
        name=baseline.name,
        promise=baseline.promise(task),
        skill=1 - (errors["relative_error"] * task.largest) ** 2 / float(np.var(task.truth)),
        seconds=seconds / task.steps,
        draws=draws,
        intervals=intervals,
        **errors,
    )


def relative_error(
    baseline: Baseline, task: Task, *, draws: int = 4, seed: int = 1, largest: float | None = None
) -> Estimate:
    """A rival's relative error, by formula or from a few draws.

    Args:
        baseline: The rival.
        task: What it is asked.
        draws: How many releases are drawn where no formula tells.
        seed: For the draws.
        largest: What the error is divided by; the task's largest value unless given.
    """
    scale, square, half = largest or task.largest, baseline.mean_square_error(task), 0.0
    if square is None:
        rng = np.random.default_rng(seed)
        squares = np.array([np.mean((baseline.draw(task, rng) - task.truth) ** 2) for _ in range(draws)])
        square, half = float(np.mean(squares)), half_width(squares)
    error = math.sqrt(square) / scale
    # A root makes the lower half of an interval the wider one.
    return Estimate(error, error - math.sqrt(max(0.0, square - half)) / scale)


STUDENT = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
"""Student's t at 97.5 % for 1 to 30 degrees of freedom: scipy.stats.t.ppf(0.975, freedom) to four places, since
loading SciPy for it would take a second."""


def student(freedom: int) -> float:
    """Student's t at 97.5 %: the table's, or beyond it the expansion of Cornish and Fisher."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    return 1.95996 + 2.37227 / freedom + 2.82250 / freedom**2


def half_width(values: Floats) -> float:
    """Half the width of a 95 % interval for the mean, by Student's t."""
    return student(len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _measures(task: Task) -> tuple[Measure, ...]:
    truth, day, all_ = task.truth, task.slots, task.steps
    return (
        Measure("relative_error", task.largest, length=1),
        Measure("day_error", abs(float(totals(truth, day).mean())), length=day),
        Measure("year_error", abs(float(truth.sum())), length=all_),
        Measure("mean_absolute_error", 1.0, square=False),
        Measure("peak_error", task.largest),
    )


def _means(released: Floats, task: Task) -> list[float]:
    """Of one release, in the order of the measures."""
    off = released - task.truth
    squares = [float(np.mean(totals(off, length) ** 2)) for length in (1, task.slots, task.steps)]
    peaks = (values.reshape(-1, task.slots).max(axis=1) for values in (released, task.truth))
    peak = float(np.mean(np.subtract(*peaks) ** 2))
    return [*squares, float(np.mean(np.abs(off))), peak]
