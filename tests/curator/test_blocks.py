"""Reports block by block: each when its block is over, each once, and every household within its ball."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

import diurnal as dn
import support
from diurnal.curator import closing, database
from diurnal.errors import StreamError
from diurnal.promise import noise
from diurnal.promise.mechanisms import Blocks

SLOTS, LENGTH = 8, 2
PLAN = {**support.BLOCKS, "query": dn.Sum(), "cycle_basis": dn.Basis(size=4)}


def town(**more):
    return support.town(slots=SLOTS, cycles=8, **more)


def begin(panel, **more):
    return support.start(panel, support.plan_for(panel, **{**PLAN, **more}))


def kept(stream):
    """Steps of which readings are held, and cycles of which noise is."""
    with stream._store.transaction():
        number = stream._record().number
        return sorted(stream._store.held_marks(number)), stream._store.noisy_cycles(number)


def steps(rows):
    return [row.step for row in rows]


def expected(panel, cycle, *, radius=40):
    """A cycle's rows without noise, written apart from the mechanism: a household at a time, in plain integers."""
    history = panel.readings[: 4 * SLOTS].reshape(4, SLOTS, -1)
    profile = history.sum(axis=0) // 4
    values = [0] * SLOTS
    for home in range(panel.n_households):
        left = LENGTH * radius**2
        for block in range(SLOTS // LENGTH):
            total = 0
            for slot in range(block * LENGTH, (block + 1) * LENGTH):
                step = cycle * SLOTS + slot
                if panel.present[step, home]:
                    total += int(panel.readings[step, home] - profile[slot, home])
            room = int(np.floor(np.sqrt(left)))
            total = max(-room, min(room, total))
            left -= total * total
            values[block] += total
    return [
        int(profile[slot].sum()) + (2 * values[slot // LENGTH] + LENGTH) // (2 * LENGTH) for slot in range(SLOTS)
    ]


def test_rows_come_when_their_block_is_over(silence):
    """A step's row comes with the last step of its block, once, and is what plain arithmetic says."""
    panel = town()
    stream = begin(panel)
    rows = []
    for step in range(32, 40):
        new = stream.report(panel.between(step, step + 1))
        assert steps(new) == ([] if step % LENGTH == 0 else [step - 1, step])
        rows += new
    assert stream.rows() == rows
    assert support.numerators(rows) == expected(panel, 4)
    assert stream.report(panel.between(32, 40)) == rows
    assert kept(stream) == ([], [])


def test_a_cycles_noise_is_there_before_its_first_block_and_gone_after_its_last(monkeypatch):
    """One vector is drawn for all blocks of a cycle; its first component is on the first block, and so on."""
    panel, drawn = town(), []
    monkeypatch.setattr(noise, "cube", lambda ranges, rate: [0] * len(ranges))
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: drawn.append(size) or [2000, 4000, 6000, 8000])
    stream = begin(panel)
    assert drawn == []
    stream.report(panel.between(32, 34))
    assert drawn == [4]
    assert kept(stream) == ([32, 33], [4])
    stream.report(panel.between(34, 40))
    assert drawn == [4]
    assert kept(stream) == ([], [])
    off = np.array(support.numerators(stream.rows())) - np.array(expected(panel, 4))
    assert off.tolist() == [1000, 1000, 2000, 2000, 3000, 3000, 4000, 4000]


def test_a_step_that_is_late_holds_back_its_block_and_the_later_ones(silence):
    """Blocks go out in order: later ones wait for an earlier one that is open, and come with it."""
    panel = town()
    stream = begin(panel)
    stream.report(panel.between(33, 39))
    assert stream.rows() == []
    assert steps(stream.report(panel.between(32, 33))) == list(range(32, 38))
    stream.report(panel.between(39, 40))
    assert support.numerators(stream.rows()) == expected(panel, 4)


def test_a_cycle_that_never_ends_is_closed_when_told(silence):
    """Steps that never came count as missing when their cycle is closed; blocks that were out stay as they are."""
    panel = town()
    stream = begin(panel)
    stream.report(panel.between(32, 35))
    before = stream.rows()
    assert steps(before) == [32, 33]
    assert stream.close(before=39) == []
    rows = stream.close(before=40)
    assert rows[:2] == before
    assert steps(rows) == list(range(32, 40))
    present = panel.present.copy()
    present[35:40] = False
    less = panel.following(panel.readings, present=present, first_step=0)
    assert support.numerators(rows) == expected(less, 4)
    assert kept(stream) == ([], [])


@pytest.fixture(scope="module")
def whole():
    """A panel with gaps, and its rows without noise when all of it comes at once."""
    panel = town(n=6)
    present = panel.present & (np.random.default_rng(5).random(panel.present.shape) < 0.8)
    present[: 4 * SLOTS] = True
    gappy = panel.following(panel.readings, present=present, first_step=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "cube", lambda ranges, rate: [0] * len(ranges))
        patch.setattr(noise, "l2_norm", lambda size, rate: [0] * size)
        return gappy, begin(gappy).report(gappy)


@settings(max_examples=40)
@given(data=st.data())
def test_the_same_values_whatever_the_batches(whole, silence, data):
    """Steps, and parts of the households, may come in any order and in any company: the rows are the same."""
    panel, rows = whole
    stream = begin(panel, grace=data.draw(st.sampled_from([40, 60])))
    begins = sorted(data.draw(st.sets(st.integers(33, 63), max_size=8)) | {32, 64})
    parts = [
        (start, stop, homes)
        for start, stop in pairwise(begins)
        for homes in data.draw(st.sampled_from([[range(6)], [range(3), range(3, 6)], [[5, 1], [0, 2, 3, 4]]]))
    ]
    for start, stop, homes in data.draw(st.permutations(parts)):
        some = panel.between(start, stop)
        marks = some.present & np.isin(np.arange(6), homes)
        stream.report(panel.following(some.readings, present=marks, first_step=start))
    seen = {row.step: row for row in stream.rows()}
    stream.close(before=64)
    assert support.numerators(stream.rows()) == support.numerators(rows)
    assert all(row == seen.get(row.step, row) for row in stream.rows())
    assert kept(stream) == ([], [])


@settings(max_examples=40)
@given(data=st.data())
def test_a_block_that_is_out_does_not_know_what_comes(silence, data):
    """Readings of later blocks, whenever they come, change no row of an earlier one, nor of another cycle."""
    panel = town(n=3)
    block = data.draw(st.integers(1, 4))
    end = 4 * SLOTS + block * LENGTH
    other = panel.readings.copy()
    later = data.draw(st.lists(st.integers(0, 100), min_size=3, max_size=3))
    other[end : 5 * SLOTS] = later
    early = data.draw(st.booleans())
    found = []
    for readings in (panel.readings, other):
        one = panel.following(readings, first_step=0)
        stream = begin(one)
        if early:
            stream.report(one.between(end + 1, 5 * SLOTS))
        stream.report(one.between(32, end))
        stream.report(one)
        found.append(support.numerators(stream.rows()))
    assert found[0][: end - 32] == found[1][: end - 32]
    assert found[0][8:] == found[1][8:]


def test_a_step_on_the_calendar_does_not_keep_its_block_open(silence):
    """A block closes without its calendar steps, and one that is all on the calendar is passed over."""
    panel = town()
    known = dn.Panel.from_array(panel.readings, grid=panel.grid, calendar=[33, 34, 35])
    stream = begin(known)
    rows = stream.report(known.between(32, 40))
    assert steps(rows) == [32, 36, 37, 38, 39]
    present = panel.present.copy()
    present[33:36] = False
    less = panel.following(panel.readings, present=present, first_step=0)
    assert support.numerators(rows) == [expected(less, 4)[slot] for slot in (0, 4, 5, 6, 7)]
    assert kept(stream) == ([], [])


def test_a_cycle_whose_rest_goes_onto_the_calendar_is_over(silence):
    """Noise and readings of a cycle are erased when all that was open of it will never come."""
    panel = town()
    stream = begin(panel)
    stream.report(panel.between(32, 36))
    assert kept(stream) == ([32, 33, 34, 35], [4])
    closed = dn.Panel.from_array(panel.readings, grid=panel.grid, calendar=[36, 37, 38, 39])
    stream.report(closed.between(40, 41))
    assert kept(stream) == ([40], [])


def ball_of(events):
    """The squared length of what went out of one household that uses as much as it can, while something happens
    after its first block; what it may be; and its rows.
    """
    readings = np.zeros((8 * SLOTS, 2), dtype=int)
    readings[4 * SLOTS :, 0] = 100
    readings[32:34, 0] = 60
    panel = dn.Panel.from_array(readings, grid=dn.Grid(slots=SLOTS))
    curator = dn.Curator.in_memory(support.ROOMY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "cube", lambda ranges, rate: [0] * len(ranges))
        patch.setattr(noise, "l2_norm", lambda size, rate: [0] * size)
        patch.setattr(Blocks, "to_slots", lambda self, sums: [v for v in sums for _ in range(LENGTH)])
        fields = {**PLAN, "variation_bound": dn.Ellipsoid(radius=120)}
        plan = support.plan_for(panel, **fields)
        stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
        stream.report(panel.between(32, 34))
        events(curator, stream, panel)
        stream.report(panel.between(34, 40))
        stream.close(before=40)
    rows = {row.step: int(row.numerator) for row in stream.rows(32, 40)}
    return sum(rows[step] ** 2 for step in range(32, 40, LENGTH)), LENGTH * 120**2, rows


def on_the_calendar(curator, stream, panel):
    """The first block's steps go onto the calendar, after they were published."""
    closed = dn.Panel.from_array(panel.readings, grid=panel.grid, calendar=[32, 33])
    stream.report(closed.between(50, 51))


EVENTS = {
    "nothing": lambda *_: None,
    "its published steps go onto the calendar": on_the_calendar,
    "its published steps come again, corrected": lambda curator, stream, panel: stream.report(
        panel.following(panel.readings[32:34] // 2, first_step=32)
    ),
    "it is erased": lambda curator, stream, panel: curator.erase("0"),
    "it has moved out, before the first block": lambda curator, stream, panel: curator.move_out("0", 32),
    "it has moved out, within the first block": lambda curator, stream, panel: curator.move_out("0", 33),
    "it moves out later": lambda curator, stream, panel: curator.move_out("0", 37),
}


@pytest.mark.parametrize("event", EVENTS)
def test_whatever_happens_between_blocks_a_household_stays_in_its_ball(event):
    """All that went out of a household in a cycle is within its radius, whatever was said after the first block."""
    used, ball, rows = ball_of(EVENTS[event])
    assert used <= ball
    assert rows[32] == 120
    silent = event.startswith(("it is erased", "it has moved out"))
    assert (used == 120**2) if silent else (used > 0.99 * ball)


def test_readings_of_published_blocks_that_are_dropped_are_caught(monkeypatch):
    """Were a published step's readings dropped with the calendar, the household would have its radius twice."""
    monkeypatch.setattr(closing, "unreportable", lambda known: sorted(known.held.keys() & known.calendar))
    used, ball, _ = ball_of(on_the_calendar)
    assert used > ball


EVENT = st.one_of(
    st.tuples(st.just("report"), st.integers(32, 52), st.integers(1, 9)),
    st.tuples(st.just("half"), st.integers(32, 52), st.integers(1, 9)),
    st.tuples(st.just("calendar"), st.integers(32, 48), st.integers(1, 3)),
    st.tuples(st.just("move out"), st.integers(30, 50), st.just(0)),
    st.tuples(st.just("close"), st.integers(40, 48), st.just(0)),
    st.tuples(st.just("stop"), st.just(0), st.just(0)),
    st.tuples(st.just("erase"), st.just(0), st.just(0)),
)


@settings(max_examples=150)
@given(
    st.lists(EVENT, max_size=14),
    st.lists(st.integers(0, 100), min_size=24, max_size=24),
    st.sampled_from([0, 3]),
)
def test_in_any_course_of_events_a_household_stays_in_its_ball(silence, events, readings, grace):
    """Whatever comes, goes, is closed and is said in whatever order: no row changes, a block's steps come out
    together, and of each cycle at most the radius of a household.
    """
    values = np.zeros((7 * SLOTS, 2), dtype=int)
    values[32:, 0] = readings
    panel = dn.Panel.from_array(values, grid=dn.Grid(slots=SLOTS))
    curator = dn.Curator.in_memory(support.ROOMY)
    fields = {**PLAN, "variation_bound": dn.Ellipsoid(radius=60), "grace": grace}
    plan, told = support.plan_for(panel, **fields), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Blocks, "to_slots", lambda self, sums: [v for v in sums for _ in range(LENGTH)])
        stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
        for kind, step, more in [*events, ("report", 32, 24)]:
            part = panel.between(step, min(step + more, 56)) if kind in ("report", "half") else None
            try:
                if kind == "half":
                    stream.report(
                        panel.following(part.readings, present=part.present & [False, True], first_step=step)
                    )
                elif kind == "report":
                    stream.report(part)
                elif kind == "calendar":
                    closed = dn.Panel.from_array(values, grid=panel.grid, calendar=range(step, step + more))
                    stream.report(closed.between(54, 55))
                elif kind == "move out":
                    curator.move_out("0", step)
                elif kind == "close":
                    stream.close(before=step)
                else:
                    stream.stop() if kind == "stop" else curator.erase("0")
            except StreamError:
                pass  # it has moved out, or was erased, before
            rows = {row.step: int(row.numerator) for row in stream.rows()}
            assert told.items() <= rows.items()
            told = rows
            for cycle in (4, 5, 6):
                blocks = {}
                for at in range(cycle * SLOTS, (cycle + 1) * SLOTS):
                    if at in rows:
                        assert blocks.setdefault(at // LENGTH, rows[at]) == rows[at]
                assert sum(value**2 for value in blocks.values()) <= LENGTH * 60**2
    assert curator.verify().sound


def test_what_is_on_the_calendar_by_now_is_in_no_block(silence):
    """A step that came, and went onto the calendar before its block was over, is neither reported nor in a sum."""
    panel = town()
    stream = begin(panel)
    stream.report(panel.between(32, 33))
    closed = dn.Panel.from_array(panel.readings, grid=panel.grid, calendar=[32])
    stream.report(closed.between(33, 40))
    present = panel.present.copy()
    present[32] = False
    less = panel.following(panel.readings, present=present, first_step=0)
    assert support.numerators(stream.rows()) == expected(less, 4)[1:]


def test_a_stream_stopped_within_a_block_ends_with_its_cycle(silence):
    """The rest of the cycle is still reported with its own noise, and a successor begins after it."""
    panel = town()
    curator = dn.Curator.in_memory(support.ROOMY)
    plan = support.plan_for(panel, **PLAN)
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    stream.report(panel.between(32, 35))
    assert stream.stop() == 40
    stream.report(panel)
    assert support.numerators(stream.rows()) == expected(panel, 4)
    assert kept(stream) == ([], [])
    after = curator.start(
        plan.with_(epsilon="1/2"), history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    after.report(panel)
    assert steps(after.rows()) == list(range(40, 64))


def test_a_plan_may_begin_within_a_cycle(silence):
    """Where only later blocks may be reported, the earlier ones use nothing of anybody's radius."""
    panel = town()
    stream = begin(panel)
    with stream._store.transaction():
        stream._store.change(replace(stream._record(), first_step=35), "stopped", {"step": 0})
    rows = stream.report(panel.between(32, 40))
    assert steps(rows) == [35, 36, 37, 38, 39]
    present = panel.present.copy()
    present[32:35] = False
    less = panel.following(panel.readings, present=present, first_step=0)
    assert support.numerators(rows) == expected(less, 4)[3:]


def test_a_block_goes_on_in_another_process(lasting, monkeypatch):
    """Opened anew in the middle of a cycle, a store has the noise and the readings that the next block needs."""
    panel = town()
    monkeypatch.setattr(noise, "cube", lambda ranges, rate: [0] * len(ranges))
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: [20, 40, 60, 80])
    plan = support.plan_for(panel, **PLAN)
    stream = lasting(budget=support.ROOMY).start(
        plan, history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    stream.report(panel.between(32, 35))
    monkeypatch.setattr(noise, "l2_norm", lambda size, rate: pytest.fail("noise was drawn again"))
    again = lasting().streams()[0]
    again.report(panel.between(35, 40))
    off = np.array(support.numerators(again.rows())) - np.array(expected(panel, 4))
    assert off.tolist() == [10, 10, 20, 20, 30, 30, 40, 40]
    assert lasting().verify().sound


def test_noise_of_blocks_that_is_missing_is_found():
    """A store in which the noise of a published block is gone, so that it would be drawn again, is not sound."""
    panel = town()
    curator = dn.Curator.in_memory(support.ROOMY)
    stream = curator.start(
        support.plan_for(panel, **PLAN), history=panel.first(4), acknowledge="untested", accept_worse=True
    )
    stream.report(panel.between(32, 35))
    assert curator.verify().sound
    with curator._store.transaction():
        curator._store.connection.execute(sa.delete(database.noise))
    assert "noise of plan 1, cycle 4" in str(curator.verify())


def test_a_report_that_fails_within_a_block_leaves_nothing(monkeypatch):
    """An error between noise and rows takes both back: the next try draws anew, for readings nobody has seen."""
    panel = town()
    stream = begin(panel)
    monkeypatch.setattr(Blocks, "to_slots", lambda self, sums: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        stream.report(panel.between(32, 34))
    monkeypatch.undo()
    assert kept(stream) == ([], [])
    assert steps(stream.report(panel.between(32, 34))) == [32, 33]


def test_groups_and_weights_have_blocks_of_their_own(silence):
    """Each group's rows are those of its own households, its weights times what each contributes."""
    panel = town(groups={"side": ["a"] * 15 + ["b"] * 25})
    stream = begin(panel, groups="side", query=dn.Weighted([1] * 15 + [3] * 25))
    rows = stream.report(panel.between(32, 40))
    right = panel.columns(np.arange(15, 40))
    alone = begin(right, query=dn.Weighted([3] * 25)).report(right.between(32, 40))
    assert support.numerators(row for row in rows if row.group == "b") == support.numerators(alone)
