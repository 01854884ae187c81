"""A study of a small made-up town."""

import pytest

from diurnal.study.reproduction import experiments
from diurnal.study.reproduction.results import reproduction
from diurnal.study.town import Town


@pytest.fixture(scope="session")
def source():
    return experiments.made_up(Town(homes=24, days=42, gap_rate=0.02))


@pytest.fixture(scope="session")
def study(source):
    return reproduction(source, subsets=3)
