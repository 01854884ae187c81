"""Report: one released row, and what can be made of rows for free."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from diurnal.errors import InputError
from diurnal.exact import decimal


@dataclass(frozen=True, kw_only=True)
class Report:
    """One released row. Public; everything computed from rows is post-processing and costs nothing."""

    step: int
    """The step."""
    time: str
    """When it begins, with its offset."""
    group: str
    """The group, `all` for the whole roster; a histogram's bin follows its group."""
    series: str = ""
    """The histogram's bin by itself."""
    value: str
    """The reported value as a decimal."""
    unit: str
    """What it counts."""
    std: str
    """The standard deviation of its noise, in the same unit. Bias from clipping or a basis is not in it."""
    plan: str
    """The hash of the plan it is released under."""
    numerator: Fraction
    """F, the value before it was divided; exact."""
    denominator: int
    """q, what it was divided by."""
    deviation: float
    """`std` as a number, of the numerator."""

    @property
    def exact(self) -> Fraction:
        """The value, not rounded."""
        return self.numerator / self.denominator

    def to_json(self) -> dict[str, Any]:
        """The keys others may rely on."""
        return {name: getattr(self, name) for name in ("step", "time", "group", "value", "unit", "std", "plan")}


@dataclass(frozen=True)
class Form:
    """How rows with the same noise are written: decimals as fine as a thousandth of it."""

    deviation: float
    denominator: int
    places: int
    std: str

    @classmethod
    def of(cls, deviation: float, denominator: int) -> Form:
        """The form of rows whose sums have noise of a standard deviation, and are divided by a denominator."""
        shown = deviation / denominator
        places = max(0, 3 - math.floor(math.log10(shown))) if shown > 0 else 3
        return cls(deviation, denominator, places, decimal(Fraction(shown), places))

    def to_json(self) -> list[Any]:
        """Plain data, the float to its last bit."""
        return [self.deviation.hex(), self.denominator, self.places, self.std]

    @classmethod
    def from_json(cls, content: Sequence[Any]) -> Form:
        """The form that `to_json` wrote."""
        deviation, denominator, places, std = content
        return cls(float.fromhex(deviation), denominator, places, std)

    def write(self, numerator: Fraction, **names: Any) -> Report:
        """A row."""
        return Report(
            numerator=numerator,
            denominator=self.denominator,
            deviation=self.deviation,
            value=decimal(numerator, self.places, over=self.denominator),
            std=self.std,
            **names,
        )


def total(reports: Iterable[Report], *, n_groups: int, denominator: int) -> list[Report]:
    """The whole roster's rows, from the rows of its groups. Free: nothing is asked twice.

    Groups have independent noise, so variances add up.

    Args:
        reports: Rows of one stream, every group of a step.
        n_groups: How many groups there are.
        denominator: What the whole roster's sum is divided by.
    """
    parts: dict[tuple[int, str], list[Report]] = defaultdict(list)
    for row in reports:
        parts[row.step, row.series].append(row)
    for (step, _), rows in parts.items():
        if len(rows) != n_groups or len({(row.plan, row.group) for row in rows}) != n_groups:
            raise InputError(
                f"Expected each of {n_groups} groups once at step {step}.",
                hint="Give the rows of one stream, as `report` returned them.",
            )
    return [_total(parts[at], denominator) for at in sorted(parts)]


def _total(rows: list[Report], denominator: int) -> Report:
    first = rows[0]
    form = Form.of(math.hypot(*(row.deviation for row in rows)), denominator)
    return form.write(
        sum((row.numerator for row in rows), Fraction(0)),
        step=first.step,
        time=first.time,
        group=f"total {first.series}".strip(),
        series=first.series,
        unit=first.unit,
        plan=first.plan,
    )
