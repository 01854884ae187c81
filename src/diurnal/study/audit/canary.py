"""Canary: a household in two neighbouring data sets, as far apart as the promise allows, and awkward besides.

What a promise hides of anybody, it must hide of these: profiles from one end of the domain to the other, in every
slot or in every other; means that fall between two whole numbers; slots without a history, readings that are
missing, a home that leaves; one cycle, or one of the history, that is all different.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from diurnal.planning.free import FEWEST
from diurnal.planning.plan import Plan
from diurnal.planning.planner import bounded
from diurnal.promise.query import CountingQuery, Query, Weighted
from diurnal.readings.data import Integers, Marks

Change = Literal["pattern", "cycle", "history"]
"""What differs between neighbours: the periodic component, one reported cycle, or one cycle of the history."""

MOST_STEPS = 91 * 48
"""How many steps of history canaries have at most."""

PARTITION = "transcript"
"""The groups that canaries are put into, one each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Canary:
    """A made-up household's readings in two data sets that are neighbours; its gaps are the same in both."""

    name: str
    """What it does."""
    change: Change
    """In what the two data sets differ."""
    ours: Integers
    """Its readings in the first: a row a cycle, the history's first, and a column a slot."""
    theirs: Integers
    """Its readings in the second."""
    present: Marks
    """Where there is a reading, in both."""
    main: bool = False
    """Whether the loss is largest here, so that it is worth many transcripts."""

    @property
    def sides(self) -> tuple[Integers, Integers]:
        """Both data sets' readings."""
        return self.ours, self.theirs


