"""Correlation: the paper's test of almost periodicity (theory 2), on a panel of any size.

A household's variations in cycle k are its readings less its own mean cycle. If the promise's assumption holds,
that cycles have nothing else in common, the coefficient

    c_kl = sum_j <w_k^j - mu_k, w_l^j - mu_l> / (sqrt(sum_j |w_k^j - mu_k|^2) sqrt(sum_j |w_l^j - mu_l|^2))

over households j, mu being their mean, is near zero for k != l. Everything that grows with the number of
households is a Gram matrix of whole numbers, so that every engine in any order finds the same bits; the means are
taken off it afterwards, sum_j <w_k - mu_k, w_l - mu_l> = sum_j <w_k, w_l> - J <mu_k, mu_l>.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from diurnal.exact import Number
from diurnal.periodicity.cycles import KEEP, Cycles, Tally, count
from diurnal.private import Private
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel

SPREAD = 1e-12
"""Below what share of a cycle's own size its differences between households are rounding and no more."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Correlations(Private):
    """The correlation of every two cycles, over households."""

    grid: Grid
    """The grid, with the period that was tested."""
    first_step: int
    """The step at which the first cycle begins."""
    n_households: int
    """J, over how many households."""
    cycles: Cycles
    """Which cycles count."""
    matrix: Floats = field(repr=False)
    """c_kl, a row and a column a cycle that counts."""

    @cached_property
    def pairs(self) -> Floats:
        """c_kl of every two different cycles, k < l."""
        return self.matrix[np.triu_indices(len(self.cycles), 1)]

    @property
    def largest(self) -> float:
        """The largest of abs(c_kl), k != l."""
        return float(np.abs(self.pairs).max())

    @property
    def median(self) -> float:
        """The median of abs(c_kl), k != l."""
        return float(np.median(np.abs(self.pairs)))

    @property
    def reach(self) -> float:
        """How far from zero a scale goes on which every c_kl has a place: the largest, up to a whole tenth."""
        return float(np.ceil(self.largest * 10) / 10) or 0.1

    def histogram(self, bins: int = 20) -> tuple[Floats, Floats]:
        """Where abs(c_kl) lies: the edges of bins from 0 to 1, and the percentage of pairs in each."""
        edges = np.linspace(0, 1, bins + 1)
        counts, _ = np.histogram(np.abs(self.pairs), edges)
        return edges, 100 * counts / len(self.pairs)

    def by_lag(self) -> tuple[Integers, Floats]:
        """The mean of c_kl over pairs of cycles that lie so far apart: lags from 1, and the means.

        A rhythm longer than the period shows here: under a daily period, a week as bumps at 7, 14, 21.
        """
        lag, n = self._lags
        total = np.bincount(lag, weights=self.pairs)
        lags = np.flatnonzero(n)
        return lags, total[lags] / n[lags]

    def rhythm(self, least: float) -> int | None:
        """The least distance at which cycles are more alike than at those beside it, and again at twice it.

        Args:
            least: By how much, at least; it must be more than chance as well.
        """
        lag, n = self._lags
        mean, square = (
            np.bincount(lag, weights=weights) / np.maximum(n, 1) for weights in (self.pairs, self.pairs**2)
        )
        error = np.where(n > 0, np.maximum(square - mean**2, 0) / np.maximum(n, 1), np.inf)
        higher = mean[1:-1] - (mean[:-2] + mean[2:]) / 2
        chance = 4 * np.sqrt(error[1:-1] + (error[:-2] + error[2:]) / 4)
        clear = np.concatenate([[False], higher > np.maximum(least, chance)])
        # Distances up to a third of the panel: beyond there are few pairs, and twice it must be there too.
        return next((at for at in range(2, len(self.cycles) // 3 + 1) if clear[at] and clear[2 * at]), None)

    @cached_property
    def _lags(self) -> tuple[Integers, Integers]:
        """How far apart the cycles of each pair are, and how many pairs there are at each distance."""
        cycles = self.cycles.numbers
        rows, columns = np.triu_indices(len(cycles), 1)
        lag: Integers = cycles[columns] - cycles[rows]
        return lag, np.bincount(lag)


def worth_showing(lags: Integers) -> Marks:
    """Which of the lags from `by_lag` tell something: the furthest have a few pairs each, and say little."""
    telling: Marks = lags <= max(10, int(lags[-1] * 0.9))
    return telling


def correlations(panel: Panel, *, keep: Number = KEEP, tallied: Tally | None = None) -> Correlations:
    """The paper's coefficients for the panel's period.

    Two passes over the panel, block by block: one counts readings, one makes profiles and products.

    Args:
        panel: Private readings, in memory or in a file.
        keep: What share of a cycle's readings must be present for it to count, steps on the calendar aside.
        tallied: The panel's tally, if it is known already; it saves the first pass.

    Raises:
        ReadingsError: The readings are not testable: too few households or cycles, or nothing moves.
        LimitError: Readings are so large that products could leave 64 bits.
    """
    return correlations_of(panel, count(panel, keep, tallied=tallied))


def correlations_of(panel: Panel, cycles: Cycles) -> Correlations:
    """The coefficients of cycles that are known to count."""
    sums, products = gram(panel, cycles)
    # A household without any reading is no realisation of anything.
    n = max(1, panel.n_households - cycles.silent)
    own = _around_mean(_around_mean(products.astype(np.float64)).T)
    means = _around_mean(sums.astype(np.float64))
    centred = own - means @ means.T / n
    square = np.diag(centred)
    flat = np.flatnonzero(square <= SPREAD * np.maximum(np.diag(products), 1))
    moving = np.delete(np.arange(len(cycles)), flat)
    cycles = cycles.without(flat)
    size = np.sqrt(square[moving])
    matrix = centred[np.ix_(moving, moving)] / np.outer(size, size)
    return Correlations(
        grid=panel.grid,
        first_step=panel.first_step,
        n_households=n,
        cycles=cycles,
        matrix=np.clip(matrix, -1.0, 1.0),
    )


def _around_mean(rows: Floats) -> Floats:
    """Rows less their mean over cycles.

    A household's mean was taken off rounded down, so that variations are whole; what that leaves is the same in
    every cycle, and on a coarse unit would be taken for correlation.
    """
    around: Floats = rows - rows.mean(axis=0)
    return around


def gram(panel: Panel, cycles: Cycles) -> tuple[Integers, Integers]:
    """Sums over households of their variations, and of the products of these in every two cycles. Exact.

    Raises:
        LimitError: Products could leave 64 bits.
    """
    slots, rows, numbers = panel.grid.slots, panel.n_cycles * panel.grid.slots, cycles.numbers

    def kernel(block: Panel) -> tuple[Integers, Integers]:
        return kernels.gram(block.readings[:rows], block.present[:rows], slots=slots, cycles=numbers)

    return kernels.fold(kernel, panel, kernels.add_grams, label="Correlating cycles")
