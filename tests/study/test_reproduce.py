"""The paper reproduced on small made-up towns: closed forms, draws, ways to read the paper, the page."""

import json
import math
import re
import sys
from typing import get_args

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import diurnal as dn
from diurnal import Panel
from diurnal.errors import InputError, ReadingsError
from diurnal.periodicity.correlation import correlations
from diurnal.readings.grid import Grid
from diurnal.show import document, figure_charts
from diurnal.show import reproduction as page
from diurnal.show.cli import app
from diurnal.study.reproduction import accuracy, coefficients, experiments, hypotheses, reproduce, statements
from diurnal.study.reproduction.accuracy import Point, Ranges, Series, Setting
from diurnal.study.reproduction.results import reproduction
from diurnal.study.reproduction.statements import Outcome
from diurnal.study.town import Town
from support import refuses

EQUAL = Ranges(profile=1, variation=1, reading=1)


@pytest.fixture(scope="module")
def source():
    return experiments.made_up(Town(homes=24, days=42, gap_rate=0.02))


@pytest.fixture(scope="module")
def study(source):
    return reproduction(source, subsets=3)


def test_theorem_1_has_the_error_of_its_laplace_noise():
    """Sqrt(2) T Df_z over epsilon, n and the largest mean: 0.71 with the figures of 226 homes."""
    setting = Setting(homes=226, slots=48, cycles=365, peak=1274.6)
    expected = math.sqrt(2) * 48 * 3000 / (226 * 1274.6)
    assert accuracy.error("theorem-1", accuracy.STATED, setting, 1) == pytest.approx(expected)
    assert accuracy.error("theorem-1", accuracy.STATED, setting, 5) == pytest.approx(expected / 5)


@pytest.mark.parametrize("cycles", [1, 2, 349, 365])
def test_the_gain_is_the_papers_formula(cycles):
    """Over the split budget Theorem 1 gains K Df_x/Df_z: at least K, since a profile ranges no further."""
    assert accuracy.gain("theorem-1", EQUAL, cycles) == pytest.approx(cycles)
    ranges = Ranges(profile=3, variation=5, reading=8)
    assert accuracy.gain("theorem-1", ranges, cycles) == pytest.approx(cycles * 8 / 3)


def test_the_repair_has_less_noise_than_the_printed_corollary():
    """With equal ranges its variance is 2.5 times below, but for the first cycle, which has no fresh noise."""
    printed, repaired = (accuracy.noise(name, EQUAL, slots=48, cycles=10**6) for name in ("corollary-1", "repair"))
    assert (printed / repaired) ** 2 == pytest.approx(2.5, rel=1e-5)
    assert accuracy.noise("corollary-1", EQUAL, slots=48, cycles=1) == pytest.approx(math.sqrt(2) * 48 * 2)


def _counts(drawn, scale):
    """How often draws fall into tenths of a discrete Laplace variable, and how often they should."""
    edges = np.unique([round(scale * math.log(2 * q)) for q in (0.1, 0.2, 0.3, 0.4)])
    edges = np.concatenate([edges, -edges[::-1]])
    q = math.exp(-1 / scale)
    below = np.array([(q**-e if e < 0 else 1 + q - q ** (e + 1)) / (1 + q) for e in edges.astype(float)])
    share = np.diff(np.concatenate([[0], below, [1]]))
    places = np.searchsorted(edges, drawn, side="left")
    return np.bincount(places, minlength=len(edges) + 1), share * len(drawn)


def test_noise_of_a_study_is_discrete_laplace():
    """Goodness of fit accepts the scale it is told and rejects one that is 30 % off."""
    drawn = accuracy.discrete_laplace(np.random.default_rng(3), 50, (20_000,))
    assert stats.chisquare(*_counts(drawn, 50)).pvalue > 0.001
    assert stats.chisquare(*_counts(drawn, 65)).pvalue < 1e-6


def test_draws_confirm_the_closed_forms(study):
    """Every mechanism as printed, drawn at five epsilons, has the error that the formula gives."""
    assert len(study.points) == 4 * 5
    assert all(point.agrees for point in study.points)
    assert {point.mechanism for point in study.points} == set(accuracy.MECHANISMS)


