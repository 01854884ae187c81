"""Blocks: by enumeration, what goes out block by block keeps its promise, and what is nearly right does not."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from diurnal import Basis, Ellipsoid, Plan, Sum, Weighted
from diurnal.errors import LimitError, PlanError
from diurnal.promise.mechanisms import Blocks
from diurnal.study.audit import exact
from support import refuses

TOP = 2
SLACK = 1e-9


def mechanism(number, slots, bound, *, weight=1, epsilon="1", width=TOP):
    return Blocks(number, bound, slots=slots, width=width, weight=weight, epsilon=Fraction(epsilon))


def cycles(slots, profile, top=TOP):
    """The variations of every cycle that a household of this profile can have, a column each."""
    return np.array(list(itertools.product(range(top + 1), repeat=slots))).T - np.array(profile)[:, None]


def published(layer, vectors):
    """What goes out of each household: each block worked out when it is over, of what was there by then."""
    length = len(vectors) // layer.dimension
    parts = []
    for block in range(layer.dimension):
        seen = vectors.copy()
        seen[(block + 1) * length :] = 0
        parts.append(layer.contribute(seen)[block])
    return np.array(parts)


def worst(layer, slots, top):
    """The largest loss over all profiles and all pairs of neighbouring cycles, as a share of epsilon, and the bare
    largest log ratio of the exact law within a window of transcripts.
    """
    most, ratio, window = 0.0, 0.0, support.grid_points(layer.dimension, 4 if layer.dimension == 2 else 2)
    for profile in itertools.product(range(top + 1), repeat=slots):
        vectors = np.unique(layer.weight * published(layer, cycles(slots, profile, top)), axis=1).T
        moves = np.unique((vectors[:, None] - vectors[None]).reshape(-1, layer.dimension), axis=0)
        longest = max(sum(int(v) ** 2 for v in move) for move in moves)
        most = max(most, float(longest * layer.rate**2 / layer.loss.epsilon**2))
        law = exact.log_mass(layer, window[:, None] - vectors)
        ratio = max(ratio, float((law.max(axis=1) - law.min(axis=1)).max() / layer.loss.epsilon))
    return most**0.5, ratio


CASES = {
    "two blocks of two, a ball": (2, 4, Ellipsoid(radius=1), 2),
    "two blocks of one, a ball": (2, 2, Ellipsoid(radius=2), 6),
    "four blocks of one, a ball": (4, 4, Ellipsoid(radius=1), 2),
    "two blocks of two, clipped": (2, 4, 1, 2),
    "two blocks of one, clipped": (2, 2, 1, 6),
    "two blocks of two, the domain alone": (2, 4, None, 2),
    "one block": (1, 4, Ellipsoid(radius=1), 2),
}


@pytest.mark.parametrize("weight", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_every_pair_of_neighbouring_cycles_stays_within_epsilon(case, weight):
    """Whatever a household's profile and cycle are, replacing the cycle moves what goes out by at most epsilon."""
    number, slots, bound, top = CASES[case]
    share, ratio = worst(mechanism(number, slots, bound, weight=weight, width=top), slots, top)
    assert share <= 1 + SLACK
    assert ratio <= 1 + SLACK
    assert share > 0.7  # the enumeration is not asleep


def without_the_square(layer, vectors):
    """A ball whose radius left is R less what was used, and not the root of the difference of squares."""
    sums = vectors.reshape(layer.dimension, -1, vectors.shape[1]).sum(axis=1)
    left = np.full(sums.shape[1], layer._ball)
    for block in sums:
        room = np.sqrt(left).astype(int)
        np.clip(block, -room, room, out=block)
        left -= np.abs(block)
    return sums


def with_later_knowledge(layer, vectors):
    """A ball into which the whole cycle's vector is shrunk, so that what is out was cut by other blocks than are to
    come.
    """
    sums = vectors.reshape(layer.dimension, -1, vectors.shape[1]).sum(axis=1)
    length = np.maximum(np.sqrt((sums**2).sum(axis=0)), np.sqrt(layer._ball))
    return np.trunc(sums * np.sqrt(layer._ball) / length + 1e-9 * np.sign(sums)).astype(int)


@pytest.mark.parametrize("wrong", [without_the_square, with_later_knowledge])
def test_a_ball_that_is_nearly_right_is_caught(wrong, monkeypatch):
    """Cut by a radius without the square, or with knowledge of later blocks, some pair loses more than epsilon."""
    layer = mechanism(2, 2, Ellipsoid(radius=2), width=6)
    assert worst(layer, 2, 6)[0] <= 1 + SLACK
    monkeypatch.setattr(Blocks, "contribute", wrong)
    share, ratio = worst(layer, 2, 6)
    assert share > 1.05
    assert ratio > 1.05


