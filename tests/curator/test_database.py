"""Stores that earlier versions have written go on, and their rows are what they were.

A version's store is made once, with `python tests/curator/test_database.py`, and kept for ever.
"""

import contextlib
import json
import pathlib
import shutil
import sqlite3

import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import database
from diurnal.curator import store as stores
from diurnal.errors import StoreError
from support import refuses

STORES = pathlib.Path(__file__).parent / "stores"
VERSIONS = sorted(int(path.name) for path in STORES.iterdir())


def town():
    return support.town(n=40, cycles=12, groups={"side": ["a"] * 20 + ["b"] * 20})


def make(folder):
    """A store in the middle of its life: one stream stopped, one in the middle of a cycle, a household gone."""
    panel = town()
    curator = dn.Curator.open(folder / "city.db", dn.Budget(pattern="3", cycle="2", delta="1e-6"), calendar=[19])
    pattern = support.plan_for(panel, groups="side", query=dn.Sum())
    first = curator.start(pattern, history=panel.first(4), acknowledge="untested", accept_worse=True)
    first.report(panel.between(16, 21))
    curator.move_out("3", 20)
    first.stop()
    basis = {
        "mechanism": "basis",
        "cycle_mechanism": "basis",
        "basis": dn.Basis(size=3),
        "cycle_basis": dn.Basis(size=3),
    }
    plan = support.plan_for(panel, level="strong", grace=2, **basis)
    later = curator.start(
        plan, history=panel.between(24, 40).without(["5"]), acknowledge="untested", accept_worse=True
    )
    later.report(panel.between(40, 43))
    curator.erase("7")
    rows = {stream.plan.hash: [row.to_json() for row in stream.rows()] for stream in curator.streams()}
    (folder / "rows.json").write_text(json.dumps(rows, indent=1))
    curator._store._engine.dispose()


def test_there_is_a_store_of_every_version():
    """Each version of the schema has a store that was written by it."""
    assert list(range(1, database.VERSION + 1)) == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_an_earlier_version_goes_on(version, tmp_path):
    """Opened today it is sound, has the rows it had, decimals and all, and its streams go on."""
    shutil.copytree(STORES / str(version), tmp_path, dirs_exist_ok=True)
    curator = dn.Curator.open(tmp_path / "city.db")
    assert curator.verify().sound, str(curator.verify())
    told = json.loads((tmp_path / "rows.json").read_text())
    streams = {stream.plan.hash: stream for stream in curator.streams()}
    assert streams.keys() == told.keys()
    for key, rows in told.items():
        assert [row.to_json() for row in streams[key].rows()] == rows
    later = curator.streams()[-1]
    later.report(town().between(40, 48))
    assert [row.step for row in later.rows()] == list(range(40, 48))
    assert curator.verify().sound


@pytest.mark.parametrize("fails", [False, True])
def test_a_store_is_brought_up_to_date_version_by_version_or_not_at_all(fails, tmp_path, monkeypatch):
    """Migrations run in order, once, in one transaction: if one fails, the store is the version it was."""
    shutil.copytree(STORES / "1", tmp_path, dirs_exist_ok=True)
    done, now = [], database.VERSION

    def migration(number):
        def work(connection):
            done.append(number)
            connection.exec_driver_sql(f"create table made_by_{number} (x integer)")
            if fails and number == now + 1:
                raise StoreError("store-damaged")

        return work

    later = {number: migration(number) for number in (now, now + 1)}
    monkeypatch.setattr(database, "VERSION", now + 2)
    monkeypatch.setattr(database, "MIGRATIONS", {**database.MIGRATIONS, **later})
    if fails:
        with refuses(StoreError, "store-damaged"):
            dn.Curator.open(tmp_path / "city.db")
    else:
        for _ in range(2):
            assert dn.Curator.open(tmp_path / "city.db").verify().sound
    assert done == [now, now + 1]
    with contextlib.closing(sqlite3.connect(tmp_path / "city.db")) as plain:
        found = plain.execute("select value from facts where name = 'version'").fetchall()
        made = plain.execute("select count(*) from sqlite_master where name like 'made_by_%'").fetchone()
    assert (found, made) == (([("1",)], (0,)) if fails else ([(f"{now + 2}",)], (2,)))


OF_A_FILE, OF_A_KEY, OF_A_BATCH, OF_A_STEP = ("ab" * 32, "cd" * 32, "ef" * 32, "12" * 16)


