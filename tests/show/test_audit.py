"""The certificate of an audit, and its chart."""

import dataclasses
import json
import math
import re
import stat

import pytest

import diurnal as dn
from audits import KINDS, SMALL, attack, broken
from diurnal.errors import InputError
from diurnal.private import PrivateDict
from diurnal.show import audit as page
from diurnal.study.audit.attacks import PrivateAttack
from diurnal.study.audit.audit import audit as audited
from diurnal.study.audit.audit import number
from support import refuses


class Audits(dict):
    """A small audit of a plan of each kind, made when it is asked for."""

    def __missing__(self, kind):
        self[kind] = audited(dn.Plan(**KINDS[kind]), effort=SMALL)
        return self[kind]


@pytest.fixture(scope="module")
def audits_of():
    """Audits by kind of plan."""
    return Audits()


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
    refusals = [fact for fact in result.facts if fact.tried]
    bad = dataclasses.replace(refusals[0], held=False, says="It was not refused.")
    markdown, _ = pages(tmp_path, dataclasses.replace(result, facts=(bad, *refusals[1:])))
    assert f"| {bad.name} | BROKEN | It was not refused. |" in markdown
    (kept,) = re.findall(r"refused as it must be: (.*)\.", markdown)
    assert kept.split("; ") == [fact.tried for fact in refusals[1:]]


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
