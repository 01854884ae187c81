"""Bare: what a curator says when its noise is next to nothing.

The same plan with an epsilon so large that noise rounds to nothing: no switch turns noise off, anywhere. What goes
out then must be what the closed form says that households add, at every step, through restarts and late readings.
So a mistake shows that is made between the kernels and the report, where no law of noise looks.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from diurnal.errors import LimitError
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.promise.mechanisms.basis import Basis
from diurnal.study.audit.canary import Canary, canaries, weights
from diurnal.study.audit.expectation import by_cycle, expected, layers, slots_of
from diurnal.study.audit.facts import Fact
from diurnal.study.audit.life import Transcripts, Values, live

LOUD = (64, 8, 1)
"""How many times larger an epsilon is than what noise of a unit asks for; less, where digits run out."""


def says_what_is_so(plan: Plan, *, cycles: int) -> Fact:
    """Whether reports are what they should be, but for noise.

    Args:
        plan: As `canary.to_audit` makes it.
        cycles: How many cycles are reported.
    """
    bare = _bare(plan)
    every = canaries(bare, cycles)
    life = live(bare, every, copies=1, cycles=cycles, eventful=True)
    off = [
        f"{canary.name}: {far:.3g}"
        for canary, pair in zip(every, life.transcripts, strict=True)
        for side, seen in enumerate(pair)
        if (far := _off(bare, canary, seen, side)) >= _allowed(bare)
    ]
    return Fact(
        name="without noise, reports are the sums they should be",
        held=not off,
        says=f"{sum(each.values.size for pair in life.transcripts for each in pair):,} reports at an epsilon so "
        f"large that noise is nothing; {len(off)} of {2 * len(every)} transcripts were off{': ' if off else ''}"
        f"{'; '.join(off)}.",
    )


def _bare(plan: Plan) -> Plan:
    """The plan with next to no noise; Gaussian noise, whose promise has no such epsilon, is Laplace's."""
    width = plan.domain[1] - plan.domain[0]
    unit = Fraction(plan.grid.slots * width * max(map(abs, weights(plan))))
    changes = {
        "mechanism": "laplace" if plan.mechanism == "gaussian" else plan.mechanism,
        "cycle_mechanism": "laplace" if plan.cycle_mechanism == "gaussian" else plan.cycle_mechanism,
        "basis": _laplace(plan.basis),
        "cycle_basis": _laplace(plan.cycle_basis) if plan.cycle_mechanism == "basis" else plan.cycle_basis,
        # What a history gives away for free is no part of the sums.
        "free": None,
    }
    for times in LOUD:
        epsilon = times * unit
        loud = plan.with_(
            **changes, epsilon=epsilon, cycle_epsilon=epsilon if plan.protection.layers == 2 else None
        )
        try:
            layers(loud)
        except LimitError:
            continue
        return loud
    return loud


def _laplace(basis: Basis) -> Basis:
    return replace(basis, noise="laplace")


def _allowed(plan: Plan) -> float:
    """How far off a report may be: what is put back together from coefficients is rounded twice."""
    both = layers(plan)
    by_slot = all(each is None or isinstance(each, SlotMechanism) for each in (both.pattern, both.cycle))
    return 0.5 if by_slot else 3.0


def _off(plan: Plan, canary: Canary, seen: Transcripts, side: int) -> float:
    """How far the farthest report is from what it should be."""
    both, about = layers(plan), expected(plan, canary, side)
    rows: Values = by_cycle(plan, seen)[0]
    for cycle, totals in enumerate(about.cycles):
        slotwise = both.cycle is None or isinstance(both.cycle, SlotMechanism)
        rows[cycle] -= totals if slotwise else slots_of(both.cycle, totals)  # type: ignore[arg-type]
        if both.pattern is not None and about.pattern is not None:
            rows[cycle] -= slots_of(both.pattern, about.pattern)
    return float(np.abs(rows).max())
