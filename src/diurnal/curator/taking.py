"""Taking: readings that come, and which steps close with them.

A step closes when every household of the roster is there, when a reading later by the plan's `grace` was seen, or
when `report` is told to close; then a missing reading counts as variation zero. With a grace of 0 a step is taken
as it is given. Until then its readings are held, durably and privately; those of homes in the lake stay there, and
are given again. What a closed step says is in `publishing`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from diurnal.curator import far
from diurnal.curator.intake import aligned, merged, without_moved
from diurnal.curator.publishing import Publisher, reportable
from diurnal.curator.records import HeldStep, StreamRecord, runs
from diurnal.errors import ReadingsError
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


class Taker:
    """Takes readings for a plan, inside a transaction of the store."""

    def __init__(self, record: StreamRecord, publisher: Publisher, store: Store) -> None:
        self._record, self._publisher, self._store = record, publisher, store
        self.counts = Counter[str]()
        """What became of what was not taken, for the custodian."""

    @property
    def at_once(self) -> bool:
        """Whether whatever is given is taken as it is: no step waits for anything."""
        return not self._record.plan.grace and self._publisher.slot_by_slot

    def take(self, panel: Panel, *, close: bool) -> set[int]:
        """Take readings of open steps, and publish those that close.

        Returns:
            The steps of the panel, and those that closed with them.
        """
        record = self._record
        panel = aligned(record, panel, self.counts)
        self._store.close_steps(panel.calendar)
        panel, outside = panel.within(*record.plan.domain)
        self.counts["outside the domain"] += outside
        panel = without_moved(record, panel)
        published, fresh = self._sorted(panel.steps)
        late = [step - panel.first_step for step in published]
        self.counts["late, and not taken"] += int(np.count_nonzero(panel.present[late])) if late else 0
        if self.at_once:
            self._publisher.publish_given([panel.between(run.start, run.stop) for run in runs(fresh)])
            return {*fresh, *panel.steps}
        taken = self._hold(panel, fresh, close=close)
        there = {step: each.present & record.awaited(step) for step, each in taken.items()}
        latest = self._latest({step: int(np.count_nonzero(marks)) for step, marks in there.items()})
        due = latest - record.plan.grace + 1 if record.plan.grace else 0
        self._drop_unreportable()
        closed = self._publisher.publish_held(self._closed(panel.steps.stop if close else due))
        return closed.union(panel.steps)

    def _sorted(self, steps: range) -> tuple[set[int], list[int]]:
        """Those of some steps that were published before, and those that may be now."""
        record = self._record
        mine, published = (
            reportable(record, steps, self._store),
            self._store.published(record.number, steps),
        )
        behind = min(record.last, self._store.resumes(record.plan.grid.slots))
        self.counts["steps outside the stream's"] += sum(
            not record.first_step <= step < record.last for step in steps
        )
        self.counts["steps published before"] += len(published)
        self.counts["steps behind a fence"] += sum(
            record.first_step <= step < behind and step not in published for step in steps
        )
        return published, [step for step in mine if step not in published]

    def take_far(self, panel: Panel, *, close: bool, again: bool) -> set[int]:
        """Publish the steps that close, of homes in the lake.

        Nothing of them is held here: open steps are to be given again, with all that has come for them.

        Returns:
            The steps of the panel, and those that closed with them.
        """
        record = self._record
        given = far.aligned(record, panel)
        self._store.close_steps(given.calendar)
        number = record.number
        published, fresh = self._sorted(given.steps)
        if self.at_once:
            due, steps = given.steps.stop, set(fresh)
        else:
            seen = dict(zip(given.steps, far.seen(record, given).tolist(), strict=True))
            there = {step: seen[step] for step in fresh if seen[step]}
            if close:
                self._store.see(number, given.steps.stop - 1)
            due = given.steps.stop if close else self._latest(there) - record.plan.grace + 1
            due, steps = self._closing(there, due)
            if not again and (max(there, default=-1) >= due or not (close or steps <= {*given.steps})):
                raise ReadingsError(
                    "Some of these steps are still open, and steps in the lake are not held.",
                    hint="Give them with all of their readings (a cycle's whole), or close them: close=True.",
                )
        late = [step for step in published if step < due]
        self.counts["late, and not taken"] += far.present(record, given, late)
        self.counts["of households not on the roster"] += far.strangers(record, panel, due)
        if self._publisher.slot_by_slot:
            self._publisher.publish_given([far.spanning(given, run) for run in runs(sorted(steps))])
        else:
            steps = self._publisher.publish_cycles(given, sorted(steps))
        return steps.union(given.steps)

    def _closing(self, there: Mapping[int, int], due: int) -> tuple[int, set[int]]:
        """Before which step all close, of homes in the lake, and which of them are to be published.

        Where reports are made of a whole cycle, it closes as a whole.
        """
        record, number = self._record, self._record.number
        whole = 1 if self._publisher.slot_by_slot else record.plan.grid.slots
        due = due // whole * whole
        settled = self._store.settled(number)
        begin = min([*there, due if settled is None else settled]) // whole * whole
        span = range(begin, due)
        steps = set(reportable(record, span, self._store)) - self._store.published(number, span)
        if not record.plan.grace:
            # Without a grace nothing is closed by what is later: what is given is.
            given = {step // whole for step in there}
            steps = {step for step in steps if step // whole in given}
        self._store.settle(number, max(begin, due, settled or 0))
        return due, steps

    def reach(self, there: Mapping[int, int]) -> range:
        """Which steps are worth a look, of homes in the lake: so many rows there are of each.

        What is much later and of few homes comes from clocks that are off, and what is much earlier is late.
        """
        record, slots = self._record, self._record.plan.grid.slots
        settled = None if self.at_once else self._store.settled(record.number)
        last = self._store.last_step(record.number)
        latest = self._seen({step: n for step, n in there.items() if step >= 0}, -1 if last is None else last)
        first = record.first_step if settled is None else max(record.first_step, settled - slots)
        return range(first, max(latest, record.first_step) + slots + record.plan.grace + 1)

    def _hold(self, panel: Panel, steps: Sequence[int], *, close: bool) -> dict[int, HeldStep]:
        """Keep readings of open steps with those that came before. Returns what is held of these steps now."""
        record = self._record
        held, taken = self._store.held(record.number, panel.steps), {}
        for step in steps:
            row = step - panel.first_step
            if step in held and held[step].closed:
                self.counts["late, and not taken"] += int(np.count_nonzero(panel.present[row]))
                continue
            each = merged(held.get(step), panel.readings[row], panel.present[row], self.counts)
            done = not record.plan.grace or close or bool(each.present[record.awaited(step)].all())
            taken[step] = replace(each, closed=done)
        self._store.hold(record.number, taken)
        settled = self._store.settled(record.number)
        if taken and (settled is None or min(taken) < settled):
            # Steps before the first that was ever seen are not closed by those after it: they may still come.
            self._store.settle(record.number, min(taken))
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

    def _latest(self, there: Mapping[int, int]) -> int:
        """The latest step that was seen, with those now of which so many readings are there.

        A few meters whose clocks are off must not close steps that the others have not reached: a step counts as
        seen when a tenth of the households are there, and when it is more than a cycle ahead, half of them.
        """
        record = self._record
        latest = self._seen(there, self._store.latest(record.number))
        self._store.see(record.number, latest)
        return latest

    def _seen(self, there: Mapping[int, int], latest: int) -> int:
        record = self._record
        near = record.plan.grid.slots + record.plan.grace
        for step in sorted(there):
            awaited = max(1, int(np.count_nonzero(record.awaited(step))))
            ahead = step > max(latest, record.first_step) + near
            if (2 if ahead else 10) * there[step] >= awaited:
                latest = max(latest, step)
        return latest

    def _closed(self, due: int) -> set[int]:
        """Steps that are closed and not published: held ones that are, and all before the step that is due."""
        record = self._record
        held = self._store.held_steps(record.number)
        closed = {step for step, done in held.items() if done or step < due}
        if record.plan.grace:
            begin = self._store.settled(record.number) or record.first_step
            if due > begin:
                span = range(begin, due)
                mine = set(reportable(record, span, self._store))
                closed.update(mine - self._store.published(record.number, span))
                self._store.settle(record.number, due)
        return closed
