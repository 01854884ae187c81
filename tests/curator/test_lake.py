"""Cohorts: homes in the lake have the same reports as homes here, and nothing private of theirs comes here."""

import json
import pathlib
import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import support
from diurnal.curator import intake, lake, started_plan, starting
from diurnal.errors import OverlapError, PlanError, ReadingsError, StoreError, StreamError
from diurnal.readings import engines
from diurnal.readings.engines.spark import homes as kept_homes
from sparks import stumble_once
from support import refuses

SLOTS, DAYS, HOMES = 4, 9, 40


def rows():
    """Rows of homes in two suburbs, some missing, some negative."""
    rng = np.random.default_rng(11)
    steps, homes = np.meshgrid(np.arange(SLOTS * DAYS), np.arange(HOMES), indexing="ij")
    there = rng.random(steps.shape) > 0.1
    steps, homes = steps[there], homes[there]
    times = np.datetime64("2022-07-01T00:00", "us") + steps * np.timedelta64(6, "h")
    table = pa.table(
        {
            "household": [f"h{home:02}" for home in homes],
            "time": pa.array(times),
            "wh": rng.integers(-300, 3000, size=len(steps)),
            "suburb": ["Hill" if home % 3 else "Lake" for home in homes],
        }
    )
    return table.take(pa.array(rng.permutation(len(table))))


SAID = {"minutes": 360, "groups": ["suburb"]}
WANTED = {"interval": 360, "zone": "UTC", "domain": (-300, 3000), "anchor": "2022-07-01T00:00"}


@pytest.fixture(scope="module")
def homes(spark, tmp_path_factory):
    """The same panel here and in the lake."""
    table = rows()
    near = dn.panel(dn.read(table, **SAID), **WANTED)
    out = tmp_path_factory.mktemp("lake") / "homes"
    far = dn.panel(dn.read(spark.createDataFrame(table), **SAID), **WANTED, out=out)
    return near, far


def plan(near, **more):
    fields = {
        "query": dn.Mean(),
        "epsilon": "1",
        "domain": (-300, 3000),
        "grid": near.grid,
        "history": 3,
        "groups": "suburb",
        "level": "strong",
        "mechanism": "cube",
        "cycle_mechanism": "cube",
        "minimum_group": 2,
    }
    return dn.Plan(**{**fields, **more})


PLANS = {
    "pattern": {"level": "pattern"},
    "pattern, the whole roster": {"level": "pattern", "groups": None, "mechanism": "laplace"},
    "strong, slot by slot": {"variation_bound": 500},
    "base load": {"level": "pattern", "statistic": "base-load", "query": dn.Sum()},
    "a share": {"query": dn.Share(above=1000), "level": "cycle", "history": 0},
    "a histogram": {"query": dn.Histogram((0, 1000)), "level": "cycle", "history": 0},
}


@pytest.mark.parametrize("name", support.for_now(PLANS, "pattern", "strong, slot by slot", "a share"))
def test_a_plan_in_the_lake_reports_the_same(homes, silence, name):
    """Started and reported in the lake and here, a plan has the same name, noisy profile and rows."""
    wanted = plan(homes[0], **PLANS[name])
    found = []
    for panel in homes:
        curator = dn.Curator.in_memory(dn.Budget(pattern="9", cycle="9"))
        stream = curator.start(
            wanted, history=panel.first(wanted.history), acknowledge="untested", accept_worse=True
        )
        later = [*stream.report(panel.between(12, 19)), *stream.report(panel.between(16, 36))]
        assert [each.to_json() for each in stream.rows()] == sorted(
            {json.dumps(each.to_json()): each.to_json() for each in later}.values(),
            key=lambda row: (row["step"], row["group"] != "Hill"),
        )
        found.append(
            (stream.plan.hash, [row.to_json() for row in stream.rows()], curator.status().to_json()["streams"])
        )
    assert found[0][:2] == found[1][:2]
    assert found[0][2][0]["counts"] == found[1][2][0]["counts"]


