"""The demo, as it runs on a machine that has the core install only."""

import json
import subprocess
import sys

SCRIPT = """
import sys
from importlib.machinery import PathFinder

EXTRAS = ("matplotlib", "dcor", "pandas", "polars", "duckdb", "fastapi", "pyspark", "psycopg")

class CoreOnly(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in EXTRAS else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = CoreOnly
from diurnal.show.cli import main
main()
"""


def run(*arguments, cwd):
    command = [sys.executable, "-c", SCRIPT, "demo", "--homes", "60", "--days", "200", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_needs_the_core_only_and_tells_the_story(tmp_path):
    """With every extra out of reach the demo goes from readings to a page, and ends with five lines: what was
    promised, what it cost, how good it is, where the page is, what to try next.
    """
    said = run(cwd=tmp_path)
    for number in range(1, 8):
        assert f"\n{number}. " in said
    assert "Real homes allow only one" in said
    assert "split: everything of a household, over 9,600 reports only" in said
    pages = (tmp_path / "diurnal-demo").glob("*.html")
    assert all("of this town are made up" in page.read_text() for page in pages)
    last = said.rstrip().splitlines()[-5:]
    assert [line.split(":")[0] for line in last] == ["Promised", "Cost", "Quality", "Page", "Next"]
    made = {path.name for path in (tmp_path / "diurnal-demo").iterdir()}
    assert {"page.html", "page-private.html", "plan.json", "certificate.md", "reports.csv", "city.db"} <= made


def test_a_demo_writes_over_nothing(tmp_path):
    """Run again it takes another folder: a store is never written over."""
    first, second = (json.loads(run("--json", cwd=tmp_path))["folder"] for _ in range(2))
    assert (first, second) == ("diurnal-demo", "diurnal-demo-2")
