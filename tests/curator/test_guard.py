"""What a curator refuses (theory 4.5 and 4.6), and what it lets by."""

import os
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator import guard
from diurnal.errors import BudgetError, DifferencingError, OverlapError, PopulationError, StreamError
from diurnal.exact import decimal_down
from diurnal.promise.budget import NOTHING, Budget, Loss, zcdp_for
from support import refuses

STRONG = {"level": "strong", "mechanism": "cube", "cycle_mechanism": "cube"}
SHARE = {"level": "cycle", "query": dn.Share(above=50), "history": 0, "mechanism": "cube"}
HALVES = {"half": ["a"] * 20 + ["b"] * 20, "comb": ["c", "d"] * 20}


def curator(budget=support.ROOMY):
    return dn.Curator.in_memory(budget)


def begin(city, panel, **more):
    one = support.plan_for(panel, **{"minimum_group": 5, **more})
    return city.start(one, history=panel.first(one.history), acknowledge="untested", accept_worse=True)


def test_one_weight_that_would_decode_a_home_is_refused():
    """In pattern mode a household with a weight of its own is an atom of one; in strong mode it is welcome."""
    panel = support.town()
    decoding = dn.Weighted([10**6] + [1] * 39)
    with pytest.raises(DifferencingError) as caught:
        begin(curator(), panel, query=decoding)
    assert caught.value.sizes == (1,)
    assert caught.value.minimum == 5
    assert "strong" in caught.value.hint
    begin(curator(), panel, query=decoding, **STRONG)


def test_the_weight_attack_works_without_the_guard(silence):
    """Why: with minimum_group=1 one large weight gives a home's variation back exactly."""
    panel = support.town()
    stream = begin(curator(), panel, query=dn.Weighted([10**6] + [1] * 39), minimum_group=1)
    values = np.array(support.numerators(stream.report(panel)), dtype=object).reshape(-1, 4)
    steps = np.diff(values, axis=0)
    decoded = [[round(Fraction(int(v), 10**6)) for v in row] for row in steps]
    assert np.array_equal(decoded, np.diff(panel.readings[:, 0].reshape(-1, 4)[4:], axis=0))


def test_a_group_below_the_minimum_is_refused_at_every_level():
    """Groups smaller than minimum_group are refused with their sizes."""
    panel = support.town(groups={"side": ["a"] * 3 + ["b"] * 37})
    for fields in ({}, STRONG, SHARE):
        with pytest.raises(DifferencingError) as caught:
            begin(curator(), panel, groups="side", **fields)
        assert caught.value.sizes == (3,)


def test_fifteen_is_the_default_minimum():
    """A roster of 14 cannot be published in any mode without saying so."""
    panel = support.town(n=14)
    with pytest.raises(DifferencingError):
        begin(curator(), panel, minimum_group=dn.Plan(epsilon="1", domain=(0, 1), history=1).minimum_group)


def test_a_second_plan_on_the_roster_less_one_household_is_refused():
    """The difference of the two would be that household, to the unit."""
    panel, city = support.town(), curator()
    begin(city, panel)
    with pytest.raises(DifferencingError) as caught:
        begin(city, panel.without(["7"]))
    assert caught.value.sizes == (1,)
    assert len(city.streams()) == 1


def test_partitions_whose_refinement_is_large_enough_are_allowed():
    """Halves and a comb refine to four sets of ten: fine at a minimum of ten, refused at eleven."""
    panel = support.town(groups=HALVES)
    city = curator()
    begin(city, panel, groups="half", minimum_group=10)
    begin(city, panel, groups="comb", minimum_group=10)
    strict = curator()
    begin(strict, panel, groups="half", minimum_group=11)
    with pytest.raises(DifferencingError) as caught:
        begin(strict, panel, groups="comb", minimum_group=11)
    assert caught.value.sizes == (10, 10, 10, 10)


def test_a_successor_after_the_last_step_may_leave_a_household_out():
    """Stopped, a plan may be followed by one without the leaver, which reports from the next step on, even if
    its history was reported before.
    """
    panel, city = support.town(cycles=16), curator()
    first = begin(city, panel)
    first.report(panel.between(0, 32))
    successor = support.plan_for(panel, minimum_group=5)
    with pytest.raises(DifferencingError):
        city.start(
            successor, history=panel.without(["7"]).between(16, 32), acknowledge="untested", accept_worse=True
        )
    assert first.stop() == 32
    stream = city.start(
        successor, history=panel.without(["7"]).between(16, 32), acknowledge="untested", accept_worse=True
    )
    assert min(row.step for row in stream.report(panel.without(["7"]))) == 32


