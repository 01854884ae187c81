"""Kernels: everything heavy, as functions of one block of households whose results add up, and how it is run.

A block is an integer array with a row a step and a column a household, and marks of the same shape. All
results are 64-bit integers, so blocks may be folded in any order, by any engine, to the same bits
(theory 4.1). That no sum can leave 64 bits is proved from public bounds before a kernel runs
(`check_limits`), never found out from the data.

`fold` adds up what a kernel finds in the blocks of a panel, wherever these lie. What is read piece by piece, from
memory or a file, is folded here, by as many threads as the machine has cores. Data that bring kernels to where they
lie fold themselves (`Folds`). Work that takes long shows a bar on a terminal (`Progress`).
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from diurnal.errors import LimitError, ReadingsError
from diurnal.readings.data import Floats, Folds, Integers, Marks

if TYPE_CHECKING:
    from diurnal.readings.panel import Panel

Statistic = Literal["mean", "base-load"]

Item = TypeVar("Item")

Result = TypeVar("Result")

GRAM_TILE = 1 << 19
"""How many readings a product of matrices takes at a time: some 4 MB of floats."""

TILE = 1 << 16
"""How many readings are worked on at a time: as many as stay in a core's cache."""

EXACT = 1 << 53
"""Up to where every whole number is a float64, so that sums of products below it are exact."""

LIMIT = 1 << 62
"""What no sum may reach; half of what 64 bits hold, so that a difference of two sums fits too."""

THREADS = os.cpu_count() or 1

PATIENCE = 2.0
"""After how many seconds a bar appears."""


def fold(
    kernel: Callable[[Panel], Result],
    panel: Panel,
    add: Callable[[Result, Result], Result],
    *,
    label: str = "Adding up",
) -> Result:
    """What a kernel finds in the blocks of a panel, added up where its readings lie.

    Args:
        kernel: A function of a panel of whole households. An engine may run it elsewhere: it takes along what it
            needs.
        panel: Private readings.
        add: Adds two results; in any order the sum must be the same, as it is for whole numbers.
        label: What this is about, for people.

    Raises:
        ValueError: The panel has no households.
    """
    if isinstance(panel.data, Folds):
        return panel.data.fold(kernel, panel, add, label=label)
    return fold_here(kernel, panel, add, label=label)


def fold_here(
    kernel: Callable[[Panel], Result],
    panel: Panel,
    add: Callable[[Result, Result], Result],
    *,
    label: str = "Adding up",
) -> Result:
    """What a kernel finds in the blocks of a panel, added up in the blocks' order.

    Threads go over blocks, and a product of matrices within one has a thread to itself: the two together would be
    in each other's way.

    Raises:
        ValueError: The panel has no households.
    """
    total: Result | None = None
    with threadpool_limits(1, user_api="blas"), Progress(label, panel.n_households) as bar:
        for result, households in in_order(lambda block: (kernel(block), block.n_households), panel.blocks()):
            total = result if total is None else add(total, result)
            bar.advance(households)
    if total is None:
        raise ValueError("a panel has at least one household")
    return total


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results of work on items, by threads, in the items' order, only as many ahead as there are threads."""
    running: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for item in items:
                running.append(pool.submit(work, item))
                if len(running) > THREADS:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


class Progress:
    """Counts what is done; shows a bar on a terminal if it takes long."""

    def __init__(self, label: str, total: int | None = None, *, shown: bool | None = None) -> None:
        self._label = label
        self._total = total
        self._shown = _is_terminal() if shown is None else shown
        self._began = time.monotonic()
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, amount: int) -> None:
        """Say that so much more is done."""
        self._done += amount
        if self._bar is None and self._shown and time.monotonic() - self._began > PATIENCE:
            self._bar = _bar(self._label, self._total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)


