"""Cohort: the households of a started plan, and the only place that knows where their profiles and readings lie.

What a plan says of its households is sums over atoms, of what each household contributes by itself. So the curator
asks a cohort for such sums, and two kinds answer, with the same numbers to the last bit:

- `MemoryCohort`: profiles are in this process, readings of open steps are held in the store.
- `LakeCohort`: profiles lie in a lake beside the readings, an engine adds up there, and only sums come here.
  Readings of open steps are not held: they are given again, with all that has come since.
"""

from __future__ import annotations

import hashlib
import operator
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from diurnal.errors import PlanError, ReadingsError, StoreError
from diurnal.private import Private
from diurnal.promise.query import Weighted
from diurnal.readings import engines, kernels
from diurnal.readings.data import Integers, Marks
from diurnal.readings.engines import Engine
from diurnal.readings.kernels import Atoms, fold
from diurnal.readings.panel import Arrays, Panel

if TYPE_CHECKING:
    from diurnal.curator.started_plan import HeldStep, StreamRecord
    from diurnal.curator.store import Store
    from diurnal.planning.plan import Plan

Pair = tuple[Integers, Integers]
Contribute = Callable[[Integers], Integers]
Result = TypeVar("Result")

STRANGERS = "unknown_household"
"""The counter of readings of households that a plan does not know."""


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
        since = _since(record, panel.first_step)

        def kernel(block: Panel) -> Integers:
            found: Integers = _still(block.present, block.households, since).sum(axis=1)
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
        others = np.flatnonzero(~_are_known(record, panel))
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
        profile, known = _profiles(plan, history)
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
        return _contributed(vectors, contribute, record.atoms, dimension)

    def variation_sums(self, record: StreamRecord, panel: Panel, *, bound: int | None = None) -> Pair:
        near = (panel.readings, panel.present, self.profile, self.known, _slots(panel), record.atoms)
        return kernels.variation_sums(*near, bound=bound)

    def contribution_sums(
        self, record: StreamRecord, panel: Panel, taken: Marks, contribute: Contribute, dimension: int
    ) -> Integers:
        order = record.atoms.order
        marks = panel.present[:, order] & self.known & taken[:, None]
        variations = np.where(marks, panel.readings[:, order] - self.profile, 0)
        return _contributed(variations, contribute, record.atoms, dimension)

    def cell_sums(self, record: StreamRecord, panel: Panel, cells: Contribute, n_cells: int) -> Integers:
        return kernels.indicator_sums(panel.readings, panel.present, cells, record.atoms, n_cells)

    def aligned(self, record: StreamRecord, panel: Panel, counts: Counter[str]) -> Panel:
        panel = panel.on_grid(record.plan.grid)
        where = record.where(panel.households)
        if where is None:
            return panel
        known = where >= 0
        _check_known(record, known)
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


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LakeCohort(Cohort):
    """Households whose profiles lie in a lake, in a folder that an engine reads."""

    engine: str
    """The engine, by its name."""
    folder: str = ""
    """Where the profiles lie; nothing before they are made."""
    digest: str = ""
    """A digest of all of them, whatever their order."""

    holds: ClassVar[bool] = False
    compares: ClassVar[bool] = False

    @classmethod
    def unlearned(cls, panel: Panel) -> LakeCohort:
        assert panel.data.engine is not None
        return cls.of(panel.n_households, engine=panel.data.engine)

    @classmethod
    def of(cls, households: int, *, engine: str, folder: str = "", digest: str = "") -> LakeCohort:
        """So many households whose profiles lie in a folder."""
        empty = np.zeros((0, households), dtype=np.int64)
        return cls(profile=empty, known=empty.astype(bool), engine=engine, folder=folder, digest=digest)

    @property
    def _engine(self) -> Engine:
        return engines.named(self.engine)

    def check(self, plan: Plan, panel: Panel) -> None:
        low, high = plan.domain
        if panel.n_steps and (panel.domain is None or panel.domain[0] < low or high < panel.domain[1]):
            # They are not looked at one by one.
            raise ReadingsError("lake-domain", domain=plan.domain)
        if isinstance(plan.query, Weighted):
            raise PlanError("lake-weights")

    def learned(self, record: StreamRecord, history: Panel, store: Store | None) -> LakeCohort:
        plan, slots = record.plan, record.plan.grid.slots

        def kernel(block: Panel) -> Arrays:
            if not plan.protection.learns:
                nothing = np.zeros((slots, block.n_households), dtype=np.int64)
                return Arrays(nothing, nothing.astype(bool))
            return Arrays(*_profiles(plan, block))

        if store is None:
            raise ValueError("profiles in the lake belong to a store")
        folder = f"{self._engine.folder(history)}-profiles"
        self._sweep(folder, store)
        out = self._new(folder, record, store)
        return self._in(out, self._engine.keep(kernel, history, out, steps=slots))

    def _in(self, folder: str, kept: Panel) -> LakeCohort:
        return replace(self, folder=folder, digest=_digest(kept))

    def _new(self, folder: str, record: StreamRecord, store: Store) -> str:
        """A place for profiles, which are gone from it if the transaction does not happen."""
        place = f"{folder}/{store.lineage}-{record.key[:16]}-{uuid.uuid4().hex[:8]}"
        store.undo(place, self._engine.discard)
        return place

    def sweep(self, store: Store) -> None:
        folder = self.folder.rpartition("/")[0]
        if folder not in store.swept:
            self._sweep(folder, store)

    def _sweep(self, folder: str, store: Store) -> None:
        if not store.has_every_plan():
            return
        cohorts = (record.cohort for record in store.records())
        belong = {each.folder.rpartition("/")[2] for each in cohorts if isinstance(each, LakeCohort)}
        for name in self._engine.names(folder):
            # Other stores may have theirs there.
            if name.startswith(f"{store.lineage}-") and name not in belong:
                self._engine.discard(f"{folder}/{name}")
        store.swept.add(folder)

    def has_profile(self, record: StreamRecord) -> Marks:
        # Who has none is not known here: all are taken to have one.
        return np.ones(len(record.atoms.order), dtype=bool)

    def stand_in_sums(self, record: StreamRecord, contribute: Contribute, dimension: int) -> Integers:
        default = record.plan.default_reading

        def kernel(homes: Block) -> Integers:
            vectors = np.where(homes.known, homes.profile, default)[:, homes.atoms.order]
            return homes.spread(_contributed(vectors, contribute, homes.atoms, dimension))

        return self._fold(record, None, kernel, np.add)

    def variation_sums(self, record: StreamRecord, panel: Panel, *, bound: int | None = None) -> Pair:
        slots = _slots(panel)

        def kernel(homes: Block) -> Pair:
            order = homes.atoms.order
            usual = np.ascontiguousarray(homes.profile[:, order]), np.ascontiguousarray(homes.known[:, order])
            near = (homes.readings, homes.present, *usual, slots, homes.atoms)
            sums, used = kernels.variation_sums(*near, bound=bound)
            return homes.spread(sums), homes.spread(used)

        return self._fold(record, panel, kernel, lambda one, two: (one[0] + two[0], one[1] + two[1]))

    def contribution_sums(
        self, record: StreamRecord, panel: Panel, taken: Marks, contribute: Contribute, dimension: int
    ) -> Integers:
        def kernel(homes: Block) -> Integers:
            order = homes.atoms.order
            marks = (homes.present & homes.known & taken[:, None])[:, order]
            variations = np.where(marks, (homes.readings - homes.profile)[:, order], 0)
            return homes.spread(_contributed(variations, contribute, homes.atoms, dimension))

        return self._fold(record, panel, kernel, np.add)

    def cell_sums(self, record: StreamRecord, panel: Panel, cells: Contribute, n_cells: int) -> Integers:
        def kernel(homes: Block) -> Integers:
            return homes.spread(kernels.indicator_sums(homes.readings, homes.present, cells, homes.atoms, n_cells))

        return self._fold(record, panel, kernel, np.add)

    def aligned(self, record: StreamRecord, panel: Panel, counts: Counter[str]) -> Panel:
        if panel.data.engine != self.engine:
            raise ReadingsError("lake-readings-elsewhere")
        panel = panel.on_grid(record.plan.grid)
        self.check(record.plan, panel)
        known = _are_known(record, panel)
        _check_known(record, known)
        return panel if known.all() else panel.columns(np.flatnonzero(known))

    def spanning(self, panel: Panel, steps: range) -> Panel:
        return self._engine.spanning(panel, steps)

    def held(self, record: StreamRecord, steps: range, held: Mapping[int, HeldStep]) -> Panel:
        return self._engine.empty(self._kept(record), record.plan.grid, steps)

    def forgetting(self, record: StreamRecord, place: int, after: StreamRecord, store: Store) -> LakeCohort:
        household = record.households[place]

        def kernel(block: Panel) -> Arrays:
            known = block.present & np.array([name != household for name in block.households])
            return Arrays(np.where(known, block.readings, 0), known)

        folder, _, name = self.folder.rpartition("/")
        self._sweep(folder, store)
        out, kept, steps = self._new(folder, record, store), self._kept(record), record.plan.grid.slots
        renamed = {household: after.households[place]}
        without = self._in(out, self._engine.keep(kernel, kept, out, steps=steps, renamed=renamed))
        if name.startswith(f"{store.lineage}-"):
            # A backup's profiles are its original's until it has made its own.
            store.discard(self.folder, self._engine.discard)
        return without

    def is_sound(self) -> bool:
        try:
            return _digest(self._engine.open(self.folder)) == self.digest
        except ReadingsError:
            return False

    def to_json(self) -> dict[str, Any]:
        return {"lake": {"engine": self.engine, "folder": self.folder, "digest": self.digest}}

    def _kept(self, record: StreamRecord) -> Panel:
        """The profiles of a plan.

        Raises:
            StoreError: They are not there.
        """
        try:
            return self._engine.open(self.folder)
        except ReadingsError:
            raise StoreError("lake-profiles-unreadable", stream=record.key[:12]) from None

    def _fold(
        self,
        record: StreamRecord,
        panel: Panel | None,
        kernel: Callable[[Block], Result],
        add: Callable[[Result, Result], Result],
    ) -> Result:
        """What a kernel finds in the households beside some of their readings.

        Raises:
            StoreError: Their profiles are not what was put there.
        """
        kept = self._kept(record)
        both = kept if panel is None else self._engine.beside(kept, panel)
        names, partition = tuple(group.name for group in record.groups), record.plan.groups
        since = _since(record, 0 if panel is None else panel.first_step)

        def whole(block: Panel) -> tuple[Result, int]:
            homes = Block(block, names, partition, since)
            return kernel(homes), homes.digest

        def added(one: tuple[Result, int], two: tuple[Result, int]) -> tuple[Result, int]:
            return add(one[0], two[0]), one[1] + two[1]

        found, digest = fold(whole, both, added, label="Adding up homes")
        if _hex(digest) != self.digest:
            raise StoreError("lake-profiles-changed")
        return found


