"""Body: where a household's vector is put before it is summed, and how far it can move there.

The bound of a promise is enforced, not assumed: whatever a household's profile is, what it contributes lies
in a declared body, so that two households' contributions differ by at most the body's diameter. Bodies come
from public knowledge (a supply limit, published statistics, other regions' open data), never from the
private data (theory 5).

- `Body`: slots. A range for each slot, a cap on the sum and on the length (l2) of what exceeds the low end,
  or of the deviation from a public reference.
- `Ellipsoid`: coefficients of a `basis`. A ball around a public reference, narrower in high frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from diurnal.errors import BodyError
from diurnal.exact import Number, positive, sqrt_up, text
from diurnal.readings.data import Integers
from diurnal.readings.kernels import LIMIT


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How far one household of weight 1 can move a vector of sums: the diameter of its body in three norms.

    Integers; the length is kept squared, so nothing irrational is rounded before it must be.
    """

    ranges: tuple[int, ...]
    """The diameter of each component."""
    l1: int
    """D_1, the largest sum of absolute differences."""
    l2_square: int
    """D_2 squared, the largest sum of squared differences."""

    @property
    def linf(self) -> int:
        """D_inf, the largest difference of one component."""
        return max(self.ranges)


@dataclass(frozen=True, kw_only=True)
class Body:
    """A set of vectors over the slots of a cycle, in integer units.

    Examples:
        >>> Body(low=0, high=3000).sensitivity(slots=48).l1
        144000
    """

    low: int | Sequence[int] = 0
    """The least value, for all slots or for each."""
    high: int | Sequence[int]
    """The greatest value, for all slots or for each."""
    cap: int | None = None
    """The greatest sum of P - low; with a reference, of abs(P - reference)."""
    cap_2: int | None = None
    """The greatest length (l2) of P - low; with a reference, of P - reference."""
    reference: Sequence[int] | None = None
    """A public vector around which caps are counted, signed; None counts from the low end."""
    kind: ClassVar[str] = "body"

    def __post_init__(self) -> None:
        for name in ("low", "high", "reference"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _integers(value, name))
        for name in ("cap", "cap_2"):
            value = getattr(self, name)
            if value is None:
                continue
            if not _is_integer(value) or value < 1:
                raise BodyError("body-cap-not-whole", name=name, value=value)
            object.__setattr__(self, name, int(value))

    def ranges(self, slots: int) -> tuple[Integers, Integers]:
        """The least and greatest value of each slot.

        Raises:
            BodyError: A length is not `slots`, an end is above the other, the reference is outside, or the
                integers would leave 64 bits.
        """
        low, high = _spread(self.low, slots, "low"), _spread(self.high, slots, "high")
        if (low > high).any():
            slot = int(np.flatnonzero(low > high)[0])
            raise BodyError("body-low-above-high", low=low[slot], high=high[slot], slot=slot)
        if not (high > low).any():
            raise BodyError("body-one-vector")
        if self.reference is not None:
            reference = _spread(self.reference, slots, "reference")
            if ((reference < low) | (reference > high)).any():
                raise BodyError("body-reference-outside")
        if slots * int(max(abs(low).max(), abs(high).max(), (high - low).max())) ** 2 >= LIMIT:
            raise BodyError("body-squares-overflow")
        return low, high

    @property
    def by_slot(self) -> bool:
        """Whether P clips each slot by itself (no caps)."""
        return self.cap is None and self.cap_2 is None

    def sensitivity(self, slots: int) -> Sensitivity:
        """D_inf, D_1 and D_2 of theory section 5."""
        low, high = self.ranges(slots)
        widths = [int(r) for r in high - low]
        widest, signed = max(widths), self.reference is not None
        reach, l1, l2 = [widest], [sum(widths)], [sum(r * r for r in widths)]
        if self.cap is not None:
            reach.append(2 * self.cap if signed else self.cap)
            l1.append(2 * self.cap)
            l2 += [2 * self.cap * widest, (4 if signed else 2) * self.cap**2]
        if self.cap_2 is not None:
            reach.append(2 * self.cap_2 if signed else self.cap_2)
            l1.append(sqrt_up((4 if signed else 2) * slots * self.cap_2**2))
            l2.append((4 if signed else 2) * self.cap_2**2)
        return Sensitivity(ranges=tuple(min(r, *reach) for r in widths), l1=min(l1), l2_square=min(l2))

    def project(self, vectors: Integers) -> Integers:
        """P: put each column into the body, in integers.

        Clips to the range, then shrinks towards the low end or the reference, truncating towards it, until
        the caps hold. That the result lies in the body is checked, and nothing goes on if it does not.
        """
        low, high = self.ranges(vectors.shape[0])
        base = low if self.reference is None else _spread(self.reference, len(low), "reference")
        moved = np.clip(vectors, low[:, None], high[:, None]) - base[:, None]
        # A cap beyond what the range allows anyway is cut to it: products stay within 64 bits.
        if self.cap is not None:
            cap = min(self.cap, int((high - low).sum()))
            moved = shrink(moved, np.abs(moved).sum(axis=0), cap)
            ensure((np.abs(moved).sum(axis=0) <= cap).all())
        if self.cap_2 is not None:
            cap_2 = min(self.cap_2, sqrt_up(int(((high - low) ** 2).sum())))
            moved = shrink(moved, lengths(moved), cap_2)
            ensure((lengths(moved) <= cap_2).all())
        placed: Integers = moved + base[:, None]
        ensure(((placed >= low[:, None]) & (placed <= high[:, None])).all())
        return placed

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        return {
            "kind": self.kind,
            "low": self.low,
            "high": self.high,
            "cap": self.cap,
            "cap_2": self.cap_2,
            "reference": self.reference,
        }


