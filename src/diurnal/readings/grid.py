"""Grid: which moment a step is, how many steps make a cycle, and in which unit readings count."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from datetime import time as clock_time
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from diurnal.errors import ReadingsError
from diurnal.exact import whole

MIDNIGHT = clock_time()


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


def _length(text: str | int, name: str, each: int) -> int:
    """A length in minutes; a bare number counts `each`."""
    if not isinstance(text, str):
        return each * whole(text, name, least=1, error=ReadingsError)
    found = re.fullmatch(r"\s*(\d+)\s*(min|h|d|w)\s*", text)
    if found is None or int(found[1]) == 0:
        raise ReadingsError("grid-length", name=name, given=text)
    return int(found[1]) * {"min": 1, "h": 60, "d": 1440, "w": 10080}[found[2]]
