"""The page and charts of a comparison, and the verb that makes them."""

import dataclasses
import itertools
import json
import re
import stat

import matplotlib.pyplot as plt
import pytest
from typer.testing import CliRunner

import support
from diurnal.errors import InputError
from diurnal.show import comparison as page
from diurnal.show import document, drawing, rival_charts
from diurnal.show.cli import app
from diurnal.study.baselines import OURS, PAPER, Split, Window, task_of
from diurnal.study.compare import compare
from diurnal.study.curves import curves
from diurnal.study.standing import PROTECTED
from support import refuses

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
    for name in rival_charts.CHARTS:
        drawn = (scores if name == "overview" else along).picture("svg", name).decode()
        assert "<svg" in drawn
        words = re.findall(r"<!-- (.*?) -->", drawn)
        assert "private: for the custodian's eyes" in words
        hidden = {"constant, true"} if name != "overview" else set()
        assert {each.name for each in SMALL} - hidden <= {word.strip() for word in words}
    with refuses(InputError, "chart-unknown"):
        along.picture("svg", "overview")


def test_every_promise_has_words_and_a_panel():
    """What is protected is told in words; all that promise something are drawn in one of the panels."""
    assert list(rival_charts.HIDES) == list(PROTECTED)
    drawn = [protects for _, group in rival_charts.PANELS for protects in group]
    assert sorted(drawn) == sorted(set(PROTECTED) - {"all: no data", "nothing"})


@pytest.mark.parametrize("places", [[0.1, 0.1, 0.1], [0, 0.01, 0.5], [0.9, 0.95, 1.0], [0.3]])
def test_names_are_moved_apart(places):
    """No two names at line ends are closer than a gap, none falls below the panel, and their order stays."""
    moved = drawing.apart(places, 0.06)
    assert moved[0] >= 0
    assert all(after - before >= 0.059 for before, after in itertools.pairwise(moved))


def test_the_page_tells_who_does_better_and_under_which_promise(made):
    """Theorem 1 is beaten under a stronger promise, and that is a sentence; curves are looked at as well."""
    scores, along = made
    said = page.findings(scores, along)
    (theorem,) = [sentence for sentence in said if "a stronger promise than Theorem 1" in sentence]
    assert "nothing at all" in theorem
    better = {s.name for s in scores.scores if s.relative_error < scores.score("Theorem 1").relative_error}
    stronger = {"nothing at all", "split Laplace", "repair, Laplace", "strong, chosen", "eps_z = 0"}
    assert {name for name in stronger if f"{name} (" in theorem} == better & stronger


def moved(scores, name, **errors):
    """The comparison with other errors of one rival."""
    changed = (dataclasses.replace(each, **errors) if each.name == name else each for each in scores.scores)
    return dataclasses.replace(scores, scores=tuple(changed))


def test_the_page_tells_who_does_better_under_the_same_promise(made):
    """Cube, say, where it has less error than the pattern plan that is chosen."""
    scores, along = made
    said = page.findings(moved(scores, "cube", relative_error=1e-6), along)
    (same,) = [each for each in said if each.startswith("Under the same promise as pattern, chosen")]
    assert "cube (1e-06; hides a shift of the pattern; variations exact; continual)" in same


def test_the_page_says_what_delta_a_rival_has(made):
    """Noise that is Gaussian is a promise that may fail: neither stronger nor weaker than pattern and day."""
    scores, along = made
    said = page.findings(moved(scores, "split Gaussian", relative_error=1e-6), along)
    (other,) = [each for each in said if "nor weaker than strong, chosen" in each and each.startswith("Under")]
    assert "split Gaussian (1e-06; hides everything, this horizon, delta 1e-06; continual)" in other
    assert page._row(scores.score("split Gaussian"))[1] == "everything, delta 1e-06"


def test_the_page_tells_who_is_best_at_totals_where_that_is_somebody_else(made):
    """One sentence each for a day's total and the whole one."""
    scores, along = made
    best = moved(scores, "split Laplace", day_error=1e-6, year_error=1e-7)
    said = page.findings(best, along)
    for words, error in (("a day's total", "1e-06"), ("the whole total", "1e-07")):
        (told,) = [each for each in said if each.startswith(f"In {words} strong, chosen")]
        assert f"under a stronger promise than its own, split Laplace ({error};" in told


def test_errors_that_cannot_be_told_apart_are_about_the_same(made):
    """An interval that holds our error is no reason to choose either."""
    scores, along = made
    ours = scores.score("strong, chosen").relative_error
    near = moved(scores, "w-event BD", relative_error=ours, intervals={"relative_error": (ours / 2, 2 * ours)})
    found = [each for each in page.findings(near, along) if not each.startswith("Along")]
    (said,) = [each for each in found if "nor weaker than strong, chosen" in each]
    assert f"w-event BD ({ours:.3g}, about the same;" in said