class Block:
    """Some households of a plan in the lake, as a task sees them."""

    def __init__(
        self, block: Panel, names: tuple[str, ...], partition: str | None, moved_out: Mapping[str, int]
    ) -> None:
        slots = block.grid.slots
        self.profile, self.known = block.readings[:slots], block.present[:slots]
        self.present = _still(block.present[slots:], block.households, moved_out)
        self.readings = np.where(self.present, block.readings[slots:], 0)
        codes = {name: number for number, name in enumerate(names, start=1)}
        self.digest = _digested(replace(block, data=Arrays(self.profile, self.known)))
        column = (names[0],) * block.n_households if partition is None else block.groups[partition]
        group = np.array([codes[each] for each in column], dtype=np.int64)
        self.atoms = Atoms.of(np.stack([group, np.ones_like(group)]))
        self._all = len(names)

    def spread(self, sums: Integers) -> Integers:
        """Sums of the atoms there are here, put where they stand among all of the plan's."""
        found = np.zeros((*sums.shape[:-1], self._all), dtype=np.int64)
        found[..., self.atoms.columns[0] - 1] = sums
        return found


def cohort_of(panel: Panel) -> Cohort:
    """The households of a history, wherever they lie, before anything is learned of them."""
    kind = MemoryCohort if panel.data.engine is None else LakeCohort
    return kind.unlearned(panel)


