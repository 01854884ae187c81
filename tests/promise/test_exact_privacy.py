"""Privacy by enumeration: the exact laws of whole transcripts of the shipped curator, on tiny populations.

The curator is run with noise replaced by zeros, which shows what noise is added to. For a pair of neighbours
the difference of the two runs is how far the transcript moves. The exact mass functions of the noise then
give the largest log ratio of any transcript, several cycles long, history included.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import support
from diurnal import Basis, Body, Ellipsoid, Histogram, Plan, Share, Sum, Weighted
from diurnal.promise.mechanisms import SLOTS, BasisMechanism
from diurnal.study import paper
from diurnal.study.audit import exact

TOP = 2
SLACK = 1e-7

pure = pytest.mark.parametrize("mechanism", [name for name, kind in SLOTS.items() if not kind.needs_delta])


def run(plan, panel):
    """A transcript without noise: a row a reported cycle, a column a slot."""
    stream = support.start(panel, plan)
    # At either end a panel closes no step of which only homes without a profile sent something: an empty one does.
    empty = support.small_panel(panel.readings, present=np.zeros_like(panel.present), slots=plan.grid.slots)
    rows = {row.step: row for given in (panel, empty) for row in stream.report(given, close=True)}
    values = [float(rows[step].numerator) for step in sorted(rows)]
    return np.array(values).reshape(-1, plan.grid.slots)


def tiny_plan(slots, level, mechanism, **more):
    fields = {
        "query": Sum(),
        "grid": support.small_panel([[0]], slots=slots).grid,
        "domain": (0, TOP),
        "level": level,
        "mechanism": mechanism,
        "epsilon": "1",
        "history": 2,
        "min_readings": 1,
        "minimum_group": 1,
    }
    if level == "strong":
        fields["cycle_mechanism"] = mechanism
    return Plan(**{**fields, **more})


@st.composite
def populations(draw, slots, cycles, n=2):
    """Readings in the domain with shared gaps."""
    cells = cycles * slots * n
    readings = draw(st.lists(st.integers(0, TOP), min_size=cells, max_size=cells))
    present = draw(st.lists(st.sampled_from([True, True, True, False]), min_size=cells, max_size=cells))
    return np.array(readings).reshape(-1, n), np.array(present).reshape(-1, n)


@st.composite
def shifted_populations(draw, slots, cycles):
    """A population, the same with the first household's periodic component moved, and their shared gaps."""
    readings, present = draw(populations(slots, cycles))
    shift = draw(st.lists(st.integers(-TOP, TOP), min_size=slots, max_size=slots))
    room = np.tile(shift, cycles)
    readings[:, 0] = np.clip(readings[:, 0], np.maximum(0, -room), TOP - np.maximum(0, room))
    moved = readings.copy()
    moved[:, 0] += room
    return readings, moved, present


@pytest.mark.usefixtures("silence")
@pure
@given(data=st.data())
def test_pattern_neighbours_differ_by_one_periodic_shift_within_epsilon(mechanism, data):
    """Over five cycles, history included, the whole transcript moves by one vector, and by at most epsilon."""
    slots = data.draw(st.integers(1, 3))
    readings, moved, present = data.draw(shifted_populations(slots, 5))
    query = data.draw(st.sampled_from([Sum(), Weighted([3, 1]), Weighted([-2, 1])]))
    plan = tiny_plan(slots, "pattern", mechanism, query=query)
    transcripts = [run(plan, support.small_panel(x, present=present, slots=slots)) for x in (readings, moved)]
    moves = transcripts[1] - transcripts[0]
    assert (moves == moves[0]).all()
    layer = plan.pattern_layer(max(map(abs, getattr(query, "values", (1,)))))
    assert _norm_loss(layer, moves[0]) <= 1 + SLACK


def _norm_loss(layer, move):
    return float(exact.distances(layer, [np.rint(move)])[0])


@pytest.mark.usefixtures("silence")
@pure
@pytest.mark.parametrize("slots", [1, 2])
@settings(max_examples=40)
@given(data=st.data())
def test_strong_neighbours_in_the_pattern_stay_within_epsilon(mechanism, slots, data):
    """A periodic shift: the exact law of all reported cycles changes by at most eps_z."""
    cycles = 3 if slots == 1 else 2
    readings, moved, present = data.draw(shifted_populations(slots, 2 + cycles))
    weight = data.draw(st.sampled_from([1, 2]))
    query = Weighted([weight, 1])
    plan = tiny_plan(slots, "strong", mechanism, variation_bound=1, query=query)
    ours, theirs = (run(plan, support.small_panel(x, present=present, slots=slots)) for x in (readings, moved))
    worst = support.worst_log_ratio(
        plan.pattern_layer(weight), plan.cycle_layer(weight), theirs - ours, 9 if slots == 1 else 4
    )
    assert worst <= 1 + SLACK


