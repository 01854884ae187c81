"""Folds on Spark against an empty pass over the same table, their growth with households, memory and volumes.

An empty pass is a `mapInArrow` whose tasks take the batches and give nothing: what Spark needs to read the table
and hand it to Python. Every size runs in a process of its own, so that its peak memory is its own; within it folds
and the empty pass take turns, warm.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.readings import MAKE
from benchmarks.timing import PEAK, Result

SIZES = (500, 2_000)
"""How many homes; each has a year of half hours, so that 2,000 have 35 million rows."""

TURNS = 5

JOB = """
import json, pathlib, time
import numpy as np
import diurnal as dn
from diurnal.periodicity.correlation import gram
from diurnal.periodicity.cycles import count
from diurnal.readings import kernels
from diurnal.readings.engines.spark.folding import READINGS
from diurnal.readings.engines.spark.session import batches_of, make_session, mapped

log = {{"spark.eventLog.enabled": "true", "spark.eventLog.compress": "false", "spark.eventLog.dir": "{folder}"}}
session = make_session("local[2]", {{"spark.driver.memory": "2g", **log}})
began = time.perf_counter()
rows = session.read.parquet("{folder}/rows.parquet")
panel = dn.panel(dn.read(rows), zone="UTC", out="{folder}/homes")
imported = time.perf_counter() - began
size = sum(file.stat().st_size for file in pathlib.Path("{folder}/homes").rglob("*.parquet")) / panel.n_households
size /= panel.n_steps

def moved():
    # Bytes that tasks have shuffled so far, by Spark's own log.
    total = 0
    for file in pathlib.Path("{folder}").rglob("events_*"):
        for line in file.open():
            if '"SparkListenerTaskEnd"' in line:
                wrote = json.loads(line).get("Task Metrics", {{}}).get("Shuffle Write Metrics", {{}})
                total += wrote.get("Shuffle Bytes Written", 0)
    return total

shuffled = moved() / panel.n_households / panel.n_steps

def add(left, right):
    return tuple(a + b for a, b in zip(left, right, strict=True))

def totals(block):
    return block.readings.sum(axis=1), block.present.sum(axis=1)

def profiles(block):
    zhat, known = kernels.profiles(block.readings, block.present, slots=48, min_readings=100)
    return zhat.sum(axis=1), known.sum(axis=1)

def variations(block):
    n = block.n_households
    nothing = np.zeros((48, n), dtype=np.int64)
    atoms = kernels.Atoms.of(np.ones((1, n), dtype=np.int64))
    slots = np.arange(block.n_steps) % 48
    return kernels.variation_sums(block.readings, block.present, nothing, nothing == 0, slots, atoms)

def take(batches):
    for batch in batches:
        pass
    yield from ()

def empty():
    with batches_of(session, READINGS // panel.n_steps):
        mapped(panel.data.table.select("household", "values"), take, "result binary").toArrow()

cycles = count(panel)
jobs = {{
    "empty": empty,
    "totals": lambda: kernels.fold(totals, panel, add),
    "profiles": lambda: kernels.fold(profiles, panel, add),
    "variation sums": lambda: kernels.fold(variations, panel, add),
    "Gram matrix": lambda: gram(panel, cycles),
}}
times = {{name: [] for name in jobs}}
for turn in range(1 + {turns}):
    for name, job in jobs.items():
        began = time.perf_counter()
        job()
        if turn:
            times[name].append(time.perf_counter() - began)

def worker(block):
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024

memory = kernels.fold(worker, panel, max)
peak = {peak}
plan = dn.Plan(
    query=dn.Mean(), epsilon="1", domain=panel.domain, grid=panel.grid, history=91, minimum_group=2,
    variation_bound=500, mechanism="cube", cycle_mechanism="cube",
)
began = time.perf_counter()
stream = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1")).start(
    plan, history=panel.first(91), acknowledge="untested", accept_worse=True
)
started = time.perf_counter() - began
for name, steps in (("step", 1), ("day", 48)):
    times[name] = []
    for turn in range(1 + {turns}):
        first = 48 * (92 + turn) + (48 * {turns} * 2 if steps == 48 else 0)
        began = time.perf_counter()
        stream.report(panel.between(first, first + steps))
        if turn:
            times[name].append(time.perf_counter() - began)
session.stop()
print(json.dumps({{
    "imported": imported, "times": times, "peak": peak, "table": size, "task": memory, "started": started,
    "shuffled": shuffled,
}}))
"""


WIDE = 200_000
"""How many homes a step has that comes by itself, beside profiles from two days."""

STEP = """
import json, time
import diurnal as dn
from diurnal.readings.engines.spark.session import make_session