def version_1(folder):
    """A store of version 1 that remembers what was in files, batches and steps; {table: rows}."""
    shutil.copytree(STORES / "1", folder, dirs_exist_ok=True)
    names = [OF_A_FILE, f"batch {OF_A_KEY}", f"batch {OF_A_KEY} {OF_A_BATCH}", "spark query 3"]
    counted = {"repeated": 4, "corrected, and not taken": 5, "late, and not taken": 6}
    counted |= {f"rows of a file, duplicate, {which} value": 7 for which in ("same", "another")}
    with contextlib.closing(sqlite3.connect(folder / "city.db")) as plain:
        plain.executemany("insert into taken values (2, ?)", [(name,) for name in names])
        plain.executemany("insert into counts values (2, ?, ?)", counted.items())
        plain.execute("update used set digest = ?", (OF_A_STEP,))
        plain.commit()
    return content(folder)


def content(folder):
    with contextlib.closing(sqlite3.connect(folder / "city.db")) as plain:
        tables = [name for (name,) in plain.execute("select name from sqlite_master where type = 'table'")]
        return {table: sorted(plain.execute(f"select * from {table}").fetchall()) for table in tables}


def test_a_store_of_version_1_forgets_what_was_in_what_it_took(tmp_path):
    """Brought up to date, no digest of readings is in any byte of its files, nor a count of which were the same;
    what goes by a name of Spark's is still known, and its streams go on.
    """
    before = version_1(tmp_path)
    assert before["used"], "the kept store has a pattern plan"
    curator = dn.Curator.open(tmp_path / "city.db")
    for path in tmp_path.rglob("*"):
        for digest in (OF_A_FILE, OF_A_KEY, OF_A_BATCH, OF_A_STEP):
            assert path.is_dir() or digest.encode() not in path.read_bytes()
    later = curator.streams()[-1]
    assert later.receive_once("spark query 3", pytest.fail).again
    counted = later.quality()
    assert (counted["held_before"], counted["file_duplicate"]) == (9, 14)
    assert counted["late"] == 6
    assert not any("same value" in what or what in ("repeated", "corrected, and not taken") for what in counted)
    later.report(town().between(40, 48))
    assert curator.verify().sound


def test_a_store_of_version_1_stays_so_where_it_cannot_be_brought_up_to_date(tmp_path, monkeypatch):
    """Where the last step of a migration fails, every row of the store is as it was, and the next try does it."""
    before = version_1(tmp_path)

    def fails(connection):
        raise StoreError("store-damaged")

    with monkeypatch.context() as patch:
        patch.setattr(database, "_forget_used_of_1", fails)
        with refuses(StoreError, "store-damaged"):
            dn.Curator.open(tmp_path / "city.db")
    assert content(tmp_path) == before
    assert dn.Curator.open(tmp_path / "city.db").verify().sound
    assert ("version", str(database.VERSION)) in content(tmp_path)["facts"]


def test_what_is_compiled_once_for_all_stores_keeps_nothing_private():
    """Statements that stores in memory share hold no noise, no plan and no secret, whoever ran them first."""
    # What other tests have asked of their stores is none of this.
    stores._in_memory.cache_clear()
    panel = support.town(n=4, cycles=6)
    stream = support.start_in(dn.Curator.in_memory(support.ROOMY), panel, **support.SLOTWISE)
    stream.report(panel.between(16, 18))
    kept = stream._store._engine.get_execution_options()["compiled_cache"].values()
    inserted = [compiled.params for compiled in kept if compiled.isinsert]
    assert len(inserted) >= 5
    assert not [value for params in inserted for value in params.values() if type(value) in (str, int)]


def test_a_store_of_a_later_version_is_refused(lasting):
    """A store that a newer diurnal has written is not touched."""
    curator = lasting()
    with curator._store.transaction():
        curator._store.connection.execute(
            sa.update(database.facts).where(database.facts.c.name == "version").values(value="99")
        )
    with pytest.raises(StoreError, match="version 99"):
        lasting()


def test_no_two_lists_of_words_have_one_keyed_digest(on):
    """Where a word ends counts: the key "b" of sender "ab" is not the key "bb" of sender "a"."""
    store = on("memory")._store
    with store.transaction():
        lists = [
            ("batch", "ab", "b"),
            ("batch", "a", "bb"),
            ("batch", "abb"),
            ("batch", "abb", ""),
            ("batcha", "bb"),
        ]
        assert len({store.keyed(*words) for words in lists}) == len(lists)


if __name__ == "__main__":
    target = STORES / str(database.VERSION)
    target.mkdir(parents=True)
    make(target)
