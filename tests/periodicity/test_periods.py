import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import ReadingsError
from diurnal.periodicity.periods import autocorrelation, candidates, found_period, in_words
from diurnal.study.planted import planted
from diurnal.study.town import Town, figure_one
from support import refuses


def look(panel, *named):
    return {each.slots: each for each in candidates(panel, named, rng=np.random.default_rng(0))}


@pytest.mark.parametrize("homes", [1, 5])
def test_figure_one_has_period_ten(homes):
    """Series like that of the paper's Figure 1 are recognised as of period 10, one home alone included."""
    for seed in range(40):
        assert found_period(autocorrelation(figure_one(seed=seed, homes=homes))) == 10


@pytest.mark.parametrize("period", [3, 7, 24])
def test_other_periods_are_found_too(period):
    """Of a period that nobody named, the length is found and not a multiple of it."""
    assert found_period(autocorrelation(figure_one(cycles=40, period=period))) == period


def test_a_series_that_does_not_repeat_has_no_period():
    """Noise alone has no candidate."""
    noise = np.random.default_rng(1).integers(0, 1000, (2000, 3))
    assert found_period(autocorrelation(support.small_panel(noise))) is None


def test_autocorrelation_is_that_of_a_naive_count():
    """With gaps for everybody in between, autocorrelation is the mean product of what is there, by lag."""
    rng = np.random.default_rng(3)
    readings = rng.integers(0, 100, (40, 3))
    present = np.ones(readings.shape, dtype=bool)
    present[[5, 17, 18]] = False
    panel = support.small_panel(readings, present=present)
    there = present[:, 0]
    series = np.where(there, readings.mean(axis=1), 0)
    width = 10
    trend = np.array(
        [
            series[max(0, i - width // 2) : i + width // 2][there[max(0, i - width // 2) : i + width // 2]].mean()
            for i in range(40)
        ]
    )
    moved = np.where(there, series - trend, 0)
    products = [np.sum(moved[lag:] * moved[: 40 - lag]) for lag in range(21)]
    pairs = [np.sum(there[lag:] & there[: 40 - lag]) for lag in range(21)]
    expected = np.array(products) / np.array(pairs)
    np.testing.assert_allclose(autocorrelation(panel), expected / expected[0], atol=1e-9)


def test_candidates_are_found_usual_and_named():
    """A town of half hours has its day, the week, and what the user names, each with the correlation it leaves."""
    found = look(Town(homes=30, days=60).panel(), "2d")
    assert {slots: each.why for slots, each in found.items()} == {
        48: "found in the data",
        96: "named",
        336: "usual",
    }
    assert found[336].n_cycles == 8
    for each in found.values():
        assert 0 < each.median < each.largest <= 1


def test_a_weekday_habit_leaves_less_under_a_week():
    """What a habit on two days of seven leaves under a daily period is gone under a weekly one."""
    panel = planted("weekday", 2.0, homes=200, cycles=70, slots=4, noise="normal")
    found = look(panel, 4, 28)
    assert found[4].largest > 0.5
    assert found[28].largest < 0.25


def test_what_cannot_be_tested_stays_in_the_table():
    """A candidate longer than the data is listed with the reason."""
    found = look(figure_one(homes=20), 150)
    assert found[150].largest is None
    assert "whole cycles" in found[150].note
    assert found[10].largest is not None


@pytest.mark.parametrize(
    ("readings", "reason"), [(np.full((30, 4), 3), "never changes"), (None, "too few readings")]
)
def test_a_series_without_anything_in_it_is_refused(readings, reason):
    """A constant aggregate and an empty one have no period to look for."""
    if readings is None:
        panel = support.small_panel(np.ones((30, 4), dtype=int), present=np.zeros((30, 4), dtype=bool))
    else:
        panel = support.small_panel(readings)
    with pytest.raises(ReadingsError, match=f"Not testable: .*{reason}"):
        autocorrelation(panel)


def test_lengths_are_said_as_people_say_them():
    """Weeks, days, hours and minutes, in that order of preference."""
    said = [in_words(slots, 30) for slots in (336, 672, 48, 96, 2, 25, 1)]
    assert said == ["1 week", "2 weeks", "1 day", "2 days", "1 hour", "750 minutes", "30 minutes"]


def test_a_name_that_is_no_length_is_refused():
    """A period that cannot be read is refused with an example."""
    with refuses(ReadingsError, "grid-length"):
        dn.check(planted(homes=12, cycles=9, slots=4), periods=["fortnight"])
