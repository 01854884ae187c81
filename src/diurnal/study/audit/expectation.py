"""Expectation: what transcripts of a canary would be without noise, and so what their noise was.

The auditor knows all readings, and asks the curator's own kernels and mechanisms what each household adds
(`exact.contribution`). A report less that, and less the noisy profile as the store keeps it, is a draw of one
layer's noise, which can be held against its law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.readings.data import Floats, Integers
from diurnal.study.audit.canary import Canary, companion, weights
from diurnal.study.audit.exact import contribution
from diurnal.study.audit.life import Transcripts, Values


@dataclass(frozen=True, kw_only=True, eq=False)
class Layers:
    """The mechanisms of a canary's group; None where there is no such layer."""

    pattern: Mechanism | None
    """What hides profiles."""
    cycle: Mechanism | None
    """What hides a cycle."""


def layers(plan: Plan) -> Layers:
    """The mechanisms of a group of a canary and its companion."""
    heavy, light = weights(plan)
    return Layers(pattern=plan.pattern_layer(abs(heavy), heavy + light), cycle=plan.cycle_layer(abs(heavy)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Expected:
    """The totals of a canary's group."""

    pattern: Integers | None
    """Of profiles, a number a component; None at level `cycle`."""
    cycles: Integers
    """Of each reported cycle's variations, a row a cycle."""


def expected(plan: Plan, canary: Canary, side: int) -> Expected:
    """What a canary and its companion add up to, in one of its data sets.

    Args:
        plan: As `canary.to_audit` makes it.
        canary: Who.
        side: 0 for the first data set, 1 for the second.
    """
    heavy, light = weights(plan)
    other = companion(plan, len(canary.ours) - plan.history)
    homes = ((canary.sides[side], canary.present, heavy), (other, np.ones(other.shape, dtype=bool), light))
    parts = [
        contribution(plan, readings.reshape(-1, 1), present.reshape(-1, 1), weight=weight)
        for readings, present, weight in homes
    ]
    patterns = [each.pattern[:, 0] for each in parts if each.pattern is not None]
    return Expected(
        pattern=np.sum(patterns, axis=0) if patterns else None,
        cycles=np.sum([each.cycles[:, :, 0] for each in parts], axis=0),
    )


def by_cycle(plan: Plan, seen: Transcripts) -> Values:
    """Reports of the cycles after the history, in units of a sum: by transcript, cycle, and what a cycle has."""
    later = np.array(seen.steps) >= plan.history * plan.grid.slots
    size = plan.grid.slots * len(plan.query.series)
    rows: Values = seen.values[:, later] * plan.query.denominator(2)
    return rows.reshape(len(rows), -1, size)


def noise(plan: Plan, canary: Canary, seen: Transcripts, side: int) -> tuple[Floats | None, Floats | None]:
    """The pattern's noise and the cycles', a row a draw, in units of 1/multiplier; None where slots hide it."""
    both, about = layers(plan), expected(plan, canary, side)
    pattern = cycle = None
    if isinstance(both.pattern, SlotMechanism):
        assert seen.hidden is not None
        pattern = ((seen.hidden - about.pattern) * both.pattern.multiplier).astype(np.float64)
    if isinstance(both.cycle, SlotMechanism):
        rows = by_cycle(plan, seen)
        alone = rows if seen.hidden is None else rows - seen.hidden[:, None]
        drawn = ((alone - about.cycles) * both.cycle.multiplier).astype(np.float64)
        cycle = drawn.reshape(-1, drawn.shape[2])
    return pattern, cycle


def slots_of(layer: Mechanism, totals: Integers) -> Values:
    """What a layer says of totals, a value a slot, if its noise were nothing."""
    exact = [layer.multiplier * int(total) for total in totals]
    return np.array([Fraction(value, layer.multiplier) for value in layer.to_slots(exact)], dtype=object)
