"""Score: one rival's errors against the truth, by formula where there is one and from draws where not."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass

import numpy as np

from diurnal.private import PrivateDict, private
from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Baseline, Promise, Random, totals
from diurnal.study.baselines.opendp import OpenDP
from diurnal.study.baselines.ours import Ours
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
    interval: tuple[float, float] | None
    """Where the relative error lies with 95 % confidence; None if it follows from a formula."""

    @property
    def got(self) -> str:
        """How the errors of reports and totals were found."""
        return "closed form" if self.interval is None else f"{self.draws} draws"

    def to_json(self) -> PrivateDict:
        """Plain data."""
        made: PrivateDict = private({**asdict(self), "got": self.got})
        return made


def score(baseline: Baseline, task: Task, *, draws: int, rng: Random) -> Score:
    """Run a rival so many times; a fifth as often where that is slow and a formula tells.

    Absolute errors and those of a cycle's largest value come from the draws in any case.
    """
    lengths = (1, task.slots, task.steps)
    formulas = [baseline.mean_square_error(task, length) for length in lengths]
    slow = isinstance(baseline, (Ours, OpenDP)) and formulas[0] is not None
    found, seconds = [], math.inf
    for _ in range(max(2, draws // 5) if slow else draws):
        began = time.perf_counter()
        released = baseline.draw(task, rng)
        seconds = min(seconds, time.perf_counter() - began)
        found.append(_measures(released, task))
    drawn = np.array(found)
    squares = [float(np.mean(drawn[:, i])) if f is None else f for i, f in enumerate(formulas)]
    truth = task.truth
    largest = float(np.abs(truth).max())
    return Score(
        name=baseline.name,
        promise=baseline.promise(task),
        relative_error=math.sqrt(squares[0]) / largest,
        skill=1 - squares[0] / float(np.var(truth)),
        mean_absolute_error=float(np.mean(drawn[:, 3])),
        day_error=math.sqrt(squares[1]) / abs(float(totals(truth, task.slots).mean())),
        year_error=math.sqrt(squares[2]) / abs(float(truth.sum())),
        peak_error=math.sqrt(float(np.mean(drawn[:, 4]))) / largest,
        seconds=seconds / task.steps,
        draws=len(drawn),
        interval=None if formulas[0] is not None else _interval(drawn[:, 0], largest),
    )


def relative_error(
    baseline: Baseline, task: Task, *, draws: int = 4, seed: int = 1, largest: float | None = None
) -> float:
    """A rival's relative error, by formula or from a few draws; over the task's largest value unless given."""
    square = baseline.mean_square_error(task)
    if square is None:
        rng = np.random.default_rng(seed)
        square = float(np.mean([np.mean((baseline.draw(task, rng) - task.truth) ** 2) for _ in range(draws)]))
    return math.sqrt(square) / (largest or float(np.abs(task.truth).max()))


def _measures(released: Floats, task: Task) -> list[float]:
    """Mean squares for a report, a cycle's total and the horizon's; absolute; of a cycle's largest value."""
    off = released - task.truth
    squares = [float(np.mean(totals(off, length) ** 2)) for length in (1, task.slots, task.steps)]
    peaks = (values.reshape(-1, task.slots).max(axis=1) for values in (released, task.truth))
    peak = float(np.mean(np.subtract(*peaks) ** 2))
    return [*squares, float(np.mean(np.abs(off))), peak]


def _interval(squares: Floats, largest: float) -> tuple[float, float]:
    """95 % for the root of the mean of squares, by Student's t (Cornish and Fisher's expansion)."""
    freedom = len(squares) - 1
    t = 1.96 + 2.372 / freedom + 2.822 / freedom**2
    half = t * float(np.std(squares, ddof=1)) / math.sqrt(len(squares))
    middle = float(np.mean(squares))
    return math.sqrt(max(0.0, middle - half)) / largest, math.sqrt(middle + half) / largest
