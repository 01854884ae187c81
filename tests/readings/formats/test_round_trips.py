"""One suite for every format: what is written in it and read back is the same panel."""

import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diurnal as dn
from diurnal.readings.importing import FORMATS

ZONES = {
    "UTC": ["2012-07-01"],
    "Australia/Sydney": ["2012-07-01", "2012-10-06", "2013-04-06"],
    "America/New_York": ["2015-03-07", "2015-10-31"],
    "Europe/London": ["2009-03-28", "2009-10-24"],
    "Australia/Lord_Howe": ["2012-10-06", "2013-04-06"],
}
"""Days before the clocks change, some by half an hour."""

CASES = {
    "ausgrid": {"file": "panel.csv", "minutes": [30]},
    "umass": {"file": "panel", "minutes": [15, 30, 60]},
    "long": {"file": "panel.csv.gz", "minutes": [15, 30, 60]},
    "long, Parquet": {"file": "panel.parquet", "minutes": [15, 30, 60]},
    "wide": {"file": "panel.csv", "minutes": [15, 30, 60]},
    "nem12": {"file": "panel.csv", "minutes": [15, 30]},
    "greenbutton": {"file": "panel.xml.gz", "minutes": [15, 30, 60]},
}

NAMES = st.from_regex(r"[a-cX-Z0-9][a-cX-Z0-9 ._-]{0,6}[a-cX-Z0-9]|[a-cX-Z0-9]", fullmatch=True)


def clock_steps(zone, start, minutes, n_steps):
    """The steps that a zone's clock skips or doubles, asked of zoneinfo minute by minute."""
    here = ZoneInfo(zone)
    closed = set()
    for minute in range(0, n_steps * minutes, 5):
        wall = datetime.fromisoformat(start) + timedelta(minutes=minute)
        first, second = (wall.replace(tzinfo=here, fold=fold).utcoffset() for fold in (0, 1))
        if first != second:
            closed.add(minute // minutes)
    return closed


@st.composite
def panels(draw, minutes, units=("Wh",), groups=False, low=0):
    """Small panels around clock changes, with gaps and silent homes."""
    zone = draw(st.sampled_from(sorted(ZONES)))
    start = draw(st.sampled_from(ZONES[zone]))
    minutes = draw(st.sampled_from(minutes))
    days = draw(st.integers(1, 3))
    n_steps = days * 1440 // minutes
    homes = sorted(draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    unit = draw(st.sampled_from(units))
    # Below 1 MWh, which no row may reach, export neither.
    high = draw(st.sampled_from([2, 1000, 5000] if unit == "Wh" else [2, 999]))
    readings = rng.integers(low and -high, high, size=(n_steps, len(homes)))
    present = rng.random(readings.shape) < draw(st.sampled_from([0.02, 0.5, 0.97, 1.0]))
    closed = clock_steps(zone, start, minutes, n_steps)
    noon = n_steps // days // 2
    present[noon, 0] = True
    return dn.Panel.from_array(
        readings,
        present=present,
        households=homes,
        grid=dn.Grid(
            slots=1440 // minutes,
            minutes=minutes,
            unit=unit,
            zone=zone,
            anchor=f"{start}T00:00",
        ),
        groups={"suburb": [f"S{i % 2}" for i in range(len(homes))]} if groups else None,
        calendar=closed,
    )


def assert_same(back, panel):
    """Two panels are the same, bit for bit."""
    assert back.households == panel.households
    assert back.grid == panel.grid
    assert back.first_step == panel.first_step
    assert back.calendar == panel.calendar
    assert dict(back.groups) == dict(panel.groups)
    np.testing.assert_array_equal(back.present, panel.present)
    np.testing.assert_array_equal(back.readings, panel.readings)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("signed", [False, True])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_what_is_written_is_read_back(case, signed, data):
    """A panel written in a format, recognised and read back is the same: gaps, clock changes and export."""
    name = case.partition(",")[0]
    units = ("Wh", "kWh") if name == "long" else ("Wh",)
    panel = data.draw(panels(CASES[case]["minutes"], units, groups=name == "long", low=-1 if signed else 0))
    grid = panel.grid
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / CASES[case]["file"]
        net = {"channel": "net"} if signed and name in ("ausgrid", "nem12", "greenbutton") else {}
        dn.write(panel, path, format=name, **net)
        options = {"groups": ["suburb"]} if name == "long" else net
        if name in ("ausgrid", "umass"):
            options = {"zone": grid.zone, **net}
        homes = dn.read(path, **options)
        assert homes.format.name == name
        until = datetime.fromisoformat(grid.anchor) + timedelta(minutes=grid.minutes * panel.n_steps)
        back = dn.panel(
            homes,
            zone=grid.zone,
            interval=grid.minutes,
            unit=grid.unit,
            domain=(-5000, 5000),
            # A file by another clock has whole days of that clock: more than the panel's.
            anchor=grid.anchor if name == "nem12" else None,
            until=until.isoformat() if name == "nem12" else None,
        )
    assert_same(back, panel)
    assert back.quality.rows == back.quality.kept + sum(back.quality.set_aside.values())


@given(panel=panels([15, 30, 60], ("Wh", "kWh"), groups=True))
@settings(max_examples=40, deadline=None)
def test_a_kept_panel_is_the_panel(panel):
    """A panel kept as Parquet and opened is the same, whole, in blocks, cut, selected and without a household."""
    with tempfile.TemporaryDirectory() as folder:
        kept = dn.save_panel(panel, Path(folder) / "panel.parquet")
        assert_same(kept, panel)
        assert_same(kept.first(1), panel.first(1))
        assert_same(kept.after(1), panel.after(1))
        assert_same(kept.select(suburb="S0"), panel.select(suburb="S0"))
        assert_same(kept.closing([3, 7]), panel.closing([3, 7]))
        if panel.n_households > 1:
            assert_same(kept.without(panel.households[:1]), panel.without(panel.households[:1]))
        blocks = list(kept.blocks())
        np.testing.assert_array_equal(np.hstack([block.readings for block in blocks]), panel.readings)
        assert sum((block.households for block in blocks), ()) == panel.households


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_writer_and_a_docstring(name):
    """Each format is documented and writes as well as reads."""
    assert FORMATS[name].__doc__
    assert FORMATS[name].write is not dn.Format.write


@pytest.mark.parametrize("case", CASES)
def test_lists_of_meters_and_groups_work_with_every_format(case, tmp_path):
    """In every format, a list of meters adds two meters to a household, and a list of groups says where it is."""
    name = case.partition(",")[0]
    readings = np.arange(96).reshape(48, 2)
    panel = dn.Panel.from_array(readings, households=["m1", "m2"])
    path = tmp_path / CASES[case]["file"]
    dn.write(panel, path, format=name)
    (tmp_path / "meters.csv").write_text("meter,household\nm1,home\nm2,home\n")
    (tmp_path / "groups.csv").write_text("household,suburb\nhome,Hill\n")
    back = dn.panel(
        dn.read(path, **({"zone": "UTC"} if name in ("ausgrid", "umass") else {})),
        zone="UTC",
        anchor="2000-01-01T00:00",
        until="2000-01-02T00:00",
        meters=tmp_path / "meters.csv",
        groups=tmp_path / "groups.csv",
    )
    assert back.households == ("home",)
    assert back.groups == {"suburb": ("Hill",)}
    np.testing.assert_array_equal(back.readings[:, 0], readings.sum(axis=1))
