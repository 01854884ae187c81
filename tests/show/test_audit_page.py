"""The certificate of an audit, its chart, and the verb that makes it."""

import dataclasses
import json
import math
import re
import shutil
import stat

import pytest
from typer.testing import CliRunner

import diurnal as dn
import support
from diurnal.errors import InputError
from diurnal.private import PrivateDict
from diurnal.show import audit as page
from diurnal.show.cli import app, audit_work
from diurnal.study.audit.attacks import Attack, Outcome, Population, PrivateAttack
from diurnal.study.audit.audit import Effort, number
from diurnal.study.audit.audit import audit as audited
from support import refuses

SMALL = Effort(copies=80, eventful=6)
FEW = {"domain": (0, 40), "grid": dn.Grid(slots=3), "history": 4, "epsilon": "0.2", "minimum_group": 15}
KINDS = {
    "pattern": {**FEW, "level": "pattern", "mechanism": "cube"},
    "strong": {**FEW, **support.SLOTWISE, "domain": (0, 40), "variation_bound": 10},
    "gaussian": {**FEW, "level": "pattern", "mechanism": "gaussian", "delta": "0.000001"},
    "cycle": {**FEW, "query": dn.Share(above=20), "level": "cycle", "history": 0, "mechanism": "laplace"},
}


class Audits(dict):
    """A small audit of a plan of each kind, made when it is asked for."""

    def __missing__(self, kind):
        self[kind] = audited(dn.Plan(**KINDS[kind]), effort=SMALL)
        return self[kind]


@pytest.fixture(scope="module")
def audits_of():
    """Audits by kind of plan."""
    return Audits()


def attack(name="membership", *, kind=Attack, value=0.75):
    """What an attack might have found."""
    outcomes = [
        Outcome(release=release, households=size, value=value, low=0.6, high=0.9)
        for release in ("no noise", "this plan")
        for size in (15, 60, 250)
    ]
    return kind(
        name=name,
        asks="Is this home in the group?",
        knows="What is published.",
        measure="how often the attacker is right",
        chance=0.5,
        certain=1.0,
        outcomes=tuple(outcomes),
        says="It is what it is.",
    )


def broken(result, **changes):
    """The same audit, with a fact that did not hold."""
    bad = dataclasses.replace(result.facts[0], held=False, says="Twice.")
    return dataclasses.replace(result, facts=(*result.facts[1:], bad), **changes)


