"""Exact numbers: fractions in, roots rounded up, floats never below what they stand for.

Everything a promise rests on is compared here as integers or fractions. A float appears only where a library wants
one (OpenDP, to say what a loss is at a delta), and then rounded up, so that no loss is told smaller than it is.
"""

from __future__ import annotations

import math
import numbers
import operator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from diurnal.errors import InputError, PlanError

Number = int | str | Decimal | Fraction
"""How a person writes an exact number. A float is not one: 0.1 is no tenth."""


def whole(value: Any, name: str, *, least: int, error: type[InputError] = PlanError) -> int:
    """A whole number of at least `least`, from anything that is one (NumPy's too), never from a float or a bool."""
    try:
        if isinstance(value, bool) or (number := operator.index(value)) < least:
            raise TypeError
    except TypeError as cause:
        raise error("argument-not-whole", name=name, value=value, least=least, example=max(least, 1)) from cause
    return number


def positive(value: Any, name: str, *, error: type[InputError] = PlanError) -> Fraction:
    """A positive fraction from an integer, a decimal string, a Decimal or a Fraction; none beyond reason."""
    number = fraction(value, name, error=error)
    if not Fraction(1, 10**30) <= number <= 10**30:
        raise error("argument-out-of-range", name=name, value=value)
    return number


def instance(
    value: Any, kinds: type | tuple[type, ...], name: str, *, example: str, error: type[InputError] = PlanError
) -> None:
    """Refuse a value of another kind than expected, by its kind and never by its content; say an example of it."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        given = value.__name__ if isinstance(value, type) else type(value).__name__
        raise error("argument-type", name=name, wanted=wanted, given=given, example=example)


def fraction(value: Any, name: str, *, error: type[InputError] = PlanError) -> Fraction:
    """An exact fraction from an integer, a decimal string, a Decimal or a Fraction."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return Fraction(int(value))
    if not isinstance(value, (str, Decimal, Fraction)):
        raise error("argument-inexact", name=name, given=type(value).__name__)
    try:
        return Fraction(value)
    except (ValueError, InvalidOperation, OverflowError, ZeroDivisionError) as cause:
        raise error("argument-not-decimal", name=name, value=value) from cause


def over(above: int, below: int) -> Fraction:
    """One whole number over another. Most are over one, and made in a sixth of the time without saying so."""
    return Fraction(above) if below == 1 else Fraction(above, below)


def text(value: Fraction) -> str:
    """The shortest exact way to write a fraction: `0.5` where a decimal ends, else `1/3`."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(value)
    return decimal(value, max(twos, fives))


def decimal(value: Fraction, places: int, *, over: int = 1) -> str:
    """A fraction, divided by `over`, as a decimal string with that many places, rounded half to even."""
    denominator = value.denominator * over
    scaled, rest = divmod(value.numerator * 10**places, denominator)
    scaled += 2 * rest > denominator or (2 * rest == denominator and scaled % 2 == 1)
    sign, digits = "-" if scaled < 0 else "", str(abs(scaled)).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def decimal_up(value: Fraction) -> str:
    """A number as a decimal of at most six places unless it needs fewer to be exact, never below itself."""
    if text(value) == decimal(value, 6).rstrip("0").rstrip("."):
        return text(value)
    return decimal(Fraction(-(-value * 10**6 // 1), 10**6), 6)


def decimal_down(value: Fraction) -> str:
    """The same, never above itself."""
    if text(value) == decimal(value, 6).rstrip("0").rstrip("."):
        return text(value)
    return decimal(Fraction(value * 10**6 // 1, 10**6), 6)


def sqrt_up(square: int) -> int:
    """The smallest integer whose square is at least `square`."""
    root = math.isqrt(square)
    return root if root * root == square else root + 1


def sqrt_up_fraction(square: Fraction) -> Fraction:
    """A fraction whose square is at least `square`, at most 2^-20 (relatively) too large."""
    magnitude = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    shift = max(0, 21 - magnitude)
    scaled = -((-square.numerator << (2 * shift)) // square.denominator)
    return Fraction(sqrt_up(scaled), 1 << shift)


def float_up(value: Fraction) -> float:
    """The smallest float that is not below `value`."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
