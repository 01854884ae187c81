"""Noise as Tumult tests it: goodness of fit that accepts the right law and must reject one 30 % off."""

import os
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import support
from diurnal.errors import LimitError
from diurnal.promise import noise
from diurnal.study.audit import laws

DRAWS = 6000
ACCEPT, REJECT = 1e-5, 1e-9

SAMPLERS = {
    "laplace": (2, lambda f: lambda: noise.laplace(2, Fraction(3) * f), lambda v: laws.log_laplace(v, 3)),
    "gaussian": (2, lambda f: lambda: noise.gaussian(2, Fraction(2) * f), lambda v: laws.log_gaussian(v, 2)),
    "cube": (2, lambda f: lambda: noise.cube([4, 4], 1 / (2 * f)), lambda v: laws.log_cube(v, [4, 4], 0.5)),
    "cube of a rate that is no whole number": (
        2,
        lambda f: lambda: noise.cube([5, 5], Fraction(3, 7) / f),
        lambda v: laws.log_cube(v, [5, 5], 3 / 7),
    ),
    "cube of unequal ranges": (
        3,
        lambda f: lambda: noise.cube([4, 2, 0], 1 / (2 * f)),
        lambda v: laws.log_cube(v, [4, 2, 0], 0.5),
    ),
    "cube of a range raised for its sampler": (
        3,
        lambda f: lambda: noise.cube([8, 1, 1], 1 / f),
        lambda v: laws.log_cube(v, [24, 6, 4], 1),
    ),
    "l2-norm": (2, lambda f: lambda: noise.l2_norm(2, 1 / (2 * f)), lambda v: laws.log_l2(v, 0.5)),
    "l2-norm in three": (3, lambda f: lambda: noise.l2_norm(3, 1 / f), lambda v: laws.log_l2(v, 1)),
}


def goodness_of_fit(drawn, dimension, log_mass):
    """The p-value of vectors against a mass function, cells of small expectation merged."""
    points = support.grid_points(dimension, {2: 60, 3: 24}[dimension])
    with np.errstate(divide="ignore"):
        mass = np.exp(log_mass(points))
    mass /= mass.sum()
    expected = mass * len(drawn)
    order = np.argsort(-expected)
    kept = order[expected[order] >= 8]
    counts = {tuple(v): 0 for v in points[kept].tolist()}
    rest = 0
    for v in drawn:
        if tuple(v) in counts:
            counts[tuple(v)] += 1
        else:
            rest += 1
    seen = np.array([*counts.values(), rest], dtype=float)
    hoped = np.append(expected[kept], len(drawn) - expected[kept].sum())
    return stats.chisquare(seen, hoped * seen.sum() / hoped.sum()).pvalue


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_follow_the_exact_mass_function(name):
    """The right scale is accepted; one 30 % larger or smaller is rejected."""
    dimension, sampler, log_mass = SAMPLERS[name]
    for factor in (Fraction(1), Fraction(13, 10), Fraction(7, 10)):
        draw = sampler(factor)
        p = goodness_of_fit([draw() for _ in range(DRAWS)], dimension, log_mass)
        assert p > ACCEPT if factor == 1 else p < REJECT


@pytest.mark.parametrize("scale", [2**31, 2**40, 2**48])
def test_large_noise_is_not_cut_off(scale):
    """Noise of any scale up to the limit has its own deviation and no value that comes up again and again."""
    samplers = {
        "laplace": (lambda: noise.laplace(500, Fraction(scale)), np.sqrt(2)),
        "gaussian": (lambda: noise.gaussian(500, Fraction(scale)), 1),
        "cube": (lambda: noise.cube([scale] * 500, Fraction(1, scale)), np.sqrt(501 * 502 / 3)),
        "l2-norm": (lambda: [v for _ in range(170) for v in noise.l2_norm(3, Fraction(1, scale))], 2),
    }
    for sampler, deviation in samplers.values():
        drawn = sampler()
        assert len(set(drawn)) == len(drawn)
        assert np.sqrt(np.mean(np.square(np.array(drawn, dtype=float)))) == pytest.approx(
            deviation * scale, rel=0.3
        )


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_do_not_repeat(name):
    """Consecutive draws are equal as often as independent ones would be; repeated draws are caught."""
    dimension, sampler, log_mass = SAMPLERS[name]
    points = support.grid_points(dimension, {2: 60, 3: 24}[dimension])
    with np.errstate(divide="ignore"):
        mass = np.exp(log_mass(points))
    chance = float(((mass / mass.sum()) ** 2).sum())
    draw = sampler(Fraction(1))
    drawn = [draw() for _ in range(2000)]
    repeated = [v for v in drawn[:1000] for _ in range(2)]
    for vectors, fresh in ((drawn, True), (repeated, False)):
        equal = sum(a == b for a, b in zip(vectors[::2], vectors[1::2], strict=True))
        p = stats.binomtest(equal, 1000, chance, alternative="greater").pvalue
        assert p > ACCEPT if fresh else p < REJECT


