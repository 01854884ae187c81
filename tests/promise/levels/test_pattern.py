"""The level pattern: what it says of cycles, which it does not hide."""

from fractions import Fraction

import support


def test_pattern_plans_compose_no_cycles():
    """At level pattern no cycle is protected, so there is nothing to compose, and nothing is said of it."""
    promise = support.guarantee(level="pattern")
    assert promise.curve() == ()
    assert "over a week" not in str(promise)


def test_noise_is_on_the_profile_alone():
    """There is no layer for cycles, and the whole epsilon goes into that of the profile."""
    plan = support.plan_for(support.town(), level="pattern", epsilon="1/3")
    assert plan.cycle_layer() is None
    assert plan.losses["pattern"].epsilon == plan.pattern_layer().loss.epsilon == Fraction(1, 3)
    assert plan.losses["strong"].epsilon == 0
