"""A stream of files through Spark into the store: each batch once, whatever is killed in between."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import support
from support import refuses

pytest.importorskip("pyspark", reason="needs Spark: pip install 'diurnal[spark]'")

SCRIPT = pathlib.Path(__file__).parents[1] / "sparkstream.py"
GRID = dn.Grid(slots=4, minutes=360, anchor="2022-07-01T00:00")
HOMES, FILES = 20, 20
SCHEMA = "household string, time timestamp_ntz, wh bigint"


def panel():
    readings = np.random.default_rng(5).integers(0, 3000, size=(4 * 20, HOMES))
    present = np.random.default_rng(6).random(readings.shape) > 0.05
    return dn.Panel.from_array(readings, present=present, grid=GRID)


def plan():
    return dn.Plan(
        query=dn.Mean(),
        epsilon="1",
        domain=(0, 3000),
        grid=GRID,
        history=2,
        grace=2,
        mechanism="cube",
        cycle_mechanism="cube",
    )


def rows_of(homes, which):
    """Rows of readings by step and place."""
    times = np.array([np.datetime64(homes.grid.wall(step), "us") for step in homes.steps])
    steps, places = which.T
    return {
        "household": [homes.households[place] for place in places],
        "time": pa.array(times[steps]),
        "wh": homes.readings[steps, places],
    }


def land(folder, homes, files=FILES):
    """Files of readings in an order of their own: each home's rows a little late, some of them much later."""
    rng = np.random.default_rng(7)
    which = np.argwhere(homes.present)
    late = which[:, 0] + rng.choice([0, 0, 0, 1, 2, 12], size=len(which))
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.argsort(late, kind="stable"), files)):
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.table(rows_of(homes, which[part])), path)
        # Spark takes files in the order of their times.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def files(folder):
    return [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]


@pytest.mark.parametrize("times", support.for_now([2, 10], 2))
def test_killed_again_and_again_it_reports_what_a_batch_does_each_once(times, tmp_path, silence):
    """Killed twice or ten times and started again, Spark and the store report what the same files give one after
    the other here: the same rows, each once, the same readings counted as late, and a sound ledger. What a killed
    Spark has left behind nobody else can read.
    """
    homes = panel()
    land(tmp_path / "landing", homes.after(2))
    far = dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="1", cycle="1"))
    far.start(plan(), history=homes.first(2), acknowledge="untested", accept_worse=True)
    near = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    stream = near.start(plan(), history=homes.first(2), acknowledge="untested", accept_worse=True)
    for table in files(tmp_path / "landing"):
        stream.report(dn.panel(dn.read(table, minutes=360), like=GRID, domain=(0, 3000)))

    rng, kills = np.random.default_rng(8), 0
    for _ in range(40):
        with subprocess.Popen(
            [sys.executable, SCRIPT, tmp_path],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        ) as process:
            if kills < times:
                # Once it has begun to take batches, at any moment.
                process.stdout.readline()
                time.sleep(rng.uniform(0, 0.3))
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                continue
            process.communicate(timeout=120)
            assert process.returncode == 0
            break
    again = dn.Curator.open(tmp_path / "city.db")
    (taken,) = again.streams()
    assert [(row.step, row.value) for row in taken.rows()] == [(row.step, row.value) for row in stream.rows()]
    late = [each.quality()["late"] for each in (taken, stream)]
    assert late[0] == late[1] > 0
    assert again.verify().sound
    # What Spark puts down as it works, and leaves when it is killed, is for its owner.
    left = list(tmp_path.glob("*/blockmgr-*")) + list(tmp_path.glob("blockmgr-*"))
    assert left
    assert not [path for path in left if path.stat().st_mode & 0o077]


def test_homes_in_the_lake_wait_for_their_grace(tmp_path, spark, silence):
    """Files that land between restarts of a query over homes in the lake give the rows they give here, steps that
    wait for late readings included, each once; readings that are too late are counted the same, and a clock that is
    a year ahead closes nothing. With the checkpoint nothing is left of rows that were reported.
    """
    homes = panel()
    table = pa.table(rows_of(homes, np.argwhere(homes.present)))
    far_homes = dn.panel(
        dn.read(spark.createDataFrame(table), minutes=360), like=GRID, domain=(0, 3000), out=tmp_path / "homes"
    )
    streams = [
        dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1")).start(
            plan(), history=each.first(2), acknowledge="untested", accept_worse=True
        )
        for each in (homes, far_homes)
    ]
    land(tmp_path / "landing", homes.after(2).between(0, 32), files=6)
    (tmp_path / "now").mkdir()
    names = []
    for number, path in enumerate(sorted((tmp_path / "landing").iterdir())):
        rows = pq.read_table(path)
        if number == 2:
            # A clock that is a year ahead, a reading of long ago, and one that is corrected in the next file.
            for time, wh in (("2023-07-01", 1), ("2022-07-03T06:00", 2), ("2022-07-09T18:00", 3)):
                odd = {"household": ["0"], "time": pa.array([np.datetime64(time, "us")]), "wh": [wh]}
                rows = pa.concat_tables([rows, pa.table(odd)])
        pq.write_table(rows, tmp_path / "now" / path.name)
        streams[0].report(dn.panel(dn.read(rows, minutes=360), like=GRID, domain=(0, 3000)))
        frame = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "now"))
        dn.watch_frame(
            streams[1],
            frame,
            checkpoint=tmp_path / "checkpoint",
            once=True,
            minutes=360,
            told=lambda taken: names.append(taken.name),
        )
    near, far = ([(row.step, row.value) for row in each.rows()] for each in streams)
    # Here a step is closed at once when everybody is there.
    assert far == [row for row in near if row[0] < streams[1].open_from]
    assert len(far) > 12
    late = [each.quality()["late"] for each in streams]
    assert late[0] == late[1] > 0
    assert len(set(names)) == 6
    open_ = spark.read.parquet(str(tmp_path / "checkpoint" / "diurnal-open" / "rows-5"))
    assert 0 < open_.count() < len(table) / 3
    assert not (tmp_path / "checkpoint" / "diurnal-batch").exists()


def test_what_cannot_be_taken_ends_the_query_with_a_sentence(tmp_path, spark):
    """A batch that cannot be read is refused as any other is, with no trace of Spark's and no reading in it."""
    homes = panel()
    stream = dn.Curator.in_memory().start(plan(), history=homes.first(2), acknowledge="untested", accept_worse=True)
    rows = {"household": ["0"], "time": pa.array([np.datetime64("2022-07-05T00:07", "us")]), "wh": [987_654_321]}
    (tmp_path / "landing").mkdir()
    pq.write_table(pa.table(rows), tmp_path / "landing" / "a.parquet")
    frame = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "landing"))
    with pytest.raises(dn.errors.ReadingsError) as refused:
        dn.watch_frame(stream, frame, checkpoint=tmp_path / "checkpoint", once=True, minutes=360)
    assert "987654321" not in str(refused.value)
    with refuses(dn.errors.ReadingsError, "frame-not-streaming"):
        dn.watch_frame(stream, spark.range(1), checkpoint=tmp_path / "other", once=True)
