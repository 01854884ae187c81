"""The homes that are attacked, and how they are chosen."""

from fractions import Fraction

import pytest

from diurnal.study.audit.attacks.attackers import (
    absence,
)
from diurnal.study.audit.attacks.population import Setting
from diurnal.study.audit.attacks.releases import (
    NO_NOISE,
    releases,
)

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("attacks")


def test_the_choice_of_homes_follows_the_seed(population, found):
    """The same seed, the same groups: without noise the same number, alone as among others."""
    settings = [
        Setting(population=population, epsilon=Fraction(1), releases=releases()[:1], seed=seed) for seed in (1, 2)
    ]
    one, other = (absence(setting) for setting in settings)
    assert one == tuple(each for each in found["absence"].outcomes if each.release == NO_NOISE)
    assert one != other
