"""Prediction: the error of every way to report, as values and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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


Kind = Literal["own", "other", "beside", "split"]
"""What a row is: the plan's own, another mechanism, doing without, or a budget that is split."""


@dataclass(frozen=True, kw_only=True)
class PredictionColumn:
    """A column of the table of predicted errors, on every surface that has it."""

    name: str
    """What surfaces choose it by."""
    heading: str
    """What it is called in a page; `{unit}` is what errors are in."""
    error: str = ""
    """The one of `Errors` that it has; it is text unless given."""


COLUMNS = {
    column.name: column
    for column in (
        PredictionColumn(name="name", heading="mechanism"),
        PredictionColumn(name="report", heading="report ({unit})", error="step"),
        PredictionColumn(name="peak", heading="peak", error="peak"),
        PredictionColumn(name="day", heading="day", error="day"),
        PredictionColumn(name="month", heading="30 days", error="month"),
        PredictionColumn(name="year", heading="year", error="year"),
        PredictionColumn(name="dropped", heading="dropped"),
        PredictionColumn(name="promise", heading="promise"),
        PredictionColumn(name="note", heading="note"),
    )
}
"""Every column of the table of predicted errors, by its name."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of the table of predicted errors, as text."""

    row: Row
    """What it is about."""
    kind: Kind
    """What that is."""

    def cells(self, columns: Iterable[str], *, careful: bool = True) -> list[str]:
        """The texts of some columns.

        Args:
            columns: Their names.
            careful: Whether "at least" stands before errors of which not all is known.
        """
        return [self._cell(COLUMNS[name], careful=careful) for name in columns]

    def _cell(self, column: PredictionColumn, *, careful: bool) -> str:
        row = self.row
        if column.error:
            return row.said(column.error) if careful else short(getattr(row.errors, column.error))
        if column.name == "dropped":
            return "unknown" if row.bias is None else short(row.bias)
        return str(getattr(row, column.name))


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
        return tuple(line.row for line in self.lines())

    def lines(self, own: str = "") -> list[Line]:
        """The table as data, of which every surface draws what it has room for.

        Args:
            own: The name of the plan's own mechanisms, as `Plan.mechanisms_text` has it.
        """
        kinds: list[tuple[tuple[Row, ...], Kind]] = [
            (self.mechanisms, "other"),
            ((self.without_data, self.unspent) if self.unspent else (self.without_data,), "beside"),
            (self.split, "split"),
        ]
        return [Line(row=row, kind="own" if row.name == own else kind) for rows, kind in kinds for row in rows]

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
        columns = ("report", "peak", "day", "month", "year", "dropped")
        lines = [head, _printed("", columns)]
        for line in self.lines():
            clipped = " + clip?" if line.row.clipping == "unknown" and line.row.bias is not None else ""
            lines.append(f"{_printed(line.row.name, line.cells(columns, careful=False))}{clipped}")
        return "\n".join(lines)


def _printed(name: str, cells: Sequence[str]) -> str:
    *errors, year, dropped = cells
    return f"{name:18}{''.join(f'{each:>10}' for each in errors)}{year:>11}  {dropped}"


def short(value: float) -> str:
    """A number in four digits."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    if abs(value) < 1000:
        return f"{value:.4g}"
    return f"{float(f'{value:.4g}'):,.0f}" if abs(value) < 10**7 else f"{value:.3g}"
