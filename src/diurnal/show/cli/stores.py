"""Verbs about stores: `status`, `ledger`, `backup`, `fence`, `raise-cap`; and about people: `erase`, `move-out`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from diurnal.curator.curator import Curator
from diurnal.errors import PlanError, StoreError
from diurnal.exact import text
from diurnal.promise.budget import Budget
from diurnal.show.cli import verbs
from diurnal.show.cli.screen import Screen, table
from diurnal.show.cli.verbs import DryRun, Profiles, StoreAt, a_step, a_store, shown
from diurnal.show.page.ledger import lines

if TYPE_CHECKING:
    from diurnal.curator.ledger import Event
    from diurnal.curator.opening import Verification


def status(screen: Screen, store: StoreAt, profiles: Profiles = None) -> None:
    """Show the state of a store: head, budget, streams, what was set aside. For its operator's eyes."""
    found = a_store(store, profiles).status()
    screen.result(dict(found.to_json()))
    screen.say(found)


def ledger(
    screen: Screen,
    store: StoreAt,
    verify: Annotated[bool, typer.Option(help="Check that everything is as it was written.")] = False,
    head: Annotated[str | None, typer.Option(help="A published head that must be in the ledger.")] = None,
    profiles: Profiles = None,
) -> None:
    """List everything that was decided, what was spent and what is left; with --verify, check that it is unchanged.

    What is spent is for a shift of the pattern, and for any one reported cycle: many cycles together lose more.
    """
    curator = a_store(store, profiles)
    looked = curator.verify(head) if verify or head is not None else None
    told: dict[str, Any] = {} if looked is None else _looked(looked)
    try:
        found, events = curator.status(), curator.ledger()
    except StoreError:
        if looked is None or looked.sound:
            raise
        # What is damaged cannot be listed; what was found is said all the same.
        screen.say(looked)
        screen.result(told)
        raise typer.Exit(1) from None
    caps = {"pattern": found.pattern, "strong": found.strong}
    content: dict[str, Any] = {
        "spent": {name: text(spent) for name, (spent, _) in caps.items()},
        "remaining": {name: text(max(Fraction(0), cap - spent)) for name, (spent, cap) in caps.items()},
        "delta": None if found.delta is None else text(found.delta),
        "uncounted": found.uncounted(),
        "events": [_event(event) for event in events],
        "head": found.head,
    }
    screen.table(ledger_table(events))
    for name, said in found.spending().items():
        screen.say(f"{name}: {said}")
    screen.say(f"head {found.head}")
    if looked is not None:
        screen.say(looked)
    screen.result({**content, **told})
    if looked is not None and not looked.sound:
        raise typer.Exit(1)


def _looked(looked: Verification) -> dict[str, Any]:
    listed = {"findings": list(looked.findings), "not_checked": list(looked.not_checked)}
    return {"sound": looked.sound, **listed}


def _event(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in ("number", "time", "kind", "content", "hash", "nonce")}


def ledger_table(events: list[Event]) -> Table:
    """Events in words, one after the other; reports of many steps in a row are one line."""
    made = table("event", "time", "what", right=("event",))
    for number, when, words, spends in lines(events, people=True):
        # The first and the last of many moments below each other: a terminal has little room beside them.
        made.add_row(number, when.replace(" to ", "\n"), f"{words} It spends: {spends}." if spends else words)
    return made


def backup(
    screen: Screen,
    store: StoreAt,
    out: Annotated[Path, typer.Option(help="The SQLite file to copy it to, with its private profiles.")],
    profiles: Profiles = None,
) -> None:
    """Copy a store. A copy can be opened behind a fence only: see `diurnal fence`."""
    head = a_store(store, profiles).backup(out)
    screen.result({"out": str(out), "head": head})
    screen.say(f"copied to {out}")
    screen.aside(f"head {head}")


