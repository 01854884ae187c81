"""When steps close: by what was sent, by deadlines, and never by a clock that is wrong."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diurnal as dn
import support
from diurnal.curator import closing, database, intake, starting
from diurnal.curator.closing import AHEAD, STRAY, Arrival, Known, Mark, Reached
from diurnal.curator.intake import Sent
from diurnal.curator.taking import OpenState
from diurnal.errors import ClockError, StoreError, StreamError
from support import refuses

opens = support.opens
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
    return curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)


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
    assert stream.quality().get("late", 0) == 0


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
        assert stream.quality().get("late", 0) == 0


def test_what_has_not_come_yet_is_set_aside(opens):
    """Readings of steps that begin more than five minutes from now are counted and leave no trace; a clock that is
    ahead by less is believed.
    """
    panel, clock = support.town(), Clock(17)
    stream = start(opens, panel, clock, grace=2)
    stream.report(sent(panel, {16: [3], 17: [3], 18: [3], 10_000: [4]}))
    with stream._store.transaction():
        assert list(stream._store.held_marks(1)) == [16, 17]
    assert stream.quality()[AHEAD] == 2
    clock.now += timedelta(minutes=25)
    stream.report(sent(panel, {16: [3], 18: [3]}))
    with stream._store.transaction():
        assert list(stream._store.held_marks(1)) == [16, 17, 18]


def test_a_batch_that_is_all_ahead_is_refused(opens):
    """Where every reading is ahead of the clock, that of this machine may be what is wrong: nothing is done."""
    panel = support.town()
    stream = start(opens, panel, Clock(10))
    with refuses(ClockError, "clock-ahead"):
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
        assert (stream._store.held_marks(1), stream._store.arrivals(1)) == ({}, [])
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
        assert stream._store.held_marks(1) == {}
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


FAR = 10_000
"""A step of the year after."""


def with_stray_row(opens, clock, **fields):
    """A stream of an older diurnal: a reading of a step that is far ahead was believed, and has a row."""
    panel = support.town(cycles=60)
    stream = start(opens, panel, clock, **fields)
    stream.report(panel.between(16, 20))
    now, clock.now = clock.now, BEGIN + 10**6 * STEP
    stream.report(sent(panel, {FAR: ALL}), close=True)
    clock.now = now
    assert [row.step for row in stream.rows()] == [16, 17, 18, 19, FAR]
    return panel, stream


@pytest.mark.parametrize("level", ["basis", "blocks", "slot by slot"])
def test_one_future_reading_does_not_end_a_stream_in_the_future(level, opens):
    """What one clock has sent ahead of all others has no part in where a stream ends, and is erased then."""
    panel, clock = support.town(cycles=60), Clock(10**6)
    stream = start(opens, panel, clock, **LEVELS[level])
    stream.report(sent(panel, {**dict.fromkeys(range(16, 20), ALL), 20: ALL, FAR: [3]}))
    assert stream.stop(dry_run=True) == 24
    assert stream.stop() == 24
    with stream._store.transaction():
        assert all(step < 24 for step in stream._store.held_marks(1))


def test_a_dry_run_stops_nothing(opens):
    """Asked where it would end, a stream goes on, and the ledger is as it was."""
    panel, clock = support.town(), Clock(30)
    stream = start(opens, panel, clock)
    stream.report(panel.between(16, 18))
    curator = opens()
    before = curator.ledger()
    assert (stream.stop(dry_run=True), stream.stop(at=40, dry_run=True)) == (20, 40)
    assert curator.ledger() == before
    assert len(stream.report(panel.between(18, 22))) == 4


def test_a_stream_ends_where_it_is_told(opens):
    """Steps before the given one are reported as ever, and none from it on."""
    panel, clock = support.town(), Clock(48)
    stream = start(opens, panel, clock)
    assert stream.stop(at=22) == 22
    assert [row.step for row in stream.report(panel.between(16, 30))] == list(range(16, 22))


def test_a_stream_that_was_reported_years_ahead_has_a_way_out(opens):
    """Stopped at a step before rows of the future, a stream has a successor that begins there, and never reports
    those steps again; the successor's page, fence and end are of today.
    """
    clock = Clock(20)
    panel, stream = with_stray_row(opens, clock)
    curator = opens(clock=clock)
    assert stream.stop() == 20
    next_ = curator.start(
        support.plan_for(panel, query=dn.Mean()), history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    clock.at(10**6)
    rows = next_.report(sent(panel, {20: ALL, 21: ALL, FAR: ALL, FAR + 1: ALL}))
    assert [row.step for row in rows] == [20, 21, FAR + 1]
    assert curator.verify().sound


def test_an_end_in_the_future_can_be_brought_forward(opens):
    """A stream that an older diurnal has stopped years ahead ends today, and the successor that waits for that end
    begins today, without spending anything again.
    """
    panel, clock = support.town(cycles=60), Clock(20)
    stream = start(opens, panel, clock)
    stream.report(panel.between(16, 20))
    curator = opens(clock=clock)
    stream.stop(at=FAR)
    waiting = curator.start(
        support.plan_for(panel, query=dn.Mean()), history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    clock.at(24)
    assert waiting.report(panel.between(20, 24)) == []
    spent = curator.status().pattern
    assert stream.stop(at=20) == 20
    assert [row.step for row in waiting.report(panel.between(20, 24))] == [20, 21, 22, 23]
    assert curator.status().pattern == spent
    assert curator.verify().sound
    with refuses(StreamError, "stream-stopped"):
        stream.stop(at=30)


def test_a_restored_backup_is_not_fenced_for_years(lasting, tmp_path):
    """A head of a store that has reported a step of the future is refused until that step is named; then the backup
    goes on today, and never reports that step again.
    """
    clock = Clock(20)
    panel = support.town(cycles=60)
    stream = start(lasting, panel, clock)
    stream.report(panel.between(16, 20))
    curator = lasting(clock=clock)
    curator.backup(tmp_path / "backup.db")
    now, clock.now = clock.now, BEGIN + 10**6 * STEP
    stream.report(sent(panel, {FAR: ALL}), close=True)
    clock.now = now
    head, where = curator.status().head, tmp_path / "backup.db"
    with refuses(StoreError, "fence-step-ahead"):
        dn.Curator.open(where, fence=head, clock=clock)
    with refuses(StoreError, "fence-stray-has-come"):
        dn.Curator.open(where, fence=head, strays=[FAR, 18], clock=clock)
    assert dn.Curator.after_fence(where, fence=head, strays=[FAR], clock=clock) == 24
    restored = dn.Curator.open(where, fence=head, strays=[FAR], clock=clock)
    clock.at(10**6)
    slots = panel.grid.slots
    after = (FAR // slots + 1) * slots
    given = {23: ALL, 24: ALL, **dict.fromkeys(range(after - slots, after + 1), ALL)}
    rows = restored.streams()[0].report(sent(panel, given))
    # Noise of a stray's cycle was drawn by the store that was lost: nothing of that cycle is reported.
    assert [row.step for row in rows] == [24, after]
    assert restored.verify().sound


def test_who_reads_begins_with_what_has_come(lasting, tmp_path):
    """The last step of a stream, for its page and for status, is the last that has come; exports have all rows."""
    from diurnal.curator.public_reader import Reader

    clock = Clock(20)
    _, stream = with_stray_row(lasting, clock)
    curator = lasting(clock=clock)
    assert curator.status().streams[0].last_step == 19
    assert len(stream.rows()) == 5
    where = curator._store._engine.url
    with_password = where.render_as_string(hide_password=False)
    reader = Reader.open(where.database if where.drivername.startswith("sqlite") else with_password, clock)
    assert reader.look().streams[0].last_step == 19
    reader.close()


def test_what_cannot_be_taken_back_is_rehearsed(opens):
    """Rehearsed, an erasure, a change of tenancy and a raised cap are checked, and nothing has happened."""
    panel, clock = support.town(), Clock(48)
    stream = start(opens, panel, clock)
    stream.report(panel.between(16, 20))
    curator = opens(clock=clock)
    before = (curator.ledger(), curator.status().to_json())
    with curator.rehearsed():
        curator.erase("3")
    with curator.rehearsed():
        curator.move_out("4", 20)
    with curator.rehearsed():
        curator.raise_cap(replace(support.ROOMY, pattern="1000", cycle="1000"))
    with pytest.raises(StreamError), curator.rehearsed():
        curator.erase("nobody")
    assert (curator.ledger(), curator.status().to_json()) == before
    assert len(stream.report(panel.between(20, 24))) == 4
    assert curator.verify().sound


@pytest.mark.parametrize("level", ["slot by slot", "basis", "blocks"])
def test_noise_of_a_stray_cycle_is_never_drawn_by_a_restored_store(level, lasting, tmp_path):
    """One stray step that is named keeps the restored store from its whole cycle, of which noise was drawn."""
    panel, clock = support.town(), Clock(20)
    stream = start(lasting, panel, clock, **LEVELS[level])
    curator = lasting(clock=clock)
    stream.report(panel.between(16, 20))
    curator.backup(tmp_path / "backup.db")
    clock.at(10**6)
    stream.report(panel.between(40, 44), close=True)
    clock.at(24)
    head = curator.status().head
    restored = dn.Curator.open(tmp_path / "backup.db", fence=head, strays=[43], clock=clock)
    clock.at(10**6)
    rows = restored.streams()[0].report(panel.between(36, 48), close=True)
    assert {row.step for row in rows} == {36, 37, 38, 39, 44, 45, 46, 47}


@pytest.mark.parametrize("other", ["pattern", "strong"])
def test_a_successor_that_is_moved_still_stands_beside_all_others(other):
    """Where an end is brought forward, a successor begins no earlier than the guard would have let it: not at steps
    of which another plan publishes exact variations, or from which one has learned.
    """
    panel, clock = support.town(n=60, cycles=60), Clock(60)
    names = panel.households
    curator = dn.Curator.in_memory(support.ROOMY, clock=clock)

    def begun(homes, first=0, **fields):
        plan = support.plan_for(panel, **fields)
        history = panel.without([name for name in names if name not in homes]).after(first).first(plan.history)
        return curator.start(plan, history=history, acknowledge="untested", accept_worse=True)

    first = begun(names[:30], **support.SLOTWISE)
    first.stop(at=100)
    if other == "pattern":
        begun(names[30:]).stop(at=100)
    next_ = begun(names, **support.SLOTWISE, epsilon="2")
    if other == "strong":
        begun(names[30:], first=15, **support.SLOTWISE, epsilon="3", history=10)
    assert next_._record().first_step == 100
    first.stop(at=60)
    assert next_._record().first_step == 100


def test_nothing_is_kept_of_a_stray_batch_that_was_dropped(opens):
    """When readings ahead of all others are dropped, what is known of their batch goes with them."""
    panel, clock = support.town(cycles=60), Clock(2000)
    stream = start(opens, panel, clock, grace=2, **support.SLOTWISE)
    curator = opens(clock=clock)
    intake.take(curator, Sent(sender="x", key="1", content="1"), panel.between(16, 24))
    intake.take(curator, Sent(sender="x", key="2", content="2"), sent(panel, {200: [7]}))
    number = stream._record().number
    with curator._store.transaction():
        assert curator._store.cycles_with_contents(number) == {50}
    clock.now += timedelta(days=3)
    assert stream.close_overdue() == []
    with curator._store.transaction():
        assert curator._store.cycles_with_contents(number) == set()


def test_a_cycle_that_is_going_on_is_not_closed_before_its_end(opens):
    """Minutes before its last step begins, and until that has ended, a cycle is not closed by who asks for it."""
    panel, clock = support.town(), Clock(19)
    clock.now -= timedelta(minutes=4)
    stream = start(opens, panel, clock, **support.SLOTWISE)
    stream.report(panel.between(16, 18))
    assert stream.close(before=stream.takes().stop) == []
    clock.at(20)
    assert [row.step for row in stream.close(before=stream.takes().stop)] == [16, 17, 18, 19]


def test_damage_in_one_stream_keeps_no_other_from_its_deadline():
    """Where what one stream holds is damaged, the others are closed by their deadlines, and the damage is told."""
    panel, clock = support.town(), Clock(20)
    curator = dn.Curator.in_memory(support.ROOMY, clock=clock)
    fields = {**support.SLOTWISE, "grace": 9}
    plans = [support.plan_for(panel, **fields, epsilon=epsilon) for epsilon in ("1", "2")]
    streams = [
        curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True) for plan in plans
    ]
    for stream in streams:
        stream.report(sent(panel, {16: range(39), 17: range(39)}))
    with curator._store.transaction():
        damaged = database.held.update().where(database.held.c.plan == 1).values(closed=True)
        curator._store.connection.execute(damaged)
    clock.now += timedelta(days=9)
    with pytest.raises(StoreError, match="plan 1 holds"):
        curator.close_overdue()
    assert [len(stream.rows()) for stream in streams] == [0, 4]


def told(panel, steps, present, **more):
    """A panel of some steps with readings where they are present."""
    readings = np.where(present, panel.readings[steps.start : steps.stop], 0)
    return panel.following(readings, present=present, first_step=steps.start, **more)


@pytest.mark.parametrize("overdue_first", [False, True])
def test_noise_of_a_cycle_that_goes_on_stays_when_stray_readings_of_it_are_dropped(overdue_first, lasting):
    """Part of a cycle was closed without readings, and one home was ahead: at the deadline its reading is dropped,
    the noise of the published part is not, and the rest is reported with it.
    """
    panel, clock = support.town(cycles=20), Clock(10**4)
    stream = start(lasting, panel, clock, **support.SLOTWISE)
    n = panel.n_households
    first, ahead = np.zeros((6, n), dtype=bool), np.zeros((1, n), dtype=bool)
    first[0], ahead[0, 0] = True, True
    if overdue_first:
        stream.report(told(panel, range(23, 24), ahead))
        clock.at(10**4 + 200)
    stream.report(told(panel, range(16, 22), first), close=True)
    if not overdue_first:
        stream.report(told(panel, range(23, 24), ahead))
        clock.at(10**4 + 200)
        stream.close_overdue()
    assert stream.quality()[STRAY] == 1
    with stream._store.transaction():
        assert stream._store.noisy_cycles(1) == [5]
    rows = stream.rows()
    stream.report(panel.between(22, 24))
    assert [row.step for row in stream.rows()] == list(range(16, 24))
    assert stream.rows()[: len(rows)] == rows
    with stream._store.transaction():
        assert stream._store.noisy_cycles(1) == []


def test_dropping_stray_readings_never_gives_a_household_its_radius_twice(opens, silence):
    """Of a block that is published readings stay, since the next block is cut by what it has left of the radius."""

    def moved(reading):
        panel = support.small_panel(np.full((80, 40), 50), slots=4)
        clock = Clock(10**4)
        stream = start(opens, panel, clock, **support.BLOCKS)
        stream.report(panel.between(16, 20))
        panel.readings[28:32, 0] = reading
        ahead, first = np.zeros((2, 40), dtype=bool), np.zeros((10, 40), dtype=bool)
        ahead[:, 0], first[0] = True, True
        stream.report(told(panel, range(28, 30), ahead))
        stream.report(told(panel, range(20, 30), first), close=True)
        clock.at(10**4 + 200)
        stream.close_overdue()
        stream.report(panel.between(30, 32))
        return np.array([float(row.numerator) for row in stream.rows(28, 32)])

    apart = moved(90) - moved(50)
    assert len(apart) == 4
    assert np.sqrt(apart @ apart) <= 40 + 1e-9


@pytest.mark.parametrize("level", LEVELS)
def test_a_batch_that_is_all_ahead_of_the_clock_changes_nothing(level, opens):
    """Not even the calendar that it brings: nothing of it is remembered but how many readings there were."""
    panel, clock = support.town(cycles=20), Clock(20.2)
    stream = start(opens, panel, clock, **LEVELS[level])
    curator = dn.Curator(stream._store)
    intake.take(curator, Sent(sender="x", key="1", content="1"), panel.between(16, 19))
    ahead = np.zeros((9, panel.n_households), dtype=bool)
    ahead[-1] = True
    before = curator.status().head
    (outcome,) = intake.take(
        curator, Sent(sender="x", key="2", content="2"), told(panel, range(19, 28), ahead).closing([19])
    )
    assert outcome.set_aside == {AHEAD: panel.n_households}
    assert curator.status().head == before
    with curator._store.transaction():
        assert curator._store.calendar() == frozenset()


def test_what_was_in_a_batch_is_forgotten_in_every_plan_when_its_cycle_is_over_in_one(opens):
    """Whichever plan takes it first: a digest is of the whole batch, whoever's readings are in it."""
    panel, clock = support.town(cycles=20), Clock(10**4)
    curator = opens(budget=support.ROOMY, clock=clock)
    for epsilon, grace in (("1", 3), ("2", 0)):
        fields = {**support.SLOTWISE, "grace": grace, "epsilon": epsilon, "query": dn.Sum()}
        plan = support.plan_for(panel, **fields)
        curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    some = np.ones((4, panel.n_households), dtype=bool)
    some[:, :3] = False
    outcomes = intake.take(curator, Sent(sender="x", key="1", content="1"), told(panel, range(16, 20), some))
    assert [outcome.reports for outcome in outcomes] == [1, 4]
    with curator._store.transaction():
        assert [curator._store.cycles_with_contents(number) for number in (1, 2)] == [set(), set()]


