"""Evidence: how sure it is that correlations are not zero (theory 7).

A correlation of 0.1 between two days is small; over hundreds of households it is still not nothing. Each
household's share of a coefficient, corrected for the removal of its own mean, has mean zero if cycles have nothing
in common, so that the sum of the shares, divided by the root of the sum of their squares, is about standard
normal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from diurnal.errors import ReadingsError
from diurnal.periodicity.cycles import Cycles, moves, sample
from diurnal.private import Private
from diurnal.readings.data import Floats, Marks
from diurnal.readings.kernels import Progress, in_order
from diurnal.readings.panel import Panel

READINGS = 1 << 24
"""How many readings the evidence looks at, about; more households than have these are a sample of so many."""

DRAWS = 300
"""How many draws the bootstrap makes."""

FEWEST = 8
"""How many cycles must count. Of three the correction leaves nothing at all; of a few it takes what they have in
common for what the mean took away, and the bound does not hold."""

LEAST_HOUSEHOLDS = 5
"""How many households there must be. Two are each other's mirror image once their mean is taken away."""

LEAST_SAMPLE = 64
"""How many households are weighed at least, however many readings each has."""

TILE = 48
"""How many cycles are compared with how many at a time."""

TWO_SIDED = 1.959964
"""Beyond which a standard normal lies in 5 % of all cases."""

RUN = 32
"""Of how many households shares are made at a time: as many as stay in a core's cache."""

ROUNDING = 1e-12
"""Below what share of a sum of squares its part around the mean is rounding and no more."""

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evidence(Private):
    """Whether correlations differ from zero, pair by pair and all together."""

    n_households: int
    """How many households were looked at."""
    z: Floats = field(repr=False)
    """About standard normal for each pair k < l of cycles that count, if the two have nothing in common."""
    p: Floats = field(repr=False)
    """The two-sided p-value of each pair."""
    q: Floats = field(repr=False)
    """The same under control of the false discovery rate (Benjamini and Yekutieli, any dependence)."""
    p_largest: float
    """The p-value of the largest of abs(z), by a multiplier bootstrap over households."""
    p_share: float
    """The p-value of the number of pairs that are significant at 5 %, by the same bootstrap."""
    bound: float
    """Below which all abs(c_kl) of the population lie together, with that confidence."""
    confidence: float
    """How sure the bound is."""

    def significant(self, level: float = 0.05) -> float:
        """The share of pairs whose own p-value is below a level: about the level itself if there is nothing."""
        return float(np.mean(self.p < level))

    def discovered(self, level: float = 0.05) -> float:
        """The share of pairs that are found to differ from zero, of these so many falsely at most on average."""
        return float(np.mean(self.q < level))

    @property
    def p_all(self) -> float:
        """The p-value of all pairs together.

        A few large coefficients would show in `p_largest`, many small ones in `p_share`; having looked twice is
        allowed for.
        """
        return min(1.0, 2 * min(self.p_largest, self.p_share))

    def negative(self, level: float = 0.05) -> float:
        """The share of negative coefficients among those significant at a level; a half if there are none."""
        there = self.p < level
        return float(np.mean(self.z[there] < 0)) if there.any() else 0.5


def evidence(panel: Panel, cycles: Cycles, *, rng: np.random.Generator, confidence: float = 0.95) -> Evidence:
    """The evidence against cycles having nothing in common.

    Args:
        panel: Private readings; of a large panel a sample of households is looked at.
        cycles: Which cycles count.
        rng: For the sample and the bootstrap; it reaches no release.
        confidence: Of the bound.

    Raises:
        ReadingsError: The confidence is no share, or there are too few cycles or households.
    """
    if not 0 < confidence <= 0.99:
        raise ReadingsError("check-confidence-range", confidence=confidence)
    k = len(cycles)
    shares = _Shares(*moves(sample(panel, weighed(panel, cycles), rng), cycles))
    if k < FEWEST or shares.n < LEAST_HOUSEHOLDS:
        raise ReadingsError(
            "check-too-little-evidence",
            cycles=k,
            households=shares.n,
            fewest=FEWEST,
            least_households=LEAST_HOUSEHOLDS,
        )
    multipliers = rng.multinomial(shares.n, np.full(shares.n, 1 / shares.n), DRAWS).astype(np.float64) - 1
    z, estimate = np.zeros((k, k)), np.zeros((k, k))
    chance, beyond, miss = np.zeros(DRAWS), np.zeros(DRAWS), np.zeros(DRAWS)
    tiles = [(a, b) for a in range(0, k, TILE) for b in range(a, k, TILE)]
    with threadpool_limits(1, user_api="blas"), Progress("Weighing the evidence", len(tiles)) as bar:
        for (a, b), found in zip(tiles, in_order(lambda at: shares.tile(*at, multipliers), tiles), strict=True):
            z[a : a + TILE, b : b + TILE], estimate[a : a + TILE, b : b + TILE] = found.z, found.estimate
            np.maximum(chance, found.chance, out=chance)
            np.maximum(miss, found.miss, out=miss)
            beyond += found.beyond
            bar.advance(1)
    pairs = np.triu_indices(k, 1)
    scores, largest = z[pairs], float(np.abs(estimate[pairs]).max())
    sizes: list[float] = np.abs(scores).tolist()
    p = np.array([math.erfc(size / math.sqrt(2)) for size in sizes])
    return Evidence(
        n_households=shares.n,
        z=scores,
        p=p,
        q=false_discovery(p),
        p_largest=float((1 + np.sum(chance >= max(sizes))) / (1 + DRAWS)),
        p_share=float((1 + np.sum(beyond >= np.sum(np.abs(scores) > TWO_SIDED))) / (1 + DRAWS)),
        bound=min(1.0, largest + float(np.quantile(miss, confidence))),
        confidence=confidence,
    )


