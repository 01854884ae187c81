"""Mechanism: one small interface for every way to hide a household in a vector of sums.

The same mechanisms serve twice: for the pattern layer, where the sums are of profiles and the noise is
drawn once, and for the cycle layer of strong mode, where the sums are of one cycle's variations and the
noise is drawn for each cycle.

    vectors of households --contribute--> inside a body --(summed by a kernel)--> totals
    totals --release--> totals + noise --to_slots--> a value a slot

Only `release` and `noise` are random. Everything after `release` is post-processing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from diurnal.promise.body import Body, Sensitivity
from diurnal.promise.budget import Loss
from diurnal.promise.composition import Law
from diurnal.readings.data import Floats, Integers


class Mechanism(ABC):
    """Adds noise to a vector of integer sums, for a stated loss.

    Guarantee:
        If one household's contribution changes within the body, the law of `release` changes by at most
        `loss` (theory 5). The household may be of any weight up to the one the mechanism was made for.
    """

    name: ClassVar[str]
    biased: ClassVar[bool] = False
    """Whether something of the totals is dropped, so that the error is more than the noise."""

    loss: Loss
    """What one release costs."""
    multiplier: int = 1
    """Totals are counted in units of 1/multiplier, so that noise of a small scale can be drawn."""

    def law(self, stretch: Fraction) -> Law:
        """What is proved about the loss of one release, so that many of them can be composed.

        Args:
            stretch: How many times further than the body allows a household's contribution may move.
        """
        if self.loss.zcdp:
            return Law(epsilon=None, zcdp=self.loss.zcdp * stretch**2)
        epsilon = self.loss.epsilon * stretch
        return Law(epsilon=epsilon, zcdp=epsilon**2 / 2)

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many numbers are released."""

    @property
    @abstractmethod
    def magnitude(self) -> int:
        """A public bound on the absolute value of any component of a contribution."""

    @abstractmethod
    def noise(self) -> list[int]:
        """Noise for one release, in units of 1/multiplier."""

    def release(self, totals: Sequence[int]) -> list[int]:
        """The totals with noise, in units of 1/multiplier."""
        return self.with_noise(totals, self.noise())

    def with_noise(self, totals: Sequence[int], noise: Sequence[int]) -> list[int]:
        """The totals with noise that was drawn before, in units of 1/multiplier."""
        return [self.multiplier * int(total) + v for total, v in zip(totals, noise, strict=True)]

    def ready(self, slot: int) -> int:
        """The last slot of the cycle whose readings a slot's value waits for: itself, its block's, the cycle's."""
        return slot

    @abstractmethod
    def contribute(self, vectors: Integers) -> Integers:
        """What each household (a column) adds to the totals; always inside the body."""

    @abstractmethod
    def to_slots(self, released: Sequence[int]) -> list[int]:
        """A value for each slot from what was released, in units of 1/multiplier."""

    @abstractmethod
    def variance(self, direction: Floats) -> float:
        """The variance of the noise's inner product with a direction over the slots, in units of a total."""

    @property
    def kept(self) -> tuple[float, float]:
        """The least and the largest share of what is released that is reported; the rest is public knowledge."""
        return 1.0, 1.0

    @property
    def drawn(self) -> float:
        """How far public knowledge is thought to draw what is reported from the truth, for a household of weight 1.

        Root mean square over the slots.
        """
        return 0.0

    def expected(self, contribution: Floats) -> Floats:
        """The mean of what a release says, a value a slot, of households that contribute so in the mean."""
        return contribution


class SlotMechanism(Mechanism):
    """A mechanism that releases the slots themselves, each with its own noise."""

    needs_delta: ClassVar[bool] = False
    """Whether its promise may fail with a probability, which it then takes as `delta`."""

    def __init__(self, sensitivity: Sensitivity, *, weight: int, body: Body | None = None) -> None:
        """Make it for a body and the largest weight a household has.

        Args:
            sensitivity: The diameters of the body.
            weight: p*, the largest absolute weight.
            body: Where profiles are put; None if the kernel bounds the contributions itself.
        """
        self.sensitivity = sensitivity
        self.weight = weight
        self.body = body

    @property
    def dimension(self) -> int:
        return len(self.sensitivity.ranges)

    @property
    def magnitude(self) -> int:
        if self.body is None:
            return self.sensitivity.linf
        low, high = self.body.ranges(self.dimension)
        return int(max(abs(low).max(), abs(high).max()))

    def contribute(self, vectors: Integers) -> Integers:
        return vectors if self.body is None else self.body.project(vectors)

    def to_slots(self, released: Sequence[int]) -> list[int]:
        return list(released)

    @abstractmethod
    def loss_of_shift(self, shift: Sequence[int]) -> Loss | None:
        """The loss when a household's vector moves by at most |shift_s| in each slot, whatever its weight.

        The shift need not stay inside the body. None if there is no bound.
        """