def test_components_of_a_vector_are_not_shared():
    """No two components of a vector are the same draw."""
    for vector in (noise.laplace(48, Fraction(10**6)), noise.cube([10**6] * 48, Fraction(1, 10**6))):
        assert len(set(vector)) > 40


@given(st.integers(1, 60), st.sampled_from([64, 128]))
def test_powers_of_e_are_rounded_down_exactly(k, bits):
    """The integer part of exp(-k) 2^bits agrees with a 60-digit decimal exponential."""
    from decimal import Decimal, getcontext

    getcontext().prec = 60
    assert noise._power_of_e(k, bits) == int(Decimal(-k).exp() * 2**bits)


def test_a_tie_with_a_power_of_e_is_decided_by_more_bits(monkeypatch):
    """If the first 64 bits of a uniform equal those of exp(-k), the next ones decide, both ways."""
    first, second = noise._power_of_e(2, 64), noise._power_of_e(2, 128) & (2**64 - 1)
    for offset, count in ((-1, 2), (1, 1)):
        monkeypatch.setattr(os, "urandom", lambda size, o=offset: (second + o).to_bytes(size, "big"))
        assert noise._count_powers(first) == count


def test_geometric_draws_are_geometric():
    """Sums of geometrics, the heart of cube noise, have the exact mass, for whole and broken rates."""
    for rate in (Fraction(1, 5), Fraction(3, 4), Fraction(7, 3)):
        drawn = noise._geometric(60000, rate)
        ratio = np.exp(-float(rate))
        cells = int(np.log(20 / 60000) / np.log(ratio))
        seen = np.bincount(np.minimum(drawn, cells), minlength=cells + 1)
        hoped = np.append(60000 * (1 - ratio) * ratio ** np.arange(cells), 60000 * ratio**cells)
        assert stats.chisquare(seen, hoped).pvalue > ACCEPT


@given(st.lists(st.integers(1, 2**60), min_size=1, max_size=50))
def test_uniform_integers_stay_below_their_bounds(bounds):
    """Each uniform draw is at least 0 and below its own bound."""
    drawn = noise._below(np.array(bounds, dtype=np.int64))
    assert (drawn >= 0).all()
    assert (drawn < np.array(bounds)).all()


def test_uniform_integers_are_uniform():
    """Every value below a bound that is no power of two comes equally often."""
    drawn = noise._below(np.full(70000, 7))
    assert stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > ACCEPT


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
@pytest.mark.parametrize(
    "sampler",
    ["noise.laplace(4, F(10**9))", "noise.cube([10**9] * 4, F(1, 10**9))", "noise.l2_norm(4, F(1, 10**9))"],
)
def test_a_forked_process_draws_its_own_noise(sampler):
    """Two children of one process, forked after a draw, never draw the same vector as each other or the parent."""
    import subprocess

    script = (
        "import os, sys\nfrom fractions import Fraction as F\nfrom diurnal.promise import noise\n"
        f"{sampler}\n"
        "for _ in range(2):\n    if os.fork() == 0:\n"
        f"        os.write(1, (str({sampler}) + '\\n').encode())\n        os._exit(0)\n"
        "for _ in range(2):\n    os.wait()\n"
        f"os.write(1, (str({sampler}) + '\\n').encode())\n"
    )
    lines = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert len(set(lines.splitlines())) == 3


def test_scales_are_never_rounded_down(monkeypatch):
    """OpenDP gets a float that is at least the exact scale."""
    seen = []
    monkeypatch.setattr(noise, "_opendp", lambda kind, size, scale: seen.append(scale) or [0] * size)
    for scale in (Fraction(1, 3), Fraction(10**12, 7), Fraction(2, 3)):
        noise.laplace(1, scale)
        noise.gaussian(1, scale)
        assert all(Fraction(value) >= scale for value in seen)
        seen.clear()


def test_noise_that_could_leave_64_bits_is_refused():
    """A scale beyond the limit, a rate of too many digits and too many l2 components raise before any draw."""
    for draw in (
        lambda: noise.laplace(1, Fraction(2**49)),
        lambda: noise.gaussian(1, Fraction(2**49)),
        lambda: noise.cube([1], Fraction(1, 2**49)),
        lambda: noise.cube([1], Fraction(2**60 + 1, 2**61)),
        lambda: noise.cube([1] * 40000, Fraction(1, 2**47)),
        lambda: noise.l2_norm(18, Fraction(1)),
    ):
        with pytest.raises(LimitError):
            draw()