def pages(folder, result, **more):
    """The page as Markdown and as HTML."""
    page.write(result, folder, **more)
    return [(folder / f"audit.{kind}").read_text() for kind in ("md", "html")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_promise_stands_on_the_page_whole(audits_of, kind, tmp_path):
    """Neighbours, assumptions and every limit are there with the epsilon, and the digest of the plan."""
    result = audits_of[kind]
    promise = result.plan.guarantee()
    markdown, _ = pages(tmp_path, result)
    apart = [said for said in promise.sentences() if not said.startswith(("Assumed", "Not promised"))]
    for said in (*apart, *promise.assumptions, *promise.limits, result.plan.hash):
        assert said in markdown
    assert ("delta 0.000001" in markdown) == (kind == "gaussian")


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_has_its_three_numbers(audits_of, kind, tmp_path):
    """Promised, worked out and measured, for each change that is promised to be hidden."""
    result = audits_of[kind]
    markdown, _ = pages(tmp_path, result)
    words = {
        "pattern": "a periodic component",
        "cycle": "one reported cycle",
        "history": "one cycle of the history",
    }
    for each in result.exact:
        (row,) = re.findall(rf"^\| {words[each.change]} \| (.*) \|$", markdown, flags=re.M)
        cells = row.split(" | ")
        bound = result.sharpest(each.change)
        assert cells[:3] == [number(value) for value in (each.promised, each.worst, bound.found)]
        assert cells[-1] == "kept"
    assert "A measured 0 means that none of the tests tried could tell the data sets apart" in markdown


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_promised_for_the_history_has_its_condition(audits_of, kind, tmp_path):
    """Beside a number for a cycle of the history stands when it holds, on the page and in print."""
    result = audits_of[kind]
    markdown, _ = pages(tmp_path, result)
    tried = any(each.change == "history" for each in result.exact)
    said = "holds if in neither data set a reported reading of the household is clipped, missing or moved out"
    assert (said in markdown) == (said in str(result)) == tried
    assert result.plan.guarantee().brief in str(result)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_was_run(audits_of, kind, tmp_path):
    """How many transcripts, which canaries, how many pairs, and on which plan; and no template is left unfilled."""
    result = audits_of[kind]
    about = "Audited: something."
    markdown, _ = pages(tmp_path, result, about=[about])
    names = {each.canary for each in result.bounds}
    for said in (about, f"Transcripts: {result.transcripts:,}", result.tried.hash[:16], *names):
        assert said in markdown
    assert f"{sum(each.pairs for each in result.exact):,} pairs of neighbours" in markdown
    assert not re.search(r"[{}]", markdown)


def test_a_bound_of_nothing_is_told_of_the_most_transcripts(audits_of):
    """Of bounds that are equal the one that more transcripts were counted for stands on the page."""
    result = audits_of["pattern"]
    few = [dataclasses.replace(each, found=0.0) for each in result.bounds]
    many = dataclasses.replace(few[1], counts=dataclasses.replace(few[1].counts, trials=10**6))
    assert dataclasses.replace(result, bounds=(*few, many, *few)).sharpest("pattern") is many
    large = dataclasses.replace(few[0], found=0.1)
    assert dataclasses.replace(result, bounds=(many, large)).sharpest("pattern") is large


def test_a_promise_about_a_shorter_history_is_told_apart(audits_of, tmp_path):
    """What is promised for the plan's history, and for the shorter one that canaries had."""
    result = audits_of["strong"]
    assert "it was tried with" not in pages(tmp_path, result)[0]
    longer = dataclasses.replace(result, plan=result.plan.with_(history=40))
    own, tried = (each.guarantee().numbers()["history_epsilon"] for each in (longer.plan, longer.tried))
    assert float(own) < float(tried)
    assert (
        f"{own} is promised for the plan's 40 cycles, {tried} for the 4 it was tried with"
        in pages(tmp_path, longer)[0]
    )


def test_a_broken_promise_is_the_first_thing_on_the_page(audits_of, tmp_path):
    """The title says so, what was found comes next, and nothing on the page says that it is kept."""
    result = broken(audits_of["pattern"])
    markdown, html = pages(tmp_path, result)
    assert markdown.startswith("# Audit: THE PROMISE IS BROKEN\n\n- ")
    assert "Twice." in markdown.split("\n\n")[1]
    assert re.search(r"<body>\s*<h1>Audit: THE PROMISE IS BROKEN</h1>\s*<ul><li>[^<]*Twice\.", html)
    for text in (markdown, html):
        assert "Nothing was found" not in text
        assert "nothing was found" not in text
    row = f"| {result.facts[-1].name} | BROKEN | Twice. |"
    assert row in markdown


def test_what_was_not_refused_is_broken(audits_of, tmp_path):
    """A refusal that did not come is among the facts; the others are one sentence."""
    result = audits_of["pattern"]
    refusals = [fact for fact in result.facts if fact.name.startswith(page.REFUSED)]
    bad = dataclasses.replace(refusals[0], held=False, says="It was not refused.")
    markdown, _ = pages(tmp_path, dataclasses.replace(result, facts=(bad, *refusals[1:])))
    assert f"| {bad.name} | BROKEN | It was not refused. |" in markdown
    (kept,) = re.findall(r"refused as it must be: (.*)\.", markdown)
    assert kept.split("; ") == [fact.name.removeprefix(page.REFUSED) for fact in refusals[1:]]


def test_an_audit_that_found_nothing_says_that_it_proves_nothing(audits_of, tmp_path):
    """Found nothing is in the title; that it cannot show a promise kept comes right after."""
    for text in pages(tmp_path, audits_of["strong"]):
        body = text.split("<body>")[-1]
        said = re.findall(r"nothing was found|cannot show that it is kept|What is promised", body)[:3]
        assert said == ["nothing was found", "cannot show that it is kept", "What is promised"]


def test_the_page_asks_for_nothing_from_anywhere(audits_of, tmp_path):
    """All charts are in the HTML file, and no address."""
    _, html = pages(tmp_path, audits_of["strong"], attacks=[attack("slot minimum"), attack()])
    assert html.count("data:image/svg+xml;base64,") == 3
    assert not re.search(r"(?:src|href|url\()[=\"' ]*(?:https?:)?//", html)


def test_attacks_are_in_one_table_and_membership_comes_first(audits_of, tmp_path):
    """Smallest and largest groups, every release; the chart of membership before all others."""
    markdown, _ = pages(tmp_path, audits_of["pattern"], attacks=[attack("absence"), attack()])
    assert "| attack | if nothing | if all | no noise | this plan |" in markdown
    for name in ("absence", "membership"):
        for size in (15, 250):
            assert f"| {name}, {size} homes | 0.50 | 1.00 | 0.75 | 0.75 |" in markdown
        assert f"{name}, 60 homes" not in markdown
    assert markdown.index("figures/membership.svg") < markdown.index("figures/absence.svg")


def test_numbers_make_the_round(audits_of, tmp_path):
    """numbers.json has everything the audit and its attacks know as plain data."""
    result, found = audits_of["strong"], attack()
    page.write(result, tmp_path, attacks=[found])
    read = json.loads((tmp_path / "numbers.json").read_text())
    assert read.pop("attacks") == json.loads(json.dumps([found.to_json()]))
    assert read.pop("software") == dn.__version__
    assert read == json.loads(json.dumps(result.to_json()))
    assert (read["plan"], read["passed"]) == (result.plan.hash, True)


def test_a_page_with_attacks_on_real_homes_is_its_owners_alone(audits_of, tmp_path):
    """It says so, and nobody else may read any of its files; a public one has no such words."""
    result = audits_of["pattern"]
    files = page.write(result, tmp_path / "private", attacks=[attack(), attack("absence", kind=PrivateAttack)])
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    assert page.PRIVATE in (tmp_path / "private" / "audit.md").read_text()
    assert page.PRIVATE not in pages(tmp_path / "public", result, attacks=[attack()])[0]
    assert isinstance(page.numbers(result, [attack(kind=PrivateAttack)])["attacks"][0], PrivateDict)


def test_an_audit_draws_itself(audits_of, tmp_path):
    """A bar for each number, the largest bound by its value; one above the promise says so."""
    result = audits_of["strong"]
    drawn = result.draw(tmp_path / "audit.svg").read_text()
    words = [each.strip() for each in re.findall(r"<!-- (.*?) -->", drawn)]
    assert words.count("promised, at most") == len(result.exact) == 3
    assert not any("above the promise" in each for each in words)
    assert "<img" in result._repr_html_()
    worst = [
        dataclasses.replace(each, worst=worst) for each, worst in zip(result.exact, (math.inf, 3.5, 0), strict=True)
    ]
    drawn = broken(result, exact=tuple(worst)).picture("svg").decode()
    words = [each.strip() for each in re.findall(r"<!-- (.*?) -->", drawn)]
    assert {"everything: above the promise", "3.5: above the promise"} <= set(words)
    with refuses(InputError, "chart-unknown"):
        result.picture("svg", "overview")


# The verb


def run(*words, code=0):
    done = CliRunner().invoke(app, [str(each) for each in words], prog_name="diurnal")
    assert done.exit_code == code, f"{done.exit_code}: {done.output}\n{done.exception!r}"
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A panel, plans for it, and a store in which two of them run."""
    folder = tmp_path_factory.mktemp("audited")
    panel = support.town(n=60, slots=3, cycles=70, high=40)
    dn.save_panel(panel, folder / "homes.parquet")
    for name, fields in KINDS.items():
        plan = dn.Plan(**{**fields, "grid": panel.grid})
        (folder / f"{name}.json").write_text(json.dumps(plan.to_json()))
    auto = dn.Plan(**{**FEW, "grid": panel.grid, "level": "pattern", "mechanism": "auto"})
    (folder / "auto.json").write_text(json.dumps(auto.to_json()))
    curator = dn.Curator.open(folder / "city.db", support.ROOMY)
    for epsilon in ("0.2", "0.1"):
        plan = dn.Plan(**{**KINDS["strong"], "grid": panel.grid, "epsilon": epsilon})
        curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True).report(
            panel.between(12, 24)
        )
    return folder


@pytest.fixture
def quick(made, tmp_path, monkeypatch):
    """A folder with all of it to work in; audits and attacks are small ones."""
    for path in made.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(audit_work, "audited", lambda plan, deep: audited(plan, effort=SMALL))
    town = Population.town
    monkeypatch.setattr(Population, "town", lambda **_: town(homes=30, days=28, crowd=30))

    def attacked(population, *, plan, **_):
        return (attack(kind=Attack if population.made_up else PrivateAttack, value=0.875),)

    monkeypatch.setattr(audit_work, "attacked", attacked)
    return tmp_path


def test_the_verb_audits_a_plan(quick):
    """It writes the page, prints numbers and verdict, and ends with code 0."""
    said = json.loads(run("audit", "pattern.json", "--out", "out", "--no-attacks", "--json").stdout)
    plan = dn.Plan.from_json(json.loads((quick / "pattern.json").read_text()))
    assert (said["verb"], said["plan"], said["passed"], said["private"]) == ("audit", plan.hash, True, False)
    assert said["attacks"] == []
    assert {"audit.html", "audit.md", "numbers.json"} <= {path.name for path in (quick / "out").iterdir()}
    assert "the plan of pattern.json" in (quick / "out" / "audit.md").read_text()
    assert run("audit", "pattern.json", "--out", "out", "--no-attacks", "--quiet").output == ""


def test_a_broken_promise_is_code_1_after_everything_is_written(quick, monkeypatch):
    """Whoever runs it in a pipeline is stopped, and has the page."""
    monkeypatch.setattr(audit_work, "audited", lambda plan, deep: broken(audited(plan, effort=SMALL)))
    done = run("audit", "pattern.json", "--out", "out", "--no-attacks", code=1)
    assert "The promise is broken" in done.stdout
    assert (quick / "out" / "audit.md").read_text().startswith("# Audit: THE PROMISE IS BROKEN")
    assert json.loads((quick / "out" / "numbers.json").read_text())["passed"] is False


def test_the_verb_audits_a_running_stream_and_its_store(quick):
    """The stream's own plan; what the store shows is among the facts; several streams must be told apart."""
    assert "--stream" in run("audit", "city.db", "--out", "out", code=1).stderr
    key = dn.Curator.open("city.db").status().streams[1].plan
    head = dn.Curator.open("city.db").head
    said = json.loads(
        run("audit", "city.db", "--stream", key[:12], "--out", "out", "--no-attacks", "--json").stdout
    )
    assert said["plan"] == key
    assert "the store is as its ledger says" in {fact["name"] for fact in said["facts"]}
    assert f"stream {key[:12]} of the store city.db" in (quick / "out" / "audit.md").read_text()
    assert head in (quick / "out" / "audit.md").read_text()
    assert dn.Curator.open("city.db").head == head


def test_attacks_on_a_town_are_public_and_printed(quick):
    """Without --data nothing is private: an attack's scores are printed, and what they mean is on the page."""
    done = run("audit", "pattern.json", "--out", "out")
    assert "0.88" in done.stdout
    assert "It is what it is." in (quick / "out" / "audit.md").read_text()
    assert "homes of a made-up town" in (quick / "out" / "audit.md").read_text()
    assert stat.S_IMODE((quick / "out" / "audit.md").stat().st_mode) != 0o600


def test_attacks_on_homes_of_ones_own_are_private_and_not_printed(quick):
    """With --data all files are their owner's alone; neither words nor JSON show a score."""
    words = ("audit", "pattern.json", "--data", "homes.parquet", "--open-data", "homes.parquet", "--out", "out")
    done = run(*words)
    assert "for the custodian's eyes" in done.stdout
    assert "It is what it is." not in done.stdout
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in (quick / "out").rglob("*.*"))
    printed = run(*words, "--json").stdout
    said = json.loads(printed)
    assert (said["private"], said["attacks"]) == (True, None)
    assert "0.875" not in printed
    assert "0.88" in (quick / "out" / "audit.md").read_text()
    assert page.PRIVATE in (quick / "out" / "audit.md").read_text()


