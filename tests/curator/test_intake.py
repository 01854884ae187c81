"""Readings as they come: in parts, late, twice, in another order, of others, on a grid that begins elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import ReadingsError, StoreError
from support import refuses

opens = support.opens


def part(panel, start, stop, households):
    """Some steps, with readings of some households only."""
    some = panel.between(start, stop)
    present = some.present & np.isin(np.arange(panel.n_households), households)
    return panel.following(some.readings, present=present, first_step=start)


def start(opens, panel, **fields):
    plan = support.plan_for(panel, **{"query": dn.Sum(), **fields})
    return opens(budget=support.ROOMY).start(
        plan, history=panel.first(4), acknowledge="untested", accept_worse=True
    )


def test_a_step_closes_when_everybody_is_there(opens, silence):
    """With a grace, a step whose readings come in parts is reported with its last part, as if all had come at
    once.
    """
    panel = support.town()
    stream = start(opens, panel, grace=3)
    assert stream.report(part(panel, 16, 18, range(20))) == []
    rows = stream.report(part(panel, 16, 18, range(20, 40)))
    whole = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(panel.between(16, 18))
    assert support.numerators(rows) == support.numerators(whole)
    with stream._store.transaction():
        assert stream._store.held_marks(1) == {}


def test_a_step_does_not_wait_for_who_is_gone(opens, silence):
    """A household that was erased, has moved out, or never had a profile, is not waited for."""
    panel = support.town()
    present = panel.present.copy()
    present[:16, 5] = False
    stream = start(opens, panel.following(panel.readings, present=present, first_step=0), grace=9)
    curator = opens()
    curator.erase("7")
    curator.move_out("9", 20)
    others = [place for place in range(40) if place not in (5, 7, 9)]
    assert [row.step for row in stream.report(part(panel, 18, 22, others))] == [20, 21]


def test_a_step_closes_when_a_later_reading_is_seen(opens, silence):
    """Once a reading later by the grace was seen a step is reported with what is there; missing ones do not
    move.
    """
    panel = support.town()
    stream = start(opens, panel, grace=2)
    stream.report(part(panel, 16, 17, range(30)))
    stream.report(part(panel, 17, 18, range(30)))
    assert stream.rows() == []
    stream.report(part(panel, 18, 19, range(4)))
    assert [row.step for row in stream.rows()] == [16]
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(part(panel, 16, 17, range(30)))
    assert support.numerators(stream.rows()) == support.numerators(expected)


def test_a_step_that_nobody_has_sent_is_not_closed_by_later_ones(opens, silence):
    """Readings later by the grace close what was sent before them, and no step that nobody has sent."""
    panel = support.town()
    stream = start(opens, panel, grace=2)
    stream.report(part(panel, 16, 17, range(30)))
    stream.report(panel.between(20, 21))
    assert [row.step for row in stream.rows()] == [16, 20]


def test_a_step_closes_when_told(opens, silence):
    """Told to close, the panel's steps, and what is held before their end, are reported with what is there."""
    panel = support.town()
    stream = start(opens, panel, grace=50)
    stream.report(part(panel, 16, 18, range(10)))
    rows = stream.report(part(panel, 18, 19, range(10)), close=True)
    assert [row.step for row in rows] == [16, 17, 18]
    assert stream.rows() == rows


def test_late_repeated_and_corrected_readings_change_nothing(opens, silence):
    """For a held step the first reading of a household counts; for a reported one none does. All are counted."""
    panel = support.town()
    stream = start(opens, panel, grace=2)
    wrong = panel.following(panel.readings + 1, first_step=0)
    stream.report(part(panel, 16, 17, range(20)))
    stream.report(part(panel, 16, 17, range(10)))
    stream.report(part(wrong, 16, 17, range(5)))
    rows = stream.report(part(panel, 16, 17, range(20, 40)))
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(panel.between(16, 17))
    assert support.numerators(rows) == support.numerators(expected)
    stream.report(part(wrong, 16, 17, range(7)))
    assert stream.rows() == rows
    counts = stream.quality()
    # Whether it was the same is not told apart: the number would stay when the reading is erased.
    assert (counts["held_before"], counts["late"]) == (15, 7)
    assert not counts.keys() & {"repeated", "corrected, and not taken"}


def test_held_readings_outlive_the_process(lasting, silence):
    """What was accepted for an open step is there for whoever opens the store next."""
    panel = support.town()
    start(lasting, panel, grace=5).report(part(panel, 16, 20, range(25)))
    again = lasting().streams()[0]
    rows = again.report(part(panel, 16, 20, range(25, 40)))
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(panel.between(16, 20))
    assert support.numerators(rows) == support.numerators(expected)


def test_a_cycle_that_waits_takes_parts_too(opens, silence):
    """Where reports wait for the cycle, its steps close one by one, and its rows come with the last."""
    panel = support.town()
    stream = start(opens, panel, grace=4, **support.BASIS)
    stream.report(part(panel, 16, 20, range(25)))
    stream.report(part(panel, 16, 18, range(25, 40)))
    assert stream.rows() == []
    stream.report(part(panel, 18, 20, range(25, 40)))
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum(), **support.BASIS)).report(
        panel.between(16, 20)
    )
    assert support.numerators(stream.rows()) == support.numerators(expected)


