"""Coefficients: the paper's test of almost periodicity, and what another choice of homes would do to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from diurnal.periodicity.correlation import Correlations, correlations
from diurnal.private import Private
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel

WINDOW = 7
"""Over how many days before and after a change a home's use is compared."""

SUBSETS = 40
"""How many choices of homes are drawn for each size."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large coefficients are."""

    homes: int
    """Over how many homes."""
    cycles: int
    """How many cycles were compared."""
    largest: float
    """The largest abs(c)."""
    median: float
    """The median of abs(c)."""

    @classmethod
    def of(cls, found: Correlations) -> Sizes:
        """Of coefficients that are known."""
        return cls(homes=found.n_households, cycles=len(found.cycles), largest=found.largest, median=found.median)


def sizes(panel: Panel) -> Sizes:
    """How large a panel's coefficients are."""
    return Sizes.of(correlations(panel))


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What coefficients of so many of the homes are, over many choices of them."""

    homes: int
    """How many homes were chosen of those at hand."""
    largest: float
    """The mean over choices of the largest abs(c)."""
    largest_spread: float
    """Its standard deviation over choices."""
    median: float
    """The mean over choices of the median of abs(c)."""
    median_spread: float
    """Its standard deviation over choices."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Chance(Private):
    """How far figures of the homes at hand may lie from those of the paper's homes, by chance alone."""

    alike: Choice
    """As many homes as spread as far around ours as ours around the paper's."""
    fewer: tuple[Choice, ...]
    """Fewer and fewer homes, to see where figures go with their number."""


def chance(panel: Panel, of: int, rng: np.random.Generator, *, subsets: int = SUBSETS) -> Chance:
    """What choosing other homes does to the coefficients.

    Our n homes are some of the paper's N. A mean over them has a variance of S^2 (1/n - 1/N) around that over all;
    m of our n have S^2 (1/m - 1/n) around that over ours. The two are alike for 1/m = 2/n - 1/N.

    Args:
        panel: The homes at hand.
        of: How many the paper had; a panel of more homes than that is as many homes as half of it.
        rng: Which homes are chosen. It reaches no release.
        subsets: How many choices of each size.
    """
    n = panel.n_households
    alike = round(1 / (2 / n - 1 / of)) if of > n else n // 2
    counts = sorted({max(2, count) for count in (alike, n // 2, n // 4)}, reverse=True)
    with Progress("Choosing other homes", len(counts) * subsets) as bar:
        found = {count: _choice(panel, count, rng, subsets, bar) for count in counts}
    return Chance(alike=found[max(2, alike)], fewer=tuple(found.values()))


def _choice(panel: Panel, count: int, rng: np.random.Generator, subsets: int, bar: Progress) -> Choice:
    drawn = []
    for _ in range(subsets):
        found = sizes(panel.columns(np.sort(rng.choice(panel.n_households, count, replace=False))))
        drawn.append((found.largest, found.median))
        bar.advance(1)
    (largest, median), (wide, narrow) = np.mean(drawn, axis=0), np.std(drawn, axis=0, ddof=1)
    return Choice(
        homes=count,
        largest=float(largest),
        largest_spread=float(wide),
        median=float(median),
        median_spread=float(narrow),
    )


def season_share(found: Correlations) -> float | None:
    """Which share of the coefficients of a day in December to February and one in June to August is negative."""
    firsts = (found.grid.wall(found.first_step + day * found.grid.slots) for day in found.cycles.kept)
    months = np.array([each.month for each in firsts])
    pairs = found.matrix[np.ix_(np.isin(months, (12, 1, 2)), np.isin(months, (6, 7, 8)))]
    return float(np.mean(pairs < 0)) if pairs.size else None


def changes(panel: Panel, most: int = 3) -> tuple[float, list[tuple[date, float]]]:
    """How alike the homes' use is in the weeks before and after each day: its median, and where it is least.

    Weather moves all homes together and leaves them in their order. Where files break, or heating begins in some
    homes, their order changes from one day to the next, and every later day has that in common.
    """
    slots, days = panel.grid.slots, panel.n_cycles
    use = np.where(panel.present, panel.readings, 0)[: days * slots].reshape(days, slots, -1).sum(axis=1)
    alike = {
        day: float(np.corrcoef(use[day - WINDOW : day].sum(axis=0), use[day : day + WINDOW].sum(axis=0))[0, 1])
        for day in range(WINDOW, days - WINDOW + 1)
    }
    found: list[int] = []
    for day in sorted(alike, key=lambda each: alike[each]):
        if all(abs(day - other) >= 2 * WINDOW for other in found):
            found.append(day)
    dates = [(panel.grid.wall(panel.first_step + day * slots).date(), alike[day]) for day in found[:most]]
    return float(np.median(list(alike.values()))), dates
