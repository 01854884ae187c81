"""The Spark engine as the rest of the code sees it: checks, plans and reports say what they say here."""

import json

import pyarrow.parquet as pq
from typer.testing import CliRunner

import diurnal as dn
from diurnal.show.cli import app
from lakes import rows_of


def test_the_verdict_is_the_same_to_the_last_digit(town):
    """A check in the lake and one here give one JSON and one digest."""
    here, there = (dn.check(panel, periods=["7d"]) for panel in town)
    assert there.to_json() == here.to_json()
    assert there.digest == here.digest


def test_the_command_line_runs_on_spark(town, spark, tmp_path):
    """`import --engine spark` and `check --engine spark` print what they print without it."""
    pq.write_table(rows_of(town[0]), tmp_path / "rows.parquet")
    said = ["--source-unit", "Wh", "--zone", "UTC", "--domain", "-10000", "10000", "--json"]

    def run(*words):
        done = CliRunner().invoke(app, list(map(str, words)))
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    here = run("import", tmp_path / "rows.parquet", "--out", tmp_path / "homes.parquet", *said)
    on = ["--engine", "spark", "--master", "local[2]"]
    there = run("import", tmp_path / "rows.parquet", "--out", tmp_path / "homes", *said, *on)
    assert there["grid"] == here["grid"]
    assert there["quality"]["set_aside"] == here["quality"]["set_aside"]
    checked = [run("check", tmp_path / "homes", "--json", *on), run("check", tmp_path / "homes.parquet", "--json")]
    assert checked[0] == checked[1]
    refused = CliRunner().invoke(app, ["import", "rows.csv", "--out", "homes", *on])
    assert refused.exit_code == 1
    assert "Parquet" in refused.output


def test_the_command_line_starts_and_reports_in_the_lake(town, spark, tmp_path, silence):
    """`plan`, `start`, `report` and `export` of homes in the lake say and write what they say and write of homes in
    a file; a start that is refused leaves no store.
    """
    dn.panel(
        dn.read(rows_of(town[0]), groups=["suburb"], unit="Wh"),
        zone="UTC",
        domain=(-10000, 10000),
        out=tmp_path / "homes.parquet",
    )
    lake, on = town[1].data.where.removeprefix("file://"), ["--engine", "spark"]
    words = "--epsilon 1 --history 10 --groups suburb --variation-bound 900 --minimum-group 2 --mechanism cube"
    words += " --cycle-mechanism cube --domain -10000 10000 --grace 0"
    found = []
    for name, homes, engine in (("here", tmp_path / "homes.parquet", []), ("there", lake, on)):
        plan, store = tmp_path / f"{name}.json", tmp_path / f"{name}.db"

        def run(*given, code=0, engine=engine):
            done = CliRunner().invoke(app, [*map(str, given), *engine])
            assert done.exit_code == code, done.output
            return done.stdout

        run("plan", homes, *words.split(), "--out", plan)
        caps = ("--pattern-cap", 9, "--strong-cap", 9)
        run("start", plan, "--history", homes, "--store", store, *caps, code=1)
        assert not store.exists()
        run(
            "start",
            plan,
            "--history",
            homes,
            "--store",
            store,
            *caps,
            "--acknowledge",
            "untested",
            "--accept-worse",
        )
        rows = run("report", homes, "--store", store, "--json")
        out = tmp_path / f"{name}.csv"
        CliRunner().invoke(app, ["export", "--store", str(store), "--out", str(out)])
        found.append((plan.read_text(), rows, out.read_text()))
    assert found[0] == found[1]
    assert len(found[0][1].splitlines()) > 11 * 48
