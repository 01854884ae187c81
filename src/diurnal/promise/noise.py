"""Noise: the one place where the randomness of releases comes from.

Exact integer samplers on the system's generator (`os.urandom`). There is no seed, no generator of our own and
no float that decides anything; NumPy only does integer arithmetic on whole words. A draw is a function of the
bytes it asks for itself and of nothing else: none are kept, so a forked process, or one whose memory was restored
from a snapshot, draws what the system gives it then.

- `laplace`: independent components, mass proportional to exp(-|v|_1/scale).
- `gaussian`: independent components, mass proportional to exp(-|v|_2^2/(2 scale^2)).
- `cube`: mass proportional to exp(-rate * K(v)), K the largest component (in units of its range).
- `l2_norm`: mass proportional to exp(-rate * |v|_2).

Tests replace whole functions of this module by vectors of their own; nothing else can.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from diurnal.errors import LimitError
from diurnal.exact import sqrt_up_fraction
from diurnal.readings.data import Integers

SCALE_LIMIT = 1 << 48
"""The largest scale of noise: up to it a draw leaves 64 bits with a probability below e^-2000."""

_WORD = 1 << 52
"""Rates are fractions of whole numbers below this, so that a few thousand times either fits 64 bits."""

_LEAF = 3
"""Up to so many components of an l2-norm vector are proposed from Laplace draws directly."""


def laplace(size: int, scale: Fraction) -> list[int]:
    """A vector of independent discrete Laplace draws, P(v) proportional to exp(-|v|/scale).

    A scale that needs more than 52 bits is rounded up to them, so the noise is never smaller than asked for.
    """
    drawn: list[int] = _two_sided(size, 1 / _in_words(_checked(scale))).tolist()
    return drawn


def gaussian(size: int, scale: Fraction) -> list[int]:
    """A vector of independent discrete Gaussian draws, P(v) proportional to exp(-v^2/(2 scale^2)).

    With t = floor(scale) + 1, a discrete Laplace draw y of scale t is accepted with probability
    exp(-(|y| - scale^2/t)^2/(2 scale^2)) (Canonne, Kamath and Steinke 2020, algorithm 3), in whole numbers.
    """
    above, below = _checked(scale).as_integer_ratio()
    width = above // below + 1
    drawn: list[int] = []
    while (missing := size - len(drawn)) > 0:
        # About three in four are accepted.
        for y in _two_sided(missing + missing // 2 + 4, Fraction(1, width)).tolist():
            away = abs(y) * width * below**2 - above**2
            if _accept(away**2, 2 * (above * below * width) ** 2):
                drawn.append(y)
    return drawn[:size]


def cube(ranges: Sequence[int], rate: Fraction) -> list[int]:
    """A vector with mass proportional to exp(-rate * K(v)) on the integers.

    K(v) is the least r such that |v_s| <= floor(r * ranges_s / max(ranges)) for every s; for equal ranges
    the largest |v_s|. It is subadditive, and a shift by at most ranges_s in each s has K <= max(ranges).

    Drawn as a radius R with P(R) proportional to (number of vectors with K <= R) * exp(-rate R), then a
    vector uniform among those. R is a sum of one more geometrics than there are components, accepted with
    an exact rational probability (Canonne, Kamath and Steinke 2020 for the geometrics).
    """
    check_cube(ranges, rate)
    shares = _shares(tuple(ranges))
    moving = [share for share in shares if share[0]]
    while True:
        radius = int(_geometric(len(moving) + 1, rate).sum())
        if _accept_radius(radius, moving):
            break
    bounds = np.array([radius * top // bottom for top, bottom in shares], dtype=np.int64)
    drawn: list[int] = (_below(2 * bounds + 1) - bounds).tolist()
    return drawn


def check_scale(scale: Fraction) -> None:
    """Refuse Laplace or Gaussian noise that could not be drawn, before anything is spent on it."""
    _checked(scale)


def check_cube(ranges: Sequence[int], rate: Fraction) -> None:
    """Refuse cube noise that could not be drawn, before anything is spent on it."""
    _rational(rate)
    # The radius is about as many scales as there are components; it must fit 64 bits with room to spare.
    _checked(max(1 / rate, sum(width > 0 for width in ranges) / rate / 1024))


def check_l2_norm(size: int, rate: Fraction) -> None:
    """Refuse l2-norm noise that could not be drawn, before anything is spent on it."""
    _checked(1 / rate)
    _rational(_l2_tree(size, rate)[1])


def cube_shares(ranges: Sequence[int]) -> npt.NDArray[np.float64]:
    """How far each component of `cube` noise reaches, as a share of the widest."""
    return np.array([top / bottom for top, bottom in _shares(tuple(ranges))])


def l2_norm(size: int, rate: Fraction) -> list[int]:
    """A vector with mass proportional to exp(-rate * |v|_2) on the integers.

    A tree of rejections. The components are cut into groups, and each group is drawn in the same way from
    exp(-r_g |v_g|_2), with rational rates whose squares add up to at most rate^2. The vector is accepted with
    probability exp(-(rate |v|_2 - sum_g r_g |v_g|_2)); by Cauchy-Schwarz the exponent is not negative. The smallest
    groups are proposed from discrete Laplace draws, for which |v_g|_1 takes the place of the sum. Acceptance
    compares an exponential variable, drawn bit by bit, with integer bounds on the roots: no rounding decides.
    """
    check_l2_norm(size, rate)
    tree, proposal = _l2_tree(size, rate)
    return tree.draw(_Supply(proposal, tree.components))[0]


class _Group(NamedTuple):
    """A part of an l2-norm vector: its law, and the parts it is proposed from."""

    size: int
    rate: Fraction
    groups: tuple[_Group, ...]
    """Its parts; none where it is proposed from Laplace draws."""
    slope: int
    steps: tuple[int, ...]
    """The rate, and those of the parts (or the one Laplace rate), as whole numbers of 1/unit."""
    unit: int
    components: int
    """About how many Laplace draws it takes to have one accepted."""

    def draw(self, supply: _Supply) -> tuple[list[int], int]:
        """A vector, and its squared length."""
        while True:
            if self.groups:
                drawn = [group.draw(supply) for group in self.groups]
                vector = [v for part, _ in drawn for v in part]
                squares = [square for _, square in drawn]
                square = sum(squares)
            else:
                vector = supply.laplace(self.size)
                squares = [sum(map(abs, vector)) ** 2]
                square = sum(v * v for v in vector)
            if _outlasts(supply, self.slope, square, self.steps, squares, self.unit):
                return vector, square


@lru_cache(maxsize=256)
def _l2_tree(size: int, rate: Fraction) -> tuple[_Group, Fraction]:
    """How a vector is drawn, and the rate of the Laplace draws that all of it begins with."""
    proposal = min(_proposal(leaf, leaf_rate) for leaf, leaf_rate in _l2_leaves(size, rate))
    return _l2_group(size, rate, proposal), proposal


def _l2_group(size: int, rate: Fraction, proposal: Fraction) -> _Group:
    parts = _l2_parts(size, rate)
    groups = tuple(_l2_group(*part, proposal) for part in parts)
    rates = [part_rate for _, part_rate in parts] or [proposal]
    # Acceptance is a probability because the squares of the rates add up to at most the square of this one.
    if sum(r * r for r in rates) * (1 if parts else size) > rate * rate:
        raise AssertionError("a proposal would be accepted with more than certainty")
    unit = math.lcm(rate.denominator, *(r.denominator for r in rates))
    tries = 3 if len(parts) == 4 else 2
    return _Group(
        size=size,
        rate=rate,
        groups=groups,
        slope=int(rate * unit),
        steps=tuple(int(r * unit) for r in rates),
        unit=unit,
        components=tries * (sum(group.components for group in groups) or size),
    )


def _l2_leaves(size: int, rate: Fraction) -> list[tuple[int, Fraction]]:
    """The smallest groups, with their rates."""
    parts = _l2_parts(size, rate)
    return [leaf for part in parts for leaf in _l2_leaves(*part)] or [(size, rate)]


def _l2_parts(size: int, rate: Fraction) -> list[tuple[int, Fraction]]:
    """Nearly equal groups and their rates; none where Laplace draws are accepted often enough."""
    if size <= _LEAF:
        return []
    number = 4 if size > 2 * _LEAF else 2
    sizes = [(size + place) // number for place in range(number)]
    return [(part, _proposal(Fraction(size, part), rate)) for part in sizes]


@lru_cache(maxsize=1024)
def _proposal(parts: Fraction | int, rate: Fraction) -> Fraction:
    """A rational rate of at most rate/sqrt(parts)."""
    return 1 / sqrt_up_fraction(parts / rate**2)


class _Supply:
    """Random words and Laplace draws for one vector, fetched many at a time. What is left goes with it."""

    def __init__(self, rate: Fraction, components: int) -> None:
        self._rate, self._components = rate, components
        self._laplace: list[int] = []
        self._words: list[int] = []

    def laplace(self, size: int) -> list[int]:
        if len(self._laplace) < size:
            self._laplace += _two_sided(max(size, self._components), self._rate).tolist()
        taken = self._laplace[-size:]
        del self._laplace[-size:]
        return taken

    def word(self) -> int:
        if not self._words:
            self._words = _words(2 * self._components + 8).tolist()
        return self._words.pop()


class _Uniform:
    """A uniform real in [0, 1): `value` are its first `bits` bits, and more are drawn as needed."""

    __slots__ = ("bits", "value")

    def __init__(self, supply: _Supply) -> None:
        self.value, self.bits = supply.word(), 64

    def more(self, supply: _Supply) -> None:
        self.value, self.bits = (self.value << 64) | supply.word(), self.bits + 64

    def is_below(self, other: _Uniform, supply: _Supply) -> bool:
        while self.bits != other.bits or self.value == other.value:
            shorter = self if self.bits <= other.bits else other
            shorter.more(supply)
        return self.value < other.value


def _exponential_real(supply: _Supply) -> tuple[int, _Uniform]:
    """An exponential variable: its whole part and the rest (von Neumann 1951).

    A uniform is the rest where the run of descending uniforms that begins with it has an odd length, which has
    probability exp(-rest); each run of even length before it adds one.
    """
    whole = 0
    while True:
        first = last = _Uniform(supply)
        odd = True
        while (following := _Uniform(supply)).is_below(last, supply):
            last, odd = following, not odd
        if odd:
            return whole, first
        whole += 1


def _outlasts(
    supply: _Supply, slope: int, square: int, steps: Sequence[int], squares: Sequence[int], unit: int
) -> bool:
    """True with probability exp(-(slope sqrt(square) - sum steps_g sqrt(squares_g))/unit), which is at most one."""
    whole, rest = _exponential_real(supply)
    while True:
        bits = rest.bits
        root = math.isqrt(square << 2 * bits)
        parts = sum(step * math.isqrt(part << 2 * bits) for step, part in zip(steps, squares, strict=True))
        least, most = slope * root - parts - sum(steps), slope * (root + 1) - parts
        reached = unit * ((whole << bits) + rest.value)
        if reached >= most:
            return True
        if reached + unit <= least:
            return False
        rest.more(supply)


def _checked(scale: Fraction) -> Fraction:
    if not 0 < scale <= SCALE_LIMIT:
        raise LimitError("noise-overflow")
    return scale


def _in_words(scale: Fraction) -> Fraction:
    """The scale, or if it needs more than 52 bits a larger one that does not."""
    if max(scale.as_integer_ratio()) < _WORD:
        return scale
    shift = 51 - int(scale).bit_length()
    return Fraction(math.ceil(scale * (1 << shift)), 1 << shift)


def _words(size: int) -> npt.NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


def _below(bounds: Integers) -> Integers:
    """A uniform integer in 0 .. bound - 1 for each bound, by rejection from the bits it needs."""
    bits = np.frexp((bounds - 1).astype(np.float64))[1]
    # frexp may see a rounded-up power of two: one bit too many only rejects more often.
    shifts = (64 - np.maximum(bits, 1)).astype(np.uint64)
    drawn = (_words(len(bounds)) >> shifts).astype(np.int64)
    while (wrong := np.flatnonzero(drawn >= bounds)).size:
        drawn[wrong] = (_words(wrong.size) >> shifts[wrong]).astype(np.int64)
    return drawn


def _bernoulli(numerator: int, denominator: int) -> bool:
    """True with probability numerator/denominator, for integers of any size."""
    bits = denominator.bit_length()
    size = (bits + 7) // 8
    while (drawn := int.from_bytes(os.urandom(size), "big") >> (8 * size - bits)) >= denominator:
        pass
    return drawn < numerator


def _accept(numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator/denominator), for integers of any size."""
    whole, rest = divmod(numerator, denominator)
    return all(_accept_below_one(1, 1) for _ in range(whole)) and _accept_below_one(rest, denominator)


