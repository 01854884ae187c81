"""Stream: the reports of one started plan, each step once, for as long as readings come (theory 4.2, 4.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from diurnal.check.drift import Drift, drift
from diurnal.curator import guard
from diurnal.curator.report import Form, Report, total
from diurnal.curator.store import Group, HeldCycle, Store, StreamRecord
from diurnal.errors import ReadingsError, StreamError
from diurnal.exact import instance
from diurnal.planning.plan import Plan
from diurnal.private import public
from diurnal.promise.guarantee import Guarantee
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.query import CountingQuery
from diurnal.readings import kernels
from diurnal.readings.data import Arrays, Integers
from diurnal.readings.kernels import Atoms
from diurnal.readings.panel import Panel


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

    def report(self, panel: Panel) -> list[Report]:
        """The rows of the panel's steps, published now or before.

        A step that has been published keeps its rows, whatever readings are given for it now. Steps on the
        calendar, of a history of several cycles, and from a stopped stream's end on have none. Where reports wait
        for the whole cycle, a cycle's rows come with its last step.

        Args:
            panel: Readings of the plan's roster.

        Raises:
            ReadingsError: Another roster or grid.
        """
        instance(
            panel,
            Panel,
            "readings",
            hint="Make a panel: panel.following(array) has its roster.",
            error=ReadingsError,
        )
        with self._store.transaction():
            record = self._record()
            _check_panel(record, panel)
            self._store.close_steps(panel.calendar)
            given, outside = panel.within(*record.plan.domain)
            self._store.count(self._key, "outside the domain", outside)
            if self._layers[0].by_slot:
                self._report_steps(record, given)
            else:
                self._hold(record, given)
            self._close_cycles(record, before=-math.inf)
            rows = self._store.rows(self._key, panel.steps)
        return [row for step in sorted(rows) for row in rows[step]]

    def close(self, *, before: int) -> list[Report]:
        """Report what is missing of the open cycles that end by a step, taking it as missing readings.

        Their noise and held readings are erased then. A cycle that is still going on at that step goes on.

        Args:
            before: The step by which a cycle must have ended.
        """
        with self._store.transaction():
            record, slots = self._record(), self.plan.grid.slots
            ended = [cycle for cycle in self._store.open_cycles(self._key) if (cycle + 1) * slots <= before]
            steps = [range(cycle * slots, (cycle + 1) * slots) for cycle in ended]
            if self._layers[0].by_slot:
                for each in steps:
                    self._report_steps(record, _nothing(record, each))
            self._close_cycles(record, before=before)
            rows = [self._store.rows(self._key, each) for each in steps]
        return [row for each in rows for step in sorted(each) for row in each[step]]

    def drift(self, *, window: int = 28, threshold: float = 0.3, level: float | None = None) -> dict[str, Drift]:
        """How far the pattern has moved, by group, from released rows alone: public, and free (theory 6.7).

        In pattern mode reports are held against the noisy profile, else against the first reported cycles.

        Args:
            window: How many cycles are averaged; whole weeks, so that weekends do not look like a move.
            threshold: From which move on there is an alarm, as a share of the level.
            level: The mean of the pattern, from public knowledge, in the reports' unit. Else it is read from the
                pattern itself where noise is small enough.
        """
        with self._store.transaction():
            record, last = self._record(), self._store.last_step(self._key)
            steps = range(record.first_step, record.first_step if last is None else last + 1)
            rows = self._store.rows(self._key, steps)
        released, plan, profiles, noise = [row for step in sorted(rows) for row in rows[step]], record.plan, {}, {}
        for group, layers in zip(record.groups, self._layers, strict=True):
            size = plan.query.denominator(group.size)
            profiles[group.name] = [value / size for value in group.noisy_profile]
            noise[group.name] = 0.0 if plan.level == "cycle" else layers.mean_deviation(window) / size
        if plan.level == "cycle":
            noise = {row.group: row.deviation / row.denominator for row in released}
        found = drift(
            released,
            plan.grid,
            profiles if plan.level == "pattern" else None,
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
            record, last = self._record(), self._store.last_step(self._key)
            if record.end is None:
                held = max(self._store.open_cycles(self._key), default=-1) + 1
                reached = max(record.first_step, (last if last is not None else -1) + 1)
                end = max(reached, held * record.plan.grid.slots)
                self._store.end(self._key, end)
                return end
            return record.end

    def quality(self) -> dict[str, int]:
        """Counts for the custodian: readings outside the domain, late readings, skipped steps."""
        with self._store.transaction():
            return self._store.counts(self._key)

    def __repr__(self) -> str:
        plan = self.plan
        return f"Stream({plan.query.kind}, level={plan.level!r}, plan={self._key[:12]!r})"

    def _record(self) -> StreamRecord:
        with self._store.transaction():
            return self._store.record(self._key)

    @cached_property
    def _layers(self) -> tuple[_Layers, ...]:
        """The mechanisms of each group; groups of equal weight and size share them."""
        record = self._record()
        kinds = [(group.weight, record.plan.query.denominator(group.size)) for group in record.groups]
        made = {kind: _Layers(record.plan, *kind) for kind in set(kinds)}
        return tuple(made[kind] for kind in kinds)

    def _open_steps(self, record: StreamRecord, panel: Panel) -> list[int]:
        """The steps of a panel that may still be published."""
        calendar, published = self._store.calendar(), self._store.rows(self._key, panel.steps)
        end = math.inf if record.end is None else record.end
        steps = [step for step in panel.steps if record.first_step <= step < end]
        self._store.count(self._key, "outside the stream's steps", panel.n_steps - len(steps))
        self._store.count(self._key, "published before", len(published))
        return [step for step in steps if step not in calendar and step not in published]

    def _report_steps(self, record: StreamRecord, panel: Panel) -> None:
        """Publish rows of steps whose value is known when the step is."""
        for run in _runs(self._open_steps(record, panel)):
            part = panel.between(run.start, run.stop)
            if record.plan.level == "pattern":
                sums = guard.used_sums(record, part)[0]
                sums[guard.silent_steps(record, part, self._store)] = 0
                totals = record.atoms.by_group(sums)
            elif record.plan.level == "strong":
                totals = record.atoms.by_group(_strong_sums(record, part))
            else:
                totals = _cell_counts(record, part)
            for step, sums in zip(part.steps, totals.tolist(), strict=True):
                self._store.publish(self._key, {step: self._row(record, step, sums)})

    def _row(self, record: StreamRecord, step: int, sums: list[int]) -> tuple[Report, ...]:
        """The rows of a step: noisy profile, sums, and the cycle's noise where there is one."""
        grid, series = record.plan.grid, record.plan.query.series
        slot, noise = grid.slot(step), self._noise(record, grid.cycle(step))
        write, rows = _writer(record, step), []
        for cell, name in enumerate(series):
            for index, (group, layers) in enumerate(zip(record.groups, self._layers, strict=True)):
                value = Fraction(sums[cell * len(self._layers) + index])
                if layers.pattern is not None:
                    value += group.noisy_profile[slot]
                if layers.cycle is not None:
                    drawn = noise[group.name][slot * len(series) + cell]
                    value += Fraction(drawn, layers.cycle.multiplier)
                rows.append(write(layers.forms[slot], group, name, value))
        return tuple(rows)

    def _noise(self, record: StreamRecord, cycle: int) -> dict[str, tuple[int, ...]]:
        """The noise of a cycle by group: drawn and kept before its first use."""
        kept = self._store.cycle_noise(self._key, cycle)
        if kept is None and record.plan.level != "pattern":
            kept = {
                group.name: tuple(layers.cycle.noise())
                for group, layers in zip(record.groups, self._layers, strict=True)
                if layers.cycle is not None
            }
            self._store.keep_noise(self._key, cycle, kept)
        return kept or {}

    def _hold(self, record: StreamRecord, panel: Panel) -> None:
        """Keep the readings of open cycles until they are complete."""
        for step in self._open_steps(record, panel):
            row = step - panel.first_step
            if not self._store.hold(self._key, step, panel.readings[row], panel.present[row]):
                self._store.count(self._key, "arrived before", 1)

    def _held_rows(
        self, record: StreamRecord, cycle: int, held: HeldCycle, calendar: frozenset[int]
    ) -> dict[int, tuple[Report, ...]]:
        """Rows of a complete cycle, whose variations are projected before noise is added."""
        order, start = record.atoms.order, cycle * record.plan.grid.slots
        marks = held.present[:, order] & record.known
        variations = np.where(marks, held.readings[:, order] - record.profile, 0)
        rows: dict[int, tuple[Report, ...]] = {}
        writers = [_writer(record, start + slot) for slot in range(record.plan.grid.slots)]
        mechanisms = [layers.cycle for layers in self._layers if layers.cycle is not None]
        values = released(mechanisms, variations, record.atoms)
        for group, layers, cycles in zip(record.groups, self._layers, values, strict=True):
            for slot, (noisy, value) in enumerate(zip(group.noisy_profile, cycles, strict=True)):
                if start + slot not in calendar:
                    row = writers[slot](layers.forms[slot], group, "", noisy + value)
                    rows[start + slot] = (*rows.get(start + slot, ()), row)
        return rows

    def _close_cycles(self, record: StreamRecord, *, before: float) -> None:
        """Report held cycles that are complete or to be closed, and erase what settled cycles leave behind."""
        slots, calendar = record.plan.grid.slots, self._store.calendar()
        for cycle in self._store.open_cycles(self._key):
            steps = range(cycle * slots, (cycle + 1) * slots)
            reportable = [step for step in steps if step not in calendar]
            held = self._store.held(self._key, cycle)
            if held is not None:
                missing = [step for step in reportable if not held.arrived[step % slots]]
                if missing and steps.stop > before:
                    continue
                self._store.publish(self._key, self._held_rows(record, cycle, held, calendar))
                self._store.close_cycle(self._key, cycle)
            elif len(self._store.rows(self._key, reportable)) == len(reportable):
                self._store.close_cycle(self._key, cycle)


