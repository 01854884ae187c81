"""Damage: what a database finds wrong with its own files, as far as a client can ask.

SQLite looks through its whole file: every page, every row, and every index against its table. PostgreSQL does that
with the extension amcheck, which its operator installs; without it, every row of every table is read, and what was
not checked is said.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Any, NamedTuple

import sqlalchemy as sa

from diurnal.curator import schema

MOST = 100
"""How many faults SQLite counts, at most."""

RELATIONS = """
    WITH ours AS (SELECT to_regclass(name) AS oid FROM unnest(CAST(:names AS text[])) AS name)
    SELECT c.relname, c.relkind = 'r' FROM pg_class c
    WHERE c.oid IN (SELECT oid FROM ours)
    OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM ours))
    ORDER BY c.relname
"""
"""The tables of a store and their indexes, and which of them are tables."""

TABLE_CHECK = "SELECT count(*) FROM verify_heapam(to_regclass(:name))"
INDEX_CHECK = "SELECT bt_index_check(to_regclass(:name), true)"
"""With every row of the table looked up in the index."""

STREAMED = {"yield_per": 100}
"""Rows come some at a time: a table may be larger than memory."""

FORBIDDEN = "42501"
"""What PostgreSQL says where a user may not do something."""


class Damage(NamedTuple):
    """What a database has found in its own files."""

    found: tuple[str, ...]
    """What is damaged, in words that show nothing of its content."""
    not_checked: tuple[str, ...] = ()
    """What could not be checked, and why."""


def damage(connection: Any) -> Damage:
    """Let the database check the files of a store. Called inside a transaction, which goes on afterwards."""
    return _of_postgres(connection) if connection.dialect.name == "postgresql" else _of_sqlite(connection)


def _of_sqlite(connection: Any) -> Damage:
    try:
        said = [str(line) for (line,) in connection.exec_driver_sql(f"PRAGMA integrity_check({MOST})").all()]
    except (sa.exc.DBAPIError, sqlite3.Error):
        return Damage(("the database file is damaged: SQLite cannot read it",))
    if said == ["ok"]:
        return Damage(())
    # Only the names of tables: other words of it may come from the damaged bytes.
    words = {word for line in said for word in re.findall("[a-z]+", line)}
    where = ", ".join(sorted(words & schema.tables.tables.keys()))
    number = f"{MOST} faults or more" if len(said) >= MOST else f"{len(said)} fault(s)"
    return Damage((f"the database file is damaged: SQLite finds {number}{where and f', in {where}'}",))


def _of_postgres(connection: Any) -> Damage:
    found = []
    for table in schema.tables.sorted_tables:
        try:
            with (
                connection.begin_nested(),
                connection.execute(sa.select(table), execution_options=STREAMED) as rows,
            ):
                for _ in rows:
                    pass
        except sa.exc.DBAPIError:
            found.append(f"the table {table.name} is damaged: PostgreSQL cannot read all of it")
    there = connection.exec_driver_sql("SELECT 1 FROM pg_extension WHERE extname = 'amcheck'").scalar()
    if there is None:
        return Damage(tuple(found), (_not_checked("the extension amcheck is not installed"),))
    names = list(schema.tables.tables)
    refused = False
    for name, is_table in connection.execute(sa.text(RELATIONS), {"names": names}).all():
        faults = _faults(connection, name, is_table=is_table)
        refused |= faults is None
        if faults:
            found.append(f"{name} is damaged: PostgreSQL's amcheck finds {faults} fault(s)")
    return Damage(tuple(found), (_not_checked("this user may not run amcheck"),) if refused else ())


def _faults(connection: Any, name: str, *, is_table: bool) -> int | None:
    """How many faults amcheck finds in a table or an index; None where it may not be run."""
    try:
        with connection.begin_nested():
            found = connection.scalar(sa.text(TABLE_CHECK if is_table else INDEX_CHECK), {"name": name})
    except sa.exc.DBAPIError as cause:
        return None if getattr(cause.orig, "sqlstate", None) == FORBIDDEN else 1
    return int(found) if is_table else 0


def _not_checked(why: str) -> str:
    return f"the pages of PostgreSQL's tables and indexes ({why}); every row was read"
