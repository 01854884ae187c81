"""Nonlinear: what cycles have in common beyond correlation, by distance correlation on sampled pairs.

Correlation sees one kind of dependence. A household whose days swing widely today and tomorrow, now up and now
down, has none; its distance correlation (Székely and Rizzo, 2013) does not vanish. Two questions are asked of each
pair of cycles: whether the variations of households go together as they are, and whether they still do once each
household's own size, which is the same every day, is taken out.

Taking away a household's mean, or its size, from both cycles would tie them to each other. So all other cycles are
cut into two halves at random, and each cycle of a pair is held against the mean and the size of its own half: if
cycles have nothing in common, nor have the two blocks then, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from threadpoolctl import threadpool_limits

from diurnal.errors import ReadingsError
from diurnal.periodicity.cycles import KEEP, Cycles, moves, sample
from diurnal.private import Private
from diurnal.readings.data import Floats, Integers
from diurnal.readings.kernels import Progress, in_order
from diurnal.readings.panel import Panel

PAIRS = 240
"""How many pairs of cycles are looked at."""

HOUSEHOLDS = 300
"""Over how many households, at most."""

CYCLES = 24
"""From how many cycles of each half the pairs are drawn."""

FEWEST = 6
"""How many cycles must count, for two halves to have a mean each."""

LEAST_HOUSEHOLDS = 10
"""How many households there must be for the statistic's distribution to hold."""

ROUNDING = 1e-12
"""Below what share of a household's sum of squares a part of it is rounding and no more."""

ALIKE = 1e-9
"""Below what share of the largest distance centred ones are rounding and no more."""

STRENGTHS = (0.1, 0.2, 0.4, 0.8)
"""Planted dependence: by how much a cycle's size follows the other's, from the smallest household to the
largest."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Nonlinear(Private):
    """What distance correlation finds."""

    n_households: int
    """Over how many households."""
    n_pairs: int
    """How many pairs of cycles were looked at."""
    p: Floats = field(repr=False)
    """The p-value of each pair, variations as they are."""
    p_scaled: Floats = field(repr=False)
    """The p-value of each pair, each household's own size taken out."""
    power: tuple[tuple[float, float], ...]
    """Of planted dependence, its strength and the share of pairs in which it is found at 5 %."""

    def significant(self, level: float = 0.05) -> float:
        """The share of pairs below a level, as they are: about the level itself if there is nothing."""
        return float(np.mean(self.p < level))

    def significant_scaled(self, level: float = 0.05) -> float:
        """The same with each household's own size taken out."""
        return float(np.mean(self.p_scaled < level))


def nonlinear(panel: Panel, cycles: Cycles, *, rng: np.random.Generator) -> Nonlinear:
    """Look at sampled pairs of cycles for dependence of any kind, and show how much would have been found.

    Args:
        panel: Private readings; of a large panel a sample of households is looked at.
        cycles: Which cycles count.
        rng: For the samples and what is planted; it reaches no release.

    Raises:
        ReadingsError: There are too few cycles or households.
    """
    some = sample(panel, HOUSEHOLDS, rng)
    variations, known = moves(some, cycles)
    # A household that is out for weeks does not move then, and that would be taken for something in common.
    there = (known.mean(axis=(1, 2)) >= float(KEEP)) & variations.any(axis=(1, 2))
    if len(cycles) < FEWEST or there.sum() < LEAST_HOUSEHOLDS:
        raise ReadingsError(
            "check-too-little-beyond-correlation",
            fewest=FEWEST,
            least_households=LEAST_HOUSEHOLDS,
            cycles=len(cycles),
            households=there.sum(),
        )
    halves = _Halves(variations[there], rng)
    chosen = halves.pairs(PAIRS)
    found = []
    rounds = 2 + len(STRENGTHS)
    with threadpool_limits(1, user_api="blas"), Progress("Looking beyond correlation", rounds * len(chosen)) as bar:
        for p in in_order(lambda look: look(), _looks(halves, chosen, rng)):
            found.append(p)
            bar.advance(1)
    plain, scaled, *planted = np.array(found).reshape(rounds, -1)
    power = tuple((s, float(np.mean(p < 0.05))) for s, p in zip(STRENGTHS, planted, strict=True))
    return Nonlinear(n_households=halves.n, n_pairs=len(chosen), p=plain, p_scaled=scaled, power=power)


def _looks(
    halves: _Halves, pairs: Sequence[tuple[int, int]], rng: np.random.Generator
) -> Iterator[Callable[[], float]]:
    """What gives the p-value of each pair: as it is, with sizes taken out, and planted by strength.

    All that is drawn is drawn here, in order, whoever looks first.
    """
    plain, scaled = _Blocks(halves.block), _Blocks(halves.scaled)
    for blocks in (plain, scaled):
        yield from (partial(blocks.p_value, *pair) for pair in pairs)
    for strength in STRENGTHS:
        yield from (partial(_planted, halves, scaled, pair, strength, rng.permutation(halves.n)) for pair in pairs)


