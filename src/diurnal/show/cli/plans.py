"""The verb about plans: `plan` predicts, chooses, explains and writes a plan, before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.table import Table

from diurnal.errors import PlanError
from diurnal.exact import text
from diurnal.planning.prediction import Prediction, Row, short
from diurnal.promise.levels import LEVELS
from diurnal.promise.mechanisms import MechanismName
from diurnal.readings.panel import Panel
from diurnal.show.certificate import certificate as certified
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import Engine, Master, Without, a_panel, a_session
from diurnal.show.files import check_target, left_out, write_whole
from diurnal.show.proposal import Asked, Proposal, propose

BOUNDS = "Bounds, from public knowledge"
NOISE = "Noise"

CLIPPED = {
    "unknown": "dropped: without open data, what bounds clip is not in it, nor in the errors",
    "table": "dropped: by a table, what bounds clip is in it as on homes of two other regions and a made-up town",
}
"""What the errors of a table have of what bounds clip."""


def plan(
    screen: Screen,
    panel: Annotated[str, typer.Argument(help="The panel that `import` kept; only its sizes are used.")],
    epsilon: Annotated[
        str | None, typer.Option(help="For a shift of a home's periodic component, for ever.")
    ] = None,
    level: Annotated[str, typer.Option(help=f"{', '.join(level.label for level in LEVELS.values())}.")] = "strong",
    query: Annotated[str, typer.Option(help="mean, sum, share (--above) or histogram (--edges).")] = "mean",
    above: Annotated[int | None, typer.Option(help="For share: the reading to count homes above.")] = None,
    edges: Annotated[str | None, typer.Option(help="For histogram: 200,500,1000 makes four bins.")] = None,
    groups: Annotated[str | None, typer.Option(help="The partition to report by, such as suburb.")] = None,
    history: Annotated[int, typer.Option(help="How many whole cycles to learn patterns from.")] = 91,
    statistic: Annotated[
        str, typer.Option(help="A home's profile: mean, or in pattern mode base-load, which hides less.")
    ] = "mean",
    cycle_epsilon: Annotated[
        str | None, typer.Option(help="For one home in one reported cycle; epsilon's.")
    ] = None,
    target_error: Annotated[
        str | None, typer.Option(help="Instead of --epsilon: the least one with such an error.")
    ] = None,
    total_epsilon: Annotated[
        str | None, typer.Option(help="Instead of --epsilon: both of a strong plan together, split at best.")
    ] = None,
    domain: Annotated[
        tuple[int, int] | None,
        typer.Option(help="Least and largest reading; the panel's own.", rich_help_panel=BOUNDS),
    ] = None,
    open_data: Annotated[
        str | None, typer.Option(help="PUBLIC readings of other homes, as a panel.", rich_help_panel=BOUNDS)
    ] = None,
    mean_reading: Annotated[
        str | None, typer.Option(help="The PUBLIC mean of a reading, from statistics.", rich_help_panel=BOUNDS)
    ] = None,
    free: Annotated[
        bool,
        typer.Option(help="Pattern mode: a reference from the history's variations.", rich_help_panel=BOUNDS),
    ] = True,
    body_radius: Annotated[
        int | None,
        typer.Option(help="How far a home's profile may be from the public one.", rich_help_panel=BOUNDS),
    ] = None,
    cycle_radius: Annotated[
        int | None, typer.Option(help="How long a day's variations may be.", rich_help_panel=BOUNDS)
    ] = None,
    variation_bound: Annotated[
        int | None, typer.Option(help="Clip variations slot by slot to this instead.", rich_help_panel=BOUNDS)
    ] = None,
    mechanism: Annotated[
        str, typer.Option(help=f"{', '.join(get_args(MechanismName))}.", rich_help_panel=NOISE)
    ] = "auto",
    cycle_mechanism: Annotated[
        str,
        typer.Option(help="The same, or blocks, for the cycle layer of strong mode.", rich_help_panel=NOISE),
    ] = "auto",
    delta: Annotated[str | None, typer.Option(help="For Gaussian noise.", rich_help_panel=NOISE)] = None,
    grace: Annotated[int, typer.Option(help="How many steps to wait for late readings.", min=0)] = 2,
    deadline: Annotated[
        int | None,
        typer.Option(help="After how many steps a step closes with what is there. Two days unless given.", min=1),
    ] = None,
    minimum_group: Annotated[int, typer.Option(help="The least homes a published sum may be of.")] = 15,
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
    asked = Asked(
        epsilon=epsilon,
        target_error=target_error,
        total_epsilon=total_epsilon,
        cycle_epsilon=cycle_epsilon,
        level=level,
        query=query,
        above=above,
        edges=edges,
        groups=groups,
        history=history,
        statistic=statistic,
        domain=domain,
        mean_reading=mean_reading,
        free=free,
        body_radius=body_radius,
        cycle_radius=cycle_radius,
        variation_bound=variation_bound,
        mechanism=mechanism,
        cycle_mechanism=cycle_mechanism,
        delta=delta,
        grace=grace,
        deadline=deadline,
        minimum_group=minimum_group,
    )
    asked.check()
    homes = left_out(a_panel([panel], session=a_session(engine, master)), without)
    elsewhere = None if open_data is None else a_panel([open_data])
    found = propose(asked, homes, domain=homes.domain, open_data=elsewhere)
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
    for row in prediction.rows:
        mark = "> " if row.name == own.name else "  "
        errors = row.errors
        cells = {
            **{name: short(getattr(errors, name)) for name in ("peak", "day", "month")},
            "report": short(errors.step),
            "dropped": "unknown" if row.bias is None else short(row.bias),
        }
        made.add_row(
            f"{mark}{row.name}", *(cells[name] for name in columns), style="bold" if mark == "> " else None
        )
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
