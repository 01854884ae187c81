"""The page and charts of a comparison, and the verb that makes them."""

import dataclasses
import itertools
import json
import re
import stat

import pytest
from typer.testing import CliRunner

import support
from diurnal.errors import InputError
from diurnal.show import comparison as page
from diurnal.show import document, rivals
from diurnal.show.cli import app
from diurnal.study.baselines import OURS, PAPER, Split, Window, task_of
from diurnal.study.compare import compare
from diurnal.study.curves import curves
from diurnal.study.standing import PROTECTED

SMALL = (*PAPER, Split(name="one day, Laplace", span="cycle"), Window(), *OURS)


@pytest.fixture(scope="module")
def made():
    """A comparison and its curves, on a few made-up homes."""
    panel = support.town(n=30, slots=8, cycles=24)
    given = {"epsilon": "1", "open_data": support.town(n=20, slots=8, seed=2), "domain": (0, 100)}
    task = task_of(panel.after(8), history=panel.first(8), **given)
    along = curves(
        task, epsilons=("0.1", "1", "10"), sizes=[15, 30, 3000], cycles=[4, 16], baselines=SMALL, draws=3
    )
    return compare(task, draws=3, baselines=SMALL), along


def test_everybody_is_drawn(made):
    """Each chart is drawn, marked as private, with every rival's name in it."""
    scores, along = made
    for name in rivals.CHARTS:
        drawn = (scores if name == "overview" else along).picture("svg", name).decode()
        assert "<svg" in drawn
        words = re.findall(r"<!-- (.*?) -->", drawn)
        assert "private: for the custodian's eyes" in words
        hidden = {"constant, true"} if name != "overview" else set()
        assert {each.name for each in SMALL} - hidden <= {word.strip() for word in words}
    with pytest.raises(InputError, match="no chart"):
        along.picture("svg", "overview")


def test_every_promise_has_words_and_a_panel():
    """What is protected is told in words; all that promise something are drawn in one of the panels."""
    assert list(rivals.HIDES) == list(PROTECTED)
    drawn = [protects for _, group in rivals.PANELS for protects in group]
    assert sorted(drawn) == sorted(set(PROTECTED) - {"all: no data", "nothing"})


@pytest.mark.parametrize("places", [[0.1, 0.1, 0.1], [0, 0.01, 0.5], [0.9, 0.95, 1.0], [0.3]])
def test_names_are_moved_apart(places):
    """No two names at line ends are closer than a gap, none falls below the panel, and their order stays."""
    moved = rivals._apart(places, 0.06)
    assert moved[0] >= 0
    assert all(after - before >= 0.059 for before, after in itertools.pairwise(moved))


def test_the_page_tells_who_does_better_and_under_which_promise(made):
    """Theorem 1 is beaten under a stronger promise, and that is a sentence; curves are looked at as well."""
    scores, along = made
    said = page.findings(scores, along)
    (theorem,) = [sentence for sentence in said if "than Theorem 1" in sentence]
    assert theorem.startswith("Under a stronger promise than Theorem 1")
    assert "nothing at all" in theorem
    better = {s.name for s in scores.scores if s.relative_error < scores.score("Theorem 1").relative_error}
    stronger = {"nothing at all", "split Laplace", "split Gaussian", "repair, Laplace", "strong, chosen"}
    assert {name for name in stronger if f"{name} (" in theorem} == better & stronger


def test_the_page_tells_where_along_a_curve_others_do_better(made):
    """At epsilons where doing nothing beats the plans that are chosen, it says so, by name and place."""
    scores, along = made
    curve = along.curve("epsilon")
    errors = {**curve.errors, "strong, chosen": (0.5, 0.1, 0.1), "nothing at all": (0.2, 0.2, 0.2)}
    errors["split Laplace"] = (0.01, 0.01, 0.01)
    others = dataclasses.replace(along, curves=(dataclasses.replace(curve, errors=errors),))
    (said,) = [each for each in page.findings(scores, others) if re.match("Along.* than strong", each)]
    assert said == (
        "Along epsilon, under a stronger promise than strong, chosen, less error: split Laplace everywhere; "
        "nothing at all at 0.1."
    )


