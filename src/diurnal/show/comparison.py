"""The page of a comparison: everybody's errors, promises and curves, and where a rival does better than ours.

Errors are against the truth: the page is for the custodian's eyes, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diurnal.exact import text
from diurnal.show import document
from diurnal.show.document import Block, Heading, Items, Picture, Table, Text
from diurnal.show.rivals import CHARTS, HIDES, LABELS
from diurnal.study.baselines.score import Score
from diurnal.study.compare import Comparison
from diurnal.study.curves import Curve, Curves
from diurnal.study.standing import PROTECTED, Standing, best, better

OURS = ("strong, chosen", "pattern, chosen", "repair, Laplace", "cube", "Theorem 1")
"""Whom rivals are held against, the recommended one first."""

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
    errors = {name: score.relative_error for name, score in scores.items()}
    promises = {name: score.promise for name, score in scores.items()}
    said = []
    for name in (each for each in OURS if each in errors):
        found = better(name, errors, promises)
        stronger = [_named(scores[rival]) for rival in found.get("stronger", [])]
        if stronger:
            words = "; ".join(stronger)
            said.append(f"Under a stronger promise than {name} ({errors[name]:.3g}), less error: {words}.")
        else:
            said.append(f"Nobody with a stronger promise has less error than {name} ({errors[name]:.3g}).")
        others: tuple[tuple[Standing, str], ...] = (
            ("weaker", "a weaker promise"),
            ("another", "a promise that is neither stronger nor weaker"),
        )
        for standing, kind in others:
            if name.endswith("chosen") and standing in found:
                told = "; ".join(_named(scores[rival]) for rival in found[standing])
                said.append(f"Under {kind} than {name}, less error: {told}.")
    for curve in curves.curves:
        said += _along(curve, curves)
    return said


def _along(curve: Curve, curves: Curves) -> Iterator[str]:
    """Where along an axis a rival with a stronger promise than a chosen plan has less error."""
    for name in OURS[:2]:
        if name not in curve.errors:
            continue
        places: dict[str, list[str]] = {}
        for index, at in enumerate(curve.at):
            for rival in better(name, curve.place(index), curves.promises).get("stronger", []):
                places.setdefault(rival, []).append(f"{at:,g}")
        if places:
            told = (
                f"{rival} {'everywhere' if len(where) == len(curve.at) else 'at ' + ', '.join(where)}"
                for rival, where in places.items()
            )
            words = "; ".join(told)
            yield f"Along {LABELS[curve.axis]}, under a stronger promise than {name}, less error: {words}."


def _named(score: Score) -> str:
    """A rival with its error and promise."""
    promise = score.promise
    return f"{score.name} ({score.relative_error:.3g}; {HIDES[promise.protects]}; {promise.when})"


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
        rows=[(name, each.protects, each.over, each.when, each.sentence) for name, each in told],
    )
    yield Text(
        text="Promises differ in whom and what they hide, so errors compare only where promises do. All take the "
        "same epsilon; a strong plan takes it twice, once for the pattern and once for any one cycle."
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
        f"largest true one. Where ± stands (95 %), it is from {draws} draws; else from a formula. OpenDP and "
        " ours draw from the system's entropy, and ours through the shipped curator."
    )


def _row(score: Score) -> tuple[str, ...]:
    return (
        score.name,
        score.promise.protects,
        _error(score, "relative_error"),
        _digits(score.skill),
        *(_error(score, name) for name in ("mean_absolute_error", "day_error", "year_error", "peak_error")),
        "under 0.01" if score.seconds < 1e-8 else f"{1e6 * score.seconds:,.2f}",
    )


def _error(score: Score, name: str) -> str:
    value = getattr(score, name)
    _, high = score.intervals.get(name, (value, value))
    # Roots make the upper half of an interval the narrower one by little: it stands for both.
    return _digits(value) if high - value <= 1e-3 * value else f"{_digits(value)} ± {_rough(high - value)}"


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
            errors = curve.place(index)
            name = best(errors, curves.promises, kind)
            cells.append("" if name is None else f"{name} {errors[name]:.3g}")
        rows.append((HIDES[kind], *cells))
    return Table(head=(f"best, by {LABELS[curve.axis]}", *(f"{at:,g}" for at in curve.at)), rows=rows)


def about(comparison: Comparison, *, history: int, open_data: str) -> str:
    """What was compared on what."""
    return (
        f"The mean of {comparison.n_households} households at each step of {comparison.cycles} cycles of "
        f"{comparison.slots}; a history of {history} cycles before; epsilon {text(comparison.epsilon)}, delta "
        f"{float(comparison.delta):g} where noise is Gaussian. What is publicly known comes from {open_data}. "
        "Settings of rivals were searched on a made-up town, for n times epsilon as here."
    )
