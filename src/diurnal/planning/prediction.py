"""Prediction: the error of every way to report, as values and as a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from diurnal.errors import PlanError
from diurnal.planning.plan import Plan

SPANS = (("day", 1), ("month", 30), ("year", 365))
"""The totals whose error is predicted, in days."""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Root mean square errors of a report and of totals of reports, in the query's unit."""

    step: float
    """One report."""
    day: float
    """A day's total."""
    month: float
    """A total over 30 days."""
    year: float
    """A total over 365 days."""
    peak: float
    """The largest report of a cycle."""


Clipping = Literal["nothing", "open data", "table", "unknown"]
"""From where it is known how much bounds clip: there are none, open data, the package's table, or not at all."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to report, and what it would give."""

    name: str
    """The mechanism; two for strong mode, pattern layer first."""
    promise: str
    """What it promises."""
    std: float
    """The standard deviation of the noise of a report, root mean square over the slots."""
    bias: float | None
    """What is dropped, root mean square; None if no public reference tells."""
    errors: Errors
    """Noise and known bias together; more where `bias` is None."""
    relative_to_laplace: float | None = None
    """std over that of Laplace noise in the same place."""
    clipping: Clipping = "nothing"
    """From where it is known what bounds clip."""
    note: str = ""
    """What to know when comparing."""

    def said(self, span: str = "step") -> str:
        """One of `errors` in four digits; said to be a least one where not all of it is known."""
        least = "at least " if self.bias is None else ""
        return f"{least}{short(getattr(self.errors, span))}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "promise": self.promise,
            "std": self.std,
            "bias": self.bias,
            "error": self.errors.step,
            "error_of_totals": {name: getattr(self.errors, name) for name, _ in SPANS},
            "error_of_peak": self.errors.peak,
            "relative_to_laplace": self.relative_to_laplace,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The predicted error of every mechanism, and of doing without. Prints as a table."""

    plan: Plan
    """What was predicted for."""
    n_households: int
    """The size of the smallest group, whose errors these are."""
    mechanisms: tuple[Row, ...]
    """Every mechanism the plan could use, least error first."""
    without_data: Row
    """"Nothing at all": a public profile as the report."""
    unspent: Row | None
    """In pattern mode eps_z = 0: a public profile with the exact variations."""
    split: tuple[Row, ...]
    """epsilon split over every report of the horizon."""

    def row(self, name: str) -> Row:
        """A mechanism's row by its name."""
        for row in self.mechanisms:
            if row.name == name:
                return row
        raise PlanError("prediction-unknown", name=name, choices=", ".join(r.name for r in self.mechanisms))

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows in the order of the table."""
        beside = (self.without_data, self.unspent) if self.unspent else (self.without_data,)
        return (*self.mechanisms, *beside, *self.split)

    def warnings(self, row: Row) -> list[str]:
        """Why a mechanism would be a bad choice."""
        beside = [each for each in (self.without_data, self.unspent) if each is not None]
        return [
            f"{row.name} is predicted to be worse ({row.said()}) than {each.name} ({each.said()}): {each.note}"
            for each in beside
            if each.errors.step < row.errors.step
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "n_households": self.n_households,
            "mechanisms": [row.to_json() for row in self.mechanisms],
            "without_data": self.without_data.to_json(),
            "unspent": self.unspent.to_json() if self.unspent else None,
            "split": [row.to_json() for row in self.split],
        }

    def __str__(self) -> str:
        unit = self.plan.query.unit(self.plan.grid.unit)
        head = f"Predicted error in {unit}, level {self.plan.level}, {self.n_households} households a group"
        lines = [head, f"{'':18}{'report':>10}{'peak':>10}{'day':>10}{'month':>10}{'year':>11}  dropped"]
        for row in self.rows:
            errors = row.errors
            clipped = " + clip?" if row.clipping == "unknown" else ""
            dropped = "unknown" if row.bias is None else f"{short(row.bias)}{clipped}"
            lines.append(
                f"{row.name:18}{short(errors.step):>10}{short(errors.peak):>10}{short(errors.day):>10}"
                f"{short(errors.month):>10}{short(errors.year):>11}  {dropped}"
            )
        return "\n".join(lines)


def short(value: float) -> str:
    """A number in four digits."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    if abs(value) < 1000:
        return f"{value:.4g}"
    return f"{float(f'{value:.4g}'):,.0f}" if abs(value) < 10**7 else f"{value:.3g}"
