import numpy as np
import pytest

import support
from diurnal.errors import PlanError, PrivateError, ReadingsError
from diurnal.private import public
from diurnal.study.baselines import task_of
from support import refuses


def test_the_truth_is_the_mean_of_the_households(task):
    """F is the mean at every reported step, and the history is not reported."""
    assert task.truth == pytest.approx(task.panel.readings.mean(axis=1))
    assert (task.n, task.slots, task.cycles, task.steps) == (30, 8, 16, 128)
    assert task.history.n_cycles == 8


def test_gaps_are_filled_alike_for_all():
    """A missing reading is the household's floor mean in that slot, so every rival gets the same numbers."""
    readings = np.array([[4, 1], [6, 2], [9, 3], [8, 4]] * 2)
    present = np.ones_like(readings, dtype=bool)
    present[4, 0] = False
    panel = support.small_panel(readings, present=present)
    other = support.small_panel(readings + 1)
    task = task_of(panel.after(1), history=panel.first(1), epsilon="1", open_data=other, domain=(0, 10))
    # In slot 0 the first household has 9 and 9 besides the gap.
    assert task.panel.readings[2, 0] == 9
    assert task.panel.present.all()


def test_readings_are_cut_off_at_levels(task):
    """The mean of readings cut off, and the sensitivity that goes with it; never above the domain."""
    top = task.top(1)
    assert top == round(task.level)
    assert task.clamped(1) == pytest.approx(np.minimum(task.panel.readings, top).mean(axis=1))
    assert task.reach(1) == pytest.approx(top / 30)
    assert task.reach() == task.reach(1000) == pytest.approx(100 / 30)


def test_the_truth_is_never_cut_off(make):
    """It is the mean of the readings themselves: what is not cut off is the truth, for every rival."""
    task = make(domain=(0, 98))
    assert task.panel.readings.max() <= 98
    assert task.truth == pytest.approx(task.panel.readings.mean(axis=1))
    assert (task.clamped(None) == task.truth).all()


@pytest.mark.parametrize("where", ["panel", "history"])
def test_readings_outside_the_domain_are_refused_and_not_shown(where):
    """How many there are and what to do about it, and no value of any."""
    panel, other = support.town(n=20, slots=8, cycles=16), support.town(n=20, slots=8, seed=2)
    readings = panel.readings.copy()
    readings[3 if where == "history" else 100, 5:7] = 4321
    panel = support.small_panel(readings, slots=8)
    with pytest.raises(ReadingsError, match="2 readings are outside the domain") as refused:
        task_of(panel.after(8), history=panel.first(8), epsilon="1", open_data=other, domain=(0, 100))
    assert "4321" not in f"{refused.value.message}{refused.value.hint}"
    assert "wider" in refused.value.hint


def test_missing_readings_are_not_outside():
    """What stands in a gap is no reading: a domain above 0 is kept by filling it."""
    readings = np.full((8, 3), 50)
    present = np.ones_like(readings, dtype=bool)
    present[[1, 3, 5, 7], 0] = False
    panel = support.small_panel(np.where(present, readings, 0), present=present)
    task = task_of(panel, epsilon="1", open_data=support.small_panel(readings + 1), domain=(40, 60))
    assert task.panel.readings[1, 0] == 40


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mean_reading": 0.0}, "mean_reading"),
        ({"mean_reading": float("nan")}, "mean_reading"),
        ({"mean_reading": float("inf")}, "mean_reading"),
        ({"domain": (8000, 0)}, "domain"),
        ({"domain": (5, 5)}, "domain"),
        ({"profile_range": (3, 1)}, "profile_range"),
    ],
)
def test_what_cannot_be_publicly_known_is_refused(make, more, words):
    """A level is a finite number above 0, a range goes from less to more."""
    with pytest.raises(PlanError, match=words):
        make(**more)


def test_more_copies_have_the_same_mean_and_less_weight(task):
    """Ten of each household: the same truth, a tenth of the sensitivity."""
    many = task.at(copies=10)
    assert many.truth == pytest.approx(task.truth)
    assert many.reach() == pytest.approx(task.reach() / 10)


def test_fewer_cycles_and_households_are_cut_from_the_task(task):
    """The first cycles, some columns, and nothing remembered of the whole."""
    assert task.truth.size == 128
    assert task.at(cycles=3).truth == pytest.approx(task.truth[:24])
    few = task.among(np.array([1, 4]))
    assert few.truth == pytest.approx(task.panel.readings[:, [1, 4]].mean(axis=1))


def test_a_history_is_brought_to_the_panel_s_households():
    """Of a history with others besides, and in another order, each household's own column is taken."""
    panel, other = support.town(n=6, slots=4, cycles=6), support.town(n=5, slots=4, seed=2)
    given = {"epsilon": "1", "open_data": other, "domain": (0, 100)}
    order = np.array([5, 3, 1, 0])
    task = task_of(panel.after(3).columns(np.array([1, 2, 3, 5])), history=panel.first(3).columns(order), **given)
    places = [1, 3, 5]
    assert task.panel.households == tuple(panel.households[place] for place in places)
    assert (task.panel.readings == panel.after(3).readings[:, places]).all()
    assert (task.history.readings == panel.first(3).readings[:, places]).all()


def test_a_history_that_cannot_be_one_is_refused():
    """It comes after the panel, or is of other households, or on another grid."""
    panel, other = support.town(n=6, slots=4, cycles=6), support.town(n=5, slots=4, seed=2)
    given = {"epsilon": "1", "open_data": other, "domain": (0, 100)}
    with refuses(ReadingsError, "history-overlaps-panel"):
        task_of(panel.first(3), history=panel.after(2), **given)
    with refuses(ReadingsError, "history-other-households"):
        task_of(panel.after(3).columns(np.array([0])), history=panel.first(3).columns(np.array([1])), **given)
    with refuses(ReadingsError, "grid-differs"):
        task_of(panel.after(3), history=support.town(n=6, slots=8), **given)


def test_open_data_must_be_public_and_of_such_a_cycle():
    """The private readings, and those of another cycle, are refused."""
    panel = support.town(n=6, slots=4, cycles=6)
    with refuses(PlanError, "open-data-private"):
        task_of(panel.after(3), history=panel.first(3), epsilon="1", open_data=panel, domain=(0, 100))
    with pytest.raises(PlanError, match="8 of"):
        task_of(panel, epsilon="1", open_data=support.town(n=6, slots=8, seed=2), domain=(0, 100))


def test_open_data_is_brought_to_the_public_level(make):
    """A level scales the open readings, hence the reference."""
    task = make(mean_reading=50.0)
    assert task.level == pytest.approx(50, abs=1)
    assert task.open_data.readings.mean() == pytest.approx(50, abs=0.5)


def test_a_task_is_private(task):
    """It holds readings: nothing of it is shown, and it does not pass as public."""
    assert "private" in repr(task)
    with pytest.raises(PrivateError):
        public(task)


def test_what_makes_no_task_is_refused():
    """No domain, or a single cycle."""
    panel, other = support.town(cycles=1), support.town(seed=2)
    with refuses(PlanError, "compare-too-short"):
        task_of(panel, epsilon="1", open_data=other, domain=(0, 100))
    longer = support.town(cycles=4)
    with refuses(PlanError, "domain-missing"):
        task_of(longer, epsilon="1", open_data=other)
    assert task_of(longer, epsilon="1", open_data=other, domain=(0, 100)).cycles == 2
