import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from diurnal.errors import LimitError, ReadingsError
from diurnal.readings import kernels
from diurnal.readings.kernels import Atoms, Progress
from support import refuses


@st.composite
def histories(draw):
    """Readings of whole cycles with negatives and gaps, and a shift for every household's slots."""
    slots, cycles, n = draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    whole = st.integers(-1000, 1000)
    readings = draw(hnp.arrays(np.int64, (cycles * slots, n), elements=whole))
    present = draw(hnp.arrays(np.bool_, (cycles * slots, n)))
    shift = draw(hnp.arrays(np.int64, (slots, n), elements=whole))
    return slots, readings, present, shift


@given(histories(), st.integers(1, 3), st.sampled_from(["mean", "base-load"]))
def test_profiles_move_with_integer_shifts_and_variations_do_not(history, k_min, statistic):
    """A periodic integer shift moves zhat by exactly it, where known, and leaves every variation unchanged."""
    slots, readings, present, shift = history
    cycles = len(readings) // slots
    moved = readings + np.tile(shift, (cycles, 1))
    settings = {"slots": slots, "min_readings": k_min, "statistic": statistic}
    profile, known = kernels.profiles(readings, present, **settings)
    profile_moved, known_moved = kernels.profiles(moved, present, **settings)
    assert np.array_equal(known, known_moved)
    assert np.array_equal(profile_moved, np.where(known, profile + shift, 0))
    atoms = Atoms.of(np.arange(1, readings.shape[1] + 1)[None, :])
    rows = np.tile(np.arange(slots), cycles)
    ours = kernels.variation_sums(readings, present, profile, known, rows, atoms)
    theirs = kernels.variation_sums(moved, present, profile_moved, known, rows, atoms)
    assert np.array_equal(ours[0], theirs[0])
    assert np.array_equal(ours[1], theirs[1])


@given(histories())
def test_the_mean_is_a_floor_mean_of_the_readings_present(history):
    """Zhat is Python's floor division of the sum by the count, negatives included."""
    slots, readings, present, _ = history
    profile, known = kernels.profiles(readings, present, slots=slots, min_readings=1)
    for slot in range(slots):
        for home in range(readings.shape[1]):
            values = readings[slot::slots, home][present[slot::slots, home]].tolist()
            assert known[slot, home] == bool(values)
            assert profile[slot, home] == (sum(values) // len(values) if values else 0)


@pytest.mark.parametrize("mean", [lambda s, k: round(s / k), lambda s, k: int(s / k)])
def test_other_roundings_do_not_commute_with_shifts(mean):
    """Rounding half to even, or towards zero, moves by something else than the shift: the floor is needed."""
    sums = [(-3, 2), (-1, 2), (1, 2), (3, 2), (5, 2)]
    assert any(mean(total + count, count) != mean(total, count) + 1 for total, count in sums)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.int64, (5, n), elements=st.integers(-50, 50)),
            hnp.arrays(np.bool_, (5, n)),
            hnp.arrays(np.int64, (2, n), elements=st.integers(-50, 50)),
            hnp.arrays(np.bool_, (2, n)),
            hnp.arrays(np.int64, (2, n), elements=st.integers(-1, 2)),
        )
    ),
    st.one_of(st.none(), st.integers(1, 20)),
)
def test_variation_sums_are_the_plain_sums(arrays, bound):
    """Sums and counts by atom equal a loop over households, clipped and not, whatever the atoms."""
    readings, present, profile, known, weights = arrays
    atoms = Atoms.of(weights)
    slots = np.array([0, 1, 0, 1, 0])
    ordered = profile[:, atoms.order], known[:, atoms.order]
    sums, used = kernels.variation_sums(readings, present, *ordered, slots, atoms, bound=bound)
    for row, slot in enumerate(slots):
        for atom in range(len(atoms)):
            homes = [i for i in range(readings.shape[1]) if (weights[:, i] == atoms.columns[:, atom]).all()]
            homes = [i for i in homes if present[row, i] and known[slot, i]]
            moves = [int(readings[row, i] - profile[slot, i]) for i in homes]
            moves = moves if bound is None else [max(-bound, min(bound, move)) for move in moves]
            assert sums[row, atom] == sum(moves)
            assert used[row, atom] == len(homes)