def _check_panel(record: StreamRecord, panel: Panel) -> None:
    if panel.grid != record.plan.grid:
        raise ReadingsError(
            f"The stream's grid is {record.plan.grid}, the readings' {panel.grid}.",
            hint="Bring the readings to the stream's grid.",
        )
    # A panel that follows the history has its very roster; only others are compared name by name.
    if panel.households is not record.households and panel.households != record.households:
        raise ReadingsError(
            f"Expected the {len(record.households)} households of the roster by name and in its order, got "
            f"{len(panel.households)} others, or in another order.",
            hint="A household that left stays on the roster with missing readings; a new roster is a new plan.",
        )


def _nothing(record: StreamRecord, steps: range) -> Panel:
    """A panel of the plan's roster in which everything is missing."""
    readings = np.zeros((len(steps), len(record.households)), dtype=np.int64)
    return Panel(
        data=Arrays(readings, readings.astype(bool)),
        households=record.households,
        grid=record.plan.grid,
        first_step=steps.start,
    )


def _runs(steps: list[int]) -> list[range]:
    """Runs of consecutive steps."""
    runs: list[range] = []
    for step in steps:
        if runs and runs[-1].stop == step:
            runs[-1] = range(runs[-1].start, step + 1)
        else:
            runs.append(range(step, step + 1))
    return runs


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