def test_the_page_has_every_score_promise_and_winner(made, tmp_path):
    """Each rival with its promise in full; HTML that asks for nothing; files that are their owner's alone."""
    scores, along = made
    about = page.about(scores, history=8, open_data="other homes")
    files = page.write(scores, along, tmp_path / "rivals", about=about, numbers={"a": 1})
    assert {path.name for path in files} == {
        *("comparison.md", "comparison.html", "numbers.json"),
        *(f"{name}.svg" for name in rivals.CHARTS),
    }
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    html, markdown = ((tmp_path / "rivals" / f"comparison.{kind}").read_text() for kind in ("html", "md"))
    assert html.count("data:image/svg+xml;base64,") == len(rivals.CHARTS)
    assert not re.search(r"(?:src|href|url\()[=\"' ]*(?:https?:)?//", html)
    for score in scores.scores:
        assert f"| {score.name} | {score.promise.protects} |" in markdown
        assert score.promise.sentence.replace("*", "\\*") in markdown
    for text in (html, markdown):
        assert "for the custodian" in text
        assert "30 households" in text
    assert "| hides pattern and any one day, for ever | strong, chosen" in markdown


def test_errors_say_how_sure_they_are(made):
    """A drawn error has its interval behind it; one from a formula has none."""
    scores, _ = made
    cells = dict(zip([s.name for s in scores.scores], map(page._row, scores.scores), strict=True))
    assert " ± " in cells["w-event BD"][2]
    assert " ± " not in cells["Theorem 1"][2]
    assert " ± " in cells["Theorem 1"][4]
    assert " ± " not in cells["nothing at all"][4]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0493, "0.0493"), (-43_833_135, "-4.4e7"), (8.5e-5, "8.5e-5"), (1, "1"), (0, "0")]
)
def test_numbers_have_three_digits(value, shown):
    """Small and large ones with a power of ten; all are told from words by the table."""
    assert page._digits(value) == shown
    assert document.NUMBER.fullmatch(shown)
    assert document.NUMBER.fullmatch(f"{shown} ± {page._rough(8123.4)}")
    assert page._rough(8123.4) == "8,000"
    assert not document.NUMBER.fullmatch("strong, chosen 0.1")


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
    assert len(said["scores"]) == 24
    assert said["curves"].keys() >= {"epsilon", "households", "cycles"}
    written = json.loads((out / "numbers.json").read_text())
    assert written["scores"] == said["scores"]
    assert all((out / each).exists() for each in ("comparison.md", "comparison.html", "figures/overview.svg"))


def test_the_verb_takes_a_history_and_refuses_what_is_none(homes):
    """Readings after the panel are no history, the private readings are no open data: a sentence, and no folder."""
    panel, out = str(homes / "before.parquet"), homes / "none"
    for words, expected in (
        (("--history", panel), "The history goes on after the panel has begun."),
        (("--open-data", panel), "The open data has readings of the private panel."),
        (("--epsilon", "0"), "epsilon"),
    ):
        done = run("compare", panel, "--out", str(out), *words)
        assert done.exit_code in (1, 2)
        assert expected in done.output
        assert not out.exists()


def test_hours_need_open_data_of_their_own(homes, tmp_path):
    """The made-up town that stands in has half hours; for another interval the verb says what to give."""
    kept = str(tmp_path / "hours.parquet")
    source = (str(homes / "before.csv"), "--zone", "Australia/Sydney", "--interval", "1h")
    run("import", *source, "--domain", "0", "14400", "--out", kept)
    done = run("compare", kept, "--out", str(tmp_path / "rivals"))
    assert done.exit_code == 2
    assert "--open-data" in done.output
