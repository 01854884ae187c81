"""The page of a comparison: everybody's errors, promises and curves, and where a rival does better than ours.

Errors are against the truth: the page is for the custodian's eyes, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from diurnal.exact import text
from diurnal.show import document
from diurnal.show.document import Block, Heading, Items, Picture, Table, Text
from diurnal.show.rival_charts import CHARTS, HIDES, LABELS
from diurnal.study.baselines.base import Promise
from diurnal.study.baselines.score import Score
from diurnal.study.compare import MINIMUM, Comparison
from diurnal.study.curves import Curve, Curves
from diurnal.study.standing import PROTECTED, Error, Standing, best, better

CHOSEN = ("strong, chosen", "pattern, chosen")
"""What a custodian is given without choosing anything."""
OURS = (*CHOSEN, "repair, Laplace", "cube", "Theorem 1")
"""Whom rivals are held against, the recommended one first."""

LEFT_OUT = f"Ours are left out: no plan can be started for fewer than {MINIMUM} households."

UNDER: dict[Standing, str] = {
    "stronger": "a stronger promise than",
    "the same": "the same promise as",
    "weaker": "a weaker promise than",
    "another": "a promise that is neither stronger nor weaker than",
}
"""How a rival's promise may stand to ours, in words."""

TOTALS = {"day_error": "a day's total", "year_error": "the whole total"}
"""What is compared besides single reports."""

CAPTIONS = {
    "overview": "Relative error of everybody. Left of the dashed line is what is worth its epsilon.",
    "epsilon": "At n and horizon as above. A rival's settings are those that suit n times epsilon; trees and "
    "matrices are set for totals of a day, not for reports.",
    "households": "Fewer households are some of them at random; more are the same ones several times over, which "
    "leaves the mean as it is and makes the noise smaller.",
    "cycles": "The first cycles of the same readings: what splits epsilon over the horizon gets worse with it, "
    "what goes on for ever does not. Lines without noise move with the season.",
}


def findings(comparison: Comparison, curves: Curves) -> list[str]:
    """Where rivals do better than ours, by how their promise stands to ours: sentences."""
    scores = {score.name: score for score in comparison.scores}
    said = [] if set(OURS) & set(scores) else [LEFT_OUT]
    for name in (each for each in OURS if each in scores):
        said += _reports(name, scores)
    for name in (each for each in CHOSEN if each in scores):
        for measure in TOTALS:
            said += _totals(name, measure, scores)
    for curve in curves.curves:
        said += _along(curve, curves)
    return said


def _reports(name: str, scores: Mapping[str, Score]) -> Iterator[str]:
    """Who has less error in a report than one of ours; weaker and other promises only beside what is chosen."""
    found, own = _better(name, scores), scores[name]
    if not found.get("stronger"):
        yield f"Nobody with a stronger promise has less error than {name} ({own.relative_error:.3g})."
    for standing in UNDER if name in CHOSEN else ("stronger", "the same"):
        if found.get(standing):
            told = "; ".join(_named(scores[rival], own) for rival in found[standing])
            yield f"Under {UNDER[standing]} {name} ({own.relative_error:.3g}), less error: {told}."


def _totals(name: str, measure: str, scores: Mapping[str, Score]) -> Iterator[str]:
    """Who is best at totals, with each standing where that is somebody else than the best at reports."""
    by_report, by_total = (_better(name, scores, each) for each in ("relative_error", measure))
    told = []
    for standing, words in UNDER.items():
        before, now = (found.get(standing, [None])[0] for found in (by_report, by_total))
        if before != now:
            told.append(f"{words} its own, {_named(scores[now], scores[name], measure) if now else 'nobody'}")
    if told:
        own = getattr(scores[name], measure)
        yield f"In {TOTALS[measure]} {name} has an error of {own:.3g}; less has, under {'; under '.join(told)}."


def _better(name: str, scores: Mapping[str, Score], measure: str = "relative_error") -> dict[Standing, list[str]]:
    errors = {each: error_of(score, measure) for each, score in scores.items()}
    return better(name, errors, {each: score.promise for each, score in scores.items()})


