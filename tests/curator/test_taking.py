"""Readings as they come: in parts, late, twice, in another order, of others, on a grid that begins elsewhere."""

import contextlib
import dataclasses
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sqlalchemy as sa

import diurnal as dn
import support
from diurnal.curator import intake
from diurnal.curator.intake import Sent, rehearse, watch_folder
from diurnal.curator.taking import ALARM, REFUSE, Bounds, Run, Scores
from diurnal.errors import ReadingsError, StoreError, UnitError
from diurnal.readings.panel import order_of
from diurnal.study.town import Town
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


def writes(curator, work):
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
    panel = support.town()
    for fields in (support.BASIS, support.BLOCKS, support.SLOTWISE):
        curator = lasting(budget=support.ROOMY)
        plan = support.plan_for(panel, **fields, query=dn.Sum())
        stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
        cycle = stream.plan.grid.slots
        found = writes(curator, lambda stream=stream, cycle=cycle: stream.report(panel.between(16, 16 + cycle)))
        assert all("" in values for table, values in found if table == "noise")
        assert [table for table, _ in found if table == "held"] == []
        assert len(stream.rows()) == cycle
        more = writes(curator, lambda stream=stream: stream.report(panel.between(20, 22)))
        assert any(table == "held" for table, _ in more) or fields == support.SLOTWISE


def test_steps_that_wait_for_their_cycle_are_written_once(lasting):
    """What is complete and waits is not written anew with every step that comes after it."""
    panel = support.town()
    curator = lasting(budget=support.ROOMY)
    plan = support.plan_for(panel, **support.BASIS, query=dn.Sum())
    stream = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    for step in (16, 17, 18):
        found = writes(curator, lambda step=step: stream.report(panel.between(step, step + 1)))
        assert [table for table, _ in found] == ["held"]
    assert [row.step for row in stream.report(panel.between(19, 20))] == [16, 17, 18, 19]


TOWN = Town(homes=99, days=16, gap_rate=0)
PANEL = TOWN.panel()
HISTORY = 14
REFERENCE = dn.Reference(profile=[400] * 48)
"""What everybody knows: a home takes some 400 Wh in half an hour."""


def plan(**more):
    fields = {"grid": PANEL.grid, "domain": (0, 8000), "history": HISTORY, "epsilon": "1", "reference": REFERENCE}
    return dn.Plan(**{**fields, **support.SLOTWISE, "variation_bound": 500, **more})


def started(curator=None, panel=PANEL, **more):
    """A stream, with what its store remembers of how readings looked."""
    curator = curator or dn.Curator.in_memory(support.ROOMY)
    stream = curator.start(plan(**more), history=panel.first(HISTORY), acknowledge="untested", accept_worse=True)
    return curator, stream, stream._record()


def day(number=HISTORY, panel=PANEL):
    return panel.between(48 * number, 48 * number + 48)


def written(part, path, *, times=1.0, column="wh"):
    """Readings as a file, multiplied by a factor, under any name of the column."""
    lines = [f"household,time,{column}"]
    for step, row in zip(part.steps, part.readings, strict=True):
        at = part.grid.wall(step).isoformat()
        lines += [f"{name},{at},{value * times:.6f}" for name, value in zip(part.households, row, strict=True)]
    path.write_text("\n".join([*lines, ""]))
    return path


def imported(path, stream, **said):
    return dn.panel(dn.read(path, minutes=30, **said), like=stream.plan.grid, domain=stream.plan.domain)


def scaled(part, times):
    """A panel whose whole numbers are another unit's."""
    return part.following(np.rint(part.readings * times).astype(np.int64), first_step=part.first_step)


@pytest.mark.parametrize("reference", [REFERENCE, None])
def test_kwh_taken_as_wh_are_refused(reference, tmp_path):
    """A day of 99 homes in kWh, in a column that says Wh, is refused at once, and nothing of it is taken; with a
    public reference, and without one by what any home draws.
    """
    _, stream, _ = started(reference=reference)
    given = imported(written(day(), tmp_path / "day.csv", times=0.001), stream)
    with pytest.raises(UnitError, match=r"thousand times too small .* another unit"):
        stream.report(given)
    assert stream.rows() == []
    assert stream.quality() == {}


