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

import fcntl
import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from diurnal.check.cycles import KEEP, Cycles, moves, sample
from diurnal.errors import ReadingsError
from diurnal.private import Private
from diurnal.readings.data import Floats, Integers
from diurnal.readings.panel import Panel
from diurnal.readings.progress import Progress

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


def available() -> bool:
    """Whether the library that does it is installed."""
    return importlib.util.find_spec("dcor") is not None


def nonlinear(panel: Panel, cycles: Cycles, *, rng: np.random.Generator, pairs: int = PAIRS) -> Nonlinear:
    """Look at sampled pairs of cycles for dependence of any kind, and show how much would have been found.

    Args:
        panel: Private readings; of a large panel a sample of households is looked at.
        cycles: Which cycles count.
        rng: For the samples and what is planted; it reaches no release.
        pairs: How many pairs.

    Raises:
        ReadingsError: There are too few cycles or households.
    """
    some = sample(panel, HOUSEHOLDS, rng)
    variations, known = moves(some, cycles)
    # A household that is out for weeks does not move then, and that would be taken for something in common.
    there = (known.mean(axis=(1, 2)) >= float(KEEP)) & variations.any(axis=(1, 2))
    if len(cycles) < FEWEST or there.sum() < LEAST_HOUSEHOLDS:
        raise ReadingsError(
            f"Not testable beyond correlation: it takes {FEWEST} cycles and {LEAST_HOUSEHOLDS} households that are "
            f"there throughout, and there are {len(cycles)} and {there.sum()}.",
            hint="Give a longer panel, or more households.",
        )
    halves = _Halves(variations[there], rng)
    chosen = halves.pairs(pairs)
    raw, scaled = _Blocks(halves.block), _Blocks(halves.scaled)
    with Progress("Looking beyond correlation", 2 * len(chosen) + len(STRENGTHS) * len(chosen)) as bar:
        p, p_scaled = (_p_values(blocks, chosen, bar) for blocks in (raw, scaled))
        power = tuple(
            (
                strength,
                float(np.mean([_planted(halves, scaled, pair, strength, rng, bar) < 0.05 for pair in chosen])),
            )
            for strength in STRENGTHS
        )
    return Nonlinear(n_households=halves.n, n_pairs=len(chosen), p=p, p_scaled=p_scaled, power=power)


class _Halves:
    """Variations, each cycle against the mean and the size of its own half of the others."""

    def __init__(self, variations: Floats, rng: np.random.Generator) -> None:
        self.n, k, _ = variations.shape
        self._moves = variations
        self._half = rng.permutation(np.arange(k) % 2)
        self._rng = rng
        self._parts: dict[int, tuple[Floats, Floats]] = {}

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
        others = np.flatnonzero(self._half == self._half[cycle])
        rest = self._moves[:, others[others != cycle]]
        mean = rest.mean(axis=1)
        size = np.sqrt(np.mean((rest - mean[:, None]) ** 2, axis=(1, 2)))
        return self._moves[:, cycle] - mean, size[:, None]

    def _some(self, half: int) -> Integers:
        """Some cycles of a half, so that few matrices of distances are kept."""
        cycles = np.flatnonzero(self._half == half)
        return self._rng.permutation(cycles)[:CYCLES]


class _Blocks:
    """Centred distances between households in a cycle, made once each."""

    def __init__(self, block: Callable[[int], Floats]) -> None:
        self.centred = cache(lambda cycle: _centred(block(cycle)))


@cache
def _dcor() -> Any:
    """The library, imported by one process at a time.

    The first one compiles it and keeps that in files for all others; who reads half-written ones crashes.
    """
    spec = importlib.util.find_spec("dcor")
    assert spec is not None
    assert spec.origin is not None
    folder = os.open(Path(spec.origin).parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        return importlib.import_module("dcor")
    finally:
        os.close(folder)


def _centred(block: Floats) -> Floats:
    from scipy.spatial.distance import pdist, squareform

    found: Floats = _dcor().u_centered(squareform(pdist(block)))
    return found


def _p_value(left: Floats, right: Floats) -> float:
    """The t-test of distance correlation, for many dimensions (Székely and Rizzo, 2013)."""
    from scipy.stats import t

    dcor, n = _dcor(), len(left)
    scale = dcor.u_product(left, left) * dcor.u_product(right, right)
    if scale <= 0:
        return 1.0
    coefficient = min(float(dcor.u_product(left, right) / np.sqrt(scale)), 1 - 1e-12)
    freedom = n * (n - 3) / 2 - 1
    return float(t.sf(np.sqrt(freedom) * coefficient / np.sqrt(1 - coefficient**2), freedom))


def _p_values(blocks: _Blocks, pairs: Sequence[tuple[int, int]], bar: Progress) -> Floats:
    found = np.empty(len(pairs))
    for at, (k, l) in enumerate(pairs):  # noqa: E741
        found[at] = _p_value(blocks.centred(k), blocks.centred(l))
        bar.advance(1)
    return found


def _planted(
    halves: _Halves,
    scaled: _Blocks,
    pair: tuple[int, int],
    strength: float,
    rng: np.random.Generator,
    bar: Progress,
) -> float:
    """The p-value of a pair into which dependence without correlation was planted.

    Households of the second cycle are shuffled, which takes away whatever there was; then each is made larger or
    smaller, by so much, as its partner in the first is large or small.
    """
    first, second = halves.scaled(pair[0]), rng.permutation(halves.scaled(pair[1]))
    rank = np.argsort(np.argsort(np.einsum("js,js->j", first, first))) / max(1, halves.n - 1)
    bar.advance(1)
    return _p_value(scaled.centred(pair[0]), _centred(second * (1 + strength * (2 * rank - 1))[:, None]))
