"""What the ledger covers and what it hides: noise that waits, every column of every table, fences, people."""

import contextlib
import json
import threading
from fractions import Fraction

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import database, intake, ledger
from diurnal.curator.intake import Sent
from diurnal.curator.opening import NOT_LOOKED_AT
from diurnal.errors import BudgetError, InputError, StoreError
from support import refuses

LEVELS = {
    "strong": {**support.SLOTWISE, "groups": "side"},
    "blocks": {**support.BLOCKS, "groups": "side"},
    "share": {"level": "cycle", "query": dn.Share(above=50), "history": 0, "groups": "side"},
}


def town(**more):
    return support.town(groups={"side": ["a"] * 15 + ["b"] * 25}, **more)


def change(curator, *statements):
    with curator._store.transaction():
        for statement in statements:
            curator._store.connection.execute(statement)


def kept_noise(curator):
    with curator._store.transaction():
        return curator._store.connection.execute(sa.select(database.noise).order_by(database.noise.c.cycle)).all()


# Noise that waits.


@pytest.mark.parametrize("how", ["zeros", "another event", "another nonce", "another cycle's"])
@pytest.mark.parametrize("level", LEVELS)
def test_noise_that_is_not_what_was_drawn_is_found_and_never_used(opens, level, how):
    """Noise of an open cycle in whose place somebody has put other noise is named by verify; nothing is reported
    with it, and when it is back the cycle goes on.
    """
    panel = town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS[level])
    before = [*stream.report(panel.between(16, 18)), *stream.report(panel.between(20, 22))]
    assert curator.verify().sound
    first, second = kept_noise(curator)
    zeros = json.dumps({name: [0] * len(values) for name, values in json.loads(second.content).items()})
    said = {
        "zeros": {"content": zeros},
        "another event": {"event": first.event},
        "another nonce": {"nonce": first.nonce},
        "another cycle's": {name: getattr(first, name) for name in ("content", "nonce", "event")},
    }[how]
    which = database.noise.c.cycle == second.cycle
    change(curator, sa.update(database.noise).where(which).values(said))
    assert curator.verify().findings == ("the noise of plan 1, cycle 5, is not what was drawn",)
    with pytest.raises(StoreError, match="noise of plan 1, cycle 5, is not what was drawn"):
        stream.report(panel.between(22, 24))
    assert stream.rows() == before
    values = {name: getattr(second, name) for name in ("content", "nonce", "event")}
    change(curator, sa.update(database.noise).where(which).values(values))
    stream.report(panel.between(22, 24))
    assert curator.verify().sound


def test_noise_for_a_cycle_to_come_cannot_be_planted(opens):
    """Noise that somebody has put there before it was drawn is found, and refused when its turn comes."""
    panel = town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS["strong"])
    stream.report(panel.between(16, 18))
    first = kept_noise(curator)[0]._mapping
    change(curator, sa.insert(database.noise).values({**first, "cycle": 5}))
    assert "cycle 5, is not what was drawn" in str(curator.verify())
    with pytest.raises(StoreError, match="cycle 5, is not what was drawn"):
        stream.report(panel.between(20, 22))


def test_noise_that_was_erased_too_early_is_missed(opens):
    """An open cycle whose noise looks erased is found."""
    panel = town()
    curator = opens(budget=support.ROOMY)
    support.start_in(curator, panel, **LEVELS["strong"]).report(panel.between(16, 18))
    change(curator, sa.update(database.noise).values(content="", nonce="", event=0))
    assert "the noise of plan 1, cycle 4, is missing" in str(curator.verify())


def test_when_a_cycle_is_over_nothing_opens_what_the_ledger_has_of_its_noise(opens):
    """A cycle that waits is committed to once, whoever reports the rest of it; when it is over, noise and nonce are
    gone. A cycle that does not wait needs no commitment.
    """
    panel = town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS["strong"])
    for steps in ((16, 17), (17, 18), (18, 24)):
        stream.report(panel.between(*steps))
    told = [event.content for event in curator.ledger() if event.kind == "drawn"]
    assert [(each["plan"], each["cycle"]) for each in told] == [(1, 4)]
    assert {(each.content, each.nonce, each.event) for each in kept_noise(curator)} == {("", "", 0)}


