"""Verbs about streams: `start`, `report`, `watch`, `export`, `close`, `stop`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from diurnal.curator.curator import Curator
from diurnal.curator.intake import Taken, watch_folder, watch_table
from diurnal.curator.release import Outcome, Report
from diurnal.curator.stream import Stream
from diurnal.errors import NoStoreError, ReadingsError
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose, predict
from diurnal.promise.budget import Budget
from diurnal.readings.grid import Grid
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel, batches
from diurnal.readings.quality import words_of
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, plain, table
from diurnal.show.cli.verbs import (
    AnyStream,
    DryRun,
    Engine,
    Master,
    Profiles,
    StoreAt,
    StreamKey,
    TrustUnits,
    Without,
    a_panel,
    a_plan,
    a_session,
    a_step,
    a_store,
    a_stream,
    shown,
)
from diurnal.show.export import export as exported
from diurnal.show.files import check_target, left_out
from diurnal.show.rows import SHOWN as COLUMNS_SHOWN

BATCH = 7
"""How many cycles are reported at a time: after each of them the ledger has a new head."""

SHOWN = 6
"""How many rows people are shown of many."""


def start(
    screen: Screen,
    plan: Annotated[Path, typer.Argument(help="The plan that `plan --out` wrote.")],
    history: Annotated[str, typer.Option(help="The panel whose first cycles profiles are learned from.")],
    store: StoreAt,
    acknowledge: Annotated[
        str | None, typer.Option(help="The digest of the verdict that you have read, or untested.")
    ] = None,
    accept_worse: Annotated[
        bool,
        typer.Option(
            "--accept-worse", help="Start a plan that is predicted to be worse than publishing nothing at all."
        ),
    ] = False,
    without: Without = None,
    skip: Annotated[int, typer.Option(help="The number of cycles of the panel before the history.", min=0)] = 0,
    pattern_cap: Annotated[
        str | None, typer.Option(help="For a new store: the cap on epsilon for a shift of the pattern.")
    ] = None,
    strong_cap: Annotated[
        str | None, typer.Option(help="For a new store: the cap on epsilon for any one reported cycle.")
    ] = None,
    delta_cap: Annotated[str | None, typer.Option(help="For a new store: the delta of both caps.")] = None,
    dry_run: DryRun = False,
    profiles: Profiles = None,
    engine: Engine = "local",
    master: Master = "local[*]",
) -> None:
    """Start a plan: check it, spend the budget, draw the noisy profile. Starting it again returns the same stream.

    A store has one population: its caps, grid and domain are set when it is made. Keep one store for these homes: a
    second one would not know what the first has spent.
    """
    wanted, panel = a_plan(plan), left_out(a_panel([history], session=a_session(engine, master)), without)
    caps = {"pattern": pattern_cap, "cycle": strong_cap, "delta": delta_cap}
    said = {name: value for name, value in caps.items() if value is not None}
    learned = panel.after(skip).first(wanted.history)
    budget = Budget(**said) if said else None
    there = _found(store, budget, profiles)
    if there is None:
        # All that could be refused is refused in a store of no consequence, before one is made that lasts.
        rehearsal = Curator.in_memory(budget)
        if learned.data.engine is not None and not dry_run:
            # A start would write profiles into the lake: it is only asked, what was acknowledged too.
            sentences = rehearsal.explain(wanted, learned, acknowledge=acknowledge or "", accept_worse=accept_worse)
        else:
            sentences = rehearsal.explain(wanted, learned, acknowledge=acknowledge)
            if not dry_run:
                rehearsal.start(wanted, history=learned, acknowledge=acknowledge, accept_worse=accept_worse)
    else:
        sentences = there.explain(wanted, learned)
    chosen = choose(wanted, learned)
    warnings, number = _warnings(chosen, learned), chosen.certificate_number
    told: dict[str, Any] = {"certificate_number": number, "sentences": sentences, "warnings": warnings}
    if not dry_run:
        curator = there or Curator.open(store, budget, profiles=profiles)
        stream = curator.start(wanted, history=learned, acknowledge=acknowledge, accept_worse=accept_worse)
        # A stream that runs already may have been started before the planner gave its plan a bound.
        number = told["certificate_number"] = stream.plan.certificate_number
        screen.log("started", plan=stream.plan.hash, plan_level=wanted.level)
    screen.sentences(sentences)
    for warning in warnings:
        screen.heading(f"Warning: {warning}")
    if dry_run:
        screen.result({"stream": None, **told})
        screen.say("Nothing was started: this was a dry run.")
        return
    screen.result({"stream": stream.plan.hash, **told, "head": curator.head})
    screen.heading(f"Stream {stream.plan.hash[:12]} runs in {shown(store)}. What it promises:")
    screen.sentences(stream.guarantee.sentences())
    screen.say(f"The number of its certificate: {number}")
    _say_head(screen, curator.head)


def _warnings(plan: Plan, homes: Panel) -> list[str]:
    """What `plan` warns of: that publishing nothing is predicted to be better. Of the homes only sizes are used."""
    found = predict(plan, homes)
    return found.warnings(found.row(plan.mechanisms_text))


def _found(store: str, budget: Budget | None, profiles: Path | None) -> Curator | None:
    """The curator of a store that is there; None if there is none yet."""
    try:
        return Curator.open(store, budget, profiles=profiles, create=False)
    except NoStoreError:
        return None


def report(
    screen: Screen,
    source: Annotated[list[str], typer.Argument(help="A panel that `import` wrote, or files of readings.")],
    store: StoreAt,
    stream: StreamKey = None,
    close: Annotated[bool, typer.Option(help="Close the given steps with the readings that are there.")] = False,
    source_unit: Annotated[
        str | None, typer.Option(help="The unit of values in files of readings: kWh, Wh, MWh, or mean kW, W, MW.")
    ] = None,
    trust_units: TrustUnits = False,
    profiles: Profiles = None,
    engine: Engine = "local",
    master: Master = "local[*]",
) -> None:
    """Report readings: rows are made, committed, and then printed. Reporting again prints the same rows.

    Steps of the history, of the calendar and of a stopped stream have no rows. With --json, each row is a line.
    Keep the head of the ledger, printed on standard error: it fences a restored backup.
    """
    curator = a_store(store, profiles, trust_units=trust_units)
    found = a_stream(curator, stream)
    session = a_session(engine, master)
    steps = None if found.is_far else found.takes()
    panel = a_panel(
        source, like=found.plan.grid, steps=steps, domain=found.plan.domain, unit=source_unit, session=session
    )
    panel = _on_grid(panel, found.plan.grid)
    rows: list[Report] = []
    new: list[Report] = []
    for outcome in _batches(found, panel, close=close):
        for row in outcome.rows:
            screen.line(row.to_json())
        rows += outcome.rows
        new += outcome.new
    screen.log("reported", plan=found.plan.hash, rows=len(rows))
    screen.say(_account(found, panel, rows, new))
    for direction in found.units:
        screen.heading(f"Warning: {_units(direction)}")
    if new:
        screen.table(_rows_table(new))
    _say_head(screen, curator.head)


def _units(direction: str) -> str:
    return f"readings look a thousand times {direction}: they may be in another unit."


def _batches(stream: Stream, panel: Panel, *, close: bool) -> Iterator[Outcome]:
    """Some cycles at a time, in order, each in a transaction of its own: an interrupt falls between two."""
    with Progress("reporting", panel.n_steps) as progress:
        for part in batches(panel, BATCH):
            yield stream.receive(part, close=close)
            progress.advance(part.n_steps)


def _on_grid(panel: Panel, grid: Grid) -> Panel:
    """The panel by the stream's steps.

    Raises:
        ReadingsError: It has others.
    """
    told = {"minutes": "{} minutes a step", "slots": "{} steps a cycle", "unit": "{}", "zone": "the clock of {}"}
    apart = [name for name in told if getattr(panel.grid, name) != getattr(grid, name)]
    if apart:
        theirs, ours = (
            ", ".join(told[name].format(getattr(each, name)) for name in apart) for each in (grid, panel.grid)
        )
        raise ReadingsError(
            "cli-report-grid",
            theirs=theirs,
            ours=ours,
            minutes=grid.minutes,
            period=grid.slots * grid.minutes,
            unit=grid.unit,
            zone=grid.zone,
        )
    return panel.on_grid(grid)


def _account(stream: Stream, panel: Panel, rows: list[Report], new: list[Report]) -> str:
    steps = {row.step for row in rows}
    without = len(set(panel.steps) - steps)
    aside = {} if panel.quality is None else panel.quality.set_aside
    return (
        f"{len(rows):,} rows of {len(steps):,} steps{_before(len(rows), len(new))}; {without:,} of the "
        f"{panel.n_steps:,} steps given have none (history, calendar, still open, or not this stream's). "
        f"Plan {stream.plan.hash[:12]}, level {stream.plan.level}." + _set_aside(aside)
    )


def _before(rows: int, new: int) -> str:
    """What is said where rows had been published: they stay, whatever is given."""
    if rows == new:
        return ""
    none = "none is new" if not new else f"{new:,} are new"
    return f" ({none}, {rows - new:,} were published before and stay: other readings for their steps are not taken)"


def _set_aside(counts: Mapping[str, int]) -> str:
    said = ", ".join(f"{number:,} {words_of(reason)}" for reason, number in counts.items())
    return f" Rows of the source that were set aside: {said}." if said else ""


def _rows_table(rows: list[Report]) -> Table:
    names = [*(column.name for column in COLUMNS_SHOWN), "unit"]
    right = tuple(column.name for column in COLUMNS_SHOWN if column.is_number)
    made = table(*names, right=right, title="The last of them")
    for row in rows[-SHOWN:]:
        made.add_row(*(plain(str(getattr(row, name))) for name in names))
    return made


def watch(
    screen: Screen,
    folder: Annotated[str, typer.Argument(help="The folder where files arrive; with --database, a SQL query.")],
    store: StoreAt,
    stream: StreamKey = None,
    once: Annotated[bool, typer.Option(help="Stop when the folder is empty.")] = False,
    every: Annotated[float, typer.Option(help="The number of seconds between two looks.", min=0.1)] = 10.0,
    database: Annotated[
        str | None, typer.Option(help="The address of a database, to watch a table instead.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="The layout of the files.")] = "auto",
    row_minutes: Annotated[int | None, typer.Option(help="The length of a row in minutes.")] = None,
    source_unit: Annotated[
        str | None, typer.Option(help="The unit of values: kWh, Wh, MWh, or mean kW, W, MW.")
    ] = None,
    source_zone: Annotated[str | None, typer.Option(help="The time zone of times without an offset.")] = None,
    trust_units: TrustUnits = False,
    profiles: Profiles = None,
) -> None:
    """Watch for readings: take each file once and report it; move a bad file aside, with its error beside it.

    With --json, each file is a line. The head of the ledger is printed for each file.
    """
    curator = a_store(store, profiles, trust_units=trust_units)
    found = a_stream(curator, stream)
    told = {"format": format_, "minutes": row_minutes, "unit": source_unit, "zone": source_zone}
    said: dict[str, Any] = {name: value for name, value in told.items() if value is not None}
    if database is None:
        taken = watch_folder(found, folder, once=once, every=every, **said)
    else:
        taken = watch_table(found, folder, database, once=once, every=every, **said)
    for each in taken:
        screen.line(_taken(each))
        screen.say(f"{each.name}: {_fate(each, folder=database is None)}")
        for direction in each.units:
            screen.heading(f"Warning: {_units(direction)}")
        screen.log("taken", rows=len(each.rows), refused=bool(each.error))
        if each.head:
            _say_head(screen, each.head)


def _taken(each: Taken) -> dict[str, Any]:
    rows = [row.to_json() for row in each.rows]
    told: dict[str, Any] = {"name": each.name, "again": each.again, "error": each.error, "head": each.head}
    told |= {"before": each.before, "units": list(each.units)}
    return {**told, "set_aside": dict(each.set_aside), "rows": rows}


def _fate(each: Taken, *, folder: bool) -> str:
    if each.error:
        return f"{'moved aside. ' if folder else ''}{each.error}"
    if each.again:
        return "taken before"
    number = len(each.rows)
    return f"{number:,} rows{_before(number, number - each.before)}.{_set_aside(each.set_aside)}"


def export(
    screen: Screen,
    store: StoreAt,
    out: Annotated[Path, typer.Option(help=".csv, .jsonl or .parquet for rows; .html for the page.")],
    stream: AnyStream = None,
    truth: Annotated[
        str | None, typer.Option(help="For .html: the private panel. The page is then for the custodian's eyes.")
    ] = None,
    open_data: Annotated[
        str | None, typer.Option(help="For .html: public readings of other homes, for predicted errors.")
    ] = None,
    profiles: Profiles = None,
) -> None:
    """Export what was released: rows for programs, or a page for people that opens offline.

    Without --truth, everything in the file is public. With --truth, the page is marked as private, for the
    custodian's eyes.
    """
    check_target(out, [each for each in (store, truth, open_data) if each is not None])
    curator = a_store(store, profiles)
    found = a_stream(curator, stream, running=False)
    panels = {"truth": truth, "open_data": open_data}
    given: dict[str, Any] = {name: a_panel([path]) for name, path in panels.items() if path is not None}
    rows = exported(curator, found, out, **given)
    screen.result({"out": str(out), "rows": rows, "private": truth is not None})
    screen.say(f"{rows:,} rows in {out}" + (". PRIVATE: for the custodian's eyes." if truth is not None else ""))


def drift(
    screen: Screen,
    store: StoreAt,
    stream: AnyStream = None,
    window: Annotated[int, typer.Option(help="The number of cycles to average.", min=2)] = 28,
    threshold: Annotated[float, typer.Option(help="The move that raises an alarm, as a share.")] = 0.3,
    profiles: Profiles = None,
) -> None:
    """Show how far the pattern has moved, from released rows only: it is public and spends no budget."""
    found = a_stream(a_store(store, profiles), stream, running=False).drift(window=window, threshold=threshold)
    screen.result({"groups": {name: each.to_json() for name, each in found.items()}})
    for each in found.values():
        screen.say(each)


def stop(
    screen: Screen,
    store: StoreAt,
    stream: AnyStream = None,
    at: Annotated[
        str | None,
        typer.Option(help="The end, as a local time or a step; defaults to the end of what has begun."),
    ] = None,
    dry_run: DryRun = False,
    profiles: Profiles = None,
) -> None:
    """Stop a stream, so that a successor can begin. What was released stays released; the budget stays spent.

    The end of a stopped stream can be moved to an earlier time. Steps after it that a wrong clock has caused to be
    reported stay released, and are never reported again.
    """
    curator = a_store(store, profiles)
    found = a_stream(curator, stream, running=at is None)
    end = found.stop(at=None if at is None else a_step(found.plan.grid, at), dry_run=dry_run)
    when = found.plan.grid.time(end)
    screen.result({"stream": found.plan.hash, "end": end, "time": when, "dry_run": dry_run, "head": curator.head})
    verb = "would report" if dry_run else "reports"
    screen.say(f"Stream {found.plan.hash[:12]} {verb} nothing from step {end} on ({when}).")
    _say_head(screen, curator.head)


def close(
    screen: Screen,
    store: StoreAt,
    stream: AnyStream = None,
    before: Annotated[
        str | None,
        typer.Option(help="Close cycles that ended before this local time or step; defaults to overdue ones only."),
    ] = None,
    dry_run: DryRun = False,
    profiles: Profiles = None,
) -> None:
    """Close open steps with the readings that are there: overdue ones, or all of cycles that ended before a time.

    Later readings for these steps are not taken. `report`, `watch` and the service close steps past their deadline
    automatically.
    """
    curator = a_store(store, profiles)
    found = a_stream(curator, stream, running=False)
    if before is None:
        overdue = next(each.overdue for each in curator.status().streams if each.plan == found.plan.hash)
        steps = len({row.step for row in ([] if dry_run else found.close_overdue())})
        would = f"{overdue:,} cycle(s) past their deadline would be closed."
        said = would if dry_run else f"{steps:,} steps were closed."
    else:
        limit = a_step(found.plan.grid, before)
        steps = len(found.open_steps(before=limit))
        if not dry_run:
            found.close(before=limit)
        said = f"{steps:,} steps {'would be' if dry_run else 'were'} closed."
    screen.result({"stream": found.plan.hash, "steps": steps, "dry_run": dry_run, "head": curator.head})
    screen.say(said)
    _say_head(screen, curator.head)


def _say_head(screen: Screen, head: str) -> None:
    screen.aside(f"head {head}")


def add(app: typer.Typer) -> None:
    """Add these verbs."""
    verbs.add(
        app,
        "start",
        start,
        example="diurnal start plan.json --history homes.parquet --store city.db --acknowledge DIGEST",
    )
    verbs.add(app, "report", report, example="diurnal report homes.parquet --store city.db")
    verbs.add(app, "watch", watch, example="diurnal watch inbox --store city.db --once")
    verbs.add(app, "export", export, example="diurnal export --store city.db --out reports.csv")
    verbs.add(app, "drift", drift, example="diurnal drift --store city.db --window 7")
    verbs.add(app, "close", close, example="diurnal close --store city.db --dry-run")
    verbs.add(app, "stop", stop, example="diurnal stop --store city.db --dry-run")
