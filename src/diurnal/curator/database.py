"""Database: the tables of a store in SQLite or PostgreSQL, how they are asked, and whether they are damaged.

- A migration is a function from one version to the next; `MIGRATIONS[1]` makes version 2 of version 1, and so on.
  A store of a later version than this code knows is refused.
- What is asked at every report is written once, so that it is also compiled once. What is compiled is kept:
  values that are private come with a statement when it is run, here and wherever else the database is asked, and
  are no part of it.
- `damage`: what a database finds wrong with its own files, as far as a client can ask. SQLite looks through its
  whole file: every page, every row, and every index against its table. PostgreSQL does that with the extension
  amcheck, which its operator installs; without it, every row of every table is read, and what was not checked is
  said.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable

from diurnal.curator.started_plan import readable
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
        raise StoreError("store-version-unreadable")
    if int(words) > VERSION:
        raise StoreError("store-version", version=words, known=VERSION)
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


_PLAN = sa.bindparam("plan", type_=sa.Integer)
_STEPS = sa.bindparam("first", type_=sa.BigInteger), sa.bindparam("last", type_=sa.BigInteger)
_IN_STEPS = rows.c.plan == _PLAN, rows.c.step.between(*_STEPS)

FACTS = sa.select(facts)
"""Everything that is known about the store."""

CALENDAR = sa.select(calendar.c.step)
"""Steps that are never reported."""

TOKENS = sa.select(plans.c.token).order_by(plans.c.number)
"""Every plan, by its token."""

TOKEN = sa.select(plans.c.token).where(plans.c.key == sa.bindparam("key", type_=sa.Text))
"""A plan by its hash."""

CHANGE_PLAN = plans.update().where(plans.c.number == sa.bindparam("at", type_=sa.Integer))
"""A started plan becomes another; what it is then comes with it."""

PUBLISHED = sa.select(rows.c.step).where(*_IN_STEPS, rows.c.place == 0)
"""Which steps have rows, from one to another."""

ROWS = sa.select(rows.c.step, rows.c.value).where(*_IN_STEPS).order_by(rows.c.step, rows.c.place)
"""Rows, from one step to another."""

NOISE = sa.select(noise).where(noise.c.plan == _PLAN, noise.c.cycle == sa.bindparam("cycle", type_=sa.BigInteger))
"""The noise of a cycle."""

OPEN_NOISE = sa.select(noise.c.cycle).where(noise.c.plan == _PLAN, STILL_OPEN).order_by(noise.c.cycle)
"""Cycles whose noise is not erased."""

NOT_VOUCHED_FOR = sa.select(noise).where(noise.c.plan == _PLAN, STILL_OPEN, noise.c.event == 0)
"""Noise that no event commits to yet."""

HAS_TAKEN = sa.select(taken.c.plan).where(
    taken.c.plan == _PLAN, taken.c.digest == sa.bindparam("name", type_=sa.Text)
)
"""Whether something was taken."""

CONTENT_CYCLES = sa.select(contents.c.first, contents.c.last).where(contents.c.plan == _PLAN).distinct()
"""Of which cycles, from and to, there are readings in batches of which it is known what was in them."""

CONTENT = sa.select(contents.c.content, contents.c.others).where(
    contents.c.plan == _PLAN, contents.c.name == sa.bindparam("name", type_=sa.Text)
)
"""What was in a batch."""

COUNT_OTHERS = contents.update().where(
    contents.c.plan == sa.bindparam("at_plan", type_=sa.Integer),
    contents.c.name == sa.bindparam("at_name", type_=sa.Text),
)
"""How often something else has come under the name of a batch."""

LAST_EVENT = sa.select(ledger).order_by(ledger.c.number.desc()).limit(1)
"""The last event of the ledger."""

EVENT = sa.select(ledger).where(ledger.c.number == sa.bindparam("number", type_=sa.BigInteger))
"""An event by its number."""


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
    where = ", ".join(sorted(words & tables.tables.keys()))
    number = f"{MOST} faults or more" if len(said) >= MOST else f"{len(said)} fault(s)"
    return Damage((f"the database file is damaged: SQLite finds {number}{where and f', in {where}'}",))


def _of_postgres(connection: Any) -> Damage:
    found = []
    for table in tables.sorted_tables:
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
    names = list(tables.tables)
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
