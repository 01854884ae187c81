"""Statistic: a number for each transcript that tells two data sets apart as well as can be.

The likelihood ratio is best where the noise's law is known: where one mechanism's noise is all that stands between
a transcript and what it would be without. Else, and always besides, Fisher's discriminant is trained on some of the
transcripts: whatever direction they differ in beyond how they scatter, it finds, and so it finds what no law tells,
such as noise that repeats where it should not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from diurnal.readings.data import Floats
from diurnal.study.audit.bound import Counts

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
    often, seldom = counts.hits / counts.trials, (counts.other_hits + 1) / (counts.other_trials + 1)
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
