"""Closing: what is open of a stream, and when a step takes no more readings. Pure: nothing here knows a store.

The rules are functions of counts and times (`Known`); none looks at a reading.

A step closes by what was sent when

- every household is there that it waits for; or
- enough of them are there, and readings later by the plan's `grace` have come of enough of them.

Enough is a tenth of the households; half of them for a step that is more than a cycle ahead of what the roster has
reached, and not near the clock either. So a few meters whose clocks are wrong close nothing, and a step that nobody
has sent is never closed by what was sent.

What is left closes by the clock. Two days (the plan's `deadline`) after a step has ended, and after readings of its
cycle have begun to come if that is later, it is closed with what is there. Old readings can be filled in so, at
their own pace. "Now" is the clock of the store, which tests and simulations replace, and never a sender's: what is
of a time that has not come yet is set aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from diurnal.private import Private
from diurnal.readings.data import Integers, Marks
from diurnal.readings.grid import changed_steps

if TYPE_CHECKING:
    from diurnal.curator.started_plan import StreamRecord


TOLERANCE = timedelta(minutes=5)
"""How far a clock may be ahead of the store's: a step that begins later has not come yet."""

AHEAD = "ahead_of_clock"
"""The counter of readings of steps that have not come yet."""

STRAY = "ahead_of_homes"
"""The counter of readings that waited, until their deadline, for a roster that never came."""

FEW, HALF = 10, 2
"""One in how many households must be there for a step to count as reached: nearby, and far ahead."""


Values = tuple[Fraction, ...]
"""The released values of a step, in the order of a plan's series and groups."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldStep(Private):
    """Readings of an open step. Private."""

    readings: Integers = field(repr=False)
    """A reading for each household of the roster."""
    present: Marks = field(repr=False)
    """Where there is one."""
    closed: bool
    """Whether it takes no more."""
    reached: bool = False
    """Whether enough readings are there for it to close by what is sent."""


class Mark(NamedTuple):
    """How a step is held."""

    closed: bool
    """Whether it takes no more."""
    reached: bool
    """Whether enough readings are there for it to close by what is sent."""


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """When readings of a cycle began to come."""

    cycle: int
    """The cycle."""
    time: datetime
    """When the first of them came; or, once the roster has reached the cycle, when it did."""
    reached: bool
    """Whether the roster has reached it."""


Noise = Mapping[str, Sequence[int]]
"""The noise of a cycle, by group."""


class Opened(NamedTuple):
    """What a store knows of a stream that is open."""

    latest: int
    """The latest step that the roster has reached; -1 before there was one."""
    arrivals: dict[int, Arrival]
    """When readings of a cycle began to come, by cycle."""
    held: dict[int, Mark]
    """How steps are held."""
    noisy: frozenset[int]
    """Cycles whose noise is kept."""
    contents: frozenset[int]
    """Cycles of which it is known in which batch their readings came."""
    published: set[int]
    """Which steps have rows, of all these cycles and of those that were asked for."""


@dataclass(kw_only=True, repr=False)
class Changes(Private):
    """What becomes of a stream's open state."""

    latest: int
    """The latest step that the roster has reached."""
    arrivals: dict[int, Arrival | None] = field(default_factory=dict)
    """Arrivals by cycle; None where they are forgotten."""
    held: dict[int, HeldStep | None] = field(default_factory=dict)
    """What is held of a step from now on; None where it is erased."""
    noise: dict[int, Noise | None] = field(default_factory=dict)
    """Noise that was drawn, by cycle; None where the cycle is over and it is erased, or was never written."""
    forgotten: set[int] = field(default_factory=set)
    """Cycles of which it is no longer known in which batch their readings came."""


def ahead_from(record: StreamRecord, now: datetime) -> int:
    """The first step that has not come yet."""
    return record.plan.grid.step_at(now + TOLERANCE) + 1


@dataclass(frozen=True, kw_only=True)
class Reached:
    """How far a roster has come."""

    steps: frozenset[int]
    """Those of the given steps of which enough readings are there."""
    latest: int
    """The latest step of which there ever were; -1 before there was one."""