@pytest.mark.parametrize("reference", [REFERENCE, None])
def test_wh_taken_as_kwh_are_refused(reference, tmp_path):
    """One step of 99 homes in Wh, in a column that says kWh, is refused: it needs no hundred rows."""
    _, stream, _ = started(reference=reference)
    step = PANEL.between(48 * HISTORY, 48 * HISTORY + 1)
    # A few homes whose readings stay within the domain, so that there is something left to be taken.
    low = step.following(np.where(np.arange(99) < 9, 5, step.readings), first_step=step.first_step)
    with refuses(UnitError, "unit-implausible"):
        stream.report(imported(written(low, tmp_path / "a.csv", column="kwh"), stream))
    assert stream.rows() == []


@pytest.mark.parametrize("homes", [1, 99])
def test_what_lies_above_the_domain_whole_is_another_unit(homes, tmp_path):
    """If no reading is left because most lie above the domain, the import says so, of one row as of many."""
    _, stream, _ = started()
    step = PANEL.between(48 * HISTORY, 48 * HISTORY + 1).columns(np.arange(homes))
    with pytest.raises(UnitError, match=f"{homes} rows are above 8,000 Wh, .* in another unit"):
        imported(written(scaled(step, 100), tmp_path / "a.csv", column="kwh"), stream)


@pytest.mark.parametrize(("times", "direction"), [(0.001, "too small"), (1000, "too large")])
@pytest.mark.parametrize("steps", [1, 48])
def test_homes_that_come_one_by_one_are_found(times, direction, steps, tmp_path):
    """Of a sender that sends one home a batch, or one reading of one, the custodian is told at the fifth home that
    looks wrong, and the tenth is refused.
    """
    curator, stream, record = started(domain=(0, 8000 * 1000))
    scores, told = curator._store.units, []
    # One reading of a home that uses little just then is no evidence, and 1 MWh is no reading.
    first = PANEL.between(48 * HISTORY, 48 * HISTORY + 2).readings
    awake = PANEL.columns(np.flatnonzero(((first > 80) & (first < 999)).all(axis=0)))
    for number in range(REFUSE + 2):
        # The second of two homes is heard of half an hour later: more than one step must say so.
        part = awake.between(48 * HISTORY + number % 2, 48 * HISTORY + number % 2 + steps)
        path = written(part.columns(np.array([number])), tmp_path / f"{number}.csv", times=times)
        try:
            scores.judge(record, imported(path, stream), sender="head-end")
        except UnitError:
            told.append((number + 1, "refused"))
        else:
            told.append((number + 1, *scores.alarms(record.number)))
    assert [each[0] for each in told if direction in each] == list(range(ALARM, REFUSE))
    assert [each[0] for each in told if "refused" in each] == [10, 11, 12]
    assert curator.status().streams[0].units == (direction,)
    assert curator.status().streams[0].refused == 3
    assert f"UNITS: readings look a thousand times {direction}" in str(curator.status())


def test_one_home_is_never_refused():
    """A home that has been all but empty for a year is one home, however often it is heard of."""
    _, _, record = started()
    scores, faint = Scores(), scaled(day().columns(np.array([3])), 0.01)
    for _ in range(365):
        scores.judge(record, faint, sender="gateway")
    assert scores.alarms(record.number) == ()
    assert +scores.looked == {(record.number, "too small"): 365}


def test_zeros_say_nothing():
    """A step at which every home reads 0, as in an outage, speaks for no unit."""
    _, _, record = started()
    found = Scores().look(record, scaled(day(), 0))
    assert (found.says, found.households) == ("not known", 0)


def test_what_an_outage_leaves_of_one_step_is_taken():
    """If every home reads next to nothing in one step, a few seconds into which an outage began, the custodian is
    told and the step is taken; a second such step is refused.
    """
    _, stream, _ = started()
    first = 48 * HISTORY
    stream.report(scaled(PANEL.between(first, first + 1), 0.005))
    assert stream.units == ("too small",)
    assert len(stream.rows()) == 1
    with pytest.raises(UnitError):
        stream.report(scaled(PANEL.between(first + 1, first + 2), 0.005))


def test_a_sender_is_judged_by_its_own_batches():
    """However wrong somebody else's readings are, a sender is answered as if nobody else had sent any: a token
    tells of its own batches alone.
    """
    curators = [started(domain=(0, 8000 * 1000))[0] for _ in range(2)]
    step = 48 * HISTORY
    for number in range(30):
        part = scaled(PANEL.between(step, step + 2).columns(np.array([number])), 1000)
        with pytest.raises(UnitError) if number >= REFUSE - 1 else contextlib.nullcontext():
            intake.take(curators[0], Sent(sender="wrong", key=None, content=""), part)
    assert curators[0].streams()[0].units == ("too large",)
    for times in (1, 1000, 0.005):
        part = scaled(PANEL.between(step + 4, step + 6).columns(np.arange(40, 49)), times)
        sent = Sent(sender="other", key=None, content="")
        answers = [rehearse(curator, sent, part) for curator in curators]
        assert answers[0] == answers[1]
        assert answers[0][1] is None


