"""The Gram pass of a check against this computer's own GEMM rate, its growth with households, and its memory.

All 2 K^2 n T products and sums are counted, although half of them would do. Every job on a file runs in a process
of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import diurnal as dn
from benchmarks.timing import PEAK, Result
from diurnal.periodicity.correlation import gram
from diurnal.periodicity.cycles import count
from diurnal.readings.panel import Arrays

DAYS, SLOTS = 365, 48

WIDTH = 100
"""How many homes are made up at a time."""

JOB = """
import json, time
import diurnal as dn
from diurnal.periodicity.correlation import correlations, gram
from diurnal.periodicity.cycles import count
panel = dn.open_panel("{path}")
cycles = count(panel)
began = time.perf_counter()
{work}
seconds = time.perf_counter() - began
print(json.dumps([seconds, {peak}]))
"""


@dataclass(frozen=True)
class Made:
    """Made-up readings of any number of homes, piece by piece, so that no more than a piece is in memory."""

    homes: int
    n_steps: int = DAYS * SLOTS

    def pieces(self) -> Iterator[tuple[slice, Arrays]]:
        """The homes, some at a time."""
        for start in range(0, self.homes, WIDTH):
            readings = np.random.default_rng(start).integers(0, 3000, (WIDTH, self.n_steps)).T
            yield slice(start, start + WIDTH), Arrays(readings, np.ones(readings.shape, dtype=bool))


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        paths = {homes: _made(folder, homes) for homes in (2_500, 10_000)}
        yield from _rates(paths[2_500])
        times = {homes: _run(path, "gram(panel, cycles)") for homes, path in paths.items()}
        growth = times[10_000][0] / times[2_500][0] / 4
        yield Result(
            "Gram pass over 10,000 homes, a home",
            "over 2,500 homes, a home",
            growth,
            "at most 1.2",
            times[10_000][0] / 10_000,
            times[2_500][0] / 2_500,
        )
        seconds, memory = _run(paths[10_000], "print(dn.check(panel))")
        what = "`check` of 10,000 homes over a year"
        yield Result(f"{what}: memory", "1,000 MB", memory / 1000, "at most 1", memory, 1000, unit="MB")
        yield Result(what, "its Gram pass", seconds / times[10_000][0], "-", seconds, times[10_000][0])


def _rates(path: Path) -> Iterator[Result]:
    """Time for so many products and sums, as a bare matrix product and as the Gram pass, in turns."""
    opened = dn.open_panel(path)
    some = opened.columns(np.arange(1000))
    held = dn.Panel.from_array(some.readings, present=some.present, grid=some.grid)
    size = 2000
    left, right = np.random.default_rng(1).standard_normal((2, size, size))
    for name, panel in (("in memory", held), ("in a Parquet file", opened)):
        cycles, turns = count(panel), []
        flops = 2 * DAYS**2 * panel.n_households * SLOTS
        gram(panel, cycles)
        for _ in range(7):
            began = time.perf_counter()
            gram(panel, cycles)
            middle = time.perf_counter()
            left @ right
            bare = (time.perf_counter() - middle) * flops / (2 * size**3)
            turns.append((middle - began, bare))
        yield Result(
            f"Gram pass, {panel.n_households:,} homes over a year {name}",
            "bare GEMM, as many products",
            statistics.median(ours / theirs for ours, theirs in turns),
            "at most 2",
            statistics.median(ours for ours, _ in turns),
            statistics.median(theirs for _, theirs in turns),
        )


def _made(folder: str, homes: int) -> Path:
    path = Path(folder) / f"{homes}.parquet"
    data: Any = Made(homes)
    names = tuple(f"H{number:06d}" for number in range(homes))
    dn.save_panel(dn.Panel(data=data, households=names, grid=dn.Grid(slots=SLOTS)), path)
    return path


def _run(path: Path, work: str) -> tuple[float, float]:
    """Seconds and peak memory in MB of a job in a process of its own."""
    script = JOB.format(path=path, work=work, peak=PEAK)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory
