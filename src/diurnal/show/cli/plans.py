"""The verb about plans: `plan` predicts, chooses, explains and writes a plan, before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from diurnal.errors import PlanError
from diurnal.exact import text
from diurnal.planning.prediction import Prediction, Row
from diurnal.readings.panel import Panel
from diurnal.show.certificate import certificate as certified
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import Engine, Master, Without, a_panel, a_session
from diurnal.show.files import check_target, left_out, write_whole
from diurnal.show.plan_request import BOUNDS, PlanRequest
from diurnal.show.proposal import Proposal, propose

CLIPPED = {
    "unknown": "dropped: without open data, what bounds clip is not in it, nor in the errors",
    "table": "dropped: by a table, what bounds clip is in it as on homes of two other regions and a made-up town",
}
"""What the errors of a table have of what bounds clip."""


def plan(
    screen: Screen,
    panel: Annotated[str, typer.Argument(help="The panel that `import` kept; only its sizes are used.")],
    request: PlanRequest,
    open_data: Annotated[
        str | None, typer.Option(help="PUBLIC readings of other homes, as a panel.", rich_help_panel=BOUNDS)
    ] = None,
    without: Without = None,
    out: Annotated[Path | None, typer.Option(help="Write the plan: JSON, for `start`.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Write the promise: Markdown, to be filed.")] = None,
    engine: Engine = "local",
    master: Master = "local[*]",
) -> None:
    """What would be promised, and how good reports would be: every mechanism, before anything is spent.

    Of the panel nothing but its sizes, grid and domain is used. Bounds come from public knowledge: name them, or
    give open data of other homes, from which they are chosen.
    """
    for path in (out, certificate):
        if path is not None:
            check_target(path, [panel, *([] if open_data is None else [open_data])])
    if out is not None and out == certificate:
        raise PlanError("cli-same-output")
    request.check()
    homes = left_out(a_panel([panel], session=a_session(engine, master)), without)
    elsewhere = None if open_data is None else a_panel([open_data])
    found = propose(request, homes, domain=homes.domain, open_data=elsewhere)
    if out is not None:
        write_whole(out, f"{json.dumps(found.plan.to_json(), indent=1)}\n")
    if certificate is not None:
        write_whole(certificate, certified(found.plan, homes, open_data=elsewhere))
    files = {"out": out, "certificate": certificate}
    screen.result(
        {**found.to_json(), **{name: None if path is None else str(path) for name, path in files.items()}}
    )
    _say(screen, found, homes)
    for path in files.values():
        if path is not None:
            screen.say(f"written to {path}")


def _say(screen: Screen, found: Proposal, homes: Panel) -> None:
    chosen, own = found.plan, found.own
    screen.table(prediction_table(found.prediction, own, wide=screen.wide))
    screen.heading(f"Chosen: {own.name}, epsilon {text(chosen.eps_z)}, level {chosen.level}")
    screen.sentences(found.sentences)
    for warning in found.prediction.warnings(own):
        screen.heading(f"Warning: {warning}")
    if chosen.history > homes.n_cycles:
        screen.heading(
            f"Warning: the panel has {homes.n_cycles} whole cycles so far; the plan learns from {chosen.history}."
        )


def prediction_table(prediction: Prediction, own: Row, *, wide: bool = True) -> Table:
    """The error of every way to report, as a table; the chosen one marked."""
    unit = prediction.plan.query.unit(prediction.plan.grid.unit)
    columns = ("report", "peak", "day", "month", "dropped") if wide else ("report", "day")
    title = f"Predicted error in {unit}, level {prediction.plan.level}, {prediction.n_households} homes a group"
    made = table("", *columns, right=columns, title=title)
    clipping = {row.clipping for row in prediction.mechanisms}
    unknown = any(row.bias is None for row in prediction.mechanisms)
    for line in prediction.lines(own.name):
        name, *cells = line.cells(("name", *columns), careful=False)
        is_own = line.kind == "own"
        made.add_row(f"{'> ' if is_own else '  '}{name}", *cells, style="bold" if is_own else None)
    # What a split gives depends on how many reports it is for, which another panel or page has others of.
    made.caption = "\n".join(
        [
            *(f"split: {row.promise}" for row in prediction.split[:1]),
            *(["dropped unknown: errors are at least so large"] if unknown else []),
            *(said for source, said in CLIPPED.items() if source in clipping),
        ]
    )
    made.caption_justify = "left"
    return made


def add(app: typer.Typer) -> None:
    """Add the verb."""
    verbs.add(
        app,
        "plan",
        plan,
        example="diurnal plan homes.parquet --epsilon 1 --history 60 --mean-reading 400 --out plan.json",
    )
