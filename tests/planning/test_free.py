"""A reference that is free: made from variations, which neighbours share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diurnal as dn
import support
from diurnal.curator import starting
from diurnal.errors import OverlapError, PlanError, ReadingsError
from diurnal.planning.free import FEWEST, known_from
from diurnal.planning.plan import Plan
from diurnal.readings import kernels
from support import refuses

SLOTS, CYCLES, HOMES = 4, 40, 20
PUBLIC = (30, 50, 80, 60)


def plan_for(panel, **more):
    fields = {
        "history": CYCLES,
        "domain": (0, 400),
        "mechanism": "basis",
        "basis": dn.Basis(size=3),
        "body": dn.Ellipsoid(radius=60, reference=PUBLIC, weighting="harmonic", scale="1.3"),
        "reference": dn.Reference(profile=PUBLIC),
        "fill": "0.25",
        "free": dn.VariationReference(),
        "minimum_group": 5,
    }
    return support.plan_for(panel, **{**fields, **more})


def homes(seed=1, n=HOMES, cycles=CYCLES, slots=SLOTS):
    """Readings that never fall below a standby that differs by slot."""
    rng = np.random.default_rng(seed)
    standby = rng.integers(5, 40, size=(slots, n))
    moves = rng.gamma(1.5, 20, size=(cycles, slots, n)).astype(int)
    return support.small_panel((standby + moves).reshape(-1, n), slots=slots)


def known(plan, panel):
    """What a curator would take from this history."""
    record = starting.learned(starting.prepared(starting.bound_to(plan, panel), panel, "untested"), panel, None)
    return starting._known(record, panel)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), shifts=st.lists(st.integers(-30, 100), min_size=SLOTS, max_size=SLOTS))
def test_a_periodic_shift_leaves_it_bit_for_bit(seed, shifts):
    """Whatever one household's periodic component is, reference and fill are the same integers."""
    panel = homes(seed)
    moved = np.array(panel.readings)
    moved[:, 3] += np.tile(shifts, CYCLES)
    other = support.small_panel(moved, slots=SLOTS)
    plan = plan_for(panel, domain=(-100, 1000))
    assert known(plan, panel) == known(plan, other)


def test_a_reference_from_readings_is_caught(monkeypatch):
    """A curator that adds up readings instead of variations takes another reference after a shift."""
    panel = homes()
    moved = np.array(panel.readings)
    moved[:, 3] += 100
    other = support.small_panel(moved, slots=SLOTS)
    plan = plan_for(panel, domain=(-100, 1000))
    real = kernels.variation_sums

    def of_readings(readings, present, profile, *rest, **more):
        return real(readings, present, np.zeros_like(profile), *rest, **more)

    monkeypatch.setattr(kernels, "variation_sums", of_readings)
    assert known(plan, panel) != known(plan, other)


def test_it_is_made_as_it_says():
    """Minus the order statistic, rounded to the grain, blended into the public shape; its own part is put back."""
    panel = homes()
    found = known(plan_for(panel), panel)
    profile = panel.readings.reshape(CYCLES, SLOTS, HOMES).sum(axis=0) // CYCLES
    sums = (panel.readings.reshape(CYCLES, SLOTS, HOMES) - profile).sum(axis=2)
    low = -np.sort(sums // HOMES, axis=0)[0]
    public = np.array(PUBLIC)
    expected = public + 0.75 * (1.8 * (low - low.mean()) - (public - public.mean()))
    assert np.abs(np.array(found.reference) - expected).max() <= 0.51
    assert np.abs(np.array(found.fill) - (0.6 * low + 0.25 * public)).max() <= 0.51


def test_it_is_rounded_to_the_grain():
    """With a grain of half the level the order statistic is a multiple of it: little is given away."""
    panel = homes()
    free = dn.VariationReference(grain="0.5", low="1")
    found = known(plan_for(panel, free=free, fill=0), panel)
    assert all(value % 28 == 0 for value in found.fill)


def test_steps_of_few_readings_say_nothing():
    """Where fewer households than the minimum are read, the sum of a step is about them: it is left out."""
    sums, used = np.full(CYCLES * SLOTS, 50), np.full(CYCLES * SLOTS, 20)
    sums[8], used[8] = -10_000, 4
    plan = plan_for(homes())
    quiet = known_from(plan, sums, used, households=20)
    used[8] = 5
    assert known_from(plan, sums, used, households=20) != quiet


def test_closed_steps_say_nothing():
    """What everybody knows of an outage is not taken for what homes do at their least."""
    panel = homes()
    readings = np.array(panel.readings)
    readings[12] = 0
    quiet, loud = (dn.Panel.from_array(readings, grid=panel.grid, calendar=steps) for steps in ([12], []))
    assert known(plan_for(quiet), quiet).fill[0] < known(plan_for(loud), loud).fill[0]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), shifts=st.lists(st.integers(-30, 300), min_size=SLOTS, max_size=SLOTS))
