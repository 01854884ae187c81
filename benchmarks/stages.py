"""The stages of the whole chain, as a user goes through them, and what each is held against.

The homes are made up. Work is done in a process of its own, so that its peak memory is its own. Before the clock
starts it has done the same for a few homes over a few cycles, so that loading modules is not in the figures.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import diurnal as dn
from benchmarks.timing import PEAK
from diurnal.readings.panel import batches
from diurnal.study.baselines.opendp import measurement

BATCH = 7
"""How many cycles are reported at a time, each time in a transaction: as `diurnal report` does."""

DAY = 48
"""How many half hours a day has."""

BEGIN = datetime(2023, 1, 1)

DOMAIN = (0, 8000)

LEVEL = 400
"""What a home uses in half an hour, about; a plan with a `basis` wants to know it."""

SIZE = 2000
"""How large the matrices are that show how fast this computer multiplies."""

MAKE = """copy (
    select 'H' || lpad(home::varchar, 6, '0') as household,
        timestamp '{begin}' + interval 30 minute * s as time,
        round(80 + 40 * (home % 7) + 600 * exp(-pow(s % 48 - 34 - home % 5, 2) / 18)
            + hash(home * 17521 + s) % 400) / 1000 as kwh,
        'S' || lpad((home % {suburbs})::varchar, 4, '0') as suburb
    from (select s, (h * 7919 + s) % {homes} as home from range({steps}) steps(s), range({homes}) homes(h))
) to '{rows}' (format parquet)"""
"""Half hours in the order of a head-end: by time, homes in another order each time. A home has its own evening."""


@dataclass(frozen=True, kw_only=True)
class Town:
    """Made-up homes without gaps, and where their files are."""

    folder: str
    homes: int
    days: int = 365
    suburbs: int = 20
    slots: int = DAY
    mechanism: str = "cube"
    """Of both layers: `cube` reports slot by slot, `basis` when the cycle is over."""

    @property
    def place(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def rows(self) -> Path:
        """The readings as they come."""
        return self.place / "rows.parquet"

    @property
    def panel(self) -> Path:
        """The readings as they are kept."""
        return self.place / "panel.parquet"

    @property
    def digest(self) -> Path:
        """What is acknowledged."""
        return self.place / "digest"

    @property
    def store(self) -> Path:
        """The store, in a folder of its own."""
        return self.place / self.mechanism / "city.db"

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return DAY * self.days

    @property
    def cycles(self) -> int:
        """How many whole cycles there are."""
        return self.steps // self.slots

    @property
    def history(self) -> int:
        """How many cycles patterns are learned from: two months of a year."""
        return self.cycles // 6

    @property
    def first(self) -> int:
        """The first step that is reported: so many are the history's."""
        return self.history * self.slots

    def batches(self) -> Iterator[tuple[int, int]]:
        """The steps that are reported together: from one up to another."""
        for begin in range(self.first, self.steps, BATCH * self.slots):
            yield begin, min(begin + BATCH * self.slots, self.steps)

    def small(self) -> Town:
        """A few homes over a few cycles, in a folder beside."""
        days = 12 * self.slots // DAY
        return replace(self, folder=str(self.place / "small"), homes=30, suburbs=1, days=days)


def make(town: Town) -> None:
    """Make up the rows of a town, as a long Parquet file."""
    import duckdb

    town.place.mkdir(parents=True, exist_ok=True)
    sizes = {"homes": town.homes, "steps": town.steps, "suburbs": town.suburbs}
    duckdb.connect(config={"memory_limit": "2GB"}).execute(MAKE.format(begin=BEGIN, rows=town.rows, **sizes))


# The stages.


def bring(town: Town) -> None:
    """Import the rows."""
    source = dn.read(town.rows, groups=["suburb"])
    dn.panel(source, zone="UTC", period=town.slots, out=town.panel)


def check(town: Town) -> None:
    """Check the panel, and keep the verdict's digest."""
    town.digest.write_text(dn.check(dn.open_panel(town.panel)).digest)


def start(town: Town) -> None:
    """Start a strong plan of means by suburb in a store that lasts."""
    shutil.rmtree(town.store.parent, ignore_errors=True)
    town.store.parent.mkdir()
    panel = dn.open_panel(town.panel)
    curator = dn.Curator.open(town.store)
    curator.start(
        _plan(town, panel),
        history=panel.first(town.history),
        acknowledge=town.digest.read_text(),
        accept_worse=True,
    )


