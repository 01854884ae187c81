"""Curator: starts plans, each once, behind guard and budget.

    curator = Curator.in_memory(budget=Budget(pattern="1", strong="1"))
    stream = curator.start(plan, history=panel.first(91), acknowledge=dn.check(panel).digest)
    rows = stream.report(panel.after(91))

`start` is the only place where the pattern budget is used: it releases the noisy profile G (theory 4.2).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np

from diurnal.curator import guard
from diurnal.curator.store import Group, MemoryStore, Store, StreamRecord
from diurnal.curator.stream import Stream, released
from diurnal.errors import PlanError, QueryError, ReadingsError
from diurnal.exact import instance
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose
from diurnal.promise.budget import Budget
from diurnal.readings import kernels
from diurnal.readings.kernels import Atoms
from diurnal.readings.panel import Panel


class Curator:
    """Keeps the streams of one population.

    Guarantee:
        What all its streams publish, for ever, is within the budget for every household, under the
        neighbours, assumptions and limits that each stream's `guarantee` states.
    """

    def __init__(self, store: Store) -> None:
        """Keep streams in a store. `Curator.in_memory` makes one with a store of its own."""
        self._store = store

    @classmethod
    def in_memory(cls, budget: Budget | None = None) -> Curator:
        """A curator whose memory ends with the process.

        Args:
            budget: The caps for every household; epsilon 1 for the pattern and 1 for a cycle unless given.
        """
        chosen = Budget() if budget is None else budget
        instance(chosen, Budget, "budget", hint="For example Budget(pattern='1', strong='1').")
        return cls(MemoryStore(chosen))

    def start(self, plan: Plan, history: Panel, *, acknowledge: str | None = None) -> Stream:
        """Start a plan, or find it started.

        Every check comes first; then the noisy profile is drawn and the budget spent, at once. Started
        again with the same plan and roster, it is the same stream, and nothing is spent.

        Args:
            plan: What to report and what to promise. A mechanism left to `auto` is chosen here.
            history: The complete cycles to make profiles from; of no cycles at level `cycle`.
            acknowledge: The digest of the verdict on these homes and this period, which says that somebody has
                read it; "untested" where there is too little data for one. Not wanted at level `cycle`, which
                assumes nothing, nor of a stream that has been started before.

        Raises:
            InputError: Plan and history do not fit each other.
            RefusedError: The guard or the budget says no, or nobody has read the verdict.
        """
        instance(plan, Plan, "plan", hint="Make one with Plan(...).")
        instance(history, Panel, "history", hint="Make a panel with Panel.from_array(readings).")
        with self._store.transaction():
            bound = _bind(plan, history)
            for started in self._store.records():
                # A calendar that has grown since is no new plan: nothing may be drawn twice for the same data.
                if started.plan.with_(calendar=bound.calendar) == bound:
                    self._store.close_steps(history.calendar)
                    return Stream(self._store, started.key)
            guard.check_acknowledged(bound, history, acknowledge)
            history = history.closing(self._store.calendar())
            record, others = _prepare(bound, history, acknowledge), self._store.records()
            guard.check_population(record, others)
            record = replace(record, first_step=guard.first_step(record, others))
            guard.check_groups(record)
            guard.check_overlap(record, others)
            guard.check_history(record, others)
            guard.check_differencing(record, others)
            guard.check_budget(record, others, self._store.budget)
            record = _learn(record, _in_domain(bound, history))
            guard.check_profiles(record, others)
            self._store.add(_release(record), history.calendar)
        return Stream(self._store, bound.hash)

    def streams(self) -> list[Stream]:
        """Every stream ever started."""
        with self._store.transaction():
            return [Stream(self._store, record.key) for record in self._store.records()]


def _bind(plan: Plan, history: Panel) -> Plan:
    """The plan with what its history decides filled in."""
    if history.grid != plan.grid:
        raise PlanError(
            f"The plan's grid is {plan.grid}, the history's {history.grid}.",
            hint="Make the plan with grid=panel.grid.",
        )
    if history.n_steps != plan.history * plan.grid.slots or history.first_step % plan.grid.slots:
        raise PlanError(
            f"Expected a history of {plan.history} complete cycles from the start of one, got "
            f"{history.n_steps} steps from step {history.first_step}.",
            hint=f"Cut it with panel.first({plan.history}).",
        )
    if plan.grace:
        raise PlanError(
            "This curator takes a step as it is given; it cannot wait for late readings.",
            hint="Leave grace at 0, and give a step when it is complete.",
        )
    if plan.groups is not None:
        history.members(plan.groups)
    facts: dict[str, Any] = {
        "roster": history.roster(plan.groups),
        "calendar": hashlib.sha256(
            json.dumps(sorted(history.calendar.intersection(history.steps))).encode()
        ).hexdigest(),
        "first_cycle": history.first_step // plan.grid.slots,
    }
    for name, fact in facts.items():
        if getattr(plan, name) not in (None, fact):
            raise PlanError(
                f"The plan is for another {name.replace('_', ' ')} than the history's.",
                hint="Leave it out to take the history's. A new roster or season is a new plan with its own "
                "epsilon.",
            )
    return choose(plan.with_(**facts), history.shape_by(plan.groups))


def _prepare(plan: Plan, history: Panel, acknowledged: str | None) -> StreamRecord:
    """A plan's groups and atoms; nothing learned and nothing drawn yet."""
    weights = plan.query.weights(history.n_households)
    members = history.members(plan.groups)
    groups = []
    for name, columns in members.items():
        heaviest = int(np.abs(weights[columns]).max())
        if heaviest == 0:
            raise QueryError(
                f"Every household of group {name!r} has weight 0.", hint="Leave the group out of the roster."
            )
        groups.append(Group(name=name, size=len(columns), weight=heaviest, noisy_profile=()))
        _check_sums(plan, n=len(columns), weight=heaviest)
    empty = np.zeros((0, history.n_households), dtype=np.int64)
    return StreamRecord(
        plan=plan,
        households=history.households,
        groups=tuple(groups),
        atoms=Atoms.of_groups(weights, list(members.values())),
        profile=empty,
        known=empty.astype(bool),
        first_step=history.first_step,
        acknowledged=None if plan.level == "cycle" else acknowledged,
    )


