"""The page of a reproduction: the paper's figures and ours side by side.

Truth and coefficients on it are computed on the readings themselves: where these are not open, the page is for the
custodian's eyes, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from diurnal.show import document
from diurnal.show.document import Block, Heading, Picture, Table, Text
from diurnal.show.figure_charts import FIGURES
from diurnal.study.reproduction.accuracy import MECHANISMS, STATED
from diurnal.study.reproduction.hypotheses import Question
from diurnal.study.reproduction.results import Reproduction

PROMISES = {
    "theorem-1": "a shift of a home's periodic component, for ever; variations are published exactly",
    "repair": "the same shift, and a home's variations in any one reported cycle",
    "corollary-1": "none: what the paper promises for it fails",
    "split": "everything of a home, for the year and no longer",
}
"""What each mechanism keeps."""

CAPTIONS = {
    "figure_one": "An almost periodic series as in the paper's Figure 1: a sine, a constant of each cycle, noise.",
    "heatmaps": "The coefficients of every two days and of every two weeks.",
    "histograms": "How large they are. Dashed: what the paper prints.",
    "report": "The report of Theorem 1 at epsilon = 5 against the truth, with the ranges stated here. Above, the "
    "band from the least to the most of every day.",
    "errors": "Relative error against epsilon: root mean square error over the largest true mean.",
    "gains": "How many times less error than epsilon split over all reports, by how many days are reported.",
}

SEEN = {
    (
        "heatmaps",
        "ausgrid",
        "2012-07-01T00:00",
    ): " The edges at days 98 and 280 are the clock changes of 7 October and "
    "7 April: part of what days have in common goes by a clock that does not change.",
    (
        "heatmaps",
        "umass",
        "2015-01-01T00:00",
    ): " The edges at days 275 and 344 are sudden changes of the homes' use, on 3 October and in the course of 11 "
    "December, so that the list below has the 12th; the largest coefficients lie between them.",
}
"""What is to be seen in a figure of the data that the paper used, by figure, experiment and first step."""


def write(study: Reproduction, folder: Path) -> list[Path]:
    """Write the page, its figures and its numbers into a folder, and say which files these are.

    Raises:
        InputError: There is no matplotlib.
    """
    drawn = {name: study.picture("svg", name) for name in FIGURES}
    private = study.said.name != "town"
    return document.write(folder, "reproduction", tuple(blocks(study)), drawn, study.to_json(), private=private)


def _title(study: Reproduction) -> str:
    return f"The paper reproduced: {study.said.title}"


def blocks(study: Reproduction) -> Iterator[Block]:
    """Everything on the page, from top to bottom."""
    yield Heading(text=_title(study), level=1)
    yield from _data(study)
    yield from _statements(study)
    yield from _errors(study)
    yield Heading(text="Figures")
    for name in FIGURES:
        seen = SEEN.get((name, study.said.name, study.days.grid.anchor), "")
        yield Picture(name=name, caption=CAPTIONS[name] + seen)
    yield Heading(text="What the paper leaves open")
    yield Text(
        text="Each way to understand it, with what that gives. It fits if that is what the paper prints; it is "
        "possible if only the homes that are missing here lie between, within two standard deviations. Many ways "
        "are tried, so that one may come near by chance."
    )
    for question in study.questions:
        yield from _question(question)


def _data(study: Reproduction) -> Iterator[Block]:
    setting, grid = study.series.setting, study.days.grid
    first, last = (grid.wall(step) for step in (study.days.first_step, study.days.steps[-1]))
    yield Text(
        text='F. Farokhi, "Differential Privacy for Evolving Almost-Periodic Datasets with Continual Linear '
        'Queries: Application to Energy Data Privacy", arXiv 1909.11812. A study: nothing here is a release. Truth '
        "and coefficients are computed on the readings themselves; where these are not open, this page is for the "
        "custodian's eyes."
    )
    yield Table(
        head=("", "the paper", "here"),
        rows=(
            ("data", study.said.paper_data, f"{setting.homes} homes, {first:%Y-%m-%d} to {last:%Y-%m-%d}"),
            ("half hours", f"{study.said.horizon:,} (as printed)", f"{setting.cycles * setting.slots:,}"),
            ("difference", "", study.said.gap),
            ("largest mean", "not printed", f"{setting.peak / 1000:.3f} kWh a half hour"),
        ),
    )


def _statements(study: Reproduction) -> Iterator[Block]:
    yield Heading(text="What the paper says, and what became of it")
    yield Table(
        head=("the paper says", "its figure", "ours", "", "why"),
        rows=[(each.says, each.paper, each.ours, each.outcome, each.why) for each in study.statements],
    )


def _errors(study: Reproduction) -> Iterator[Block]:
    shown = (0.1, 1.0, 5.0, 10.0)
    yield Heading(text="Relative errors")
    yield Text(
        text=f"With Df_z = {STATED.profile / 1000:g} kWh, Df_w = {STATED.variation / 1000:g} kWh and Df_x = "
        f"{STATED.reading / 1000:g} kWh, a period of a day, epsilon the same for both layers of the repair."
    )
    yield Table(
        head=("mechanism", *(f"epsilon {each:g}" for each in shown), "promise"),
        rows=[
            (words, *(_number(study.error(name, each)) for each in shown), PROMISES[name])
            for name, words in MECHANISMS.items()
        ],
    )
    yield Text(
        text="Corollary 1 is studied here and nowhere run: its promise fails, since every later cycle repeats the "
        "first cycle's variations behind noise of its own, and the loss adds up with every cycle (theory 3). No "
        "curator can run it; in strong mode it runs the repair, which has fresh noise in the first cycle too, "
        "keeps the promise and has less error."
    )


def _question(question: Question) -> Iterator[Block]:
    judged = any(row.fits for row in question.rows)
    yield Heading(text=question.name, level=3)
    yield Text(text=question.asked)
    rows = [(row.reading, *map(_number, row.values), *((row.fits,) if judged else ())) for row in question.rows]
    if any(question.paper):
        rows.insert(0, ("the paper", *question.paper, *(("",) if judged else ())))
    yield Table(head=("", *question.columns, *(("",) if judged else ())), rows=rows)
    yield Text(text=question.answer)


def _number(value: float) -> str:
    """Whole numbers as they are, small ones to four places, others to four digits."""
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.4g}"
