"""A crowd of hostile listeners: how long batches and public pages take beside it, against a quiet hour.

A thousand connections ask for events and come back every second when they are refused; in turns with none of them.
Service, crowd and who is measured are processes of their own on this machine, so that a crowd takes time from all.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

import diurnal as dn
from benchmarks.service import slotwise
from benchmarks.timing import Result
from diurnal.show.web import tokens

NUMBER = 1000
"""How many listen, or try to."""

PAUSE = 1.0
"""After how many seconds one comes back that was refused or hung up on."""

CROWDS = {
    "of one address": (1, ""),
    "of one address, from the beginning": (1, "?after=0"),
    "of 1,000 addresses": (NUMBER, ""),
    "of 1,000 addresses, from the beginning": (NUMBER, "?after=0"),
}
"""How many addresses each has, and what it asks for."""

HOMES, TURNS, ASKS = 300, 3, 40


ABOUT = f"""{NUMBER:,} connections ask for events, and come back every second when they are refused
(`benchmarks/crowd.py`). A client that was told to come back later gets the same answer before its request is read,
and a release is sent to a few listeners at a time. Ours is beside the crowd, theirs is quiet.

"""


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        panel = _town(folder)
        with _service(folder) as url:
            measured = _Measured(url, (folder / "token").read_text(), panel)
            for words, (addresses, query) in CROWDS.items():
                yield from _beside(measured, words, addresses, query)


class _Measured:
    """Who sends readings and reads pages, and how long that takes them."""

    def __init__(self, url: str, token: str, panel: dn.Panel) -> None:
        self.url = url
        self._public = httpx.Client(base_url=url, timeout=60)
        self._headend = httpx.Client(base_url=url, timeout=60, headers={"Authorization": f"Bearer {token}"})
        self._bodies = (_csv(panel.between(step, step + 1)) for step in panel.steps[48 * 30 :])
        self.stream = self._public.get("/v1/streams").json()["streams"][0]["stream"]

    def batch(self) -> None:
        """Send a step of all homes; it is released at once."""
        sent = self._headend.post("/v1/readings", content=next(self._bodies), headers={"Content-Type": "text/csv"})
        assert sent.status_code == 200, sent.text
        assert sent.json()["streams"][0]["taken"] == HOMES, sent.text

    def page(self) -> None:
        """Read a day of reports, and the page about them."""
        for path in (f"/v1/streams/{self.stream}/reports?start=480&stop=528", f"/streams/{self.stream}"):
            found = self._public.get(path)
            assert found.status_code == 200, found.text

    def times(self) -> dict[str, list[float]]:
        """How long each takes, again and again."""
        found: dict[str, list[float]] = {"batch": [], "page": []}
        for _ in range(ASKS):
            for name, ask in (("batch", self.batch), ("page", self.page)):
                found[name].append(_seconds(ask))
            time.sleep(0.05)
        return found


WHAT = {"batch": "a batch of a step, sent, released and told", "page": "a day of reports and its page"}


def _beside(measured: _Measured, words: str, addresses: int, query: str) -> Iterator[Result]:
    turns = []
    for _ in range(TURNS):
        quiet = measured.times()
        with _crowd(measured, addresses, query):
            loud = measured.times()
        turns.append((loud, quiet))
    for name, what in WHAT.items():
        medians = [tuple(statistics.median(each[name]) for each in turn) for turn in turns]
        ours, theirs = (statistics.median(each) for each in zip(*medians, strict=True))
        ratio = statistics.median(a / b for a, b in medians)
        yield Result(
            f"{what}, beside {NUMBER:,} listeners {words}", "a quiet service", ratio, "at most 2", ours, theirs
        )


@contextmanager
def _crowd(measured: _Measured, addresses: int, query: str) -> Iterator[None]:
    port, path = measured.url.rpartition(":")[2], f"/v1/streams/{measured.stream}/events{query}"
    command = [sys.executable, "-m", "benchmarks.crowd", port, path, str(addresses)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()
        # What the crowd leaves behind is over before it is quiet.
        time.sleep(3)


async def _hostile(port: int, path: str, addresses: int) -> None:
    seen: dict[str, int] = {}

    async def one(number: int) -> None:
        address = f"198.51.{number % addresses // 250}.{number % addresses % 250}"
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {address}\r\n\r\n".encode()
        await asyncio.sleep(PAUSE * number / NUMBER)
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head)
                line = (await reader.readline()).decode().strip() or "hung up"
                seen[line] = seen.get(line, 0) + 1
                while "200" in line and await reader.read(1 << 16):
                    pass
                writer.close()
            except OSError as error:
                seen[type(error).__name__] = seen.get(type(error).__name__, 0) + 1
            await asyncio.sleep(PAUSE)

    crowd = asyncio.gather(*map(one, range(NUMBER)))
    await asyncio.sleep(3 * PAUSE)
    while not crowd.done():
        print(json.dumps(seen), flush=True)
        await asyncio.sleep(PAUSE)


def _town(folder: Path) -> dn.Panel:
    rng = np.random.default_rng(1)
    grid = dn.Grid(slots=48, anchor="2022-01-01T00:00")
    panel = dn.Panel.from_array(rng.integers(0, 3000, size=(48 * 90, HOMES)), grid=grid)
    plan = slotwise(grid)
    curator = dn.Curator.open(folder / "city.db")
    stream = curator.start(plan, history=panel.first(1), acknowledge="untested", accept_worse=True)
    for day in range(1, 30):
        stream.report(panel.between(48 * day, 48 * (day + 1)))
    curator.close()
    (folder / "token").write_text(tokens.make(folder / "tokens.json", name="headend", role="ingest"))
    return panel


def _csv(part: dn.Panel) -> bytes:
    time_ = part.grid.wall(part.first_step).isoformat()
    lines = [f"{name},{time_},{value}" for name, value in zip(part.households, part.readings[0], strict=True)]
    return "\n".join(["household,time,wh", *lines]).encode()


@contextmanager
def _service(folder: Path) -> Iterator[str]:
    words = ["serve", "--store", str(folder / "city.db"), "--tokens", str(folder / "tokens.json"), "--port", "0"]
    words += ["--behind-proxy", "127.0.0.1", "--json"]
    command = [sys.executable, "-c", "from diurnal.show.cli import main; main()", *words]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["address"]
    finally:
        process.terminate()
        process.communicate()


def _seconds(ask: Callable[[], None]) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


if __name__ == "__main__":
    if len(sys.argv) > 1:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        asyncio.run(_hostile(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
    else:
        for result in run():
            print(result.row())