@pytest.mark.usefixtures("silence")
@pure
@pytest.mark.parametrize("slots", [1, 2])
@settings(max_examples=40)
@given(data=st.data())
def test_strong_neighbours_in_one_cycle_stay_within_epsilon(mechanism, slots, data):
    """One household's readings of one reported cycle replaced: the exact law changes by at most eps_w."""
    cycles = 3 if slots == 1 else 2
    readings, present = data.draw(populations(slots, 2 + cycles))
    moved = readings.copy()
    cycle = data.draw(st.integers(2, 1 + cycles))
    new = data.draw(st.lists(st.integers(0, TOP), min_size=slots, max_size=slots))
    moved[cycle * slots : (cycle + 1) * slots, 0] = new
    plan = tiny_plan(slots, "strong", mechanism, variation_bound=data.draw(st.sampled_from([None, 1])))
    ours, theirs = (run(plan, support.small_panel(x, present=present, slots=slots)) for x in (readings, moved))
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), theirs - ours, 9 if slots == 1 else 4)
    assert worst <= 1 + SLACK


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize(
    ("body", "ours", "theirs", "changed", "figure"),
    [
        pytest.param(2, (0, 0, 2, 0, 0), (2, 2, 0, 2, 2), 1, 2.96, id="z and one cycle of three"),
        pytest.param(1, (0, 0, 4, 4), (4, 4, 0, 0), 2, 3.5, id="everything, K = 2"),
        pytest.param(1, (0, 0, 4, 4, 4), (4, 4, 0, 0, 0), 3, 5.25, id="everything, K = 3"),
    ],
)
def test_where_variations_are_not_bound_layers_cost_more_than_their_epsilons(body, ours, theirs, changed, figure):
    """Exact laws with W the whole domain: eps_z + K eps_w is exceeded, and eps_z + 2 K eps_w is not (theory 3)."""
    width = max(ours)
    plan = tiny_plan(1, "strong", "laplace", domain=(0, width), body=Body(high=body), variation_bound=width)
    lives = [np.array([life, [0] * len(life)]).T for life in (ours, theirs)]
    runs = [run(plan, support.small_panel(life, slots=1)) for life in lives]
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), runs[1] - runs[0], 40)
    assert worst == pytest.approx(figure, abs=0.01)
    assert 1 + changed < worst <= float(1 + changed * plan.stretch) + SLACK


@pytest.mark.usefixtures("silence")
@pure
@settings(max_examples=60)
@given(data=st.data())
def test_everything_about_a_household_stays_within_what_is_said(mechanism, data):
    """All readings of one household replaced, history too: at most eps_z + K kappa eps_w, whatever W is."""
    cycles = 2
    readings, present = data.draw(populations(1, 2 + cycles))
    moved = readings.copy()
    moved[:, 0] = data.draw(st.lists(st.integers(0, TOP), min_size=2 + cycles, max_size=2 + cycles))
    bound = data.draw(st.sampled_from([1, TOP, 2 * TOP]))
    high = data.draw(st.sampled_from([1, TOP]))
    plan = tiny_plan(1, "strong", mechanism, variation_bound=bound, body=Body(high=high))
    ours, theirs = (run(plan, support.small_panel(x, present=present, slots=1)) for x in (readings, moved))
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), theirs - ours, 9)
    assert worst <= float(1 + cycles * plan.stretch) + SLACK


@pytest.mark.usefixtures("silence")
@pure
@settings(max_examples=60)
@given(data=st.data())
def test_a_history_cycle_stays_within_its_bound(mechanism, data):
    """One household's history cycle replaced: at most the stated bound, with K_i counted from the data."""
    slots, cycles = 1, 3
    readings, present = data.draw(populations(slots, 2 + cycles))
    moved = readings.copy()
    moved[data.draw(st.integers(0, 1)), 0] = data.draw(st.integers(0, TOP))
    bound = data.draw(st.sampled_from([None, 1]))
    high = data.draw(st.sampled_from([1, TOP]))
    plan = tiny_plan(slots, "strong", mechanism, variation_bound=bound, body=Body(high=high))
    panels = [support.small_panel(x, present=present, slots=slots) for x in (readings, moved)]
    ours, theirs = (run(plan, panel) for panel in panels)
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), theirs - ours, 9)
    history = plan.guarantee().history
    touched = sum(_touched(k, (readings, moved), present, bound) for k in range(2, 2 + cycles))
    assert worst <= float(history.base.epsilon + touched * history.each.epsilon) + SLACK


