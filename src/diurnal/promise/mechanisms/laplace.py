"""Laplace: independent discrete Laplace noise in every slot, the paper's choice (theory 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from diurnal.promise import noise
from diurnal.promise.body import Body, Sensitivity
from diurnal.promise.budget import Loss
from diurnal.promise.composition import LaplaceLaw, Law
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.readings.data import Floats


class Laplace(SlotMechanism):
    """Discrete Laplace noise of scale p* D_1/epsilon.

    Guarantee:
        epsilon-DP for one household's contribution inside the body.
    """

    name: ClassVar[str] = "laplace"

    def __init__(
        self, sensitivity: Sensitivity, *, weight: int, epsilon: Fraction, body: Body | None = None
    ) -> None:
        super().__init__(sensitivity, weight=weight, body=body)
        self.loss = Loss.pure(epsilon)
        self.scale = weight * sensitivity.l1 / epsilon
        noise.check_scale(self.scale)

    def noise(self) -> list[int]:
        return noise.laplace(self.dimension, self.scale)

    def law(self, stretch: Fraction) -> Law:
        # As many slots move as make up D_1, each by the most it can: all of them, or of a count two a slot.
        whole, most = self.sensitivity.l1, self.sensitivity.linf
        if most > 1 and whole != most * self.dimension:
            return super().law(stretch)
        epsilon, parts = self.loss.epsilon * stretch, whole // most
        return LaplaceLaw(
            epsilon=epsilon, zcdp=epsilon**2 / (2 * parts), grain=self.dimension / self.scale, parts=parts
        )

    def variance(self, direction: Floats) -> float:
        return laplace_variance(self.scale) * float(direction @ direction)

    def loss_of_shift(self, shift: Sequence[int]) -> Loss:
        return Loss.pure(self.loss.epsilon * Fraction(sum(map(abs, shift)), self.sensitivity.l1))


def laplace_variance(scale: Fraction) -> float:
    """The variance of a discrete Laplace draw: 2q/(1-q)^2 with q = exp(-1/scale)."""
    rate = 1 / float(scale)
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2
