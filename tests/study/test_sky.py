"""The sky over a made-up town: seasons, clocks, holidays."""

import numpy as np

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