def test_pattern_beside_strong_is_refused_both_ways():
    """Exact variations would void the strong promise, whoever comes second."""
    panel = support.town()
    for first, second in (({}, STRONG), (STRONG, {})):
        city = curator()
        begin(city, panel, **first)
        with refuses(OverlapError, "overlap-exact-variations"):
            begin(city, panel, **second)
        assert len(city.streams()) == 1


def test_a_pattern_plan_s_history_counts_as_spoken_about():
    """A pattern plan whose history was reported by a stopped strong plan is refused; after its end it is not."""
    panel, city = support.town(cycles=20), curator()
    strong = begin(city, panel, **STRONG)
    strong.report(panel.between(16, 32))
    assert strong.stop() == 32
    pattern = support.plan_for(panel, minimum_group=5)
    with pytest.raises(OverlapError):
        city.start(pattern, history=panel.between(28, 44), acknowledge="untested", accept_worse=True)
    city.start(pattern, history=panel.between(32, 48), acknowledge="untested", accept_worse=True)


def test_disjoint_rosters_do_not_silence_each_other(silence):
    """Two pattern plans over different households report the same steps in full."""
    panel, city = support.town(), curator()
    halves = [panel.without(map(str, range(20))), panel.without(map(str, range(20, 40)))]
    for half in halves:
        stream = begin(city, half, query=dn.Sum())
        assert support.numerators(stream.report(half)) == half.readings.sum(axis=1)[16:].tolist()


def test_pattern_and_strong_may_have_different_households():
    """Levels may stand beside each other over rosters that share nobody, and both report every step."""
    panel, city = support.town(), curator()
    halves = [panel.without(map(str, range(20))), panel.without(map(str, range(20, 40)))]
    streams = [begin(city, halves[0]), begin(city, halves[1], **STRONG)]
    assert [stream.plan.level for stream in city.streams()] == ["pattern", "strong"]
    for stream, half in zip(streams, halves, strict=True):
        assert [row.step for row in stream.report(half)] == list(half.steps)[16:]


@pytest.mark.parametrize("other", [{}, STRONG], ids=["pattern", "strong"])
def test_counting_plans_stand_alone(other):
    """A counting plan does not protect the periodic component, so it never joins a plan that promises to."""
    panel = support.town()
    for first, second in ((other, SHARE), (SHARE, other)):
        city = curator()
        begin(city, panel, **first)
        with refuses(OverlapError, "overlap-counting"):
            begin(city, panel, **second)
    city = curator()
    begin(city, panel, **SHARE)
    begin(city, panel, **{**SHARE, "query": dn.Histogram([30])})


@pytest.mark.parametrize(
    "change",
    [{"grid": dn.Grid(slots=8)}, {"domain": (0, 99)}, {"channel": "net"}],
    ids=lambda change: next(iter(change)),
)
def test_one_store_is_one_population(change):
    """Another period, domain or channel than the first plan's is refused."""
    panel, city = support.town(), curator()
    begin(city, panel)
    other = support.town(slots=8, cycles=6) if "grid" in change else panel
    with pytest.raises(PopulationError, match=next(iter(change))):
        begin(city, other, **change)


def test_plans_of_a_household_add_up_to_the_cap_and_not_beyond():
    """Three plans of 0.3 fit a cap of 1; a fourth is refused, with what is left and asked; 0.1 still fits."""
    panel, city = support.town(), curator(dn.Budget(pattern="1", cycle="1"))
    for seed in ("0.3", "0.3", "0.3"):
        begin(city, panel, epsilon=seed, horizon=365 + len(city.streams()))
    with pytest.raises(BudgetError) as caught:
        begin(city, panel, epsilon="0.3", horizon=9)
    assert caught.value.remaining == Fraction(1, 10)
    assert caught.value.requested == Fraction(3, 10)
    begin(city, panel, epsilon="0.1", horizon=9)
    with pytest.raises(BudgetError):
        begin(city, panel, epsilon="0.0001", horizon=9)


def test_disjoint_rosters_spend_in_parallel():
    """Each household's own sum counts, not the store's."""
    panel, city = support.town(), curator(dn.Budget(pattern="1", cycle="1"))
    begin(city, panel.without(map(str, range(20))))
    begin(city, panel.without(map(str, range(20, 40))))
    with pytest.raises(BudgetError):
        begin(city, panel)


