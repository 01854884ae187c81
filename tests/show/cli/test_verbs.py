"""What all verbs share: their examples run, what goes wrong is a sentence and a code, and nothing is half done."""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import diurnal as dn
import support
from command import run
from diurnal.show.cli import app
from diurnal.show.cli.verbs import _failure
from diurnal.study.town import Town

PROJECT = tomllib.loads((pathlib.Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
MODULE, FUNCTION = PROJECT["scripts"]["diurnal"].split(":")
SCRIPT = f"import sys; from {MODULE} import {FUNCTION}; sys.exit({FUNCTION}())"
"""What an installer writes into the command `diurnal`."""

DIURNAL = [sys.executable, "-c", SCRIPT]


def ran(*arguments, **more):
    """Run the command in a process of its own."""
    return subprocess.run([*DIURNAL, *map(str, arguments)], capture_output=True, text=True, check=False, **more)


def is_a_sentence(done, code):
    """It ended with a code and words on standard error, and no traceback."""
    assert done.returncode == code, done.stderr
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a stream running, and panels: its own, one of other homes, one on another grid."""
    folder = tmp_path_factory.mktemp("store")
    panel = replace(Town(homes=30, days=30, gap_rate=0).panel(), domain=(0, 50000))
    dn.save_panel(panel, folder / "homes.parquet")
    dn.save_panel(Town(homes=30, days=30, seed=5).panel().columns(range(16)), folder / "fewer.parquet")
    plan = dn.Plan(
        epsilon="1", domain=(0, 50000), history=10, grid=panel.grid, mechanism="cube", cycle_mechanism="cube"
    )
    curator = dn.Curator.open(folder / "city.db")
    curator.start(plan, history=panel.first(10), acknowledge="untested", accept_worse=True)
    (folder / "plan.json").write_text(json.dumps(plan.to_json()))
    return folder


WRONG = {
    "unknown verb": (("chekc", "x"), 2, "No such command"),
    "unknown flag": (("status", "--stroe", "x"), 2, "No such option"),
    "no flag that is needed": (("status",), 2, "--store"),
    "missing file": (("check", "nothing.parquet"), 1, "No file was found"),
    "missing store": (("status", "--store", "nothing.db"), 1, "does not exist"),
    "missing plan": (("start", "no.json", "--history", "homes.parquet", "--store", "c.db"), 2, "does not exist"),
    "no plan": (("start", "city.db", "--history", "homes.parquet", "--store", "c.db"), 2, "is not a plan"),
    "no store": (("status", "--store", "homes.parquet"), 1, "Hint"),
    "epsilon 0": (("plan", "homes.parquet", "--epsilon", "0"), 2, "Expected epsilon above 0"),
    "epsilon of words": (("plan", "homes.parquet", "--epsilon", "much"), 2, "epsilon"),
    "no epsilon": (("plan", "homes.parquet"), 2, "--epsilon"),
    "a level that is none": (("plan", "homes.parquet", "--epsilon", "1", "--level", "weak"), 2, "level"),
    "a query that is none": (("plan", "homes.parquet", "--epsilon", "1", "--query", "median"), 2, "--query"),
    "more history than there is": (
        ("start", "plan.json", "--history", "short.parquet", "--store", "c.db"),
        1,
        "cycles",
    ),
    "an ending that is none": (("export", "--store", "city.db", "--out", "rows.xls"), 1, ".csv"),
    "a stream that is none": (("stop", "--store", "city.db", "--stream", "ffff"), 1, "ffff"),
    "a head that is none": (("fence", "what", "--store", "city.db"), 1, "head"),
    "a folder that is none": (("watch", "nowhere", "--store", "city.db", "--once"), 1, "does not exist"),
    "a place that cannot be written": (
        ("town", "--homes", "2", "--days", "2", "--out", "no/such/town.csv"),
        1,
        "Hint",
    ),
    "a window that is none": (("drift", "--store", "city.db", "--window", "0"), 2, "--window"),
    "a time that is none": (("move-out", "home-000001", "--from", "soon", "--store", "city.db"), 1, "time"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_usage_is_a_sentence(store, tmp_path, what):
    """Each of these ends with its exit code and a sentence that names what is wrong."""
    shutil.copytree(store, tmp_path, dirs_exist_ok=True)
    dn.save_panel(Town(homes=30, days=5).panel(), tmp_path / "short.parquet")
    words, code, about = WRONG[what]
    assert about in is_a_sentence(ran(*words, cwd=tmp_path), code)


def test_a_plan_for_other_households_is_refused(store, tmp_path):
    """A stream takes no readings of homes it does not know, and a budget is not spent by a second plan."""
    dn.save_panel(Town(homes=4, days=3, seed=9).panel(), tmp_path / "others.parquet")
    panel = dn.open_panel(tmp_path / "others.parquet")
    names = dn.Panel.from_array(panel.readings, grid=panel.grid, households=[f"z{i}" for i in range(4)])
    dn.save_panel(names, tmp_path / "others.parquet")
    said = is_a_sentence(ran("report", tmp_path / "others.parquet", "--store", store / "city.db"), 1)
    assert "None of the 4 households is on the roster" in said
    other = (store / "plan.json").read_text().replace('"epsilon": "1"', '"epsilon": "0.5"')
    (tmp_path / "other.json").write_text(other)
    words = ("--history", store / "homes.parquet", "--store", store / "city.db", "--acknowledge", "untested")
    assert "The cap is" in is_a_sentence(ran("start", tmp_path / "other.json", *words), 1)


def test_a_store_of_a_later_version_is_refused(store, tmp_path):
    """A store that a newer diurnal wrote is refused by name of its version."""
    shutil.copy(store / "city.db", tmp_path)
    with sqlite3.connect(tmp_path / "city.db") as connection:
        connection.execute("update facts set value = '99' where name = 'version'")
    connection.close()
    assert "version 99" in is_a_sentence(ran("status", "--store", tmp_path / "city.db"), 1)


NARROW = [
    ("plan", "homes.parquet", "--epsilon", "1", "--history", "10"),
    ("ledger", "--store", "city.db"),
    ("plan", "--help"),
]


@pytest.mark.parametrize("words", NARROW, ids=["plan", "ledger", "help"])
def test_a_narrow_terminal_is_wide_enough(store, words):
    """On a terminal of 40 columns everything is still said, and no table is wider."""
    done = ran(*words, cwd=store, env={**os.environ, "COLUMNS": "40"})
    assert done.returncode == 0
    tables = [line for line in done.stdout.splitlines() if "head " not in line and "most charged" not in line]
    assert max(map(len, tables)) <= 40


def test_a_table_that_nobody_reads_to_its_end_is_a_sentence(store):
    """Words and tables for people end the same way as lines for programs."""
    command = [*DIURNAL, "plan", "homes.parquet", "--epsilon", "1", "--history", "10"]
    with subprocess.Popen(command, cwd=store, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait() == 1
    assert "Output was closed" in said
    assert "Traceback" not in said
    assert "Internal error" not in said


def test_whoever_stops_reading_loses_nothing(store, tmp_path):
    """Standard output closed early is a sentence; the rows that were reported are there, and come again."""
    shutil.copytree(store, tmp_path / "s")
    command = [*DIURNAL, "report", "homes.parquet", "--store", "city.db", "--json"]
    with subprocess.Popen(command, cwd=tmp_path / "s", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        first = process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read().decode()
        assert process.wait() == 1
    assert "Traceback" not in said
    assert "Output was closed" in said
    again = ran("report", "homes.parquet", "--store", "city.db", "--json", cwd=tmp_path / "s")
    assert again.stdout.splitlines()[0] == first.decode().strip()
    assert len(again.stdout.splitlines()) == 20 * 48


@pytest.mark.parametrize("after", support.for_now([0.0, 0.2], 0.0))
def test_an_interrupt_falls_between_two_batches(store, tmp_path, after):
    """Ctrl-C in the middle is 130 and a sentence; the ledger is sound, and run again it gives each row once."""
    shutil.copytree(store, tmp_path / "s")
    command = [*DIURNAL, "report", "homes.parquet", "--store", "city.db", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen(command, cwd=tmp_path / "s", **pipes) as process:
        seen = [process.stdout.readline()]
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate()
    assert process.returncode in (130, 0), said
    assert b"Traceback" not in said
    if process.returncode:
        assert b"nothing is half done" in said
    seen += [line for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]
    assert ran("ledger", "--store", "city.db", "--verify", cwd=tmp_path / "s").returncode == 0
    again = ran("report", "homes.parquet", "--store", "city.db", "--json", cwd=tmp_path / "s").stdout
    assert again.encode().startswith(b"".join(seen))
    steps = [json.loads(line)["step"] for line in again.splitlines()]
    assert steps == list(range(480, 30 * 48))


WAITING = """
import sys, time

class Waiting:
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            print("loading", flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Waiting)
"""


@pytest.mark.parametrize("module", ["diurnal", "numpy", "diurnal.show.cli.stores"])
def test_an_interrupt_while_modules_load_is_told_like_every_other(module):
    """Ctrl-C before there is any command line is 130 and the sentence of every interrupt, and nothing else."""
    command = [sys.executable, "-c", WAITING + SCRIPT, module]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "loading\n"
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate()
    assert process.returncode == 130
    assert (rest, said.strip()) == ("", _failure(KeyboardInterrupt())[1])


@pytest.mark.parametrize("after", support.for_now([0.1, 0.6], 0.1))
def test_an_interrupted_import_leaves_no_half_of_a_file(tmp_path, after):
    """Ctrl-C while importing leaves the whole panel or none, and nothing beside it; the log has its end."""
    dn.write(Town(homes=60, days=60).panel(), tmp_path / "town.csv")
    words = ["import", "town.csv", "--zone", "Australia/Sydney", "--out", "homes.parquet", "--log-level", "info"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen([*DIURNAL, *words], cwd=tmp_path, **pipes) as process:
        process.stderr.readline()
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode in (130, 0), said
    assert b"Traceback" not in said
    # Only a verb that was let end by itself tells its end.
    assert b'"failed"' in said or b'"done"' in said
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"homes.parquet", "town.csv"}
    if "homes.parquet" in left:
        assert dn.open_panel(tmp_path / "homes.parquet").n_households == 60


def test_a_mistake_of_our_own_shows_no_value(store, monkeypatch, capsys):
    """An error that nobody foresaw is told by its kind and place: its text might show a reading."""

    def fail(*arguments, **more):
        raise KeyError("a reading of 12345")

    monkeypatch.setattr("diurnal.curator.curator.Curator.status", fail)
    done = CliRunner().invoke(app, ["status", "--store", str(store / "city.db")])
    assert done.exit_code == 1
    assert "KeyError" in done.stderr
    assert "12345" not in done.output


def test_a_name_cannot_steer_a_terminal(tmp_path):
    """Control characters in the name of a group or a file are shown as what they are."""
    panel = Town(homes=30, days=30, gap_rate=0).panel()
    groups = {"feeder": ["\x1b[31mred" if i % 2 else "plain" for i in range(30)]}
    panel = dn.Panel.from_array(panel.readings, grid=panel.grid, groups=groups, households=panel.households)
    dn.save_panel(panel, tmp_path / "homes.parquet")
    plan = dn.Plan(
        epsilon="1", domain=(0, 50000), history=10, grid=panel.grid, groups="feeder", mechanism="cube",
        cycle_mechanism="cube",
    )  # fmt: skip
    dn.Curator.open(tmp_path / "city.db").start(
        plan, history=panel.first(10), acknowledge="untested", accept_worse=True
    )
    done = ran("report", tmp_path / "homes.parquet", "--store", tmp_path / "city.db")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "[31mred" in done.stdout
    assert "\x1b" not in ran("check", "\x1b[31m.csv").stderr


def test_completion_can_be_installed():
    """The shell's completion is printed by the command line itself."""
    # Which shell it is, is looked up among those that the command runs in; bash stays, as there is more to do.
    words = f"{shlex.join(map(str, DIURNAL))} --show-completion bash; exit $?"
    env = {**os.environ, "SHELL": "/bin/bash", "_TYPER_COMPLETE_TESTING": "1"}
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert "complete" in done.stdout


def served(*arguments):
    """What the service prints for programs once it listens, in a process of its own; then it is told to stop."""
    command = [sys.executable, "-c", "from diurnal.show.cli import main; main()", *map(str, arguments), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0, process.stderr.read()
    return json.loads(line)


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
    page = (pathlib.Path(__file__).parents[3] / "docs" / "howto" / "diurnal-toml.md").read_text()
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


def test_what_only_an_import_can_be_told_is_said_so(town):
    """A verb without the flag that a hint names says to import first."""
    (town / "plain.csv").write_text("household,time,value\na,2012-07-01 00:00,1\nb,2012-07-01 00:30,1\n")
    done = run("plan", "plain.csv", "--epsilon", "1", code=1)
    assert (
        "Hint: Import the readings first: diurnal import FILES --out homes.parquet. For that command: Give --"
        in done.stderr
    )


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


def test_logs_are_json_lines_on_standard_error(started):
    """With --log-level info a verb logs what it does as JSON lines, public fields only, and prints as before."""
    plain = run("report", "homes.parquet", "--store", "city.db", "--json")
    logged = run("report", "homes.parquet", "--store", "city.db", "--json", "--log-level", "info")
    assert logged.stdout == plain.stdout
    lines = [json.loads(line) for line in logged.stderr.splitlines() if line.startswith("{")]
    assert [line["event"] for line in lines] == ["begun", "reported", "done"]
    assert lines[1].keys() == {"time", "level", "event", "verb", "plan", "rows"}
    run("status", "--store", "city.db", "--log-level", "loud", code=2)


def test_the_version_can_be_asked_for():
    """`diurnal --version` says which diurnal this is, and needs no verb."""
    assert run("--version").stdout == f"diurnal {dn.__version__}\n"


def test_hints_read_well(town):
    """Flags in a hint stand where arguments stood, without stray spaces."""
    (town / "retailer.csv").write_text("who,when,what\n1,2,3\n")
    said = run("import", "retailer.csv", "--out", "x.parquet", code=1).stderr
    assert "--household, --time, --value and --source-unit" in said
