"""What is handed out is whole: a wheel that works by itself, a source archive that makes it again, one version."""

import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email.parser import HeaderParser

import pytest

import diurnal

ROOT = pathlib.Path(__file__).parents[2]
VERSION = diurnal.__version__
INFO = f"diurnal-{VERSION}.dist-info"
CACHES = re.compile(r"__pycache__|\.py[co]$|\.(pytest|mypy|ruff|hypothesis)|\.venv|\.git/|\.ipynb_checkpoints")
READINGS = re.compile(
    r"\.(csv|tsv|parquet|arrow|feather|db|sqlite|zip|xml|gz|bz2|xz|zst|npy|npz|pkl)(-\w+)?$", re.I
)
"""What a file of readings is called."""

UPLOT = {
    "LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""SHA-256 of uPlot 1.6.32, by file."""

MADE_UP = ("tests/curator/stores/", "tests/kept/")
"""Where files of made-up homes are, that tests open."""


def _build(kind, source, target):
    """Build an archive with the pinned builder, as it is: nothing is fetched."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (archive,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The wheel and the source archive of the project as it stands."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("needs hatchling")
    folder = tmp_path_factory.mktemp("dist")
    return _build("wheel", ROOT, folder), _build("sdist", ROOT, folder)


@pytest.fixture(scope="module")
def wheel(archives):
    """Every file of the wheel, by name."""
    with zipfile.ZipFile(archives[0]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def metadata(wheel):
    """What the wheel says of itself."""
    return HeaderParser().parsestr(wheel[f"{INFO}/METADATA"].decode())


@pytest.fixture(scope="module")
def sdist(archives):
    """Every file of the source archive, by its place in the project."""
    top = f"diurnal-{VERSION}/"
    with tarfile.open(archives[1]) as archive:
        return {each.name.removeprefix(top): archive.extractfile(each).read() for each in archive if each.isfile()}


def _sources():
    """Every file of the package, as it stands in the project."""
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    return {
        name: path.read_bytes()
        for path in files
        if not CACHES.search(name := path.relative_to(ROOT / "src").as_posix()) and ".egg-info" not in name
    }


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    """The wheel holds every file of src, byte for byte, and beside that what it says of itself."""
    inside = {name: content for name, content in wheel.items() if not name.startswith(f"{INFO}/")}
    assert inside.keys() == _sources().keys()
    assert inside == _sources()
    needed = ("diurnal/py.typed", "diurnal/planning/constants.py", "diurnal/show/page/static/uplot/LICENSE")
    assert set(needed) < inside.keys()
    assert any(name.startswith("diurnal/show/web/templates/") for name in inside)
    assert any(name.startswith("diurnal/show/web/static/") for name in inside)


def test_the_wheel_says_what_it_is(metadata, wheel):
    """Name, licences with their texts, Python, keywords and readme are in the metadata; no made-up address is."""
    assert (metadata["Name"], metadata["Version"], metadata["Requires-Python"]) == ("diurnal", VERSION, ">=3.11")
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
    texts = [wheel[f"{INFO}/licenses/{each}"] for each in metadata.get_all("License-File")]
    assert texts[0] == (ROOT / "LICENSE").read_bytes()
    assert texts[1] == wheel["diurnal/show/page/static/uplot/LICENSE"]
    assert metadata["Keywords"]
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text().strip()
    assert metadata.get_all("Project-URL") is None


def test_what_is_not_ours_is_unchanged(wheel):
    """The one script and style that are not ours, uPlot's, are the files that were taken, to the byte."""
    folder = "diurnal/show/page/static/uplot/"
    found = {
        name.removeprefix(folder): hashlib.sha256(content).hexdigest()
        for name, content in wheel.items()
        if name.startswith(folder)
    }
    assert found == UPLOT


def test_the_archives_have_no_readings_and_no_caches(wheel, sdist):
    """No file that might be somebody's readings is handed out, made-up ones of tests apart, and no cache."""
    for name in [*wheel, *sdist]:
        assert not CACHES.search(name), name
        assert not READINGS.search(name) or name.startswith(MADE_UP), name


def test_the_source_archive_is_the_project(sdist):
    """The source archive holds what is in the project's own list of files, and nothing else but its PKG-INFO."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git, and a clone")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    there = {name for name in listed if name and (ROOT / name).is_file()}
    assert sdist.keys() - there == {"PKG-INFO"}
    # How a landing is tested is no part of what is handed out.
    assert {name for name in there - sdist.keys() if not name.startswith(".ci/")} == set()
    assert all(sdist[name] == (ROOT / name).read_bytes() for name in sdist.keys() & there)


def test_the_source_archive_makes_the_same_wheel(archives, sdist, tmp_path):
    """A wheel that is built from the unpacked source archive is the wheel that is built here, to the byte."""
    for name, content in sdist.items():
        place = tmp_path / "source" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    again = _build("wheel", tmp_path / "source", tmp_path / "dist")
    assert again.read_bytes() == archives[0].read_bytes()


@pytest.fixture(scope="module")
def installed(archives, tmp_path_factory):
    """An environment of its own with the wheel in it, and an empty folder: how a command runs there.

    What the wheel needs is lent by this environment, so that nothing is fetched; the package itself is not.
    """
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "bare", symlinks=True)
    scripts = folder / "bare" / "bin"
    place = sysconfig.get_path("purelib", "venv", {"base": str(folder / "bare"), "platbase": str(folder / "bare")})
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV", "PIP"))}
    # Only its own folder is installed into, whatever else this Python can see.
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--quiet"),
            *("--disable-pip-version-check", "--no-deps", "--no-index", str(archives[0])),
        ],
        env=clean,
        check=True,
        capture_output=True,
        timeout=120,
    )
    lent = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    # A path in a .pth file comes after the folder it lies in, and the .pth files behind it are not read: what
    # an editable install of the project has put there does not count.
    (pathlib.Path(place) / "lent.pth").write_text("".join(f"{each}\n" for each in lent))
    empty = folder / "empty"
    empty.mkdir()

    def run(*command):
        done = subprocess.run(
            [scripts / command[0], *command[1:]],
            cwd=empty,
            env={**clean, "COLUMNS": "80"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run, empty, pathlib.Path(place)


def test_the_wheel_works_where_the_project_is_not(installed):
    """Installed elsewhere, the package and the command are the wheel's, say their version, and are typed."""
    run, _, place = installed
    assert run("diurnal", "--version") == f"diurnal {VERSION}"
    script = (
        "import diurnal, diurnal_command, importlib.metadata as m, importlib.resources as r; "
        "print(diurnal.__file__, diurnal_command.__file__, m.version('diurnal'), "
        "r.files('diurnal').joinpath('py.typed').is_file())"
    )
    package, command, version, typed = run("python", "-c", script).split()
    assert (version, typed) == (VERSION, "True")
    assert pathlib.Path(package).resolve().is_relative_to(place.resolve())
    assert pathlib.Path(command).resolve().is_relative_to(place.resolve())


def test_the_demo_works_from_the_wheel(installed):
    """`diurnal demo` runs from the wheel in an empty folder, and leaves its pages there."""
    run, empty, _ = installed
    run("diurnal", "demo", "--homes", "20", "--days", "16", "--out", "demo")
    assert {"page.html", "plan.json", "reports.csv", "city.db"} <= {
        path.name for path in (empty / "demo").iterdir()
    }


def test_the_version_has_one_place(metadata):
    """The number stands in `diurnal.__version__`; the wheel takes it from there, and no text repeats it."""
    assert metadata["Version"] == VERSION
    settings = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in settings
    assert not re.search(r"^version\s*=", settings, flags=re.M)
    texts = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").iterdir()]
    texts += [ROOT / name for name in ("README.md", "mkdocs.yml", "pyproject.toml", "Makefile")]
    said = [path for path in texts if re.search(rf"(?<![\w.]){re.escape(VERSION)}(?![\w.])", path.read_text())]
    assert said == [ROOT / "src" / "diurnal" / "__init__.py"]


def test_the_citation_agrees():
    """CITATION.cff has the package's version and our licence, and names the paper as the docs do."""
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "abstract", "type"} <= cited.keys()
    assert str(cited["version"]) == VERSION
    assert cited["license"] == "Apache-2.0"
    assert (ROOT / "LICENSE").read_text().split("\n", 2)[1].strip() == "Apache License"
    (paper,) = cited["references"]
    assert paper["identifiers"][0]["value"] == "arXiv:1909.11812"
    theory = " ".join((ROOT / "docs" / "theory.md").read_text().split())
    assert paper["title"] in theory
