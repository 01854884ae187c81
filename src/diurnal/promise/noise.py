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

import numpy as np
import numpy.typing as npt

from diurnal.errors import LimitError
from diurnal.exact import sqrt_up_fraction
from diurnal.readings.data import Integers

SCALE_LIMIT = 1 << 48
"""The largest scale of noise: up to it a draw leaves 64 bits with a probability below e^-2000."""

_WORD = 1 << 52
"""Rates are fractions of whole numbers below this, so that a few thousand times either fits 64 bits."""

_LARGEST_PROPOSAL = 17


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
    if size > _LARGEST_PROPOSAL:
        raise LimitError("noise-too-many-components", size=size, most=_LARGEST_PROPOSAL)
    _checked(1 / rate)
    _rational(_proposal(size, rate))


def cube_shares(ranges: Sequence[int]) -> npt.NDArray[np.float64]:
    """How far each component of `cube` noise reaches, as a share of the widest."""
    return np.array([top / bottom for top, bottom in _shares(tuple(ranges))])


def l2_norm(size: int, rate: Fraction) -> list[int]:
    """A vector with mass proportional to exp(-rate * |v|_2) on the integers, of at most 17 components.

    Proposed from discrete Laplace draws of a rational rate r <= rate/sqrt(size), accepted with probability
    exp(-(rate |v|_2 - r |v|_1)), decided without rounding: the root is compared by squaring.
    """
    check_l2_norm(size, rate)
    proposal = _proposal(size, rate)
    # Both rates as whole numbers of one unit: fractions would take most of the time.
    unit = math.lcm(rate.denominator, proposal.denominator)
    slope, step = int(rate * unit), int(proposal * unit)
    while True:
        for vector in _two_sided(16 * size, proposal).reshape(-1, size).tolist():
            square = sum(v * v for v in vector)
            if _accept_root(slope * slope * square, step * sum(map(abs, vector)), unit):
                return [int(v) for v in vector]


@lru_cache(maxsize=256)
def _proposal(size: int, rate: Fraction) -> Fraction:
    """A rational rate of at most rate/sqrt(size)."""
    return 1 / sqrt_up_fraction(size / rate**2)


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


def _accept_root(square: int, less: int, unit: int) -> bool:
    """True with probability exp(-(sqrt(square) - less)/unit), for sqrt(square) >= less >= 0."""
    while square >= (less + unit) ** 2:
        if not _accept(1, 1):
            return False
        less += unit
    k = 1
    while _uniform_below_root(square, less, k * unit):
        k += 1
    return k % 2 == 1


def _uniform_below_root(square: int, less: int, width: int) -> bool:
    """Whether a uniform real in [0, 1) is below (sqrt(square) - less)/width, its bits drawn as needed."""
    drawn, bits = 0, 0
    while True:
        drawn, bits = (drawn << 64) | int.from_bytes(os.urandom(8), "big"), bits + 64
        root, begin = square << (2 * bits), (less << bits) + width * drawn
        if root < begin**2:
            return False
        if root >= (begin + width) ** 2:
            return True
