"""The filter of smoothing, by its numbers: what days add, and what later ones know."""

import numpy as np
import pytest

from diurnal.planning.smoothing_model import Day, Model, Noise, backwards, forwards

CENTRE = np.array([300.0, 200.0, 500.0, 400.0])


def model(pattern=50.0, cycle=80.0):
    """Days of four slots, with noise of these deviations that stays and that is drawn anew."""
    square = np.eye(4)
    noise = Noise(day=4, pattern=pattern**2 * square, cycle=cycle**2 * square, known=(0, 1, 2, 3))
    return Model.of(noise, CENTRE, mismatch=60.0, n=100)


def days(*numbers):
    rng = np.random.default_rng(3)
    return [Day(number=number, slots=(0, 1, 2, 3), values=rng.normal(0, 100, 4)) for number in numbers]


def test_days_that_pass_one_by_one_do_what_they_do_together():
    """Two days and then three leave as much of the state, and add as much variance, as five at once."""
    made = model()
    (first, added), (second, more) = made.passing(2), made.passing(3)
    decay, variance = made.passing(5)
    np.testing.assert_allclose(first * second, decay)
    np.testing.assert_allclose(added * second**2 + more, variance)


def test_the_longer_ago_rows_are_the_less_they_tell():
    """A day after rows is known better than one a year after them; how the first day is numbered does not count."""
    near, far = (forwards(model(), days(0, number), later=True)[1] for number in (1, 400))
    assert near.variance.mean() < far.variance.mean()
    alone = forwards(model(), days(0), later=True)[0]
    np.testing.assert_allclose(alone.estimate, forwards(model(), days(7), later=True)[0].estimate)


def test_later_days_are_never_a_loss_and_the_last_has_none():
    """Known of all days each variance is at most that of the days up to it; the last day stays as it was."""
    tape = forwards(model(), days(0, 1, 2, 5), later=True)
    found = backwards(tape)
    for step, (_, variance) in zip(tape, found, strict=True):
        assert (variance <= step.variance + 1e-9).all()
    assert found[0][1].sum() < tape[0].variance.sum()
    np.testing.assert_allclose(found[-1][0], tape[-1].estimate)


def test_rows_with_hardly_any_noise_are_believed():
    """Where noise is next to nothing estimates are the rows; where it is overwhelming, the reference."""
    given = days(0)
    sure, unsure = (forwards(model(each, each), given, later=True)[0] for each in (1e-3, 1e6))
    np.testing.assert_allclose(sure.estimate, given[0].values, atol=0.1)
    assert unsure.estimate == pytest.approx(0, abs=1)
