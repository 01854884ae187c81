"""Panels with known dependence: what is planted is there, at the strength that was asked for, and nothing else."""

import numpy as np
import pytest

from diurnal.errors import ReadingsError
from diurnal.study.planted import SPREAD, planted
from support import refuses


def variations(panel):
    """By home, cycle and slot, each home's mean day taken off."""
    days = panel.readings.reshape(panel.n_cycles, panel.grid.slots, -1).transpose(2, 0, 1).astype(float)
    return days - days.mean(axis=1, keepdims=True)


def correlation(one, other):
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


@pytest.mark.parametrize("noise", ["normal", "skewed", "heavy"])
def test_nothing_is_planted_unless_asked_for(noise):
    """However variations are spread, they are as wide as said, and days next to each other are unrelated."""
    moves = variations(planted(noise=noise, homes=300))
    assert moves.std() == pytest.approx(SPREAD, rel=0.1)
    assert abs(correlation(moves[:, 1:], moves[:, :-1]) + 1 / 56) < 0.02


@pytest.mark.parametrize("strength", [0.3, 0.7])
def test_memory_is_the_correlation_of_one_day_with_the_next(strength):
    """It is the strength, and two days apart its square; variations stay as wide as they are without."""
    moves = variations(planted("memory", strength, homes=200, cycles=400))
    assert correlation(moves[:, 1:], moves[:, :-1]) == pytest.approx(strength, abs=0.02)
    assert correlation(moves[:, 2:], moves[:, :-2]) == pytest.approx(strength**2, abs=0.02)
    assert moves.std() == pytest.approx(SPREAD, rel=0.05)


def test_swings_are_no_correlation():
    """Homes that vary widely one day do so the next, up or down."""
    moves = variations(planted("swing", 1.0, homes=300, noise="normal"))
    assert abs(correlation(moves[:, 1:], moves[:, :-1])) < 0.05
    sizes = np.log(moves.std(axis=2))
    assert correlation(sizes[:, 1:], sizes[:, :-1]) > 0.6


def test_weekday_habits_are_on_two_days_of_seven():
    """Weekends of a home are like each other, and unlike its other days."""
    moves = variations(planted("weekday", 2.0, homes=300))
    assert correlation(moves[:, 5], moves[:, 13]) > 0.5
    assert correlation(moves[:, 5], moves[:, 8]) < -0.2


def test_a_panel_that_cannot_be_is_refused():
    """Another kind, another noise or no homes: the error says what there is."""
    for wrong in ({"kind": "moon"}, {"noise": "white"}):
        with refuses(ReadingsError, "planted-unknown"):
            planted(**wrong)
    with refuses(ReadingsError, "argument-not-whole"):
        planted(homes=0)