def _accept_below_one(numerator: int, denominator: int) -> bool:
    """As `_accept`, for 0 <= numerator <= denominator: `_exponential` for one, without its limits."""
    k = 1
    while _bernoulli(numerator, denominator * k):
        k += 1
    return k % 2 == 1


def _exponential(numerators: Integers, denominator: int) -> npt.NDArray[np.bool_]:
    """True with probability exp(-numerator/denominator) for each, 0 <= numerator <= denominator.

    Trial k succeeds with probability numerator/(denominator * k); the number of the first failure is odd
    with the probability wanted (Canonne, Kamath and Steinke 2020, algorithm 1). Trials are drawn a few at a
    time.
    """
    result = np.zeros(len(numerators), dtype=bool)
    running, k = np.arange(len(numerators)), 1
    while running.size:
        bounds = np.tile(denominator * np.arange(k, k + 4, dtype=np.int64), running.size)
        success = _below(bounds).reshape(-1, 4) < numerators[running, None]
        failed = ~success.all(axis=1)
        result[running[failed]] = (k + success[failed].argmin(axis=1)) % 2 == 1
        running, k = running[~failed], k + 4
    return result


def _geometric(size: int, rate: Fraction) -> Integers:
    """Independent draws with P(x) proportional to exp(-rate x), x = 0, 1, ...

    With rate = s/t: x' = u + t w has P(x') proportional to exp(-x'/t) when u < t is accepted with
    probability exp(-u/t) and w is geometric of ratio exp(-1); x is x' // s.
    """
    s, t = _rational(rate)
    parts: list[Integers] = []
    missing = size
    while missing > 0:
        proposed = _below(np.full(2 * missing, t, dtype=np.int64))
        parts.append(proposed[_exponential(proposed, t)])
        missing -= parts[-1].size
    return (np.concatenate(parts)[:size] + t * _geometric_by_e(size)) // s


