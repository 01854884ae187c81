"""Bound: how large an epsilon must be, given how often something was seen in each of two data sets.

If a mechanism is (epsilon, delta)-private, whatever is seen with probability p in one data set is seen in its
neighbour with at least (p - delta) e^-epsilon. Counting both gives a lower bound for epsilon that holds with a
stated confidence, whatever was looked at, as long as it was chosen before these transcripts were seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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
