"""What is released to attackers, how a guess is scored, and what a result is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from diurnal.curator.curator import Curator
from diurnal.errors import PlanError
from diurnal.picture import Pictured
from diurnal.planning.free import known_from
from diurnal.planning.plan import Plan
from diurnal.private import Private, private
from diurnal.promise.budget import Budget
from diurnal.promise.levels import LEVELS, Level
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.prior import Known
from diurnal.promise.query import Mean
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.panel import Panel
from diurnal.study.audit.transcripts import trusting
from diurnal.study.baselines import Ours, Task
from diurnal.study.baselines.score import half_width
from diurnal.study.paper import relative_error


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an attack found out from one release."""

    release: str
    """From which."""
    case: str = ""
    """In which case, where an attack has several."""
    households: int | None = None
    """n, where an attack was made on groups of several sizes."""
    value: float | None = None
    """The attack's measure; None if the curator refused."""
    low: float | None = None
    """Not less, with 95 % confidence; None if nothing about it is random."""
    high: float | None = None
    """Not more."""
    published: float | None = None
    """The same measure of what was published, before the attack; where that is something else."""
    refused: str = ""
    """Why the curator refused, in its own words."""

    @property
    def words(self) -> str:
        """The number with its interval, or that it was refused."""
        if self.value is None:
            return "refused"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Attack(Pictured):
    """An attack with a person in mind, on a made-up population. Prints as a table."""

    name: str
    """What it is called."""
    asks: str
    """What the attacker wants to know."""
    knows: str
    """What the attacker has."""
    measure: str
    """What the number is."""
    chance: float
    """Its value when nothing is learned."""
    certain: float
    """Its value when everything is learned."""
    outcomes: tuple[Outcome, ...]
    """One a release, case and size."""
    says: str
    """What it means, in plain words."""
    shapes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The day of one made-up home, in truth and as found from each release; never that of a real one."""
    minutes: int = 30
    """How long a slot of a shape is."""

    def outcome(self, release: str, *, case: str = "", households: int | None = None) -> Outcome:
        """What was found from a release, in a case, for a size."""
        named = {(each.release, each.case, each.households): each for each in self.outcomes}
        return named[release, case, households]

    def learned(self, outcome: Outcome) -> float:
        """How much of all there is to learn was learned: 0 nothing, 1 everything."""
        if outcome.value is None:
            return 0.0
        share = (outcome.value - self.chance) / (self.certain - self.chance)
        return min(1.0, max(0.0, share))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data: dict[str, Any] = {**asdict(self), "shapes": {name: list(day) for name, day in self.shapes.items()}}
        data["outcomes"] = [{**asdict(each), "learned": self.learned(each)} for each in self.outcomes]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.outcomes)} outcome(s))"

    def __str__(self) -> str:
        head = [
            f"{self.name}: {self.asks}",
            f"  knows: {self.knows}",
            f"  number: {self.measure}; {self.chance:.3g} if nothing is learned, {self.certain:g} if everything",
        ]
        width = max(len(each.case) for each in self.outcomes)
        sizes = any(each.households for each in self.outcomes)
        rows = [
            f"  {each.release:18}"
            + (f"{each.case:{width + 2}}" if width else "")
            + (f"{each.households or 0:>6,}  " if sizes else "")
            + each.words
            for each in self.outcomes
        ]
        return "\n".join([*head, *rows, f"  {self.says}"])


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateAttack(Private, Attack):
    """The same on real homes: it is against the truth, so it is for the custodian's eyes."""

    def to_json(self) -> dict[str, Any]:
        """Plain data with the mark on it."""
        made: dict[str, Any] = private(super().to_json())
        return made


SHRINK = 0.2
"""How far covariances of a few homes are drawn towards their diagonal; set on the made-up town."""
ALIKE = 0.8
"""How much of a series' covariance is that of cycles which are all related alike. Of six estimates the one with
which the attacker did best on a made-up town of seed 77, which serves for nothing else."""


