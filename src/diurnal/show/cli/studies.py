"""Verbs for study: `reproduce` the paper, `compare` every way to report. Nothing of what they make is a release."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diurnal.errors import PlanError
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import a_panel
from diurnal.study.town import Town

if TYPE_CHECKING:
    from diurnal.study.reproduction import Reproduction


class Name(StrEnum):
    """The experiments."""

    ausgrid = "ausgrid"
    umass = "umass"
    town = "town"


def reproduce(
    screen: Screen,
    experiment: Annotated[
        Name, typer.Argument(help="A data set of the paper, or a made-up town, which needs no data.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the page, its figures and its numbers.")],
    data: Annotated[
        Path | None, typer.Option(help="A year's file of Ausgrid, or the folder of UMass apartments.")
    ] = None,
) -> None:
    """Reproduce the paper's experiments, figure by figure, and check each of its statements.

    Writes a page, as Markdown and as HTML that opens offline, its figures and every number.
    It is a study, not a release: it shows the truth. It needs the extra charts.
    """
    if data is None and experiment is not Name.town:
        raise typer.BadParameter(f"The experiment {experiment.value} needs its data.", param_hint="--data")
    if data is not None and experiment is Name.town:
        raise typer.BadParameter("The experiment town is made up, and takes no data.", param_hint="--data")
    from diurnal.show import document
    from diurnal.show import reproduction as page
    from diurnal.study.reproduction import reproduce as reproduced

    document.ready(out)
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


def compare(
    screen: Screen,
    data: Annotated[
        list[str], typer.Argument(help="A panel that `import` wrote, or files that need no flags to be imported.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for the page, its charts and its numbers.")],
    epsilon: Annotated[
        str, typer.Option(help="The epsilon that every method may spend; charts show other values, too.")
    ] = "1",
    history: Annotated[
        list[str] | None,
        typer.Option(help="The cycles before DATA; repeatable. Defaults to DATA's first half, up to 91 cycles."),
    ] = None,
    open_data: Annotated[
        str | None, typer.Option(help="PUBLIC readings of other homes, as a panel; defaults to a made-up town.")
    ] = None,
    mean_reading: Annotated[
        float | None,
        typer.Option(
            "--mean-reading", "--level", help="The publicly known mean of a reading; defaults to the open data's."
        ),
    ] = None,
    domain: Annotated[
        tuple[int, int] | None, typer.Option(help="The smallest and the largest reading; defaults to DATA's.")
    ] = None,
    profile_range: Annotated[
        tuple[int, int] | None,
        typer.Option(help="The range of a home's mean in a slot, for Theorem 1; defaults to the domain."),
    ] = None,
    delta: Annotated[str, typer.Option(help="The delta of Gaussian noise.")] = "1e-6",
    period: Annotated[str | None, typer.Option(help="The length of a cycle; defaults to the panel's.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="The time zone of the homes, if raw files do not have it.")
    ] = None,
    draws: Annotated[int, typer.Option(help="The number of releases to draw for each method.", min=2)] = 20,
) -> None:
    """Compare ways to report on the same readings: ours, the paper's, and what a user might choose instead.

    Writes a page, as Markdown and as HTML that opens offline, with one table, what each method promises, charts of
    error against epsilon, households and horizon, and which methods are better than ours under which promise.
    Errors are against the truth: the page is for the custodian's eyes, not a release. It needs the extra charts.
    """
    from diurnal.show import comparison as page
    from diurnal.show import document
    from diurnal.study.baselines import task_of
    from diurnal.study.baselines.task import check_public
    from diurnal.study.compare import compare as compared
    from diurnal.study.curves import curves as curved

    check_public(
        epsilon=epsilon, delta=delta, domain=domain, profile_range=profile_range, mean_reading=mean_reading
    )
    document.ready(out)
    homes = a_panel(data, period=period, zone=zone)
    task = task_of(
        homes,
        epsilon=epsilon,
        open_data=_elsewhere(homes.grid) if open_data is None else a_panel([open_data], period=period, zone=zone),
        history=None if not history else a_panel(history, period=period, zone=zone),
        delta=delta,
        domain=domain,
        profile_range=profile_range,
        mean_reading=mean_reading,
    )
    scores = compared(task, draws=draws)
    along = curved(task)
    source = "a made-up town" if open_data is None else f"open data, {task.open_data.n_households} households"
    about = page.about(scores, history=task.history.n_cycles, open_data=source, whole_domain=profile_range is None)
    said = page.findings(scores, along)
    numbers = {**scores.to_json(), "curves": along.to_json(), "findings": said}
    files = page.write(scores, along, out, about=about, numbers=numbers)
    screen.result({**numbers, "out": str(out), "files": [str(path) for path in files]})
    screen.say(about)
    screen.say()
    screen.say(scores)
    screen.heading("Which methods are better than ours, and under which promise")
    screen.sentences(said)
    screen.say(
        f"\nwritten to {out}, for the custodian's eyes: comparison.html, comparison.md, numbers.json, figures"
    )


def _elsewhere(grid: Grid) -> Panel:
    """A made-up town as open data, for whoever has none."""
    days, rest = divmod(grid.slots * grid.minutes, 24 * 60)
    if rest or grid.minutes != 30 or grid.unit != "Wh":
        raise PlanError("cli-open-data-missing")
    return Town(homes=150, days=91, seed=2).panel().with_period(f"{days}d")


def add(app: typer.Typer) -> None:
    """Add these verbs."""
    verbs.add(app, "reproduce", reproduce, example="diurnal reproduce town --out paper")
    verbs.add(app, "compare", compare, example="diurnal compare homes.parquet --epsilon 1 --out rivals")
