"""A started plan: what it is, the households it is about, and their form in a database and beside it.

What a plan says of its households is sums over atoms, of what each household contributes by itself. So the curator
asks a *cohort* for such sums, which alone knows where profiles and readings lie. Two kinds answer, with the same
numbers to the last bit:

- `MemoryCohort`: profiles are in this process, readings of open steps are held in the store.
- `lake.LakeCohort`: profiles lie in a lake beside the readings, an engine adds up there, and only sums come here.
  Readings of open steps are not held: they are given again, with all that has come since.

The private roster and profiles of a plan are too much for a row of the database: they lie beside it (`Shelf`), each
plan's in a Parquet file that only its owner can read, and the database has their digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from diurnal.curator.closing import HeldStep, Values
from diurnal.curator.release import Form, Layers, RowWriter, layers_of
from diurnal.errors import ReadingsError, StoreError
from diurnal.exact import over
from diurnal.planning.plan import Plan
from diurnal.private import Private
from diurnal.readings import kernels
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms, fold
from diurnal.readings.panel import Arrays, Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


VERSION = 1
"""The version of the form in a database; a later one is refused."""


Pair = tuple[Integers, Integers]
Contribute = Callable[[Integers], Integers]


STRANGERS = "unknown_household"
"""The counter of readings of households that a plan does not know."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamRecord(Private):
    """A started plan."""

    plan: Plan
    """The plan, with its roster, calendar and first cycle filled in."""
    households: tuple[str, ...] = field(repr=False)
    """The roster."""
    groups: tuple[Group, ...]
    """Its groups."""
    atoms: Atoms = field(repr=False)
    """Its atoms: the households of one group and weight."""
    cohort: Cohort = field(repr=False)
    """Where the profiles of its households lie, and what is summed of them. Private."""
    first_step: int
    """The first step it may report: after its history, and after a predecessor."""
    number: int = 0
    """Its number in the store, from 1; 0 before it is there."""
    end: int | None = None
    """The step at which it was stopped."""
    acknowledged: str | None = None
    """Whom and which period the verdict is about that somebody has read, or that nothing was tested; None at level
    `cycle`. Plans of earlier versions have the verdict's whole digest.
    """
    silenced: Mapping[int, int] = field(default_factory=dict, repr=False)
    """Households that do not move from a step on (a new tenant), by place in the roster. Private."""

    @property
    def stream_id(self) -> str:
        """What its stream goes by: the plan's hash."""
        return self.plan.hash

    @property
    def profile(self) -> Integers:
        """zhat, in the order of the atoms; no rows where it is not in this process. Private."""
        return self.cohort.profile

    @property
    def known(self) -> Marks:
        """Where zhat is known. Private."""
        return self.cohort.known

    @cached_property
    def layers(self) -> tuple[Layers, ...]:
        """The mechanisms of each group."""
        return layers_of(self)

    @cached_property
    def writer(self) -> RowWriter:
        """What writes its rows."""
        return RowWriter(self.plan, self.groups)

    @cached_property
    def members(self) -> frozenset[str]:
        """The households whose readings it uses: those with a weight."""
        return frozenset(self.households[i] for i in self.atoms.order)

    @cached_property
    def totals(self) -> tuple[int, ...]:
        """The sum of the weights of each group."""
        sizes = np.diff(np.append(self.atoms.starts, len(self.atoms.order)))
        return tuple(self.atoms.by_group(sizes).tolist())

    def where(self, households: tuple[str, ...]) -> Integers | None:
        """Where each of some households stands in the roster, -1 for a stranger; None if all stand as they are.

        The last answer is kept: readings come step after step for the same households, and a million names take
        longer to compare than their readings to add.
        """
        if households is self.households:
            return None
        last = self.__dict__.get("_asked")
        if last is None or last[0] is not households:
            last = (households, self._find(households))
            self.__dict__["_asked"] = last
        found: Integers | None = last[1]
        return found

    def _find(self, households: tuple[str, ...]) -> Integers | None:
        if households == self.households:
            return None
        places = pc.index_in(pa.array(households, pa.string()), value_set=self._names)
        return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False)).astype(np.int64)

    @cached_property
    def _names(self) -> Any:
        return pa.array(self.households, pa.string())

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each household stands in the roster."""
        return {name: place for place, name in enumerate(self.households)}

    @property
    def history_start(self) -> int:
        """The first step of the history."""
        return (self.plan.first_cycle or 0) * self.plan.grid.slots

    def history(self) -> tuple[float, float]:
        """The steps its profiles are made from, from and up to."""
        return self.history_start, self.history_start + self.plan.history * self.plan.grid.slots

    @property
    def last(self) -> float:
        """The step before which its reports end; infinite while it runs."""
        return float("inf") if self.end is None else self.end

    def reports(self) -> tuple[float, float]:
        """The steps it reports, from and up to."""
        return self.first_step, self.last

    def speaks_about(self) -> tuple[float, float]:
        """The steps whose readings its reports show: a pattern plan's history too."""
        return self.history_start if self.plan.protection.exact_variations else self.first_step, self.last

    def profiles(self) -> Profiles:
        """What is kept beside the database: households, weights, and profiles in the roster's order."""
        group, weight = (
            np.zeros(len(self.households), dtype=np.int64),
            np.zeros(len(self.households), dtype=np.int64),
        )
        order = self.atoms.order
        spread = np.repeat(np.arange(len(self.atoms)), self.atoms.sizes)
        group[order], weight[order] = self.atoms.columns[0, spread], self.atoms.columns[1, spread]
        profile = np.zeros((self.profile.shape[0], len(self.households)), dtype=np.int64)
        known = np.zeros(profile.shape, dtype=bool)
        profile[:, order], known[:, order] = self.profile, self.known
        return Profiles(households=self.households, group=group, weight=weight, profile=profile, known=known)

    def to_text(self, kept: str, digest: str) -> str:
        """Its form in the database; what is kept beside it goes by name and digest."""
        return json.dumps(
            {
                "version": VERSION,
                "number": self.number,
                "plan": self.plan.to_json(),
                "groups": [
                    {
                        "name": group.name,
                        "size": group.size,
                        "weight": group.weight,
                        "noisy_profile": [str(value) for value in group.noisy_profile],
                        "forms": [form.to_json() for form in group.forms],
                    }
                    for group in self.groups
                ],
                "first_step": self.first_step,
                "end": self.end,
                "acknowledged": self.acknowledged,
                "silenced": {str(place): step for place, step in self.silenced.items()},
                "roster": {"kept": kept, "digest": digest},
                **self.cohort.to_json(),
            },
            sort_keys=True,
        )

    @classmethod
    def of(cls, content: Mapping[str, Any], profiles: Profiles) -> StreamRecord:
        """The record that `to_text` wrote.

        Raises:
            StoreError: It is of a later version.
        """
        check_version(content)
        atoms = Atoms.of(np.stack([profiles.group, profiles.weight]))
        return cls(
            plan=Plan.from_json(content["plan"]),
            households=profiles.households,
            groups=tuple(map(Group.of, content["groups"])),
            atoms=atoms,
            cohort=stored(
                content,
                np.ascontiguousarray(profiles.profile[:, atoms.order]),
                np.ascontiguousarray(profiles.known[:, atoms.order]),
            ),
            first_step=content["first_step"],
            number=content["number"],
            end=content["end"],
            acknowledged=content["acknowledged"],
            silenced={int(place): step for place, step in content["silenced"].items()},
        )

    def awaited(self, step: int) -> Marks:
        """Which households a step waits for: those that count, have a profile, and have not moved out."""
        gone = [place for place, since in self.silenced.items() if step >= since]
        if not gone:
            return self._with_profile
        counts = self._with_profile.copy()
        counts[gone] = False
        return counts

    @cached_property
    def _with_profile(self) -> Marks:
        counts = np.zeros(len(self.households), dtype=bool)
        counts[self.atoms.order] = self.cohort.has_profile(self)
        counts.flags.writeable = False
        return counts

    def moved_out(self, places: Sequence[int], step: int) -> StreamRecord:
        """The same with some households, by place in the roster, not moving from a step on."""
        silenced = {**self.silenced, **{place: min(step, self.silenced.get(place, step)) for place in places}}
        return replace(self, silenced=silenced)

    def forgetting(self, place: int, alias: str) -> StreamRecord:
        """The same with a household, by place in the roster, nameless: it moves no more. Its profile stays."""
        names = (*self.households[:place], f"erased {alias}", *self.households[place + 1 :])
        return replace(self, households=names, silenced={**self.silenced, place: 0})


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """One group of a plan's roster."""

    name: str
    """Its name."""
    size: int
    """How many households of the roster it has."""
    weight: int
    """p*, the largest absolute weight in it."""
    noisy_profile: tuple[Fraction, ...] = field(repr=False)
    """G, a value a slot. Public in pattern mode, private in strong mode."""
    forms: tuple[Form, ...] = field(default=(), repr=False)
    """How its rows are written, by slot: fixed when the plan is started, so that a row never changes its looks."""

    @classmethod
    def published(cls, content: Mapping[str, Any]) -> Group:
        """What is public of a group in a database: all but G."""
        return cls(
            name=content["name"],
            size=content["size"],
            weight=content["weight"],
            noisy_profile=(),
            forms=tuple(Form.from_json(form) for form in content["forms"]),
        )

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Group:
        """A group in a database, with G."""
        return replace(cls.published(content), noisy_profile=tuple(map(Fraction, content["noisy_profile"])))

    def row_name(self, series: str) -> str:
        """What its rows of a series are called."""
        return f"{self.name} {series}" if series else self.name


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Cohort(Private, ABC):
    """The households of a started plan, with their profiles. All methods are given the plan's record."""

    profile: Integers = field(repr=False)
    """zhat in the order of the atoms, as far as it is in this process: else it has no rows. Private."""
    known: Marks = field(repr=False)
    """Where zhat is known. Private."""

    holds: ClassVar[bool]
    """Whether readings of open steps are held in the store; else they are given again until their steps close."""
    compares: ClassVar[bool]
    """Whether profiles and readings can be compared with those that another plan has used."""

    @classmethod
    @abstractmethod
    def unlearned(cls, panel: Panel) -> Cohort:
        """The households of a history before anything is learned of them."""

    @abstractmethod
    def check(self, plan: Plan, panel: Panel) -> None:
        """Refuse a plan or a panel that cannot be worked on where the households lie.

        Raises:
            PlanError: The plan asks for what is not done there.
            ReadingsError: The panel has readings that are not taken there.
        """

    @abstractmethod
    def learned(self, record: StreamRecord, history: Panel, store: Store | None) -> Cohort:
        """The same with profiles that are made from a history."""

    @abstractmethod
    def has_profile(self, record: StreamRecord) -> Marks:
        """Which households have a profile at all, in the order of the atoms."""

    @abstractmethod
    def stand_in_sums(self, record: StreamRecord, contribute: Contribute, dimension: int) -> Integers:
        """What households contribute with their profiles, summed over each atom; the public default where unknown.

        Args:
            record: The plan.
            contribute: What a household makes of a vector, a value a slot.
            dimension: How many numbers that is.
        """

    @abstractmethod
    def variation_sums(self, record: StreamRecord, panel: Panel, *, bound: int | None = None) -> Pair:
        """Sums of the variations of each atom at each step, and how many readings went into each.

        Args:
            record: The plan.
            panel: Readings of its households.
            bound: How large a variation may be; it is clipped there.
        """

    @abstractmethod
    def contribution_sums(
        self, record: StreamRecord, panel: Panel, taken: Marks, contribute: Contribute, dimension: int
    ) -> Integers:
        """What households contribute with their variations of a cycle, summed over each atom.

        Args:
            record: The plan.
            panel: A whole cycle.
            taken: Which of its steps count.
            contribute: What a household makes of its variations.
            dimension: How many numbers that is.
        """

    @abstractmethod
    def cell_sums(self, record: StreamRecord, panel: Panel, cells: Contribute, n_cells: int) -> Integers:
        """How many readings of each atom fall into each cell, at each step."""

    @abstractmethod
    def aligned(self, record: StreamRecord, panel: Panel, counts: Counter[str]) -> Panel:
        """A panel's readings on the stream's grid, of households on its roster.

        Args:
            record: The plan.
            panel: Readings of some of its households, in any order, perhaps with others among them.
            counts: Gets the number of readings of those others, where they are counted at once.

        Raises:
            ReadingsError: Another interval, period, unit or clock; or no household of the roster at all.
        """

    def seen(self, record: StreamRecord, panel: Panel) -> Integers:
        """How many readings there are at each step, without those of who has moved out."""
        since = moved_since(record, panel.first_step)

        def kernel(block: Panel) -> Integers:
            found: Integers = still_present(block.present, block.households, since).sum(axis=1)
            return found

        found: Integers = fold(kernel, panel, np.add, label="Counting readings")
        return found

    def present(self, record: StreamRecord, panel: Panel, steps: Sequence[int]) -> int:
        """How many readings there are at some steps of a panel."""
        if not steps:
            return 0
        rows = np.array(steps) - panel.first_step
        return int(self.seen(record, panel)[rows].sum())

    def strangers(self, record: StreamRecord, panel: Panel, due: int) -> int:
        """How many readings there are, before a step, of households that are not on the roster."""
        others = np.flatnonzero(~are_known(record, panel))
        if not len(others):
            return 0
        panel = panel.on_grid(record.plan.grid)
        return self.present(record, panel.columns(others), [step for step in panel.steps if step < due])

    @abstractmethod
    def spanning(self, panel: Panel, steps: range) -> Panel:
        """An aligned panel's readings of some steps; of those that it has not, everything is missing."""

    @abstractmethod
    def held(self, record: StreamRecord, steps: range, held: Mapping[int, HeldStep]) -> Panel:
        """What is held of consecutive steps, as a panel; what was never held is missing."""

    @abstractmethod
    def forgetting(self, record: StreamRecord, place: int, after: StreamRecord, store: Store) -> Cohort:
        """The same without the profile of a household.

        Args:
            record: The plan.
            place: The household's place in the roster.
            after: The plan once it is forgotten, in which it has another name.
            store: Where the plan is.
        """

    @abstractmethod
    def is_sound(self) -> bool:
        """Whether profiles that lie elsewhere than with the plan are those that were put there."""

    @abstractmethod
    def sweep(self, store: Store) -> None:
        """Do away, once after a store was opened, with what killed processes have left."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What a started plan's form in the database has about it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MemoryCohort(Cohort):
    """Households whose profiles are in this process."""

    holds: ClassVar[bool] = True
    compares: ClassVar[bool] = True

    @classmethod
    def unlearned(cls, panel: Panel) -> MemoryCohort:
        empty = np.zeros((0, panel.n_households), dtype=np.int64)
        return cls(profile=empty, known=empty.astype(bool))

    def check(self, plan: Plan, panel: Panel) -> None:
        # Whatever is in memory can be looked at, and is, where it is used.
        return

    def learned(self, record: StreamRecord, history: Panel, store: Store | None) -> MemoryCohort:
        plan, order = record.plan, record.atoms.order
        if not plan.protection.learns:
            return self
        profile, known = profiles_of(plan, history)
        # Profiles are put in order, and not the history: it is as many times as large as it has cycles.
        return MemoryCohort(
            profile=np.ascontiguousarray(profile[:, order]), known=np.ascontiguousarray(known[:, order])
        )

    def has_profile(self, record: StreamRecord) -> Marks:
        if not record.plan.protection.learns:
            return np.ones(len(record.atoms.order), dtype=bool)
        return np.asarray(self.known.any(axis=0))

    def stand_in_sums(self, record: StreamRecord, contribute: Contribute, dimension: int) -> Integers:
        vectors = np.where(self.known, self.profile, record.plan.default_reading)
        return contributed(vectors, contribute, record.atoms, dimension)

    def variation_sums(self, record: StreamRecord, panel: Panel, *, bound: int | None = None) -> Pair:
        near = (panel.readings, panel.present, self.profile, self.known, slots_of(panel), record.atoms)
        return kernels.variation_sums(*near, bound=bound)

    def contribution_sums(
        self, record: StreamRecord, panel: Panel, taken: Marks, contribute: Contribute, dimension: int
    ) -> Integers:
        order = record.atoms.order
        marks = panel.present[:, order] & self.known & taken[:, None]
        variations = np.where(marks, panel.readings[:, order] - self.profile, 0)
        return contributed(variations, contribute, record.atoms, dimension)

    def cell_sums(self, record: StreamRecord, panel: Panel, cells: Contribute, n_cells: int) -> Integers:
        return kernels.indicator_sums(panel.readings, panel.present, cells, record.atoms, n_cells)

    def aligned(self, record: StreamRecord, panel: Panel, counts: Counter[str]) -> Panel:
        panel = panel.on_grid(record.plan.grid)
        where = record.where(panel.households)
        if where is None:
            return panel
        known = where >= 0
        check_known(record, known)
        counts[STRANGERS] += int(np.count_nonzero(panel.present[:, ~known]))
        shape = (panel.n_steps, len(record.households))
        readings, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        readings[:, where[known]] = panel.readings[:, known]
        present[:, where[known]] = panel.present[:, known]
        data = Arrays(readings, present)
        return replace(panel, data=data, households=record.households, groups={}, quality=None)

    def spanning(self, panel: Panel, steps: range) -> Panel:
        return panel.between(steps.start, steps.stop)

    def held(self, record: StreamRecord, steps: range, held: Mapping[int, HeldStep]) -> Panel:
        shape = (len(steps), len(record.households))
        readings, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        for row, step in enumerate(steps):
            if step in held:
                readings[row], present[row] = held[step].readings, held[step].present
        data = Arrays(readings, present)
        panel = Panel(data=data, households=record.households, grid=record.plan.grid, first_step=steps.start)
        return without_moved(record, panel)

    def forgetting(self, record: StreamRecord, place: int, after: StreamRecord, store: Store) -> MemoryCohort:
        gone = record.atoms.order == place
        return MemoryCohort(profile=np.where(gone, 0, self.profile), known=self.known & ~gone)

    def is_sound(self) -> bool:
        # They lie with the plan, and their digest is looked at whenever they are read.
        return True

    def sweep(self, store: Store) -> None:
        # What a killed process has left on the shelf is swept as the store is opened.
        return

    def to_json(self) -> dict[str, Any]:
        return {}


def cohort_of(panel: Panel) -> Cohort:
    """The households of a history, wherever they lie, before anything is learned of them."""
    if panel.data.engine is None:
        return MemoryCohort.unlearned(panel)
    from diurnal.curator.lake import LakeCohort

    return LakeCohort.unlearned(panel)


def stored(content: Mapping[str, Any], profile: Integers, known: Marks) -> Cohort:
    """The households of a started plan, from its form in the database and the profiles beside it."""
    if "lake" not in content:
        return MemoryCohort(profile=profile, known=known)
    from diurnal.curator.lake import LakeCohort

    # Before there were several, the only engine was not named.
    return LakeCohort.of(profile.shape[1], **{"engine": "spark", **content["lake"]})


def without_moved(record: StreamRecord, panel: Panel) -> Panel:
    """A panel in which households that have moved out are missing from their step on."""
    if not record.silenced:
        return panel
    present = panel.present.copy()
    for place, step in record.silenced.items():
        present[max(0, step - panel.first_step) :, place] = False
    data = Arrays(np.where(present, panel.readings, 0), present)
    return replace(panel, data=data)


def check_known(record: StreamRecord, known: Marks) -> None:
    """Refuse readings of households of which none is on the roster.

    Args:
        record: The stream.
        known: Which of the households are.
    """
    if not known.any():
        raise ReadingsError("readings-no-known-household", households=len(known), roster=len(record.households))


def are_known(record: StreamRecord, panel: Panel) -> Marks:
    """Which households of a panel are on the roster."""
    where = record.where(panel.households)
    return np.ones(panel.n_households, dtype=bool) if where is None else where >= 0


def slots_of(panel: Panel) -> Integers:
    """The slot of each step of a panel."""
    return np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)


def profiles_of(plan: Plan, history: Panel) -> tuple[Integers, Marks]:
    """The profiles of a history's households, and where they are known."""
    return kernels.profiles(
        history.readings,
        history.present,
        slots=plan.grid.slots,
        min_readings=plan.k_min,
        statistic=plan.statistic,
    )


