"""Verbs for study: `compare`, from raw files to its page."""

import json

import pytest
from typer.testing import CliRunner

from diurnal.show.cli import app


def run(*words):
    return CliRunner().invoke(app, words, prog_name="diurnal", catch_exceptions=False)


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    """A town's raw files: a history, what is reported, and another town's as open data."""
    folder = tmp_path_factory.mktemp("homes")
    for name, seed, days, start in (("before", 1, 12, "2022-07-01"), ("open", 2, 20, "2022-07-01")):
        file = str(folder / f"{name}.csv")
        run("town", "--homes", "20", "--days", str(days), "--seed", str(seed), "--start", start, "--out", file)
    for name in ("before", "open"):
        run(
            *("import", str(folder / f"{name}.csv"), "--zone", "Australia/Sydney", "--domain", "0", "7200"),
            *("--out", str(folder / f"{name}.parquet")),
        )
    return folder


def test_the_verb_compares_and_prints_json(homes):
    """One panel is cut into history and report; every rival is in the numbers, with curves and findings."""
    out = homes / "rivals"
    done = run(
        *("compare", str(homes / "before.parquet"), "--open-data", str(homes / "open.parquet"), "--epsilon", "2"),
        *("--out", str(out), "--draws", "2", "--json"),
    )
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["verb"], said["epsilon"], said["cycles"]) == ("compare", "2", 6)
    assert len(said["scores"]) == 31
    assert said["curves"].keys() >= {"epsilon", "households", "cycles"}
    written = json.loads((out / "numbers.json").read_text())
    assert written["scores"] == said["scores"]
    assert all((out / each).exists() for each in ("comparison.md", "comparison.html", "figures/overview.svg"))


def test_the_verb_takes_a_history_and_refuses_what_is_none(homes):
    """Readings after the panel are no history, the private readings are no open data: a sentence, and no folder."""
    panel, out = str(homes / "before.parquet"), homes / "none"
    for words, expected in (
        (("--history", panel), "Expected a history that ends before the panel begins"),
        (("--open-data", panel), "The open data has readings of the private panel."),
        (("--epsilon", "0"), "epsilon"),
        (("--mean-reading", "nan"), "mean_reading"),
        (("--level", "0"), "mean_reading"),
        (("--domain", "9", "9"), "domain to increase, got (9, 9)"),
        (("--profile-range", "9", "3"), "profile_range"),
        (("--domain", "0", "10"), "readings are outside the domain"),
    ):
        done = run("compare", panel, "--out", str(out), *words)
        assert done.exit_code in (1, 2)
        assert expected in done.output
        assert not out.exists()


def test_numbers_are_checked_before_anything_is_read(tmp_path):
    """A wrong level is said of a file that is not even there: exit code 2."""
    done = run("compare", str(tmp_path / "none.parquet"), "--out", str(tmp_path / "out"), "--level", "-3")
    assert done.exit_code == 2
    assert "mean_reading" in done.output


@pytest.mark.parametrize("verb", ["compare", "reproduce"])
def test_where_nothing_can_be_written_is_said_before_the_work(homes, tmp_path, verb):
    """A file in the place of the folder, or above it, is refused, and stays as it was."""
    (tmp_path / "taken").write_text("mine")
    data = str(homes / "before.parquet") if verb == "compare" else "town"
    for out in (tmp_path / "taken", tmp_path / "taken" / "below"):
        done = run(verb, data, "--out", str(out))
        assert done.exit_code == 1
        assert "Expected a folder, got the file taken." in done.output
    assert (tmp_path / "taken").read_text() == "mine"


def test_hours_need_open_data_of_their_own(homes, tmp_path):
    """The made-up town that stands in has half hours; for another interval the verb says what to give."""
    kept = str(tmp_path / "hours.parquet")
    source = (str(homes / "before.csv"), "--zone", "Australia/Sydney", "--interval", "1h")
    run("import", *source, "--domain", "0", "14400", "--out", kept)
    done = run("compare", kept, "--out", str(tmp_path / "rivals"))
    assert done.exit_code == 2
    assert "--open-data" in done.output
