"""Verbs about stores and people: ledger, backup, fence, caps, erasures."""

import json

import diurnal as dn
from command import run, said


def test_a_ledger_that_was_changed_is_code_1(started):
    """`ledger --verify` is code 0 on what was written, and 1 with what it found on anything else."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    head = said("ledger", "--store", "city.db", "--verify")["head"]
    assert said("ledger", "--store", "city.db", "--head", head)["sound"] is True
    import sqlite3

    with sqlite3.connect("city.db") as connection:
        connection.execute("update rows set value = '7' where step = 1000")
    connection.close()
    done = run("ledger", "--store", "city.db", "--verify", "--json", code=1)
    assert json.loads(done.stdout)["findings"]


def test_a_backup_goes_on_behind_its_fence(started):
    """A copy is refused until it is told the last head that was published, with how many erasures and changes of
    tenancy there were since; or the custodian's own head, which tells.
    """
    for name in ("copy", "other"):
        run("backup", "--store", "city.db", "--out", f"{name}.db")
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    head = dn.Curator.open("city.db").head
    assert "backup" in run("status", "--store", "copy.db", code=1).stderr
    assert "--people" in run("fence", head, "--store", "copy.db", code=1).stderr
    run("fence", head, "--people", "0", "--store", "copy.db")
    run("fence", said("status", "--store", "city.db")["head"], "--store", "other.db")
    for name in ("copy", "other"):
        assert said("status", "--store", f"{name}.db")["head"]


def test_people_can_leave(started):
    """`erase` and `move-out` are known to the ledger, and a name that nobody has is refused."""
    first, second = dn.open_panel("homes.parquet").households[:2]
    run("erase", first, "--store", "city.db")
    assert said("move-out", second, "--from", "2022-07-25T00:00", "--store", "city.db")["step"] == 24 * 48
    kinds = [event["kind"] for event in said("ledger", "--store", "city.db")["events"]]
    assert kinds[-4:] == ["erased", "forgotten", "moved out", "tenancy"]
    run("erase", "nobody", "--store", "city.db", code=1)
    third = dn.open_panel("homes.parquet").households[2]
    run("move-out", third, "--from", "1022-07-25T00:00", "--store", "city.db", code=1)
    assert said("move-out", third, "--from", "2022-07-24T14:00+00:00", "--store", "city.db")["step"] == 24 * 48


def test_a_cap_can_be_raised(started):
    """`raise-cap` allows more, and never less."""
    assert said("raise-cap", "--pattern", "2", "--store", "city.db")["budget"]["pattern"] == "2"
    run("raise-cap", "--pattern", "1", "--store", "city.db", code=1)
    assert said("ledger", "--store", "city.db")["remaining"] == {"pattern": "1", "strong": "0"}
