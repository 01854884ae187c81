"""The paper's experiments on the real data: the figures of theory 2, 3 and 5.1 that concern the paper."""

from pathlib import Path

import pytest

from diurnal.study.reproduction import reproduce

# One worker has them all: a study takes most of a minute. The studies' own tests (tests/study) are not nightly.
pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("reproduce")]


@pytest.fixture(scope="module")
def ausgrid_study(data_folder):
    return reproduce("ausgrid", data_folder("ausgrid", "ausgrid_2012-2013_226homes.csv.gz"))


@pytest.fixture(scope="module")
def umass_study(data_folder):
    return reproduce("umass", Path(data_folder("umass", "2015")))


def outcomes(study):
    return {each.says: each.outcome for each in study.statements}


def rows(study, question):
    return {row.reading: row for row in study.question(question).rows}


def test_ausgrid_has_the_errors_of_the_theory(ausgrid_study):
    """At epsilon 1: Theorem 1 0.71, Corollary 1 as printed 3.4, split 688; the draws agree."""
    study = ausgrid_study
    found = [study.error(name) for name in ("theorem-1", "corollary-1", "split")]
    assert found == pytest.approx([0.71, 3.4, 688], rel=0.01)
    assert all(point.agrees for point in study.points)


def test_ausgrid_has_the_coefficients_of_the_theory(ausgrid_study):
    """Days 0.4962 and 0.1272, weeks 0.3349; the bound is confirmed, median and weeks are explained."""
    study = ausgrid_study
    assert (study.daily.largest, study.daily.median) == pytest.approx((0.4962, 0.1272), abs=5e-5)
    assert study.weekly.largest == pytest.approx(0.3349, abs=5e-5)
    found = outcomes(study)
    assert found["Days: every |c| is below a bound"] == "confirmed"
    assert found["Days: the median of |c|"] == "explained"
    assert found["Weeks: every |c| is below a bound"] == "explained"


def test_ausgrid_is_consumption_and_the_week_does_not_begin_on_sunday_or_monday(ausgrid_study):
    """Consumption fits as it stands; net has the paper's median and is above its bound; generation does not."""
    study = ausgrid_study
    found = rows(study, "What was measured")
    assert found["consumption (general and controlled load)"].fits == "fits"
    net = found["consumption less generation (net)"]
    assert net.values[1:] == pytest.approx((0.5197, 0.1259), abs=1e-4)
    assert net.fits == "possible"
    assert found["generation"].fits == "no"
    weeks = {name.split(",")[0]: row.fits for name, row in rows(study, "The first day of a week").items()}
    assert [day for day, fits in weeks.items() if fits != "fits"] == ["Sunday", "Monday"]


def test_umass_has_the_coefficients_of_the_theory(umass_study):
    """46 complete apartments: days 0.5496 and 0.0968, weeks 0.4234; neither statement holds as it stands."""
    study = umass_study
    assert (study.daily.largest, study.daily.median) == pytest.approx((0.5496, 0.0968), abs=1e-4)
    assert study.weekly.largest == pytest.approx(0.4234, abs=3e-4)
    found = outcomes(study)
    assert found["Days: every |c| is below a bound"] == "not reproduced"
    assert found["Days: the median of |c|"] == "explained"


def test_umass_fits_if_rows_are_picked_and_not_averaged(umass_study):
    """One row of each half hour over the paper's 349 days has a median of 0.0737, beside the paper's 0.0746."""
    study = umass_study
    found = rows(study, "What was measured")
    picked = found["a half hour is its last row; 349 days"]
    assert picked.values[2] == pytest.approx(0.0737, abs=5e-4)
    assert picked.fits == "possible"
    assert found["the paper's 349 days, 1 January to 14 December"].fits == "no"


def test_about_200_fold_is_corollary_1_on_both(ausgrid_study, umass_study):
    """With the homes' own ranges Corollary 1 gains 168 and 208, and Theorem 1 more than 349 in every reading."""
    for study, own in ((ausgrid_study, 168), (umass_study, 208)):
        found = rows(study, "About 200 fold")
        assert found["Corollary 1 as printed, ranges as these homes' own"].values[0] == pytest.approx(own, abs=1)
        assert found["Theorem 1, ranges as these homes' own"].values[0] > 349
        assert outcomes(study)["Theorem 1 is about so many times better than the split budget"] == "corrected"
