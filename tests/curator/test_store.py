"""The contract of every store: in memory, a SQLite file, PostgreSQL."""

import contextlib
import os
import shutil
import sqlite3
import stat

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import database
from diurnal.curator.public_reader import Reader
from diurnal.curator.taking import OpenState
from diurnal.errors import StoreError
from support import refuses

STRONG = support.SLOTWISE
LEVELS = {
    "pattern": {},
    "strong": STRONG,
    "basis": support.BASIS,
    "blocks": support.BLOCKS,
    "share": {"level": "cycle", "query": dn.Share(above=50), "history": 0},
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_stream_is_the_same_on_every_store(opens, level, silence):
    """Without noise the rows of a stream are those of the store in memory, on every kind of store."""
    panel = support.town(groups={"side": ["a"] * 15 + ["b"] * 25})
    fields = {**LEVELS[level], "groups": "side"}
    here = support.start_in(opens(budget=support.ROOMY), panel, **fields).report(panel)
    there = support.start_in(dn.Curator.in_memory(support.ROOMY), panel, **fields).report(panel)
    assert here == there


@pytest.mark.parametrize("level", LEVELS)
def test_what_was_reported_is_there_for_whoever_opens_the_store(lasting, level):
    """Opened again, by nobody who knew it, a store gives the same rows, decimals and all, and draws nothing."""
    panel = support.town()
    stream = support.start_in(lasting(budget=support.ROOMY), panel, **LEVELS[level])
    rows = stream.report(panel.between(16, 30))
    again = lasting().stream(stream.plan.hash[:10])
    assert again.plan == stream.plan
    assert again.report(panel.between(16, 30)) == rows
    assert again.acknowledged == stream.acknowledged


@pytest.mark.parametrize("level", ["strong", "basis", "blocks"])
def test_a_cycle_begun_before_goes_on_with_its_noise(lasting, level, monkeypatch):
    """A cycle's noise is drawn once: who opens the store in its middle uses what is there, and it is erased at its
    end.
    """
    from diurnal.promise import noise

    panel = support.town()
    drawn = []
    monkeypatch.setattr(noise, "laplace", lambda size, scale: drawn.append(size) or [3] * size)
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: drawn.append(size) or [3] * size)
    stream = support.start_in(lasting(budget=support.ROOMY), panel, **LEVELS[level])
    before = len(drawn)
    stream.report(panel.between(16, 18))
    again = lasting().streams()[0]
    again.report(panel.between(18, 20))
    assert len(drawn) == before + 1
    with again._store.transaction():
        assert again._store.noisy_cycles(1) == []
        assert again._store.held_marks(1) == {}


def test_a_store_is_readable_by_its_owner_alone(on, tmp_path):
    """Database, log and profiles have mode 0600 from the first moment."""
    os.umask(0)
    panel = support.town()
    support.start_in(on("sqlite"), panel, **STRONG).report(panel)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".db", ".parquet"}
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    for path in tmp_path.rglob("*"):
        if path.is_dir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_sqlite_syncs_its_log_at_every_commit(on):
    """The file is in WAL mode, synchronous FULL, and overwrites what is erased."""
    curator = on("sqlite")
    with curator._store.transaction():
        found = [
            curator._store.connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "secure_delete")
        ]
    assert found == ["wal", 2, 1]