def test_both_caps_are_kept():
    """A strong plan needs room in both; a counting plan in the strong cap alone."""
    panel = support.town()
    with refuses(BudgetError, "budget-exceeded"):
        begin(curator(dn.Budget(pattern="0.5", cycle="1")), panel, **STRONG)
    with refuses(BudgetError, "budget-exceeded"):
        begin(curator(dn.Budget(pattern="1", cycle="0.5")), panel, **STRONG)
    begin(curator(dn.Budget(pattern="0.1", cycle="1")), panel, **SHARE)


def test_gaussian_plans_compose_at_the_budget_s_delta():
    """Two Gaussian plans of epsilon 1 cost less than 2 at the same delta; a third passes a cap of 1.6."""
    panel, city = support.town(), curator(dn.Budget(pattern="1.6", cycle="1", delta="1e-6"))
    gaussian = {"mechanism": "gaussian", "delta": "1e-6"}
    begin(city, panel, **gaussian)
    begin(city, panel, horizon=9, **gaussian)
    with pytest.raises(BudgetError):
        begin(city, panel, horizon=10, **gaussian)


def test_a_refusal_draws_and_spends_nothing(monkeypatch):
    """After a refusal the store is as before: no stream, no draw, and the same plan within the cap still starts."""
    from diurnal.promise import noise

    panel, city = support.town(), curator(dn.Budget(pattern="1", cycle="1"))
    with monkeypatch.context() as patch:
        patch.setattr(noise, "laplace", lambda *a: pytest.fail("noise was drawn"))
        with pytest.raises(BudgetError):
            begin(city, panel, epsilon="1.01")
    assert city.streams() == []
    begin(city, panel, epsilon="1")


def test_a_step_with_one_reading_says_the_noisy_profile_alone():
    """Fewer used readings than the minimum: the row is G, whatever the one reading is."""
    panel = support.town()
    present = panel.present.copy()
    present[30, 1:] = False
    present[31, 4:] = False
    lonely = panel.following(panel.readings, present=present, first_step=0)
    stream = begin(curator(), lonely, query=dn.Sum())
    rows = {row.step: row.numerator for row in stream.report(lonely, close=True)}
    assert rows[30] == stream.noisy_profile["all"][2]
    assert rows[31] == stream.noisy_profile["all"][3]
    assert rows[29] != stream.noisy_profile["all"][1]


def test_a_strong_report_never_falls_back(silence):
    """In strong mode one reading present is summed like any other: the cycle's noise hides it."""
    panel = support.town()
    present = panel.present.copy()
    present[30, 1:] = False
    lonely = panel.following(panel.readings, present=present, first_step=0)
    stream = begin(curator(), lonely, query=dn.Sum(), **STRONG)
    full = {row.step: row.numerator for row in stream.report(lonely, close=True)}
    nobody = panel.following(
        np.where(present, panel.readings, 0), present=present & (panel.steps.stop < 0), first_step=0
    )
    quiet = begin(curator(), panel, query=dn.Sum(), **STRONG)
    assert full[30] != {row.step: row.numerator for row in quiet.report(nobody, close=True)}[30]


def test_a_correction_cannot_be_read_off_two_plans(silence):
    """A second plan given a corrected reading says G alone at that step; given the same readings it says all."""
    panel = support.town(groups=HALVES)
    corrected = panel.readings.copy()
    corrected[20, 5] += 13
    other = panel.following(corrected, first_step=0)
    city = curator()
    begin(city, panel, groups="half").report(panel)
    second = begin(city, panel, groups="comb")
    rows = {(row.step, row.group): row.numerator for row in second.report(other)}
    profile = second.noisy_profile
    assert rows[20, "c"] == profile["c"][0]
    assert rows[20, "d"] == profile["d"][0]
    assert rows[21, "c"] != profile["c"][1]


def test_two_plans_never_leave_a_small_joint_atom_at_a_step(silence):
    """Gaps that leave both plans' atoms large but their intersection small silence the later plan there."""
    panel = support.town(groups=HALVES)
    present = panel.present.copy()
    present[20, [0, 2, 4, 6, 8, 10, 12]] = False  # three of a-and-c are left
    gappy = panel.following(panel.readings, present=present, first_step=0)
    city = curator()
    first = begin(city, panel, groups="half")
    first.report(gappy)
    second = begin(city, panel, groups="comb")
    rows = {(row.step, row.group): row.numerator for row in second.report(gappy)}
    assert rows[20, "c"] == second.noisy_profile["c"][0]
    assert rows[20, "d"] == second.noisy_profile["d"][0]
    assert {row.numerator for row in first.report(gappy) if row.step == 20} != {
        values[0] for values in first.noisy_profile.values()
    }


