"""Trade: what a longer period costs in noise, beside what it leaves in correlation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diurnal.errors import InputError, PlanError
from diurnal.exact import instance
from diurnal.periodicity.periods import Candidate
from diurnal.periodicity.verdict import Verdict
from diurnal.picture import Pictured
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose, predict
from diurnal.planning.prediction import short
from diurnal.private import Private, PrivateDict, private
from diurnal.readings.panel import Panel, Shape


@dataclass(frozen=True, kw_only=True, repr=False)
class Trade(Private):
    """A period, what it leaves and what it costs."""

    period: Candidate
    """What it leaves. Private."""
    mechanism: str | None
    """What the plan would use with that period; None if it would not do."""
    error: float | None
    """The predicted error of a report then, in the query's unit."""
    note: str = ""
    """Why it would not do."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Trades(Pictured, Private):
    """Every period that was looked at, what it leaves and what it costs. Prints as a table."""

    plan: Plan
    """The plan whose period is in question."""
    n_households: int
    """The size of the smallest group, whose errors these are."""
    rows: tuple[Trade, ...]
    """The periods, shortest first."""

    def to_json(self) -> PrivateDict:
        """Plain data, still private."""
        rows = [
            {**row.period.to_json(), "mechanism": row.mechanism, "error": row.error, "cost_note": row.note}
            for row in self.rows
        ]
        about = {"unit": self.plan.query.unit(self.plan.grid.unit), "level": self.plan.level}
        content: PrivateDict = private({**about, "n_households": self.n_households, "periods": rows})
        return content

    def __str__(self) -> str:
        unit = self.plan.query.unit(self.plan.grid.unit)
        lines = [
            f"Periods: correlation left, and predicted error in {unit}. For the custodian's eyes.",
            f"{self.n_households} households a group, level {self.plan.level}",
            f"{'':14}{'cycles':>7}{'max |c|':>9}{'median':>8}{'error':>11}  mechanism",
        ]
        for row in self.rows:
            left = [row.period.largest, row.period.median]
            sizes = ["-" if value is None else f"{value:.3f}" for value in left]
            error = "-" if row.error is None else short(row.error)
            lines.append(
                f"{row.period.name:14}{row.period.n_cycles:>7}{sizes[0]:>9}{sizes[1]:>8}{error:>11}  "
                f"{row.mechanism or row.note}"
            )
        return "\n".join(lines)


def trade(plan: Plan, verdict: Verdict, shape: Shape | Panel, *, open_data: Panel | None = None) -> Trades:
    """What each period that a verdict looked at leaves in correlation, and what it costs a plan in noise.

    The history keeps its length in time; a reference of shorter period is repeated.

    Args:
        plan: What is to be reported and promised.
        verdict: What `check` found.
        shape: How large the groups are; or the panel, of which nothing else is used.
        open_data: *Public* readings of other households, as for `predict`.
    """
    instance(plan, Plan, "plan", example="Plan(...)")
    instance(verdict, Verdict, "verdict", example="dn.check(panel)")
    sizes = plan.shape_of(shape)
    ours, theirs = (replace(grid, slots=1) for grid in (plan.grid, verdict.correlations.grid))
    if ours != theirs:
        raise PlanError("verdict-other-grid")
    rows = tuple(_trade(plan, period, sizes, open_data) for period in verdict.periods)
    return Trades(plan=plan, n_households=min(sizes.group_sizes), rows=rows)


def _trade(plan: Plan, period: Candidate, shape: Shape, open_data: Panel | None) -> Trade:
    try:
        changed = _with_period(plan, period.slots)
        there = None if open_data is None else open_data.with_period(period.slots)
        size = replace(shape, grid=changed.grid, n_cycles=max(1, shape.n_cycles * plan.grid.slots // period.slots))
        chosen = choose(changed, size, open_data=there)
        row = predict(chosen, size, open_data=there).row(chosen.mechanisms_text)
    except InputError as error:
        return Trade(period=period, mechanism=None, error=None, note=error.message)
    return Trade(period=period, mechanism=row.name, error=row.errors.step)


def _with_period(plan: Plan, slots: int) -> Plan:
    times, rest = divmod(slots, plan.grid.slots)
    reference = plan.reference
    if reference is not None and slots != plan.grid.slots:
        # A day's shape is a week's too, seven times over; part of it is none.
        reference = replace(reference, profile=tuple(reference.profile) * times) if times and not rest else None
    history = max(1, round(plan.history * plan.grid.slots / slots)) if plan.history else 0
    return plan.with_(grid=replace(plan.grid, slots=slots), history=history, reference=reference)
