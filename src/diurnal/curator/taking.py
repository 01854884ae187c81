"""Taking: readings that come, and which steps close with them.

When a step closes is decided in `closing`. Until then its readings are held, durably and privately; those of a
cohort that does not hold them are given again. A missing reading of a closed step counts as variation zero. What a
closed step says is in `publishing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from diurnal.curator import closing
from diurnal.curator.closing import AHEAD, STRAY
from diurnal.curator.cohort import STRANGERS, without_moved
from diurnal.curator.open_state import OpenState
from diurnal.curator.release import Publisher
from diurnal.curator.started_plan import HeldStep, StreamRecord
from diurnal.errors import ClockError, ReadingsError
from diurnal.private import Private
from diurnal.readings.data import Integers, Marks
from diurnal.readings.panel import Arrays, Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


HELD = "held_before"
"""The counter of readings that were there already."""


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
    readings: int
    """How many readings are new in it."""
    waiting: int
    """How many of them are of steps ahead of what the roster has reached."""


class Taker:
    """Takes readings for a plan, inside a transaction of the store."""

    def __init__(self, record: StreamRecord, publisher: Publisher, store: Store, state: OpenState) -> None:
        self._record, self._publisher, self._store, self._state = record, publisher, store, state
        self._known, self._ahead = state.known, state.known.ahead
        self.counts = Counter[str]()
        """What became of what was not taken, for the custodian."""
        self.taken = 0
        """How many readings were taken."""
        self.waiting = 0
        """How many of these wait for the roster to reach their steps."""

    @property
    def at_once(self) -> bool:
        """Whether a step needs nothing but its own readings: it waits neither for later ones nor for its cycle."""
        return not self._record.plan.grace and self._publisher.slot_by_slot

    def take(self, panel: Panel, *, close: bool, again: bool = False) -> set[int]:
        """Take readings of open steps, and publish those that close.

        Args:
            panel: The readings.
            close: Whether to close their steps.
            again: Whether readings of open steps will be given again, if the cohort does not hold them.

        Returns:
            The steps of the panel, and those that closed with them.

        Raises:
            ClockError: All of them are of steps that have not come yet.
            ReadingsError: Some steps stay open, are not held, and will not be given again.
        """
        record, known, state = self._record, self._known, self._state
        if not record.cohort.holds:
            return self._take_given(panel, close=close, again=again)
        state.close_steps(step for step in panel.on_grid(record.plan.grid).calendar if step < self._ahead)
        came = self.received(panel, close=close)
        state.close_steps(closing.skipped(known, came.there))
        panel, found, self.taken, self.waiting = came.panel, came.reached, came.readings, came.waiting
        state.see(found.latest)
        state.arrive(closing.begun(known, came.there, found))
        at_once = self.at_once and not close and found.steps.issuperset(came.there)
        if at_once and not known.held:
            closed = self._publisher.publish_given(panel, came.fresh)
        else:
            closed = self._close(came, panel.steps if close else None)
        return closed.union(panel.steps)

    def received(self, panel: Panel, *, close: bool) -> Received:
        """Find out what of a panel may be taken, and count the rest. Writes nothing.

        Raises:
            ClockError: All of its readings are of steps that have not come yet.
        """
        record = self._record
        panel = record.cohort.aligned(record, panel, self.counts)
        panel, outside = panel.within(*record.plan.domain)
        self.counts["outside_domain"] += outside
        panel = self._without_ahead(without_moved(record, panel))
        sent = (np.flatnonzero(panel.present.any(axis=1)) + panel.first_step).tolist()
        published, fresh = self._sorted(sent)
        late = [step - panel.first_step for step in published]
        self.counts["late"] += int(np.count_nonzero(panel.present[late])) if late else 0
        before = self._state.held(fresh)
        taken = self._merged(panel, fresh, before)
        there = {step: int(np.count_nonzero(each.present & record.awaited(step))) for step, each in taken.items()}
        found = closing.reached(record, there, latest=self._known.latest, now=self._known.now, told=close)
        ahead = [step - panel.first_step for step in taken if step > found.latest]
        waiting = int(np.count_nonzero(panel.present[ahead])) if ahead else 0
        held = sum(int(np.count_nonzero(before[step].present)) for step in taken if step in before)
        now_there = sum(int(np.count_nonzero(each.present)) for each in taken.values())
        return Received(
            panel=panel,
            fresh=fresh,
            taken=taken,
            there=there,
            reached=found,
            readings=now_there - held,
            waiting=waiting,
        )

    def _close(self, came: Received, told: range | None) -> set[int]:
        """Hold what came, and publish the steps that close. Returns them."""
        record, known, reached = self._record, self._known, came.reached.steps
        held = {step: replace(each, reached=each.reached or step in reached) for step, each in came.taken.items()}
        self._state.hold(held)
        self._state.release(closing.unreportable(known))
        complete = {step for step, each in held.items() if each.present[record.awaited(step)].all()}
        closed = closing.closes(known, complete)
        if told is not None:
            closed |= self._without_changes(closing.told_to_close(known, told, held, came.reached))
        return self._publisher.publish_held(closed)

    def _without_changes(self, steps: set[int]) -> set[int]:
        """Steps without those that go onto the calendar because a clock change touches them."""
        changed = closing.touched(self._known, steps)
        self._state.close_steps(changed)
        return steps - changed

    def _without_ahead(self, panel: Panel) -> Panel:
        """The panel without readings of steps that have not come yet."""
        if panel.steps.stop <= self._ahead:
            return panel
        present = panel.present.copy()
        row = max(0, self._ahead - panel.first_step)
        ahead, kept = int(np.count_nonzero(present[row:])), int(np.count_nonzero(present[:row]))
        if ahead and not kept:
            raise ClockError("clock-ahead", rows=ahead)
        self.counts[AHEAD] += ahead
        present[row:] = False
        return replace(panel, data=Arrays(np.where(present, panel.readings, 0), present))

    def _sorted(self, steps: Sequence[int]) -> tuple[set[int], list[int]]:
        """Those of some steps that were published before, and those that may be now."""
        if not steps:
            return set(), []
        record, span = self._record, range(steps[0], steps[-1] + 1)
        sent = set(steps)
        mine = [step for step in self._known.reportable(span) if step in sent]
        published = self._known.published & sent
        behind = min(record.last, self._known.resumes)
        self.counts["steps_outside_stream"] += sum(not record.first_step <= step < record.last for step in steps)
        self.counts["steps_published_before"] += len(published)
        self.counts["steps_behind_fence"] += sum(
            record.first_step <= step < behind and step not in published for step in steps
        )
        return published, [step for step in mine if step not in published]

    def close_overdue(self) -> set[int]:
        """Publish what is past its deadline with what is there, and drop what waited for nobody. Returns the steps.

        What is not held is given again, with all that has come for it: `take` sees to its deadlines.
        """
        if not self._record.cohort.holds:
            return set()
        found = self._known.overdue()
        for cycle in found.stray:
            self._drop_stray(cycle)
        due = self._without_changes(set().union(*map(self._known.open, found.closing.values())))
        return self._publisher.publish_held(due) if due else set()

    def _drop_stray(self, cycle: int) -> None:
        waiting = (step for step in self._known.cycle(cycle) if step not in self._known.published)
        held = self._state.held(waiting)
        self.counts[STRAY] += sum(int(np.count_nonzero(each.present)) for each in held.values())
        self._state.drop(cycle)

    def _take_given(self, panel: Panel, *, close: bool, again: bool) -> set[int]:
        """Publish the steps that close, where nothing of open ones is held."""
        record, number, known, cohort = self._record, self._record.number, self._known, self._record.cohort
        given = cohort.aligned(record, panel, self.counts)
        self._state.close_steps(step for step in given.calendar if step < self._ahead)
        seen = dict(zip(given.steps, cohort.seen(record, given).tolist(), strict=True))
        self.counts[AHEAD] += sum(n for step, n in seen.items() if step >= self._ahead)
        published, fresh = self._sorted([step for step, n in seen.items() if n and step < self._ahead])
        there = {step: seen[step] for step in fresh}
        found = closing.reached(record, there, latest=known.latest, now=known.now, told=close)
        self._state.see(found.latest)
        self._state.arrive(closing.begun(known, there, found))
        closed = self._closed_given(there, found, given.steps if close else None)
        for cycle in known.overdue().stray:
            self.counts[STRAY] += sum(there.get(step, 0) for step in known.cycle(cycle))
            self._state.drop(cycle)
            there = {step: n for step, n in there.items() if step not in known.cycle(cycle)}
        if not again and not closed.issuperset(there):
            raise ReadingsError("lake-steps-open")
        settled = self._store.settled(number)
        begin = min([*there.keys() - closed, max([found.latest + 1, *(step + 1 for step in closed)])])
        self._store.settle(number, begin)
        # Rows from there on may have been given, and taken, before.
        late = [step for step in published if settled is None or step < settled]
        self.counts["late"] += cohort.present(record, given, late)
        self.counts[STRANGERS] += cohort.strangers(record, panel, begin)
        return self._publisher.publish_given(given, closed).union(given.steps)

    def _closed_given(self, there: Mapping[int, int], found: closing.Reached, told: range | None) -> set[int]:
        """Which steps close, of homes in the lake. Cycles whose reports are made as a whole close so."""
        record, known, slots = self._record, self._known, self._record.plan.grid.slots
        due = found.latest - record.plan.grace
        closed = {
            step
            for step, number in there.items()
            if (step in found.steps and step <= due) or number >= np.count_nonzero(record.awaited(step))
        }
        closed |= set().union(*map(known.open, known.overdue().closing.values()))
        if told is not None:
            closed |= closing.told_to_close(known, told, there, found)
            # Of a cycle that is reported as a whole, what came before these steps closes with them.
            for cycle in {step // slots for step in closed} if not self._publisher.slot_by_slot else ():
                closed |= {step for step in known.open(known.cycle(cycle)) if step <= max(closed)}
        if not self._publisher.slot_by_slot:
            whole = (cycle for cycle in {step // slots for step in closed})
            ready = {cycle for cycle in whole if closed.issuperset(known.open(known.cycle(cycle)))}
            closed = {step for step in closed if step // slots in ready}
        return closed

    def reach(self, there: Mapping[int, int]) -> range:
        """Which steps are worth a look, of homes in the lake: so many rows there are of each.

        What is much later and of few homes comes from clocks that are off, and what is much earlier is late.
        """
        record, slots = self._record, self._record.plan.grid.slots
        settled = None if self.at_once else self._store.settled(record.number)
        last = self._store.last_step(record.number)
        come = {step: n for step, n in there.items() if 0 <= step < self._ahead}
        latest = closing.reached(record, come, latest=-1 if last is None else last, now=self._known.now).latest
        first = record.first_step if settled is None else max(record.first_step, settled - slots)
        stop = max(latest, record.first_step) + slots + record.plan.grace + 1
        return range(first, max(first, min(stop, self._ahead)))

    def _merged(self, panel: Panel, steps: Sequence[int], held: Mapping[int, HeldStep]) -> dict[int, HeldStep]:
        """What there is of open steps: what came before, and what came now."""
        taken = {}
        for step in steps:
            row = step - panel.first_step
            if step in held and held[step].closed:
                self.counts["late"] += int(np.count_nonzero(panel.present[row]))
                continue
            taken[step] = _with_more(held.get(step), panel.readings[row], panel.present[row], self.counts)
        return taken


def _with_more(held: HeldStep | None, readings: Integers, present: Marks, counts: Counter[str]) -> HeldStep:
    """What is held of a step with more readings: the first of a household counts."""
    if held is None:
        return HeldStep(readings=readings.copy(), present=present.copy(), closed=False)
    # Whether it is the same is not counted: the number would stay when the reading is erased.
    counts[HELD] += int(np.count_nonzero(held.present & present))
    return HeldStep(
        readings=np.where(held.present, held.readings, readings),
        present=held.present | present,
        closed=held.closed,
        reached=held.reached,
    )
