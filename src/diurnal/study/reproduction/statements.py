"""Statements: what the paper says, one by one, and what became of it.

*Confirmed* if ours is what it says; *explained* if the homes that we do not have may lie between; *corrected* if it
cannot be so; *not reproduced* if the data at hand gives something else and no reason is enough. On a made-up town
nothing is confirmed of the paper's data: there it *holds on the town*, or it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diurnal.periodicity.correlation import correlations
from diurnal.periodicity.evidence import Evidence
from diurnal.private import Private
from diurnal.study import paper
from diurnal.study.reproduction.accuracy import STATED, Point, Series, error, gain
from diurnal.study.reproduction.coefficients import Chance, Sizes
from diurnal.study.reproduction.experiments import Experiment
from diurnal.study.reproduction.hypotheses import FOLD
from diurnal.study.town import figure_one

Outcome = Literal[
    "confirmed", "corrected", "explained", "not reproduced", "holds on the town", "does not hold on the town"
]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One thing the paper says."""

    says: str
    """What it says."""
    paper: str
    """Its figure, as printed."""
    ours: str
    """Ours."""
    outcome: Outcome
    """What became of it."""
    why: str
    """The reason for a gap, or what makes us sure."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Facts(Private):
    """What statements are judged by."""

    said: Experiment
    """What the paper says."""
    daily: Sizes
    """How large coefficients of days are."""
    weekly: Sizes
    """How large those of weeks are."""
    negative: float
    """Which share of the coefficients of days is negative."""
    seasons: float | None
    """Which share of those of a winter day and a summer day; None where there are not both."""
    evidence: Evidence
    """How sure that they are not zero."""
    chance: Chance
    """What other homes would do to those of days."""
    weekly_chance: Chance
    """What other homes would do to those of weeks."""
    series: Series
    """The sums."""
    exact: bool
    """Whether the paper's recursion was one noise vector repeated, to the unit."""
    points: tuple[Point, ...]
    """Errors that were drawn."""
    skill: float
    """That of Theorem 1 at epsilon 5: 0 is the best constant."""
    weeks_below: int | None
    """From how many of the seven first days weeks are below the paper's bound; None where it gives none."""
    better: str
    """Which other way to read the files comes nearest to the paper, where ours does not fit."""


def statements(facts: Facts) -> tuple[Statement, ...]:
    """Everything the paper says about an experiment that can be tried."""
    return (
        _figure_one(facts.said),
        *_coefficients(facts),
        _signs(facts),
        _independent(facts),
        _recursion(facts),
        _closed_forms(facts),
        _report(facts),
        _fold(facts),
        _horizon(facts.said),
        _corollary(facts),
    )


def _held(said: Experiment) -> Outcome:
    """What is true of the paper's data is confirmed; on a made-up town it says nothing about these."""
    return "holds on the town" if said.made_up else "confirmed"


def _figure_one(said: Experiment) -> Statement:
    found = correlations(figure_one(homes=300))
    return Statement(
        says="Figure 1: a sine, a constant of each cycle and noise are almost periodic",
        paper="a picture",
        ours=f"20 cycles of 10, 300 realisations: largest |c| {found.largest:.2f}, median {found.median:.3f}",
        outcome=_held(said),
        why=f"By construction. Taking a mean of 20 cycles away gives {-1 / 19:.2f} by itself.",
    )


def _coefficients(facts: Facts) -> Iterator[Statement]:
    said, daily, alike = facts.said, facts.daily, facts.chance.alike
    yield Statement(
        says="Days: every |c| is below a bound",
        paper=f"below {said.largest:g}",
        ours=f"{daily.largest:.4f}",
        outcome=_outcome(said, daily.largest - said.largest, alike.largest_spread),
        why=_gap(facts, daily.largest - said.largest, alike.largest_spread),
    )
    yield Statement(
        says="Days: the median of |c|",
        paper=f"{said.median:.4f}",
        ours=f"{daily.median:.4f}",
        outcome=_outcome(said, abs(daily.median - said.median), alike.median_spread),
        why=_gap(facts, abs(daily.median - said.median), alike.median_spread),
    )
    if said.weekly_largest is not None:
        yield _weeks(facts, said.weekly_largest)


def _outcome(said: Experiment, off: float, spread: float) -> Outcome:
    """What became of a figure that is off by so much; what lies within two standard deviations is explained."""
    if off <= 0 or (said.made_up and off <= 2 * spread):
        return _held(said)
    if said.made_up:
        return "does not hold on the town"
    return "explained" if off <= 2 * spread else "not reproduced"


def _gap(facts: Facts, off: float, spread: float) -> str:
    """Why a figure is off by so much; what lies within two standard deviations other homes may do alone."""
    text = f"{_sentence(facts.said.gap)}."
    if off > 0:
        enough = "" if off <= 2 * spread else ", which is not enough"
        text = f"{text} Other homes alone may move it by {2 * spread:.2g}{enough}."
    return f"{text} {facts.better}" if off > 0 and facts.better else text


