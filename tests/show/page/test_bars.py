"""Bars on a log scale."""

import pytest

from diurnal.show.page.bars import LogScale

# One worker runs all tests of pages.
pytestmark = pytest.mark.xdist_group("page")


@pytest.mark.parametrize("values", [[1.0], [0.0], [3, 3000], [1e-9, 1e30], [float("inf"), 2], []])
def test_a_log_scale_holds_what_it_is_made_for(values):
    """Every value lies between the ends, in order."""
    scale = LogScale(values)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
    assert scale.ticks("Wh").count("<b") <= 7