class Found(NamedTuple):
    """A number, and between what it lies with 95 % confidence; nothing is said of what was drawn once."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def mean(cls, values: Any, *, least: float = -math.inf, most: float = math.inf, trials: int = 0) -> Found:
        """The mean of independent values, by Student's t.

        Args:
            values: Of independent experiments.
            least: What no value can be less than.
            most: What none can be more than.
            trials: How many cases the values come from. Where all went one way, as many as these could still have
                hidden what happens less often than three times in them.
        """
        each = np.asarray(values, dtype=float)
        value = float(each.mean())
        if len(each) < 2:
            return cls(value)
        half = 3 / trials if trials and np.ptp(each) == 0 else half_width(each)
        return cls(value, max(least, value - half), min(most, value + half))


def alike(found: Any, truth: Any) -> float:
    """The correlation of what was found with the truth; 0 where one of them is flat."""
    one, other = (np.asarray(each, dtype=float).ravel() for each in (found, truth))
    one, other = one - one.mean(), other - other.mean()
    size = math.sqrt(float(one @ one) * float(other @ other))
    # What is left of a flat series is rounding.
    flat = min(np.abs(one).max(), np.abs(other).max()) < 1e-6
    return 0.0 if flat or size == 0 else float(one @ other) / size


def error_of(found: Floats, truth: Floats, *, largest: float | None = None) -> float:
    """The paper's relative error, over the steps that are known, and over another largest value if given."""
    known = np.isfinite(found)
    scale = 1.0 if largest is None else float(np.abs(truth[known]).max()) / largest
    return scale * relative_error(found[known], truth[known])


def right_of_two(yes: Floats, no: Floats) -> float:
    """How often, of one case of each kind, the one with the larger score is the right one: the AUC."""
    above = (yes[:, None] > no[None, :]).mean() + 0.5 * (yes[:, None] == no[None, :]).mean()
    return float(above)


def block_rates(scores: Floats, truths: Marks) -> float:
    """The mean over targets of how often the attacker is right of two, each with a column of scores and cases."""
    return float(np.mean([right_of_two(s[t], s[~t]) for s, t in zip(scores.T, truths.T, strict=True)]))


class Seen(NamedTuple):
    """What a release shows of homes, as far as it can be known beforehand."""

    days: Floats
    """Cycles x slots x homes: what each adds to the published sums, in the mean."""
    pattern: Floats
    """The covariance of the noise that comes again in every cycle, slots x slots."""
    cycle: Floats
    """That of the noise that is fresh in every cycle."""


def seen(plan: Plan | None, task: Task, homes: Integers, total: int, *, group: Integers | None = None) -> Seen:
    """What a plan shows of some homes in groups of so many, by the mechanisms' own means and variances.

    Args:
        plan: The plan; None if there is no noise.
        task: History and readings.
        homes: Which.
        total: How many homes a group has.
        group: The homes of the group, where a plan's free reference is made from their history and that matters.
    """
    slots = task.slots
    days = task.panel.readings[:, homes].reshape(task.cycles, slots, len(homes))
    nothing = np.zeros((slots, slots))
    if plan is None:
        return Seen(days.astype(float), nothing, nothing)
    known = None if group is None else _known(plan, task, group)
    pattern, cycle, profiles = plan.pattern_layer(1, total, known), plan.cycle_layer(), task.profiles[:, homes]
    assert pattern is not None
    moves = days - profiles if plan.clip is None else np.clip(days - profiles, -plan.clip, plan.clip)
    kept = moves.astype(float) if cycle is None else np.stack([_kept(cycle, day) for day in moves])
    return Seen(
        kept + _kept(pattern, profiles),
        covariance(pattern, slots),
        nothing if cycle is None else covariance(cycle, slots),
    )


def _known(plan: Plan, task: Task, group: Integers) -> Known | None:
    """The free reference of a group, which is published with its reports."""
    moves = task.history.readings[:, group].reshape(-1, task.slots, len(group)) - task.profiles[:, group]
    sums: Integers = moves.sum(axis=2).reshape(-1)
    return known_from(plan, sums, np.full(len(sums), len(group)), households=len(group))


