"""What is settled as a plan is started: whether it fits, what is chosen for it, and whether it is worth it."""

import itertools
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import diurnal as dn
import support
from diurnal.errors import (
    LimitError,
    PlanError,
    QueryError,
    ReadingsError,
    WorseError,
)
from diurnal.planning import planner
from diurnal.planning.accuracy import report_error
from diurnal.planning.planner import worse_than_nothing
from diurnal.promise import noise
from diurnal.show.cli import app
from support import refuses

HOMES, HISTORY = 100, 3


def homes(seed=1, n=HOMES, mean=200):
    """Days of half hours of homes that use 200 Wh on average."""
    rng = np.random.default_rng(seed)
    return dn.Panel.from_array(rng.integers(0, 2 * mean, size=(48 * 5, n)))


def plan(**more):
    """A plan for which nobody has chosen bounds."""
    return dn.Plan(**{"epsilon": "1", "domain": (0, 8000), "history": HISTORY, **more})


def start(curator, panel, wanted, **more):
    history = panel.first(wanted.history)
    return curator.start(wanted, history=history, acknowledge="untested", **more)


LEVELS = {
    "strong": {},
    "pattern": {"level": "pattern"},
    "base load": {"level": "pattern", "statistic": "base-load"},
    "sum": {"query": dn.Sum()},
    "share": {"level": "cycle", "query": dn.Share(above=500), "history": 0},
    "histogram": {"level": "cycle", "query": dn.Histogram((100, 300, 900)), "history": 0},
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_plan_worse_than_nothing_is_refused_before_anything_is_drawn(level, monkeypatch):
    """At every level such a plan is a WorseError: nothing is drawn, and the store has nothing of it."""

    def drawn(*given):
        pytest.fail("something was drawn")

    for name in ("laplace", "gaussian", "cube", "l2_norm"):
        monkeypatch.setattr(noise, name, drawn)
    curator = dn.Curator.in_memory()
    before = curator.ledger()
    counts = "cycle" in LEVELS[level].values()
    few = homes(n=15 if counts else HOMES)
    with refuses(WorseError, f"plan-worse-than-nothing{'-counts' if counts else ''}") as caught:
        start(curator, few, plan(**LEVELS[level]))
    assert "accept_worse=True" in caught.value.hint
    assert curator.ledger() == before
    assert curator.streams() == []
    assert curator.status().pattern[0] == curator.status().strong[0] == 0


def test_noise_of_3233_at_a_mean_of_200_is_refused():
    """The plan that was started for years without a word: its noise is sixteen times the mean reading."""
    chosen = dn.choose(plan(), homes())
    row = dn.predict(chosen, homes()).row(chosen.mechanisms_text)
    assert row.std == pytest.approx(3233, abs=1)
    said = worse_than_nothing(chosen, HOMES).message
    assert "the error of a report of 100 households is 3,233 Wh, that of nothing at all 400" in said


@pytest.mark.parametrize("level", LEVELS)
def test_a_plan_worse_than_nothing_is_started_where_that_is_accepted(level):
    """accept_worse=True starts it; asked again without that, the same stream is found and nothing is spent."""
    few = homes(n=15 if "cycle" in LEVELS[level].values() else HOMES)
    curator = dn.Curator.in_memory()
    stream = start(curator, few, plan(**LEVELS[level]), accept_worse=True)
    spent = curator.status()
    assert start(curator, few, plan(**LEVELS[level])).plan == stream.plan
    assert curator.explain(plan(**LEVELS[level]), few.first(plan(**LEVELS[level]).history)) == [
        "It has been started: this is the same stream, and nothing is spent."
    ]
    assert curator.status().pattern == spent.pattern
    assert len(curator.streams()) == 1


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_refused_does_not_depend_on_readings(level):
    """Homes that use nothing, and homes that use all that a meter can read, hear the same words."""
    n = 15 if "cycle" in LEVELS[level].values() else HOMES
    said = set()
    for panel in (homes(), homes(seed=2, mean=4000), dn.Panel.from_array(np.zeros((240, HOMES), dtype=int))):
        some = panel.columns(np.arange(n))
        with pytest.raises(WorseError) as caught:
            start(dn.Curator.in_memory(), some, plan(**LEVELS[level]))
        said.add(str(caught.value))
    assert len(said) == 1


def test_what_is_publicly_known_makes_a_plan_that_is_started():
    """The same homes and epsilon with bounds from a public mean are started without a word."""
    wanted = dn.with_public_bounds(plan(), homes(), mean_reading=200)
    assert start(dn.Curator.in_memory(), homes(), wanted).plan.reference is not None


@pytest.mark.parametrize("level", ["strong", "pattern"])
def test_a_reference_without_bounds_is_compared_with_itself(level):
    """With a public reference and the domain as bounds, nothing at all is the reference: the plan is refused."""
    reference = dn.with_public_bounds(plan(), homes(), mean_reading=200).reference
    named = {"mechanism": "cube", **({"cycle_mechanism": "cube"} if level == "strong" else {})}
    wanted = plan(level=level, reference=reference, **named)
    with refuses(WorseError, "plan-worse-than-nothing"):
        start(dn.Curator.in_memory(), homes(), wanted)


@pytest.mark.parametrize("level", LEVELS)
def test_more_homes_are_better_than_nothing(level):
    """Every plan that is refused for few homes is taken for enough of them, and for more than these."""
    wanted = dn.choose(plan(**LEVELS[level], minimum_group=1), homes())
    refused = [worse_than_nothing(wanted, n) is not None for n in (2, 10, 100, 1000, 10_000, 10**6)]
    assert refused[0]
    assert not refused[-1]
    assert refused == sorted(refused, reverse=True)


def test_the_smallest_group_decides():
    """A plan by groups is refused where reports of its smallest group are worse than nothing, and says its size."""
    sides = {"side": ["a"] * 20 + ["b"] * 80}
    panel = dn.Panel.from_array(homes().readings, groups=sides)
    wanted = plan(groups="side")
    with pytest.raises(WorseError, match="a report of 20 households"):
        start(dn.Curator.in_memory(), panel, wanted)


def test_explain_says_that_it_would_be_refused():
    """Without a word about it the sentences say so; told what start would be told, it is refused or said."""
    curator, history = dn.Curator.in_memory(), homes().first(HISTORY)
    for more in ({}, {"accept_worse": True}):
        said = " ".join(curator.explain(plan(), history, **more))
        assert "worse than publishing nothing at all" in said
        assert "refused unless somebody accepts that (accept_worse=True, --accept-worse)" in said
    with pytest.raises(WorseError):
        curator.explain(plan(), history, accept_worse=False)
    assert "refused unless somebody accepts that" in " ".join(dn.explain(plan(), homes()))
    informed = dn.with_public_bounds(plan(), homes(), mean_reading=200)
    assert "worse than publishing nothing" not in " ".join(curator.explain(informed, history))
    assert "refused unless" not in " ".join(dn.explain(informed, homes()))


@pytest.mark.parametrize("odd", [1, "yes", None])
def test_only_true_accepts(odd):
    """Anything but True or False is refused by its kind."""
    with refuses(PlanError, "argument-type"):
        start(dn.Curator.in_memory(), homes(), plan(), accept_worse=odd)


def test_the_command_line_wants_a_flag(tmp_path, monkeypatch):
    """Without --accept-worse `start` ends with 1, names the flag, and makes no store; --dry-run says it; with it
    the stream runs, and starting it again needs no flag.
    """
    monkeypatch.chdir(tmp_path)
    dn.save_panel(homes(), tmp_path / "homes.parquet")
    (tmp_path / "plan.json").write_text(json.dumps(plan().to_json()))

    def run(*more):
        words = ["start", "plan.json", "--history", "homes.parquet", "--store", "city.db"]
        return CliRunner().invoke(app, [*words, "--acknowledge", "untested", *more], prog_name="diurnal")

    refused = run()
    assert refused.exit_code == 1
    assert "worse than publishing nothing at all" in " ".join(refused.stderr.split())
    assert "--accept-worse" in refused.stderr
    assert "accept_worse" not in refused.stderr
    assert "--mean-reading" in refused.stderr
    assert not (tmp_path / "city.db").exists()
    tried = run("--dry-run")
    assert tried.exit_code == 0
    assert "Starting it is refused unless" in " ".join(tried.stdout.split())
    for more in (["--accept-worse"], []):
        assert run(*more).exit_code == 0
    assert len(dn.Curator.open(tmp_path / "city.db").streams()) == 1


def test_a_cycle_of_many_slots_is_predicted_at_once():
    """A period of a week of minutes is judged without a matrix of its slots."""
    slots = 7 * 24 * 60
    wanted = dn.Plan(
        epsilon="1",
        domain=(0, 100),
        history=1,
        grid=dn.Grid(slots=slots, minutes=1),
        level="pattern",
        mechanism="cube",
    )
    assert worse_than_nothing(wanted, 50) is not None


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("level_known", [False, True])
def test_what_is_judged_is_what_the_planner_predicts(level, level_known):
    """The error that a start is judged by is that of the plan's own row in `dn.predict`, for every mechanism."""
    for mechanism in ("laplace", "cube"):
        wanted = plan(**LEVELS[level], mechanism=mechanism, cycle_mechanism=mechanism)
        if level_known and wanted.level != "cycle":
            wanted = dn.with_public_bounds(plan(**LEVELS[level]), homes(), mean_reading=200)
        wanted = dn.choose(wanted, homes())
        row = dn.predict(wanted, homes()).row(wanted.mechanisms_text)
        assert report_error(wanted, HOMES) == pytest.approx(row.errors.step)


def test_streams_of_an_earlier_release_are_found(tmp_path):
    """A stream that was started before anybody was asked goes on, and starting its plan again finds it."""
    panel = support.town()
    wanted = support.plan_for(panel)
    curator = dn.Curator.open(tmp_path / "city.db", support.ROOMY)
    stream = curator.start(wanted, history=panel.first(4), acknowledge="untested", accept_worse=True)
    rows = stream.report(panel.between(16, 20))
    again = dn.Curator.open(tmp_path / "city.db").start(wanted, history=panel.first(4))
    assert again.rows() == rows
    assert all(one == two for one, two in itertools.zip_longest(again.report(panel.between(16, 20)), rows))


BASIS = {"mechanism": "basis", "basis": dn.Basis(size=3)}


@pytest.mark.parametrize(
    ("kind", "break_it"),
    [
        (PlanError, lambda p, one: (one.with_(grid=dn.Grid(slots=8)), p.first(4))),
        (PlanError, lambda p, one: (one, p.first(3))),
        (PlanError, lambda p, one: (one, p.between(1, 17))),
        (PlanError, lambda p, one: (one.with_(roster="another"), p.first(4))),
        (PlanError, lambda p, one: (one.with_(calendar="another"), p.first(4))),
        (PlanError, lambda p, one: (one.with_(first_cycle=1), p.first(4))),
        (QueryError, lambda p, one: (one.with_(query=dn.Weighted([1] * 20 + [0] * 20), groups="side"), p.first(4))),
        (ReadingsError, lambda p, one: (one.with_(groups="suburb"), p.first(4))),
        (QueryError, lambda p, one: (one.with_(query=dn.Weighted([1, 2])), p.first(4))),
        (LimitError, lambda p, one: (one.with_(query=dn.Weighted([2**60] * 40)), p.first(4))),
        (LimitError, lambda p, one: (one.with_(query=dn.Weighted([2**44] * 40), **BASIS), p.first(4))),
    ],
)
def test_a_plan_that_does_not_fit_starts_nothing(kind, break_it, monkeypatch):
    """Another grid, history, roster, partition, number of weights, too large sums: nothing drawn or spent."""
    for sampler in ("laplace", "cube", "gaussian", "l2_norm"):
        monkeypatch.setattr(noise, sampler, lambda *a: pytest.fail("noise was drawn"))
    panel = support.town(groups={"side": ["a"] * 20 + ["b"] * 20})
    curator = dn.Curator.in_memory(support.ROOMY)
    with pytest.raises(kind, match="Hint:"):
        curator.start(*break_it(panel, support.plan_for(panel)), acknowledge="untested", accept_worse=True)
    assert curator.streams() == []


def test_auto_is_chosen_at_the_start():
    """A plan left to auto is started with the mechanism choose() picks, and is found again by the same plan."""
    panel = support.town()
    one = support.plan_for(panel, mechanism="auto")
    curator = dn.Curator.in_memory(dn.Budget())
    stream = curator.start(one, history=panel.first(4), acknowledge="untested", accept_worse=True)
    assert stream.plan.mechanism == "cube"
    assert curator.start(one, history=panel.first(4), acknowledge="untested", accept_worse=True).report(
        panel
    ) == stream.report(panel)
    assert "epsilon = 1" in str(stream.guarantee)


def test_a_heavy_group_s_noisy_profile_is_in_its_own_unit(silence):
    """Where cube noise is refined, a weighted group's G is still in units of its sum."""
    panel = support.town(high=4)
    plan = support.plan_for(panel, domain=(0, 4), mechanism="cube", epsilon="9", query=dn.Weighted([3] * 40))
    stream = support.start(panel, plan)
    profile = (panel.readings[:16].reshape(4, 4, -1).sum(axis=0) // 4).sum(axis=1)
    assert plan.pattern_layer(1).multiplier > plan.pattern_layer(3).multiplier
    assert stream.noisy_profile["all"] == (3 * profile).tolist()


def test_a_stream_from_before_the_planner_gave_a_bound_is_found_again(monkeypatch):
    """A plan without W that was started as it was is the same stream now: nothing is spent twice."""
    panel = support.town()
    plan = support.plan_for(panel, level="strong", cycle_mechanism="cube")
    curator = dn.Curator.in_memory(dn.Budget(pattern="1", cycle="1"))
    with monkeypatch.context() as before:
        before.setattr(planner, "bounded", lambda plan: plan)
        old = curator.start(plan, history=panel.first(4), acknowledge="untested", accept_worse=True)
    assert old.plan.variation_bound is None
    asked = (plan, old.plan, dn.choose(plan, panel), dn.Plan.from_json(dn.choose(plan, panel).to_json()))
    for again in (
        curator.start(each, history=panel.first(4), acknowledge="untested", accept_worse=True) for each in asked
    ):
        assert again.plan == old.plan
    assert "pure epsilon counts 2 times then" in str(again.guarantee)
