"""Basis: release a few coefficients instead of every slot; far less noise, at the price of a bias (theory 5).

The basis is a public *integer* matrix, so there is no float and no slack between a household and the
release. A household's coefficients, not its slots, are bounded when the body is an `Ellipsoid`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from diurnal.errors import LimitError, PlanError
from diurnal.exact import sqrt_up_fraction, whole
from diurnal.promise import noise
from diurnal.promise.body import AnyBody, Body, Ellipsoid, ensure, lengths, shrink
from diurnal.promise.budget import Loss, zcdp_for
from diurnal.promise.composition import Law, norm_law
from diurnal.promise.mechanisms.base import Mechanism
from diurnal.promise.mechanisms.laplace import laplace_variance
from diurnal.promise.mechanisms.prior import SHARES, Prior, no_prior
from diurnal.readings.data import Floats, Integers

LARGEST_Q, SMALLEST_Q = 16, 8


@dataclass(frozen=True, kw_only=True)
class Basis:
    """Which coefficients are kept, and the noise they get. Public.

    Examples:
        >>> Basis(size=9).noise
        'l2-norm'
    """

    kind: Literal["fourier", "cosine", "spline"] = "fourier"
    """`fourier`: a constant, then a cosine and a sine for each harmonic. `cosine`: half-wave cosines. `spline`:
    periodic cubic splines with a knot a coefficient, smoothest first."""
    size: int = 9
    """m, how many coefficients are kept."""
    noise: Literal["l2-norm", "laplace", "gaussian"] = "l2-norm"
    """The noise of the coefficients."""
    days: int = 1
    """Into how many equal parts the cycle is cut that the vectors repeat in: 7 keeps the mean day of a week."""

    def __post_init__(self) -> None:
        if self.kind not in _ROWS:
            raise PlanError("basis-unknown", kind=self.kind, choices=", ".join(_ROWS))
        if self.noise not in ("l2-norm", "laplace", "gaussian"):
            raise PlanError("basis-noise-unknown", noise=self.noise)
        object.__setattr__(self, "size", whole(self.size, "size", least=1))
        object.__setattr__(self, "days", whole(self.days, "days", least=1))

    def fits(self, slots: int) -> bool:
        """Whether a cycle of so many slots has room for its vectors."""
        return slots % self.days == 0 and self.size <= slots // self.days

    def rows(self, slots: int) -> Floats:
        """The orthonormal vectors, a row each."""
        if not self.fits(slots):
            raise PlanError("basis-size", size=self.size, slots=slots, days=self.days)
        rows = _ROWS[self.kind](self.size, slots // self.days)
        repeated: Floats = np.tile(rows, self.days) / math.sqrt(self.days)
        return repeated

    def harmonics(self) -> list[float]:
        """How often each vector goes up and down in a cycle."""
        step = (lambda j: j / 2) if self.kind == "cosine" else (lambda j: float((j + 1) // 2))
        return [step(j) for j in range(self.size)]

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        later = {} if self.days == 1 else {"days": self.days}
        return {"kind": self.kind, "size": self.size, "noise": self.noise, **later}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Basis:
        """The basis that `to_json` wrote."""
        return cls(**data)


class BasisMechanism(Mechanism):
    """Noisy coefficients of the sums in a public integer basis.

    Guarantee:
        With l2-norm or Laplace noise epsilon-DP, with Gaussian noise rho-zCDP, for one household's
        contribution inside the body. For the cycle layer the variations must be projected as well, so it
        reports when the cycle is complete; the part that the basis drops never goes out.
    """

    name: ClassVar[str] = "basis"
    biased: ClassVar[bool] = True

    def __init__(
        self,
        basis: Basis,
        body: AnyBody,
        *,
        slots: int,
        magnitude: int,
        weight: int,
        epsilon: Fraction,
        delta: Fraction | None = None,
        l2_square: int | None = None,
        prior: Prior | None = None,
        total: int = 1,
    ) -> None:
        """Make it for a body.

        Args:
            basis: Which coefficients and which noise.
            body: Where the slots (`Body`) or the coefficients (`Ellipsoid`) are put.
            slots: T.
            magnitude: A public bound on the absolute values of the vectors that will be given.
            weight: p*, the largest absolute weight.
            epsilon: What a release costs.
            delta: For Gaussian noise.
            l2_square: How far apart neighbours' vectors in a `Body` can be, squared, if less than its diameter.
            prior: What is known of the households' mean without them.
            total: The sum of the households' weights, of which the prior is that of one.
        """
        self.basis, self.body, self.slots, self.weight = basis, body, slots, weight
        stretch = _stretch(basis, body)
        rows = basis.rows(slots) * stretch[:, None]
        q = _bits(magnitude + _reach(body, slots), slots, float(stretch.max()))
        self.matrix: Integers = np.rint(rows * 2.0**q).astype(np.int64)
        self._scale = 1 << q
        self.sensitivity_square = weight**2 * self._diameter_square(l2_square)
        self._set_noise(epsilon, delta)
        self._squares = [int(row @ row) for row in self.matrix]
        self._prior, self._total = no_prior(slots) if prior is None else prior, total
        spread = self._coefficient_variance / max(1, total * total)
        self._shares = self._prior.shares(self._squares, basis.harmonics(), spread)

    @property
    def dimension(self) -> int:
        return self.basis.size

    @property
    def magnitude(self) -> int:
        if isinstance(self.body, Body):
            low, high = self.body.ranges(self.slots)
            most = int(max(abs(low).max(), abs(high).max()))
            return most * int(np.abs(self.matrix).sum(axis=1).max())
        centre = self.matrix @ self.body.centre(self.slots)
        return int(abs(centre).max()) + self._radius(self.body)

    def ready(self, slot: int) -> int:
        return self.slots - 1

    def contribute(self, vectors: Integers) -> Integers:
        if isinstance(self.body, Body):
            return self.matrix @ self.body.project(vectors)
        centre = self.matrix @ self.body.centre(self.slots)
        moved = self.matrix @ vectors - centre[:, None]
        moved = shrink(moved, lengths(moved), self._radius(self.body))
        ensure((lengths(moved) <= self._radius(self.body)).all())
        return moved + centre[:, None]

    def law(self, stretch: Fraction) -> Law:
        if self.basis.noise == "gaussian":
            return super().law(stretch)
        epsilon = self.loss.epsilon * stretch
        if self.basis.noise == "l2-norm":
            return norm_law(epsilon, self.dimension, self.rate)
        # Coefficients move by D_2 together, each behind noise of sqrt(m) D_2.
        return Law(epsilon=epsilon, zcdp=epsilon**2 / (2 * self.dimension))

    def noise(self) -> list[int]:
        if self.basis.noise == "l2-norm":
            return noise.l2_norm(self.dimension, self.rate)
        if self.basis.noise == "laplace":
            return noise.laplace(self.dimension, 1 / self.rate)
        return noise.gaussian(self.dimension, 1 / self.rate)

    def to_slots(self, released: Sequence[int]) -> list[int]:
        # Rows are nearly orthogonal: each coefficient is divided by its row's squared length, in integers.
        common, parts, columns = self._parts
        weights = [change * part for change, part in zip(self._changes(released), parts, strict=True)]
        return [
            base + (2 * sum(map(operator.mul, column, weights)) + common) // (2 * common)
            for base, column in columns
        ]

    @cached_property
    def _parts(self) -> tuple[int, list[int], list[tuple[int, list[int]]]]:
        """What slots are made of: a common denominator, each coefficient's part of it, and each slot's column."""
        common = SHARES * math.lcm(*self._squares)
        fill = [self._total * int(value) for value in self._prior.fill]
        parts = [common // (SHARES * square) for square in self._squares]
        return common, parts, list(zip(fill, self.matrix.T.tolist(), strict=True))

    def variance(self, direction: Floats) -> float:
        reach = (self.matrix @ direction) * np.array(self._shares) / (SHARES * np.array(self._squares, dtype=float))
        return self._coefficient_variance * float(reach @ reach)

    def expected(self, contribution: Floats) -> Floats:
        kept, squares = np.array(self._shares) / SHARES, np.array(self._squares, dtype=float)
        target, fill = (self.matrix @ each for each in (self._prior.target, self._prior.fill))
        changes = kept * contribution + (1 - kept) * target - fill
        said: Floats = self._prior.fill + self.matrix.T @ (changes / squares)
        return said

    @property
    def kept(self) -> tuple[float, float]:
        return min(self._shares) / SHARES, max(self._shares) / SHARES

    @property
    def drawn(self) -> float:
        return self._prior.drawn(self._shares, self.basis.harmonics())

    def _changes(self, released: Sequence[int]) -> list[int]:
        """By how much each coefficient of the report is off that of what is put back, in parts of SHARES."""
        return [
            share * value + known for share, value, known in zip(self._shares, released, self._known, strict=True)
        ]

    @cached_property
    def _known(self) -> list[int]:
        """What is known of each coefficient's change beside a release."""
        target, fill = ((self.matrix @ each).tolist() for each in (self._prior.target, self._prior.fill))
        return [
            (SHARES - share) * self._total * drawn - SHARES * self._total * back
            for share, drawn, back in zip(self._shares, target, fill, strict=True)
        ]

    def _diameter_square(self, l2_square: int | None) -> int:
        if isinstance(self.body, Ellipsoid):
            return (2 * self._radius(self.body)) ** 2
        # Gershgorin bounds the integer matrix's norm without trusting that its rows are orthonormal.
        gram = np.abs(self.matrix @ self.matrix.T).sum(axis=1).max()
        return int(gram) * (l2_square or self.body.sensitivity(self.slots).l2_square)

    def _radius(self, body: Ellipsoid) -> int:
        """The radius in units of the integer coefficients; none is longer than 2^31, so it need not be either."""
        return min(body.radius * self._scale, 1 << 31)

    def _set_noise(self, epsilon: Fraction, delta: Fraction | None) -> None:
        size = self.basis.size
        if self.basis.noise == "gaussian":
            if delta is None:
                raise PlanError("noise-needs-delta")
            rho = zcdp_for(epsilon, delta)
            self.loss = Loss.concentrated(rho)
            self.rate = 1 / sqrt_up_fraction(self.sensitivity_square / (2 * rho))
            self._coefficient_variance = 1 / float(self.rate) ** 2
        elif self.basis.noise == "laplace":
            self.loss = Loss.pure(epsilon)
            self.rate = epsilon / sqrt_up_fraction(Fraction(size * self.sensitivity_square))
            self._coefficient_variance = laplace_variance(1 / self.rate)
        else:
            self.loss = Loss.pure(epsilon)
            self.rate = epsilon / sqrt_up_fraction(Fraction(self.sensitivity_square))
            self._coefficient_variance = (size + 1) / float(self.rate) ** 2
            noise.check_l2_norm(size, self.rate)
        noise.check_scale(1 / self.rate)


