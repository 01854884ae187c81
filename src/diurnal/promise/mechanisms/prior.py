"""Prior: what is known of the households' mean without them, used after a release at no cost.

Public (another region's mean day), or in pattern mode free: a function of exact sums of variations, which are equal
for neighbours (theory 5.1). What a basis drops can be put back from it, and noisy coefficients drawn towards it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diurnal.readings.data import Integers

SHARES = 1024
"""Shares of what was released are whole numbers of this."""


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
        slots = len(self.target)
        # What populations differ by falls off with frequency, as its square; all of it together is the distance.
        every = np.maximum(1.0, (np.arange(slots) + 1) // 2 + 0.0) ** -2.0
        unit = slots * self.distance**2 / float(every.sum())
        thought = [
            square * unit / max(1.0, harmonic) ** 2 for square, harmonic in zip(squares, harmonics, strict=True)
        ]
        return [round(SHARES * each / (each + variance)) if each + variance else SHARES for each in thought]


def no_prior(slots: int) -> Prior:
    """Nothing is known: what is released is reported."""
    zero = np.zeros(slots, dtype=np.int64)
    return Prior(target=zero, fill=zero)
