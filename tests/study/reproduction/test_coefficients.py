"""The paper's test of almost periodicity, and how much of it is the choice of homes."""

import numpy as np

from diurnal import Panel
from diurnal.periodicity.correlation import correlations
from diurnal.readings.grid import Grid
from diurnal.study.reproduction import coefficients
from diurnal.study.town import Town


def test_other_homes_are_chosen_so_that_they_spread_as_ours_do(source):
    """1/m = 2/n - 1/N: 24 homes of 40 lie as far from these as 17 of the 24 from the 24."""
    found = coefficients.chance(source.panel, 40, np.random.default_rng(0), subsets=2)
    assert found.alike.homes == round(1 / (2 / 24 - 1 / 40)) == 17
    assert [each.homes for each in found.fewer] == [17, 12, 6]
    more = coefficients.chance(source.panel, 10, np.random.default_rng(0), subsets=2)
    assert more.alike.homes == 12


def test_a_break_in_the_files_is_found():
    """Homes whose levels are dealt anew on one day are least alike around that day."""
    rng = np.random.default_rng(1)
    levels = rng.integers(100, 1000, (2, 30))
    days = np.repeat(levels, [30, 30], axis=0) + rng.integers(0, 50, (60, 30))
    usual, found = coefficients.changes(Panel.from_array(days, grid=Grid(slots=1, minutes=1440)))
    when, alike = found[0]
    assert (when - Grid().wall(0).date()).days == 30
    assert alike < 0.6 < 0.9 < usual


def test_seasons_are_spoken_of_where_there_are_both(study):
    """42 days of winter have no summer to compare with; a year has."""
    assert coefficients.season_share(study.daily) is None
    (signs,) = [each for each in study.statements if each.says == "c lies between 0 and 1"]
    assert "winter" not in signs.why
    year = Town(homes=24, days=365).panel()
    assert coefficients.season_share(correlations(year)) > 0.8