def _plan(town: Town, panel: dn.Panel) -> dn.Plan:
    layers: Any = {"mechanism": town.mechanism, "cycle_mechanism": town.mechanism}
    plan = dn.Plan(
        query=dn.Mean(),
        groups="suburb",
        epsilon="1",
        domain=DOMAIN,
        grid=panel.grid,
        history=town.history,
        minimum_group=2,
        **layers,
    )
    return plan if town.mechanism == "cube" else dn.with_public_bounds(plan, panel, mean_reading=LEVEL)


def report(town: Town) -> None:
    """Report all that comes after the history, some cycles at a time."""
    panel = dn.open_panel(town.panel)
    (stream,) = dn.Curator.open(town.store).streams()
    rest = panel.after(town.history)
    rows = sum(len(stream.report(part)) for part in batches(rest, BATCH))
    assert rows == town.suburbs * (town.steps - town.first)


# What they are held against.


def rewrite(town: Town) -> None:
    """Sort the rows by household and time, and write them, by DuckDB."""
    import duckdb

    duckdb.connect(config={"memory_limit": "1GB", "temp_directory": town.folder}).execute(
        f"copy (select * from '{town.rows}' order by household, time) "
        f"to '{town.place / 'sorted.parquet'}' (format parquet)"
    )


def multiply(town: Town) -> None:
    """All 2 K^2 n T products and sums of the Gram pass over all homes, as bare GEMM, and DuckDB's sum of values.

    Matrices are square, which suits GEMM best.
    """
    import duckdb

    left, right = np.random.default_rng(1).standard_normal((2, SIZE, SIZE))
    rows = math.ceil(town.cycles**2 * town.homes * town.slots / SIZE**2)
    for done in range(0, rows, SIZE):
        left[: rows - done] @ right
    duckdb.connect().sql(f"select sum(value) from '{town.panel}'").fetchall()


def scan(town: Town) -> None:
    """Read the values by Arrow, and put those of the history into an array.

    A row group has whole homes: their history cannot be read without what follows it.
    """
    import pyarrow.parquet as pq

    facts = pq.read_metadata(town.panel)
    homes = [facts.row_group(number).num_rows // town.steps for number in range(facts.num_row_groups)]
    places = np.cumsum([0, *homes])
    history = np.zeros((town.homes, town.first), dtype=np.int64)

    def read(number: int) -> None:
        with pq.ParquetFile(town.panel) as file:
            column = file.read_row_group(number, columns=["value"], use_threads=False).column(0).combine_chunks()
        values = column.to_numpy(zero_copy_only=True).reshape(homes[number], town.steps)
        history[places[number] : places[number + 1]] = values[:, : town.first]

    with ThreadPoolExecutor() as pool:
        list(pool.map(read, range(facts.num_row_groups)))


def add_up(town: Town) -> None:
    """DuckDB's sums by suburb and time, a Laplace draw of OpenDP for each, and as many transactions as `report`."""
    import duckdb

    begin = BEGIN + timedelta(minutes=30 * town.first)
    sums = duckdb.connect(config={"memory_limit": "1GB"}).sql(
        f"select sum(value)::bigint as total from '{town.panel}' where time >= '{begin}' "
        "group by suburb, time order by time, suburb"
    )
    totals = sums.fetchnumpy()["total"].tolist()
    store = sqlite3.connect(town.place / "plain.db", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        store.execute(f"PRAGMA {pragma}")
    store.execute("drop table if exists rows")
    store.execute("create table rows (number integer primary key, value integer)")
    noisy = measurement(1, reach=DOMAIN[1], epsilon=1.0)
    for steps in town.batches():
        numbers = range(*(town.suburbs * (step - town.first) for step in steps))
        released = noisy([totals[number] for number in numbers])
        store.execute("begin immediate")
        store.executemany("insert into rows values (?, ?)", zip(numbers, released, strict=True))
        store.execute("commit")
    store.close()


Work = Callable[[Town], None]

JOB = """
import json, sys, time
from benchmarks import stages
town, seconds = stages.Town(**json.loads(sys.argv[1])), []
for name in sys.argv[2:]:
    getattr(stages, name)(town.small())
for name in sys.argv[2:]:
    began = time.perf_counter()
    getattr(stages, name)(town)
    seconds.append(time.perf_counter() - began)
print(json.dumps([seconds, {peak}]))
"""


def measure(town: Town, *works: Work) -> tuple[list[float], float]:
    """The seconds that each of some works takes, one after the other in a process, and its peak memory in MB."""
    names = [work.__name__ for work in works]
    command = [sys.executable, "-c", JOB.format(peak=PEAK), json.dumps(asdict(town)), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory
