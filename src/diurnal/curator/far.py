"""Far: a plan whose households' profiles lie in the lake. Sums of them come here, and nothing else.

What a plan says of its households is sums over atoms, of what each does by itself. So a kernel sees some of them,
their profiles and their readings, and its sums add up, wherever the households are. A far plan stands alone: at its
steps no other plan speaks of its households, so that nobody has to compare profiles or readings of the two here.
"""

from __future__ import annotations

import hashlib
import operator
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from diurnal.curator.intake import check_known
from diurnal.curator.records import Lake
from diurnal.errors import PlanError, ReadingsError, StoreError
from diurnal.promise.query import Weighted
from diurnal.readings import kernels
from diurnal.readings.data import Arrays, Integers, Marks
from diurnal.readings.engines import fold
from diurnal.readings.engines.spark import homes
from diurnal.readings.engines.spark.lake import LakeData, open_panel
from diurnal.readings.kernels import Atoms
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.records import StreamRecord
    from diurnal.curator.store import Store
    from diurnal.planning.plan import Plan

Pair = tuple[Integers, Integers]
Result = TypeVar("Result")


def is_far(panel: Panel) -> bool:
    """Whether a panel's readings lie in the lake."""
    return isinstance(panel.data, LakeData)


def check(record: StreamRecord) -> None:
    """Refuse what a plan in the lake cannot do.

    Raises:
        PlanError: Weights of single households.
    """
    if isinstance(record.plan.query, Weighted):
        raise PlanError("Households in the lake have no weights of their own.", hint="Take Sum or Mean, by groups.")


def check_domain(plan: Plan, panel: Panel) -> None:
    """Refuse a panel in the lake that may have readings outside a plan's domain: they are not looked at one by one.

    Raises:
        ReadingsError: It was imported with a wider domain, and has steps.
    """
    low, high = plan.domain
    if panel.n_steps and (panel.domain is None or panel.domain[0] < low or high < panel.domain[1]):
        raise ReadingsError(
            f"The panel's readings may lie outside the plan's domain {plan.domain}.",
            hint="Import them with that domain: dn.panel(..., domain=plan.domain).",
        )


def place_for(record: StreamRecord, history: Panel, store: Store) -> str:
    """A folder for a plan's profiles, beside the panel they are made from; gone if the plan is not started."""
    data = history.data
    assert isinstance(data, LakeData)
    folder = f"{data.where}-profiles"
    sweep(folder, store)
    return _new_place(folder, record, store)


def sweep(folder: str, store: Store) -> None:
    """Do away with what a process has left there that was killed as it started a plan, or erased somebody."""
    if not store.has_every_plan():
        return
    belong = {each.lake.folder.rpartition("/")[2] for each in store.records() if each.lake is not None}
    for name in homes.names_in(folder):
        # Other stores may have theirs there.
        if name.startswith(f"{store.lineage}-") and name not in belong:
            homes.discard(f"{folder}/{name}")
    store.swept.add(folder)


def _new_place(folder: str, record: StreamRecord, store: Store) -> str:
    place = f"{folder}/{store.lineage}-{record.key[:16]}-{uuid.uuid4().hex[:8]}"
    store.undo(place)
    return place


def learned(record: StreamRecord, history: Panel, out: str) -> StreamRecord:
    """A plan with its profiles, made and kept in the lake.

    Args:
        record: The plan.
        history: The panel they are made from.
        out: The folder for them.
    """
    plan = record.plan
    slots, least, statistic = plan.grid.slots, plan.k_min, plan.statistic
    assumes = plan.protection.learns

    def kernel(block: Panel) -> Arrays:
        if not assumes:
            nothing = np.zeros((slots, block.n_households), dtype=np.int64)
            return Arrays(nothing, nothing.astype(bool))
        made = kernels.profiles(block.readings, block.present, slots=slots, min_readings=least, statistic=statistic)
        return Arrays(*made)

    kept = homes.keep(kernel, history, out, steps=slots)
    return replace(record, lake=Lake(folder=out, digest=_digest(kept)))


def _digest(kept: Panel) -> str:
    """A digest of all profiles, whatever their order."""
    return f"{fold(_digested, kept, operator.add, label='Looking at profiles') % 2**256:064x}"


