"""Verbs: what all verbs share: how they are added, what they can be told, how they fail."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

import diurnal_command
from diurnal import __version__
from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.errors import BodyError, DiurnalError, InputError, PlanError, QueryError, StreamError
from diurnal.planning.plan import Plan
from diurnal.readings import engines
from diurnal.readings.grid import Grid
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.importing import read
from diurnal.readings.panel import Panel
from diurnal.readings.panel_file import is_kept, open_panel
from diurnal.show.cli import settings
from diurnal.show.cli.screen import Screen, plain
from diurnal.show.plan_request import PlanRequest, asked_fields

app = typer.Typer(
    no_args_is_help=True,
    # Its own tracebacks would show local variables, readings among them.
    pretty_exceptions_enable=False,
    help="Differentially private reports, without end, on data that repeats.",
    epilog="Begin with: diurnal demo. The file diurnal.toml can set defaults for flags.",
)

WRONG_USAGE = (PlanError, QueryError, BodyError)
"""Errors about what was typed, and not about data or a store."""

StoreAt = Annotated[
    str, typer.Option("--store", help="The store: a file, or postgresql+psycopg://host/name.", show_default=False)
]
Profiles = Annotated[
    Path | None, typer.Option(help="The folder of private profiles; defaults to a folder beside the store.")
]
StreamKey = Annotated[
    str | None, typer.Option("--stream", help="The beginning of the stream's name; defaults to the running stream.")
]

AnyStream = Annotated[
    str | None,
    typer.Option("--stream", help="The beginning of the stream's name; may be left out if there is only one."),
]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would happen, without changing anything.")]
LOCAL = "local"
"""What --engine is where readings are read here, by no engine of the registry."""

Engine = Annotated[str, typer.Option(help="local, or spark for a panel in a folder (needs the extra spark).")]
Without = Annotated[
    list[str] | None,
    typer.Option(
        help="A household to leave out, such as an erased one, or @FILE with one name per line; repeatable."
    ),
]
TrustUnits = Annotated[
    bool,
    typer.Option(
        "--trust-units",
        help="Accept readings that look a thousand times too small or too large for the plan's reference.",
    ),
]
Master = Annotated[str, typer.Option(help="Where Spark runs: local[2], spark://host:7077, yarn, k8s://...")]


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"diurnal {__version__}")
        raise typer.Exit


@app.callback()
def diurnal(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="A file with defaults for flags; defaults to diurnal.toml if it exists.")
    ] = None,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_say_version),
    ] = False,
) -> None:
    """Differentially private reports, without end, on data that repeats."""
    commands: Any = context.command
    context.default_map = settings.defaults(config, commands.commands)


def add(app: typer.Typer, name: str, work: Callable[..., None], *, example: str) -> None:
    """Add a verb: a function of a screen and its own options.

    Every verb has --json, --quiet and --log-level, an example at the end of its help, and fails with a sentence. A
    verb that takes a `PlanRequest` has a flag for each of its fields.
    """
    shared = {
        "as_json": Annotated[bool, typer.Option("--json", help="Print JSON.")],
        "quiet": Annotated[bool, typer.Option("--quiet", help="Print errors only.")],
        "log_level": Annotated[
            str, typer.Option(help="Log level: debug, info, warning or error. Logs are JSON lines on stderr.")
        ],
    }
    defaults = {"as_json": False, "quiet": False, "log_level": "warning"}

    @functools.wraps(work)
    def verb(**given: Any) -> None:
        screen = Screen(name, **{each: given.pop(each) for each in shared})
        with _Failing(screen):
            work(screen, **{each.name: _given(each, given) for each in own})

    own = [each for each in inspect.signature(work, eval_str=True).parameters.values() if each.name != "screen"]
    more = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=defaults[each], annotation=shared[each])
        for each in shared
    ]
    parameters = [flag for each in own for flag in _parameters(each)] + more
    # A default may come before what has none: all are given by name.
    verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    verb.__annotations__ = {each.name: each.annotation for each in parameters}
    del verb.__wrapped__
    app.command(name=name, epilog=f"Example: {example}")(verb)


def _parameters(of: inspect.Parameter) -> list[inspect.Parameter]:
    """The parameters of a verb for one of its function's: of a request, one for each of its fields."""
    if of.annotation is not PlanRequest:
        return [of.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=Annotated[
                each.kind, typer.Option(help=each.help, rich_help_panel=each.panel, min=each.least)
            ],
        )
        for each in asked_fields(PlanRequest)
    ]


def _given(parameter: inspect.Parameter, given: dict[str, Any]) -> Any:
    """What a verb's function is given for a parameter."""
    if parameter.annotation is PlanRequest:
        return PlanRequest(**{each.name: given[each.name] for each in asked_fields(PlanRequest)})
    return given[parameter.name]


