"""Cycles: which cycles of a panel have enough readings to be compared, and how households move in them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import Number, fraction
from diurnal.private import Private
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers
from diurnal.readings.engines import local
from diurnal.readings.panel import Panel

KEEP = Fraction(9, 10)
"""What share of a cycle's readings must be present for it to count."""

FEWEST = 3
"""How many cycles must count: two are each other's mirror image once their mean is taken away."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Cycles(Private):
    """Which cycles count."""

    kept: tuple[int, ...]
    """Those that do, by number from the panel's first."""
    left_out: tuple[int, ...]
    """Those that do not, because too many of their readings are missing, or because nothing moves in them."""
    gaps: int
    """How many readings of those that count are missing; a household's own mean stands for them."""

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
            raise ReadingsError(
                f"Not testable: in {len(gone)} of {len(self)} cycles no household moves apart from the others.",
                hint="Readings that are constant, or the same for everybody, have no correlation. Is the right "
                "column imported?",
            )
        return Cycles(kept=kept, left_out=tuple(sorted((*self.left_out, *gone))), gaps=self.gaps)


def count(panel: Panel, keep: Number = KEEP) -> Cycles:
    """Which cycles of a panel count.

    Args:
        panel: Private readings.
        keep: What share of a cycle's readings must be present, steps on the calendar aside.

    Raises:
        ReadingsError: There are fewer than two households, or fewer than three cycles that count.
    """
    share = fraction(keep, "keep", error=ReadingsError)
    if not 0 < share <= 1:
        raise ReadingsError(f"Expected keep={keep} above 0 and at most 1.", hint="For example keep='0.9'.")
    slots, n_cycles, n = panel.grid.slots, panel.n_cycles, panel.n_households
    if n < 2:
        raise ReadingsError(
            "Not testable: there is one household, and households are what is compared.",
            hint="Give a panel of at least two, better of hundreds.",
        )
    if n_cycles < FEWEST:
        raise ReadingsError(
            f"Not testable: {panel.n_steps} steps have {n_cycles} whole cycles of {slots} slots, and {FEWEST} are "
            "needed.",
            hint="Give a longer panel, or panel.with_period(...) with a shorter period.",
        )
    present = local.fold(
        lambda block: block.present.sum(axis=1, dtype=np.int64), panel, np.add, label="Counting readings"
    )
    there = present[: n_cycles * slots].reshape(n_cycles, slots).sum(axis=1)
    steps = np.arange(panel.first_step, panel.first_step + n_cycles * slots)
    open_steps = ~np.isin(steps, sorted(panel.calendar))
    possible = open_steps.reshape(n_cycles, slots).sum(axis=1) * n
    counts = (possible > 0) & (there * share.denominator >= possible * share.numerator)
    if counts.sum() < FEWEST:
        raise ReadingsError(
            f"Not testable: {counts.sum()} of {n_cycles} cycles have enough readings, and {FEWEST} are needed.",
            hint=f"A cycle counts if {float(share):.0%} of its readings are there; keep=... may ask for less.",
        )
    return Cycles(
        kept=tuple(np.flatnonzero(counts).tolist()),
        left_out=tuple(np.flatnonzero(~counts).tolist()),
        gaps=int((possible - there)[counts].sum()),
    )


def moves(panel: Panel, cycles: Cycles) -> Floats:
    """What each household of a panel that fits into memory uses beyond its own mean: household, cycle, slot."""
    rows, slots = panel.n_cycles * panel.grid.slots, panel.grid.slots
    found = kernels.moves(panel.readings[:rows], panel.present[:rows], slots=slots, cycles=cycles.numbers)
    return np.ascontiguousarray(found.transpose(2, 0, 1))


def sample(panel: Panel, most: int, rng: np.random.Generator) -> Panel:
    """Some households of a panel, drawn without replacement; all of them if there are no more."""
    if panel.n_households <= most:
        return panel
    return panel.columns(np.sort(rng.choice(panel.n_households, most, replace=False)))
