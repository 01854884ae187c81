from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.periodicity import evidence as module
from diurnal.periodicity.correlation import correlations
from diurnal.periodicity.cycles import count, moves
from diurnal.periodicity.evidence import evidence, false_discovery
from diurnal.study.planted import planted
from support import refuses

SHAPES = [
    {"homes": 20, "cycles": 10, "slots": 4, "noise": "normal"},
    {"homes": 60, "cycles": 20, "slots": 12, "noise": "skewed"},
    {"homes": 200, "cycles": 12, "slots": 24, "noise": "heavy"},
    {"homes": 80, "cycles": 30, "slots": 6, "noise": "skewed", "unequal": True},
]


def look(panel, seed=0):
    return evidence(panel, count(panel), rng=np.random.default_rng(seed))


def test_z_is_that_of_section_seven_counted_naively():
    """For every pair, z agrees with theory 7 written out household by household."""
    panel = planted("memory", 0.3, homes=12, cycles=8, slots=3)
    w = moves(panel, count(panel))[0]
    w = w - w.mean(axis=0)
    n, k = 12, 8
    expected = []
    for a in range(k):
        for b in range(a + 1, k):
            shares = []
            for j in range(n):
                g = [[float(np.dot(w[j, p], w[j, q])) for q in range(k)] for p in range(k)]
                whole = sum(g[p][p] for p in range(k)) / (1 - 1 / k)
                s = [(g[p][p] - whole / k**2) / (1 - 2 / k) for p in range(k)]
                shares.append(g[a][b] + (s[a] + s[b]) / k - whole / k**2)
            expected.append(sum(shares) / np.sqrt(sum(share**2 for share in shares)))
    np.testing.assert_allclose(look(panel).z, expected, rtol=1e-9)


def test_tiles_of_any_size_give_the_same(monkeypatch):
    """How many cycles are compared at a time changes nothing."""
    panel = planted("season", 0.2, homes=25, cycles=30, slots=4)
    whole = look(panel)
    monkeypatch.setattr(module, "TILE", 7)
    cut = look(panel)
    np.testing.assert_allclose(cut.z, whole.z)
    assert (cut.p_largest, cut.p_share) == (whole.p_largest, whole.p_share)
    assert cut.bound == pytest.approx(whole.bound)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "-".join(map(str, shape.values())))
def test_where_there_is_nothing_it_keeps_its_level(shape):
    """On 200 panels without anything in common 2 to 7 % of pairs are significant at 5 %, and all pairs together are
    found to be more than chance in at most 8 % of panels (binomially, 5 % pass that nearly always).
    """
    found = [look(planted(seed=seed, **shape), seed) for seed in range(200)]
    assert 0.02 < np.mean([each.significant() for each in found]) < 0.07
    assert np.mean([each.p_all < 0.05 for each in found]) <= 0.08
    assert np.mean([each.discovered() > 0 for each in found]) <= 0.08


def test_without_the_correction_it_would_not(monkeypatch):
    """The same test without theory 7's correction rejects most pairs where there is nothing: the level can fail."""

    class Uncorrected(module._Shares):
        def __init__(self, variations, known):
            super().__init__(variations, known)
            self._each = self._each_less_whole = np.zeros_like(self._each)

    panel = planted(homes=200, cycles=10, slots=24)
    assert look(panel).significant() < 0.15
    monkeypatch.setattr(module, "_Shares", Uncorrected)
    assert look(panel).significant() > 0.5


@pytest.mark.parametrize(("kind", "strength"), [("weekday", 0.5), ("memory", 0.25), ("season", 0.3)])
def test_what_is_planted_is_found(kind, strength):
    """A weekday habit, memory of a day, and a season are each found in at least 9 of 10 panels of 100 homes."""
    found = [look(planted(kind, strength, homes=100, seed=seed), seed).p_all < 0.05 for seed in range(20)]
    assert np.mean(found) >= 0.9


def test_the_bound_holds_for_the_population():
    """In at least 90 of 100 samples of homes the 95 % bound lies above the population's largest coefficient."""
    truth = 0.4  # of neighbouring days, under memory of 0.4
    bounds = [
        look(planted("memory", truth, homes=80, cycles=20, slots=8, seed=seed), seed).bound for seed in range(100)
    ]
    assert np.mean(np.array(bounds) > truth) >= 0.9
    assert np.median(bounds) < 0.75


