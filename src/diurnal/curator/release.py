"""Release: what closed steps of a started plan say, and the only place where noise is added to it.

    y(t) = G(s) + sum of the variations at t  (+ the cycle's noise in strong mode)

Slot by slot each step has its value when it closes. Other mechanisms make theirs of several steps, a block's or a
whole cycle's: `Mechanism.ready` says how far into its cycle a step's value reaches, and it comes when all that may
be reported up to there is closed.

- `Report` is a released row, `Outcome` what became of readings that were given; `RowWriter` makes rows of values,
  when they are released and whenever they are asked for again.
- `Layers` are the mechanisms of a group.
- `Publisher` decides the values of steps and gives them to the store, inside the transaction of whoever asks.
- `silent_steps`, `used_sums` and `used_digests` say what a pattern plan may use of the readings beside the other
  plans (theory 4.6).
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from diurnal.curator import closing
from diurnal.curator.closing import HeldStep, Noise, Values, overlap, runs
from diurnal.errors import InputError, StoreError
from diurnal.exact import decimal, over
from diurnal.private import Private
from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.promise.query import CountingQuery
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.started_plan import Group, StreamRecord
    from diurnal.curator.store import Store
    from diurnal.curator.taking import OpenState
    from diurnal.planning.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of released rows, in every format: files, answers, pages and tables are made of these."""

    name: str
    """The attribute of `Report`, the key of JSON, and the heading of CSV."""
    kind: type[int] | type[str] = str
    """What it holds. Decimals are text: a float would not be the released value."""
    description: str
    """What it is."""
    example: int | str
    """What it can be."""
    heading: str = ""
    """What it is called in tables for people, `{unit}` filled in; it is not in them unless given."""
    is_number: bool = False
    """Whether it stands to the right in them."""


COLUMNS = (
    Column(name="step", kind=int, description="The number of the step.", example=4368),
    Column(name="time", description="When the step begins.", example="2022-09-30T00:00:00+10:00", heading="time"),
    Column(name="group", description="Whose value it is.", example="all", heading="series"),
    Column(
        name="value",
        description="A decimal in text: a float would not be what was released.",
        example="412.3",
        heading="value ({unit})",
        is_number=True,
    ),
    Column(name="unit", description="What the value is in.", example="Wh"),
    Column(
        name="std",
        description="The standard deviation of its noise.",
        example="14.2",
        heading="std",
        is_number=True,
    ),
    Column(
        name="plan",
        description="The stream's name: the plan's hash.",
        example="3a1b3149bb7fe87d60ac2e3819c5f46c1334df1fd2bcf7e36636ec382efb9fb0",
    ),
)
"""The columns of a released row, in order."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One released row. Public; everything computed from rows is post-processing and costs nothing."""

    step: int
    """The step."""
    time: str
    """When it begins, with its offset."""
    group: str
    """The group, `all` for the whole roster; a histogram's bin follows its group."""
    series: str = ""
    """The histogram's bin by itself."""
    value: str
    """The reported value as a decimal."""
    unit: str
    """What it counts."""
    std: str
    """The standard deviation of its noise, in the same unit. Bias from clipping or a basis is not in it."""
    plan: str
    """The hash of the plan it is released under."""
    numerator: Fraction
    """F, the value before it was divided; exact."""
    denominator: int
    """q, what it was divided by."""
    deviation: float
    """`std` as a number, of the numerator."""

    @property
    def exact(self) -> Fraction:
        """The value, not rounded."""
        return self.numerator / self.denominator

    def to_json(self) -> dict[str, Any]:
        """The keys others may rely on."""
        return {column.name: getattr(self, column.name) for column in COLUMNS}


@dataclass(frozen=True)
class Form:
    """How rows with the same noise are written: decimals as fine as a thousandth of it."""

    deviation: float
    denominator: int
    places: int
    std: str

    @classmethod
    def of(cls, deviation: float, denominator: int) -> Form:
        """The form of rows whose sums have noise of a standard deviation, and are divided by a denominator."""
        shown = deviation / denominator
        places = max(0, 3 - math.floor(math.log10(shown))) if shown > 0 else 3
        return cls(deviation, denominator, places, decimal(Fraction(shown), places))

    def to_json(self) -> list[Any]:
        """Plain data, the float to its last bit."""
        return [self.deviation.hex(), self.denominator, self.places, self.std]

    @classmethod
    def from_json(cls, content: Sequence[Any]) -> Form:
        """The form that `to_json` wrote."""
        deviation, denominator, places, std = content
        return cls(float.fromhex(deviation), denominator, places, std)

    def write(self, numerator: Fraction, **names: Any) -> Report:
        """A row."""
        return Report(
            numerator=numerator,
            denominator=self.denominator,
            deviation=self.deviation,
            value=decimal(numerator, self.places, over=self.denominator),
            std=self.std,
            **names,
        )


