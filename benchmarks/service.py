"""The service: finished report ranges against a bare FastAPI route; a million readings against the curator alone.

Load comes from wrk where it is installed, else from threads of Python, which are slower than what they measure: a
ratio of theirs says less. Both servers run at once on this machine, each in a process of its own, and are asked in
turns.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

import diurnal as dn
from benchmarks.timing import Result
from diurnal.client import Client, _arrow
from diurnal.readings.importing import panel as make_panel
from diurnal.show.web import tokens

BARE = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()

@app.get("/")
async def root() -> dict[str, str]:
    return {"status": "ok"}

uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""

PORTS = 8791, 8792
"""Where the bare route and the service listen."""

SECONDS, TURNS = 4, 5
"""For how long each is asked, and how often in turns."""

HOMES, STEPS = 20_000, 50
"""A million readings."""


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        panel = _town(folder)
        with _processes(folder):
            yield from _rates(folder)
            yield _million(folder, panel)


def slotwise(grid: dn.Grid) -> dn.Plan:
    """A plan whose rows are out as soon as their step is."""
    return dn.Plan(
        query=dn.Mean(),
        epsilon="1",
        domain=(0, 3000),
        grid=grid,
        history=1,
        mechanism="cube",
        cycle_mechanism="cube",
    )


def _town(folder: Path) -> dn.Panel:
    """Two stores with the same stream in them, one for the service and one for the curator by itself."""
    rng = np.random.default_rng(1)
    grid = dn.Grid(slots=48, anchor="2022-01-01T00:00")
    panel = dn.Panel.from_array(rng.integers(0, 3000, size=(48 * 40, 300)), grid=grid)
    large = dn.Panel.from_array(rng.integers(0, 3000, size=(48 + STEPS * (TURNS + 1), HOMES)), grid=grid)
    for store, homes in (("small", panel), ("large", large), ("own", large)):
        stream = dn.Curator.open(folder / f"{store}.db").start(
            slotwise(grid), history=homes.first(1), acknowledge="untested", accept_worse=True
        )
        if store == "small":
            stream.report(homes.after(1))
    (folder / "token").write_text(tokens.make(folder / "tokens.json", name="headend", role="ingest"))
    return large


@contextmanager
def _processes(folder: Path) -> Iterator[None]:
    serve = "from diurnal.show.cli import main; main()"
    shared = ["--tokens", str(folder / "tokens.json"), "--rate", "0", "--max-body", "256", "--quiet"]
    commands = [[sys.executable, "-c", BARE, str(PORTS[0])]]
    for port, store in ((PORTS[1], "small"), (PORTS[1] + 1, "large")):
        where = ["--store", str(folder / f"{store}.db"), "--port", str(port)]
        commands.append([sys.executable, "-c", serve, "serve", *where, *shared])
    started = [subprocess.Popen(command) for command in commands]
    try:
        for port, path in ((PORTS[0], "/"), (PORTS[1], "/readyz"), (PORTS[1] + 1, "/readyz")):
            _wait(f"http://127.0.0.1:{port}{path}")
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _wait(url: str) -> None:
    for _ in range(300):
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise RuntimeError("a server did not begin")


def _rates(folder: Path) -> Iterator[Result]:
    bare = f"http://127.0.0.1:{PORTS[0]}/"
    base = f"http://127.0.0.1:{PORTS[1]}/v1/streams"
    stream = httpx.get(base).json()["streams"][0]["stream"]
    ranges = {"a day": "start=480&stop=528", "a month": "start=96&stop=1536"}
    for words, query in ranges.items():
        url = f"{base}/{stream}/reports?{query}"
        assert "immutable" in httpx.get(url, headers={"Accept-Encoding": "identity"}).headers["cache-control"]
        turns = [(_rate(url), _rate(bare)) for _ in range(TURNS)]
        ours, theirs = (statistics.median(each) for each in zip(*turns, strict=True))
        ratio = statistics.median(a / b for a, b in turns)
        what = f"finished range of reports, {words} as JSON: requests a second"
        yield Result(what, "a bare FastAPI route", ratio, "at least 0.2", ours, theirs, unit="/s")


def _rate(url: str) -> float:
    """How many requests a second are answered."""
    if shutil.which("wrk"):
        done = subprocess.run(
            ["wrk", "-t1", "-c16", f"-d{SECONDS}s", url], capture_output=True, text=True, check=True
        )
        assert "Non-2xx" not in done.stdout, done.stdout
        return float(re.findall(r"Requests/sec:\s+([\d.]+)", done.stdout)[0])
    count, end = [0] * 4, time.monotonic() + SECONDS

    def ask(place: int) -> None:
        with httpx.Client() as client:
            while time.monotonic() < end:
                assert client.get(url).status_code == 200
                count[place] += 1

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(count) / SECONDS


def _million(folder: Path, panel: dn.Panel) -> Result:
    """A batch sent and answered, against a panel of the same table made and reported in this process."""
    import pyarrow as pa

    own = dn.Curator.open(folder / "own.db").streams()[0]
    times = []
    with Client(f"http://127.0.0.1:{PORTS[1] + 1}", token=(folder / "token").read_text(), timeout=600) as client:
        for turn in range(TURNS):
            part = panel.between(48 + turn * STEPS, 48 + (turn + 1) * STEPS)
            table = pa.ipc.open_stream(_arrow(part)).read_all()
            began = time.perf_counter()
            own.report(make_panel(dn.read(table, minutes=30), like=own.plan.grid, domain=own.plan.domain))
            middle = time.perf_counter()
            answer = client.send(table)
            times.append((time.perf_counter() - middle, middle - began))
            assert answer["streams"][0]["taken"] == HOMES * STEPS
    ratio = statistics.median(a / b for a, b in times)
    ours, theirs = (statistics.median(each) for each in zip(*times, strict=True))
    what = "1,000,000 readings in one Arrow batch, sent and answered"
    return Result(what, "the curator in the same process: panel and report", ratio, "at most 3", ours, theirs)


if __name__ == "__main__":
    for result in run():
        print(result.row())
