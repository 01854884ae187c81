"""Importing long Parquet against DuckDB's sorted rewrite, and folding over the panel against its GROUP BY.

Every job runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import PEAK, Result

MAKE = """
import duckdb
duckdb.connect(config={{"memory_limit": "2GB"}}).sql('''copy (
    select 'H' || lpad(((h * 7919 + s) % {n})::varchar, 6, '0') as household,
        timestamp '2023-01-01' + interval 30 minute * s as time,
        (hash(h * 17521 + s) % 3000) / 1000.0::double as kwh
    from range(17520) steps(s), range({n}) homes(h)
) to '{folder}/rows.parquet' (format parquet)''')
"""
"""A year of half hours, in the order of a head-end: by time, homes in another order each time."""

OURS = """
import diurnal as dn
dn.panel(dn.read("{folder}/rows.parquet"), zone="UTC", out="{folder}/panel.parquet")
"""

REWRITE = """
import duckdb
duckdb.connect(config={{"memory_limit": "1GB", "temp_directory": "{folder}"}}).sql(
    "copy (select * from '{folder}/rows.parquet' order by household, time) "
    "to '{folder}/sorted.parquet' (format parquet)"
)
"""

FOLD = """
import numpy as np
import diurnal as dn
from diurnal.readings import kernels
panel = dn.open_panel("{folder}/panel.parquet")
for _ in range({turns}):
    began = time.perf_counter()
    sums = kernels.fold(lambda block: block.readings.sum(axis=1), panel, np.add)
    times.append(time.perf_counter() - began)
"""

GROUP = """
import duckdb
connection = duckdb.connect(config={{"memory_limit": "1GB"}})
for _ in range({turns}):
    began = time.perf_counter()
    connection.sql("select time, sum(value) from '{folder}/panel.parquet' group by time").fetchnumpy()
    times.append(time.perf_counter() - began)
"""

ARROW = """
from pathlib import Path
from diurnal.readings.source import ParquetFile
part = ParquetFile(Path("{folder}/rows.parquet"))
for _ in range({turns}):
    began = time.perf_counter()
    for table in part.tables(["household", "time", "kwh"], encoded=["household"]):
        pass
    times.append(time.perf_counter() - began)
"""

ENUM = """
import duckdb
connection = duckdb.connect(config={{"memory_limit": "1GB"}})
rows = "'{folder}/rows.parquet'"
connection.sql("create type roster as enum (select distinct household from " + rows + " order by 1)")
for _ in range({turns}):
    began = time.perf_counter()
    for batch in connection.sql("select household::roster, time, kwh from " + rows).to_arrow_reader(1 << 19):
        pass
    times.append(time.perf_counter() - began)
"""

FRAME = """
import json, time
times, began = [], time.perf_counter()
{job}
seconds = sorted(times)[len(times) // 2] if times else time.perf_counter() - began
print(json.dumps([seconds, {peak}]))
"""


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        _measure(MAKE, folder, n=2000)
        pairs = [(_measure(OURS, folder), _measure(REWRITE, folder)) for _ in range(3)]
        ours, theirs = (statistics.median(pair[i][0] for pair in pairs) for i in (0, 1))
        small = max(pair[0][1] for pair in pairs)
        ratio = statistics.median(a[0] / b[0] for a, b in pairs)
        what = "import of 35 million rows, long Parquet"
        yield Result(what, "DuckDB's rewrite, sorted", ratio, "at most 2", ours, theirs)
        yield Result(f"{what}: memory", "1,000 MB", small / 1000, "at most 1", small, 1000, unit="MB")
        pairs = [(_measure(ARROW, folder, turns=3), _measure(ENUM, folder, turns=3)) for _ in range(3)]
        ours, theirs = (statistics.median(pair[i][0] for pair in pairs) for i in (0, 1))
        ratio = statistics.median(a[0] / b[0] for a, b in pairs)
        yield Result("reading those rows, homes numbered", "DuckDB, homes as an ENUM", ratio, "-", ours, theirs)
        pairs = [(_measure(FOLD, folder, turns=5), _measure(GROUP, folder, turns=5)) for _ in range(3)]
        ours, theirs = (statistics.median(pair[i][0] for pair in pairs) for i in (0, 1))
        ratio = statistics.median(a[0] / b[0] for a, b in pairs)
        yield Result("sums by time over that panel", "DuckDB's GROUP BY", ratio, "at most 1.5", ours, theirs)
    with tempfile.TemporaryDirectory() as folder:
        _measure(MAKE, folder, n=10_000)
        large = _measure(OURS, folder)
        what = "import of 175 million rows"
        yield Result(f"{what}: memory", "35 million", large[1] / small, "at most 1.3", large[1], small, unit="MB")
        theirs = _measure(REWRITE, folder)[0]
        yield Result(what, "DuckDB's rewrite, sorted", large[0] / theirs, "-", large[0], theirs)
        fold, group = _measure(FOLD, folder, turns=3), _measure(GROUP, folder, turns=3)
        yield Result(
            "sums by time over that panel", "DuckDB's GROUP BY", fold[0] / group[0], "-", fold[0], group[0]
        )


def _measure(job: str, folder: str, **more: int) -> tuple[float, float]:
    """Seconds and peak memory in MB of a job in a process of its own."""
    script = FRAME.format(job=job.format(folder=Path(folder), **more), peak=PEAK)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    seconds, memory = json.loads(done.stdout.splitlines()[-1])
    return seconds, memory
