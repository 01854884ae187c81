"""Grid: which moment a step is, how many steps make a cycle, and in which unit readings count.

A `Grid` counts steps by the wall clock of a zone. A `Clock` knows what that clock shows: which of its hours are
skipped when the clocks change, and which come twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import whole
from diurnal.readings.data import Integers, Marks

MIDNIGHT = clock_time()

EPOCH = datetime(1970, 1, 1)

DAY = 86400

EARLIEST, LATEST = -2_208_988_800, 7_258_118_400
"""Times lie in the years from 1900 to 2199: a wrong date would make a panel of centuries."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The public facts that turn a step number into a moment and an integer into energy.

    Time goes by the wall clock: a local day always has the same slots, so that a household's breakfast stays
    in its slot when the clocks change. The hour that a spring day skips belongs on the calendar.
    """

    slots: int = 48
    """T, the length of the period in slots: 48 half hours are a day, 336 a week."""
    minutes: int = 30
    """The length of a slot."""
    unit: str = "Wh"
    """What one integer unit is."""
    zone: str = "UTC"
    """The time zone of the wall clock, by its IANA name."""
    anchor: str = "2000-01-01T00:00"
    """The local time at which step 0 begins."""

    def __post_init__(self) -> None:
        for name in ("slots", "minutes"):
            object.__setattr__(self, name, whole(getattr(self, name), name, least=1, error=ReadingsError))
        try:
            ZoneInfo(self.zone)
            if datetime.fromisoformat(self.anchor).tzinfo is not None:
                raise ValueError
        except (ValueError, TypeError, OSError, ZoneInfoNotFoundError) as cause:
            raise ReadingsError("grid-zone", zone=self.zone, anchor=self.anchor) from cause

    def slot(self, step: int) -> int:
        """Which slot of its cycle a step is."""
        return step % self.slots

    def cycle(self, step: int) -> int:
        """Which cycle a step belongs to."""
        return step // self.slots

    def time(self, step: int) -> str:
        """When a step begins, in ISO form with its offset."""
        return self.wall(step).replace(tzinfo=ZoneInfo(self.zone)).isoformat()

    def wall(self, step: int) -> datetime:
        """What the wall clock shows when a step begins."""
        try:
            return datetime.fromisoformat(self.anchor) + step * timedelta(minutes=self.minutes)
        except OverflowError as cause:
            raise ReadingsError("grid-step", step=step) from cause

    def step_at(self, moment: datetime) -> int:
        """Which step is going on at a moment of the world."""
        wall = moment.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None)
        return (wall - datetime.fromisoformat(self.anchor)) // timedelta(minutes=self.minutes)

    def slots_in(self, *, days: int) -> int:
        """How many slots so many days have."""
        return days * 24 * 60 // self.minutes

    @property
    def cycle_days(self) -> Fraction:
        """How many days a cycle has."""
        return Fraction(self.slots * self.minutes, 24 * 60)

    @property
    def from_midnight(self) -> bool:
        """Whether a cycle begins at every midnight, or all cycles begin at one."""
        whole_days = 1 in (self.cycle_days.numerator, self.cycle_days.denominator)
        return whole_days and datetime.fromisoformat(self.anchor).time() == MIDNIGHT

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        return {name: getattr(self, name) for name in ("slots", "minutes", "unit", "zone", "anchor")}


def is_zone(name: str) -> bool:
    """Whether there is a time zone of that name."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        return False
    return True


def minutes_of(interval: str | int) -> int:
    """How many minutes an interval has: 30, "30min", "1h".

    Raises:
        ReadingsError: It is none, or a day is no whole number of such intervals.
    """
    minutes = _length(interval, "interval", 1)
    if 1440 % minutes:
        raise ReadingsError("grid-interval", interval=interval)
    return minutes


def slots_of(period: str | int, minutes: int) -> int:
    """How many slots of so many minutes a period has: 48, "1d", "7d", "1w", "12h"."""
    if not isinstance(period, str):
        return whole(period, "period", least=1, error=ReadingsError)
    length = _length(period, "period", minutes)
    if length % minutes:
        raise ReadingsError("grid-period", period=period, minutes=minutes)
    return length // minutes


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


def _length(text: str | int, name: str, each: int) -> int:
    """A length in minutes; a bare number counts `each`."""
    if not isinstance(text, str):
        return each * whole(text, name, least=1, error=ReadingsError)
    found = re.fullmatch(r"\s*(\d+)\s*(min|h|d|w)\s*", text)
    if found is None or int(found[1]) == 0:
        raise ReadingsError("grid-length", name=name, given=text)
    return int(found[1]) * {"min": 1, "h": 60, "d": 1440, "w": 10080}[found[2]]


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