def _touched(cycle, populations, present, bound):
    """Whether the first household's reading of a cycle is missing, or clipped in either population."""
    seen = present[:2, 0]
    if not present[cycle, 0]:
        return True
    if bound is None or not seen.any():
        return False
    profiles = [x[:2, 0][seen].sum() // seen.sum() for x in populations]
    return any(abs(x[cycle, 0] - z) > bound for x, z in zip(populations, profiles, strict=True))


@pytest.mark.usefixtures("silence")
def test_the_history_bound_needs_both_of_its_terms():
    """A narrow body: the periodic part alone already costs something that only the base term pays for."""
    plan = tiny_plan(1, "strong", "laplace", body=Body(high=1), history=2)
    low = np.full((5, 2), TOP)
    high = low.copy()
    high[0, 0] = 0
    ours, theirs = (run(plan, support.small_panel(x, slots=1)) for x in (low, high))
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), theirs - ours, 9)
    assert 0.1 < worst <= float(plan.guarantee().history.base.epsilon) + SLACK


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize("body", ["cap", "cap_2"])
@settings(max_examples=40)
@given(data=st.data())
def test_a_history_cycle_stays_within_its_bound_when_caps_shrink_vectors(body, data):
    """Where P is not slot by slot, the bound has the body's diameter added, and the exact law keeps it."""
    slots = 2
    readings, present = data.draw(populations(slots, 4))
    moved = readings.copy()
    moved[0:2, 0] = data.draw(st.lists(st.integers(0, TOP), min_size=2, max_size=2))
    plan = tiny_plan(slots, "strong", "laplace", body=Body(high=TOP, **{body: 2}))
    panels = [support.small_panel(x, present=present, slots=slots) for x in (readings, moved)]
    ours, theirs = (run(plan, panel) for panel in panels)
    worst = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), theirs - ours, 4)
    history = plan.guarantee().history
    touched = sum(not present[2 * k : 2 * k + 2, 0].all() for k in (2, 3))
    assert worst <= float(history.base.epsilon + touched * history.each.epsilon) + SLACK


def basis_totals(plan, panel):
    """What the two basis layers add noise to: the pattern's coefficients, then each cycle's."""
    seen = []

    def watch(self, totals):
        seen.append([int(total) for total in totals])
        return [int(total) for total in totals]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BasisMechanism, "release", watch)
        support.start(panel, plan).report(panel, close=True)
    return np.array(seen)


BOUNDS = {
    "ellipsoids": {"body": Ellipsoid(radius=3, reference=[1] * 4), "variation_bound": Ellipsoid(radius=2)},
    "harmonic ellipsoid, clipped slots": {
        "body": Ellipsoid(radius=2, reference=[1] * 4, weighting="harmonic"),
        "variation_bound": 1,
    },
    "capped body, no W": {"body": Body(high=TOP, cap_2=3)},
}


@pytest.mark.parametrize("noise", ["l2-norm", "laplace", "gaussian"])
@pytest.mark.parametrize("bounds", BOUNDS)
@settings(max_examples=40)
@given(data=st.data())
def test_basis_layers_keep_both_promises(bounds, noise, data):
    """A periodic shift moves the pattern's coefficients alone, one cycle its own alone, each within the promise."""
    slots, cycles, weight = 4, 5, data.draw(st.sampled_from([1, 3]))
    basis = Basis(size=3, noise=noise)
    plan = tiny_plan(
        slots,
        "strong",
        "basis",
        basis=basis,
        cycle_basis=basis,
        delta="1e-6",
        query=Weighted([weight, 1]),
        **BOUNDS[bounds],
    )
    readings, moved, present = data.draw(shifted_populations(slots, cycles))
    panel = support.small_panel(readings, present=present, slots=slots)
    ours = basis_totals(plan, panel)
    theirs = basis_totals(plan, support.small_panel(moved, present=present, slots=slots))
    assert np.array_equal(ours[1:], theirs[1:])
    assert _within(plan.pattern_layer(weight), theirs[0] - ours[0])
    other = readings.copy()
    other[3 * slots : 4 * slots, 0] = data.draw(st.lists(st.integers(0, TOP), min_size=slots, max_size=slots))
    theirs = basis_totals(plan, support.small_panel(other, present=present, slots=slots))
    assert np.array_equal(np.delete(ours, 2, axis=0), np.delete(theirs, 2, axis=0))
    assert _within(plan.cycle_layer(weight), theirs[2] - ours[2])