class RowWriter:
    """Writes a started plan's values as rows: series by series, group by group."""

    def __init__(self, plan: Plan, groups: Sequence[Group]) -> None:
        self._grid = plan.grid
        unit = plan.query.unit(plan.grid.unit)
        self._columns = [
            (group.forms, {"group": group.row_name(series), "series": series, "unit": unit, "plan": plan.hash})
            for series in plan.query.series
            for group in groups
        ]

    def rows(self, values: Mapping[int, Values]) -> list[Report]:
        """The rows of steps, in order, from their values."""
        rows = []
        for step in sorted(values):
            slot, time = self._grid.slot(step), self._grid.time(step)
            for value, (forms, names) in zip(values[step], self._columns, strict=True):
                rows.append(forms[slot].write(value, step=step, time=time, **names))
        return rows


def total(reports: Iterable[Report], *, n_groups: int, denominator: int) -> list[Report]:
    """The whole roster's rows, from the rows of its groups. Free: nothing is asked twice.

    Groups have independent noise, so variances add up.

    Args:
        reports: Rows of one stream, every group of a step.
        n_groups: How many groups there are.
        denominator: What the whole roster's sum is divided by.
    """
    parts: dict[tuple[int, str], list[Report]] = defaultdict(list)
    for row in reports:
        parts[row.step, row.series].append(row)
    for (step, _), rows in parts.items():
        if len(rows) != n_groups or len({(row.plan, row.group) for row in rows}) != n_groups:
            raise InputError("total-groups", groups=n_groups, step=step)
    return [_total(parts[at], denominator) for at in sorted(parts)]


def _total(rows: list[Report], denominator: int) -> Report:
    first = rows[0]
    form = Form.of(math.hypot(*(row.deviation for row in rows)), denominator)
    return form.write(
        sum((row.numerator for row in rows), Fraction(0)),
        step=first.step,
        time=first.time,
        group=f"total {first.series}".strip(),
        series=first.series,
        unit=first.unit,
        plan=first.plan,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome(Private):
    """What became of readings in one stream. For who gave them, and the custodian."""

    stream: str
    """The stream's name."""
    again: bool = False
    """Whether they had been taken before, by their name: then nothing has happened."""
    new: tuple[Report, ...] = ()
    """The rows that were released with them, in order."""
    old: tuple[Report, ...] = ()
    """The rows of their steps that had been released before: other readings for these are not taken."""
    taken: int = 0
    """How many readings were taken."""
    waiting: int = 0
    """How many of these are ahead of what the other homes have sent: they wait for them, and close nothing."""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    """What was not taken, by reason."""
    open: int = 0
    """How many of their steps are still open."""
    units: str = "not known"
    """Whether the readings, held against what is public, are plausible, too small or too large."""

    @property
    def rows(self) -> list[Report]:
        """All rows of their steps, and of earlier steps that closed with them, in order."""
        return sorted([*self.old, *self.new], key=lambda row: row.step)

    @property
    def reports(self) -> int:
        """How many rows were released with them."""
        return len(self.new)


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

    def __init__(self, record: StreamRecord, store: Store, state: OpenState) -> None:
        self._record = record
        self._layers = record.layers
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
                sums = used_sums(record, part)[0]
                sums[silent_steps(record, part, self._store)] = 0
                totals = record.atoms.by_group(sums)
                if record.cohort.compares:
                    # Else no other plan speaks beside it: nobody will ask which readings these were.
                    used |= zip(part.steps, used_digests(record, part, self._store), strict=True)
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


def _sum(one: Fraction, two: Fraction) -> Fraction:
    """The sum of two fractions, which are whole as a rule: their own takes four times as long."""
    below = one.denominator * two.denominator
    return over(one.numerator * two.denominator + two.numerator * one.denominator, below)


def _cell_counts(record: StreamRecord, panel: Panel) -> Integers:
    query = record.plan.query
    assert isinstance(query, CountingQuery)
    counts = record.cohort.cell_sums(record, panel, query.cells, len(query.series))
    return record.atoms.by_group(counts).reshape(panel.n_steps, -1)


def silent_steps(record: StreamRecord, panel: Panel, store: Store) -> Marks:
    """Where a pattern plan may say its noisy profile only, a mark for each step of the panel (theory 4.6).

    An earlier plan has published the step, and either the readings are not the ones it used (a correction
    would come out as a difference of two reports), or the two plans together would give away the sum of too
    few households.
    """
    spoken = panel.steps.start, panel.steps.stop
    patterns = [
        other
        for other in store.records()
        if other.plan.protection.exact_variations
        and other.stream_id != record.stream_id
        and overlap(other.reports(), spoken)
    ]
    others = _connected(record, patterns) if patterns else []
    published = {other.stream_id: store.published(other.number, panel.steps) for other in others}
    silent = np.zeros(panel.n_steps, dtype=bool)
    for step in sorted(set().union(*published.values())):
        earlier = [other for other in others if step in published[other.stream_id]]
        silent[step - panel.first_step] = not _compatible(record, earlier, panel.between(step, step + 1), store)
    return silent


def used_sums(record: StreamRecord, panel: Panel) -> tuple[Integers, Integers]:
    """Sums of variations of each atom at each step as a pattern plan may use them, and how many are in them.

    Where fewer than the minimum of an atom's readings are used, and at steps of the plan's own history, all its
    variations count as zero.
    """
    sums, used = record.cohort.variation_sums(record, panel)
    # Of its own history a plan says nothing but G, whatever readings are given for it now.
    later = np.array([step >= record.history()[1] for step in panel.steps], dtype=bool)
    enough = (used >= record.plan.minimum_group) & later[:, None]
    return np.where(enough, sums, 0), np.where(enough, used, 0)


def used_digests(record: StreamRecord, panel: Panel, store: Store) -> list[str]:
    """For each step, a digest of the readings that a pattern plan uses there: private, and keyed by the store.

    Sums would not tell: readings that differ may have the same. Nor would a hash that adds up do: whoever has it
    and its key has an equation about the readings, and solves it where few of them are unknown.
    """
    atoms, key = record.atoms, bytes.fromhex(store.fact("secret"))
    slots = np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)
    n = len(record.households)
    order: slice | Integers = slice(None) if atoms.in_order and len(atoms.order) == n else atoms.order
    marks = panel.present[:, order] & record.known[slots]
    given = panel.readings[:, order]
    # Whatever is in the domain fits: half of the bytes take half of the time, which counts with a million homes.
    form = "<i4" if max(map(abs, record.plan.domain)) < 2**31 else "<i8"
    values = (given if marks.all() else np.where(marks, given, 0)).astype(form)
    found = []
    for step, row, there in zip(panel.steps, values, np.packbits(marks, axis=1), strict=True):
        digest = hmac.new(key, b"%d " % step, hashlib.sha256)
        # A reading of nothing is another than none.
        digest.update(there.tobytes())
        digest.update(row.tobytes())
        found.append(digest.hexdigest())
    return found


