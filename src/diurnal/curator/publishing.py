"""Publishing: what the closed steps of a started plan say.

    y(t) = G(s) + sum of the variations at t  (+ the cycle's noise in strong mode)

Slot by slot each step has its value when it closes. Other mechanisms make theirs of several steps, a block's or a
whole cycle's: `Mechanism.ready` says how far into its cycle a step's value reaches, and it comes when all that may
be reported up to there is closed.

`Publisher` decides the values of steps and gives them to the store, inside the transaction of whoever asks;
`written` makes rows of values, then and whenever they are asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from diurnal.curator import far, usage
from diurnal.curator.intake import as_panel, without_moved
from diurnal.curator.layers import Layers, in_parts, noised, released
from diurnal.curator.records import Group, HeldStep, StreamRecord, Values, runs
from diurnal.curator.report import Report
from diurnal.errors import StoreError
from diurnal.exact import over
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.promise.query import CountingQuery
from diurnal.readings import kernels
from diurnal.readings.data import Integers
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


class Publisher:
    """Publishes steps of a started plan that are closed, and that were not published before."""

    def __init__(self, record: StreamRecord, layers: Sequence[Layers], store: Store) -> None:
        self._record = record
        self._layers = layers
        self._store = store
        self._by_slot: dict[int, list[tuple[int, int, int]]] = {}

    @property
    def slot_by_slot(self) -> bool:
        """Whether a step has its values when it closes; else they come with its block or cycle."""
        cycle = self._layers[0].cycle
        return cycle is None or isinstance(cycle, SlotMechanism)

    def publish_given(self, parts: Sequence[Panel]) -> None:
        """Publish steps as they are given, where nothing of them was held."""
        self._publish_steps(parts)
        self._close_cycles()

    def publish_cycles(self, panel: Panel, steps: Sequence[int]) -> set[int]:
        """Publish steps of whole cycles, of households in the lake: nothing of them is held here.

        Of a cycle that has published steps the others are passed by: its noise is never drawn again.
        """
        slots, done = self._record.plan.grid.slots, set[int]()
        for cycle in sorted({step // slots for step in steps}):
            span = range(cycle * slots, (cycle + 1) * slots)
            if not self._store.published(self._record.number, span):
                due = [step for step in steps if step in span]
                self._publish_far(far.spanning(panel, span), due)
                done.update(due)
        self._close_cycles()
        return done

    def _publish_far(self, part: Panel, due: Sequence[int]) -> None:
        record, slots = self._record, self._record.plan.grid.slots
        mechanisms = [layers.cycle for layers in self._layers if layers.cycle is not None]
        first, kept = mechanisms[0], None
        taken = np.isin(part.steps, due)
        sums = far.contributed(record, part, taken, first.contribute, first.dimension)
        if in_parts(first, slots):
            noise = self._noise(part.first_step // slots)
            kept = [noise[group.name] for group in record.groups]
        by_group = noised(mechanisms, record.atoms.by_group(sums), kept)
        self._store.publish(record.number, self._rows_of(by_group, due))

    def _rows_of(self, by_group: Sequence[Sequence[Fraction]], due: Sequence[int]) -> dict[int, Values]:
        """The values of steps from those of each group's cycle."""
        slots = self._record.plan.grid.slots
        pairs = [(group.noisy_profile, values) for group, values in zip(self._record.groups, by_group, strict=True)]
        return {
            step: tuple(_sum(profile[step % slots], values[step % slots]) for profile, values in pairs)
            for step in due
        }

    def publish_held(self, closed: set[int]) -> set[int]:
        """Publish steps that are closed, and wait for no others. Returns what was published."""
        number, slots = self._record.number, self._record.plan.grid.slots
        if self.slot_by_slot:
            self._publish_steps([self._held(run) for run in runs(sorted(closed))])
            self._store.release(number, sorted(closed))
            self._close_cycles()
            return closed
        done = set[int]()
        marked = closed.union(step for step, is_done in self._store.held_steps(number).items() if is_done)
        for cycle in sorted({step // slots for step in closed}):
            steps = range(cycle * slots, (cycle + 1) * slots)
            published = self._store.published(number, steps)
            due = self._due(steps, published, marked)
            if due:
                self._publish_part(steps, due, published)
            self._keep_closed(closed.intersection(steps) - published.union(due), steps)
            done.update(due)
        self._close_cycles()
        return done

    def _due(self, steps: range, published: set[int], marked: set[int]) -> list[int]:
        """Steps of a cycle without values yet, that wait for none which is still open."""
        cycle = self._layers[0].cycle
        assert cycle is not None
        wanted = [step for step in reportable(self._record, steps, self._store) if step not in published]
        still_open = min((step for step in wanted if step not in marked), default=steps.stop)
        return [step for step in wanted if steps.start + cycle.ready(step - steps.start) < still_open]

    def _held(self, steps: range) -> Panel:
        """What is held of consecutive steps."""
        return without_moved(
            self._record, as_panel(self._record, steps, self._store.held(self._record.number, steps))
        )

    def _keep_closed(self, closed: set[int], steps: range) -> None:
        """Keep steps of a cycle that are closed and wait for others of it: they take no more."""
        if not closed:
            return
        held = self._store.held(self._record.number, steps)
        empty = as_panel(self._record, range(1), {})
        none = HeldStep(readings=empty.readings[0], present=empty.present[0], closed=True, reached=True)
        waiting = {step: replace(held.get(step, none), closed=True) for step in closed}
        self._store.hold(self._record.number, waiting)

    def _publish_steps(self, parts: Sequence[Panel]) -> None:
        """Publish rows of steps whose value is known when the step is."""
        record = self._record
        rows: dict[int, Values] = {}
        used: dict[int, str] = {}
        noise = cache(self._noise)
        for part in parts:
            if record.plan.protection.exact_variations:
                sums = usage.used_sums(record, part)[0]
                sums[usage.silent_steps(record, part, self._store)] = 0
                totals = record.atoms.by_group(sums)
                if record.lake is None:
                    # Beside a plan in the lake no other speaks: nobody will ask which readings these were.
                    used |= zip(part.steps, usage.used_digests(record, part, self._store), strict=True)
            elif record.plan.query.counting:
                totals = _cell_counts(record, part)
            else:
                totals = record.atoms.by_group(usage.moved(record, part, bound=record.plan.clip)[0])
            for step, sums in zip(part.steps, totals.tolist(), strict=True):
                rows[step] = self._values(step, sums, noise(record.plan.grid.cycle(step)))
        self._store.publish(record.number, rows, used)

    def _values(self, step: int, sums: list[int], noise: Mapping[str, Sequence[int]]) -> Values:
        """The values of a step: noisy profile, sums, and the cycle's noise where there is one."""
        plan = self._record.plan
        slot, cells = plan.grid.slot(step), len(plan.query.series)
        # Where a layer has noise, a value without it must not come to be: not even where none was kept.
        has_noise = self._layers[0].cycle is not None
        drawn = [noise[group.name] for group in self._record.groups] if has_noise else None
        values = []
        for cell in range(cells):
            for index, (profile, unit, below) in enumerate(self._parts(slot)):
                above = profile + sums[cell * len(self._layers) + index] * below
                if drawn is not None:
                    above += drawn[index][slot * cells + cell] * unit
                values.append(over(above, below))
        return tuple(values)

    def _parts(self, slot: int) -> list[tuple[int, int, int]]:
        """What the values of each group at a slot are made of: its noisy profile, a unit of noise, the denominator.

        These are whole numbers over that denominator: to add fractions would take half of the time of a report.
        """
        if slot not in self._by_slot:
            found = []
            for group, layers in zip(self._record.groups, self._layers, strict=True):
                profile = Fraction(0) if layers.pattern is None else group.noisy_profile[slot]
                scale = 1 if layers.cycle is None else layers.cycle.multiplier
                below = math.lcm(profile.denominator, scale)
                found.append((profile.numerator * (below // profile.denominator), below // scale, below))
            self._by_slot[slot] = found
        return self._by_slot[slot]

    def _noise(self, cycle: int) -> dict[str, tuple[int, ...]]:
        """The noise of a cycle by group: drawn and kept before its first use."""
        record = self._record
        if not record.plan.protection.hides_cycle:
            return {}
        kept = self._store.cycle_noise(record.number, cycle)
        if kept is None:
            slots = record.plan.grid.slots
            if self._store.published(record.number, range(cycle * slots, (cycle + 1) * slots)):
                raise StoreError(
                    f"The noise of plan {record.number}, cycle {cycle}, is missing.",
                    hint="Nothing was reported. Restore a backup, behind its fence.",
                )
            kept = {
                group.name: tuple(layers.cycle.noise())
                for group, layers in zip(record.groups, self._layers, strict=True)
                if layers.cycle is not None
            }
            self._store.keep_noise(record.number, cycle, kept)
        return kept

    def _publish_part(self, steps: range, due: Sequence[int], before: set[int]) -> None:
        """Publish steps of a cycle whose values are made of several: those of some blocks, or of all of it.

        A block is cut by what those before it have left of a household's radius, and these are worked out anew.
        They must come to what went out then, or a household would use its radius twice:

        - A block's steps come out together, and no other step goes into it. What is held of a published step stays
          as it is until its cycle is over, even if the step goes onto the calendar.
        - Who is forgotten has no variation at any step; who has moved out, at none from then on. Where an earlier
          block of theirs would be another now, their part in all to come is zero, which fits into every ball.

        Args:
            steps: The cycle.
            due: The steps.
            before: Steps of the cycle that were published before.
        """
        record, slots = self._record, self._record.plan.grid.slots
        mechanisms = [layers.cycle for layers in self._layers if layers.cycle is not None]
        part, order = self._held(steps), record.atoms.order
        # What has come for later steps is not looked at, nor what is on the calendar by now.
        taken = np.isin(steps, [*before, *due])
        marks = part.present[:, order] & record.known & taken[:, None]
        variations = np.where(marks, part.readings[:, order] - record.profile, 0)
        kept = None
        if in_parts(mechanisms[0], slots):
            noise = self._noise(steps.start // slots)
            kept = [noise[group.name] for group in record.groups]
        by_group = released(mechanisms, variations, record.atoms, kept)
        self._store.publish(record.number, self._rows_of(by_group, due))
        if kept is None:
            self._store.release(record.number, steps)

    def _close_cycles(self) -> None:
        """Erase noise and readings of cycles that are over: every step is published or never will be.

        Noise of the others waits, and is vouched for.
        """
        record = self._record
        if not record.plan.protection.hides_cycle:
            return
        slots = record.plan.grid.slots
        for cycle in self._store.noisy_cycles(record.number):
            if is_over(record, cycle, self._store):
                self._store.close_cycle(record.number, cycle)
                if not self.slot_by_slot:
                    self._store.release(record.number, range(cycle * slots, (cycle + 1) * slots))
        self._store.vouch(record.number)


def reportable(record: StreamRecord, steps: range, store: Store) -> list[int]:
    """Those steps that a plan may report, whether it has or not."""
    calendar, end = store.calendar(), record.last
    first = max(record.first_step, store.resumes(record.plan.grid.slots))
    return [step for step in steps if first <= step < end and step not in calendar]


def is_over(record: StreamRecord, cycle: int, store: Store) -> bool:
    """Whether every step of a cycle is published or never will be: nothing but rows may be left of it then."""
    slots = record.plan.grid.slots
    steps = range(cycle * slots, (cycle + 1) * slots)
    return store.published(record.number, steps).issuperset(reportable(record, steps, store))


def forget_over(store: Store, records: Iterable[StreamRecord]) -> None:
    """Erase noise, readings and what was in batches of plans' cycles that are over, however they came to be so.

    A cycle may be over without a report of its own: its last steps go onto the calendar with another stream's
    readings, behind a fence, or beyond the end of a stream that is stopped.
    """
    for record in records:
        number, slots = record.number, record.plan.grid.slots
        noisy = set(store.noisy_cycles(number))
        held = {step // slots for step in store.held_steps(number)}
        awaited = {arrival.cycle for arrival in store.arrivals(number)}
        for cycle in sorted(noisy | held | awaited | store.cycles_with_contents(number)):
            if not is_over(record, cycle, store):
                continue
            if cycle in noisy:
                store.close_cycle(number, cycle)
            if cycle in held:
                store.release(number, range(cycle * slots, (cycle + 1) * slots))
            if cycle in awaited:
                store.forget_arrival(number, cycle)
            store.forget_contents(number, cycle)


def _sum(one: Fraction, two: Fraction) -> Fraction:
    """The sum of two fractions, which are whole as a rule: their own takes four times as long."""
    below = one.denominator * two.denominator
    return over(one.numerator * two.denominator + two.numerator * one.denominator, below)


class Told(Protocol):
    """Whatever rows are written by: a plan and its groups."""

    @property
    def plan(self) -> Plan: ...
    @property
    def groups(self) -> tuple[Group, ...]: ...
    @property
    def key(self) -> str: ...


def written(record: Told, step: int, values: Values) -> Iterator[Report]:
    """The rows of a step from its values: series by series, group by group."""
    plan = record.plan
    slot, time, unit = plan.grid.slot(step), plan.grid.time(step), plan.query.unit(plan.grid.unit)
    names = ((series, group) for series in plan.query.series for group in record.groups)
    for value, (series, group) in zip(values, names, strict=True):
        yield group.forms[slot].write(
            value, step=step, time=time, group=group.row_name(series), series=series, unit=unit, plan=record.key
        )


def _cell_counts(record: StreamRecord, panel: Panel) -> Integers:
    query = record.plan.query
    assert isinstance(query, CountingQuery)
    if record.lake is not None:
        counts = far.counted(record, panel, query.cells, len(query.series))
    else:
        near = (panel.readings, panel.present, query.cells, record.atoms, len(query.series))
        counts = kernels.indicator_sums(*near)
    return record.atoms.by_group(counts).reshape(panel.n_steps, -1)