def test_the_page_tells_where_along_a_curve_others_do_better(made):
    """At epsilons where doing nothing beats the plans that are chosen, it says so, by name and place."""
    scores, along = made
    curve = along.curve("epsilon")
    errors = {**curve.errors, "strong, chosen": (0.5, 0.1, 0.1), "nothing at all": (0.2, 0.2, 0.2)}
    errors["split Laplace"] = (0.01, 0.01, 0.01)
    errors["repair, Laplace"] = (0.3, 0.3, 0.05)
    errors["strong, by slot"] = errors["strong, by block"] = (0.9, 0.9, 0.9)
    within = {"nothing at all": (0.0, 0.15, 0.0)}
    others = dataclasses.replace(along, curves=(dataclasses.replace(curve, errors=errors, within=within),))
    (said,) = [
        each for each in page.findings(scores, others) if re.match("Along.* stronger promise than strong", each)
    ]
    (same,) = [each for each in page.findings(scores, others) if re.match("Along.* as strong", each)]
    assert said == (
        "Along epsilon, under a stronger promise than strong, chosen, less error: split Laplace everywhere; "
        "nothing at all at 0.1, about the same at 1."
    )
    assert same == (
        "Along epsilon, under the same promise as strong, chosen, less error: repair, Laplace at 0.1, 10."
    )


def test_the_page_has_every_score_promise_and_winner(made, tmp_path):
    """Each rival with its promise in full; HTML that asks for nothing; files that are their owner's alone."""
    scores, along = made
    about = page.about(scores, history=8, open_data="other homes")
    files = page.write(scores, along, tmp_path / "rivals", about=about, numbers={"a": 1})
    assert {path.name for path in files} == {
        *("comparison.md", "comparison.html", "numbers.json"),
        *(f"{name}.svg" for name in rival_charts.CHARTS),
    }
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    html, markdown = ((tmp_path / "rivals" / f"comparison.{kind}").read_text() for kind in ("html", "md"))
    assert html.count("data:image/svg+xml;base64,") == len(rival_charts.CHARTS)
    assert not re.search(r"(?:src|href|url\()[=\"' ]*(?:https?:)?//", html)
    for score in scores.scores:
        assert f"| {score.name} | {score.promise.hides} |" in markdown
        assert score.promise.sentence.replace("*", "\\*") in markdown
    for text in (html, markdown):
        assert "for the custodian" in text
        assert "30 households" in text
    assert "| hides a shift of the pattern and any one reported day, for ever | strong, chosen" in markdown


def test_errors_say_how_sure_they_are(made):
    """A drawn error has the wider half of its interval behind it; one from a formula has none."""
    scores, _ = made
    cells = dict(zip([s.name for s in scores.scores], map(page._row, scores.scores), strict=True))
    value, low, high = page.error_of(scores.score("w-event BD"))
    assert value - low > high - value
    assert cells["w-event BD"][2].endswith(f" ± {page._rough(value - low)}")
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
        (("--mean-reading", "nan"), "mean_reading=nan"),
        (("--level", "0"), "mean_reading=0"),
        (("--domain", "9", "9"), "domain=(9, 9)"),
        (("--profile-range", "9", "3"), "profile_range=(9, 3)"),
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
    assert "mean_reading=-3" in done.output


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


def test_the_page_says_who_gets_the_whole_domain(made):
    """Without a range of a profile, Theorem 1 and its kin have the domain's; with one it goes without saying."""
    scores, _ = made
    assert "--profile-range" in page.about(scores, history=8, open_data="a town", whole_domain=True)
    assert "--profile-range" not in page.about(scores, history=8, open_data="a town")


def test_the_page_says_that_ours_are_left_out(made):
    """Where no plan can be started, in words about the data and in the findings."""
    scores, along = made
    few = dataclasses.replace(scores, scores=tuple(each for each in scores.scores if each.name not in page.OURS))
    assert page.LEFT_OUT in page.about(few, history=8, open_data="a town")
    assert page.findings(few, dataclasses.replace(along, curves=())) == [page.LEFT_OUT]
    assert "fewer than 15 households" in page.LEFT_OUT


def test_one_cycle_is_not_cycles(made):
    """Singular and plural."""
    scores = dataclasses.replace(made[0], cycles=1)
    assert "each step of 1 cycle of 8; a history of 1 cycle before" in page.about(
        scores, history=1, open_data="a town"
    )
    assert "1 cycle of 8," in str(scores)


def test_names_that_were_moved_far_have_a_line_to_them(made):
    """In a panel where names crowd, each is led to from its line's end; elsewhere none is."""
    figure, axis = plt.subplots()
    axis.set(yscale="log", ylim=(0.01, 10))
    rival_charts._names(axis, {"a": (0.1, "k"), "b": (0.5, "k")})
    assert not axis.lines
    rival_charts._names(axis, dict.fromkeys("abcd", (0.1, "k")))
    assert len(axis.lines) == 4
    plt.close(figure)


def test_hours_need_open_data_of_their_own(homes, tmp_path):
    """The made-up town that stands in has half hours; for another interval the verb says what to give."""
    kept = str(tmp_path / "hours.parquet")
    source = (str(homes / "before.csv"), "--zone", "Australia/Sydney", "--interval", "1h")
    run("import", *source, "--domain", "0", "14400", "--out", kept)
    done = run("compare", kept, "--out", str(tmp_path / "rivals"))
    assert done.exit_code == 2
    assert "--open-data" in done.output
