"""Blocks: the sums of a cycle's variations a few hours at a time, each known when its hours are over.

A cycle of T slots is cut into m blocks of b = T/m slots. A household contributes its m block sums, whole numbers,
put into a ball *causally*: a block's sum is cut to the radius that the blocks before it have left,

    c_j = s_j, cut to +- isqrt(R^2 - c_1^2 - ... - c_(j-1)^2).

So whatever a household does, its vector lies in the ball, two such vectors are at most 2R apart, and c_j depends on
nothing after block j. One vector v of l2-norm noise, mass ~ exp(-rate |v|_2), is drawn before the cycle's first
block goes out, and block j is reported as (sum of c_j + v_j)/b in each of its slots.

**Why it is enough that components go out one after the other.** Let y_1, y_2, ... be what went out, and c(y) what
all households contribute; c_j(y) may depend on y_1 .. y_(j-1), for people read reports and act on them. The noise
behind a transcript y is v = y - c(y), exactly one vector, so P(y) = mass(y - c(y)), and for a neighbour
mass(y - c'(y)). At this y the two vectors differ by one household's contribution to one cycle: both of these lie
in the ball, |c(y) - c'(y)| <= 2R p*, and the ratio is at most exp(rate 2R p*) = exp(epsilon). Nothing is asked of
the noise's components, which are not independent, and nothing of the households. Asked is only that a component,
once out, stays the one that later blocks were cut by: see `curator.release`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from diurnal.errors import LimitError, PlanError
from diurnal.exact import sqrt_up, sqrt_up_fraction
from diurnal.promise import noise
from diurnal.promise.body import Ellipsoid, ensure
from diurnal.promise.budget import Loss
from diurnal.promise.composition import Law, norm_law
from diurnal.promise.mechanisms.base import Mechanism
from diurnal.readings.data import Floats, Integers
from diurnal.readings.kernels import LIMIT


class Blocks(Mechanism):
    """Noisy sums of a cycle's variations over blocks of slots, for the cycle layer of strong mode only.

    Guarantee:
        epsilon-DP for one household's readings of one cycle, whatever they are, also where later readings depend
        on earlier reports. What changes within a block is dropped and never goes out.
    """

    name: ClassVar[str] = "blocks"
    biased: ClassVar[bool] = True

    def __init__(
        self,
        number: int,
        bound: Ellipsoid | int | None,
        *,
        slots: int,
        width: int,
        weight: int,
        epsilon: Fraction,
    ) -> None:
        """Make it for a bound.

        Args:
            number: m, how many blocks.
            bound: A ball (in the length of the slots' vector), or W to which each variation is cut, or neither.
            slots: T.
            width: R_x, the width of the domain: no variation of a cycle can change by more.
            weight: p*, the largest absolute weight.
            epsilon: What a cycle costs.
        """
        check_blocks(number, bound, slots)
        self.slots, self.weight, self._number, self._length = slots, weight, number, slots // number
        self._clip = min(bound, width) if isinstance(bound, int) else width
        # Without a ball each slot moves by at most min(2W, R_x), and each block's sum by as much a slot.
        square = number * (self._length * min(2 * self._clip, width)) ** 2
        self._ball: int | None = None
        if isinstance(bound, Ellipsoid):
            # A block's share of the length is its sum over sqrt(b), so R^2 is b times the radius squared.
            ball = self._length * bound.radius**2
            # A ball wider than one cycle can move anything would cut, and save no noise.
            self._ball = ball if 4 * ball < square else None
        if self._ball is not None and number * (self._length * width) ** 2 >= LIMIT:
            raise LimitError("blocks-overflow", slots=self._length, width=width)
        self.sensitivity_square = weight**2 * (square if self._ball is None else 4 * self._ball)
        self.loss = Loss.pure(epsilon)
        self.rate = epsilon / sqrt_up_fraction(Fraction(self.sensitivity_square))
        noise.check_l2_norm(number, self.rate)

    @property
    def dimension(self) -> int:
        return self._number

    @property
    def in_a_ball(self) -> bool:
        """Whether block sums are put into a ball."""
        return self._ball is not None

    @property
    def magnitude(self) -> int:
        most = self._length * self._clip
        return most if self._ball is None else min(most, sqrt_up(self._ball))

    def ready(self, slot: int) -> int:
        return slot - slot % self._length + self._length - 1

    def contribute(self, vectors: Integers) -> Integers:
        moves = np.clip(vectors, -self._clip, self._clip)
        sums: Integers = moves.reshape(self._number, self._length, -1).sum(axis=1)
        if self._ball is None:
            return sums
        left = np.full(sums.shape[1], self._ball, dtype=np.int64)
        for block in sums:
            room = _roots(left)
            np.clip(block, -room, room, out=block)
            left -= block * block
        ensure(((sums * sums).sum(axis=0) <= self._ball).all())
        return sums

    def law(self, stretch: Fraction) -> Law:
        # In a ball a block's reach depends on the blocks before it, which may have seen reports: the worst is not
        # one fixed move then, and nothing is claimed beyond epsilon (theory 3.1).
        if self._ball is not None:
            return super().law(stretch)
        return norm_law(self.loss.epsilon * stretch, self.dimension, self.rate)

    def noise(self) -> list[int]:
        return noise.l2_norm(self._number, self.rate)

    def to_slots(self, released: Sequence[int]) -> list[int]:
        length = self._length
        return [(2 * value + length) // (2 * length) for value in released for _ in range(length)]

    def variance(self, direction: Floats) -> float:
        reach = direction.reshape(self._number, self._length).mean(axis=1)
        return (self._number + 1) / float(self.rate) ** 2 * float(reach @ reach)

    def expected(self, contribution: Floats) -> Floats:
        said: Floats = np.repeat(contribution / self._length, self._length)
        return said


def check_blocks(number: int, bound: Ellipsoid | int | None, slots: int) -> None:
    """Refuse blocks of unequal length, and balls that are not around zero.

    Around anything else a household that is forgotten in the middle of a cycle would have to go on contributing
    something, cut by a radius that nobody can know any more.
    """
    if slots % number:
        fit = [str(m) for m in range(1, min(slots, 17) + 1) if slots % m == 0]
        raise PlanError("blocks-uneven", slots=slots, blocks=number, choices=", ".join(fit))
    if isinstance(bound, Ellipsoid) and (bound.reference is not None or bound.weighting != "flat"):
        raise PlanError("blocks-need-ball")


def _roots(squares: Integers) -> Integers:
    """The square roots of whole numbers below 2^62, rounded down, exactly."""
    roots: Integers = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    # A float's root is off by at most one here.
    roots -= roots * roots > squares
    roots += (roots + 1) * (roots + 1) <= squares
    return roots
