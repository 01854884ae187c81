"""The paper's data sets, read in every way the paper may mean."""

import numpy as np
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.study.reproduction import experiments
from diurnal.study.town import Town


def test_umass_apartments_are_read_in_every_way(tmp_path):
    """Half hours as means of rows, slots of a quarter, and every second row; homes that start late left out."""
    town = Town(homes=12, days=30, minutes=15, zone="America/New_York", start="2015-01-01", gap_rate=0).panel()
    present = town.present.copy()
    present[:960, 3] = False
    late = town.following(town.readings, present=present, first_step=0)
    dn.write(late, tmp_path / "apartments", format="umass")
    found = experiments.source("umass", tmp_path / "apartments")
    assert (found.panel.n_households, found.panel.grid.slots) == (11, 48)
    sizes = {name: (panel.n_households, panel.grid.slots) for name, panel in found.readings.items()}
    assert sizes["all apartments, three of them from 23 January on"] == (12, 48)
    assert sizes["slots of 15 minutes"] == (11, 96)
    quarters = found.readings["slots of 15 minutes"]
    picked = found.readings["a half hour is its first row, not the mean"]
    assert np.array_equal(picked.readings, quarters.readings[::2])
    assert picked.grid.minutes == 30


def test_an_ausgrid_file_without_generation_is_judged_by_consumption(tmp_path):
    """What the file does not have is left out; what it is judged by must be there."""
    town = Town(homes=12, days=30, gap_rate=0)
    dn.write(town.panel(), tmp_path / "homes.csv", format="ausgrid")
    found = experiments.source("ausgrid", tmp_path / "homes.csv")
    assert found.panel.n_households == 12
    assert "generation" not in found.readings
    assert "consumption, slots by standard time all year" in found.readings
    with pytest.raises(ReadingsError):
        experiments.source("ausgrid", tmp_path / "nowhere.csv")
