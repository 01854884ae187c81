"""What a closed cycle, and a household that was erased, leave behind: two lives that differ in one reading."""

import contextlib
import functools
import json
import os
import random
import shutil
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import intake, store
from diurnal.curator.intake import Sent, watch_folder, watch_table
from diurnal.curator.taking import is_over

pytest.importorskip("fastapi", reason="needs the extra web")
from fastapi.testclient import TestClient

from diurnal.show.web import tokens
from diurnal.show.web.app import application
from diurnal.show.web.settings import Limits, Settings

GRID = dn.Grid(slots=4, minutes=360, zone="UTC", anchor="2022-07-01T00:00")
HOMES = [f"home {number:02}" for number in range(40)]
BEGIN, HOME, STEP = 16, 7, 18
"""The first step that is reported, and whose reading of which step is another in the other life."""

LEVELS = {
    "pattern": {},
    "slot by slot": support.SLOTWISE,
    "basis": support.BASIS,
    "blocks": support.BLOCKS,
    "share": {"level": "cycle", "query": dn.Share(above=500_050), "history": 0},
}


def town(more):
    """Readings of six digits, one of them more in one life than in the other."""
    readings = support.town(n=40, cycles=12).readings + 500_000
    readings[STEP, HOME] += more
    return dn.Panel.from_array(readings, households=HOMES, grid=GRID)


def some(panel, start, stop, homes=range(40)):
    """Readings of some households of some steps."""
    present = np.zeros((stop - start, 40), dtype=bool)
    present[:, list(homes)] = True
    return panel.following(panel.readings[start:stop], present=present, first_step=start)


def begun(folder, **fields):
    """A store with a plan that waits for late readings, in a folder of its own."""
    folder.mkdir()
    panel = town(0)
    curator = dn.Curator.open(folder / "city.db", support.ROOMY)
    plan = support.plan_for(panel, **{"domain": (0, 10**6), "grace": 2, **fields})
    curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)
    curator._store._engine.dispose()
    tokens.make(folder / "tokens.json", name="head-end", role="ingest")
    (folder / "token").write_text(tokens.make(folder / "tokens.json", name="other", role="ingest"))


@contextlib.contextmanager
def reporting(curator, folder):
    """By `report`."""
    yield lambda name, part: curator.streams()[0].report(part)


@contextlib.contextmanager
def batching(curator, folder, *, keys):
    """As batches, under their names or under nothing."""

    def give(name, part):
        sent = Sent(sender="head-end", key=name if keys else None, content=repr(part.readings.tolist()))
        if intake.known(curator, sent) is None:
            intake.take(curator, sent, part)

    yield give


@contextlib.contextmanager
def posting(curator, folder, *, keys):
    """As batches, to a service on the store."""
    fields = {"store": str(folder / "city.db"), "tokens": folder / "tokens.json", "limits": Limits(requests=0)}
    headers = {"Authorization": f"Bearer {(folder / 'token').read_text()}"}

    def give(name, part):
        named = {"Idempotency-Key": name} if keys else {}
        rows = [
            {"household": HOMES[home], "time": GRID.time(part.first_step + int(row)), "value": str(value)}
            for (row, home), value in zip(np.argwhere(part.present), part.readings[part.present], strict=True)
        ]
        assert client.post("/v1/readings", json={"readings": rows}, headers={**headers, **named}).status_code == 200

    with TestClient(application(Settings(**fields))) as client:
        yield give


@contextlib.contextmanager
def landing(curator, folder):
    """As files, in which a row comes a second time, the same or another."""
    where, numbers = folder / "in", iter(range(100))
    where.mkdir()

    def give(name, part):
        path = where / f"{name}-{next(numbers)}.csv"
        dn.write(part, path, format="long")
        if STEP in part.steps and part.present[STEP - part.first_step, HOME]:
            lines = path.read_text().splitlines()
            at = f"{HOMES[HOME]},{GRID.wall(STEP)}"
            (row,) = (line for line in lines if line.startswith(at))
            value = str(int(part.readings[STEP - part.first_step, HOME]))
            path.write_text("\n".join([*lines, row.replace(value, str(town(0).readings[STEP, HOME])), ""]))
        (taken,) = watch_folder(curator.streams()[0], where, once=True, minutes=360, on_duplicate="first")
        assert not taken.error

    yield give


