"""Oracle: which rows must be out, when, and with which readings.

It is written from the rules alone, and shares no code with what it judges. It knows every row that was sent. Of
each home and step it keeps the first reading that came in time; a row is the sum of these, with what a home usually
uses in place of a reading that is missing. For streams that wait for a whole day it borrows the public basis, and
nothing else.

The rules:

1. What is dated before the stream, or begins more than five minutes from now, is set aside; if nothing else came,
   the batch is refused. So is one that contradicts itself, that is in another unit (`judge`), or that leaves no
   reading.
2. The first reading of a home and step counts. For a step that is closed it is late.
3. A step closes when every home is there; or when a tenth of them is (half of them, far from all that was sent and
   from now), and as many have sent a step that is later by the grace.
4. Two days after its end, and after readings of its day began to come (or after the fleet reached that day), a step
   is closed with what is there, even if nobody sent it. But what the fleet never reached, in a past that is filled
   in, is dropped.
5. The hours that a clock change skips or doubles have no rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.fleet.desk import Answer, Became
from benchmarks.fleet.judge import Judge
from benchmarks.fleet.town import DOMAIN, HALF_HOUR, HISTORY, MILLI, SLOTS, ZONE, Batch, Town
from diurnal.readings.data import Integers, Marks

TWO_DAYS, TOLERANCE = timedelta(days=2), timedelta(minutes=5)
FIRST = HISTORY * SLOTS
"""The first step that is reported."""
MISSING = -1
SECONDS = 1800
ROOM = 5_000_000
"""How many cells of homes and steps a batch may span, however few of them it fills."""

BEFORE, AHEAD, FAR = "before_stream", "ahead_of_clock", "far_from_others"
NEVER, OFF_GRID, CALENDAR = "skipped_hour", "off_grid", "on_calendar"
SAME, OTHER_METER, OUTSIDE = "duplicate_same", "other_meter_missing", "outside_domain"
STRANGER, LATE, HELD = "unknown_household", "late", "held_before"
PUBLISHED, STRAY, AGAIN = "steps_published_before", "ahead_of_homes", "batches_sent_again"


class Wall:
    """What the wall clock of the homes shows, and back."""

    def __init__(self, town: Town) -> None:
        self._zone = ZoneInfo(ZONE)
        self._anchor = datetime.fromisoformat(town.grid.anchor).replace(tzinfo=UTC)
        self._shown: dict[tuple[int, bool], tuple[int, bool]] = {}

    def shown(self, second: int, is_wall: bool) -> tuple[int, bool]:
        """Seconds of the wall clock since step 0, and whether the clock never shows that."""
        if (second, is_wall) not in self._shown:
            never = False
            if is_wall:
                wall = datetime.fromtimestamp(second, UTC)
                never = _offset(wall, self._zone, 0) < _offset(wall, self._zone, 1)
            else:
                wall = datetime.fromtimestamp(second, self._zone).replace(tzinfo=UTC)
            if len(self._shown) > 10_000:
                self._shown.clear()
            self._shown[second, is_wall] = int((wall - self._anchor).total_seconds()), never
        return self._shown[second, is_wall]

    def step(self, moment: datetime) -> int:
        """The step that is going on at a moment."""
        return self.shown(int(moment.timestamp()), False)[0] // SECONDS

    def moment(self, step: int) -> datetime:
        """When a step begins."""
        wall = (self._anchor + step * HALF_HOUR).replace(tzinfo=self._zone)
        return wall.astimezone(UTC)


def _offset(wall: datetime, zone: ZoneInfo, fold: int) -> timedelta:
    return wall.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta(0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Read:
    """What an import must make of a batch."""

    refused: str | None = None
    """The kind of error, if all of it is refused."""
    aside: Counter[str] = field(default_factory=Counter)
    """Rows that are no readings, by reason."""
    steps: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    homes: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    seen: tuple[Integers, ...] = ()
    """Homes, steps and thousandths of all readings, those outside the domain among them."""


class Importer:
    """What must become of rows before any stream sees them."""

    def __init__(self, town: Town, wall: Wall) -> None:
        self._town, self._wall = town, wall
        self._odd = np.array(sorted(town.odd_steps), dtype=np.int64)

    def read(self, batch: Batch, now: datetime) -> Read:
        """What an import must make of a batch."""
        times, where = np.unique(batch.times, return_inverse=True)
        shown = [self._wall.shown(second, batch.is_wall) for second in times.tolist()]
        walls = np.array([wall for wall, _ in shown], dtype=np.int64)[where]
        never = np.array([gone for _, gone in shown], dtype=bool)[where]
        steps = walls // SECONDS
        before, ahead = steps < FIRST, steps > self._wall.step(now + TOLERANCE)
        if (before | ahead).all():
            return Read(refused="ClockError" if ahead.any() else "ReadingsError")
        aside = Counter[str]()
        left = np.ones(len(batch), dtype=bool)
        far = self._far(batch, walls, ~(before | ahead))
        reasons = {
            NEVER: never,
            BEFORE: before,
            AHEAD: ahead,
            FAR: far,
            OFF_GRID: walls % SECONDS != 0,
            CALENDAR: np.isin(steps, self._odd),
        }
        for reason, marks in reasons.items():
            aside[reason] += int(np.count_nonzero(left & marks))
            left &= ~marks
        return self._added(batch, steps, left, aside)

    def _far(self, batch: Batch, walls: Integers, inside: Marks) -> Marks:
        """Rows that are days from all others, if a table of homes and steps would be huge and empty with them."""
        kept, homes = inside.copy(), len(np.unique(batch.homes))
        while True:
            days = np.unique(walls[kept] // 86_400)
            cuts = np.flatnonzero(np.diff(days) > 2)
            cells = homes * ((int(walls[kept].max()) - int(walls[kept].min()) + SECONDS) // SECONDS)
            if not len(cuts) or cells <= ROOM or 100 * np.count_nonzero(kept) >= cells:
                return inside & ~kept
            low = kept & (walls // 86_400 <= days[cuts[0]])
            high = kept & (walls // 86_400 > days[cuts[-1]])
            kept &= ~(low if np.count_nonzero(low) < np.count_nonzero(high) else high)

    def _added(self, batch: Batch, steps: Integers, left: Marks, aside: Counter[str]) -> Read:
        """One reading a home and step: all meters of the home that were sent, added."""
        cell = (batch.homes * 4 + batch.meters) * 10**7 + steps
        order = np.flatnonzero(left)
        first, places = np.unique(cell[order], return_index=True)
        if len(first) < len(order):
            rows = order[places]
            values = dict(zip(first.tolist(), batch.values[rows].tolist(), strict=True))
            if any(values[c] != v for c, v in zip(cell[order].tolist(), batch.values[order].tolist(), strict=True)):
                return Read(refused="ReadingsError")
            aside[SAME] += len(order) - len(rows)
            order = np.sort(rows)
        homes, steps, values_ = batch.homes[order], steps[order], batch.values[order]
        if batch.meters.any():
            homes, steps, values_, n_rows = self._meters(batch, homes, steps, values_, batch.meters[order], aside)
        else:
            n_rows = np.ones(len(homes), dtype=np.int64)
        whole = _half_even(values_)
        above = int(n_rows[whole > DOMAIN[1]].sum())
        good = (whole >= DOMAIN[0]) & (whole <= DOMAIN[1])
        aside[OUTSIDE] += int(n_rows[~good].sum())
        if not good.any():
            return Read(refused="UnitError" if 2 * above > aside.total() else "ReadingsError")
        seen = (homes, steps, values_)
        return Read(aside=+aside, steps=steps[good], homes=homes[good], values=whole[good], seen=seen)

    @staticmethod
    def _meters(
        batch: Batch, homes: Integers, steps: Integers, values: Integers, meters: Integers, aside: Counter[str]
    ) -> tuple[Integers, Integers, Integers, Integers]:
        """Several meters of a home are added, where all of them are there that were in the batch."""
        wanted = np.zeros(int(batch.homes.max()) + 1, dtype=np.int64)
        pairs = np.unique(np.stack([batch.homes, batch.meters]), axis=1)
        np.add.at(wanted, pairs[0], 1)
        cells, where = np.unique(np.stack([homes, steps]), axis=1, return_inverse=True)
        n_rows = np.bincount(where.ravel(), minlength=cells.shape[1])
        sums = np.zeros(cells.shape[1], dtype=np.int64)
        np.add.at(sums, where.ravel(), values)
        whole = n_rows == wanted[cells[0]]
        aside[OTHER_METER] += int(n_rows[~whole].sum())
        return cells[0][whole], cells[1][whole], sums[whole], n_rows[whole]


def _half_even(values: Integers) -> Integers:
    """Thousandths rounded to whole numbers, ties to the even one."""
    return np.array([round(value / MILLI) for value in values.tolist()], dtype=np.int64)


class Oracle:
    """What one stream must say."""

    def __init__(
        self,
        town: Town,
        wall: Wall,
        *,
        grace: int,
        patience: timedelta,
        of_day: Callable[[Integers], Iterable[int]] | None = None,
    ) -> None:
        """Know a stream.

        Args:
            town: The homes.
            wall: Their clock.
            grace: How many steps it waits for what is late.
            patience: How long nobody may look at deadlines.
            of_day: What a stream that waits for whole days says of a day's sums of deviations from the usual.
        """
        self._town, self._wall, self._grace, self._patience, self._of_day = town, wall, grace, patience, of_day
        self.open: dict[int, Integers] = {}
        """Of steps that are open, the first reading of each home that came."""
        self.shut: dict[int, Integers] = {}
        """The same of steps that are closed, and wait for others of their day."""
        self.out: dict[int, int] = {}
        """What is out, and when a row."""
        self.counts = Counter[str]()
        """What the custodian must be told."""
        self.taken = 0
        """How many readings were taken."""
        self.used = 0
        """How many readings are in rows that are out."""
        self.latest_close = timedelta(0)
        """How long after its end a step was out, at the most."""
        self._over: set[int] = set()
        self._enough: set[int] = set()
        self._reached = -1
        self._began: dict[int, tuple[datetime, bool]] = {}

    @property
    def held(self) -> set[int]:
        """Steps of which readings must be held, and no others."""
        return {*self.open, *self.shut}

    @property
    def days_over(self) -> set[int]:
        """Days of which every row is out: nothing else may be left of them."""
        return self._over

    def again(self) -> None:
        """A batch came again, and nothing happens."""
        self.counts[AGAIN] += 1

    def take(self, read: Read, now: datetime) -> tuple[Became, set[int]]:
        """What must become of readings, and which steps are out with them."""
        aside, taken = Counter[str](), 0
        mine = read.homes < self._town.homes
        aside[STRANGER] += int(np.count_nonzero(~mine))
        fresh = []
        for step in np.unique(read.steps[mine]).tolist():
            rows = mine & (read.steps == step)
            homes, values = read.homes[rows], read.values[rows]
            if step in self.out or step in self.shut:
                aside[LATE] += len(homes)
                aside[PUBLISHED] += step in self.out
                continue
            there = self.open.setdefault(step, np.full(self._town.homes, MISSING))
            new = there[homes] == MISSING
            there[homes[new]] = values[new]
            taken += int(np.count_nonzero(new))
            aside[HELD] += int(np.count_nonzero(~new))
            fresh.append(step)
        out = self._close(self._due_by_what_came(fresh, now), now)
        self.counts += aside
        self.taken += taken
        return Became(rows=len(out), taken=taken, aside=dict(+aside)), out

    def _due_by_what_came(self, fresh: list[int], now: datetime) -> set[int]:
        """Steps that close by what was sent (rule 3)."""
        homes, whole = self._town.homes, set()
        for step in fresh:
            heard = int(np.count_nonzero(self.open[step] != MISSING))
            reach = SLOTS + self._grace
            near_fleet = step <= max(self._reached, FIRST) + reach
            near_now = step >= self._wall.step(now + TOLERANCE) - reach
            if heard >= homes / (10 if near_fleet or near_now else 2):
                self._enough.add(step)
                self._reached = max(self._reached, step)
            if heard == homes:
                whole.add(step)
        for step in fresh:
            day, is_reached = step // SLOTS, step in self._enough
            if day not in self._began or (is_reached and not self._began[day][1]):
                self._began[day] = now, is_reached
        enough = {step for step in self._enough if step in self.open and step <= self._reached - self._grace}
        return whole | enough

    def tick(self, now: datetime) -> set[int]:
        """Which steps are out because their deadline has passed (rule 4)."""
        due, dropped = set(), []
        for day, (since, is_reached) in self._began.items():
            steps = range(max(FIRST, day * SLOTS), (day + 1) * SLOTS)
            if now < since + TWO_DAYS or now < self._wall.moment(steps.start + 1) + TWO_DAYS:
                continue
            is_past = since > self._wall.moment(steps.stop) + TWO_DAYS
            if is_past and not is_reached and day * SLOTS > self._reached:
                dropped.append(day)
                continue
            ended = (step for step in steps if now >= self._wall.moment(step + 1) + TWO_DAYS)
            due |= {step for step in ended if self._is_wanted(step)}
        for day in dropped:
            self._drop(day)
        return self._close(due, now)

    def _drop(self, day: int) -> None:
        del self._began[day]
        for step in [step for step in self.open if step // SLOTS == day]:
            gone = int(np.count_nonzero(self.open.pop(step) != MISSING))
            self.counts[STRAY] += gone
            self.taken -= gone

    def _is_wanted(self, step: int) -> bool:
        return step not in self._town.odd_steps and step not in self.out and step not in self.shut

    def _close(self, steps: set[int], now: datetime) -> set[int]:
        """Close steps. Returns those whose rows are out with them."""
        nobody = np.full(self._town.homes, MISSING)
        for step in sorted(steps):
            self.shut[step] = self.open.pop(step, nobody)
            self._enough.discard(step)
        out = set()
        for day in {step // SLOTS for step in steps}:
            steps_of_day = range(max(FIRST, day * SLOTS), (day + 1) * SLOTS)
            wanted = [step for step in steps_of_day if step not in self._town.odd_steps]
            whole = all(step in self.shut or step in self.out for step in wanted)
            ready = [step for step in wanted if step in self.shut and (whole or self._of_day is None)]
            self._publish(day, ready, now)
            out |= set(ready)
            if whole:
                self._over.add(day)
                self._began.pop(day, None)
        return out

    def _publish(self, day: int, steps: list[int], now: datetime) -> None:
        moves, usual = np.zeros(SLOTS, dtype=np.int64), self._town.usual
        for step in steps:
            there, slot = self.shut.pop(step), step % SLOTS
            came = there != MISSING
            moves[slot] = int(there[came].sum()) - int(usual[slot, came].sum())
            self.used += int(np.count_nonzero(came))
            end = self._wall.moment(step + 1)
            assert now >= end, f"step {step} closes before it has ended"
            since = max(end, self._began[day][0])
            last = since if self._of_day is None else max(since, self._wall.moment((day + 1) * SLOTS))
            assert now <= last + TWO_DAYS + self._patience, f"step {step} closes after its deadline"
            self.latest_close = max(self.latest_close, now - end)
        said = moves.tolist() if self._of_day is None or not steps else list(self._of_day(moves))
        for step in steps:
            self.out[step] = int(usual[step % SLOTS].sum()) + int(said[step % SLOTS])


def _told(reason: str) -> str:
    """What rows that an import set aside are counted as."""
    if reason == "ahead_of_clock":
        return reason
    return f"batch_{'duplicate' if reason.startswith('duplicate') else reason}"


def expected(
    read: Read, oracles: dict[str, Oracle], judges: dict[str, Judge], now: datetime
) -> tuple[Answer, dict[str, set[int]]]:
    """How a batch must be answered, and which steps are out with it in each stream."""
    town = next(iter(oracles.values()))._town
    if read.refused or not (read.homes < town.homes).any():
        return Answer(refused=read.refused or "ReadingsError"), {}
    known = read.seen[0] < town.homes
    # Streams judge one after the other, until one refuses.
    if any(judges[name].refuses(*(each[known] for each in read.seen)) for name in oracles):
        return Answer(refused="UnitError"), {}
    found = {name: oracle.take(read, now) for name, oracle in oracles.items()}
    became = {name: each for name, (each, _) in found.items()}
    for oracle in oracles.values():
        for reason, number in read.aside.items():
            oracle.counts[_told(reason)] += number
    return Answer(beyond=dict(read.aside), streams=became), {name: out for name, (_, out) in found.items()}
