"""Backup: a copy of a store, and the fence behind which it goes on when it is restored."""

from __future__ import annotations

import os
import shutil
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from diurnal.curator import database, schema
from diurnal.curator.ledger import Head, loss_of, loss_text
from diurnal.curator.store import Store
from diurnal.errors import StoreError
from diurnal.promise.budget import Loss


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
            if not target.name or target.exists() or folder.exists():
                raise StoreError(f"{target.name} is there already.", hint="Give a backup a name of its own.")
            mine, head = True, store.head()
            with database.errors_translated():
                _copy(store, partial, str(head))
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


def go_behind(store: Store, words: str | None) -> None:
    """Let a restored backup go on behind its fence: what it does not know counts as spent, and is never drawn."""
    taken = store.fact("backup")
    if words is None:
        if taken is not None:
            raise StoreError(
                f"This is a backup, taken at head {taken}. What was published since then is not in it.",
                hint="Open it with fence= the last head that was published: what is missing counts as spent then, "
                "and is never drawn again.",
            )
        return
    head, own = Head.of(words), store.head()
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
    base = Head.of(past["base"])
    there = next((event for event in store.events() if event.number == head.number), None)
    known = head.hash in past["heads"] or (there is not None and there.hash[:32] == head.hash)
    # Behind a fence the ledger has gone another way than what it was restored from, and numbers say nothing.
    if head.store != own.store or (there is not None and not known and not past["heads"]):
        raise StoreError("This store did not publish this head.", hint="Restore the right backup.")
    if not known:
        missing = {
            "heads": [*past["heads"], head.hash],
            "base": past["base"],
            "pattern": loss_text(loss_of(past["pattern"]) + _less(head.pattern, base.pattern)),
            "strong": loss_text(loss_of(past["strong"]) + _less(head.strong, base.strong)),
            "step": max(past["step"], head.step),
            "levels": "".join(sorted({*past["levels"], *head.levels})),
        }
        store.set_fact("fence", missing)
        store.set_fact("owed", max(store.owed(), head.people - own.people + store.owed()))
        store.note("fenced", {"head": words.strip(), "fence": missing})
    store.set_fact("backup", None)


def _less(later: Loss, earlier: Loss) -> Loss:
    """What was lost in between."""
    pure, concentrated = (max(Fraction(0), getattr(later, n) - getattr(earlier, n)) for n in ("epsilon", "zcdp"))
    return Loss.pure(pure) + Loss.concentrated(concentrated)
