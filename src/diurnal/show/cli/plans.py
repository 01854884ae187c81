"""The verb about plans: `plan` predicts, chooses, explains and writes a plan, before anything is spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from diurnal.errors import PlanError
from diurnal.exact import text
from diurnal.planning.accuracy import mechanism_names
from diurnal.planning.bounds import informed
from diurnal.planning.plan import Plan
from diurnal.planning.planner import best_split, choose, epsilon_for, explain, predict
from diurnal.planning.prediction import Prediction, Row, short
from diurnal.planning.reference import public_reference
from diurnal.promise.body import Ellipsoid
from diurnal.promise.query import Histogram, Mean, Query, Share, Sum
from diurnal.readings.panel import Panel
from diurnal.show.certificate import certificate as certified
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import a_panel
from diurnal.show.files import check_target, write_whole

BOUNDS = "Bounds, from public knowledge"
NOISE = "Noise"


def plan(
    screen: Screen,
    panel: Annotated[str, typer.Argument(help="The panel that `import` kept; only its sizes are used.")],
    epsilon: Annotated[str | None, typer.Option(help="For a home's periodic component, for ever.")] = None,
    level: Annotated[str, typer.Option(help="strong (recommended), pattern (the paper's), or cycle.")] = "strong",
    query: Annotated[str, typer.Option(help="mean, sum, share (--above) or histogram (--edges).")] = "mean",
    above: Annotated[int | None, typer.Option(help="For share: the reading to count homes above.")] = None,
    edges: Annotated[str | None, typer.Option(help="For histogram: 200,500,1000 makes four bins.")] = None,
    groups: Annotated[str | None, typer.Option(help="The partition to report by, such as suburb.")] = None,
    history: Annotated[int, typer.Option(help="How many whole cycles to learn patterns from.")] = 91,
    statistic: Annotated[
        str, typer.Option(help="A home's profile: mean, or in pattern mode base-load, which hides less.")
    ] = "mean",
    cycle_epsilon: Annotated[str | None, typer.Option(help="For one home in one cycle; epsilon's.")] = None,
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
        str, typer.Option(help="auto, laplace, cube, gaussian or basis.", rich_help_panel=NOISE)
    ] = "auto",
    cycle_mechanism: Annotated[
        str,
        typer.Option(help="The same, or blocks, for the cycle layer of strong mode.", rich_help_panel=NOISE),
    ] = "auto",
    delta: Annotated[str | None, typer.Option(help="For Gaussian noise.", rich_help_panel=NOISE)] = None,
    grace: Annotated[int, typer.Option(help="How many steps to wait for late readings.")] = 0,
    minimum_group: Annotated[int, typer.Option(help="The least homes a published sum may be of.")] = 15,
    out: Annotated[Path | None, typer.Option(help="Write the plan: JSON, for `start`.")] = None,
    certificate: Annotated[Path | None, typer.Option(help="Write the promise: Markdown, to be filed.")] = None,
) -> None:
    """What would be promised, and how good reports would be: every mechanism, before anything is spent.

    Of the panel nothing but its sizes, grid and domain is used. Bounds come from public knowledge: name them, or
    give open data of other homes, from which they are chosen.
    """
    for path in (out, certificate):
        if path is not None:
            check_target(path, [panel, *([] if open_data is None else [open_data])])
    if out is not None and out == certificate:
        raise PlanError("Expected --out and --certificate to differ.", hint="One is JSON, the other Markdown.")
    for flag, given in (("--target-error", target_error), ("--total-epsilon", total_epsilon)):
        if given is not None and cycle_epsilon is not None:
            raise PlanError(f"Expected {flag} or --cycle-epsilon, not both.", hint="It decides both epsilons.")
    homes = a_panel([panel])
    if cycle_radius is not None and variation_bound is not None:
        raise PlanError("Expected --cycle-radius or --variation-bound.", hint="See diurnal plan --help.")
    elsewhere = None if open_data is None else a_panel([open_data])
    draft = Plan(
        query=_query(query, above, edges),
        level=level,  # type: ignore[arg-type]
        epsilon=_epsilon(epsilon, target_error, total_epsilon),
        cycle_epsilon=cycle_epsilon,
        delta=delta,
        domain=_domain(homes, domain),
        history=0 if level == "cycle" else history,
        groups=groups,
        grid=homes.grid,
        mechanism=mechanism,  # type: ignore[arg-type]
        cycle_mechanism=cycle_mechanism,  # type: ignore[arg-type]
        statistic=statistic,  # type: ignore[arg-type]
        variation_bound=variation_bound if cycle_radius is None else Ellipsoid(radius=cycle_radius),
        grace=grace,
        minimum_group=minimum_group,
    )
    draft = _around(draft, elsewhere, body_radius)
    if target_error is not None:
        least = epsilon_for(draft, homes, target_error, open_data=elsewhere, level=mean_reading)
        draft = draft.with_(epsilon=least, cycle_epsilon=None)
    if total_epsilon is not None:
        draft = best_split(draft, homes, total_epsilon, open_data=elsewhere, level=mean_reading)
    if elsewhere is not None or mean_reading is not None:
        draft = informed(draft, homes, open_data=elsewhere, level=mean_reading, free=free)
    chosen = choose(draft, homes, open_data=elsewhere)
    prediction = predict(chosen, homes, open_data=elsewhere)
    own = prediction.row("+".join(mechanism_names(chosen)))
    sentences = explain(chosen, homes, open_data=elsewhere)
    if out is not None:
        write_whole(out, f"{json.dumps(chosen.to_json(), indent=1)}\n")
    if certificate is not None:
        write_whole(certificate, certified(chosen, homes, open_data=elsewhere))
    screen.result(_content(chosen, prediction, own, sentences, out, certificate))
    _say(screen, chosen, homes, prediction, own, sentences)
    for path in (out, certificate):
        if path is not None:
            screen.say(f"written to {path}")


def _domain(homes: Panel, domain: tuple[int, int] | None) -> tuple[int, int]:
    found = homes.domain if domain is None else domain
    if found is None:
        raise PlanError(
            "Expected --domain: the panel does not say what a meter can read in a step.",
            hint="Say it from public knowledge, in the panel's unit: --domain 0 8000.",
        )
    return found


def _epsilon(epsilon: str | None, target: str | None, total: str | None) -> str:
    if sum(given is not None for given in (epsilon, target, total)) != 1:
        raise PlanError(
            "Expected --epsilon, or --target-error, or --total-epsilon.", hint="For example --epsilon 1."
        )
    return "1" if epsilon is None else epsilon


def _query(name: str, above: int | None, edges: str | None) -> Query:
    if name == "share" and above is not None:
        return Share(above=above)
    if name == "histogram" and edges is not None:
        try:
            return Histogram(tuple(int(edge) for edge in edges.split(",")))
        except ValueError:
            raise PlanError(
                "Expected --edges as whole numbers with commas between.", hint="--edges 200,500,1000"
            ) from None
    if name in ("mean", "sum"):
        return Mean() if name == "mean" else Sum()
    raise PlanError(
        f"Expected --query {name} as mean or sum, share with --above, or histogram with --edges.",
        hint="For example --query share --above 1000 --level cycle.",
    )


def _around(draft: Plan, elsewhere: Panel | None, body_radius: int | None) -> Plan:
    """The plan with a body of a radius, around the open homes' profile where there is one."""
    if body_radius is None:
        return draft
    reference = None if elsewhere is None else public_reference(elsewhere)
    around = None if reference is None else reference.profile
    body = Ellipsoid(radius=body_radius, reference=around, weighting="harmonic")
    return draft.with_(body=body, reference=reference)


