"""A panel kept as a file: readable by any tool, whole or not there at all."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings import importing, kernels, panel_file
from diurnal.readings.panel import batches
from diurnal.study.town import Town
from support import refuses


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A town of 40 homes over a fortnight, in the long format, rows shuffled."""
    folder = tmp_path_factory.mktemp("town")
    dn.write(Town(homes=40, days=14, gap_rate=0.01).panel(), folder / "town.parquet")
    table = pq.read_table(folder / "town.parquet")
    order = np.random.default_rng(1).permutation(table.num_rows)
    pq.write_table(table.take(order), folder / "town.parquet")
    return folder / "town.parquet"


def import_(source, out, **options):
    homes = dn.read(source, groups=["suburb", "archetype"])
    return dn.panel(homes, zone="Australia/Sydney", out=out, **options)


def test_it_is_the_panel_that_memory_would_hold(source, tmp_path, monkeypatch):
    """Kept in a file in many small blocks, or held in memory, a panel is the same to the last bit."""
    monkeypatch.setattr(importing, "BUCKET", 5000)
    file = import_(source, tmp_path / "panel.parquet")
    memory = import_(source, None)
    town = Town(homes=40, days=14, gap_rate=0.01).panel()
    for panel in (file, memory):
        assert panel.households == town.households
        assert panel.grid == town.grid
        assert panel.calendar == town.calendar
        np.testing.assert_array_equal(panel.readings, town.readings)
        np.testing.assert_array_equal(panel.present, town.present)
        assert panel.groups == dict(town.groups)
    assert file.quality == memory.quality
    assert len(list(file.blocks())) > 5


def test_other_tools_read_it(source, tmp_path):
    """DuckDB and pandas read a kept panel as a table of household, time, value and groups."""
    path = tmp_path / "panel.parquet"
    panel = import_(source, path)
    sql = f"select sum(value), count(value), count(*), count(distinct household) from '{path}'"
    assert duckdb.sql(sql).fetchall()[0] == (panel.readings.sum(), panel.present.sum(), panel.present.size, 40)
    frame = pd.read_parquet(path)
    assert list(frame.columns) == ["household", "time", "value", "suburb", "archetype"]
    assert frame["time"][0] == pd.Timestamp(panel.grid.anchor)
    ordered = frame[["household", "time"]].astype({"household": str})
    assert ordered.equals(ordered.sort_values(["household", "time"]).reset_index(drop=True))


def test_groups_cost_next_to_nothing(source, tmp_path):
    """The name of a group stands in the file once: its column takes less than a tenth of that of the values."""
    path = tmp_path / "panel.parquet"
    panel = import_(source, path)
    group = pq.read_metadata(path).row_group(0)
    sizes = {
        group.column(i).path_in_schema: group.column(i).total_compressed_size for i in range(group.num_columns)
    }
    assert 10 * sizes["suburb"] < sizes["value"]
    rows = f"select household, any_value(suburb), count(distinct suburb) from '{path}' group by household"
    found = {home: (suburb, n) for home, suburb, n in duckdb.sql(rows).fetchall()}
    wanted = zip(panel.households, panel.groups["suburb"], strict=True)
    assert found == {home: (suburb, 1) for home, suburb in wanted}


def test_a_file_is_read_once_for_many_batches(source, tmp_path, monkeypatch):
    """However many batches are cut from a file, its row groups are each read once while memory allows."""
    monkeypatch.setattr(importing, "BUCKET", 5000)
    panel = import_(source, tmp_path / "panel.parquet")
    reads, read = [], panel_file.KeptData._read

    def counted(data, number, columns):
        reads.append(number)
        return read(data, number, columns)

    monkeypatch.setattr(panel_file.KeptData, "_read", counted)
    assert len([batch.readings for batch in batches(panel, 1)]) == 14
    assert sorted(reads) == list(range(pq.read_metadata(tmp_path / "panel.parquet").num_row_groups))


def test_row_groups_are_whole_households(source, tmp_path, monkeypatch):
    """Every row group of the file holds whole households."""
    monkeypatch.setattr(importing, "BUCKET", 5000)
    panel = import_(source, tmp_path / "panel.parquet")
    metadata = pq.read_metadata(tmp_path / "panel.parquet")
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert len(rows) > 5
    assert all(n % panel.n_steps == 0 for n in rows)


def test_its_facts_are_in_its_metadata(source, tmp_path):
    """Unit, interval, zone, anchor, domain, calendar, source hash and version are in the file itself."""
    path = tmp_path / "panel.parquet"
    panel = import_(source, path, domain=(0, 9000))
    facts = json.loads(pq.read_metadata(path).metadata[b"diurnal"])
    assert facts["version"] == 1
    assert facts["grid"] == panel.grid.to_json()
    assert facts["domain"] == [0, 9000]
    assert set(facts["calendar"]) == panel.calendar
    assert facts["source"]["format"] == "long"
    assert len(facts["source"]["sha256"]) == 64