def _check_sums(plan: Plan, *, n: int, weight: int) -> None:
    """Prove from public bounds that no sum of the stream can leave 64 bits."""
    low, high = plan.domain
    reach = max(abs(low), abs(high), high - low, abs(plan.default_reading))
    kernels.check_limits(n_households=n, weight=weight, magnitude=reach, what="readings")
    for layer in (plan.pattern_layer(weight), plan.cycle_layer(weight)):
        if layer is not None:
            kernels.check_limits(n_households=n, weight=weight, magnitude=layer.magnitude, what="contributions")


def _in_domain(plan: Plan, history: Panel) -> Panel:
    """The history without what lies outside the domain; refused if that is most of it: another unit, surely.

    Readings outside are missing marks, which neighbours share, so refusing tells nothing else.
    """
    used, outside = history.within(*plan.domain)
    if 2 * outside > int(np.count_nonzero(history.present)):
        raise ReadingsError(
            f"More than half of the history lies outside the domain {plan.domain}.",
            hint="Give the domain in the unit of the readings: 8 kWh are (0, 8000) in Wh.",
        )
    return used


def _learn(record: StreamRecord, history: Panel) -> StreamRecord:
    """A plan with its profiles, in the order of the atoms."""
    plan, order = record.plan, record.atoms.order
    if plan.level == "cycle":
        return record
    profile, known = kernels.profiles(
        history.readings[:, order],
        history.present[:, order],
        slots=plan.grid.slots,
        min_readings=plan.k_min,
        statistic=plan.statistic,
    )
    return replace(record, profile=profile, known=known)


def _release(record: StreamRecord) -> StreamRecord:
    """Draw the noisy profile of each group. The only use of the pattern budget."""
    plan = record.plan
    if plan.level == "cycle":
        return record
    stand_in = np.where(record.known, record.profile, plan.default_reading)
    layers = [plan.pattern_layer(group.weight) for group in record.groups]
    noisy = released([layer for layer in layers if layer is not None], stand_in, record.atoms)
    groups = [
        replace(group, noisy_profile=tuple(values)) for group, values in zip(record.groups, noisy, strict=True)
    ]
    return replace(record, groups=tuple(groups))
