"""The check on real homes: the figures of theory 2 and 7."""

from pathlib import Path

import numpy as np
import pytest

import diurnal as dn
from diurnal.periodicity.correlation import correlations

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("checked")


@pytest.fixture(scope="module")
def year(data_folder):
    """226 Ausgrid homes from July 2012 to June 2013."""
    return dn.panel(data_folder("ausgrid", "ausgrid_2012-2013_226homes.csv.gz"))


@pytest.fixture(scope="module")
def daily(year):
    return dn.check(year)


@pytest.fixture(scope="module")
def weekly(year):
    return dn.check(year.with_period("7d"))


@pytest.fixture(scope="module")
def umass(data_folder):
    """The 46 UMass apartments that are complete; the doubled hour is a mean."""
    panel = dn.panel(Path(data_folder("umass", "2015")), fold="mean")
    return panel.without([home for i, home in enumerate(panel.households) if not panel.present[:48, i].any()])


def sizes(found):
    return found.largest, found.median


def test_ausgrid_has_the_papers_correlations(daily, weekly):
    """Theory 2: daily at most 0.4962 with median 0.1272, weekly 0.3349 with 0.1391."""
    assert sizes(daily.correlations) == pytest.approx((0.4962, 0.1272), abs=5e-5)
    assert sizes(weekly.correlations) == pytest.approx((0.3349, 0.1391), abs=5e-5)
    assert len(daily.correlations.cycles) == 365
    assert len(weekly.correlations.cycles) == 52


def test_umass_has_the_papers_correlations(umass):
    """Theory 2: 46 apartments, daily at most 0.5496 with median 0.0968, weekly 0.4234 with 0.106."""
    assert umass.n_households == 46
    assert sizes(correlations(umass)) == pytest.approx((0.5496, 0.0968), abs=1e-4)
    assert sizes(correlations(umass.with_period("7d"))) == pytest.approx((0.4234, 0.106), abs=3e-4)


def test_a_week_that_starts_on_another_day(year):
    """Theory 2: starting the week on another day moves the largest coefficient between 0.313 and 0.335."""
    found = [correlations(year.between(day * 48, (day + 358) * 48).with_period("7d")).largest for day in range(7)]
    assert min(found) == pytest.approx(0.313, abs=2e-3)
    assert max(found) == pytest.approx(0.335, abs=5e-3)


def test_most_pairs_are_not_zero(daily, weekly):
    """Theory 7: 84 % of day pairs and 92 % of week pairs are significant, about half of them negative."""
    assert daily.evidence.significant() == pytest.approx(0.84, abs=0.005)
    assert weekly.evidence.significant() == pytest.approx(0.92, abs=0.005)
    assert daily.evidence.negative() == pytest.approx(0.5, abs=0.06)
    for verdict in (daily, weekly):
        assert verdict.small
        assert verdict.found
        assert verdict.words == "small, but not zero"


def test_the_week_shows_by_lag(daily, weekly):
    """Theory 7: mean c is 0.31 at lag 1, 0.24 at 3, 0.26 at 7 and 0.17 at 28; under weeks the rhythm is gone."""
    lags, means = daily.correlations.by_lag()
    found = dict(zip(lags.tolist(), means.tolist(), strict=True))
    assert [found[lag] for lag in (1, 3, 7, 28)] == pytest.approx([0.31, 0.24, 0.26, 0.17], abs=5e-3)
    assert daily.rhythm == 7
    assert weekly.rhythm is None


def test_the_day_is_found_and_the_week_leaves_less(daily):
    """The search finds the day in the data, lists the week, and shows that the week leaves less."""
    found = {each.name: each for each in daily.periods}
    assert found["1 day"].why == "found in the data"
    assert found["1 week"].largest < found["1 day"].largest


def test_a_longer_period_costs_noise(year, daily):
    """The trade: the week leaves less correlation and costs about seven times the noise."""
    plan = dn.Plan(epsilon="1", domain=(0, 8000), history=91, grid=year.grid, level="pattern", mechanism="cube")
    rows = {row.period.name: row for row in dn.trade(plan, daily, year).rows}
    assert rows["1 week"].error / rows["1 day"].error == pytest.approx(7, rel=0.05)


def test_beyond_correlation_there_is_more(daily):
    """Distance correlation sees almost every pair, sizes taken out, and would see planted dependence."""
    seen = daily.nonlinear
    assert seen.n_pairs >= 200
    assert seen.significant_scaled() > 0.9
    assert seen.power[-1][1] > 0.95


def test_a_drift_alarm_knows_its_profile(ausgrid):
    """Held against four weeks of winter the pattern moves for most of the year; against a year hardly ever."""
    against_weeks = dn.private_drift(ausgrid.first(366), history=28)
    against_year = dn.private_drift(ausgrid, history=366)
    assert np.mean(against_weeks.alarms) > 0.4
    assert np.mean(against_year.alarms) < 0.1


def test_a_released_stream_tells_the_same(ausgrid):
    """In pattern mode drift from released reports alone is that of the private readings: the noise cancels."""
    panel = ausgrid.first(200)
    plan = dn.Plan(epsilon="1", domain=(0, 8000), history=91, grid=panel.grid, level="pattern", mechanism="cube")
    stream = dn.Curator.in_memory().start(
        plan, history=panel.first(91), acknowledge=dn.check(panel).digest, accept_worse=True
    )
    stream.report(panel.after(91))
    released, private = stream.drift()["all"], dn.private_drift(panel, history=91)
    assert released.cycles == private.cycles
    assert np.corrcoef(released.chance, private.chance)[0, 1] > 0.999
