"""Placing: which household and which second of the wall clock a staged row belongs to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from diurnal.errors import ClockError, ReadingsError
from diurnal.readings import quality
from diurnal.readings.clock import DAY, Clock
from diurnal.readings.data import Integers, Marks
from diurnal.readings.options import Options
from diurnal.readings.progress import Progress
from diurnal.readings.resampling import PLACED
from diurnal.readings.roster import FOREVER, Roster
from diurnal.readings.spill import Records
from diurnal.readings.stage import Stage

ISLAND = 2
"""How many days may lie between rows that belong together."""

ROOM = 5_000_000
"""How many cells a grid may have, however few of them rows fill."""


@dataclass(frozen=True, kw_only=True)
class Placing:
    """Where staged rows go."""

    roster: Roster
    instants: bool
    """Whether staged times are moments of the world."""
    source_clock: Clock | None
    """The clock of staged times, where it is another one than the panel's."""
    clock: Clock
    """The panel's clock."""
    minutes: int
    """How long a row lasts that does not say so itself."""
    ends: bool
    """Whether times say when an interval ends."""
    anchor: int = 0
    """When step 0 begins, by the panel's clock."""
    until: int = 0
    """When the last step ends, by the panel's clock."""
    window: tuple[int, int] | None = None
    """Between which times rows may start, by the panel's clock; None where every time is welcome."""

    @classmethod
    def of(cls, stage: Stage, options: Options) -> Placing:
        """Find out who is there, how long rows last, and when the panel begins and ends.

        Raises:
            ReadingsError: Rows do not say how long they last, are longer than a step, or leave no whole step.
        """
        zone, instants = stage.format.zone, bool(stage.instants)
        other = zone is not None and zone != options.zone and not instants
        given = [moment for moment in (options.anchor, options.until) if moment is not None]
        first, last = min([stage.first, *given]), max([stage.last, *given])
        if options.window is not None:
            # What lies far outside is set aside, whatever clocks showed then: a row of 1970 or 2170 among today's
            # would have every day looked up since, or until then.
            low, high = options.window[0] - DAY, options.window[1] + DAY
            first, last = min(max(first, low), high), max(min(last, high), low)
        placing = cls(
            roster=Roster.of(stage.meters, options.meters),
            instants=instants,
            source_clock=Clock.of(str(zone), first, last) if other else None,
            clock=Clock.of(options.zone, first, last),
            minutes=_row_minutes(stage, options.minutes),
            ends=stage.format.label == "end",
            window=options.window,
        )
        anchor, until = _span(*_extent(stage, placing, options), options)
        roster = placing.roster
        if options.meters is not None:
            roster = roster.with_terms(options.meters, anchor)
        return replace(placing, anchor=anchor, until=until, roster=roster)

    @property
    def knows_second_showings(self) -> bool:
        """Whether a doubled hour's first showing is told from its second by the times themselves."""
        return self.instants or self.source_clock is not None

    def starts(self, rows: Records) -> tuple[Integers, Marks]:
        """When each row's interval starts by the panel's clock, and whether that is a second showing."""
        seconds = rows["seconds"]
        if self.ends:
            seconds = seconds - 60 * self.lengths(rows)
        if self.source_clock is not None:
            seconds = self.source_clock.moments(seconds)
        if self.knows_second_showings:
            return self.clock.wall(seconds)
        return seconds, np.zeros(len(rows), dtype=bool)

    def lengths(self, rows: Records) -> Integers:
        """How many minutes each row lasts."""
        return np.where(rows["minutes"] > 0, rows["minutes"], self.minutes)

    def place(self, rows: Records) -> tuple[Records, dict[str, int]]:
        """The rows in their places, and how many lie outside the panel's span, by reason."""
        wall, second = self.starts(rows)
        never = self._never_was(rows)
        masks = {quality.NEVER: never, **self._outside(wall, ~never)}
        inside = ~np.logical_or.reduce(list(masks.values()))
        if not inside.all():
            rows, wall, second = rows[inside], wall[inside], second[inside]
        placed = np.empty(len(rows), dtype=PLACED)
        placed["value"] = rows["value"]
        placed["seconds"] = wall - self.anchor
        placed["meter"] = self.roster.meter[rows["meter"]]
        placed["minutes"] = self.lengths(rows)
        placed["second"] = second
        counts = {reason: int(np.count_nonzero(mask)) for reason, mask in masks.items()}
        return placed, {reason: count for reason, count in counts.items() if count}

    def _outside(self, wall: Integers, among: Marks) -> dict[str, Marks]:
        """Which rows start outside the panel's span, by reason."""
        early, late = among & (wall < self.anchor), among & (wall >= self.until)
        if self.window is None:
            return {quality.EARLY: early, quality.AFTER: late}
        start, stop = self.window
        before, ahead = among & (wall < start), among & (wall >= stop)
        return {quality.BEFORE: before, quality.AHEAD: ahead, quality.FAR: (early | late) & ~(before | ahead)}

    def ambiguous(self) -> list[tuple[int, int]]:
        """Spans of the panel's clock in which a row without an offset may be of either of two moments.

        By the panel's own clock the order of rows tells the two showings of an hour apart. By another clock it does
        not; nor does it where times are ends, since the first and the second showing of an end are of rows that
        begin in different hours.
        """
        before = 60 * self.minutes if self.ends else 0
        if self.source_clock is not None:
            return [self._shown(start - before, stop) for start, stop in self.source_clock.doubled_moments()]
        if self.instants or not self.ends:
            return []
        return [(start - before, stop) for start, stop in self.clock.doubled()]

    def _shown(self, start: int, stop: int) -> tuple[int, int]:
        """What the panel's clock shows between two moments, from the least to the largest."""
        wall, _ = self.clock.wall(np.arange(start, stop, 60))
        return int(wall.min()), int(wall.max()) + 60

    def _never_was(self, rows: Records) -> Marks:
        """Which rows claim a time that their clock skipped."""
        never = np.zeros(len(rows), dtype=bool)
        if not self.instants:
            seconds = rows["seconds"] - (60 * self.lengths(rows) if self.ends else 0)
            for start, stop in (self.source_clock or self.clock).skipped():
                never |= (seconds >= start) & (seconds < stop)
        return never


