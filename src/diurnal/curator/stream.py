"""Stream: the reports of a started plan, each step once.

    y(t) = G(s) + sum of the variations at t  (+ the cycle's noise in strong mode)

Rows are decided inside one transaction of the store, and a step that has rows is never decided again: asked
again, it is the same row; late or corrected readings change nothing and are counted.

A step closes when every household of the roster is there, when a reading later by the plan's `grace` was seen, or
when `report` is told to close; then a missing reading counts as variation zero. With a grace of 0 a step is taken
as it is given. Until then its readings are held, durably and privately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from diurnal.check.drift import Drift, drift
from diurnal.curator import guard
from diurnal.curator.intake import aligned, as_panel, merged
from diurnal.curator.layers import Layers, layers_of, released
from diurnal.curator.records import Group, HeldStep, StreamRecord, Values, runs
from diurnal.curator.report import Form, Report, total
from diurnal.errors import ReadingsError, StreamError
from diurnal.exact import instance, whole
from diurnal.planning.plan import Plan
from diurnal.private import public
from diurnal.promise.guarantee import Guarantee
from diurnal.promise.query import CountingQuery
from diurnal.readings import kernels
from diurnal.readings.data import Arrays, Integers
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


class Stream:
    """The reports of one started plan."""

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key

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
        """What was acknowledged when it was started: a verdict's digest, or that nothing was tested. Private."""
        return self._record().acknowledged

    @property
    def noisy_profile(self) -> dict[str, list[Fraction]]:
        """G by group, a value a slot, in units of the sum. Pattern mode only.

        Raises:
            StreamError: In strong mode G is private: published, it would void the promise (theory 4.3).
        """
        record = self._record()
        if record.plan.level != "pattern":
            raise StreamError(
                f"The noisy profile is public in pattern mode only, and this plan is {record.plan.level}.",
                hint="Average released reports instead; that is free.",
            )
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
        for the whole cycle, a cycle's rows come with its last step.

        Args:
            panel: Readings of the plan's roster, or of some of it, in any order.
            close: Close the panel's steps, and those held before its end, with what is there.

        Raises:
            ReadingsError: Another grid, or nobody of the roster.
        """
        instance(
            panel,
            Panel,
            "readings",
            hint="Make a panel: panel.following(array) has its roster.",
            error=ReadingsError,
        )
        with self._store.transaction():
            record, counts = self._record(), Counter[str]()
            guard.check_owed(self._store)
            given = aligned(record, panel, counts)
            self._store.close_steps(given.calendar)
            given, outside = given.within(*record.plan.domain)
            counts["outside the domain"] += outside
            given = _moving(record, given)
            steps = self._take(record, given, counts, close=close).union(given.steps)
            for what, number in counts.items():
                self._store.count(record.number, what, number)
            return [row for run in runs(sorted(steps)) for row in self._rows(record, run)]

    def rows(self, start: int = 0, stop: int | None = None) -> list[Report]:
        """The rows that have been published, from a step up to, not including, another. Writes nothing.

        Args:
            start: The first step.
            stop: The step after the last; all there are unless given.
        """
        with self._store.transaction():
            record = self._record()
            last = self._store.last_step(record.number)
            end = -1 if last is None else last + 1
            return self._rows(record, range(start, end if stop is None else min(stop, end)))

    def take(self, digest: str, make: Callable[[], Panel]) -> list[Report] | None:
        """Report what something holds, once: None if it was taken before.

        Args:
            digest: What it goes by.
            make: Makes a panel of it.
        """
        with self._store.transaction():
            if self._store.has_taken(self._record().number, digest):
                return None
        panel = make()
        with self._store.transaction():
            number = self._record().number
            if self._store.has_taken(number, digest):
                return None
            self._store.take(number, digest)
            return self.report(panel)

    def close(self, *, before: int) -> list[Report]:
        """Report what is missing of the open steps and cycles that end by a step, taking it as missing readings.

        Their noise and held readings are erased then. A cycle that is still going on at that step goes on.

        Args:
            before: The step by which a step or cycle must have ended.
        """
        with self._store.transaction():
            record, slots = self._record(), self.plan.grid.slots
            ended = sorted(cycle for cycle in self._open_cycles(record) if (cycle + 1) * slots <= before)
            guard.check_owed(self._store)
            for cycle in ended:
                steps = range(cycle * slots, (cycle + 1) * slots)
                published = self._store.published(record.number, steps)
                self._publish_closed(record, set(self._reportable(record, steps)) - published)
            return [row for cycle in ended for row in self._rows(record, range(cycle * slots, (cycle + 1) * slots))]

    def drift(self, *, window: int = 28, threshold: float = 0.3, level: float | None = None) -> dict[str, Drift]:
        """How far the pattern has moved, by group, from released rows alone: public, and free (theory 6.7).

        In pattern mode reports are held against the noisy profile, else against the first reported cycles.

        Args:
            window: How many cycles are averaged; whole weeks, so that weekends do not look like a move.
            threshold: From which move on there is an alarm, as a share of the level.
            level: The mean of the pattern, from public knowledge, in the reports' unit. Else it is read from the
                pattern itself where noise is small enough.
        """
        window = whole(window, "window", least=2, error=ReadingsError)
        with self._store.transaction():
            record, rows = self._record(), self.rows()
        plan, profiles = record.plan, None
        sizes = {group.name: plan.query.denominator(group.size) for group in record.groups}
        if plan.level == "pattern":
            # In strong mode G is private, and takes no part here.
            profiles = {
                name: [value / sizes[name] for value in profile] for name, profile in self.noisy_profile.items()
            }
        if plan.level == "cycle":
            noise = {row.group: row.deviation / row.denominator for row in rows}
        else:
            layers = zip(sizes, self._layers, strict=True)
            noise = {name: each.mean_deviation(window) / sizes[name] for name, each in layers}
        found = drift(
            rows,
            plan.grid,
            profiles,
            noise=noise,
            level=level,
            window=window,
            threshold=threshold,
        )
        return public(found)

    def total(self, reports: Iterable[Report]) -> list[Report]:
        """The whole roster's rows from the rows of its groups, for free."""
        record = self._record()
        n = sum(group.size for group in record.groups)
        return total(reports, n_groups=len(record.groups), denominator=record.plan.query.denominator(n))

    def stop(self) -> int:
        """Report nothing from now on, so that a successor may begin. Returns the step from which on."""
        with self._store.transaction():
            record = self._record()
            if record.end is not None:
                return record.end
            last, slots = self._store.last_step(record.number), record.plan.grid.slots
            resumes = self._store.resumes(slots)
            reached = max(record.first_step, resumes, (last if last is not None else -1) + 1)
            end = max(reached, (max(self._open_cycles(record), default=-1) + 1) * slots)
            self._store.end(record, end)
            return end

    def quality(self) -> dict[str, int]:
        """Counts for the custodian: readings outside the domain, late readings, skipped steps."""
        with self._store.transaction():
            return self._store.counts(self._record().number)

    def __repr__(self) -> str:
        plan = self.plan
        return f"Stream({plan.query.kind}, level={plan.level!r}, plan={self._key[:12]!r})"

    def _record(self) -> StreamRecord:
        with self._store.transaction():
            return self._store.record(self._key)

    @cached_property
    def _layers(self) -> tuple[Layers, ...]:
        return layers_of(self._record())

    def _rows(self, record: StreamRecord, steps: range) -> list[Report]:
        """The published rows of steps."""
        return [
            row
            for step, values in self._store.rows(record.number, steps).items()
            for row in _written(record, step, values)
        ]

    def _reportable(self, record: StreamRecord, steps: range) -> list[int]:
        """Those steps that the stream may report, whether it has or not."""
        calendar, end = self._store.calendar(), record.last
        first = max(record.first_step, self._store.resumes(record.plan.grid.slots))
        return [step for step in steps if first <= step < end and step not in calendar]

    def _open_cycles(self, record: StreamRecord) -> set[int]:
        """Cycles of which noise or readings are kept."""
        held = {step // record.plan.grid.slots for step in self._store.held_steps(record.number)}
        return held.union(self._store.noisy_cycles(record.number))

    def _take(self, record: StreamRecord, panel: Panel, counts: Counter[str], *, close: bool) -> set[int]:
        """Take readings of open steps, and publish those that close. Returns these."""
        mine = self._reportable(record, panel.steps)
        counts["steps outside the stream's"] += sum(
            not record.first_step <= step < record.last for step in panel.steps
        )
        published = self._store.published(record.number, panel.steps)
        counts["steps published before"] += len(published)
        late = [step - panel.first_step for step in published]
        counts["late, and not taken"] += int(np.count_nonzero(panel.present[late])) if late else 0
        fresh = [step for step in mine if step not in published]
        if not record.plan.grace and self._layers[0].by_slot:
            # Taken as it is given: nothing is held.
            self._publish_steps(record, [panel.between(run.start, run.stop) for run in runs(fresh)])
            self._close_cycles(record)
            return set(fresh)
        taken = self._hold(record, panel, fresh, counts, close=close)
        due = self._due(record, taken)
        self._drop_unreportable(record)
        return self._publish_closed(record, self._closed(record, panel.steps.stop if close else due))

    def _hold(
        self, record: StreamRecord, panel: Panel, steps: Sequence[int], counts: Counter[str], *, close: bool
    ) -> dict[int, HeldStep]:
        """Keep readings of open steps with those that came before. Returns what is held of these steps now."""
        held, taken = self._store.held(record.number, panel.steps), {}
        for step in steps:
            row = step - panel.first_step
            if step in held and held[step].closed:
                counts["late, and not taken"] += int(np.count_nonzero(panel.present[row]))
                continue
            each = merged(held.get(step), panel.readings[row], panel.present[row], counts)
            done = not record.plan.grace or close or bool(each.present[record.awaited(step)].all())
            taken[step] = replace(each, closed=done)
        self._store.hold(record.number, taken)
        settled = self._store.settled(record.number)
        if taken and (settled is None or min(taken) < settled):
            # Steps before the first that was ever seen are not closed by those after it: they may still come.
            self._store.settle(record.number, min(taken))
        return taken

    def _drop_unreportable(self, record: StreamRecord) -> None:
        """Erase what is held of steps that have gone onto the calendar, or lie behind a fence."""
        held = self._store.held_steps(record.number)
        if held:
            span = range(min(held), max(held) + 1)
            self._store.release(record.number, sorted(held.keys() - set(self._reportable(record, span))))

    def _due(self, record: StreamRecord, taken: Mapping[int, HeldStep]) -> int:
        """The step before which all close, because readings later by the grace were seen.

        A few meters whose clocks are off must not close steps that the others have not reached: a step counts as
        seen when a tenth of the households are there, and when it is more than a cycle ahead, half of them.
        """
        latest, near = self._store.latest(record.number), record.plan.grid.slots + record.plan.grace
        for step in sorted(taken):
            awaited = record.awaited(step)
            share = int(np.count_nonzero(taken[step].present & awaited)) / max(1, int(np.count_nonzero(awaited)))
            ahead = step > max(latest, record.first_step) + near
            if share >= (0.5 if ahead else 0.1):
                latest = max(latest, step)
        self._store.see(record.number, latest)
        return latest - record.plan.grace + 1 if record.plan.grace else 0

    def _closed(self, record: StreamRecord, due: int) -> set[int]:
        """Steps that are closed and not published: held ones that are, and all before the step that is due."""
        held = self._store.held_steps(record.number)
        closed = {step for step, done in held.items() if done or step < due}
        if record.plan.grace:
            begin = self._store.settled(record.number) or record.first_step
            if due > begin:
                span = range(begin, due)
                closed.update(set(self._reportable(record, span)) - self._store.published(record.number, span))
                self._store.settle(record.number, due)
        return closed

    def _publish_closed(self, record: StreamRecord, closed: set[int]) -> set[int]:
        """Publish steps that are closed; whole cycles, where reports wait for these. Returns what was published."""
        if self._layers[0].by_slot:
            self._publish_held(record, sorted(closed))
            self._close_cycles(record)
            return closed
        slots, done = record.plan.grid.slots, set[int]()
        marked = closed.union(step for step, is_done in self._store.held_steps(record.number).items() if is_done)
        for cycle in sorted({step // slots for step in closed}):
            steps = range(cycle * slots, (cycle + 1) * slots)
            wanted = set(self._reportable(record, steps))
            if wanted <= marked:
                self._publish_cycle(record, cycle)
                done |= wanted
            else:
                # Closed, and waiting for the rest of its cycle: it takes no more.
                held = self._store.held(record.number, steps)
                waiting = {step: replace(held[step], closed=True) for step in closed if step in held}
                empty = as_panel(record, range(1), {})
                none = HeldStep(readings=empty.readings[0], present=empty.present[0], closed=True)
                waiting |= {step: none for step in closed if step in steps and step not in held}
                self._store.hold(record.number, waiting)
        return done

    def _publish_held(self, record: StreamRecord, steps: Sequence[int]) -> None:
        parts = []
        for run in runs(list(steps)):
            parts.append(_moving(record, as_panel(record, run, self._store.held(record.number, run))))
        self._publish_steps(record, parts)
        self._store.release(record.number, steps)

    def _publish_steps(self, record: StreamRecord, parts: Sequence[Panel]) -> None:
        """Publish rows of steps whose value is known when the step is."""
        rows: dict[int, Values] = {}
        used: dict[int, str] = {}
        noise = _Kept(lambda cycle: self._noise(record, cycle))
        for part in parts:
            if record.plan.level == "pattern":
                sums = guard.used_sums(record, part)[0]
                sums[guard.silent_steps(record, part, self._store)] = 0
                totals = record.atoms.by_group(sums)
                used |= zip(part.steps, guard.used_digests(record, part, self._store), strict=True)
            elif record.plan.level == "strong":
                totals = record.atoms.by_group(_strong_sums(record, part))
            else:
                totals = _cell_counts(record, part)
            for step, sums in zip(part.steps, totals.tolist(), strict=True):
                rows[step] = self._values(record, step, sums, noise[record.plan.grid.cycle(step)])
        self._store.publish(record.number, rows, used)

    def _values(
        self, record: StreamRecord, step: int, sums: list[int], noise: Mapping[str, Sequence[int]]
    ) -> Values:
        """The values of a step: noisy profile, sums, and the cycle's noise where there is one."""
        slot, series = record.plan.grid.slot(step), record.plan.query.series
        values = []
        for cell in range(len(series)):
            for index, (group, layers) in enumerate(zip(record.groups, self._layers, strict=True)):
                value = Fraction(sums[cell * len(self._layers) + index])
                if layers.pattern is not None:
                    value += group.noisy_profile[slot]
                if layers.cycle is not None:
                    drawn = noise[group.name][slot * len(series) + cell]
                    value += Fraction(drawn, layers.cycle.multiplier)
                values.append(value)
        return tuple(values)

    def _noise(self, record: StreamRecord, cycle: int) -> dict[str, tuple[int, ...]]:
        """The noise of a cycle by group: drawn and kept before its first use."""
        if record.plan.level == "pattern":
            return {}
        kept = self._store.cycle_noise(record.number, cycle)
        if kept is None:
            kept = {
                group.name: tuple(layers.cycle.noise())
                for group, layers in zip(record.groups, self._layers, strict=True)
                if layers.cycle is not None
            }
            self._store.keep_noise(record.number, cycle, kept)
        return kept

    def _publish_cycle(self, record: StreamRecord, cycle: int) -> None:
        """Publish a complete cycle, whose variations are projected before noise is added."""
        slots = record.plan.grid.slots
        steps = range(cycle * slots, (cycle + 1) * slots)
        part = _moving(record, as_panel(record, steps, self._store.held(record.number, steps)))
        order = record.atoms.order
        marks = part.present[:, order] & record.known
        variations = np.where(marks, part.readings[:, order] - record.profile, 0)
        mechanisms = [layers.cycle for layers in self._layers if layers.cycle is not None]
        by_group = released(mechanisms, variations, record.atoms)
        rows = {
            step: tuple(
                group.noisy_profile[slot] + values[slot]
                for group, values in zip(record.groups, by_group, strict=True)
            )
            for step, slot in ((step, step % slots) for step in self._reportable(record, steps))
        }
        self._store.publish(record.number, rows)
        self._store.release(record.number, steps)

    def _close_cycles(self, record: StreamRecord) -> None:
        """Erase the noise of cycles of which every step is published or never will be."""
        if record.plan.level == "pattern":
            return
        slots = record.plan.grid.slots
        for cycle in self._store.noisy_cycles(record.number):
            steps = range(cycle * slots, (cycle + 1) * slots)
            wanted = self._reportable(record, steps)
            if self._store.published(record.number, steps).issuperset(wanted):
                self._store.close_cycle(record.number, cycle)


def _moving(record: StreamRecord, panel: Panel) -> Panel:
    """A panel in which households that have moved out are missing from their step on."""
    if not record.silenced:
        return panel
    present = panel.present.copy()
    for place, step in record.silenced.items():
        present[max(0, step - panel.first_step) :, place] = False
    data = Arrays(np.where(present, panel.readings, 0), present)
    return replace(panel, data=data)


def _strong_sums(record: StreamRecord, panel: Panel) -> Integers:
    slots = np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)
    return kernels.variation_sums(
        panel.readings,
        panel.present,
        record.profile,
        record.known,
        slots,
        record.atoms,
        bound=record.plan.clip,
    )[0]


def _cell_counts(record: StreamRecord, panel: Panel) -> Integers:
    query = record.plan.query
    assert isinstance(query, CountingQuery)
    counts = kernels.indicator_sums(panel.readings, panel.present, query.cells, record.atoms, len(query.series))
    return record.atoms.by_group(counts).reshape(panel.n_steps, -1)


class _Kept(dict[int, Mapping[str, Sequence[int]]]):
    """What was found for a cycle, looked for once."""

    def __init__(self, find: Callable[[int], Mapping[str, Sequence[int]]]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, cycle: int) -> Mapping[str, Sequence[int]]:
        self[cycle] = self._find(cycle)
        return self[cycle]


def _written(record: StreamRecord, step: int, values: Values) -> Iterator[Report]:
    """The rows of a step from its values: series by series, group by group."""
    write = _writer(record, step)
    slot = record.plan.grid.slot(step)
    names = ((series, group) for series in record.plan.query.series for group in record.groups)
    for value, (series, group) in zip(values, names, strict=True):
        yield write(group.forms[slot], group, series, value)


def _writer(record: StreamRecord, step: int) -> Callable[[Form, Group, str, Fraction], Report]:
    """Writes the rows of a step."""
    plan = record.plan
    time, unit = plan.grid.time(step), plan.query.unit(plan.grid.unit)

    def write(form: Form, group: Group, series: str, value: Fraction) -> Report:
        name = f"{group.name} {series}" if series else group.name
        return form.write(value, step=step, time=time, group=name, series=series, unit=unit, plan=record.key)

    return write