def test_what_is_published_and_not_finished_is_never_committed(opens, monkeypatch):
    """Though somebody catches the error inside a transaction: rows would be there without the noise they have."""
    panel = support.town(cycles=20)
    stream = start(opens, panel, Clock(10**4), **support.SLOTWISE)
    monkeypatch.setattr(OpenState, "write", lambda self: 1 / 0)
    with refuses(StoreError, "transaction-unfinished"), stream._store.transaction(), suppress(ZeroDivisionError):
        stream.report(panel.between(16, 18))
    monkeypatch.undo()
    assert stream.rows() == []
    assert [row.step for row in stream.report(panel.between(16, 18))] == [16, 17]


SLOTS, FIRST = 4, 16
HOMES = support.town()
STEPS = st.integers(FIRST, FIRST + 15)
MARKS = st.builds(Mark, closed=st.booleans(), reached=st.booleans())


def known(*, grace=0, level=support.BASIS, **more):
    """What is known of a stream without a store: no curator, no database, no reading."""
    plan = starting.bound_to(support.plan_for(HOMES, grace=grace, **level), HOMES.first(4))
    record = starting.learned(starting.prepared(plan, HOMES.first(4), None), HOMES.first(4), None)
    fields = {
        "record": starting.replace(record, first_step=FIRST),
        "now": HOMES.grid.wall(FIRST + 16),
        "calendar": frozenset(),
        "resumes": -1,
        "latest": -1,
        "arrivals": {},
        "held": {},
        "published": set(),
    }
    return Known(**fields | more)


