"""The error of each mechanism of the paper: closed forms, and draws that confirm them."""

import math

import numpy as np
import pytest
from scipy import stats

from diurnal import Panel
from diurnal.readings.grid import Grid
from diurnal.study.reproduction import accuracy
from diurnal.study.reproduction.accuracy import Point, Ranges, Series, Setting

EQUAL = Ranges(profile=1, variation=1, reading=1)


def test_theorem_1_has_the_error_of_its_laplace_noise():
    """Sqrt(2) T Df_z over epsilon, n and the largest mean: 0.71 with the figures of 226 homes."""
    setting = Setting(homes=226, slots=48, cycles=365, peak=1274.6)
    expected = math.sqrt(2) * 48 * 3000 / (226 * 1274.6)
    assert accuracy.error("theorem-1", accuracy.STATED, setting, 1) == pytest.approx(expected)
    assert accuracy.error("theorem-1", accuracy.STATED, setting, 5) == pytest.approx(expected / 5)


@pytest.mark.parametrize("cycles", [1, 2, 349, 365])
def test_the_gain_is_the_papers_formula(cycles):
    """Over the split budget Theorem 1 gains K Df_x/Df_z: at least K, since a profile ranges no further."""
    assert accuracy.gain("theorem-1", EQUAL, cycles) == pytest.approx(cycles)
    ranges = Ranges(profile=3, variation=5, reading=8)
    assert accuracy.gain("theorem-1", ranges, cycles) == pytest.approx(cycles * 8 / 3)


def test_the_repair_has_less_noise_than_the_printed_corollary():
    """With equal ranges its variance is 2.5 times below, but for the first cycle, which has no fresh noise."""
    printed, repaired = (accuracy.noise(name, EQUAL, slots=48, cycles=10**6) for name in ("corollary-1", "repair"))
    assert (printed / repaired) ** 2 == pytest.approx(2.5, rel=1e-5)
    assert accuracy.noise("corollary-1", EQUAL, slots=48, cycles=1) == pytest.approx(math.sqrt(2) * 48 * 2)


def _counts(drawn, scale):
    """How often draws fall into tenths of a discrete Laplace variable, and how often they should."""
    edges = np.unique([round(scale * math.log(2 * q)) for q in (0.1, 0.2, 0.3, 0.4)])
    edges = np.concatenate([edges, -edges[::-1]])
    q = math.exp(-1 / scale)
    below = np.array([(q**-e if e < 0 else 1 + q - q ** (e + 1)) / (1 + q) for e in edges.astype(float)])
    share = np.diff(np.concatenate([[0], below, [1]]))
    places = np.searchsorted(edges, drawn, side="left")
    return np.bincount(places, minlength=len(edges) + 1), share * len(drawn)


def test_noise_of_a_study_is_discrete_laplace():
    """Goodness of fit accepts the scale it is told and rejects one that is 30 % off."""
    drawn = accuracy.discrete_laplace(np.random.default_rng(3), 50, (20_000,))
    assert stats.chisquare(*_counts(drawn, 50)).pvalue > 0.001
    assert stats.chisquare(*_counts(drawn, 65)).pvalue < 1e-6


def test_draws_confirm_the_closed_forms(study):
    """Every mechanism as printed, drawn at five epsilons, has the error that the formula gives."""
    assert len(study.points) == 4 * 5
    assert all(point.agrees for point in study.points)
    assert {point.mechanism for point in study.points} == set(accuracy.MECHANISMS)


def test_a_closed_form_that_is_off_is_not_confirmed(source):
    """Noise that is 30 % too large is seen by the draws, whichever mechanism it is."""
    series = Series.of(source.panel)
    wrong = Ranges(**{name: 1.3 * getattr(accuracy.STATED, name) for name in accuracy.RANGES})
    for point in accuracy.points(series, wrong, np.random.default_rng(0)):
        expected = accuracy.error(point.mechanism, accuracy.STATED, series.setting, point.epsilon)
        told = Point(
            mechanism=point.mechanism,
            epsilon=point.epsilon,
            drawn=point.drawn,
            sure=point.sure,
            expected=expected,
        )
        assert not told.agrees


@pytest.mark.parametrize("mechanism", accuracy.MECHANISMS)
def test_sums_are_reported_as_homes_are(source, mechanism):
    """Queries are sums: a panel pooled into one home has the same reports, to the unit."""
    series = Series.of(source.panel)
    own, pooled = (
        accuracy.report(each, mechanism, accuracy.STATED, 1, np.random.default_rng(5))
        for each in (series, series.pooled())
    )
    assert np.array_equal(own, pooled)


def test_a_gap_is_the_homes_own_profile():
    """Where a reading is missing the home's floor mean stands for it, so that its variation there is 0."""
    readings = np.array([[1], [2], [4], [7], [9], [9]])
    present = np.array([[True], [True], [True], [False], [True], [True]])
    panel = Panel.from_array(readings, present=present, grid=Grid(slots=2))
    series = Series.of(panel)
    assert series.profile.tolist() == [[4], [5]]
    assert series.readings[:, 0].tolist() == [1, 2, 4, 5, 9, 9]
    assert series.span == Ranges(profile=1, variation=8, reading=8)
