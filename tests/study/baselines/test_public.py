import numpy as np
import pytest

from diurnal.study.baselines import Nothing, PublicProfile


def test_nothing_at_all_is_the_public_day(task, rng):
    """Every day is the reference, whatever the readings."""
    released = Nothing().draw(task, rng).reshape(task.cycles, task.slots)
    assert (released == np.array(task.reference.profile)).all()


def test_a_pattern_that_is_not_used_costs_nothing(task):
    """Its promise is one of its own, above that of any pattern plan."""
    assert PublicProfile().promise(task).protects == "pattern at 0"


def test_with_exact_variations_the_error_repeats_every_day(task, rng):
    """Y - f is the reference less the history's mean profile, in every cycle."""
    off = (PublicProfile().draw(task, rng) - task.truth).reshape(task.cycles, task.slots)
    assert off == pytest.approx(np.tile(task.reference.profile - task.profiles.mean(axis=1), (task.cycles, 1)))
    assert PublicProfile().mean_square_error(task) == pytest.approx(np.mean(off[0] ** 2))
