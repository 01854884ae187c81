"""What is written, whole or not at all, and who is left out; refusals in the words of where it was asked."""

import json
import pathlib
import re
import stat

import pytest
from typer.testing import CliRunner

import diurnal as dn
from diurnal.errors import InputError, texts
from diurnal.readings.panel_export import write
from diurnal.show.cli import app
from diurnal.show.files import check_target, left_out, write_whole
from diurnal.study.town import Town
from support import refuses

SOURCE = pathlib.Path(dn.__file__).parent
HOME = "home-000003"


def run(*words):
    return CliRunner().invoke(app, [str(each) for each in words])


@pytest.fixture(scope="module")
def town():
    """A panel of a few homes."""
    return Town(homes=20, days=30, gap_rate=0).panel()


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """What cannot be written to its end leaves the file that was there, and nothing beside it."""
    path = tmp_path / "rows.csv"
    write_whole(path, "first", private=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no room"):
        write_whole(path, "second")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_had_again_is_no_place_to_write(town, tmp_path):
    """A panel, a store and what is read are refused as a target; a panel may take an older one's place."""
    panel, store, rows = (tmp_path / name for name in ("homes.parquet", "city.db", "rows.csv"))
    dn.save_panel(town, panel)
    dn.Curator.open(store).close()
    rows.write_text("mine")
    for path in (panel, store):
        with refuses(InputError, "output-is-panel-or-store"):
            check_target(path)
    with refuses(InputError, "output-is-input"):
        check_target(rows, [tmp_path / "." / "rows.csv"])
    check_target(rows)
    check_target(panel, panel=True)


def test_a_successor_is_started_without_who_was_erased(town, tmp_path):
    """After an erasure `check`, `plan` and `start` take --without, and the refusal before it says so."""
    panel, store, plan = (tmp_path / name for name in ("homes.parquet", "city.db", "plan.json"))
    dn.save_panel(town, panel)
    asked = ("--epsilon", "0.4", "--domain", 0, 8000, "--history", 10, "--mean-reading", 400)
    assert run("plan", panel, *asked, "--out", plan).exit_code == 0
    begin = ("start", plan, "--history", panel, "--store", store, "--accept-worse", "--acknowledge")
    assert run(*begin, "untested").exit_code == 0
    assert run("stop", "--store", store).exit_code == 0
    assert run("erase", HOME, "--store", store).exit_code == 0
    (tmp_path / "gone.txt").write_text(f"{HOME}\n\n")
    gone = ("--without", f"@{tmp_path / 'gone.txt'}")
    assert run("plan", panel, *asked, "--grace", 1, "--out", plan, *gone).exit_code == 0
    refused = run(*begin, "untested")
    assert refused.exit_code == 1
    assert "--without NAME, or --without @FILE" in refused.stderr
    digest = json.loads(run("check", panel, "--json", *gone).stdout)["digest"]
    assert run(*begin, digest, *gone).exit_code == 0
    assert len(dn.Curator.open(store).streams()) == 2


def test_an_import_leaves_households_out(town, tmp_path):
    """`import --without` keeps a panel that does not have them, and leaves nothing else behind."""
    write(town, tmp_path / "town.csv")
    words = ("import", tmp_path / "town.csv", "--zone", "Australia/Sydney", "--out", tmp_path / "homes.parquet")
    assert run(*words, "--without", HOME).exit_code == 0
    assert dn.open_panel(tmp_path / "homes.parquet").households == town.without([HOME]).households
    assert sorted(path.name for path in tmp_path.iterdir()) == ["homes.parquet", "town.csv"]


def test_a_name_that_is_not_there_is_refused(town, tmp_path):
    """A household to be left out that is not on the roster may be a wrong name, and is refused; so is no file."""
    dn.save_panel(town, tmp_path / "homes.parquet")
    words = ("plan", tmp_path / "homes.parquet", "--epsilon", "1", "--domain", 0, 8000)
    refused = run(*words, "--without", "hoem-000003")
    assert refused.exit_code == 1
    assert "Use names from the panel's roster" in refused.stderr
    with pytest.raises(InputError, match=r"nothing\.txt cannot be read"):
        left_out(town, [f"@{tmp_path / 'nothing.txt'}"])


@pytest.mark.parametrize("surface", ["http", "cli"])
def test_remedies_are_in_the_words_of_where_it_was_asked(surface):
    """Neither the service nor the command line speaks of Python's arguments, methods and modules."""
    python = re.compile(
        r"\b\w+=['(\w.{]|\b(dn|curator|panel|history|verdict|diurnal|Plan)\.[a-z_]+|with_public_bounds\("
    )
    others = {code: text for code, text in texts().items() if "only" not in text and "kind" not in text}
    assert len(others) > 400
    said = {code: text.get(surface, {}).get("remedy", text["remedy"]) for code, text in others.items()}
    assert {code: words for code, words in said.items() if python.search(words)} == {}


def test_a_plan_that_no_store_would_start_is_not_written(town, tmp_path):
    """`plan` refuses groups below the minimum as `start` does, and writes neither plan nor certificate."""
    dn.save_panel(town.columns(range(12)), tmp_path / "few.parquet")
    files = ("--out", tmp_path / "plan.json", "--certificate", tmp_path / "certificate.md")
    words = ("plan", tmp_path / "few.parquet", "--epsilon", "1", "--domain", 0, 8000, *files)
    refused = run(*words)
    assert refused.exit_code == 1
    assert "fewer than 15 households" in refused.stderr
    assert "--minimum-group" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["few.parquet"]
    assert run(*words, "--minimum-group", 12).exit_code == 0
