"""The verbs of the command line, one after the other, as a data engineer runs them."""

import csv
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import diurnal as dn
from diurnal.curator.release import COLUMNS
from diurnal.show.cli import app

JSON_LINES = ("report", "watch")


def run(*arguments, code=0):
    """Run a verb in this process; its standard output, and its standard error."""
    done = CliRunner().invoke(app, [str(each) for each in arguments], prog_name="diurnal")
    assert done.exit_code == code, f"{done.exit_code}: {done.output}\n{done.exception!r}"
    return done


def served(*arguments):
    """What the service prints for programs once it listens, in a process of its own; then it is told to stop."""
    command = [sys.executable, "-c", "from diurnal.show.cli import main; main()", *map(str, arguments), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0, process.stderr.read()
    return json.loads(line)


def said(*arguments):
    """What a verb prints for programs."""
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A town imported, an open one beside it, and a plan."""
    folder = tmp_path_factory.mktemp("town")
    for name, options in (("homes", ("--homes", 40, "--days", 40)), ("open", ("--homes", 30, "--days", 15))):
        seed = "1" if name == "homes" else "2"
        suburbs = folder / f"{name}-suburbs.csv"
        run("town", *options, "--seed", seed, "--out", folder / f"{name}.csv.gz", "--groups", suburbs, "--quiet")
        where = ("--zone", "Australia/Sydney", "--groups", suburbs, "--out", folder / f"{name}.parquet")
        run("import", folder / f"{name}.csv.gz", *where)
    run(
        *("plan", folder / "homes.parquet", "--epsilon", "1", "--history", "20", "--domain", "0", "8000"),
        *("--open-data", folder / "open.parquet", "--out", folder / "plan.json", "--quiet"),
    )
    return folder


@pytest.fixture
def town(made, tmp_path, monkeypatch):
    """A folder of one's own with the town in it, to work in."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def started(town, digest):
    """The same with a stream running in city.db."""
    run("start", "plan.json", "--history", "homes.parquet", "--store", "city.db", "--acknowledge", digest)
    return town


@pytest.fixture(scope="module")
def digest(made):
    """What a check of the town gives to acknowledge."""
    return said("check", made / "homes.parquet")["digest"]


LESS = {
    "demo": ("--homes", "20", "--days", "16"),
    "compare": ("--draws", "2"),
    "audit": ("--no-attacks",),
    "serve": ("--port", "0"),
}
"""What examples that take long are given besides."""


AS_THEY_STAND = {"check", "report", "drift", "status", "ledger"}
"""Verbs whose examples may be run twice, so that they are seen to speak to people too."""


def keys_told():
    """By verb, the keys of its JSON as the docs tell them."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "howto" / "diurnal-toml.md").read_text()
    rows = re.search(r"^\| verb \| keys.*?\n\n", page, flags=re.S | re.M)[0]
    told = {
        verb: set(re.findall(r"`(\w+)`", re.sub(r"\(.*?\)|; with.*", "", keys)))
        for verbs, keys in re.findall(r"^\| (`.*?) \| (.*?) \|$", rows, flags=re.M)
        for verb in re.findall(r"`([\w-]+)`", verbs)
    }
    return {**told, "ledger": told["ledger"] | {"sound", "findings", "not_checked"}}


def test_the_examples_of_the_help_run_and_print_the_keys_of_the_docs(tmp_path, monkeypatch):
    """The example at the end of each verb's help runs, one verb after the other, and with --json it prints the keys
    that the docs tell of that verb, none more and none less.
    """
    names = re.findall(r"^│ ([a-z-]+) +[A-Z]", run("--help").stdout, flags=re.M)
    told = keys_told()
    assert sorted(names) == sorted(told)
    later = [
        "report",
        "watch",
        "export",
        "drift",
        "close",
        "status",
        "ledger",
        "backup",
        "raise-cap",
        "erase",
        "move-out",
    ]
    last = ["token", "serve", "stop", "fence", "demo", "reproduce", "compare", "audit"]
    order = ["town", "import", "check", "plan", "start", *later, *last]
    assert sorted(names) == sorted(order)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "inbox").mkdir()
    found = {}
    for name in order:
        (example,) = re.findall(r"Example: (diurnal .*)", run(name, "--help").stdout)
        given = {"DIGEST": found.get("check", {}).get("digest"), "HEAD": found.get("status", {}).get("head")}
        words = [given.get(word, word) for word in shlex.split(example.strip())]
        assert words[:2] == ["diurnal", name]
        words += LESS.get(name, ())
        if name == "watch":
            shutil.copy(tmp_path / "town.csv.gz", tmp_path / "inbox")
        if name in AS_THEY_STAND:
            assert run(*words[1:]).stdout.strip(), name
        if name == "serve":
            found[name] = served(*words[1:])
        else:
            found[name] = json.loads(run(*words[1:], "--json").stdout.splitlines()[0])
        assert found[name]["version"] == 1
        assert found[name].keys() - {"version", "verb"} == told[name] - {"verb"}, name


def test_check_has_the_keys_others_rely_on(town):
    """`check --json` has the period, the sizes, the shares, the verdict and its digest."""
    found = said("check", "homes.parquet", "--period", "1d")
    keys = "period_slots n_households n_cycles max_abs_correlation median_abs_correlation share_significant"
    assert {*keys.split(), "verdict", "digest", "version", "verb"} <= found.keys()
    assert (found["period_slots"], found["n_households"], found["n_cycles"]) == (48, 40, 40)
    assert said("check", "homes.parquet", "--period", "5d")["period_slots"] == 240


def test_check_draws(town):
    """`check --draw` writes the charts beside the table."""
    run("check", "homes.parquet", "--draw", "check.svg")
    assert (town / "check.svg").read_text().lstrip().startswith("<?xml")


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


def test_a_start_spends_once(started):
    """Starting says what it costs and from when on it reports; again, it is the same stream and spends nothing."""
    before = said("ledger", "--store", "city.db")
    again = said("start", "plan.json", "--history", "homes.parquet", "--store", "city.db")
    after = said("ledger", "--store", "city.db")
    assert again["sentences"] == ["It has been started: this is the same stream, and nothing is spent."]
    assert before == after
    assert after["spent"] == {"pattern": "1", "strong": "1"}
    assert after["remaining"] == {"pattern": "0", "strong": "0"}
    assert [event["kind"] for event in after["events"]] == ["created", "settled", "started"]


def test_a_dry_run_does_nothing(town):
    """`start --dry-run` says what it would mean, and makes no store."""
    found = said("start", "plan.json", "--history", "homes.parquet", "--store", "city.db", "--dry-run")
    assert any("costs 1 of the pattern budget" in sentence for sentence in found["sentences"])
    assert not (town / "city.db").exists()


def test_a_start_wants_the_verdict_read(town):
    """Without the digest of a verdict nothing is started, and the hint speaks of the flag."""
    done = run("start", "plan.json", "--history", "homes.parquet", "--store", "city.db", code=1)
    assert "`diurnal check PANEL`" in done.stderr
    assert "--acknowledge" in done.stderr
    assert "dn." not in done.stderr
    assert not (town / "city.db").exists()


def test_a_start_warns_as_the_plan_did(town):
    """`start` repeats that publishing nothing is predicted to be better, and a dry run does."""
    said_before = run(
        *("plan", "homes.parquet", "--epsilon", "0.001", "--history", "20", "--domain", "0", "8000"),
        *("--mechanism", "laplace", "--cycle-mechanism", "laplace", "--out", "poor.json"),
    ).stdout
    assert "Warning: laplace+laplace is predicted to be worse" in said_before
    words = ("start", "poor.json", "--history", "homes.parquet", "--store", "city.db", "--dry-run")
    assert "Warning: laplace+laplace is predicted to be worse" in run(*words).stdout
    assert said(*words)["warnings"]
    words = ("start", "plan.json", *words[2:])
    assert said(*words)["warnings"] == []


def test_what_only_an_import_can_be_told_is_said_so(town):
    """A verb without the flag that a hint names says to import first."""
    (town / "plain.csv").write_text("household,time,value\na,2012-07-01 00:00,1\nb,2012-07-01 00:30,1\n")
    done = run("plan", "plain.csv", "--epsilon", "1", code=1)
    assert (
        "Hint: Import the readings first: diurnal import FILES --out homes.parquet. For that command: Give --"
        in done.stderr
    )


def test_readings_by_another_clock_are_refused_in_words(started):
    """`report` of a panel with another clock says which, and how to import it for the stream."""
    where = ("--zone", "UTC", "--out", "utc.parquet", "--quiet")
    run("import", "homes.csv.gz", "--source-zone", "Australia/Sydney", *where)
    done = run("report", "utc.parquet", "--store", "city.db", code=1)
    said = "Expected readings like the stream's, with the clock of Australia/Sydney, got the clock of UTC."
    assert said in done.stderr
    assert "--zone Australia/Sydney" in done.stderr
    assert "Grid(" not in done.stderr


def test_rows_that_were_published_before_are_no_success(started):
    """`report` and `watch` say how many rows are new; with none there is no table of the last of them."""
    panel = dn.open_panel("homes.parquet")
    first = run("report", "homes.parquet", "--store", "city.db").stdout
    assert "960 rows of 960 steps; 960 of the 1,920 steps given have none" in first
    again = run("report", "homes.parquet", "--store", "city.db").stdout
    assert "960 rows of 960 steps (none is new, 960 were published before and stay: other readings" in again
    assert "The last of them" in first
    assert "The last of them" not in again
    (started / "inbox").mkdir()
    dn.write(panel.between(960, 1056), started / "inbox" / "a.csv")
    done = run("watch", "inbox", "--store", "city.db", "--once")
    assert "a.csv: 96 rows (none is new, 96 were published before and stay" in done.stdout


def test_reports_are_lines_that_stay_the_same(started):
    """`report --json` is a line a row with the keys others rely on; asked again, the same lines."""
    first = run("report", "homes.parquet", "--store", "city.db", "--json")
    lines = [json.loads(line) for line in first.stdout.splitlines()]
    assert len(lines) == 20 * 48
    assert {*(column.name for column in COLUMNS), "version"} == lines[0].keys()
    assert run("report", "homes.parquet", "--store", "city.db", "--json").stdout == first.stdout
    assert f"head {dn.Curator.open('city.db').head}" in first.stderr


def test_reports_come_in_batches_whose_sum_is_the_whole(started):
    """Reported some cycles at a time, the rows are those of the stream, once each."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    stream = dn.Curator.open("city.db").streams()[0]
    assert [row.step for row in stream.rows()] == list(range(20 * 48, 40 * 48))
    kinds = [event["kind"] for event in said("ledger", "--store", "city.db")["events"]]
    assert kinds.count("reported") == 20


def test_raw_files_can_be_reported(started):
    """`report` takes files of readings as they are, on the stream's own grid."""
    kept = run("report", "homes.parquet", "--store", "city.db", "--json").stdout
    assert run("report", "homes.csv.gz", "--store", "city.db", "--json").stdout == kept


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_what_was_released_can_be_exported(started, form):
    """Exported rows are the released ones, values as the decimals they are."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    assert said("export", "--store", "city.db", "--out", f"rows.{form}")["rows"] == 960
    released = [row.to_json() for row in dn.Curator.open("city.db").streams()[0].rows()]
    if form == "csv":
        with open("rows.csv", newline="") as file:
            found = [{**row, "step": int(row["step"])} for row in csv.DictReader(file)]
    elif form == "jsonl":
        found = [json.loads(line) for line in (started / "rows.jsonl").read_text().splitlines()]
    else:
        found = pq.read_table("rows.parquet").to_pylist()
    assert found == released


def test_what_is_private_is_exported_to_no_table(started):
    """The truth goes on the custodian's page only, which nobody else can read."""
    done = run("export", "--store", "city.db", "--out", "rows.csv", "--truth", "homes.parquet", code=1)
    assert "page only" in done.stderr
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    run("export", "--store", "city.db", "--out", "page.html", "--truth", "homes.parquet")
    assert (started / "page.html").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" in (started / "page.html").read_text()


def test_private_readings_do_not_pass_for_open_data(started):
    """Neither a plan nor a public page is made with the private panel as open data."""
    words = ("plan", "homes.parquet", "--epsilon", "1", "--history", "20", "--open-data", "homes.parquet")
    assert "private panel" in run(*words, "--out", "leak.json", code=2).stderr
    done = run("export", "--store", "city.db", "--out", "leak.html", "--open-data", "homes.parquet", code=1)
    assert "learned from" in done.stderr
    assert not (started / "leak.json").exists()
    assert not (started / "leak.html").exists()


def test_a_private_page_takes_no_other_ones_place(started):
    """The custodian's page is not written where a public one is, nor asked for by a file of defaults."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    run("export", "--store", "city.db", "--out", "page.html")
    public = (started / "page.html").read_text()
    run("export", "--store", "city.db", "--out", "page.html", "--truth", "homes.parquet", code=1)
    assert (started / "page.html").read_text() == public
    for _ in range(2):
        run("export", "--store", "city.db", "--out", "private.html", "--truth", "homes.parquet")
    (started / "diurnal.toml").write_text("[export]\ntruth = 'homes.parquet'\n")
    run("export", "--store", "city.db", "--out", "page.html", code=2)


def test_what_cannot_be_had_again_is_not_written_over(started):
    """A panel, a store or what is read is never the place of an output."""
    before = {path.name: path.read_bytes() for path in started.iterdir() if path.is_file()}
    history = ("--epsilon", "1", "--history", "20")
    for words in (
        ("plan", "homes.parquet", *history, "--out", "homes.parquet"),
        ("plan", "homes.parquet", *history, "--certificate", "open.parquet"),
        ("plan", "homes.parquet", *history, "--out", "city.db"),
        ("export", "--store", "city.db", "--out", "homes.parquet"),
        ("import", "homes.csv.gz", "--zone", "Australia/Sydney", "--out", "homes.csv.gz"),
        ("check", "homes.parquet", "--draw", "homes.parquet"),
    ):
        run(*words, code=1)
    assert {path.name: path.read_bytes() for path in started.iterdir() if path.is_file()} == before


def test_a_refused_start_makes_no_store(town, digest):
    """Caps hold for ever, so a store is made by a start that succeeds, and by nothing else."""
    words = ("start", "plan.json", "--history", "homes.parquet", "--store", "city.db")
    run(*words, code=1)
    for verb in (("status",), ("ledger",), ("fence", "a:1:2")):
        run(*verb, "--store", "city.db", code=1)
    (town / "notes.txt").write_text("mine")
    (town / "notes.txt").chmod(0o644)
    run("status", "--store", "notes.txt", code=1)
    assert (town / "notes.txt").stat().st_mode & 0o777 == 0o644
    assert not (town / "city.db").exists()
    run(*words, "--acknowledge", digest, "--pattern-cap", "2", "--strong-cap", "2")


def test_an_export_says_whose_rows_it_means(started, digest):
    """With several streams in a store, what was published is not replaced by what has just begun."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    key = said("stop", "--store", "city.db")["stream"]
    run("raise-cap", "--pattern", "2", "--strong", "2", "--store", "city.db")
    run("plan", "homes.parquet", "--epsilon", "1", "--history", "20", "--domain", "0", "8000", "--out", "next.json")
    words = ("start", "next.json", "--history", "homes.parquet", "--store", "city.db", "--acknowledge", digest)
    run(*words, "--accept-worse")
    assert "--stream" in run("export", "--store", "city.db", "--out", "rows.csv", code=1).stderr
    assert said("export", "--store", "city.db", "--out", "rows.csv", "--stream", key[:12])["rows"] == 960


def test_raw_files_are_read_by_the_plans_domain(tmp_path, monkeypatch):
    """Readings below zero are reported from a raw file as from a kept panel, where the plan's domain has them."""
    monkeypatch.chdir(tmp_path)
    readings = np.random.default_rng(1).integers(-900, 900, size=(20 * 48, 20))
    names = [f"h{i}" for i in range(20)]
    panel = dn.Panel.from_array(readings, grid=dn.Grid(anchor="2022-07-01T00:00"), households=names)
    plan = dn.Plan(epsilon="1", domain=(-5000, 5000), history=6, grid=panel.grid, level="pattern", mechanism="cube")
    curator = dn.Curator.open("city.db")
    curator.start(plan, history=panel.first(6), acknowledge="untested", accept_worse=True)
    dn.write(panel.after(6), "net.csv")
    run("report", "net.csv", "--store", "city.db", "--quiet")
    expected = dn.Curator.in_memory().start(plan, history=panel.first(6), acknowledge="untested", accept_worse=True)
    rows, others = curator.streams()[0].rows(), expected.report(panel.after(6))
    moves = [
        [later.exact - first.exact for first, later in zip(each, each[48:], strict=False)]
        for each in (rows, others)
    ]
    assert moves[0] == moves[1]


def test_files_that_land_are_taken(started):
    """`watch` takes each file once, with its rows and the head; a bad one is moved aside with its error."""
    panel = dn.open_panel("homes.parquet")
    (started / "inbox").mkdir()
    dn.write(panel.between(960, 1056), started / "inbox" / "a.csv")
    (started / "inbox" / "b.csv").write_text("no readings")
    done = run("watch", "inbox", "--store", "city.db", "--once", "--json")
    taken = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(each["name"], len(each["rows"]), bool(each["error"])) for each in taken] == [
        ("a.csv", 96, False),
        ("b.csv", 0, True),
    ]
    assert taken[0]["head"] == dn.Curator.open("city.db").head
    assert (started / "inbox" / "bad" / "b.csv.error.txt").is_file()


