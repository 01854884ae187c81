import pytest

import diurnal as dn
from diurnal.errors import PlanError
from diurnal.study.planted import planted
from support import refuses


@pytest.fixture(scope="module")
def town():
    """A panel of 30 homes, its verdict with a longer period, and a plan."""
    panel = planted("weekday", 1.0, homes=30, cycles=56, slots=4)
    plan = dn.Plan(epsilon="1", domain=(0, 2000), history=14, grid=panel.grid, level="pattern", mechanism="cube")
    return panel, dn.check(panel, periods=[28]), plan


def rows(town, plan=None):
    panel, verdict, own = town
    return {row.period.slots: row for row in dn.trade(plan or own, verdict, panel).rows}


def test_the_plans_own_period_costs_what_is_predicted(town):
    """With the plan's own period the error is that of `predict`; with another that of the plan so changed."""
    panel, _, plan = town
    found = rows(town)
    assert found[4].error == dn.predict(plan, panel).row("cube").errors.step
    weekly = plan.with_(grid=panel.with_period(28).grid, history=2)
    assert found[28].error == dn.predict(weekly, panel.with_period(28)).row("cube").errors.step
    assert found[28].error > found[4].error
    assert found[28].period.largest < found[4].period.largest


def test_a_reference_is_repeated_for_a_longer_period(town):
    """A day's reference serves a week as seven days of it; for a part of it there is none."""
    plan = town[2].with_(reference=dn.Reference(profile=[400, 500, 600, 500]))
    found = rows(town, plan)
    assert found[28].mechanism == "cube"
    assert found[28].error is not None


def test_a_plan_that_does_not_fit_a_period_says_why(town):
    """Bounds of four slots do not fit another period: the row has the reason instead of an error."""
    plan = town[2].with_(body=dn.Body(low=0, high=[100, 200, 200, 100]))
    found = rows(town, plan)
    assert found[4].error is not None
    assert found[28].error is None
    assert found[28].note


def test_other_steps_are_refused(town):
    """A plan with steps of another length is no plan for this verdict; nor is something else a plan or a shape."""
    panel, verdict, plan = town
    with refuses(PlanError, "verdict-other-grid"):
        dn.trade(plan.with_(grid=dn.Grid(slots=4, minutes=60)), verdict, panel)
    for wrong in ((None, verdict, panel), (plan, panel, panel), (plan, verdict, None)):
        with refuses(PlanError, "argument-type"):
            dn.trade(*wrong)


def test_the_table_fits_a_terminal(town):
    """The table has no line wider than 80 columns, says whom it is for, and its JSON says what it counts."""
    panel, verdict, plan = town
    found = dn.trade(plan, verdict, panel)
    assert max(map(len, str(found).splitlines())) <= 80
    assert "custodian" in str(found)
    assert found.to_json()["unit"] == "Wh"
