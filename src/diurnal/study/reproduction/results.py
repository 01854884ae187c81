"""Results: an experiment of the paper reproduced, from data to figures and statements."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diurnal.periodicity.correlation import Correlations, correlations
from diurnal.periodicity.evidence import evidence
from diurnal.picture import Pictured
from diurnal.private import Private, PrivateDict, private
from diurnal.readings.data import Floats, Integers
from diurnal.readings.panel import Panel
from diurnal.study.reproduction import hypotheses
from diurnal.study.reproduction.accuracy import (
    EPSILONS,
    MECHANISMS,
    STATED,
    Point,
    Ranges,
    Series,
    error,
    gain,
    points,
    report,
)
from diurnal.study.reproduction.coefficients import SUBSETS, Chance, Sizes, chance, season_share
from diurnal.study.reproduction.experiments import Experiment, Source, source
from diurnal.study.reproduction.hypotheses import Question
from diurnal.study.reproduction.statements import Facts, Statement, negative_share, statements

EPSILON = 5.0
"""At which epsilon the paper shows its reports."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reproduction(Pictured, Private):
    """An experiment of the paper, reproduced. It shows the truth: for whoever may see the readings."""

    said: Experiment
    """What the paper says."""
    daily: Correlations
    """The coefficients with a period of a day."""
    weekly: Correlations
    """The coefficients with a period of a week."""
    series: Series
    """The sums that are reported."""
    reports: Integers = field(repr=False)
    """Theorem 1's reported sums at epsilon = 5."""
    points: tuple[Point, ...]
    """Errors that were drawn."""
    questions: tuple[Question, ...]
    """What the paper leaves open, and what fits."""
    statements: tuple[Statement, ...]
    """What the paper says, and what became of it."""
    days: Panel
    """The panel's grid and roster, for times."""

    @property
    def ranges(self) -> Ranges:
        """By how much one home may change what is added up."""
        return STATED

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Where errors are shown."""
        return EPSILONS

    def errors(self, mechanism: str) -> Floats:
        """The relative error of a mechanism at every one of the epsilons, in closed form."""
        setting = self.series.setting
        return np.array([error(mechanism, self.ranges, setting, each) for each in self.epsilons])

    def error(self, mechanism: str, epsilon: float = 1) -> float:
        """The relative error of a mechanism, in closed form."""
        return error(mechanism, self.ranges, self.series.setting, epsilon)

    def question(self, name: str) -> Question:
        """One of the questions, by name."""
        return next(each for each in self.questions if each.name == name)

    def to_json(self) -> PrivateDict:
        """Every number, as plain data."""
        setting = self.series.setting
        content: PrivateDict = private(
            {
                "experiment": asdict(self.said),
                "data": {"homes": setting.homes, "days": setting.cycles, "largest_mean": setting.peak},
                "correlation": {
                    name: asdict(Sizes.of(found))
                    for name, found in (("daily", self.daily), ("weekly", self.weekly))
                },
                "ranges": {"stated": asdict(self.ranges), "spans": asdict(self.series.span)},
                "relative_error": {
                    name: {f"{each:g}": self.error(name, each) for each in (0.1, 1, 5, 10)} for name in MECHANISMS
                },
                "gain": {
                    f"{days} days": {name: gain(name, self.ranges, days) for name in MECHANISMS if name != "split"}
                    for days in sorted({self.said.cycles, setting.cycles})
                },
                "draws": [{**asdict(each), "agrees": each.agrees} for each in self.points],
                "questions": [_question(each) for each in self.questions],
                "statements": [asdict(each) for each in self.statements],
            }
        )
        return content

    def __str__(self) -> str:
        head = f"{self.said.title}: what the paper says, and what became of it"
        lines = [
            f"{each.outcome:14} {each.says}\n{'':15}paper: {each.paper}; ours: {each.ours}"
            for each in self.statements
        ]
        return "\n".join([head, "", *lines])


def _question(question: Question) -> dict[str, Any]:
    return {
        "name": question.name,
        "columns": question.columns,
        "paper": question.paper,
        "rows": [asdict(row) for row in question.rows],
        "answer": question.answer,
    }


def reproduce(name: str, data: str | Path | None = None) -> Reproduction:
    """Reproduce an experiment of the paper.

    Args:
        name: ausgrid, umass, or town, which is made up and needs no data.
        data: Ausgrid's file, or the folder of the UMass apartments.

    Raises:
        InputError: There is no such experiment, or its data is missing.
        ReadingsError: The data cannot be read as the experiment's, or is too short.
    """
    return reproduction(source(name, data))


def reproduction(given: Source, *, seed: int = 0, subsets: int = SUBSETS) -> Reproduction:
    """The same for data that is read already.

    Args:
        given: The data.
        seed: For draws and choices of homes, so that one data set has one page. It reaches no release.
        subsets: How many choices of homes are tried.
    """
    rng, panel, said = np.random.default_rng(seed), given.panel, given.experiment
    weeks = panel.with_period("7d")
    daily, weekly, series = correlations(panel), correlations(weeks), Series.of(panel)
    by_day, by_week = (chance(each, said.homes, rng, subsets=subsets) for each in (panel, weeks))
    questions = _questions(given, Sizes.of(daily), by_day, by_week, series, rng)
    reports, exact = _reported(series, rng)
    drawn = points(series, STATED, rng)
    facts = Facts(
        said=said,
        daily=Sizes.of(daily),
        weekly=Sizes.of(weekly),
        negative=negative_share(daily.pairs),
        seasons=season_share(daily),
        evidence=evidence(panel, daily.cycles, rng=rng),
        chance=by_day,
        weekly_chance=by_week,
        series=series,
        exact=exact,
        points=drawn,
        skill=_skill(series),
        weeks_below=_below(questions),
        better=_better(questions[0]),
    )
    return Reproduction(
        said=said,
        daily=daily,
        weekly=weekly,
        series=series,
        reports=reports,
        points=drawn,
        questions=questions,
        statements=statements(facts),
        days=panel,
    )


def _questions(
    given: Source, daily: Sizes, by_day: Chance, by_week: Chance, series: Series, rng: np.random.Generator
) -> tuple[Question, ...]:
    said, panel = given.experiment, given.panel
    asked = (
        hypotheses.measured(given, daily, by_day),
        hypotheses.homes(daily, by_day, said),
        hypotheses.breaks(panel),
        hypotheses.weeks(panel, said, by_week),
        hypotheses.fold(said, series, Series.of(panel.with_period("7d")), rng),
        hypotheses.ranges(series),
        hypotheses.horizons(said),
    )
    return tuple(each for each in asked if each is not None)


def _reported(series: Series, rng: np.random.Generator) -> tuple[Integers, bool]:
    """Theorem 1 over the whole horizon, home by home, and whether it is one noise vector repeated."""
    reports = report(series, "theorem-1", STATED, EPSILON, rng)
    off = (reports - series.readings.sum(axis=1)).reshape(-1, len(series.profile))
    return reports, bool((off == off[0]).all())


def _skill(series: Series) -> float:
    """The expected skill of Theorem 1 at epsilon = 5."""
    truth = series.truth
    off = error("theorem-1", STATED, series.setting, EPSILON) * truth.max()
    return 1 - float(off**2 / np.var(truth))


def _below(questions: tuple[Question, ...]) -> int | None:
    found = [each for each in questions if each.name == "The first day of a week"]
    return sum(row.fits == "fits" for row in found[0].rows) if found else None


def _better(question: Question) -> str:
    """The nearest of the other readings, where the first does not fit."""
    if question.rows[0].fits == "fits":
        return ""
    return question.answer


__all__ = ["EPSILON", "Reproduction", "reproduce", "reproduction"]