def _stretch(basis: Basis, body: AnyBody) -> Floats:
    if isinstance(body, Ellipsoid) and body.weighting == "harmonic":
        return np.sqrt(1.0 + np.array(basis.harmonics()))
    return np.ones(basis.size)


def _reach(body: AnyBody, slots: int) -> int:
    """How far the body's centre is from zero."""
    return int(np.abs(body.centre(slots)).max()) if isinstance(body, Ellipsoid) else 0


def _bits(magnitude: int, slots: int, stretch: float) -> int:
    """q: as many bits as leave the squared length of a household's coefficients within 64."""
    room = 30 - math.ceil(math.log2(max(1, magnitude) * math.sqrt(slots) * stretch))
    if room < SMALLEST_Q:
        raise LimitError("coefficients-overflow", magnitude=magnitude, slots=slots)
    return min(room, LARGEST_Q)


def _fourier(size: int, slots: int) -> Floats:
    angles = 2 * np.pi * np.arange(slots) / slots
    rows = [np.full(slots, 1 / math.sqrt(slots))]
    for harmonic in range(1, size // 2 + 1):
        if 2 * harmonic == slots:
            rows.append(np.cos(harmonic * angles) / math.sqrt(slots))
            continue
        rows.append(np.cos(harmonic * angles) * math.sqrt(2 / slots))
        rows.append(np.sin(harmonic * angles) * math.sqrt(2 / slots))
    return np.array(rows[:size])


def _cosine(size: int, slots: int) -> Floats:
    middles = (np.arange(slots) + 0.5) / slots
    rows = [np.cos(np.pi * j * middles) * math.sqrt((2 if j else 1) / slots) for j in range(size)]
    return np.array(rows)


def _spline(size: int, slots: int) -> Floats:
    """Periodic cubic splines with equally spaced knots, combined into waves and made orthonormal in that order."""
    away = np.abs((np.arange(slots) * size / slots - np.arange(size)[:, None] + size / 2) % size - size / 2)
    near = np.where(away < 1, 2 / 3 - away**2 + away**3 / 2, np.maximum(0, 2 - away) ** 3 / 6)
    if size < 4:
        # A spline is four knots wide: with fewer there is no room for it, and waves are as smooth.
        return _fourier(size, slots)
    waves = _fourier(size, size) @ near
    rows: list[Floats] = []
    for wave in waves:
        rest = wave - sum((row @ wave) * row for row in rows)
        rows.append(rest / math.sqrt(float(rest @ rest)))
    return np.array(rows)


_ROWS: dict[str, Callable[[int, int], Floats]] = {"fourier": _fourier, "cosine": _cosine, "spline": _spline}
