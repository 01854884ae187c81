"""Exact: the loss of a mechanism in closed form, from the laws of its noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.promise.budget import NOTHING, Loss
from diurnal.promise.guarantee import HistoryBound
from diurnal.promise.mechanisms import Cube, Gaussian, Laplace, Mechanism
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.promise.mechanisms.basis import BasisMechanism
from diurnal.promise.mechanisms.blocks import Blocks
from diurnal.promise.query import CountingQuery
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.kernels import Atoms
from diurnal.study.audit.transcripts import Change, enough


def log_laplace(v: Floats | Integers, scale: float | Fraction) -> Floats:
    """Independent Laplace noise: -|v|_1/scale of each row."""
    said: Floats = -np.abs(np.asarray(v, dtype=float)).sum(axis=-1) / float(scale)
    return said


def log_gaussian(v: Floats | Integers, scale: float | Fraction) -> Floats:
    """Independent Gaussian noise: -|v|_2^2/(2 scale^2) of each row."""
    said: Floats = -(np.asarray(v, dtype=float) ** 2).sum(axis=-1) / (2 * float(scale) ** 2)
    return said


def log_cube(v: Floats | Integers, ranges: Sequence[int], rate: float | Fraction) -> Floats:
    """Cube noise: -rate K(v), K the largest over s of the least r with |v_s| <= floor(r share_s)."""
    sizes, levels = np.abs(np.rint(v)).astype(np.int64), np.zeros(np.shape(v))
    for slot, share in enumerate(cube_shares(ranges)):
        here = sizes[:, slot]
        if share:
            levels[:, slot] = -(-here * share.denominator // share.numerator)
        else:
            levels[:, slot] = np.where(here == 0, 0, np.inf)
    said: Floats = -float(rate) * levels.max(axis=1)
    return said


def cube_shares(ranges: Sequence[int]) -> list[Fraction]:
    """How far each slot's noise reaches, as a share of the widest; the j-th widest at least 1/(2j), or none."""
    order = sorted(range(len(ranges)), key=lambda slot: -ranges[slot])
    shares = [Fraction(width, max(ranges)) for width in ranges]
    for j, slot in enumerate((each for each in order if ranges[each]), start=1):
        shares[slot] = max(shares[slot], Fraction(1, 2 * j))
    return shares


def log_l2(v: Floats | Integers, rate: float | Fraction) -> Floats:
    """l2-norm noise: -rate |v|_2 of each row."""
    said: Floats = -float(rate) * np.sqrt((np.asarray(v, dtype=float) ** 2).sum(axis=-1))
    return said


def log_mass(mechanism: Mechanism, v: Floats | Integers) -> Floats:
    """The logarithm of a mechanism's noise mass at vectors, a row each."""
    if isinstance(mechanism, Laplace):
        return log_laplace(v, mechanism.scale)
    if isinstance(mechanism, Gaussian):
        return log_gaussian(v, mechanism.scale)
    if isinstance(mechanism, Cube):
        return log_cube(v, mechanism.sensitivity.ranges, mechanism.rate)
    assert isinstance(mechanism, (BasisMechanism, Blocks))
    noise = noise_kind(mechanism)
    if noise == "l2-norm":
        return log_l2(v, mechanism.rate)
    scale = 1 / mechanism.rate
    return log_laplace(v, scale) if noise == "laplace" else log_gaussian(v, scale)


def draw(mechanism: Mechanism, number: int, rng: np.random.Generator) -> Floats:
    """Draws of a mechanism's law, a row each: for study, and never for a release.

    The law is taken as continuous, so noise must be wide. A cube's radius is then a Gamma variable, and so is the
    length of l2-norm noise, whose direction is anything.
    """
    if isinstance(mechanism, Laplace):
        return rng.laplace(scale=float(mechanism.scale), size=(number, mechanism.dimension))
    if isinstance(mechanism, Gaussian):
        return rng.normal(scale=float(mechanism.scale), size=(number, mechanism.dimension))
    if isinstance(mechanism, (BasisMechanism, Blocks)):
        return _coefficients(mechanism, number, rng)
    assert isinstance(mechanism, Cube)
    shares = np.array([float(share) for share in cube_shares(mechanism.sensitivity.ranges)])
    radius = rng.gamma(np.count_nonzero(shares) + 1, 1 / float(mechanism.rate), size=(number, 1))
    drawn: Floats = rng.uniform(-1, 1, size=(number, len(shares))) * radius * shares
    return drawn