def test_three_plans_together_never_leave_one_household(silence):
    """Pairs that are each fine: A less B less C would be one household at a step with gaps, so C falls silent."""
    rng = np.random.default_rng(0)
    readings = rng.integers(0, 90, size=(24, 46))
    present = np.ones_like(readings, dtype=bool)
    present[21, 32:] = False
    panel = support.small_panel(readings, present=present, slots=4)
    city = curator()
    rosters = [[1] * 46, [1] * 16 + [0] * 30, [0] * 16 + [1] * 15 + [0] * 15]
    streams = [begin(city, panel, query=dn.Weighted(w), minimum_group=15) for w in rosters]
    rows = [{row.step: row.numerator for row in stream.report(panel)} for stream in streams]
    said = [each[21] - stream.noisy_profile["all"][1] for each, stream in zip(rows, streams, strict=True)]
    assert said[0] != 0
    assert said[1] != 0
    assert said[2] == 0


def test_the_budget_is_kept_for_every_household_not_only_the_most_charged():
    """At a delta losses do not add up as numbers: one large pure plan grows more than many small ones do."""
    panel = support.town()
    city = curator(dn.Budget(pattern="5.5", cycle="1", delta="1e-6"))
    many, one = panel.without(map(str, range(20, 40))), panel.without(map(str, range(20)))
    for horizon in range(1, 65):
        begin(city, many, epsilon="0.1", horizon=horizon)
    begin(city, one, epsilon="3.9")
    with pytest.raises(BudgetError):
        begin(city, panel, epsilon="2.1", mechanism="gaussian", delta="1e-6")


def test_no_strong_plan_learns_from_cycles_that_another_reports():
    """What a history cycle loses grows with the reports that follow, so it would void the promise made for it:
    refused whoever comes first. The other plan's own history may be learned from again.
    """
    panel, city = support.town(cycles=16), curator()
    first = begin(city, panel, **STRONG)
    first.report(panel.between(16, 32))
    assert first.stop() == 32
    one = support.plan_for(panel, **{"minimum_group": 5, **STRONG})
    with refuses(OverlapError, "overlap-history"):
        city.start(one, history=panel.between(16, 32), acknowledge="untested", accept_worse=True)
    city.start(one.with_(horizon=9), history=panel.between(0, 16), acknowledge="untested", accept_worse=True)
    late = curator()
    late.start(one, history=panel.between(16, 32), acknowledge="untested", accept_worse=True)
    with refuses(OverlapError, "overlap-history"):
        begin(late, panel, **STRONG)


def test_a_history_of_several_cycles_is_never_reported():
    """Over the cycles a profile is made from variations cancel, so reports of them would single a household out:
    twenty homes read in the first cycle only, twenty in the second, one in both. No row speaks of these cycles.
    """
    panel = support.town(n=41)
    present = panel.present.copy()
    present[:4, 20:40] = present[4:8, :20] = False
    gappy = panel.following(panel.readings, present=present, first_step=0)
    stream = begin(curator(), gappy, query=dn.Sum(), history=2)
    assert min(row.step for row in stream.report(gappy)) == 8


def test_one_cycle_of_history_is_reported_and_says_the_noisy_profile():
    """With one cycle of history there are no variations in it: its rows are G, as in Theorem 1."""
    panel = support.town()
    stream = begin(curator(), panel, query=dn.Sum(), history=1)
    assert [row.numerator for row in stream.report(panel.first(1))] == stream.noisy_profile["all"]


def test_plans_with_other_profiles_never_report_the_same_steps():
    """Two successors with different histories would publish the difference of these: the second is refused."""
    panel, city = support.town(cycles=16), curator()
    first = begin(city, panel)
    first.report(panel.between(16, 32))
    assert first.stop() == 32
    less = panel.without(["7"])
    one = support.plan_for(panel, minimum_group=5, history=1)
    city.start(one, history=less.between(16, 20), acknowledge="untested", accept_worse=True)
    with refuses(OverlapError, "overlap-other-profiles"):
        city.start(one, history=less.between(24, 28), acknowledge="untested", accept_worse=True)


