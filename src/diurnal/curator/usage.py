"""Usage: what pattern plans use of the readings, and what each may say beside the others (theory 4.6).

- `silent_steps`: the steps where a pattern plan may only say its noisy profile, because an earlier plan has
  spoken about them and the two together would say too much.
- `used_sums`: the sums of variations that it may use.
- `used_digests`: which readings it has used, so that other ones are told apart later.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from diurnal.curator import far
from diurnal.curator.records import StreamRecord, overlap
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms, variation_sums
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


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
        if other.plan.protection.exact_variations and other.key != record.key and overlap(other.reports(), spoken)
    ]
    others = _connected(record, patterns) if patterns else []
    published = {other.key: store.published(other.number, panel.steps) for other in others}
    silent = np.zeros(panel.n_steps, dtype=bool)
    for step in sorted(set().union(*published.values())):
        earlier = [other for other in others if step in published[other.key]]
        silent[step - panel.first_step] = not _compatible(record, earlier, panel.between(step, step + 1), store)
    return silent


def used_sums(record: StreamRecord, panel: Panel) -> tuple[Integers, Integers]:
    """Sums of variations of each atom at each step as a pattern plan may use them, and how many are in them.

    Where fewer than the minimum of an atom's readings are used, and at steps of the plan's own history, all its
    variations count as zero.
    """
    sums, used = moved(record, panel)
    # Of its own history a plan says nothing but G, whatever readings are given for it now.
    later = np.array([step >= record.history()[1] for step in panel.steps], dtype=bool)
    enough = (used >= record.plan.minimum_group) & later[:, None]
    return np.where(enough, sums, 0), np.where(enough, used, 0)


def moved(record: StreamRecord, panel: Panel, *, bound: int | None = None) -> tuple[Integers, Integers]:
    """Sums of the variations of each atom at each step, and how many readings went into each."""
    if record.lake is not None:
        return far.moved(record, panel, bound=bound)
    slots = np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)
    near = (panel.readings, panel.present, record.profile, record.known, slots, record.atoms)
    return variation_sums(*near, bound=bound)


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