def check_limits(*, n_households: int, weight: int, magnitude: int, what: str) -> None:
    """Refuse a computation whose sums could leave 64 bits, from public bounds alone.

    Raises:
        LimitError: n_households * weight * magnitude is too large.
    """
    if n_households * weight * magnitude >= LIMIT:
        raise LimitError("sums-overflow", what=what, households=n_households, weight=weight, magnitude=magnitude)


@dataclass(frozen=True, eq=False)
class Atoms:
    """Households that are told apart by nothing: all that a pattern plan publishes is about sums over these.

    What tells households apart is a column of whole numbers each: group and weight in a plan, or the atom in
    each of several plans. A column of zeros stands for a household that is in none.
    """

    order: Integers
    """The households, those of an atom next to each other."""
    starts: Integers
    """Where in `order` each atom begins."""
    columns: Integers
    """What the households of each atom have in common: a column for each atom."""

    @classmethod
    def of(cls, columns: Integers) -> Atoms:
        """The atoms of columns of whole numbers, one a household; in the columns' order."""
        code = np.zeros(columns.shape[1], dtype=np.int64)
        for row in columns:
            values, place = np.unique(row, return_inverse=True)
            code = np.unique(code * len(values) + place, return_inverse=True)[1]
        first = np.unique(code, return_index=True)[1]
        counted: Marks = np.asarray(columns[:, first].any(axis=0))
        order = np.argsort(code, kind="stable")
        order = order[counted[code[order]]]
        kept = code[order]
        starts = np.flatnonzero(np.r_[True, kept[1:] != kept[:-1]]) if kept.size else kept
        return cls(order=order, starts=starts, columns=columns[:, first[counted]])

    @classmethod
    def of_groups(cls, weights: Integers, groups: Sequence[Integers]) -> Atoms:
        """The atoms of one query: households of one group and weight. Columns are group (from 1) and weight."""
        group = np.zeros_like(weights)
        for number, members in enumerate(groups, start=1):
            group[members] = number
        return cls.of(np.stack([np.where(weights == 0, 0, group), weights]))

    def by_group(self, sums: Integers) -> Integers:
        """Weighted sums of each group, from sums of each atom along the last axis. For `of_groups` only."""
        group, weight = self.columns
        starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        return np.add.reduceat(sums * weight, starts, axis=-1)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def sizes(self) -> Integers:
        """How many households each atom has."""
        return np.diff(self.starts, append=len(self.order))

    @cached_property
    def in_order(self) -> bool:
        """Whether the households stand as they are, so that no column has to be moved."""
        n = len(self.order)
        return n == 0 or (self.order[0] == 0 and self.order[-1] == n - 1 and bool((np.diff(self.order) == 1).all()))

    def pieces(self, width: int) -> Iterator[tuple[slice, Integers, slice]]:
        """Cut the households into runs: their places, where atoms begin within, and which atoms these are."""
        for start in range(0, len(self.order), width):
            stop = min(start + width, len(self.order))
            first = int(np.searchsorted(self.starts, start, side="right")) - 1
            last = int(np.searchsorted(self.starts, stop, side="left"))
            inner = np.maximum(self.starts[first:last] - start, 0)
            yield slice(start, stop), inner, slice(first, last)


def profiles(
    readings: Integers,
    present: Marks,
    *,
    slots: int,
    min_readings: int,
    statistic: Statistic = "mean",
) -> tuple[Integers, Marks]:
    """Each household's periodic component over whole cycles of history, and where it is known.

    Both statistics commute with integer shifts: if a slot's readings all move by d, so does the result. The
    mean is a *floor* mean, because rounding half to even, or towards zero, does not commute.

    Returns:
        zhat with a row a slot and a column a household (0 where unknown), and True where at least
        `min_readings` readings were present.

    Guarantee:
        Variations against this profile are equal, bit for bit, for pattern neighbours (theory 4.2).
    """
    if readings.shape[0] % slots or readings.shape[0] == 0:
        raise ReadingsError("history-not-cycles", slots=slots, steps=readings.shape[0])
    cycles = readings.reshape(-1, slots, readings.shape[1])
    marks = present.reshape(cycles.shape)
    count = marks.sum(axis=0, dtype=np.int64)
    known = count >= max(1, min_readings)
    if statistic == "mean":
        total = np.where(marks, cycles, 0).sum(axis=0)
        value = np.floor_divide(total, np.maximum(count, 1))
    else:
        value = np.where(marks, cycles, np.iinfo(np.int64).max).min(axis=0)
    # A slot's row is read at every step: keep its households next to each other in memory.
    return np.ascontiguousarray(np.where(known, value, 0)), np.ascontiguousarray(known)


