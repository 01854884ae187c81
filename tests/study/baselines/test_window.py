import numpy as np
import pytest

from diurnal.study.baselines import Window

METHODS = ["distribution", "absorption"]


def spends(task, method, rng, **more):
    window = Window(method=method, **more)
    series = rng.normal(0, 500, 4000)
    return window, window.run(series, task, rng)[1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("block", [1, 4, 8])
def test_no_window_publishes_for_more_than_its_part(task, rng, method, block):
    """In any w consecutive blocks publications spend at most (1 - share) epsilon, and somewhere most of it."""
    window, spent = spends(task, method, rng, block=block, share=0.4)
    sums = np.convolve(spent, np.ones(window.width(task)), mode="valid")
    assert sums.max() <= 0.6 + 1e-9
    assert sums.max() > 0.4


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("block", "width"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_any_cycle_s_length_of_steps_is_covered_at_epsilon(task, rng, method, block, width):
    """By brute force: 8 consecutive steps moved by at most R each, wherever they begin, lose at most epsilon over
    all questions and publications, though they may touch one block more than the window has.
    """
    window, spent = spends(task, method, rng, block=block, share=0.4)
    assert window.width(task) == width
    asked = 0.4 / width
    worst = 0.0
    for pattern in (np.ones(8), *rng.choice([-1, 0, 1], (20, 8))):
        for first in range(400):
            change = np.zeros(416 // block * block)
            change[first : first + 8] = pattern
            moved = np.abs(change.reshape(-1, block).mean(axis=1))
            worst = max(worst, float(moved @ (asked + spent[: len(moved)])))
    assert 0.6 < worst <= 1 + 1e-9


def test_absorption_takes_what_was_left_and_skips_for_it(task, rng):
    """What m steps may spend goes into one publication, and the m - 1 steps after it publish nothing."""
    _, spent = spends(task, "absorption", rng, share=0.4)
    each = 0.6 / 8
    for i in np.flatnonzero(spent):
        units = round(spent[i] / each)
        assert spent[i] == pytest.approx(units * each)
        assert 1 <= units <= 8
        assert not spent[i + 1 : i + units].any()


def test_distribution_gives_half_of_what_is_left(task, rng):
    """The first publication has half of the window's part, the next a quarter if it is in the same window."""
    _, spent = spends(task.at(epsilon="1000"), "distribution", rng)
    first, second = spent[np.flatnonzero(spent)[:2]]
    assert (first, second) == (250, 125)


@pytest.mark.parametrize("method", METHODS)
def test_with_much_epsilon_it_follows_the_stream(task, rng, method):
    """At epsilon a million every change is seen and published."""
    released = Window(method=method).draw(task.at(epsilon=10**6), rng)
    assert np.abs(released - task.truth).max() < 1


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_that_never_moves_from_what_is_known_keeps_it(task, rng, method):
    """Where the asking noise is small, nothing is published: the public day stays."""
    released, spent = Window(method=method, share=0.999).run(np.zeros(500), task, rng)
    # Asking noise of 8 R/n is far below the scale of a publication with a thousandth of epsilon.
    assert not spent.any()
    assert not released.any()


@pytest.mark.parametrize("method", METHODS)
def test_publications_get_the_noise_that_they_pay_for(task, rng, method):
    """A publication's error is Laplace of scale (R/n)/spent."""
    series = np.cumsum(np.full(20000, 1e6))
    released, spent = Window(method=method).run(series, task, rng)
    at = np.flatnonzero(spent)
    assert len(at) > 2000
    units = np.abs(released[at] - series[at]) * spent[at] / task.reach()
    assert units.mean() == pytest.approx(1, rel=5 / np.sqrt(len(at)))


@pytest.mark.parametrize("block", [1, 8])
def test_asking_gets_its_part_of_epsilon(task, rng, block):
    """On a stream that does not move, the first block is published with the probability that Laplace noise of scale
    w (R/n)/(share epsilon) is above the scale of a publication.
    """
    window = Window(block=block)
    published = np.mean([window.run(np.zeros(1), task, rng)[1][0] > 0 for _ in range(4000)])
    part = 0.25 if window.width(task) > 1 else 0.5
    expected = 0.5 * np.exp(-0.5 / part / window.width(task))
    assert published == pytest.approx(expected, abs=0.04)
