"""The docs do what they say: every command runs, every page is built, the notebook runs from top to bottom."""

import importlib.util
import json
import math
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

import diurnal
import support
from diurnal.promise.guarantee import up

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
DATA = {
    "ausgrid_2012-2013_226homes.csv.gz": "ausgrid",
    "edrp_622homes_2009-03_2009-05.csv.gz": "edrp",
}
"""Real data that pages speak of, and the folder of the data where it is."""

COMMANDS = re.compile(r"^```sh\n(.*?)^```", flags=re.S | re.M)


SHOWN = re.compile(r"^```text\n(.*?)^```", flags=re.S | re.M)


CHANCE = re.compile(
    r"\b[0-9a-f]{12,64}\b"  # Names of plans, hashes.
    r"|\b\d{4}-\d\d-\d\d \d\d:\d\d UTC"  # When something was done.
    r"|(?<=:00  all )\s*-?[0-9.,]+|(?<=,all,)-?[0-9.]+"  # A released value.
)
"""What is another whenever commands are run. All other numbers of a page are those that are printed."""


def _masked(line):
    """A line without what chance and the clock decide."""
    return " ".join(CHANCE.sub("#", line).split())


def _name(path):
    return str(path.relative_to(DOCS))


def _environment():
    """A shell in which `diurnal` and `python` are those of this test."""
    path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "80"}


def _run(command, folder, **more):
    done = subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=600, **more
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done


def _needs(*names):
    """Skip where a tool of the docs is not installed; importing it here would bring its warnings along."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"needs {name}")


NOW = ("index.md", "tutorial.md", "howto/service.md", "howto/choosing-epsilon.md", "importing.md")
"""Pages whose commands run in `make test`: from the first command to a service, with most verbs."""


@pytest.mark.parametrize(
    "page",
    support.for_now([p for p in PAGES if COMMANDS.search(p.read_text())], *(DOCS / name for name in NOW)),
    ids=_name,
)
def test_the_commands_of_a_page_run(page, tmp_path, data_folder):
    """The commands of a page, copied as they stand, run in an empty folder, and print what the page shows of it."""
    text = page.read_text()
    for file, folder in DATA.items():
        if file in text:
            (tmp_path / file).symlink_to(data_folder(folder, file))
    script = "".join(COMMANDS.findall(text))
    assert "diurnal " in script
    printed = _run(["bash", "-e", "-o", "pipefail", "-c", script], tmp_path).stdout
    lines = {_masked(line) for line in printed.splitlines()}
    for line in "".join(SHOWN.findall(text)).splitlines():
        begin, left_out, _ = _masked(line).partition("...")
        found = any(each.startswith(begin) for each in lines) if left_out else begin in lines
        assert found, f"not printed: {line}"


def test_the_tutorial_and_every_how_to_have_commands():
    """No page that tells how to do something goes without commands that are run."""
    for page in [DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]:
        assert COMMANDS.search(page.read_text()), page.name


def test_the_promise_says_which_noise_a_plan_chooses_and_what_many_days_of_it_cost():
    """In the table of the promise stand, by the number of homes, the coefficients that are chosen for a cycle from
    a public mean, and without one cube; with what a week, 30 days, a year and a fortnight away cost a home.
    """
    page = (DOCS / "privacy-promise.md").read_text()
    told = {
        name: (chosen, *rest)
        for name, chosen, *rest in (
            line.strip("| ").split(" | ") for line in page.splitlines() if "| up to " in line
        )
    }
    grid = diurnal.Grid(slots=48, minutes=30)
    drafted = diurnal.Plan(epsilon="1", domain=(0, 8000), history=60, grid=grid)
    words = {1: "one coefficient", 5: "five coefficients", 11: "eleven coefficients", 17: "seventeen coefficients"}
    sizes = {1: (15, 60), 5: (80, 300), 11: (400, 1000), 17: (3000,)}
    for coefficients, homes in sizes.items():
        chosen, *costs, away = told[f"l2-norm, {words[coefficients]}"]
        for n in homes:
            shape = diurnal.Shape(group_sizes=(n,), grid=grid, n_cycles=60)
            plan = diurnal.choose(diurnal.with_public_bounds(drafted, shape, mean_reading="400"), shape)
            assert (plan.cycle_mechanism, plan.cycle_basis.size) == ("basis", coefficients), n
            assert f"{n:,}" in chosen or n == 15
        assert_costs(plan, costs, away)
    plan = diurnal.choose(drafted, shape)
    assert plan.cycle_mechanism == "cube"
    assert_costs(plan, told["cube"][1:-1], told["cube"][-1])


def assert_costs(plan, costs, away):
    """What a page says of many days is what the plan's guarantee does, rounded up."""
    promise = plan.guarantee()
    for said, row in zip(costs, promise.curve(), strict=False):
        assert 0 <= float(said) - float(row.epsilon) < 0.11 or float(said) == float(up(row.epsilon))
    assert float(re.findall(r"[0-9.]+", away)[0]) == math.ceil(100 * promise.law.told(14, 0.01))


