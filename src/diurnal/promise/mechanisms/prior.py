"""Prior: what is known of the households' mean without them, used after a release at no cost.

Public (another region's mean day), or in pattern mode free: a function of exact sums of variations, which are equal
for neighbours (theory 5.1). What a basis drops can be put back from it, and noisy coefficients drawn towards it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diurnal.readings.data import Integers

SHARES = 1024
"""Shares of what was released are whole numbers of this."""


class Known(NamedTuple):
    """What a history says of the mean day, the same for neighbours."""

    reference: tuple[int, ...]
    """The reference, instead of the body's."""
    fill: tuple[int, ...]
    """What is put back of what the basis drops, instead of the plan's."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior:
    """Vectors over the slots, for a household of weight 1, in units of a reading."""

    target: Integers
    """What released coefficients are drawn towards."""
    fill: Integers
    """Whose part outside the basis is put back."""
    distance: float | None = None
    """How far the households' mean is thought to be from the target, root mean square over the slots; None leaves
    coefficients as they were released."""

    def shares(self, squares: Sequence[int], harmonics: Sequence[float], variance: float) -> list[int]:
        """How much of each released coefficient is kept, in parts of SHARES: tau^2/(tau^2 + noise).

        Args:
            squares: The squared length of each row of the basis.
            harmonics: How often each row goes up and down.
            variance: That of the noise of a coefficient, for a household of weight 1.
        """
        if self.distance is None:
            return [SHARES] * len(squares)
        thought = spread(self.distance, harmonics, len(self.target), squares)
        return [round(SHARES * each / (each + variance)) if each + variance else SHARES for each in thought]

    def drawn(self, shares: Sequence[int], harmonics: Sequence[float]) -> float:
        """How far such shares are thought to leave reports from the households' mean, root mean square."""
        thought = spread(self.distance or 0.0, harmonics, len(self.target))
        left = [(1 - share / SHARES) ** 2 * each for share, each in zip(shares, thought, strict=True)]
        return math.sqrt(sum(left) / len(self.target))


def spread(
    distance: float, harmonics: Sequence[float], slots: int, squares: Sequence[int] | None = None
) -> list[float]:
    """tau^2: how much of a squared distance, summed over the slots, is thought to lie along each row of a basis.

    What populations differ by falls off with frequency, as its square; over all slots it adds up to the distance.

    Args:
        distance: Root mean square over the slots.
        harmonics: How often each row goes up and down.
        slots: T.
        squares: The squared length of each row; 1 if None.
    """
    every = np.maximum(1.0, (np.arange(slots) + 1) // 2 + 0.0) ** -2.0
    unit = slots * distance**2 / float(every.sum())
    lengths = [1] * len(harmonics) if squares is None else squares
    return [square * unit / max(1.0, harmonic) ** 2 for square, harmonic in zip(lengths, harmonics, strict=True)]


def no_prior(slots: int) -> Prior:
    """Nothing is known: what is released is reported."""
    zero = np.zeros(slots, dtype=np.int64)
    return Prior(target=zero, fill=zero)
