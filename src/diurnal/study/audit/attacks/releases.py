"""Releases: what attackers see, drawn through the shipped curator, of many groups of homes at once.

A group of an experiment is a group of a plan: each has noise of its own, and a home that several groups are made
of goes by another name in each. So one curator plays many games.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from diurnal.curator.curator import Curator
from diurnal.errors import PlanError
from diurnal.planning.plan import Plan
from diurnal.promise.budget import Budget
from diurnal.promise.levels import LEVELS, Level
from diurnal.promise.query import Mean
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.panel import Panel
from diurnal.study.audit.life import trusting
from diurnal.study.baselines import Ours, Task

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
        raise PlanError("Attacks are on sums of readings, and this plan counts.", hint="Give another plan.")
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
    budget = Budget(pattern=plans * plan.eps_z, strong=plans * plan.eps_w, delta=plan.delta or "1e-6")
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
