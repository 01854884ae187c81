"""What is open of a stream: decided from counts and marks alone, read once and written once."""

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

import diurnal as dn
import support
from diurnal.curator import closing, starting
from diurnal.curator.closing import Arrival, Known, Mark, Reached

SLOTS, FIRST = 4, 16
PANEL = support.town()
STEPS = st.integers(FIRST, FIRST + 15)
MARKS = st.builds(Mark, closed=st.booleans(), reached=st.booleans())


def known(*, grace=0, level=support.BASIS, **more):
    """What is known of a stream without a store: no curator, no database, no reading."""
    plan = starting.bound_to(support.plan_for(PANEL, grace=grace, **level), PANEL.first(4))
    record = starting.learned(starting.prepared(plan, PANEL.first(4), None), PANEL.first(4), None)
    fields = {
        "record": starting.replace(record, first_step=FIRST),
        "now": PANEL.grid.wall(FIRST + 16),
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


def written(curator, work):
    """What is written into tables of what passes while some work is done: table and values."""
    found = []

    def note(connection, cursor, statement, parameters, context, many):
        words = statement.split()
        if words[0] == "INSERT" and words[2] in ("held", "noise"):
            given = parameters if many else [parameters]
            found.extend((words[2], list(each.values() if isinstance(each, dict) else each)) for each in given)

    engine = curator._store._engine
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    return found


def test_a_cycle_that_is_complete_when_it_comes_is_never_written_as_held(lasting):
    """Neither its readings nor its noise touch the disk: of the noise an empty row stays, that it was drawn."""
    for fields in (support.BASIS, support.BLOCKS, support.SLOTWISE):
        curator = lasting(budget=support.ROOMY)
        plan = support.plan_for(PANEL, **fields, query=dn.Sum())
        stream = curator.start(plan, history=PANEL.first(4), acknowledge="untested", accept_worse=True)
        cycle = stream.plan.grid.slots
        found = written(
            curator, lambda stream=stream, cycle=cycle: stream.report(PANEL.between(FIRST, FIRST + cycle))
        )
        assert all("" in values for table, values in found if table == "noise")
        assert [table for table, _ in found if table == "held"] == []
        assert len(stream.rows()) == cycle
        more = written(curator, lambda stream=stream: stream.report(PANEL.between(20, 22)))
        assert any(table == "held" for table, _ in more) or fields == support.SLOTWISE


def test_an_outcome_says_what_became_of_readings():
    """New rows, old rows, what was taken, what is open and what was set aside, all from one call."""
    plan = support.plan_for(PANEL, **support.BASIS, query=dn.Sum())
    stream = support.start(PANEL, plan)
    first = stream.receive(PANEL.between(16, 22))
    n = PANEL.n_households
    assert ([row.step for row in first.new], first.old, first.open) == ([16, 17, 18, 19], (), 2)
    assert (first.taken, first.waiting, first.set_aside, first.again) == (6 * n, 0, {}, False)
    second = stream.receive(PANEL.between(18, 24))
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
    plan = support.plan_for(PANEL, **support.SLOTWISE, query=dn.Sum())
    stream = support.start(PANEL, plan)
    first = stream.receive_once("a file", lambda: PANEL.between(16, 18))
    assert [row.step for row in first.rows] == [16, 17]
    again = stream.receive_once("a file", lambda: 1 / 0)
    assert (again.again, again.rows) == (True, [])
    with pytest.warns(DeprecationWarning, match="receive_once"):
        assert stream.take("a file", lambda: 1 / 0) is None
    with pytest.warns(DeprecationWarning, match="receive_once"):
        assert stream.take("another", lambda: PANEL.between(18, 19)) == stream.rows(18, 19)


def test_steps_that_wait_for_their_cycle_are_written_once(lasting):
    """What is complete and waits is not written anew with every step that comes after it."""
    curator = lasting(budget=support.ROOMY)
    plan = support.plan_for(PANEL, **support.BASIS, query=dn.Sum())
    stream = curator.start(plan, history=PANEL.first(4), acknowledge="untested", accept_worse=True)
    for step in (16, 17, 18):
        found = written(curator, lambda step=step: stream.report(PANEL.between(step, step + 1)))
        assert [table for table, _ in found] == ["held"]
    assert [row.step for row in stream.report(PANEL.between(19, 20))] == [16, 17, 18, 19]


def test_what_is_known_shows_nothing_of_itself():
    """It has no readings, and says not even which steps are held."""
    shown = repr(state(held={FIRST: Mark(closed=True, reached=True)}))
    assert str(FIRST) not in shown
