"""Layers: the mechanisms of a plan's groups, and what they release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from diurnal.curator.records import StreamRecord
from diurnal.curator.report import Form
from diurnal.exact import over
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.readings import kernels
from diurnal.readings.data import Integers
from diurnal.readings.kernels import Atoms


class Layers:
    """The mechanisms of a group, and how a row of each slot is written."""

    def __init__(self, plan: Plan, weight: int, denominator: int, total: int) -> None:
        self.pattern = plan.pattern_layer(weight, total)
        self.cycle = plan.cycle_layer(weight)
        slots, cells = plan.grid.slots, len(plan.query.series)
        variances = np.zeros(slots)
        if self.pattern is not None:
            variances += [self.pattern.variance(row) for row in np.eye(slots)]
        if self.cycle is not None:
            variances += [self.cycle.variance(row) for row in np.eye(slots * cells)[::cells]]
        self.forms = tuple(Form.of(deviation, denominator) for deviation in np.sqrt(variances).tolist())

    def mean_deviation(self, cycles: int) -> float:
        """The standard deviation of the noise in the mean over all slots of so many cycles' reports."""
        mean = np.full(len(self.forms), 1 / len(self.forms))
        layers = ((self.pattern, 1), (self.cycle, cycles))
        return math.sqrt(sum(layer.variance(mean) / times for layer, times in layers if layer is not None))


def in_parts(cycle: Mechanism, slots: int) -> bool:
    """Whether a cycle's reports come one after the other: its noise is drawn before the first then, and kept."""
    return isinstance(cycle, SlotMechanism) or cycle.ready(0) < slots - 1


def layers_of(record: StreamRecord) -> tuple[Layers, ...]:
    """The mechanisms of each group; groups of equal weight and size share them."""
    kinds = [
        (group.weight, record.plan.query.denominator(group.size), total)
        for group, total in zip(record.groups, record.totals, strict=True)
    ]
    made = {kind: Layers(record.plan, *kind) for kind in set(kinds)}
    return tuple(made[kind] for kind in kinds)


def released(
    layers: Sequence[Mechanism], vectors: Integers, atoms: Atoms, kept: Sequence[Sequence[int]] | None = None
) -> list[list[Fraction]]:
    """What each group's mechanism releases of its households' vectors, a value a slot.

    Args:
        layers: A mechanism for each group. They differ by noise only: what a household contributes does not
            depend on its group, so it is summed once.
        vectors: A row a slot, a column a household in the order of the atoms.
        atoms: The households of one group and weight.
        kept: Noise for each group that was drawn before; drawn now if None.
    """
    sums = kernels.contribution_sums(
        lambda place: vectors[:, place], layers[0].contribute, atoms, dimension=layers[0].dimension
    )
    return noised(layers, atoms.by_group(sums), kept)


def noised(
    layers: Sequence[Mechanism], sums: Integers, kept: Sequence[Sequence[int]] | None = None
) -> list[list[Fraction]]:
    """What each group's mechanism releases of the sum of its households' contributions, a value a slot.

    Args:
        layers: A mechanism for each group.
        sums: A row for each component of a contribution, a column for each group.
        kept: Noise for each group that was drawn before; drawn now if None.
    """
    totals = sums.T.tolist()
    if kept is None:
        noisy = [layer.release(total) for layer, total in zip(layers, totals, strict=True)]
    else:
        noisy = [layer.with_noise(total, v) for layer, total, v in zip(layers, totals, kept, strict=True)]
    return [
        [over(value, layer.multiplier) for value in layer.to_slots(each)]
        for layer, each in zip(layers, noisy, strict=True)
    ]