def _digested(block: Panel) -> int:
    total = 0
    profiles = np.where(block.present, block.readings, 0).T, block.present.T
    values, known = (np.ascontiguousarray(each) for each in profiles)
    for place, name in enumerate(block.households):
        # Names have no fixed length: that of a name is said before it.
        said = name.encode()
        content = b"%d %b" % (len(said), said) + values[place].tobytes() + known[place].tobytes()
        total += int.from_bytes(hashlib.sha256(content).digest())
    return total


def _kept(record: StreamRecord) -> Panel:
    """The profiles of a plan.

    Raises:
        StoreError: They are not there.
    """
    assert record.lake is not None
    try:
        return open_panel(record.lake.folder)
    except ReadingsError:
        raise StoreError(
            f"The profiles of plan {record.key[:12]} cannot be read from the lake.",
            hint="Restore their folder, or stop the plan and start one on a new history.",
        ) from None


def is_sound(record: StreamRecord) -> bool:
    """Whether a plan's profiles in the lake are those that were put there."""
    assert record.lake is not None
    try:
        return _digest(open_panel(record.lake.folder)) == record.lake.digest
    except ReadingsError:
        return False


def forgotten(record: StreamRecord, place: int, alias: str, store: Store) -> StreamRecord:
    """The same with a household, by place in the roster, nameless and without profile, in the lake too.

    The profiles are kept anew; the older table is to be deleted once that has happened.
    """
    household = record.households[place]

    def kernel(block: Panel) -> Arrays:
        known = block.present & np.array([name != household for name in block.households])
        return Arrays(np.where(known, block.readings, 0), known)

    assert record.lake is not None
    before = record.lake.folder
    sweep(before.rpartition("/")[0], store)
    out = _new_place(before.rpartition("/")[0], record, store)
    after = record.forgetting(place, alias)
    renamed = {household: after.households[place]}
    kept = homes.keep(kernel, _kept(record), out, steps=record.plan.grid.slots, renamed=renamed)
    if before.rpartition("/")[2].startswith(f"{store.lineage}-"):
        # A backup's profiles are its original's until it has made its own.
        store.discard(before)
    return replace(after, lake=Lake(folder=out, digest=_digest(kept)))


def moved(record: StreamRecord, panel: Panel, *, bound: int | None = None) -> Pair:
    """Sums of the variations of each atom at each step, and how many readings went into each."""
    slots = np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)

    def kernel(homes_: Block) -> Pair:
        order = homes_.atoms.order
        sums, used = kernels.variation_sums(
            homes_.readings,
            homes_.present,
            np.ascontiguousarray(homes_.profile[:, order]),
            np.ascontiguousarray(homes_.known[:, order]),
            slots,
            homes_.atoms,
            bound=bound,
        )
        return homes_.spread(sums), homes_.spread(used)

    return _fold(record, panel, kernel, lambda one, two: (one[0] + two[0], one[1] + two[1]))


def contributed(
    record: StreamRecord, panel: Panel, taken: Marks, contribute: Callable[[Integers], Integers], dimension: int
) -> Integers:
    """What households contribute with their variations of a cycle, summed over each atom.

    Args:
        record: The plan.
        panel: A whole cycle.
        taken: Which of its steps count.
        contribute: What a household makes of its variations.
        dimension: How many numbers that is.
    """

    def kernel(homes_: Block) -> Integers:
        order = homes_.atoms.order
        marks = (homes_.present & homes_.known & taken[:, None])[:, order]
        variations = np.where(marks, (homes_.readings - homes_.profile)[:, order], 0)
        return homes_.spread(
            kernels.contribution_sums(
                lambda place: variations[:, place], contribute, homes_.atoms, dimension=dimension
            )
        )

    return _fold(record, panel, kernel, np.add)


def stand_ins(record: StreamRecord, contribute: Callable[[Integers], Integers], dimension: int) -> Integers:
    """What households contribute with their profiles, summed over each atom; the public default where unknown."""
    default = record.plan.default_reading

    def kernel(homes_: Block) -> Integers:
        vectors = np.where(homes_.known, homes_.profile, default)[:, homes_.atoms.order]
        return homes_.spread(
            kernels.contribution_sums(
                lambda place: vectors[:, place], contribute, homes_.atoms, dimension=dimension
            )
        )

    return _fold(record, None, kernel, np.add)


