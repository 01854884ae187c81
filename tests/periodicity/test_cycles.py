"""Which cycles of a panel count, and how households move in them."""

import numpy as np

import support
from diurnal.periodicity.cycles import count


def test_a_cycle_counts_from_nine_tenths_on():
    """A cycle with 90 % of its readings counts and its gaps are counted; one with a reading less is left out."""
    present = np.ones((40, 10), dtype=bool)
    present[10:20].ravel()[:10] = False
    present[20:30].ravel()[:11] = False
    panel = support.small_panel(np.random.default_rng(1).integers(0, 99, (40, 10)), present=present, slots=10)
    cycles = count(panel)
    assert cycles.kept == (0, 1, 3)
    assert cycles.left_out == (2,)
    assert cycles.gaps == 10
    assert count(panel, "0.5").left_out == ()


def test_steps_on_the_calendar_are_no_gaps():
    """A step that is missing for everybody by the calendar counts neither for nor against its cycle."""
    readings = np.random.default_rng(1).integers(0, 99, (12, 5))
    panel = support.small_panel(readings, slots=4, calendar=[4, 5, 6])
    assert count(panel).kept == (0, 1, 2)
    assert count(panel).gaps == 0


def test_the_calendar_goes_by_steps_not_by_rows():
    """In a panel that starts later, calendar steps are found at their steps."""
    readings = np.random.default_rng(1).integers(0, 99, (40, 5))
    later = support.small_panel(readings, slots=4, calendar=[20, 21, 22]).after(4)
    assert count(later).gaps == 0
    assert count(later).left_out == ()
