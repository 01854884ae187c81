"""Gaussian: independent discrete Gaussian noise in every slot, for (epsilon, delta) (theory 5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from diurnal.exact import sqrt_up_fraction
from diurnal.promise import noise
from diurnal.promise.body import Body, Sensitivity
from diurnal.promise.budget import Loss, zcdp_for
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.readings.data import Floats


class Gaussian(SlotMechanism):
    """Discrete Gaussian noise of standard deviation p* D_2/sqrt(2 rho).

    Guarantee:
        rho-zCDP, with rho the largest that is (epsilon, delta)-DP, for one household's contribution inside
        the body.
    """

    name: ClassVar[str] = "gaussian"
    needs_delta: ClassVar[bool] = True

    def __init__(
        self,
        sensitivity: Sensitivity,
        *,
        weight: int,
        epsilon: Fraction,
        delta: Fraction,
        body: Body | None = None,
    ) -> None:
        super().__init__(sensitivity, weight=weight, body=body)
        rho = zcdp_for(epsilon, delta)
        self.loss = Loss.concentrated(rho)
        self.scale = sqrt_up_fraction(weight**2 * sensitivity.l2_square / (2 * rho))
        noise.check_scale(self.scale)

    def noise(self) -> list[int]:
        return noise.gaussian(self.dimension, self.scale)

    def variance(self, direction: Floats) -> float:
        return float(self.scale) ** 2 * float(direction @ direction)

    def loss_of_shift(self, shift: Sequence[int]) -> Loss:
        ratio = Fraction(sum(d * d for d in shift), self.sensitivity.l2_square)
        return Loss.concentrated(self.loss.zcdp * ratio)