def test_a_whole_transcript_moves_within_the_ball(silence, seed, shifts):
    """Without noise, a home's shift moves coefficients by at most the ball's diameter, in every cycle alike."""
    panel = homes(seed, cycles=CYCLES + 4)
    moved = np.array(panel.readings)
    moved[:, 3] += np.tile(shifts, CYCLES + 4)
    other = support.small_panel(moved, slots=SLOTS)
    plan = plan_for(panel, domain=(-100, 1000), query=dn.Sum())
    rows = []
    for each in (panel, other):
        stream = support.start(each, plan)
        rows.append(np.array([float(row.exact) for row in stream.report(each.after(CYCLES))]).reshape(-1, SLOTS))
    change = rows[1] - rows[0]
    assert np.abs(change - change[0]).max() < 1e-9
    layer = plan.pattern_layer()
    # Slots are rounded to units, and so may be off by a half each.
    slack = SLOTS * np.abs(layer.matrix).max()
    assert np.linalg.norm(layer.matrix @ change[0]) <= np.sqrt(layer.sensitivity_square) + slack


def test_too_few_cycles_are_refused():
    """Fewer than 28 cycles that say anything are no order statistic: the plan is refused, and says what to do."""
    panel = homes(cycles=FEWEST - 1)
    with refuses(ReadingsError, "free-reference-short"):
        known(plan_for(panel, history=FEWEST - 1), panel)


def test_days_of_a_week_are_pooled():
    """With a basis of days the order statistic is of all days and the reference repeats; the fill has the week."""
    panel = homes(slots=8)
    public = (*PUBLIC, 40, 60, 100, 80)
    plan = plan_for(
        panel,
        basis=dn.Basis(size=3, days=2),
        body=dn.Ellipsoid(radius=60, reference=public),
        reference=dn.Reference(profile=public),
        fill="0.5",
    )
    found = known(plan, panel)
    assert found.reference[:4] == found.reference[4:]
    differ = np.array(found.fill[4:]) - np.array(found.fill[:4])
    assert np.abs(differ - 0.5 * (np.array(public[4:]) - np.array(public[:4]))).max() <= 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"level": "strong", "cycle_mechanism": "basis"}, "pattern plans"),
        ({"statistic": "base-load"}, "the mean as statistic"),
        ({"body": None}, "Ellipsoid"),
        ({"reference": None}, "a public reference to begin with"),
        ({"fill": "2"}, "from 0 to 1"),
        ({"free": None, "body": None}, "fill and shrink"),
    ],
)
def test_where_it_would_not_be_free_it_is_refused(more, words):
    """In strong mode variations are protected; without a public reference there is nothing to begin with."""
    panel = homes()
    with pytest.raises(PlanError, match=words):
        plan_for(panel, **more)


@pytest.mark.parametrize("wrong", [{"quantile": "1"}, {"blend": "1.5"}, {"slope": "0"}, {"grain": "-1"}])
def test_shares_are_shares(wrong):
    """A quantile or a blend above one, a slope or grain that is not positive: a PlanError."""
    with pytest.raises(PlanError):
        dn.VariationReference(**wrong)