def contributed(vectors: Integers, contribute: Contribute, atoms: Atoms, dimension: int) -> Integers:
    """The sums over atoms of what households contribute, from a column for each in the order of the atoms."""
    return kernels.contribution_sums(lambda place: vectors[:, place], contribute, atoms, dimension=dimension)


def moved_since(record: StreamRecord, first: int) -> dict[str, int]:
    """From which row on those who have moved out do not move, by name."""
    return {record.households[place]: max(0, step - first) for place, step in record.silenced.items()}


def still_present(present: Marks, households: Sequence[str], since: Mapping[str, int]) -> Marks:
    """Where there is a reading of somebody who has not moved out."""
    if since.keys().isdisjoint(households):
        return present
    marks = present.copy()
    for place, name in enumerate(households):
        if name in since:
            marks[since[name] :, place] = False
    return marks


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Profiles(Private):
    """Who is in a plan, and their profiles, in the roster's order."""

    households: tuple[str, ...]
    """Their names."""
    group: Integers
    """The group of each, from 1; 0 for none."""
    weight: Integers
    """The weight of each."""
    profile: Integers = field(repr=False)
    """zhat, a row a slot; no rows at level `cycle`."""
    known: Marks = field(repr=False)
    """Where it is known."""

    def table(self) -> pa.Table:
        """A row a household."""
        columns = {"household": pa.array(self.households), "group": self.group, "weight": self.weight}
        for slot, (values, known) in enumerate(zip(self.profile, self.known, strict=True)):
            columns[f"slot {slot}"] = pa.array(values, mask=~known)
        return pa.table(columns)

    @classmethod
    def of(cls, table: pa.Table) -> Profiles:
        """The profiles that `table` wrote."""
        slots = [table.column(name).combine_chunks() for name in table.column_names[3:]]
        shape = (len(slots), table.num_rows)
        profile, known = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        for slot, column in enumerate(slots):
            known[slot] = column.is_valid().to_numpy(zero_copy_only=False)
            profile[slot] = column.fill_null(0).to_numpy(zero_copy_only=False)
        group, weight = (table.column(name).to_numpy() for name in ("group", "weight"))
        names = tuple(table.column("household").to_pylist())
        return cls(households=names, group=group, weight=weight, profile=profile, known=known)


