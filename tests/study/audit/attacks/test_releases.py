"""What is attacked, drawn through the shipped curator, and how sure a number is."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal.study.audit.attacks.attackers import (
    MEMBERS,
    drawn,
)
from diurnal.study.audit.attacks.releases import (
    PATTERN,
    STRONG,
    THEOREM_1,
    WORLD,
    Found,
    Groups,
    alike,
    covariance,
    curator_for,
    discriminant,
    panels_of,
    published,
    releases,
    right_of_two,
    seen,
    spread,
    spread_of_days,
)

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("attacks")


def test_pattern_mode_publishes_differences_exactly(found, population):
    """y(t + T) - y(t) is the true difference, as a fraction, with either pattern plan; in strong mode it is not."""
    task = population.recent("1", 3)
    truth = task.panel.readings.sum(axis=1)
    true_changes = (truth[task.slots :] - truth[: -task.slots]).tolist()
    for release in releases()[1:]:
        plan = release.plan(task)
        stream = curator_for(plan).start(plan, history=task.history, acknowledge="untested", accept_worse=True)
        sums = [row.numerator for row in stream.report(task.panel)]
        changes = [after - before for before, after in zip(sums, sums[task.slots :], strict=False)]
        assert (changes == true_changes) == release.level.exact_variations


def test_who_stands_out_is_always_found():
    """A target that uses a hundred times more than the others is found in every pair."""
    rng = np.random.default_rng(3)
    game, usual = drawn(10, np.arange(20), blocks=10, rng=rng), np.cov(rng.standard_normal((6, 400)))
    for block, target in enumerate(game.targets[:, 0]):
        homes = rng.standard_normal((6, 20))
        homes[:, target] += 100
        sums = homes[:, game.rosters[block * MEMBERS : (block + 1) * MEMBERS]].sum(axis=2)
        scores = discriminant(homes[:, target], 10 * usual) @ sums
        inside = game.inside[block, :, 0]
        assert right_of_two(scores[inside], scores[~inside]) == 1


def test_what_is_seen_of_homes_is_what_the_curator_says_without_noise(population, silence):
    """With all samplers silenced a group's published sums are the sum of what is seen of its homes, but for
    rounding.
    """
    task, roster = population.recent("1", 4), np.arange(30)
    for release in releases():
        said = published([release], task, Groups(roster[None]))[release.name][0]
        shown = seen(release.plan(task, 30), task, roster, 30, group=roster).days.sum(axis=2).reshape(-1)
        assert np.abs(said - shown).max() < 3, release.name


@pytest.mark.parametrize("name", [THEOREM_1, PATTERN, STRONG])
def test_covariances_are_the_mechanisms_own(population, name):
    """Along any direction the covariance says what the mechanism's variance says."""
    task = population.recent("1", 1)
    plan = next(release for release in releases() if release.name == name).plan(task)
    layers = [layer for layer in (plan.pattern_layer(1, 70), plan.cycle_layer()) if layer is not None]
    rng = np.random.default_rng(1)
    for layer, way in itertools.product(layers, rng.standard_normal((5, task.slots))):
        assert way @ covariance(layer, task.slots) @ way == pytest.approx(layer.variance(way))


def test_a_series_covariance_is_right_where_cycles_are_related_alike():
    """On homes made so, fewer than there are steps, it is nearer to the truth than the plain estimate."""
    rng, cycles, slots, homes = np.random.default_rng(5), 10, 6, 40
    days = rng.standard_normal((1, slots, homes)) + 0.5 * rng.standard_normal((cycles, slots, homes))
    truth = np.kron(np.ones((cycles, cycles)), np.eye(slots)) + 0.25 * np.eye(cycles * slots)
    found, plain = spread_of_days(days), np.cov(days.reshape(-1, homes))
    assert np.linalg.norm(found - truth) < np.linalg.norm(plain - truth)
    assert np.linalg.eigvalsh(found).min() > 0
    assert np.allclose(spread_of_days(days[:1]), spread(days[0]))


@given(st.lists(st.integers(-3, 3), min_size=1), st.lists(st.integers(-3, 3), min_size=1))
def test_right_of_two_is_the_share_of_pairs_in_order(yes, no):
    """Ties count half; and who is right with one score is wrong as often with its opposite."""
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(yes, no)]
    one, other = np.array(yes, dtype=float), np.array(no, dtype=float)
    assert right_of_two(one, other) == pytest.approx(np.mean(pairs))
    assert right_of_two(one, other) + right_of_two(other, one) == pytest.approx(1)


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=9), st.integers(-9, 9), st.integers(1, 9))
def test_alike_looks_at_shapes(day, level, scale):
    """The same shape at another level and size is the same; a flat one tells nothing."""
    expected = 1.0 if len(set(day)) > 1 else 0.0
    assert alike([level + scale * each for each in day], day) == pytest.approx(expected)
    assert alike([level] * len(day), day) == 0


def test_intervals_hold_the_mean_and_are_never_surer_than_the_trials():
    """About 95 of 100; where all cases went one way, no surer than three in as many; none for a single draw."""
    rng = np.random.default_rng(4)
    held = [Found.mean(rng.standard_normal(8)) for _ in range(400)]
    assert 360 <= sum(each.low < 0 < each.high for each in held) <= 398
    assert Found.mean([1.0] * 5, least=0, most=1, trials=60) == Found(1.0, 0.95, 1.0)
    assert Found.mean([0.4]) == Found(0.4, None, None)


def test_groups_of_the_same_homes_have_noise_of_their_own(population):
    """Two groups of the same homes in one curator: other pattern noise, the same exact variations."""
    task = population.recent("1", 2)
    one, other = published(releases()[1:2], task, Groups(np.tile(np.arange(20), (2, 1))))[THEOREM_1]
    noise = (one - other).reshape(2, -1)
    assert np.abs(noise[0]).min() > 0
    assert np.array_equal(noise[0], noise[1])


def test_groups_can_be_altered_and_do_not_alter_the_homes(population):
    """What happens to a group's readings happens to that group alone, and the population stays as it is."""
    task = population.recent("1", 1)
    before = task.panel.readings.copy()

    def gone(group, readings, present):
        present[:, 0] = group != 1
        readings[:] += 1000 * group

    _, panel = panels_of(task, Groups(np.tile(np.arange(15), (2, 1)), gone), range(2))
    first, second = panel.members(WORLD).values()
    assert panel.present[:, first].all()
    assert not panel.present[:, second[0]].any()
    assert np.array_equal(panel.readings[:, second[1:]] - 1000, panel.readings[:, first[1:]])
    assert np.array_equal(task.panel.readings, before)
