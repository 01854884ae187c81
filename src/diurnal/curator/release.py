"""Release: what closed steps of a started plan say, and the only place where noise is added to it.

    y(t) = G(s) + sum of the variations at t  (+ the cycle's noise in strong mode)

Slot by slot each step has its value when it closes. Other mechanisms make theirs of several steps, a block's or a
whole cycle's: `Mechanism.ready` says how far into its cycle a step's value reaches, and it comes when all that may
be reported up to there is closed.

`Layers` are the mechanisms of a group. `Publisher` decides the values of steps and gives them to the store, inside
the transaction of whoever asks; `written` makes rows of values, then and whenever they are asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from diurnal.curator import closing, guard
from diurnal.curator.open_state import OpenState
from diurnal.curator.report import Form, Report
from diurnal.curator.started_plan import Group, HeldStep, Noise, StreamRecord, Values, runs
from diurnal.errors import StoreError
from diurnal.exact import over
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.promise.query import CountingQuery
from diurnal.readings.data import Integers
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


class Layers:
    """The mechanisms of a group, and how a row of each slot is written."""

    def __init__(self, plan: Plan, weight: int, denominator: int, total: int) -> None:
        self.pattern = plan.pattern_layer(weight, total)
        self.cycle = plan.cycle_layer(weight)
        slots, cells = plan.grid.slots, len(plan.query.series)
        variances = np.zeros(slots)
        if self.pattern is not None:
            variances += [self.pattern.variance(row) for row in np.eye(slots)]
        if self.cycle is not None:
            variances += [self.cycle.variance(row) for row in np.eye(slots * cells)[::cells]]
        self.forms = tuple(Form.of(deviation, denominator) for deviation in np.sqrt(variances).tolist())

    def mean_deviation(self, cycles: int) -> float:
        """The standard deviation of the noise in the mean over all slots of so many cycles' reports."""
        mean = np.full(len(self.forms), 1 / len(self.forms))
        layers = ((self.pattern, 1), (self.cycle, cycles))
        return math.sqrt(sum(layer.variance(mean) / times for layer, times in layers if layer is not None))


def in_parts(cycle: Mechanism, slots: int) -> bool:
    """Whether a cycle's reports come one after the other: its noise is drawn before the first then, and kept."""
    return isinstance(cycle, SlotMechanism) or cycle.ready(0) < slots - 1


def layers_of(record: StreamRecord) -> tuple[Layers, ...]:
    """The mechanisms of each group; groups of equal weight and size share them."""
    kinds = [
        (group.weight, record.plan.query.denominator(group.size), total)
        for group, total in zip(record.groups, record.totals, strict=True)
    ]
    made = {kind: Layers(record.plan, *kind) for kind in set(kinds)}
    return tuple(made[kind] for kind in kinds)


