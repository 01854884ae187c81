import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diurnal import Body, Ellipsoid
from diurnal.errors import BodyError
from diurnal.promise.body import body_from_json, counting_sensitivity, lengths


@st.composite
def bodies(draw):
    """Small bodies of every kind: ranges by slot, caps, references, negatives."""
    slots = draw(st.integers(1, 3))
    low = draw(st.lists(st.integers(-3, 2), min_size=slots, max_size=slots))
    wide = draw(st.lists(st.integers(0, 4), min_size=slots, max_size=slots).filter(any))
    high = [a + b for a, b in zip(low, wide, strict=True)]
    reference = None
    if draw(st.booleans()):
        reference = [draw(st.integers(a, b)) for a, b in zip(low, high, strict=True)]
    cap, cap_2 = draw(st.one_of(st.none(), st.integers(1, 9))), draw(st.one_of(st.none(), st.integers(1, 6)))
    return slots, Body(low=low, high=high, cap=cap, cap_2=cap_2, reference=reference)


def members(slots, body):
    """Every integer vector of the body, by its definition."""
    low, high = body.ranges(slots)
    base = low if body.reference is None else np.array(body.reference)
    for entries in itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        moved = np.array(entries) - base
        if body.cap is not None and np.abs(moved).sum() > body.cap:
            continue
        if body.cap_2 is not None and (moved**2).sum() > body.cap_2**2:
            continue
        yield np.array(entries)


@example((2, Body(low=-4, high=4, cap=1, reference=[0, 0])))
@example((2, Body(low=-4, high=4, cap_2=2, reference=[0, 0])))
@example((2, Body(low=-5, high=5, cap_2=5, reference=[0, 0])))
@example((2, Body(high=9, cap_2=5)))
@example((3, Body(high=4, cap=2)))
@given(bodies())
def test_diameters_bound_every_pair_of_the_body(given_body):
    """No two vectors of the body differ by more than D_inf, D_1, D_2 or a component's range. By brute force."""
    slots, body = given_body
    vectors = np.array(list(members(slots, body)))
    sensitivity = body.sensitivity(slots)
    differences = np.abs(vectors[:, None, :] - vectors[None, :, :])
    assert differences.sum(axis=2).max() <= sensitivity.l1
    assert (differences**2).sum(axis=2).max() <= sensitivity.l2_square
    assert (differences.max(axis=(0, 1)) <= np.array(sensitivity.ranges)).all()


@given(bodies(), st.data())
def test_projection_ends_in_the_body(given_body, data):
    """P puts any integer vector, however far away, into the body, and leaves its members where they are."""
    slots, body = given_body
    far = data.draw(st.lists(st.integers(-(2**30), 2**30), min_size=slots, max_size=slots))
    inside = {tuple(v.tolist()) for v in members(slots, body)}
    placed = body.project(np.array(far, dtype=np.int64)[:, None])[:, 0]
    assert tuple(placed.tolist()) in inside
    for member in itertools.islice(sorted(inside), 40):
        assert tuple(body.project(np.array(member)[:, None])[:, 0].tolist()) == member


def test_the_plain_range_is_tight():
    """For a range without caps the diameters are attained at opposite corners."""
    sensitivity = Body(high=3000).sensitivity(48)
    assert (sensitivity.l1, sensitivity.l2_square, sensitivity.linf) == (48 * 3000, 48 * 3000**2, 3000)


def test_adversarial_corners_are_projected_within_the_diameters():
    """Two households at the ends of the integers differ by at most D after P, with every cap at once."""
    rng = np.random.default_rng(5)
    for signed in (False, True):
        reference = [150] * 48 if signed else None
        body = Body(high=3000, cap=9000, cap_2=2500, reference=reference)
        corners = rng.choice([-(2**31), 0, 1, 2999, 3000, 2**31], size=(48, 400))
        placed = body.project(corners)
        sensitivity = body.sensitivity(48)
        differences = np.abs(placed[:, :200] - placed[:, 200:])
        assert differences.sum(axis=0).max() <= sensitivity.l1
        assert (differences**2).sum(axis=0).max() <= sensitivity.l2_square
        assert differences.max() <= sensitivity.linf


@example([2**29, 1])
@example([2**29 - 1, -(2**15)])
@given(st.lists(st.integers(-(2**29), 2**29), min_size=1, max_size=6))
def test_lengths_are_rounded_up_exactly(entries):
    """The integer length is the least whose square reaches the sum of squares."""
    length = int(lengths(np.array(entries, dtype=np.int64)[:, None])[0])
    square = sum(v * v for v in entries)
    assert length**2 >= square
    assert length == 0 or (length - 1) ** 2 < square


def test_a_contribution_outside_its_body_stops_an_optimised_python_too():
    """`python -O` takes assertions away, and not this one."""
    script = "from diurnal.promise.body import ensure; ensure(True); ensure(False)"
    done = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True)
    assert "nothing was released" in done.stderr


@pytest.mark.parametrize("cells", [1, 2, 5])
def test_moving_between_cells_changes_what_is_stated(cells):
    """A household in one cell a slot, or none, moves counts by at most the stated l1, l2 and 1 a cell."""
    sensitivity = counting_sensitivity(1, cells)
    vectors = [np.zeros(cells), *np.eye(cells)]
    differences = [np.abs(a - b) for a in vectors for b in vectors]
    assert max(d.sum() for d in differences) == sensitivity.l1
    assert max((d**2).sum() for d in differences) == sensitivity.l2_square
    assert max(d.max() for d in differences) == sensitivity.linf


@given(bodies())
def test_a_body_reads_back_as_it_was_written(given_body):
    """JSON and back is the same body."""
    assert body_from_json(given_body[1].to_json()) == given_body[1]


def test_an_ellipsoid_reads_back_as_it_was_written():
    """JSON and back is the same ellipsoid."""
    body = Ellipsoid(radius=7, reference=[1, 2], weighting="harmonic")
    assert body_from_json(body.to_json()) == body


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 3, "high": 2},
        {"high": 0},
        {"high": 2.5},
        {"high": [1, 2]},
        {"high": 5, "cap": 0},
        {"high": 5, "cap_2": -1},
        {"high": 5, "cap": 1.5},
        {"high": 5, "reference": [6, 6, 6]},
        {"high": 2**40},
        {"high": 2**31 - 1},
        {"high": "many"},
    ],
)
def test_bodies_that_hold_nothing_are_refused(wrong):
    """High < low, floats, another number of slots, caps below 1 and values beyond 64 bits raise a BodyError."""
    with pytest.raises(BodyError, match="Hint:"):
        Body(**wrong).sensitivity(3)


@pytest.mark.parametrize("wrong", [{"radius": 0}, {"radius": 1.5}, {"radius": 1, "weighting": "round"}])
def test_ellipsoids_need_a_radius(wrong):
    """A radius below 1 or an unknown weighting raises a BodyError."""
    with pytest.raises(BodyError):
        Ellipsoid(**wrong)


def test_a_contribution_outside_its_body_stops_everything(monkeypatch):
    """If a projection were wrong, nothing would be released: the check is no assert that -O takes away."""
    from diurnal.promise import body

    monkeypatch.setattr(body, "shrink", lambda vectors, sizes, limit: vectors)
    with pytest.raises(AssertionError, match="left its body"):
        Body(high=300, cap=700, cap_2=400).project(np.full((8, 1), 300))
