"""Town: homes, what they truly read, and the batches in which an honest head-end sends it.

Time is counted in half hours of the world since the town begins, so that a clock change skips none and doubles
none: what the wall clock of the homes makes of them is for others to find out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

import diurnal as dn
from diurnal.readings.data import Integers, Marks

ZONE = "Europe/Berlin"
SLOTS, MINUTES, HISTORY = 48, 30, 2
HALF_HOUR = timedelta(minutes=MINUTES)
DOMAIN = (0, 2000)
"""What a meter can read in half an hour, in Wh."""
MILLI = 1000
"""Values of a batch are thousandths of a Wh, so that a meter that sends kWh for Wh can be told."""
SOON = timedelta(minutes=3)
"""How long after its end an honest head-end sends a half hour."""
STRANGERS = 10
"""How many meters there are that are on no roster."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """What a head-end sends at once: a row is a home, a time and a value."""

    at: datetime
    """When it arrives."""
    key: str | None
    """What it goes by."""
    homes: Integers
    """Whose rows these are, by number; from the number of homes on they are strangers'."""
    times: Integers
    """When each interval begins, as its meter says: seconds since 1970, of the world or of the wall clock."""
    values: Integers
    """What was used in it, in thousandths of a Wh."""
    meters: Integers
    """Which of its home's meters says so: 0, or 1 for the one that came in its place."""
    is_wall: bool = False
    """Whether times are the wall clock's, without an offset."""
    reopens: bool = False
    """Whether the service is begun again before it comes."""
    parts: tuple[Batch, ...] = ()
    """What it was put together from: a head-end that is refused sends these by themselves."""

    def __len__(self) -> int:
        return len(self.homes)

    def of(self, homes: Integers) -> Marks:
        """Which rows are of some homes."""
        return np.isin(self.homes, homes)

    def only(self, rows: Marks, key: str | None, *, at: datetime | None = None) -> Batch:
        """Some of its rows, as a batch of their own."""
        columns = {name: getattr(self, name)[rows] for name in ("homes", "times", "values", "meters")}
        return replace(self, at=at or self.at, key=key, parts=(), reopens=False, **columns)

    def later(self, wait: timedelta) -> Batch:
        """The same, so much later."""
        return replace(self, at=self.at + wait)

    def moved(self, rows: Marks, seconds: int | Integers) -> Batch:
        """The same with the clocks of some rows off by so many seconds."""
        times = self.times.copy()
        times[rows] += seconds
        return replace(self, times=times)


def together(batches: Iterable[Batch], *, at: datetime, key: str | None) -> Batch:
    """Several batches as one."""
    parts = tuple(batches)
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("homes", "times", "values", "meters")
    }
    return replace(parts[0], at=at, key=key, parts=parts, **columns)


@dataclass(frozen=True, kw_only=True)
class Town:
    """Homes whose every reading is known."""

    homes: int
    """How many there are."""
    days: float
    """For how many days they are sent."""
    start: str = "2022-03-10"
    """The first day that is sent. Clocks go forward on the 27th of March, and back on the 30th of October."""
    seed: int = 1
    """What readings and faults are drawn from."""
    faulty: float = 0.05
    """Which share of the meters something is wrong with."""
    rate: float = 1.0
    """How often something goes wrong with batches, as a share of how often it does in a short run."""
    names: tuple[str, ...] = field(default=(), init=False)
    """The roster, and then strangers."""

    def __post_init__(self) -> None:
        names = [f"home-{number:04}" for number in range(self.homes)]
        object.__setattr__(self, "names", (*names, *(f"stranger-{number}" for number in range(STRANGERS))))

    @property
    def roster(self) -> tuple[str, ...]:
        """The homes on it."""
        return self.names[: self.homes]

    @cached_property
    def grid(self) -> dn.Grid:
        """Steps are counted from the beginning of the history."""
        first = datetime.fromisoformat(self.start) - timedelta(days=HISTORY)
        return dn.Grid(slots=SLOTS, minutes=MINUTES, zone=ZONE, anchor=first.isoformat(timespec="minutes"))

    @cached_property
    def begin(self) -> datetime:
        """When the first half hour begins that is sent."""
        return datetime.fromisoformat(self.start).replace(tzinfo=ZoneInfo(ZONE)).astimezone(UTC)

    @cached_property
    def half_hours(self) -> int:
        """How many of them are sent, to the end of the last day by the homes' own clock."""
        last = datetime.fromisoformat(self.start) + timedelta(days=self.days)
        return (last.replace(tzinfo=ZoneInfo(ZONE)).astimezone(UTC) - self.begin) // HALF_HOUR

    @cached_property
    def odd_steps(self) -> frozenset[int]:
        """Steps that the wall clock of the homes skips or shows twice: they are on the calendar."""
        zone, first = ZoneInfo(ZONE), datetime.fromisoformat(self.grid.anchor)
        walls = ((step, first + step * HALF_HOUR) for step in range(SLOTS * (HISTORY + int(self.days) + 90)))
        return frozenset(step for step, wall in walls if _offset(wall, zone, 0) != _offset(wall, zone, 1))

    @cached_property
    def usual(self) -> Integers:
        """What each home used at each slot of every day of the history: a row a slot, a column a home."""
        return np.random.default_rng(self.seed).integers(300, 700, size=(SLOTS, self.homes))

    def history(self) -> dn.Panel:
        """The days before the first one that is sent, all alike, so that nobody need average them."""
        readings = np.tile(self.usual, (HISTORY, 1))
        return dn.Panel.from_array(readings, households=self.roster, grid=self.grid)

    def readings(self, number: int) -> Integers:
        """What every home used in a half hour since the beginning."""
        moves = np.random.default_rng((self.seed, number)).integers(-200, 200, size=self.homes)
        found: Integers = self.usual[number % SLOTS] + moves
        return found

    def honest(self, number: int) -> Batch:
        """The batch in which a half hour is sent if nothing goes wrong."""
        since = self.begin + number * HALF_HOUR
        return Batch(
            at=since + HALF_HOUR + SOON,
            key=f"{number}",
            homes=np.arange(self.homes),
            times=np.full(self.homes, int(since.timestamp())),
            values=self.readings(number) * MILLI,
            meters=np.zeros(self.homes, dtype=np.int64),
        )

    def table(self, batch: Batch) -> pa.Table:
        """A batch as it is sent."""
        times = batch.times.astype("datetime64[s]")
        columns = {
            "household": _texts(batch.homes, self.names),
            "time": pa.array(times, pa.timestamp("s", None if batch.is_wall else "UTC")),
        }
        if batch.meters.any():
            columns["meter"] = _texts(batch.meters, ("M0", "M1"))
        whole, rest = np.divmod(batch.values, MILLI)
        if rest.any():
            columns["wh"] = pa.array([f"{a}.{b:03}" for a, b in zip(whole.tolist(), rest.tolist(), strict=True)])
        else:
            columns["wh"] = pa.array(whole)
        return pa.table(columns)


def _offset(wall: datetime, zone: ZoneInfo, fold: int) -> timedelta | None:
    return wall.replace(tzinfo=zone, fold=fold).utcoffset()


def _texts(numbers: Integers, names: tuple[str, ...]) -> pa.Array:
    """Names by number; a batch tells of no others than are in it."""
    used, where = np.unique(numbers, return_inverse=True)
    texts = pa.array([names[number] for number in used.tolist()], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(where.astype(np.int32)), texts)
