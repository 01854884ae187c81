import numpy as np
import pytest

import support
from diurnal.study.baselines import task_of


def make_task(*, n=30, slots=8, cycles=16, epsilon="1", **more):
    panel = support.town(n=n, slots=slots, cycles=cycles + 8)
    fields = {"domain": (0, 100), "open_data": support.town(n=20, slots=slots, seed=2), **more}
    return task_of(panel.after(8), history=panel.first(8), epsilon=epsilon, **fields)


@pytest.fixture(scope="session")
def make():
    """Makes a small task: readings of 0 to 100, a history of 8 cycles."""
    return make_task


@pytest.fixture(scope="session")
def task():
    """30 homes, 16 cycles of 8 slots, epsilon 1."""
    return make_task()


@pytest.fixture
def rng():
    return np.random.default_rng(7)
