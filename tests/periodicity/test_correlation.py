from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import diurnal as dn
import support
from diurnal.errors import LimitError, ReadingsError
from diurnal.periodicity.correlation import correlations, gram
from diurnal.periodicity.cycles import count
from diurnal.readings import kernels
from diurnal.study.planted import planted
from support import refuses


def naive(panel, kept):
    """The paper's coefficients as its section 3 prints them, household by household, cycle by cycle."""
    panel = panel.columns(np.flatnonzero(panel.present.any(axis=0)))
    slots, n = panel.grid.slots, panel.n_households
    w = {}
    for j in range(n):
        x = panel.readings[: panel.n_cycles * slots, j].reshape(-1, slots)[kept]
        there = panel.present[: panel.n_cycles * slots, j].reshape(-1, slots)[kept]
        for s in range(slots):
            seen = [int(value) for value, mark in zip(x[:, s], there[:, s], strict=True) if mark]
            z = sum(seen) // len(seen) if seen else 0
            for at in range(len(kept)):
                w[j, at, s] = float(x[at, s] - z) if there[at, s] else 0.0
            # What the floor leaves is the same in every cycle, and no variation.
            rest = sum(w[j, at, s] for at in range(len(kept))) / len(kept)
            for at in range(len(kept)):
                w[j, at, s] -= rest
    blocks = np.array([[[w[j, k, s] for s in range(slots)] for k in range(len(kept))] for j in range(n)])
    apart = blocks - blocks.mean(axis=0)
    sigma = [np.sqrt(sum((apart[j, k] ** 2).sum() for j in range(n)) / (n - 1)) for k in range(len(kept))]
    return np.array(
        [
            [
                sum(np.dot(apart[j, k], apart[j, m]) for j in range(n)) / ((n - 1) * sigma[k] * sigma[m])
                for m in range(len(kept))
            ]
            for k in range(len(kept))
        ]
    )


@given(st.data())
def test_every_coefficient_is_that_of_a_naive_count(data):
    """On small panels with gaps and negative readings, c_kl agrees elementwise with the formula as printed."""
    n, k, slots = (data.draw(st.integers(low, high)) for low, high in ((2, 6), (3, 6), (1, 4)))
    readings = data.draw(arrays(np.int64, (k * slots, n), elements=st.integers(-50, 50)))
    present = data.draw(arrays(np.bool_, (k * slots, n), elements=st.sampled_from([True, True, True, False])))
    panel = support.small_panel(readings, present=present, slots=slots)
    try:
        found = correlations(panel, keep="0.5")
    except ReadingsError:
        reject()
    counted = count(panel, "0.5").kept
    flat = [counted.index(cycle) for cycle in counted if cycle not in found.cycles.kept]
    with np.errstate(invalid="ignore"):
        expected = np.delete(np.delete(naive(panel, list(counted)), flat, 0), flat, 1)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-9)


@given(st.data())
def test_the_gram_matrix_is_exact_and_blocks_add_up_to_it(data):
    """Sums of products are those of Python's integers, and however households are cut they add up to the same."""
    n, k, slots = (data.draw(st.integers(low, high)) for low, high in ((1, 7), (1, 5), (1, 4)))
    readings = data.draw(arrays(np.int64, (k * slots, n), elements=st.integers(-(2**25), 2**25)))
    present = data.draw(arrays(np.bool_, (k * slots, n)))
    readings = np.where(present, readings, 0)
    cycles = np.arange(k)
    sums, products = kernels.gram(readings, present, slots=slots, cycles=cycles)
    w = kernels.moves(readings, present, slots=slots, cycles=cycles)
    w = w.reshape(k, -1)
    exact = [[sum(int(a) * int(b) for a, b in zip(left, right, strict=True)) for right in w] for left in w]
    assert products.tolist() == exact
    cut = data.draw(st.integers(0, n))
    parts = [(readings[:, :cut], present[:, :cut]), (readings[:, cut:], present[:, cut:])]
    again = [kernels.gram(*part, slots=slots, cycles=cycles) for part in parts if part[0].shape[1]]
    assert sum(part[1] for part in again).tolist() == exact
    assert sum(part[0] for part in again).tolist() == sums.tolist()


