"""A small town, and all attacks on it."""

import pytest

from diurnal.study.audit.attacks import Population, attacks
from diurnal.study.town import Town


@pytest.fixture(scope="session")
def population():
    town = Town(homes=70, days=28 + 56, minutes=60)
    panel, known = town.panel(), {"domain": town.domain, "profile_range": (0, 6000), "made_up": True}
    return Population.of(panel.after(28), history=panel.first(28), **known)


@pytest.fixture(scope="session")
def found(population):
    """All attacks on a small town, by name."""
    return {attack.name: attack for attack in attacks(population)}