def test_a_cycle_that_waits_closes_by_grace(opens, silence):
    """Steps of a waiting cycle that nobody completes close when a later reading by the grace was seen."""
    panel = support.town()
    stream = start(opens, panel, grace=2, **support.BASIS)
    stream.report(part(panel, 16, 20, range(25)))
    stream.report(panel.between(20, 22))
    assert [row.step for row in stream.rows()] == [16, 17, 18, 19]


def test_households_in_another_order_are_put_in_theirs(opens, silence):
    """Readings of some households, in any order, with strangers among them, count for those on the roster."""
    panel = support.town()
    stream = start(opens, panel)
    order = np.random.default_rng(1).permutation(40)
    mixed = panel.columns(order)
    strangers = dn.Panel.from_array(
        np.hstack([mixed.readings, mixed.readings[:, :3]]),
        households=[*mixed.households, "x", "y", "z"],
        grid=panel.grid,
    )
    rows = stream.report(strangers.between(16, 30))
    expected = support.start(panel, support.plan_for(panel, query=dn.Sum())).report(panel.between(16, 30))
    assert support.numerators(rows) == support.numerators(expected)
    assert stream.quality()["unknown_household"] == 3 * 14


def test_a_grid_that_begins_later_is_the_same_grid(opens, silence):
    """A panel whose steps are counted from another midnight is reported at the stream's steps."""
    panel = support.town()
    stream = start(opens, panel)
    later = panel.between(24, 30)
    elsewhere = replace(later, grid=replace(panel.grid, anchor="2000-01-01T12:00"), first_step=0)
    assert stream.report(elsewhere) == stream.report(later)
    assert [row.step for row in stream.rows()] == list(range(24, 30))
    for wrong in ("2000-01-01T12:10", "1999-01-01T00:00"):
        with refuses(ReadingsError, "anchor-differs"):
            stream.report(replace(elsewhere, grid=replace(panel.grid, anchor=wrong)))


def test_a_successor_explains_itself(opens):
    """Before a plan is started it says what it is like, what it costs, what is left, and from which step it
    reports; nothing is spent.
    """
    panel = support.town()
    curator = opens(budget=dn.Budget(pattern="3", cycle="1"))
    first = support.plan_for(panel)
    assert "first plan" in " ".join(curator.explain(first, panel.first(4)))
    stream = curator.start(first, history=panel.first(4), acknowledge="untested", accept_worse=True)
    stream.report(panel.between(16, 20))
    assert "the same stream" in curator.explain(first, panel.first(4))[0]
    stream.stop()
    less = panel.without(["7"])
    second = support.plan_for(panel, query=dn.Sum(), epsilon="1/2")
    said = " ".join(curator.explain(second, less.first(4)))
    for words in (
        "query, epsilon",
        "stopped at step 20",
        "1 household(s)",
        "costs 0.5",
        "1.5 is left",
        "from step 20 on",
    ):
        assert words in said
    assert [event.kind for event in curator.ledger()] == ["created", "settled", "started", "reported", "stopped"]


def test_one_clock_that_is_off_closes_nothing(opens, silence):
    """A stray reading far ahead is held and closes nothing; once half of the homes are there it counts as seen."""
    panel = support.town(cycles=60)
    stream = start(opens, panel, grace=2)
    stream.report(part(panel, 16, 18, range(30)))
    stream.report(part(panel, 200, 201, [3]))
    assert stream.rows() == []
    rows = stream.report(part(panel, 16, 18, range(30, 40)))
    assert [row.step for row in rows] == [16, 17]
    stream.report(panel.between(200, 201))
    assert [row.step for row in stream.rows()] == [16, 17, 200]


def test_what_a_restored_backup_does_not_know_of_people_must_be_said_again(lasting, tmp_path):
    """Erasures and changes of tenancy since a backup are owed: nothing is reported, nor explained as if it could be
    started, before they are said again.
    """
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    stream = curator.start(
        support.plan_for(panel), history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    stream.report(panel.between(16, 20))
    curator.backup(tmp_path / "backup.db")
    curator.erase("3")
    curator.move_out("5", 22)
    restored = dn.Curator.open(tmp_path / "backup.db", fence=curator.status().head)
    with pytest.raises(StoreError, match="2 erasure"):
        restored.streams()[0].report(panel)
    with pytest.raises(StoreError, match="2 erasure"):
        restored.explain(support.plan_for(panel, query=dn.Sum()), panel.first(4))
    restored.erase("3")
    restored.move_out("5", 22)
    assert len(restored.streams()[0].report(panel.between(20, 48))) == 28
    assert restored.verify().sound
    with refuses(StoreError, "store-missing-at"):
        dn.Curator.open(tmp_path / "nowhere.db", fence=curator.status().head)
