"""Damaged stores: what the database's own check, the ledger, seals and digests find, each said in a sentence."""

import contextlib
import json
import random
import shutil
import sqlite3

import numpy as np
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import diurnal as dn
import support
from diurnal.curator import database, intake
from diurnal.curator.intake import Sent
from diurnal.curator.opening import NOT_LOOKED_AT
from diurnal.curator.public_reader import Reader
from diurnal.errors import StoreError
from diurnal.show.cli import app
from support import refuses

SECTOR = 512
"""How many bytes a disk loses at a time."""


def live(curator):
    """A life with something in every table: two streams, batches, late readings, somebody erased, a calendar."""
    panel = support.town(n=100, cycles=310, slots=8)
    left, right = panel.columns(np.arange(50)), panel.columns(np.arange(50, 100))
    pattern = support.start_in(curator, left, query=dn.Sum())
    strong = support.start_in(curator, right, **support.SLOTWISE, grace=12)
    curator.erase("3")
    for cycle in range(4, 300, 4):
        steps = (8 * cycle, 8 * cycle + 32)
        pattern.receive_once(f"file {cycle}", lambda steps=steps: left.between(*steps).closing([40]))
        sent = Sent(sender="head-end", key=f"batch {cycle}", content=f"readings {cycle}")
        intake.take(curator, sent, right.between(*steps), stream=strong.plan.hash)
    # Half of the homes are late: their steps wait.
    some = right.between(2400, 2410).columns(np.arange(25))
    intake.take(curator, Sent(sender="head-end", key="late", content="late"), some, stream=strong.plan.hash)
    return panel


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """The folder of a store in the middle of its life, closed."""
    folder = tmp_path_factory.mktemp("lived")
    curator = dn.Curator.open(folder / "city.db", support.ROOMY)
    live(curator)
    assert curator.verify().sound
    curator.close()
    return folder


def contents(path):
    """Every value of a store that is not said to go unseen: {table: rows}."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as plain:
        found = {}
        for table in database.tables.sorted_tables:
            hidden = NOT_LOOKED_AT.get(table.name, frozenset())
            names = [
                column.name for column in table.columns if table is database.facts or column.name not in hidden
            ]
            rows = plain.execute(f"select {', '.join(names)} from {table.name}").fetchall() if names else []
            if table is database.facts:
                rows = [row for row in rows if row[0].split()[0] not in hidden]
            found[table.name] = sorted(rows)
    return found


def overwritten(data, seed):
    """The bytes of a file with some of them another: noise, zeros, or what stands elsewhere in it."""
    generator = random.Random(seed)
    place = generator.randrange(len(data) - SECTOR + 1)
    elsewhere = generator.randrange(len(data) - SECTOR + 1)
    new = [generator.randbytes(SECTOR), bytes(SECTOR), data[elsewhere : elsewhere + SECTOR]][seed % 3]
    return data[:place] + new + data[place + SECTOR :]


def looked_at(folder):
    """Whether damage of a store is found: by opening it, or by verify. Anything but a sentence fails."""
    try:
        curator = dn.Curator.open(folder / "city.db")
    except StoreError:
        return True
    try:
        return not curator.verify().sound
    except StoreError:
        return True
    finally:
        curator.close()


def test_an_overwritten_sector_is_found_or_has_changed_nothing(lived, tmp_path):
    """Of 300 overwrites of 512 bytes of a store's file, each is found by opening it or by verify, in a sentence; or
    every value of every table is what it was, but for what the docs list as not looked at.
    """
    data, before = (lived / "city.db").read_bytes(), contents(lived / "city.db")
    found, unseen = 0, []
    for seed in range(300):
        folder = tmp_path / str(seed)
        shutil.copytree(lived, folder)
        (folder / "city.db").write_bytes(overwritten(data, seed))
        if looked_at(folder):
            found += 1
        elif contents(folder / "city.db") != before:
            unseen.append(seed)
        shutil.rmtree(folder)
    assert unseen == []
    assert found > 200


def edited(path, *statements):
    """Change a closed store behind its back."""
    with contextlib.closing(sqlite3.connect(path)) as plain:
        for statement, *values in statements:
            plain.execute(statement, values)
        plain.commit()


@pytest.fixture
def copied(lived, tmp_path):
    """A copy of the store that may be damaged."""
    shutil.copytree(lived, tmp_path / "copy")
    return tmp_path / "copy"


# Facts of another kind.

FACTS = [
    "version", "budget", "population", "salt", "id", "lineage", "secret", "taken", "backup", "fence", "owed",
    "knew", "place", "latest 2", "settled 2",
]  # fmt: skip
ODD = [
    "5",
    "-5",
    "[]",
    "{}",
    '"x"',
    "[1, 2]",
    "true",
    "1.5",
    "not json",
    "[" * 100_000,
    b"\xff\xfe",
    '{"pattern": 1}',
]


def used_in_every_way(folder, panel):
    """What a custodian does with a store."""
    curator = dn.Curator.open(folder / "city.db")
    try:
        curator.verify()
        for work in (
            curator.status,
            lambda: curator.budget,
            lambda: curator.head,
            lambda: curator.backup(folder / "backup.db"),
            lambda: curator.raise_cap(dn.Budget(pattern="2000", cycle="2000", delta="1e-6")),
            lambda: support.start_in(curator, panel, epsilon="2"),
            lambda: curator.streams()[1].report(panel.between(2400, 2401)),
            lambda: curator.streams()[1].receive_once("a file", lambda: panel.between(2400, 2401)),
            lambda: curator.erase("4"),
        ):
            with contextlib.suppress(dn.errors.DiurnalError):
                work()
    finally:
        curator.close()
    reader = Reader.open(folder / "city.db")
    with contextlib.closing(reader):
        reader.settled(reader.look().streams[1], range(2000, 2410))


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.parametrize("odds", [ODD[::4], pytest.param(ODD, marks=support.nightly)], ids=["some", "all"])
def test_a_fact_of_another_kind_is_refused_in_a_sentence(name, odds, copied):
    """Whatever stands in the place of a fact, all that a custodian does ends in an error of diurnal's own."""
    panel, good = support.town(n=100, cycles=310, slots=8), (copied / "city.db").read_bytes()
    for odd in odds:
        (copied / "backup.db").unlink(missing_ok=True)
        shutil.rmtree(copied / "backup.db-profiles", ignore_errors=True)
        (copied / "city.db").write_bytes(good)
        edited(copied / "city.db", ("insert or replace into facts values (?, ?)", name, odd))
        with contextlib.suppress(dn.errors.DiurnalError):
            used_in_every_way(copied, panel)


