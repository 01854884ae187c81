"""The curator: one population, its caps, its streams by name, and who is erased or moves out."""

import threading

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import BudgetError, PopulationError, StreamError
from support import refuses


def test_one_store_is_one_population(opens):
    """What the first plan decides holds for the second: grid, domain and channel."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    support.start_in(curator, panel)
    for change in ({"domain": (0, 50)}, {"channel": "generation"}):
        with pytest.raises(PopulationError, match=next(iter(change))):
            support.start_in(curator, panel, epsilon="2", **change)


def test_what_was_said_when_it_was_made_holds(lasting):
    """Grid, domain, calendar and budget are set when a store is made; opening it with others is refused."""
    panel = support.town()
    budget = dn.Budget(pattern="2", cycle="1")
    curator = lasting(budget=budget, grid=panel.grid, domain=(0, 100), channel="consumption", calendar=[17])
    assert lasting().budget == budget
    assert lasting(budget=dn.Budget(pattern="2", cycle="1")).budget == budget
    for wrong in ({"budget": dn.Budget(pattern="3")}, {"grid": dn.Grid(slots=8)}, {"domain": (0, 99)}):
        with pytest.raises(PopulationError, match="Hint:"):
            lasting(**wrong)
    with refuses(PopulationError, "population-differs-from-plan"):
        support.start_in(curator, panel, domain=(0, 50))
    rows = support.start_in(curator, panel).report(panel)
    assert 17 not in {row.step for row in rows}


def test_a_cap_is_raised_and_never_lowered(opens):
    """Raising a cap is an event of the ledger; lowering it, or another delta, is refused."""
    panel = support.town()
    curator = opens(budget=dn.Budget(pattern="1", cycle="1"))
    support.start_in(curator, panel).stop()
    with pytest.raises(BudgetError, match="The cap is 1, and 0 is left"):
        support.start_in(curator, panel, query=dn.Sum())
    with refuses(BudgetError, "budget-cap-lowered"):
        curator.raise_cap(dn.Budget(pattern="1/2", cycle="1"))
    with pytest.raises(BudgetError, match=r"The delta is none and cannot be changed to 0.000001") as caught:
        curator.raise_cap(dn.Budget(pattern="2", cycle="1", delta="1e-6"))
    assert "cap is" not in caught.value.message
    curator.raise_cap(dn.Budget(pattern="2", cycle="1"))
    support.start_in(curator, panel, query=dn.Sum())
    assert [event.kind for event in curator.ledger()].count("raised") == 1
    assert opens().budget == dn.Budget(pattern="2", cycle="1")
    assert curator.verify().sound


@pytest.mark.parametrize("which", ["", "0"])
def test_a_stream_is_found_by_how_its_name_begins(opens, which):
    """A beginning that several streams or none have is refused."""
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    curator = opens(budget=support.ROOMY)
    one = support.start_in(curator, panel)
    one.stop()
    two = support.start_in(curator, panel, query=dn.Sum())
    assert curator.stream(two.plan.hash).plan == two.plan
    if which == "" or {one.plan.hash[0], two.plan.hash[0]}.isdisjoint("0"):
        with refuses(StreamError, "stream-ambiguous"):
            curator.stream(which)


def test_a_household_that_is_erased_is_gone(opens, silence, tmp_path):
    """Its name, profile and held readings are deleted, it does not move from then on, what was released stays, and
    the next plan must leave it out.
    """
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, query=dn.Sum(), grace=1)
    before = stream.report(panel.between(16, 20))
    held = panel.following(
        panel.readings[20:21], present=panel.present[20:21] & (np.arange(40) < 20), first_step=20
    )
    stream.report(held)
    curator.erase("7")
    assert stream.report(panel.between(16, 20)) == before
    less = panel.readings.copy()
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    less[:, 7] = np.tile(profile[:, 7], 12)
    rows = stream.report(panel.between(20, 48))
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(
        panel.following(less, first_step=0).between(20, 48)
    )
    assert support.numerators(rows) == support.numerators(expected)[: len(rows)]
    with refuses(PopulationError, "history-erased-household"):
        support.start_in(curator, panel, query=dn.Mean())
    with refuses(StreamError, "household-unknown"):
        curator.erase("7")
    assert curator.verify().sound


def test_a_new_tenant_does_not_move_until_the_next_plan(opens, silence):
    """From the step of a change of tenancy on a household counts as its profile; before it as ever."""
    panel = support.town()
    curator = opens(budget=support.ROOMY)
    stream = support.start_in(curator, panel, query=dn.Sum())
    curator.move_out("7", 30)
    rows = stream.report(panel)
    still = panel.readings.copy()
    profile = panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    still[30:, 7] = np.tile(profile[:, 7], 12)[30:]
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(
        panel.following(still, first_step=0)
    )
    assert support.numerators(rows) == support.numerators(expected)
    with refuses(StreamError, "household-moved-already"):
        curator.move_out("7", 30)
    assert curator.verify().sound


def test_erased_households_of_two_plans_are_not_taken_for_one(opens, silence):
    """Households at the same place of two rosters, both erased, do not connect the plans."""
    panel = support.town(n=60)
    one, two = panel.columns(np.arange(30)), panel.columns(np.arange(30, 60))
    curator = opens(budget=support.ROOMY)
    first, second = support.start_in(curator, one, query=dn.Sum()), support.start_in(curator, two, query=dn.Sum())
    curator.erase("3")
    curator.erase("33")
    first.report(one.between(16, 20))
    rows = second.report(two.between(16, 20))
    profile = two.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4
    assert support.numerators(rows) != profile.sum(axis=1).tolist()


def test_held_readings_of_who_moved_out_do_not_count(opens, silence):
    """A change of tenancy counts for readings that were held before it was said."""
    panel = support.town()
    values = []
    for said_first in (True, False):
        curator = opens(f"city {said_first}", support.ROOMY)
        stream = support.start_in(curator, panel, query=dn.Sum(), grace=9)
        half = panel.present[16:17] & (np.arange(40) < 20)
        if said_first:
            curator.move_out("7", 16)
        stream.report(panel.following(panel.readings[16:17], present=half, first_step=16))
        if not said_first:
            curator.move_out("7", 16)
        values += support.numerators(stream.report(panel.between(16, 17)))
    assert values[0] == values[1]


@support.every_kind
def test_started_again_it_is_the_same_stream(name):
    """Starting the same plan again gives the same rows and spends nothing."""
    panel = support.town()
    one = support.plan_for(panel, **support.KINDS[name])
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    first = curator.start(one, history=panel.first(one.history), acknowledge="untested", accept_worse=True).report(
        panel
    )
    again = curator.start(one, history=panel.first(one.history), acknowledge="untested", accept_worse=True)
    assert again.report(panel) == first
    assert len(curator.streams()) == 1


def test_many_threads_see_one_stream():
    """Eight threads that start the same plan and report the same steps get the same rows; noise is drawn once."""
    panel = support.town()
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    one = support.plan_for(panel, **support.KINDS["strong"])
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