def started(panel, **more):
    """A plan on a panel, in a store of its own."""
    wanted = plan(panel, **more)
    curator = dn.Curator.in_memory(dn.Budget(pattern="9", cycle="9"))
    return curator, curator.start(
        wanted, history=panel.first(wanted.history), acknowledge="untested", accept_worse=True
    )


def folder_of(stream):
    """Where the profiles of a stream lie."""
    return pathlib.Path(stream._record().cohort.folder.removeprefix("file://"))


@pytest.mark.parametrize("mechanism", ["basis", "blocks"])
def test_whole_cycles_are_reported_the_same(homes, silence, mechanism):
    """Where a report is made of a whole cycle's variations, whole cycles in the lake give the rows they give here;
    parts of one are refused, and nothing is published.
    """
    body = {"body": dn.Ellipsoid(radius=4000), "basis": dn.Basis(size=3), "mechanism": "basis"}
    size = {"basis": 3, "blocks": 2}[mechanism]
    bound = {"variation_bound": dn.Ellipsoid(radius=4000), "cycle_basis": dn.Basis(size=size)}
    bound["cycle_mechanism"] = mechanism
    found = []
    for panel in homes:
        _, stream = started(panel, **body, **bound)
        if panel is homes[1]:
            with refuses(ReadingsError, "lake-steps-open"):
                stream.report(panel.between(12, 18))
            assert stream.rows() == []
        stream.report(panel.between(12, 36))
        found.append([row.to_json() for row in stream.rows()])
    assert found[0] == found[1]
    assert len(found[0]) == 48


def test_a_cycle_begun_in_the_middle_is_whole_or_closed(homes, silence):
    """Where a report is made of a whole cycle, one whose beginning is missing is refused, or closed with what is
    there as it is here; what comes for it later changes nothing, and the next cycles go on, also over a gap.
    """
    bound = {
        "variation_bound": dn.Ellipsoid(radius=4000),
        "cycle_basis": dn.Basis(size=3),
        "cycle_mechanism": "basis",
    }
    body = {"body": dn.Ellipsoid(radius=4000), "basis": dn.Basis(size=3), "mechanism": "basis"}
    found = []
    for panel in homes:
        _, stream = started(panel, **body, **bound)
        if panel is homes[1]:
            with refuses(ReadingsError, "lake-steps-open"):
                stream.report(panel.between(14, 20))
            stream.report(panel.between(14, 20), close=True)
        else:
            stream.report(panel.between(14, 20))
            stream.close(before=16)
        stream.report(panel.between(12, 14))
        stream.report(panel.between(28, 32))
        found.append([row.to_json() for row in stream.rows()])
    assert found[0] == found[1]
    assert sorted({row["step"] for row in found[0]}) == [*range(12, 20), *range(28, 32)]


def test_cycles_that_have_ended_are_closed(homes, silence):
    """Steps of an ended cycle for which nothing came are reported as missing readings, and its noise is erased."""
    found = []
    for panel in homes:
        _, stream = started(panel, variation_bound=500)
        stream.report(panel.between(12, 14))
        stream.close(before=16)
        found.append([row.to_json() for row in stream.rows()])
        with stream._store.transaction():
            assert not stream._store.noisy_cycles(stream._record().number)
    assert found[0] == found[1]
    assert [row["step"] for row in found[0]][::2] == [12, 13, 14, 15]


def test_who_has_moved_out_closes_nothing(homes, silence):
    """Readings of homes that have moved out let no step close, and are not counted as late."""
    found = []
    for panel in homes:
        curator, stream = started(panel, grace=2)
        gone = [f"h{number:02}" for number in range(5)]
        for name in gone:
            curator.move_out(name, 12)
        if panel is homes[0]:
            stream.report(panel.columns(np.arange(5)).between(12, 18))
        else:
            stream.receive_once("a", lambda panel=panel: panel.columns(np.arange(5)).between(12, 18), again=True)
        assert stream.rows() == []
        stream.report(panel.between(12, 18), close=True)
        stream.report(panel.between(12, 16))
        found.append(([row.to_json() for row in stream.rows()], stream.quality()["late"]))
    assert found[0] == found[1]