def _coefficients(mechanism: BasisMechanism | Blocks, number: int, rng: np.random.Generator) -> Floats:
    kind, size, scale = noise_kind(mechanism), (number, mechanism.dimension), 1 / float(mechanism.rate)
    if kind == "laplace":
        return rng.laplace(scale=scale, size=size)
    drawn = rng.normal(scale=scale, size=size)
    if kind == "gaussian":
        return drawn
    lengths = rng.gamma(mechanism.dimension, scale, size=(number, 1))
    drawn *= lengths / np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def shape(mechanism: Mechanism) -> float:
    """What kind of variable -log_mass of a draw is: Gamma of this shape and scale 1, where noise is wide.

    The mass is exp(-r) at a distance r in the law's own norm, and within r there is room like r^d: one for each
    component that moves. Of Gaussian noise r is half a square, and there is room like r^(d/2).
    """
    ranges = mechanism.sensitivity.ranges if isinstance(mechanism, Cube) else (1,) * mechanism.dimension
    return sum(width > 0 for width in ranges) / (2 if is_gaussian(mechanism) else 1)


def distances(mechanism: Mechanism, moves: Integers) -> Floats:
    """How far moves of the totals (a row each, in units of a total) put two laws of what is released apart.

    All noises but the Gaussian are norms, or subadditive: the worst log ratio of a move v is that of v from 0. The
    Gaussian's is its concentrated loss, |v|^2/(2 scale^2).
    """
    return -log_mass(mechanism, np.asarray(moves, dtype=np.int64) * mechanism.multiplier)


def epsilon_at(mechanism: Mechanism, distance: float, delta: Fraction | None) -> float:
    """A distance as an epsilon; for Gaussian noise, at a delta."""
    if not is_gaussian(mechanism) or distance == 0 or not math.isfinite(distance):
        return distance
    return float(Loss.concentrated(Fraction(distance)).at(delta))


def is_gaussian(mechanism: Mechanism) -> bool:
    """Whether the noise is Gaussian, and the promise with a delta."""
    return noise_kind(mechanism) == "gaussian"


def noise_kind(mechanism: Mechanism) -> str:
    """What noise a mechanism's numbers have: laplace, gaussian, cube or l2-norm."""
    if isinstance(mechanism, BasisMechanism):
        return mechanism.basis.noise
    return "l2-norm" if isinstance(mechanism, Blocks) else mechanism.name


SLACK = 1e-9
"""What floats may add to a loss that is exact."""

Random = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class Exact:
    """The worst loss among pairs of neighbours, in closed form."""

    change: Change
    """In what they differ."""
    promised: float
    """The epsilon that is promised for such a change."""
    worst: float
    """The largest found; infinite where something is told without noise."""
    pairs: int
    """Of so many pairs."""
    cycles: str
    """Over how many reported cycles."""

    @property
    def kept(self) -> bool:
        """Whether none is above the promise."""
        return self.worst <= self.promised * (1 + SLACK)

    def to_json(self) -> dict[str, Any]:
        """Plain data; an infinite loss is None."""
        worst = self.worst if np.isfinite(self.worst) else None
        return {**vars(self), "worst": worst, "kept": self.kept}


@dataclass(frozen=True, kw_only=True, eq=False)
class Contribution:
    """What households add to the totals, each by itself; a column a household."""

    pattern: Integers | None
    """To the pattern's, a row a component; None at level `cycle`."""
    cycles: Integers
    """To each reported cycle's: by cycle, component and household."""
    clipped: Marks
    """Whether a reading of a cycle is clipped, missing or without a profile: by cycle and household."""


