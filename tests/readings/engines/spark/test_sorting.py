"""Rows that Spark sorts become the panel that the local engine makes of them, with the same account."""

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diurnal as dn
import support
from diurnal.errors import ReadingsError
from diurnal.study.town import Town
from lakes import BAD, account, rows_of, same_panel, with_gaps
from support import refuses


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
        same_panel(here, there)
        assert account(there) == account(here)
        assert there.groups == {"suburb": ("Hill", "Lake", "Hill")}


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
    same_panel(here, there)
    assert account(there) == account(here)


def test_ausgrid_is_the_same(ausgrid, lake_of, silence):
    """Real homes by a clock that changes: 70 Ausgrid days of 2012 are the same panel, verdict and reports."""
    days = ausgrid.between(48 * 430, 48 * 500)
    here, there = lake_of(rows_of(days), parts=5, read={"unit": "Wh"}, zone="Australia/Sydney")
    same_panel(here, there)
    assert here.calendar
    assert account(there) == account(here)
    assert dn.check(there).to_json() == dn.check(here).to_json()
    assert _reports(here) == _reports(there)


@support.nightly
def test_a_town_of_five_thousand_homes_is_the_same(lake_of, silence):
    """5,000 homes, two million rows, sampled where a check samples: the same panel, verdict and reports."""
    panel = with_gaps(Town(homes=5000, days=9).panel(), seed=2)
    here, there = lake_of(
        rows_of(panel), parts=7, read={"groups": ["suburb"], "unit": "Wh"}, zone="UTC", domain=(-10000, 10000)
    )
    same_panel(here, there)
    assert account(there) == account(here)
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


@pytest.mark.parametrize("what", support.for_now(BAD, "no household", "two values for one time"))
def test_bad_rows_are_refused_alike(what, town, lake_of, spark, tmp_path):
    """What the local engine refuses Spark refuses in the same words, but for the place; no reading is shown, no
    trace of Java, and there is no panel.
    """
    rows = BAD[what](rows_of(town[0].between(0, 96)))
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