session = make_session("local[2]", {{"spark.driver.memory": "2g"}})
rows = session.read.parquet("{folder}/rows.parquet")
began = time.perf_counter()
panel = dn.panel(dn.read(rows), zone="UTC", out="{folder}/homes")
imported = time.perf_counter() - began
plan = dn.Plan(
    query=dn.Mean(), epsilon="1", domain=panel.domain, grid=panel.grid, history=2, minimum_group=2,
    variation_bound=500, mechanism="cube", cycle_mechanism="cube",
)
stream = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1")).start(
    plan, history=panel.first(2), acknowledge="untested", accept_worse=True
)
times = {{"import": [], "report": []}}
for step in range(96, 96 + 1 + {turns}):
    now = rows.where(f"time = timestamp_ntz'{{panel.grid.wall(step)}}'")
    began = time.perf_counter()
    given = dn.panel(dn.read(now, minutes=30), like=panel.grid, domain=panel.domain, out="{folder}/now")
    times["import"].append(time.perf_counter() - began)
    began = time.perf_counter()
    stream.report(given)
    times["report"].append(time.perf_counter() - began)
session.stop()
times = {{name: each[1:] for name, each in times.items()}}
print(json.dumps({{**times, "imported": imported, "peak": {peak}}}))
"""


def _a_step() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        make = MAKE.replace("range(17520)", f"range({96 + 1 + TURNS})")
        subprocess.run([sys.executable, "-c", make.format(n=WIDE, folder=folder)], check=True)
        job = STEP.format(folder=folder, turns=TURNS, peak=PEAK)
        done = subprocess.run([sys.executable, "-c", job], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"a step: {json.dumps(found)}", file=sys.stderr)
    return found


def run() -> Iterator[Result]:
    found = {homes: _run(homes) for homes in SIZES}
    few, many = (found[homes] for homes in SIZES)
    times = {name: statistics.median(seconds) for name, seconds in many["times"].items()}
    for name in ("totals", "profiles", "variation sums", "Gram matrix"):
        turns = zip(many["times"][name], many["times"]["empty"], strict=True)
        ratio = statistics.median(ours / theirs for ours, theirs in turns)
        what = f"Spark: {name} of 35 million readings"
        yield Result(what, "an empty `mapInArrow`", ratio, "at most 1.5", times[name], times["empty"])
    for name in ("empty", "totals", "Gram matrix"):
        a, b = (statistics.median(each["times"][name]) / homes for homes, each in found.items())
        yield Result(f"Spark: {name}, 2,000 homes, a home", "500 homes, a home", b / a, "at most 1.2", b, a)
    for name, what in (("step", "a step"), ("day", "a day")):
        a, b = (statistics.median(each["times"][name]) / homes for homes, each in found.items())
        what = f"Spark: {what} of a plan in the lake, 2,000 homes, a home"
        yield Result(what, "500 homes, a home", b / a, "at most 1.2", b, a)
    step = _a_step()
    came, told = (statistics.median(step[name]) for name in ("import", "report"))
    yield Result(
        f"Spark: a step of {WIDE:,} homes that comes by itself", "its import", told / came, "-", told, came
    )
    yield _sizes("Spark: memory of the driver, 2,000 homes", "500 homes", many["peak"], few["peak"], "at most 1.2")
    yield _sizes(
        "Spark: memory of a task's Python, 2,000 homes", "500 homes", many["task"], few["task"], "at most 1.2"
    )
    row = "a row of the source"
    yield _sizes("Spark: the panel's table, a reading", row, many["table"], many["source"], "-", unit="B")
    yield _sizes("Spark: shuffled by the import, a row", row, many["shuffled"], many["source"], "-", unit="B")
    for name, what, against in (
        ("imported", "Spark: import of 35 million rows, a home", "of 9 million, a home, cold"),
        ("started", "Spark: start of a plan in the lake, 2,000 homes, a home", "500 homes, a home"),
    ):
        a, b = (each[name] / homes for homes, each in found.items())
        yield Result(what, against, b / a, "at most 1.2", b, a)


def _sizes(what: str, against: str, ours: float, theirs: float, goal: str, *, unit: str = "MB") -> Result:
    return Result(what, against, ours / theirs, goal, ours, theirs, unit=unit)


def _run(homes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", MAKE.format(n=homes, folder=folder)], check=True)
        source = Path(folder, "rows.parquet").stat().st_size / homes / 17_520
        job = JOB.format(folder=folder, turns=TURNS, peak=PEAK)
        done = subprocess.run([sys.executable, "-c", job], check=True, capture_output=True, text=True)
    found: dict[str, Any] = {**json.loads(done.stdout.splitlines()[-1]), "source": source}
    print(f"{homes} homes: {json.dumps(found)}", file=sys.stderr)
    return found


def main() -> None:
    for result in run():
        print(result.row())


if __name__ == "__main__":
    main()
