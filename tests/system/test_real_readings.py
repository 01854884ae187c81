"""The real data imports whole: totals to the Wh, the correlations of theory section 2, every row accounted for."""

import csv
import gzip
from collections import defaultdict
from datetime import datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import diurnal as dn
from diurnal.readings import quality


@pytest.fixture(scope="module")
def ausgrid_files(data_folder):
    return sorted(Path(data_folder("ausgrid")).glob("*.csv.gz"))


@pytest.fixture(scope="module")
def three_years(ausgrid_files, tmp_path_factory):
    """All of Ausgrid, imported into a file."""
    return dn.panel(ausgrid_files, out=tmp_path_factory.mktemp("ausgrid") / "homes.parquet")


def count_ausgrid(files, category):
    """Total Wh and rows of a category, by the csv module and fractions; clock changes left out."""
    changes = {"2010-10-03", "2011-04-03", "2011-10-02", "2012-04-01", "2012-10-07", "2013-04-07"}
    total = n = closed = 0
    for file in files:
        with gzip.open(file, "rt", newline="") as text:
            rows = csv.reader(text)
            next(rows), next(rows)
            for row in rows:
                if row[3] != category:
                    continue
                style = "%d-%b-%y" if "-" in row[4] else "%d/%m/%Y"
                change = datetime.strptime(row[4], style).date().isoformat() in changes
                for i, value in enumerate(row[5:53]):
                    if change and i in (4, 5):
                        closed += 1
                    else:
                        total += round(float(value) * 1000)
                        n += 1
    return total, n, closed


def test_three_years_of_ausgrid(ausgrid_files, three_years):
    """The three yearly files import whole: 226 homes, 1,096 days, the total to the Wh, all other rows counted."""
    total, n, closed = count_ausgrid(ausgrid_files, "GC")
    panel = three_years
    account = panel.quality
    assert panel.n_households == 226
    assert panel.n_cycles == 1096
    assert panel.grid.anchor == "2010-07-01T00:00"
    assert len(panel.calendar) == 12
    assert sum(int(block.readings.sum()) for block in panel.blocks()) == total
    assert account.kept == account.readings == n
    aside = {"another_channel": n + closed, quality.CALENDAR: closed // 2, quality.NEVER: closed // 2}
    assert account.set_aside == aside
    assert account.gaps == 0


def test_generation_and_net(ausgrid_files):
    """Generation is its own channel, and net is consumption less generation at every step."""
    year = ausgrid_files[-1]
    parts = [
        dn.panel(dn.read(year, channel=channel), domain=(-50_000, 50_000))
        for channel in ("consumption", "generation", "net")
    ]
    assert int(parts[1].readings.sum()) == count_ausgrid([year], "GG")[0]
    np.testing.assert_array_equal(parts[2].readings, parts[0].readings - parts[1].readings)
    assert (parts[2].readings < 0).any()


def count_umass(folder):
    """Half hours of each apartment in Wh: the mean of the rows present, each as long as to its neighbour."""
    readings = {}
    for file in sorted(folder.glob("*.csv.gz")):
        slots = defaultdict(list)
        with gzip.open(file, "rt", newline="") as text:
            rows = [(datetime.fromisoformat(time), round(float(value) * 1e9)) for time, value in csv.reader(text)]
        far = rows[0][0].replace(year=1), rows[-1][0].replace(year=3000)
        times = [far[0], *(time for time, _ in rows), far[1]]
        for (time, value), before, after in zip(rows, times, times[2:], strict=False):
            minutes = int(min(900, abs((time - before).total_seconds()), abs((after - time).total_seconds()))) // 60
            slots[time.strftime("%Y-%m-%d %H"), time.minute // 30].append((value, minutes))
        home = file.name.split("_")[0]
        for slot, parts in slots.items():
            covered = sum(minutes for _, minutes in parts)
            if slot[0] not in ("2015-03-08 02", "2015-11-01 01") and covered >= 15:
                mean = Fraction(sum(value * minutes for value, minutes in parts), covered)
                readings[home, slot] = round(mean / 10**9 * 500)
    return readings


def test_umass_imports_whole(data_folder):
    """The 49 apartments import whole, mixed row lengths and late starters included; totals to the Wh."""
    folder = Path(data_folder("umass", "2015"))
    readings = count_umass(folder)
    panel = dn.panel(folder)
    assert panel.n_households == 49
    assert panel.quality.late == 3
    assert panel.quality.readings == len(readings)
    assert int(panel.readings.sum()) == sum(readings.values())
    homes = {home: sum(value for (name, _), value in readings.items() if name == home) for home in panel.households}
    assert dict(zip(panel.households, panel.readings.sum(axis=0).tolist(), strict=True)) == homes


def test_scottish_homes_import_whole(data_folder):
    """The wide file of 622 homes is recognised and imports whole; its total to the Wh."""
    path = data_folder("edrp", "edrp_622homes_2009-03_2009-05.csv.gz")
    panel = dn.panel(path, zone="Europe/London")
    total = 0
    with gzip.open(path, "rt", newline="") as text:
        rows = csv.reader(text)
        next(rows)
        for row in rows:
            if not row[0].startswith("2009-03-29 01"):
                total += sum(round(float(value) * 1000) for value in row[1:])
    assert panel.n_households == 622
    assert int(panel.readings.sum()) == total
    assert panel.quality.gaps == 0