def test_what_fails_leaves_nothing_behind(opens, monkeypatch):
    """An error in the middle of a report takes everything back: rows, noise, counters, events."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **STRONG)
    before = [event.hash for event in curator.ledger()]
    monkeypatch.setattr(OpenState, "write", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stream.report(panel)
    monkeypatch.undo()
    assert [event.hash for event in curator.ledger()] == before
    assert stream.quality() == {}
    with curator._store.transaction():
        assert curator._store.noisy_cycles(1) == []
        assert curator._store.rows(1, range(100)) == {}
    assert curator.verify().sound


def test_the_ledger_is_a_chain_and_its_head_tells(opens):
    """Every decision is an event; a head counts them, and says what was spent and reported. The custodian's also
    says how many erasures and changes of tenancy there were, which the public one does not.
    """
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, **STRONG, epsilon="3/2", cycle_epsilon="1/4")
    stream.report(panel.between(16, 22))
    stream.report(panel.between(16, 22))
    stream.stop()
    curator.erase("3")
    told = ["created", "settled", "started", "reported", "drawn", "stopped"]
    assert [event.kind for event in curator.ledger()] == [*told, "erased", "forgotten"]
    _, number, digest, *parts = curator.head.split(":")
    assert (number, *parts) == ("6", "21", "1.5", "0.25", "", "s")
    assert curator.ledger()[5].hash.startswith(digest)
    _, number, digest, *parts = curator.status().head.split(":")
    assert (number, *parts) == ("8", "21", "1.5", "0.25", "1", "s")
    assert curator.ledger()[-1].hash.startswith(digest)


def test_status_says_how_it_stands(opens):
    """The status has head, budget and each stream's reach, and is private."""
    panel = support.town()
    curator = opens(budget=dn.Budget(pattern="4", cycle="1"))
    stream = support.start_in(curator, panel)
    stream.report(panel.between(16, 20))
    status = curator.status()
    assert isinstance(status, dn.Private)
    assert (status.pattern, status.strong) == ((1, 4), (0, 1))
    text = str(status)
    assert status.head in text
    assert "running" in text
    assert status.to_json()["streams"][0]["last_step"] == 19
    stream.stop()
    assert "stopped at step 20" in str(curator.status())


def test_a_cycle_that_a_fence_cuts_is_finished(lasting, tmp_path):
    """Of a cycle that a fence cuts nothing more is reported, and a reader knows: what it reads of it stays."""
    panel, curator = support.town(), lasting(budget=support.ROOMY)
    stream = support.start_in(curator, panel)
    stream.report(panel.between(16, 20))
    curator.backup(tmp_path / "backup.db")
    stream.report(panel.between(20, 22))
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    assert restored.streams()[0].report(panel.between(20, 24)) == []
    reader = Reader.open(tmp_path / "backup.db")
    (published,) = reader.look().streams
    assert reader.settled(published, range(16, 24))
    assert not reader.settled(published, range(16, 25))
    reader.close()


def test_a_cycles_noise_is_never_drawn_twice(opens, monkeypatch):
    """A published step that goes onto the calendar closes no cycle early, and a closed cycle draws no more."""
    from diurnal.promise import noise

    panel = support.town()
    drawn = []
    monkeypatch.setattr(noise, "laplace", lambda size, scale: drawn.append(size) or [3] * size)
    stream = support.start_in(opens(budget=support.ROOMY), panel, **STRONG)
    stream.report(panel.between(16, 18))
    stream.report(panel.between(18, 19).closing([16]))
    stream.report(panel.between(19, 20))
    assert len(drawn) == 1
    with stream._store.transaction():
        assert stream._store.noisy_cycles(1) == []
        with refuses(StoreError, "cycle-closed"):
            stream._store.cycle_noise(1, 4)


@pytest.mark.parametrize("what", ["stop", "move out", "erase"])
def test_a_commit_that_fails_loses_no_profile(on, tmp_path, monkeypatch, what):
    """Where a stop, a change of tenancy or an erasure fails at its commit, the store is as it was."""
    from diurnal.curator.store import Store

    panel = support.town()
    curator = on("sqlite", budget=support.ROOMY)
    stream = support.start_in(curator, panel)

    def fail(self, transaction):
        transaction.rollback()
        raise OSError("no commit")

    monkeypatch.setattr(Store, "_commit", fail)
    work = {"stop": stream.stop, "move out": lambda: curator.move_out("3", 20), "erase": lambda: curator.erase("3")}
    with pytest.raises(OSError, match="no commit"):
        work[what]()
    monkeypatch.undo()
    again = on("sqlite")
    assert again.verify().sound
    assert len(again.streams()[0].report(panel.between(16, 20))) == 4
    assert len(list((tmp_path / "city.db-profiles").iterdir())) == 1


def test_what_is_erased_is_in_no_file(on, tmp_path):
    """A household's held readings, its profile, and a closed cycle's noise are in no byte of the store's files."""
    mark = 171_717_171
    panel = support.town()
    readings = panel.readings.copy()
    readings[:, 7] = mark
    panel = panel.following(readings, first_step=0)
    curator = on("sqlite", budget=support.ROOMY)
    stream = support.start_in(curator, panel, **STRONG, grace=5, domain=(0, 2 * 10**8))
    half = panel.present[16:19] & (np.arange(40) < 20)
    stream.report(panel.following(panel.readings[16:19], present=half, first_step=16))
    secret = mark.to_bytes(8, "little")

    def found():
        return [path.name for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_bytes()]

    assert found()
    curator.erase("7")
    assert found() == []


