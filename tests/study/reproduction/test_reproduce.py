"""The paper reproduced on small made-up towns: figures, the page, the verb."""

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from diurnal.show import document, figure_charts
from diurnal.show import reproduction as page
from diurnal.show.cli import app
from diurnal.study.reproduction import experiments
from diurnal.study.town import Town


@pytest.mark.parametrize("name", figure_charts.FIGURES)
def test_every_figure_is_drawn_the_same_twice(study, name):
    """Each figure is an SVG without date or random names, so that the same result is the same file."""
    drawn = study.picture("svg", name)
    assert drawn == study.picture("svg", name)
    assert drawn.lstrip().startswith(b"<?xml")
    assert study.picture("png", name).startswith(b"\x89PNG")


def test_the_page_is_one_file_that_asks_for_nothing(study, tmp_path):
    """The HTML file has every figure in it and loads nothing; Markdown names figures that are there."""
    files = page.write(study, tmp_path / "paper")
    assert all(path.is_file() for path in files)
    html = (tmp_path / "paper" / "reproduction.html").read_text()
    assert html.count("data:image/svg+xml;base64,") == len(figure_charts.FIGURES)
    assert not re.search(r"(?:src|href|url\()[=\"' ]*(?:https?:)?//", html)
    assert "default-src 'none'" in html
    markdown = (tmp_path / "paper" / "reproduction.md").read_text()
    for target in re.findall(r"\]\(([^)]+)\)", markdown):
        assert (tmp_path / "paper" / target).is_file()
    assert json.loads((tmp_path / "paper" / "numbers.json").read_text()) == json.loads(json.dumps(study.to_json()))


def test_the_page_says_everything(study):
    """Every statement, question and answer is on both pages, and that Corollary 1's promise fails."""
    blocks = tuple(page.blocks(study))
    markdown = document.markdown(blocks).replace("\\", "")
    for each in study.statements:
        assert each.ours in markdown
        assert f"| {each.outcome} |" in markdown
    for question in study.questions:
        assert question.answer in markdown
    assert "its promise fails" in markdown
    rows = [line for line in document.markdown(blocks).splitlines() if line.startswith("|")]
    widths = [len(re.findall(r"(?<!\\)\|", line)) for line in rows]
    heads = [i for i, line in enumerate(rows) if line.startswith("| ---")]
    assert all(widths[i - 1] == widths[i] == widths[i + 1] for i in heads)


def test_words_of_a_page_are_escaped():
    """Nothing in a cell is taken for markup, in HTML or in Markdown."""
    table = document.Table(head=["a|b"], rows=[["<script>|*"]])
    assert document.markdown([table]) == "| a\\|b |\n| --- |\n| <script>\\|\\* |\n"
    assert "&lt;script&gt;|*" in document.html([table], {}, title="<t>")
    assert "<title>&lt;t&gt;" in document.html([table], {}, title="<t>")


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *words], prog_name="diurnal")


def test_the_verb_writes_a_folder_and_prints_json(tmp_path, monkeypatch):
    """`reproduce town` needs no data, and --json has every number behind version and verb."""
    monkeypatch.setattr(experiments, "Town", lambda **_: Town(homes=20, days=42))
    done = run("town", "--out", str(tmp_path / "paper"), "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["version"], said["verb"]) == (1, "reproduce")
    assert set(said) == {
        *("version", "verb", "out", "files", "experiment", "data", "correlation", "ranges"),
        *("relative_error", "gain", "draws", "questions", "statements"),
    }
    assert len(list((tmp_path / "paper").rglob("*.*"))) == len(said["files"]) == 3 + len(figure_charts.FIGURES)


def test_the_verb_tells_people_what_became_of_each_statement(tmp_path, monkeypatch):
    """Without --json it prints a table of statements and the answers."""
    monkeypatch.setattr(experiments, "Town", lambda **_: Town(homes=20, days=42))
    done = run("town", "--out", str(tmp_path / "paper"))
    assert done.exit_code == 0, done.output
    assert "corrected" in done.stdout
    assert "The horizons: The paper's two horizons are swapped" in done.stdout


def test_a_town_takes_no_data(tmp_path):
    """Data beside a made-up town is refused, and no folder is made."""
    done = run("town", "--data", str(tmp_path), "--out", str(tmp_path / "paper"))
    assert done.exit_code == 2
    assert "takes no data" in done.output
    assert not (tmp_path / "paper").exists()


def test_wrong_usage_of_the_verb_is_said(tmp_path):
    """No data, or no such experiment: exit code 2. Data that is not there: 1, with a sentence."""
    assert run("ausgrid", "--out", str(tmp_path)).exit_code == 2
    assert run("paris", "--out", str(tmp_path)).exit_code == 2
    missing = run("ausgrid", "--data", str(tmp_path / "no.csv"), "--out", str(tmp_path / "paper"))
    assert missing.exit_code == 1
    assert "Hint:" in missing.output
    assert not (tmp_path / "paper").exists()


def test_charts_that_cannot_be_drawn_are_said_before_the_work(tmp_path, monkeypatch):
    """Without matplotlib the verb refuses at once, says what to install, and makes no folder."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("town", "--out", str(tmp_path / "paper"))
    assert done.exit_code == 1
    assert "Charts need matplotlib" in done.output
    assert not (tmp_path / "paper").exists()
