"""Split: independent noise in every report, epsilon shared by the readings of a span.

Over the whole horizon it is the paper's rival; over one day a plain Laplace vector a day; over one reading the
weakest promise there is. Dwork, McSherry, Nissim, Smith 2006 (Laplace); Bun, Steinke 2016 (Gaussian, zCDP).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Additive, Promise, Random, gaussian_scale, laplace, laplace_variance
from diurnal.study.baselines.task import Span, Task

PROTECTS: dict[Span, str] = {"reading": "one reading", "cycle": "one day", "everything": "everything"}
_OVER: dict[Span, str] = {"reading": "for ever", "cycle": "for ever", "everything": "this horizon"}
_WHOLE: dict[Span, str] = {
    "reading": "Any one reading of a household; a day of it costs {length} epsilon",
    "cycle": "All readings of a household within any {length} consecutive steps, across midnight too; its pattern "
    "is in every cycle, and m cycles cost m epsilon",
    "everything": "All readings of a household over the horizon; nothing is left after that",
}


def span_promise(
    span: Span, task: Task, *, when: str = "continual", gaussian: bool = False, more: str = ""
) -> Promise:
    """The promise of hiding so many consecutive steps of a household."""
    delta = float(task.delta) if gaussian else 0.0
    words = _WHOLE[span].format(length=task.slots) + (f", delta {delta:g}" if gaussian else "")
    return Promise(protects=PROTECTS[span], over=_OVER[span], when=when, sentence=f"{words}{more}.", delta=delta)


@dataclass(frozen=True, kw_only=True)
class Split(Additive):
    """y(t) = f(t) + v(t), v of scale h R/(n epsilon) (Laplace) or sqrt(h) R/(n sqrt(2 rho)) (Gaussian).

    h is the number of readings in the span: its l1 norm moves by h R/n, its l2 norm by sqrt(h) R/n.
    """

    name: str = "split Laplace"
    span: Span = "everything"
    """How much of a household is hidden."""
    kind: Literal["laplace", "gaussian"] = "laplace"
    """The noise."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        return span_promise(self.span, task, gaussian=self.kind == "gaussian")

    def sensitivity(self, task: Task) -> float:
        """By how much the reports move, in the l1 norm (Laplace) or the l2 norm (Gaussian)."""
        length = task.length(self.span)
        return task.reach(self.clamp) * (length if self.kind == "laplace" else math.sqrt(length))

    def statistics(self, values: Floats) -> Floats:
        """What is released with noise."""
        return values

    def expected(self, task: Task) -> Floats:
        return task.clamped(self.clamp)

    def noise(self, task: Task, rng: Random) -> Floats:
        if self.kind == "laplace":
            return laplace(rng, self.sensitivity(task) / float(task.epsilon), task.steps)
        return rng.normal(0.0, gaussian_scale(task, self.sensitivity(task)), task.steps)

    def noise_variance(self, task: Task, length: int = 1) -> float:
        if self.kind == "laplace":
            return length * laplace_variance(self.sensitivity(task) / float(task.epsilon))
        return length * gaussian_scale(task, self.sensitivity(task)) ** 2
