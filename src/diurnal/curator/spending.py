"""Spending: what plans cost each of their households, and what the budget leaves (theory 4.5).

- `check_budget`: every plan a household is in adds up, and stays within the caps.
- `costs`: what a plan would cost, and what it would leave, in sentences.
- `spent`: what the most charged household has lost so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from diurnal.curator.records import StreamRecord
from diurnal.errors import BudgetError, PlanError
from diurnal.exact import text
from diurnal.promise.budget import NOTHING, Loss

if TYPE_CHECKING:
    from diurnal.curator.store import Store

_LossOf = Callable[[StreamRecord], Loss]


def check_budget(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> None:
    """Refuse a plan that would take any of its households past a cap."""
    budget = store.budget
    delta = None if budget.delta is None else Fraction(budget.delta)
    caps: tuple[tuple[str, Fraction, _LossOf], ...] = (
        ("pattern", Fraction(budget.pattern), pattern_loss),
        ("strong", Fraction(budget.strong), cycle_loss),
    )
    for name, cap, loss in caps:
        asked = loss(record)
        if asked == NOTHING:
            continue
        if delta is None and any(loss(each).zcdp for each in (*others, record)):
            raise PlanError(
                "A Gaussian plan is counted at the budget's delta, and this budget has none.",
                hint="Open the store with Budget(..., delta='1e-6').",
            )
        # Losses at a delta do not add up as numbers do: each household's total is read by itself.
        pasts = [past + store.fenced(name) for past in _past_losses(record, others, loss)]
        worst = max(pasts, key=lambda past: (past + asked).at(delta))
        if (worst + asked).at(delta) > cap:
            remaining = max(Fraction(0), cap - worst.at(delta))
            raise BudgetError(
                f"The plan asks for {text(asked.at(delta))} of the {name} budget; {text(cap)} was allowed in all "
                f"and {text(remaining)} is left for the most charged household.",
                hint=(
                    f"An epsilon of at most {text(remaining)} would be allowed" if remaining else "Nothing is left"
                )
                + "; a roster without the charged households is another matter, and a cap can be raised by whoever "
                "answers for it: curator.raise_cap(...), diurnal raise-cap.",
                remaining=remaining,
                requested=asked.at(delta),
            )


def costs(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> list[str]:
    """What a plan costs, and what it leaves to the most charged of its households, in sentences."""
    said, budget = [], store.budget
    delta = None if budget.delta is None else Fraction(budget.delta)
    for name, loss in (("pattern", pattern_loss), ("strong", cycle_loss)):
        asked = loss(record)
        if asked == NOTHING:
            continue
        past = max(
            (past + store.fenced(name) for past in _past_losses(record, others, loss)), key=lambda p: p.at(delta)
        )
        left = Fraction(getattr(budget, name)) - (past + asked).at(delta)
        said.append(
            f"It costs {text(asked.at(delta))} of the {name} budget of {text(Fraction(getattr(budget, name)))}; "
            f"{text(past.at(delta))} was spent before by its most charged household, and {text(left)} is left."
        )
    return said


def spent(records: Sequence[StreamRecord], store: Store, name: str) -> Fraction:
    """What the most charged household has lost so far, of the pattern or strong budget."""
    delta = None if store.budget.delta is None else Fraction(store.budget.delta)
    loss = {"pattern": pattern_loss, "strong": cycle_loss}[name]
    pasts = [past for record in records for past in _past_losses(record, records, loss)] or [NOTHING]
    return max((past + store.fenced(name)).at(delta) for past in pasts)


def pattern_loss(record: StreamRecord) -> Loss:
    """What a plan costs the periodic component of each of its households."""
    layer = record.plan.pattern_layer()
    return layer.loss if layer else NOTHING


def cycle_loss(record: StreamRecord) -> Loss:
    """What a plan costs any one cycle of each of its households."""
    layer = record.plan.cycle_layer()
    return layer.loss if layer else NOTHING


def _past_losses(record: StreamRecord, others: Sequence[StreamRecord], loss: _LossOf) -> list[Loss]:
    """What the households of a plan have lost so far: one entry for each set of plans they were in."""
    ours = sorted(record.members)
    if not others:
        return [NOTHING]
    member = [other.members for other in others]
    losses = [loss(other) for other in others]
    sets = {tuple(name in each for each in member) for name in ours}
    return [sum((cost for cost, inside in zip(losses, one, strict=True) if inside), NOTHING) for one in sets]