@contextlib.contextmanager
def querying(curator, folder):
    """As rows of a table, which grows and changes."""
    url = f"sqlite:///{folder / 'meters.sqlite'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("create table meters (home text, at text, wh integer, primary key (home, at))")

    def give(name, part):
        rows = [
            (HOMES[home], GRID.time(part.first_step + int(row)), int(part.readings[row, home]))
            for row, home in np.argwhere(part.present)
        ]
        with engine.begin() as connection:
            connection.exec_driver_sql("insert or replace into meters values (?, ?, ?)", rows)
        query = "select home as household, at as time, wh from meters"
        (taken,) = watch_table(curator.streams()[0], query, url, once=True, minutes=360)
        assert not taken.error

    yield give
    engine.dispose()


WAYS = {
    "report": reporting,
    "batch": functools.partial(batching, keys=False),
    "batch with a key": functools.partial(batching, keys=True),
    "service": functools.partial(posting, keys=False),
    "service with keys": functools.partial(posting, keys=True),
    "folder": landing,
    "table": querying,
}


@pytest.fixture
def live(tmp_path, monkeypatch, silence):
    """Lives a life with a copy of a store: the clock stands still, and whatever is drawn is the same in each."""

    class Still(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2026, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(store, "datetime", Still)
    # What the system knows a file by does not come from what is in it.
    monkeypatch.setattr(intake, "_version", lambda path: f"file {path.name}")

    def lived(name, more, doing):
        folder, drawn = tmp_path / name, iter(range(10**6))
        monkeypatch.setattr(os, "urandom", lambda size: next(drawn).to_bytes(size))
        shutil.copytree(tmp_path / "begun", folder)
        curator = dn.Curator.open(folder / "city.db")
        doing(curator, town(more), folder)
        (folder / "city.db.log").write_bytes(b"".join(logged(folder)))
        curator._store._engine.dispose()
        return folder

    return lived


def logged(folder):
    """The pages in a store's log, without what SQLite draws for their heads."""
    log = (folder / "city.db-wal").read_bytes()
    size = int.from_bytes(log[8:12])
    yield from (log[place + 24 : place + 24 + size] for place in range(32, len(log), 24 + size))


def tables(folder):
    """Every value of every table: {(table, column): values}."""
    with contextlib.closing(sqlite3.connect(f"file:{folder / 'city.db'}?mode=ro", uri=True)) as plain:
        names = [name for (name,) in plain.execute("select name from sqlite_master where type = 'table'")]
        found = {}
        for name in sorted(names):
            cursor = plain.execute(f"select * from {name}")
            columns, rows = [each[0] for each in cursor.description], cursor.fetchall()
            found |= {(name, column): [row[at] for row in rows] for at, column in enumerate(columns)}
    return found


def released(folder):
    """What was released, and what is made from it: values, their digests in events, and the hashes over these."""
    found = tables(folder)
    events = [json.loads(content) for content in found["ledger", "content"]]
    digests = [
        content["digest"]
        for kind, content in zip(found["ledger", "kind"], events, strict=True)
        if kind == "reported"
    ]
    return [*found["rows", "value"], *found["ledger", "hash"], *digests]


def differing(one, two, *, allowed=()):
    """Where two stores differ in anything but what was released: tables with their columns, and files."""
    words = [[*released(folder), *(word for at in allowed for word in tables(folder)[at])] for folder in (one, two)]
    assert list(map(len, words[0])) == list(map(len, words[1])), "the test wants values of one length"
    contents = [tables(folder) for folder in (one, two)]
    assert contents[0].keys() == contents[1].keys()

    def blank(value, listed):
        for word in listed:
            value = value.replace(word, "*" * len(word)) if isinstance(value, str) else value
        return value

    found = [
        f"{table}.{column}"
        for table, column in contents[0]
        if [blank(value, words[0]) for value in contents[0][table, column]]
        != [blank(value, words[1]) for value in contents[1][table, column]]
    ]
    for path in files(one) | files(two):
        data = [(folder / path).read_bytes() for folder in (one, two)]
        for listed, at in ((words[0], 0), (words[1], 1)):
            for word in listed:
                data[at] = data[at].replace(word.encode(), b"*" * len(word))
        if data[0] != data[1]:
            places = [place for place, (a, b) in enumerate(zip(*data, strict=False)) if a != b]
            sizes = " and ".join(f"{len(each)}" for each in data)
            found.append(f"{path}: {len(places)} bytes, from {next(iter(places), 'the end')} on; {sizes} in all")
    return found


def files(folder):
    """The files of a store."""
    return {path.relative_to(folder) for path in folder.rglob("city.db*/**/*") if path.is_file()} | {
        path.relative_to(folder) for path in folder.glob("city.db*") if path.is_file()
    }


def half(give, mine):
    """A cycle in which half of the homes are there at one step; their readings come again, the same or others."""
    give("a", some(mine, BEGIN, STEP))
    for panel in (mine, town(0), town(1), town(0)):
        give("b", some(panel, STEP, STEP + 1, range(20)))


def whole(give, mine, stream):
    """A cycle that is whole, and closes; then its readings come late."""
    half(give, mine)
    give("c", some(mine, STEP, STEP + 2, range(10, 40)))
    give("d", some(town(0), STEP, STEP + 1))
    give("e", some(mine, BEGIN + 4, BEGIN + 8))
    stream.close(before=BEGIN + 8)
    give("f", some(town(0), STEP, STEP + 1))
    assert {row.step for row in stream.rows()} >= set(range(BEGIN, BEGIN + 8))


@pytest.mark.parametrize(
    ("level", "way"),
    [
        # In `make test` one level comes in every way, and every level in two.
        (level, way)
        if level == "basis" or way in ("report", "service with keys")
        else pytest.param(level, way, marks=support.nightly)
        for level in LEVELS
        for way in WAYS
    ],
)
def test_of_a_closed_cycle_nothing_is_left_but_what_was_released(level, way, live, tmp_path):
    """Two lives differ in one reading of a cycle that is closed: but for released rows, and what pattern plans need
    to know which readings they used, every byte of every file of the two stores is the same.
    """
    begun(tmp_path / "begun", **LEVELS[level])

    def doing(curator, mine, folder):
        with WAYS[way](curator, folder) as give:
            whole(give, mine, curator.streams()[0])

    one, two = (live(str(more), more, doing) for more in (0, 1))
    allowed = [("used", "digest")] if level == "pattern" else []
    assert differing(one, two, allowed=allowed) == []
    assert tables(one)["contents", "name"] == []
    if level != "share":
        assert released(one) != released(two)


@pytest.mark.parametrize("level", ["pattern", "slot by slot", "basis"])
def test_of_a_closed_cycle_postgresql_has_no_dead_rows(level, postgres, tmp_path):
    """Readings that were held are in no file of PostgreSQL's tables once their cycle is closed, though others are
    open.
    """
    psycopg, url = pytest.importorskip("psycopg"), postgres()
    curator = dn.Curator.open(url, support.ROOMY, profiles=tmp_path / "profiles")
    mine = town(1000)
    plan = support.plan_for(mine, domain=(0, 10**6), grace=2, **LEVELS[level])
    stream = curator.start(plan, history=mine.first(4), acknowledge="untested", accept_worse=True)
    secret = int(mine.readings[STEP, HOME]).to_bytes(8, "little")
    assert np.count_nonzero(mine.readings == mine.readings[STEP, HOME]) == 1

    def found():
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as plain:
            plain.execute("checkpoint")
            query = (
                "select relname, pg_read_binary_file(pg_relation_filepath(oid)) from pg_class where relkind = 'r'"
            )
            tables = plain.execute(f"{query} and relnamespace = 'public'::regnamespace").fetchall()
        return [name for name, content in tables if secret in bytes(content)]

    stream.report(some(mine, BEGIN + 5, BEGIN + 6, range(3)))
    half(lambda name, part: stream.report(part), mine)
    assert found() == ["held"]
    stream.report(some(mine, STEP, STEP + 2))
    stream.close(before=BEGIN + 4)
    assert {row.step for row in stream.rows()} == set(range(BEGIN, BEGIN + 4))
    for _ in range(5):
        # A table that could not be locked in time is written anew by the next transaction.
        if found():
            stream.close(before=BEGIN + 4)
    assert found() == []


@pytest.mark.parametrize("way", ["report", "batch with a key"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("grace", [0, 2])
def test_of_an_erased_household_nothing_is_left_while_its_cycle_is_open(grace, level, way, live, tmp_path):
    """Two lives differ in one reading of an open cycle, and its household is erased: but for released rows, every
    byte of every file of the two stores is the same.
    """
    begun(tmp_path / "begun", **LEVELS[level], grace=grace)

    def doing(curator, mine, folder):
        with WAYS[way](curator, folder) as give:
            half(give, mine)
        curator.erase(HOMES[HOME])

    one, two = (live(str(more), more, doing) for more in (0, 1))
    assert differing(one, two) == []
    assert tables(one)["contents", "name"] == tables(one)["used", "step"] == []


def two_streams(folder, **fields):
    """Streams of two halves of the homes, in one store."""
    panel = town(0)
    curator = dn.Curator.open(folder / "city.db", support.ROOMY)
    plan = support.plan_for(panel, **{"domain": (0, 10**6), **fields})
    halves = (panel.without(HOMES[20:]), panel.without(HOMES[:20]))
    for part in halves:
        curator.start(plan, history=part.first(4), acknowledge="untested", accept_worse=True)
    return curator, halves


def kept_in(curator, table):
    with curator._store.transaction():
        return curator._store.connection.execute(sa.text(f"select * from {table}")).all()


def test_a_batch_is_forgotten_in_every_stream_when_one_has_closed_its_cycle(tmp_path):
    """The digest of a batch is of all its readings: a cycle that is over in one stream leaves it in no other."""
    curator, (left, _) = two_streams(tmp_path, **support.SLOTWISE, grace=2)
    sent = Sent(sender="head-end", key="a", content="everybody's readings")
    intake.take(curator, sent, some(town(0), BEGIN, BEGIN + 1))
    assert len(kept_in(curator, "contents")) == 2
    curator.streams()[0].report(left.between(BEGIN, BEGIN + 4), close=True)
    assert kept_in(curator, "contents") == []


def test_a_batch_is_forgotten_in_every_stream_when_a_household_is_erased(tmp_path):
    """Who is erased is on the roster of one stream, and in the digests that both have of a batch."""
    curator, _ = two_streams(tmp_path, **support.SLOTWISE, grace=2)
    intake.take(curator, Sent(sender="head-end", key="a", content="c"), some(town(0), BEGIN, BEGIN + 1))
    curator.erase(HOMES[HOME])
    assert kept_in(curator, "contents") == []


def test_a_batch_with_readings_of_another_streams_closed_cycle_is_not_remembered(tmp_path):
    """Late readings of a cycle that is over for one stream come with readings that another takes."""
    curator, (left, _) = two_streams(tmp_path, **support.SLOTWISE, grace=2)
    curator.streams()[0].report(left.between(BEGIN, BEGIN + 4), close=True)
    intake.take(curator, Sent(sender="head-end", key="a", content="c"), some(town(0), BEGIN, BEGIN + 1))
    assert kept_in(curator, "contents") == []


@pytest.mark.parametrize("how", ["calendar of another stream", "fence", "calendar at a start"])
@pytest.mark.parametrize("level", ["slot by slot", "blocks", "basis"])
def test_a_cycle_that_is_over_without_a_report_of_its_own_leaves_nothing(level, how, tmp_path):
    """Its last steps go onto the calendar by another stream or a start, or behind a fence: nothing of it stays."""
    curator, (left, right) = two_streams(tmp_path, **LEVELS[level])
    stream = curator.streams()[0]
    stream.report(left.between(BEGIN, BEGIN + 2))
    assert kept_in(curator, "noise") or kept_in(curator, "held")
    rest = frozenset(range(BEGIN, BEGIN + 4)) - {row.step for row in stream.rows()}
    if how == "fence":
        curator.backup(tmp_path / "backup.db")
        curator.streams()[1].report(right.between(BEGIN, BEGIN + 8))
        curator = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    elif how == "calendar at a start":
        history = replace(town(0).without(HOMES[20:]).first(4), calendar=rest)
        curator.start(stream.plan, history=history, acknowledge="untested", accept_worse=True)
    else:
        late = replace(right.between(BEGIN + 4, BEGIN + 5), calendar=rest)
        curator.streams()[1].report(late)
    assert [row for row in kept_in(curator, "noise") if row.plan == 1 and row.content] == []
    assert [row for row in kept_in(curator, "held") if row.plan == 1] == []


def test_pages_of_a_file_keep_nothing_of_closed_cycles_where_rows_have_moved(tmp_path, monkeypatch):
    """While steps come and go for days, SQLite moves rows between its pages: no reading of a closed cycle is in the
    file or its log at any look, and there are some where tables are not written anew.
    """
    assert looked_for(tmp_path / "one") == 0
    monkeypatch.setattr(store, "ERASED_FROM", frozenset())
    assert looked_for(tmp_path / "two") > 0


def looked_for(folder, homes=21, slots=24, cycles=9):
    """How often readings of a closed cycle are found in a file, step after step, while some come late."""
    folder.mkdir()
    draw = random.Random(5)
    grid = dn.Grid(slots=slots, minutes=60)
    # Of a home and the next one, of no two others, readings are neighbours: so they are known in any page.
    readings = 300_000 + 64 * np.arange(slots * cycles)[:, None] + np.arange(homes)
    panel = dn.Panel.from_array(readings, grid=grid)
    now = [datetime.fromisoformat(grid.time(4 * slots))]
    curator = dn.Curator.open(folder / "city.db", support.ROOMY, clock=lambda: now[0])
    plan = support.plan_for(panel, **{**support.SLOTWISE, "grace": 48, "domain": (0, 400_000)})
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    found = 0
    for step in range(4 * slots, slots * cycles):
        now[0] = datetime.fromisoformat(grid.time(step))
        order = list(range(homes - 1))
        draw.shuffle(order)
        cut = draw.randrange(homes // 2, homes - 1)
        given = [(step, order[:cut])]
        if draw.random() < 0.5:
            given.append((step, order[cut:]))
        if step > 4 * slots + 2 and draw.random() < 0.5:
            given.append((draw.randrange(max(4 * slots, step - slots), step), order[:2]))
        for at, some in given:
            present = np.isin(np.arange(homes), some)[None]
            stream.report(panel.following(panel.readings[at : at + 1], present=present, first_step=at))
        with curator._store.transaction():
            record = stream._record()
            over = {cycle for cycle in range(4, step // slots + 1) if is_over(record, cycle, curator._store)}
        found += any(known(path, slots) & over for path in folder.glob("city.db*") if path.is_file())
    curator.close()
    return found


def known(path, slots):
    """Cycles of which readings of two homes beside each other are in a file."""
    content, cycles = path.read_bytes(), set()
    for offset in range(8):
        numbers = np.frombuffer(content[offset : offset + (len(content) - offset) // 8 * 8], dtype="<i8")
        beside = (numbers[:-1] >= 300_000) & (numbers[:-1] < 400_000) & (numbers[1:] == numbers[:-1] + 1)
        cycles |= set(((numbers[:-1][beside] - 300_000) // 64 // slots).tolist())
    return cycles