def test_a_correction_in_the_history_is_no_new_profile():
    """The same plan by other groups on a corrected history is refused: the correction would come out exactly."""
    panel, city = support.town(groups=HALVES), curator()
    begin(city, panel, groups="half")
    corrected = panel.readings.copy()
    corrected[6, 5] += 13
    with refuses(OverlapError, "overlap-other-profiles"):
        begin(city, panel.following(corrected, first_step=0), groups="comb")


def test_the_store_s_calendar_holds_for_every_later_plan(silence):
    """A later plan whose panel forgot a public step does not learn from it either."""
    panel = support.town()
    readings = panel.readings.copy()
    readings[6] = 0
    known = dn.Panel.from_array(readings, grid=panel.grid, calendar=[6])
    forgot = dn.Panel.from_array(readings, grid=panel.grid)
    city = curator()
    first = begin(city, known)
    second = begin(city, forgot, horizon=9)
    assert second.noisy_profile == first.noisy_profile


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_cannot_use_a_cycle_s_noise_again():
    """A child that inherited a store in memory is refused: it would add the same noise to other readings."""
    panel = support.town()
    stream = begin(curator(), panel, **STRONG)
    stream.report(panel.between(16, 17))
    child = os.fork()
    if child == 0:
        try:
            stream.report(panel.between(17, 18))
        except StreamError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_the_stricter_minimum_of_two_plans_counts():
    """Together two plans need the larger of their minima, at the start and at every step."""
    panel = support.town(groups=HALVES)
    city = curator()
    begin(city, panel, groups="half", minimum_group=12)
    with pytest.raises(DifferencingError):
        begin(city, panel, groups="comb", minimum_group=5)
    present = panel.present.copy()
    present[20, [0, 2, 4]] = False  # seven of a-and-c are left
    gappy = panel.following(panel.readings, present=present, first_step=0)
    for first, second in ((8, 5), (5, 8)):
        city = curator()
        begin(city, panel, groups="half", minimum_group=first).report(gappy)
        later = begin(city, panel, groups="comb", minimum_group=second)
        rows = {(row.step, row.group): row.numerator for row in later.report(gappy)}
        assert rows[20, "c"] == later.noisy_profile["c"][0]


def test_overlapping_rosters_that_cannot_be_compared_stay_silent(silence):
    """Where a later plan's readings lack households of the earlier one, it says its noisy profile alone."""
    panel = support.town(n=60)
    city = curator()
    left = panel.without(map(str, range(40, 60)))
    right = panel.without(map(str, range(20)))
    begin(city, left).report(left)
    stream = begin(city, right)
    rows = {row.step: row.numerator for row in stream.report(right)}
    assert all(rows[step] == stream.noisy_profile["all"][step % 4] for step in rows)


def test_a_corrected_history_of_one_cycle_still_says_the_noisy_profile():
    """With one cycle of history a correction of one home would be all that varies in it: its rows are G."""
    panel = support.town()
    stream = begin(curator(), panel, query=dn.Sum(), history=1)
    corrected = panel.readings.copy()
    corrected[2, 7] += 13
    rows = stream.report(panel.following(corrected, first_step=0).first(1))
    assert [row.numerator for row in rows] == stream.noisy_profile["all"]


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_a_calendar_that_grew_is_no_new_plan(level):
    """Started again after a history step went onto the calendar, it is the same stream with the same rows."""
    panel = support.town()
    present = panel.present.copy()
    present[5] = False
    gappy = panel.following(panel.readings, present=present, first_step=0)
    fields = STRONG if level == "strong" else {}
    city = curator()
    first = begin(city, gappy, **fields)
    rows = first.report(gappy)
    closed = dn.Panel.from_array(gappy.readings, present=present, grid=gappy.grid, calendar=[5])
    first.report(closed.between(16, 17))
    for again in (gappy, closed):
        assert begin(city, again, **fields).report(gappy) == rows
    assert len(city.streams()) == 1


def test_profiles_known_in_other_slots_are_other_profiles():
    """A profile that is missing where another plan has one, though both hold zero there, is refused beside it."""
    panel = support.town(groups=HALVES)
    readings = panel.readings.copy()
    readings[0:16:4, 3] = 0
    present = panel.present.copy()
    present[0:16:4, 3] = False
    city = curator()
    begin(city, panel.following(readings, first_step=0), groups="half")
    with refuses(OverlapError, "overlap-other-profiles"):
        begin(city, panel.following(readings, present=present, first_step=0), groups="comb")


