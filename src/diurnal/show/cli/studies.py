"""Verbs about the paper: `reproduce`. What they make is for study; nothing of it is a release."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.study.reproduction import Reproduction
from diurnal.study.reproduction import reproduce as reproduced


class Name(StrEnum):
    """The experiments."""

    ausgrid = "ausgrid"
    umass = "umass"
    town = "town"


def reproduce(
    screen: Screen,
    experiment: Annotated[
        Name, typer.Argument(help="The paper's data sets; or a made-up town, which needs no data.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the page, its figures and its numbers.")],
    data: Annotated[
        Path | None, typer.Option(help="Ausgrid's file of a year, or the folder of UMass apartments.")
    ] = None,
) -> None:
    """The paper's experiments, figure by figure, and what became of each of its statements.

    Writes a page, as Markdown and as HTML that opens offline, its figures and every number.
    It is a study and no release: it shows the truth. It needs the extra charts.
    """
    if data is None and experiment is not Name.town:
        raise typer.BadParameter(f"The experiment {experiment.value} needs its data.", param_hint="--data")
    from diurnal.show import reproduction as page

    page.ready()
    study = reproduced(experiment.value, data)
    files = page.write(study, out)
    screen.result({"out": str(out), "files": [str(path) for path in files], **study.to_json()})
    _said(screen, study)
    screen.say(f"\nwritten to {out}: reproduction.html, reproduction.md, numbers.json, figures")


def _said(screen: Screen, study: Reproduction) -> None:
    screen.heading(study.said.title)
    shown = table("the paper says", "its figure", "ours", "")
    for each in study.statements:
        shown.add_row(each.says, each.paper, each.ours, each.outcome)
    screen.table(shown)
    for question in study.questions:
        screen.say(f"\n{question.name}: {question.answer}")


def add(app: typer.Typer) -> None:
    """Add the verb."""
    verbs.add(app, "reproduce", reproduce, example="diurnal reproduce town --out paper")
