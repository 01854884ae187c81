"""CONTRIBUTING shows how to add to the house: its map is the tree, and every diff it shows applies and passes."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
HOUSE = ROOT / "src" / "diurnal"
TOLD = re.findall(r"^    git apply (\S+)\n    python -m pytest (.+)$", GUIDE, flags=re.M)
"""Every diff, and the tests that the text says to run with it."""


RECIPES = ("format", "mechanism", "baseline", "engine", "query", "level", "column")


def test_there_is_a_diff_for_everything_that_is_added_by_a_recipe():
    """The guide tells of every diff that is kept, and of each of the seven."""
    kept = {path.name for path in (ROOT / "docs" / "contributing").iterdir()}
    assert kept == {f"{name}.diff" for name in RECIPES}
    assert {pathlib.Path(diff).name for diff, _ in TOLD} == kept


@pytest.mark.parametrize(("diff", "tests"), TOLD, ids=[pathlib.Path(diff).stem for diff, _ in TOLD])
def test_a_diff_applies_and_its_contract_holds(diff, tests, tmp_path):
    """Applied to a copy of the tree, with the tests that the text says to run, everything passes."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    ignored = shutil.ignore_patterns("__pycache__", "images", "kept")
    for name in ("src", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    # Not a repository, nor within one: the diff is for files, wherever they are.
    here = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "PYTHONPATH": str(tmp_path / "src")}
    _run(["git", "apply", "-C1", str(ROOT / diff)], tmp_path, here)
    where = "import diurnal; print(diurnal.__file__)"
    assert str(tmp_path) in _run([sys.executable, "-c", where], tmp_path, here)
    chosen = re.findall(r'"[^"]+"|\S+', tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    said = _run([*command, *(word.strip('"') for word in chosen)], tmp_path, here)
    assert re.search(r"^\d+ passed", said, flags=re.M), said


def _run(command, folder, environment):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def _rooms():
    """What the map says of each room: its text, by the room's name; of the files beside the rooms by nothing."""
    drawn = re.search(r"^    src/diurnal/\n(.*?)\n\n", GUIDE, flags=re.S | re.M)[1]
    parts = re.split(r"^      (\w+)/ ", drawn, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


@pytest.mark.parametrize("room", _rooms())
def test_the_map_of_a_room_is_the_room(room):
    """Every file and folder of a room is on the map, and every file that the map names is in the tree."""
    text = _rooms()[room]
    entries = [each for each in (HOUSE / room).iterdir() if not each.name.startswith(("__", "."))]
    files = {each.name for each in entries if each.suffix == ".py"}
    folders = {each.name for each in entries if each.is_dir()}
    named = set(re.findall(r"(?<![\w/])(\w+\.py)", text))
    assert files <= named
    inside = {path.name for folder in folders for path in (HOUSE / room / folder).rglob("*.py")}
    assert named <= files | (inside if room else set())
    assert folders <= (set(re.findall(r"(\w+)/", text)) if room else set(_rooms()))
