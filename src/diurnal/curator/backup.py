"""Backup: a copy of a store, and the fence behind which it goes on when it is restored."""

from __future__ import annotations

import os
import shutil
import sqlite3
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from diurnal.curator import database, schema
from diurnal.curator.closing import TOLERANCE
from diurnal.curator.ledger import Head, loss_of, loss_text
from diurnal.curator.store import Store
from diurnal.errors import StoreError
from diurnal.place import check_place
from diurnal.promise.budget import Loss
from diurnal.readings.grid import Grid


def back_up(store: Store, target: Path) -> Head:
    """Copy a store, profiles and all, into a SQLite file that wants a fence when it is opened.

    Raises:
        StoreError: There is something already, or it cannot be written.
    """
    folder = target.with_name(f"{target.name}-profiles")
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex[:8]}.partial")
    mine = False
    try:
        # Inside the transaction: of two backups to one name the second finds the first.
        with _said(), store.transaction():
            check_place(target)
            if not target.name or target.exists() or folder.exists():
                raise StoreError(f"{target.name} is there already.", hint="Give a backup a name of its own.")
            mine, head = True, store.head()
            with database.errors_translated():
                _copy(store, partial, str(store.own_head()))
            _copy_profiles(store, folder)
            partial.rename(target)
    except BaseException:
        if mine:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        for left in (partial, Path(f"{partial}-wal"), Path(f"{partial}-shm")):
            left.unlink(missing_ok=True)
    return head


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise StoreError(f"The backup cannot be written ({cause.strerror}).", hint="Check the folder.") from None


def _copy_profiles(store: Store, target: Path) -> None:
    # The folder first, so that nobody else sees a file at any moment.
    target.mkdir(mode=0o700)
    for name in store.kept():
        path = target / f"{name}.parquet"
        shutil.copyfile(store.shelf.folder / path.name, path)
        os.chmod(path, 0o600)


def _copy(store: Store, path: Path, head: str) -> None:
    engine = database.of_file(path)
    with engine.begin() as target:
        schema.make_tables(target)
        for table in schema.tables.sorted_tables:
            found = store.connection.execution_options(yield_per=10_000).execute(sa.select(table))
            for some in found.partitions():
                target.execute(table.insert(), [dict(row._mapping) for row in some])
        target.execute(schema.facts.delete().where(schema.facts.c.name == "backup"))
        target.execute(schema.facts.insert().values(name="backup", value=f'"{head}"'))
        # A life of its own, so that it never takes its original's files for its own.
        lineage = schema.facts.update().where(schema.facts.c.name == "lineage")
        target.execute(lineage.values(value=f'"{uuid.uuid4().hex[:8]}"'))
    engine.dispose()
    # One file, with its log folded in.
    with sqlite3.connect(path) as plain:
        plain.execute("PRAGMA journal_mode=DELETE")


def go_behind(store: Store, words: str | None, people: int | None = None, strays: Collection[int] = ()) -> None:
    """Let a restored backup go on behind its fence: what it does not know counts as spent, and is never drawn.

    Args:
        store: The backup.
        words: The last head that was published, or the custodian's own, which says more.
        people: How many erasures and changes of tenancy there were since the backup was taken.
        strays: Steps that have not come yet, and were published all the same because a clock was wrong.

    Raises:
        StoreError: There is no head, or it is not of this store, or it does not say how many there were.
    """
    taken = store.fact("backup")
    if words is None:
        if taken is not None:
            raise StoreError(
                f"This is a backup, taken at head {taken}. What was published since then is not in it.",
                hint="Open it with fence= the last head that was published: what is missing counts as spent then, "
                "and is never drawn again.",
            )
        return
    head, own = Head.of(words), store.own_head()
    # What it knew when it was taken: whatever it has done since is its own, and no part of what is missing.
    base = Head.of(taken) if taken else own
    empty: dict[str, Any] = {
        "heads": [],
        "base": str(base),
        "pattern": "0",
        "strong": "0",
        "step": -1,
        "levels": "",
    }
    past: dict[str, Any] = store.fact("fence") or empty
    knew = base.people if taken else store.fact("knew")
    base = Head.of(past["base"])
    known = head.hash in past["heads"] or _is_there(store, head, behind=bool(past["heads"]))
    missing = {
        "heads": [*past["heads"], head.hash],
        "base": past["base"],
        "pattern": loss_text(loss_of(past["pattern"]) + _less(head.pattern, base.pattern)),
        "strong": loss_text(loss_of(past["strong"]) + _less(head.strong, base.strong)),
        "step": max(past["step"], _last_step(store, head, strays)),
        "levels": "".join(sorted({*past["levels"], *head.levels})),
    }
    knew = (base.people or 0) if knew is None else knew
    owed = max(store.owed(), _people_by(head, people, knew) - store.people())
    if not known:
        # Noise of a stray's cycle was drawn, and this store does not know it: the whole cycle is never reported.
        store.close_steps(_cycles_of(store, strays), apart=0)
        store.set_fact("fence", missing)
    if not known or owed > store.owed():
        store.set_fact("owed", owed)
        store.set_fact("knew", knew)
        told = {name: store.fact(name) for name in ("fence", "owed", "knew")}
        store.note("fenced", {"head": words.strip(), **told})
    store.set_fact("backup", None)