@pytest.mark.parametrize(
    "odd", ["5", "[]", '{"pattern": 1, "strong": 1, "delta": null}', '{"pattern": "-1"}', None]
)
def test_a_budget_of_another_kind_is_named(odd, copied):
    """A store whose budget is a number, a list or no budget says which fact cannot be read, and what to do."""
    if odd is None:
        edited(copied / "city.db", ("delete from facts where name = 'budget'",))
    else:
        edited(copied / "city.db", ("update facts set value = ? where name = 'budget'", odd))
    curator = dn.Curator.open(copied / "city.db")
    with refuses(StoreError, "store-content-unreadable") as caught:
        curator.status()
    assert "backup" in caught.value.hint
    assert (
        "What the store knows of its budget cannot be read: it is not what was written."
        in curator.verify().findings
    )


@pytest.mark.parametrize(
    "statement",
    [
        "update plans set content = '[]'",
        "update plans set content = '{'",
        "update plans set content = 7",
        "update ledger set content = '5' where number = 3",
        "update rows set value = 'x' where step = 100",
        "update noise set content = '5' where cycle = 290",
        "update held set readings = 'text'",
    ],
)
def test_values_of_another_kind_are_refused_in_a_sentence(statement, copied):
    """Plans, events, rows, noise and held readings that are of another kind end in an error of diurnal's own."""
    edited(copied / "city.db", (statement,))
    with contextlib.suppress(dn.errors.DiurnalError):
        assert not dn.Curator.open(copied / "city.db").verify().sound
    with contextlib.suppress(dn.errors.DiurnalError):
        used_in_every_way(copied, support.town(n=100, cycles=310, slots=8))
    reader = Reader.open(copied / "city.db")
    with contextlib.closing(reader), contextlib.suppress(dn.errors.DiurnalError):
        reader.rows(reader.look().streams[0], range(200))


# What is held, and what was taken.


@pytest.mark.parametrize("column", ["readings", "present", "closed", "seal"])
def test_held_readings_that_are_damaged_are_never_reported(column, lasting):
    """Held readings that are not what was written are named by verify, and their step is refused; it is reported
    when they are back.
    """
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **support.SLOTWISE, grace=3)
    stream.report(panel.between(16, 17).columns(np.arange(20)))
    which = database.held.c.step == 16
    with curator._store.transaction():
        before = dict(curator._store.connection.execute(sa.select(database.held)).one()._mapping)
        good = before[column]
        bad = (
            bytes([good[0] ^ 1]) + good[1:] if isinstance(good, bytes) else not good if column == "closed" else "7"
        )
        curator._store.connection.execute(sa.update(database.held).where(which).values({column: bad}))
    assert curator.verify().findings == ("the readings that plan 1 holds of step 16 are not what was written",)
    with pytest.raises(StoreError, match="plan 1 holds of step 16 are not what was written"):
        stream.report(panel.between(16, 20), close=True)
    assert stream.rows() == []
    with curator._store.transaction():
        curator._store.connection.execute(sa.update(database.held).where(which).values(before))
    assert {row.step for row in stream.report(panel.between(16, 20), close=True)} == {16, 17, 18, 19}
    assert curator.verify().sound


