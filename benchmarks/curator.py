"""A durable step of a million homes against a bare sum and insert; ten years of steps; a thousand groups."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import diurnal as dn
from benchmarks.streams import started
from benchmarks.timing import Result, compare

N = 1_000_000

TEN_YEARS = 175_200

DAYS = 365
"""For how many days a thousand groups are reported."""


def run() -> Iterator[Result]:
    yield from _million()
    yield from _ten_years()
    yield from _thousand_groups()


def _million() -> Iterator[Result]:
    readings = np.random.default_rng(1).integers(0, 3000, size=(40, N))
    panel = dn.Panel.from_array(readings, grid=dn.Grid(slots=4))
    with tempfile.TemporaryDirectory() as folder:
        plain = sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)
        plain.execute("PRAGMA journal_mode=WAL")
        plain.execute("PRAGMA synchronous=FULL")
        plain.execute("create table rows (step integer primary key, value integer)")
        steps = iter(range(10**9))

        def bare() -> Any:
            total = int((readings[5] - readings[1]).sum())
            plain.execute("insert into rows values (?, ?)", (next(steps), total))

        for level in ("pattern", "strong"):
            stream = _stream(Path(folder) / f"{level}.db", panel, level)
            yield compare(
                f"durable `report` of a step, 1,000,000 homes, {level}",
                _each(stream, panel, 4),
                "bare sum and bare durable insert",
                bare,
                goal="at most 5",
                turns=15,
            )
        mixed = panel.columns(np.random.default_rng(2).permutation(N))
        stream = _stream(Path(folder) / "mixed.db", panel, "pattern")
        yield compare(
            "the same, homes in another order",
            _each(stream, mixed, 4),
            "bare sum and bare durable insert",
            bare,
            goal="-",
            turns=7,
        )
        plain.close()


def _ten_years() -> Iterator[Result]:
    readings = np.random.default_rng(1).integers(0, 3000, size=(TEN_YEARS + 960, 20))
    panel = dn.Panel.from_array(readings, grid=dn.Grid(slots=48))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "years.db"
        old, young = (_stream(place, panel, "strong") for place in (path, path.with_name("day.db")))
        for start in range(48, TEN_YEARS, 48 * 365):
            old.report(panel.between(start, min(start + 48 * 365, TEN_YEARS)))
        yield compare(
            "a step after ten years of half hours",
            _each(old, panel, TEN_YEARS),
            "after a day",
            _each(young, panel, 96),
            goal="at most 1.2",
            turns=480,
        )
        yield _size("the store after ten years", path, TEN_YEARS)


def _size(what: str, path: Path, rows: int) -> Result:
    """How large a store is, against three whole numbers a row."""
    size = sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*") if each.is_file()) / 1e6
    bare = rows * 24 / 1e6
    return Result(what, f"{rows:,} rows of three integers", size / bare, "-", size, bare, unit="MB")


def _thousand_groups() -> Iterator[Result]:
    days = DAYS
    rng = np.random.default_rng(1)
    groups = {"feeder": [str(number // 2) for number in range(2000)]}
    first = dn.Panel.from_array(rng.integers(0, 3000, size=(48, 2000)), grid=dn.Grid(slots=48), groups=groups)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "groups.db"
        stream = _stream(path, first, "strong", groups="feeder")
        times = []
        for day in range(1, days + 1):
            more = first.following(rng.integers(0, 3000, size=(48, 2000)), first_step=48 * day)
            began = time.perf_counter()
            stream.report(more)
            times.append((time.perf_counter() - began) / 48)
        early, late = statistics.median(times[1:31]), statistics.median(times[-30:])
        what = "a step of 1,000 groups after a year"
        yield Result(what, "after a month", late / early, "at most 1.2", late, early)
        yield _size("the store after a year of 1,000 groups", path, days * 48 * 1000)


def _each(stream: dn.Stream, panel: dn.Panel, first: int) -> Callable[[], None]:
    """Reports the next step each time it is called, from one on."""
    steps = iter(range(first, panel.n_steps))

    def report() -> None:
        step = next(steps)
        stream.report(panel.between(step, step + 1))

    return report


def _stream(path: Path, panel: dn.Panel, level: Any, groups: str | None = None) -> dn.Stream:
    return started(dn.Curator.open(path), panel, level, groups=groups, minimum_group=2)
