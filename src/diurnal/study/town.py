"""A synthetic town that looks real, for demonstrations, tests and benchmarks; and the paper's Figure 1.

Everything is made up from a seed: nobody lives here, so these readings may be shown to anybody. What the homes
share is the sky and the calendar: one temperature, one cover of clouds, one list of holidays. What makes a home
its own comes from generators keyed by its number, so blocks of any size have the same bits, and the first k homes
of a large town are the town of k homes. The constants were set by hand until a year of 300 homes had the spread,
the correlations and the peak of 226 real ones (Ausgrid, July 2012 to June 2013); docs/town.md has the figures.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any, NamedTuple, get_args

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import whole
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.formats import Channel
from diurnal.readings.grid import Grid
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel
from diurnal.study.sky import Random, Sky, persistent

SUPPLY = 14_400
"""Watts that no home draws more than: 60 A at 240 V."""
PANELS = 10_000
"""Watts that no roof makes more than."""
MOST = 1_000_000
"""Homes that the largest town has: beyond it names would no longer sort by number."""
SUBURBS = {"Hill": (0.3, 1.1), "Lake": (0.25, 1.0), "Mill": (0.2, 0.95), "Park": (0.15, 1.05), "Quay": (0.1, 0.75)}
"""Which share of the town a suburb is, and how large its homes are; of 300 homes the smallest has 30."""


class Archetype(NamedTuple):
    """A way of living. A digit for each hour from midnight says how busy the home is."""

    share: float
    """Which share of the town lives so."""
    workday: str
    """How a working day goes."""
    restday: str
    """How a day of a weekend or a holiday goes."""
    size: float
    """How much is used, against the others."""
    trips: float
    """How often a year nobody is home for days."""
    rota: float = 0.0
    """By how many hours every other week is shifted."""


ARCHETYPES = {
    "couple": Archetype(0.22, "221111367533333457998643", "321111124677655567898653", 1.0, 1.2),
    "family": Archetype(0.30, "211111478543334679987532", "221111236887776789987643", 1.35, 0.9),
    "retired": Archetype(0.20, "211112246776666678876532", "211112246777666678876532", 0.85, 1.4),
    "shift": Archetype(0.08, "221124664334444567877653", "322111235666555678877654", 1.0, 0.6, rota=7),
    "students": Archetype(0.08, "653211123445444456778887", "765321112356655567788888", 0.8, 1.8),
    "office": Archetype(0.08, "221111245777777788876532", "221111124566655678876543", 1.15, 0.9),
    "business": Archetype(0.04, "111111149999999997311111", "111111111222222211111111", 1.3, 0.4),
}
"""The ways of living, by name."""


@dataclass(frozen=True, kw_only=True)
class Town:
    """A made-up town: the same fields, the same readings."""

    homes: int = 300
    """n, how many homes."""
    days: int = 365
    """How many local days."""
    seed: int = 1
    """Another seed, another town under another sky."""
    start: str = "2022-07-01"
    """The local date of the first day."""
    zone: str = "Australia/Sydney"
    """The time zone of the wall clock. Where it is ahead in January, or in Australia, January is summer."""
    minutes: int = 30
    """The length of a slot; a divisor of 60."""
    channel: Channel = "consumption"
    """What the meters count: consumption, generation on the roof, or the first less the second."""
    gap_rate: float = 0.003
    """Which part of the readings is lost, on average, besides the hours when the clocks change."""

    def __post_init__(self) -> None:
        for name, least in (("homes", 1), ("days", 1), ("seed", 0), ("minutes", 1)):
            object.__setattr__(self, name, whole(getattr(self, name), name, least=least, error=ReadingsError))
        _expect(self.homes <= MOST, "town-homes", homes=self.homes, most=MOST)
        _expect(60 % self.minutes == 0, "town-minutes", minutes=self.minutes)
        kinds = get_args(Channel)
        _expect(self.channel in kinds, "town-channel", channel=self.channel, choices=kinds)
        rate = self.gap_rate
        fits = isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0 <= rate <= 0.2
        _expect(fits, "town-gap-rate", rate=rate)
        _expect(_has_days(self.start, self.days), "town-start", start=self.start, days=self.days)
        self.grid.time(0)

    @property
    def grid(self) -> Grid:
        """A day a cycle, in Wh, from midnight of the first day."""
        slots = 24 * 60 // self.minutes
        return Grid(slots=slots, minutes=self.minutes, unit="Wh", zone=self.zone, anchor=f"{self.start}T00:00")

    @property
    def domain(self) -> tuple[int, int]:
        """Between which Wh every reading of the channel lies; from `SUPPLY` and `PANELS`, not from the readings."""
        drawn, made = SUPPLY * self.minutes // 60, PANELS * self.minutes // 60
        return {"consumption": (0, drawn), "generation": (0, made), "net": (-made, drawn)}[self.channel]

    def temperature(self) -> Floats:
        """The temperature outside in degrees Celsius, a value a step: one for all homes, and public."""
        return self._sky.temperature.reshape(-1).copy()

    def panel(self) -> Panel:
        """The whole town in memory."""
        return next(self.blocks(self.homes))

    def blocks(self, homes: int = 256) -> Iterator[Panel]:
        """The town, so many homes at a time, in the order of their names.

        Args:
            homes: How many homes a block has; the last may have fewer.

        Raises:
            ReadingsError: That is no whole number of at least 1.
        """
        size = whole(homes, "homes", least=1, error=ReadingsError)
        return (self._block(range(k, min(k + size, self.homes))) for k in range(0, self.homes, size))

    def _block(self, numbers: range) -> Panel:
        shape = (self.days * self.grid.slots, len(numbers))
        readings, present = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=bool)
        with Progress("Making up homes", len(numbers)) as bar:
            for column, number in enumerate(numbers):
                readings[:, column] = self._readings(number)
                present[:, column] = _present(self, _generator(self.seed, "gaps", number))
                bar.advance(1)
        return Panel.from_array(
            readings,
            present=present,
            households=[f"home-{number:06d}" for number in numbers],
            grid=self.grid,
            groups={
                "suburb": [_suburb(number) for number in numbers],
                "archetype": [_archetype(self.seed, number) for number in numbers],
            },
            calendar=self._sky.calendar,
        )

    def _readings(self, number: int) -> Integers:
        """Roofs have generators of their own, so that net is the difference of the other two to the bit."""
        drawn = made = np.zeros(self.days * self.grid.slots, dtype=np.int64)
        if self.channel != "generation":
            kind, size = ARCHETYPES[_archetype(self.seed, number)], SUBURBS[_suburb(number)][1]
            home, noise = (_generator(self.seed, stream, number) for stream in ("home", "noise"))
            watts = _consumption(self._sky, kind, size, home, noise)
            drawn = _watt_hours(watts, SUPPLY, self.minutes)
        if self.channel != "consumption":
            made = _watt_hours(_generation(self._sky, _generator(self.seed, "roof", number)), PANELS, self.minutes)
        return made if self.channel == "generation" else drawn - made

    @cached_property
    def _sky(self) -> Sky:
        return Sky.of(
            _generator(self.seed, "sky", 0), start=self.start, days=self.days, zone=self.zone, minutes=self.minutes
        )


def figure_one(cycles: int = 20, period: int = 10, seed: int = 1, homes: int = 1) -> Panel:
    """A series like that of the paper's Figure 1, in thousandths: almost periodic by construction.

    x(t) = round(1000 sin(2 pi s/T)) + a constant of the cycle, uniform on -500..500, + noise, uniform on -100..100.
    All are integers; constants and noise are drawn anew for every home and cycle, so cycles are independent.

    Raises:
        ReadingsError: A size is no whole number of at least 1, or the seed none of at least 0.
    """
    for name, value in {"cycles": cycles, "period": period, "homes": homes}.items():
        whole(value, name, least=1, error=ReadingsError)
    whole(seed, "seed", least=0, error=ReadingsError)
    wave = np.rint(1000 * np.sin(2 * math.pi * np.arange(period) / period)).astype(np.int64)
    columns = []
    for rng in (_generator(seed, "figure", number) for number in range(homes)):
        constants = rng.integers(-500, 500, (cycles, 1), endpoint=True)
        columns.append(wave + constants + rng.integers(-100, 100, (cycles, period), endpoint=True))
    return Panel.from_array(np.stack(columns, axis=-1).reshape(-1, homes), grid=Grid(slots=period, unit="1/1000"))


def _consumption(sky: Sky, kind: Archetype, size: float, rng: Random, noise: Random) -> Floats:
    """Watts drawn by one home: what stands by, what people do, heating and cooling, hot water.

    What is drawn for every slot comes from `noise`, so that a home is the same home at any length of a slot.
    """
    size *= kind.size * rng.lognormal(0, 0.32)
    home = ~_away(sky, kind, rng)
    busy = _activity(sky, kind, rng)
    slow, quick = (persistent(rng, len(home), memory=memory)[:, 0] for memory in (0.98, 0.35))
    people = size * busy * (home * np.exp(0.26 * slow + 0.13 * quick))[:, None]
    fridge = np.maximum(1 + 0.25 * noise.standard_normal(busy.shape), 0.1)
    watts = 95 * math.sqrt(size) * rng.lognormal(0, 0.55) * fridge
    watts += 135 * people + _appliances(people, noise)
    watts += math.sqrt(size) * home[:, None] * _climate(sky, busy, rng)
    return np.asarray(watts + _hot_water(sky, home, size, rng))


def _away(sky: Sky, kind: Archetype, rng: Random) -> Marks:
    """Days on which nobody is home: long weekends, weeks, seldom a month or more. Some homes travel often."""
    away = np.zeros(len(sky.rest), dtype=bool)
    trips = rng.poisson(kind.trips * rng.gamma(1, 1) * len(away) / 365)
    for first in rng.choice(len(away), trips, p=sky.leave):
        away[first : first + 2 + int(rng.lognormal(1.4, 0.8))] = True
    return away


def _activity(sky: Sky, kind: Archetype, rng: Random) -> Floats:
    """How busy the home is, about 1 on average: the archetype's day, at this home's hours, with its habits."""
    days = np.arange(len(sky.rest))
    late = rng.normal(0, 0.6) + 0.4 * rng.standard_normal(len(days)) + kind.rota * (days // 7 % 2)
    clock, knots = sky.hours - late[:, None], np.arange(24) + 0.5
    work, rest = (np.interp(clock, knots, list(map(int, day)), period=24) for day in (kind.workday, kind.restday))
    # When a home does what: in part for good, in part by the day of the week, in part for some weeks.
    turns = np.outer(np.arange(1, 5), sky.hours) * math.pi / 12
    waves = 0.12 * rng.standard_normal(8) + 0.10 * rng.standard_normal((7, 8))[days % 7]
    waves = (waves + 0.14 * persistent(rng, len(days), memory=0.98, series=8)) / np.sqrt(np.tile(range(1, 5), 2))
    habits = np.exp(waves @ np.r_[np.cos(turns), np.sin(turns)])
    season = 1 - rng.normal(0.03, 0.13) * sky.warm
    return np.asarray(np.where(sky.rest[:, None], rest, work) / 4 * habits * season[:, None])


def _appliances(people: Floats, noise: Random) -> Floats:
    """Kettle, oven, washing: seldom, large, and not always over within one slot."""
    slot = 24 / people.shape[1]
    drawn = noise.standard_gamma(0.9 * noise.poisson(0.44 * slot * np.maximum(people, 0))).reshape(-1) * 380 / slot
    spread = 0.62 * drawn
    spread[1:] += 0.28 * drawn[:-1]
    spread[2:] += 0.10 * drawn[:-2]
    return np.asarray(spread.reshape(people.shape))


def _climate(sky: Sky, busy: Floats, rng: Random) -> Floats:
    """Heating below a threshold of this home and cooling above another, when people are up, to a limit."""
    walls = (sky.temperature + sky.temperature.mean(axis=1, keepdims=True)) / 2
    cold = np.maximum(rng.normal(16.5, 1.2) - walls, 0) * (rng.random() < 0.75) * 66 * rng.lognormal(0, 1.0)
    heat = np.maximum(walls - rng.normal(24.5, 1.5), 0) * (rng.random() < 0.80) * 160 * rng.lognormal(0, 0.7)
    # Whether to bother is decided anew every quarter of a day.
    moods = np.repeat(rng.gamma(1.5, 1 / 1.5, (2, len(busy), 4)), busy.shape[1] // 4, axis=2)
    limit = rng.uniform(2000, 6000)
    return np.asarray(limit * np.tanh((cold * moods[0] + heat * moods[1]) * np.maximum(busy, 0) ** 1.25 / limit))


def _hot_water(sky: Sky, home: Marks, size: float, rng: Random) -> Floats:
    """A boiler on the night tariff: on at its hour, off when hot; longer in winter, short when nobody is home."""
    if rng.random() > 0.40:
        return np.zeros_like(sky.temperature)
    # Nights go from noon to noon, so that none is cut in two; the first began before the town did.
    night, since = np.arange(len(home))[:, None] + (sky.hours >= 12), (sky.hours + 12) % 24
    home, warm = np.r_[home[:1], home], np.r_[sky.warm[:1], sky.warm]
    energy = np.where(home, 5000 * math.sqrt(size) * rng.gamma(14, 1 / 14, len(home)), 1300)
    energy *= rng.lognormal(0, 0.3) * (1 - rng.normal(0.15, 0.1) * warm)
    power = rng.choice([2400.0, 3600.0, 4800.0], p=[0.4, 0.4, 0.2])
    # The clocks of time switches wander.
    start = rng.normal(11.6, 1.5) + 0.55 * persistent(rng, len(home), memory=0.98)[:, 0]
    end, slot = start + np.minimum(energy / power, 9), 24 / len(sky.hours)
    on = np.minimum(since + slot, end[night]) - np.maximum(since, start[night])
    return np.asarray(power * np.maximum(on, 0) / slot)


def _generation(sky: Sky, rng: Random) -> Floats:
    """Watts made on one roof, if it has panels: three in ten do."""
    has, peak = rng.random() < 0.30, 1900 * rng.lognormal(0, 0.5)
    facing = np.maximum(1 + rng.normal(0, 0.25) * (sky.hours - 12) / 6, 0)
    return np.asarray(has * peak * sky.sun * facing * (1 - 0.25 * rng.random(sky.sun.shape)))


def _present(town: Town, rng: Random) -> Marks:
    """False where a reading is lost: alone, for hours, for days, or before a meter starts or after it stops.

    Each of the four is about a quarter of the gap rate. Some meters are far worse than others.
    """
    slots, present = town.grid.slots, np.ones(town.days * town.grid.slots, dtype=bool)
    share, poor = town.gap_rate / 4, rng.gamma(0.7, 1 / 0.7)
    for mean in (1, slots // 4, slots * 3):
        firsts = rng.integers(0, len(present), rng.poisson(share * poor * len(present) / mean))
        for first, length in zip(firsts, rng.geometric(1 / mean, len(firsts)), strict=True):
            present[first : first + length] = False
    # Up to 15 % of the time, 7.5 % on average, is lost at one end.
    if rng.random() < share / 0.075:
        lost = int(len(present) * rng.uniform(0, 0.15))
        present[slice(0, lost) if rng.random() < 0.6 else slice(len(present) - lost, None)] = False
    return present


def _watt_hours(watts: Floats, limit: int, minutes: int) -> Integers:
    return np.floor(np.clip(watts, 0, limit) * (minutes / 60)).astype(np.int64).reshape(-1)


def _generator(seed: int, stream: str, number: int) -> Random:
    return np.random.default_rng(
        [seed, ("sky", "kind", "home", "noise", "roof", "gaps", "figure").index(stream), number]
    )


def _archetype(seed: int, number: int) -> str:
    shares = [kind.share for kind in ARCHETYPES.values()]
    return str(_generator(seed, "kind", number).choice(list(ARCHETYPES), p=shares))


def _suburb(number: int) -> str:
    """Multiples of the golden ratio fill every suburb evenly, whatever the size of the town."""
    place, ends = number * (math.sqrt(5) - 1) / 2 % 1, itertools.accumulate(share for share, _ in SUBURBS.values())
    return next((name for name, end in zip(SUBURBS, ends, strict=True) if place < end), list(SUBURBS)[-1])


def _has_days(start: Any, days: int) -> bool:
    try:
        return bool(start == (date.fromisoformat(start) + timedelta(days=days) - timedelta(days=days)).isoformat())
    except (TypeError, ValueError, OverflowError):
        return False


def _expect(holds: bool, code: str, **params: Any) -> None:
    if not holds:
        raise ReadingsError(code, **params)


__all__ = ["ARCHETYPES", "PANELS", "SUBURBS", "SUPPLY", "Archetype", "Channel", "Town", "figure_one"]
