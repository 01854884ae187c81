"""Stream: the reports of a started plan, each step once.

Rows are decided inside one transaction of the store, and a step that has rows is never decided again: asked
again, it is the same row; late or corrected readings change nothing and are counted.

When a step closes is in `closing`, which readings are taken in `taking`, what a closed step says in `release`.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from diurnal.curator import guard
from diurnal.curator.closing import AHEAD, ahead_from, runs
from diurnal.curator.release import Outcome, Publisher, Report, total
from diurnal.curator.started_plan import StreamRecord
from diurnal.curator.taking import LOCAL, OpenState, Taker, forget_over, is_over
from diurnal.errors import DifferencingError, InputError, OverlapError, ReadingsError, StreamError
from diurnal.exact import instance, whole
from diurnal.periodicity.drift import Drift, drift
from diurnal.planning.plan import Plan
from diurnal.private import public
from diurnal.promise.guarantee import Guarantee
from diurnal.readings import quality
from diurnal.readings.panel import Panel
from diurnal.readings.quality import ANOTHER, SAME, Quality
from diurnal.renamed import renamed

if TYPE_CHECKING:
    from diurnal.curator.store import Store


MOST_CYCLES = 8
"""Of how many cycles a batch may have readings for it to be known what was in it: of more, some are soon over."""


class Stream:
    """The reports of one started plan."""

    def __init__(self, store: Store, stream_id: str) -> None:
        self._store = store
        self._stream_id = stream_id

    @property
    def plan(self) -> Plan:
        """The plan, with its roster, calendar and mechanisms filled in."""
        return self._record().plan

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, in words and numbers."""
        return self.plan.guarantee()

    @property
    def acknowledged(self) -> str | None:
        """What was acknowledged when it was started: which verdict, or that nothing was tested.

        A verdict is told by the first half of its digest, which is of whom and which period it is about. The other
        half is of what was found, and so of the readings: it is not kept.
        """
        return self._record().acknowledged

    @property
    def is_far(self) -> bool:
        """Whether its homes, with their profiles, are in the lake: open steps are to be given again."""
        return not self._record().cohort.holds

    @property
    def units(self) -> tuple[str, ...]:
        """In which directions readings that came since the process began look wrong: "too small", "too large"."""
        with self._store.transaction():
            return self._store.units.alarms(self._record().number)

    @property
    def open_from(self) -> int | None:
        """The first step that may still be open, of a stream whose homes are in the lake.

        Rows from it on are to be given again. None where whatever is given is taken.
        """
        with self._store.transaction():
            record = self._record()
            takes_at_once = self._taker(record, OpenState(record, self._store)).at_once
            return None if takes_at_once else self._store.settled(record.number) or 0

    @property
    def noisy_profile(self) -> dict[str, list[Fraction]]:
        """G by group, a value a slot, in units of the sum. Pattern mode only.

        Raises:
            StreamError: In strong mode G is private: published, it would void the promise (theory 4.3).
        """
        record = self._record()
        if not record.plan.protection.profile_is_public:
            raise StreamError("profile-private", level=record.plan.level)
        return {group.name: list(group.noisy_profile) for group in record.groups}

    @property
    def head(self) -> str:
        """Where the ledger of its store stands: publish it with every batch, and keep it."""
        with self._store.transaction():
            return str(self._store.head())

    def report(self, panel: Panel, *, close: bool = False) -> list[Report]:
        """The rows of the panel's steps, published now or before, and of earlier steps that closed with them.

        A step that has been published keeps its rows, whatever readings are given for it now. Steps on the
        calendar, of a history of several cycles, and from a stopped stream's end on have none. Where reports wait
        for a block, or for the whole cycle, its rows come with its last step.

        Args:
            panel: Readings of the plan's roster, or of some of it, in any order.
            close: Close the panel's steps, and those held before its end, with what is there.

        Raises:
            ReadingsError: Another grid, or nobody of the roster.
            UnitError: Most households look a thousand times too small or too large, and enough of them did.
        """
        return self.receive(panel, close=close).rows

    def receive(self, panel: Panel, *, close: bool = False) -> Outcome:
        """Take readings, and release the rows of steps that close with them or are past their deadline.

        Args:
            panel: Readings of the plan's roster, or of some of it, in any order.
            close: Close the panel's steps, and those held before its end, with what is there.

        Returns:
            What became of them: rows that are new, rows that were there, and what was set aside.

        Raises:
            ReadingsError: Another grid, or nobody of the roster.
            UnitError: Most households look a thousand times too small or too large, and enough of them did.
        """
        instance(
            panel,
            Panel,
            "readings",
            example="panel.following(array)",
            error=ReadingsError,
        )
        return self._receive(panel, close=close, overdue=True)

    def _receive(
        self,
        panel: Panel,
        *,
        close: bool = False,
        again: bool = False,
        overdue: bool = False,
        sender: str = LOCAL,
    ) -> Outcome:
        """Take readings inside one transaction.

        Args:
            panel: The readings.
            close: Whether to close their steps.
            again: Whether readings of open steps will be given again, where the stream does not hold them.
            overdue: Whether to see to deadlines as well.
            sender: Who sends them.
        """
        store = self._store
        with store.transaction():
            record = store.record(self._stream_id)
            store.check_owed()
            store.units.judge(record, panel, sender=sender)
            sent = panel.on_grid(record.plan.grid).steps
            state = OpenState(record, store, sent)
            taker, calendar = self._taker(record, state), state.known.calendar
            record.cohort.sweep(store)
            steps = taker.take(panel, close=close, again=again)
            if overdue:
                # What is over has no deadline any more.
                state.forget_over()
                steps |= taker.close_overdue()
            state.write()
            store.count(record.number, taker.counts)
            self._forget_others(record, changed=state.known.calendar != calendar)
            return Outcome(
                stream=record.stream_id,
                new=tuple(record.writer.rows(state.new)),
                old=tuple(self._old_rows(record, steps, state)),
                taken=taker.taken,
                waiting=taker.waiting,
                set_aside={what: number for what, number in taker.counts.items() if number},
                open=len(state.known.open(sent)),
                units=store.units.last,
            )

    def _old_rows(self, record: StreamRecord, steps: set[int], state: OpenState) -> list[Report]:
        """The rows of steps that were released before this transaction."""
        before = sorted(step for step in steps if step in state.known.published and step not in state.new)
        return [row for run in runs(before) for row in self._rows(record, run)]

    def close_overdue(self) -> list[Report]:
        """Report what is past its deadline, with what is there of it. Returns the rows that are new.

        A deadline is two days, or the plan's own, after a step has ended, and after readings of its cycle have
        begun to come if that is later. `report`, watches and the service see to it; call it where readings may
        stop coming. A stream whose homes are in the lake closes with the rows that are given next.

        Raises:
            OwedError: A restored store must be told first who was erased since.
        """
        store = self._store
        with store.transaction():
            record = store.record(self._stream_id)
            store.check_owed()
            state = OpenState(record, store)
            taker, calendar = self._taker(record, state), state.known.calendar
            taker.close_overdue()
            state.write()
            store.count(record.number, taker.counts)
            self._forget_others(record, changed=state.known.calendar != calendar)
            return record.writer.rows(state.new)

    def _forget_others(self, record: StreamRecord, *, changed: bool) -> None:
        """See to other plans' cycles, of which steps that go onto the calendar may be the last ones."""
        if changed:
            forget_over(self._store, [each for each in self._store.records() if each.number != record.number])

    def takes(self) -> range:
        """The steps that readings may be of now: from its first one to the one that is going on, by the clock.

        Give it to `panel`, so that rows of other times are set aside: `dn.panel(file, like=stream.plan.grid,
        steps=stream.takes())`.
        """
        with self._store.transaction():
            return takes(self._record(), self._store.now())

    def rows(self, start: int = 0, stop: int | None = None) -> list[Report]:
        """The rows that have been published, from a step up to, not including, another. Writes nothing.

        Args:
            start: The first step.
            stop: The step after the last; all there are unless given.

        Raises:
            InputError: Something else than steps was given, such as a date.
        """
        start = whole(start, "start", least=-(2**62), error=InputError)
        stop = None if stop is None else whole(stop, "stop", least=-(2**62), error=InputError)
        with self._store.transaction():
            record = self._record()
            last = self._store.last_step(record.number)
            end = -1 if last is None else last + 1
            return self._rows(record, range(start, end if stop is None else min(stop, end)))

    def published(self, steps: range) -> set[int]:
        """Which of some steps have rows: these stay, whatever is given for them now. Writes nothing."""
        with self._store.transaction():
            return set(self._store.published(self._record().number, steps))

    def take(self, name: str, make: Callable[[], Panel | None], **more: Any) -> list[Report] | None:
        """Deprecated: use `receive_once`, which says more. The rows of it; None if it was taken before."""
        warnings.warn("Stream.take is now Stream.receive_once.", DeprecationWarning, stacklevel=2)
        outcome = self.receive_once(name, make, **more)
        return None if outcome.again else outcome.rows

    def receive_once(
        self,
        name: str,
        make: Callable[[], Panel | None],
        *,
        again: bool = False,
        counts: Mapping[str, int] = MappingProxyType({}),
    ) -> Outcome:
        """Report what something holds, once: sent again it is known by its name, and nothing happens.

        Args:
            name: What it goes by: that stays, as a keyed digest, and so must not be made from readings.
            make: Makes a panel of it; None if there is nothing in it.
            again: Whether readings of open steps will be given again, where the stream does not hold them.
            counts: What is counted with it, for the custodian.
        """
        store = self._store
        with store.transaction():
            if self._has_taken(name):
                return Outcome(stream=self._stream_id, again=True)
        panel = make()
        with store.transaction():
            if self._has_taken(name):
                return Outcome(stream=self._stream_id, again=True)
            number = store.record(self._stream_id).number
            store.take(number, store.keyed("named", name))
            # What an import set aside would be asked for in vain, were it not counted: nobody sees its account.
            account = None if panel is None or again else panel.quality
            store.count(number, Counter(counts) + Counter(set_aside(account, "file")))
            return Outcome(stream=self._stream_id) if panel is None else self._receive(panel, again=again)

    def _has_taken(self, name: str) -> bool:
        number = self._store.record(self._stream_id).number
        return self._store.has_taken(number, self._store.keyed("named", name))

    def remember(self, name: str, content: str, panel: Panel) -> None:
        """Remember what was in a batch that was taken, as long as no cycle of its readings is over.

        Args:
            name: What it goes by, keyed.
            content: A digest of what is in it.
            panel: What is in it.
        """
        record, store = self._record(), self._store
        grid = record.plan.grid
        steps = panel.on_grid(grid).steps
        cycles = range(grid.cycle(steps.start), grid.cycle(steps.stop - 1) + 1)
        if len(cycles) <= MOST_CYCLES and not any(self._is_over(cycle) for cycle in cycles):
            store.keep_content(record.number, name, store.keyed("content", content), cycles)

    def _is_over(self, cycle: int) -> bool:
        """Whether a cycle is over, here or in another plan that has reported of it: a batch may be for both."""
        record, slots = self._record(), self.plan.grid.slots
        steps = range(cycle * slots, (cycle + 1) * slots)
        others = (each for each in self._store.records() if self._store.published(each.number, steps))
        return any(is_over(each, cycle, self._store) for each in (record, *others))

    def reach(self, there: Mapping[int, int]) -> range:
        """Which steps are worth a look, of a stream whose homes are in the lake.

        Args:
            there: How many rows there are of each step.
        """
        with self._store.transaction():
            record = self._record()
            return self._taker(record, OpenState(record, self._store)).reach(there)

    def open_steps(self, *, before: int) -> set[int]:
        """The steps that `close` would report: those without rows, of open cycles that end by a step."""
        with self._store.transaction():
            record = self._record()
            known = OpenState(record, self._store).known
            return set().union(*(known.open(known.cycle(cycle)) for cycle in self._ended(record, before)))

    def _ended(self, record: StreamRecord, before: int) -> list[int]:
        slots = record.plan.grid.slots
        before = min(before, record.plan.grid.step_at(self._store.now()))
        return sorted(cycle for cycle in self._open_cycles(record) if (cycle + 1) * slots <= before)

    def close(self, *, before: int) -> list[Report]:
        """Report what is missing of the open cycles that end by a step, taking it as missing readings.

        Their noise and held readings are erased then. A cycle that is still going on at that step goes on, and so
        does one that has not ended by the clock.

        Args:
            before: The step by which a cycle must have ended.
        """
        with self._store.transaction():
            record, slots = self._record(), self.plan.grid.slots
            ended = self._ended(record, before)
            self._store.check_owed()
            state = OpenState(record, self._store)
            publisher = Publisher(record, self._store, state)
            for cycle in ended:
                publisher.publish_held(state.known.open(state.known.cycle(cycle)))
            state.write()
            return [row for cycle in ended for row in self._rows(record, range(cycle * slots, (cycle + 1) * slots))]

    @renamed(level="mean_reading")
    def drift(
        self, *, window: int = 28, threshold: float = 0.3, mean_reading: float | None = None
    ) -> dict[str, Drift]:
        """How far the pattern has moved, by group, from released rows alone: public, and free (theory 6.7).

        In pattern mode reports are held against the noisy profile, else against the first reported cycles.

        Args:
            window: How many cycles are averaged; whole weeks, so that weekends do not look like a move.
            threshold: From which move on there is an alarm, as a share of the level.
            mean_reading: The mean of the pattern, from public knowledge, in the reports' unit. Else it is read from
                the pattern itself where noise is small enough.
        """
        window = whole(window, "window", least=2, error=ReadingsError)
        with self._store.transaction():
            record, rows = self._record(), self.rows()
        plan, profiles = record.plan, None
        sizes = {group.name: plan.query.denominator(group.size) for group in record.groups}
        if plan.protection.profile_is_public:
            # In strong mode G is private, and takes no part here.
            profiles = {
                name: [value / sizes[name] for value in profile] for name, profile in self.noisy_profile.items()
            }
        if plan.query.counting:
            noise = {row.group: row.deviation / row.denominator for row in rows}
        else:
            layers = zip(sizes, record.layers, strict=True)
            noise = {name: each.mean_deviation(window) / sizes[name] for name, each in layers}
        found = drift(
            rows,
            plan.grid,
            profiles,
            noise=noise,
            mean_reading=mean_reading,
            window=window,
            threshold=threshold,
        )
        return public(found)

    def total(self, reports: Iterable[Report]) -> list[Report]:
        """The whole roster's rows from the rows of its groups, for free."""
        record = self._record()
        n = sum(group.size for group in record.groups)
        return total(reports, n_groups=len(record.groups), denominator=record.plan.query.denominator(n))

    def stop(self, *, at: int | None = None, dry_run: bool = False) -> int:
        """Report nothing from a step on, so that a successor may begin there. Returns the step.

        Unless it is given, that is the step after the last cycle that has begun: what one clock has sent ahead of
        all others does not count. Steps before it that are still open are closed by their deadline.

        A stream may have reported steps behind the given one, because a clock was wrong: they stay released, and
        are never reported again by any stream. The end of a stream that was stopped can be brought forward; a
        successor that waits for it, and has reported nothing, then begins there.

        Args:
            at: The step from which on nothing is reported.
            dry_run: Only say which step it would be.

        Raises:
            StreamError: It was stopped, and would end later than was said.
        """
        at = None if at is None else whole(at, "at", least=0, error=InputError)
        with self._store.transaction():
            record = self._record()
            before = record.end
            end = (self._next_end(record) if before is None else before) if at is None else at
            if before is not None and end > before:
                raise StreamError("stream-stopped", stopped=before, end=end)
            if dry_run or end == before:
                return end
            self._store.end(record, end)
            self._set_apart(record, end)
            if before is not None:
                self._move_successors(record, before)
            forget_over(self._store, self._store.records())
            return end

    def _next_end(self, record: StreamRecord) -> int:
        """The step after what has been reported, and after every cycle that the roster has begun."""
        slots, ahead = record.plan.grid.slots, ahead_from(record, self._store.now())
        last = self._store.last_step(record.number, before=ahead)
        reached = max(record.first_step, self._store.resumes(slots), -1 if last is None else last + 1)
        stray = {
            each.cycle
            for each in self._store.arrivals(record.number)
            if not each.reached and each.cycle * slots > self._store.latest(record.number)
        }
        begun = (cycle for cycle in self._open_cycles(record) - stray if cycle * slots < ahead)
        return max(reached, (max(begun, default=-1) + 1) * slots)

    def _set_apart(self, record: StreamRecord, end: int) -> None:
        """See to it that no stream ever reports a step again that this one has reported behind its end."""
        last = self._store.last_step(record.number)
        if last is not None and last >= end:
            steps = self._store.published(record.number, range(end, last + 1))
            self._store.close_steps(steps, apart=record.number)

    def _move_successors(self, record: StreamRecord, before: int) -> None:
        """Let those begin earlier that wait for an end which is brought forward."""
        others = [each for each in self._store.records() if each.number != record.number]
        for each in others:
            waits = each.first_step == before and self._store.last_step(each.number) is None
            follows = each.plan.protection.follows(record.plan.protection)
            if waits and follows and each.members & record.members:
                rest = [other for other in self._store.records() if other.number != each.number]
                first = _earliest(each, rest, before)
                if first < before:
                    self._store.begin(each, first)

    def quality(self) -> dict[str, int]:
        """Counts for the custodian: readings outside the domain, late readings, skipped steps."""
        with self._store.transaction():
            return self._store.quality(self._record().number)

    def __repr__(self) -> str:
        plan = self.plan
        return f"Stream({plan.query.kind}, level={plan.level!r}, plan={self._stream_id[:12]!r})"

    def _record(self) -> StreamRecord:
        with self._store.transaction():
            return self._store.record(self._stream_id)

    def _taker(self, record: StreamRecord, state: OpenState) -> Taker:
        return Taker(record, Publisher(record, self._store, state), self._store, state)

    def _rows(self, record: StreamRecord, steps: range) -> list[Report]:
        """The published rows of steps."""
        return record.writer.rows(self._store.rows(record.number, steps))

    def _open_cycles(self, record: StreamRecord) -> set[int]:
        """Cycles of which noise or readings are kept, or of which some have come."""
        held = {step // record.plan.grid.slots for step in self._store.held_marks(record.number)}
        come = {arrival.cycle for arrival in self._store.arrivals(record.number)} if record.cohort.holds else set()
        return held.union(self._store.noisy_cycles(record.number), come)


def takes(record: StreamRecord, now: datetime) -> range:
    """The steps that readings of a started plan may be of."""
    stop = min(ahead_from(record, now), record.last)
    return range(record.first_step, max(record.first_step + 1, int(stop)))


def _earliest(record: StreamRecord, others: Sequence[StreamRecord], before: int) -> int:
    """From which step on a plan that waits may report beside all others; `before` if from none that is earlier."""
    first = guard.first_step(record, others)
    ends = {other.end for other in others if other.end is not None and other.members & record.members}
    for step in sorted({first, *(end for end in ends if first < end < before)}):
        moved = replace(record, first_step=step)
        with suppress(OverlapError, DifferencingError):
            guard.check_beside(moved, others)
            guard.check_profiles(moved, others)
            return step
    return before


def set_aside(account: Quality | None, what: str) -> dict[str, int]:
    """What an import set aside, as it is counted: whether two rows for one step said the same is not.

    Args:
        account: The import's account.
        what: Whose rows these are: of a file, or of a batch.
    """
    found = Counter[str]()
    for reason, number in ({} if account is None else account.set_aside).items():
        name = "duplicate" if reason in (SAME, ANOTHER) else reason
        found[AHEAD if reason == quality.AHEAD else f"{what}_{name}"] += number
    return dict(found)