def to_audit(plan: Plan) -> Plan:
    """The plan as canaries are put through it: each in a group of its own, which it shares with one other home.

    Groups have noise of their own, so one life of a curator has as many transcripts as there are groups. A group
    may be of two, a very long history is cut, and what is only done to noisy values is left out: a share of them
    says no more than all. It has the bound that a start would give it.
    """
    history = min(plan.history, max(FEWEST if plan.free is not None else 3, MOST_STEPS // plan.grid.slots))
    tried = plan.with_(
        query=_for_two(plan.query),
        groups=PARTITION,
        roster=None,
        calendar=None,
        first_cycle=None,
        history=history,
        min_readings=None if plan.min_readings is None else min(plan.min_readings, max(1, history)),
        minimum_group=1,
        grace=0,
        shrink=False,
    )
    return bounded(tried)


def enough(plan: Plan) -> int:
    """How many readings a slot needs to have a profile: half of the history's, unless the plan says a number.

    The plan works out the same (`k_min`). What it is audited by must not change with it.
    """
    return max(1, -(-plan.history // 2) if plan.min_readings is None else plan.min_readings)


def weights(plan: Plan) -> tuple[int, int]:
    """What the canary and the other home of its group weigh: the canary as much as anybody."""
    values = getattr(plan.query, "values", (1,))
    heavy = max(values, key=abs)
    return int(heavy), int(min((value for value in values if value), key=abs))


def of_everybody(plan: Plan, groups: int) -> Plan:
    """A plan as `to_audit` makes it, for so many groups: weights are given household by household."""
    if not isinstance(plan.query, Weighted):
        return plan
    return plan.with_(query=Weighted(weights(plan) * groups, over=plan.query.over))


def companion(plan: Plan, cycles: int) -> Integers:
    """The other home's readings: what everybody knows, and not always the same."""
    low, high = plan.domain
    k, s = np.indices((plan.history + cycles, plan.grid.slots))
    readings: Integers = low + (high - low) // 2 + ((3 * k + 5 * s) % 7) * (high - low) // 20
    return readings


def canaries(plan: Plan, cycles: int) -> list[Canary]:
    """What a plan as `to_audit` makes it is tried with.

    Args:
        plan: The plan.
        cycles: How many cycles are reported; the change of one cycle is in the second.
    """
    found = list(_patterns(plan, cycles)) if plan.protection.learns else []
    if plan.protection.hides_cycle:
        found += _cycles(plan, cycles)
    if plan.protection.noisy_variations and plan.guarantee().history is not None:
        found.append(_history(plan, cycles))
    return found


def _for_two(query: Query) -> Query:
    if not isinstance(query, Weighted):
        return query
    values = (max(query.values, key=abs), min((value for value in query.values if value), key=abs))
    return replace(query, values=values)


def _patterns(plan: Plan, cycles: int) -> Iterator[Canary]:
    low, high = plan.domain
    slots, rows = plan.grid.slots, plan.history + cycles
    k, s = np.indices((rows, slots))
    # Means of the history fall between two whole numbers, which only a floor takes along when all move.
    moves = (k + s) % 2 if high - low > 2 else np.zeros_like(k)
    top = high - int(moves.max())
    everywhere = np.ones((rows, slots), dtype=bool)
    ends = Canary(
        name="profile from end to end",
        change="pattern",
        ours=low + moves,
        theirs=top + moves,
        present=everywhere,
        main=True,
    )
    yield ends
    yield replace(ends, name="gaps, and leaves", present=_gaps(plan, rows), main=False)
    if slots > 1:
        odd = np.arange(slots) % 2 == 1
        # It comes late, when the cycle is half over and its first slot is closed.
        late = everywhere.copy()
        late[-1, 0] = False
        yield Canary(
            name="every other slot",
            change="pattern",
            ours=np.where(odd, top, low) + moves,
            theirs=np.where(odd, low, top) + moves,
            present=late,
        )


def _gaps(plan: Plan, rows: int) -> Marks:
    """Slots without a history, with one reading too few and with just enough; gaps in cycles, gone in the last."""
    slots, present = plan.grid.slots, np.ones((rows, plan.grid.slots), dtype=bool)
    if slots > 1:
        present[: plan.history, 0] = False
        present[plan.history :, slots // 2] = False
    if slots > 2:
        present[enough(plan) - 1 : plan.history, 1] = False
    # Of an even number of readings that take turns the mean lies in the middle between two whole numbers.
    if slots > 3 and plan.history % 2 and plan.history > enough(plan):
        present[0, 3] = False
    if slots > 4:
        present[enough(plan) : plan.history, 4] = False
    present[-1, slots // 2 :] = False
    return present


def _cycles(plan: Plan, cycles: int) -> Iterator[Canary]:
    low, high = plan.domain
    slots, rows = plan.grid.slots, plan.history + cycles
    usual = np.full((rows, slots), low + (high - low) // 2, dtype=np.int64)
    if isinstance(plan.query, CountingQuery):
        usual[:] = low
    changed = plan.history + min(1, cycles - 1)
    everywhere = np.ones((rows, slots), dtype=bool)
    ends = _with_row(usual, changed, low), _with_row(usual, changed, high)
    yield Canary(
        name="one cycle from end to end",
        change="cycle",
        ours=ends[0],
        theirs=ends[1],
        present=everywhere,
        main=True,
    )
    if slots > 1:
        odd = np.arange(slots) % 2 == 1
        yield Canary(
            name="every other slot of one cycle",
            change="cycle",
            ours=_with_row(usual, changed, np.where(odd, high, low)),
            theirs=_with_row(usual, changed, np.where(odd, low, high)),
            present=everywhere,
        )


def _history(plan: Plan, cycles: int) -> Canary:
    """One cycle of the history changes, by no more than leaves every reported variation unclipped."""
    low, high = plan.domain
    usual = np.full((plan.history + cycles, plan.grid.slots), low + (high - low) // 2, dtype=np.int64)
    reach = (high - low) // 2 if plan.clip is None else min((high - low) // 2, plan.history * plan.clip)
    return Canary(
        name="one cycle of the history",
        change="history",
        ours=usual,
        theirs=_with_row(usual, 0, usual[0] + reach),
        present=np.ones(usual.shape, dtype=bool),
    )


def _with_row(readings: Integers, row: int, values: Integers | int) -> Integers:
    changed = readings.copy()
    changed[row] = values
    return changed
