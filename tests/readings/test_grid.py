"""The wall clock, against zoneinfo moment by moment."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal.readings.grid import Clock

ZONES = {
    "UTC": 2012,
    "Australia/Sydney": 2012,
    "Australia/Lord_Howe": 2012,
    "America/New_York": 2015,
    "Europe/London": 1996,
    "America/Sao_Paulo": 2012,
    "Asia/Kathmandu": 1986,
    "Pacific/Apia": 2011,
    "Europe/Dublin": 2020,
    "Africa/Casablanca": 2021,
}
"""Zones with all kinds of changes: by half an hour, at midnight, for good, by a whole day."""

EPOCH = datetime(1970, 1, 1)


def moments(zone):
    """A moment every 15 minutes around a year's changes."""
    start = int((datetime(ZONES[zone], 1, 1) - EPOCH).total_seconds())
    return np.arange(start, start + 366 * 86400, 900)


@pytest.mark.parametrize("zone", ZONES)
def test_the_clock_shows_what_zoneinfo_says(zone):
    """At every quarter of an hour of a year the wall clock is zoneinfo's, and so is which showing it is."""
    here = ZoneInfo(zone)
    times = moments(zone)
    wall, second = Clock.of(zone, int(times[0]), int(times[-1])).wall(times)
    local = [datetime.fromtimestamp(int(time), UTC).astimezone(here) for time in times[::7]]
    assert wall[::7].tolist() == [int((time.replace(tzinfo=None) - EPOCH).total_seconds()) for time in local]
    assert second[::7].tolist() == [bool(time.fold) for time in local]


@pytest.mark.parametrize("zone", ZONES)
def test_moments_are_the_way_back(zone):
    """What the clock shows for the first time leads back to its moment."""
    times = moments(zone)
    clock = Clock.of(zone, int(times[0]), int(times[-1]))
    wall, second = clock.wall(times)
    np.testing.assert_array_equal(clock.moments(wall[~second]), times[~second])


@pytest.mark.parametrize("zone", ZONES)
def test_skipped_and_doubled_hours(zone):
    """What is said to be skipped never shows, what is said to be doubled shows twice, all else once."""
    times = moments(zone)
    clock = Clock.of(zone, int(times[0]), int(times[-1]))
    shown, counts = np.unique(clock.wall(times)[0], return_counts=True)
    every = np.arange(shown[0] + 86400, shown[-1] - 86400, 900)
    often = dict(zip(shown.tolist(), counts.tolist(), strict=True))

    def inside(spans):
        marks = np.zeros(len(every), dtype=bool)
        for start, stop in spans:
            marks |= (every >= start) & (every < stop)
        return marks

    found = np.array([often.get(int(time), 0) for time in every])
    np.testing.assert_array_equal(found == 0, inside(clock.skipped()))
    np.testing.assert_array_equal(found == 2, inside(clock.doubled()))
    assert found.max() <= 2


@given(days=st.integers(-20000, 20000))
def test_long_before_1970(days):
    """Moments before 1970 are shown as well."""
    moment = days * 86400 + 777
    wall, _ = Clock.of("Australia/Sydney", moment, moment).wall(np.array([moment]))
    expected = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)).astimezone(
        ZoneInfo("Australia/Sydney")
    )
    assert wall[0] == (expected.replace(tzinfo=None) - EPOCH) // timedelta(seconds=1)
