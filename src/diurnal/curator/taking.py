"""Taking: readings that come, and which steps close with them.

When a step closes is decided in `closing`. Until then its readings are held, durably and privately; those of homes
in the lake stay there, and are given again. A missing reading of a closed step counts as
variation zero. What a closed step says is in `publishing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from diurnal.curator import closing, far
from diurnal.curator.closing import AHEAD, STRAY, Arrival
from diurnal.curator.intake import aligned, merged, without_moved
from diurnal.curator.publishing import Publisher, reportable
from diurnal.curator.records import HeldStep, StreamRecord, runs
from diurnal.errors import ClockError, ReadingsError
from diurnal.private import Private
from diurnal.readings.clock import changed_steps
from diurnal.readings.data import Arrays
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Received(Private):
    """What of a panel may be taken. Private."""

    panel: Panel
    """The panel, on the stream's grid and in its roster's order, without what is not for it."""
    fresh: list[int]
    """The steps that were sent and may still be reported."""
    taken: dict[int, HeldStep]
    """What there is of those that take more, with what came before."""
    there: dict[int, int]
    """How many of the awaited readings that is, by step."""
    reached: closing.Reached
    """How far the roster has come with it."""
    waiting: int
    """How many of the readings are of steps ahead of that."""


class Taker:
    """Takes readings for a plan, inside a transaction of the store."""

    def __init__(self, record: StreamRecord, publisher: Publisher, store: Store) -> None:
        self._record, self._publisher, self._store = record, publisher, store
        self._now: datetime = store.now()
        self._ahead = closing.ahead_from(record, self._now)
        self.counts = Counter[str]()
        """What became of what was not taken, for the custodian."""
        self.waiting = 0
        """How many of the readings that were taken wait for the roster to reach their steps."""

    @property
    def at_once(self) -> bool:
        """Whether a step needs nothing but its own readings: it waits neither for later ones nor for its cycle."""
        return not self._record.plan.grace and self._publisher.slot_by_slot

    def take(self, panel: Panel, *, close: bool) -> set[int]:
        """Take readings of open steps, and publish those that close.

        Returns:
            The steps of the panel, and those that closed with them.

        Raises:
            ClockError: All of them are of steps that have not come yet.
        """
        record = self._record
        self._store.close_steps(step for step in panel.on_grid(record.plan.grid).calendar if step < self._ahead)
        came = self.received(panel, close=close)
        self._close_skipped(came.there)
        panel, found, self.waiting = came.panel, came.reached, came.waiting
        self._store.see(record.number, found.latest)
        self._arrive(came.there, found.steps)
        at_once = self.at_once and not close and found.steps.issuperset(came.there)
        if at_once and not self._store.held_steps(record.number):
            self._publisher.publish_given([panel.between(run.start, run.stop) for run in runs(came.fresh)])
            closed = set(came.fresh)
        else:
            closed = self._close(self._held(came.taken, found.steps), found, panel.steps if close else None)
        return closed.union(panel.steps)

    def received(self, panel: Panel, *, close: bool) -> Received:
        """Find out what of a panel may be taken, and count the rest. Writes nothing.

        Raises:
            ClockError: All of its readings are of steps that have not come yet.
        """
        record = self._record
        panel = aligned(record, panel, self.counts)
        panel, outside = panel.within(*record.plan.domain)
        self.counts["outside the domain"] += outside
        panel = self._without_ahead(without_moved(record, panel))
        sent = (np.flatnonzero(panel.present.any(axis=1)) + panel.first_step).tolist()
        published, fresh = self._sorted(sent)
        late = [step - panel.first_step for step in published]
        self.counts["late, and not taken"] += int(np.count_nonzero(panel.present[late])) if late else 0
        taken = self._merged(panel, fresh)
        there = {step: int(np.count_nonzero(each.present & record.awaited(step))) for step, each in taken.items()}
        latest = self._store.latest(record.number)
        found = closing.reached(record, there, latest=latest, now=self._now, told=close)
        ahead = [step - panel.first_step for step in taken if step > found.latest]
        waiting = int(np.count_nonzero(panel.present[ahead])) if ahead else 0
        return Received(panel=panel, fresh=fresh, taken=taken, there=there, reached=found, waiting=waiting)

    def _held(self, taken: Mapping[int, HeldStep], reached: Iterable[int]) -> dict[int, HeldStep]:
        """Keep readings of open steps. Returns what is held of these steps now."""
        marks = set(reached)
        held = {step: replace(each, reached=each.reached or step in marks) for step, each in taken.items()}
        self._store.hold(self._record.number, held)
        return held

    def _close(self, held: Mapping[int, HeldStep], found: closing.Reached, told: range | None) -> set[int]:
        """Publish the steps that close. Returns them."""
        record, number = self._record, self._record.number
        self._drop_unreportable()
        complete = {step for step, each in held.items() if each.present[record.awaited(step)].all()}
        closed = complete | self._store.held_and_reached(number, found.latest - record.plan.grace + 1)
        closed |= {step for step, done in self._store.held_steps(number).items() if done}
        if told is not None:
            closed |= self._without_changes(self._told_to_close(told, held, found))
        return self._publisher.publish_held(closed)

    def _told_to_close(self, steps: range, sent: Iterable[int], found: closing.Reached) -> set[int]:
        """Open steps that somebody says are to be closed: those of a panel, and those that are held before its end.

        A row with a wrong date, at either end, closes nothing: where the first or the last step that was sent is
        not one that enough homes have sent, only what lies between those is meant.
        """
        there = set(sent)
        if there and not found.steps:
            return set()
        if there:
            start = steps.start if min(there) in found.steps else min(found.steps)
            steps = range(start, steps.stop if max(there) in found.steps else max(found.steps) + 1)
        steps = range(steps.start, min(steps.stop, self._ahead))
        held = self._store.held_steps(self._record.number)
        return self._open(steps) | {step for step in held if step < steps.stop}

    def _open(self, steps: range) -> set[int]:
        """Those of some steps that may still be reported."""
        record = self._record
        return set(reportable(record, steps, self._store)) - self._store.published(record.number, steps)

    def _close_skipped(self, sent: Iterable[int]) -> None:
        """Put steps that a clock change skips on the calendar, of cycles that begin to come: nobody will send them.

        A panel that spans the change says so itself; a head-end that sends every half hour has none.
        """
        there = set(sent)
        for cycle in {step // self._record.plan.grid.slots for step in there}:
            never, _ = changed_steps(self._record.plan.grid, self._cycle(cycle))
            self._store.close_steps(never - there)

    def _without_changes(self, steps: set[int]) -> set[int]:
        """Steps without those that a clock change touches, unless something was sent of them.

        These go onto the calendar, as imports have it: what is skipped is zero for everybody to see.
        """
        if not steps:
            return steps
        _, touched = changed_steps(self._record.plan.grid, range(min(steps), max(steps) + 1))
        known = (steps & touched) - self._store.held_steps(self._record.number).keys()
        self._store.close_steps(known)
        return steps - known

    def _without_ahead(self, panel: Panel) -> Panel:
        """The panel without readings of steps that have not come yet."""
        if panel.steps.stop <= self._ahead:
            return panel
        present = panel.present.copy()
        row = max(0, self._ahead - panel.first_step)
        ahead, kept = int(np.count_nonzero(present[row:])), int(np.count_nonzero(present[:row]))
        if ahead and not kept:
            raise ClockError(
                f"All {ahead:,} readings are of times that have not come yet.",
                hint="Check the clock and the time zone of the sender, and the clock of this machine.",
                rows=ahead,
            )
        self.counts[AHEAD] += ahead
        present[row:] = False
        return replace(panel, data=Arrays(np.where(present, panel.readings, 0), present))

    def _arrive(self, sent: Iterable[int], reached: Iterable[int]) -> None:
        """Remember when readings of cycles began to come: from then on their deadlines count."""
        number, slots = self._record.number, self._record.plan.grid.slots
        known = {each.cycle: each for each in self._store.arrivals(number)}
        there = {step // slots for step in reached}
        for cycle in {step // slots for step in sent}:
            before = known.get(cycle)
            if before is None or (cycle in there and not before.reached):
                self._store.arrive(number, Arrival(cycle=cycle, time=self._now, reached=cycle in there))

    def _sorted(self, steps: Sequence[int]) -> tuple[set[int], list[int]]:
        """Those of some steps that were published before, and those that may be now."""
        if not steps:
            return set(), []
        record, span = self._record, range(steps[0], steps[-1] + 1)
        sent = set(steps)
        mine = [step for step in reportable(record, span, self._store) if step in sent]
        published = self._store.published(record.number, span) & sent
        behind = min(record.last, self._store.resumes(record.plan.grid.slots))
        self.counts["steps outside the stream's"] += sum(
            not record.first_step <= step < record.last for step in steps
        )
        self.counts["steps published before"] += len(published)
        self.counts["steps behind a fence"] += sum(
            record.first_step <= step < behind and step not in published for step in steps
        )
        return published, [step for step in mine if step not in published]

    def close_overdue(self) -> set[int]:
        """Publish what is past its deadline with what is there, and drop what waited for nobody. Returns the steps.

        Homes in the lake are given again with all that has come for them: `take_far` sees to theirs.
        """
        if self._record.lake is not None:
            return set()
        found = self._overdue()
        for cycle in found.stray:
            self._drop_stray(cycle)
        due = self._without_changes(set().union(*map(self._open, found.closing.values())))
        return self._publisher.publish_held(due) if due else set()

    def _overdue(self) -> closing.Overdue:
        record, number = self._record, self._record.number
        return closing.overdue(
            record, self._store.arrivals(number), latest=self._store.latest(number), now=self._now
        )

    def _drop_stray(self, cycle: int) -> None:
        number, slots = self._record.number, self._record.plan.grid.slots
        steps = range(cycle * slots, (cycle + 1) * slots)
        held = self._store.held(number, steps)
        self.counts[STRAY] += sum(int(np.count_nonzero(each.present)) for each in held.values())
        self._store.release(number, list(held))
        self._store.forget_arrival(number, cycle)
        self._store.forget_contents(number, cycle)

    def take_far(self, panel: Panel, *, close: bool, again: bool) -> set[int]:
        """Publish the steps that close, of homes in the lake.

        Nothing of them is held here: open steps are to be given again, with all that has come for them.

        Returns:
            The steps of the panel, and those that closed with them.
        """
        record, number = self._record, self._record.number
        given = far.aligned(record, panel)
        self._store.close_steps(step for step in given.calendar if step < self._ahead)
        seen = dict(zip(given.steps, far.seen(record, given).tolist(), strict=True))
        self.counts[AHEAD] += sum(n for step, n in seen.items() if step >= self._ahead)
        published, fresh = self._sorted([step for step, n in seen.items() if n and step < self._ahead])
        there = {step: seen[step] for step in fresh}
        found = closing.reached(record, there, latest=self._store.latest(number), now=self._now, told=close)
        self._store.see(number, found.latest)
        self._arrive(there, found.steps)
        closed = self._closed_far(there, found, given.steps if close else None)
        for cycle in self._overdue().stray:
            self.counts[STRAY] += sum(there.get(step, 0) for step in self._cycle(cycle))
            self._store.forget_arrival(number, cycle)
            there = {step: n for step, n in there.items() if step not in self._cycle(cycle)}
        if not again and not closed.issuperset(there):
            raise ReadingsError(
                "Some of these steps are still open, and steps in the lake are not held.",
                hint="Give them with all of their readings (a cycle's whole), or close them: close=True.",
            )
        settled = self._store.settled(number)
        begin = min([*there.keys() - closed, max([found.latest + 1, *(step + 1 for step in closed)])])
        self._store.settle(number, begin)
        # Rows from there on may have been given, and taken, before.
        late = [step for step in published if settled is None or step < settled]
        self.counts["late, and not taken"] += far.present(record, given, late)
        self.counts["of households not on the roster"] += far.strangers(record, panel, begin)
        if self._publisher.slot_by_slot:
            self._publisher.publish_given([far.spanning(given, run) for run in runs(sorted(closed))])
        else:
            closed = self._publisher.publish_cycles(given, sorted(closed))
        return closed.union(given.steps)

    def _cycle(self, cycle: int) -> range:
        slots = self._record.plan.grid.slots
        return range(cycle * slots, (cycle + 1) * slots)

    def _closed_far(self, there: Mapping[int, int], found: closing.Reached, told: range | None) -> set[int]:
        """Which steps close, of homes in the lake. Cycles whose reports are made as a whole close so."""
        record, slots = self._record, self._record.plan.grid.slots
        due = found.latest - record.plan.grace
        closed = {
            step
            for step, number in there.items()
            if (step in found.steps and step <= due) or number >= np.count_nonzero(record.awaited(step))
        }
        closed |= set().union(*map(self._open, self._overdue().closing.values()))
        if told is not None:
            closed |= self._told_to_close(told, there, found)
            # Of a cycle that is reported as a whole, what came before these steps closes with them.
            for cycle in {step // slots for step in closed} if not self._publisher.slot_by_slot else ():
                closed |= {step for step in self._open(self._cycle(cycle)) if step <= max(closed)}
        if not self._publisher.slot_by_slot:
            whole = (cycle for cycle in {step // slots for step in closed})
            ready = {cycle for cycle in whole if closed.issuperset(self._open(self._cycle(cycle)))}
            closed = {step for step in closed if step // slots in ready}
        return closed

    def reach(self, there: Mapping[int, int]) -> range:
        """Which steps are worth a look, of homes in the lake: so many rows there are of each.

        What is much later and of few homes comes from clocks that are off, and what is much earlier is late.
        """
        record, slots = self._record, self._record.plan.grid.slots
        settled = None if self.at_once else self._store.settled(record.number)
        last = self._store.last_step(record.number)
        known = {step: n for step, n in there.items() if 0 <= step < self._ahead}
        latest = closing.reached(record, known, latest=-1 if last is None else last, now=self._now).latest
        first = record.first_step if settled is None else max(record.first_step, settled - slots)
        stop = max(latest, record.first_step) + slots + record.plan.grace + 1
        return range(first, max(first, min(stop, self._ahead)))

    def _merged(self, panel: Panel, steps: Sequence[int]) -> dict[int, HeldStep]:
        """What there is of open steps: what came before, and what came now."""
        held = self._store.held(self._record.number, panel.steps) if steps else {}
        taken = {}
        for step in steps:
            row = step - panel.first_step
            if step in held and held[step].closed:
                self.counts["late, and not taken"] += int(np.count_nonzero(panel.present[row]))
                continue
            taken[step] = merged(held.get(step), panel.readings[row], panel.present[row], self.counts)
        return taken

    def _drop_unreportable(self) -> None:
        """Erase what is held of steps that have gone onto the calendar, or lie behind a fence.

        What is held of a published step went into its report, and the rest of its cycle is cut by it: it stays.
        """
        record = self._record
        held = self._store.held_steps(record.number)
        if held:
            span = range(min(held), max(held) + 1)
            kept = self._store.published(record.number, span).union(reportable(record, span, self._store))
            self._store.release(record.number, sorted(held.keys() - kept))