def error_of(score: Score, measure: str = "relative_error") -> Error:
    """One of the errors of a score, with its interval."""
    value = getattr(score, measure)
    return Error(value, *score.intervals.get(measure, (value, value)))


def _along(curve: Curve, curves: Curves) -> Iterator[str]:
    """Where along an axis a rival has less error than a chosen plan, but for those with a weaker promise."""
    asked: tuple[Standing, ...] = ("stronger", "the same", "another")
    for name in (each for each in CHOSEN if each in curve.errors):
        for standing in asked:
            places: dict[str, list[int]] = {}
            for index in range(len(curve.at)):
                for rival in better(name, curve.place(index), curves.promises).get(standing, []):
                    places.setdefault(rival, []).append(index)
            if places:
                words = "; ".join(f"{rival} {_where(rival, name, at, curve)}" for rival, at in places.items())
                yield f"Along {LABELS[curve.axis]}, under {UNDER[standing]} {name}, less error: {words}."


def _where(rival: str, name: str, places: Sequence[int], curve: Curve) -> str:
    """At which places one has less error than the other, and at which that cannot be told."""
    alike = [i for i in places if curve.place(i)[rival].alike(curve.place(i)[name])]
    less = [i for i in places if i not in alike]
    if len(less) == len(curve.at):
        return "everywhere"
    told = (
        f"{words} {', '.join(f'{curve.at[i]:,g}' for i in at)}"
        for words, at in (("at", less), ("about the same at", alike))
        if at
    )
    return ", ".join(told)


def _named(score: Score, own: Score, measure: str = "relative_error") -> str:
    """A rival with its error and promise, and whether that error can be told from ours."""
    alike = error_of(score, measure).alike(error_of(own, measure))
    words = f"{_hides(score.promise)}; {score.promise.when}"
    return f"{score.name} ({getattr(score, measure):.3g}{', about the same' if alike else ''}; {words})"


def _hides(promise: Promise) -> str:
    """What is hidden, in the words of a chart."""
    return HIDES[promise.protects] + (f", delta {promise.delta:g}" if promise.delta else "")


def write(
    comparison: Comparison, curves: Curves, folder: Path, *, about: str, numbers: dict[str, Any]
) -> list[Path]:
    """Write the page, its charts and its numbers into a folder, and say which files these are.

    Args:
        comparison: Everybody's scores.
        curves: How errors change.
        folder: Where to.
        about: What was compared on what, in sentences.
        numbers: Everything as plain data.

    Raises:
        InputError: There is no matplotlib.
    """
    drawn = {name: (comparison if name == "overview" else curves).picture("svg", name) for name in CHARTS}
    page = tuple(blocks(comparison, curves, about))
    return document.write(folder, "comparison", page, drawn, numbers, private=True)


def blocks(comparison: Comparison, curves: Curves, about: str) -> Iterator[Block]:
    """Everything on the page, from top to bottom."""
    yield Heading(text="Every way to report, compared", level=1)
    yield Text(text="Private: errors are against the truth, so this page is for the custodian's eyes.")
    yield Text(text=about)
    yield from _scores(comparison)
    yield Picture(name="overview", caption=CAPTIONS["overview"])
    yield Heading(text="Who does better than ours, and under which promise")
    yield Items(texts=findings(comparison, curves))
    yield Heading(text="What each promises")
    told = ((score.name, score.promise) for score in comparison.scores)
    yield Table(
        head=("name", "hides", "over", "when", "in full"),
        rows=[(name, each.hides, each.over, each.when, each.sentence) for name, each in told],
    )
    yield Text(
        text="Promises differ in whom and what they hide, so errors compare only where promises do. All take the "
        "same epsilon; a strong plan takes it twice, once for a shift of the pattern and once for any one reported "
        "cycle. That is neither more nor less than hiding any so many consecutive steps: it hides a shift of the "
        "pattern too, but an event across midnight costs two cycles, and a change in the history is not covered by "
        "every mechanism. Where there is a delta, chances may differ by that much more: it is never stronger than "
        "a promise without."
    )
    yield Heading(text="Against epsilon, households and horizon")
    yield Text(
        text=f"Closed forms where noise is additive; else {curves.draws} draws a place, with bars of 95 % where "
        "they are wide enough to be seen."
    )
    for curve in curves.curves:
        yield Picture(name=curve.axis, caption=CAPTIONS[curve.axis])
        yield _winners(curve, curves)


