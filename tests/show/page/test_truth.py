"""What the custodian's page has besides: the truth, and what is refused as such."""

import numpy as np
import pytest

from diurnal.errors import ReadingsError
from diurnal.show.page import custodian_page
from pages import HOUSEHOLD, data_of, secrets_of, seen, started
from support import refuses

# One worker runs all tests of pages.
pytestmark = pytest.mark.xdist_group("page")


@pytest.mark.parametrize("level", ["pattern", "slotwise", "basis"])
def test_the_custodians_page_has_the_truth_and_says_so(level):
    """True sums of every released step are on the custodian's page, which is marked: the search can find them."""
    curator, stream, panel = started(level)
    page = custodian_page(curator, stream, truth=panel)
    sums = [panel.readings[row.step].sum() for row in stream.rows()]
    assert set(map(str, sums)) <= set(seen(secrets_of(curator, stream, panel), page))
    assert page.count("PRIVATE") >= 3
    assert "<title>PRIVATE: " in page
    assert HOUSEHOLD not in page


def test_the_truth_of_counts_is_counted():
    """The custodian's page of a histogram has the true counts, and they add up to the roster."""
    curator, stream, panel = started("histogram")
    page = custodian_page(curator, stream, truth=panel)
    counts = [list(map(float, each.split())) for each in data_of(page, "more")["overlay"]["values"]]
    assert np.array(counts).sum(axis=0) == pytest.approx(20)


def test_a_gap_is_no_error():
    """Where readings are missing the mean of those that are there stands for them, whatever order homes are in."""
    curator, stream, panel = started("basis")
    present = panel.present.copy()
    present[:, 2] = False
    gappy = panel.following(panel.readings, present=present, first_step=0).columns(np.arange(20)[::-1])
    page = custodian_page(curator, stream, truth=gappy)
    row, rest = stream.rows()[0], np.delete(np.arange(20), 2)
    true = data_of(page, "more")["overlay"]["values"][0].split()
    assert float(true[0]) == pytest.approx(panel.readings[row.step, rest].mean() * 20)
    assert len(true) == len(stream.rows())


def test_a_truth_of_other_homes_is_refused():
    """A panel that has no reading of what was reported is no truth."""
    curator, stream, panel = started("pattern")
    with refuses(ReadingsError, "truth-no-reading"):
        custodian_page(curator, stream, truth=panel.first(1))
    with refuses(ReadingsError, "argument-type"):
        custodian_page(curator, stream, truth=panel.readings)