def stored(content: Mapping[str, Any], profile: Integers, known: Marks) -> Cohort:
    """The households of a started plan, from its form in the database and the profiles beside it."""
    if "lake" not in content:
        return MemoryCohort(profile=profile, known=known)
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


def _check_known(record: StreamRecord, known: Marks) -> None:
    """Refuse readings of households of which none is on the roster.

    Args:
        record: The stream.
        known: Which of the households are.
    """
    if not known.any():
        raise ReadingsError("readings-no-known-household", households=len(known), roster=len(record.households))


def _are_known(record: StreamRecord, panel: Panel) -> Marks:
    where = record.where(panel.households)
    return np.ones(panel.n_households, dtype=bool) if where is None else where >= 0


def _slots(panel: Panel) -> Integers:
    return np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)


def _profiles(plan: Plan, history: Panel) -> tuple[Integers, Marks]:
    return kernels.profiles(
        history.readings,
        history.present,
        slots=plan.grid.slots,
        min_readings=plan.k_min,
        statistic=plan.statistic,
    )


def _contributed(vectors: Integers, contribute: Contribute, atoms: Atoms, dimension: int) -> Integers:
    """The sums over atoms of what households contribute, from a column for each in the order of the atoms."""
    return kernels.contribution_sums(lambda place: vectors[:, place], contribute, atoms, dimension=dimension)


def _since(record: StreamRecord, first: int) -> dict[str, int]:
    """From which row on those who have moved out do not move, by name."""
    return {record.households[place]: max(0, step - first) for place, step in record.silenced.items()}


def _still(present: Marks, households: Sequence[str], since: Mapping[str, int]) -> Marks:
    """Where there is a reading of somebody who has not moved out."""
    if since.keys().isdisjoint(households):
        return present
    marks = present.copy()
    for place, name in enumerate(households):
        if name in since:
            marks[since[name] :, place] = False
    return marks


def _digest(kept: Panel) -> str:
    """A digest of all profiles, whatever their order."""
    return _hex(fold(_digested, kept, operator.add, label="Looking at profiles"))


def _hex(digest: int) -> str:
    return f"{digest % 2**256:064x}"


def _digested(block: Panel) -> int:
    """A digest of the profiles of some households, which adds up to that of all."""
    total = 0
    profiles = np.where(block.present, block.readings, 0).T, block.present.T
    values, known = (np.ascontiguousarray(each) for each in profiles)
    for place, name in enumerate(block.households):
        # Names have no fixed length: that of a name is said before it.
        said = name.encode()
        content = b"%d %b" % (len(said), said) + values[place].tobytes() + known[place].tobytes()
        total += int.from_bytes(hashlib.sha256(content).digest())
    return total
