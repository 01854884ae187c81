"""Clock: what the wall clock of a zone shows, and which hours of it never come or come twice."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from diurnal.readings.data import Integers, Marks
from diurnal.readings.grid import Grid

DAY = 86400

EARLIEST, LATEST = -2_208_988_800, 7_258_118_400
"""Times lie in the years from 1900 to 2199: a wrong date would make a panel of centuries."""


@dataclass(frozen=True)
class Clock:
    """The clock changes of a zone between two moments, in seconds since 1970."""

    changes: Integers
    """When the clocks change."""
    offsets: Integers
    """By how many seconds the wall clock is ahead of UTC: before the first change, then after each."""

    @classmethod
    def of(cls, zone: str, first: int, last: int) -> Clock:
        """The clock of a zone, from some days before one moment to some days after another."""
        here = ZoneInfo(zone)
        days = range(first - 3 * DAY, last + 3 * DAY, DAY)
        offsets = [_offset(here, moment) for moment in days]
        moves = [i for i in range(1, len(offsets)) if offsets[i] != offsets[i - 1]]
        changes = [_change(here, days[i - 1], days[i]) for i in moves]
        return cls(np.array(changes, dtype=np.int64), np.array([offsets[0], *(offsets[i] for i in moves)]))

    def wall(self, moments: Integers) -> tuple[Integers, Marks]:
        """What the clock shows at each moment, and whether it shows that for the second time."""
        since = np.searchsorted(self.changes, moments, side="right")
        back = np.concatenate([[0], np.maximum(self.offsets[:-1] - self.offsets[1:], 0)])
        began = np.concatenate([[np.iinfo(np.int64).min // 2], self.changes])
        return moments + self.offsets[since], moments - began[since] < back[since]

    def moments(self, wall: Integers) -> Integers:
        """When the clock shows something, for the first time if it does so twice."""
        before = self.offsets[:-1]
        return wall - self.offsets[np.searchsorted(self.changes + before, wall, side="right")]

    def skipped(self) -> list[tuple[int, int]]:
        """What the clock never shows, from when to when."""
        return [pair for pair in self._pairs() if pair[0] < pair[1]]

    def doubled(self) -> list[tuple[int, int]]:
        """What the clock shows twice, from when to when."""
        return [(stop, start) for start, stop in self._pairs() if stop < start]

    def doubled_moments(self) -> list[tuple[int, int]]:
        """From when to when, in moments of the world, the clock shows what it shows twice: both times together."""
        back = self.offsets[:-1] - self.offsets[1:]
        changes = zip(self.changes.tolist(), back.tolist(), strict=True)
        return [(change - length, change + length) for change, length in changes if length > 0]

    def _pairs(self) -> list[tuple[int, int]]:
        ends = zip(self.changes + self.offsets[:-1], self.changes + self.offsets[1:], strict=True)
        return [(int(start), int(stop)) for start, stop in ends]


def changed_steps(grid: Grid, steps: range) -> tuple[set[int], set[int]]:
    """Those of some steps that never come because the clock skips all of them, and all that a change touches."""
    if not steps or grid.zone == "UTC":
        return set(), set()
    anchor = (datetime.fromisoformat(grid.anchor) - datetime(1970, 1, 1)) // timedelta(seconds=1)
    length = 60 * grid.minutes
    clock = Clock.of(grid.zone, anchor + steps.start * length, anchor + steps.stop * length)
    skipped, doubled = clock.skipped(), clock.doubled()

    def between(start: int, stop: int, *, whole: bool) -> set[int]:
        first, last = (start - anchor) // length, -((anchor - stop) // length)
        if whole:
            first, last = -((anchor - start) // length), (stop - anchor) // length
        return {step for step in range(first, last) if step in steps}

    never = set().union(*(between(*span, whole=True) for span in skipped))
    return never, set().union(*(between(*span, whole=False) for span in (*skipped, *doubled)))


def _offset(zone: ZoneInfo, moment: int) -> int:
    offset = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)).astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset else 0


def _change(zone: ZoneInfo, low: int, high: int) -> int:
    """The moment at which the offset becomes what it is at `high`, by bisection."""
    after = _offset(zone, high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(zone, middle) == after else (middle, high)
    return high
