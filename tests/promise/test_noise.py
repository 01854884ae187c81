"""Noise as Tumult tests it: goodness of fit that accepts the right law and must reject one that is off.

Where a sampler's choices can be counted they are: every byte, every path. And what a draw comes from is shown by
giving it the bytes: it is a function of them alone.
"""

import ast
import math
import os
import pathlib
import random
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
from diurnal.study.audit import exact

ACCEPT, REJECT = 1e-5, 1e-9

SAMPLERS = {
    "laplace": (2, lambda f: lambda: noise.laplace(2, Fraction(3) * f), lambda v: exact.log_laplace(v, 3)),
    "gaussian": (2, lambda f: lambda: noise.gaussian(2, Fraction(2) * f), lambda v: exact.log_gaussian(v, 2)),
    "cube": (2, lambda f: lambda: noise.cube([4, 4], 1 / (2 * f)), lambda v: exact.log_cube(v, [4, 4], 0.5)),
    "cube of a rate that is no whole number": (
        2,
        lambda f: lambda: noise.cube([5, 5], Fraction(3, 7) / f),
        lambda v: exact.log_cube(v, [5, 5], 3 / 7),
    ),
    "cube of unequal ranges": (
        3,
        lambda f: lambda: noise.cube([4, 2, 0], 1 / (2 * f)),
        lambda v: exact.log_cube(v, [4, 2, 0], 0.5),
    ),
    "cube of a range raised for its sampler": (
        3,
        lambda f: lambda: noise.cube([8, 1, 1], 1 / f),
        lambda v: exact.log_cube(v, [24, 6, 4], 1),
    ),
    "l2-norm": (2, lambda f: lambda: noise.l2_norm(2, 1 / (2 * f)), lambda v: exact.log_l2(v, 0.5)),
    "l2-norm in three": (3, lambda f: lambda: noise.l2_norm(3, 1 / f), lambda v: exact.log_l2(v, 1)),
}