def _weeks(facts: Facts, bound: float) -> Statement:
    weekly, alike = facts.weekly, facts.weekly_chance.alike
    days = "" if facts.weeks_below is None else f" Weeks from {facts.weeks_below} of the seven days are below it."
    return Statement(
        says="Weeks: every |c| is below a bound",
        paper=f"below {bound:g}",
        ours=f"{weekly.largest:.4f} (median {weekly.median:.4f})",
        outcome=_outcome(facts.said, weekly.largest - bound, alike.largest_spread),
        why=f"Other homes alone may move it by {2 * alike.largest_spread:.3f}.{days}",
    )


def _signs(facts: Facts) -> Statement:
    return Statement(
        says="c lies between 0 and 1",
        paper="0 to 1",
        ours=f"-1 to 1; {facts.negative:.0%} of the pairs of days are negative",
        outcome="corrected",
        why="It is a correlation, and may be negative"
        + ("." if facts.seasons is None else f": of winter days against summer days {facts.seasons:.0%} are."),
    )


def _independent(facts: Facts) -> Statement:
    found = facts.evidence
    return Statement(
        says="Small coefficients support that cycles are independent",
        paper="no test",
        ours=f"{found.significant():.0%} of the pairs of days differ from zero at 5 %",
        outcome="corrected",
        why="Small is not none: seasons and habits are in the variations, which Theorem 1 publishes exactly "
        "(theory 7).",
    )


def _recursion(facts: Facts) -> Statement:
    n = len(facts.series.readings)
    return Statement(
        says="Theorem 1 needs one cycle's noise for every horizon",
        paper="a proof",
        ours=f"the recursion is F(x(t)) + v(s) at all {n:,} steps, to the unit"
        if facts.exact
        else "the recursion differs from F(x(t)) + v(s)",
        outcome=_held(facts.said) if facts.exact else "corrected",
        why="So differences between days carry no noise, and errors do not average out over days (theory 6).",
    )


def _closed_forms(facts: Facts) -> Statement:
    agree = sum(point.agrees for point in facts.points)
    return Statement(
        says="Relative error falls as 1/epsilon, for every mechanism",
        paper="a figure",
        ours=f"{agree} of {len(facts.points)} drawn errors lie within four standard errors of the closed form",
        outcome=_held(facts.said) if agree == len(facts.points) else "corrected",
        why="All of them add noise of a known scale, and nothing else.",
    )


def _report(facts: Facts) -> Statement:
    off = error("theorem-1", STATED, facts.series.setting, 5)
    return Statement(
        says="The report of Theorem 1 at epsilon 5 follows the truth over the year",
        paper="a figure",
        ours=f"relative error {off:.2f}, skill {facts.skill:.1f} with the ranges stated here",
        outcome="explained",
        why="It follows from day to day, because variations are published exactly; the shape of the day is off by "
        "the same noise every day." + (" The best constant would be closer." if facts.skill < 0 else ""),
    )


def _fold(facts: Facts) -> Statement:
    cycles, here = facts.said.cycles, facts.series.setting.cycles
    told = f"{gain('theorem-1', STATED, cycles):.0f} with the ranges stated here, over the paper's {cycles} days"
    if here != cycles:
        told += f" ({gain('theorem-1', STATED, here):.0f} over the {here} at hand)"
    return Statement(
        says="Theorem 1 is about so many times better than the split budget",
        paper=f"about {FOLD}",
        ours=f"at least {cycles}; {told}",
        outcome="corrected",
        why="The paper's own formula is K Df_x/Df_z, and a profile ranges no further than a reading. With the "
        f"homes' own ranges Corollary 1 gains {gain('corollary-1', facts.series.span, cycles):.0f}.",
    )


def _horizon(said: Experiment) -> Statement:
    return Statement(
        says="The number of half hours",
        paper=f"{said.horizon:,}",
        ours=f"{said.cycles} days of 48 are {said.cycles * 48:,}",
        outcome="corrected",
        why="The two horizons are swapped between the data sets.",
    )


def _corollary(facts: Facts) -> Statement:
    cycles, slots = facts.said.cycles, 48
    known = {"cycles": cycles, "epsilon": 1, "df_z": 1, "df_w": 1}
    worst, mean = paper.corollary_1_loss(**known), paper.corollary_1_mean_loss(slots=slots, **known)
    return Statement(
        says="Corollary 1: epsilon-differential privacy for a home's variations in any one cycle too",
        paper="epsilon",
        ours=f"at epsilon 1 the loss may be {worst:.1f}, and is {mean:.1f} in the mean, over {cycles} days",
        outcome="corrected",
        why="Every later cycle repeats the first cycle's variations behind noise of its own, so that a change in "
        "the first cycle is seen K times. Fresh noise in the first cycle too repairs it, with less error (theory "
        "3).",
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def negative_share(pairs: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """Which share of coefficients is negative."""
    return float(np.mean(pairs < 0))
