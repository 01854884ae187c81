"""Cube: noise whose largest component is what counts, 2.4 times below Laplace at T = 48 (theory 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from diurnal.promise import noise
from diurnal.promise.body import Body, Sensitivity
from diurnal.promise.budget import Loss
from diurnal.promise.composition import LaplaceLaw, Law
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.readings.data import Floats

LEAST_SCALE = 2
"""Totals are multiplied until D_inf/epsilon is at least T/2: then a third of the proposals or more are taken."""


class Cube(SlotMechanism):
    """Mass proportional to exp(-epsilon K(v)/(p* D_inf)), K the largest component in units of its range.

    Guarantee:
        epsilon-DP for one household's contribution inside the body. For the worst shift the loss is all of
        epsilon about half of the time; a Laplace vector's is usually far below, so many Laplace plans
        compose better (theory 5).
    """

    name: ClassVar[str] = "cube"

    def __init__(
        self, sensitivity: Sensitivity, *, weight: int, epsilon: Fraction, body: Body | None = None
    ) -> None:
        super().__init__(sensitivity, weight=weight, body=body)
        self.loss = Loss.pure(epsilon)
        moving = sum(width > 0 for width in sensitivity.ranges)
        least = Fraction(moving, LEAST_SCALE) * epsilon / sensitivity.linf
        self.multiplier = max(1, math.ceil(least / weight))
        self._lightest = max(1, math.ceil(least))
        self.rate = epsilon / (weight * sensitivity.linf * self.multiplier)
        noise.check_cube(sensitivity.ranges, self.rate)

    def noise(self) -> list[int]:
        return noise.cube(self.sensitivity.ranges, self.rate)

    def law(self, stretch: Fraction) -> Law:
        if len(set(self.sensitivity.ranges)) > 1:
            return super().law(stretch)
        epsilon = self.loss.epsilon * stretch
        return LaplaceLaw(epsilon=epsilon, zcdp=epsilon**2 / 2, grain=self.rate, parts=1)

    def variance(self, direction: Floats) -> float:
        shares = noise.cube_shares(self.sensitivity.ranges)
        size = float(np.count_nonzero(shares))
        square = (size + 1) * (size + 2) / float(self.rate) ** 2
        # The radius plus a half is close to a Gamma variable; a uniform integer in -r..r has r(r+1)/3.
        variances = np.where(shares > 0, np.maximum(shares**2 * square - 0.25, 0) / 3, 0)
        return float(direction**2 @ variances) / self.multiplier**2

    def loss_of_shift(self, shift: Sequence[int]) -> Loss | None:
        pairs = [(abs(d), width) for d, width in zip(shift, self.sensitivity.ranges, strict=True) if d]
        if not all(width for _, width in pairs):
            return None  # a slot that cannot move gets no noise
        widest = self.sensitivity.linf
        gauge = max((Fraction(d * widest, width) for d, width in pairs), default=Fraction(0))
        # K is a whole number: a broken gauge is rounded up by at most one step, most at the lightest weight.
        step = 0 if gauge.denominator == 1 else self.loss.epsilon / (widest * self._lightest)
        return Loss.pure(self.loss.epsilon * gauge / widest + step)
