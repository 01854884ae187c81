"""What a curator must not do, tried on the real one and on broken ones."""

import pytest

from diurnal import Grid, Plan
from diurnal.curator import guard
from diurnal.study.audit.refusals import refusals


def plan(level):
    fields = {"domain": (0, 100), "epsilon": "1", "grid": Grid(slots=2), "history": 3, "minimum_group": 3}
    if level == "strong":
        fields |= {"cycle_mechanism": "laplace", "variation_bound": 50}
    return Plan(level=level, mechanism="laplace", **fields)


@pytest.mark.parametrize("level", ["pattern", "strong"])
def test_the_shipped_curator_refuses_what_it_must(level):
    """Every try is refused, or left out of reports; each is tried once, and what is tried depends on the level."""
    facts = refusals(plan(level))
    assert all(fact.held for fact in facts)
    found = {fact.name for fact in facts}
    assert len(found) == len(facts)
    assert ("refused: two rosters that differ by one home" in found) == (level == "pattern")
    assert ("refused: a history that another strong plan reports" in found) == (level == "strong")


def test_a_guard_that_lets_a_history_through_is_found(monkeypatch):
    """Without the check of histories that one fact does not hold, and it says that it was not refused."""
    monkeypatch.setattr(guard, "check_history", lambda *_: None)
    broken = [fact for fact in refusals(plan("strong")) if not fact.held]
    assert [fact.name for fact in broken] == ["refused: a history that another strong plan reports"]
    assert broken[0].says == "It was not refused."
