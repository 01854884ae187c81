"""Readings in another unit are found by what is public, at any size of batch; honest ones are left alone."""

import contextlib
import dataclasses
from fractions import Fraction

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.curator import intake
from diurnal.curator.intake import Sent, rehearse, watch_folder
from diurnal.curator.taking import ALARM, REFUSE, Bounds, Run, Scores
from diurnal.errors import ReadingsError, UnitError
from diurnal.readings.panel import order_of
from diurnal.study.town import Town
from support import refuses

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
