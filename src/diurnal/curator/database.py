"""Database: how a store's database is reached: in memory, a SQLite file, or PostgreSQL.

A transaction is alone: SQLite's begin as writers, PostgreSQL's take a lock of the store's. What was committed is
on the disk: SQLite syncs its log at every commit, and so does PostgreSQL, also where its operator has turned that
off for others (`synchronous_commit`), unless it syncs nothing at all (`fsync`). What was erased is overwritten.
"""

from __future__ import annotations

import functools
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from diurnal.errors import StoreError, installs

PATIENCE = 60
"""How many seconds a transaction waits for its turn."""

LOCK = 0x6469_7572_6E61_6C
"""The number of the lock that PostgreSQL's transactions take: one store to a database or schema."""

DURABLE = (
    "set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)"
)
"""A row that was shown and lost with a crash would be drawn again: a commit waits for the disk."""

PLACE = """
    SELECT d.oid || ' ' || CASE WHEN has_function_privilege('pg_control_system()', 'execute')
        THEN (SELECT system_identifier FROM pg_control_system())::text ELSE '' END
    FROM pg_database d WHERE d.datname = current_database()
"""
"""Which database of which PostgreSQL this is: another one, if it was restored from a dump or copied."""


def place_of(connection: Any) -> str | None:
    """What tells a PostgreSQL database from a copy of it; None of a SQLite file, which may be moved about."""
    found = connection.exec_driver_sql(PLACE).scalar() if connection.dialect.name == "postgresql" else None
    return None if found is None else str(found)


def in_memory() -> sa.Engine:
    """A database that ends with the process.

    An audit makes hundreds of them: all have one dialect, so that a statement is compiled once for all.
    """
    first, compiled = _in_memory()
    options = {"compiled_cache": compiled}
    engine = sa.Engine(
        first.pool.recreate(), first.dialect, first.url, hide_parameters=True, execution_options=options
    )
    _alone(engine)
    return engine


@functools.cache
def _in_memory() -> tuple[sa.Engine, dict[Any, Any]]:
    """What databases in memory are made after, and their compiled statements."""
    return sa.create_engine(
        "sqlite://", poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False}
    ), {}


def of_file(path: Path) -> sa.Engine:
    """A SQLite file, readable by its owner alone.

    Raises:
        StoreError: It cannot be made.
    """
    try:
        # Made before SQLite makes it, so that nobody else can read it at any moment; its log gets the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        os.chmod(path, 0o600)
    except OSError as cause:
        raise StoreError(
            f"The store {path.name} cannot be opened ({cause.strerror}).", hint="Check the folder and its rights."
        ) from None
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": PATIENCE},
    )

    def durable(connection: sqlite3.Connection, _: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    sa.event.listen(engine, "connect", durable)
    _alone(engine)
    return engine


def of_url(url: str) -> sa.Engine:
    """A PostgreSQL database.

    Raises:
        StoreError: It is no address of one, or its driver is missing.
    """
    engine = _postgres(url, isolation_level="READ COMMITTED")

    def lock(connection: Any) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
        connection.exec_driver_sql(f"SELECT {DURABLE}, pg_advisory_xact_lock({LOCK})")

    sa.event.listen(engine, "begin", lock)
    return engine


def _postgres(url: str, **options: Any) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise StoreError(
                "Expected the address of a PostgreSQL database.", hint="postgresql+psycopg://host/name"
            )
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        return sa.create_engine(parsed, pool_pre_ping=True, hide_parameters=True, **options)
    except sa.exc.ArgumentError:
        raise StoreError("That is no address of a database.", hint="postgresql+psycopg://host/name") from None
    except ModuleNotFoundError:
        raise StoreError("PostgreSQL needs psycopg.", hint=installs("postgres")) from None


def for_reading(where: str | Path) -> sa.Engine:
    """A database that is there, for who only reads: it waits for no writer, and keeps none waiting.

    A transaction sees one moment of the store. What would write is refused by the database.

    Raises:
        StoreError: It is no address of a database, or its driver is missing.
    """
    if "://" in str(where):
        return _postgres(
            str(where), isolation_level="REPEATABLE READ", execution_options={"postgresql_readonly": True}
        )
    # Not made where it is not there: whoever reads leaves nothing behind.
    address = f"{Path(where).absolute().as_uri()}?mode=rw"

    def connected() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, check_same_thread=False, timeout=PATIENCE)

    engine = sa.create_engine("sqlite://", hide_parameters=True, creator=connected, poolclass=sa.pool.QueuePool)

    def reads(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only=ON")

    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    sa.event.listen(engine, "connect", reads)
    sa.event.listen(engine, "begin", begin)
    return engine


def _alone(engine: sa.Engine) -> None:
    """Let SQLite's transactions begin as writers, one at a time; its driver would begin them late."""

    def quiet(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None

    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    sa.event.listen(engine, "connect", quiet)
    sa.event.listen(engine, "begin", begin)


REASONS = (
    (r"disk is full|No space left", "the disk is full", "Make room; then go on where you were."),
    (r"readonly|read-only|unable to open", "it cannot be written", "Check the mount and the file's rights."),
    (r"locked|lock timeout|LockNotAvailable", "somebody else keeps it locked", "Try again when the other is done."),
    (r"already exists", "it has tables of somebody else", "Give the store a database, or a schema, of its own."),
    (r"malformed|not a database|decode|bytes-like", "the file is damaged", "Restore a backup, and fence it."),
    (r"connect|terminat|closed|shutting down", "the database cannot be reached", "Try again when it is back."),
)


@contextmanager
def errors_translated() -> Iterator[None]:
    """Say what is wrong with a database in a sentence, without its statements or values."""
    try:
        yield
    except (sa.exc.StatementError, sqlite3.Error) as cause:
        # The driver's own words: the statement is not to be searched for them.
        said = str(getattr(cause, "orig", cause))
        unknown = (f"the database says {type(cause).__name__}", "See the database's own log.")
        found = ((why, remedy) for words, why, remedy in REASONS if re.search(words, said, re.IGNORECASE))
        why, remedy = next(found, unknown)
        raise StoreError(f"The store did nothing: {why}.", hint=remedy) from None
