import numpy as np
import pytest

import diurnal as dn
from diurnal.errors import ReadingsError
from diurnal.periodicity import nonlinear as module
from diurnal.periodicity.cycles import Cycles, count
from diurnal.periodicity.evidence import evidence
from diurnal.periodicity.nonlinear import nonlinear
from diurnal.readings import kernels
from diurnal.study.planted import planted
from support import refuses

CYCLES = Cycles(kept=tuple(range(16)), left_out=(), gaps=0)


def look(panel, seed=0):
    return nonlinear(panel, count(panel), rng=np.random.default_rng(seed))


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("noise", ["normal", "skewed"])
def test_where_there_is_nothing_it_keeps_its_level(noise, unequal):
    """Without anything in common about 5 % of pairs are significant at 5 %; of homes of unequal size too, once
    their size is taken out.
    """
    found = [
        look(planted(homes=80, cycles=16, slots=12, noise=noise, unequal=unequal, seed=seed), seed)
        for seed in range(12)
    ]
    assert 0.01 < np.mean([each.significant_scaled() for each in found]) < 0.11
    if not unequal:
        assert 0.01 < np.mean([each.significant() for each in found]) < 0.11


def test_the_halves_keep_the_two_cycles_apart():
    """Even of six cycles, where a mean of all would tie each two together, about 5 % are significant at 5 %."""
    found = [look(planted(homes=250, cycles=6, slots=12, noise="normal", seed=seed), seed) for seed in range(8)]
    assert np.mean([each.significant() for each in found]) < 0.2
    assert np.mean([each.significant_scaled() for each in found]) < 0.2


@pytest.mark.parametrize("out", ["absent", "still", "half"])
def test_homes_that_are_out_are_left_out(out):
    """Homes that never report, never move, or are out for half of the time, are not looked at."""
    panel = planted(homes=100, cycles=28, slots=6)
    present, readings = np.ones(panel.readings.shape, dtype=bool), panel.readings.copy()
    if out == "absent":
        present[:, :8] = False
    elif out == "still":
        readings[:, :8] = 7
    else:
        present[: 14 * 6, :8] = False
        present[14 * 6 :, 8:16] = False
    found = look(panel.following(readings, present=present, first_step=0))
    assert found.n_households == (84 if out == "half" else 92)
    assert found.significant_scaled() < 0.12


def test_homes_of_unequal_size_have_their_size_in_common():
    """As they are, the days of homes of unequal size go together: the size is the same every day."""
    assert look(planted(homes=80, cycles=16, slots=12, unequal=True)).significant() > 0.9


def test_it_sees_what_correlation_does_not():
    """Wide days that follow wide days have no correlation, and distance correlation finds them."""
    panel = planted("swing", 0.8, homes=200, cycles=14, slots=12, noise="normal")
    found = look(panel)
    assert found.significant() > 0.8
    assert found.significant_scaled() > 0.3
    sure = evidence(panel, count(panel), rng=np.random.default_rng(0))
    assert sure.significant() < 0.1


def test_its_power_is_shown_and_grows():
    """What is planted is found the more often the stronger it is, and more often among more homes."""
    few, many = (look(planted(homes=homes, cycles=16, slots=12)) for homes in (30, 250))
    for found in (few, many):
        shares = [share for _, share in found.power]
        assert shares == sorted(shares) or max(np.diff(shares)) > 0 > min(np.diff(shares)) > -0.1
    assert many.power[-1][1] > 0.9
    assert sum(share for _, share in many.power) > sum(share for _, share in few.power)


def test_at_least_200_pairs_are_looked_at():
    """A panel with enough cycles has at least 200 pairs sampled, no pair twice."""
    assert look(planted(homes=20, cycles=40, slots=4)).n_pairs >= 200
    assert look(planted(homes=20, cycles=8, slots=4)).n_pairs == 16