def covariance(layer: Mechanism, slots: int) -> Floats:
    """The covariance of a mechanism's noise, from the variances that it tells."""
    unit = np.eye(slots)
    single = np.array([layer.variance(row) for row in unit])
    both = np.array([[layer.variance(one + other) for other in unit] for one in unit])
    return np.asarray((both - single[:, None] - single[None, :]) / 2)


def spread(vectors: Floats) -> Floats:
    """The covariance of homes' vectors, a column a home, drawn towards its diagonal since homes are few."""
    found = np.cov(vectors)
    return np.asarray((1 - SHRINK) * found + SHRINK * np.diag(np.diag(found)))


def spread_of_days(days: Floats) -> Floats:
    """The covariance of homes' series, cycles x slots x homes, mostly as if any two cycles were related alike.

    A home's series has more steps than there are homes. Its mean cycle, and cycles around it, have fewer.
    """
    cycles, _, homes = days.shape
    flat = days.reshape(-1, homes)
    if cycles == 1:
        return spread(flat)
    means = days.mean(axis=0)
    moves = days - means
    moves = moves - moves.mean(axis=2, keepdims=True)
    within = np.einsum("ksn,ktn->st", moves, moves) / ((cycles - 1) * (homes - 1))
    between = np.cov(means) - within / cycles
    alike_all = np.kron(np.ones((cycles, cycles)), between) + np.kron(np.eye(cycles), within)
    return np.asarray(ALIKE * alike_all + (1 - ALIKE) * np.cov(flat))


def discriminant(signals: Floats, noise: Floats) -> Floats:
    """The weights with which a sum tells best whether a signal is in it, a column a signal (Fisher's)."""
    # What is known exactly must not break the solution.
    floor = 1e-3 * float(np.median(np.diag(noise)))
    # One thread: more of them wait for each other on a matrix as small as this.
    with threadpool_limits(1, user_api="blas"):
        return np.asarray(np.linalg.solve(noise + floor * np.eye(len(noise)), signals))


def _kept(layer: Mechanism, vectors: Integers) -> Floats:
    """What a layer shows of each home's vector, in the mean: a linear map, found by what it does to units."""
    base = layer.expected(np.zeros(layer.dimension))
    steps = np.stack([layer.expected(row) - base for row in np.eye(layer.dimension)], axis=1)
    return np.asarray(base[:, None] + steps @ layer.contribute(vectors))


NO_NOISE, THEOREM_1, PATTERN, STRONG, GIVEN = (
    "no noise",
    "Theorem 1",
    "pattern, chosen",
    "strong, chosen",
    "this plan",
)
"""What is compared."""

READINGS = 14_000_000
"""How many readings a curator is given at once, so that they fit into memory."""

WORLD = "world"
"""The partition of made-up groups."""

Alter = Callable[[int, Integers, Marks], None]
"""Changes a group's readings and marks before they are reported: which group, then a row a step from the start of
the history, a column a home."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A way to publish, by its name."""

    name: str
    """What it is called in results."""
    ours: Ours | None = None
    """How its plan is made for a task."""
    given: Plan | None = None
    """A plan that somebody has."""

    def plan(self, task: Task, homes: int | None = None) -> Plan | None:
        """The plan for groups of so many homes, all of the task's unless given; None if there is no noise."""
        if self.given is not None:
            return _moved(self.given, task)
        if self.ours is None:
            return None
        n = task.panel.n_households
        return self.ours.plan(task if homes in (None, n) else task.among(np.resize(np.arange(n), homes or n)))

    @property
    def level(self) -> Level | None:
        """What is promised; None if there is no noise."""
        if self.given is not None:
            return self.given.protection
        return None if self.ours is None else LEVELS[self.ours.level]


