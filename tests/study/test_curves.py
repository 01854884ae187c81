"""Errors against epsilon, households and horizon."""

import pytest

from diurnal.study.baselines import OURS, PAPER, Split, Window
from diurnal.study.curves import curves

SMALL = (*PAPER, Split(name="one day", span="cycle"), Window(), *OURS)


def test_ours_are_at_every_place_of_a_curve(task):
    """Fewer households than a plan can be started for are not tried."""
    found = curves(task, epsilons=["1"], cycles=[16], draws=2).curve("households")
    assert min(found.at) == 15
    assert len(found.errors["pattern, chosen"]) == len(found.at)


def test_curves_go_the_way_they_must(task):
    """Noise falls with epsilon and with households; a split's grows with the horizon, Theorem 1's does not."""
    found = curves(task, sizes=[10, 30, 300], cycles=[4, 8, 16], baselines=SMALL, draws=2).to_json()
    assert found.pop("draws") == 2
    assert set(found) == {"epsilon", "households", "cycles"}
    for axis in found.values():
        assert set(axis["relative_error"]) == {each.name for each in SMALL}
        assert all(len(row) == len(axis["at"]) for row in axis["relative_error"].values())
        assert set(axis["within"]) == {"w-event BD"}
    names = ("split Laplace", "Theorem 1")
    split, one = ({axis: list(found[axis]["relative_error"][name]) for axis in found} for name in names)
    assert split["epsilon"] == sorted(split["epsilon"], reverse=True)
    assert split["households"][1] == pytest.approx(10 * split["households"][2])
    assert split["cycles"][2] == pytest.approx(4 * split["cycles"][0])
    assert one["cycles"][2] == pytest.approx(one["cycles"][0])
