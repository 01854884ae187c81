"""Schema: the tables of a store, and how an older store becomes a newer one.

A migration is a function from one version to the next; `MIGRATIONS[1]` makes version 2 of version 1, and so on. A
store of a later version than this code knows is refused.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from diurnal.curator.records import readable
from diurnal.errors import StoreError

VERSION = 2

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
    sa.Column("nonce", sa.Text, nullable=False, server_default=""),
    sa.Column("event", sa.BigInteger, nullable=False, server_default="0"),
)
"""The noise of open cycles, with the number of the event that commits to it and the nonce that opens that. Private;
erased when the cycle closes, of which an empty row stays."""

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
    sa.Column("reached", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("seal", sa.Text, nullable=False, server_default=""),
)
"""Readings of open steps, and whether enough of them are there for the step to close by what is sent; each row with
a seal over it (`sealed`). Private; erased when they are reported."""

arrivals = sa.Table(
    "arrivals",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("cycle", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("reached", sa.Boolean, nullable=False),
)
"""When readings of an open cycle began to come, and whether enough of them have. Erased when the cycle closes."""

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
    sa.Column("nonce", sa.Text, nullable=False, server_default=""),
)
"""Everything that was ever decided, each event with a hash over the one before and over 256 random bits."""

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
"""What was taken, by a keyed digest of its name: a batch's sender and key, a file's name and times. The fact
`taken` is a digest of all of these rows (`tally`)."""

contents = sa.Table(
    "contents",
    tables,
    sa.Column("plan", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("first", sa.BigInteger, nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("others", sa.Text, nullable=False),
)
"""What was in a batch, by a keyed digest; of which cycles it has readings, from and to; how often others came
under its name, in as many digits as ever. Private; erased when the first of these cycles closes."""


def create(connection: Any) -> None:
    """Make the tables of a new store."""
    make_tables(connection)
    connection.execute(facts.insert(), {"name": "version", "value": str(VERSION)})
    _add_secret(connection)
    _add_tally(connection)


def _add_secret(connection: Any) -> None:
    """Give a store the key of its digests: 256 bits that never leave it."""
    connection.execute(facts.insert(), {"name": "secret", "value": f'"{os.urandom(32).hex()}"'})


def _add_tally(connection: Any) -> None:
    """Give a store the digest of what it has taken."""
    found = connection.execute(sa.select(taken)).all()
    connection.execute(facts.insert(), {"name": "taken", "value": f'"{tally(found)}"'})


def tally(listed: Iterable[tuple[int, str]], before: str = "0") -> str:
    """A digest of what was taken, whatever its order, so that more can be added to it: 64 hexadecimal digits.

    It finds damage. Whoever can write the store can write it anew.

    Args:
        listed: The rows: a plan and a digest each.
        before: The digest of those that are not listed.
    """
    found = int(before, 16)
    for plan, digest in listed:
        found += int.from_bytes(hashlib.sha256(f"{plan} {digest}".encode()).digest())
    return f"{found % 2**256:064x}"


NONCE = 64
"""How many hexadecimal digits of a seal are random."""


def sealed(
    nonce: str, *, plan: int, step: int, closed: bool, reached: bool, readings: bytes, present: bytes
) -> str:
    """What a row of readings must still be: random digits, and a digest over them and all of its values.

    It finds damage, and is erased with the row. Whoever can write the store can write it anew.

    Args:
        nonce: 64 hexadecimal digits, drawn for this row.
        plan: The plan's number.
        step: The step.
        closed: Whether it takes no more.
        reached: Whether enough readings of it are there.
        readings: A reading for each household.
        present: Where there is one.
    """
    head = f"{nonce} {plan} {step} {int(closed)} {int(reached)} {len(readings)} ".encode()
    return nonce + hashlib.sha256(b"".join((head, readings, present))).hexdigest()


def unsealed(found: Any) -> dict[str, Any]:
    """What a seal is over, of a row of `held`."""
    names = ("plan", "step", "closed", "reached")
    given = {name: getattr(found, name) for name in names}
    return {**given, "readings": bytes(found.readings), "present": bytes(found.present)}


def make_tables(connection: Any) -> None:
    """Make all tables, empty; refused by the database if one of them is there."""
    for table in tables.sorted_tables:
        _make_table(connection, table.name)


def _make_table(connection: Any, name: str) -> None:
    for statement in _statements(connection.dialect.name)[name]:
        connection.exec_driver_sql(statement)


@functools.cache
def _statements(database: str) -> dict[str, tuple[str, ...]]:
    """What makes each table, in the words of a kind of database; asked of SQLAlchemy once."""
    dialect = sa.make_url(f"{database}://").get_dialect()()
    return {
        table.name: tuple(
            str(each.compile(dialect=dialect)) for each in (CreateTable(table), *map(CreateIndex, table.indexes))
        )
        for table in tables.sorted_tables
    }


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
    if not (isinstance(words, str) and words.isascii() and words.isdigit() and len(words) < 10 and int(words) > 0):
        raise StoreError("The version of the store cannot be read.", hint="Restore a backup, behind its fence.")
    if int(words) > VERSION:
        raise StoreError(
            f"The store is of version {words}, this diurnal knows up to {VERSION}.", hint="Install a newer diurnal."
        )
    return int(words)


def upgrade(connection: Any) -> int:
    """Bring an older store to this version, one after the other. Returns the version that it was.

    Raises:
        StoreError: The store is of a later version.
    """
    found = version(connection) or VERSION
    for each in range(found, VERSION):
        MIGRATIONS[each](connection)
        connection.execute(facts.update().where(facts.c.name == "version").values(value=str(each + 1)))
    return found


def keyed(secret: str, *words: str) -> str:
    """A digest of words that says nothing to whoever has not the secret of the store.

    Args:
        secret: The secret, 64 hexadecimal digits.
        words: What is digested, each by its length, so that no two lists of words are one.
    """
    said = [word.encode("utf-8", "surrogatepass") for word in words]
    content = b"".join(len(each).to_bytes(8) + each for each in said)
    return hmac.new(bytes.fromhex(secret), content, hashlib.sha256).hexdigest()


def _to_2(connection: Any) -> None:
    _add_nonces(connection)
    _add_secret(connection)
    _make_table(connection, "contents")
    _add_arrivals(connection)
    _forget_contents_of_1(connection)
    _count_of_1_alike(connection)
    _forget_used_of_1(connection)
    _seal_held(connection)
    _add_tally(connection)


def _add_arrivals(connection: Any) -> None:
    """Begin to count deadlines: of open cycles, from the moment at which the store is brought up to date."""
    _make_table(connection, "arrivals")
    population = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "population"))
    noisy = connection.execute(sa.select(noise.c.plan, noise.c.cycle).where(STILL_OPEN))
    open_ = {(plan, cycle) for plan, cycle in noisy}
    with readable("What the store knows of its population"):
        slots = json.loads(population or "{}").get("grid", {}).get("slots", 1)
        open_ |= {(plan, step // slots) for plan, step in connection.execute(sa.select(held.c.plan, held.c.step))}
    now = datetime.now(UTC).isoformat()
    for plan, cycle in sorted(open_):
        connection.execute(arrivals.insert(), {"plan": plan, "cycle": cycle, "time": now, "reached": True})


def _seal_held(connection: Any) -> None:
    """Seal the readings that wait: from now on damage to them is found."""
    for found in connection.execute(sa.select(held)).all():
        which = (held.c.plan == found.plan) & (held.c.step == found.step)
        connection.execute(held.update().where(which), {"seal": sealed(os.urandom(32).hex(), **unsealed(found))})


def _add_nonces(connection: Any) -> None:
    """Give events a nonce, and noise that waits what vouches for it; the store vouches for what it finds then."""
    for column in (ledger.c.nonce, noise.c.nonce, noise.c.event, held.c.reached, held.c.seal):
        words = CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {words}")


def _forget_contents_of_1(connection: Any) -> None:
    """Erase digests of what was in files and batches, and key the names of Spark's batches.

    Keys of batches go as well: unless a client said otherwise they were digests of readings, and with the secret
    beside it a keyed one can be tried as well. What is sent again after this is met as late, or as held before.
    """
    listed = connection.execute(sa.select(taken)).all()
    secret = connection.scalar(sa.select(facts.c.value).where(facts.c.name == "secret")).strip('"')
    connection.execute(taken.delete())
    names = [(plan, digest) for plan, digest in listed if digest.startswith("spark ")]
    if names:
        made = [{"plan": plan, "digest": keyed(secret, "named", name)} for plan, name in names]
        connection.execute(taken.insert(), made)


ALIKE = {
    "repeated": "held before",
    "corrected, and not taken": "held before",
    "rows of a file, duplicate, same value": "rows of a file, duplicate",
    "rows of a file, duplicate, another value": "rows of a file, duplicate",
}
"""Counters of version 1 that told whether two readings were the same, and what each is counted as now."""


def _count_of_1_alike(connection: Any) -> None:
    table = counts
    found = connection.execute(sa.select(table).where(table.c.what.in_(ALIKE))).all()
    connection.execute(table.delete().where(table.c.what.in_(ALIKE)))
    sums: dict[tuple[int, str], int] = {}
    for plan, what, number in found:
        sums[plan, ALIKE[what]] = sums.get((plan, ALIKE[what]), 0) + number
    for (plan, what), number in sums.items():
        connection.execute(table.insert(), {"plan": plan, "what": what, "number": number})


def _forget_used_of_1(connection: Any) -> None:
    """Erase digests that were sums: with the key beside them, two equations about the readings of a step.

    A pattern plan that reports such a step beside the one that has says its noisy profile.
    """
    connection.execute(used.delete())


MIGRATIONS: dict[int, Callable[[Any], None]] = {1: _to_2}
"""By version, what makes the next one of it."""
