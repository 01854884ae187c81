"""The verb `plan`: what is promised, chosen, predicted and written before anything is spent."""

import json
import re

import pytest

import diurnal as dn
from command import run, said


def test_a_public_mean_makes_a_plan(town):
    """`plan --mean-reading` takes bounds from the table; in pattern mode a free reference, unless told not to."""
    words = ("plan", "homes.parquet", "--epsilon", "1", "--history", "30", "--mean-reading", "400")
    assert said(*words)["chosen"] == "basis+basis"
    longer = ("plan", "homes.parquet", "--epsilon", "1", "--history", "90", "--mean-reading", "400")
    for more, free in (((), True), (("--no-free",), False)):
        run(*longer, "--level", "pattern", *more, "--out", "free.json")
        assert ("free" in json.loads((town / "free.json").read_text())) == free


def test_a_total_is_split_over_both_layers(town):
    """`plan --total-epsilon` gives both epsilons of a strong plan; with another epsilon beside it, exit code 2."""
    words = ("plan", "homes.parquet", "--total-epsilon", "2", "--history", "30", "--mean-reading", "400")
    found = said(*words)
    assert float(found["epsilon"]) + float(found["cycle_epsilon"]) == 2
    assert run(*words, "--epsilon", "1", code=2).stdout == ""
    assert run(*words, "--cycle-epsilon", "1", code=2).stdout == ""


def test_a_base_load_says_what_it_hides(town):
    """`plan --statistic base-load` is for pattern mode, and says that little more than standby is hidden."""
    words = ("plan", "homes.parquet", "--epsilon", "1", "--history", "30", "--statistic", "base-load")
    found = said(*words, "--level", "pattern", "--mean-reading", "400")
    assert any("standby load is hidden" in sentence for sentence in found["sentences"])
    assert run(*words, code=2).stdout == ""


def test_plan_has_the_keys_others_rely_on(town):
    """`plan --json` has what was chosen, every mechanism with its error and promise, and nothing at all."""
    found = said("plan", "homes.parquet", "--epsilon", "1", "--history", "20", "--level", "pattern")
    assert (found["level"], found["epsilon"], found["chosen"]) == ("pattern", "1", "cube")
    for row in found["mechanisms"]:
        assert {"name", "std", "relative_to_laplace", "promise"} <= row.keys()
    assert found["without_data"]["name"] == "nothing at all"
    assert found["unspent"]["name"] == "eps_z = 0"
    assert said("plan", "homes.parquet", "--epsilon", "1", "--history", "20")["unspent"] is None


def test_plan_prints_the_whole_promise(town):
    """What `plan` prints has every sentence of the guarantee, limits and all, and marks what was chosen."""
    shown = run("plan", "homes.parquet", "--epsilon", "1", "--history", "20").stdout
    flat = " ".join(shown.split())
    promise = said("plan", "homes.parquet", "--epsilon", "1", "--history", "20")["promise"]
    for sentence in promise["sentences"]:
        assert sentence in flat
    assert "> cube+cube" in shown
    assert "nothing at all" in shown


def test_a_plan_is_a_file_that_can_be_started(town):
    """What `plan --out` writes is the plan, mechanisms chosen and bounds from open data in it."""
    plan = dn.Plan.from_json(json.loads((town / "plan.json").read_text()))
    assert (plan.mechanism, plan.cycle_mechanism) == ("basis", "basis")
    assert isinstance(plan.body, dn.Ellipsoid)
    assert isinstance(plan.variation_bound, dn.Ellipsoid)
    assert plan.reference is not None


def test_the_certificate_can_be_filed(town):
    """The certificate has every sentence of the promise, the numbers, the errors, and the plan's digest."""
    found = said(
        *("plan", "homes.parquet", "--epsilon", "1", "--history", "20", "--certificate", "promise.md"),
        *("--open-data", "open.parquet"),
    )
    page = (town / "promise.md").read_text()
    for sentence in found["sentences"]:
        assert sentence in page
    assert found["plan"] in page
    assert "nothing at all" in page
    assert "for the privacy officer" in page


def test_a_certificate_is_known_by_its_number(town, digest):
    """A stream names the number of the certificate that was signed before it was started: when it is, and on its
    page. Of a plan that promises something else the number is another one.
    """
    numbers = {}
    for epsilon in ("1", "0.9"):
        words = ("plan", "homes.parquet", "--epsilon", epsilon, "--history", "20", "--certificate", f"{epsilon}.md")
        run(*words, "--open-data", "open.parquet", "--out", f"{epsilon}.json")
        (numbers[epsilon],) = re.findall(r"^`(\w{64})`$", (town / f"{epsilon}.md").read_text(), flags=re.M)
    assert numbers["1"] != numbers["0.9"]
    words = ("start", "1.json", "--history", "homes.parquet", "--store", "city.db", "--acknowledge", digest)
    assert said(*words, "--dry-run")["certificate_number"] == numbers["1"]
    found = said(*words)
    assert found["certificate_number"] == numbers["1"] != found["stream"]
    assert f"The number of its certificate: {numbers['1']}" in " ".join(run(*words).stdout.split())
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    run("export", "--store", "city.db", "--out", "page.html")
    assert numbers["1"] in (town / "page.html").read_text()


def test_an_epsilon_can_be_asked_for_by_its_error(town):
    """`plan --target-error` takes the least epsilon at which the error is predicted to be that."""
    found = said("plan", "homes.parquet", "--target-error", "400", "--history", "20", "--open-data", "open.parquet")
    chosen = next(row for row in found["mechanisms"] if row["name"] == found["chosen"])
    assert 380 < chosen["error"] <= 400


@pytest.mark.parametrize(
    ("flags", "query"),
    [
        (("--query", "share", "--above", "500", "--level", "cycle"), "share"),
        (("--query", "histogram", "--edges", "200,600", "--level", "cycle"), "histogram"),
        (("--query", "sum", "--groups", "suburb", "--minimum-group", "2"), "sum"),
        (("--body-radius", "2000", "--cycle-radius", "900", "--open-data", "open.parquet"), "mean"),
        (("--variation-bound", "300", "--cycle-mechanism", "gaussian", "--delta", "1e-6"), "mean"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_kind_of_plan_can_be_said(town, flags, query):
    """Counting queries, groups, radii, bounds and Gaussian noise are flags."""
    run("plan", "homes.parquet", "--epsilon", "1", "--history", "20", *flags, "--out", "other.json")
    assert json.loads((town / "other.json").read_text())["query"]["kind"] == query


@pytest.mark.parametrize("known", [(), ("--open-data", "open.parquet")], ids=["", "open data"])
def test_a_mean_reading_counts_beside_a_radius(town, known):
    """A body of a radius of one's own lies around the public day at the public mean that was said."""
    words = ("--epsilon", "1", "--history", "20", "--body-radius", "2000", "--mean-reading", "377", *known)
    run("plan", "homes.parquet", *words, "--out", "other.json")
    plan = json.loads((town / "other.json").read_text())
    assert sum(plan["reference"]["profile"]) / 48 == pytest.approx(377, abs=1)
    assert plan["body"]["reference"] == plan["reference"]["profile"]


def test_more_history_than_there_is_is_said(town):
    """A plan that learns from more cycles than the panel has is warned of, and can still be made for later."""
    assert "40 whole cycles so far" in run("plan", "homes.parquet", "--epsilon", "1", "--history", "99").stdout