def test_every_fence_says_what_it_is():
    """New pages have fences that run (sh, python) or say that they do not (text, console)."""
    for page in [DOCS / "index.md", DOCS / "tutorial.md", *sorted((DOCS / "howto").glob("*.md"))]:
        opened = re.findall(r"^```(.*)$", page.read_text(), flags=re.M)[::2]
        assert set(opened) <= {"sh", "python", "text", "console"}, page.name


def test_the_page_of_commands_is_current():
    """docs/commands.md is what tools/commands.py writes of the command line as it is."""
    made = runpy.run_path(str(ROOT / "tools" / "commands.py"))
    said = "run python tools/commands.py"
    assert (DOCS / "commands.md").read_text() == made["page"](), said


def test_the_reference_has_every_public_name_once():
    """Every name of diurnal.__all__ is on one page of the reference, and in the table of rooms."""
    blocks = [
        block.rsplit(".", 1)[1]
        for page in sorted((DOCS / "reference").glob("*.md"))
        for block in re.findall(r"^::: (\S+)", page.read_text(), flags=re.M)
    ]
    assert sorted(blocks) == sorted([*diurnal.__all__, "client", "errors"])
    table = (DOCS / "reference.md").read_text()
    for name in diurnal.__all__:
        assert f"`{name}`" in table, name


WITHOUT = {"watch_frame"}
"""It needs a stream of Spark: docs/howto/spark.md shows it, tests/curator/test_sparkstream.py runs it."""


@pytest.mark.parametrize("name", sorted(set(diurnal.__all__) - WITHOUT))
def test_every_public_name_has_an_example_on_its_page(name):
    """The page of the reference that describes a name also uses it, in a snippet that runs."""
    blocks = {f"diurnal.{name}", f"diurnal.periodicity.verdict.{name}"}
    page = next(
        text
        for text in (path.read_text() for path in (DOCS / "reference").glob("*.md"))
        if blocks & set(re.findall(r"^::: (\S+)", text, flags=re.M))
    )
    used = "".join(re.findall(r"^```python\n(.*?)^```", page, flags=re.S | re.M))
    assert re.search(rf"\bdn\.{name}\b", used)


def test_the_threat_model_names_what_is_there():
    """Every file, every test and every section of theory that the threat model rests on exists."""
    page, theory = ((DOCS / f"{name}.md").read_text() for name in ("threat-model", "theory"))
    named = re.findall(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text() if test else (ROOT / path).is_file(), (path, test)
    for path in re.findall(r"`((?:curator|promise|planning|readings|show)/[\w/]+\.py|private\.py)`", page):
        assert (ROOT / "src" / "diurnal" / path).is_file(), path
    sections = {each for told in re.findall(r"\[(\d[\d., ]*)\]", page) for each in told.split(", ")}
    limits = re.search(r"^## 6\. .*?(?=^## )", theory, flags=re.S | re.M)[0]
    there = set(re.findall(r"^##+ (\d+(?:\.\d+)?)", theory, flags=re.M))
    there |= {f"6.{each}" for each in re.findall(r"^(\d)\. ", limits, flags=re.M)}
    assert sections <= there


def test_every_page_is_in_the_navigation():
    """mkdocs.yml names every page once."""
    named = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)
    assert sorted(named) == sorted(_name(page) for page in PAGES)


def test_the_site_is_built_strictly_and_loads_nothing(tmp_path):
    """The site is built without a warning, and no page or style sheet loads anything from elsewhere."""
    _needs("mkdocs", "mkdocstrings")
    site = tmp_path / "site"
    done = _run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(site)], ROOT)
    assert "WARNING" not in done.stderr
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(PAGES)
    loads = re.compile(
        r"""<(?:script|img|iframe|source|video|audio|embed|object|input)\b[^>]*?(?:src|srcset|data)\s*=\s*["']?\s*(?:https?:)?//"""
        r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*?href\s*=\s*["']?\s*(?:https?:)?//""",
        flags=re.I,
    )
    for page in pages:
        assert not loads.search(page.read_text()), page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?\s*(?:https?:)?//", sheet.read_text()), sheet.name


def test_the_docs_name_no_machine():
    """No page, script or notebook names a path of somebody's machine."""
    for page in [ROOT / "mkdocs.yml", *PAGES, ROOT / "tools" / "commands.py", ROOT / "examples" / "tour.ipynb"]:
        assert not re.search(r"/(work|root|home)/", page.read_text()), page


RUN_NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": "."}}).execute()
shown = [kind for cell in notebook.cells for each in cell.get("outputs", []) for kind in each.get("data", {})]
print(shown.count("image/png") + shown.count("image/svg+xml") + shown.count("text/html"))
"""


def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    """examples/tour.ipynb runs in an empty folder, and shows charts."""
    _needs("nbclient", "ipykernel", "matplotlib")
    # In a process of its own: what Jupyter warns about is not ours to fail on.
    notebook = ROOT / "examples" / "tour.ipynb"
    done = _run([sys.executable, "-c", RUN_NOTEBOOK, str(notebook)], tmp_path)
    assert int(done.stdout.split()[-1]) >= 3


def test_the_notebook_is_kept_without_outputs():
    """What is committed of the notebook is text and code alone, the same whoever saved it."""
    notebook = json.loads((ROOT / "examples" / "tour.ipynb").read_text())
    assert notebook["metadata"].keys() == {"kernelspec", "language_info"}
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
