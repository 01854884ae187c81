"""Spark finds what the local engine finds, to the last bit, whatever becomes of its tasks."""

import dataclasses
import json
import pathlib
import shutil
import time
import typing
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import diurnal as dn
import support
from diurnal.errors import InputError, LimitError, ReadingsError
from diurnal.periodicity.correlation import gram
from diurnal.periodicity.cycles import count
from diurnal.readings import kernels
from diurnal.readings.engines.spark import folding, java
from diurnal.show.cli import app
from diurnal.study.town import Town
from sparks import stumble_once
from support import refuses


@pytest.fixture(scope="session")
def lake_of(spark, tmp_path_factory):
    """Imports rows twice, by the local engine and by Spark with its rows in another order; gives both panels."""

    def make(rows, *, parts=3, read=None, **options):
        folder = tmp_path_factory.mktemp("lake")
        pq.write_table(rows, folder / "rows.parquet")
        here = dn.panel(dn.read(folder / "rows.parquet", **(read or {})), **options)
        frame = spark.read.parquet(str(folder / "rows.parquet")).orderBy("value").repartition(parts)
        there = dn.panel(dn.read(frame, **(read or {})), **options, out=folder / "homes")
        return here, there

    return make


@pytest.fixture(scope="session")
def town(lake_of):
    """A town of 60 homes over 21 days with gaps and negative readings, here and in the lake."""
    panel = _with_gaps(Town(homes=60, days=21).panel(), seed=1)
    return lake_of(_rows(panel), read={"groups": ["suburb"], "unit": "Wh"}, zone="UTC", domain=(-10000, 10000))


def _with_gaps(panel, seed):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(panel.readings.shape) < 0.02, -1, 1)
    return panel.following(
        panel.readings * signs, present=rng.random(panel.readings.shape) < 0.97, first_step=panel.first_step
    )


def _rows(panel):
    """The rows of a panel as a table: household, time, value, and a column a partition."""
    start = np.datetime64(panel.grid.anchor, "us")
    times = start + (panel.first_step + np.arange(panel.n_steps)) * np.timedelta64(panel.grid.minutes, "m")
    each = np.repeat(np.arange(panel.n_households), panel.n_steps)
    return pa.table(
        {
            "household": pa.array(panel.households).take(pa.array(each)),
            "time": pa.array(np.tile(times, panel.n_households)),
            "value": pa.array(panel.readings.T.ravel(), mask=~panel.present.T.ravel()),
            **{name: pa.array(column).take(pa.array(each)) for name, column in panel.groups.items()},
        }
    )


def _same(here, there):
    """Two panels that differ in nothing but where they lie."""
    assert there.households == here.households
    assert there.groups == here.groups
    assert (there.grid, there.first_step, there.calendar) == (here.grid, here.first_step, here.calendar)
    assert there.domain == here.domain
    np.testing.assert_array_equal(there.readings, here.readings)
    np.testing.assert_array_equal(there.present, here.present)


def _account(panel):
    """An import's account, but for the places of rows, which a Spark frame has not, and the name of the source."""
    found = json.loads(json.dumps(panel.quality.to_json()))
    return {**found, "places": {}, "notes": found["notes"][1:]}


