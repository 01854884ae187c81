"""Measured: how much of epsilon the transcripts of the shipped curator give away, at least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms import Cube, Mechanism
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.readings.data import Floats
from diurnal.study.audit import laws
from diurnal.study.audit.bound import Counts
from diurnal.study.audit.canary import Canary, Change
from diurnal.study.audit.expectation import by_cycle, expected, layers
from diurnal.study.audit.facts import Fact
from diurnal.study.audit.life import Life, Transcripts
from diurnal.study.audit.statistic import best_event, discriminant

ALPHA = 1e-3
"""How often all the bounds of an audit together may be wrong."""

SURE = 6
"""By how many standard errors noise must be too narrow before it is called so."""

WHAT: dict[Change, str] = {
    "pattern": "a periodic component",
    "cycle": "one reported cycle",
    "history": "one cycle of the history",
}
"""Changes in words."""

UNCLIPPED = (
    "What is promised for one cycle of the history holds if in neither data set a reported reading of the "
    "household is clipped, missing or moved out; where one is, it costs more, as the promise says."
)
"""When what stands beside a change of the history is promised (theory 4.3)."""

TRAINED, KNOWN = 3, 8
"""One of so many transcripts is for choosing what to look for, and not counted: fewer where the law is known."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A lower bound for epsilon, from counting one thing in the transcripts of two neighbouring data sets."""

    canary: str
    """Whose data sets."""
    change: Change
    """In what they differ."""
    statistic: str
    """What each transcript was made a number by."""
    promised: float
    """The epsilon that is promised for such a change."""
    delta: float
    """And its delta."""
    found: float
    """The epsilon it is at least, with the confidence of the audit."""
    counts: Counts
    """How often what was looked for was seen."""

    @property
    def kept(self) -> bool:
        """Whether the promise may hold."""
        return self.found <= self.promised

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "counts": dict(vars(self.counts)), "kept": self.kept}


Pair = tuple[Transcripts, Transcripts]
"""The transcripts of both data sets."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sight:
    """A number for each transcript, by which two data sets may be told apart."""

    canary: Canary
    """Whose data sets."""
    statistic: str
    """What the number is."""
    ours: Floats
    """Of each transcript of the first."""
    theirs: Floats
    """Of each of the second."""
    choosing: int
    """One of so many is for choosing what to look for, and not counted."""


def outside(canaries: Sequence[Canary], life: Life) -> list[Sight]:
    """What somebody outside can tell canaries' data sets apart by: trained on all that is published."""
    return [
        _trained(canary, "all that is published, trained", pair[0].seen, pair[1].seen)
        for canary, pair in zip(canaries, life.transcripts, strict=True)
    ]


def inside(plan: Plan, canary: Canary, pair: Pair, cycles: int) -> Sight:
    """What somebody can who is also told the noise of the layer that is not meant to hide the change.

    The proofs hold under this condition (theory 3), and without the other layer's noise in the way the bound is far
    sharper: the likelihood ratio by the noise's own law, where it is added slot by slot; trained where not.
    """
    layer = _layer(plan, canary)
    ours, theirs = (_alone(plan, canary, each, cycles) for each in pair)
    if not isinstance(layer, SlotMechanism):
        return _trained(canary, "one layer alone, trained", ours, theirs)
    about = [_about(plan, canary, side, cycles) for side in (0, 1)]
    ratios = [
        laws.log_mass(layer, (each - about[0]) * layer.multiplier)
        - laws.log_mass(layer, (each - about[1]) * layer.multiplier)
        for each in (ours, theirs)
    ]
    return Sight(
        canary=canary,
        statistic="one layer alone, likelihood ratio",
        ours=ratios[0],
        theirs=ratios[1],
        choosing=KNOWN,
    )