LENGTHS = {
    # How many components, at which rate: two groups, uneven ones, and four of which one is a single number.
    "in four": (4, Fraction(9, 10)),
    "in five": (5, Fraction(9, 10)),
    "in six": (6, Fraction(13, 10)),
    "in seven": (7, Fraction(7, 5)),
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
@pytest.mark.parametrize("draws", support.for_now([2500, 6000], 2500))
def test_draws_follow_the_exact_mass_function(name, draws):
    """The right scale is accepted; one 30 % larger or smaller is rejected."""
    dimension, sampler, log_mass = SAMPLERS[name]
    for factor in (Fraction(1), Fraction(13, 10), Fraction(7, 10)):
        draw = sampler(factor)
        p = goodness_of_fit([draw() for _ in range(draws)], dimension, log_mass)
        assert p > ACCEPT if factor == 1 else p < REJECT


def equal_shares(drawn, quantiles):
    """The p-value of draws against a continuous law, in twenty cells that are equally likely by its quantiles."""
    edges = quantiles(np.arange(1, 20) / 20)
    return stats.chisquare(np.bincount(np.searchsorted(edges, drawn), minlength=20)).pvalue


def whole_numbers(drawn, log_mass):
    """The p-value of single draws against a mass function. Cells are merged at both ends until 20 are expected: in
    one of fewer, a few too many would look like another law one time in a thousand.
    """
    points = np.arange(-400, 401)
    mass = np.exp(log_mass(points[:, None]))
    expected = mass / mass.sum() * len(drawn)
    low = points[np.searchsorted(np.cumsum(expected), 20) + 1]
    high = -low
    cells = np.bincount(np.clip(drawn, low - 1, high + 1) - low + 1, minlength=high - low + 3)
    inner = expected[(points >= low) & (points <= high)]
    rest = (len(drawn) - inner.sum()) / 2
    return stats.chisquare(cells, [rest, *inner, rest]).pvalue


def column(vectors, rate, order):
    """The sizes of vectors in units of the noise: a Gamma variable of as many degrees as there are components."""
    return np.linalg.norm(np.array(vectors, dtype=float), ord=order, axis=1) * float(rate)


CLOSE = {
    "laplace, small": lambda f, part: whole_numbers(
        noise.laplace(300_000 // part, f * 5 / 2), lambda v: exact.log_laplace(v, 2.5)
    ),
    "laplace, below one": lambda f, part: whole_numbers(
        noise.laplace(600_000 // part, f * 2 / 3), lambda v: exact.log_laplace(v, 2 / 3)
    ),
    "laplace, large": lambda f, part: equal_shares(
        np.array(noise.laplace(300_000 // part, f * 2**46 / 3)) / (2**46 / 3), stats.laplace.ppf
    ),
    "laplace of many digits": lambda f, part: equal_shares(
        np.array(noise.laplace(300_000 // part, f * Fraction(10**42 + 7, 10**30 + 9))) / 1e12, stats.laplace.ppf
    ),
    "gaussian, small": lambda f, part: whole_numbers(
        noise.gaussian(150_000 // part, f * 5 / 2), lambda v: exact.log_gaussian(v, 2.5)
    ),
    "gaussian, below one": lambda f, part: whole_numbers(
        noise.gaussian(200_000 // part, f * 4 / 5), lambda v: exact.log_gaussian(v, 0.8)
    ),
    "gaussian, large": lambda f, part: equal_shares(
        np.array(noise.gaussian(150_000 // part, f * 2**46 / 3)) / (2**46 / 3), stats.norm.ppf
    ),
    "gaussian of many digits": lambda f, part: equal_shares(
        np.array(noise.gaussian(150_000 // part, f * Fraction(10**42 + 7, 10**30 + 9))) / 1e12, stats.norm.ppf
    ),
    "cube, large": lambda f, part: equal_shares(
        column(
            [noise.cube([2**40] * 48, 3 / (f * 2**44)) for _ in range(6000 // part)], Fraction(3, 2**44), np.inf
        ),
        stats.gamma(48).ppf,
    ),
}


@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.parametrize(("percent", "part"), [(10, 8), pytest.param(3, 1, marks=support.nightly)])
def test_a_law_some_percent_off_is_told_apart(name, percent, part):
    """At small and at large scales the right law is accepted, and one 3 % wider or narrower is rejected; with an
    eighth of the draws one that is 10 % off.
    """
    assert CLOSE[name](Fraction(1), part) > ACCEPT
    for factor in (Fraction(100 + percent, 100), Fraction(100 - percent, 100)):
        assert CLOSE[name](factor, part) < REJECT


def points_by_square(size, most):
    """How many integer points of `size` components have each squared length up to `most`."""
    counts = np.zeros(most + 1)
    counts[0] = 1
    for _ in range(size):
        longer = counts.copy()
        for v in range(1, math.isqrt(most) + 1):
            longer[v * v :] += 2 * counts[: most + 1 - v * v]
        counts = longer
    return counts


def fits_lengths(squares, size, rate):
    """The p-value of squared lengths against the exact mass of l2-norm noise, cells of small expectation merged."""
    most = 4000
    mass = points_by_square(size, most) * np.exp(-float(rate) * np.sqrt(np.arange(most + 1)))
    expected = mass / mass.sum() * len(squares)
    kept = np.flatnonzero(expected >= 20)
    seen = np.bincount(np.minimum(squares, most), minlength=most + 1)[kept]
    hoped = np.append(expected[kept], len(squares) - expected[kept].sum())
    return stats.chisquare(np.append(seen, len(squares) - seen.sum()), hoped).pvalue


@pytest.mark.parametrize("name", LENGTHS)
def test_trees_of_groups_draw_the_exact_law_on_a_coarse_lattice(name):
    """Squared lengths of vectors made of groups have the exact mass of l2-norm noise; one 15 % off does not."""
    size, rate = LENGTHS[name]
    for factor in (1, Fraction(115, 100), Fraction(85, 100)):
        squares = [sum(v * v for v in noise.l2_norm(size, rate * factor)) for _ in range(5000)]
        p = fits_lengths(squares, size, rate)
        assert p > ACCEPT if factor == 1 else p < REJECT


@pytest.mark.parametrize(("size", "draws"), [(3, 20_000), (9, 7000), (17, 10_000), (48, 4000)])
def test_large_l2_norm_noise_off_by_a_little_is_told_apart(size, draws):
    """At a scale of 2^44 the length is a Gamma variable of the rate, and of none 3 % off (10 % for few)."""
    rate, off = Fraction(7, 2**46), Fraction(3 if size >= 17 else 10, 100)
    lengths = column([noise.l2_norm(size, rate) for _ in range(draws)], rate, 2)
    assert stats.kstest(lengths, "gamma", args=(size,)).pvalue > ACCEPT
    for factor in (1 - off, 1 + off):
        assert stats.kstest(lengths * float(factor), "gamma", args=(size,)).pvalue < REJECT


def test_directions_of_a_large_vector_are_uniform():
    """No component, group of components or sign is favoured: their squares share the length as a sphere's do."""
    vectors = np.array([noise.l2_norm(21, Fraction(7, 2**46)) for _ in range(3000)], dtype=float)
    directions = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    for first, last in [(0, 5), (5, 10), (0, 10), (11, 21), (3, 8)]:
        share = (directions[:, first:last] ** 2).sum(axis=1)
        beta = stats.beta((last - first) / 2, (21 - last + first) / 2)
        assert stats.kstest(share, beta.cdf).pvalue > ACCEPT
    for component in directions.T:
        assert stats.binomtest(int((component > 0).sum()), len(component)).pvalue > ACCEPT


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


def test_every_power_of_e_is_an_edge(monkeypatch):
    """A word one below the first bits of exp(-k) is a draw of k, one above it of k - 1, for every k."""
    edges = [noise._power_of_e(k, 64) for k in range(1, 46)]
    assert edges[-2:] == [1, 0]
    for offset, draws in ((-1, range(1, 44)), (1, range(44))):
        words = np.array([edge + offset for edge in edges[: len(draws)]], dtype=np.uint64)
        monkeypatch.setattr(os, "urandom", lambda size, words=words: words.tobytes())
        assert noise._geometric_by_e(len(words)).tolist() == list(draws)


def test_a_word_that_is_an_edge_asks_for_another(monkeypatch):
    """The first bits of exp(-2) are followed by ones, which are above it, or by zeros, which are below."""
    edge = noise._power_of_e(2, 64)
    for more, count in ((2**64 - 1, 1), (0, 2)):
        asked = [edge.to_bytes(8, sys.byteorder), more.to_bytes(8, "big")]
        monkeypatch.setattr(os, "urandom", lambda size, asked=asked: asked.pop(0))
        assert noise._geometric_by_e(1).tolist() == [count]
        assert not asked


@given(st.integers(1, 400), st.fractions(Fraction(1, 2**44), 100, max_denominator=2**44))
def test_no_l2_norm_proposal_falls_off_faster_than_its_law(size, rate):
    """In every group squares of rates add up to at most its own: else a proposal would be more than certain."""
    tree, proposal = noise._l2_tree(size, rate)
    groups = [tree]
    while groups:
        group = groups.pop()
        groups += group.groups
        rates = [part.rate for part in group.groups] or [proposal] * group.size
        assert group.rate**2 * (1 - Fraction(1, 2**15)) <= sum(r * r for r in rates) <= group.rate**2
        assert sum(part.size for part in group.groups) in (0, group.size)
        assert group.groups or group.size <= 3
        assert group.slope == group.rate * group.unit
        assert list(group.steps) == [r * group.unit for r in (rates if group.groups else [proposal])]


@pytest.mark.parametrize("failure", range(1, 10))
def test_the_first_trial_that_fails_decides_by_its_number(failure, monkeypatch):
    """Trial k is a uniform below k denominators, and exp(-n/d) is true where the first failure's number is odd."""
    bounds = []

    def below(asked):
        bounds.extend(asked.tolist())
        return np.array([3 if bound >= 7 * failure else 2 for bound in asked.tolist()])

    monkeypatch.setattr(noise, "_below", below)
    assert noise._exponential(np.array([3]), 7).tolist() == [failure % 2 == 1]
    assert bounds == [7 * k for k in range(1, len(bounds) + 1)]


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
    [
        "noise.laplace(4, F(10**9))",
        "noise.gaussian(4, F(10**9))",
        "noise.cube([10**9] * 4, F(1, 10**9))",
        "noise.l2_norm(4, F(1, 10**9))",
    ],
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


DRAW = {
    "laplace": lambda: noise.laplace(6, Fraction(10**9)),
    "gaussian": lambda: noise.gaussian(6, Fraction(10**9, 7)),
    "cube": lambda: noise.cube([10**9, 10**8, 3] * 2, Fraction(1, 10**9)),
    "l2-norm": lambda: noise.l2_norm(6, Fraction(1, 10**9)),
}


@pytest.mark.parametrize("name", DRAW)
def test_a_draw_is_a_function_of_the_bytes_it_asks_for(name, monkeypatch):
    """Given the same bytes a draw is the same, whatever was drawn before; given others it is another.

    So nothing is kept between draws: a process that is forked, or restored from a snapshot, draws what the system
    gives it from then on.
    """

    def draw(tape):
        source = random.Random(tape)
        asked = []
        monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or source.randbytes(size))
        drawn = DRAW[name]()
        # No more than a draw of six needs: a store of bytes for the next one would be larger.
        assert 0 < sum(asked) < 40_000
        return drawn

    first, second = draw(1), draw(2)
    assert first != second
    assert draw(1) == first
    for other in DRAW.values():
        other()
    assert draw(1) == first


@pytest.mark.parametrize("name", DRAW)
def test_no_other_generator_has_a_hand_in_a_draw(name, monkeypatch):
    """Seeding Python's and NumPy's generators repeats nothing; neither moves on, and none is made."""

    def refuse(*_, **__):
        raise AssertionError("a generator was made")

    makers = ("default_rng", "Generator", "RandomState", "SeedSequence", "PCG64", "MT19937", "Philox", "SFC64")
    for maker in makers:
        monkeypatch.setattr(np.random, maker, refuse)
    monkeypatch.setattr(random, "Random", refuse)
    drawn = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)
        before = random.getstate(), str(np.random.get_state())
        drawn.append(DRAW[name]())
        assert before == (random.getstate(), str(np.random.get_state()))
    assert drawn[0] != drawn[1]


def test_the_source_knows_no_generator_and_no_real_function():
    """promise/noise.py imports no generator, and of math and NumPy uses integer functions only.

    Two take a float on the way, and decide nothing by it: frexp counts bits, cube_shares tells a width to be shown.
    """
    tree = ast.parse(pathlib.Path(noise.__file__).read_text())
    imported, used = set(), {"math": set(), "np": set(), "os": set()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in used:
            used[node.value.id].add(node.attr)
        assert not isinstance(getattr(node, "value", None), (float, complex))
    assert {name for name in imported if not name.startswith("diurnal.")} == {
        "__future__", "collections.abc", "fractions", "functools", "math", "numpy", "numpy.typing", "os", "typing",
    }  # fmt: skip
    assert used["os"] == {"urandom"}
    assert used["math"] == {"ceil", "isqrt", "lcm"}
    assert used["np"] <= {
        "arange", "array", "bool_", "concatenate", "flatnonzero", "float64", "frexp", "frombuffer", "full", "int64",
        "maximum", "searchsorted", "tile", "uint64", "where", "zeros",
    }  # fmt: skip


ONES = 2**64 - 1


class Tape:
    """A supply of certain words, and nothing after them."""

    def __init__(self, *words):
        self.left = list(words)

    def word(self):
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("words", "whole", "rest"),
    [
        ((5, 9), 0, 5),
        ((5, 3, 2, 9), 0, 5),
        ((5, 3, 9, 7, 8), 1, 7),
        # Equal words: each is given another, the later uniform first.
        ((5, 5, 2, 1), 0, (5 << 64) + 1),
        ((5, 3, 9, 8, 8, 2, 1), 1, (8 << 64) + 1),
        # A run of two by its later bits; 7 is brought to as many bits, and ends it.
        ((5, 5, 1, 2, 7, 0, 6, 9), 1, 6),
    ],
)
def test_an_exponential_variable_is_read_off_runs_of_uniforms(words, whole, rest):
    """A run of odd length gives its first uniform, one of even length adds one; equal words ask for more bits."""
    tape = Tape(*words)
    found, uniform = noise._exponential_real(tape)
    assert (found, uniform.value) == (whole, rest)
    assert not tape.left


def test_exponential_variables_are_exponential():
    """Whole part plus rest has the exponential law, and none a fifth wider or narrower."""
    supply = noise._Supply(Fraction(1), 10_000)
    drawn = []
    for _ in range(20_000):
        whole, rest = noise._exponential_real(supply)
        drawn.append(whole + rest.value / 2**rest.bits)
    assert stats.kstest(drawn, "expon").pvalue > ACCEPT
    for factor in (0.8, 1.2):
        assert stats.kstest(np.array(drawn) * factor, "expon").pvalue < REJECT


@given(
    st.lists(st.integers(0, 2**60), min_size=1, max_size=4),
    st.integers(1, 2**40),
    st.integers(1, 2**20),
)
def test_acceptance_is_decided_to_the_last_bit(lengths, step, more):
    """Words next to the exact exponent accept or refuse a vector as whole numbers say; floats cannot tell."""
    squares = [length * length + 1 for length in lengths]
    steps = [step] * len(squares)
    # The least slope that Cauchy-Schwarz asks for, or more.
    slope, square, unit = math.isqrt(len(squares) * step * step) + more, sum(squares), 2**32
    bits = 256
    low = slope * math.isqrt(square << 2 * bits) - sum(
        s * (math.isqrt(part << 2 * bits) + 1) for s, part in zip(steps, squares, strict=True)
    )
    edge = low // (unit << (bits - 128))
    assert edge >= 0
    whole, first, second = edge >> 128, (edge >> 64) & ONES, edge & ONES
    # How far apart the bounds on the roots are, in units of the last bit that is drawn.
    near = (slope + sum(steps)) // unit + 2
    if whole > 40 or not near <= first <= ONES - near or not near <= second <= ONES - near:
        return
    # Each run of two descending words adds one to the whole part; then the rest, ended by a larger word.
    before = [2, 1, 3] * whole
    for words, accepted in (
        ([*before, first + near, ONES], True),
        ([*before, first - near, ONES], False),
        ([*before, first, ONES, second + near], True),
        ([*before, first, ONES, second - near], False),
    ):
        tape = Tape(*words)
        assert noise._outlasts(tape, slope, square, steps, squares, unit) is accepted
        assert not tape.left


def test_a_vector_of_zeros_is_always_accepted():
    """Its exponent is zero, and an exponential variable is larger."""
    for size in (1, 3, 9):
        tree, _ = noise._l2_tree(size, Fraction(1, 3))
        zeros = [0] * max(1, len(tree.groups))
        assert noise._outlasts(Tape(1, 2), tree.slope, 0, tree.steps, zeros, tree.unit)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 100, 128, 200])
def test_one_byte_is_shared_out_equally(bound, monkeypatch):
    """Counted over every byte: a uniform takes each value below its bound equally often, and a chance is exact."""

    def every(decide):
        """What comes of each byte; None where it is thrown away and another asked for."""
        for byte in range(256):
            first = iter([byte])
            try:
                monkeypatch.setattr(os, "urandom", lambda size, first=first: bytes([next(first)]) * size)
                yield decide()
            except StopIteration:
                pass

    drawn = list(every(lambda: int(noise._below(np.array([bound], dtype=np.int64))[0])))
    counts = np.bincount(drawn, minlength=bound)
    assert counts.min() == counts.max() > 0
    assert len(counts) == bound
    for numerator in {0, 1, bound // 2, bound}:
        taken = list(every(lambda n=numerator: noise._bernoulli(n, bound)))
        assert Fraction(sum(taken), len(taken)) == Fraction(numerator, bound)


def paths(decide, monkeypatch, deepest):
    """The exact probability of True, from every path of at most `deepest` chances; and of paths left out."""
    true = left = Fraction(0)
    open_paths = [()]
    while open_paths:
        path = open_paths.pop()
        chance, place = Fraction(1), 0

        def follow(numerator, denominator, path=path):
            nonlocal chance, place
            if place == len(path):
                raise EOFError
            came = path[place]
            place += 1
            odds = Fraction(numerator, denominator)
            chance *= odds if came else 1 - odds
            return came

        monkeypatch.setattr(noise, "_bernoulli", follow)
        try:
            true += chance if decide() else 0
        except EOFError:
            if not chance:
                continue
            if len(path) == deepest:
                left += chance
            else:
                open_paths += [(*path, True), (*path, False)]
    return true, left


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (1, 1), (1, 3), (6, 7), (2, 1), (9, 4), (10**30, 3 * 10**30)]
)
def test_a_chance_of_exp_is_exact(numerator, denominator, monkeypatch):
    """The sum over all paths of trials is exp(-numerator/denominator), to what twenty-five trials leave open."""
    true, left = paths(lambda: noise._accept(numerator, denominator), monkeypatch, 25)
    assert abs(float(true) - math.exp(-numerator / denominator)) < 1e-14
    assert left < 1e-12


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(22, 7), Fraction(10**20 + 1, 10**19)]
)
def test_a_gaussian_draw_is_a_laplace_draw_accepted_exactly(scale, monkeypatch):
    """As fractions: the exponent of a proposal and that of its acceptance are y^2/(2 scale^2) and a constant."""
    exponents = []
    for y in range(-6, 7):
        asked = []
        monkeypatch.setattr(
            noise, "_two_sided", lambda size, rate, y=y, a=asked: a.append(rate * abs(y)) or np.array([y])
        )
        monkeypatch.setattr(noise, "_accept", lambda *ratio, a=asked: a.append(Fraction(*ratio)) or True)
        assert noise.gaussian(1, scale) == [y]
        exponents.append(sum(asked) - Fraction(y**2) / (2 * scale**2))
        assert min(asked) >= 0
    assert len(set(exponents)) == 1


@given(st.fractions(Fraction(1, 10**30), noise.SCALE_LIMIT, max_denominator=10**40))
def test_scales_are_never_rounded_down(scale):
    """A Laplace scale keeps its value if 52 bits hold it; else it grows, by at most 2^-49 of itself or of one."""
    drawn_at = noise._in_words(scale)
    fits = max(scale.numerator, scale.denominator) < 2**52
    assert scale <= drawn_at <= scale + max(1, scale) / 2**49
    assert drawn_at == scale if fits else max(drawn_at.as_integer_ratio()) < 2**52


def test_any_scale_up_to_the_limit_can_be_drawn():
    """A scale of thirty digits, of almost nothing, or of just the limit is drawn, by Laplace and Gaussian alike."""
    for scale in (
        Fraction(10**30 + 1, 3 * 10**29 + 7),
        Fraction(1, 10**30),
        noise.SCALE_LIMIT - Fraction(1, 10**30),
    ):
        for sampler in (noise.laplace, noise.gaussian):
            noise.check_scale(scale)
            assert max(map(abs, sampler(5, scale))) <= 64 * scale


def test_noise_that_could_leave_64_bits_is_refused():
    """A scale beyond the limit and a rate of too many digits raise before any draw."""
    for draw in (
        lambda: noise.laplace(1, Fraction(2**49)),
        lambda: noise.gaussian(1, Fraction(2**49)),
        lambda: noise.cube([1], Fraction(1, 2**49)),
        lambda: noise.cube([1], Fraction(2**60 + 1, 2**61)),
        lambda: noise.cube([1] * 40000, Fraction(1, 2**47)),
        lambda: noise.l2_norm(400, Fraction(1, 2**48)),
    ):
        with pytest.raises(LimitError):
            draw()
