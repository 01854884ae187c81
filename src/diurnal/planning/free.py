"""Variation reference: one that pattern mode may learn from the history at no cost (theory 5.1).

Two data sets whose households differ in a periodic component have bit-equal variations, and so are all functions of
these. The mean of all homes' variations tells of their mean day: where nothing happens, readings cannot fall below
standby, so that a slot's lowest variation is about minus the mean day in that slot. One low order statistic a
slot, rounded, makes the reference that profiles are put around, and part of what a basis drops.

It is free because it is equal for neighbours, and not because it is secret: what is rounded here is published.
Never in strong mode, where variations are protected. Never from profiles, readings, or a level measured on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from diurnal.errors import PlanError, ReadingsError
from diurnal.exact import Number, positive, text
from diurnal.promise.mechanisms.prior import Known
from diurnal.readings.data import Integers

if TYPE_CHECKING:
    from diurnal.planning.plan import Plan

FEWEST = 28
"""How many cycles a low order statistic is taken of at least."""


@dataclass(frozen=True, kw_only=True)
class VariationReference:
    """How a reference is made from the history's variations. Public; constants are from open data.

    Examples:
        >>> VariationReference().quantile
        Fraction(1, 50)
    """

    quantile: Number = "0.02"
    """Which order statistic of a slot's mean variations is taken."""
    slope: Number = "1.8"
    """How many times larger the mean day's ups and downs are than those of the order statistic."""
    blend: Number = "0.75"
    """How much of the public shape is replaced by it."""
    low: Number = "0.6"
    """How much of what the basis drops of the order statistic is put back."""
    grain: Number = "0.01"
    """To which part of the public level the order statistic is rounded before anything is made of it."""

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, positive(getattr(self, each.name), each.name))
        if self.quantile >= 1 or self.blend > 1:  # type: ignore[operator]
            raise PlanError("free-reference-shares")

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        return {each.name: text(Fraction(getattr(self, each.name))) for each in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> VariationReference:
        """What `to_json` wrote."""
        return cls(**data)


def known_from(plan: Plan, sums: Integers, used: Integers, *, households: int) -> Known | None:
    """What the history's variations say, for a plan that takes it; else None.

    Args:
        plan: The plan, with a body around a public reference.
        sums: All households' variations added up, at each step of the history.
        used: How many readings went into each sum. Steps with fewer than the plan's minimum say nothing.
        households: How many there are.

    Raises:
        ReadingsError: Too few cycles of a slot say anything.
    """
    if plan.free is None:
        return None
    free, days = plan.free, plan.basis.days
    assert plan.reference is not None
    public = np.array(plan.reference.profile, dtype=np.int64).reshape(days, -1)
    grain = max(1, round(Fraction(free.grain) * plan.reference.level))
    low = _lowest(plan, Fraction(free.quantile), sums // households, used, grain)
    day = [Fraction(int(column), days) for column in public.sum(axis=0)]
    mean_low, mean_day = sum(low) / len(low), sum(day) / len(day)
    slope, blend = Fraction(free.slope), Fraction(free.blend)
    shaped = [
        round(usual + blend * (slope * (least - mean_low) - (usual - mean_day)))
        for usual, least in zip(day, low, strict=True)
    ]
    fill = [
        round(Fraction(free.low) * low[slot % len(low)] + Fraction(plan.fill) * int(value))
        for slot, value in enumerate(public.reshape(-1))
    ]
    return Known(reference=tuple(shaped * days), fill=tuple(fill))


def _lowest(plan: Plan, quantile: Fraction, means: Integers, used: Integers, grain: int) -> list[Fraction]:
    """Minus a low order statistic of the mean variations in each slot of a day, rounded to the grain."""
    slots, found = plan.grid.slots // plan.basis.days, []
    for slot in range(slots):
        here = slice(slot, None, slots)
        values = np.sort(means[here][used[here] >= plan.minimum_group])
        if len(values) < FEWEST:
            raise ReadingsError(
                "free-reference-short", fewest=FEWEST, households=plan.minimum_group, slot=slot, cycles=len(values)
            )
        least = int(values[int(quantile * len(values))])
        found.append(Fraction(-grain * round(Fraction(least, grain))))
    return found