def test_a_backup_leaves_its_originals_profiles_alone(homes, tmp_path):
    """Erasing in a restored backup makes profiles of its own, and the original still reports.

    Profiles that are gone are named with their plan.
    """
    _, far = homes
    curator = dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="9", cycle="9"))
    stream = curator.start(plan(far), history=far.first(3), acknowledge="untested", accept_worse=True)
    curator.backup(tmp_path / "copy.db")
    copy = dn.Curator.open(tmp_path / "copy.db", fence=curator.status().head)
    copy.erase("h07")
    assert folder_of(copy.streams()[0]) != folder_of(stream)
    assert len(stream.report(far.between(12, 16))) == 8
    folder_of(stream).rename(tmp_path / "away")
    with pytest.raises(StoreError, match=stream.plan.hash[:12]):
        stream.report(far.between(16, 20))


def test_profiles_stay_in_the_lake(homes, tmp_path):
    """Beside its database the store keeps names and groups, and no profile: these the lake has, for its owner."""
    _, far = homes
    curator = dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="9", cycle="9"))
    stream = curator.start(plan(far), history=far.first(3), acknowledge="untested", accept_worse=True)
    (kept,) = (tmp_path / "city.db-profiles").glob("*.parquet")
    assert pq.read_schema(kept).names == ["household", "group", "weight"]
    folder = folder_of(stream)
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    again = dn.Curator.open(tmp_path / "city.db").streams()[0]
    assert len(again.report(far.between(12, 16))) == 8


def test_who_is_erased_is_gone_from_the_lake(homes, silence):
    """An erased household's name and profile are in no file of the lake's, and its readings change nothing more."""
    rows = []
    for panel in homes:
        curator, stream = started(panel)
        before = None if panel is homes[0] else folder_of(stream)
        curator.erase("h07")
        curator.move_out("h08", 14)
        rows.append([row.to_json() for row in stream.report(panel.between(12, 20))])
        if before is not None:
            after = folder_of(stream)
            assert after != before
            assert not before.exists()
            assert not [file for file in after.rglob("*") if file.is_file() and b"h07" in file.read_bytes()]
    assert rows[0] == rows[1]


def test_an_erasure_that_is_only_rehearsed_leaves_every_plan_its_profiles(homes, tmp_path, silence):
    """With two plans over one lake a rehearsal changes nothing: both report on, and then one can erase."""
    panel = homes[1]
    curator = dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="9", cycle="9"))
    streams = [
        curator.start(wanted, history=panel.first(wanted.history), acknowledge="untested", accept_worse=True)
        for wanted in (plan(panel), plan(panel, query=dn.Sum()))
    ]
    with curator.rehearsed():
        curator.erase("h07")
    assert all(folder_of(stream).is_dir() for stream in streams)
    assert curator.verify().sound
    assert all(stream.report(panel.between(12, 16)) for stream in streams)
    curator.erase("h07")
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"h07" in file.read_bytes()]


def test_profiles_that_a_killed_process_has_left_are_gone_with_the_next_report(homes, tmp_path):
    """Killed after an erasure and before the older table was deleted: who opens the store next deletes it when it
    reports, and leaves other stores' tables alone.
    """
    panel = homes[1]
    curator, wanted = dn.Curator.open(tmp_path / "city.db", dn.Budget(pattern="9", cycle="9")), plan(panel)
    stream = curator.start(wanted, history=panel.first(wanted.history), acknowledge="untested", accept_worse=True)
    mine = folder_of(stream)
    left, others = mine.with_name(f"{mine.name[:-8]}deadbeef"), mine.with_name(f"00000000-{mine.name[9:]}")
    for each in (left, others):
        shutil.copytree(mine, each)
    again = dn.Curator.open(tmp_path / "city.db")
    again.streams()[0].report(panel.between(12, 16))
    assert mine.exists()
    assert others.exists()
    assert not left.exists()