def test_sums_over_many_tiles_are_the_plain_sums():
    """More households than fit a tile, in several atoms and not in order, are summed to the same bits."""
    rng = np.random.default_rng(3)
    n = 3 * kernels.TILE + 17
    readings, profile = rng.integers(-900, 900, size=(3, n)), rng.integers(-900, 900, size=(2, n))
    present, known = rng.random((3, n)) < 0.9, rng.random((2, n)) < 0.9
    labels = rng.integers(0, 3, size=n)
    atoms = Atoms.of(np.stack([labels == 1, labels == 2]).astype(np.int64))
    slots = np.array([0, 1, 1])
    sums, used = kernels.variation_sums(
        readings, present, profile[:, atoms.order], known[:, atoms.order], slots, atoms
    )
    counted = present & known[slots]
    moves = np.where(counted, readings - profile[slots], 0)
    for atom in range(2):
        inside = labels == (1 if atoms.columns[0, atom] else 2)
        assert np.array_equal(sums[:, atom], moves[:, inside].sum(axis=1))
        assert np.array_equal(used[:, atom], counted[:, inside].sum(axis=1))


@given(st.integers(1, 30), st.integers(1, 3), st.integers(1, 7), st.randoms(use_true_random=False))
def test_any_cut_into_blocks_gives_the_same_contributions(n, queries, width, random):
    """Folding runs of any width over the atoms gives the same bits."""
    weights = np.array([[random.randint(-1, 2) for _ in range(n)] for _ in range(queries)])
    vectors = np.array([[random.randint(-9, 9) for _ in range(n)] for _ in range(3)])
    atoms = Atoms.of(weights)
    ordered = vectors[:, atoms.order]
    whole = kernels.contribution_sums(lambda place: ordered[:, place], lambda v: v, atoms, dimension=3)
    parts = kernels.contribution_sums(lambda place: ordered[:, place], lambda v: v, atoms, dimension=3, width=width)
    assert np.array_equal(whole, parts)
    assert np.array_equal(whole @ atoms.columns.T, vectors @ weights.T)


@given(st.integers(1, 25), st.integers(1, 4), st.randoms(use_true_random=False))
def test_group_sums_are_the_weighted_sums(n, n_groups, random):
    """Sums by group are the weighted sums over each group's households, whatever the weights."""
    n = max(n, n_groups)
    group = np.array([i % n_groups for i in range(n)])
    weights = np.array([random.choice([-3, 0, 1, 2]) for _ in range(n)])
    weights[:n_groups] = 1
    vectors = np.array([[random.randint(-9, 9) for _ in range(n)] for _ in range(2)])
    atoms = Atoms.of_groups(weights, [np.flatnonzero(group == g) for g in range(n_groups)])
    ordered = vectors[:, atoms.order]
    sums = kernels.contribution_sums(lambda place: ordered[:, place], lambda v: v, atoms, dimension=2)
    expected = np.stack([(vectors * weights)[:, group == g].sum(axis=1) for g in range(n_groups)], axis=1)
    assert np.array_equal(atoms.by_group(sums), expected)


def test_atoms_are_households_of_equal_weight_columns():
    """Equal columns share an atom, zero columns have none, and every other household is in exactly one."""
    atoms = Atoms.of(np.array([[1, 0, 1, 2, 0], [0, 0, 0, 0, 1]]))
    assert sorted(atoms.sizes.tolist()) == [1, 1, 2]
    assert sorted(atoms.order.tolist()) == [0, 2, 3, 4]


def test_part_of_a_cycle_is_no_history():
    """Profiles are made from whole cycles only."""
    readings = np.zeros((5, 2), dtype=np.int64)
    with refuses(ReadingsError, "history-not-cycles"):
        kernels.profiles(readings, readings == 0, slots=2, min_readings=1)


def test_limits_are_proved_before_anything_is_summed():
    """Public bounds whose product passes 2^62 raise a LimitError; just below they do not."""
    kernels.check_limits(n_households=2**30, weight=2, magnitude=2**30, what="readings")
    with pytest.raises(LimitError, match="64 bits"):
        kernels.check_limits(n_households=2**30, weight=4, magnitude=2**30, what="readings")


def test_a_bar_appears_when_a_job_takes_long(capsys, monkeypatch):
    """After its patience a job shows what it does and how far it is, on standard error only."""
    monkeypatch.setattr(kernels, "PATIENCE", -1.0)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with Progress("Sorting rows", 10, shown=True) as bar:
        bar.advance(4)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Sorting rows" in err
    assert "4/10" in err


def test_a_short_job_shows_nothing(capsys):
    """A job of less than two seconds shows nothing, on a terminal or not."""
    with Progress("Sorting rows", 10, shown=True) as bar:
        bar.advance(10)
    assert capsys.readouterr() == ("", "")


def test_no_bar_where_there_is_no_terminal(capsys, monkeypatch):
    """Without a terminal nothing is shown however long it takes."""
    monkeypatch.setattr(kernels, "PATIENCE", -1.0)
    assert not sys.stderr.isatty()
    with Progress("Sorting rows", 10) as bar:
        bar.advance(10)
    assert capsys.readouterr() == ("", "")