def contribution(plan: Plan, readings: Integers, present: Marks, *, weight: int, own: bool = False) -> Contribution:
    """What households add, by the plan's own mechanisms.

    Args:
        plan: The plan.
        readings: By step, from the history's first, and household.
        present: Where there is a reading.
        weight: What each weighs.
        own: Whether profiles, variations and counts are worked out here, and not asked of the curator's kernels.
    """
    slots, begin = plan.grid.slots, plan.history * plan.grid.slots
    if plan.query.counting:
        cycles = (_own_counts if own else _counts)(plan, readings, present)
        return Contribution(pattern=None, cycles=cycles, clipped=np.zeros((len(cycles), readings.shape[1]), bool))
    profile, known = (_own_profiles if own else _profiles)(plan, readings[:begin], present[:begin])
    pattern, cycle = plan.pattern_layer(abs(weight)), plan.cycle_layer(abs(weight))
    assert pattern is not None
    stand_in = np.where(known, profile, plan.default_reading)
    later = readings[begin:].reshape(-1, slots, readings.shape[1])
    used = present[begin:].reshape(later.shape) & known
    bound = plan.clip if isinstance(cycle, SlotMechanism) else None
    moves = (_own_moves if own else _moves)(later, used, profile, known, bound)
    if cycle is not None and not isinstance(cycle, SlotMechanism):
        moves = np.stack([cycle.contribute(each) for each in moves])
    untouched = used if plan.clip is None else used & (np.abs(later - profile) <= plan.clip)
    clipped = np.asarray(~untouched.all(axis=1))
    return Contribution(pattern=weight * pattern.contribute(stand_in), cycles=weight * moves, clipped=clipped)


def worst_cases(plan: Plan, *, tries: int, rng: Random) -> list[Exact]:
    """The worst pair of neighbours for each promise of a plan, as `transcripts.to_audit` makes it.

    Args:
        plan: The plan.
        tries: How many households at random.
        rng: For these.
    """
    found = []
    if plan.protection.learns:
        found.append(_pattern(plan, tries, rng))
    if plan.protection.hides_cycle:
        found.append(_cycle(plan, tries, rng))
    if plan.protection.noisy_variations and plan.guarantee().history is not None:
        found.append(_history(plan, tries, rng))
    return found


def _pattern(plan: Plan, tries: int, rng: Random) -> Exact:
    """Any two profiles, with any one's variations: contributions in pairs, and that variations stay as they are."""
    layer, weight = plan.pattern_layer(_weight(plan)), _weight(plan)
    assert layer is not None
    profiles = _vectors(plan, layer, tries, rng)
    contributions = weight * layer.contribute(profiles)
    worst = _farthest(layer, contributions.T, plan) if _shifts_tell_nothing(plan, tries, rng) else np.inf
    pairs = profiles.shape[1] * (profiles.shape[1] - 1) // 2
    promised = plan.guarantee().numbers()["epsilon"]
    return Exact(change="pattern", promised=float(promised), worst=worst, pairs=pairs, cycles="any number")


def _shifts_tell_nothing(plan: Plan, tries: int, rng: Random) -> bool:
    """Whether variations of households, gaps and all, are the same when a periodic shift is added to each."""
    low, high = plan.domain
    slots, rows = plan.grid.slots, plan.history + 3
    present = rng.random((rows * slots, tries)) < 0.8
    readings = rng.integers(low, high, size=present.shape, endpoint=True)
    by_slot = readings.reshape(rows, slots, tries)
    room = low - by_slot.min(axis=0), high - by_slot.max(axis=0)
    shift = np.tile(rng.integers(room[0], room[1], endpoint=True), (rows, 1))
    ours, theirs = (
        contribution(plan, each, present, weight=_weight(plan)) for each in (readings, readings + shift)
    )
    return bool(np.array_equal(ours.cycles, theirs.cycles))


def _cycle(plan: Plan, tries: int, rng: Random) -> Exact:
    """Any two cycles of a household, whatever its profile: low, high, in between and at random."""
    layer = plan.cycle_layer(_weight(plan))
    assert layer is not None
    days, (low, high) = _vectors(plan, layer, tries, rng), plan.domain
    worst, pairs = 0.0, 0
    middle = low + (high - low) // 2
    usual = [low, middle, high] if plan.history else [middle]
    for profile in usual:
        history = np.full((plan.history * plan.grid.slots, days.shape[1]), profile, dtype=np.int64)
        readings = np.concatenate([history, days])
        everywhere = np.ones(readings.shape, dtype=bool)
        moves = contribution(plan, readings, everywhere, weight=_weight(plan)).cycles[0]
        worst = max(worst, _farthest(layer, moves.T, plan))
        pairs += days.shape[1] * (days.shape[1] - 1) // 2
    numbers = plan.guarantee().numbers()
    promised = float(numbers["cycle_epsilon"])
    return Exact(change="cycle", promised=promised, worst=worst, pairs=pairs, cycles="any one")


