"""A panel in the lake: its folder, whole or not at all, and whatever is cut from it."""

import json
import pathlib
import shutil
from datetime import datetime, timedelta

import numpy as np
import pyarrow.parquet as pq
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings import kernels
from lakes import BAD, rows_of, same_panel
from support import refuses


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
        same_panel(cut(here), cut(there))
        sums = [kernels.fold(lambda block: block.readings.sum(axis=1), cut(panel), np.add) for panel in town]
        np.testing.assert_array_equal(*sums)
    blocks = list(there.blocks())
    np.testing.assert_array_equal(np.concatenate([block.readings for block in blocks], axis=1), here.readings)


def test_a_folder_is_the_old_panel_or_the_new_one(town, spark, tmp_path):
    """An import takes the place of an older one; one that is refused leaves it; a folder with anything else in it
    is never written into; and a folder is opened by its path alone.
    """
    here = town[0]
    rows = {days: rows_of(here.first(days)) for days in (2, 3)}
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
    same_panel(here.first(3), opened)
    assert len(list((tmp_path / "homes").iterdir())) == 2
    (tmp_path / "homes" / "letter.txt").write_text("dear")
    with refuses(ReadingsError, "spark-folder-taken"):
        make(rows[2])
    (tmp_path / "homes" / "diurnal.json").write_text("{}")
    with refuses(ReadingsError, "lake-panel-damaged"):
        dn.open_panel(tmp_path / "homes")


def test_a_panel_of_an_earlier_release_is_opened_and_a_later_one_refused(spark, tmp_path):
    """The folder that version 1 wrote, kept for ever, is the panel it was; one of a later version is refused."""
    kept = pathlib.Path(__file__).parents[3] / "kept" / "lake" / "1"
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
    frame = spark.createDataFrame(rows_of(town[0]).slice(0, 2000))
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
