"""Lake: the households of a started plan whose profiles lie in a lake, in a folder that an engine reads."""

from __future__ import annotations

import hashlib
import operator
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from diurnal.curator.closing import HeldStep
from diurnal.curator.started_plan import (
    Cohort,
    Contribute,
    Pair,
    StreamRecord,
    are_known,
    check_known,
    contributed,
    moved_since,
    profiles_of,
    slots_of,
    still_present,
)
from diurnal.errors import PlanError, ReadingsError, StoreError
from diurnal.promise.query import Weighted
from diurnal.readings import engines, kernels
from diurnal.readings.data import Integers, Marks
from diurnal.readings.engines import Engine
from diurnal.readings.kernels import Atoms, fold
from diurnal.readings.panel import Arrays, Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store
    from diurnal.planning.plan import Plan


Result = TypeVar("Result")


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
            return Arrays(*profiles_of(plan, block))

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
        place = f"{folder}/{store.lineage}-{record.stream_id[:16]}-{uuid.uuid4().hex[:8]}"
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
            # Other stores may have theirs there, and what this transaction replaces stays until it has happened.
            place = f"{folder}/{name}"
            if name.startswith(f"{store.lineage}-") and name not in belong and not store.replaces(place):
                self._engine.discard(place)
        store.swept.add(folder)

    def has_profile(self, record: StreamRecord) -> Marks:
        # Who has none is not known here: all are taken to have one.
        return np.ones(len(record.atoms.order), dtype=bool)

    def stand_in_sums(self, record: StreamRecord, contribute: Contribute, dimension: int) -> Integers:
        default = record.plan.default_reading

        def kernel(homes: Block) -> Integers:
            vectors = np.where(homes.known, homes.profile, default)[:, homes.atoms.order]
            return homes.spread(contributed(vectors, contribute, homes.atoms, dimension))

        return self._fold(record, None, kernel, np.add)

    def variation_sums(self, record: StreamRecord, panel: Panel, *, bound: int | None = None) -> Pair:
        slots = slots_of(panel)

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
            return homes.spread(contributed(variations, contribute, homes.atoms, dimension))

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
        known = are_known(record, panel)
        check_known(record, known)
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
            raise StoreError("lake-profiles-unreadable", stream=record.stream_id[:12]) from None

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
        since = moved_since(record, 0 if panel is None else panel.first_step)

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
        self.present = still_present(block.present[slots:], block.households, moved_out)
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