def releases(plan: Plan | None = None) -> tuple[Release, ...]:
    """What is compared: no noise, Theorem 1, what is chosen in pattern and in strong mode, and a given plan.

    Raises:
        PlanError: The given plan counts households, which these attacks are not made for.
    """
    if plan is not None and plan.query.counting:
        raise PlanError("attack-counting-plan")
    return (
        Release(name=NO_NOISE),
        Release(name=THEOREM_1, ours=Ours(name=THEOREM_1, mechanism="laplace")),
        Release(name=PATTERN, ours=Ours(name=PATTERN)),
        Release(name=STRONG, ours=Ours(name=STRONG, level="strong")),
        *(() if plan is None else (Release(name=GIVEN, given=plan),)),
    )


class Groups(NamedTuple):
    """Groups of homes, to be published at once."""

    rosters: Integers
    """A row a group: which homes are in it. A home may be in several, or more than once in one."""
    alter: Alter | None = None
    """What happens to a group's readings first."""


def published(releases: Sequence[Release], task: Task, groups: Groups) -> dict[str, Floats]:
    """What each release publishes of the same groups, by its name.

    Sums, a row a group, a column a step; not a number where nothing was reported.
    """
    count, n = groups.rosters.shape
    plans = {release.name: release.plan(task, n) for release in releases}
    each = max(1, READINGS // (n * (task.history.n_steps + task.panel.n_steps)))
    parts: dict[str, list[Floats]] = {name: [] for name in plans}
    for start in range(0, count, each):
        history, panel = panels_of(task, groups, range(start, min(start + each, count)))
        for name, plan in plans.items():
            parts[name].append(_sums(plan, history, panel))
    return {name: np.concatenate(sums) for name, sums in parts.items()}


def panels_of(task: Task, groups: Groups, which: range) -> tuple[Panel, Panel]:
    """History and readings of some of the groups, every home under a name of its own."""
    rosters = groups.rosters[which.start : which.stop]
    readings = np.concatenate([task.history.readings[:, rosters], task.panel.readings[:, rosters]])
    present = np.ones(readings.shape, dtype=bool)
    if groups.alter is not None:
        for place, group in enumerate(which):
            groups.alter(group, readings[:, place], present[:, place])
    count, n = rosters.shape
    whole = Panel.from_array(
        readings.reshape(len(readings), -1),
        present=present.reshape(len(present), -1),
        households=[f"{place}/{home}" for place in range(count) for home in range(n)],
        grid=task.panel.grid,
        first_step=task.history.first_step,
        groups={WORLD: [f"{place:06}" for place in range(count) for _ in range(n)]},
    )
    return whole.first(task.history.n_cycles), whole.after(task.history.n_cycles)


def curator_for(plan: Plan, plans: int = 1) -> Curator:
    """A curator with the budget for so many plans."""
    budget = Budget(pattern=plans * plan.eps_z, cycle=plans * plan.eps_w, delta=plan.delta or "1e-6")
    return trusting(Curator.in_memory(budget))


def reported(curator: Curator, plan: Plan, history: Panel, panel: Panel) -> Floats:
    """The sums that a curator publishes, a row a group; not a number where a step is not reported."""
    rows = curator.start(plan, history=history, acknowledge="untested", accept_worse=True).report(panel)
    names = {name: place for place, name in enumerate(panel.members(plan.groups))}
    sums = np.full((len(names), panel.n_steps), np.nan)
    for row in rows:
        sums[names[row.group], row.step - panel.first_step] = float(row.numerator)
    return sums


def _sums(plan: Plan | None, history: Panel, panel: Panel) -> Floats:
    if plan is not None:
        return reported(curator_for(plan), plan.with_(groups=WORLD), history, panel)
    # Without a plan: whoever is there is added up.
    there = np.where(panel.present, panel.readings, 0)
    return np.stack([there[:, places].sum(axis=1) for places in panel.members(WORLD).values()]).astype(float)


def _moved(plan: Plan, task: Task) -> Plan:
    """A plan as it is, but for the homes and cycles that it is tried on, and without weights."""
    return replace(
        plan,
        query=Mean(),
        groups=None,
        roster=None,
        first_cycle=None,
        calendar=None,
        grid=task.panel.grid,
        history=task.history.n_cycles,
        min_readings=None,
        minimum_group=min(plan.minimum_group, 15),
    )
