"""The table of public constants, its lookups, and the script that wrote it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from benchmarks import constants as script
from benchmarks import search

from diurnal.errors import PlanError
from diurnal.planning import constants, public_tables
from diurnal.promise.body import Body, Ellipsoid
from diurnal.promise.mechanisms import Basis, BasisMechanism, Cube
from diurnal.readings.grid import Grid
from diurnal.study.town import Town

BY_AMOUNT = ("PATTERN", "BASE_LOAD", "DAY", "BLOCKS", "CLIP")
LEVEL = 100


@pytest.fixture(scope="module")
def homes():
    """Two made-up families, small."""
    towns = {
        "one": Town(homes=20, days=30, seed=1, gap_rate=0),
        "other": Town(homes=15, days=30, seed=2, gap_rate=0),
    }
    return [script.homes_of(name, town.panel()) for name, town in towns.items()]


@pytest.mark.parametrize("name", [*BY_AMOUNT, "FREE"])
def test_rows_are_sorted(name):
    """Rows are in the order of what they are looked up by."""
    keys = [row[0] for row in getattr(constants, name)]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("name", BY_AMOUNT)
def test_errors_fall_with_n_times_epsilon(name):
    """More homes or more epsilon never make a cross-validated error larger."""
    errors = [row.error for row in getattr(constants, name)]
    assert errors == sorted(errors, reverse=True)


def test_shapes_are_in_thousandths_of_their_mean():
    """Every shape has the mean 1000, and the pooled one is the mean of the two regions'."""
    for shape in (*constants.SHAPES.values(), constants.WEEK):
        assert sum(shape) == 1000 * len(shape)
    first, second, pooled = map(np.array, constants.SHAPES.values())
    assert np.abs((first + second) / 2 - pooled).max() <= 1
    assert len(constants.WEEK) == 7 * len(pooled)


def test_sizes_can_be_drawn():
    """No row asks for more coefficients than the l2-norm sampler has, and blocks divide a day."""
    for row in (*constants.PATTERN, *constants.BASE_LOAD, *constants.DAY):
        assert row.size in range(1, 18, 2)
    assert all(48 % row.blocks == 0 and row.blocks <= 17 for row in constants.BLOCKS)


def test_the_nearest_row_is_taken_by_ratio():
    """Between 100 and 226 the turn is at their geometric mean; beyond the ends the ends are taken."""
    turn = math.sqrt(100 * 226)
    assert public_tables.nearest(constants.PATTERN, turn * 0.99).n_epsilon == 100
    assert public_tables.nearest(constants.PATTERN, turn * 1.01).n_epsilon == 226
    assert public_tables.nearest(constants.PATTERN, 0).n_epsilon == 10
    assert public_tables.nearest(constants.CLIP, 1e12) == constants.CLIP[-1]


def test_a_short_history_takes_nothing_free():
    """Below sixty days there is no free row; from then on the nearest."""
    assert public_tables.free_row(constants.FREE_LEAST - 1) is None
    assert public_tables.free_row(constants.FREE_LEAST) == constants.FREE[0]
    assert public_tables.free_row(365) == constants.FREE[1]


def test_shapes_on_other_grids():
    """Hours are means of half hours, quarters repeat them, and a day of a week is that day."""
    day = public_tables.public_shape(Grid())
    assert day == constants.SHAPES["pooled"]
    hours = public_tables.public_shape(Grid(slots=24, minutes=60))
    assert np.abs(np.array(hours) - np.array(day).reshape(24, 2).mean(axis=1)).max() <= 0.5
    assert public_tables.public_shape(Grid(slots=96, minutes=15)) == tuple(np.repeat(day, 2).tolist())
    assert public_tables.public_shape(Grid(slots=48, minutes=60)) is None
    assert public_tables.public_shape(Grid(slots=10)) is None