def noised(
    layers: Sequence[Mechanism], sums: Integers, kept: Sequence[Sequence[int]] | None = None
) -> list[list[Fraction]]:
    """What each group's mechanism releases of the sum of its households' contributions, a value a slot.

    Args:
        layers: A mechanism for each group.
        sums: A row for each component of a contribution, a column for each group.
        kept: Noise for each group that was drawn before; drawn now if None.
    """
    totals = sums.T.tolist()
    if kept is None:
        noisy = [layer.release(total) for layer, total in zip(layers, totals, strict=True)]
    else:
        noisy = [layer.with_noise(total, v) for layer, total, v in zip(layers, totals, kept, strict=True)]
    return [
        [over(value, layer.multiplier) for value in layer.to_slots(each)]
        for layer, each in zip(layers, noisy, strict=True)
    ]


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

    def publish_given(self, panel: Panel, steps: Iterable[int]) -> set[int]:
        """Publish steps of a panel as they are given, where nothing of them was held. Returns what was published.

        Of a cycle whose reports are made as a whole, and that has published steps, the others are passed by: its
        noise is never drawn again.
        """
        spanning, slots, done = self._record.cohort.spanning, self._record.plan.grid.slots, set(steps)
        if self.slot_by_slot:
            self._publish_steps([spanning(panel, run) for run in runs(sorted(done))])
            return done
        for cycle in sorted({step // slots for step in done}):
            span = self._known.cycle(cycle)
            due = done.intersection(span)
            if self._known.published.isdisjoint(span):
                self._publish_part(spanning(panel, span), sorted(due), set())
            else:
                done -= due
        return done

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
            if due and self._publish_part(self._held(steps), due, published):
                self._state.release(steps)
            self._keep_closed(closed.intersection(steps) - published.union(due))
            done.update(due)
        return done

    def _held(self, steps: range) -> Panel:
        """What is held of consecutive steps."""
        return self._record.cohort.held(self._record, steps, self._state.held(steps))

    def _keep_closed(self, closed: set[int]) -> None:
        """Keep steps of a cycle that are closed and wait for others of it: they take no more."""
        marks = self._known.held
        # Those that wait already are as they were: a day would be written anew with every half hour.
        new = [step for step in closed if step not in marks or not marks[step].closed]
        if not new:
            return
        held, nothing = self._state.held(new), np.zeros(len(self._record.households), dtype=np.int64)
        none = HeldStep(readings=nothing, present=nothing.astype(bool), closed=True, reached=True)
        self._state.hold({step: replace(held.get(step, none), closed=True) for step in new})

    def _publish_steps(self, parts: Sequence[Panel]) -> None:
        """Publish rows of steps whose value is known when the step is."""
        record = self._record
        rows: dict[int, Values] = {}
        used: dict[int, str] = {}
        noise = cache(self._noise)
        for part in parts:
            if record.plan.protection.exact_variations:
                sums = guard.used_sums(record, part)[0]
                sums[guard.silent_steps(record, part, self._store)] = 0
                totals = record.atoms.by_group(sums)
                if record.cohort.compares:
                    # Else no other plan speaks beside it: nobody will ask which readings these were.
                    used |= zip(part.steps, guard.used_digests(record, part, self._store), strict=True)
            elif record.plan.query.counting:
                totals = _cell_counts(record, part)
            else:
                sums, _ = record.cohort.variation_sums(record, part, bound=record.plan.clip)
                totals = record.atoms.by_group(sums)
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
                raise StoreError("noise-missing", plan=record.number, cycle=cycle)
            kept = {
                group.name: tuple(layers.cycle.noise())
                for group, layers in zip(record.groups, self._layers, strict=True)
                if layers.cycle is not None
            }
            self._state.keep_noise(cycle, kept)
        return kept

    def _publish_part(self, part: Panel, due: Sequence[int], before: set[int]) -> bool:
        """Publish steps of a cycle whose values are made of several: those of some blocks, or of all of it.

        A block is cut by what those before it have left of a household's radius, and these are worked out anew.
        They must come to what went out then, or a household would use its radius twice:

        - A block's steps come out together, and no other step goes into it. What is held of a published step stays
          as it is until its cycle is over, even if the step goes onto the calendar.
        - Who is forgotten has no variation at any step; who has moved out, at none from then on. Where an earlier
          block of theirs would be another now, their part in all to come is zero, which fits into every ball.

        Args:
            part: The cycle's readings.
            due: The steps.
            before: Steps of the cycle that were published before.

        Returns:
            Whether the cycle's readings are of no more use: nothing of it is reported later.
        """
        record, slots = self._record, self._record.plan.grid.slots
        mechanisms = [layers.cycle for layers in self._layers if layers.cycle is not None]
        first, kept = mechanisms[0], None
        # What has come for later steps is not looked at, nor what is on the calendar by now.
        taken = np.isin(part.steps, [*before, *due])
        # Mechanisms differ by noise only: what a household contributes does not depend on its group.
        sums = record.cohort.contribution_sums(record, part, taken, first.contribute, first.dimension)
        if in_parts(first, slots):
            noise = self._noise(part.first_step // slots)
            kept = [noise[group.name] for group in record.groups]
        by_group = noised(mechanisms, record.atoms.by_group(sums), kept)
        self._state.publish(self._rows_of(by_group, due))
        return kept is None


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
    counts = record.cohort.cell_sums(record, panel, query.cells, len(query.series))
    return record.atoms.by_group(counts).reshape(panel.n_steps, -1)
