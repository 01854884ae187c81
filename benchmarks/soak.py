"""Readings in and reports out, both at once for ten minutes; writes docs/soak.md and its picture.

A head-end sends a step of every home as fast as it is answered; wrk, or threads of Python where there is none, ask
for finished ranges of reports; somebody reads the newest page again and again; somebody listens to events. The
memory of the service is looked at every second. In the end every row that was ever seen is compared with the store.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

import diurnal as dn
from benchmarks.service import _wait
from diurnal.client import Client
from diurnal.show.web import tokens

ROOT = Path(__file__).parents[1]
PAGE, PICTURE = ROOT / "docs" / "soak.md", ROOT / "docs" / "images" / "soak.svg"

MINUTES = 10
HOMES, SLOTS = 1000, 48
SETTLED = 0.2
"""Which share of the time passes before memory is expected to be flat."""

HEAD = """# A service under load

Written by `make soak`: a service on SQLite, in one process, for {minutes:g} minutes. A head-end sends {homes:,}
readings in an Arrow batch, each step of the homes, as soon as the one before was answered, and every fortieth of
them twice; {asker} asks for finished ranges of reports as fast as it can; one reader asks for the newest page; one
listens to events. Machines differ and are shared: what counts is that memory is flat, and that nothing is lost.

| what | seen |
|---|---|
{rows}