def test_what_was_reported_is_in_no_file(on, tmp_path, monkeypatch):
    """Held readings of a reported step, and of a cycle that is over its noise and what opens the commitment to it,
    are in no byte of the store's files.
    """
    from diurnal.promise import noise

    mark, drawn = 171_717_171, 987_654_321_987
    panel = support.town()
    readings = panel.readings.copy()
    readings[16:, 7] = mark
    panel = panel.following(readings, first_step=0)
    stream = support.start_in(on("sqlite", budget=support.ROOMY), panel, **STRONG, grace=2, domain=(0, 2 * 10**8))
    monkeypatch.setattr(noise, "laplace", lambda size, scale: [drawn] * size)
    monkeypatch.setattr(noise, "cube", lambda ranges, rate: [drawn] * len(ranges))

    def found(secret):
        return [path.name for path in tmp_path.rglob("*") if path.is_file() and secret in path.read_bytes()]

    half = panel.present[16:18] & (np.arange(40) < 20)
    stream.report(panel.following(panel.readings[16:18], present=half, first_step=16))
    assert found(mark.to_bytes(8, "little"))
    stream.report(panel.between(16, 18))
    assert found(mark.to_bytes(8, "little")) == []
    with stream._store.transaction():
        nonce = stream._store.connection.scalar(sa.select(database.noise.c.nonce)).encode()
    assert found(str(drawn).encode())
    assert found(nonce)
    stream.report(panel.between(18, 20))
    assert [row.step for row in stream.rows()] == [16, 17, 18, 19]
    stream.close(before=20)
    assert found(str(drawn).encode()) == []
    assert found(nonce) == []


def test_a_log_that_a_killed_process_has_left_is_emptied(on, tmp_path):
    """What was erased while somebody read is still in SQLite's log; whoever opens the store next empties it."""
    mark = 171_717_171
    panel = support.town()
    readings = panel.readings.copy()
    readings[16:, 7] = mark
    panel = panel.following(readings, first_step=0)
    stream = support.start_in(on("sqlite", budget=support.ROOMY), panel, **STRONG, grace=2, domain=(0, 2 * 10**8))
    stream.report(panel.following(panel.readings[16:17], present=np.arange(40)[None] < 20, first_step=16))
    killed = tmp_path / "killed"
    killed.mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "city.db")) as reader:
        reader.execute("begin")
        reader.execute("select * from held").fetchall()
        stream.report(panel.between(16, 17))
        for name in ("city.db", "city.db-wal"):
            shutil.copyfile(tmp_path / name, killed / name)
    shutil.copytree(tmp_path / "city.db-profiles", killed / "city.db-profiles")

    def found():
        files = [path for path in killed.rglob("*") if path.is_file()]
        return [path.name for path in files if mark.to_bytes(8, "little") in path.read_bytes()]

    assert found()
    again = dn.Curator.open(killed / "city.db")
    assert found() == []
    assert again.streams()[0].rows() == stream.rows()