@pytest.mark.parametrize("case", [case for case in CASES if "four" not in case])
def test_a_sensitivity_understated_by_a_tenth_is_caught(case):
    """With noise for a diameter that is a tenth too small, some pair loses more than epsilon."""
    number, slots, bound, top = CASES[case]
    layer = mechanism(number, slots, bound, width=top)
    layer.rate *= Fraction(10, 9)
    assert worst(layer, slots, top)[0] == pytest.approx(10 / 9, abs=1e-4)


@given(
    st.lists(st.tuples(st.integers(0, TOP), st.integers(0, TOP)), min_size=9, max_size=9),
    st.lists(st.tuples(st.integers(0, TOP), st.integers(0, TOP)), min_size=9, max_size=9),
)
@settings(max_examples=60)
def test_readings_that_answer_to_reports_change_nothing(ours, theirs):
    """The exact law of two blocks where the second day part depends on what was published of the first, for two
    households that react in ways of their own: no transcript tells them apart by more than epsilon.
    """
    layer = mechanism(2, 2, Ellipsoid(radius=1))
    points = support.grid_points(2, 12)
    mass = np.exp(exact.log_mass(layer, points))

    def law(reactions):
        """P(y) for y from -4 to 4, by running through every noise vector."""
        first = reactions[0][0] - 1
        contributed = layer.contribute(np.array([(first, second - 1) for _, second in reactions]).T)
        found = np.zeros((9, 9))
        for (v, w), p in zip(points, mass, strict=True):
            y = contributed[0, 0] + v
            if -4 <= y <= 4:
                z = contributed[1, y + 4] + w
                if -4 <= z <= 4:
                    found[y + 4, z + 4] += p
        return found

    assert np.abs(np.log(law(ours)) - np.log(law(theirs))).max() <= 1 + 1e-6


@given(st.data())
def test_a_block_knows_nothing_of_the_later_ones(data):
    """What a block contributes is the same whatever comes after it, and each vector lies in its ball."""
    number, length = data.draw(st.sampled_from([(2, 3), (4, 2), (6, 1)]))
    layer = mechanism(number, number * length, Ellipsoid(radius=data.draw(st.integers(1, 60))), width=50)
    cells = number * length
    one, two = (
        np.array(data.draw(st.lists(st.integers(-50, 50), min_size=cells, max_size=cells))) for _ in range(2)
    )
    block = data.draw(st.integers(1, number))
    two[: block * length] = one[: block * length]
    ours, theirs = layer.contribute(np.array([one, two]).T).T
    assert np.array_equal(ours[:block], theirs[:block])
    if layer._ball is not None:
        assert max((ours**2).sum(), (theirs**2).sum()) <= layer._ball


def test_roots_are_rounded_down_exactly_up_to_62_bits():
    """Next to squares, where a float's root may be off, the radius left is the whole root and never more."""
    from diurnal.promise.mechanisms.blocks import _roots

    near = np.array([k * k + d for k in (1, 2, 3, 94906267, 2**31 - 1) for d in (-1, 0, 1)] + [0, (1 << 62) - 1])
    assert ((_roots(near) ** 2 <= near) & ((_roots(near) + 1) ** 2 > near)).all()


def test_the_smaller_of_ball_and_domain_counts():
    """A ball wider than a cycle can move anything neither cuts nor costs; a narrower one is 2R across."""
    wide, none = mechanism(2, 4, Ellipsoid(radius=10**12)), mechanism(2, 4, None)
    assert wide.sensitivity_square == none.sensitivity_square == 2 * (2 * TOP) ** 2
    vectors = cycles(4, [1] * 4)
    assert np.array_equal(wide.contribute(vectors), none.contribute(vectors))
    assert mechanism(2, 4, Ellipsoid(radius=1)).sensitivity_square == 4 * 2
    assert mechanism(2, 4, 1, weight=3).sensitivity_square == 9 * 2 * (2 * TOP) ** 2


def test_slots_get_the_mean_of_their_block():
    """A slot has its block's value over the number of slots, rounded, and waits for the block's last slot."""
    layer = mechanism(2, 6, None, width=100)
    assert layer.to_slots([30, -31]) == [10, 10, 10, -10, -10, -10]
    assert [layer.ready(slot) for slot in range(6)] == [2, 2, 2, 5, 5, 5]
    assert layer.expected(np.array([30.0, 6.0])).tolist() == [10, 10, 10, 2, 2, 2]