@st.composite
def tables(draw):
    """Rows of a few homes with one or two meters each, over days with and without a clock change: gaps, blanks,
    negatives, twice the same, beyond the domain, off the grid.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    start = datetime.fromisoformat(draw(st.sampled_from(["2022-06-30T17:00", "2022-10-01", "2023-03-31T23:30"])))
    minutes = draw(st.sampled_from([15, 30]))
    rows = []
    for home in range(draw(st.integers(1, 5))):
        for meter in range(draw(st.integers(1, 2))):
            for step in range(draw(st.integers(100, 200)) * 30 // minutes):
                at = start + timedelta(minutes=minutes * step)
                value = int(rng.integers(-500, 3000))
                kind = rng.integers(0, 100)
                if kind < 4:
                    continue
                if kind < 8:
                    value = None
                if kind == 9:
                    value = 10**8
                if kind == 10:
                    at += timedelta(minutes=7)
                row = (f"home {home}", f"m{home}-{meter}", at, value, "east" if home % 2 else "west")
                rows += [row, row] if kind == 11 else [row]
    columns = dict(
        zip(["household", "meter", "time", "value", "side"], map(list, zip(*rows, strict=True)), strict=True)
    )
    types = {"time": pa.timestamp("us"), "value": pa.int64()}
    return pa.table({name: pa.array(column, types.get(name)) for name, column in columns.items()}), minutes


def test_what_is_said_beside_the_rows_holds_in_the_lake(lake_of, tmp_path):
    """Lists of meters, groups and tenancies, and times with an offset through a doubled hour, are taken as they are
    by the local engine.
    """
    rng = np.random.default_rng(3)
    times = np.datetime64("2023-03-31T10:00", "us") + np.arange(96) * np.timedelta64(30, "m")
    names = [f"m{number}" for number in range(6)]
    rows = pa.table(
        {
            "meter": np.repeat(names, len(times)),
            "time": pa.array(np.tile(times, len(names)), pa.timestamp("us", tz="UTC")),
            "value": rng.integers(0, 2000, size=len(names) * len(times)),
        }
    )
    for name, content in (
        ("meters.csv", "meter,household\n" + "\n".join(f"{name},h{i // 2}" for i, name in enumerate(names))),
        ("groups.csv", "household,suburb\nh0,Hill\nh1,Lake\nh2,Hill"),
        ("tenancies.csv", "household,from\nh1,2023-04-01T12:00"),
    ):
        (tmp_path / name).write_text(content + "\n")
    said = {name: tmp_path / f"{name}.csv" for name in ("meters", "groups", "tenancies")}
    for fold in ("calendar", "mean"):
        here, there = lake_of(rows, read={"unit": "Wh"}, zone="Australia/Sydney", fold=fold, **said)
        _same(here, there)
        assert _account(there) == _account(here)
        assert there.groups == {"suburb": ("Hill", "Lake", "Hill")}


def test_many_tasks_add_up_in_stages(town, monkeypatch):
    """However many stages of adding up there are between tasks and the driver, the sum is the same."""
    panel = town[1]

    # Of the function's own, so that tasks are given it.
    def total(block):
        return block.readings.sum(axis=1)

    wanted = kernels.fold(total, town[0], np.add)
    monkeypatch.setattr(folding, "FEW", 1)
    for tasks, fan in ((2, 64), (9, 4)):
        monkeypatch.setattr(folding, "FAN", fan)
        data = dataclasses.replace(panel.data, tasks=tasks, table=panel.data.table.repartition(tasks))
        assert np.array_equal(kernels.fold(total, dataclasses.replace(panel, data=data), np.add), wanted)


@settings(max_examples=3)
@given(made=tables(), parts=st.integers(1, 6))
def test_rows_become_the_same_panel_and_the_same_account(made, parts, lake_of):
    """Whatever the rows, their order and the number of partitions: readings, gaps, groups, calendar and every count
    of the account are those of the local engine.
    """
    rows, minutes = made
    here, there = lake_of(
        rows,
        parts=parts,
        read={"groups": ["side"], "unit": "Wh", "minutes": minutes},
        zone="Australia/Sydney",
        domain=(-1000, 100_000),
    )
    _same(here, there)
    assert _account(there) == _account(here)


def test_profiles_variations_products_and_sums_are_the_same(town):
    """What kernels find adds up to the same whole numbers: sums, profiles, variations by atom, products."""
    here, there = town
    history = 14

    def profiles(block):
        cut = block.first(history)
        zhat, known = kernels.profiles(cut.readings, cut.present, slots=48, min_readings=3)
        return {name: (zhat[:, i].tolist(), known[:, i].tolist()) for i, name in enumerate(block.households)}

    def variations(block):
        cut, rest = block.first(history), block.after(history)
        zhat, known = kernels.profiles(cut.readings, cut.present, slots=48, min_readings=3)
        names = ("Hill", "Lake")
        group = np.array([1 + names.index(name) if name in names else 3 for name in block.groups["suburb"]])
        weights = np.array([1 + len(name) % 2 for name in block.households])
        atoms = kernels.Atoms.of(np.stack([group, weights]))
        sums, used = kernels.variation_sums(
            rest.readings,
            rest.present,
            zhat[:, atoms.order],
            known[:, atoms.order],
            np.arange(rest.n_steps) % 48,
            atoms,
        )
        return {tuple(key): (sums[:, i], used[:, i]) for i, key in enumerate(atoms.columns.T.tolist())}

    def both(left, right):
        return {
            key: tuple(a + b for a, b in zip(left[key], right[key], strict=True))
            if key in left and key in right
            else left.get(key, right.get(key))
            for key in {*left, *right}
        }

    def same(left, right):
        assert left.keys() == right.keys()
        for key in left:
            for a, b in zip(left[key], right[key], strict=True):
                np.testing.assert_array_equal(a, b)

    def totals(block):
        return block.readings.sum(axis=1), block.present.sum(axis=1)

    for kernel in (profiles, variations):
        same(kernels.fold(kernel, there, both), kernels.fold(kernel, here, both))

    def added(left, right):
        return left[0] + right[0], left[1] + right[1]

    for a, b in zip(kernels.fold(totals, there, added), kernels.fold(totals, here, added), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(gram(there, count(there)), gram(here, count(here)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_verdict_is_the_same_to_the_last_digit(town):
    """A check in the lake and one here give one JSON and one digest."""
    here, there = (dn.check(panel, periods=["7d"]) for panel in town)
    assert there.to_json() == here.to_json()
    assert there.digest == here.digest


def test_whatever_is_cut_from_a_panel_is_the_same(town):
    """Cycles, spans, households in any order, groups and closed steps of a panel in the lake are those of the panel
    here, and its blocks make it up.
    """
    here, there = town
    group = here.groups["suburb"][0]
    cuts = [
        lambda panel: panel.first(3),
        lambda panel: panel.after(18).closing([900, 901]),
        lambda panel: panel.between(100, 150).columns(np.array([7, 3, 3, 59])),
        lambda panel: panel.without(panel.households[::2]).first(2),
        lambda panel: panel.select(suburb=group).between(0, 48),
    ]
    for cut in cuts:
        _same(cut(here), cut(there))
        sums = [kernels.fold(lambda block: block.readings.sum(axis=1), cut(panel), np.add) for panel in town]
        np.testing.assert_array_equal(*sums)
    blocks = list(there.blocks())
    np.testing.assert_array_equal(np.concatenate([block.readings for block in blocks], axis=1), here.readings)


def test_ausgrid_is_the_same(ausgrid, lake_of, silence):
    """Real homes by a clock that changes: 70 Ausgrid days of 2012 are the same panel, verdict and reports."""
    days = ausgrid.between(48 * 430, 48 * 500)
    here, there = lake_of(_rows(days), parts=5, read={"unit": "Wh"}, zone="Australia/Sydney")
    _same(here, there)
    assert here.calendar
    assert _account(there) == _account(here)
    assert dn.check(there).to_json() == dn.check(here).to_json()
    assert _reports(here) == _reports(there)


@support.nightly
def test_a_town_of_five_thousand_homes_is_the_same(lake_of, silence):
    """5,000 homes, two million rows, sampled where a check samples: the same panel, verdict and reports."""
    panel = _with_gaps(Town(homes=5000, days=9).panel(), seed=2)
    here, there = lake_of(
        _rows(panel), parts=7, read={"groups": ["suburb"], "unit": "Wh"}, zone="UTC", domain=(-10000, 10000)
    )
    _same(here, there)
    assert _account(there) == _account(here)
    assert dn.check(there).to_json() == dn.check(here).to_json()
    assert _reports(here) == _reports(there)


def _reports(panel):
    """What a plan reports, without noise, of two days after three of history."""
    plan = dn.Plan(
        query=dn.Mean(),
        epsilon="1",
        domain=panel.domain,
        grid=panel.grid,
        history=3,
        variation_bound=600,
        mechanism="cube",
        cycle_mechanism="cube",
    )
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    stream = curator.start(plan, history=panel.first(3), acknowledge="untested", accept_worse=True)
    stream.report(panel.between(144, 240))
    rows = [row.to_json() for row in stream.rows()]
    assert len(rows) > 90
    return rows


def _stumbling(stumble):
    """A format that stumbles as it reads."""

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Stumbling(dn.Format):
        name: typing.ClassVar[str] = "stumbling"
        unit: str = "Wh"
        minutes: int | None = 30

        def read(self, part):
            stumble()
            for table in part.tables(["household", "time", "value"]):
                meter, at, value = table.columns.columns
                yield dn.Rows(meter=meter, time=at, value=value, line=table.line)

    return Stumbling()


@pytest.mark.parametrize("seconds", support.for_now([0, 60], 60), ids=["dies", "dawdles"])
def test_a_task_that_dies_or_dawdles_changes_nothing(seconds, town, spark, tmp_path):
    """A task of an import whose process dies is run again, one that dawdles is overtaken by a copy of itself; so
    are those of a fold. Panel, account and sums are the same.
    """
    here, there = town
    began = time.monotonic()
    pq.write_table(_rows(here.between(0, 240)), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(4)
    options = {"zone": "UTC", "domain": (-10000, 10000)}
    format_ = _stumbling(stumble_once(str(tmp_path / "import"), seconds))
    made = dn.panel(dn.read(frame, format=format_), **options, out=tmp_path / "homes")
    plain = dn.panel(dn.read(tmp_path / "rows.parquet", unit="Wh"), **options)
    _same(plain, made)
    assert _account(made) == _account(plain) | {"notes": _account(made)["notes"]}
    stumble = stumble_once(str(tmp_path / "fold"), seconds)

    def kernel(block):
        stumble()
        return block.readings.sum(axis=1)

    np.testing.assert_array_equal(kernels.fold(kernel, there, np.add), here.readings.sum(axis=1))
    assert (tmp_path / "import").exists()
    assert (tmp_path / "fold").exists()
    assert time.monotonic() - began < 55, "nobody waited for the one that dawdles"


def _changed(rows, column, at, value, kind=None):
    values = rows[column].to_pylist()
    values[at] = value
    return rows.set_column(rows.schema.get_field_index(column), column, pa.array(values, kind))


BAD = {
    "text for a number": lambda rows: _changed(
        rows.set_column(2, "value", rows["value"].cast(pa.string())), "value", 77, "a lot"
    ),
    "no household": lambda rows: _changed(rows, "household", 77, None),
    "no such time": lambda rows: _changed(
        rows.set_column(1, "time", rows["time"].cast(pa.string())), "time", 77, "2022-13-77"
    ),
    "two groups": lambda rows: _changed(rows, "suburb", 77, "Elsewhere"),
    "two values for one time": lambda rows: pa.concat_tables([rows, _changed(rows, "value", 77, 4321)[77:78]]),
    "nothing left": lambda rows: _changed(rows[:200], "value", 0, 123456, pa.int64()).set_column(
        2, "value", pa.array([10**8] * 200)
    ),
}


@pytest.mark.parametrize("what", support.for_now(BAD, "no household", "two values for one time"))
def test_bad_rows_are_refused_alike(what, town, lake_of, spark, tmp_path):
    """What the local engine refuses Spark refuses in the same words, but for the place; no reading is shown, no
    trace of Java, and there is no panel.
    """
    rows = BAD[what](_rows(town[0].between(0, 96)))
    pq.write_table(rows, tmp_path / "rows.parquet")
    said = {"groups": ["suburb"], "unit": "Wh"}
    with pytest.raises(ReadingsError) as here:
        dn.panel(dn.read(tmp_path / "rows.parquet", **said), zone="UTC")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(3)
    with pytest.raises(ReadingsError) as there:
        dn.panel(dn.read(frame, **said), zone="UTC", out=tmp_path / "homes")
    assert there.value.message.removeprefix("the frame: ") == here.value.message.split(": ", 1)[1]
    assert not any(text in str(there.value) for text in ("4321", "a lot", "Elsewhere", "java", "Traceback"))
    assert there.value.__cause__ is there.value.__context__ is None
    with refuses(ReadingsError, "lake-not-a-panel"):
        dn.open_panel(tmp_path / "homes", session=spark)
    with refuses(ReadingsError, "lake-not-a-panel"), pytest.deprecated_call():
        dn.open_panel(tmp_path / "homes", spark=spark)


def test_a_kernel_that_refuses_refuses_here(town):
    """An error of ours in a task is the same error here; another one is a sentence without what it says."""
    there = town[1]

    def limit(block):
        raise LimitError("sums-overflow", what="readings", households=3, weight=1, magnitude=9)

    def broken(block):
        raise KeyError(f"reading {block.readings[0, 0]}")

    with pytest.raises(LimitError, match="64 bits") as found:
        kernels.fold(limit, there, np.add)
    assert (found.value.code, found.value.params["households"]) == ("sums-overflow", 3)
    with refuses(ReadingsError, "spark-failed") as found:
        kernels.fold(broken, there, np.add)
    assert "KeyError" not in str(found.value)
    assert found.value.__context__ is None


def test_a_folder_is_the_old_panel_or_the_new_one(town, spark, tmp_path):
    """An import takes the place of an older one; one that is refused leaves it; a folder with anything else in it
    is never written into; and a folder is opened by its path alone.
    """
    here = town[0]
    rows = {days: _rows(here.first(days)) for days in (2, 3)}
    said = {"zone": "UTC", "domain": (-10000, 10000), "out": tmp_path / "homes"}

    def make(table):
        pq.write_table(table, tmp_path / "rows.parquet")
        frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
        return dn.panel(dn.read(frame, unit="Wh", groups=["suburb"]), **said)

    assert make(rows[2]).n_cycles == 2
    with pytest.raises(ReadingsError):
        make(BAD["two values for one time"](rows[2]))
    assert dn.open_panel(tmp_path / "homes").n_cycles == 2
    make(rows[3])
    opened = dn.open_panel(str(tmp_path / "homes"))
    _same(here.first(3), opened)
    assert len(list((tmp_path / "homes").iterdir())) == 2
    (tmp_path / "homes" / "letter.txt").write_text("dear")
    with refuses(ReadingsError, "spark-folder-taken"):
        make(rows[2])
    (tmp_path / "homes" / "diurnal.json").write_text("{}")
    with refuses(ReadingsError, "lake-panel-damaged"):
        dn.open_panel(tmp_path / "homes")


def test_a_panel_of_an_earlier_release_is_opened_and_a_later_one_refused(spark, tmp_path):
    """The folder that version 1 wrote, kept for ever, is the panel it was; one of a later version is refused."""
    kept = pathlib.Path(__file__).parents[2] / "kept" / "lake" / "1"
    panel = dn.open_panel(kept)
    assert (panel.n_households, panel.n_steps, int(panel.readings.sum())) == (4, 68, 135384)
    assert panel.groups == {"suburb": ("Lake", "Hill", "Lake", "Hill")}
    later = tmp_path / "later"
    shutil.copytree(kept, later)
    facts = json.loads((later / "diurnal.json").read_text())
    (later / "diurnal.json").write_text(json.dumps({**facts, "version": 2}))
    with pytest.raises(ReadingsError, match="version 2"):
        dn.open_panel(later)


def test_a_folder_may_be_called_anything_that_is_no_pattern(town, spark, tmp_path):
    """Spaces, letters and signs of all kinds are part of a folder's name; what Spark would read as a pattern, or as
    half an address, is refused. An empty folder that all could see is for its owner alone once it is used.
    """
    frame = spark.createDataFrame(_rows(town[0]).slice(0, 2000))
    for name in ("my lake", "Häuser", "a#b", "50%"):
        out = tmp_path / name / "homes"
        out.mkdir(parents=True)
        dn.panel(dn.read(frame, unit="Wh"), zone="UTC", out=out)
        assert (out / "diurnal.json").exists()
        assert out.stat().st_mode & 0o077 == 0
    assert dn.open_panel(tmp_path / "50%" / "homes").n_households > 0
    for bad in (tmp_path / "ho[m]es", "s3a:/lake/homes"):
        with pytest.raises(ReadingsError, match=r"pattern|slashes"):
            dn.panel(dn.read(frame, unit="Wh"), zone="UTC", out=bad)


def test_what_depends_on_the_order_of_rows_is_refused(spark):
    """A Spark frame has no order: no first or last of two values, no first of two showings of an hour; and it wants
    a folder.
    """
    times = [datetime(2023, 4, 1) + timedelta(minutes=30 * i) for i in range(144)]
    frame = spark.createDataFrame([("a", at.isoformat(), 1) for at in times], ["household", "time", "wh"])
    homes = dn.read(frame)
    with refuses(ReadingsError, "spark-no-order"):
        dn.panel(homes, zone="Australia/Sydney", on_duplicate="first", out="never")
    with refuses(ReadingsError, "spark-doubled-hour"):
        dn.panel(homes, zone="Australia/Sydney", fold="mean", out="never")
    with refuses(ReadingsError, "spark-needs-folder"):
        dn.panel(homes, zone="Australia/Sydney")


def test_the_command_line_runs_on_spark(town, spark, tmp_path):
    """`import --engine spark` and `check --engine spark` print what they print without it."""
    pq.write_table(_rows(town[0]), tmp_path / "rows.parquet")
    said = ["--source-unit", "Wh", "--zone", "UTC", "--domain", "-10000", "10000", "--json"]

    def run(*words):
        done = CliRunner().invoke(app, list(map(str, words)))
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    here = run("import", tmp_path / "rows.parquet", "--out", tmp_path / "homes.parquet", *said)
    on = ["--engine", "spark", "--master", "local[2]"]
    there = run("import", tmp_path / "rows.parquet", "--out", tmp_path / "homes", *said, *on)
    assert there["grid"] == here["grid"]
    assert there["quality"]["set_aside"] == here["quality"]["set_aside"]
    checked = [run("check", tmp_path / "homes", "--json", *on), run("check", tmp_path / "homes.parquet", "--json")]
    assert checked[0] == checked[1]
    refused = CliRunner().invoke(app, ["import", "rows.csv", "--out", "homes", *on])
    assert refused.exit_code == 1
    assert "Parquet" in refused.output


def test_the_command_line_starts_and_reports_in_the_lake(town, spark, tmp_path, silence):
    """`plan`, `start`, `report` and `export` of homes in the lake say and write what they say and write of homes in
    a file; a start that is refused leaves no store.
    """
    dn.panel(
        dn.read(_rows(town[0]), groups=["suburb"], unit="Wh"),
        zone="UTC",
        domain=(-10000, 10000),
        out=tmp_path / "homes.parquet",
    )
    lake, on = town[1].data.where.removeprefix("file://"), ["--engine", "spark"]
    words = "--epsilon 1 --history 10 --groups suburb --variation-bound 900 --minimum-group 2 --mechanism cube"
    words += " --cycle-mechanism cube --domain -10000 10000 --grace 0"
    found = []
    for name, homes, engine in (("here", tmp_path / "homes.parquet", []), ("there", lake, on)):
        plan, store = tmp_path / f"{name}.json", tmp_path / f"{name}.db"

        def run(*given, code=0, engine=engine):
            done = CliRunner().invoke(app, [*map(str, given), *engine])
            assert done.exit_code == code, done.output
            return done.stdout

        run("plan", homes, *words.split(), "--out", plan)
        caps = ("--pattern-cap", 9, "--strong-cap", 9)
        run("start", plan, "--history", homes, "--store", store, *caps, code=1)
        assert not store.exists()
        run(
            "start",
            plan,
            "--history",
            homes,
            "--store",
            store,
            *caps,
            "--acknowledge",
            "untested",
            "--accept-worse",
        )
        rows = run("report", homes, "--store", store, "--json")
        out = tmp_path / f"{name}.csv"
        CliRunner().invoke(app, ["export", "--store", str(store), "--out", str(out)])
        found.append((plan.read_text(), rows, out.read_text()))
    assert found[0] == found[1]
    assert len(found[0][1].splitlines()) > 11 * 48


def test_java_is_found_or_named(monkeypatch, tmp_path):
    """JAVA_HOME comes first, then the wheel, then the PATH; without any, the error says what to install."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with refuses(InputError, "java-home-wrong"):
        java.find_java()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    (tmp_path / "bin" / "java").chmod(0o700)
    assert java.find_java() == tmp_path
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    assert java.find_java() == tmp_path
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"11.0.1\"' >&2\n")
    with pytest.raises(InputError, match="Java 17"):
        java.find_java()
