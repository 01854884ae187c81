"""The contract of every level in the registry: plans here are made from what a level says of itself."""

import itertools
import string

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.promise.budget import NOTHING
from diurnal.promise.levels import LEVELS
from diurnal.show.page import words
from diurnal.study.audit.exact import worst_cases
from diurnal.study.audit.transcripts import canaries, to_audit

every_level = pytest.mark.parametrize("level", LEVELS.values(), ids=lambda level: level.name)
WORDS = ("promised", "uncounted", "noise", "apart", "unit", "known_as", "unhidden")
SENTENCES = ("neighbours", "limits", "unprotected")


def plan_of(level, panel, **more):
    """A small plan of a level, from what the level says that it needs."""
    fields = {
        "level": level.name,
        "query": dn.Share(above=50) if level.counts else dn.Mean(),
        "history": 4 if level.learns else 0,
        **dict.fromkeys(level.mechanism_fields, "laplace"),
        **({"variation_bound": 30} if level.noisy_variations else {}),
    }
    return support.plan_for(panel, **{**fields, **more})


@every_level
def test_a_level_has_the_layers_that_it_says(level):
    """A profile is hidden where profiles are learned, a cycle where one is hidden, each at its own epsilon."""
    plan = plan_of(level, support.town())
    pattern, cycle = plan.pattern_layer(), plan.cycle_layer()
    assert (pattern is not None, cycle is not None) == (level.learns, level.hides_cycle)
    assert level.layers == len([layer for layer in (pattern, cycle) if layer is not None]) >= 1
    for layer, epsilon in ((pattern, plan.eps_z), (cycle, plan.eps_w)):
        assert layer is None or layer.loss.epsilon == epsilon
    assert [loss is not NOTHING for loss in plan.losses.values()] == [level.learns, level.hides_cycle]
    assert len(plan.mechanisms) == level.layers


@every_level
def test_every_layer_has_its_neighbours_and_every_guarantee_all_of_them(level):
    """There is one kind of neighbours a layer, and a guarantee says each with its limits."""
    promise = plan_of(level, support.town()).guarantee()
    assert len(level.neighbours) == level.layers
    said = str(promise)
    for part in (*level.neighbours, *level.limits):
        assert part in said
    assert promise.unit in said


@every_level
def test_what_is_exact_is_not_hidden_and_what_is_noisy_is(level):
    """Variations are exact, noisy or not reported at all; exact ones leave no cycle hidden."""
    assert not (level.exact_variations and level.noisy_variations)
    if level.exact_variations:
        assert level.learns
        assert not level.hides_cycle
    if level.noisy_variations:
        assert level.learns
        assert level.hides_cycle
    if level.profile_is_public:
        assert level.learns


@every_level
def test_a_level_has_all_its_words(level):
    """Each text can be filled in with what a cycle is called, and nothing else is left open."""
    told = {"cycle": "day", "larger": "so much", "allows": "epsilon allows"}
    texts = [getattr(level, name) for name in WORDS] + [said for name in SENTENCES for said in getattr(level, name)]
    for said in texts:
        assert {field for _, field, _, _ in string.Formatter().parse(said) if field is not None} <= set(told)
        filled = said.format(**told)
        assert filled == filled.strip()
        assert "  " not in filled
    for said in (level.promised, level.noise, level.apart, level.unhidden, *level.limits):
        assert said.endswith(".")
    short = words.in_short(plan_of(level, support.town()))
    assert all(short[part] for part in ("promised", "rests", "not"))


def test_a_ledger_tells_levels_by_their_first_letters():
    """No two levels have the same: a head holds nothing else of them."""
    assert len({level.letter for level in LEVELS.values()}) == len(LEVELS)
    assert all(level.letter.isalpha() and LEVELS[level.name] is level for level in LEVELS.values())


@pytest.mark.parametrize(
    ("one", "two"), itertools.combinations_with_replacement(LEVELS.values(), 2), ids=lambda level: level.name
)
def test_levels_that_conflict_are_refused_beside_each_other(one, two):
    """Whichever is started first, over the same homes and steps; and others are not refused."""
    assert one.conflict(two) == two.conflict(one)
    assert one.conflict(one) is None
    assert one.follows(one)
    panel = support.town()
    for first, second in ((one, two), (two, one)):
        curator = dn.Curator.in_memory(support.ROOMY)
        begin(curator, panel, plan_of(first, panel))
        other = plan_of(second, panel, epsilon="2")
        if first.conflict(second) is None:
            begin(curator, panel, other)
        else:
            with pytest.raises(dn.errors.OverlapError):
                begin(curator, panel, other)


@every_level
def test_a_plan_of_a_level_lives(level):
    """It is read as written, starts, reports each step once, and shows its noisy profile only if that is public."""
    panel = support.town()
    plan = plan_of(level, panel)
    assert dn.Plan.from_json(plan.to_json()) == plan
    stream = begin(dn.Curator.in_memory(support.ROOMY), panel, plan)
    rows = stream.report(panel.after(plan.history))
    assert len(rows) == panel.after(plan.history).n_steps
    assert stream.report(panel.after(plan.history)) == rows
    if level.profile_is_public:
        assert all(len(values) == panel.grid.slots for values in stream.noisy_profile.values())
    else:
        with pytest.raises(dn.errors.StreamError):
            _ = stream.noisy_profile


@every_level
def test_whole_laws_of_small_cases_keep_the_promise(level):
    """For each promise of a level there is a worst pair of neighbours, which loses no more than is promised."""
    plan = to_audit(plan_of(level, support.town()))
    found = worst_cases(plan, tries=20, rng=np.random.default_rng(1))
    assert len(found) >= level.layers
    for case in found:
        assert case.kept, case
    assert {canary.main for canary in canaries(plan, 2)} >= {True}


def begin(curator, panel, plan):
    return curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)
