"""Units on the command line: what files are in is said, and what looks wrong is refused, told or trusted."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import diurnal as dn
import support
from diurnal.show.cli import app
from diurnal.study.town import Town

PANEL = Town(homes=20, days=16, gap_rate=0).panel()


def run(*words):
    return CliRunner().invoke(app, [str(each) for each in words])


@pytest.fixture
def city(tmp_path):
    """A store whose plan has a public reference, and a day of its homes in kWh in a column that does not say so."""
    plan = dn.Plan(
        grid=PANEL.grid,
        domain=(0, 8000),
        history=14,
        epsilon="1",
        reference=dn.Reference(profile=[400] * 48),
        **{**support.SLOTWISE, "variation_bound": 500},
    )
    curator = dn.Curator.open(tmp_path / "city.db", support.ROOMY)
    curator.start(plan, history=PANEL.first(14), acknowledge="untested", accept_worse=True)
    curator.close()
    day(tmp_path / "day.csv", "value", np.arange(20))
    return tmp_path


def day(path, column, homes):
    part = PANEL.after(14).columns(homes)
    lines = [
        f"{name},{part.grid.wall(step).isoformat()},{value / 1000:.3f}"
        for step, row in zip(part.steps, part.readings, strict=True)
        for name, value in zip(part.households, row, strict=True)
    ]
    path.write_text("\n".join([f"household,time,{column}", *lines, ""]))


def test_report_takes_the_unit_it_is_told(city):
    """Files whose column does not say its unit are reported with --source-unit kWh, and refused with Wh."""
    words = ("report", city / "day.csv", "--store", city / "city.db")
    assert run(*words).exit_code == 1
    refused = run(*words, "--source-unit", "Wh")
    assert refused.exit_code == 1
    assert "another unit" in refused.stderr
    assert "--source-unit" in refused.stderr
    assert "--trust-units" in refused.stderr
    assert run(*words, "--source-unit", "kWh", "--json").stdout.count('"step"') == 96


def test_report_trusts_units_and_warns(city):
    """With --trust-units readings that look wrong are reported, and people are warned."""
    words = ("report", city / "day.csv", "--store", city / "city.db", "--source-unit", "Wh", "--trust-units")
    done = run(*words)
    assert done.exit_code == 0
    assert "look a thousand times too small" in done.output


def test_a_kept_panel_is_not_told_a_unit(city):
    """A panel that `import` kept knows its unit: --source-unit is refused."""
    dn.save_panel(PANEL, city / "homes.parquet")
    refused = run("report", city / "homes.parquet", "--store", city / "city.db", "--source-unit", "kWh")
    assert refused.exit_code == 1
    assert "A kept panel has its unit" in refused.stderr


def test_watch_warns_of_homes_that_land_one_by_one(city):
    """From the fifth home on, lines and words of `watch` say that units look wrong; with --trust-units none is
    moved aside.
    """
    (city / "inbox").mkdir()
    for number in range(12):
        day(city / "inbox" / f"{number:02}.csv", "wh", np.array([number]))
    words = ("watch", city / "inbox", "--store", city / "city.db", "--once", "--row-minutes", 30, "--trust-units")
    lines = [json.loads(line) for line in run(*words, "--json").stdout.splitlines()]
    assert [line["units"] for line in lines] == [[]] * 4 + [["too small"]] * 8
    assert not any(line["error"] for line in lines)
