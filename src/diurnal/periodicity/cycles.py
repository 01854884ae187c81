"""Cycles: which cycles of a panel have enough readings to be compared, and how households move in them.

tally -> count -> (correlation, evidence, nonlinear)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import Number, fraction
from diurnal.private import Private
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.panel import Panel, in_memory

KEEP = Fraction(9, 10)
"""What share of a cycle's readings must be present for it to count."""

FEWEST = 3
"""How many cycles must count: two are each other's mirror image once their mean is taken away."""

MOST = 4000
"""How many cycles are compared with each other, at most: ten years of days."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Cycles(Private):
    """Which cycles count."""

    kept: tuple[int, ...]
    """Those that do, by number from the panel's first."""
    left_out: tuple[int, ...]
    """Those that do not, because too many of their readings are missing, or because nothing moves in them."""
    gaps: int
    """How many readings of those that count are missing; a household's own mean stands for them."""
    silent: int = 0
    """How many households have no reading at all; they take no part."""

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def numbers(self) -> Integers:
        """Those that count, as an array."""
        return np.array(self.kept, dtype=np.int64)

    def without(self, flat: Integers) -> Cycles:
        """The same less some, given by their place among those that count."""
        if not len(flat):
            return self
        gone = set(self.numbers[flat].tolist())
        kept = tuple(cycle for cycle in self.kept if cycle not in gone)
        if len(kept) < FEWEST:
            raise ReadingsError("check-nobody-moves", cycles=len(gone), of=len(self))
        return replace(self, kept=kept, left_out=tuple(sorted((*self.left_out, *gone))))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tally(Private):
    """What one look at every reading of a panel tells, step by step."""

    present: Integers = field(repr=False)
    """How many readings each step has."""
    total: Integers = field(repr=False)
    """What they add up to."""
    silent: int
    """How many households have no reading at all."""

    @property
    def means(self) -> Floats:
        """The mean of the readings at each step, NaN where there is none."""
        mean: Floats = np.where(self.present > 0, self.total / np.maximum(self.present, 1), np.nan)
        return mean


def tally(panel: Panel) -> Tally:
    """Count and add up the readings of every step."""
    return kernels.fold(_tally, panel, _add_tallies, label="Counting readings")


def _tally(block: Panel) -> Tally:
    readings, present = block.readings, block.present
    silent = int(np.count_nonzero(~present.any(axis=0)))
    return Tally(present=present.sum(axis=1, dtype=np.int64), total=readings.sum(axis=1), silent=silent)


def _add_tallies(left: Tally, right: Tally) -> Tally:
    return Tally(
        present=left.present + right.present, total=left.total + right.total, silent=left.silent + right.silent
    )


def count(panel: Panel, keep: Number = KEEP, *, tallied: Tally | None = None) -> Cycles:
    """Which cycles of a panel count.

    Args:
        panel: Private readings.
        keep: What share of a cycle's readings must be present, steps on the calendar aside.
        tallied: The panel's tally, if it is known already.

    Raises:
        ReadingsError: There are fewer than two households, or fewer than three cycles that count.
    """
    share = fraction(keep, "keep", error=ReadingsError)
    if not 0 < share <= 1:
        raise ReadingsError("check-keep-range", keep=keep)
    slots, n_cycles, n = panel.grid.slots, panel.n_cycles, panel.n_households
    if n < 2:
        raise ReadingsError("check-one-household")
    if n_cycles < FEWEST:
        raise ReadingsError(
            "check-too-few-cycles", steps=panel.n_steps, cycles=n_cycles, slots=slots, fewest=FEWEST
        )
    if n_cycles > MOST:
        raise ReadingsError("check-too-many-cycles", cycles=n_cycles, most=MOST)
    found = tallied or tally(panel)
    there = found.present[: n_cycles * slots].reshape(n_cycles, slots).sum(axis=1)
    steps = np.arange(panel.first_step, panel.first_step + n_cycles * slots)
    open_steps = ~np.isin(steps, sorted(panel.calendar))
    possible = open_steps.reshape(n_cycles, slots).sum(axis=1) * n
    counts = (possible > 0) & (there * share.denominator >= possible * share.numerator)
    if counts.sum() < FEWEST:
        raise ReadingsError(
            "check-too-few-readings", enough=counts.sum(), cycles=n_cycles, fewest=FEWEST, share=float(share)
        )
    return Cycles(
        kept=tuple(np.flatnonzero(counts).tolist()),
        left_out=tuple(np.flatnonzero(~counts).tolist()),
        gaps=int((possible - there)[counts].sum()),
        silent=found.silent,
    )


def moves(panel: Panel, cycles: Cycles) -> tuple[Floats, Marks]:
    """What each household of a panel that fits into memory uses beyond its own mean, and where it is known.

    Returns:
        Two arrays by household, cycle and slot: the variations, zero where a reading is missing, and marks of those
        that are there. The floor of a household's mean, which keeps variations whole, is made good for here: on a
        coarse unit what it leaves would be the same in every cycle.
    """
    rows, slots, numbers = panel.n_cycles * panel.grid.slots, panel.grid.slots, cycles.numbers
    found = kernels.moves(panel.readings[:rows], panel.present[:rows], slots=slots, cycles=numbers)
    marks = panel.present[:rows].reshape(-1, slots, panel.n_households)[numbers]
    variations = np.ascontiguousarray(found.transpose(2, 0, 1))
    known = np.ascontiguousarray(marks.transpose(2, 0, 1))
    variations -= variations.sum(axis=1, keepdims=True) / np.maximum(known.sum(axis=1, keepdims=True), 1)
    variations *= known
    return variations, known


def sample(panel: Panel, most: int, rng: np.random.Generator) -> Panel:
    """Some households of a panel, in memory, drawn without replacement; all of them if there are no more."""
    if panel.n_households <= most:
        return in_memory(panel)
    return in_memory(panel.columns(np.sort(rng.choice(panel.n_households, most, replace=False))))
