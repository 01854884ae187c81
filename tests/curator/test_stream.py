"""The curator's stream: each step once, the same rows for ever, whatever is given again."""

from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import ReadingsError, StoreError, StreamError
from diurnal.promise import noise
from support import refuses


def open_cycles(stream):
    """Cycles of which the store still keeps noise or readings."""
    store, slots = stream._store, stream.plan.grid.slots
    with store.transaction():
        number = store.record(stream._stream_id).number
        return sorted({step // slots for step in store.held_marks(number)}.union(store.noisy_cycles(number)))


@support.every_kind
def test_a_step_is_reported_once_and_asked_again_is_the_same(name):
    """The same rows come for the same steps, whatever readings are given the second time."""
    panel = support.town()
    stream = support.begin(name, panel)
    first = stream.report(panel)
    changed = panel.following(panel.readings // 2, first_step=0)
    assert stream.report(panel) == first
    assert stream.report(changed) == first


@support.every_kind
def test_steps_may_come_one_by_one_or_all_at_once(name, silence):
    """Without noise, rows do not depend on how the steps are delivered, or in which order."""
    panel = support.town()
    whole = support.begin(name, panel).report(panel)
    stream = support.begin(name, panel)
    order = list(panel.steps)
    np.random.default_rng(2).shuffle(order)
    for step in order:
        stream.report(panel.between(step, step + 1))
    assert stream.report(panel) == whole


@support.every_kind
def test_missing_readings_and_gaps_in_the_roster_never_stop_a_stream(name):
    """Told to close a panel, a stream has a row for every step of it, also where nobody has sent a reading."""
    panel = support.town()
    present = panel.present.copy()
    present[20:24] = False
    gappy = panel.following(panel.readings, present=present, first_step=0)
    rows = support.begin(name, gappy).report(gappy, close=True)
    assert {20, 21, 22, 23} <= {row.step for row in rows}


@pytest.mark.parametrize("name", ["pattern", "strong", "strong, basis", "strong, blocks"])
def test_steps_of_the_history_are_not_reported(name):
    """A stream begins after its history."""
    panel = support.town()
    assert min(row.step for row in support.begin(name, panel).report(panel)) == 16


def test_the_noisy_profile_is_public_in_pattern_mode_only():
    """In strong mode asking for G is refused, and no repr shows it."""
    panel = support.town()
    stream = support.begin("pattern", panel)
    assert len(stream.noisy_profile["all"]) == 4
    with refuses(StreamError, "profile-private"):
        support.begin("strong", panel).noisy_profile  # noqa: B018


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
        stream = support.begin(name, wild)
        assert support.numerators(stream.report(wild)) == support.numerators(support.begin(name, gone).report(gone))
        assert stream.quality()["outside_domain"] == 2


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


def test_a_closed_cycle_leaves_no_noise_and_no_readings_behind():
    """When every step of a cycle has its row, its noise and held readings are erased from the store."""
    panel = support.town()
    for name in ("strong", "strong, basis", "strong, blocks"):
        stream = support.begin(name, panel)
        stream.report(panel.between(16, 19))
        assert open_cycles(stream) == [4]
        stream.report(panel)
        assert open_cycles(stream) == []


def test_a_cycle_that_waits_is_reported_whole():
    """With a basis for cycles, rows come when the last step of a cycle does, or when the cycle is closed."""
    panel = support.town()
    stream = support.begin("strong, basis", panel)
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
    stream = support.begin("strong, basis", panel)
    stream.report(panel.between(16, 19))
    stream.report(other.between(16, 19))
    stream.report(panel.between(19, 20))
    assert stream.quality()["late"] == 3 * 40
    expected = support.begin("strong, basis", panel).report(panel.between(16, 20))
    assert stream.report(panel.between(16, 20)) == expected


def test_stopping_lets_a_successor_begin():
    """A stopped stream reports nothing from its end on, and asked again says the same end."""
    panel = support.town()
    stream = support.begin("strong", panel)
    stream.report(panel.between(16, 22))
    assert stream.stop() == 24
    assert stream.stop() == 24
    assert max(row.step for row in stream.report(panel)) == 23


def test_readings_of_others_are_not_taken():
    """A report of nobody on the roster, or on another grid, raises, publishes nothing, and changes nothing."""
    panel = support.town()
    stream = support.begin("strong", panel)
    strangers = dn.Panel.from_array(panel.readings, grid=panel.grid, households=[f"x{i}" for i in range(40)])
    for wrong in (strangers, support.town(slots=8, cycles=6)):
        with pytest.raises(ReadingsError):
            stream.report(wrong)
    assert stream.drift() == {}
    assert stream.quality() == {}


def test_a_stream_says_nothing_private():
    """The repr of a curator's stream and records shows no reading, profile or noisy profile."""
    panel = support.small_panel(np.full((48, 20), 87), slots=4)
    stream = support.begin("strong", panel)
    words = repr(stream) + repr(stream._record())
    assert "87" not in words.replace(stream.plan.hash, "").replace(stream.plan.roster, "").replace(
        stream.plan.calendar, ""
    ).replace(stream.plan.hash[:12], "")


def test_a_closed_cycle_is_never_opened_again(monkeypatch):
    """Steps that arrive after their cycle was closed change no row, keep no reading and draw no noise."""
    panel = support.town()
    stream = support.begin("strong, basis", panel)
    stream.report(panel.between(16, 18))
    rows = stream.close(before=20)
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: pytest.fail("noise was drawn"))
    assert stream.report(panel.between(16, 20)) == rows
    assert open_cycles(stream) == []


def test_a_store_keeps_the_first_row_of_a_step():
    """The database itself refuses a second value of a step, and the whole transaction with it."""
    panel = support.town()
    stream = support.begin("pattern", panel)
    rows = stream.report(panel)
    with refuses(StoreError, "store-failed"), stream._store.transaction():
        stream._store.publish(1, {23: (Fraction(1),)})
    assert stream.report(panel) == rows


def test_closing_a_slot_by_slot_cycle_settles_it(silence):
    """Steps of an ended cycle that never came are reported as missing readings, and its noise is erased."""
    panel = support.town()
    stream = support.begin("strong", panel, query=dn.Sum())
    stream.report(panel.between(16, 18))
    assert stream.close(before=19) == []
    rows = stream.close(before=20)
    assert [row.step for row in rows] == [16, 17, 18, 19]
    assert open_cycles(stream) == []
    assert stream.report(panel.between(16, 20)) == rows
    profile = (panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4).sum(axis=1)
    assert [row.numerator for row in rows[2:]] == profile[2:].tolist()


def test_an_outcome_says_what_became_of_readings():
    """New rows, old rows, what was taken, what is open and what was set aside, all from one call."""
    panel = support.town()
    plan = support.plan_for(panel, **support.BASIS, query=dn.Sum())
    stream = support.start(panel, plan)
    first = stream.receive(panel.between(16, 22))
    n = panel.n_households
    assert ([row.step for row in first.new], first.old, first.open) == ([16, 17, 18, 19], (), 2)
    assert (first.taken, first.waiting, first.set_aside, first.again) == (6 * n, 0, {}, False)
    second = stream.receive(panel.between(18, 24))
    assert [row.step for row in second.new] == [20, 21, 22, 23]
    assert [row.step for row in second.old] == [18, 19]
    assert second.taken == 2 * n
    # Steps 20 and 21 were complete, and only waited for the rest of their cycle.
    assert second.set_aside == {"late": 4 * n, "steps_published_before": 2}
    assert second.rows == sorted([*second.old, *second.new], key=lambda row: row.step) == stream.rows(18, 24)
    assert "Outcome" in repr(second)
    assert str(second.rows[0].value) not in repr(second)


def test_what_was_taken_by_its_name_is_known_again():
    """The second time nothing happens, and the old way to ask for it says where it has gone."""
    panel = support.town()
    plan = support.plan_for(panel, **support.SLOTWISE, query=dn.Sum())
    stream = support.start(panel, plan)
    first = stream.receive_once("a file", lambda: panel.between(16, 18))
    assert [row.step for row in first.rows] == [16, 17]
    again = stream.receive_once("a file", lambda: 1 / 0)
    assert (again.again, again.rows) == (True, [])
    with pytest.warns(DeprecationWarning, match="receive_once"):
        assert stream.take("a file", lambda: 1 / 0) is None
    with pytest.warns(DeprecationWarning, match="receive_once"):
        assert stream.take("another", lambda: panel.between(18, 19)) == stream.rows(18, 19)