def test_a_mechanism_still_to_be_chosen_is_chosen_for_a_panel(quick):
    """Without homes it is wrong usage that says what to do; with some it is chosen for these."""
    assert "--data PANEL" in run("audit", "auto.json", "--out", "out", "--no-attacks", code=2).stderr
    said = run("audit", "auto.json", "--data", "homes.parquet", "--out", "out", "--no-attacks", "--json").stdout
    plan = dn.Plan.from_json(json.loads((quick / "auto.json").read_text()))
    assert json.loads(said)["plan"] == dn.choose(plan, dn.open_panel("homes.parquet")).hash


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("nowhere.json",), 2, "The file nowhere.json does not exist."),
        (("homes.parquet",), 2, "--data"),
        (("pattern.json", "--stream", "abc"), 2, "a store with --stream"),
        (("pattern.json", "--open-data", "homes.parquet"), 2, "--data with --open-data"),
        (("pattern.json", "--data", "homes.parquet"), 2, "--open-data"),
        (("city.db", "--stream", "nothing"), 1, "stream"),
    ],
)
def test_what_cannot_be_audited_is_a_sentence(quick, words, code, expected):
    """No page is written, and a hint says what to give instead."""
    assert expected in run("audit", *words, "--out", "out", code=code).stderr
    assert not (quick / "out").exists()


def test_where_nothing_can_be_written_is_said_before_the_work(quick):
    """A file in the folder's place is refused."""
    (quick / "taken").write_text("mine")
    assert "got the file taken" in run("audit", "pattern.json", "--out", "taken", code=1).stderr


def test_a_plan_that_counts_is_not_among_the_attacked(quick):
    """Attacks are on sums: the page says that the audited plan is left out."""
    run("audit", "cycle.json", "--out", "out", "--quiet")
    assert "The audited plan itself is not among them" in (quick / "out" / "audit.md").read_text()