@pytest.mark.parametrize("seconds", support.for_now([0, 60], 0), ids=["dies", "dawdles"])
def test_tasks_that_die_or_dawdle_change_no_report(homes, silence, monkeypatch, tmp_path, seconds):
    """A task that dies as profiles are made, or as a report is added up, is run again, and one that dawdles is
    overtaken by a copy of itself: the rows are those of homes here.
    """
    wanted = started(homes[0])[1].report(homes[0].between(12, 20))
    keep, fold = kept_homes.keep, lake.fold
    kept, added = (stumble_once(str(tmp_path / name), seconds) for name in ("kept", "added"))

    def after(stumble, kernel):
        def stumbling(block):
            stumble()
            return kernel(block)

        return stumbling

    monkeypatch.setattr(kept_homes, "keep", lambda kernel, *rest, **more: keep(after(kept, kernel), *rest, **more))
    _, stream = started(homes[1])
    monkeypatch.setattr(lake, "fold", lambda kernel, *rest, **more: fold(after(added, kernel), *rest, **more))
    found = stream.report(homes[1].between(12, 20))
    assert (tmp_path / "kept").exists()
    assert (tmp_path / "added").exists()
    assert [row.to_json() for row in found] == [row.to_json() for row in wanted]


def test_strangers_and_missing_homes_are_the_same(homes, silence):
    """Readings of some of the roster, with others among them, are taken as they are here, and counted so."""
    found = []
    for panel in homes:
        _, stream = started(panel.without(["h00", "h01", "h02"]))
        stream.report(panel.without(["h05"]).between(12, 20))
        found.append(([row.to_json() for row in stream.rows()], stream.quality()))
    assert found[0] == found[1]
    assert found[0][1]["unknown_household"] > 0


def test_a_pattern_plan_in_the_lake_has_its_homes_to_itself(homes):
    """No other pattern plan speaks of its steps, it takes no readings from here, and what it cannot do is said."""
    near, far = homes
    curator, stream = started(far, level="pattern")
    for panel, more in ((near, {"query": dn.Sum()}), (far, {"query": dn.Sum()})):
        with pytest.raises(OverlapError):
            curator.start(
                plan(near, level="pattern", **more),
                history=panel.first(3),
                acknowledge="untested",
                accept_worse=True,
            )
    with refuses(ReadingsError, "lake-readings-elsewhere"):
        stream.report(near.between(12, 16))
    with refuses(PlanError, "lake-weights"):
        started(far, query=dn.Weighted(tuple([1] * 20 + [2] * 20)))


def test_plans_with_noise_in_every_report_stand_beside_each_other(homes, silence):
    """Strong and counting plans over the same homes are not held against each other: in the lake, here or in both,
    each has the rows it has alone, and a household pays for all of them.
    """
    wanted = [{}, {"query": dn.Sum(), "epsilon": "1/2"}]
    alone = [
        [row.to_json() for row in started(homes[0], **more)[1].report(homes[0].between(12, 20))] for more in wanted
    ]
    for panels in ((homes[1], homes[1]), (homes[0], homes[1]), (homes[1], homes[0])):
        curator = dn.Curator.in_memory(dn.Budget(pattern="9", cycle="9"))
        streams = [
            curator.start(plan(panel, **more), history=panel.first(3), acknowledge="untested", accept_worse=True)
            for panel, more in zip(panels, wanted, strict=True)
        ]
        found = [stream.report(panel.between(12, 20)) for stream, panel in zip(streams, panels, strict=True)]
        assert [[row.to_json() for row in rows] for rows in found] == alone
        assert curator.status().pattern[0] == Fraction(3, 2)
        assert curator.status().strong[0] == Fraction(3, 2)


def test_an_engine_is_a_line_of_a_registry(homes):
    """Where a panel lies is told by the name of an engine, which none in memory or in a file has; a record of
    before engines had names is Spark's.
    """
    near, far = homes
    assert near.data.engine is None
    assert engines.named(far.data.engine).name == "spark"
    lake = {"folder": "lake/profiles", "digest": "00"}
    empty = np.zeros((0, HOMES), dtype=np.int64)
    kept = started_plan.stored({"lake": lake}, empty, empty.astype(bool))
    assert kept.to_json() == {"lake": {"engine": "spark", **lake}}
    assert started_plan.stored({}, empty, empty.astype(bool)).to_json() == {}