def test_variations_are_equal_for_pattern_neighbours():
    """A periodic shift of one home changes no coefficient at all, so gating a pattern plan on them is free."""
    panel = planted("season", 0.3, homes=9, cycles=8, slots=3, seed=4)
    shifted = panel.readings.copy()
    shifted[:, 2] += np.tile([700, -30, 4], 8)
    assert np.array_equal(correlations(panel).matrix, correlations(panel.following(shifted, first_step=0)).matrix)


def test_a_file_gives_the_bits_of_memory(tmp_path):
    """A panel in a file and the same panel in memory have the same Gram matrix, in however many blocks."""
    town = support.town(n=40, cycles=9, slots=6)
    kept = dn.save_panel(town, tmp_path / "town.parquet")
    opened = dn.open_panel(tmp_path / "town.parquet") if kept is None else kept
    for left, right in zip(gram(town, count(town)), gram(opened, count(opened)), strict=True):
        assert np.array_equal(left, right)


def test_a_cycle_in_which_nobody_moves_apart_is_left_out():
    """A cycle that is the same for everybody has no correlation: it is left out and counted, the rest is tested."""
    readings = np.random.default_rng(1).integers(0, 99, (5, 4, 6))
    # Every home's mean cycle is zero, and in the third cycle all read the same.
    readings[2] = [[5], [-5], [9], [0]]
    readings[4] = -readings[:4].sum(axis=0)
    found = correlations(support.small_panel(readings.reshape(20, 6), slots=4))
    assert found.cycles.left_out == (2,)
    assert found.cycles.kept == (0, 1, 3, 4)
    assert found.matrix.shape == (4, 4)
    assert np.isfinite(found.matrix).all()


UNTESTABLE = {
    "too many cycles": (lambda: support.small_panel(np.ones((4001, 5), dtype=int), slots=1), "got 4,001"),
    "one household": (lambda: support.small_panel(np.arange(12).reshape(12, 1)), "there is only one"),
    "one cycle": (lambda: support.small_panel(np.ones((2, 5), dtype=int)), "got 1 in 2 steps"),
    "two cycles": (lambda: support.small_panel(np.ones((4, 5), dtype=int)), "got 2 in 4 steps"),
    "a period longer than the data": (
        lambda: support.small_panel(np.ones((30, 5), dtype=int), slots=48),
        "whole cycles of 48 slots, got 0",
    ),
    "a constant series": (lambda: support.small_panel(np.full((20, 5), 7)), "no household differs"),
    "the same for everybody": (
        lambda: support.small_panel(np.repeat(np.arange(20)[:, None] ** 2, 5, axis=1)),
        "no household differs",
    ),
    "all missing": (
        lambda: support.small_panel(np.ones((20, 5), dtype=int), present=np.zeros((20, 5), dtype=bool)),
        "0 of 10 cycles",
    ),
}


@pytest.mark.parametrize("name", UNTESTABLE)
def test_what_cannot_be_tested_says_so(name):
    """Too little, or nothing that moves, is refused as not testable, with the reason and a remedy."""
    make, reason = UNTESTABLE[name]
    for test in (correlations, dn.check):
        with pytest.raises(ReadingsError, match=f"(?s)Not testable.*{reason}.*Hint:"):
            test(make())


def test_products_that_could_leave_64_bits_are_refused():
    """Readings whose squares are no exact floats, or whose sums could overflow, are refused."""
    huge = np.random.default_rng(1).integers(0, 2**40, (8, 4))
    with refuses(LimitError, "variations-overflow"):
        correlations(support.small_panel(huge))
    large = np.random.default_rng(1).integers(0, 2**26, (6, 2**14))
    with refuses(LimitError, "products-overflow"):
        correlations(support.small_panel(large))


