"""Which promise is stronger."""

import itertools

import pytest

from diurnal.study.baselines import Promise, rivals
from diurnal.study.standing import PROTECTED, Error, best, better, standing


def promised(protects, delta=0.0):
    return Promise(protects=protects, over="for ever", when="continual", sentence="Some words.", delta=delta)


def stands(one, other):
    return standing(promised(one), promised(other))


def test_promises_stand_in_an_order():
    """Stronger is never mutual, passes on, and its other side is weaker; a pattern and a day are another matter."""
    kinds = [
        promised(kind, delta) for kind in PROTECTED if kind not in ("nothing", "fails") for delta in (0.0, 1e-6)
    ]
    for one, other in itertools.product(kinds, kinds):
        there, back = standing(one, other), standing(other, one)
        assert (there, back) in {
            ("the same", "the same"),
            ("another", "another"),
            ("stronger", "weaker"),
            ("weaker", "stronger"),
        }
        for third in kinds:
            if there == "stronger" == standing(other, third):
                assert standing(one, third) == "stronger", (one, other, third)
    assert stands("pattern", "one day") == stands("pattern", "one reading") == "another"
    assert stands("pattern, day", "pattern") == stands("everything", "pattern, day") == "stronger"
    assert stands("fails", "pattern") == stands("everything", "nothing") == "none"


def test_pattern_and_day_is_neither_more_nor_less_than_a_day():
    """Across midnight it costs two cycles, and a history cycle may not be covered; a day leaks the pattern."""
    assert {stands("pattern, day", each) for each in ("one day", "calendar day", "one reading")} == {"another"}


def test_a_pattern_that_is_not_used_is_better_hidden_than_one_that_is():
    """eps_z = 0 is stronger than any pattern plan, and does not hide a day."""
    assert stands("pattern at 0", "pattern") == "stronger"
    assert stands("pattern at 0", "pattern, day") == stands("pattern at 0", "everything") == "another"


def test_any_consecutive_steps_are_more_than_a_calendar_day():
    """Midnight to midnight is one of the ways to have so many steps in a row."""
    assert stands("one day", "calendar day") == "stronger"


@pytest.mark.parametrize("hides", ["everything", "one day", "pattern"])
def test_a_promise_that_may_fail_is_never_stronger(hides):
    """With a delta, hiding as much is weaker than without, and hiding more is another matter."""
    assert standing(promised(hides, 1e-6), promised(hides)) == "weaker"
    assert standing(promised("everything", 1e-6), promised("one reading")) == "another"
    assert standing(promised("one reading", 1e-6), promised("everything")) == "weaker"


def test_every_promise_has_its_standing(task):
    """Whatever a rival says to protect is in the order of the table, and those with least error are found."""
    promises = {each.name: each.promise(task) for each in rivals()}
    assert {each.protects for each in promises.values()} == set(PROTECTED)
    errors = dict.fromkeys(promises, 1.0)
    errors |= {"Fourier": 0.5, "constant": 0.4, "strong, chosen": 0.7, "PeGaSus": 0.1, "Corollary 1, printed": 0.2}
    errors |= {"repair, Laplace": 0.3, "cube": 0.6}
    assert better("strong, chosen", {name: Error.known(each) for name, each in errors.items()}, promises) == {
        "another": ["PeGaSus"],
        "none": ["Corollary 1, printed"],
        "stronger": ["constant", "Fourier"],
        "the same": ["repair, Laplace"],
        "weaker": ["cube"],
    }
    assert best(errors, promises, "everything") == "constant"
    assert best({}, promises, "everything") is None


def test_who_may_have_less_error_is_named_too(task):
    """Where intervals overlap, errors cannot be told apart, whichever is smaller."""
    promises = {name: promised("one day") for name in "abc"}
    errors = {"a": Error(1.0, 1.0, 1.0), "b": Error(1.1, 0.9, 1.3), "c": Error(1.4, 1.2, 1.6)}
    assert better("a", errors, promises) == {"the same": ["b"]}
    assert errors["b"].alike(errors["a"])
    assert not errors["c"].alike(errors["a"])
