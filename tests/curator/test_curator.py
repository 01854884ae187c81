"""The curator's stream: each step once, the same rows for ever, whatever is given again."""

import threading
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator import release
from diurnal.errors import DiurnalError, LimitError, PlanError, QueryError, ReadingsError, StoreError, StreamError
from diurnal.planning import planner
from diurnal.promise import noise
from support import refuses

LEVELS = {
    "pattern": {"level": "pattern", "mechanism": "cube"},
    "strong": support.SLOTWISE,
    "strong, basis": support.BASIS,
    "strong, blocks": support.BLOCKS,
    "share": {"level": "cycle", "query": dn.Share(above=50), "history": 0},
    "histogram": {"level": "cycle", "query": dn.Histogram([20, 60]), "history": 0},
}
BASIS = {"mechanism": "basis", "basis": dn.Basis(size=3)}
every_level = pytest.mark.parametrize("name", LEVELS)


def open_cycles(stream):
    """Cycles of which the store still keeps noise or readings."""
    store, slots = stream._store, stream.plan.grid.slots
    with store.transaction():
        number = store.record(stream._stream_id).number
        return sorted({step // slots for step in store.held_marks(number)}.union(store.noisy_cycles(number)))


def begin(name, panel, **more):
    return support.start(panel, support.plan_for(panel, **{**LEVELS[name], **more}))


@every_level
def test_a_step_is_reported_once_and_asked_again_is_the_same(name):
    """The same rows come for the same steps, whatever readings are given the second time."""
    panel = support.town()
    stream = begin(name, panel)
    first = stream.report(panel)
    changed = panel.following(panel.readings // 2, first_step=0)
    assert stream.report(panel) == first
    assert stream.report(changed) == first


@every_level
def test_steps_may_come_one_by_one_or_all_at_once(name, silence):
    """Without noise, rows do not depend on how the steps are delivered, or in which order."""
    panel = support.town()
    whole = begin(name, panel).report(panel)
    stream = begin(name, panel)
    order = list(panel.steps)
    np.random.default_rng(2).shuffle(order)
    for step in order:
        stream.report(panel.between(step, step + 1))
    assert stream.report(panel) == whole


@every_level
def test_started_again_it_is_the_same_stream(name):
    """Starting the same plan again gives the same rows and spends nothing."""
    panel = support.town()
    one = support.plan_for(panel, **LEVELS[name])
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    first = curator.start(one, history=panel.first(one.history), acknowledge="untested", accept_worse=True).report(
        panel
    )
    again = curator.start(one, history=panel.first(one.history), acknowledge="untested", accept_worse=True)
    assert again.report(panel) == first
    assert len(curator.streams()) == 1


@every_level
def test_missing_readings_and_gaps_in_the_roster_never_stop_a_stream(name):
    """Told to close a panel, a stream has a row for every step of it, also where nobody has sent a reading."""
    panel = support.town()
    present = panel.present.copy()
    present[20:24] = False
    gappy = panel.following(panel.readings, present=present, first_step=0)
    rows = begin(name, gappy).report(gappy, close=True)
    assert {20, 21, 22, 23} <= {row.step for row in rows}


def test_rows_hold_time_unit_group_and_plan():
    """A row's keys are the ones others rely on, its value and deviation are decimals."""
    panel = support.town()
    stream = begin("pattern", panel)
    row = stream.report(panel)[4].to_json()
    assert row["time"] == "2000-01-01T10:00:00+00:00"
    assert (row["step"], row["group"], row["unit"], row["plan"]) == (20, "all", "Wh", stream.plan.hash)
    assert float(row["std"]) > 0
    assert float(row["value"]) == pytest.approx(float(stream.report(panel)[4].exact), rel=1e-3)


@pytest.mark.parametrize("name", ["pattern", "strong", "strong, basis", "strong, blocks"])
def test_steps_of_the_history_are_not_reported(name):
    """A stream begins after its history."""
    panel = support.town()
    assert min(row.step for row in begin(name, panel).report(panel)) == 16


def test_the_noisy_profile_is_public_in_pattern_mode_only():
    """In strong mode asking for G is refused, and no repr shows it."""
    panel = support.town()
    stream = begin("pattern", panel)
    assert len(stream.noisy_profile["all"]) == 4
    with refuses(StreamError, "profile-private"):
        begin("strong", panel).noisy_profile  # noqa: B018


def test_differences_between_cycles_are_exact_in_pattern_mode():
    """y(t + T) - y(t) is F(x(t + T)) - F(x(t)) to the unit: nothing hides variations at this level."""
    panel = support.town()
    rows = begin("pattern", panel, query=dn.Sum()).report(panel)
    values = np.array(support.numerators(rows)).reshape(-1, 4)
    truth = panel.readings.sum(axis=1).reshape(-1, 4)[4:]
    assert (np.diff(values, axis=0) == np.diff(truth, axis=0)).all()


def test_a_household_without_history_in_a_slot_shows_nothing_there(silence):
    """With fewer than k_min readings in a slot, what the household does there later never reaches a report."""
    panel = support.town()
    present = panel.present.copy()
    present[1:16:4, 7] = False
    one = panel.following(panel.readings, present=present, first_step=0)
    readings = panel.readings.copy()
    readings[17::4, 7] = 99
    other = panel.following(readings, present=present, first_step=0)
    for name in ("pattern", "strong", "strong, basis", "strong, blocks"):
        assert support.numerators(begin(name, one).report(one)) == support.numerators(
            begin(name, other).report(other)
        )


def test_a_slot_without_history_contributes_the_public_constant(silence):
    """G holds the declared constant for a slot without a profile, clipped into the body."""
    panel = support.town(n=2)
    present = panel.present.copy()
    present[:16] = False
    empty = panel.following(panel.readings, present=present, first_step=0)
    stream = begin("pattern", empty, default_reading=21)
    assert stream.noisy_profile["all"] == [42] * 4


def test_readings_outside_the_domain_are_set_aside_and_counted(silence):
    """They count as missing, never as clipped, in the history and in reports; the custodian sees how many."""
    panel = support.town()
    readings = panel.readings.copy()
    readings[18, 3], readings[2, 5] = 10**6, -50
    wild = panel.following(readings, first_step=0)
    present = panel.present.copy()
    present[18, 3] = present[2, 5] = False
    gone = panel.following(panel.readings, present=present, first_step=0)
    for name in ("pattern", "strong", "strong, basis"):
        stream = begin(name, wild)
        assert support.numerators(stream.report(wild)) == support.numerators(begin(name, gone).report(gone))
        assert stream.quality()["outside_domain"] == 2


def test_a_household_that_leaves_contributes_its_profile(silence):
    """After a household falls silent the reports stay at its profile: its leaving takes nothing away."""
    panel = support.town()
    present = panel.present.copy()
    present[24:, 3] = False
    left = panel.following(panel.readings, present=present, first_step=0)
    stream = begin("pattern", left, query=dn.Sum())
    rows = support.numerators(stream.report(left))
    others = np.delete(panel.readings, 3, axis=1).sum(axis=1)
    profile = (panel.readings[:16, 3].reshape(4, 4).sum(axis=0)) // 4
    assert rows[8:] == (others + np.tile(profile, 12))[24:].tolist()


def test_calendar_steps_are_never_reported():
    """Steps on the history's calendar, or on that of any readings given later, have no row, then or afterwards."""
    panel = support.town()
    history = dn.Panel.from_array(panel.readings, grid=panel.grid, calendar=[2, 30])
    stream = dn.Curator.in_memory(support.ROOMY).start(
        support.plan_for(panel), history=history.first(4), acknowledge="untested", accept_worse=True
    )
    later = dn.Panel.from_array(panel.readings, grid=panel.grid, calendar=[41])
    steps = {row.step for row in stream.report(later)}
    assert {29, 31, 40} <= steps
    assert steps.isdisjoint({2, 30, 41})
    assert {row.step for row in stream.report(panel)}.isdisjoint({2, 30, 41})


@every_level
def test_noise_is_drawn_once_for_a_cycle_and_group(name, monkeypatch):
    """A profile's noise is drawn once for ever, a cycle's once for each group and cycle, however it is asked."""
    panel = support.town(groups={"side": ["a", "b"] * 20})
    drawn = []
    for sampler in ("laplace", "cube", "l2_norm"):
        real = getattr(noise, sampler)
        monkeypatch.setattr(noise, sampler, lambda *a, real=real: drawn.append(1) or real(*a))
    stream = begin(name, panel, groups="side")
    at_start = len(drawn)
    for step in panel.steps:
        stream.report(panel.between(step, step + 1))
    stream.report(panel)
    cycles = {"pattern": 0, "share": 12, "histogram": 12}.get(name, 8)
    assert at_start == (0 if name in ("share", "histogram") else 2)
    assert len(drawn) == at_start + 2 * cycles


@pytest.mark.parametrize("name", ["strong", "share", "histogram"])
def test_a_value_without_its_noise_does_not_come_to_be(name, monkeypatch):
    """Where a cycle's noise should be and is not, there is an error and no row: never an exact sum."""
    panel = support.town()
    stream = begin(name, panel)
    monkeypatch.setattr(release.Publisher, "_noise", lambda publisher, cycle: {})
    with pytest.raises(KeyError):
        stream.report(panel)
    assert stream.rows() == []


def test_a_closed_cycle_leaves_no_noise_and_no_readings_behind():
    """When every step of a cycle has its row, its noise and held readings are erased from the store."""
    panel = support.town()
    for name in ("strong", "strong, basis", "strong, blocks"):
        stream = begin(name, panel)
        stream.report(panel.between(16, 19))
        assert open_cycles(stream) == [4]
        stream.report(panel)
        assert open_cycles(stream) == []


def test_a_cycle_that_waits_is_reported_whole():
    """With a basis for cycles, rows come when the last step of a cycle does, or when the cycle is closed."""
    panel = support.town()
    stream = begin("strong, basis", panel)
    assert stream.report(panel.between(16, 19)) == []
    rows = stream.report(panel.between(19, 20))
    assert [row.step for row in rows] == [16, 17, 18, 19]
    assert [row.step for row in stream.report(panel.between(16, 20))] == [16, 17, 18, 19]
    assert stream.report(panel.between(20, 22)) == []
    assert stream.close(before=23) == []
    stream.report(panel.between(24, 25))
    assert [row.step for row in stream.close(before=24)] == [20, 21, 22, 23]
    assert stream.report(panel.between(24, 25)) == []
    assert len(stream.report(panel.between(24, 28))) == 4


def test_the_first_reading_of_a_waiting_step_counts(silence):
    """Readings that come again for a waiting step change nothing and are counted."""
    panel = support.town()
    other = panel.following(panel.readings // 3, first_step=0)
    stream = begin("strong, basis", panel)
    stream.report(panel.between(16, 19))
    stream.report(other.between(16, 19))
    stream.report(panel.between(19, 20))
    assert stream.quality()["late"] == 3 * 40
    expected = begin("strong, basis", panel).report(panel.between(16, 20))
    assert stream.report(panel.between(16, 20)) == expected


@every_level
def test_groups_are_the_query_of_each_group_and_their_total_is_free(name, silence):
    """A grouped stream gives each group's own rows, and the total is their sum, weighted by size for a mean."""
    panel = support.town(groups={"side": ["a"] * 10 + ["b"] * 30})
    stream = begin(name, panel, groups="side")
    rows = stream.report(panel)
    assert {row.group.split()[0] for row in rows} == {"a", "b"}
    whole = begin(name, panel).report(panel)
    totals = stream.total(rows)
    tolerance = 3 if name in ("strong, basis", "strong, blocks") else 0  # each layer is rounded to the unit
    for total, one in zip(totals, sorted(whole, key=lambda row: (row.step, row.series)), strict=True):
        assert abs(total.numerator - one.numerator) <= tolerance
        assert total.denominator == one.denominator
    with pytest.raises(DiurnalError, match="each of 2 groups"):
        stream.total(rows[1:])


def test_a_weighted_total_keeps_its_denominator(silence):
    """Groups of a weighted sum share one denominator, and so does their total."""
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    stream = begin("strong", panel, groups="side", query=dn.Weighted([1] * 20 + [3] * 20, over=80))
    total = stream.total(stream.report(panel))[0]
    assert total.denominator == 80


@pytest.mark.parametrize("name", ["pattern", "strong"])
def test_grouped_noise_is_independent(name):
    """Two groups with equal readings get different rows: each has noise of its own, in every cycle."""
    readings = np.tile(np.arange(1, 5)[:, None] * 10, (12, 40))
    panel = dn.Panel.from_array(readings, grid=dn.Grid(slots=4), groups={"side": ["a"] * 20 + ["b"] * 20})
    rows = begin(name, panel, groups="side").report(panel)
    left = [row.numerator for row in rows if row.group == "a"]
    right = [row.numerator for row in rows if row.group == "b"]
    assert left != right
    if name == "strong":
        off = np.array([a - b for a, b in zip(left, right, strict=True)]).reshape(-1, 4)
        assert (off != off[0]).any()


def test_weights_are_taken_as_given(silence):
    """A weighted stream is the weighted sum over its denominator, negatives included."""
    panel = support.town(n=4)
    stream = begin("strong", panel, query=dn.Weighted([1, -2, 0, 3], over=7), variation_bound=None)
    rows = stream.report(panel)
    truth = panel.readings @ np.array([1, -2, 0, 3])
    assert [row.exact for row in rows] == [Fraction(int(v), 7) for v in truth[16:]]


def test_net_export_is_data():
    """Negative readings inside the domain are summed like any other."""
    panel = support.town()
    net = panel.following(panel.readings - 60, first_step=0)
    plan = support.plan_for(net, domain=(-100, 100), query=dn.Sum(), mechanism="cube")
    stream = support.start(net, plan)
    rows = np.array(support.numerators(stream.report(net)), dtype=object).reshape(-1, 4)
    assert (np.diff(rows, axis=0) == np.diff(net.readings.sum(axis=1).reshape(-1, 4)[4:], axis=0)).all()


def test_base_load_is_the_least_reading_and_commutes(silence):
    """The opt-in statistic takes each slot's least reading of the history."""
    panel = support.town()
    stream = begin("pattern", panel, statistic="base-load", query=dn.Sum())
    least = panel.readings[:16].reshape(4, 4, -1).min(axis=0).sum(axis=1)
    assert stream.noisy_profile["all"] == least.tolist()


def test_counts_are_counts(silence):
    """Share and Histogram report the households above the level, and in each bin, missing ones in none."""
    panel = support.town()
    present = panel.present.copy()
    present[:, 0] = False
    panel = panel.following(panel.readings, present=present, first_step=0)
    share = begin("share", panel).report(panel)
    assert [row.numerator for row in share] == (panel.readings[:, 1:] > 50).sum(axis=1).tolist()
    assert {row.denominator for row in share} == {40}
    bins = begin("histogram", panel).report(panel)
    assert sum(row.numerator for row in bins if row.step == 3) == 39
    assert {row.group for row in bins} == {"all <=20", "all 20..60", "all >60"}


def test_stopping_lets_a_successor_begin():
    """A stopped stream reports nothing from its end on, and asked again says the same end."""
    panel = support.town()
    stream = begin("strong", panel)
    stream.report(panel.between(16, 22))
    assert stream.stop() == 24
    assert stream.stop() == 24
    assert max(row.step for row in stream.report(panel)) == 23


def test_many_threads_see_one_stream():
    """Eight threads that start the same plan and report the same steps get the same rows; noise is drawn once."""
    panel = support.town()
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    one = support.plan_for(panel, **LEVELS["strong"])
    seen = []

    def work():
        seen.append(
            curator.start(one, history=panel.first(4), acknowledge="untested", accept_worse=True).report(panel)
        )

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8
    assert all(rows == seen[0] for rows in seen)


@pytest.mark.parametrize(
    ("kind", "break_it"),
    [
        (PlanError, lambda p, one: (one.with_(grid=dn.Grid(slots=8)), p.first(4))),
        (PlanError, lambda p, one: (one, p.first(3))),
        (PlanError, lambda p, one: (one, p.between(1, 17))),
        (PlanError, lambda p, one: (one.with_(roster="another"), p.first(4))),
        (PlanError, lambda p, one: (one.with_(calendar="another"), p.first(4))),
        (PlanError, lambda p, one: (one.with_(first_cycle=1), p.first(4))),
        (QueryError, lambda p, one: (one.with_(query=dn.Weighted([1] * 20 + [0] * 20), groups="side"), p.first(4))),
        (ReadingsError, lambda p, one: (one.with_(groups="suburb"), p.first(4))),
        (QueryError, lambda p, one: (one.with_(query=dn.Weighted([1, 2])), p.first(4))),
        (LimitError, lambda p, one: (one.with_(query=dn.Weighted([2**60] * 40)), p.first(4))),
        (LimitError, lambda p, one: (one.with_(query=dn.Weighted([2**44] * 40), **BASIS), p.first(4))),
    ],
)
def test_a_plan_that_does_not_fit_starts_nothing(kind, break_it, monkeypatch):
    """Another grid, history, roster, partition, number of weights, too large sums: nothing drawn or spent."""
    for sampler in ("laplace", "cube", "gaussian", "l2_norm"):
        monkeypatch.setattr(noise, sampler, lambda *a: pytest.fail("noise was drawn"))
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    curator = dn.Curator.in_memory(support.ROOMY)
    with pytest.raises(kind, match="Hint:"):
        curator.start(*break_it(panel, support.plan_for(panel)), acknowledge="untested", accept_worse=True)
    assert curator.streams() == []


def test_readings_of_others_are_not_taken():
    """A report of nobody on the roster, or on another grid, raises, publishes nothing, and changes nothing."""
    panel = support.town()
    stream = begin("strong", panel)
    strangers = dn.Panel.from_array(panel.readings, grid=panel.grid, households=[f"x{i}" for i in range(40)])
    for wrong in (strangers, support.town(slots=8, cycles=6)):
        with pytest.raises(ReadingsError):
            stream.report(wrong)
    assert stream.drift() == {}
    assert stream.quality() == {}


def test_a_stream_says_nothing_private():
    """The repr of a curator's stream and records shows no reading, profile or noisy profile."""
    panel = support.small_panel(np.full((48, 20), 87), slots=4)
    stream = begin("strong", panel)
    words = repr(stream) + repr(stream._record())
    assert "87" not in words.replace(stream.plan.hash, "").replace(stream.plan.roster, "").replace(
        stream.plan.calendar, ""
    ).replace(stream.plan.hash[:12], "")


def test_auto_is_chosen_at_the_start():
    """A plan left to auto is started with the mechanism choose() picks, and is found again by the same plan."""
    panel = support.town()
    one = support.plan_for(panel, mechanism="auto")
    curator = dn.Curator.in_memory(dn.Budget())
    stream = curator.start(one, history=panel.first(4), acknowledge="untested", accept_worse=True)
    assert stream.plan.mechanism == "cube"
    assert curator.start(one, history=panel.first(4), acknowledge="untested", accept_worse=True).report(
        panel
    ) == stream.report(panel)
    assert "epsilon = 1" in str(stream.guarantee)


def test_a_heavy_group_s_noisy_profile_is_in_its_own_unit(silence):
    """Where cube noise is refined, a weighted group's G is still in units of its sum."""
    panel = support.town(high=4)
    plan = support.plan_for(panel, domain=(0, 4), mechanism="cube", epsilon="9", query=dn.Weighted([3] * 40))
    stream = support.start(panel, plan)
    profile = (panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4).sum(axis=1)
    assert plan.pattern_layer(1).multiplier > plan.pattern_layer(3).multiplier
    assert stream.noisy_profile["all"] == (3 * profile).tolist()


def test_a_stream_from_before_the_planner_gave_a_bound_is_found_again(monkeypatch):
    """A plan without W that was started as it was is the same stream now: nothing is spent twice."""
    panel = support.town()
    plan = support.plan_for(panel, level="strong", cycle_mechanism="cube")
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    with monkeypatch.context() as before:
        before.setattr(planner, "bounded", lambda plan: plan)
        old = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    assert old.plan.variation_bound is None
    asked = (plan, old.plan, dn.choose(plan, panel), dn.Plan.from_json(dn.choose(plan, panel).to_json()))
    for again in (
        curator.start(each, history=panel.first(4), acknowledge="untested", accept_worse=True) for each in asked
    ):
        assert again.plan == old.plan
    assert "pure epsilon counts 2 times then" in str(again.guarantee)


def test_a_closed_cycle_is_never_opened_again(monkeypatch):
    """Steps that arrive after their cycle was closed change no row, keep no reading and draw no noise."""
    panel = support.town()
    stream = begin("strong, basis", panel)
    stream.report(panel.between(16, 18))
    rows = stream.close(before=20)
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: pytest.fail("noise was drawn"))
    assert stream.report(panel.between(16, 20)) == rows
    assert open_cycles(stream) == []


def test_every_bin_of_every_slot_has_its_own_noise(monkeypatch):
    """A histogram's row of a slot and bin carries that component of the cycle's vector."""
    panel = support.town(n=20, cycles=1)
    monkeypatch.setattr(noise, "laplace", lambda size, scale: list(range(size)))
    stream = begin("histogram", panel, mechanism="laplace")
    silent = panel.following(panel.readings, present=panel.present & False, first_step=0)
    assert support.numerators(stream.report(silent, close=True)) == list(range(12))


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_noise_is_scaled_by_the_heaviest_weight_of_the_group(level, monkeypatch):
    """Each group's noise, of the profile and of a cycle, has the scale of its own heaviest household."""
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    scales = []
    monkeypatch.setattr(noise, "laplace", lambda size, scale: scales.append(scale) or [0] * size)
    query = dn.Weighted([1] * 20 + [7] * 20)
    stream = begin(level, panel, groups="side", query=query, mechanism="laplace", cycle_mechanism="laplace")
    assert scales == [400, 2800]
    stream.report(panel.between(16, 17))
    assert scales[2:] == ([240, 1680] if level == "strong" else [])


def test_a_row_s_deviation_is_that_of_its_noise():
    """Over many groups of equal readings the numerators of a step scatter as the row says."""
    panel = support.of_groups(support.town(n=1, cycles=6), 600)
    for name in ("pattern", "strong", "strong, basis", "strong, blocks"):
        rows = begin(name, panel, query=dn.Sum(), groups="group").report(panel.between(16, 20))[:600]
        assert {row.step for row in rows} == {16}
        assert np.std([float(row.numerator) for row in rows]) == pytest.approx(rows[0].deviation, rel=0.2)


def test_a_store_keeps_the_first_row_of_a_step():
    """The database itself refuses a second value of a step, and the whole transaction with it."""
    panel = support.town()
    stream = begin("pattern", panel)
    rows = stream.report(panel)
    with refuses(StoreError, "store-failed"), stream._store.transaction():
        stream._store.publish(1, {23: (Fraction(1),)})
    assert stream.report(panel) == rows


def test_closing_a_slot_by_slot_cycle_settles_it(silence):
    """Steps of an ended cycle that never came are reported as missing readings, and its noise is erased."""
    panel = support.town()
    stream = begin("strong", panel, query=dn.Sum())
    stream.report(panel.between(16, 18))
    assert stream.close(before=19) == []
    rows = stream.close(before=20)
    assert [row.step for row in rows] == [16, 17, 18, 19]
    assert open_cycles(stream) == []
    assert stream.report(panel.between(16, 20)) == rows
    profile = (panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4).sum(axis=1)
    assert [row.numerator for row in rows[2:]] == profile[2:].tolist()