def _scores(comparison: Comparison) -> Iterator[Block]:
    unit = comparison.unit
    head = ("name", "hides", "relative error", "skill", f"mean absolute ({unit})", "day's total", "whole total")
    yield Table(head=(*head, "day's peak", "us a report"), rows=[_row(score) for score in comparison.scores])
    draws = max(score.draws for score in comparison.scores)
    yield Text(
        text="Relative error: root mean square over the largest true value. Skill: 1 for the truth, 0 for the best "
        "constant. Totals: root mean square over the mean total. Peak: that of a cycle's largest value, over the "
        f"largest true one. Where ± stands (95 %, the wider half), it is from {draws} draws; else from a formula. "
        "OpenDP and ours draw without a seed, and ours through the shipped curator."
    )


def _row(score: Score) -> tuple[str, ...]:
    return (
        score.name,
        score.promise.hides,
        _error(score, "relative_error"),
        _digits(score.skill),
        *(_error(score, name) for name in ("mean_absolute_error", "day_error", "year_error", "peak_error")),
        "under 0.01" if score.seconds < 1e-8 else f"{1e6 * score.seconds:,.2f}",
    )


def _error(score: Score, name: str) -> str:
    value, low, high = error_of(score, name)
    # A root makes the lower half of an interval the wider one: it stands for both.
    half = max(high - value, value - low)
    return _digits(value) if half <= 1e-9 * value else f"{_digits(value)} ± {_rough(half)}"


def _digits(value: float) -> str:
    """Three digits."""
    size = abs(value)
    if size < 1e-4 or size >= 1e6:
        return "0" if size < 1e-9 else f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,.0f}" if size >= 1000 else f"{value:.3g}"


def _rough(value: float) -> str:
    """One digit."""
    return f"{float(f'{value:.1g}'):,.7g}"


def _winners(curve: Curve, curves: Curves) -> Table:
    """Who has the least error with each promise, at each place."""
    having = {curves.promises[name].protects for name in curve.errors}
    kinds = [kind for kind in PROTECTED if kind in having and kind not in ("fails", "nothing")]
    rows = []
    for kind in kinds:
        cells = []
        for index in range(len(curve.at)):
            errors = {each: error.value for each, error in curve.place(index).items()}
            name = best(errors, curves.promises, kind)
            delta = "" if name is None or not curves.promises[name].delta else " (with delta)"
            cells.append("" if name is None else f"{name}{delta} {errors[name]:.3g}")
        rows.append((HIDES[kind], *cells))
    return Table(head=(f"best, by {LABELS[curve.axis]}", *(f"{at:,g}" for at in curve.at)), rows=rows)


def about(comparison: Comparison, *, history: int, open_data: str, whole_domain: bool = False) -> str:
    """What was compared on what.

    Args:
        comparison: Everybody's scores.
        history: How many cycles there are before.
        open_data: Where public knowledge comes from.
        whole_domain: Whether no range of a profile was given.
    """
    said = (
        f"The mean of {comparison.n_households} households at each step of {comparison.horizon}; a history of "
        f"{counted(history, 'cycle')} before; epsilon {text(comparison.epsilon)}, delta "
        f"{float(comparison.delta):g} where noise is Gaussian. What is publicly known comes from {open_data}. "
        "Settings of rivals were searched on a made-up town, for n times epsilon as here."
    )
    if not any(score.name in OURS for score in comparison.scores):
        said += f" {LEFT_OUT}"
    elif whole_domain:
        said += (
            " No range of a profile was given (--profile-range), so that Theorem 1, cube, the repair and "
            "Corollary 1 have the whole domain for it."
        )
    return said


def counted(number: int, word: str) -> str:
    """So many of something, in words."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
