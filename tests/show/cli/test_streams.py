"""Verbs about streams: start, report, watch, export, stop; and the units that files are said to be in."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import diurnal as dn
import support
from command import run, said
from diurnal.curator.release import COLUMNS
from diurnal.study.town import Town

PANEL = Town(homes=20, days=16, gap_rate=0).panel()


@pytest.fixture
def city(tmp_path):
    """A store whose plan has a public reference, and a day of its homes in kWh in a column that does not say so."""
    plan = dn.Plan(
        grid=PANEL.grid,
        domain=(0, 8000),
        history=14,
        epsilon="1",
        reference=dn.Reference(profile=[400] * 48),
        **{**support.SLOTWISE, "variation_bound": 500},
    )
    curator = dn.Curator.open(tmp_path / "city.db", support.ROOMY)
    curator.start(plan, history=PANEL.first(14), acknowledge="untested", accept_worse=True)
    curator.close()
    day(tmp_path / "day.csv", "value", np.arange(20))
    return tmp_path


def day(path, column, homes):
    part = PANEL.after(14).columns(homes)
    lines = [
        f"{name},{part.grid.wall(step).isoformat()},{value / 1000:.3f}"
        for step, row in zip(part.steps, part.readings, strict=True)
        for name, value in zip(part.households, row, strict=True)
    ]
    path.write_text("\n".join([f"household,time,{column}", *lines, ""]))


def test_report_takes_the_unit_it_is_told(city):
    """Files whose column does not say its unit are reported with --source-unit kWh, and refused with Wh."""
    words = ("report", city / "day.csv", "--store", city / "city.db")
    run(*words, code=1)
    refused = run(*words, "--source-unit", "Wh", code=1)
    assert "another unit" in refused.stderr
    assert "--source-unit" in refused.stderr
    assert "--trust-units" in refused.stderr
    assert run(*words, "--source-unit", "kWh", "--json").stdout.count('"step"') == 96


def test_report_trusts_units_and_warns(city):
    """With --trust-units readings that look wrong are reported, and people are warned."""
    words = ("report", city / "day.csv", "--store", city / "city.db", "--source-unit", "Wh", "--trust-units")
    assert "look a thousand times too small" in run(*words).output


def test_a_kept_panel_is_not_told_a_unit(city):
    """A panel that `import` kept knows its unit: --source-unit is refused."""
    dn.save_panel(PANEL, city / "homes.parquet")
    refused = run("report", city / "homes.parquet", "--store", city / "city.db", "--source-unit", "kWh", code=1)
    assert "A kept panel has its unit" in refused.stderr


def test_watch_warns_of_homes_that_land_one_by_one(city):
    """From the fifth home on, lines and words of `watch` say that units look wrong; with --trust-units none is
    moved aside.
    """
    (city / "inbox").mkdir()
    for number in range(12):
        day(city / "inbox" / f"{number:02}.csv", "wh", np.array([number]))
    words = ("watch", city / "inbox", "--store", city / "city.db", "--once", "--row-minutes", 30, "--trust-units")
    lines = [json.loads(line) for line in run(*words, "--json").stdout.splitlines()]
    assert [line["units"] for line in lines] == [[]] * 4 + [["too small"]] * 8
    assert not any(line["error"] for line in lines)


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


def test_a_stopped_stream_reports_nothing(started):
    """`stop` says from which step on, and no row comes after it."""
    found = said("stop", "--store", "city.db")
    assert found["end"] == 20 * 48
    assert run("report", "homes.parquet", "--store", "city.db", "--json").stdout == ""


def test_drift_is_watched_on_what_was_released(started):
    """`drift` says how far the pattern has moved, from released rows alone."""
    run("report", "homes.parquet", "--store", "city.db", "--quiet")
    found = said("drift", "--store", "city.db", "--window", "7")["groups"]["all"]
    assert len(found["moves"]) == len(found["cycles"])
    assert found["cycles"]