def _history(plan: Plan, tries: int, rng: Random) -> Exact:
    """One cycle of the history replaced: each pair's loss as a share of what is promised for its clipped cycles."""
    cycles, bound = 5, plan.guarantee().history
    assert bound is not None
    readings, other, present = _histories(plan, tries, cycles, rng)
    ours, theirs = (contribution(plan, each, present, weight=_weight(plan)) for each in (readings, other))
    assert ours.pattern is not None
    assert theirs.pattern is not None
    pattern, cycle = (theirs.pattern - ours.pattern).T, (theirs.cycles - ours.cycles).transpose(2, 0, 1)
    share = 0.0
    for i in range(tries):
        touched = int((ours.clipped | theirs.clipped)[:, i].sum())
        promised = HistoryBound(base=bound.base, each=bound.each, horizon=touched).worst()
        loss = two_layers(plan, pattern[i], cycle[i])
        if loss:
            share = max(share, _share(loss, _read(promised, plan)))
    promised_most = _read(bound.base, plan)
    return Exact(
        change="history",
        promised=promised_most,
        worst=share * promised_most if share < np.inf else np.inf,
        pairs=tries,
        cycles=f"{cycles}; as a share of what clipping costs",
    )


def _histories(plan: Plan, tries: int, cycles: int, rng: Random) -> tuple[Integers, Integers, Marks]:
    """Readings, the same with another first cycle of the history, and their gaps; a column a household.

    Of three, one hardly varies, so that nothing is clipped; one has gaps; and one has as few readings of history as
    make a profile, so that a single one weighs most, and goes from one end of the domain to the other.
    """
    (low, high), slots, kind = plan.domain, plan.grid.slots, np.arange(tries) % 3
    readings = rng.integers(low, high, size=((plan.history + cycles) * slots, tries), endpoint=True)
    readings[:, kind == 0] = np.tile(readings[:slots, kind == 0], (plan.history + cycles, 1))
    present = (rng.random(readings.shape) < 0.9) | (kind != 1)
    other = readings.copy()
    other[:slots] = rng.integers(low, high, size=(slots, tries), endpoint=True)
    readings[:slots, kind == 2], other[:slots, kind == 2] = low, high
    present[enough(plan) * slots : plan.history * slots, kind == 2] = False
    return readings, other, present


def two_layers(plan: Plan, pattern: Integers, cycles: Integers) -> float:
    """A bound for the loss when both layers' totals move, slot by slot.

    The pattern's noise may take up any part a of what moves in every cycle, the cycles' noise what is left: the
    loss is the least over a of that of a and those of pattern + cycle - a. Tried are all of the moves, and none.

    Args:
        plan: With mechanisms that release slots.
        pattern: How far the pattern's totals move.
        cycles: How far each cycle's do, a row each.
    """
    layers = plan.pattern_layer(_weight(plan)), plan.cycle_layer(_weight(plan))
    assert layers[0] is not None
    assert layers[1] is not None
    moves, found = pattern + cycles, []
    for part in np.unique(np.concatenate([moves, np.zeros_like(moves[:1])]), axis=0):
        first = [float(distances(layers[0], part[None])[0])]
        rest = distances(layers[1], moves - part).tolist()
        both = [_loss(layers[0], each) for each in first] + [_loss(layers[1], each) for each in rest]
        finite = all(each is not None for each in both)
        found.append(_read(sum((each for each in both if each), NOTHING), plan) if finite else np.inf)
    return min(found)


def _loss(layer: Mechanism, distance: float) -> Loss | None:
    """A distance as a loss; None if it has no end."""
    if not np.isfinite(distance):
        return None
    return Loss.concentrated(Fraction(distance)) if is_gaussian(layer) else Loss.pure(Fraction(distance))


def _read(loss: Loss, plan: Plan) -> float:
    """A loss as an epsilon, in the one way a promise is read."""
    return float(loss.at(_delta(plan) if loss.zcdp else None))


def _share(loss: float, promised: float) -> float:
    return loss / promised if promised else np.inf


