"""Timing two things in turns, so that what the machine does to one it does to the other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """A ratio of two times, or of two sizes."""

    what: str
    against: str
    ratio: float
    goal: str
    ours: float
    theirs: float
    unit: str = "s"

    def row(self) -> str:
        """A row of the table."""
        ours, theirs = (self._text(value) for value in (self.ours, self.theirs))
        return f"| {self.what} | {self.against} | **{self.ratio:.2f}** | {self.goal} | {ours} | {theirs} |"

    def _text(self, value: float) -> str:
        if self.unit != "s":
            return f"{value:.2g} B" if self.unit == "B" else f"{value:.0f} {self.unit}"
        return f"{1000 * value:.3g} ms" if value < 1 else f"{value:.3g} s"


def compare(
    what: str,
    ours: Callable[[], Any],
    against: str,
    theirs: Callable[[], Any],
    *,
    goal: str,
    turns: int = 15,
    repeat: int = 1,
) -> Result:
    """Time both in turns; the ratio is the median over the turns."""
    ours()
    theirs()
    times = [(_seconds(ours, repeat), _seconds(theirs, repeat)) for _ in range(turns)]
    return Result(
        what,
        against,
        statistics.median(a / b for a, b in times),
        goal,
        statistics.median(a for a, _ in times),
        statistics.median(b for _, b in times),
    )


PEAK = "int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024"
"""The peak memory of a process in MB, as an expression. What `resource` tells counts its parent's as well."""


def _seconds(work: Callable[[], Any], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return (time.perf_counter() - start) / repeat