def _connected(record: StreamRecord, others: Sequence[StreamRecord]) -> list[StreamRecord]:
    """The plans that share a household with a plan, or with one that does, and so on.

    Sums of two plans that have no household in common still tell more than each alone beside a third one.
    """
    reached = record.members
    found: list[StreamRecord] = []
    while more := [other for other in others if other not in found and other.members & reached]:
        found += more
        reached = reached.union(*(other.members for other in more))
    return found


def _compatible(record: StreamRecord, earlier: Sequence[StreamRecord], row: Panel, store: Store) -> bool:
    """Whether a plan may say a step's variations beside all plans that have published the step."""
    effective = [_effective(record, row, row.households)]
    for other in earlier:
        if not set(other.households) <= set(row.households):
            return False
        seen = _columns_of(row, other.households)
        if used_digests(other, seen, store) != [store.used(other.number, row.first_step)]:
            return False
        effective.append(_effective(other, seen, row.households))
    minimum = max(each.plan.minimum_group for each in (record, *earlier))
    return bool((Atoms.of(np.stack(effective)).sizes >= minimum).all())


def _columns_of(row: Panel, households: Sequence[str]) -> Panel:
    places = {name: i for i, name in enumerate(row.households)}
    columns = np.array([places[name] for name in households], dtype=np.int64)
    return replace(row, data=row.data.columns(columns), households=tuple(households), groups={})


def _effective(record: StreamRecord, row: Panel, everybody: Sequence[str]) -> Integers:
    """The atom (from 1) of each household whose reading a plan uses at this step, 0 for the others."""
    slot, order, atom = row.grid.slot(row.first_step), record.atoms.order, atom_numbers(record)
    used = used_sums(record, row)[1][0]
    active = row.present[0, order] & record.known[slot] & (used[atom - 1] > 0)
    return spread(record, atom * active, everybody)


def atom_numbers(record: StreamRecord) -> Integers:
    """The atom (from 1) of each household, in the order of the atoms."""
    return np.repeat(np.arange(1, len(record.atoms) + 1), record.atoms.sizes)


def spread(record: StreamRecord, atom: Integers, everybody: Sequence[str]) -> Integers:
    """Atoms in their order, put where each household stands among everybody."""
    places = {name: i for i, name in enumerate(everybody)}
    placed = np.zeros(len(everybody), dtype=np.int64)
    placed[[places[record.households[i]] for i in record.atoms.order]] = atom
    return placed
