"""Scores: how right an attacker is, how sure that is, and the statistic that makes the most of what is known."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from diurnal.planning.free import known_from
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.prior import Known
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.study.baselines import Task
from diurnal.study.baselines.score import half_width
from diurnal.study.paper import relative_error

SHRINK = 0.2
"""How far covariances of a few homes are drawn towards their diagonal; set on the made-up town."""
ALIKE = 0.8
"""How much of a series' covariance is that of cycles which are all related alike. Of six estimates the one with
which the attacker did best on a made-up town of seed 77, which serves for nothing else."""


class Found(NamedTuple):
    """A number, and between what it lies with 95 % confidence; nothing is said of what was drawn once."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def mean(cls, values: Any, *, least: float = -math.inf, most: float = math.inf, trials: int = 0) -> Found:
        """The mean of independent values, by Student's t.

        Args:
            values: Of independent experiments.
            least: What no value can be less than.
            most: What none can be more than.
            trials: How many cases the values come from. Where all went one way, as many as these could still have
                hidden what happens less often than three times in them.
        """
        each = np.asarray(values, dtype=float)
        value = float(each.mean())
        if len(each) < 2:
            return cls(value)
        half = 3 / trials if trials and np.ptp(each) == 0 else half_width(each)
        return cls(value, max(least, value - half), min(most, value + half))


def alike(found: Any, truth: Any) -> float:
    """The correlation of what was found with the truth; 0 where one of them is flat."""
    one, other = (np.asarray(each, dtype=float).ravel() for each in (found, truth))
    one, other = one - one.mean(), other - other.mean()
    size = math.sqrt(float(one @ one) * float(other @ other))
    # What is left of a flat series is rounding.
    flat = min(np.abs(one).max(), np.abs(other).max()) < 1e-6
    return 0.0 if flat or size == 0 else float(one @ other) / size


def error_of(found: Floats, truth: Floats, *, largest: float | None = None) -> float:
    """The paper's relative error, over the steps that are known, and over another largest value if given."""
    known = np.isfinite(found)
    scale = 1.0 if largest is None else float(np.abs(truth[known]).max()) / largest
    return scale * relative_error(found[known], truth[known])


def right_of_two(yes: Floats, no: Floats) -> float:
    """How often, of one case of each kind, the one with the larger score is the right one: the AUC."""
    above = (yes[:, None] > no[None, :]).mean() + 0.5 * (yes[:, None] == no[None, :]).mean()
    return float(above)


def block_rates(scores: Floats, truths: Marks) -> float:
    """The mean over targets of how often the attacker is right of two, each with a column of scores and cases."""
    return float(np.mean([right_of_two(s[t], s[~t]) for s, t in zip(scores.T, truths.T, strict=True)]))


class Seen(NamedTuple):
    """What a release shows of homes, as far as it can be known beforehand."""

    days: Floats
    """Cycles x slots x homes: what each adds to the published sums, in the mean."""
    pattern: Floats
    """The covariance of the noise that comes again in every cycle, slots x slots."""
    cycle: Floats
    """That of the noise that is fresh in every cycle."""


def seen(plan: Plan | None, task: Task, homes: Integers, total: int, *, group: Integers | None = None) -> Seen:
    """What a plan shows of some homes in groups of so many, by the mechanisms' own means and variances.

    Args:
        plan: The plan; None if there is no noise.
        task: History and readings.
        homes: Which.
        total: How many homes a group has.
        group: The homes of the group, where a plan's free reference is made from their history and that matters.
    """
    slots = task.slots
    days = task.panel.readings[:, homes].reshape(task.cycles, slots, len(homes))
    nothing = np.zeros((slots, slots))
    if plan is None:
        return Seen(days.astype(float), nothing, nothing)
    known = None if group is None else _known(plan, task, group)
    pattern, cycle, profiles = plan.pattern_layer(1, total, known), plan.cycle_layer(), task.profiles[:, homes]
    assert pattern is not None
    moves = days - profiles if plan.clip is None else np.clip(days - profiles, -plan.clip, plan.clip)
    kept = moves.astype(float) if cycle is None else np.stack([_kept(cycle, day) for day in moves])
    return Seen(
        kept + _kept(pattern, profiles),
        covariance(pattern, slots),
        nothing if cycle is None else covariance(cycle, slots),
    )


def _known(plan: Plan, task: Task, group: Integers) -> Known | None:
    """The free reference of a group, which is published with its reports."""
    moves = task.history.readings[:, group].reshape(-1, task.slots, len(group)) - task.profiles[:, group]
    sums: Integers = moves.sum(axis=2).reshape(-1)
    return known_from(plan, sums, np.full(len(sums), len(group)), households=len(group))


def covariance(layer: Mechanism, slots: int) -> Floats:
    """The covariance of a mechanism's noise, from the variances that it tells."""
    unit = np.eye(slots)
    single = np.array([layer.variance(row) for row in unit])
    both = np.array([[layer.variance(one + other) for other in unit] for one in unit])
    return np.asarray((both - single[:, None] - single[None, :]) / 2)


def spread(vectors: Floats) -> Floats:
    """The covariance of homes' vectors, a column a home, drawn towards its diagonal since homes are few."""
    found = np.cov(vectors)
    return np.asarray((1 - SHRINK) * found + SHRINK * np.diag(np.diag(found)))


def spread_of_days(days: Floats) -> Floats:
    """The covariance of homes' series, cycles x slots x homes, mostly as if any two cycles were related alike.

    A home's series has more steps than there are homes. Its mean cycle, and cycles around it, have fewer.
    """
    cycles, _, homes = days.shape
    flat = days.reshape(-1, homes)
    if cycles == 1:
        return spread(flat)
    means = days.mean(axis=0)
    moves = days - means
    moves = moves - moves.mean(axis=2, keepdims=True)
    within = np.einsum("ksn,ktn->st", moves, moves) / ((cycles - 1) * (homes - 1))
    between = np.cov(means) - within / cycles
    alike_all = np.kron(np.ones((cycles, cycles)), between) + np.kron(np.eye(cycles), within)
    return np.asarray(ALIKE * alike_all + (1 - ALIKE) * np.cov(flat))


def discriminant(signals: Floats, noise: Floats) -> Floats:
    """The weights with which a sum tells best whether a signal is in it, a column a signal (Fisher's)."""
    # What is known exactly must not break the solution.
    floor = 1e-3 * float(np.median(np.diag(noise)))
    # One thread: more of them wait for each other on a matrix as small as this.
    with threadpool_limits(1, user_api="blas"):
        return np.asarray(np.linalg.solve(noise + floor * np.eye(len(noise)), signals))


def _kept(layer: Mechanism, vectors: Integers) -> Floats:
    """What a layer shows of each home's vector, in the mean: a linear map, found by what it does to units."""
    base = layer.expected(np.zeros(layer.dimension))
    steps = np.stack([layer.expected(row) - base for row in np.eye(layer.dimension)], axis=1)
    return np.asarray(base[:, None] + steps @ layer.contribute(vectors))
