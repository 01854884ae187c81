"""Verbs about readings, as a user runs them: what is imported, told and refused."""

import json
import subprocess
import sys

import numpy as np
import pytest

import diurnal as dn
from command import run, said
from diurnal.study.town import Town


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A town of 20 homes over three days, with lists of its meters and calendar."""
    folder = tmp_path_factory.mktemp("files")
    town = Town(homes=20, days=3, gap_rate=0.02).panel()
    dn.write(town, folder / "town.csv")
    homes = town.households
    (folder / "groups.csv").write_text(
        "household,feeder\n" + "".join(f"{name},F{i % 2}\n" for i, name in enumerate(homes))
    )
    (folder / "calendar.csv").write_text("from,until\n2022-07-01 04:00,2022-07-01 05:00\n")
    meters = "".join(f"{name},{homes[i // 2 * 2]}\n" for i, name in enumerate(homes))
    (folder / "meters.csv").write_text("meter,household\n" + meters)
    return folder


def ran(*arguments, code=0):
    """Run the command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "from diurnal.show.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return done


def test_import_prints_its_account(files, tmp_path):
    """`diurnal import` keeps a panel and prints what it recognised, kept and set aside."""
    out = tmp_path / "town.parquet"
    done = ran("import", files / "town.csv", "--zone", "Australia/Sydney", "--out", out)
    panel = dn.open_panel(out)
    assert panel.n_households == 20
    assert "format long (columns household, time, wh)" in done.stdout
    assert f"{panel.quality.kept:,}" in done.stdout
    assert done.stderr == ""


def test_import_prints_json(files, tmp_path):
    """With --json standard output is one object: version, verb, panel, grid, quality."""
    out = tmp_path / "town.parquet"
    done = ran("import", files / "town.csv", "--zone", "Australia/Sydney", "--out", out, "--json")
    said = json.loads(done.stdout)
    assert (said["version"], said["verb"], said["panel"]) == (1, "import", str(out))
    assert said["quality"] == dn.open_panel(out).quality.to_json()


def test_lists_work_from_the_command_line(files, tmp_path):
    """--meters, --groups and --calendar do what the arguments of `dn.panel` do."""
    out = tmp_path / "town.parquet"
    lists = [f"--{name}={files / name}.csv" for name in ("meters", "calendar")]
    homes = sorted({line.split(",")[1] for line in (files / "meters.csv").read_text().split()[1:]})
    groups = tmp_path / "groups.csv"
    groups.write_text("household,feeder\n" + "".join(f"{home},F\n" for home in homes))
    ran(
        "import",
        files / "town.csv",
        "--zone=Australia/Sydney",
        *lists,
        f"--groups={groups}",
        "--out",
        out,
        "--quiet",
    )
    panel = dn.open_panel(out)
    town = Town(homes=20, days=3, gap_rate=0.02).panel()
    both = town.present[:, ::2] & town.present[:, 1::2]
    both[8:10] = False
    np.testing.assert_array_equal(panel.present, both)
    np.testing.assert_array_equal(panel.readings, np.where(both, town.readings[:, ::2] + town.readings[:, 1::2], 0))
    assert panel.calendar == {8, 9}
    assert panel.groups == {"feeder": ("F",) * 10}


def test_a_refusal_says_why_and_leaves_nothing(files, tmp_path):
    """What cannot be imported ends with code 1, a message and a hint on standard error, and no file."""
    out = tmp_path / "town.parquet"
    done = ran("import", files / "town.csv", "--out", out, code=1)
    assert "The time zone of the source is not known" in done.stderr
    assert "Hint: Give --zone Australia/Sydney" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "" or "format long" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_is_code_2(tmp_path):
    """An unknown flag ends with code 2."""
    ran("import", "x.csv", "--out", tmp_path / "x.parquet", "--colour", "red", code=2)


def test_help_has_an_example():
    """The help of a verb ends with a runnable example."""
    assert "Example: diurnal import" in ran("import", "--help").stdout


def test_hints_speak_of_flags(tmp_path):
    """Where a hint names an argument of the library, the command line names its own flag."""
    path = tmp_path / "plain.csv"
    path.write_text("household,time,value\na,2012-07-01 00:00,1\n")
    done = ran("import", path, "--zone", "UTC", "--out", tmp_path / "x.parquet", code=1)
    assert "Hint: Give --source-unit kWh" in done.stderr
    ran(
        "import",
        path,
        "--zone",
        "UTC",
        "--source-unit",
        "kWh",
        "--row-minutes",
        "30",
        "--out",
        tmp_path / "x.parquet",
    )
    done = ran("import", path, "--zone", "UTC", "--unit", "J", "--out", tmp_path / "x.parquet", code=1)
    assert "--source-unit" in done.stderr


def test_check_has_the_keys_others_rely_on(town):
    """`check --json` has the period, the sizes, the shares, the verdict and its digest."""
    found = said("check", "homes.parquet", "--period", "1d")
    keys = "period_slots n_households n_cycles max_abs_correlation median_abs_correlation share_significant"
    assert {*keys.split(), "verdict", "digest", "version", "verb"} <= found.keys()
    assert (found["period_slots"], found["n_households"], found["n_cycles"]) == (48, 40, 40)
    assert said("check", "homes.parquet", "--period", "5d")["period_slots"] == 240


def test_check_draws(town):
    """`check --draw` writes the charts beside the table."""
    run("check", "homes.parquet", "--draw", "check.svg")
    assert (town / "check.svg").read_text().lstrip().startswith("<?xml")