def _row_minutes(stage: Stage, step: int) -> int:
    """How long a row lasts that does not say so itself."""
    minutes = stage.format.minutes
    if minutes is None:
        gap = _smallest_gap(stage)
        if gap is None or gap % 60:
            raise ReadingsError("row-length-unknown")
        minutes = gap // 60
    if minutes > step:
        raise ReadingsError("row-length-uneven", minutes=minutes, steps=step)
    return minutes


def _smallest_gap(stage: Stage) -> int | None:
    """The smallest step between two times, in seconds; None if there is only one time."""
    times = np.zeros(0, dtype=np.int64)
    with Progress("Looking at times", len(stage)) as bar:
        for batch in stage.spill.batches():
            times = np.union1d(times, batch["seconds"])
            bar.advance(len(batch))
    return int(np.diff(times).min()) if len(times) > 1 else None


def _extent(stage: Stage, placing: Placing, options: Options) -> tuple[int, int]:
    """When the first row starts and the last one ends, by the panel's clock, of those that a panel is made for.

    Raises:
        ClockError: Every row starts after the window that the stream leaves open.
    """
    days: dict[int, _Day] = {}
    ahead = 0
    with Progress("Looking at times", len(stage)) as bar:
        for batch in stage.spill.batches():
            wall = placing.starts(batch)[0]
            ends = wall + 60 * placing.lengths(batch)
            if placing.window is not None:
                start, stop = placing.window
                ahead += int(np.count_nonzero(wall >= stop))
                inside = (wall >= start) & (wall < stop)
                wall, ends = wall[inside], ends[inside]
            _add_days(days, wall, ends)
            bar.advance(len(batch))
    if not days:
        _refuse_all(len(stage), ahead)
    kept = _near_each_other(days, len(placing.roster.households), options)
    return min(day.first for day in kept), max(day.last for day in kept)


@dataclass
class _Day:
    """The rows of a day."""

    number: int
    rows: int
    first: int
    last: int


def _add_days(days: dict[int, _Day], starts: Integers, ends: Integers) -> None:
    numbers, where = np.unique(starts // DAY, return_inverse=True)
    for place, number in enumerate(numbers.tolist()):
        mine = where == place if len(numbers) > 1 else slice(None)
        found = _Day(number, len(starts[mine]), int(starts[mine].min()), int(ends[mine].max()))
        known = days.setdefault(number, found)
        if known is not found:
            known.rows += found.rows
            known.first, known.last = min(known.first, found.first), max(known.last, found.last)


def _refuse_all(rows: int, ahead: int) -> NoReturn:
    if ahead:
        raise ClockError("rows-not-placed", rows=ahead)
    raise ReadingsError("rows-before-stream", rows=rows)


def _near_each_other(days: dict[int, _Day], households: int, options: Options) -> list[_Day]:
    """The days that a panel for a stream is made of: without stray ones, if these would make it huge and empty.

    A meter whose clock has fallen back to 1970 sends rows among those of all others. Islands of days at either end
    are left out, the one with fewer rows first, until the rows fill the panel well enough.
    """
    kept = [days[number] for number in sorted(days)]
    if not options.from_first_row:
        return kept
    islands: list[list[_Day]] = []
    for day in kept:
        if islands and day.number - islands[-1][-1].number <= ISLAND:
            islands[-1].append(day)
        else:
            islands.append([day])
    while len(islands) > 1:
        steps = (islands[-1][-1].last - islands[0][0].first) // (60 * options.minutes)
        rows = sum(day.rows for island in islands for day in island)
        if is_filled(households, steps, rows):
            break
        first, last = (sum(day.rows for day in islands[end]) for end in (0, -1))
        islands.pop(0 if first < last else -1)
    return [day for island in islands for day in island]


def is_filled(households: int, steps: int, rows: int, least: int = 100) -> bool:
    """Whether rows fill a grid well enough: one wrong date would make it decades long."""
    return households * steps <= ROOM or rows >= households * steps // least


def _span(first: int, last: int, options: Options) -> tuple[int, int]:
    """When the panel begins and ends: with the first complete local day, and with the last row."""
    step = 60 * options.minutes
    start = first // step * step if options.from_first_row else -(-first // DAY) * DAY
    anchor = start if options.anchor is None else options.anchor
    until = anchor + -(-(last - anchor) // step) * step if options.until is None else options.until
    if not 0 < until - anchor < FOREVER or (until - anchor) % step:
        raise ReadingsError("panel-span")
    return anchor, until