def test_a_closed_form_that_is_off_is_not_confirmed(source):
    """Noise that is 30 % too large is seen by the draws, whichever mechanism it is."""
    series = Series.of(source.panel)
    wrong = Ranges(**{name: 1.3 * getattr(accuracy.STATED, name) for name in accuracy.RANGES})
    for point in accuracy.points(series, wrong, np.random.default_rng(0)):
        expected = accuracy.error(point.mechanism, accuracy.STATED, series.setting, point.epsilon)
        told = Point(
            mechanism=point.mechanism,
            epsilon=point.epsilon,
            drawn=point.drawn,
            sure=point.sure,
            expected=expected,
        )
        assert not told.agrees


@pytest.mark.parametrize("mechanism", accuracy.MECHANISMS)
def test_sums_are_reported_as_homes_are(source, mechanism):
    """Queries are sums: a panel pooled into one home has the same reports, to the unit."""
    series = Series.of(source.panel)
    own, pooled = (
        accuracy.report(each, mechanism, accuracy.STATED, 1, np.random.default_rng(5))
        for each in (series, series.pooled())
    )
    assert np.array_equal(own, pooled)


def test_a_gap_is_the_homes_own_profile():
    """Where a reading is missing the home's floor mean stands for it, so that its variation there is 0."""
    readings = np.array([[1], [2], [4], [7], [9], [9]])
    present = np.array([[True], [True], [True], [False], [True], [True]])
    panel = Panel.from_array(readings, present=present, grid=Grid(slots=2))
    series = Series.of(panel)
    assert series.profile.tolist() == [[4], [5]]
    assert series.readings[:, 0].tolist() == [1, 2, 4, 5, 9, 9]
    assert series.span == Ranges(profile=1, variation=8, reading=8)


def test_other_homes_are_chosen_so_that_they_spread_as_ours_do(source):
    """1/m = 2/n - 1/N: 24 homes of 40 lie as far from these as 17 of the 24 from the 24."""
    found = coefficients.chance(source.panel, 40, np.random.default_rng(0), subsets=2)
    assert found.alike.homes == round(1 / (2 / 24 - 1 / 40)) == 17
    assert [each.homes for each in found.fewer] == [17, 12, 6]
    more = coefficients.chance(source.panel, 10, np.random.default_rng(0), subsets=2)
    assert more.alike.homes == 12


def test_a_break_in_the_files_is_found():
    """Homes whose levels are dealt anew on one day are least alike around that day."""
    rng = np.random.default_rng(1)
    levels = rng.integers(100, 1000, (2, 30))
    days = np.repeat(levels, [30, 30], axis=0) + rng.integers(0, 50, (60, 30))
    usual, found = coefficients.changes(Panel.from_array(days, grid=Grid(slots=1, minutes=1440)))
    when, alike = found[0]
    assert (when - Grid().wall(0).date()).days == 30
    assert alike < 0.6 < 0.9 < usual


@pytest.mark.parametrize(("name", "days"), [("ausgrid", 365), ("umass", 349)])
def test_the_papers_horizons_are_swapped(name, days):
    """Each data set's days of 48 half hours are what the paper prints for the other one."""
    question = hypotheses.horizons(experiments.EXPERIMENTS[name])
    assert [row.fits for row in question.rows] == ["no", "fits"]
    assert question.rows[1].values == (days * 48, days)


def test_about_200_fold_fits_corollary_1_and_not_theorem_1(study):
    """With equal ranges Theorem 1 gains 365 and Corollary 1 163, which rounds to 200."""
    rows = {row.reading: row for row in study.question("About 200 fold").rows}
    first = rows["Theorem 1, K Df_x/Df_z, equal ranges"]
    printed = rows["Corollary 1 as printed, equal ranges"]
    assert (first.values[0], first.fits) == (365, "no")
    assert printed.values[0] == pytest.approx(365 / math.sqrt(5), rel=2e-3)
    assert printed.fits == "fits"
    # What the answer says: Df_x = Df_z and this Df_w give 200.
    share = float(re.search(r"Df_w = ([0-9.]+) Df_z", study.question("About 200 fold").answer)[1])
    ranges = Ranges(profile=1, variation=share, reading=1)
    assert accuracy.gain("corollary-1", ranges, 365) == pytest.approx(200, rel=0.01)


