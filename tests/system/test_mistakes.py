"""Mistakes a newcomer makes: each gets a DiurnalError with a remedy, never a bare traceback or a wrong result."""

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.errors import DiurnalError
from diurnal.promise import noise

PANEL = support.town(groups={"side": ["a", "b"] * 20})
PLAN = support.plan_for(PANEL)


def running():
    return support.start(PANEL, PLAN)


MISTAKES = {
    "an array as history": lambda: dn.Curator.in_memory().start(PLAN, history=PANEL.readings),
    "a number as history": lambda: dn.Curator.in_memory().start(PLAN, history=10),
    "arguments swapped": lambda: dn.Curator.in_memory().start(PANEL, history=PLAN),
    "a plan as a string": lambda: dn.Curator.in_memory().start("plan", history=PANEL),
    "a budget as a string": lambda: dn.Curator.in_memory("1"),
    "an array to report": lambda: running().report(PANEL.readings),
    "no panel to report": lambda: running().report(None),
    "an array's shape to predict": lambda: dn.predict(PLAN, PANEL.readings.shape),
    "open data as an array": lambda: dn.predict(PLAN, PANEL, open_data=PANEL.readings),
    "a reference from an array": lambda: dn.public_reference(PANEL.readings),
    "a reference from half a cycle": lambda: dn.public_reference(PANEL.between(0, 3)),
    "a reference without a slot": lambda: dn.public_reference(
        dn.Panel.from_array(PANEL.readings, grid=PANEL.grid, calendar=range(1, 48, 4))
    ),
    "no groups": lambda: dn.Shape(group_sizes=()),
    "an empty group": lambda: dn.Shape(group_sizes=(0,)),
    "a size below zero": lambda: dn.Shape(group_sizes=(-3,)),
    "dates as a calendar": lambda: dn.Panel.from_array([[1]], calendar=["2012-10-07"]),
    "broken steps as a calendar": lambda: dn.Panel.from_array([[1]], calendar=[1.7]),
    "one step as a calendar": lambda: dn.Panel.from_array([[1]], calendar=7),
    "groups as a list": lambda: dn.Panel.from_array([[1]], groups=["a"]),
    "groups as a mapping of homes": lambda: dn.Panel.from_array([[1]], groups={"g": {"home": "hill"}}),
    "a text as a group": lambda: dn.Panel.from_array([[1]], groups={"g": "a"}),
    "a number of households": lambda: dn.Panel.from_array([[1]], households=1),
    "a grid as text": lambda: dn.Panel.from_array([[1]], grid="1d"),
    "a broken first step": lambda: dn.Panel.from_array([[1]], first_step=1.5),
    "a text as first step": lambda: dn.Panel.from_array([[1]], first_step="x"),
    "half a cycle": lambda: PANEL.first(1.5),
    "a partition that is not there": lambda: PANEL.roster("suburb"),
    "a name as a list of names": lambda: PANEL.without("12"),
    "a name nobody has": lambda: PANEL.without(["4711"]),
    "nobody left": lambda: PANEL.without(PANEL.households),
    "an anchor that is no text": lambda: dn.Grid(anchor=5),
    "a zone that is none": lambda: dn.Grid(zone=None),
    "a step beyond the calendar": lambda: running().report(PANEL.following(PANEL.readings[:4], first_step=10**12)),
    "one weight": lambda: dn.Weighted(3),
    "one edge": lambda: dn.Histogram(5),
    "a domain in another unit": lambda: support.start(PANEL, PLAN.with_(domain=(0, 5))),
    "a Gaussian plan under a pure budget": lambda: dn.Curator.in_memory().start(
        PLAN.with_(mechanism="gaussian", delta="1e-6"),
        history=PANEL.first(4),
        acknowledge="untested",
        accept_worse=True,
    ),
    "the wrong way round": lambda: dn.Panel.from_array(PANEL.readings.T, grid=dn.Grid()).first(1),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_a_sentence_and_a_remedy(name):
    """It raises a DiurnalError whose text has a hint."""
    with pytest.raises(DiurnalError, match="Hint:"):
        MISTAKES[name]()


@pytest.mark.parametrize(
    "fields",
    [
        {"cycle_mechanism": "cube", "cycle_epsilon": "0.33333333333333333333"},
        {"cycle_mechanism": "laplace", "cycle_epsilon": "1e-20"},
        {"cycle_mechanism": "basis", "cycle_basis": dn.Basis(size=3), "cycle_epsilon": "1e-20"},
        {"mechanism": "cube", "epsilon": "0.33333333333333333333", "cycle_mechanism": "cube"},
    ],
    ids=str,
)
def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_spent(fields, monkeypatch):
    """A layer whose noise does not fit is found at the start, not at the first report."""
    for sampler in ("laplace", "cube", "gaussian", "l2_norm"):
        monkeypatch.setattr(noise, sampler, lambda *a: pytest.fail("noise was drawn"))
    curator = dn.Curator.in_memory(support.ROOMY)
    plan = PLAN.with_(**{"level": "strong", **fields})
    with pytest.raises(DiurnalError, match="Hint:"):
        curator.start(plan, history=PANEL.first(4), acknowledge="untested", accept_worse=True)
    assert curator.streams() == []


def test_errors_show_no_reading():
    """Whatever is wrong with readings, the error names places and kinds, never a value."""
    secret = 987123
    wrong = [
        lambda: dn.Panel.from_array([[float(secret)]]),
        lambda: dn.Panel.from_array(np.array([[secret]], dtype=np.uint64)),
        lambda: dn.Panel.from_array([[secret, 1], [2]]),
        lambda: support.start(support.small_panel(np.full((16, 20), secret), slots=4), PLAN),
    ]
    for mistake in wrong:
        with pytest.raises(DiurnalError) as caught:
            mistake()
        assert str(secret) not in str(caught.value)