def _farthest(layer: Mechanism, contributions: Integers, plan: Plan) -> float:
    """The largest loss between any two of these contributions, a row each."""
    far = max(float(distances(layer, contributions - each).max()) for each in contributions)
    return epsilon_at(layer, far, _delta(plan))


def _vectors(plan: Plan, layer: Mechanism, tries: int, rng: Random) -> Integers:
    """Vectors of slots in the domain, a column each: its ends, one slot alone, every basis vector, at random."""
    low, high = plan.domain
    slots = plan.grid.slots
    odd = np.arange(slots) % 2 == 1
    signs = [np.zeros(slots, dtype=bool), np.ones(slots, dtype=bool), odd, ~odd]
    signs += list(np.eye(slots, dtype=bool)[:: max(1, slots // 12)])
    matrix = getattr(layer, "matrix", np.zeros((0, slots)))
    signs += [side for row in matrix for side in (row > 0, row < 0)]
    signs += list(rng.random((tries // 2, slots)) < 0.5)
    corners = np.where(np.array(signs), high, low)
    inside = rng.integers(low, high, size=(tries - tries // 2, slots), endpoint=True)
    vectors: Integers = np.concatenate([corners, inside]).T.astype(np.int64)
    return vectors


def _profiles(plan: Plan, history: Integers, present: Marks) -> tuple[Integers, Marks]:
    """Each household's profile and where it is known, by the curator's kernel."""
    rules: dict[str, Any] = {"min_readings": plan.k_min, "statistic": plan.statistic}
    return kernels.profiles(history, present, slots=plan.grid.slots, **rules)


def _own_profiles(plan: Plan, history: Integers, present: Marks) -> tuple[Integers, Marks]:
    """The same, slot by slot and household by household, in plain Python."""
    slots, homes = plan.grid.slots, history.shape[1]
    profile, known = np.zeros((slots, homes), dtype=np.int64), np.zeros((slots, homes), dtype=bool)
    for slot, home in np.ndindex(slots, homes):
        there = [int(value) for value in history[slot::slots, home][present[slot::slots, home]]]
        if len(there) >= enough(plan):
            known[slot, home] = True
            profile[slot, home] = min(there) if plan.statistic == "base-load" else sum(there) // len(there)
    return profile, known


def _own_moves(later: Integers, used: Marks, profile: Integers, known: Marks, bound: int | None) -> Integers:
    """What readings that count are off their profiles, cut to the bound."""
    reach = np.iinfo(np.int64).max if bound is None else bound
    return np.where(used & known, np.clip(later - profile, -reach, reach), 0)


def _own_counts(plan: Plan, readings: Integers, present: Marks) -> Integers:
    """Which cells readings that are there lie in."""
    query = plan.query
    assert isinstance(query, CountingQuery)
    inside = [(query.cells(readings) == cell) & present for cell in range(len(query.series))]
    return np.stack(inside, axis=1).reshape(-1, plan.grid.slots * len(inside), readings.shape[1]).astype(np.int64)


def _moves(later: Integers, used: Marks, profile: Integers, known: Marks, bound: int | None) -> Integers:
    """Each household's variations, by the kernel that the curator sums them with, every household an atom."""
    n = later.shape[2]
    alone = Atoms.of(np.arange(1, n + 1)[None])
    steps = later.reshape(-1, n)
    slots = np.tile(np.arange(later.shape[1]), len(later))
    sums = kernels.variation_sums(steps, used.reshape(-1, n), profile, known, slots, alone, bound=bound)[0]
    return sums.reshape(later.shape)


def _counts(plan: Plan, readings: Integers, present: Marks) -> Integers:
    """Which cells each household's readings are in, by cycle: components slot by slot, cell by cell."""
    query, n = plan.query, readings.shape[1]
    assert isinstance(query, CountingQuery)
    alone = Atoms.of(np.arange(1, n + 1)[None])
    counts = kernels.indicator_sums(readings, present, query.cells, alone, len(query.series))
    return counts.reshape(-1, plan.grid.slots * len(query.series), n)


def _weight(plan: Plan) -> int:
    values: Sequence[int] = getattr(plan.query, "values", (1,))
    return max(map(abs, values))


def _delta(plan: Plan) -> Fraction | None:
    return None if plan.delta is None else Fraction(plan.delta)