@pytest.mark.parametrize("slots", [48, 336])
def test_shapes_begin_where_the_grid_does(slots):
    """A grid from noon has the afternoon first; a week from a Sunday has the Sunday first."""
    whole = np.array({48: constants.SHAPES["pooled"], 336: constants.WEEK}[slots])
    monday = "2001-01-01T00:00"
    assert public_tables.public_shape(Grid(slots=slots, anchor=monday)) == tuple(whole.tolist())
    for anchor, turn in (("2001-01-01T12:00", 24), ("2000-12-31T00:00", -48), ("2026-07-05T00:00", -48)):
        assert public_tables.public_shape(Grid(slots=slots, anchor=anchor)) == tuple(np.roll(whole, -turn).tolist())


def test_a_typical_reference_has_the_level():
    """A reference for homes of which only the level is known: its mean, and the table's distances in levels."""
    reference = public_tables.typical(Grid(), "400")
    assert np.mean(reference.profile) == pytest.approx(400, abs=0.5)
    assert reference.mismatch == 400 * Fraction(str(constants.MISMATCH))
    assert reference.spread == 400 * Fraction(str(constants.SPREAD))
    week = public_tables.typical(Grid(slots=336), 400)
    assert len(week.profile) == 336
    assert week.mismatch == 400 * Fraction(str(constants.MISMATCH))


@pytest.mark.parametrize(("grid", "level"), [(Grid(slots=10), 400), (Grid(), 0), (Grid(), 1.5)])
def test_what_is_not_known_is_refused(grid, level):
    """Another period has no public shape, and a level is a positive decimal."""
    with pytest.raises(PlanError):
        public_tables.typical(grid, level)


def test_the_file_is_as_the_script_writes_it():
    """Nobody has edited the table by hand: the script would write these values as this text."""
    table = script.Table(
        shapes=constants.SHAPES,
        week=constants.WEEK,
        spread=constants.SPREAD,
        mismatch=constants.MISMATCH,
        slope=constants.SLOPE,
        base_level=constants.BASE_LEVEL,
        pattern=constants.PATTERN,
        free=constants.FREE,
        base_load=constants.BASE_LOAD,
        day=constants.DAY,
        blocks=constants.BLOCKS,
        clip=constants.CLIP,
    )
    assert script.module(table) == script.FILE.read_text()


def test_the_script_names_no_data_that_scores_are_told_of():
    """Ausgrid's homes are what accuracy is claimed for, so the script must not know them."""
    for module in (script, search):
        with open(module.__file__) as text:
            assert "ausgrid" not in text.read().lower()


def test_the_row_taken_has_the_least_error(homes, monkeypatch):
    """Of everything tried on two small towns, the row of the pattern table has the least error of the script's."""
    monkeypatch.setattr(script, "SIZES", (3, 7))
    monkeypatch.setattr(script, "RADII", (0.4, 0.9))
    found = script.cases(homes)
    for row in script.pattern(found, amounts=(20, 500)):
        best = math.sqrt(search.score(found, script.recipe_of(row, 0), row.n_epsilon))
        assert best == pytest.approx(row.error, abs=1e-4)
        for size, radius, scale in itertools.product((3, 7), (0.4, 0.9), script.SCALES):
            other = search.Recipe(size, radius, scale, row.distance, fill=row.fill)
            assert math.sqrt(search.score(found, other, row.n_epsilon)) >= best - 1e-9


def test_more_noise_takes_smaller_releases(homes):
    """With little epsilon fewer coefficients, narrower balls and clips are taken than with much."""
    (few, many), (coarse, fine), (tight, loose) = script.cycles(homes, amounts=(10, 5000))
    assert few.size <= many.size
    assert few.radius < many.radius
    assert coarse.blocks < fine.blocks
    assert tight.clip < loose.clip


