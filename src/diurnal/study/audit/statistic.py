"""Statistics of an audit: bounds on epsilon from counts, goodness of fit of the noise, and expected values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.base import SlotMechanism
from diurnal.readings.data import Floats, Integers
from diurnal.study.audit import exact
from diurnal.study.audit.exact import contribution
from diurnal.study.audit.transcripts import Canary, Fact, Transcripts, Values, companion, weights

HALVINGS = 48
"""How often an interval is halved: far more exact than any count."""


def upper(hits: int, trials: int, alpha: float) -> float:
    """The largest probability under which so few hits still come with probability alpha (Clopper and Pearson)."""
    if hits >= trials:
        return 1.0
    k = np.arange(1, hits + 1)
    ways = np.concatenate([[0.0], np.cumsum(np.log((trials - k + 1) / k))])
    counts = np.arange(hits + 1)
    low, high = hits / trials, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        logs = ways + counts * math.log(middle) + (trials - counts) * math.log1p(-middle)
        at_most = float(np.exp(logs).sum())
        low, high = (middle, high) if at_most > alpha else (low, middle)
    return high


def lower(hits: int, trials: int, alpha: float) -> float:
    """The smallest probability under which so many hits still come with probability alpha."""
    return 1 - upper(trials - hits, trials, alpha)


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How often something was seen in each of two data sets."""

    hits: int
    """In the data set where it is seen more often."""
    trials: int
    """Of so many transcripts."""
    other_hits: int
    """In its neighbour."""
    other_trials: int
    """Of so many."""

    def epsilon(self, *, alpha: float, delta: float = 0.0) -> float:
        """A lower bound for epsilon that is wrong with probability alpha at most; never below zero."""
        often = lower(self.hits, self.trials, alpha / 2) - delta
        seldom = upper(self.other_hits, self.other_trials, alpha / 2)
        return max(0.0, math.log(often / seldom)) if often > 0 else 0.0


CANDIDATES = 60
"""How many thresholds are tried on the transcripts kept for it."""

RIDGE = 1e-9
"""What is added to variances, as a share of the mean one: directions without noise must stay invertible."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that is seen, or not: whether a number lies on one side of a threshold."""

    threshold: float
    """The threshold."""
    above: bool
    """Whether it must be reached from above."""
    swapped: bool
    """Whether it is seen more often in the second data set."""

    def counts(self, ours: Floats, theirs: Floats) -> Counts:
        """How often it is seen in each."""
        often, seldom = (theirs, ours) if self.swapped else (ours, theirs)
        return Counts(
            hits=self._seen(often), trials=len(often), other_hits=self._seen(seldom), other_trials=len(seldom)
        )

    def _seen(self, numbers: Floats) -> int:
        return int(np.count_nonzero(numbers >= self.threshold if self.above else numbers <= self.threshold))


def best_event(ours: Floats, theirs: Floats, *, alpha: float, delta: float, trials: int) -> Event:
    """What to look for, from transcripts that are not looked at again.

    Args:
        ours: A number for each transcript of the first data set.
        theirs: A number for each of the second.
        alpha: How often the bound may be wrong.
        delta: Of the promise.
        trials: How many transcripts it will be counted in: rare events need many.
    """
    both = np.unique(np.concatenate([ours, theirs]))
    between = np.concatenate([both, (both[1:] + both[:-1]) / 2])
    levels = np.unique(np.quantile(between, np.linspace(0, 1, CANDIDATES), method="nearest"))
    events = [
        Event(threshold=float(level), above=above, swapped=swapped)
        for level in levels
        for above in (True, False)
        for swapped in (True, False)
    ]
    doubt = NormalDist().inv_cdf(1 - alpha / 2)
    return max(events, key=lambda event: _hoped(event.counts(ours, theirs), trials, doubt, delta))


