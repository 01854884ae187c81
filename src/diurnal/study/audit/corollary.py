"""Corollary 1 as the paper prints it, and its repair, under the same attack (theory 3).

Only a household's first cycle changes. As printed, every later cycle contains the first one's variations behind
noise of its own, so whoever waits sees them again and again; in the repair the first cycle has fresh noise like any
other, and nothing is gained by waiting. Both are attacked by their likelihood ratio, and both by counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diurnal.picture import Pictured
from diurnal.readings.data import Floats, Integers
from diurnal.readings.progress import Progress
from diurnal.study import paper
from diurnal.study.audit.measured import ALPHA, KNOWN
from diurnal.study.audit.statistic import best_event

HORIZONS = (1, 3, 10, 30, 100)
"""How many cycles an attacker waits."""

WIDTH = 1000
"""How far a household's variations can move in a slot; the noise is as wide as that asks for."""


@dataclass(frozen=True, kw_only=True)
class Waiting(Pictured):
    """The epsilon that a first cycle costs at least, by how many cycles are reported."""

    epsilon: float
    """What is claimed."""
    slots: int
    """T."""
    transcripts: int
    """How many were made of each data set, for each number of cycles."""
    cycles: tuple[int, ...]
    """K."""
    printed: tuple[float, ...]
    """Of Corollary 1 as printed."""
    repaired: tuple[float, ...]
    """Of the repair."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        lines = [f"epsilon {self.epsilon:g} is claimed, T = {self.slots}, {self.transcripts} transcripts each", ""]
        lines.append(f"{'cycles':>8}{'as printed, at least':>24}{'repaired, at least':>22}")
        rows = zip(self.cycles, self.printed, self.repaired, strict=True)
        return "\n".join([*lines, *(f"{k:>8}{one:>24.3f}{two:>22.3f}" for k, one, two in rows)])


def waiting(
    *,
    epsilon: float = 1.0,
    slots: int = 48,
    transcripts: int = 20_000,
    cycles: tuple[int, ...] = HORIZONS,
    seed: int = 1,
) -> Waiting:
    """Attack Corollary 1 and its repair with longer and longer transcripts.

    Args:
        epsilon: What is claimed for any one cycle.
        slots: T.
        transcripts: How many, of each data set.
        cycles: How many reported cycles each has; bounds hold together, with the confidence of an audit.
        seed: For the noise of this study, which is no release.
    """
    rng, found = np.random.default_rng(seed), []
    alpha = ALPHA / (2 * len(cycles))
    with Progress("Cycles waited for", 2 * sum(cycles)) as bar:
        for attack in (_printed, _repaired):
            for k in cycles:
                ours, theirs = (attack(epsilon, slots, k, transcripts, moved, rng) for moved in (False, True))
                found.append(_bound(ours, theirs, alpha))
                bar.advance(k)
    return Waiting(
        epsilon=epsilon,
        slots=slots,
        transcripts=transcripts,
        cycles=cycles,
        printed=tuple(found[: len(cycles)]),
        repaired=tuple(found[len(cycles) :]),
    )


def _bound(ours: Floats, theirs: Floats, alpha: float) -> float:
    choosing = [side[::KNOWN] for side in (ours, theirs)]
    counted = [np.delete(side, np.s_[::KNOWN]) for side in (ours, theirs)]
    event = best_event(choosing[0], choosing[1], alpha=alpha, delta=0.0, trials=len(counted[0]))
    return event.counts(counted[0], counted[1]).epsilon(alpha=alpha)


def _printed(epsilon: float, slots: int, cycles: int, number: int, moved: bool, rng: Any) -> Floats:
    """The log likelihood ratio of the printed code's transcripts: Df_z = Df_w, the whole first cycle moves."""
    first, later = 2 * slots * WIDTH / epsilon, slots * WIDTH / epsilon
    without = _noiseless(slots, cycles)
    ratio = np.zeros(number)
    v = _laplace(first, (number, slots), rng)
    seen = without[moved][0] + v
    ratio += _ratio(seen - without[0][0], seen - without[1][0], first)
    for k in range(1, cycles):
        # A later report is the first one's, noise and all, less the first variations and plus those of now.
        move = [each[k] - each[0] for each in without]
        beside = move[moved] + _laplace(later, (number, slots), rng)
        ratio += _ratio(beside - move[0], beside - move[1], later)
    return ratio


def _noiseless(slots: int, cycles: int) -> tuple[Integers, Integers]:
    """What the printed code says without noise, before and after the first cycle of a household has changed."""
    profile = np.zeros((slots, 1), dtype=np.int64)
    nothing = np.zeros(slots, dtype=np.int64), np.zeros((cycles - 1, slots), dtype=np.int64)
    ours, theirs = (
        paper.corollary_1_as_printed(each, profile, *nothing).reshape(cycles, slots)
        for each in _neighbours(slots, cycles)
    )
    return ours, theirs


def _neighbours(slots: int, cycles: int) -> tuple[Integers, Integers]:
    """A household's readings, and the same with another first cycle."""
    readings = np.zeros((cycles * slots, 1), dtype=np.int64)
    changed = readings.copy()
    changed[:slots] = WIDTH
    return readings, changed


def _repaired(epsilon: float, slots: int, cycles: int, number: int, moved: bool, rng: Any) -> Floats:
    """The same of the repair, for an attacker who is even told the pattern's noise."""
    scale, none = slots * WIDTH / epsilon, np.zeros((cycles, slots), dtype=np.int64)
    ours, theirs = (
        paper.two_layers(each, none[0], none).reshape(cycles, slots) for each in _neighbours(slots, cycles)
    )
    ratio = np.zeros(number)
    # A cycle that is the same in both data sets adds nothing, whatever its noise.
    for one, two in ((one, two) for one, two in zip(ours, theirs, strict=True) if (one != two).any()):
        seen = (two if moved else one) + _laplace(scale, (number, slots), rng)
        ratio += _ratio(seen - one, seen - two, scale)
    return ratio


def _ratio(ours: Floats, theirs: Floats, scale: float) -> Floats:
    ratio: Floats = (np.abs(theirs) - np.abs(ours)).sum(axis=1) / scale
    return ratio


def _laplace(scale: float, shape: tuple[int, int], rng: Any) -> Floats:
    drawn: Floats = np.rint(rng.laplace(scale=scale, size=shape))
    return drawn
