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

from diurnal.curator import closing, far, usage
from diurnal.curator.closing import Noise
from diurnal.curator.intake import as_panel, without_moved
from diurnal.curator.layers import Layers, in_parts, noised, released
from diurnal.curator.open_state import OpenState
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

    def __init__(self, record: StreamRecord, layers: Sequence[Layers], store: Store, state: OpenState) -> None:
        self._record = record
        self._layers = layers
        self._store = store
        self._state, self._known = state, state.known
        self._by_slot: dict[int, list[tuple[int, int, int]]] = {}

    @property
    def slot_by_slot(self) -> bool:
        """Whether a step has its values when it closes; else they come with its block or cycle."""
        cycle = self._layers[0].cycle
        return cycle is None or isinstance(cycle, SlotMechanism)

    def publish_given(self, parts: Sequence[Panel]) -> None:
        """Publish steps as they are given, where nothing of them was held."""
        self._publish_steps(parts)

    def publish_cycles(self, panel: Panel, steps: Sequence[int]) -> set[int]:
        """Publish steps of whole cycles, of households in the lake: nothing of them is held here.

        Of a cycle that has published steps the others are passed by: its noise is never drawn again.
        """
        slots, done = self._record.plan.grid.slots, set[int]()
        for cycle in sorted({step // slots for step in steps}):
            span = self._known.cycle(cycle)
            if self._known.published.isdisjoint(span):
                due = [step for step in steps if step in span]
                self._publish_far(far.spanning(panel, span), due)
                done.update(due)
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
        self._state.publish(self._rows_of(by_group, due))

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
        slots = self._record.plan.grid.slots
        if self.slot_by_slot:
            self._publish_steps([self._held(run) for run in runs(sorted(closed))])
            self._state.release(closed)
            return closed
        done = set[int]()
        cycle_layer = self._layers[0].cycle
        assert cycle_layer is not None
        marked = closed.union(step for step, mark in self._known.held.items() if mark.closed)
        for cycle in sorted({step // slots for step in closed}):
            steps = self._known.cycle(cycle)
            published = self._known.published.intersection(steps)
            due = closing.due(self._known, cycle, cycle_layer.ready, marked)
            if due:
                self._publish_part(steps, due, published)
            self._keep_closed(closed.intersection(steps) - published.union(due))
            done.update(due)
        return done

    def _held(self, steps: range) -> Panel:
        """What is held of consecutive steps."""
        return without_moved(self._record, as_panel(self._record, steps, self._state.held(steps)))

    def _keep_closed(self, closed: set[int]) -> None:
        """Keep steps of a cycle that are closed and wait for others of it: they take no more."""
        if not closed:
            return
        held = self._state.held(closed)
        empty = as_panel(self._record, range(1), {})
        none = HeldStep(readings=empty.readings[0], present=empty.present[0], closed=True, reached=True)
        self._state.hold({step: replace(held.get(step, none), closed=True) for step in closed})

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
        self._state.publish(rows, used)

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

    def _noise(self, cycle: int) -> Noise:
        """The noise of a cycle by group: drawn and kept before its first use."""
        record = self._record
        if not record.plan.protection.hides_cycle:
            return {}
        kept = self._state.noise(cycle)
        if kept is None:
            if not self._known.published.isdisjoint(self._known.cycle(cycle)):
                raise StoreError(
                    f"The noise of plan {record.number}, cycle {cycle}, is missing.",
                    hint="Nothing was reported. Restore a backup, behind its fence.",
                )
            kept = {
                group.name: tuple(layers.cycle.noise())
                for group, layers in zip(record.groups, self._layers, strict=True)
                if layers.cycle is not None
            }
            self._state.keep_noise(cycle, kept)
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
        self._state.publish(self._rows_of(by_group, due))
        if kept is None:
            self._state.release(steps)


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