def fence(
    screen: Screen,
    head: Annotated[str, typer.Argument(help="The last head that was published, or the last one from `status`.")],
    store: StoreAt,
    people: Annotated[
        int | None,
        typer.Option(
            help="The number of erasures and changes of tenancy since the backup. A published head needs it; a "
            "head from `status` includes it.",
            min=0,
        ),
    ] = None,
    stray: Annotated[
        list[int] | None,
        typer.Option(
            help="A step that was published before its time, because a clock was wrong; repeatable. It is never "
            "reported again, and the store goes on from today.",
        ),
    ] = None,
    dry_run: DryRun = False,
    profiles: Profiles = None,
) -> None:
    """Let a restored backup go on: what it does not know counts as spent, and is never drawn again."""
    more: dict[str, Any] = {"profiles": profiles, "fence": head, "people": people, "strays": stray or ()}
    if dry_run:
        resumes = Curator.after_fence(store, **more)
        screen.result({"resumes": resumes, "dry_run": True})
        screen.say(f"{shown(store)} would go on from step {resumes} on. Nothing was changed.")
        return
    curator = Curator.open(store, **more)
    screen.result({"head": curator.head})
    screen.say(f"{shown(store)} goes on behind the head that was published.")
    screen.aside(f"head {curator.head}")


def raise_cap(
    screen: Screen,
    store: StoreAt,
    pattern: Annotated[str | None, typer.Option(help="The new cap on epsilon for a shift of the pattern.")] = None,
    strong: Annotated[str | None, typer.Option(help="The new cap on epsilon for any one reported cycle.")] = None,
    dry_run: DryRun = False,
    profiles: Profiles = None,
) -> None:
    """Raise the caps of a store. The ledger records it; caps can never be lowered or reset."""
    if pattern is None and strong is None:
        raise PlanError("cli-cap-missing")
    curator = a_store(store, profiles)
    old = curator.budget
    new = Budget(
        pattern=old.pattern if pattern is None else pattern,
        cycle=old.cycle if strong is None else strong,
        delta=old.delta,
    )
    with curator.rehearsed(dry_run):
        curator.raise_cap(new)
    screen.result({"budget": new.to_json(), "dry_run": dry_run, "head": curator.head})
    screen.say(f"The caps {'would be' if dry_run else 'are now'}: pattern {new.pattern}, strong {new.cycle}.")
    screen.aside(f"head {curator.head}")


def erase(
    screen: Screen,
    household: Annotated[str, typer.Argument(help="The household's name on the roster.")],
    store: StoreAt,
    dry_run: DryRun = False,
    profiles: Profiles = None,
) -> None:
    """Erase a household: its profile and readings are deleted, and it does not move any more.

    What was released stays released. The next plan must leave the household out.
    """
    curator = a_store(store, profiles)
    with curator.rehearsed(dry_run):
        curator.erase(household)
    head = curator.status().head
    screen.result({"dry_run": dry_run, "head": head})
    if dry_run:
        screen.say("The household is on the roster, and would be erased. Nothing was changed.")
    else:
        screen.say("Erased. Delete the household from the files you import and from old backups, too.")
    screen.aside(f"head {head}")


def move_out(
    screen: Screen,
    household: Annotated[str, typer.Argument(help="The household's name on the roster.")],
    since: Annotated[str, typer.Option("--from", help="The local time of the change: 2023-03-01T00:00.")],
    store: StoreAt,
    dry_run: DryRun = False,
    profiles: Profiles = None,
) -> None:
    """Record a new tenant: from then on the household counts with its old pattern, until a new plan learns it."""
    curator = a_store(store, profiles)
    streams = curator.streams()
    step = a_step(streams[0].plan.grid, since) if streams else 0
    with curator.rehearsed(dry_run):
        curator.move_out(household, step)
    head = curator.status().head
    screen.result({"step": step, "dry_run": dry_run, "head": head})
    screen.say(f"The household {'would not' if dry_run else 'does not'} move from step {step} on.")
    screen.aside(f"head {head}")


def add(app: typer.Typer) -> None:
    """Add these verbs."""
    verbs.add(app, "status", status, example="diurnal status --store city.db")
    verbs.add(app, "ledger", ledger, example="diurnal ledger --store city.db --verify")
    verbs.add(app, "backup", backup, example="diurnal backup --store city.db --out backup.db")
    verbs.add(app, "fence", fence, example="diurnal fence HEAD --store backup.db")
    verbs.add(app, "raise-cap", raise_cap, example="diurnal raise-cap --store city.db --pattern 2 --strong 2")
    verbs.add(app, "erase", erase, example="diurnal erase home-000007 --store city.db")
    verbs.add(
        app, "move-out", move_out, example="diurnal move-out home-000008 --from 2022-09-01T00:00 --store city.db"
    )