def _hoped(counts: Counts, trials: int, doubt: float, delta: float) -> float:
    """Roughly the bound that an event would give in so many transcripts, if these are typical (by Wilson)."""
    # None seen in n may well be 3 in n: a rare event that looks sharp by chance would be chosen now and then.
    often, seldom = counts.hits / counts.trials, (counts.other_hits + 3) / (counts.other_trials + 3)
    square = doubt**2 / trials
    ends = []
    for share, sign in ((often, -1), (seldom, 1)):
        reach = doubt * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
        ends.append((share + square / 2 + sign * reach) / (1 + square))
    return math.log(max(ends[0] - delta, 1e-12) / ends[1])


def discriminant(ours: Floats, theirs: Floats) -> Floats:
    """Fisher's direction: where the means differ most beyond how transcripts scatter (a row each)."""
    centres = ours.mean(axis=0), theirs.mean(axis=0)
    scatter = np.concatenate([ours - centres[0], theirs - centres[1]])
    size = np.sqrt((scatter**2).mean())
    apart = centres[0] - centres[1]
    if size == 0:
        return np.asarray(apart)
    covariance = (scatter / size).T @ (scatter / size) / len(scatter)
    direction: Floats = np.linalg.solve(covariance + RIDGE * np.eye(len(apart)), apart / size)
    return direction


DIVISORS = (2, 3, 5, 16)
"""By what draws are divided: what is left must be anything, alike."""
SURE = 6.0
"""By how many standard deviations a count may be off."""
SPREAD = 3.0
"""By how many units of 1/sqrt(n) two distributions may be apart: by chance less than once in ten million times."""
MEAN = 5.0
"""By how many standard deviations a mean size may be off: by chance less than once in a million times."""
REFERENCE = 20_000
"""How many draws of the law itself draws are held against."""
WIDE = 50
"""From which size on, in grains, noise is fine enough for a continuous law to stand for it."""
BIN = 2
"""So many grains count as the same where draws are not known exactly."""
AGAIN = 0.05
"""What share of draws must come twice to be seen, where there are so few possible ones that some do by chance."""
LAGS = 12
"""How far apart draws are held against each other then: those of a group stand together, cycle by cycle."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Draws of a mechanism's noise."""

    rows: Floats
    """A row a draw, in units of 1/multiplier."""
    grain: float = 1.0
    """How finely they are known: 1 if exactly, more where they are worked out from values that were rounded."""


def follows(layer: Mechanism, seen: Draws, made: Floats, what: str, rng: np.random.Generator) -> Fact:
    """Whether draws of a mechanism follow its law.

    Args:
        layer: The mechanism.
        seen: Its draws in a curator's lives.
        made: More of its draws, a row each, asked of it for this.
        what: What it hides, in words.
        rng: For draws of the law, which are no release.
    """
    law = exact.draw(layer, REFERENCE, rng)
    size = float(np.median(np.abs(law)))
    fine = [each for each in (seen, Draws(rows=made)) if len(each.rows) and size >= WIDE * each.grain]
    wrong = [said for each in fine for said in _spread(each.rows, law)]
    wrong += [said for each in fine if each.grain == 1 for said in _residues(each.rows)]
    for some in (fine[:1], fine) if len(fine) > 1 else (fine,):
        wrong += _mean(layer, np.concatenate([each.rows for each in some]), some[0].grain / size) if some else []
    count = sum(len(each.rows) for each in fine)
    return Fact(
        name="the noise follows its law",
        held=not wrong,
        says=f"{count:,} draws that hide {what}: {'; '.join(dict.fromkeys(wrong)) or 'as they should be'}."
        if fine
        else f"Noise that hides {what} is too coarse to be held against it.",
    )


