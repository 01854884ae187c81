"""Taking: readings that come, whether they are in their unit, and which steps close with them.

`Taker` takes what may be taken. When a step closes is decided in `closing`. Until then its readings are held,
durably and privately; those of a cohort that does not hold them are given again. A missing reading of a closed step
counts as variation zero. What a closed step says is in `release`.

`OpenState` is what a stream still waits for: read once in a transaction, changed here, and written once. What was
held and is reported in the same transaction never reaches the disk; nor does the noise of a cycle that begins and
ends in it.

**Units**: `Scores` judges whether readings are in the unit they are said to be in, by what is public about a plan.
A value in kWh that is taken as Wh is a thousand times too small; the other way round it is a thousand times too
large. One reading cannot tell: a home may use next to nothing for weeks. So each *household* of a batch is judged
by most of its readings, and these judgements add up over the batches of a sender.

- A **reading** counts unless it is 0, which is 0 in every unit. It is too small (or too large) if it is less (or
  more) than the plan's public reference in its slot by a factor of 32 to 64: never below 32, always from 64 on. A
  reading above the domain is too large as well. Slots in which the reference is below a quarter of its level do
  not count. Without a reference the domain says what is too large; too small is then, for consumption, less than 1
  to 2 W, which only an import can see, for a panel has whole numbers.
- A **household** looks too small (or too large) in a batch if more than half of its readings that count do.
- A **sender** has a score for each direction. It rises by one for each household that looks wrong, once a
  household, and falls by one for each that does not. It never falls below 0; at 0 households may be counted anew.
  From `ALARM` on the custodian is told. From `REFUSE` on, the batch at hand included, a batch most of whose
  households look wrong is refused. Batches that look too small are refused only if more than one step says so: an
  outage that begins just after a step does leaves a little in every home.

**False alarms.** Assume that the next household looks wrong with a chance of at most 1/10, whatever came before.
Then 9 to the power of the score is a product of e-values (9 with that chance, at most 1/9 otherwise: a mean of 1
or less), and the score is a CUSUM. It takes at least 9^10, 3.5 thousand million, judgements on average to reach
`REFUSE` by chance, and 9^5 = 59,049 to reach `ALARM` (Lorden 1971; Shin, Ramdas and Rinaldo 2024). The chances
measured on real homes are far smaller (docs/curator.md).

**Guarantee**: what a sender is answered depends on what was sent under the same token since the process began, and
on the plan; never on readings of others, and never on what is held or was reported. Nothing of it is written, and
all of it ends with the process. Where a batch is refused, presence depends on values, of all homes in it and of
those that were counted before: theory 4.4 states that assumption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from diurnal.curator import closing
from diurnal.curator.closing import AHEAD, STRAY, Arrival, Changes, HeldStep, Known, Mark, Noise, Values
from diurnal.curator.release import Publisher
from diurnal.curator.started_plan import STRANGERS, StreamRecord, without_moved
from diurnal.errors import ClockError, ReadingsError, UnitError
from diurnal.planning.plan import Plan
from diurnal.private import Private
from diurnal.readings.data import Integers, Marks, Orders
from diurnal.readings.formats import MICRO
from diurnal.readings.panel import BLOCK, Arrays, Panel, in_memory, order_of

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


class OpenState:
    """What is open of one stream, in one transaction of its store."""

    def __init__(self, record: StreamRecord, store: Store, steps: range = range(0)) -> None:
        """Read what is open.

        Args:
            record: The started plan.
            store: Where it lies; a transaction is going on.
            steps: Steps that are looked at beside those that are open.
        """
        self._record, self._store = record, store
        found = store.opened(record.number, record.plan.grid.slots, steps)
        self.known = Known(
            record=record,
            now=store.now(),
            calendar=store.calendar(),
            resumes=store.resumes(record.plan.grid.slots),
            latest=found.latest,
            arrivals=found.arrivals,
            held=found.held,
            published=found.published,
        )
        """What is decided from: counts, marks and times."""
        self.new: dict[int, Values] = {}
        """The values of steps that were published in this transaction."""
        self._stored = frozenset(found.held)
        self._noisy, self._contents = set(found.noisy), set(found.contents)
        self._readings: dict[int, HeldStep] = {}
        self._noise: dict[int, Noise] = {}
        self._calendar: set[int] = set()
        self._changes = Changes(latest=found.latest)

    # Readings that are held.

    def held(self, steps: Iterable[int]) -> dict[int, HeldStep]:
        """What is held of those of some steps that are."""
        wanted = [step for step in steps if step in self.known.held]
        missing = [step for step in wanted if step not in self._readings]
        if missing:
            span = range(min(missing), max(missing) + 1)
            found = self._store.held(self._record.number, span)
            self._readings |= {step: found[step] for step in missing}
        return {step: self._readings[step] for step in wanted}

    def hold(self, steps: Mapping[int, HeldStep]) -> None:
        """Hold readings of steps, in place of what was held of them."""
        for step, each in steps.items():
            self._readings[step] = self._changes.held[step] = each
            self.known.held[step] = Mark(closed=each.closed, reached=each.reached)

    def release(self, steps: Iterable[int]) -> None:
        """Hold nothing of steps any more."""
        for step in list(steps):
            if self.known.held.pop(step, None) is None:
                continue
            self._readings.pop(step, None)
            if step in self._stored:
                self._changes.held[step] = None
            else:
                del self._changes.held[step]

    # Noise.

    def noise(self, cycle: int) -> Noise | None:
        """The noise of a cycle, if it was drawn.

        Raises:
            StoreError: It is erased, or is not what was drawn.
        """
        return self._noise.get(cycle) or self._store.cycle_noise(self._record.number, cycle)

    def keep_noise(self, cycle: int, noise: Noise) -> None:
        """Keep a cycle's noise before its first use."""
        self._noise[cycle] = self._changes.noise[cycle] = noise
        self._noisy.add(cycle)

    # What else waits.

    def close_steps(self, steps: Iterable[int]) -> None:
        """Put steps on the calendar: in the store once something is published or written."""
        more = set(steps) - self.known.calendar
        self.known.calendar = self.known.calendar | more
        self._calendar |= more

    def see(self, latest: int) -> None:
        """Remember how far the roster has come."""
        self.known.latest = self._changes.latest = latest

    def arrive(self, arrivals: Iterable[Arrival]) -> None:
        """Remember when readings of cycles began to come."""
        for each in arrivals:
            self.known.arrivals[each.cycle] = self._changes.arrivals[each.cycle] = each

    def forget(self, cycle: int) -> None:
        """Keep nothing of a cycle that is over but rows: no reading, no noise, not when or how readings came."""
        self.release(self.known.cycle(cycle))
        self._forget_arrival(cycle)
        if cycle in self._noisy:
            self._noisy.discard(cycle)
            self._noise.pop(cycle, None)
            self._changes.noise[cycle] = None

    def drop(self, cycle: int) -> None:
        """Drop what waits of a cycle that goes on.

        Its noise stays, for some of its steps may be published; and so do readings of these, for the rest of the
        cycle is cut by them.
        """
        self.release(step for step in self.known.cycle(cycle) if step not in self.known.published)
        self._forget_arrival(cycle)

    def _forget_arrival(self, cycle: int) -> None:
        if self.known.arrivals.pop(cycle, None) is not None:
            self._changes.arrivals[cycle] = None
        if cycle in self._contents:
            self._contents.discard(cycle)
            self._changes.forgotten.add(cycle)

    def publish(self, values: Mapping[int, Values], used: Mapping[int, str] | None = None) -> None:
        """Remember the values of steps for ever. The transaction cannot end before `write`."""
        self._write_calendar()
        self._store.unwritten.add(self._record.number)
        self._store.publish(self._record.number, values, used)
        self.known.published.update(values)
        self.new.update(values)

    @property
    def cycles(self) -> set[int]:
        """The cycles of which anything but rows is kept."""
        held = {step // self._record.plan.grid.slots for step in self.known.held}
        return held.union(self._noisy, self.known.arrivals, self._contents)

    def forget_over(self) -> None:
        """Keep nothing but rows of cycles that are over, however they came to be so."""
        for cycle in sorted(self.cycles):
            if self.known.is_over(cycle):
                self.forget(cycle)

    def write(self) -> None:
        """Write what has changed, once everything is decided."""
        self._write_calendar()
        self.forget_over()
        self._store.write_open(self._record.number, self._changes)
        self._store.unwritten.discard(self._record.number)
        self._changes = Changes(latest=self.known.latest)
        self._stored = frozenset(self.known.held)

    def _write_calendar(self) -> None:
        if self._calendar:
            self._store.close_steps(self._calendar)
            self._calendar = set()


def is_over(record: StreamRecord, cycle: int, store: Store) -> bool:
    """Whether every step of a cycle is published or never will be: nothing but rows may be left of it then."""
    slots = record.plan.grid.slots
    return OpenState(record, store, range(cycle * slots, (cycle + 1) * slots)).known.is_over(cycle)


def forget_over(store: Store, records: Iterable[StreamRecord]) -> None:
    """Erase noise, readings and what was in batches of plans' cycles that are over, however they came to be so.

    A cycle may be over without a report of its own: its last steps go onto the calendar with another stream's
    readings, behind a fence, or beyond the end of a stream that is stopped.
    """
    for record in records:
        OpenState(record, store).write()


Says = Literal["plausible", "too small", "too large", "not known"]
"""What readings look like, by the households of a batch."""

BITS = 6
"""By how many bits a reading must differ from the reference: 32 to 64 times. Between units lie 10."""

QUIET = 4
"""A slot with less than this part of the reference's level does not count: at dusk all roofs make little."""

FAINT = 2
"""Watts that a home draws at least, for all that is known without a reference."""

ALARM, REFUSE = 5, 10
"""From which score on the custodian is told, and batches are refused."""

MOST = 2 * REFUSE
"""The highest score: so many households that look right undo it."""

REMEMBERED = 10_000
"""Of how many households it is remembered that they were counted, about: a score needs far fewer."""

LOCAL = ""
"""The sender of what comes from a file, a table, a stream of Spark's, or a program that has the store."""

NEVER = 255


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Which sizes are plausible, by slot, in bits of millionths of a Wh. From public knowledge alone."""

    small: Orders
    """Up to how many bits a reading is too small; 0 where that cannot be told."""
    large: Orders
    """From how many bits on it is too large; `NEVER` where that cannot be told."""
    above: int
    """How many bits the domain's upper end has."""
    counts: Marks
    """Which slots count."""

    @classmethod
    def of(cls, plan: Plan) -> Bounds:
        """The bounds of a plan."""
        micro, slots = MICRO[plan.grid.unit], plan.grid.slots
        above = int(order_of(np.array([max(0, plan.domain[1]) * micro]))[0])
        reference = plan.reference
        level = 0 if reference is None else reference.level
        if reference is None or not 0 < level <= max(map(abs, plan.domain)):
            # A reference beyond the domain is in another unit itself.
            faint = int(order_of(np.array([FAINT * MICRO["Wh"] * plan.grid.minutes // 60]))[0]) - 1
            small = faint if plan.channel == "consumption" else 0
            return cls(
                small=np.full(slots, small, dtype=np.uint8),
                large=np.full(slots, NEVER, dtype=np.uint8),
                above=above,
                counts=np.ones(slots, dtype=bool),
            )
        profile = np.abs(np.array(reference.profile, dtype=np.int64))
        bits = order_of(profile * micro).astype(np.int64)
        return cls(
            small=np.maximum(bits - BITS, 0).astype(np.uint8),
            large=np.minimum(bits + BITS, NEVER - 1).astype(np.uint8),
            above=above,
            counts=(profile > 0) & (QUIET * profile >= float(level)),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Look(Private):
    """How the households of a batch look. It depends on the batch and the plan alone."""

    small: tuple[int, ...] = ()
    """The places in the roster of those whose readings look too small."""
    large: tuple[int, ...] = ()
    """Of those whose readings look too large."""
    plausible: int = 0
    """How many look as they should."""
    steps: frozenset[int] = frozenset()
    """Two of the steps at which readings look too small, or fewer if there are not as many."""

    @property
    def says(self) -> Says:
        """What most of them look like."""
        if not (self.small or self.large or self.plausible):
            return "not known"
        if len(self.small) > len(self.large) + self.plausible:
            return "too small"
        return "too large" if len(self.large) > len(self.small) + self.plausible else "plausible"

    @property
    def households(self) -> int:
        """How many could be judged."""
        return len(self.small) + len(self.large) + self.plausible


def _looked_at(record: StreamRecord, panel: Panel, bounds: Bounds) -> Look:
    """How the households of a panel look that are on a stream's roster."""
    if not record.cohort.holds:
        # Readings stay in the lake, and only the domain was looked at there, by the import.
        return Look()
    panel = panel.on_grid(record.plan.grid)
    where = record.where(panel.households)
    places = np.arange(panel.n_households) if where is None else where
    counted, small, large = (np.zeros(panel.n_households, dtype=np.int64) for _ in range(3))
    steps = set[int]()
    panel, rows = in_memory(panel), max(1, BLOCK // max(1, panel.n_households))
    for start in range(panel.first_step, panel.steps.stop, rows):
        part = panel.between(start, start + rows)
        slots = np.array(part.steps) % part.grid.slots
        orders, outside = _sizes(part, record.plan)
        there = (orders > 0) & bounds.counts[slots][:, None] & (places >= 0)
        is_small = there & (orders <= bounds.small[slots][:, None])
        is_large = there & ((orders >= bounds.large[slots][:, None]) | (outside & (orders >= bounds.above)))
        counted += np.count_nonzero(there, axis=0)
        small += np.count_nonzero(is_small & ~is_large, axis=0)
        large += np.count_nonzero(is_large, axis=0)
        if len(steps) < 2:
            some = np.flatnonzero(is_small.any(axis=1))[:2]
            steps.update(part.first_step + int(row) for row in some)
    looks_small, looks_large = 2 * small > counted, 2 * large > counted
    return Look(
        small=tuple(places[looks_small].tolist()),
        large=tuple(places[looks_large].tolist()),
        plausible=int(np.count_nonzero((counted > 0) & ~looks_small & ~looks_large)),
        steps=frozenset(sorted(steps)[:2]),
    )


def _sizes(panel: Panel, plan: Plan) -> tuple[Orders, Marks]:
    """How large readings are, those that an import has set aside among them; and which lie outside the domain."""
    orders: Orders | None = getattr(panel.data, "orders", None)
    readings, present = panel.readings, panel.present
    if orders is not None:
        return orders, ~present | (readings > plan.domain[1])
    made = order_of(np.where(present, readings, 0).astype(np.float64) * MICRO[plan.grid.unit])
    return made, present & (readings > plan.domain[1])


@dataclass(repr=False)
class Run(Private):
    """What speaks for another unit, in one direction, since the score was last 0."""

    score: int = 0
    homes: set[int] = field(default_factory=set)
    """Households that were counted, by their places in the roster."""
    steps: set[int] = field(default_factory=set)
    """Two of the steps that say so."""

    def add(self, wrong: Iterable[int], others: int, steps: Iterable[int]) -> None:
        """Count the households of a batch: those that look wrong and are new, and those that do not."""
        fresh = set(wrong) - self.homes
        self.score = min(MOST, max(0, self.score + len(fresh) - others))
        if not self.score:
            self.homes, self.steps = set(), set()
            return
        if len(self.homes) < REMEMBERED:
            self.homes |= set(sorted(fresh)[:REMEMBERED])
        self.steps = set(sorted(self.steps.union(steps))[:2])

    def copy(self) -> Run:
        """The same, apart."""
        return Run(self.score, set(self.homes), set(self.steps))


@dataclass(repr=False)
class Scores(Private):
    """What senders have sent to the streams of a store, since the process began. Kept in memory alone."""

    trusts: bool = False
    """Whether nothing is refused: the custodian knows better than a plan's reference."""
    looked: Counter[tuple[int, Says]] = field(default_factory=Counter)
    """How many households, batch by batch, looked how, by the stream's number."""
    refused: Counter[int] = field(default_factory=Counter)
    """How many batches were refused, by the stream's number."""
    last: Says = "not known"
    """What was judged last looks like."""
    _runs: dict[tuple[str | None, int, Says], Run] = field(default_factory=dict)
    """By sender (None: all of them together), stream and direction."""
    _bounds: dict[int, Bounds] = field(default_factory=dict)
    """Which sizes are plausible, by the stream's number: a started plan stays as it is."""

    def judge(self, record: StreamRecord, panel: Panel, *, sender: str = LOCAL) -> None:
        """Look at readings for a stream, and remember how they look.

        Args:
            record: The stream.
            panel: What was sent.
            sender: Who sent it: only what the same one has sent before counts against it.

        Raises:
            UnitError: They are in another unit, by what this sender has sent so far.
        """
        found = self.look(record, panel)
        self.last = found.says
        self.looked[record.number, "too small"] += len(found.small)
        self.looked[record.number, "too large"] += len(found.large)
        self.looked[record.number, "plausible"] += found.plausible
        for who in (sender, None):
            for direction, run in self._after(record, found, who).items():
                self._runs[who, record.number, direction] = run
        refusal = self._refusal(record, found, self._of(record, sender))
        if refusal is not None:
            self.refused[record.number] += 1
            raise refusal

    def would(self, record: StreamRecord, panel: Panel, *, sender: str) -> tuple[Says, UnitError | None]:
        """What readings look like, and how they would be refused; nothing is remembered."""
        found = self.look(record, panel)
        return found.says, self._refusal(record, found, self._after(record, found, sender))

    def look(self, record: StreamRecord, panel: Panel) -> Look:
        """How the households of a panel look that are on a stream's roster; nothing is remembered of them."""
        if record.number not in self._bounds:
            self._bounds[record.number] = Bounds.of(record.plan)
        return _looked_at(record, panel, self._bounds[record.number])

    def alarms(self, number: int) -> tuple[Says, ...]:
        """In which directions readings of a stream look wrong, by one sender or by all of them together."""
        directions: tuple[Says, ...] = ("too small", "too large")
        return tuple(
            direction
            for direction in directions
            if any(
                run.score >= ALARM
                for (_, stream, wrong), run in self._runs.items()
                if stream == number and wrong == direction
            )
        )

    def counted(self, number: int) -> dict[str, int]:
        """How many households of a stream looked how, batch by batch."""
        return {says: count for (stream, says), count in sorted(self.looked.items()) if stream == number and count}

    def _of(self, record: StreamRecord, sender: str | None) -> dict[Says, Run]:
        directions: tuple[Says, ...] = ("too small", "too large")
        return {each: self._runs.get((sender, record.number, each), Run()) for each in directions}

    def _after(self, record: StreamRecord, found: Look, sender: str | None) -> dict[Says, Run]:
        """A sender's runs with one more batch."""
        runs = {direction: run.copy() for direction, run in self._of(record, sender).items()}
        runs["too small"].add(found.small, len(found.large) + found.plausible, found.steps)
        runs["too large"].add(found.large, len(found.small) + found.plausible, ())
        return runs

    def _refusal(self, record: StreamRecord, found: Look, runs: dict[Says, Run]) -> UnitError | None:
        says = found.says
        if self.trusts or says not in runs or runs[says].score < REFUSE:
            return None
        if says == "too small" and len(runs[says].steps) < 2:
            return None
        wrong = found.small if says == "too small" else found.large
        what = "the plan's public reference" if record.plan.reference is not None else "a home"
        return UnitError("unit-implausible", wrong=len(wrong), households=found.households, says=says, what=what)