def test_the_source_hash_is_that_of_the_bytes(source, tmp_path):
    """Another source has another hash, the same one the same."""
    hashes = []
    for i, seed in enumerate((1, 1, 2)):
        other = tmp_path / f"{i}.csv"
        dn.write(Town(homes=5, days=2, seed=seed).panel(), other)
        dn.panel(other, zone="UTC", out=tmp_path / "panel.parquet")
        facts = json.loads(pq.read_metadata(tmp_path / "panel.parquet").metadata[b"diurnal"])
        hashes.append(facts["source"]["sha256"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_it_is_private(source, tmp_path):
    """A kept panel can be read by its owner only, and its repr shows no name and no reading."""
    path = tmp_path / "panel.parquet"
    panel = import_(source, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert "home-" not in repr(panel)
    assert "readings" not in repr(panel)


def test_a_later_version_is_refused(source, tmp_path, monkeypatch):
    """A file of a later version is refused, and so is a Parquet file that is no panel."""
    path = tmp_path / "panel.parquet"
    monkeypatch.setattr(panel_file, "VERSION", 2)
    import_(source, path)
    monkeypatch.setattr(panel_file, "VERSION", 1)
    with pytest.raises(ReadingsError, match="got version 2"):
        dn.open_panel(path)
    with refuses(ReadingsError, "panel-not-kept"):
        dn.open_panel(source)
    with refuses(ReadingsError, "file-missing"):
        dn.open_panel(tmp_path / "nothing.parquet")


@pytest.mark.parametrize("cut", [10, 1000, 20000])
def test_a_damaged_file_is_refused(source, tmp_path, cut):
    """A kept panel that was cut short is refused."""
    path = tmp_path / "panel.parquet"
    import_(source, path)
    path.write_bytes(path.read_bytes()[:-cut])
    with refuses(ReadingsError, "parquet-damaged"):
        dn.open_panel(path)


def test_a_failed_import_keeps_the_old_file(source, tmp_path):
    """An import that ends in an error leaves the old file as it was, and nothing beside it."""
    path = tmp_path / "panel.parquet"
    import_(source, path)
    before = path.read_bytes()
    with pytest.raises(ReadingsError):
        import_(source, path, domain=(49_999, 50_000))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["panel.parquet"]


SCRIPT = """
import sys, time
import diurnal as dn
from diurnal.readings import importing
importing.BUCKET = 2000
from diurnal.readings.panel_file import Writer
write = Writer.write
def slowly(self, *block):
    write(self, *block)
    print("wrote", flush=True)
    time.sleep(0.2)
Writer.write = slowly
dn.panel(dn.read(sys.argv[1]), zone="Australia/Sydney", out=sys.argv[2])
"""


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_import_leaves_the_old_file_or_none(source, tmp_path, blow):
    """A real process killed while it writes leaves the old file; the next import clears what is left of it."""
    path = tmp_path / "panel.parquet"
    for before in (None, b"the old file"):
        if before is not None:
            path.write_bytes(before)
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, source, path],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(3):
            assert process.stdout.readline() == "wrote\n"
        os.kill(process.pid, blow)
        process.wait()
        process.stdout.close()
        assert process.returncode != 0
        assert (path.read_bytes() if path.exists() else None) == before
    import_(source, path)
    assert [file.name for file in tmp_path.iterdir()] == ["panel.parquet"]
    assert dn.open_panel(path).n_households == 40


def test_fold_adds_up_in_threads(source, tmp_path, monkeypatch):
    """What a kernel finds in the blocks of a file adds up to what it finds in the whole."""
    monkeypatch.setattr(importing, "BUCKET", 5000)
    panel = import_(source, tmp_path / "panel.parquet")
    sums = kernels.fold(lambda block: block.readings.sum(axis=1), panel, np.add)
    np.testing.assert_array_equal(sums, panel.readings.sum(axis=1))


def test_work_in_order_stays_in_order_and_stops_at_an_error():
    """Results come in the order of their items whatever each takes, and an error ends the work."""
    pauses = [0.03, 0.0, 0.02, 0.0, 0.01]
    found = list(kernels.in_order(lambda i: (time.sleep(pauses[i]), i)[1], range(5)))
    assert found == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        list(kernels.in_order(lambda i: 1 // (2 - i), range(5)))


def small(path, homes, value=100, **more):
    """A kept panel of some homes over two days."""
    panel = dn.Panel.from_array(np.full((96, len(homes)), value), households=homes, **more)
    return dn.save_panel(panel, path)


def test_another_file_in_its_place_is_not_read(tmp_path):
    """A panel that was opened never shows the readings of a file that took its place."""
    path = tmp_path / "panel.parquet"
    first = small(path, ["a", "b"], 100)
    assert first.first(1).readings.max() == 100
    small(path, ["c", "d"], 700)
    with refuses(ReadingsError, "file-replaced"):
        first.after(1).readings  # noqa: B018
    assert dn.open_panel(path).readings.max() == 700


def tampered(path, change, table=lambda rows: rows):
    """The file with its facts, or its rows, changed."""
    rows = pq.read_table(path)
    facts = change(json.loads(pq.read_metadata(path).metadata[b"diurnal"]))
    text = facts if isinstance(facts, str) else json.dumps(facts)
    rows = table(rows).replace_schema_metadata({"diurnal": text})
    pq.write_table(rows, path, row_group_size=len(rows))


CHANGES = {
    "no JSON": lambda facts: "{",
    "a list": lambda facts: [1],
    "no grid": lambda facts: {name: fact for name, fact in facts.items() if name != "grid"},
    "another grid": lambda facts: {**facts, "grid": {**facts["grid"], "colour": "red"}},
    "another anchor": lambda facts: {**facts, "grid": {**facts["grid"], "anchor": "2001-01-01T00:00"}},
    "more steps": lambda facts: {**facts, "steps": 192},
    "no steps": lambda facts: {**facts, "steps": 0},
    "other households": lambda facts: {**facts, "households": ["c", "d"]},
    "a household twice": lambda facts: {**facts, "households": ["a", "a"]},
    "a household more": lambda facts: {**facts, "households": ["a", "b", "c"]},
    "groups too short": lambda facts: {**facts, "groups": {"suburb": ["Hill"]}},
    "a narrower domain": lambda facts: {**facts, "domain": [0, 50]},
    "another first step": lambda facts: {**facts, "first_step": 48},
}


@pytest.mark.parametrize("change", CHANGES)
def test_facts_that_do_not_fit_the_rows_are_refused(tmp_path, change):
    """A file whose facts were changed by somebody is refused as damaged when it is opened."""
    path = tmp_path / "panel.parquet"
    small(path, ["a", "b"])
    tampered(path, CHANGES[change])
    with refuses(ReadingsError, "parquet-damaged"):
        dn.open_panel(path)


def test_rows_of_floats_are_refused(tmp_path):
    """A file whose values became floats is refused."""
    path = tmp_path / "panel.parquet"
    small(path, ["a", "b"])
    tampered(path, lambda facts: facts, lambda rows: rows.set_column(2, "value", rows["value"].cast("double")))
    with refuses(ReadingsError, "parquet-damaged"):
        dn.open_panel(path)


def test_a_calendar_in_the_facts_closes_its_steps(tmp_path):
    """Steps on the calendar are missing for everybody, whatever the rows say."""
    path = tmp_path / "panel.parquet"
    small(path, ["a", "b"])
    tampered(path, lambda facts: {**facts, "calendar": [7]})
    panel = dn.open_panel(path)
    assert not panel.present[7].any()
    assert panel.readings[7].tolist() == [0, 0]


def test_many_threads_may_import_into_one_file(source, tmp_path):
    """Imports at the same time into one file each succeed, and the file is whole at every moment."""
    path = tmp_path / "panel.parquet"
    import_(source, path)
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(import_, source, path) for _ in range(8)]
        while not all(future.done() for future in futures):
            assert dn.open_panel(path).n_households == 40
        for future in futures:
            future.result()
    assert [file.name for file in tmp_path.iterdir()] == ["panel.parquet"]


def test_strange_files_beside_it_do_not_matter(source, tmp_path):
    """Files with names like an import's own, but of nobody's, are left alone."""
    strange = [".panel.parquet.x.partial", f".panel.parquet.{'9' * 40}.a.partial"]
    for name in strange:
        (tmp_path / name).touch()
    import_(source, tmp_path / "panel.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*strange, "panel.parquet"])


def test_no_steps_are_nothing_to_keep(tmp_path):
    """A panel without steps is refused, and so is a partition that would hide a column."""
    panel = dn.Panel.from_array(np.zeros((4, 2), dtype=int), grid=dn.Grid(slots=2), groups={"time": ["x", "y"]})
    with refuses(ReadingsError, "panel-no-steps"):
        dn.save_panel(panel.between(0, 0), tmp_path / "panel.parquet")
    with refuses(ReadingsError, "partition-name"):
        dn.save_panel(panel, tmp_path / "panel.parquet")
    assert list(tmp_path.iterdir()) == []


def test_columns_in_any_order(tmp_path):
    """A kept panel whose households are asked for in another order gives them in that order."""
    panel = small(tmp_path / "panel.parquet", ["a", "b", "c"])
    rng = np.random.default_rng(1)
    memory = panel.following(rng.integers(0, 900, size=(96, 3)), first_step=0)
    kept_panel = dn.save_panel(memory, tmp_path / "panel.parquet")
    order = np.array([2, 0, 1])
    np.testing.assert_array_equal(kept_panel.data.columns(order).readings, memory.readings[:, order])
    pieces = [data.readings for _, data in kept_panel.data.columns(order).pieces()]
    np.testing.assert_array_equal(np.hstack(pieces), memory.readings[:, order])
