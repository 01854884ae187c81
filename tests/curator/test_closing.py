"""When steps close: by what was sent, by deadlines, and never by a clock that is wrong."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator.closing import AHEAD, STRAY
from diurnal.errors import ClockError

STEP = timedelta(minutes=30)
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
"""When step 0 of a town begins."""

LEVELS = {"pattern": {}, "slot by slot": support.SLOTWISE, "basis": support.BASIS, "blocks": support.BLOCKS}


class Clock:
    """A clock that stands at the beginning of a step until it is moved."""

    def __init__(self, step):
        self.now = BEGIN + step * STEP

    def __call__(self):
        return self.now

    def at(self, step):
        self.now = BEGIN + step * STEP


def start(opens, panel, clock, **fields):
    plan = support.plan_for(panel, **{"query": dn.Sum(), **fields})
    curator = opens(budget=support.ROOMY, clock=clock)
    return curator.start(plan, history=panel.first(4), acknowledge="untested")


def sent(panel, given):
    """A panel with readings of some households at some steps, and of nobody at all the steps between."""
    steps = range(min(given), max(given) + 1)
    present = np.zeros((len(steps), panel.n_households), dtype=bool)
    for step, households in given.items():
        present[step - steps.start, list(households)] = True
    readings = np.resize(panel.readings, (len(steps), panel.n_households))
    return panel.following(np.where(present, readings, 0), present=present, first_step=steps.start)


ALL = range(40)


@pytest.mark.parametrize("grace", [0, 2, 48])
@pytest.mark.parametrize("level", LEVELS)
def test_two_rows_of_one_meter_publish_nothing(level, grace, opens):
    """A batch with two readings of one home, years apart, releases no step, and true readings of the steps between
    are taken afterwards.
    """
    panel = support.town()
    stream = start(opens, panel, Clock(10**6), grace=grace, **LEVELS[level])
    stream.report(sent(panel, {16: [3], 16 + 42_998: [3]}))
    assert stream.rows() == []
    assert len(stream.report(panel.between(16, 48))) == 32
    assert stream.quality().get("late, and not taken", 0) == 0


@pytest.mark.parametrize("grace", [0, 2, 48])
@pytest.mark.parametrize("level", LEVELS)
def test_one_fast_meter_makes_nobody_late(level, grace, opens):
    """One meter whose clock is four hours fast, once, makes no later reading late, live or in a past filled in."""
    panel = support.town()
    for clock in (Clock(17), Clock(10**6)):
        stream = start(
            lambda clock, budget: dn.Curator.in_memory(budget, clock=clock),
            panel,
            clock,
            grace=grace,
            **LEVELS[level],
        )
        stream.report(sent(panel, {16: ALL, 24: [3]}))
        for step in range(17, 48):
            if clock.now < BEGIN + 10**5 * STEP:
                clock.at(step + 1)
            stream.report(sent(panel, {step: [home for home in ALL if (step, home) != (24, 3)]}))
        clock.now += 96 * STEP
        stream.close_overdue()
        assert [row.step for row in stream.rows()] == list(range(16, 48))
        assert stream.quality().get("late, and not taken", 0) == 0


def test_what_has_not_come_yet_is_set_aside(opens):
    """Readings of steps that begin more than five minutes from now are counted and leave no trace; a clock that is
    ahead by less is believed.
    """
    panel, clock = support.town(), Clock(17)
    stream = start(opens, panel, clock, grace=2)
    stream.report(sent(panel, {16: [3], 17: [3], 18: [3], 10_000: [4]}))
    with stream._store.transaction():
        assert list(stream._store.held_steps(1)) == [16, 17]
    assert stream.quality()[AHEAD] == 2
    clock.now += timedelta(minutes=25)
    stream.report(sent(panel, {16: [3], 18: [3]}))
    with stream._store.transaction():
        assert list(stream._store.held_steps(1)) == [16, 17, 18]


def test_a_batch_that_is_all_ahead_is_refused(opens):
    """Where every reading is ahead of the clock, that of this machine may be what is wrong: nothing is done."""
    panel = support.town()
    stream = start(opens, panel, Clock(10))
    with pytest.raises(ClockError, match="have not come yet"):
        stream.report(panel.between(16, 20))
    assert (stream.rows(), stream.quality()) == ([], {})


@pytest.mark.parametrize("level", LEVELS)
def test_a_lost_half_hour_is_closed_by_its_deadline(level, opens):
    """Of a cycle of which one step was never sent every step is out two days later, with what was there, and
    nothing of it is held.
    """
    panel, clock = support.town(), Clock(20)
    stream = start(opens, panel, clock, **LEVELS[level])
    stream.report(sent(panel, {16: ALL, 17: ALL, 19: ALL}))
    assert 18 not in {row.step for row in stream.rows()}
    clock.at(20 + 95)
    assert stream.close_overdue() == []
    clock.at(20 + 96)
    stream.close_overdue()
    assert [row.step for row in stream.rows()] == [16, 17, 18, 19]
    with stream._store.transaction():
        assert (stream._store.held_steps(1), stream._store.arrivals(1)) == ({}, [])
        assert stream._store.noisy_cycles(1) == []


def test_a_deadline_is_the_plan_s(opens):
    """A plan that says so waits longer, or not as long."""
    panel, clock = support.town(), Clock(17)
    stream = start(opens, panel, clock, grace=48, deadline=3)
    stream.report(sent(panel, {16: range(20)}))
    clock.at(19)
    assert stream.close_overdue() == []
    clock.at(20)
    assert [row.step for row in stream.close_overdue()] == [16]


def test_what_is_filled_in_late_has_its_time(opens):
    """The deadline of readings of long ago counts from when they began to come, so that a past can be filled in."""
    panel, clock = support.town(), Clock(10**6)
    stream = start(opens, panel, clock, grace=48)
    stream.report(sent(panel, {16: range(20)}))
    clock.at(10**6 + 95)
    stream.report(sent(panel, {17: range(20)}))
    assert stream.rows() == []
    clock.at(10**6 + 96)
    # By then its whole cycle has ended and is due, with the steps of it that nobody sent.
    assert [row.step for row in stream.close_overdue()] == [16, 17, 18, 19]


def test_a_cycle_that_nobody_sent_is_never_closed(opens):
    """No deadline publishes a day of which nothing came: neither holes of years nor a feed that has ended."""
    panel, clock = support.town(), Clock(20)
    stream = start(opens, panel, clock)
    stream.report(panel.between(16, 20))
    clock.at(28)
    stream.report(panel.between(24, 28))
    clock.at(10**5)
    assert stream.close_overdue() == []
    assert [row.step for row in stream.rows()] == [*range(16, 20), *range(24, 28)]


def test_readings_ahead_of_all_others_are_dropped_at_their_deadline(opens):
    """In a past that is filled in no clock tells which dates are wrong: a home's readings far ahead of all others
    wait for these until their deadline, close nothing, and are erased and counted then.
    """
    panel, clock = support.town(cycles=60), Clock(10**6)
    stream = start(opens, panel, clock)
    stream.report(sent(panel, {16: ALL, 200: [3], 201: [3]}))
    clock.at(10**6 + 96)
    stream.close_overdue()
    assert [row.step for row in stream.rows()] == [16, 17, 18, 19]
    assert stream.quality()[STRAY] == 2
    with stream._store.transaction():
        assert stream._store.held_steps(1) == {}
    assert [row.step for row in stream.report(sent(panel, {200: ALL, 201: ALL}))] == [200, 201]


def test_an_outage_of_most_homes_is_closed_by_its_deadline(opens):
    """Live, a day on which fewer than a tenth of the homes speak is closed with what is there, and not dropped."""
    panel, clock = support.town(), Clock(20)
    stream = start(opens, panel, clock)
    stream.report(sent(panel, {step: [1, 2] for step in range(16, 20)}))
    assert stream.rows() == []
    clock.at(20 + 96)
    assert [row.step for row in stream.close_overdue()] == [16, 17, 18, 19]


def test_a_report_closes_what_is_overdue(opens):
    """Whoever only ever calls report has no day withheld: what is past its deadline comes with the next one."""
    panel, clock = support.town(cycles=60), Clock(20)
    stream = start(opens, panel, clock)
    stream.report(sent(panel, {16: ALL, 17: ALL, 19: ALL}))
    clock.at(130)
    assert {row.step for row in stream.report(panel.between(129, 130))} == {18, 129}


def test_a_store_that_believed_a_wrong_clock_is_healed(opens):
    """A store that has seen a step of 2099 as the roster's latest takes the readings of today as ever."""
    panel, clock = support.town(), Clock(17)
    stream = start(opens, panel, clock, grace=2)
    with stream._store.transaction():
        stream._store.see(1, 10**6)
    stream.report(sent(panel, {16: range(20)}))
    assert stream.rows() == []
    assert [row.step for row in stream.report(sent(panel, {16: range(20, 40)}))] == [16]