![Memory of the service over time](images/soak.svg)
"""


@dataclass
class Seen:
    """What was seen from outside while the service ran."""

    took: list[float] = field(default_factory=list)
    """How many seconds each batch took to be answered."""
    again: int = 0
    """How many batches were sent twice, and known the second time."""
    memory: list[tuple[float, float]] = field(default_factory=list)
    """When, and how many MB the service had."""
    told: list[tuple[int, str]] = field(default_factory=list)
    """Steps and values that came as events."""
    newest: int = 0
    """How many times the newest page was read."""
    ranges: float = 0.0
    """How many finished ranges were answered in a second."""
    failed: list[str] = field(default_factory=list)
    """What went wrong."""

    @property
    def settled(self) -> list[tuple[float, float]]:
        """Memory once the service has warmed up."""
        return [(at, size) for at, size in self.memory if at >= SETTLED * self.memory[-1][0]]

    @property
    def growth(self) -> float:
        """By which share memory grew, once settled: the median of the last fifth over that of the first."""
        sizes = [size for _, size in self.settled]
        part = max(1, len(sizes) // 5)
        return statistics.median(sizes[-part:]) / statistics.median(sizes[:part]) - 1


def soak(folder: Path, seconds: float) -> Seen:
    """Load a service for so long, and compare what was seen with what is in its store.

    Raises:
        AssertionError: A report was lost, doubled or changed; or something was refused.
    """
    seen, end = Seen(), threading.Event()
    stream = _city(folder)
    with _service(folder) as (process, url):
        jobs: list[Callable[[], None]] = [
            lambda: _send(folder, url, seen, end),
            lambda: _measure(process.pid, seen, end),
            lambda: _listen(url, stream, seen, end),
            lambda: _read_newest(url, stream, seen, end),
        ]
        threads = [threading.Thread(target=_watched, args=(job, seen, end), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        seen.ranges = _read_ranges(f"{url}/v1/streams/{stream}/reports?start={SLOTS}&stop={3 * SLOTS}", seconds)
        end.set()
        for thread in threads:
            thread.join(timeout=30)
        _compare(folder, url, stream, seen)
    return seen


def _city(folder: Path) -> str:
    """A store whose stream has reported two days; its name."""
    plan = dn.Plan(
        query=dn.Mean(),
        epsilon="1",
        domain=(0, 3000),
        grid=dn.Grid(slots=SLOTS, anchor="2022-01-01T00:00"),
        history=1,
        mechanism="cube",
        cycle_mechanism="cube",
    )
    first = _steps(0, 3 * SLOTS)
    stream = dn.Curator.open(folder / "city.db").start(plan, history=first.first(1), acknowledge="untested")
    stream.report(first.after(1))
    (folder / "token").write_text(tokens.make(folder / "tokens.json", name="headend", role="ingest"))
    return stream.plan.hash


def _steps(start: int, stop: int) -> dn.Panel:
    """Readings of some steps."""
    readings = np.random.default_rng(start).integers(0, 3000, size=(stop - start, HOMES))
    grid = dn.Grid(slots=SLOTS, anchor="2022-01-01T00:00")
    return dn.Panel.from_array(readings, grid=grid, first_step=start)


@contextmanager
def _service(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    run = "from diurnal.show.cli import main; main()"
    words = ["--store", folder / "city.db", "--tokens", folder / "tokens.json", "--rate", 0, "--port", 0, "--json"]
    command = [sys.executable, "-c", run, "serve", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        url = httpx.Response(200, content=process.stdout.readline()).json()["address"]
        _wait(f"{url}/readyz")
        yield process, url
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _watched(job: Callable[[], None], seen: Seen, end: threading.Event) -> None:
    try:
        job()
    except Exception as error:
        if not end.is_set():
            seen.failed.append(f"{type(error).__name__}: {error}")


def _send(folder: Path, url: str, seen: Seen, end: threading.Event) -> None:
    step = 3 * SLOTS
    with Client(url, token=(folder / "token").read_text()) as client:
        while not end.is_set():
            part = _steps(step, step + 1)
            began = time.perf_counter()
            client.send(part)
            seen.took.append(time.perf_counter() - began)
            if step % 40 == 0:
                assert client.send(part)["again"]
                seen.again += 1
            step += 1


def _measure(pid: int, seen: Seen, end: threading.Event) -> None:
    began, status = time.monotonic(), Path(f"/proc/{pid}/status")
    while not end.wait(1):
        size = int(status.read_text().split("VmRSS:")[1].split()[0]) / 1024
        seen.memory.append((time.monotonic() - began, size))


def _listen(url: str, stream: str, seen: Seen, end: threading.Event) -> None:
    with Client(url) as client:
        for event in client.events(stream, after="0"):
            seen.told += [(row["step"], row["value"]) for row in event["rows"]]
            if end.is_set():
                return


def _read_newest(url: str, stream: str, seen: Seen, end: threading.Event) -> None:
    with Client(url) as client:
        while not end.wait(0.1):
            newest = client.streams()[0]["last_step"]
            rows = list(client.reports(stream, start=newest - SLOTS))
            assert rows[-1]["step"] >= newest
            assert [row["step"] for row in rows] == list(range(newest - SLOTS, rows[-1]["step"] + 1))
            seen.newest += 1


def _read_ranges(url: str, seconds: float) -> float:
    """Ask for finished ranges for so long; how many were answered in a second."""
    if shutil.which("wrk"):
        command = ["wrk", "-t1", "-c4", f"-d{round(seconds)}s", url]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "Non-2xx" not in done.stdout, done.stdout
        return float(done.stdout.split("Requests/sec:")[1].split()[0])
    count, end = 0, time.monotonic() + seconds
    with httpx.Client() as client:
        while time.monotonic() < end:
            assert client.get(url).status_code == 200
            count += 1
    return count / seconds


def _compare(folder: Path, url: str, stream: str, seen: Seen) -> None:
    assert not seen.failed, seen.failed
    sent = 3 * SLOTS + len(seen.took)
    with Client(url) as client:
        served = [(row["step"], row["value"]) for row in client.reports(stream)]
    curator = dn.Curator.open(folder / "city.db")
    kept = [(row.step, row.to_json()["value"]) for row in curator.stream(stream).rows()]
    assert [step for step, _ in kept] == list(range(SLOTS, sent)), "a step was lost, or reported that nobody sent"
    assert served == kept, "pages tell other rows than the store has"
    assert seen.told == kept[: len(seen.told)], "events were lost, doubled or changed"
    assert curator.verify().sound


def _rows(seen: Seen) -> Iterator[tuple[str, str]]:
    low, high = (each(size for _, size in seen.settled) for each in (min, max))
    yield "batches answered", f"{len(seen.took):,}, {len(seen.took) / seen.memory[-1][0]:.1f} a second"
    quantiles = statistics.quantiles(seen.took, n=100)
    yield "a batch took", f"median {1000 * quantiles[49]:.0f} ms, 99 of 100 at most {1000 * quantiles[98]:.0f} ms"
    yield "sent twice, and taken once", f"{seen.again:,}"
    yield "finished ranges answered", f"{seen.ranges:,.0f} a second"
    yield "the newest page read", f"{seen.newest:,} times, never behind what the list of streams said"
    yield "rows that came as events", f"{len(seen.told):,}, each once and in order"
    yield "reports lost, doubled or changed", "0"
    yield "memory, after the first fifth of the time", f"{low:.0f} to {high:.0f} MB; {100 * seen.growth:+.1f} %"


def _draw(seen: Seen) -> None:
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(7.2, 2.8), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([at / 60 for at, _ in seen.memory], [size for _, size in seen.memory], color="#24508f")
    axes.set(xlabel="minutes", ylabel="memory (MB)", ylim=(0, None))
    axes.grid(alpha=0.3)
    about: dict[str, Any] = {"Date": None}
    figure.savefig(PICTURE, metadata=about)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=MINUTES)
    minutes = asked.parse_args().minutes
    with tempfile.TemporaryDirectory() as name:
        seen = soak(Path(name), 60 * minutes)
    rows = "\n".join(f"| {what} | {words} |" for what, words in _rows(seen))
    asker = "wrk, with four connections," if shutil.which("wrk") else "a thread of Python"
    PAGE.write_text(HEAD.format(minutes=minutes, homes=HOMES, asker=asker, rows=rows))
    _draw(seen)
    print(rows)
    assert abs(seen.growth) < 0.05, "memory is not flat"


if __name__ == "__main__":
    main()