def reached(
    record: StreamRecord, there: Mapping[int, int], *, latest: int, now: datetime, told: bool = False
) -> Reached:
    """How far a roster has come with some more readings.

    Args:
        record: The plan.
        there: How many of the awaited readings are there, of each step that was sent now.
        latest: How far it had come before.
        now: What the store's clock shows.
        told: Whether somebody has said that these steps are to be closed: then a tenth of the most readings of any
            of them is enough, however few of the roster that is.
    """
    grid, ahead = record.plan.grid, ahead_from(record, now)
    near = grid.slots + record.plan.grace
    # A latest step that has not come yet is from a store that believed a wrong clock.
    latest = min(latest, ahead - 1)
    most, found = max(there.values(), default=0), set()
    for step in sorted(there):
        awaited = max(1, int(np.count_nonzero(record.awaited(step))))
        is_near = step <= max(latest, record.first_step) + near or step >= ahead - 1 - near
        enough = min(awaited, most) if told and is_near else awaited
        if there[step] and (FEW if is_near else HALF) * there[step] >= enough:
            found.add(step)
            latest = max(latest, step)
    return Reached(steps=frozenset(found), latest=latest)


@dataclass(frozen=True, kw_only=True)
class Overdue:
    """What a deadline has passed of."""

    closing: Mapping[int, range]
    """By cycle, the steps that are closed with what is there."""
    stray: tuple[int, ...]
    """Cycles of which only readings ahead of all other homes came: these are dropped."""


def overdue(record: StreamRecord, arrivals: Iterable[Arrival], *, latest: int, now: datetime) -> Overdue:
    """What is past its deadline.

    Args:
        record: The plan.
        arrivals: When readings of its open cycles began to come.
        latest: How far the roster has come.
        now: What the store's clock shows.
    """
    grid, wait = record.plan.grid, waits(record)
    since = now - wait
    past = grid.step_at(since)
    closing, stray = {}, []
    for each in arrivals:
        steps = range(each.cycle * grid.slots, (each.cycle + 1) * grid.slots)
        if each.time > since or steps.start >= past:
            continue
        # Readings that came long after their time are of a past that is filled in, where no clock tells which of
        # them are wrong: what the roster has not reached by then waits for nobody.
        filled_in = each.time > since_end(record, steps.stop) + wait
        if steps.start > latest and filled_in and not each.reached:
            stray.append(each.cycle)
        else:
            closing[each.cycle] = range(steps.start, min(steps.stop, past))
    return Overdue(closing=closing, stray=tuple(stray))


def deadline(record: StreamRecord, arrival: Arrival) -> datetime:
    """When a cycle is closed at the latest, if the roster has reached it."""
    stop = (arrival.cycle + 1) * record.plan.grid.slots
    return max(arrival.time, since_end(record, stop)) + waits(record)


def waits(record: StreamRecord) -> timedelta:
    """How long a step waits, at the longest."""
    grid = record.plan.grid
    steps = record.plan.deadline
    return timedelta(days=2) if steps is None else steps * timedelta(minutes=grid.minutes)


def since_end(record: StreamRecord, stop: int) -> datetime:
    """The moment at which a step begins, and the one before it has ended."""
    return datetime.fromisoformat(record.plan.grid.time(stop))


@dataclass(kw_only=True, repr=False)
class Known(Private):
    """What is known of a stream when readings come: counts, marks and times. Everything here is decided from it."""

    record: StreamRecord
    """The started plan."""
    now: datetime
    """What the store's clock shows."""
    calendar: AbstractSet[int]
    """Steps that are never reported."""
    resumes: int
    """The step from which on may be reported, after a fence."""
    latest: int
    """The latest step that the roster has reached; -1 before there was one."""
    arrivals: dict[int, Arrival]
    """When readings of a cycle began to come, by cycle."""
    held: dict[int, Mark]
    """The steps that are held."""
    published: set[int]
    """Which steps have rows, of the cycles that are open or looked at."""

    @property
    def ahead(self) -> int:
        """The first step that has not come yet."""
        return ahead_from(self.record, self.now)

    def cycle(self, cycle: int) -> range:
        """The steps of a cycle."""
        slots = self.record.plan.grid.slots
        return range(cycle * slots, (cycle + 1) * slots)

    def reportable(self, steps: Iterable[int]) -> list[int]:
        """Those of some steps that the stream may report, whether it has or not."""
        first, end = max(self.record.first_step, self.resumes), self.record.last
        return [step for step in steps if first <= step < end and step not in self.calendar]

    def open(self, steps: Iterable[int]) -> set[int]:
        """Those of some steps that may still be reported."""
        return set(self.reportable(steps)) - self.published

    def is_over(self, cycle: int) -> bool:
        """Whether every step of a cycle is published or never will be: nothing but rows may be left of it then."""
        return self.published.issuperset(self.reportable(self.cycle(cycle)))

    def overdue(self) -> Overdue:
        """What is past its deadline."""
        return overdue(self.record, self.arrivals.values(), latest=self.latest, now=self.now)


