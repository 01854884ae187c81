"""The house rules, checked on the house itself."""

import ast
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import diurnal
from diurnal import errors
from diurnal.promise.levels import LEVELS

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))


HEAVY = [
    "matplotlib",
    "pyspark",
    "fastapi",
    "uvicorn",
    "httpx",
    "opendp",
    "scipy",
    "dp_accounting",
    "pandas",
    "sqlalchemy",
    "duckdb",
]


@pytest.mark.parametrize(
    ("what", "heavy"),
    [("diurnal", HEAVY), ("diurnal.show.cli", [*HEAVY, "diurnal.study.audit", "diurnal.study.reproduction"])],
)
def test_importing_is_light(what, heavy):
    """`import diurnal` pulls in no web, chart, Spark, OpenDP, SciPy, accounting or database module. Nor does the
    command line, which also leaves audits and experiments alone until somebody asks for them.
    """
    script = f"import sys, {what}; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_a_level_is_asked_what_it_does_and_never_which_one_it_is():
    """Nothing outside promise/levels compares a level with a name: a new one is a file and a line."""
    found, names = [], "|".join(LEVELS)
    named = re.compile(rf"""level["\]')]* *(===?|!==?|in|not in) *[\[({{]*["\']({names})["\']""")
    for path in (*SOURCES, *sorted((ROOT / "src").rglob("*.js"))):
        if path.parent.name == "levels":
            continue
        found += [f"{path.name}: {line.strip()}" for line in path.read_text().splitlines() if named.search(line)]
    assert not found


def test_release_randomness_has_one_place():
    """No module but promise/noise.py asks for entropy, tokens of the service, nonces of the ledger and the secret
    of a store apart, which reach no release; NumPy's generator is for study and check only.
    """
    pattern = re.compile(r"urandom|secrets|import random|np\.random|numpy\.random|default_rng|SystemRandom")
    found = {
        str(path.relative_to(ROOT / "src/diurnal"))
        for path in SOURCES
        if pattern.search("\n".join(_code_lines(path)))
    }
    allowed = {name for name in found if name.startswith(("study/", "periodicity/"))}
    assert found - allowed == {"promise/noise.py", "show/web/tokens.py", "curator/ledger.py", "curator/database.py"}


def _code_lines(path):
    """A file without its docstrings."""
    tree = ast.parse(path.read_text())
    skipped = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return [line for number, line in enumerate(path.read_text().splitlines(), 1) if number not in skipped]


def test_every_public_name_is_there_and_documented():
    """__all__ is what the package exports, sorted, and each name says what it is."""
    assert sorted(diurnal.__all__) == list(diurnal.__all__)
    for name in diurnal.__all__:
        assert inspect.getdoc(getattr(diurnal, name)), name


def test_the_package_tells_its_story_with_every_public_name():
    """The docstring of the package has every public name in its place on the way."""
    assert set(diurnal.__all__) <= set(re.findall(r"\w+", diurnal.__doc__))


def test_every_error_has_a_builtin_parent_and_a_place_in_the_drawing():
    """Errors end in Error, descend from DiurnalError, carry a hint, and are drawn at the top of errors.py."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]
    for kind in kinds:
        assert kind.__name__.endswith("Error")
        assert issubclass(kind, errors.DiurnalError)
        assert kind is errors.DiurnalError or issubclass(kind, (ValueError, RuntimeError))
        assert kind.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize("path", TESTS, ids=lambda p: p.stem)
def test_every_test_states_a_fact(path):
    """Every test function has a docstring."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert ast.get_docstring(node), f"{path.name}: {node.name}"


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


SNIPPETS = re.compile(r"^```python\n(.*?)^```", flags=re.S | re.M)


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if SNIPPETS.search(p.read_text())], ids=lambda p: p.name)
def test_every_snippet_of_a_page_runs(path, tmp_path, monkeypatch):
    """The Python snippets of a page run one after the other, from top to bottom, in one namespace."""
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for snippet in SNIPPETS.findall(path.read_text()):
        exec(compile(snippet, str(path), "exec"), names)
    assert names


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_no_python_hides_from_the_tests(path):
    """Python stands on a page as a fence of its own that says `python`: no other spelling, and never indented."""
    assert len(re.findall(r"^\s*(?:```|~~~)\s*\{?\.?py", path.read_text(), flags=re.M | re.I)) == len(
        SNIPPETS.findall(path.read_text())
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_within_the_docs_lead_somewhere(path):
    """Relative links of a page point to files that exist."""
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_the_project_names_no_registry_and_no_machine():
    """No requirements file names an index, and no tracked text names a path of somebody's machine."""
    for path in (ROOT / "requirements").glob("*.txt"):
        assert "://" not in path.read_text()
        assert "--index" not in path.read_text()
    for path in [*SOURCES, *DOCUMENTS, *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").glob("*.py")]:
        assert not re.search(r"/(work|root|home)/", path.read_text()), path


def test_what_make_quick_runs_is_there():
    """Every line of tests/quick.txt is a test file or a test, once, in order."""
    lines = (ROOT / "tests" / "quick.txt").read_text().splitlines()
    assert lines == sorted(set(lines))
    for line in lines:
        file, _, test = line.partition("::")
        assert f"def {test.partition('[')[0]}" in (ROOT / file).read_text(), line


def test_make_test_and_make_nightly_leave_nothing_out():
    """One runs what is not nightly, the other what is, and properties once more."""
    recipes = (ROOT / "Makefile").read_text()
    common = "$(BIN)/python -m pytest -n 3 --dist loadgroup --durations=60 --durations-min=5"
    for target, chosen in (("test", '"not nightly"'), ("nightly", '"nightly or hypothesis"')):
        assert re.search(
            rf"^{target}: .*\n\t{re.escape(f'{common} -m {chosen}')}(\n| \\\n\t\t--hypothesis)", recipes, re.M
        )