class _Halves:
    """Variations, each cycle against the mean and the size of its own half of the others."""

    def __init__(self, variations: Floats, rng: np.random.Generator) -> None:
        self.n, k, _ = variations.shape
        self._moves = variations
        self._half = rng.permutation(np.arange(k) % 2)
        self._rng = rng
        self._parts: dict[int, tuple[Floats, Floats]] = {}
        halves = [variations[:, self._half == half] for half in (0, 1)]
        self._sums = [each.sum(axis=1) for each in halves]
        self._squares = [np.einsum("jks,jks->j", each, each) for each in halves]
        self._counts = [each.shape[1] for each in halves]

    def pairs(self, wanted: int) -> list[tuple[int, int]]:
        """Pairs of cycles, one of each half, drawn without replacement from some cycles of each."""
        first, second = (self._some(half) for half in (0, 1))
        picked = self._rng.choice(len(first) * len(second), min(wanted, len(first) * len(second)), replace=False)
        return [(int(first[at // len(second)]), int(second[at % len(second)])) for at in picked]

    def block(self, cycle: int) -> Floats:
        """A cycle less the mean of the others of its half."""
        return self._apart(cycle)[0]

    def scaled(self, cycle: int) -> Floats:
        """The same over each household's size in the others of its half, around their own mean."""
        block, size = self._apart(cycle)
        # A household that never moves in the other cycles has no size to be measured by.
        return np.where(size > 0, block / np.where(size > 0, size, 1), 0.0)

    def _apart(self, cycle: int) -> tuple[Floats, Floats]:
        """A cycle less the mean of the others of its half, and each household's size in these. Made once each."""
        if cycle not in self._parts:
            self._parts[cycle] = self._make(cycle)
        return self._parts[cycle]

    def _make(self, cycle: int) -> tuple[Floats, Floats]:
        half, block = self._half[cycle], self._moves[:, cycle]
        others, slots = self._counts[half] - 1, block.shape[1]
        mean = (self._sums[half] - block) / others
        whole = self._squares[half] - np.einsum("js,js->j", block, block)
        around = whole - others * np.einsum("js,js->j", mean, mean)
        # What is left of a household that does not move in the other cycles is rounding, and no size.
        size = np.sqrt(np.where(around > ROUNDING * self._squares[half], around, 0) / (others * slots))
        return block - mean, size[:, None]

    def _some(self, half: int) -> Integers:
        """Some cycles of a half, so that few matrices of distances are kept."""
        cycles = np.flatnonzero(self._half == half)
        return self._rng.permutation(cycles)[:CYCLES]


class _Blocks:
    """Centred distances between households in a cycle, made once each."""

    def __init__(self, block: Callable[[int], Floats]) -> None:
        self.centred = cache(lambda cycle: _centred(block(cycle)))

    def p_value(self, k: int, l: int) -> float:  # noqa: E741
        """The p-value of two cycles."""
        return _p_value(self.centred(k), self.centred(l))


def _centred(block: Floats) -> Floats:
    """The distances between households in a cycle, centred so that products of two have no bias."""
    from scipy.spatial.distance import pdist, squareform

    found: Floats = squareform(pdist(block))
    n, sums, largest = len(found), found.sum(axis=0), found.max()
    found -= sums / (n - 2)
    found -= sums[:, None] / (n - 2)
    found += sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(found, 0)
    # Where all homes but one are alike there is nothing to compare, and what is left is rounding: no evidence.
    return found if np.abs(found).max() > ALIKE * largest else np.zeros_like(found)


def _p_value(left: Floats, right: Floats) -> float:
    """The t-test of distance correlation, for many dimensions (Székely and Rizzo, 2013)."""
    from scipy.special import stdtr

    n = len(left)
    own, other = float(np.vdot(left, left)), float(np.vdot(right, right))
    if not (own and other):
        return 1.0
    most = 1 - ROUNDING
    coefficient = min(max(float(np.vdot(left, right)) / math.sqrt(own * other), -most), most)
    freedom = n * (n - 3) / 2 - 1
    return float(stdtr(freedom, -math.sqrt(freedom) * coefficient / math.sqrt(1 - coefficient**2)))


def _planted(halves: _Halves, scaled: _Blocks, pair: tuple[int, int], strength: float, order: Integers) -> float:
    """The p-value of a pair into which dependence without correlation was planted.

    Households of the second cycle are put into another order, which takes away whatever there was; then each is
    made larger or smaller, by so much, as its partner in the first is large or small.
    """
    first, second = halves.scaled(pair[0]), halves.scaled(pair[1])[order]
    rank = np.argsort(np.argsort(np.einsum("js,js->j", first, first))) / max(1, halves.n - 1)
    return _p_value(scaled.centred(pair[0]), _centred(second * (1 + strength * (2 * rank - 1))[:, None]))