def skipped(known: Known, sent: Iterable[int]) -> set[int]:
    """Steps that a clock change skips, of cycles that begin to come: nobody will send them.

    A panel that spans the change says so itself; a head-end that sends every half hour has none.
    """
    there = set(sent)
    slots, found = known.record.plan.grid.slots, set[int]()
    for cycle in {step // slots for step in there}:
        found |= changed_steps(known.record.plan.grid, known.cycle(cycle))[0] - there
    return found


def touched(known: Known, steps: set[int]) -> set[int]:
    """Those of some steps that a clock change touches, and of which nothing was sent.

    They go onto the calendar, as imports have it: what is skipped is zero for everybody to see.
    """
    if not steps:
        return set()
    _, changed = changed_steps(known.record.plan.grid, range(min(steps), max(steps) + 1))
    return (steps & changed) - known.held.keys()


def begun(known: Known, sent: Iterable[int], found: Reached) -> list[Arrival]:
    """When readings of cycles began to come, where that is news: from then on their deadlines count."""
    slots = known.record.plan.grid.slots
    there, news = {step // slots for step in found.steps}, []
    for cycle in sorted({step // slots for step in sent}):
        before = known.arrivals.get(cycle)
        if before is None or (cycle in there and not before.reached):
            news.append(Arrival(cycle=cycle, time=known.now, reached=cycle in there))
    return news


def unreportable(known: Known) -> list[int]:
    """Held steps that have gone onto the calendar, or lie behind a fence: they are erased.

    What is held of a published step went into its report, and the rest of its cycle is cut by it: it stays.
    """
    kept = known.published.union(known.reportable(known.held))
    return sorted(known.held.keys() - kept)


def closes(known: Known, complete: AbstractSet[int]) -> set[int]:
    """Which held steps close by what was sent.

    Args:
        known: What is known, with what was sent now.
        complete: Steps of which every awaited reading is there.
    """
    due = known.latest - known.record.plan.grace
    marked = {step for step, mark in known.held.items() if mark.closed or (mark.reached and step <= due)}
    return marked.union(complete)


def told_to_close(known: Known, steps: range, sent: Iterable[int], found: Reached) -> set[int]:
    """Open steps that somebody says are to be closed: those of a panel, and those that are held before its end.

    A row with a wrong date, at either end, closes nothing: where the first or the last step that was sent is not
    one that enough homes have sent, only what lies between those is meant.
    """
    there = set(sent)
    if there and not found.steps:
        return set()
    if there:
        start = steps.start if min(there) in found.steps else min(found.steps)
        steps = range(start, steps.stop if max(there) in found.steps else max(found.steps) + 1)
    steps = range(steps.start, min(steps.stop, known.ahead))
    return known.open(steps) | {step for step in known.held if step < steps.stop}


def due(known: Known, cycle: int, ready: Callable[[int], int], closed: AbstractSet[int]) -> list[int]:
    """Steps of a cycle without values yet, that wait for none which is still open.

    Args:
        known: What is known.
        cycle: The cycle.
        ready: How far into its cycle a slot's value reaches.
        closed: Steps that take no more.
    """
    steps = known.cycle(cycle)
    wanted = sorted(known.open(steps))
    still_open = min((step for step in wanted if step not in closed), default=steps.stop)
    return [step for step in wanted if steps.start + ready(step - steps.start) < still_open]


def runs(steps: list[int]) -> list[range]:
    """Runs of consecutive steps."""
    cuts = [0, *(at for at, (one, two) in enumerate(pairwise(steps), 1) if two != one + 1), len(steps)]
    return [range(steps[a], steps[b - 1] + 1) for a, b in pairwise(cuts) if a < b]


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two spans of steps, each from and up to, have a step in common."""
    return one[0] < other[1] and other[0] < one[1]