def as_version_1(curator):
    """Make a store what version 1 would have written: no nonces, and nothing that vouches for noise."""
    store = curator._store
    with store.transaction():
        before = None
        events = [event for event in store.events() if event.kind != "drawn"]
        store.connection.execute(sa.delete(database.ledger))
        for number, event in enumerate(events, start=1):
            bare = ledger.Event(number=number, time=event.time, kind=event.kind, content=event.content, hash="")
            before = ledger.replace(bare, hash=ledger.chained(before, bare))
            told = {name: getattr(before, name) for name in ("number", "time", "kind", "hash", "nonce")}
            store.connection.execute(database.ledger.insert(), {**told, "content": json.dumps(event.content)})
        for table, column in (("ledger", "nonce"), ("noise", "nonce"), ("noise", "event"), ("held", "reached")):
            store.connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        store.connection.exec_driver_sql("DROP TABLE contents")
        store.connection.exec_driver_sql("DROP TABLE arrivals")
        store.connection.exec_driver_sql("ALTER TABLE held DROP COLUMN seal")
        store.connection.exec_driver_sql("DELETE FROM facts WHERE name IN ('secret', 'taken')")
        store.connection.exec_driver_sql("UPDATE facts SET value = '1' WHERE name = 'version'")


def test_a_store_of_version_1_vouches_for_noise_that_it_finds(lasting):
    """Brought up to date, a store keeps the hashes of its events, commits to the noise of its open cycles, says so,
    and goes on with it.
    """
    panel = town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS["strong"])
    rows = stream.report(panel.between(16, 18))
    noise = kept_noise(curator)[0].content
    as_version_1(curator)
    again = lasting()
    assert again.verify().sound
    events = again.ledger()
    assert [(event.kind, bool(event.nonce)) for event in events[-2:]] == [("reported", False), ("drawn", True)]
    assert events[-1].content["found"] is True
    assert kept_noise(again)[0].content == noise
    assert again.streams()[0].report(panel.between(16, 18)) == rows
    change(again, sa.update(database.noise).values(content=noise.replace("1", "2").replace("0", "3")))
    assert "cycle 4, is not what was drawn" in str(again.verify())


def test_a_store_of_version_1_seals_the_readings_that_it_holds(lasting):
    """Brought up to date, a store has a seal for each row that it holds, and finds damage to it from then on."""
    panel = town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS["strong"], grace=2)
    # One home is missing: the steps wait.
    stream.report(panel.between(16, 18).columns(np.arange(panel.n_households - 1)))
    as_version_1(curator)
    again = lasting()
    assert again.verify().sound
    with again._store.transaction():
        held = again._store.held(1, range(16, 18))
    assert sorted(held) == [16, 17]
    change(again, sa.update(database.held).where(database.held.c.step == 17).values(reached=False))
    assert "holds of step 17" in str(again.verify())


def test_two_at_once_do_not_draw_the_noise_of_one_cycle(lasting):
    """Two curators that report different steps of one cycle at once use one noise, committed to once."""
    panel = town()
    support.start_in(lasting(budget=support.ROOMY), panel, **LEVELS["strong"])
    ready = threading.Barrier(2)
    failed = []

    def work(first):
        try:
            stream = lasting().streams()[0]
            ready.wait()
            for cycle in range(4, 10):
                stream.report(panel.between(4 * cycle + first, 4 * cycle + first + 1))
        except Exception as error:
            failed.append(error)

    workers = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    curator = lasting()
    told = [event.content["cycle"] for event in curator.ledger() if event.kind == "drawn"]
    assert sorted(told) == list(range(4, 10))
    assert curator.verify().sound


# What verify finds.


class UndoneError(Exception):
    """Takes a change back."""


def full(curator, *, is_open):
    """A store with something in every table: in the middle of cycles, or with all of them over."""
    panel = town(cycles=16)
    left, right = panel.columns(np.arange(20)), panel.columns(np.arange(20, 40))
    pattern = support.start_in(curator, left, query=dn.Sum())
    strong = support.start_in(curator, right, **support.SLOTWISE, grace=3)
    curator.erase("3")
    pattern.receive_once("a file", lambda: left.between(16, 22).closing([17]))
    pattern.report(left.between(16, 17))
    strong.report(right.between(16, 18))
    last = 23 if is_open else 24
    strong.report(right.between(18, last))
    if is_open:
        sent = Sent(sender="head-end", key="a", content="readings")
        intake.take(curator, sent, right.between(23, 24).columns(np.arange(10)), stream=strong.plan.hash)
    # As if it were a copy: what was published since is behind a fence, an erasure among it.
    name, number, _, step, spent, more, people, levels = curator.status().head.split(":")
    return ":".join([name, f"{int(number) + 9}", "ab" * 16, step, spent, more, f"{int(people) + 1}", levels])


