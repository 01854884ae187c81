"""What writers of text files share: exact decimals, moments, and files whose bytes depend on nothing else."""

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.readings.formats.text import check_signs, decimals, moments, open_text
from support import refuses


@given(readings=st.lists(st.integers(-(10**9), 10**9), min_size=1))
def test_decimals_are_exact_and_gaps_blank(readings):
    """Wh as kWh are the same number, with no digit more than needed; what is missing is blank."""
    values, present = np.array(readings), np.arange(len(readings)) % 3 != 1
    texts = decimals(values, present, "Wh", "kWh")
    for reading, there, text in zip(readings, present.tolist(), texts, strict=True):
        assert text == "" if not there else Fraction(text) == Fraction(reading, 1000)
        assert not text.endswith(".")
        assert "." not in text or not text.endswith("0")


def test_energy_becomes_power_by_the_length_of_an_interval():
    """250 Wh of half an hour are half a kW; without a length, or in a unit of something else, it is refused."""
    values, present = np.array([250, 0]), np.array([True, True])
    assert decimals(values, present, "Wh", "kW", hours=Fraction(1, 2)) == ["0.5", "0"]
    assert decimals(values, present, "W", "Wh", hours=Fraction(1, 2)) == ["125", "0"]
    with refuses(ReadingsError, "write-unit-impossible"):
        decimals(values, present, "Wh", "kW")
    with refuses(ReadingsError, "write-unit"):
        decimals(values, present, "litres", "kWh")


def test_moments_are_those_of_the_wall_clock():
    """Half hours that Sydney's clock skips have no moment; of those it shows twice it is the first."""
    grid = dn.Grid(slots=48, zone="Australia/Sydney", anchor="2012-10-07T00:00")
    _, exists = moments(dn.Panel.from_array(np.ones((48, 1), dtype=int), grid=grid))
    assert np.flatnonzero(~exists).tolist() == [4, 5]
    grid = dn.Grid(slots=48, zone="Australia/Sydney", anchor="2013-04-07T00:00")
    seconds, exists = moments(dn.Panel.from_array(np.ones((48, 1), dtype=int), grid=grid))
    assert exists.all()
    assert np.diff(seconds).tolist() == [1800] * 5 + [1800 + 3600] + [1800] * 41


def test_only_net_readings_may_be_negative():
    """A channel that has no negative readings refuses them, and shows none."""
    panel = dn.Panel.from_array(np.array([[5], [-7654]]), grid=dn.Grid(slots=2))
    check_signs(panel, "net")
    with refuses(ReadingsError, "write-negative") as caught:
        check_signs(panel, "consumption")
    assert "7654" not in str(caught.value)


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_the_same_text_is_the_same_bytes(tmp_path, name, monkeypatch):
    """Neither its name nor the time of writing is in a file, gzip or not."""
    found = []
    for folder, now in (("a", 1e9), ("b", 2e9)):
        (tmp_path / folder).mkdir()
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with open_text(tmp_path / folder / name) as file:
            file.write("ä,1\n")
        found.append((tmp_path / folder / name).read_bytes())
    assert found[0] == found[1]
    assert found[0].startswith(b"\x1f\x8b") == name.endswith(".gz")