def _geometric_by_e(size: int) -> Integers:
    """Independent draws with P(x) proportional to exp(-x), by inversion of one uniform real each.

    The draw is the number of k >= 1 with uniform < exp(-k). A word holds the uniform's first 64 bits; in
    the rare case that these equal those of an exp(-k), more bits are drawn.
    """
    words, edges = _words(size), _powers_of_e(64)
    above = np.searchsorted(edges, words, side="right")
    drawn = len(edges) - above
    # Where a word is an edge's, the places before and behind that edge differ.
    for place in np.flatnonzero(above != np.searchsorted(edges, words, side="left")):
        drawn[place] = _count_powers(int(words[place]))
    return drawn.astype(np.int64)


def _count_powers(first: int) -> int:
    """How many exp(-k), k >= 1, are above a uniform real whose first 64 bits are given."""
    drawn, bits, k = first, 64, 1
    while True:
        edge = _power_of_e(k, bits)
        if drawn == edge:
            drawn, bits = (drawn << 64) | int.from_bytes(os.urandom(8), "big"), bits + 64
        elif drawn < edge:
            k += 1
        else:
            return k - 1


@lru_cache(maxsize=256)
def _power_of_e(k: int, bits: int) -> int:
    """floor(exp(-k) * 2^bits), from bounds on e that are refined until they agree."""
    low, term, i = Fraction(2), Fraction(1), 1
    while True:
        i += 1
        term /= i
        low += term
        above, below = ((1 << bits) / e**k for e in (low, low + term))
        if above // 1 == below // 1:
            return int(below // 1)


@lru_cache(maxsize=1)
def _powers_of_e(bits: int) -> npt.NDArray[np.uint64]:
    """The first bits of exp(-k) for k = 45, ..., 1: ascending; the first is zero."""
    return np.array([_power_of_e(k, bits) for k in range(45, 0, -1)], dtype=np.uint64)


def _two_sided(size: int, rate: Fraction) -> Integers:
    """Independent discrete Laplace draws, P(x) proportional to exp(-rate |x|)."""
    drawn = np.zeros(size, dtype=np.int64)
    missing = np.arange(size)
    while missing.size:
        magnitude = _geometric(missing.size, rate)
        negative = _below(np.full(missing.size, 2, dtype=np.int64)) == 1
        # Zero has two signs: one of them is thrown away.
        taken = ~(negative & (magnitude == 0))
        drawn[missing[taken]] = np.where(negative, -magnitude, magnitude)[taken]
        missing = missing[~taken]
    return drawn


def _rational(rate: Fraction) -> tuple[int, int]:
    """The rate as s/t with t small enough for 64-bit words."""
    if max(rate.as_integer_ratio()) >= _WORD:
        raise LimitError("noise-rate-bits")
    return rate.numerator, rate.denominator


@lru_cache(maxsize=256)
def _shares(ranges: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Each range as a share of the widest, raised so that the j-th largest is at least 1/(2j).

    A wider box is more noise for that component, never less; without it a proposal could be accepted with
    a probability above one. A range of zero stays zero.
    """
    widest = max(ranges)
    shares = [Fraction(width, widest) for width in ranges]
    by_size = sorted((s for s, width in enumerate(ranges) if width), key=lambda s: -ranges[s])
    for j, s in enumerate(by_size, start=1):
        shares[s] = max(shares[s], Fraction(1, 2 * j))
    return tuple((share.numerator, share.denominator) for share in shares)


def _accept_radius(radius: int, shares: Sequence[tuple[int, int]]) -> bool:
    """Accept with probability prod_j (2 floor(radius w_j) + 1) / (2 w_j (radius + j)).

    That it is at most one is seen with w_j descending (`_shares`); the product is the same in any order.
    """
    numerator = denominator = 1
    for j, (top, bottom) in enumerate(shares, start=1):
        numerator *= (2 * (radius * top // bottom) + 1) * bottom
        denominator *= 2 * top * (radius + j)
    return _bernoulli(numerator, denominator)
