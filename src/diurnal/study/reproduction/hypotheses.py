"""Hypotheses: the ways the paper may be understood where it is silent or contradicts itself, each with its figures.

A reading *fits* if it gives what the paper prints; it is *possible* if only the homes that we do not have lie
between it and what the paper prints, within two standard deviations; else *no*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diurnal.private import Private
from diurnal.readings.panel import Panel
from diurnal.study.reproduction.accuracy import STATED, Ranges, Series, Setting, discrete_laplace, error, gain
from diurnal.study.reproduction.coefficients import Chance, Sizes, changes, sizes
from diurnal.study.reproduction.experiments import Experiment, Source

Fit = Literal["fits", "possible", "no", ""]

FOLD = 200
"""How many times less error than the split budget the paper says that Theorem 1 has, about."""

ABOUT = (150, 250)
"""What rounds to it."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One way to understand the paper, and what it gives."""

    reading: str
    """How it is understood."""
    values: tuple[float, ...]
    """What that gives, a figure for each of the question's columns."""
    fits: Fit = ""
    """Whether that is what the paper prints; empty where it prints nothing."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Question(Private):
    """Something the paper leaves open."""

    name: str
    """In short."""
    asked: str
    """What is open."""
    columns: tuple[str, ...]
    """What the figures are."""
    paper: tuple[str, ...]
    """What the paper prints for each, or nothing."""
    rows: tuple[Row, ...]
    """The ways to understand it."""
    answer: str
    """What fits."""


def measured(source: Source, daily: Sizes, chance: Chance) -> Question:
    """Which readings were compared: of what, in which slots, of which homes."""
    said = source.experiment
    found = {_main(said): daily, **{name: sizes(panel) for name, panel in source.readings.items()}}
    rows = tuple(
        Row(reading=name, values=(each.homes, each.largest, each.median), fits=coefficient_fit(said, each, chance))
        for name, each in found.items()
    )
    return Question(
        name="What was measured",
        asked=_asked(said),
        columns=("homes", "largest |c|", "median |c|"),
        paper=(str(said.homes), f"below {said.largest:g}", f"{said.median:g}"),
        rows=rows,
        answer=_measured_answer(said, rows),
    )


def _main(said: Experiment) -> str:
    half_hour = "a half hour is the mean of its rows, complete apartments"
    return half_hour if said.name == "umass" else "consumption (general and controlled load)"


def _asked(said: Experiment) -> str:
    if said.name == "umass":
        return "The rows last 15 minutes or one; the paper does not say how they became half hours."
    return "The paper does not say which channel: general consumption, with controlled load, or less generation."


def coefficient_fit(said: Experiment, found: Sizes, chance: Chance) -> Fit:
    """Whether sizes are what the paper prints, as they stand or but for the choice of homes."""
    near = abs(found.median - said.median) <= 2 * chance.alike.median_spread
    if found.largest < said.largest:
        return "fits" if near else "no"
    return "possible" if near and found.largest < said.largest + 2 * chance.alike.largest_spread else "no"


def _measured_answer(said: Experiment, rows: tuple[Row, ...]) -> str:
    def off(row: Row) -> float:
        return abs(row.values[2] - said.median)

    fitting, possible = ([row for row in rows if row.fits == fit] for fit in ("fits", "possible"))
    near = min(possible, key=off, default=None)
    if fitting:
        best = min(fitting, key=off)
        answer = f"It fits: {best.reading}, median {best.values[2]:.4f}."
        if near is not None and off(near) < off(best):
            answer += f" Nearer, but above the bound: {near.reading}, {near.values[2]:.4f}."
    elif near is not None:
        answer = f"None is below the bound as it stands. Nearest: {near.reading}, median {near.values[2]:.4f}."
    else:
        answer = "None fits."
    if said.name == "ausgrid":
        answer += " General consumption without controlled load cannot be tried: here the two are added up."
    return answer


def weeks(panel: Panel, said: Experiment, chance: Chance) -> Question | None:
    """On which day a week begins; None where the paper says nothing about weeks."""
    bound = said.weekly_largest
    if bound is None or panel.n_cycles < 28:
        return None
    spread, slots = chance.alike.largest_spread, panel.grid.slots
    rows = []
    for day in range(7):
        start = panel.first_step + day * slots
        length = (panel.n_cycles - day) // 7 * 7 * slots
        found = sizes(panel.between(start, start + length).with_period("7d"))
        fits: Fit = "fits" if found.largest < bound else "possible" if found.largest < bound + 2 * spread else "no"
        name = f"{panel.grid.wall(start):%A}, {found.cycles} weeks"
        rows.append(Row(reading=name, values=(found.largest, found.median), fits=fits))
    days = [row.reading.split(",")[0] for row in rows if row.fits == "fits"]
    return Question(
        name="The first day of a week",
        asked="The paper does not say on which day its weeks begin.",
        columns=("largest |c|", "median |c|"),
        paper=(f"below {bound:g}", ""),
        rows=tuple(rows),
        answer=f"As they stand, weeks from {', '.join(days)} fit." if days else "No first day fits as it stands.",
    )


def homes(daily: Sizes, chance: Chance, said: Experiment) -> Question:
    """What the number of homes does."""
    rows = [
        Row(
            reading=f"{each.homes} homes, chosen again and again",
            values=(each.largest, each.largest_spread, each.median, each.median_spread),
        )
        for each in chance.fewer
    ]
    ours = Row(reading=f"{daily.homes} homes, all at hand", values=(daily.largest, 0.0, daily.median, 0.0))
    alike = chance.alike
    return Question(
        name="The homes that are missing",
        asked=f"What would other homes have given? The paper had {said.homes}.",
        columns=("largest |c|", "+-", "median |c|", "+-"),
        paper=(f"below {said.largest:g}", "", f"{said.median:g}", ""),
        rows=(ours, *rows),
        answer=(
            f"{alike.homes} of ours lie about as far from ours as ours from the paper's: by chance alone the "
            f"median may be off by {2 * alike.median_spread:.3f} and the largest by {2 * alike.largest_spread:.2f} "
            "(two standard deviations)."
        ),
    )


def breaks(panel: Panel) -> Question:
    """Where homes change all at once."""
    usual, found = changes(panel)
    rows = [Row(reading=f"{when.day} {when:%B %Y}", values=(alike,)) for when, alike in found]
    return Question(
        name="Sudden changes",
        asked="How alike is the homes' use in the week before and the week after a day? A break shows in every "
        "later coefficient.",
        columns=("correlation over homes",),
        paper=("",),
        rows=(Row(reading="the median day", values=(usual,)), *rows),
        answer=f"Least of all around {rows[0].reading}." if rows else "There are too few days to say.",
    )


def ranges(series: Series) -> Question:
    """Which ranges were taken: the paper prints none."""
    setting, span = series.setting, series.span
    taken = {
        "stated: 3 kWh a mean half hour, 8 kWh a half hour": STATED,
        "the same, and a variation moves as its reading does": Ranges(profile=3000, variation=8000, reading=8000),
        "as far as these homes' own differ": span,
        "all as the reading": Ranges(profile=8000, variation=8000, reading=8000),
    }
    return Question(
        name="The ranges",
        asked="Scales of noise are ranges over epsilon; the paper prints none of Df_z, Df_w, Df_x.",
        columns=(
            *("Df_z, kWh", "Df_w, kWh", "Df_x, kWh"),
            *("Theorem 1, epsilon 5", "Theorem 1, 1", "Corollary 1, 1", "split, 1", f"gain, K = {setting.cycles}"),
        ),
        paper=("",) * 7 + (f"about {FOLD}",),
        rows=tuple(Row(reading=name, values=_errors(each, setting)) for name, each in taken.items()),
        answer=(
            "Errors grow in proportion to the ranges, so that the paper's curves could be anywhere; their slope of "
            "-1 does not depend on the data. Ranges taken from private readings are not differentially private."
        ),
    )


def _errors(each: Ranges, setting: Setting) -> tuple[float, ...]:
    return (
        *(value / 1000 for value in (each.profile, each.variation, each.reading)),
        error("theorem-1", each, setting, 5),
        *(error(name, each, setting, 1) for name in ("theorem-1", "corollary-1", "split")),
        gain("theorem-1", each, setting.cycles),
    )


def horizons(said: Experiment) -> Question:
    """How many half hours there are."""
    other = {16_752: 17_520, 17_520: 16_752}[said.horizon]
    truly = said.cycles * 48
    rows = tuple(
        Row(reading=name, values=(steps, steps / 48), fits="fits" if steps == truly else "no")
        for name, steps in (("as printed", said.horizon), ("as printed for the other data set", other))
    )
    return Question(
        name="The horizons",
        asked=f"{said.paper_data}: {said.cycles} days of 48 half hours are {truly:,}.",
        columns=("half hours", "days"),
        paper=(f"{said.horizon:,}", ""),
        rows=rows,
        answer="The paper's two horizons are swapped between its data sets.",
    )


def fold(said: Experiment, series: Series, weekly: Series, rng: np.random.Generator) -> Question:
    """What "about 200 fold" may mean."""
    cycles, swapped = said.cycles, said.horizon / 48
    equal = Ranges(profile=1, variation=1, reading=1)
    span, week = series.span, weekly.span
    low, high = _one_draw(series.setting.slots, rng)
    tried = {
        "Theorem 1, K Df_x/Df_z, equal ranges": cycles,
        "the same with the horizon as printed": swapped,
        "Theorem 1, stated ranges": gain("theorem-1", STATED, cycles),
        "Theorem 1, ranges as these homes' own": gain("theorem-1", span, cycles),
        "Theorem 1, Df_x = Df_z + Df_w of equal parts": 2 * cycles,
        f"Theorem 1, equal ranges, one draw of noise: least of 95 % (most {cycles / low:.0f})": cycles / high,
        "Theorem 1 with a period of a week, equal ranges": cycles // 7,
        "the same, ranges as these homes' own": gain("theorem-1", week, cycles // 7),
        "Theorem 1, a profile counted both ways: Df_z = 2 Df_x": cycles / 2,
        "the repair, equal ranges": gain("repair", equal, cycles),
        "Corollary 1 as printed, equal ranges": gain("corollary-1", equal, cycles),
        "Corollary 1 as printed, ranges as these homes' own": gain("corollary-1", span, cycles),
    }
    rows = tuple(Row(reading=name, values=(value,), fits=_about(value)) for name, value in tried.items())
    return Question(
        name="About 200 fold",
        asked="By the paper's own formula the gain of Theorem 1 over the split budget is K Df_x/Df_z.",
        columns=(f"gain, K = {cycles}",),
        paper=(f"about {FOLD}",),
        rows=rows,
        answer=_fold_answer(cycles, span),
    )


def _about(value: float) -> Fit:
    return "fits" if ABOUT[0] <= value < ABOUT[1] else "no"


def _one_draw(slots: int, rng: np.random.Generator) -> tuple[float, float]:
    """Between what shares of the expected the root mean square of one noise vector lies, in 95 of 100 draws."""
    scale = 10_000
    drawn = discrete_laplace(rng, scale, (4000, slots)).astype(float)
    share = np.sqrt(np.mean(drawn**2, axis=1)) / (math.sqrt(2) * scale)
    low, high = np.quantile(share, (0.025, 0.975))
    return float(low), float(high)


def _fold_answer(cycles: int, span: Ranges) -> str:
    # (1 + r)^2 + r^2 = (K/200)^2 for Corollary 1 with Df_x = Df_z and Df_w = r Df_z.
    share = (math.sqrt(2 * (cycles / FOLD) ** 2 - 1) - 1) / 2
    own = gain("corollary-1", span, cycles)
    return (
        "A profile is a mean of readings and ranges no further than they do, so that Theorem 1 gains at least K = "
        f"{cycles}: {FOLD} would need Df_x = {FOLD / cycles:.2f} Df_z. What rounds to {FOLD} on both data sets is "
        f"Corollary 1 as printed, with equal ranges or with the homes' own ({own:.0f} here); with Df_x = Df_z "
        f"it is {FOLD} for Df_w = {share:.2f} Df_z. Theorem 1 does only if a profile's range is counted twice and "
        "a reading's once. The paper may have meant Corollary 1."
    )