def never_twice(pools: list[tuple[Mechanism, Draws]], rng: np.random.Generator) -> Fact:
    """Whether no draw comes again, in any cycle, group, layer or life; where some must, whether too many do.

    Args:
        pools: The draws of each layer.
        rng: For draws of the law, which are no release.
    """
    known, count, again = set[tuple[float, ...]](), 0, 0
    for layer, pool in pools:
        rows, law = _kept_apart(pool, pool.rows), exact.draw(layer, len(pool.rows), rng)
        if _fine(rows):
            for key in map(tuple, rows.tolist()):
                again += key in known
                known.add(key)
        elif np.median(np.abs(law)) >= WIDE * pool.grain:
            again += _too_many(rows, _kept_apart(pool, law))
        else:
            continue
        count += len(rows)
    return Fact(
        name="no noise comes twice",
        held=again == 0,
        says=f"{count:,} draws; {again:,} had come before."
        if count
        else "Noise is too coarse, or cycles are too short, for draws to be told apart.",
    )


def _kept_apart(pool: Draws, rows: Floats) -> Floats:
    """Whole numbers that are the same for draws that may be the same."""
    apart: Floats = np.rint(rows / (1 if pool.grain == 1 else BIN * pool.grain))
    return apart


def _too_many(rows: Floats, law: Floats) -> int:
    """How many draws are those of a cycle or group shortly before; 0 if that may be chance, as in the law."""
    seen, usual = (max(_as_before(each, lag) for lag in range(1, LAGS + 1)) for each in (rows, law))
    return seen if seen - usual > AGAIN * len(rows) + SURE * math.sqrt(usual) else 0


def _as_before(rows: Floats, lag: int) -> int:
    return int((rows[lag:] == rows[:-lag]).all(axis=1).sum())


def _fine(pool: Floats) -> bool:
    """Whether there are so many possible draws that any two are the same less than once in a million times."""
    size = float(np.median(np.abs(pool)))
    # Two draws agree in a slot about once in four times the size of noise.
    alike = 2 * math.log(len(pool)) - int(pool.shape[1]) * math.log(max(4 * size, 1.0))
    return alike < math.log(1e-6)


def _residues(drawn: Floats) -> Iterator[str]:
    whole = np.rint(drawn).astype(np.int64).ravel()
    for divisor in DIVISORS:
        counts = np.bincount(whole % divisor, minlength=divisor)
        share = 1 / divisor
        far = np.abs(counts - len(whole) * share).max() / math.sqrt(len(whole) * share * (1 - share))
        if far > SURE:
            yield f"divided by {divisor}, some remainders come too often"


def _spread(drawn: Floats, law: Floats) -> Iterator[str]:
    slots = drawn.shape[1]
    for slot in sorted({0, slots // 2, slots - 1}):
        if _apart(drawn[:, slot], law[:, slot]):
            yield f"in slot {slot} they are spread otherwise"
    for order in (1, 2, np.inf):
        sizes = (np.linalg.norm(each, ord=order, axis=1) for each in (drawn, law))
        if _apart(*sizes):
            yield f"their sizes (l{order}) are spread otherwise"


def _mean(layer: Mechanism, drawn: Floats, coarse: float) -> Iterator[str]:
    """Whether draws are as large as they should be: all of them together say more than how they are spread.

    Sizes in the law's own norm add up to a Gamma variable, whose cube root is nearly normal (Wilson and Hilferty).
    """
    shape = len(drawn) * exact.shape(layer)
    ratio = float(-exact.log_mass(layer, drawn).sum()) / shape
    # What is whole or rounded is off by up to half of it.
    near = max(1.0, ratio - coarse / 2) if ratio > 1 else min(1.0, ratio + coarse / 2)
    if abs(near ** (1 / 3) - 1 + 1 / (9 * shape)) * 3 * math.sqrt(shape) > MEAN:
        deviation = math.sqrt(ratio) if exact.is_gaussian(layer) else ratio
        yield f"they are {deviation:.3f} times as large as they should be in the mean"


def _apart(one: Floats, other: Floats) -> bool:
    """Whether two samples are of different laws, by Kolmogorov and Smirnov."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (one, other)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    return distance > SPREAD * math.sqrt(1 / len(one) + 1 / len(other))


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
        plan: As `transcripts.to_audit` makes it.
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