def test_the_right_unit_is_taken_at_once_after_a_refusal(tmp_path):
    """Sent again in its own unit, under the same key, a batch that was refused is taken."""
    curator, stream, _ = started()
    path = written(day(), tmp_path / "day.csv", times=0.001, column="value")
    sent = Sent(sender="head-end", key="monday", content="")
    with pytest.raises(UnitError):
        intake.take(curator, sent, imported(path, stream, unit="Wh"))
    (fate,) = intake.take(curator, sent, imported(path, stream, unit="kWh"))
    assert (fate.again, fate.taken, fate.units) == (False, 99 * 48, "plausible")


def test_a_custodian_who_trusts_units_takes_them():
    """Where a plan's public reference is wrong, readings are taken once the custodian says so; they are told of."""
    curator, stream, _ = started(reference=dn.Reference(profile=[8000] * 48), domain=(0, 10**6))
    with refuses(UnitError, "unit-implausible") as error:
        stream.report(scaled(day(), 0.1))
    assert "trust_units" in error.value.hint
    curator.trust_units()
    assert len(stream.report(scaled(day(), 0.1))) == 48
    assert stream.units == ("too small",)


def test_a_refusal_shows_no_reading():
    """It says how many households look wrong, and in which direction; nobody's name and no value."""
    _, stream, _ = started()
    with pytest.raises(UnitError) as error:
        stream.report(scaled(day(), 0.005))
    assert error.value.message.startswith(
        "The readings of 97 of 97 households are about a thousand times too small"
    )
    assert not any(name in str(error.value) for name in PANEL.households)


def test_strangers_are_not_judged():
    """Readings of households that are not on the roster speak for no unit."""
    _, _, record = started()
    others = dataclasses.replace(scaled(day(), 100), households=tuple(f"x{n}" for n in range(99)))
    assert Scores().look(record, others).says == "not known"


def test_bounds_are_public():
    """What is plausible is a function of the plan alone: a thousandth, and a thousand times, of the reference lie
    outside, a sixteenth and sixteen times do not.
    """
    bounds = Bounds.of(plan())
    micro = 400 * 10**6
    for factor, expected in (
        (1e-3, (True, False)),
        (1 / 16, (False, False)),
        (16, (False, False)),
        (1e3, (False, True)),
    ):
        order = order_of(np.array([micro * factor]))[0]
        assert (order <= bounds.small[0], order >= bounds.large[0]) == expected
    dusk = Bounds.of(plan(reference=dn.Reference(profile=[10] * 24 + [400] * 24)))
    assert dusk.counts.tolist() == [False] * 24 + [True] * 24
    assert not Bounds.of(plan(reference=None, channel="generation")).small.any()


def test_a_score_is_a_cusum():
    """It rises by one a household, once, falls by one for each that looks right, and begins anew at 0."""
    run = Run()
    run.add([1, 2, 3], 0, [5])
    run.add([1, 2, 4], 0, [5])
    assert (run.score, run.steps) == (4, {5})
    run.add([], 3, [])
    assert run.score == 1
    run.add([], 2, [])
    assert (run.score, run.homes, run.steps) == (0, set(), set())
    run.add([1], 0, [6])
    assert run.score == 1


def test_false_alarms_are_as_rare_as_stated():
    """Where one household in ten looks wrong, the most that is assumed, a score takes at least 9^5 judgements on
    average to come to an alarm, and 9^10 to a refusal: computed exactly, from the mean time from score to score.
    """
    wrong, step, total, reached = Fraction(1, 10), Fraction(0), Fraction(0), {}
    for score in range(1, REFUSE + 1):
        # From score - 1 to score: one judgement, and after one that looks right the way back to where it began.
        step = (1 + (1 - wrong) * step) / wrong
        total += step
        reached[score] = total
    assert reached[ALARM] >= 9**5
    assert reached[REFUSE] >= 9**10