def test_a_basis_in_pattern_mode_moves_its_coefficients_alone():
    """At level pattern the coefficients move within epsilon, and every row by what the coefficients moved."""
    slots = 4
    plan = tiny_plan(slots, "pattern", "basis", basis=Basis(size=3), body=Body(high=TOP), query=Sum())
    rng = np.random.default_rng(9)
    for _ in range(30):
        readings = rng.integers(0, 2, size=(20, 2))
        moved = readings.copy()
        moved[:, 0] += np.tile(rng.integers(0, 2, size=slots), 5)
        panels = [support.small_panel(x, slots=slots) for x in (readings, moved)]
        totals = [basis_totals(plan, panel)[0] for panel in panels]
        assert _within(plan.pattern_layer(), totals[1] - totals[0])


def _within(layer, move):
    """Whether a move of the coefficients is within the promise in the noise's own norm, in exact integers."""
    square = sum(int(v) ** 2 for v in move)
    if layer.basis.noise == "laplace":
        return sum(abs(int(v)) for v in move) * layer.rate <= 1
    if layer.basis.noise == "gaussian":
        return square * layer.rate**2 / 2 <= layer.loss.zcdp
    return square * layer.rate**2 <= 1


@pytest.mark.usefixtures("silence")
@settings(max_examples=25)
@given(data=st.data())
def test_strong_gaussian_layers_keep_their_concentrated_loss(data):
    """Both layers Gaussian, three cycles: for a periodic shift, one cycle, and one history cycle, the Renyi
    divergence of the exact laws is at most the stated rho times its order.
    """
    slots, cycles = 1, 3
    readings, shifted, present = data.draw(shifted_populations(slots, 2 + cycles))
    one_cycle, history = readings.copy(), readings.copy()
    one_cycle[3, 0] = data.draw(st.integers(0, TOP))
    history[1, 0] = data.draw(st.integers(0, TOP))
    plan = tiny_plan(slots, "strong", "gaussian", delta="1e-6", variation_bound=1)
    pattern, cycle = plan.pattern_layer(), plan.cycle_layer()
    bound = plan.guarantee().history
    touched = sum(not present[k, 0] or plan.clip < TOP for k in range(2, 2 + cycles))
    promises = [
        (shifted, pattern.loss.zcdp),
        (one_cycle, cycle.loss.zcdp),
        (history, bound.base.zcdp + touched * bound.each.zcdp),
    ]
    ours = run(plan, support.small_panel(readings, present=present, slots=slots))
    for other, rho in promises:
        theirs = run(plan, support.small_panel(other, present=present, slots=slots))
        p, q = support.laws_of(pattern, cycle, theirs - ours, 20)
        p, q = p / p.sum(), q / q.sum()
        for order in (2, 4):
            seen = p > 1e-60
            log = order * np.log(p[seen]) + (1 - order) * np.log(q[seen])
            assert np.log(np.exp(log).sum()) / (order - 1) <= float(rho) * order + 1e-3


@pytest.mark.usefixtures("silence")
def test_totals_that_are_multiplied_keep_their_promise():
    """With counts so small that cube noise needs finer units, the loss in these units is still epsilon."""
    plan = tiny_plan(3, "pattern", "cube", epsilon="4")
    layer = plan.pattern_layer()
    assert layer.multiplier > 1
    low, high = np.zeros((15, 2), dtype=int), np.zeros((15, 2), dtype=int)
    high[:, 0] = TOP
    ours, theirs = (run(plan, support.small_panel(x, slots=3)) for x in (low, high))
    points = support.grid_points(3, 8)
    move = ((theirs - ours)[0] * layer.multiplier).round().astype(int)
    ratio = exact.log_mass(layer, points) - exact.log_mass(layer, points - move)
    assert np.abs(ratio).max() == pytest.approx(4, rel=1e-6)


