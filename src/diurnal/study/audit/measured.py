"""Measured: what is seen of epsilon in transcripts: without noise, with it, and of the paper's Corollary 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.errors import LimitError
from diurnal.picture import Pictured
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms import Cube, Mechanism
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.promise.mechanisms.basis import Basis
from diurnal.readings.data import Floats, Integers
from diurnal.readings.kernels import Progress
from diurnal.study import paper
from diurnal.study.audit import exact
from diurnal.study.audit.statistic import Counts, best_event, by_cycle, discriminant, expected, layers, slots_of
from diurnal.study.audit.transcripts import Canary, Change, Fact, Life, Transcripts, Values, canaries, live, weights

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
        "basis": _with_laplace(plan.basis),
        "cycle_basis": _with_laplace(plan.cycle_basis) if plan.cycle_mechanism == "basis" else plan.cycle_basis,
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


def _with_laplace(basis: Basis) -> Basis:
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
        exact.log_mass(layer, (each - about[0]) * layer.multiplier)
        - exact.log_mass(layer, (each - about[1]) * layer.multiplier)
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
        return single.get(exact.noise_kind(layer), (m + 2) * (m + 3) / (m * (m + 1)) - 1)
    slots = float(variances.sum() ** 2 / max((variances**2).sum(), 1e-300))
    if isinstance(layer, Cube):
        return (slots + 3) * (slots + 4) / ((slots + 1) * (slots + 2)) * (1 + 0.8 / slots) - 1
    return (2 if exact.is_gaussian(layer) else 5) / slots


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


HORIZONS = (1, 3, 10, 30, 100)
"""How many cycles an attacker waits."""

WIDTH = 1000
"""How far a household's variations can move in a slot; the noise is as wide as that asks for."""


@dataclass(frozen=True, kw_only=True)
class Waiting(Pictured):
    """The epsilon that a first cycle costs at least, by how many cycles are reported."""

    epsilon: float
    """What is claimed."""
    slots: int
    """T."""
    transcripts: int
    """How many were made of each data set, for each number of cycles."""
    cycles: tuple[int, ...]
    """K."""
    printed: tuple[float, ...]
    """Of Corollary 1 as printed."""
    repaired: tuple[float, ...]
    """Of the repair."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))

    def __str__(self) -> str:
        lines = [f"epsilon {self.epsilon:g} is claimed, T = {self.slots}, {self.transcripts} transcripts each", ""]
        lines.append(f"{'cycles':>8}{'as printed, at least':>24}{'repaired, at least':>22}")
        rows = zip(self.cycles, self.printed, self.repaired, strict=True)
        return "\n".join([*lines, *(f"{k:>8}{one:>24.3f}{two:>22.3f}" for k, one, two in rows)])


def waiting(
    *,
    epsilon: float = 1.0,
    slots: int = 48,
    transcripts: int = 20_000,
    cycles: tuple[int, ...] = HORIZONS,
    seed: int = 1,
) -> Waiting:
    """Attack Corollary 1 and its repair with longer and longer transcripts.

    Args:
        epsilon: What is claimed for any one cycle.
        slots: T.
        transcripts: How many, of each data set.
        cycles: How many reported cycles each has; bounds hold together, with the confidence of an audit.
        seed: For the noise of this study, which is no release.
    """
    rng, found = np.random.default_rng(seed), []
    alpha = ALPHA / (2 * len(cycles))
    with Progress("Cycles waited for", 2 * sum(cycles)) as bar:
        for attack in (_printed, _repaired):
            for k in cycles:
                ours, theirs = (attack(epsilon, slots, k, transcripts, moved, rng) for moved in (False, True))
                found.append(_least(ours, theirs, alpha))
                bar.advance(k)
    return Waiting(
        epsilon=epsilon,
        slots=slots,
        transcripts=transcripts,
        cycles=cycles,
        printed=tuple(found[: len(cycles)]),
        repaired=tuple(found[len(cycles) :]),
    )


def _least(ours: Floats, theirs: Floats, alpha: float) -> float:
    choosing = [side[::KNOWN] for side in (ours, theirs)]
    counted = [np.delete(side, np.s_[::KNOWN]) for side in (ours, theirs)]
    event = best_event(choosing[0], choosing[1], alpha=alpha, delta=0.0, trials=len(counted[0]))
    return event.counts(counted[0], counted[1]).epsilon(alpha=alpha)


def _printed(epsilon: float, slots: int, cycles: int, number: int, moved: bool, rng: Any) -> Floats:
    """The log likelihood ratio of the printed code's transcripts: Df_z = Df_w, the whole first cycle moves."""
    first, later = 2 * slots * WIDTH / epsilon, slots * WIDTH / epsilon
    without = _noiseless(slots, cycles)
    ratio = np.zeros(number)
    v = _laplace(first, (number, slots), rng)
    seen = without[moved][0] + v
    ratio += _ratio(seen - without[0][0], seen - without[1][0], first)
    for k in range(1, cycles):
        # A later report is the first one's, noise and all, less the first variations and plus those of now.
        move = [each[k] - each[0] for each in without]
        beside = move[moved] + _laplace(later, (number, slots), rng)
        ratio += _ratio(beside - move[0], beside - move[1], later)
    return ratio


def _noiseless(slots: int, cycles: int) -> tuple[Integers, Integers]:
    """What the printed code says without noise, before and after the first cycle of a household has changed."""
    profile = np.zeros((slots, 1), dtype=np.int64)
    nothing = np.zeros(slots, dtype=np.int64), np.zeros((cycles - 1, slots), dtype=np.int64)
    ours, theirs = (
        paper.corollary_1_as_printed(each, profile, *nothing).reshape(cycles, slots)
        for each in _neighbours(slots, cycles)
    )
    return ours, theirs


def _neighbours(slots: int, cycles: int) -> tuple[Integers, Integers]:
    """A household's readings, and the same with another first cycle."""
    readings = np.zeros((cycles * slots, 1), dtype=np.int64)
    changed = readings.copy()
    changed[:slots] = WIDTH
    return readings, changed


def _repaired(epsilon: float, slots: int, cycles: int, number: int, moved: bool, rng: Any) -> Floats:
    """The same of the repair, for an attacker who is even told the pattern's noise."""
    scale, none = slots * WIDTH / epsilon, np.zeros((cycles, slots), dtype=np.int64)
    ours, theirs = (
        paper.two_layers(each, none[0], none).reshape(cycles, slots) for each in _neighbours(slots, cycles)
    )
    ratio = np.zeros(number)
    # A cycle that is the same in both data sets adds nothing, whatever its noise.
    for one, two in ((one, two) for one, two in zip(ours, theirs, strict=True) if (one != two).any()):
        seen = (two if moved else one) + _laplace(scale, (number, slots), rng)
        ratio += _ratio(seen - one, seen - two, scale)
    return ratio


def _ratio(ours: Floats, theirs: Floats, scale: float) -> Floats:
    ratio: Floats = (np.abs(theirs) - np.abs(ours)).sum(axis=1) / scale
    return ratio


def _laplace(scale: float, shape: tuple[int, int], rng: Any) -> Floats:
    drawn: Floats = np.rint(rng.laplace(scale=scale, size=shape))
    return drawn
