"""Lower bounds for epsilon from counts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from diurnal.study.audit.statistic import Counts, best_event, discriminant, lower, upper


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(1e-7, 0.1))
def test_both_ends_are_those_of_clopper_and_pearson(counted, alpha):
    """The interval's ends agree with SciPy's beta quantiles."""
    hits, trials = counted
    above = stats.beta.ppf(1 - alpha, hits + 1, trials - hits) if hits < trials else 1.0
    below = stats.beta.ppf(alpha, hits, trials - hits + 1) if hits else 0.0
    assert upper(hits, trials, alpha) == pytest.approx(above, abs=1e-9)
    assert lower(hits, trials, alpha) == pytest.approx(below, abs=1e-9)


@pytest.mark.parametrize(("p", "epsilon"), [(0.5, 1.0), (0.1, 1.0), (0.9, 0.2), (0.02, 3.0)])
def test_a_bound_is_seldom_above_the_truth(p, epsilon):
    """Where the ratio of two probabilities is e^epsilon exactly, a bound at 5 % exceeds epsilon in at most 5 %."""
    rng, trials, repeats = np.random.default_rng(3), 400, 2000
    hits = rng.binomial(trials, p, size=repeats)
    other = rng.binomial(trials, p * math.exp(-epsilon), size=repeats)
    pairs, times = np.unique(np.stack([hits, other]), axis=1, return_counts=True)
    above = sum(
        int(number)
        for (one, two), number in zip(pairs.T.tolist(), times, strict=True)
        if Counts(hits=one, trials=trials, other_hits=two, other_trials=trials).epsilon(alpha=0.05) > epsilon
    )
    assert above <= 0.05 * repeats


@pytest.mark.parametrize("shift", [5, 10, 20])
def test_a_bound_for_what_was_chosen_is_seldom_above_the_truth(shift):
    """Chosen on some transcripts and counted in others, a bound at 20 % is above the truth in at most 20 %."""
    rng, repeats, above = np.random.default_rng(4), 150, 0
    for _ in range(repeats):
        noise = np.subtract(*rng.geometric(1 - math.exp(-1 / 10), size=(2, 2, 200)))
        ratios = [(abs(x - shift) - abs(x)) / 10 for x in (noise[0], noise[1] + shift)]
        event = best_event(*(each[::8] for each in ratios), alpha=0.2, delta=0.0, trials=175)
        counts = event.counts(*(np.delete(each, np.s_[::8]) for each in ratios))
        above += counts.epsilon(alpha=0.2) > shift / 10
    assert above <= 0.2 * repeats


def test_a_delta_takes_its_part_of_what_is_seen():
    """What is seen with a probability of at most delta, and never in the neighbour, bounds no epsilon."""
    seen = Counts(hits=30, trials=1000, other_hits=0, other_trials=1000)
    assert seen.epsilon(alpha=0.001) > 0.5
    assert seen.epsilon(alpha=0.001, delta=0.05) == 0


def test_data_sets_that_are_told_apart_bound_epsilon_by_the_number_of_transcripts():
    """Told apart in every one of n transcripts, the bound grows like the logarithm of n."""
    found = [
        Counts(hits=n, trials=n, other_hits=0, other_trials=n).epsilon(alpha=0.001) for n in (100, 1000, 10000)
    ]
    assert found == pytest.approx([math.log(n / 7.6) for n in (100, 1000, 10000)], abs=0.1)


def test_an_event_is_looked_for_on_the_side_where_it_is_rarer():
    """Of two laws of which one has a heavier right end, what is chosen is that end, seen more often there."""
    rng = np.random.default_rng(5)
    ours, theirs = rng.exponential(1, 4000), rng.exponential(2, 4000)
    event = best_event(ours[:1000], theirs[:1000], alpha=0.001, delta=0.0, trials=3000)
    counts = event.counts(ours[1000:], theirs[1000:])
    assert event.swapped
    assert event.above
    assert counts.epsilon(alpha=0.001) > 0.7


def test_a_discriminant_finds_a_direction_without_noise():
    """Vectors whose noise is the same in every component are told apart by their differences, without an error."""
    rng = np.random.default_rng(6)
    noise = 1000 * rng.normal(size=(60, 1)) * np.ones(8)
    ours, theirs = noise[:30], noise[30:] + np.arange(8) % 2
    direction = discriminant(ours[::3], theirs[::3])
    assert (ours @ direction).min() > (theirs @ direction).max()


def test_a_discriminant_of_the_same_law_finds_nothing():
    """Numbers along a direction that was trained on other transcripts of one and the same law are no better."""
    rng = np.random.default_rng(7)
    ours, theirs = rng.normal(size=(2, 3000, 20))
    direction = discriminant(ours[:1000], theirs[:1000])
    assert stats.ks_2samp(ours[1000:] @ direction, theirs[1000:] @ direction).pvalue > 1e-4
