"""Schema: the tables of a store, and how an older store becomes a newer one.

A migration is a function from one version to the next; `MIGRATIONS[1]` makes version 2 of version 1, and so on. A
store of a later version than this code knows is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from diurnal.errors import StoreError

VERSION = 1

tables = sa.MetaData()

facts = sa.Table(
    "facts",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
"""The version, the population, the budget."""

plans = sa.Table(
    "plans",
    tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
)
"""Started plans. The token is new whenever the content is."""

rows = sa.Table(
    "rows",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
"""Released rows: one for each plan, step and group (and bin), exact. Never changed."""

used = sa.Table(
    "used",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("digest", sa.Text, nullable=False),
)
"""Which readings went into the rows of a pattern plan, by a keyed digest. Private."""

noise = sa.Table(
    "noise",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("cycle", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.Text, nullable=False),
)
"""The noise of open cycles. Private; erased when the cycle closes, of which an empty row stays."""

STILL_OPEN = noise.c.content != sa.literal_column("''")
"""Noise that is not erased. It is looked for at every report, among the closed cycles of years."""

sa.Index("noise_still_open", noise.c.plan, noise.c.cycle, sqlite_where=STILL_OPEN, postgresql_where=STILL_OPEN)

held = sa.Table(
    "held",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("readings", sa.LargeBinary, nullable=False),
    sa.Column("present", sa.LargeBinary, nullable=False),
)
"""Readings of open steps. Private; erased when they are reported."""

counts = sa.Table(
    "counts",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("what", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
)
"""The custodian's counters."""

calendar = sa.Table("calendar", tables, sa.Column("step", sa.BigInteger, primary_key=True, autoincrement=False))
"""Steps that are never reported."""

ledger = sa.Table(
    "ledger",
    tables,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
"""Everything that was ever decided, each event with a hash over the one before."""

people = sa.Table(
    "people",
    tables,
    sa.Column("household", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
)
"""Households that were erased, by a digest of their name."""

taken = sa.Table(
    "taken",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("digest", sa.Text, primary_key=True),
)
"""What a watch has taken, by its digest."""

MIGRATIONS: dict[int, Callable[[Any], None]] = {}
"""By version, what makes the next one of it."""


def create(connection: Any) -> None:
    """Make the tables of a new store."""
    make_tables(connection)
    connection.execute(facts.insert(), {"name": "version", "value": str(VERSION)})


def make_tables(connection: Any) -> None:
    """Make all tables, empty; refused by the database if one of them is there."""
    for statement in _statements(connection.dialect.name):
        connection.exec_driver_sql(statement)


@functools.cache
def _statements(database: str) -> tuple[str, ...]:
    """What makes the tables, in the words of a kind of database; asked of SQLAlchemy once."""
    dialect = sa.make_url(f"{database}://").get_dialect()()
    made = [
        each for table in tables.sorted_tables for each in (CreateTable(table), *map(CreateIndex, table.indexes))
    ]
    return tuple(str(each.compile(dialect=dialect)) for each in made)


def version(connection: Any) -> int | None:
    """The version of the store behind a connection; None if there is none.

    Raises:
        StoreError: It is a later one than this code knows, or cannot be read.
    """
    if not sa.inspect(connection).has_table("facts"):
        return None
    found = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "version"))
    return None if found is None else known(found)


def known(words: str) -> int:
    """A version that this code knows, from its text.

    Raises:
        StoreError: It is a later one, or none.
    """
    if not (words.isascii() and words.isdigit() and len(words) < 10 and int(words) > 0):
        raise StoreError("The version of the store cannot be read.", hint="Restore a backup, behind its fence.")
    if int(words) > VERSION:
        raise StoreError(
            f"The store is of version {words}, this diurnal knows up to {VERSION}.", hint="Install a newer diurnal."
        )
    return int(words)


def upgrade(connection: Any) -> None:
    """Bring an older store to this version, one after the other.

    Raises:
        StoreError: The store is of a later version.
    """
    found = version(connection) or VERSION
    for each in range(found, VERSION):
        MIGRATIONS[each](connection)
        connection.execute(facts.update().where(facts.c.name == "version").values(value=str(each + 1)))