def in_batches(panel, size, most):
    """The readings of a panel step by step, so many a batch."""
    n = panel.n_households
    for start in range(0, min(panel.n_steps * n, size * most), size):
        first, last = start // n, (start + size - 1) // n
        if first == last:
            part = panel.between(panel.first_step + first, panel.first_step + first + 1)
            yield part.columns(np.arange(start % n, start % n + size))
        else:
            part = panel.between(panel.first_step + first, panel.first_step + last + 1)
            index = np.arange(part.n_steps * n).reshape(part.n_steps, n) + first * n
            present = part.present & (start <= index) & (index < start + size)
            yield part.following(part.readings, present=present, first_step=part.first_step)


def alarms(record, panel, size, most=2000):
    """How many batches of honest readings end with an alarm; a refusal is an error."""
    scores = Scores()
    found = 0
    for part in in_batches(panel, size, most):
        scores.judge(record, part, sender="head-end")
        found += bool(scores.alarms(record.number))
    return found


@pytest.mark.parametrize("size", [1, 10, 99, 1000])
@pytest.mark.parametrize("level", [100, 400, 1600])
def test_an_honest_town_is_left_alone(size, level):
    """Of a made-up town, in batches of 1, 10, 99 and 1,000 readings, none is refused and the custodian is told of
    none, even where the public reference is four times too low or too high.
    """
    _, _, record = started(reference=dn.Reference(profile=[level] * 48))
    assert alarms(record, PANEL, size) == 0


@pytest.mark.parametrize("size", [1, 10, 99, 1000])
def test_honest_homes_are_left_alone(size, ausgrid, edrp):
    """Of real Australian homes, held against what Scottish ones use, none is refused and the custodian is told of
    none, in batches of 1, 10, 99 and 1,000 readings.
    """
    panel = dn.Panel.from_array(
        ausgrid.readings[: 48 * 60], present=ausgrid.present[: 48 * 60], households=ausgrid.households
    )
    known = dn.public_reference(edrp.first(edrp.n_cycles))
    curator = dn.Curator.in_memory(support.ROOMY)
    fields = {"grid": panel.grid, "reference": known}
    stream = curator.start(plan(**fields), history=panel.first(HISTORY), acknowledge="untested", accept_worse=True)
    assert alarms(stream._record(), panel.after(HISTORY), size) == 0


def test_files_of_another_unit_are_set_aside(tmp_path):
    """A watched folder moves a file in another unit to bad/, and says why; of homes that land one by one the
    custodian is told from the fifth on.
    """
    _, stream, _ = started(grace=4)
    folder = tmp_path / "in"
    folder.mkdir()
    written(day(), folder / "a.csv", times=0.001)
    (taken,) = watch_folder(stream, folder, once=True, minutes=30)
    assert "another unit" in taken.error
    assert (folder / "bad" / "a.csv").exists()
    written(day(), folder / "b.csv", times=0.001)
    (taken,) = watch_folder(stream, folder, once=True, minutes=30, unit="kWh")
    assert (taken.error, taken.units) == ("", ())
    _, single, _ = started(grace=4)
    for number in range(6):
        written(day().columns(np.array([number])), folder / f"{number}.csv", times=0.001)
    assert [each.units for each in watch_folder(single, folder, once=True, minutes=30)] == [()] * 4 + [
        ("too small",)
    ] * 2


def test_a_panel_cut_or_turned_keeps_the_size_of_its_readings(tmp_path):
    """However an imported panel is cut, a part says of each reading how large it was."""
    _, stream, record = started()
    given = imported(written(day(), tmp_path / "day.csv", times=0.001), stream)
    assert (given.readings == 0).any()
    part = given.columns(np.arange(98, -1, -1)).between(given.first_step + 4, given.first_step + 9)
    found = Scores().look(record, part)
    assert len(found.small) == 99
    assert [len(Scores().look(record, block).small) for block in given.blocks()] == [99]
    closed = given.closing(range(given.first_step, given.first_step + 48))
    assert Scores().look(record, closed).says == "not known"


def test_mean_power_has_the_size_of_its_energy(tmp_path):
    """Rows in W, which average, are as large as the energy of their step; said to be kW, they are not plausible."""
    _, stream, record = started(domain=(0, 8000))
    path = written(day(), tmp_path / "a.csv", times=2, column="value")
    assert Scores().look(record, imported(path, stream, unit="W")).says == "plausible"
    with pytest.raises(ReadingsError):
        stream.report(imported(path, stream, unit="kW"))
