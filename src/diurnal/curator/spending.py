"""Spending: what plans cost each of their households, and what the budget leaves (theory 4.5).

- `check_budget`: every plan a household is in adds up, and stays within the caps.
- `costs`: what a plan would cost, and what it would leave, in sentences.
- `spent`: what the most charged household has lost so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from diurnal.curator.records import StreamRecord
from diurnal.errors import BudgetError, PlanError
from diurnal.exact import decimal_down, decimal_up, text
from diurnal.promise.budget import NOTHING, Loss

if TYPE_CHECKING:
    from diurnal.curator.store import Store


def check_budget(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> None:
    """Refuse a plan that would take any of its households past a cap."""
    delta = _delta(store)
    for name, asked in record.plan.losses.items():
        cap = Fraction(getattr(store.budget, name))
        if asked == NOTHING:
            continue
        if delta is None and any(each.plan.losses[name].zcdp for each in (*others, record)):
            raise PlanError(
                "A Gaussian plan is counted at the budget's delta, and this budget has none.",
                hint="Open the store with Budget(..., delta='1e-6').",
            )
        past = _most_charged(name, record, others, store)
        if (past + asked).at(delta) > cap:
            remaining = max(Fraction(0), cap - past.at(delta))
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
    said, delta = [], _delta(store)
    for name, asked in record.plan.losses.items():
        cap = Fraction(getattr(store.budget, name))
        if asked == NOTHING:
            continue
        past = _most_charged(name, record, others, store)
        left = cap - (past + asked).at(delta)
        said.append(
            f"It costs {decimal_up(asked.at(delta))} of the {name} budget of {text(cap)}; "
            f"{decimal_up(past.at(delta))} was spent before by its most charged household, and "
            f"{decimal_down(left)} is left."
        )
    return said


def spent(records: Sequence[StreamRecord], store: Store, name: str) -> Fraction:
    """What the most charged household has lost so far, of the pattern or strong budget."""
    pasts = [past for record in records for past in _past_losses(name, record, records)] or [NOTHING]
    return max((past + store.fenced(name)).at(_delta(store)) for past in pasts)


def _delta(store: Store) -> Fraction | None:
    return None if store.budget.delta is None else Fraction(store.budget.delta)


def _most_charged(name: str, record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> Loss:
    """What the household of a plan has lost so far that would have lost most with it.

    Losses at a delta do not add up as numbers do: each household's total is read by itself.
    """
    asked, delta = record.plan.losses[name], _delta(store)
    pasts = [past + store.fenced(name) for past in _past_losses(name, record, others)]
    return max(pasts, key=lambda past: (past + asked).at(delta))


def _past_losses(name: str, record: StreamRecord, others: Sequence[StreamRecord]) -> list[Loss]:
    """What the households of a plan have lost so far: one entry for each set of plans they were in."""
    ours = sorted(record.members)
    if not others:
        return [NOTHING]
    member = [other.members for other in others]
    losses = [other.plan.losses[name] for other in others]
    sets = {tuple(home in each for each in member) for home in ours}
    return [sum((cost for cost, inside in zip(losses, one, strict=True) if inside), NOTHING) for one in sets]