def test_squares_beyond_64_bits_are_refused():
    """Block sums whose squares could overflow raise a LimitError that asks for a coarser unit."""
    with refuses(LimitError, "blocks-overflow"):
        mechanism(2, 48, Ellipsoid(radius=10), width=2**30)


def strong_plan(slots=4, **more):
    fields = {
        "query": Sum(),
        "grid": support.small_panel([[0]], slots=slots).grid,
        "domain": (0, TOP),
        "level": "strong",
        "mechanism": "laplace",
        "cycle_mechanism": "blocks",
        "cycle_basis": Basis(size=2),
        "variation_bound": Ellipsoid(radius=1),
        "epsilon": "1",
        "history": 2,
        "min_readings": 1,
        "minimum_group": 1,
    }
    return Plan(**{**fields, **more})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"cycle_basis": Basis(size=3)}, "equal length"),
        ({"variation_bound": Ellipsoid(radius=3, weighting="harmonic")}, "around zero"),
        ({"variation_bound": Ellipsoid(radius=3, reference=[1] * 4)}, "around zero"),
        ({"cycle_basis": Basis(size=2, noise="laplace")}, "l2-norm"),
        ({"mechanism": "blocks"}, "Expected mechanism to be one of"),
    ],
)
def test_blocks_that_cannot_be_are_refused(wrong, said):
    """Blocks of unequal length, balls around anything, other noise, and blocks for profiles raise a PlanError."""
    with pytest.raises(PlanError, match=said):
        strong_plan(**wrong)


def test_a_plan_with_blocks_is_a_file():
    """It goes through JSON, and says that a cycle of the history is not covered."""
    plan = strong_plan()
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.guarantee().history is None
    assert plan.guarantee().numbers()["cycle_epsilon"] == "1"
    assert "history is not covered" in str(plan.guarantee())


def block_totals(plan, panel, width):
    """What noise was added to, a row a cycle and a column a block, as it went out; and the profile's sums."""
    gone_out, length = {}, plan.grid.slots // plan.cycle_basis.size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diurnal.promise.noise.laplace", lambda size, scale: [0] * size)
        patch.setattr("diurnal.promise.noise.l2_norm", lambda size, rate: [0] * size)
        patch.setattr(Blocks, "to_slots", lambda self, totals: [v for v in totals for _ in range(length)])
        stream = support.start(panel, plan)
        profile = stream._record().groups[0].noisy_profile
        for step in range(0, panel.n_steps, width):
            for row in stream.report(panel.between(step, min(step + width, panel.n_steps)), close=True):
                slot = row.step % plan.grid.slots
                gone_out[row.step // plan.grid.slots, slot // length] = row.numerator - profile[slot]
    return np.array([int(gone_out[key]) for key in sorted(gone_out)]).reshape(-1, plan.cycle_basis.size), profile


@pytest.mark.parametrize("bound", [Ellipsoid(radius=1), 1, None])
@settings(max_examples=40)
@given(data=st.data())
def test_the_curators_blocks_keep_both_promises(bound, data):
    """A periodic shift moves the profile alone and no block; another cycle moves its own blocks within epsilon and
    no others. However many steps come at a time.
    """
    slots, n_cycles, weight = 4, 4, data.draw(st.sampled_from([1, 3]))
    plan = strong_plan(variation_bound=bound, query=Weighted([weight, 1]))
    cells = n_cycles * slots * 2
    readings = np.array(data.draw(st.lists(st.integers(0, 1), min_size=cells, max_size=cells))).reshape(-1, 2)
    marks = data.draw(st.lists(st.sampled_from([True, True, True, False]), min_size=cells, max_size=cells))
    present = np.array(marks).reshape(-1, 2)
    shifted, other = readings.copy(), readings.copy()
    shifted[:, 0] += np.tile(data.draw(st.lists(st.integers(0, 1), min_size=slots, max_size=slots)), n_cycles)
    other[2 * slots : 3 * slots, 0] = data.draw(st.lists(st.integers(0, TOP), min_size=slots, max_size=slots))
    ours, moved, changed = (
        block_totals(plan, support.small_panel(x, present=present, slots=slots), data.draw(st.integers(1, 7)))
        for x in (readings, shifted, other)
    )
    assert np.array_equal(ours[0], moved[0])
    assert ours[1] == changed[1]
    assert np.array_equal(ours[0][1], changed[0][1])
    layer = plan.cycle_layer(weight)
    assert sum(int(v) ** 2 for v in changed[0][0] - ours[0][0]) * layer.rate**2 <= 1
