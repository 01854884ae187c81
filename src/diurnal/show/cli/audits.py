"""The verb `audit`: try to break the promise of a plan or of a running stream, and write a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen
from diurnal.show.cli.verbs import Profiles


def audit(
    screen: Screen,
    what: Annotated[str, typer.Argument(help="A plan that `plan --out` wrote, or a store that `start` made.")],
    out: Annotated[Path, typer.Option(help="The folder for the page, its charts and its numbers.")],
    stream: Annotated[
        str | None,
        typer.Option(help="For a store: the beginning of the stream's name; defaults to the running one."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="A panel of yours to attack; defaults to a made-up town.")
    ] = None,
    open_data: Annotated[
        str | None, typer.Option(help="With --data: PUBLIC readings of other homes; defaults to a made-up town.")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Run for minutes, for sharper bounds.")] = False,
    attacks: Annotated[bool, typer.Option(help="Also measure what an attacker could learn about a home.")] = True,
    profiles: Profiles = None,
) -> None:
    """Try to break a promise: in closed form, on transcripts of the shipped curator, and by attacks on a home.

    Writes a certificate, as Markdown and as HTML that opens offline, its charts and every number.
    The exit code is 1 if the promise is broken. A store is only read; nothing is drawn or spent.
    With --data the page is for the custodian's eyes, and scores of attacks are not printed.
    It needs the extra charts.
    """
    # Audits bring a house of their own, and no other verb is to wait for it.
    from diurnal.show.cli import audit_work

    audit_work.audit(
        screen,
        what,
        out,
        stream=stream,
        data=data,
        open_data=open_data,
        deep=deep,
        attacks=attacks,
        profiles=profiles,
    )


def add(app: typer.Typer) -> None:
    """Add the verb."""
    verbs.add(app, "audit", audit, example="diurnal audit plan.json --out audit")
