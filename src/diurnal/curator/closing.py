"""Closing: when a step takes no more readings. Rules over counts and times; nothing here sees a reading.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from diurnal.curator.records import StreamRecord

TOLERANCE = timedelta(minutes=5)
"""How far a clock may be ahead of the store's: a step that begins later has not come yet."""

AHEAD = "ahead of the clock"
"""The counter of readings of steps that have not come yet."""

STRAY = "ahead of the other homes, and dropped"
"""The counter of readings that waited, until their deadline, for a roster that never came."""

FEW, HALF = 10, 2
"""One in how many households must be there for a step to count as reached: nearby, and far ahead."""


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
class Arrival:
    """When readings of a cycle began to come."""

    cycle: int
    """The cycle."""
    time: datetime
    """When the first of them came; or, once the roster has reached the cycle, when it did."""
    reached: bool
    """Whether the roster has reached it."""


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
