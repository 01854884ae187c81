import numpy as np
import pytest

from diurnal.errors import PlanError
from diurnal.study.baselines import OpenDP
from diurnal.study.baselines.opendp import measurement
from support import refuses


def test_opendp_adds_the_noise_that_the_unit_asks_for():
    """Mean absolute noise of a Laplace vector is its scale: steps times reach over epsilon."""
    drawn = np.array(measurement(4000, reach=3, epsilon=2.0)([10**6] * 4000)) - 10**6
    scale = 4000 * 3 / 2
    # The mean of 4000 has a standard error of scale/sqrt(4000); five of them are 8 %.
    assert np.abs(drawn).mean() == pytest.approx(scale, rel=0.08)


def test_opendp_itself_says_that_epsilon_is_kept():
    """Its own privacy map: all readings of the block changed by the reach cost epsilon, and hardly less."""
    spent = measurement(48, reach=8000, epsilon=1.0).map(48 * 8000)
    assert 0.999 < spent <= 1


def test_each_day_is_released_on_its_own(task, rng):
    """Hiding a day costs a day's readings, not the horizon's."""
    day, everything = OpenDP(), OpenDP(span="everything")
    assert everything.sensitivity(task) == pytest.approx(task.cycles * day.sensitivity(task))
    assert everything.promise(task).when == "offline"


def test_opendp_draws_for_real_households_only(task, rng):
    """Copies of households are for formulas."""
    with refuses(PlanError, "baseline-copies-opendp"):
        OpenDP().draw(task.at(copies=2), rng)