def weighed(panel: Panel, cycles: Cycles) -> int:
    """How many households the evidence looks at."""
    return max(LEAST_SAMPLE, READINGS // (len(cycles) * panel.grid.slots))


@dataclass(frozen=True)
class _Tile:
    """What some pairs of cycles give."""

    z: Floats
    """The sum of the shares over the root of the sum of their squares."""
    estimate: Floats
    """The corrected coefficients."""
    chance: Floats
    """For each draw, the largest abs(z) that chance alone gives."""
    beyond: Floats
    """For each draw, how many pairs chance alone makes significant at 5 %."""
    miss: Floats
    """For each draw, how far the furthest estimate lies from what it estimates."""


class _Shares:
    """Each household's share of every coefficient's numerator, tile by tile.

    A household's own mean over K cycles was taken from its readings, which moves its shares down by about 1/K of
    its size; the correction moves them back (theory 7).
    """

    def __init__(self, variations: Floats, known: Marks) -> None:
        some = known.any(axis=(1, 2))
        if not some.all():
            variations, known = variations[some], known[some]
        self.n, k, _ = variations.shape
        # The mean of the households that are there: a missing one does not move, nor is it pulled by the others.
        variations -= variations.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        if not known.all():
            variations *= known
        self._moves = variations
        own = np.einsum("jks,jks->jk", self._moves, self._moves)
        whole = own.sum(axis=1, keepdims=True) / (1 - 1 / k) / k**2
        self._each = (own - whole) / (1 - 2 / k) / k
        self._each_less_whole = self._each - whole
        self.size = np.sqrt(np.maximum(own.sum(axis=0), TINY))
        """The root of each cycle's sum of squares: a coefficient's denominator is the product of two."""

    def tile(self, a: int, b: int, multipliers: Floats) -> _Tile:
        """Compare the cycles from a on with those from b on.

        The bootstrap draws households with replacement: a draw's multipliers are how often each came. These, unlike
        signs or normal multipliers, keep the level where shares are skewed or a few households dominate.
        """
        left, right = slice(a, a + TILE), slice(b, b + TILE)
        each, less_whole = self._each[:, left, None], self._each_less_whole[:, None, right]
        shape = each.shape[1], less_whole.shape[2]
        shares, total, square = np.empty((self.n, *shape)), np.zeros(shape), np.zeros(shape)
        for start in range(0, self.n, RUN):
            run = slice(start, start + RUN)
            part = shares[run]
            np.matmul(self._moves[run, left], self._moves[run, right].transpose(0, 2, 1), out=part)
            part += each[run]
            part += less_whole[run]
            total += part.sum(axis=0)
            square += np.einsum("jkl,jkl->kl", part, part)
        # A draw's multipliers add up to zero, so that its sums need not be taken around the mean share.
        drawn = np.abs(multipliers @ shares.reshape(self.n, -1))
        if a == b:
            drawn *= np.triu(np.ones(shape), 1).ravel()
        around = np.maximum(square - total**2 / self.n, ROUNDING * square)
        size = np.outer(self.size[left], self.size[right])
        by_chance = drawn / np.sqrt(np.maximum(around, TINY)).ravel()
        drawn /= size.ravel()
        return _Tile(
            z=total / np.sqrt(np.maximum(square, TINY)),
            estimate=total / size,
            chance=by_chance.max(axis=1),
            beyond=(by_chance > TWO_SIDED).sum(axis=1),
            miss=drawn.max(axis=1),
        )


def false_discovery(p: Floats) -> Floats:
    """P-values adjusted for the false discovery rate under any dependence (Benjamini and Yekutieli, 2001)."""
    m = len(p)
    order = np.argsort(p)
    ranks = np.arange(1, m + 1)
    adjusted = np.minimum.accumulate((p[order] * m * np.sum(1 / ranks) / ranks)[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(adjusted, 1.0)
    return result
