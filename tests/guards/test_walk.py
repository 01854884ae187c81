"""The way of a reading through the house is short, and stays so."""

import json
import pathlib
import subprocess
import sys

import pytest

WALK = pathlib.Path(__file__).parents[2] / "tools" / "walk.py"


@pytest.mark.parametrize(("name", "calls", "modules"), [("report", 15, 15), ("post", 25, 30)])
def test_a_day_of_readings_asks_the_store_few_times(name, calls, modules):
    """A day that is complete when it comes asks the store no more often than this, and passes no more modules."""
    out = subprocess.run([sys.executable, WALK, name, "--json"], capture_output=True, text=True, check=True).stdout
    found = json.loads(out)[name]
    assert 5 < found["calls of the store"] <= calls, found["by method"]
    assert found["modules"] <= modules, list(found["by module"])
    assert found["by method"]["publish"] == found["by method"]["write_open"] == 1