@pytest.mark.parametrize("change", ["delete", "insert", "update"])
def test_what_was_taken_is_found_missing_added_or_changed(change, lasting):
    """A row of `taken` that is gone, new or another is found."""
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel)
    for step in (16, 17):
        stream.receive_once(f"file {step}", lambda step=step: panel.between(step, step + 1))
    assert curator.verify().sound
    table = database.taken
    with curator._store.transaction():
        digest = curator._store.connection.scalar(sa.select(table.c.digest).limit(1))
        which = table.c.digest == digest
        statement = {
            "delete": sa.delete(table).where(which),
            "insert": sa.insert(table).values(plan=1, digest="ab" * 32),
            "update": sa.update(table).where(which).values(plan=2),
        }[change]
        curator._store.connection.execute(statement)
    assert curator.verify().findings == ("what was taken is not what was written",)


# What a damaged store does not lose.


@pytest.mark.parametrize(
    "damage", ["delete from plans where number = 1", "update plans set content = replace(content, '-', '_')"]
)
def test_opening_a_damaged_store_deletes_no_profiles(damage, copied):
    """A plan is missing, or says another name of its profiles: the file that seems to belong to none stays."""
    names = sorted(path.name for path in (copied / "city.db-profiles").iterdir())
    edited(copied / "city.db", (damage,))
    with contextlib.suppress(StoreError):
        dn.Curator.open(copied / "city.db")
    assert sorted(path.name for path in (copied / "city.db-profiles").iterdir()) == names


# What is said of it.


@pytest.mark.parametrize("table", ["ledger", "held"])
def test_the_command_says_what_is_damaged(table, copied):
    """`diurnal ledger --verify` of a file with a page of zeros says so in a sentence, and ends with 1."""
    data = bytearray((copied / "city.db").read_bytes())
    with contextlib.closing(sqlite3.connect(copied / "city.db")) as plain:
        (page,) = plain.execute("select rootpage from sqlite_master where name = ?", (table,)).fetchone()
    data[4096 * (page - 1) : 4096 * page] = bytes(4096)
    (copied / "city.db").write_bytes(data)
    found = CliRunner().invoke(app, ["ledger", "--store", str(copied / "city.db"), "--verify", "--json"])
    assert found.exit_code == 1
    assert found.exception is None or isinstance(found.exception, SystemExit)
    assert "the file is damaged" in found.stderr or "is damaged: SQLite finds" in json.dumps(
        json.loads(found.stdout)
    )


AMCHECK = """
    insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    values (99999, 'amcheck', 10, 2200, false, '1.3');
    create function verify_heapam(regclass) returns table (msg text) language sql
    as $$ select 'a fault' from generate_series(1, 2) where $1::text = 'held' $$;
    create function bt_index_check(regclass, boolean) returns void language plpgsql
    as $$ begin if $1::text = 'rows_pkey' then raise exception 'a row is missing'; end if; end $$;
"""
"""A stand-in for PostgreSQL's extension, which not every server has: it finds faults in a table and in an index."""

FORBIDDEN = """
    create or replace function verify_heapam(regclass) returns table (msg text) language plpgsql
    as $$ begin raise exception 'no' using errcode = '42501'; end $$;
    create or replace function bt_index_check(regclass, boolean) returns void language plpgsql
    as $$ begin raise exception 'no' using errcode = '42501'; end $$;
"""
"""The same for a user who may not run it."""


def test_postgresql_is_asked_for_its_own_check(postgres, tmp_path):
    """Without amcheck, or where this user may not run it, verify says that pages were not checked; with it, what it
    finds in tables and indexes is said.
    """
    psycopg, url = pytest.importorskip("psycopg"), postgres()
    curator = dn.Curator.open(url, support.ROOMY, profiles=tmp_path / "profiles")
    panel = support.town()
    support.start_in(curator, panel).report(panel.between(16, 40))
    looked = curator.verify()
    assert looked.sound
    assert "not checked: the pages of PostgreSQL's tables and indexes (the extension amcheck is not" in str(looked)
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as plain:
        plain.execute(AMCHECK)
        looked = curator.verify()
        assert looked.findings == (
            "held is damaged: PostgreSQL's amcheck finds 2 fault(s)",
            "rows_pkey is damaged: PostgreSQL's amcheck finds 1 fault(s)",
        )
        assert looked.not_checked == ()
        plain.execute(FORBIDDEN)
    looked = curator.verify()
    assert looked.sound
    assert "this user may not run amcheck" in str(looked)


def test_sqlite_leaves_nothing_unchecked(copied):
    """Of a SQLite file that is sound nothing is said to be unchecked."""
    assert dn.Curator.open(copied / "city.db").verify().not_checked == ()