def test_readings_fit_by_the_papers_figures():
    """Below the bound and near the median fits; above it within two spreads is possible; else it does not."""
    said = experiments.AUSGRID
    spread = coefficients.Choice(homes=9, largest=0, largest_spread=0.02, median=0, median_spread=0.005)
    chance = coefficients.Chance(alike=spread, fewer=())

    def fit(largest, median):
        found = coefficients.Sizes(homes=226, cycles=365, largest=largest, median=median)
        return hypotheses.coefficient_fit(said, found, chance)

    assert fit(0.49, 0.127) == "fits"
    assert fit(0.49, 0.2) == "no"
    assert fit(0.52, 0.126) == "possible"
    assert fit(0.55, 0.126) == "no"


def test_every_statement_has_an_outcome_and_a_reason(study):
    """Each has become something, and says why; Corollary 1's promise is corrected."""
    assert {each.outcome for each in study.statements} <= set(get_args(Outcome))
    assert all(each.says and each.ours and each.why for each in study.statements)
    (corollary,) = [each for each in study.statements if each.says.startswith("Corollary 1")]
    assert corollary.outcome == "corrected"
    assert "364.5" in corollary.ours


def test_a_town_confirms_nothing_of_the_paper_s_data(study):
    """What holds there holds on the town."""
    found = {each.outcome for each in study.statements}
    assert "holds on the town" in found
    assert "confirmed" not in found


@pytest.mark.parametrize(
    ("name", "off", "outcome"),
    [
        ("umass", -0.1, "confirmed"),
        ("umass", 0.19, "explained"),
        ("umass", 0.21, "not reproduced"),
        ("town", 0.19, "holds on the town"),
        ("town", 0.21, "does not hold on the town"),
    ],
)
def test_a_gap_that_other_homes_do_not_explain_is_not_reproduced(name, off, outcome):
    """Within two standard deviations it is explained, beyond them it is not."""
    assert statements._outcome(experiments.EXPERIMENTS[name], off, spread=0.1) == outcome


def test_seasons_are_spoken_of_where_there_are_both(study):
    """42 days of winter have no summer to compare with; a year has."""
    assert coefficients.season_share(study.daily) is None
    (signs,) = [each for each in study.statements if each.says == "c lies between 0 and 1"]
    assert "winter" not in signs.why
    year = Town(homes=24, days=365).panel()
    assert coefficients.season_share(correlations(year)) > 0.8


def test_a_gain_says_over_how_many_days(study):
    """Over the paper's days, and over those at hand where these are others."""
    (fold,) = [each for each in study.statements if "better than the split budget" in each.says]
    assert "973 with the ranges stated here, over the paper's 365 days (112 over the 42 at hand)" in fold.ours
    assert set(study.to_json()["gain"]) == {"42 days", "365 days"}


def test_the_report_is_one_noise_vector_repeated(study):
    """What is reported at epsilon 5, less the truth, is the same vector every day."""
    off = (study.reports - study.series.readings.sum(axis=1)).reshape(-1, 48)
    assert (off == off[0]).all()
    assert off.any()


def test_one_data_set_has_one_page(source, study):
    """The same data gives the same numbers: draws and choices of homes have a fixed seed."""
    assert reproduction(source, subsets=3).to_json() == study.to_json()


def test_a_reproduction_is_private(study):
    """It is computed on readings, so nothing of it passes for public, and its repr shows nothing."""
    assert repr(study) == "<Reproduction, private>"
    for value in (study, study.to_json(), study.questions[0]):
        with pytest.raises(dn.errors.PrivateError):
            dn.private.public(value)


def test_wrong_names_and_missing_data_are_said():
    """There is no other experiment, and the paper's need their data."""
    with refuses(InputError, "experiment-unknown"):
        reproduce("paris")
    with refuses(InputError, "experiment-needs-data"):
        reproduce("umass")


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