def test_a_history_in_the_lake_that_may_lie_outside_the_domain_is_refused(homes):
    """A plan of a narrower domain than its history in the lake was imported with is refused, before readings are
    fetched from there.
    """
    _, far = homes
    curator = dn.Curator.in_memory(dn.Budget(pattern="9", cycle="9"))
    wanted, history = plan(far, domain=(-300, 2000)), far.first(3)
    for ask in (curator.explain, curator.start):
        with refuses(ReadingsError, "lake-domain") as caught:
            ask(wanted, history, acknowledge="untested", accept_worse=True)
        assert "domain=plan.domain" in caught.value.hint
    assert curator.streams() == []


def test_batches_from_elsewhere_pass_a_plan_in_the_lake_by(homes, silence):
    """A batch that a service is sent is for the plans whose homes are here; one in the lake is not asked."""
    near, far = homes
    curator, stream = started(far.without(["h00", "h01", "h02", "h03"]))
    here, sent = near.columns(np.arange(4)), intake.Sent(sender="head-end", key="a", content="1" * 64)
    with refuses(StreamError, "no-open-stream"):
        intake.take(curator, sent, here.between(12, 16))
    other = curator.start(plan(near, groups=None), history=here.first(3), acknowledge="untested", accept_worse=True)
    (fate,) = intake.take(curator, sent, near.between(12, 16))
    assert fate.stream == other.plan.hash
    assert intake.known(curator, sent)[0].again
    assert stream.rows() == []


def test_a_plan_that_is_not_started_leaves_nothing_in_the_lake(homes, monkeypatch):
    """Profiles of a plan that is refused at the last moment are gone, those that a killed process has left go with
    the next start, and those of other stores stay.
    """
    _, far = homes
    curator, stream = started(far)
    folder = folder_of(stream)
    dead = folder.with_name(f"{folder.name.partition('-')[0]}-{'0' * 16}-dead")
    other = folder.with_name(f"another-{'0' * 16}-alive")
    for each in (dead, other):
        each.mkdir()
        (each / "diurnal.json").write_text("{}")
    stream.stop()
    before = set(folder.parent.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(starting, "with_forms", lambda record: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            curator.start(
                plan(far, epsilon="2"), history=far.between(12, 24), acknowledge="untested", accept_worse=True
            )
    assert set(folder.parent.iterdir()) == before - {dead}
    assert curator.verify().sound


def test_profiles_that_were_changed_in_the_lake_are_refused(homes):
    """A table of profiles that is another, or gone, is found by verification, and nothing is reported from it."""
    _, far = homes
    curator, stream = started(far)
    assert curator.verify().sound
    (table,) = folder_of(stream).glob("homes-*")
    for file in table.glob("*.parquet"):
        found = pq.read_table(file)
        values = [[value and value + 1 for value in each] for each in found.column("values").to_pylist()]
        column = pa.array(values, found.schema.field("values").type)
        pq.write_table(found.set_column(found.schema.get_field_index("values"), "values", column), file)
    for crc in table.glob(".*.crc"):
        crc.unlink()
    with refuses(StoreError, "lake-profiles-changed"):
        stream.report(far.between(12, 16))
    assert stream.rows() == []
    (finding,) = curator.verify().findings
    assert "in the lake" in finding


def test_steps_in_the_lake_wait_for_a_grace_or_are_closed(homes, silence):
    """With a grace, steps that are still open are refused, as nothing of them is held; closed, they are what they
    are here.
    """
    found = []
    for panel in homes:
        _, stream = started(panel, grace=2)
        if panel is homes[1]:
            with refuses(ReadingsError, "lake-steps-open"):
                stream.report(panel.between(12, 18))
        stream.report(panel.between(12, 18), close=True)
        stream.report(panel.between(22, 26), close=True)
        found.append(([row.to_json() for row in stream.rows()], stream.quality()))
    assert found[0] == found[1]
    # Of those between nobody has sent anything.
    assert [row["step"] for row in found[0][0]][::2] == [*range(12, 18), *range(22, 26)]
