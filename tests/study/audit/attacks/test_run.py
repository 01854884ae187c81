"""All attacks on one population: what comes out, to whom it may be shown, and what is refused."""

import json

import pytest

import diurnal as dn
from diurnal.errors import InputError, PlanError, PrivateError
from diurnal.private import public
from diurnal.study.audit.attacks import ATTACKS, Population, PrivateAttack, attacks
from diurnal.study.audit.attacks.releases import (
    GIVEN,
    NO_NOISE,
    PATTERN,
    STRONG,
    THEOREM_1,
)
from diurnal.study.town import Town
from support import refuses

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("attacks")

MODES = (THEOREM_1, PATTERN, STRONG)


def test_every_attack_has_a_number_for_every_release(found):
    """Nine results; each release has a number within its interval, or was refused with a reason."""
    assert list(found) == list(ATTACKS)
    for attack in found.values():
        assert {each.release for each in attack.outcomes} == {NO_NOISE, *MODES}
        for each in attack.outcomes:
            assert (each.value is None) == bool(each.refused)
            if each.low is not None:
                assert each.low <= each.value + 1e-9
                assert each.value <= each.high + 1e-9
            assert 0 <= attack.learned(each) <= 1


def test_a_made_up_town_s_results_are_public_and_a_real_one_s_are_not(found, population):
    """Results on real homes are private, their plain data too, and hold no home's day; made-up ones pass."""
    for attack in found.values():
        assert json.loads(json.dumps(public(attack.to_json())))["name"] == attack.name
    assert found["profile"].shapes.keys() == {"truth", NO_NOISE, *MODES}
    town = Town(homes=30, days=56, seed=5)
    real = Population.of(town.panel(), domain=town.domain, profile_range=(0, 3000))
    (attack,) = attacks(real, only=["overlapping rosters"])
    assert isinstance(attack, PrivateAttack)
    assert not attack.shapes
    assert "private" in repr(attack)
    for each in (attack, attack.to_json()):
        with pytest.raises(PrivateError):
            public(each)


def test_a_plan_of_one_s_own_is_attacked_beside_the_others(population):
    """It has a number of its own, and a sentence; at a large epsilon strong noise hides little."""
    plan = dn.Plan(
        epsilon="100000",
        domain=population.domain,
        grid=population.panel.grid,
        history=28,
        mechanism="laplace",
        cycle_mechanism="laplace",
        reference=None,
    )
    (attack,) = attacks(population, only=["differencing"], plan=plan)
    assert attack.outcome(GIVEN).value > 0.9
    assert "This plan: " in attack.says


def test_wrong_usage_is_told(population):
    """Unknown attacks, counting plans, panels that are too small and grids that no town has are refused."""
    with refuses(InputError, "attack-unknown"):
        attacks(population, only=["guess"])
    counting = dn.Plan(query=dn.Share(above=500), level="cycle", epsilon="1", domain=(0, 8000))
    with refuses(PlanError, "attack-counting-plan"):
        attacks(population, plan=counting)
    panel = Town(homes=30, days=40).panel()
    with pytest.raises(PlanError, match="28 cycles"):
        Population.of(panel, domain=(0, 8000))
    with pytest.raises(PlanError, match="at least 30 homes"):
        Population.of(Town(homes=29, days=56).panel(), domain=(0, 8000))
    with refuses(PlanError, "domain-missing"):
        Population.of(Town(homes=30, days=56).panel())
    with refuses(PlanError, "town-grid"):
        Population.of(Town(homes=30, days=56).panel().with_period(24), domain=(0, 8000))