def variation_sums(
    readings: Integers,
    present: Marks,
    profile: Integers,
    known: Marks,
    slots: Integers,
    atoms: Atoms,
    *,
    bound: int | None = None,
) -> tuple[Integers, Integers]:
    """Sums of the variations of each atom at each step, and how many readings went into each.

    A missing reading and a slot without a profile have variation 0.

    Args:
        readings: A row a step, a column a household.
        present: Where there is a reading.
        profile: zhat, a row a slot; its columns in the order of the atoms.
        known: Where zhat is known; its columns in the order of the atoms.
        slots: The slot of each row.
        atoms: Which households are summed together.
        bound: W: variations are clipped to [-W, W] first.

    Returns:
        Two arrays with a row a step and a column an atom: the sums, and the numbers of readings used.
    """
    steps = readings.shape[0]
    sums = np.zeros((steps, len(atoms)), dtype=np.int64)
    used = np.zeros_like(sums)
    straight = atoms.in_order
    for place, inner, which in atoms.pieces(TILE):
        width = place.stop - place.start
        rows = max(1, TILE // width)
        columns: slice | Integers = place if straight else atoms.order[place]
        for top in range(0, steps, rows):
            tile = slice(top, min(top + rows, steps))
            at = slice(slots[top], slots[top] + 1) if rows == 1 else slots[tile]
            marks = present[tile, columns] & known[at, place]
            moves = readings[tile, columns] - profile[at, place]
            if bound is not None:
                np.clip(moves, -bound, bound, out=moves)
            if marks.all():
                used[tile, which] += np.append(inner[1:], width) - inner
            else:
                moves *= marks
                used[tile, which] += np.add.reduceat(marks, inner, axis=1, dtype=np.int64)
            sums[tile, which] += np.add.reduceat(moves, inner, axis=1)
    return sums, used


def contribution_sums(
    vectors: Callable[[slice | Integers], Integers],
    contribute: Callable[[Integers], Integers],
    atoms: Atoms,
    *,
    dimension: int,
    width: int = 4096,
) -> Integers:
    """Sum what each household contributes, over each atom, a run of households at a time.

    Args:
        vectors: Gives the vectors (a row a slot, a column a household) of a run of places in the atoms' order.
        contribute: Maps vectors to contributions inside a declared body, column by column.
        atoms: Which households are summed together.
        dimension: How many rows a contribution has.
        width: How many households a run has.

    Returns:
        A row for each component of a contribution, a column for each atom.
    """
    sums = np.zeros((dimension, len(atoms)), dtype=np.int64)
    for place, inner, which in atoms.pieces(width):
        sums[:, which] += np.add.reduceat(contribute(vectors(place)), inner, axis=1)
    return sums


def indicator_sums(
    readings: Integers, present: Marks, cells: Callable[[Integers], Integers], atoms: Atoms, n_cells: int
) -> Integers:
    """How many readings of each atom fall into each cell, at each step.

    Args:
        readings: A row a step, a column a household.
        present: Where there is a reading; a missing one is in no cell.
        cells: The cell of each reading, -1 for none.
        atoms: Which households are counted together.
        n_cells: How many cells there are.

    Returns:
        Counts with a row a step, a column a cell, a layer an atom.
    """
    counts = np.zeros((readings.shape[0], n_cells, len(atoms)), dtype=np.int64)
    for place, inner, which in atoms.pieces(TILE):
        columns = atoms.order[place]
        for row in range(readings.shape[0]):
            cell = np.where(present[row, columns], cells(readings[row, columns]), -1)
            for index in range(n_cells):
                counts[row, index, which] += np.add.reduceat(cell == index, inner, dtype=np.int64)
    return counts


def moves(readings: Integers, present: Marks, *, slots: int, cycles: Integers) -> Floats:
    """What each household uses in some cycles beyond its own mean over these: whole numbers, held as floats.

    Args:
        readings: A row a step, a column a household, from the first slot of a cycle on.
        present: Where there is a reading; a missing one does not move.
        slots: The length of a cycle.
        cycles: Which cycles; the mean is the floor mean of what is present in these.

    Returns:
        By cycle, slot and household. In memory cycles are apart from each other, and within one whatever is next to
        each other in `readings` still is.
    """
    n = readings.shape[1]
    values, marks = (array.reshape(-1, slots, n) for array in (readings, present))
    if len(cycles) < len(values):
        values, marks = values[cycles], marks[cycles]
    complete = bool(marks.all())
    count = len(cycles) if complete else np.maximum(marks.sum(axis=0, dtype=np.int64), 1)
    # A missing reading is 0, so that it adds nothing.
    profile = values.sum(axis=0) // count
    by_household = values.strides[1] < values.strides[2]
    shape = (len(cycles), n, slots) if by_household else (len(cycles), slots, n)
    result = np.empty(shape).transpose(0, 2, 1) if by_household else np.empty(shape)
    np.subtract(values, profile, out=result, dtype=np.int64, casting="unsafe")
    if not complete:
        result *= marks
    return result


def gram(readings: Integers, present: Marks, *, slots: int, cycles: Integers) -> tuple[Integers, Integers]:
    """Sums over households of their moves in each cycle, and of the products of their moves in every two cycles.

    The arguments are those of `moves`.

    Returns:
        The sums, with a row a cycle and a column a slot; and the products' sums, with a row and a column a cycle.

    Raises:
        LimitError: The products could leave 64 bits, or are no exact floats.
    """
    n, k = readings.shape[1], len(cycles)
    total = np.zeros((k, slots), dtype=np.int64), np.zeros((k, k), dtype=np.int64)
    width = max(1, GRAM_TILE // (k * slots))
    for start in range(0, n, width):
        run = slice(start, start + width)
        block = moves(readings[:, run], present[:, run], slots=slots, cycles=cycles)
        flat = (block if block.flags.c_contiguous else block.transpose(0, 2, 1)).reshape(k, -1)
        products = _products(flat)
        total = add_grams(total, (block.sum(axis=2).astype(np.int64), products))
    return total


def _products(rows: Floats) -> Integers:
    """The products of rows of whole numbers, exact.

    No sum of products, nor a part of it, is larger than the largest row's own; so if those are well below 2^53,
    every float in between was a whole number.
    """
    products = rows @ rows.T
    if products.diagonal().max() < EXACT // 2:
        return products.astype(np.int64)
    half = rows.shape[1] // 2
    if not half:
        raise LimitError("variations-overflow")
    left, right = (np.ascontiguousarray(part) for part in (rows[:, :half], rows[:, half:]))
    return _within_limits(_products(left) + _products(right))


def add_grams(left: tuple[Integers, Integers], right: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """What `gram` finds in two blocks together."""
    return left[0] + right[0], _within_limits(left[1] + right[1])


def _within_limits(products: Integers) -> Integers:
    # Each of the two that were added was below half of 64 bits, so a sum that is not shows as such.
    if products.diagonal().max(initial=0) >= LIMIT:
        raise LimitError("products-overflow")
    return products


def _is_terminal() -> bool:
    # Standard error may be closed.
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(label: str, total: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(label, total=total)
    bar.start()
    return bar