def _content(
    chosen: Plan,
    prediction: Prediction,
    own: Row,
    sentences: list[str],
    out: Path | None,
    certificate: Path | None,
) -> dict[str, Any]:
    return {
        "plan": chosen.hash,
        "chosen": own.name,
        "epsilon": text(chosen.eps_z),
        "cycle_epsilon": None if chosen.level == "pattern" else text(chosen.eps_w),
        "level": chosen.level,
        **prediction.to_json(),
        "warnings": prediction.warnings(own),
        "promise": chosen.guarantee().to_json(),
        "sentences": sentences,
        "out": None if out is None else str(out),
        "certificate": None if certificate is None else str(certificate),
    }


def _say(
    screen: Screen,
    chosen: Plan,
    homes: Panel,
    prediction: Prediction,
    own: Row,
    sentences: list[str],
) -> None:
    screen.table(prediction_table(prediction, own, wide=screen.wide))
    screen.heading(f"Chosen: {own.name}, epsilon {text(chosen.eps_z)}, level {chosen.level}")
    screen.sentences(sentences)
    for warning in prediction.warnings(own):
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
    return made


def add(app: typer.Typer) -> None:
    """Add the verb."""
    verbs.add(app, "plan", plan, example="diurnal plan homes.parquet --epsilon 1 --history 60 --out plan.json")
