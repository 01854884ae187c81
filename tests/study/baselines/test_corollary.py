import pytest

from diurnal.study.baselines import Corollary
from diurnal.study.paper import corollary_1_loss


def test_its_variance_is_that_of_theory_3(make):
    """2 T^2 ((Dz + Dw)^2 + Dw^2)/epsilon^2 after the first cycle, its first term alone in it."""
    task = make(profile_range=(0, 40))
    unit = 2 * (8 / 30) ** 2
    later = unit * ((40 + 100) ** 2 + 100**2)
    assert Corollary().noise_variance(task) == pytest.approx((15 * later + unit * 140**2) / 16)


def test_it_says_that_it_fails(task):
    """The loss of a change in the first cycle, by the number of cycles."""
    promise = Corollary().promise(task)
    assert promise.protects == "fails"
    loss = corollary_1_loss(cycles=16, epsilon=1, df_z=100, df_w=100)
    assert loss > 15
    assert f"{loss:.4g}" in promise.sentence
