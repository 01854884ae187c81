"""The sky over a made-up town: seasons, clocks, holidays."""

from datetime import date, timedelta

import numpy as np

from diurnal.study import sky
from diurnal.study.town import Town


def test_the_temperature_has_seasons_and_afternoons():
    """January is warmer than July in Sydney and colder in London; 15:00 is warmer than 5:00."""
    town = Town()
    heat = town.temperature().reshape(365, 48)
    assert heat[184:215].mean() > heat[:31].mean() + 6
    assert heat[:, 30].mean() > heat[:, 10].mean() + 6
    north = Town(zone="Europe/London", start="2022-01-01").temperature().reshape(365, 48)
    assert north[181:212].mean() > north[:31].mean() + 6
    # Ireland's winter time is an exception to its law, its summer is not.
    ireland = Town(zone="Europe/Dublin", start="2022-01-01").temperature()
    assert np.array_equal(ireland, north.reshape(-1))
    assert town.temperature().shape == (365 * 48,)


def test_clock_changes_are_what_the_clock_skips_and_shows_twice():
    """Sydney's two hours of a year, in steps of any length; Brisbane has none."""
    days = [date(2022, 7, 1) + timedelta(days=day) for day in range(365)]
    spring, autumn = (days.index(date(*day)) for day in ((2022, 10, 2), (2023, 4, 2)))
    for minutes, steps in ((60, 1), (30, 2), (15, 4)):
        slots = 1440 // minutes
        expected = [day * slots + 2 * steps + step for day in (spring, autumn) for step in range(steps)]
        assert list(sky.clock_changes("Australia/Sydney", days, minutes)) == expected
    assert list(sky.clock_changes("Australia/Brisbane", days, 30)) == []


def test_holidays_of_a_year_are_those_of_new_south_wales():
    """In 2023: New Year, Australia Day, Good Friday, Easter Monday, Anzac Day, the King's Birthday, Labour Day,
    Christmas and Boxing Day.
    """
    days = [date(2023, 1, 1) + timedelta(days=day) for day in range(365)]
    found = [f"{day:%m-%d}" for day in days if sky.is_holiday(day)]
    assert found == ["01-01", "01-26", "04-07", "04-10", "04-25", "06-12", "10-02", "12-25", "12-26"]