def test_a_plan_with_it_is_a_file_both_ways():
    """JSON brings the same plan back; one that says nothing of it keeps the form and the name it had before."""
    panel = homes()
    plan = plan_for(panel)
    assert Plan.from_json(plan.to_json()) == plan
    plain = support.plan_for(panel)
    assert not {"free", "fill", "shrink"} & plain.to_json().keys()


def test_the_promise_says_what_it_gives_away():
    """A plan with a free reference, or a base load, says so among what is not promised; another does not."""
    panel = homes()
    plans = [
        plan_for(panel),
        plan_for(panel, free=None),
        support.plan_for(panel, statistic="base-load", history=CYCLES),
    ]
    free, plain, base = (str(each.guarantee()) for each in plans)
    assert "one low value a slot" in free
    assert "one low value a slot" not in plain
    assert "little more than standby load is hidden" in base


# What other plans give away.


def start(curator, plan, panel):
    return curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)


def test_no_other_plan_may_report_its_history():
    """A plan over some of the households that reports steps of a free history is refused, either way round."""
    panel = homes(cycles=60)
    long, short = plan_for(panel, history=40), support.plan_for(panel, history=4, domain=(0, 400), minimum_group=5)
    curator = dn.Curator.in_memory(support.ROOMY)
    start(curator, long, panel)
    with refuses(OverlapError, "overlap-free-reference"):
        start(curator, short, panel)
    curator = dn.Curator.in_memory(support.ROOMY)
    start(curator, short, panel)
    with refuses(OverlapError, "overlap-free-reference"):
        start(curator, long, panel)


@pytest.mark.parametrize(
    "more",
    [{"query": dn.Sum()}, {"min_readings": 25}, {"free": dn.VariationReference(quantile="0.1")}, {"free": None}],
    ids=["query", "readings", "quantile", "plain"],
)
def test_a_history_is_learned_from_once(more):
    """Another plan over the same history is refused, running or stopped: two order statistics have a difference."""
    panel = homes(cycles=60)
    for stopped in (False, True):
        curator = dn.Curator.in_memory(support.ROOMY)
        stream = start(curator, plan_for(panel), panel)
        if stopped:
            stream.stop()
        with refuses(OverlapError, "overlap-free-reference"):
            start(curator, plan_for(panel, **more), panel)


def test_no_strong_plan_learns_beside_it():
    """A strong plan's promise for its history would not hold where a free reference shows that history."""
    panel = homes(cycles=60)
    strong = support.plan_for(panel, **support.SLOTWISE, history=CYCLES, domain=(0, 400))
    for first, second in ((plan_for(panel), strong), (strong, plan_for(panel))):
        curator = dn.Curator.in_memory(support.ROOMY)
        start(curator, first, panel).stop()
        with pytest.raises(OverlapError):
            start(curator, second, panel)


def test_a_restored_store_knows_what_was_shown(tmp_path):
    """A backup from before a free plan, told the newest head, takes nothing of that plan's history again."""
    panel = homes(cycles=80)
    curator = dn.Curator.open(tmp_path / "one.db", support.ROOMY)
    curator.backup(tmp_path / "old.db")
    start(curator, plan_for(panel), panel)
    restored = dn.Curator.open(tmp_path / "old.db", fence=curator.status().head)
    fewer = panel.columns(np.arange(HOMES - 1))
    with refuses(OverlapError, "restored-history"):
        start(restored, plan_for(fewer), fewer)
    later = fewer.after(40)
    plan = plan_for(later)
    assert restored.start(plan, history=later.first(40), acknowledge="untested", accept_worse=True)


def test_plans_of_other_households_are_free():
    """Households that no other plan has may be learned from whenever."""
    panel = homes(cycles=60)
    curator = dn.Curator.in_memory(support.ROOMY)
    start(curator, plan_for(panel), panel)
    others = dn.Panel.from_array(panel.readings + 1, households=[f"x{i}" for i in range(HOMES)], grid=panel.grid)
    assert start(curator, plan_for(others), others)
