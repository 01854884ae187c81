"""The verb `audit`: what it tries, writes, prints and refuses."""

import json
import shutil
import stat

import pytest

import diurnal as dn
import support
from audits import FEW, KINDS, SMALL, attack, broken
from command import run
from diurnal.show import audit as page
from diurnal.show.cli import audit_work
from diurnal.study.audit.attacks import Attack, Population, PrivateAttack
from diurnal.study.audit.audit import audit as audited


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
