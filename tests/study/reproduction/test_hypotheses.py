"""Ways the paper may be understood where it is silent."""

import math
import re

import pytest

from diurnal.study.reproduction import accuracy, coefficients, experiments, hypotheses
from diurnal.study.reproduction.accuracy import Ranges


@pytest.mark.parametrize(("name", "days"), [("ausgrid", 365), ("umass", 349)])
def test_the_papers_horizons_are_swapped(name, days):
    """Each data set's days of 48 half hours are what the paper prints for the other one."""
    question = hypotheses.horizons(experiments.EXPERIMENTS[name])
    assert [row.fits for row in question.rows] == ["no", "fits"]
    assert question.rows[1].values == (days * 48, days)


def test_about_200_fold_fits_corollary_1_and_not_theorem_1(study):
    """With equal ranges Theorem 1 gains 365 and Corollary 1 163, which rounds to 200."""
    rows = {row.reading: row for row in study.question("About 200 fold").rows}
    first = rows["Theorem 1, K Df_x/Df_z, equal ranges"]
    printed = rows["Corollary 1 as printed, equal ranges"]
    assert (first.values[0], first.fits) == (365, "no")
    assert printed.values[0] == pytest.approx(365 / math.sqrt(5), rel=2e-3)
    assert printed.fits == "fits"
    # What the answer says: Df_x = Df_z and this Df_w give 200.
    share = float(re.search(r"Df_w = ([0-9.]+) Df_z", study.question("About 200 fold").answer)[1])
    ranges = Ranges(profile=1, variation=share, reading=1)
    assert accuracy.gain("corollary-1", ranges, 365) == pytest.approx(200, rel=0.01)


def test_readings_fit_by_the_papers_figures():
    """Below the bound and near the median fits; above it within two spreads is possible; else it does not."""
    said = experiments.AUSGRID
    spread = coefficients.Choice(homes=9, largest=0, largest_spread=0.02, median=0, median_spread=0.005)
    chance = coefficients.Chance(alike=spread, fewer=())

    def fit(largest, median):
        found = coefficients.Sizes(homes=226, cycles=365, largest=largest, median=median)
        return hypotheses.coefficient_fit(said, found, chance)

    assert fit(0.49, 0.127) == "fits"
    assert fit(0.49, 0.2) == "no"
    assert fit(0.52, 0.126) == "possible"
    assert fit(0.55, 0.126) == "no"