def test_what_a_plan_was_before_an_erasure_cannot_be_tried(on, tmp_path):
    """Events keep a digest of what a plan was, who was erased since among it. A name that nobody can guess went
    into it, and is nowhere any more.
    """
    panel, curator = support.town(), on("sqlite", budget=support.ROOMY)
    support.start_in(curator, panel)
    with curator._store.transaction():
        (name,) = curator._store.kept()
    drawn = name.rpartition("-")[2]
    assert len(bytes.fromhex(drawn)) == 16
    curator.erase("7")
    assert not any(drawn.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not any(drawn in path.name for path in tmp_path.rglob("*"))
    assert curator.verify().sound


def test_two_plans_are_told_apart_by_readings_not_by_sums(opens, silence):
    """A later pattern plan falls silent wherever its readings are not the ones that were used, also where sums are
    equal: whether it does tells nothing about one home's variation.
    """
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    readings = panel.readings.copy()
    readings[:, 7] = np.tile(readings[:4, 7], 12)
    panel = panel.following(readings, first_step=0)
    curator = opens(budget=support.ROOMY)
    first = support.start_in(curator, panel, query=dn.Sum())
    curator.move_out("7", 16)
    first.report(panel.between(16, 32))
    second = support.start_in(curator, panel, query=dn.Sum(), groups="side")
    rows = second.report(panel.between(16, 32))
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    silent = {(row.step, row.group): row.numerator for row in rows}
    for step in range(16, 32):
        assert silent[step, "a"] == profile[step % 4, :20].sum()


@pytest.mark.parametrize("first_has_it", [True, False])
def test_a_reading_of_nothing_is_not_taken_for_none(opens, silence, first_has_it):
    """A pattern plan falls silent where a home was missing and now has read 0, or the other way round: the
    difference of the two plans' sums would be that home's variation.
    """
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    readings, present = panel.readings.copy(), panel.present.copy()
    readings[16:, 7], present[16:, 7] = 0, False
    given = {
        has: panel.following(readings, present=panel.present if has else present, first_step=0).between(16, 20)
        for has in (True, False)
    }
    curator = opens(budget=support.ROOMY)
    support.start_in(curator, panel, query=dn.Sum()).report(given[first_has_it])
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    second = support.start_in(curator, panel, query=dn.Sum(), groups="side")
    rows = second.report(given[not first_has_it])
    assert [row.numerator for row in rows if row.group == "b"] == profile[:, 20:].sum(axis=1).tolist()


def test_two_stores_have_no_secret_in_common(on):
    """Each store draws its own salt and secret, so that no digest of one says anything about another."""
    found = []
    for name in ("city", "town"):
        store = on("sqlite", name)._store
        with store.transaction():
            own = [store.fact(fact) for fact in ("salt", "secret", "id", "lineage")]
            found.append([*own, store.identity(), *store.name_digests(["7"]), store.keyed("batch", "a", "b")])
    assert all(one != two for one, two in zip(*found, strict=True))
    assert [len(bytes.fromhex(each[1])) for each in found] == [32, 32]


def test_no_value_is_in_a_stores_errors(opens, caplog):
    """Neither an error of a store nor a log of its database shows a value that was to be written."""
    import logging

    panel = support.town()
    curator = opens(budget=support.ROOMY)
    support.start_in(curator, panel, **STRONG).report(panel.between(16, 18))
    caplog.set_level(logging.INFO, logger="sqlalchemy.engine")
    with pytest.raises(StoreError) as caught, curator._store.transaction():
        curator._store.keep_noise(1, 4, {"all": [987654321]})
    error = caught.value
    said = f"{error!r} {error} {error.__cause__!r} {error.__context__!r} {caplog.text}"
    assert "987654321" not in said


def test_stores_may_share_a_folder_for_profiles(on, tmp_path):
    """Opening a store deletes no profile of another one, nor of the store that a backup was taken of."""
    panel = support.town()
    shared = tmp_path / "profiles"
    one = dn.Curator.open(tmp_path / "one.db", support.ROOMY, profiles=shared)
    support.start_in(one, panel)
    two = dn.Curator.open(tmp_path / "two.db", support.ROOMY, profiles=shared)
    support.start_in(two, panel)
    dn.Curator.open(tmp_path / "one.db", profiles=shared)
    one.backup(tmp_path / "backup.db")
    with refuses(StoreError, "backup-needs-fence"):
        dn.Curator.open(tmp_path / "backup.db", profiles=shared)
    for name in ("one", "two"):
        assert dn.Curator.open(tmp_path / f"{name}.db", profiles=shared).verify().sound


def test_what_goes_wrong_after_a_commit_undoes_nothing(on, monkeypatch):
    """A file that cannot be deleted once an erasure has happened is deleted with the next transaction."""
    from diurnal.curator.started_plan import FolderShelf

    panel = support.town()
    curator = on("sqlite", budget=support.ROOMY)
    stream = support.start_in(curator, panel)
    drop = FolderShelf.drop

    def fail(self, name):
        raise PermissionError("not now")

    monkeypatch.setattr(FolderShelf, "drop", fail)
    curator._store.sweep = lambda **_: None
    curator.erase("3")
    monkeypatch.setattr(FolderShelf, "drop", drop)
    stream.report(panel.between(16, 17))
    assert len(list(curator._store.shelf.folder.iterdir())) == 1
    assert curator.verify().sound
