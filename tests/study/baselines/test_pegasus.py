import numpy as np
import pytest

from diurnal.study.baselines import Pegasus
from diurnal.study.baselines.pegasus import deviation


def test_one_reading_moves_the_deviation_by_less_than_twice_itself(rng):
    """The sensitivity that the grouper's noise of 4 and 8 units stands on, at random and at worst."""
    worst = 0.0
    for _ in range(2000):
        values = rng.normal(0, rng.choice([0.1, 1, 10]), rng.integers(1, 12)).tolist()
        changed = [*values[:-1], values[-1] + 1.0]
        worst = max(worst, abs(deviation(changed) - deviation(values)))
    assert 1.5 < worst < 2
    alone = [0.0] * 50
    assert deviation([*alone[:-1], 1.0]) == pytest.approx(2 * 49 / 50)


def test_without_noise_groups_are_runs_of_like_values(rng):
    """A step that breaks a group stands alone, and the next one opens a new group."""
    series = np.array([5.0, 5, 5, 9, 9, 9, 9, 2, 2])
    groups = Pegasus().groups(series, threshold=1, unit=1e-9, rng=rng)
    assert groups == [0, 0, 0, 3, 4, 4, 4, 7, 8]


def test_no_step_belongs_to_two_thresholds(rng):
    """Groups are runs of steps, none begins within another."""
    starts = Pegasus().groups(rng.normal(0, 10, 500), threshold=20, unit=1.0, rng=rng)
    assert all(start in (starts[t - 1], t) for t, start in enumerate(starts) if t)


@pytest.mark.parametrize(("smoother", "expected"), [("median", [1, 2, 2, 9]), ("average", [1, 2, 3, 9])])
def test_smoothers_look_back_within_the_group(smoother, expected):
    """Median or mean of the group's noisy values up to the step."""
    noisy = np.array([1.0, 3, 2, 9]) if smoother == "median" else np.array([1.0, 3, 5, 9])
    assert Pegasus(smoother=smoother).smoothed(noisy, [0, 0, 0, 3]).tolist() == expected


def test_on_a_stream_that_does_not_move_it_beats_plain_noise(make):
    """Averages within long groups have far less error than the perturber's noise alone, which it cannot exceed
    by much where nothing can be grouped.
    """
    task = make(cycles=200)
    flat = np.zeros(task.steps)
    pegasus, rng = Pegasus(smoother="average", threshold=50), np.random.default_rng(3)
    scale = task.reach() / 0.8
    noisy = flat + rng.laplace(0, scale, task.steps)
    groups = pegasus.groups(flat, 50 * scale, task.reach() / 0.2, rng)
    assert np.var(pegasus.smoothed(noisy, groups)) < 2 * scale**2 / 3


def test_the_perturber_has_its_part_of_epsilon(make, rng):
    """Where every step stands alone, the noise is Laplace of scale R/(n (1 - share) epsilon)."""
    task = make(cycles=500)
    alone = Pegasus(share=0.5, threshold=-1e9)
    off = alone.draw(task, rng) - task.truth
    # The mean absolute value of 4000 Laplace draws is within 1.6 % (one standard error) of the scale.
    assert np.abs(off).mean() == pytest.approx(task.reach() / 0.5, rel=0.07)


def test_the_grouper_s_noise_has_scales_4_and_8(rng):
    """How often two like steps are parted by noise alone, from the law of the difference of two Laplace draws."""
    pairs = [Pegasus().groups(np.zeros(2), threshold=8.0, unit=1.0, rng=rng) for _ in range(4000)]
    parted = np.mean([groups == [0, 1] for groups in pairs])
    expected = (64 * np.exp(-8 / 8) - 16 * np.exp(-8 / 4)) / (2 * (64 - 16))
    assert parted == pytest.approx(expected, abs=0.03)