def test_noise_is_that_of_the_mechanisms(homes):
    """The script's variances are those of the basis and of the cube, for a mean of n homes."""
    n, epsilon, radius, size = 50, Fraction(2), 0.9, 7
    body = Ellipsoid(radius=round(radius * LEVEL * math.sqrt(48)), weighting="harmonic")
    basis = BasisMechanism(Basis(size=size), body, slots=48, magnitude=5000, weight=1, epsilon=epsilon)
    expected = float((search.noise(size, radius, n * epsilon) ** 2).sum())
    found = np.mean([basis.variance(row) for row in np.eye(48)]) / (n * LEVEL) ** 2
    assert found == pytest.approx(expected, rel=0.01)
    clip = Body(low=-LEVEL, high=LEVEL)
    cube = Cube(clip.sensitivity(48), weight=1, epsilon=epsilon)
    dropped = search.clip_error(search.Reported.of(homes[0]), 1.0, 1e15)
    found = np.mean([cube.variance(row) for row in np.eye(48)]) / (n * LEVEL) ** 2
    added = search.clip_error(search.Reported.of(homes[0]), 1.0, n * epsilon) - dropped
    # Levels are off by a tenth, up and down.
    assert found * 1.01 == pytest.approx(added, rel=0.01)


def test_what_is_clipped_is_what_the_mechanism_clips(homes):
    """With a level that is known and no noise, the script's error is that of the mechanism's contributions."""
    case, recipe = script.cases(homes)[0], search.Recipe(5, 0.4, 1.0)
    body = Ellipsoid(
        radius=round(0.4 * LEVEL * math.sqrt(48)),
        reference=np.rint(case.reference * LEVEL).astype(int).tolist(),
        weighting="harmonic",
    )
    basis = BasisMechanism(Basis(size=5), body, slots=48, magnitude=5000, weight=1, epsilon=Fraction(1))
    profiles = np.rint(case.profiles * LEVEL).astype(np.int64).T
    said = np.array(basis.to_slots([int(c) for c in basis.contribute(profiles).sum(axis=1)]))
    said = said / basis.multiplier / profiles.shape[1] / LEVEL
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "LEVELS", (1.0,))
        expected = search.square_error(case, recipe, 1e15)
    assert np.mean((said - case.mean) ** 2) == pytest.approx(expected, rel=0.02)


def test_blocks_in_a_wide_ball_are_block_means(homes):
    """Nothing is cut off in a wide ball: what is lost is what block means lose."""
    reported = search.Reported.of(homes[0])
    means = reported.mean.reshape(-1, 8, 6).mean(axis=2).repeat(6, axis=1)
    assert search.block_error(reported, 8, 1e3, 1e15) == pytest.approx(np.mean((means - reported.mean) ** 2))


def test_shrinkage_keeps_what_is_sure():
    """Without noise a coefficient is kept, under much noise the reference is; high frequencies are kept less."""
    quiet, loud = (search.gains(0.2, 7, np.full(7, std)) for std in (1e-9, 1e3))
    assert quiet == pytest.approx(1)
    assert loud == pytest.approx(0, abs=1e-6)
    assert (np.diff(search.gains(0.2, 7, np.full(7, 0.1))) <= 0).all()
    assert (search.gains(None, 7, np.full(7, 1e3)) == 1).all()


def test_nothing_released_is_the_reference(homes):
    """With nothing spent and the reference filled in, the error is the distance to the reference at both levels."""
    case = script.cases(homes)[0]
    expected = np.mean([np.mean((level * case.reference - case.mean) ** 2) for level in search.LEVELS])
    assert search.unspent(case, search.Recipe(7, 0.9, fill=1.0)) == pytest.approx(expected)


def test_the_low_quantile_is_equal_for_neighbours(homes):
    """A home whose days all rise by the same day moves no variation, so nothing free changes."""
    days, shift = homes[0].days, np.arange(48.0)
    moved = days.copy()
    moved[:, 0] += shift
    lows = [
        search.low_of(search.Case("x", one.mean(axis=0), one.mean(axis=1) - one.mean(axis=(0, 1)), shift))
        for one in (days, moved)
    ]
    assert (lows[0] == lows[1]).all()


def test_shapes_are_those_of_the_data(data_folder):
    """The mean days and the mean week in the table are those of the open data, to rounding."""
    data_folder("edrp"), data_folder("umass")
    real = [each for each in script.families(homes=1) if each.family in script.REAL]
    for family, shape in script.shapes(real).items():
        assert constants.SHAPES[family] == pytest.approx(1000 * shape, abs=1)
    week = np.mean(list(script.shapes(real, weekly=True).values()), axis=0)
    assert pytest.approx(1000 * week, abs=1) == constants.WEEK