class _Failing:
    """Whatever goes wrong inside is a sentence and an exit code, and shows no value."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def __enter__(self) -> None:
        self._began = time.monotonic()
        self._screen.log("begun")
        diurnal_command.begun()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        if error is None:
            self._screen.log("done", seconds=seconds)
            return
        if type(error).__module__.startswith("typer"):
            return
        if isinstance(error, SystemExit):
            # Rich ends so where a pipe is broken.
            error = BrokenPipeError()
        code, words = _failure(error, self._screen.verb)
        self._screen.log("failed", seconds=seconds, error=error)
        if isinstance(error, BrokenPipeError) and sys.stdout is not None:
            # Whoever read this has gone: what is still in the buffer must not fail a second time.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        typer.echo(plain(words), err=True)
        raise typer.Exit(code) from None


def _failure(error: BaseException, verb: str = "") -> tuple[int, str]:
    """The exit code of an error, and what is said about it."""
    if isinstance(error, DiurnalError):
        return (2 if isinstance(error, WRONG_USAGE) else 1), f"{error.message}\nHint: {hinted(error, verb)}"
    if isinstance(error, KeyboardInterrupt):
        return 130, diurnal_command.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return 1, "Output was closed; completed work is saved. Reports are available with `diurnal export`."
    if isinstance(error, OSError):
        name = Path(str(error.filename)).name if error.filename else "a file"
        return 1, f"{name}: {error.strerror or type(error).__name__}.\nHint: Check the path and its permissions."
    frame = inspect.getinnerframes(error.__traceback__)[-1] if error.__traceback__ else None
    where = f" ({Path(frame.filename).name}, line {frame.lineno})" if frame else ""
    # Its text might show what it was about: nothing but its kind is said.
    return 1, f"Internal error in diurnal: {type(error).__name__}{where}.\nHint: Please report it."


def _options(verb: str) -> set[str]:
    """The flags of a verb; none if there is no such verb."""
    commands: Any = typer.main.get_command(app)
    command = commands.commands.get(verb)
    return {flag for each in getattr(command, "params", ()) for flag in each.opts}


def hinted(error: DiurnalError, verb: str) -> str:
    """A remedy as it can be followed at a verb: what only `import` can be told is said to be told there."""
    flag, own = f"--{str(error.params.get('name')).replace('_', '-')}", _options(verb)
    told = "flag" in error.needed("remedy", "cli") and flag not in own
    said = error.said("remedy", "python" if told else "cli", flag=flag)
    flags = set(error.flags)
    if own and not flags <= own and flags <= _options("import"):
        return f"Import the readings first: diurnal import FILES --out homes.parquet. For that command: {said}"
    return said


def a_session(engine: str, master: str) -> Any:
    """The session that a verb runs on; None if it runs here."""
    if engine == LOCAL:
        return None
    if engine not in engines.ENGINES:
        names = " or ".join((LOCAL, *engines.ENGINES))
        raise InputError("cli-engine-unknown", engine=engine, names=names, local=LOCAL)
    return engines.named(engine).session(master)


def a_panel(
    source: list[str],
    *,
    period: str | None = None,
    zone: str | None = None,
    like: Any = None,
    steps: range | None = None,
    domain: tuple[int, int] | None = None,
    unit: str | None = None,
    session: Any = None,
) -> Panel:
    """The panel of a kept file, or of raw files that tell everything themselves.

    Args:
        source: A panel that `import` kept; or files, folders or globs.
        period: Another length of a cycle than the panel's own.
        zone: The homes' wall clock, where raw files do not tell.
        like: The grid of a stream, for raw files.
        steps: The steps that a stream takes, for raw files.
        domain: Its domain: what is outside is set aside.
        unit: What raw files are in, where they do not tell.
        session: The session of an engine, for a panel in the lake.
    """
    if len(source) == 1 and (session is not None or is_kept(source[0])):
        if unit is not None:
            raise InputError("cli-unit-of-kept-panel")
        panel = open_panel(source[0], session=session)
        return panel if period is None else panel.with_period(period)
    said = {} if unit is None else {"unit": unit}
    homes = read(source[0] if len(source) == 1 else source, **said)
    if like is not None:
        return make_panel(homes, like=like, steps=steps, domain=domain)
    return make_panel(homes, period="1d" if period is None else period, zone=zone)


def a_step(grid: Grid, when: str) -> int:
    """A step by its number, or the first that begins at a time of the wall clock or after it.

    Raises:
        InputError: It is neither.
    """
    if when.isascii() and when.isdigit() and len(when) < 13:
        return int(when)
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:
        raise InputError("cli-not-a-time", given=when) from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(ZoneInfo(grid.zone)).replace(tzinfo=None)
    apart = moment - datetime.fromisoformat(grid.anchor)
    if apart.total_seconds() < 0:
        raise InputError("cli-before-first-step", given=when, first=grid.anchor)
    return -(-int(apart.total_seconds()) // (60 * grid.minutes))


def a_plan(path: Path) -> Plan:
    """The plan of a file.

    Raises:
        PlanError: There is none, or it is none.
    """
    try:
        return Plan.from_json(json.loads(path.read_text()))
    except PlanError:
        raise
    except (ValueError, OSError, RecursionError) as cause:
        code = "cli-plan-missing" if isinstance(cause, FileNotFoundError) else "cli-plan-invalid"
        raise PlanError(code, name=path.name) from None


def a_store(where: str, profiles: Path | None, *, trust_units: bool = False) -> Curator:
    """The curator of a store that is there.

    Raises:
        StoreError: There is none.
    """
    curator = Curator.open(where, profiles=profiles, create=False)
    if trust_units:
        curator.trust_units()
    return curator


def shown(store: str) -> str:
    """A store as it may be printed: an address without its password."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", store)


def a_stream(curator: Curator, key: str | None, *, running: bool = True) -> Stream:
    """The stream whose name begins so; unless said, the only one, or the one that runs where a verb is about that.

    Raises:
        StreamError: There is none, or several.
    """
    if key:
        return curator.stream(key)
    streams = curator.status().streams
    if not streams:
        raise StreamError("store-no-streams")
    named = [each.plan for each in streams]
    if running:
        named = [each.plan for each in streams if each.end is None] or named
    if len(named) > 1:
        names = ", ".join(each[:12] for each in named)
        raise StreamError("store-several-streams", names=names)
    return curator.stream(named[0])
