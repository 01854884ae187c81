"""Ausgrid's files as published, general consumption and controlled load apart; the real data has them added."""

import gzip

import numpy as np
import pytest

import diurnal as dn
from diurnal.readings import quality
from diurnal.readings.formats.ausgrid import COLUMNS, HALF_HOURS


def published(path, dates, *, quality_column=True):
    """Days of two customers, one with controlled load and one without; capacity and postcode filled in."""
    lines = ["Half hour,Extract" + "," * 51, ",".join([*COLUMNS, *HALF_HOURS] + ["Row Quality"] * quality_column)]
    for customer, parts in (("7", {"GC": 0.1, "CL": 0.02, "GG": 0.5}), ("12", {"GC": 0.3, "GG": 0.0})):
        for category, kwh in parts.items():
            for date in dates:
                values = [f"{kwh + 0.001 * i:.3f}" for i in range(48)]
                lines.append(",".join([customer, "3.78", "2076", category, date, *values] + [""] * quality_column))
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


STEPS = np.arange(48)


@pytest.mark.parametrize("name", ["year.csv", "year.csv.gz"])
@pytest.mark.parametrize("dates", [["1/07/2012", "2/07/2012"], ["1-Jul-12", "2-Jul-12"]])
@pytest.mark.parametrize("quality_column", [False, True])
def test_consumption_is_general_plus_controlled(tmp_path, name, dates, quality_column):
    """A home's consumption is GC + CL; a customer without CL is GC alone; both date styles, plain and gzip."""
    panel = dn.panel(published(tmp_path / name, dates, quality_column=quality_column))
    assert panel.households == ("12", "7")
    assert panel.grid.anchor == "2012-07-01T00:00"
    np.testing.assert_array_equal(panel.readings[:48, 0], 300 + STEPS)
    np.testing.assert_array_equal(panel.readings[:48, 1], 120 + 2 * STEPS)
    assert panel.quality.set_aside == {"another_channel": 4 * 48}


def test_net_and_generation(tmp_path):
    """Net is GC + CL - GG, generation GG alone."""
    path = published(tmp_path / "year.csv", ["1/07/2012"])
    net = dn.panel(dn.read(path, channel="net"), domain=(-5000, 5000))
    np.testing.assert_array_equal(net.readings[:, 1], 120 - 500 + STEPS)
    alone = dn.panel(dn.read(path, channel="generation"))
    np.testing.assert_array_equal(alone.readings[:, 0], STEPS)


def test_a_day_without_its_controlled_load_is_missing(tmp_path):
    """Where a home has controlled load but a day of it is not in the file, that day is missing, not too small."""
    path = published(tmp_path / "year.csv", ["1/07/2012", "2/07/2012"])
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("7,3.78,2076,CL,2/07/2012")]
    path.write_text("\n".join(kept) + "\n")
    panel = dn.panel(path)
    assert panel.present[:48].all()
    assert panel.present[48:, 0].all()
    assert not panel.present[48:, 1].any()
    assert panel.quality.set_aside[quality.OTHER_METER] == 48


def test_half_hours_are_labelled_by_their_end(tmp_path):
    """The column 0:30 is the day's first half hour and 0:00 its last; two yearly files follow one another."""
    for year, day in ((2012, "30/06/2012"), (2013, "1/07/2012")):
        published(tmp_path / f"{year}.csv", [day])
    panel = dn.panel(tmp_path)
    assert panel.n_steps == 96
    assert panel.readings[47, 0] == 347
    assert panel.readings[48, 0] == 300