class Shelf(ABC):
    """Where profiles lie."""

    @abstractmethod
    def put(self, name: str, profiles: Profiles) -> str:
        """Put a plan's profiles under a name, durably, and say their digest."""

    @abstractmethod
    def get(self, name: str, digest: str) -> Profiles:
        """Profiles by their name.

        Raises:
            StoreError: They are not there, or not what was put there.
        """

    @abstractmethod
    def drop(self, name: str) -> None:
        """Forget profiles, if they are there."""

    @abstractmethod
    def names(self) -> set[str]:
        """What lies here."""


class MemoryShelf(Shelf):
    """Profiles of a store that ends with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, Profiles] = {}

    def put(self, name: str, profiles: Profiles) -> str:
        self._kept[name] = profiles
        return name

    def get(self, name: str, digest: str) -> Profiles:
        return self._kept[name]

    def drop(self, name: str) -> None:
        self._kept.pop(name, None)

    def names(self) -> set[str]:
        return set(self._kept)


class FolderShelf(Shelf):
    """Profiles as Parquet files in a folder that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, profiles: Profiles) -> str:
        path, partial = self._path(name), self._path(f"{name}.partial")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                pq.write_table(profiles.table(), file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            # The digest is of what lies on the disk, not of what should.
            digest = _digest(partial)
            partial.rename(path)
            self._sync()
        except OSError as cause:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise StoreError("profiles-not-kept", reason=cause.strerror) from None
        return digest

    def get(self, name: str, digest: str) -> Profiles:
        path = self._path(name)
        try:
            if _digest(path) != digest:
                raise StoreError("profiles-changed", name=path.name)
            return Profiles.of(pq.read_table(path, use_threads=False))
        except OSError as cause:
            raise StoreError("profiles-unreadable", name=path.name, reason=cause.strerror or "damaged") from None

    def drop(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def names(self) -> set[str]:
        return {path.stem for path in self.folder.glob("*.parquet")} if self.folder.is_dir() else set()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _sync(self) -> None:
        """Make the name as durable as the file."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What goes wrong where a value is not of the kind that was written."""


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Say in a sentence that something in the store cannot be read, without any of its content.

    Raises:
        StoreError: It is not of the kind that was written.
    """
    try:
        yield
    except UNREADABLE:
        # Not raised from it: its words may show what is private.
        raise StoreError("store-content-unreadable", what=what) from None


def check_version(content: Mapping[str, Any]) -> None:
    """Refuse a started plan that a later diurnal has written.

    Raises:
        StoreError: It is of a later version.
    """
    if content["version"] > VERSION:
        raise StoreError("record-version", version=content["version"], known=VERSION)


def by_step(found: Iterable[Any]) -> dict[int, Values]:
    """Released values by step, from rows of a database: a step and one of its values, in order."""
    values: dict[int, list[Fraction]] = {}
    with readable("A released row"):
        for step, value in found:
            above, _, below = value.partition("/")
            values.setdefault(step, []).append(over(int(above), int(below or 1)))
    return {step: tuple(each) for step, each in values.items()}
