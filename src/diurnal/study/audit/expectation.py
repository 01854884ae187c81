"""Expectation: what transcripts of a canary would be without noise, and so what their noise was.

The auditor knows all readings, works out profiles and variations by itself, and asks the plan's mechanisms what
each household adds (`exact.contribution`): so a mistake in the curator's kernels is not made twice. A report less
that, and less the noisy profile as the store keeps it, is a draw of one layer's noise, to be held against its law.
Where a layer releases coefficients, or blocks, its values of slots are turned back into these.
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
from diurnal.study.audit.fit import Draws
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
        contribution(plan, readings.reshape(-1, 1), present.reshape(-1, 1), weight=weight, own=True)
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


def noise(plan: Plan, canary: Canary, seen: Transcripts, side: int) -> tuple[Draws | None, Draws | None]:
    """The pattern's noise and the cycles'; None where there is no such layer."""
    both, about = layers(plan), expected(plan, canary, side)
    pattern = cycle = None
    if both.pattern is not None and about.pattern is not None:
        assert seen.hidden is not None
        # Around a free reference nobody knows the totals beforehand: all copies have the same.
        said = slots_of(both.pattern, about.pattern) if plan.free is None else seen.hidden.mean(axis=0)
        pattern = _drawn(both.pattern, seen.hidden, said)
    if both.cycle is not None:
        rows = by_cycle(plan, seen)
        alone = rows if seen.hidden is None else rows - seen.hidden[:, None]
        said = np.concatenate([slots_of(both.cycle, totals) for totals in about.cycles])
        cycle = _drawn(both.cycle, alone.reshape(len(alone), -1), said)
    return pattern, cycle


def _drawn(layer: Mechanism, values: Values, said: Values) -> Draws:
    """The noise behind values of slots, of one or several releases a row, that would be so without."""
    if isinstance(layer, SlotMechanism):
        exact: Floats = ((values - said) * layer.multiplier).astype(np.float64)
        return Draws(rows=exact.reshape(-1, layer.dimension))
    # Values are rounded where they are put together from coefficients: what is left need not be exact.
    off, says = (values.astype(np.float64) - said.astype(np.float64)) * layer.multiplier, _says(layer)
    back = np.linalg.pinv(says)
    return Draws(rows=off.reshape(-1, len(says)) @ back.T, grain=float(np.abs(back).sum(axis=1).max()))


def _says(layer: Mechanism) -> Floats:
    """What a unit of each released number adds to the slots, a column each: it is the same for every release."""
    size = 1 << 40
    nothing = np.array(layer.to_slots([0] * layer.dimension), dtype=object)
    units = (size * np.eye(layer.dimension, dtype=np.int64)).tolist()
    said: Floats = np.array([(layer.to_slots(unit) - nothing) / size for unit in units]).T.astype(np.float64)
    return said


def slots_of(layer: Mechanism, totals: Integers) -> Values:
    """What a layer says of totals, a value a slot, if its noise were nothing."""
    exact = [layer.multiplier * int(total) for total in totals]
    return np.array([Fraction(value, layer.multiplier) for value in layer.to_slots(exact)], dtype=object)
