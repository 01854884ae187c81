"""What the paper says, and what became of it."""

from typing import get_args

import pytest

from diurnal.study.reproduction import experiments, statements
from diurnal.study.reproduction.statements import Outcome


def test_every_statement_has_an_outcome_and_a_reason(study):
    """Each has become something, and says why; Corollary 1's promise is corrected."""
    assert {each.outcome for each in study.statements} <= set(get_args(Outcome))
    assert all(each.says and each.ours and each.why for each in study.statements)
    (corollary,) = [each for each in study.statements if each.says.startswith("Corollary 1")]
    assert corollary.outcome == "corrected"
    assert "364.5" in corollary.ours


def test_a_town_confirms_nothing_of_the_paper_s_data(study):
    """What holds there holds on the town."""
    found = {each.outcome for each in study.statements}
    assert "holds on the town" in found
    assert "confirmed" not in found


@pytest.mark.parametrize(
    ("name", "off", "outcome"),
    [
        ("umass", -0.1, "confirmed"),
        ("umass", 0.19, "explained"),
        ("umass", 0.21, "not reproduced"),
        ("town", 0.19, "holds on the town"),
        ("town", 0.21, "does not hold on the town"),
    ],
)
def test_a_gap_that_other_homes_do_not_explain_is_not_reproduced(name, off, outcome):
    """Within two standard deviations it is explained, beyond them it is not."""
    assert statements._outcome(experiments.EXPERIMENTS[name], off, spread=0.1) == outcome


def test_a_gain_says_over_how_many_days(study):
    """Over the paper's days, and over those at hand where these are others."""
    (fold,) = [each for each in study.statements if "better than the split budget" in each.says]
    assert "973 with the ranges stated here, over the paper's 365 days (112 over the 42 at hand)" in fold.ours
    assert set(study.to_json()["gain"]) == {"42 days", "365 days"}
