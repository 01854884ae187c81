"""Ends what a run of the tests has started, however the run itself ends.

PostgreSQL, Spark, browsers and services live in processes of their own, some of them detached on purpose. Every
process that a run starts inherits a mark in its environment. A watcher outside the run's process group holds one
end of a pipe, the run the other. When the run is gone (done, interrupted, killed), the pipe closes, and the watcher
ends every process with the mark and removes the run's folder. It finds the processes in /proc: elsewhere than on
Linux it only removes the folder.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

MARK = "DIURNAL_TEST_RUN"
_watchers = []


def watch() -> None:
    """Mark this run, and have it watched; a worker of a run is watched with the run."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    os.environ.pop(MARK, None)
    mark = uuid.uuid4().hex
    # Of the watcher's standard input only this process holds the other end, until it is gone.
    command = [sys.executable, "-I", "-S", __file__, mark]
    _watchers.append(subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True))
    os.environ[MARK] = mark


def done() -> None:
    """The run is over: wait until what it has left is ended."""
    for watcher in _watchers:
        watcher.stdin.close()
        watcher.wait()
    _watchers.clear()


def folder() -> pathlib.Path:
    """The folder of this run, that its workers share. Any user may enter it: run by root, PostgreSQL is another."""
    path = _folder(os.environ[MARK])
    path.mkdir(mode=0o755, exist_ok=True)
    return path


def _folder(mark):
    return pathlib.Path(tempfile.gettempdir()) / f"diurnal-tests-{mark}"


def _marked(mark):
    """The processes with a mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def _end(mark):
    """Ask every process with a mark to end; kill what is still there three seconds later."""
    began = time.monotonic()
    while processes := _marked(mark):
        number = signal.SIGTERM if time.monotonic() < began + 3 else signal.SIGKILL
        for process in processes:
            try:
                os.kill(process, number)
            except (ProcessLookupError, PermissionError):
                continue
        if time.monotonic() > began + 30:
            break
        time.sleep(0.2)
    shutil.rmtree(_folder(mark), ignore_errors=True)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    _end(sys.argv[1])
