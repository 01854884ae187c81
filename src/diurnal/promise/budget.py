"""Budget: how losses add up, exactly, and what a custodian allows in all.

A `Loss` is kept as fractions until somebody asks for an epsilon. Pure losses add up; concentrated ones (zCDP)
add up; a mixture is read in whichever of the two valid ways is smaller. Turning a concentrated loss into
(epsilon, delta), where the mathematics is, is left to OpenDP. Its sums would be floats, and three tenths of a
budget of 0.9 must leave nothing, so sums are made here; a test holds them against OpenDP's.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from diurnal.errors import PlanError
from diurnal.exact import Number, float_up, positive, text
from diurnal.renamed import renamed


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A privacy loss: a pure part and a concentrated part, as exact fractions.

    Examples:
        >>> (Loss.pure(Fraction(1, 2)) + Loss.pure(Fraction(1, 3))).at(None)
        Fraction(5, 6)
    """

    epsilon: Fraction = Fraction(0)
    """The sum of the pure losses."""
    zcdp: Fraction = Fraction(0)
    """The sum of the concentrated losses."""
    squares: Fraction = Fraction(0)
    """The sum of the squares of the pure losses: a pure eps is also eps^2/2-zCDP."""

    @classmethod
    def pure(cls, epsilon: Fraction) -> Loss:
        """epsilon-DP."""
        return cls(epsilon=epsilon, squares=epsilon * epsilon)

    @classmethod
    def concentrated(cls, rho: Fraction) -> Loss:
        """rho-zCDP."""
        return cls(zcdp=rho)

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            epsilon=self.epsilon + other.epsilon,
            zcdp=self.zcdp + other.zcdp,
            squares=self.squares + other.squares,
        )

    def at(self, delta: Fraction | None) -> Fraction:
        """The epsilon of this loss at a delta: exact where pure, rounded up where not.

        Raises:
            PlanError: A concentrated part, and no delta to read it at.
        """
        if delta is None:
            if self.zcdp:
                raise PlanError("plan-needs-delta")
            return self.epsilon
        if not self.zcdp and not self.epsilon:
            return Fraction(0)
        concentrated = epsilon_of(self.zcdp + self.squares / 2, delta)
        apart = self.epsilon + (epsilon_of(self.zcdp, delta) if self.zcdp else 0)
        return min(concentrated, apart)


NOTHING = Loss()


@dataclass(frozen=True)
class Budget:
    """What all plans of a store together may cost any household.

    Counted are a shift of its usual cycle, and any one reported cycle, where a plan's level protects these; not
    what many cycles lose together, nor what a cycle of a history does. There is no reset; whoever answers for it
    can raise it, and the ledger tells.

    Examples:
        >>> Budget(pattern="2", cycle="2").pattern
        Fraction(2, 1)
    """

    pattern: Number = "1"
    """The cap on what a shift of the periodic component loses: the sum of eps_z."""
    cycle: Number = "1"
    """The cap on what any one reported cycle loses: the sum of eps_w. A cycle of a history is not counted."""
    delta: Number | None = None
    """The delta at which Gaussian plans are read; None allows pure plans only."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pattern", positive(self.pattern, "pattern"))
        object.__setattr__(self, "cycle", positive(self.cycle, "cycle"))
        if self.delta is not None:
            object.__setattr__(self, "delta", check_delta(self.delta))

    @property
    def caps(self) -> dict[str, Fraction]:
        """The caps by the names that ledgers have for them: there the cap of a cycle is called `strong`."""
        return {"pattern": Fraction(self.pattern), "strong": Fraction(self.cycle)}

    @property
    def strong(self) -> Fraction:
        """Deprecated: `cycle`."""
        warnings.warn("Budget.strong is now Budget.cycle.", DeprecationWarning, stacklevel=2)
        return Fraction(self.cycle)

    def to_json(self) -> dict[str, Any]:
        """Plain data with decimals as strings, as in a store."""
        caps = {name: text(cap) for name, cap in self.caps.items()}
        return {**caps, "delta": None if self.delta is None else text(Fraction(self.delta))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Budget:
        """The budget that `to_json` wrote."""
        return cls(pattern=data["pattern"], cycle=data["strong"], delta=data["delta"])


Budget.__init__ = renamed(strong="cycle")(Budget.__init__)  # type: ignore[method-assign]


def check_delta(delta: Any) -> Fraction:
    """A delta between 0 and 1, as an exact fraction."""
    value = positive(delta, "delta")
    if value >= 1:
        raise PlanError("budget-delta-range", delta=delta)
    return value


@lru_cache(maxsize=4096)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """The epsilon at which a rho-zCDP loss is (epsilon, delta)-DP, rounded up. By OpenDP."""
    if rho > 100:
        # Beyond what OpenDP's search takes; the classic bound is no promise anybody wants either.
        classic = float(rho) + 2 * math.sqrt(float(rho) * -math.log(float(delta)))
        return Fraction(math.nextafter(classic * (1 + 1e-9), math.inf))
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    curve = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0))
    # A Gaussian of scale 1 is d^2/2-zCDP at distance d; OpenDP rounds up from there.
    distance = math.nextafter(float_up(Fraction(math.sqrt(float_up(2 * rho)))), math.inf)
    profile = curve.map(distance)
    # Delta is rounded down: a smaller delta only asks for more.
    at = float(delta)
    at = at if Fraction(at) <= delta else math.nextafter(at, 0.0)
    return Fraction(float(profile.epsilon(at)))


@lru_cache(maxsize=4096)
def zcdp_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho (to 24 bits) whose loss is (epsilon, delta)-DP."""
    high = Fraction(1)
    while epsilon_of(high, delta) <= epsilon:
        high *= 2
    while epsilon_of(high, delta) > epsilon:
        high /= 2
    low, step = high, high
    for _ in range(24):
        step /= 2
        if epsilon_of(low + step, delta) <= epsilon:
            low += step
    return low