def test_the_histogram_is_in_percent():
    """The histogram's bars are percentages of all pairs, and lags have the mean of their pairs."""
    found = correlations(planted("memory", 0.4, homes=30, cycles=20, slots=4))
    edges, percent = found.histogram()
    assert percent.sum() == pytest.approx(100)
    assert (edges[0], edges[-1]) == (0, 1)
    lags, means = found.by_lag()
    for lag, mean in zip(lags.tolist(), means.tolist(), strict=True):
        assert mean == pytest.approx(np.diag(found.matrix, lag).mean())


def test_lags_count_cycles_that_are_left_out():
    """With a cycle left out in between, its neighbours are two apart."""
    readings = np.random.default_rng(1).integers(0, 99, (4, 3, 8))
    present = np.ones(readings.shape, dtype=bool)
    present[1] = False
    panel = support.small_panel(readings.reshape(12, 8), present=present.reshape(12, 8), slots=3)
    found = correlations(panel)
    assert found.cycles.kept == (0, 2, 3)
    lags, means = found.by_lag()
    assert lags.tolist() == [1, 2, 3]
    assert means.tolist() == [found.matrix[1, 2], found.matrix[0, 1], found.matrix[0, 2]]


def test_a_coarse_unit_makes_no_correlation():
    """Readings of a few units, whose means lie in between, have the correlations of the same times 1,000."""
    fine = planted(homes=60, cycles=20, slots=6)
    coarse = support.small_panel(fine.readings // 150, slots=6)
    large = support.small_panel(1000 * coarse.readings, slots=6)
    np.testing.assert_allclose(correlations(coarse).matrix, correlations(large).matrix, atol=1e-3)


def test_homes_without_a_reading_take_no_part():
    """A roster with homes that never report has the coefficients of the roster without them."""
    panel = planted("season", 0.5, homes=20, cycles=12, slots=4)
    present = np.ones(panel.readings.shape, dtype=bool)
    present[:, 18:] = False
    gone = panel.following(panel.readings, present=present, first_step=0)
    some = correlations(gone, keep="0.5")
    assert some.n_households == 18
    np.testing.assert_allclose(some.matrix, correlations(panel.columns(np.arange(18))).matrix, atol=1e-12)


def test_a_flat_cycle_joins_those_left_out_before():
    """Left out are cycles with too few readings and cycles in which nothing moves, in order."""
    readings = np.random.default_rng(1).integers(0, 99, (6, 4, 6))
    readings[2] = [[5], [-5], [9], [0]]
    readings[5] = -readings[[0, 1, 2, 4]].sum(axis=0)
    present = np.ones(readings.shape, dtype=bool)
    present[3] = False
    panel = support.small_panel(readings.reshape(24, 6), present=present.reshape(24, 6), slots=4)
    assert correlations(panel).cycles.left_out == (2, 3)


def test_sizes_are_of_absolute_coefficients():
    """Largest, median and histogram are those of abs(c)."""
    found = correlations(planted("season", 0.8, homes=30, cycles=12, slots=4))
    assert (found.pairs < 0).any()
    assert found.median == np.median(np.abs(found.pairs))
    assert found.largest == np.abs(found.pairs).max()
    edges, percent = found.histogram(10)
    inside = [np.mean((np.abs(found.pairs) >= low) & (np.abs(found.pairs) < low + 0.1)) for low in edges[:-1]]
    np.testing.assert_allclose(percent, 100 * np.array(inside), atol=1e-9)


@pytest.mark.parametrize(("made", "lag"), [("once", None), ("again", 5), ("faint", None)])
def test_a_rhythm_comes_again(made, lag):
    """Alike 5 apart alone is no rhythm; alike at every multiple of 5 is; fainter than what is asked is not."""
    found = correlations(planted(homes=10, cycles=40, slots=2))
    apart = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
    alike = {"once": 0.3 * (apart == 5), "again": 0.3 * (apart % 5 == 0), "faint": 0.01 * (apart % 5 == 0)}[made]
    assert replace(found, matrix=np.where(apart == 0, 1.0, alike)).rhythm(0.02) == lag