def test_the_false_discovery_rate_is_that_of_scipy():
    """Adjusted p-values agree with SciPy's for Benjamini and Yekutieli."""
    p = np.random.default_rng(1).uniform(size=500) ** 3
    np.testing.assert_allclose(false_discovery(p), stats.false_discovery_control(p, method="by"))


def test_a_large_panel_is_sampled(monkeypatch):
    """Of more homes than fit, a sample is weighed, and the result says of how many."""
    monkeypatch.setattr(module, "READINGS", 1)
    panel = planted("season", 0.5, homes=300, cycles=8, slots=4)
    found = look(panel)
    assert found.n_households == module.LEAST_SAMPLE
    assert len(found.z) == len(correlations(panel).pairs)
    assert not np.array_equal(found.z, look(panel, seed=1).z)


def test_one_seed_has_one_answer():
    """The same panel and seed give the same evidence to the last bit."""
    panel = planted("season", 0.2, homes=50, cycles=12, slots=4)
    one, two = look(panel), look(panel)
    assert np.array_equal(one.z, two.z)
    assert (one.p_all, one.bound) == (two.p_all, two.bound)


@pytest.mark.parametrize("shape", [{"homes": 4}, {"cycles": 7}])
def test_too_little_for_evidence_is_not_testable(shape):
    """Of fewer than five homes or eight cycles, taking away means leaves no evidence, and that is said."""
    panel = planted(**{"homes": 30, "cycles": 12, "slots": 4, **shape})
    with refuses(ReadingsError, "check-too-little-evidence"):
        look(panel)
    with refuses(ReadingsError, "check-too-little-evidence"):
        dn.check(panel)


@pytest.mark.parametrize("out", ["all along", "one half", "gaps"])
def test_homes_that_are_missing_are_not_taken_for_more(out):
    """Homes that never report, or are out for half of the time, raise nothing, whatever weather all share."""
    found = []
    for seed in range(40):
        plain = planted(homes=100, cycles=28, slots=6, seed=seed)
        shock = np.random.default_rng(seed).normal(0, 100, (28 * 6, 1)).round().astype(int)
        present = np.ones(plain.readings.shape, dtype=bool)
        if out == "all along":
            present[:, :8] = False
        elif out == "one half":
            present[: 14 * 6, :8] = False
            present[14 * 6 :, 8:16] = False
        else:
            present = np.random.default_rng(seed).random(present.shape) > 0.05
        found.append(look(plain.following(plain.readings + shock, present=present, first_step=0), seed))
    assert np.mean([each.significant() for each in found]) < 0.08
    assert np.mean([each.p_all < 0.05 for each in found]) <= 0.1


def test_the_bound_grows_with_confidence_from_the_estimate_on():
    """A surer bound is wider, and the least sure one still lies above the largest coefficient that was found."""
    panel = planted("memory", 0.3, homes=60, cycles=12, slots=4)
    bounds = [
        evidence(panel, count(panel), rng=np.random.default_rng(0), confidence=confidence).bound
        for confidence in (0.5, 0.95, 0.99)
    ]
    assert bounds == sorted(set(bounds))
    assert bounds[0] > correlations(panel).largest + 0.02


def test_looking_twice_is_allowed_for():
    """The p-value of all together is twice the smaller of the two, and never less than the draws can say."""
    found = look(planted("memory", 0.9, homes=60, cycles=12, slots=4))
    assert found.p_largest == found.p_share == pytest.approx(1 / 301)
    assert replace(found, p_largest=0.03, p_share=0.5).p_all == 0.06
    assert replace(found, p_largest=0.5, p_share=0.01).p_all == 0.02
    assert replace(found, p_largest=0.9, p_share=0.7).p_all == 1


def test_negative_is_the_share_of_negative_ones():
    """Of a season's significant pairs, those of summer against winter are negative: about a half."""
    season = look(planted("season", 0.6, homes=100, cycles=28))
    assert season.negative() == np.mean(season.z[season.p < 0.05] < 0)
    assert 0.35 < season.negative() < 0.65
    assert replace(season, z=np.abs(season.z)).negative() == 0


@pytest.mark.parametrize("confidence", [0, 1, 1.5])
def test_a_confidence_that_is_none_is_refused(confidence):
    """A confidence outside (0, 1) is refused."""
    panel = planted(homes=6, cycles=9, slots=2)
    with refuses(ReadingsError, "check-confidence-range"):
        evidence(panel, count(panel), rng=np.random.default_rng(0), confidence=confidence)