class _Layers:
    """The mechanisms of a group, and how a row of each slot is written."""

    def __init__(self, plan: Plan, weight: int, denominator: int) -> None:
        self.pattern = plan.pattern_layer(weight)
        self.cycle = plan.cycle_layer(weight)
        self.by_slot = self.cycle is None or self.cycle.by_slot
        slots, cells = plan.grid.slots, len(plan.query.series)
        variances = np.zeros(slots)
        if self.pattern is not None:
            variances += [self.pattern.variance(row) for row in np.eye(slots)]
        if self.cycle is not None:
            variances += [self.cycle.variance(row) for row in np.eye(slots * cells)[::cells]]
        self.forms = [Form.of(deviation, denominator) for deviation in np.sqrt(variances).tolist()]

    def mean_deviation(self, cycles: int) -> float:
        """The standard deviation of the noise in the mean over all slots of so many cycles' reports."""
        mean = np.full(len(self.forms), 1 / len(self.forms))
        layers = ((self.pattern, 1), (self.cycle, cycles))
        return math.sqrt(sum(layer.variance(mean) / times for layer, times in layers if layer is not None))


def released(layers: Sequence[Mechanism], vectors: Integers, atoms: Atoms) -> list[list[Fraction]]:
    """What each group's mechanism releases of its households' vectors, a value a slot.

    Args:
        layers: A mechanism for each group. They differ by noise only: what a household contributes does not
            depend on its group, so it is summed once.
        vectors: A row a slot, a column a household in the order of the atoms.
        atoms: The households of one group and weight.
    """
    sums = kernels.contribution_sums(
        lambda place: vectors[:, place], layers[0].contribute, atoms, dimension=layers[0].dimension
    )
    totals = atoms.by_group(sums).T.tolist()
    return [
        [Fraction(value, layer.multiplier) for value in layer.to_slots(layer.release(total))]
        for layer, total in zip(layers, totals, strict=True)
    ]


def _writer(record: StreamRecord, step: int) -> Callable[[Form, Group, str, Fraction], Report]:
    """Writes the rows of a step."""
    plan = record.plan
    time, unit = plan.grid.time(step), plan.query.unit(plan.grid.unit)

    def write(form: Form, group: Group, series: str, value: Fraction) -> Report:
        name = f"{group.name} {series}" if series else group.name
        return form.write(value, step=step, time=time, group=name, series=series, unit=unit, plan=record.key)

    return write