@pytest.mark.usefixtures("silence")
def test_the_enumeration_is_sharp():
    """A worst pair attains nearly all of epsilon in both layers, so that half the noise would be caught."""
    plan = tiny_plan(1, "strong", "laplace", history=1)
    low, high = np.zeros((4, 2), dtype=int), np.zeros((4, 2), dtype=int)
    high[:, 0] = TOP
    ours, theirs = (run(plan, support.small_panel(x, slots=1)) for x in (low, high))
    halved = plan.with_(epsilon="2", cycle_epsilon="2")
    promised = support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), theirs - ours, 9)
    broken = support.worst_log_ratio(halved.pattern_layer(), halved.cycle_layer(), theirs - ours, 9)
    assert 0.9 < promised <= 1 + SLACK
    assert broken > 1.5


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize("query", [Share(above=0), Share(above=1), Histogram([0]), Histogram([0, 1])])
@pure
@given(data=st.data())
def test_counting_plans_keep_one_cycle_within_epsilon(query, mechanism, data):
    """One household's cycle replaced moves that cycle's counts by at most epsilon, and no other cycle's."""
    slots = data.draw(st.integers(1, 3))
    readings, present = data.draw(populations(slots, 2))
    moved = readings.copy()
    moved[:slots, 0] = data.draw(st.lists(st.integers(0, TOP), min_size=slots, max_size=slots))
    plan = tiny_plan(slots, "cycle", mechanism, query=query, history=0, min_readings=None)
    runs = []
    for x in (readings, moved):
        panel = support.small_panel(x, present=present, slots=slots)
        rows = support.start(panel, plan).report(panel, close=True)
        runs.append(np.array([float(row.numerator) for row in rows]).reshape(2, -1))
    moves = runs[1] - runs[0]
    assert not moves[1].any()
    assert _norm_loss(plan.cycle_layer(), moves[0]) <= 1 + SLACK


@pytest.mark.usefixtures("silence")
@settings(max_examples=25)
@given(data=st.data())
def test_gaussian_layers_keep_their_concentrated_loss(data):
    """For discrete Gaussian noise the Renyi divergence of the moved law is at most rho times its order."""
    readings, moved, present = data.draw(shifted_populations(1, 4))
    plan = tiny_plan(1, "pattern", "gaussian", delta="0.01")
    ours, theirs = (run(plan, support.small_panel(x, present=present, slots=1)) for x in (readings, moved))
    move = (theirs - ours)[0]
    layer = plan.pattern_layer()
    points = np.arange(-400, 401)[:, None]
    p, q = (exact.log_mass(layer, points - shift) for shift in (0, move))
    total = np.log(np.exp(p).sum())
    for order in (1.5, 2, 4, 16):
        divergence = np.log(np.exp(order * (p - total) + (1 - order) * (q - total)).sum()) / (order - 1)
        assert divergence <= float(layer.loss.zcdp) * order + SLACK


def test_corollary_1_as_printed_exceeds_its_claim_and_the_repair_does_not():
    """Only the first cycle changes, T = 1: the exact law of the printed code's transcripts changes by more than
    epsilon, that of the repair's code never.
    """
    epsilon, df = 1.0, 2
    scales = {"first": 2 * df / epsilon, "later": df / epsilon}
    readings, moved = np.zeros((3, 2), dtype=int), np.zeros((3, 2), dtype=int)
    moved[0, 0] = df
    profile = np.zeros((1, 2), dtype=int)

    def noises(x, y):
        """The noise that makes the printed code give a transcript, worked out by running it without noise."""
        none = paper.corollary_1_as_printed(x, profile, np.zeros(1, dtype=int), np.zeros((2, 1), dtype=int))
        first = y[0] - none[0]
        given = paper.corollary_1_as_printed(x, profile, np.array([first]), np.zeros((2, 1), dtype=int))
        return first, y[1:] - given[1:]

    worst = 0.0
    for y in support.grid_points(3, 8):
        log = []
        for x in (readings, moved):
            first, later = noises(x, y)
            log.append(-abs(first) / scales["first"] - np.abs(later).sum() / scales["later"])
        worst = max(worst, abs(log[0] - log[1]))
    assert worst == pytest.approx(paper.corollary_1_loss(cycles=3, epsilon=epsilon, df_z=df, df_w=df))
    assert worst > 2 * epsilon
    zero = np.zeros((3, 1), dtype=int)
    moves = paper.two_layers(moved, zero[0], zero) - paper.two_layers(readings, zero[0], zero)
    plan = tiny_plan(1, "strong", "laplace", history=1)
    assert support.worst_log_ratio(plan.pattern_layer(), plan.cycle_layer(), moves[:, None], 9) <= epsilon + SLACK