def _is_there(store: Store, head: Head, *, behind: bool) -> bool:
    """Whether a store knows the event that a head is of.

    Raises:
        StoreError: It is a head of another store.
    """
    events = [event for event in store.events() if head.people is not None or event.is_told]
    there = events[head.number - 1].hash[:32] if 0 < head.number <= len(events) else None
    # Behind a fence the ledger has gone another way than what it was restored from, and numbers say nothing.
    if head.store != store.fact("id") or (there not in (None, head.hash) and not behind):
        raise StoreError("This store did not publish this head.", hint="Restore the right backup.")
    return there == head.hash


def _last_step(store: Store, head: Head, strays: Collection[int]) -> int:
    """The last step that was published in its time, by a head.

    Raises:
        StoreError: It has not come yet, and nobody says that it was published ahead of time.
    """
    population = store.fact("population") or {}
    if "grid" not in population:
        return head.step
    grid = Grid(**population["grid"])
    now = grid.step_at(store.now() + TOLERANCE)
    wrong = [step for step in strays if step <= now]
    if wrong:
        raise StoreError(
            f"Step {wrong[0]} has come by the clock of this machine ({grid.time(wrong[0])}): it is no stray.",
            hint="Name only steps that were published before their time. Check the clock of this machine.",
        )
    if head.step <= now:
        return head.step
    if head.step not in strays:
        raise StoreError(
            f"By this head a step was published that has not come yet: {grid.time(head.step)}. The store would "
            "report nothing until then.",
            hint="Check the clock of this machine. If readings with a wrong clock were published, name every step "
            f"that was published ahead of its time: strays=[{head.step}, ...] (--stray on the command line).",
        )
    return now


def _cycles_of(store: Store, steps: Collection[int]) -> set[int]:
    """All steps that have not come yet of the cycles that some steps are of. What has come is behind the fence."""
    if not steps:
        return set()
    grid = Grid(**store.fact("population")["grid"])
    now, slots = grid.step_at(store.now() + TOLERANCE), grid.slots
    cycles = (range(step - step % slots, step - step % slots + slots) for step in steps)
    return {step for cycle in cycles for step in cycle if step > now}


def _people_by(head: Head, said: int | None, knew: int) -> int:
    """How many erasures and changes of tenancy there were in all, by a head or by who knows.

    A public head does not tell, nor does it move when a household is erased: some may be missing even from a store
    that knows its last event.

    Args:
        head: The head.
        said: How many there were since a backup was taken, if somebody says so.
        knew: How many the backup knew.
    """
    if said is None and head.people is None:
        raise StoreError(
            "A public head does not tell how many erasures and changes of tenancy there were since the backup.",
            hint="Say how many: people=0 (--people 0) if there were none; they must be said again then. Or give "
            "the custodian's own head, which tells: `diurnal status`.",
        )
    return max(head.people or 0, knew + (said or 0))


def _less(later: Loss, earlier: Loss) -> Loss:
    """What was lost in between."""
    pure, concentrated = (max(Fraction(0), getattr(later, n) - getattr(earlier, n)) for n in ("epsilon", "zcdp"))
    return Loss.pure(pure) + Loss.concentrated(concentrated)
