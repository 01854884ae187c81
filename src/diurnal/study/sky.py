"""Sky: what all homes of a town share, its clock, its calendar and its weather.

Made up like the homes: Sydney's climate and holidays, turned round in the north. Tables have a row a day and a
column a slot.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from diurnal.readings.data import Floats, Marks

Random = np.random.Generator

SCHOOL_HOLIDAYS = ("01-01 01-27", "04-08 04-22", "07-01 07-16", "09-24 10-09", "12-20 12-31")
"""First and last day, the same every year: when people travel."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sky:
    """The hours, the days and the weather of a town."""

    hours: Floats
    """When each slot begins, in hours from midnight."""
    temperature: Floats
    """Degrees Celsius, a table."""
    sun: Floats
    """What a panel gets through the clouds, a table: 1 at the most, 0 at night."""
    warm: Floats
    """The season of each day: 1 in high summer, -1 in the depth of winter."""
    rest: Marks
    """Which days are of a weekend or holidays."""
    leave: Floats
    """How likely a trip begins on each day; sums to 1."""
    calendar: frozenset[int]
    """The steps in which the clocks change."""

    @classmethod
    def of(cls, rng: Random, *, start: str, days: int, zone: str, minutes: int) -> Sky:
        """So many days from a local date on, in slots of so many minutes."""
        dates = [date.fromisoformat(start) + timedelta(days=day) for day in range(days)]
        hours = np.arange(24 * 60 // minutes) * minutes / 60
        middle, warm = hours + minutes / 120, season(zone, dates, peak=20)
        unusual = persistent(rng, days, memory=0.65)[:, 0]
        return cls(
            hours=hours,
            temperature=temperatures(rng, warm, unusual, middle),
            # The sun is highest a month before the days are warmest.
            sun=sunshine(rng, season(zone, dates, peak=-10), unusual, middle - summer_time(zone, dates)),
            warm=warm,
            rest=np.array([day.weekday() >= 5 or is_holiday(day) for day in dates]),
            leave=departures(dates),
            calendar=frozenset(clock_changes(zone, dates, minutes)),
        )


def temperatures(rng: Random, warm: Floats, unusual: Floats, hours: Floats) -> Floats:
    """Seasons, weather that lasts for days, warm afternoons, and now and then a hot wind from inland."""
    # Such days, far above the season's mean, make the peak of the year.
    heat = (rng.random(len(warm)) < 0.08 * warm) * rng.uniform(4, 10, len(warm)) * warm
    mean = 17.3 + 5.0 * warm + 2.0 * unusual + heat
    swing = np.maximum(4.2 + 0.6 * warm + 0.5 * unusual + 0.55 * heat, 1.5)
    return np.asarray(mean[:, None] + swing[:, None] * np.cos((hours - 15) * math.pi / 12))


def sunshine(rng: Random, high: Floats, unusual: Floats, hours: Floats) -> Floats:
    """The height of the sun at Sydney's latitude or its mirror, through clouds that come and go."""
    latitude, tilt = math.radians(34), math.radians(23.4) * high[:, None]
    level = math.cos(latitude) * np.cos(tilt) * np.cos((hours - 12) * math.pi / 12)
    height = np.maximum(math.sin(latitude) * np.sin(tilt) + level, 0)
    clear = 0.75 + 0.10 * unusual + 0.20 * rng.standard_normal(len(high))
    return np.asarray(height * np.clip(clear[:, None] + 0.10 * rng.standard_normal(height.shape), 0.08, 1))


def persistent(rng: Random, days: int, *, memory: float, series: int = 1) -> Floats:
    """Standard normals, a row a day, each of which remembers the one above it."""
    values = rng.standard_normal((days, series))
    values[1:] *= math.sqrt(1 - memory**2)
    for before, after in itertools.pairwise(values):
        after += memory * before
    return values


def season(zone: str, dates: Sequence[date], *, peak: int) -> Floats:
    """1 on that day of January in the south, of July in the north, -1 half a year away."""
    january, july = _offsets(zone, [date(dates[0].year, month, 15) for month in (1, 7)])
    south = january > july or zone.startswith("Australia/")
    turns = np.array([(day.timetuple().tm_yday - peak) / 365.25 for day in dates])
    return np.asarray(np.cos(2 * math.pi * turns) * (1 if south else -1))


def summer_time(zone: str, dates: Sequence[date]) -> Floats:
    """By how many hours the clock is ahead of the sun on each day, as a column."""
    winter = min(_offsets(zone, [date(dates[0].year, month, 15) for month in (1, 7)]))
    return np.array(_offsets(zone, dates))[:, None] - winter


def clock_changes(zone: str, dates: Sequence[date], minutes: int) -> Iterator[int]:
    """Steps that the wall clock skips or has twice: there its two offsets differ."""
    for step in range(len(dates) * 24 * 60 // minutes):
        wall = datetime.combine(dates[0], time(), ZoneInfo(zone)) + timedelta(minutes=minutes) * step
        if wall.utcoffset() != wall.replace(fold=1).utcoffset():
            yield step


def departures(dates: Sequence[date]) -> Floats:
    """How likely a trip begins on each day: four times as likely in the school holidays."""
    terms = [term.split() for term in SCHOOL_HOLIDAYS]
    closed = [any(first <= f"{day:%m-%d}" <= last for first, last in terms) for day in dates]
    leave = np.where(closed, 4.0, 1.0)
    return np.asarray(leave / leave.sum())


def is_holiday(day: date) -> bool:
    """New South Wales's public holidays, but for days in lieu."""
    fixed = f"{day:%m-%d}" in ("01-01", "01-26", "04-25", "12-25", "12-26")
    monday = day.weekday() == 0 and (day.month, (day.day - 1) // 7) in ((6, 1), (10, 0))
    # Gauss's rule for 1900 to 2099; Easter is a week late in 1954, 1981, 2049 and 2076.
    year, moon = day.year, (19 * (day.year % 19) + 24) % 30
    easter = date(year, 3, 22) + timedelta(days=moon + (2 * (year % 4) + 4 * (year % 7) + 6 * moon + 5) % 7)
    return fixed or monday or (day - easter).days in (-2, 1)


def _offsets(zone: str, dates: Sequence[date]) -> list[float]:
    noons = [datetime.combine(day, time(12), ZoneInfo(zone)) for day in dates]
    return [(noon.utcoffset() or timedelta()) / timedelta(hours=1) for noon in noons]
