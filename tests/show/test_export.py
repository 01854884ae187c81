"""Released rows as a file, or as a page."""

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import InputError
from diurnal.show.export import export
from pages import started
from support import refuses

# One worker runs all tests of pages.
pytestmark = pytest.mark.xdist_group("page")


LEARNED = {"mean": {}, "base load": {"statistic": "base-load"}, "few readings": {"min_readings": 3}}


@pytest.mark.parametrize("name", LEARNED)
def test_what_a_stream_has_learned_from_is_no_open_data(tmp_path, name):
    """The readings that profiles were made of are known again as such, by whatever rule they were made."""
    panel = support.town()
    present = np.ones_like(panel.readings, dtype=bool)
    present[[0, 4], :] = False
    panel = dn.Panel.from_array(panel.readings, present=present, grid=panel.grid)
    plan = support.plan_for(panel, **LEARNED[name])
    curator = dn.Curator.in_memory(support.ROOMY)
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    with refuses(InputError, "open-data-learned-from"):
        export(curator, stream, tmp_path / "page.html", open_data=panel)


@pytest.mark.parametrize("ending", ["html", "csv"])
def test_what_is_exported_is_read_once(tmp_path, monkeypatch, ending):
    """Rows are read once, where they are written: what is said of their number is of the same moment."""
    curator, stream, _ = started("slotwise")
    looks, rows = [], dn.Stream.rows

    def counted(stream, *given, **more):
        looks.append(given)
        return rows(stream, *given, **more)

    monkeypatch.setattr(dn.Stream, "rows", counted)
    assert export(curator, stream, tmp_path / f"reports.{ending}") == len(rows(stream))
    assert len(looks) == 1
