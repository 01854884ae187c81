"""Facts: what must hold in every transcript, and needs no statistics: one exception is a breach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.study.audit.canary import Canary
from diurnal.study.audit.life import Life, Transcripts


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that must hold, and whether it did."""

    name: str
    """What must hold."""
    held: bool
    """Whether it did."""
    says: str
    """What was looked at, in how many places."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


def facts(plan: Plan, canaries: Sequence[Canary], life: Life) -> list[Fact]:
    """What a curator's life shows without statistics.

    Args:
        plan: As `canary.to_audit` makes it.
        canaries: Who was aboard.
        life: What became of it.
    """
    found = [_once(life), _alike(life), _spent(plan, life)]
    if plan.protection.exact_variations:
        found += [_repeats(plan, life), *_tells_nothing(plan, canaries, life)]
    else:
        found.append(_hidden(life))
    if plan.history:
        found.append(_no_history(plan, life))
    return found


def _once(life: Life) -> Fact:
    return Fact(
        name="each report is released once",
        held=life.changed == 0,
        says=f"{life.asked:,} rows were asked for again, after restarts and with late and corrected readings; "
        f"{life.changed:,} were another one then.",
    )


def _alike(life: Life) -> Fact:
    return Fact(
        name="nothing of a row but its value depends on readings",
        held=life.unlike == 0,
        says="Time, unit, deviation and plan of rows were held against each other in all groups; they were not the "
        f"same at {life.unlike:,} step(s).",
    )


def _spent(plan: Plan, life: Life) -> Fact:
    # A budget is read at its own delta, where a pure loss may come to less.
    delta = None if plan.delta is None else Fraction(plan.delta)
    losses = (plan.guarantee().pattern, plan.guarantee().cycle)
    owed = tuple(Fraction(0) if loss is None else loss.at(delta) for loss in losses)
    held = life.streams == 1 and life.spent == owed
    return Fact(
        name="the budget is spent once",
        held=held,
        says=f"Started again after each restart, it was {life.streams} stream(s), and cost what it promises."
        if held
        else f"There were {life.streams} stream(s), or they cost something else than is promised.",
    )


def _repeats(plan: Plan, life: Life) -> Fact:
    """In pattern mode the noise of a slot is the same in every cycle: anything else averages out."""
    fresh = sum(not _same(_beside(plan, each)) for pair in life.transcripts for each in pair)
    return Fact(
        name="the noise of a slot never changes",
        held=fresh == 0,
        says=f"Of {2 * len(life.transcripts)} kinds of transcripts, {fresh} had reports whose distance to the "
        "noisy profile was not the same in all copies.",
    )


def _tells_nothing(plan: Plan, canaries: Sequence[Canary], life: Life) -> list[Fact]:
    """What goes out beside the noisy profile is the same, bit for bit, for both neighbours."""
    found = []
    for canary, (ours, theirs) in zip(canaries, life.transcripts, strict=True):
        if canary.change == "pattern":
            same = np.array_equal(_beside(plan, ours)[0], _beside(plan, theirs)[0])
            found.append(
                Fact(
                    name="variations tell nothing of the pattern",
                    held=same,
                    says=f"Canary: {canary.name}. All {len(ours.steps)} reports less the noisy profile were "
                    f"{'the same' if same else 'not the same'} in both data sets.",
                )
            )
    return found


def _hidden(life: Life) -> Fact:
    return Fact(
        name="the noisy profile stays private",
        held=not life.profile_shown,
        says="It was asked for, and " + ("given." if life.profile_shown else "refused."),
    )


def _no_history(plan: Plan, life: Life) -> Fact:
    """A history of several cycles is never reported, nor any in strong mode (theory 4.2, 4.3)."""
    end = plan.history * plan.grid.slots
    steps = {step for pair in life.transcripts for each in pair for step in each.steps if step < end}
    may = plan.protection.exact_variations and plan.history == 1
    return Fact(
        name="the history is not reported" if not may else "of the history only the noisy profile is reported",
        held=may or not steps,
        says=f"Its {end} steps were given to be reported; {len(steps)} were.",
    )


def _beside(plan: Plan, transcripts: Transcripts) -> Any:
    """Reports less the noisy profile, which is public in pattern mode: nothing but sums of variations."""
    assert transcripts.profile is not None
    slots = [step % plan.grid.slots for step in transcripts.steps]
    return transcripts.values * plan.query.denominator(2) - transcripts.profile[:, slots]


def _same(rows: Any) -> bool:
    return bool((rows == rows[0]).all())
