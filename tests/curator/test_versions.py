"""Stores that earlier versions have written go on, and their rows are what they were.

A version's store is made once, with `python tests/curator/test_versions.py`, and kept for ever.
"""

import contextlib
import json
import pathlib
import shutil
import sqlite3

import pytest

import diurnal as dn
import support
from diurnal.curator import schema
from diurnal.errors import StoreError

STORES = pathlib.Path(__file__).parent / "stores"
VERSIONS = sorted(int(path.name) for path in STORES.iterdir())


def town():
    return support.town(n=40, cycles=12, groups={"side": ["a"] * 20 + ["b"] * 20})


def make(folder):
    """A store in the middle of its life: one stream stopped, one in the middle of a cycle, a household gone."""
    panel = town()
    curator = dn.Curator.open(folder / "city.db", dn.Budget(pattern="3", strong="2", delta="1e-6"), calendar=[19])
    pattern = support.plan_for(panel, groups="side", query=dn.Sum())
    first = curator.start(pattern, history=panel.first(4), acknowledge="untested")
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
    later = curator.start(plan, history=panel.between(24, 40).without(["5"]), acknowledge="untested")
    later.report(panel.between(40, 43))
    curator.erase("7")
    rows = {stream.plan.hash: [row.to_json() for row in stream.rows()] for stream in curator.streams()}
    (folder / "rows.json").write_text(json.dumps(rows, indent=1))
    curator._store._engine.dispose()


def test_there_is_a_store_of_every_version():
    """Each version of the schema has a store that was written by it."""
    assert list(range(1, schema.VERSION + 1)) == VERSIONS


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
    done = []

    def migration(number):
        def work(connection):
            done.append(number)
            connection.exec_driver_sql(f"create table made_by_{number} (x integer)")
            if fails and number == 2:
                raise StoreError("It does not work.", hint="None.")

        return work

    monkeypatch.setattr(schema, "VERSION", 3)
    monkeypatch.setattr(schema, "MIGRATIONS", {number: migration(number) for number in (1, 2)})
    if fails:
        with pytest.raises(StoreError, match="does not work"):
            dn.Curator.open(tmp_path / "city.db")
    else:
        for _ in range(2):
            assert dn.Curator.open(tmp_path / "city.db").verify().sound
    assert done == [1, 2]
    with contextlib.closing(sqlite3.connect(tmp_path / "city.db")) as plain:
        found = plain.execute("select value from facts where name = 'version'").fetchall()
        made = plain.execute("select count(*) from sqlite_master where name like 'made_by_%'").fetchone()
    assert (found, made) == (([("1",)], (0,)) if fails else ([("3",)], (2,)))


if __name__ == "__main__":
    target = STORES / str(schema.VERSION)
    target.mkdir(parents=True)
    make(target)
