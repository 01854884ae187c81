"""Composition: what many releases of one mechanism lose together, read at a delta.

A promise about one cycle says little about a fortnight. m times epsilon is always true and mostly far too much: how
a loss is *spread* decides what many of them add up to. A `Law` holds what is proved about one release; `composed`
gives the least of three valid readings: m times epsilon, zero-concentrated privacy (converted by OpenDP), and a
privacy-loss distribution (convolved by dp-accounting, always rounded towards more).

The worst change of a household is the same for every delta: where noise has a density that is log-concave and does
not change when a component's sign does, more change in any component is worse (theory 3.1). So one pair of laws
stands for all neighbours, and composes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from diurnal.exact import sqrt_up_fraction
from diurnal.promise.budget import epsilon_of
from diurnal.readings.data import Floats

STEPS = 100
"""Into how many steps the loss of a release, from none to its largest, is cut: four digits of what a year loses."""
MOST = 20
"""Up to which epsilon of a release, and which grain of all, distributions are asked: beyond, they mean nothing."""

QUADRATURE = 3e-12
"""By how much, at most, a distribution that is integrated numerically is off for one release; taken off delta."""

DELTAS = tuple(Fraction(f"{10 ** (-place / 10):.2e}") for place in range(1, 70, 3))
"""At which deltas zero-concentrated privacy is read to say how often a change is told."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """What is proved about the loss of one release; of a mechanism of which nothing more is known, the worst.

    Examples:
        >>> Law(epsilon=Fraction(1), zcdp=Fraction(1, 2)).composed(2, Fraction("1e-6"))
        Fraction(2, 1)
    """

    epsilon: Fraction | None
    """The most that one release can lose; None if there is no such bound (Gaussian noise)."""
    zcdp: Fraction
    """rho of zero-concentrated privacy."""
    grain: Fraction = Fraction(0)
    """By how much, at most, the logarithm of the integer law differs from that of the continuous one."""

    @property
    def plain(self) -> Law:
        """What is known by epsilon alone: on a coarse lattice nothing else that is proved may be worth having."""
        return Law(epsilon=self.epsilon, zcdp=self.zcdp)

    def composed(self, times: int, delta: Fraction) -> Fraction:
        """The epsilon, at a delta, of `times` releases in each of which the household changes as it likes."""
        return _composed(self, times, delta)

    def told(self, times: int, false: float) -> float:
        """How often, at most, such a change is told from no change.

        Args:
            times: In how many releases the household changes.
            false: How often a change may be told where there is none.

        Examples:
            >>> round(Law(epsilon=Fraction(1), zcdp=Fraction(1, 2)).told(1, 0.01), 3)  # e times 1 %
            0.027
        """
        return min(1.0, *(math.exp(min(epsilon, 700.0)) * false + delta for epsilon, delta in _curve(self, times)))

    def _distribution(self) -> Any:
        """The privacy-loss distribution of one release: that of randomised response, which no other exceeds."""
        from dp_accounting.pld import common, privacy_loss_distribution

        assert self.epsilon is not None
        parameters = common.DifferentialPrivacyParameters(float(self.epsilon), 0.0)
        return privacy_loss_distribution.from_privacy_parameters(
            parameters, value_discretization_interval=float(self.epsilon) / STEPS
        )


@dataclass(frozen=True, kw_only=True)
class LaplaceLaw(Law):
    """A loss that is spread as that of independent Laplace numbers, all moved by the same share of their scale.

    Laplace noise in T slots has T parts. Cube noise has one, whatever T: if all slots move by the most they can,
    its loss has the law of a single Laplace number's (theory 3.1).
    """

    parts: int
    """How many numbers; together they lose at most epsilon."""

    def _distribution(self) -> Any:
        from dp_accounting.pld import privacy_loss_distribution

        assert self.epsilon is not None
        each = float(self.epsilon) / self.parts
        found = privacy_loss_distribution.from_laplace_mechanism(
            1 / each, value_discretization_interval=each / STEPS
        )
        return found.self_compose(self.parts) if self.parts > 1 else found


@dataclass(frozen=True, kw_only=True)
class NormLaw(Law):
    """The loss of l2-norm noise, density ~ exp(-a |v|_2) in `size` dimensions, all of it released at once."""

    size: int
    """In how many dimensions; at least two, for in one it is Laplace noise."""

    def _distribution(self) -> Any:
        from dp_accounting.pld import pld_pmf, privacy_loss_distribution

        assert self.epsilon is not None
        loss = float(self.epsilon)
        losses: Floats = np.arange(-STEPS, STEPS + 1, dtype=np.float64) * (loss / STEPS)
        below = _norm_below(losses, loss, self.size)
        # By symmetry the loss under the other law is minus this one: delta(e) = P(L > e) - e^e P(L < -e).
        deltas = np.clip(1 - below - np.exp(losses) * below[::-1], 0.0, 1.0)
        deltas[-1] = 0.0
        # They fall with the loss; where rounding says otherwise, the larger one holds.
        deltas = np.maximum.accumulate(deltas[::-1])[::-1]
        return privacy_loss_distribution.PrivacyLossDistribution(
            pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(loss / STEPS, -STEPS, STEPS, deltas)
        )


def norm_law(epsilon: Fraction, size: int, rate: Fraction) -> Law:
    """The law of l2-norm noise, mass ~ exp(-rate |v|_2) on the integers, for a move that costs epsilon."""
    # On the reals rho is epsilon^2/(2 size); on the integers no more is proved than epsilon gives by itself.
    zcdp, grain = epsilon**2 / 2, rate * sqrt_up_fraction(Fraction(size))
    if size == 1:
        return LaplaceLaw(epsilon=epsilon, zcdp=zcdp, grain=grain, parts=1)
    return NormLaw(epsilon=epsilon, zcdp=zcdp, grain=grain, size=size)


def _norm_below(losses: Floats, most: float, size: int) -> Floats:
    """P(L <= l) for the loss L of l2-norm noise whose law is moved by `most` in units of 1/a.

    With r = |v| of law Gamma(size) and the cosine u of the angle between v and the move s, L = sqrt(r^2 + 2 r s u +
    s^2) - r, so that L <= l just where (1 + u)/2 <= (s + l)/(2s) (r - h)/r, h = (s - l)/2; and (1 + u)/2 is Beta(b,
    b) with b = (size - 1)/2. What is left is an integral over t = r - h > 0, taken by the trapezoid rule in log t,
    where it converges faster than any power once the step is well below the width of the density, 1/sqrt(size).
    """
    from scipy import special

    step = min(0.1, 0.3 / math.sqrt(size))
    t = np.exp(np.arange(-60, math.log(50 * size + 1000), step))[None, :]
    h = ((most - losses) / 2)[:, None]
    density = np.exp((size - 1) * np.log(h + t) - (h + t) - special.gammaln(size))
    share = special.betainc((size - 1) / 2, (size - 1) / 2, (most + losses[:, None]) / (2 * most) * t / (h + t))
    below: Floats = np.minimum(1.0, step * (density * share * t).sum(axis=1))
    return below


@lru_cache(maxsize=1024)
def _composed(law: Law, times: int, delta: Fraction) -> Fraction:
    concentrated = epsilon_of(times * law.zcdp, delta)
    if law.epsilon is None:
        return concentrated
    readings = (_by_distribution(each, times, delta) for each in _with_distribution(law, times))
    return min(times * law.epsilon, concentrated, *readings)


def _with_distribution(law: Law, times: int) -> list[Law]:
    """The law and its plain form, as far as a privacy-loss distribution of so many releases says anything."""
    return [
        each
        for each in (law, law.plain)
        if each.epsilon is not None and each.epsilon <= MOST and times * each.grain <= MOST
    ]


def _by_distribution(law: Law, times: int, delta: Fraction) -> Fraction:
    """Read from a privacy-loss distribution, with what integers differ from it taken off (theory 3.1)."""
    grain = times * float(law.grain)
    left = float(delta) * math.exp(-grain) - times * QUADRATURE
    found = _repeated(law, times).get_epsilon_for_delta(left) if left > 0 else math.inf
    # Its arithmetic is in floats: their error is far below this.
    return Fraction((found + 2 * grain) * (1 + 1e-6)) if math.isfinite(found) else Fraction(10**9)


@lru_cache(maxsize=256)
def _curve(law: Law, times: int) -> list[tuple[float, float]]:
    """Pairs (epsilon, delta) that hold."""
    found = [(float(epsilon_of(times * law.zcdp, delta)), float(delta)) for delta in DELTAS]
    for each in _with_distribution(law, times):
        grain, together = times * float(each.grain), _repeated(each, times)
        for epsilon in np.linspace(0, times * float(each.epsilon or 0), 400).tolist():
            found_at = together.get_delta_for_epsilon(max(0.0, epsilon - 2 * grain))
            delta = math.exp(grain) * (found_at + times * QUADRATURE)
            found.append((epsilon, float(delta)))
    return found


@lru_cache(maxsize=256)
def _repeated(law: Law, times: int) -> Any:
    one = law._distribution() if times == 1 else _repeated(law, 1)
    return one if times == 1 else one.self_compose(times)
