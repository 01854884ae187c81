"""Verbs about readings: `import`, `check`, and `town`, which makes some up."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from diurnal.errors import InputError
from diurnal.periodicity.verdict import Thresholds
from diurnal.periodicity.verdict import check as checked
from diurnal.place import check_place
from diurnal.readings import engines
from diurnal.readings.importing import FORMATS, Readings, read
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.panel import Panel
from diurnal.readings.panel_export import write
from diurnal.readings.panel_file import save_panel
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen
from diurnal.show.cli.verbs import Engine, Master, Without, a_panel, a_session
from diurnal.show.files import check_target, left_out, write_whole
from diurnal.study.town import Town

SOURCE = "About the source"
PANEL = "About the panel"


def frame_of(engine: str, session: Any, source: list[str], database: str | None) -> Any:
    """Parquet as a frame of an engine's.

    Raises:
        InputError: Something else is to be read.
    """
    if database is not None or any(not _is_parquet(each) for each in source):
        raise InputError("cli-engine-parquet", engine=engine)
    return engines.named(engine).frame(session, source)


def _is_parquet(source: str) -> bool:
    return "://" in source or Path(source).is_dir() or source.endswith(".parquet")


def import_(
    screen: Screen,
    source: Annotated[list[str], typer.Argument(help="Files, folders or globs; with --database, a SQL query.")],
    out: Annotated[
        str, typer.Option(help="The Parquet file to write the panel to; with Spark, a folder.", metavar="<path>")
    ],
    format_: Annotated[
        str,
        typer.Option("--format", help=f"The layout: auto or {', '.join(FORMATS)}.", rich_help_panel=SOURCE),
    ] = "auto",
    database: Annotated[
        str | None, typer.Option(help="sqlite:///file or postgresql+psycopg://...", rich_help_panel=SOURCE)
    ] = None,
    household: Annotated[
        str | None, typer.Option(help="The column with households.", rich_help_panel=SOURCE)
    ] = None,
    meter: Annotated[str | None, typer.Option(help="The column with meters.", rich_help_panel=SOURCE)] = None,
    time: Annotated[str | None, typer.Option(help="The column with times.", rich_help_panel=SOURCE)] = None,
    value: Annotated[str | None, typer.Option(help="The column with values.", rich_help_panel=SOURCE)] = None,
    group_column: Annotated[
        list[str] | None, typer.Option(help="A column with groups; repeatable.", rich_help_panel=SOURCE)
    ] = None,
    source_unit: Annotated[
        str | None,
        typer.Option(help="The unit of values: kWh, Wh, MWh, or mean kW, W, MW.", rich_help_panel=SOURCE),
    ] = None,
    row_minutes: Annotated[
        int | None, typer.Option(help="The length of a row in minutes.", rich_help_panel=SOURCE)
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Whether times are the start or the end of an interval.", rich_help_panel=SOURCE),
    ] = None,
    time_format: Annotated[
        str | None, typer.Option(help="The format of times, as in strptime.", rich_help_panel=SOURCE)
    ] = None,
    source_zone: Annotated[
        str | None, typer.Option(help="The time zone of times without an offset.", rich_help_panel=SOURCE)
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="What to import: consumption, generation or net.", rich_help_panel=SOURCE)
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option(help="The time zone of the homes, such as Australia/Sydney.", rich_help_panel=PANEL),
    ] = None,
    interval: Annotated[str, typer.Option(help="The length of a step.", rich_help_panel=PANEL)] = "30min",
    period: Annotated[str, typer.Option(help="The length of a cycle.", rich_help_panel=PANEL)] = "1d",
    unit: Annotated[str, typer.Option(help="The unit of the panel: Wh or kWh.", rich_help_panel=PANEL)] = "Wh",
    anchor: Annotated[
        str | None, typer.Option(help="The time at which step 0 begins.", rich_help_panel=PANEL)
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="The time at which the last step ends.", rich_help_panel=PANEL)
    ] = None,
    domain: Annotated[
        tuple[int, int] | None,
        typer.Option(help="The smallest and the largest possible reading.", rich_help_panel=PANEL),
    ] = None,
    calendar: Annotated[
        Path | None, typer.Option(help="A CSV file from,until with outages and tests.", rich_help_panel=PANEL)
    ] = None,
    fold: Annotated[
        str, typer.Option(help="What to do with the repeated hour: calendar, first or mean.", rich_help_panel=PANEL)
    ] = "calendar",
    on_duplicate: Annotated[
        str,
        typer.Option(help="What to do with two values for one time: refuse, first or last.", rich_help_panel=PANEL),
    ] = "refuse",
    meters: Annotated[
        Path | None, typer.Option(help="A CSV file meter,household[,from,until].", rich_help_panel=PANEL)
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="A CSV file with household and one column per partition.", rich_help_panel=PANEL),
    ] = None,
    tenancies: Annotated[
        Path | None, typer.Option(help="A CSV file household,from with changes of tenancy.", rich_help_panel=PANEL)
    ] = None,
    without: Without = None,
    engine: Engine = "local",
    master: Master = "local[*]",
) -> None:
    """Import meter data of any layout into a panel: integers on a regular grid, kept as Parquet.

    Prints a table of the rows that were kept and set aside, with reasons. It is for the custodian's eyes.
    """
    check_target(Path(out), [] if database is not None else source, panel=True)
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
    session = a_session(engine, master)
    rows = source[0] if database is not None or len(source) == 1 else source
    homes = read(
        rows if session is None else frame_of(engine, session, source, database),
        format=format_,
        database=database,
        **{name: given for name, given in said.items() if given is not None},
    )
    panel = _kept(
        homes,
        without,
        out,
        period=period,
        interval=interval,
        unit=unit,
        zone=zone,
        anchor=anchor,
        until=until,
        domain=domain,
        calendar=calendar,
        fold=fold,
        on_duplicate=on_duplicate,
        meters=meters,
        groups=groups,
        tenancies=tenancies,
    )
    assert panel.quality is not None
    screen.result({"panel": str(out), "grid": panel.grid.to_json(), "quality": panel.quality.to_json()})
    screen.say(panel.quality.table())
    screen.say(f"written to {out}")


def _kept(homes: Readings, without: Sequence[str] | None, out: str, **said: Any) -> Panel:
    """The panel of readings in its file, which households that are left out are never in."""
    if not without:
        return make_panel(homes, out=out, **said)
    if homes.engine is not None:
        raise InputError("cli-lake-without")
    check_place(Path(out))
    # The folder, and so what is in it for a while, is its owner's alone.
    with tempfile.TemporaryDirectory(dir=Path(out).absolute().parent, prefix=f".{Path(out).name}.") as folder:
        whole = make_panel(homes, out=Path(folder) / Path(out).name, **said)
        return save_panel(left_out(whole, without), out)


def check(
    screen: Screen,
    source: Annotated[
        list[str], typer.Argument(help="A panel that `import` wrote, or files that need no flags to be imported.")
    ],
    period: Annotated[str | None, typer.Option(help="The length of a cycle; defaults to the panel's.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="The time zone of the homes, if raw files do not have it.")
    ] = None,
    also: Annotated[list[str] | None, typer.Option(help="Another period to try; repeatable.")] = None,
    largest: Annotated[
        float, typer.Option(help="The largest correlation that counts as small.")
    ] = Thresholds.largest,
    median: Annotated[
        float, typer.Option(help="The largest median correlation that counts as small.")
    ] = Thresholds.median,
    without: Without = None,
    draw: Annotated[
        Path | None, typer.Option(help="A picture of the verdict to write, .svg or .png (needs the extra charts).")
    ] = None,
    engine: Engine = "local",
    master: Master = "local[*]",
) -> None:
    """Check whether readings are almost periodic: how much cycles have in common, and how sure that is.

    The verdict is computed on private readings, for the custodian's eyes. `start` needs the digest in its last
    line.
    """
    if draw is not None:
        check_target(draw, source)
    homes = a_panel(source, period=period, zone=zone, session=a_session(engine, master))
    verdict = checked(
        left_out(homes, without),
        periods=also or (),
        thresholds=Thresholds(largest=largest, median=median),
    )
    if draw is not None:
        verdict.draw(draw)
    screen.result(dict(verdict.to_json()))
    screen.say(verdict)
    if draw is not None:
        screen.say(f"picture written to {draw}")


def town(
    screen: Screen,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .csv.gz or .parquet.")],
    homes: Annotated[int, typer.Option(help="The number of homes.", min=1)] = 300,
    days: Annotated[int, typer.Option(help="The number of days.", min=1)] = 365,
    seed: Annotated[int, typer.Option(help="The seed: each seed gives another town.")] = 1,
    start: Annotated[str, typer.Option(help="The first day.")] = "2022-07-01",
    format_: Annotated[str, typer.Option("--format", help="The layout, as for `import`.")] = "long",
    groups: Annotated[
        Path | None, typer.Option(help="A CSV file of its suburbs to write, for `import --groups`.")
    ] = None,
) -> None:
    """Make up a town: invented readings in any layout, to try things with.

    Each seed gives another town. A second town can be used as open data of another region.
    """
    if groups is not None:
        check_place(groups)
    made = Town(homes=homes, days=days, seed=seed, start=start).panel()
    write(made, out, format=format_)
    if groups is not None:
        lines = zip(made.households, *made.groups.values(), strict=True)
        head = ",".join(["household", *made.groups])
        write_whole(groups, "\n".join([head, *(",".join(line) for line in lines)]) + "\n")
    screen.result({"out": str(out), "homes": homes, "days": days, "seed": seed})
    screen.say(f"{homes:,} made-up homes over {days:,} days in {out}")


def add(app: typer.Typer) -> None:
    """Add these verbs."""
    verbs.add(app, "town", town, example="diurnal town --homes 100 --days 90 --out town.csv.gz")
    verbs.add(
        app,
        "import",
        import_,
        example="diurnal import town.csv.gz --zone Australia/Sydney --out homes.parquet",
    )
    verbs.add(app, "check", check, example="diurnal check homes.parquet")
