"""The command line: `diurnal import` so far.

Exit codes: 0 done, 1 refused and said why, 2 wrong usage. With `--json` a verb prints one JSON object with a
`version`, and nothing else on standard output.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from diurnal.errors import DiurnalError
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.importing import read

JSON_VERSION = 1
"""The version of the shape of what `--json` prints."""

app = typer.Typer(
    no_args_is_help=True,
    # Its own tracebacks would show local variables, readings among them.
    pretty_exceptions_enable=False,
    help="Differentially private reports, for ever, on data that repeats.",
)


@app.callback()
def diurnal() -> None:
    """Differentially private reports, for ever, on data that repeats."""


SOURCE = "About the source"
PANEL = "About the panel"


@app.command(name="import", epilog="Example: diurnal import ausgrid/*.csv.gz --out homes.parquet")
def import_(
    source: Annotated[list[str], typer.Argument(help="Files, folders or globs; or, with --database, a SQL query.")],
    out: Annotated[Path, typer.Option(help="The Parquet file to keep the panel in.")],
    format_: Annotated[
        str,
        typer.Option("--format", help="ausgrid, umass, long, wide, nem12, greenbutton.", rich_help_panel=SOURCE),
    ] = "auto",
    database: Annotated[
        str | None, typer.Option(help="sqlite:///file or postgresql+psycopg://...", rich_help_panel=SOURCE)
    ] = None,
    household: Annotated[str | None, typer.Option(help="Column of households.", rich_help_panel=SOURCE)] = None,
    meter: Annotated[str | None, typer.Option(help="Column of meters.", rich_help_panel=SOURCE)] = None,
    time: Annotated[str | None, typer.Option(help="Column of times.", rich_help_panel=SOURCE)] = None,
    value: Annotated[str | None, typer.Option(help="Column of values.", rich_help_panel=SOURCE)] = None,
    group_column: Annotated[
        list[str] | None, typer.Option(help="Column of groups; may be repeated.", rich_help_panel=SOURCE)
    ] = None,
    source_unit: Annotated[
        str | None, typer.Option(help="kWh, Wh, MWh, or mean kW, W, MW.", rich_help_panel=SOURCE)
    ] = None,
    row_minutes: Annotated[int | None, typer.Option(help="How long a row lasts.", rich_help_panel=SOURCE)] = None,
    label: Annotated[
        str | None, typer.Option(help="Whether times are an interval's start or end.", rich_help_panel=SOURCE)
    ] = None,
    time_format: Annotated[
        str | None, typer.Option(help="How times are written, as in strptime.", rich_help_panel=SOURCE)
    ] = None,
    source_zone: Annotated[
        str | None, typer.Option(help="The clock of times without offset.", rich_help_panel=SOURCE)
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="consumption, generation or net.", rich_help_panel=SOURCE)
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="The homes' wall clock, such as Australia/Sydney.", rich_help_panel=PANEL)
    ] = None,
    interval: Annotated[str, typer.Option(help="The length of a step.", rich_help_panel=PANEL)] = "30min",
    period: Annotated[str, typer.Option(help="The length of a cycle.", rich_help_panel=PANEL)] = "1d",
    unit: Annotated[str, typer.Option(help="Wh or kWh.", rich_help_panel=PANEL)] = "Wh",
    anchor: Annotated[str | None, typer.Option(help="When step 0 begins.", rich_help_panel=PANEL)] = None,
    until: Annotated[str | None, typer.Option(help="When the last step ends.", rich_help_panel=PANEL)] = None,
    domain: Annotated[
        tuple[int, int] | None, typer.Option(help="The least and the largest reading.", rich_help_panel=PANEL)
    ] = None,
    calendar: Annotated[
        Path | None, typer.Option(help="CSV: from,until. Outages and tests.", rich_help_panel=PANEL)
    ] = None,
    fold: Annotated[
        str, typer.Option(help="The doubled hour: calendar, first or mean.", rich_help_panel=PANEL)
    ] = "calendar",
    on_duplicate: Annotated[
        str, typer.Option(help="Two values for one time: refuse, first or last.", rich_help_panel=PANEL)
    ] = "refuse",
    meters: Annotated[
        Path | None, typer.Option(help="CSV: meter,household[,from,until].", rich_help_panel=PANEL)
    ] = None,
    groups: Annotated[
        Path | None, typer.Option(help="CSV: household and a column a partition.", rich_help_panel=PANEL)
    ] = None,
    tenancies: Annotated[Path | None, typer.Option(help="CSV: household,from.", rich_help_panel=PANEL)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Import meter data of any layout into a panel: integers on a regular grid, kept as Parquet.

    What was kept and what was set aside, and why, is printed as a table. It is for the custodian's eyes.
    """
    said = {
        "household": household,
        "meter": meter,
        "time": time,
        "value": value,
        "groups": group_column,
        "unit": source_unit,
        "minutes": row_minutes,
        "label": label,
        "time_format": time_format,
        "zone": source_zone,
        "channel": channel,
    }
    homes = read(
        source[0] if database is not None or len(source) == 1 else source,
        format=format_,
        database=database,
        **{name: given for name, given in said.items() if given is not None},
    )
    if not (quiet or as_json):
        typer.echo(str(homes))
    panel = make_panel(
        homes,
        period=period,
        interval=interval,
        unit=unit,
        zone=zone,
        anchor=anchor,
        until=until,
        domain=domain,
        calendar=calendar,
        fold=fold,  # type: ignore[arg-type]
        on_duplicate=on_duplicate,  # type: ignore[arg-type]
        meters=meters,
        groups=groups,
        tenancies=tenancies,
        out=out,
    )
    assert panel.quality is not None
    if as_json:
        _print_json("import", {"panel": str(out), "grid": panel.grid.to_json(), "quality": panel.quality.to_json()})
    elif not quiet:
        typer.echo(panel.quality.table())
        typer.echo(f"kept in {out}")


def _print_json(verb: str, content: dict[str, Any]) -> None:
    typer.echo(json.dumps({"version": JSON_VERSION, "verb": verb, **content}))


def main() -> None:
    """Run the command line."""
    try:
        app()
    except DiurnalError as error:
        typer.echo(f"{error.message}\nHint: {_with_flags(error)}", err=True)
        raise SystemExit(1) from None


FLAGS = {"unit": "source-unit", "minutes": "row-minutes", "groups": "group-column"}
"""Arguments of `read` whose flags have other names."""


def _with_flags(error: DiurnalError) -> str:
    """A hint that speaks of arguments, as one that speaks of flags."""
    names = inspect.signature(read).parameters.keys() | inspect.signature(make_panel).parameters.keys()
    names |= {"household", "meter", "time", "value", "unit", "minutes", "label", "time_format", "channel"}

    def flag(found: re.Match[str]) -> str:
        name = found[1]
        is_panel_s = error.message.startswith("Expected unit=") and "Wh or kWh" in error.message
        return f"--{(name if is_panel_s else FLAGS.get(name, name)).replace('_', '-')} "

    return re.sub(rf"\b({'|'.join(sorted(names))})=", flag, error.hint)