def looked(curator, statement):
    """What verify finds after a change, which is taken back."""
    found = []
    with contextlib.suppress(UndoneError), curator._store.transaction():
        curator._store.connection.execute(statement)
        found.append(curator.verify())
        raise UndoneError
    return found[0]


def another(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1000
    return bytes(value)[:-1] + b"\x07" if isinstance(value, bytes | memoryview) else f"{value}7"


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_a_change_of_any_value_is_found_or_said_not_to_be(lasting, is_open):
    """Each value of each column of each table is changed by itself: verify finds it, unless NOT_LOOKED_AT names it;
    and of what that names nothing is found.
    """
    later = full(lasting(budget=support.ROOMY), is_open=is_open)
    # Behind a fence nothing is open any more.
    curator = lasting() if is_open else lasting(fence=later)
    assert curator.verify().sound
    store, unseen, tables = curator._store, set(), set()
    for table in database.tables.sorted_tables:
        keys = [column.name for column in table.primary_key]
        with store.transaction():
            found = [dict(row._mapping) for row in store.connection.execute(sa.select(table))]
        # Of rows and events some, one of each kind of event and of every fact: each is changed column by column.
        some = {row.get("kind") or row.get("name") or (at * 3 // len(found)): row for at, row in enumerate(found)}
        for row in found if table is database.noise else some.values():
            tables.add(table.name)
            which = sa.and_(*(table.c[name] == row[name] for name in keys))
            for name, value in row.items():
                if looked(curator, sa.update(table).where(which).values({name: another(value)})).sound:
                    what = row["name"].split()[0] if table.name == "facts" else name
                    unseen.add((table.name, what))
    named = {(table, name) for table, names in NOT_LOOKED_AT.items() for name in names}
    assert unseen - named == set()
    # A store that is no backup, that holds nothing, and has no homes in a lake, has nothing of these.
    absent = {(table, name) for table, name in named if table not in tables}
    assert named - unseen - absent <= {("facts", "backup"), ("facts", "place"), ("facts", "settled")}
    waiting = {"held", "contents", "arrivals"}
    assert tables | waiting == {table.name for table in database.tables.sorted_tables}
    assert tables & waiting == (waiting if is_open else set())
    assert curator.verify().sound


# Nonces.


def test_the_hash_of_an_event_is_over_random_bits_of_its_own(opens):
    """Every event has 256 random bits that are hashed with it: without them its hash is another, and no two are
    the same.
    """
    panel = town()
    curator = opens(budget=support.ROOMY)
    support.start_in(curator, panel).report(panel.between(16, 18))
    events = curator.ledger()
    assert all(len(bytes.fromhex(event.nonce)) == 32 for event in events)
    assert len({event.nonce for event in events}) == len(events)
    for before, event in zip([None, *events], events, strict=False):
        assert ledger.chained(before, event) == event.hash
        assert ledger.chained(before, ledger.replace(event, nonce="")) != event.hash


# Fences.


def test_a_fence_keeps_what_was_lost_by_zcdp(lasting, tmp_path):
    """A Gaussian plan that a restored backup does not know counts behind the fence as it counted, at the delta."""
    panel = support.town(cycles=40)
    curator = lasting(budget=dn.Budget(pattern="6", cycle="1", delta="1e-6"))
    curator.backup(tmp_path / "backup.db")
    support.start_in(curator, panel, mechanism="gaussian", epsilon="3", delta="1e-6")
    spent = curator.status().pattern[0]
    assert spent > 2
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.head, people=0)
    assert restored.status().pattern[0] >= spent
    plan = support.plan_for(panel, epsilon="5")
    with pytest.raises(BudgetError):
        restored.start(plan, history=panel.between(40, 56), acknowledge="untested", accept_worse=True)
    with restored._store.transaction():
        assert restored._store.fenced("pattern").zcdp > 0


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_a_second_fence_adds_to_the_first(lasting, tmp_path, name):
    """What two lives of one store have lost, each by itself, counts together behind two fences, in either order."""
    panel = support.town(cycles=40)
    curator = lasting(budget=support.ROOMY)
    for number in range(3):
        own = curator.backup(tmp_path / f"{number}.db")
    other = dn.Curator.open(tmp_path / "0.db", fence=own, people=0)
    support.start_in(curator, panel, **support.SLOTWISE, epsilon="1/2", cycle_epsilon="1/4")
    support.start_in(other, panel, **support.SLOTWISE, epsilon="1/8", cycle_epsilon="1/16")
    sums = {"pattern": Fraction(5, 8), "strong": Fraction(5, 16)}
    for number, heads in ((1, (curator.head, other.head)), (2, (other.head, curator.head))):
        for head in heads:
            restored = dn.Curator.open(tmp_path / f"{number}.db", fence=head, people=0)
        assert getattr(restored.status(), name)[0] == sums[name]


def test_a_public_head_fences_with_how_many_people_there_were(lasting, tmp_path):
    """A public head is the same after an erasure, so that a fence wants to be told how many there were since, even
    if the backup knows its event; what is said is owed, once, however often the fence is said.
    """
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    support.start_in(curator, panel).report(panel.between(16, 20))
    head = curator.backup(tmp_path / "backup.db")
    curator.erase("3")
    assert curator.head == head
    with refuses(StoreError, "fence-needs-people"):
        dn.Curator.open(tmp_path / "backup.db", fence=head)
    with refuses(InputError, "argument-not-whole"):
        dn.Curator.open(tmp_path / "backup.db", fence=head, people=-1)
    for _ in range(2):
        restored = dn.Curator.open(tmp_path / "backup.db", fence=head, people=1)
        with pytest.raises(StoreError, match="1 erasure"):
            restored.streams()[0].report(panel.between(20, 24))
        assert restored.verify().sound
    restored.erase("3")
    again = dn.Curator.open(tmp_path / "backup.db", fence=head, people=1)
    # It knew everything that was reported, and goes on in the middle of a cycle.
    assert [row.step for row in again.streams()[0].report(panel)] == list(range(16, 48))
    assert again.verify().sound


def test_a_head_of_version_1_fences(lasting, tmp_path):
    """A head with a number of events and of people, as it was published once, is understood as it was meant."""
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel)
    curator.backup(tmp_path / "backup.db")
    stream.report(panel.between(16, 20))
    curator.erase("3")
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    with pytest.raises(StoreError, match="1 erasure"):
        restored.streams()[0].report(panel)
    restored.erase("3")
    assert [row.step for row in restored.streams()[0].report(panel)] == list(range(20, 48))


@pytest.mark.parametrize("own", [True, False], ids=["custodian's", "public"])
def test_a_head_is_found_by_its_hash(opens, own):
    """Every head that was ever given is found in the ledger afterwards, and one of no event is not."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    heads = [curator.head]
    stream = support.start_in(curator, panel, **support.SLOTWISE)
    for step in range(16, 19):
        stream.report(panel.between(step, step + 1))
        curator.erase(f"{step}")
        heads.append(curator.status().head if own else curator.head)
    assert all(curator.verify(head).sound for head in heads)
    name, number, digest, *rest = heads[-1].split(":")
    wrong = ":".join([name, number, digest[::-1], *rest])
    assert curator.verify(wrong).findings == ("the head that was published is not in the ledger",)


# PostgreSQL.


def test_a_dump_that_is_restored_wants_a_fence(postgres_server, postgres, tmp_path):
    """A store on PostgreSQL that was copied into another database, as a restored dump is, is refused until it is
    fenced; the store itself opens as ever.
    """
    import psycopg

    panel = support.town()
    where = postgres()
    curator = dn.Curator.open(where, support.ROOMY, profiles=tmp_path / "profiles")
    stream = support.start_in(curator, panel)
    stream.report(panel.between(16, 20))
    curator._store._engine.dispose()
    source = sa.make_url(where).database
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"create database {source}_copy template {source}")
    there = where.replace(source, f"{source}_copy")
    stream.report(panel.between(20, 24))
    with refuses(StoreError, "store-copied"):
        dn.Curator.open(there, profiles=tmp_path / "profiles")
    for fence in ({"fence": curator.head, "people": 0}, {}):
        restored = dn.Curator.open(there, profiles=tmp_path / "profiles", **fence)
    rows = restored.streams()[0].report(panel.between(16, 28))
    assert [row.step for row in rows] == [*range(16, 20), *range(24, 28)]
    assert dn.Curator.open(where, profiles=tmp_path / "profiles").verify().sound


@pytest.mark.parametrize(("said", "then"), [("off", "on"), ("remote_apply", "remote_apply")])
def test_a_commit_on_postgresql_waits_for_the_disk(postgres, tmp_path, said, then):
    """Where an operator has turned waiting off for all sessions, a store's transactions wait all the same; where
    they wait for more, they do.
    """
    import psycopg

    where = postgres()
    plain = where.replace("+psycopg", "")
    with psycopg.connect(plain, autocommit=True) as connection:
        name = connection.execute("select current_database()").fetchone()[0]
        connection.execute(f"alter database {name} set synchronous_commit = {said}")
    curator = dn.Curator.open(where, support.ROOMY, profiles=tmp_path / "profiles")
    with curator._store.transaction():
        assert curator._store.connection.exec_driver_sql("show synchronous_commit").scalar() == then


def test_transactions_on_postgresql_see_what_was_committed_while_they_waited(postgres, tmp_path):
    """Where an operator has made another isolation the default, a store's transactions still read what those before
    them have committed: one that looked before its turn would draw again.
    """
    import psycopg

    where = postgres()
    with psycopg.connect(where.replace("+psycopg", ""), autocommit=True) as connection:
        name = connection.execute("select current_database()").fetchone()[0]
        connection.execute(f"alter database {name} set default_transaction_isolation = 'repeatable read'")
    curator = dn.Curator.open(where, support.ROOMY, profiles=tmp_path / "profiles")
    with curator._store.transaction():
        assert curator._store.connection.exec_driver_sql("show transaction_isolation").scalar() == "read committed"


def test_a_database_that_is_lost_at_the_commit_is_not_said_to_have_done_nothing(postgres, tmp_path):
    """When the connection ends while a report is committed, the error says that nobody knows; asked again there is
    one row a step.
    """
    import psycopg

    panel, where = support.town(), postgres()
    curator = dn.Curator.open(where, support.ROOMY, profiles=tmp_path / "profiles")
    stream = support.start_in(curator, panel, **support.SLOTWISE)
    engine = curator._store._engine

    def cut(connection):
        number = connection.connection.driver_connection.info.backend_pid
        with psycopg.connect(where.replace("+psycopg", ""), autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s, 5000)", [number])

    sa.event.listen(engine, "commit", cut)
    with refuses(StoreError, "commit-unknown"):
        stream.report(panel.between(16, 18))
    sa.event.remove(engine, "commit", cut)
    rows = stream.report(panel.between(16, 18))
    assert stream.report(panel.between(16, 18)) == rows == stream.rows()
    assert curator.verify().sound


@pytest.mark.parametrize("how", ["next cycle", "open cycle", "copied"])
def test_noise_that_somebody_put_there_never_becomes_vouched_for(lasting, how):
    """Noise that was not drawn in the transaction that vouches is left alone: its cycle reports nothing, and verify
    says so, also after other cycles were reported.
    """
    panel = town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS["strong"])
    stream.report(panel.between(16, 18))
    kept = kept_noise(curator)[0]
    none = json.dumps({name: [0] * len(values) for name, values in json.loads(kept.content).items()})
    if how == "open cycle":
        change(curator, sa.update(database.noise).values(content=none, nonce="", event=0))
    else:
        planted = none if how == "next cycle" else kept.content
        change(curator, sa.insert(database.noise).values(plan=1, cycle=5, content=planted))
    spoilt, other = ((18, 19), (20, 21)) if how == "open cycle" else ((20, 21), (18, 19))
    stream.report(panel.between(*other))
    with refuses(StoreError, "noise-changed"):
        stream.report(panel.between(*spoilt))
    assert not curator.verify().sound


@pytest.mark.parametrize("level", ["strong", "blocks"])
def test_noise_that_is_gone_is_not_drawn_again(lasting, level):
    """A cycle of which rows are out and whose noise was deleted reports nothing more: a second draw costs again."""
    panel = town()
    curator = lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **LEVELS[level])
    stream.report(panel.between(16, 18))
    change(curator, sa.delete(database.noise))
    with refuses(StoreError, "noise-missing"):
        stream.report(panel.between(18, 20))
    assert {row.step for row in stream.rows()} == {16, 17}


def test_two_commitments_to_one_cycle_are_found(lasting):
    """The ledger commits to the noise of a cycle once; a second commitment is a second draw."""
    panel = town()
    curator = lasting(budget=support.ROOMY)
    support.start_in(curator, panel, **LEVELS["strong"]).report(panel.between(16, 18))
    (told,) = [event.content for event in curator.ledger() if event.kind == "drawn"]
    with curator._store.transaction():
        curator._store.note("drawn", told)
    assert "was drawn more than once" in str(curator.verify())