def test_a_ledger_that_was_changed_is_code_1(started):
    """`ledger --verify` is code 0 on what was written, and 1 with what it found on anything else."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    head = said("ledger", "--store", "city.db", "--verify")["head"]
    assert said("ledger", "--store", "city.db", "--head", head)["sound"] is True
    import sqlite3

    with sqlite3.connect("city.db") as connection:
        connection.execute("update rows set value = '7' where step = 1000")
    connection.close()
    done = run("ledger", "--store", "city.db", "--verify", "--json", code=1)
    assert json.loads(done.stdout)["findings"]


def test_a_backup_goes_on_behind_its_fence(started):
    """A copy is refused until it is told the last head that was published, with how many erasures and changes of
    tenancy there were since; or the custodian's own head, which tells.
    """
    for name in ("copy", "other"):
        run("backup", "--store", "city.db", "--out", f"{name}.db")
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    head = dn.Curator.open("city.db").head
    assert "backup" in run("status", "--store", "copy.db", code=1).stderr
    assert "--people" in run("fence", head, "--store", "copy.db", code=1).stderr
    run("fence", head, "--people", "0", "--store", "copy.db")
    run("fence", said("status", "--store", "city.db")["head"], "--store", "other.db")
    for name in ("copy", "other"):
        assert said("status", "--store", f"{name}.db")["head"]


def test_people_can_leave(started):
    """`erase` and `move-out` are known to the ledger, and a name that nobody has is refused."""
    first, second = dn.open_panel("homes.parquet").households[:2]
    run("erase", first, "--store", "city.db")
    assert said("move-out", second, "--from", "2022-07-25T00:00", "--store", "city.db")["step"] == 24 * 48
    kinds = [event["kind"] for event in said("ledger", "--store", "city.db")["events"]]
    assert kinds[-4:] == ["erased", "forgotten", "moved out", "tenancy"]
    run("erase", "nobody", "--store", "city.db", code=1)
    third = dn.open_panel("homes.parquet").households[2]
    run("move-out", third, "--from", "1022-07-25T00:00", "--store", "city.db", code=1)
    assert said("move-out", third, "--from", "2022-07-24T14:00+00:00", "--store", "city.db")["step"] == 24 * 48


def test_a_cap_can_be_raised(started):
    """`raise-cap` allows more, and never less."""
    assert said("raise-cap", "--pattern", "2", "--store", "city.db")["budget"]["pattern"] == "2"
    run("raise-cap", "--pattern", "1", "--store", "city.db", code=1)
    assert said("ledger", "--store", "city.db")["remaining"] == {"pattern": "1", "strong": "0"}


def test_a_stopped_stream_reports_nothing(started):
    """`stop` says from which step on, and no row comes after it."""
    found = said("stop", "--store", "city.db")
    assert found["end"] == 20 * 48
    assert run("report", "homes.parquet", "--store", "city.db", "--json").stdout == ""


def test_a_file_of_defaults_is_read_and_flags_win(started):
    """diurnal.toml holds defaults for all verbs or for one; a flag wins; what no verb understands is refused."""
    (started / "diurnal.toml").write_text('store = "city.db"\n[plan]\nepsilon = "2"\nhistory = 20\n')
    assert said("status")["head"]
    assert said("plan", "homes.parquet")["epsilon"] == "2"
    assert said("plan", "homes.parquet", "--epsilon", "3")["epsilon"] == "3"
    (started / "elsewhere.toml").write_text('[plan]\nepsilon = "5"\nhistory = 20\n')
    done = run("--config", "elsewhere.toml", "plan", "homes.parquet", "--json")
    assert json.loads(done.stdout)["epsilon"] == "5"
    for text in ("stroe = 'x'", "[plna]\nepsilon = '1'", "[plan]\nepsilno = '1'", "= ="):
        (started / "diurnal.toml").write_text(text)
        assert "diurnal.toml" in run("status", code=2).stderr


def test_logs_are_json_lines_on_standard_error(started):
    """With --log-level info a verb logs what it does as JSON lines, public fields only, and prints as before."""
    plain = run("report", "homes.parquet", "--store", "city.db", "--json")
    logged = run("report", "homes.parquet", "--store", "city.db", "--json", "--log-level", "info")
    assert logged.stdout == plain.stdout
    lines = [json.loads(line) for line in logged.stderr.splitlines() if line.startswith("{")]
    assert [line["event"] for line in lines] == ["begun", "reported", "done"]
    assert lines[1].keys() == {"time", "level", "event", "verb", "plan", "rows"}
    run("status", "--store", "city.db", "--log-level", "loud", code=2)


@pytest.mark.parametrize("verb", ["status", "ledger"])
def test_quiet_prints_nothing(started, verb):
    """With --quiet a verb prints nothing but errors."""
    done = run(verb, "--store", "city.db", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


def test_colour_is_for_terminals_only(started):
    """What is printed to a file or a pipe has no escape sequences."""
    for words in (("ledger", "--store", "city.db"), ("plan", "homes.parquet", "--epsilon", "1", "--history", "20")):
        assert "\x1b" not in run(*words).stdout


def test_the_version_can_be_asked_for():
    """`diurnal --version` says which diurnal this is, and needs no verb."""
    assert run("--version").stdout == f"diurnal {dn.__version__}\n"


def test_hints_read_well(town):
    """Flags in a hint stand where arguments stood, without stray spaces."""
    (town / "retailer.csv").write_text("who,when,what\n1,2,3\n")
    said = run("import", "retailer.csv", "--out", "x.parquet", code=1).stderr
    assert "--household, --time, --value and --source-unit" in said


def test_more_history_than_there_is_is_said(town):
    """A plan that learns from more cycles than the panel has is warned of, and can still be made for later."""
    assert "40 whole cycles so far" in run("plan", "homes.parquet", "--epsilon", "1", "--history", "99").stdout


def test_drift_is_watched_on_what_was_released(started):
    """`drift` says how far the pattern has moved, from released rows alone."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    found = said("drift", "--store", "city.db", "--window", "7")["groups"]["all"]
    assert len(found["moves"]) == len(found["cycles"])
    assert found["cycles"]
