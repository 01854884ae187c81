"""Verbs about the service: `serve` runs it, `token` says who may come in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diurnal.errors import InputError, PlanError
from diurnal.promise.budget import Budget
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import Profiles, StoreAt, TrustUnits, Without

if TYPE_CHECKING:
    from diurnal.show.web.tokens import Token

DOOR = "Access"
LIMITS = "Limits"


def serve(
    screen: Screen,
    store: StoreAt,
    host: Annotated[str, typer.Option(help="The address to listen on.", rich_help_panel=DOOR)] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any.", min=0, max=65535, rich_help_panel=DOOR)] = 8080,
    tokens: Annotated[
        Path | None, typer.Option(help="The token file that `token` makes.", rich_help_panel=DOOR)
    ] = None,
    closed: Annotated[
        bool, typer.Option("--closed", help="Require a token for reading, too.", rich_help_panel=DOOR)
    ] = False,
    tls_cert: Annotated[Path | None, typer.Option(help="A TLS certificate (PEM).", rich_help_panel=DOOR)] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key (PEM).", rich_help_panel=DOOR)] = None,
    behind_proxy: Annotated[
        str | None,
        typer.Option(help="The address or network of a trusted proxy that has TLS.", rich_help_panel=DOOR),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(help="The number of processes; more than 1 needs PostgreSQL.", min=1, rich_help_panel=DOOR),
    ] = 1,
    panel: Annotated[
        Path | None, typer.Option(help="The homes' panel, for the custodian: check, plan, start.")
    ] = None,
    without: Without = None,
    open_data: Annotated[
        Path | None, typer.Option(help="PUBLIC readings of other homes, for predicted errors.")
    ] = None,
    trust_units: TrustUnits = False,
    pattern_cap: Annotated[
        str | None, typer.Option(help="For a new store: the cap on epsilon for a shift of the pattern.")
    ] = None,
    strong_cap: Annotated[
        str | None, typer.Option(help="For a new store: the cap on epsilon for any one reported cycle.")
    ] = None,
    delta_cap: Annotated[str | None, typer.Option(help="For a new store: the delta of both caps.")] = None,
    max_body: Annotated[
        int, typer.Option(help="The maximum size of a batch, in MiB.", min=1, rich_help_panel=LIMITS)
    ] = 64,
    max_rows: Annotated[
        int, typer.Option(help="The maximum number of rows in a batch.", min=1, rich_help_panel=LIMITS)
    ] = 2_000_000,
    rate: Annotated[
        float,
        typer.Option(help="Requests per second from one client; 0 for no limit.", min=0, rich_help_panel=LIMITS),
    ] = 100.0,
    max_listeners: Annotated[
        int, typer.Option(help="Concurrent event streams in total.", min=1, rich_help_panel=LIMITS)
    ] = 1000,
    client_listeners: Annotated[
        int, typer.Option(help="Concurrent event streams per client.", min=1, rich_help_panel=LIMITS)
    ] = 8,
    profiles: Profiles = None,
) -> None:
    """Serve a store over HTTP until stopped: readings come in, reports go out, the custodian decides.

    Prints its address once it listens. Logs a line of JSON for each request on standard error (--log-level info).
    The API is described at /openapi.json.
    """
    try:
        from diurnal.show.web.server import Door, run
        from diurnal.show.web.settings import Limits, Settings
    except ModuleNotFoundError as cause:
        raise InputError("extra-missing", what="The service", module=cause.name, extra="web") from None
    door = Door(
        host=host,
        port=port,
        certificate=None if tls_cert is None else str(tls_cert),
        key=None if tls_key is None else str(tls_key),
        proxy=behind_proxy,
        workers=workers,
    )
    caps = {"pattern": pattern_cap, "cycle": strong_cap, "delta": delta_cap}
    said = {name: value for name, value in caps.items() if value is not None}
    settings = Settings(
        store=store,
        budget=Budget(**said) if said else None,
        profiles=None if profiles is None else str(profiles),
        panel=None if panel is None else str(panel),
        without=tuple(without or ()),
        open_data=None if open_data is None else str(open_data),
        tokens=tokens,
        trust_units=trust_units,
        reads_need_token=closed,
        secure=door.secure,
        limits=Limits(
            body=max_body << 20,
            rows=max_rows,
            requests=rate,
            burst=max(400, int(4 * rate)),
            listeners=max_listeners,
            client_listeners=client_listeners,
        ),
    )

    def ready(address: str) -> None:
        screen.result({"address": address, "tokens": None if tokens is None else str(tokens), "workers": workers})
        screen.say(f"Serving at {address}. Press Ctrl+C to stop.")

    run(settings, door, ready=ready, log_level=screen.log_level)


def token(
    screen: Screen,
    what: Annotated[str, typer.Argument(help="make, list or revoke.")],
    file: Annotated[Path, typer.Option(help="The token file; it contains digests of tokens.")] = Path(
        "tokens.json"
    ),
    name: Annotated[str | None, typer.Option(help="The owner of the token, such as headend or anna.")] = None,
    role: Annotated[str | None, typer.Option(help="The role: public, ingest or custodian.")] = None,
    days: Annotated[
        int | None, typer.Option(help="The number of days until the token expires; by default it does not expire.")
    ] = None,
) -> None:
    """Make, list and revoke tokens of the service. A token is shown once, when it is made, and not stored.

    A running service reads a changed file within a second.
    """
    from diurnal.show.web import tokens

    if what not in ("make", "list", "revoke"):
        raise PlanError("cli-token-verb", given=what)
    if days is not None and what != "make":
        raise PlanError("cli-token-days")
    if what == "list":
        _list(screen, file)
        return
    if name is None or (what == "make" and role is None):
        raise PlanError("cli-token-name")
    if what == "revoke":
        tokens.revoke(file, name)
        screen.result({"name": name, "role": role, "token": None, "until": None, "file": str(file), "tokens": None})
        screen.say(f"The token {name} is revoked.")
        return
    made = tokens.make(file, name=name, role=str(role), days=days)
    (kept,) = (each for each in tokens.load(file) if each.name == name)
    told = {"name": name, "role": role, "token": made, "until": kept.until, "file": str(file), "tokens": None}
    screen.result(told)
    screen.say(made)
    screen.aside(
        f"This token is shown once. Keep it where only its owner can read it. It is valid until {_until(kept)}."
    )


def _list(screen: Screen, file: Path) -> None:
    from diurnal.show.web import tokens

    made = table("name", "role", "made", "until")
    found = tokens.load(file)
    for each in found:
        made.add_row(each.name, each.role, each.made, _until(each))
    screen.table(made)
    names = ("name", "role", "made", "until")
    listed = [{name: getattr(each, name) for name in names} for each in found]
    none = dict.fromkeys(("name", "role", "token", "until"))
    screen.result({**none, "file": str(file), "tokens": listed})


def _until(token: Token) -> str:
    if token.until is None:
        return "it is revoked"
    return f"{token.until}, expired" if token.ended else token.until


def add(app: typer.Typer) -> None:
    """Add these verbs."""
    verbs.add(app, "token", token, example="diurnal token make --role ingest --name headend --file tokens.json")
    verbs.add(
        app,
        "serve",
        serve,
        example="diurnal serve --store city.db --tokens tokens.json --panel homes.parquet --port 8080",
    )