def counted(record: StreamRecord, panel: Panel, cells: Callable[[Integers], Integers], n_cells: int) -> Integers:
    """How many readings of each atom fall into each cell, at each step."""

    def kernel(homes_: Block) -> Integers:
        return homes_.spread(kernels.indicator_sums(homes_.readings, homes_.present, cells, homes_.atoms, n_cells))

    return _fold(record, panel, kernel, np.add)


def spanning(panel: Panel, steps: range) -> Panel:
    """A panel's readings of some steps; of those that it has not, everything is missing."""
    data = panel.data
    assert isinstance(data, LakeData)
    first = data.cut.window[0] - panel.first_step
    # The table may have them, but they are none of this panel's.
    gone = {first + step for step in steps if step not in panel.steps}.union(data.cut.gone)
    cut = replace(data.cut, window=(first + steps.start, first + steps.stop), gone=tuple(sorted(gone)))
    return replace(panel, data=replace(data, cut=cut), first_step=steps.start)


def seen(record: StreamRecord, panel: Panel) -> Integers:
    """How many readings there are at each step, without those of who has moved out."""
    since = _since(record, panel.first_step)

    def kernel(block: Panel) -> Integers:
        found: Integers = _still(block.present, block.households, since).sum(axis=1)
        return found

    found: Integers = fold(kernel, panel, np.add, label="Counting readings")
    return found


def present(record: StreamRecord, panel: Panel, steps: Sequence[int]) -> int:
    """How many readings there are at some steps of a panel."""
    if not steps:
        return 0
    rows = np.array(steps) - panel.first_step
    return int(seen(record, panel)[rows].sum())


def missing(record: StreamRecord, steps: range) -> Panel:
    """The households of a plan with no reading at some steps."""
    kept = _kept(record)
    assert isinstance(kept.data, LakeData)
    gone = tuple(range(len(steps)))
    cut = replace(kept.data.cut, window=(0, len(steps)), gone=gone)
    return replace(kept, grid=record.plan.grid, data=replace(kept.data, cut=cut), first_step=steps.start)


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


class Block:
    """Some households of a far plan, as a task sees them."""

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


def _fold(
    record: StreamRecord,
    panel: Panel | None,
    kernel: Callable[[Block], Result],
    add: Callable[[Result, Result], Result],
) -> Result:
    """What a kernel finds in a far plan's households beside some of their readings.

    Raises:
        StoreError: Their profiles are not what was put there.
    """
    kept = _kept(record)
    both = kept if panel is None else homes.beside(kept, panel)
    names, partition = tuple(group.name for group in record.groups), record.plan.groups
    first = 0 if panel is None else panel.first_step
    since = _since(record, first)

    def whole(block: Panel) -> tuple[Result, int]:
        homes_ = Block(block, names, partition, since)
        return kernel(homes_), homes_.digest

    def added(one: tuple[Result, int], two: tuple[Result, int]) -> tuple[Result, int]:
        return add(one[0], two[0]), one[1] + two[1]

    found, digest = fold(whole, both, added, label="Adding up homes")
    assert record.lake is not None
    if f"{digest % 2**256:064x}" != record.lake.digest:
        raise StoreError(
            "The profiles in the lake are not those that were put there.",
            hint="Restore their folder, or stop the plan and start one on a new history.",
        )
    return found


def aligned(record: StreamRecord, panel: Panel) -> Panel:
    """A panel in the lake on the stream's grid, without households that are not on its roster.

    Raises:
        ReadingsError: Readings that lie elsewhere, or outside the plan's domain; or nobody of the roster.
    """
    if not is_far(panel):
        raise ReadingsError(
            "This stream's homes are in the lake, and these readings are not.",
            hint="Make a panel of a Spark frame: dn.panel(frame, like=plan.grid, out=...).",
        )
    panel = panel.on_grid(record.plan.grid)
    check_domain(record.plan, panel)
    known = _known(record, panel)
    check_known(record, known)
    return panel if known.all() else panel.columns(np.flatnonzero(known))


def strangers(record: StreamRecord, panel: Panel, due: int) -> int:
    """How many readings there are, before a step, of households that are not on the roster."""
    others = np.flatnonzero(~_known(record, panel))
    if not len(others):
        return 0
    panel = panel.on_grid(record.plan.grid)
    return present(record, panel.columns(others), [step for step in panel.steps if step < due])


def _known(record: StreamRecord, panel: Panel) -> Marks:
    where = record.where(panel.households)
    return np.ones(panel.n_households, dtype=bool) if where is None else where >= 0