def width(plan: Plan, canary: Canary, pair: Pair, cycles: int) -> Fact:
    """Whether a layer's noise scatters as widely as its law says: half the noise may hide behind a weak bound."""
    layer, sides = _layer(plan, canary), [_alone(plan, canary, each, cycles) for each in pair]
    squares = np.concatenate([((side - side.mean(axis=0)) ** 2).sum(axis=1) for side in sides])
    # A mean was taken away from each.
    seen = float(squares.mean()) * len(squares) / max(1, len(squares) - 2)
    said = np.array([layer.variance(row) for row in np.eye(sides[0].shape[1])])
    error = float(said.sum()) * math.sqrt(_unevenness(layer, said) / len(squares))
    # Values of slots may be rounded, which matters where noise is next to nothing.
    rounding = math.sqrt(len(said)) / 2
    short = math.sqrt(said.sum()) - math.sqrt(seen)
    return Fact(
        name="the noise is as wide as its law says",
        held=bool(seen >= said.sum() - SURE * error or short <= rounding),
        says=f"{len(squares):,} vectors of noise that hide {WHAT[canary.change]}: their deviation is "
        f"{math.sqrt(seen / max(said.sum(), 1e-12)):.3f} of the law's.",
    )


def _unevenness(layer: Mechanism, variances: Floats) -> float:
    """The variance of a draw's squared length, over its mean's square, by the law of the noise."""
    if not isinstance(layer, SlotMechanism):
        m = layer.dimension
        # Coefficients of one basis may count for more than others: as if there were a single one, then.
        single = {"laplace": 5.0, "gaussian": 2.0}
        return single.get(laws.noise_kind(layer), (m + 2) * (m + 3) / (m * (m + 1)) - 1)
    slots = float(variances.sum() ** 2 / max((variances**2).sum(), 1e-300))
    if isinstance(layer, Cube):
        return (slots + 3) * (slots + 4) / ((slots + 1) * (slots + 2)) * (1 + 0.8 / slots) - 1
    return (2 if laws.is_gaussian(layer) else 5) / slots


def bounds(plan: Plan, *families: Sequence[Sight]) -> list[Bound]:
    """Lower bounds for epsilon, all of them right with the confidence of an audit.

    Each family has an equal share of what may go wrong: a few sharp looks do not pay for many broad ones.
    """
    share = ALPHA / len(families)
    return [_bound(plan, sight, share / len(sights)) for sights in families for sight in sights]


def promised(plan: Plan, change: Change) -> float:
    """The epsilon that a plan promises for a change; for the history, where nothing is clipped or missing."""
    name = {"pattern": "epsilon", "cycle": "cycle_epsilon", "history": "history_epsilon"}[change]
    return float(plan.guarantee().numbers()[name])


def _bound(plan: Plan, sight: Sight, alpha: float) -> Bound:
    canary, both = sight.canary, (sight.ours, sight.theirs)
    choosing = [side[:: sight.choosing] for side in both]
    counted = [np.delete(side, np.s_[:: sight.choosing]) for side in both]
    delta = 0.0 if plan.delta is None else float(plan.delta)
    event = best_event(choosing[0], choosing[1], alpha=alpha, delta=delta, trials=len(counted[0]))
    counts = event.counts(counted[0], counted[1])
    return Bound(
        canary=canary.name,
        change=canary.change,
        statistic=sight.statistic,
        promised=promised(plan, canary.change),
        delta=delta,
        found=counts.epsilon(alpha=alpha, delta=delta),
        counts=counts,
    )


def _trained(canary: Canary, statistic: str, ours: Floats, theirs: Floats) -> Sight:
    direction = discriminant(ours[::TRAINED], theirs[::TRAINED])
    return Sight(
        canary=canary, statistic=statistic, ours=ours @ direction, theirs=theirs @ direction, choosing=TRAINED
    )


def _layer(plan: Plan, canary: Canary) -> Mechanism:
    both = layers(plan)
    layer = both.cycle if canary.change == "cycle" else both.pattern
    assert layer is not None
    return layer


def _alone(plan: Plan, canary: Canary, seen: Transcripts, cycles: int) -> Floats:
    """What one layer's noise is added to, noise and all, a row a transcript: the profile, or the changed cycle."""
    if canary.change == "pattern":
        assert seen.hidden is not None
        return seen.hidden.astype(np.float64)
    rows = by_cycle(plan, seen)[:, min(1, cycles - 1)]
    alone = rows if seen.hidden is None else rows - seen.hidden
    return np.asarray(alone, dtype=np.float64)


def _about(plan: Plan, canary: Canary, side: int, cycles: int) -> Floats:
    """The same of a canary's group without noise."""
    without = expected(plan, canary, side)
    total = without.pattern if canary.change == "pattern" else without.cycles[min(1, cycles - 1)]
    return np.asarray(total, dtype=np.float64)