@dataclass(frozen=True, kw_only=True)
class Ellipsoid:
    """A set of coefficient vectors: {a : |W (a - B r)|_2 <= radius} around a public reference r.

    Only the coefficients that the basis keeps count, so what the basis drops uses none of the radius.

    Examples:
        >>> Ellipsoid(radius=3000).weighting
        'flat'
    """

    radius: int
    """The greatest length, in units of a reading: of the slots' vector where weighting is flat."""
    reference: Sequence[int] | None = None
    """r, a public vector over the slots; zero unless given."""
    weighting: Literal["flat", "harmonic"] = "flat"
    """W: `flat` is 1; `harmonic` is sqrt(1 + harmonic), a body narrower in high frequencies."""
    scale: Number = Fraction(1)
    """The body lies around so many times the reference: above 1, large homes are cut off no more than small."""
    kind: ClassVar[str] = "ellipsoid"

    def __post_init__(self) -> None:
        if not _is_integer(self.radius) or self.radius < 1:
            raise BodyError("body-radius-not-whole", radius=self.radius)
        object.__setattr__(self, "radius", int(self.radius))
        if self.weighting not in ("flat", "harmonic"):
            raise BodyError("body-weighting-unknown", weighting=self.weighting)
        if self.reference is not None:
            object.__setattr__(self, "reference", _integers(self.reference, "reference"))
        object.__setattr__(self, "scale", positive(self.scale, "scale", error=BodyError))

    def centre(self, slots: int) -> Integers:
        """What the body lies around, as an array over the slots: `scale` times r, rounded."""
        reference = _spread(0 if self.reference is None else self.reference, slots, "reference")
        scale = Fraction(self.scale)
        if scale == 1:
            return reference
        return _spread([round(int(value) * scale) for value in reference], slots, "reference")

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        later = {} if self.scale == 1 else {"scale": text(Fraction(self.scale))}
        return {
            "kind": self.kind,
            "radius": self.radius,
            "reference": self.reference,
            "weighting": self.weighting,
            **later,
        }


AnyBody = Body | Ellipsoid


def body_from_json(data: Mapping[str, Any]) -> AnyBody:
    """The body that `to_json` wrote."""
    fields = dict(data)
    kind = fields.pop("kind", None)
    kinds: dict[str, type[Body] | type[Ellipsoid]] = {"body": Body, "ellipsoid": Ellipsoid}
    if kind not in kinds:
        raise BodyError("body-unknown", kind=kind, choices=", ".join(kinds))
    try:
        return kinds[kind](**fields)
    except TypeError as cause:
        raise BodyError("body-unknown-fields", kind=kind, fields=sorted(fields)) from cause


def counting_sensitivity(slots: int, n_cells: int) -> Sensitivity:
    """A household is in one cell a slot, or none: moving it leaves one cell and enters another."""
    changed = slots * min(n_cells, 2)
    return Sensitivity(ranges=(1,) * (slots * n_cells), l1=changed, l2_square=changed)


def ensure(inside: Any) -> None:
    """Stop if a contribution left its body. Not an `assert`, which `python -O` would take away."""
    if not inside:
        raise AssertionError("A contribution left its body; nothing was released.")


def lengths(vectors: Integers) -> Integers:
    """The l2 length of each column, rounded up to an integer, exactly."""
    squares = (vectors * vectors).sum(axis=0)
    roots: Integers = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    while (low := roots * roots < squares).any():
        roots = roots + low
    while (high := (roots > 0) & ((roots - 1) * (roots - 1) >= squares)).any():
        roots = roots - high
    return roots


def shrink(vectors: Integers, sizes: Integers, limit: int) -> Integers:
    """Scale the columns whose size is above the limit down to it, truncating towards zero."""
    scale = np.maximum(sizes, limit)
    # What is truncated is the absolute value: floor division would round negatives away from zero.
    shrunk: Integers = np.sign(vectors) * (np.abs(vectors) * limit // np.maximum(scale, 1))
    return shrunk


def _integers(value: Any, name: str) -> int | tuple[int, ...]:
    entries = value.tolist() if isinstance(value, np.ndarray) else value
    if _is_integer(entries):
        return int(entries)
    if isinstance(entries, (list, tuple)) and entries and all(map(_is_integer, entries)):
        return tuple(map(int, entries))
    raise BodyError("body-not-integers", name=name)


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _spread(value: int | Sequence[int], slots: int, name: str) -> Integers:
    if slots < 1:
        raise BodyError("body-slots", slots=slots)
    entries = [value] * slots if isinstance(value, int) else list(value)
    if len(entries) != slots:
        raise BodyError("body-entries", name=name, slots=slots, given=len(entries))
    if max(map(abs, entries)) >= 1 << 31:
        raise BodyError("body-too-large", name=name)
    return np.array(entries, dtype=np.int64)