KNOWN = known()


def state(**more):
    return Known(**vars(KNOWN) | more)


@given(st.dictionaries(STEPS, MARKS), st.sets(STEPS), st.integers(FIRST, FIRST + 20))
def test_what_was_sent_closes_what_is_complete_or_reached_and_late_enough(held, complete, latest):
    """A step closes if it is complete, was closed before, or is reached with nothing left to wait for; no other."""
    found = closing.closes(state(held=held, latest=latest), complete)
    assert found >= complete
    for step in held.keys() - complete:
        mark = held[step]
        assert (step in found) == (mark.closed or (mark.reached and step <= latest))


@given(st.dictionaries(STEPS, MARKS), st.sets(STEPS), st.integers(FIRST, FIRST + 20))
def test_a_step_that_nobody_has_sent_is_never_closed_by_what_was_sent(held, complete, latest):
    """Whatever has come of others."""
    sent = complete | held.keys()
    assert closing.closes(state(held=held, latest=latest), complete) <= sent


@given(st.sets(STEPS), st.sets(STEPS), st.sets(STEPS), st.integers(0, SLOTS - 1))
def test_a_value_waits_for_every_step_that_goes_into_it(published, calendar, closed, block):
    """A step is due when all steps up to where its value reaches are closed, published or never reported."""
    found = state(published=published - calendar, calendar=frozenset(calendar))

    def ready(slot):
        return min(SLOTS - 1, slot - slot % (block + 1) + block)

    for cycle in range(FIRST // SLOTS, FIRST // SLOTS + 4):
        steps = found.cycle(cycle)
        due = closing.due(found, cycle, ready, closed)
        assert set(due) <= closed & found.open(steps)
        for step in due:
            needed = range(steps.start, steps.start + ready(step - steps.start) + 1)
            assert found.open(needed) <= closed
    assert all(found.is_over(cycle) == (not found.open(found.cycle(cycle))) for cycle in range(3, 9))


@given(st.sets(STEPS, min_size=1), st.sets(STEPS), st.dictionaries(STEPS, MARKS))
def test_a_wrong_date_at_an_end_closes_nothing_beyond_what_enough_homes_sent(sent, reached, held):
    """Told to close, a panel closes open steps between the first and the last that count, and held ones before."""
    found = Reached(steps=frozenset(reached & sent), latest=max(reached | {FIRST}))
    span = range(min(sent), max(sent) + 1)
    closed = closing.told_to_close(state(held=held), span, sent, found)
    if not reached & sent:
        assert not closed
        return
    assert max(closed, default=FIRST) <= max(reached & sent)
    assert {step for step in closed if step < min(reached & sent)} <= held.keys()


@given(st.dictionaries(STEPS, MARKS), st.sets(STEPS), st.sets(STEPS))
def test_what_is_held_of_a_published_step_stays_though_it_goes_onto_the_calendar(held, published, calendar):
    """It went into a report, and the rest of its cycle is cut by it; what was never published is erased."""
    found = closing.unreportable(state(held=held, published=published, calendar=frozenset(calendar)))
    assert set(found) == (held.keys() & calendar) - published


def test_an_arrival_is_news_once_and_again_when_the_roster_comes():
    """From the first reading of a cycle its deadline counts; from when enough homes have come, anew."""
    none, some = Reached(steps=frozenset(), latest=-1), Reached(steps=frozenset({17}), latest=17)
    first = closing.begun(KNOWN, [17], none)
    assert first == [Arrival(cycle=4, time=KNOWN.now, reached=False)]
    again = state(arrivals={4: first[0]})
    assert closing.begun(again, [18], none) == []
    assert closing.begun(again, [17], some) == [Arrival(cycle=4, time=KNOWN.now, reached=True)]
    assert closing.begun(state(arrivals={4: Arrival(cycle=4, time=KNOWN.now, reached=True)}), [17], some) == []


def test_what_is_known_shows_nothing_of_itself():
    """It has no readings, and says not even which steps are held."""
    shown = repr(state(held={FIRST: Mark(closed=True, reached=True)}))
    assert str(FIRST) not in shown