def test_a_stopped_plan_over_others_does_not_delay_a_plan():
    """Only a predecessor over shared households moves the first step."""
    panel, city = support.town(cycles=16), curator()
    left, right = panel.without(map(str, range(20))), panel.without(map(str, range(20, 40)))
    first = begin(city, left)
    first.report(left.between(16, 40))
    first.stop()
    assert min(row.step for row in begin(city, right).report(right)) == 16


def test_a_partition_that_refines_to_an_atom_of_three_is_refused():
    """Two partitions whose common refinement has a set of three: refused with that size and a remedy."""
    panel = support.town(n=60, groups={"side": ["a"] * 30 + ["b"] * 30, "kind": ["x"] * 27 + ["y"] * 33})
    city = dn.Curator.in_memory(support.ROOMY)
    begin(city, panel, groups="side", minimum_group=10)
    with refuses(DifferencingError, "differencing-small-sets") as caught:
        begin(city, panel, groups="kind", minimum_group=10)
    assert caught.value.sizes == (3,)


def test_a_new_meter_keeps_its_household_and_its_budget(tmp_path):
    """A household whose meter was swapped is the same household: a second plan over it adds to what it has lost."""
    from diurnal.study.town import Town

    town = Town(homes=20, days=12, gap_rate=0).panel()
    names = [f"meter {name}" for name in town.households]
    swapped = replace(town, households=(*names[:-1], "a new meter"))
    meters = dict(zip(swapped.households, town.households, strict=True))
    dn.write(swapped, tmp_path / "rows.csv", format="long")
    again = dn.panel(tmp_path / "rows.csv", meters=meters, zone=town.grid.zone)
    assert sorted(again.households) == sorted(town.households)
    city = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    plan = dn.Plan(epsilon="1", domain=(0, 50000), history=6, grid=town.grid, level="pattern", mechanism="cube")
    city.start(plan, history=town.first(6), acknowledge="untested", accept_worse=True).stop()
    with pytest.raises(BudgetError, match="0 is left"):
        city.start(plan.with_(query=dn.Sum()), history=again.first(6), acknowledge="untested", accept_worse=True)


@pytest.mark.parametrize("level", ["pattern", "strong", "basis"])
def test_a_successor_begins_where_the_stopped_plan_ended(level):
    """No step that a stopped plan has reported is reported again by the next plan over the same homes."""
    panel = support.town(cycles=20)
    kinds = {"pattern": {"mechanism": "cube"}, "strong": support.SLOTWISE, "basis": support.BASIS}
    curator = dn.Curator.in_memory(support.ROOMY)
    plan = support.plan_for(panel, **kinds[level])
    first = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    first.report(panel.between(16, 40))
    end = first.stop()
    assert end == 40
    successor = plan.with_(query=dn.Sum())
    assert f"It reports from step {end} on" in curator.explain(successor, panel.first(4))[-1]
    second = curator.start(successor, history=panel.first(4), acknowledge="untested", accept_worse=True)
    assert [row.step for row in second.report(panel)] == list(range(end, 80))


def test_what_is_said_to_be_left_is_what_the_check_allows(monkeypatch):
    """Where pure and Gaussian plans mix, what a plan leaves is that of the household most charged with it, which
    need not be the one most charged before.
    """
    delta, pure = Fraction(1, 10**6), Loss.pure(Fraction(95, 100))
    gaussian = asked = Loss.concentrated(zcdp_for(Fraction(99, 100), delta))
    assert pure.at(delta) < gaussian.at(delta)
    assert (pure + asked).at(delta) > (gaussian + asked).at(delta)
    record = SimpleNamespace(plan=SimpleNamespace(losses={"pattern": asked}))
    monkeypatch.setattr(guard, "_past_losses", lambda *given: [pure, gaussian])
    store = SimpleNamespace(budget=Budget(pattern="3", delta="1e-6"), fenced=lambda name: NOTHING)
    [said] = guard.costs(record, [], store)
    assert said.endswith(f"and {decimal_down(3 - (pure + asked).at(delta))} is left.")
    store.budget = Budget(pattern=(gaussian + asked).at(delta), delta="1e-6")
    with pytest.raises(BudgetError):
        guard.check_budget(record, [], store)
