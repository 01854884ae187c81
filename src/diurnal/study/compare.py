"""Compare: every rival and ours on the same readings, horizon and epsilon, scored alike.

Errors are against the truth, so all of this is for the custodian. Where the noise is additive, errors of reports
and of totals follow from formulas; where not, from draws, with an interval. Absolute errors and those of a day's
largest value always come from draws. How errors change with epsilon, households and horizon is in curves.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.errors import PlanError
from diurnal.exact import Number, text, whole
from diurnal.picture import Pictured
from diurnal.planning.plan import Plan
from diurnal.private import Private, PrivateDict, private
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel
from diurnal.study.baselines import Baseline, Ours, Task, rivals, task_of
from diurnal.study.baselines.score import Score, score
from diurnal.study.standing import PROTECTED

VERSION = 1

MINIMUM = int(Plan.minimum_group)
"""For how many households a plan can be started; ours are left out where there are fewer."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Pictured, Private):
    """Every rival's scores. Prints as a table, for the custodian's eyes."""

    n_households: int
    """n."""
    slots: int
    """T."""
    cycles: int
    """K."""
    epsilon: Fraction
    """What each may spend."""
    delta: Fraction
    """For Gaussian noise."""
    unit: str
    """The unit of a reading."""
    largest: float
    """The largest true value."""
    mean: float
    """The mean true value."""
    scores: tuple[Score, ...]
    """One a rival, those of one promise together, the best of them first."""

    @property
    def horizon(self) -> str:
        """How long it is, in words."""
        return f"{self.cycles} cycle{'' if self.cycles == 1 else 's'} of {self.slots}"

    def score(self, name: str) -> Score:
        """A rival's score by its name."""
        return {score.name: score for score in self.scores}[name]

    def to_json(self) -> PrivateDict:
        """Plain data with fractions as strings."""
        own = {name: getattr(self, name) for name in ("n_households", "slots", "cycles", "unit", "largest", "mean")}
        spent = {"epsilon": text(self.epsilon), "delta": text(self.delta)}
        made: PrivateDict = private(
            {"version": VERSION, **own, **spent, "scores": [s.to_json() for s in self.scores]}
        )
        return made

    def __str__(self) -> str:
        head = (
            f"{self.n_households} households, {self.horizon}, epsilon {text(self.epsilon)}; "
            f"largest mean {self.largest:.0f} {self.unit}"
        )
        lines = [
            head,
            f"{'':21}{'protects':13}{'error':>7}{'skill':>7}{'mean':>7}{'day':>7}{'year':>6}{'peak':>7}  us",
        ]
        lines += [_line(score) for score in self.scores]
        drawn = [s for s in self.scores if s.interval is not None]
        lines += [
            f"* {s.got}: error {s.interval[0]:.3g} to {s.interval[1]:.3g} (95 %), {s.name}"
            for s in drawn
            if s.interval
        ]
        if any(s.promise.delta for s in self.scores):
            lines.append(f"+ fails with a probability of up to delta {float(self.delta):g}")
        return "\n".join(lines)


def compare(
    task: Task | Panel,
    *,
    epsilon: Number = "1",
    open_data: Panel | None = None,
    history: Panel | None = None,
    draws: int = 20,
    seed: int = 1,
    baselines: Sequence[Baseline] | None = None,
    **more: Any,
) -> Comparison:
    """Run every rival and ours on one task.

    Args:
        task: A task, or a panel to make one of with what follows; see `task_of`.
        epsilon: What each may spend.
        open_data: *Public* readings of other households; needed with a panel.
        history: The cycles before the panel.
        draws: How many releases are drawn of each.
        seed: For the draws of rivals. Ours and OpenDP draw without a seed.
        baselines: Which; all of `rivals`, with the settings that suit the task, unless given.
        more: delta, domain, profile_range and mean_reading, as in `task_of`.

    Raises:
        PlanError: A panel without open data, or what `task_of` refuses.
    """
    if not isinstance(task, Task):
        if open_data is None:
            raise PlanError("compare-needs-open-data")
        task = task_of(task, epsilon=epsilon, open_data=open_data, history=history, **more)
    whole(draws, "draws", least=2)
    chosen = suited(task) if baselines is None else tuple(baselines)
    with Progress("Releases", draws * len(chosen)) as bar:
        scores = [
            score(each, task, draws=draws, rng=np.random.default_rng([seed, i]), drawn=bar.advance)
            for i, each in enumerate(chosen)
        ]
    return Comparison(
        n_households=task.n,
        slots=task.slots,
        cycles=task.cycles,
        epsilon=task.epsilon,
        delta=task.delta,
        unit=task.panel.grid.unit,
        largest=task.largest,
        mean=float(task.truth.mean()),
        scores=tuple(sorted(scores, key=lambda s: (PROTECTED.index(s.promise.protects), s.relative_error))),
    )


def suited(task: Task) -> tuple[Baseline, ...]:
    """Every rival with the settings that suit the task's size; without ours where these are too few households."""
    every = rivals(size=task.n * float(task.epsilon))
    enough = task.panel.n_households >= MINIMUM
    return every if enough else tuple(each for each in every if not isinstance(each, Ours))


def _line(score: Score) -> str:
    mark = ("" if score.interval is None else "*") + ("+" if score.promise.delta else "")
    numbers = (score.relative_error, score.skill, score.mean_absolute_error, score.day_error)
    cells = "".join(f"{_short(value):>7}" for value in numbers)
    rest = f"{_short(score.year_error):>6}{_short(score.peak_error):>7}{_microseconds(score.seconds):>4}"
    return f"{score.name + mark:21}{score.promise.protects:13}{cells}{rest}"


def _microseconds(seconds: float) -> str:
    return "<1" if seconds < 1e-6 else f"{1e6 * seconds:.0f}"


def _short(value: float) -> str:
    """Three digits in at most six places."""
    size = abs(value)
    if 0 < size < 0.001 or size >= 99999.5:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e+").replace("e+", "e")
    return f"{value:.3f}"[:6] if size < 1 else f"{value:.3g}" if size < 100 else f"{value:.0f}"


__all__ = ["Comparison", "Score", "compare"]