@pytest.fixture(scope="module")
def dcor():
    """The package, as plain Python: to compile itself takes it longer than all of this file's tests."""
    import numba

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        # What it would still compile are rows of many pairs at once, which are not asked for.
        patch.setattr(numba, "guvectorize", lambda *_, **__: lambda function: function)
        import dcor

        return dcor


@pytest.mark.parametrize("n", [10, 40, 150])
def test_the_p_value_is_that_of_dcor(dcor, n):
    """Centred distances agree with dcor's, and the p-value with its own t-test."""
    rng = np.random.default_rng(n)
    left = rng.standard_normal((n, 6))
    right = left**2 + rng.standard_normal((n, 6))
    distances = np.linalg.norm(left[:, None] - left, axis=2)
    np.testing.assert_allclose(module._centred(left), dcor.u_centered(distances), atol=1e-12)
    ours = module._p_value(module._centred(left), module._centred(right))
    assert ours == pytest.approx(dcor.independence.distance_correlation_t_test(left, right).pvalue, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_homes_that_are_all_alike_but_one_are_no_evidence(seed):
    """Where all homes but one move alike there is nothing to compare: the check says so, and does not fail."""
    readings = np.full((14 * 4, 12), 300)
    readings[:, 0] = np.random.default_rng(seed).integers(0, 900, 14 * 4)
    readings[:4, 1:] += 1
    panel = planted(homes=12, cycles=14, slots=4).following(readings, first_step=0)
    assert (look(panel, seed).p == 1).all()
    assert dn.check(panel).nonlinear is not None


def test_what_one_thread_finds_many_find(monkeypatch):
    """However many threads look, and whichever is first, the same panel and seed give the same bits."""
    panel, found = planted(homes=60, cycles=16, slots=12), []
    for threads in (1, 5):
        monkeypatch.setattr(kernels, "THREADS", threads)
        found.append(look(panel))
    one, many = found
    assert np.array_equal(one.p, many.p)
    assert np.array_equal(one.p_scaled, many.p_scaled)
    assert one.power == many.power


def test_a_home_that_moves_once_has_no_size():
    """A home that moves in one cycle only has no size in the others, and is not divided by what rounding leaves."""
    readings = planted(homes=40, cycles=16, slots=12).readings.copy()
    readings[:, 5] = 300
    readings[:12, 5] += np.arange(12) * 37
    variations, _ = module.moves(planted(homes=40, cycles=16, slots=12).following(readings, first_step=0), CYCLES)
    halves = module._Halves(variations, np.random.default_rng(0))
    assert np.abs(halves.scaled(0)[5]).max() == 0
    assert np.abs(halves.scaled(1)[6]).max() > 0
    for cycle in (0, 1, 7):
        others = np.flatnonzero(halves._half == halves._half[cycle])
        rest = variations[:, others[others != cycle]]
        np.testing.assert_allclose(halves.block(cycle), variations[:, cycle] - rest.mean(axis=1), atol=1e-9)
        size = np.sqrt(np.mean((rest - rest.mean(axis=1)[:, None]) ** 2, axis=(1, 2)))
        np.testing.assert_allclose(halves._apart(cycle)[1][:, 0], np.where(size > 1e-9, size, 0), rtol=1e-9)


@pytest.mark.parametrize("shape", [{"homes": 5}, {"cycles": 5}])
def test_too_little_is_said(shape):
    """Too few homes or cycles are refused here, and a verdict says why it did not look."""
    panel = planted(**{"homes": 30, "cycles": 12, "slots": 4, **shape})
    with refuses(ReadingsError, "check-too-little-beyond-correlation"):
        look(panel)


def test_a_verdict_without_it_says_why():
    """Of homes enough for evidence and too few for more, a verdict says what it takes."""
    verdict = dn.check(planted(homes=7, cycles=12, slots=4))
    assert verdict.nonlinear is None
    assert "not looked at: it needs 6 cycles and 10 households" in str(verdict)
