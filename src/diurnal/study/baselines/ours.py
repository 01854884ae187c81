"""Ours: plans as the curator runs them, beside their rivals. Drawn through the shipped curator, noise and all.

Theorem 1 and cube hide profiles within the public range of a profile; the repair hides any one day as well; the
chosen ones take bounds and mechanisms from public knowledge, as `with_public_bounds` and `choose` do for anybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from diurnal.curator.curator import Curator
from diurnal.errors import PlanError
from diurnal.planning.bounds import with_public_bounds
from diurnal.planning.free import known_from
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose
from diurnal.planning.public_tables import public_shape
from diurnal.promise.body import Body
from diurnal.promise.budget import Budget
from diurnal.promise.levels import LEVELS
from diurnal.promise.mechanisms import Basis, Mechanism, SlotMechanism
from diurnal.readings.data import Floats, Integers
from diurnal.readings.panel import Shape
from diurnal.study.baselines.base import Additive, Promise, Random
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Ours(Additive):
    """A plan made for the task; expected errors follow from the shipped mechanisms' own variance and bounds."""

    name: str = "pattern, chosen"
    level: Literal["pattern", "strong"] = "pattern"
    """What is promised."""
    mechanism: Literal["laplace", "cube"] | None = None
    """Within the public range of a profile; chosen with bounds from public knowledge if None."""
    sooner: Literal["blocks", "cube"] | None = None
    """How a strong plan that is chosen reports before the day is over; at its end if None."""
    statistic: Literal["mean", "base-load"] = "mean"
    """What of a slot's history is hidden."""

    def plan(self, task: Task) -> Plan:
        """The plan, from public knowledge and the number of households alone."""
        return task.keep(("plan", self, task.epsilon, task.n), lambda: self._plan(task))

    def promise(self, task: Task) -> Promise:
        cycle = self.plan(task).cycle_layer()
        strong = cycle is not None
        more = self._day(task) if strong else "sums of variations are published exactly, in all cycles."
        return Promise(
            protects="pattern, day" if strong else "pattern",
            over="for ever",
            when="continual" if cycle is None else _when(cycle, task.slots),
            sentence=f"A shift of a household's {self._what()}, within the domain; {more}",
        )

    def _what(self) -> str:
        return "periodic component" if self.statistic == "mean" else "least reading of each slot and no more"

    def _day(self, task: Task) -> str:
        """What strong adds for any one cycle, and in what that differs from hiding any cycle's length of steps."""
        bound = self.plan(task).guarantee().history
        history = (
            "is not covered"
            if bound is None
            else f"costs at most {float(bound.base.epsilon):.3g} if in neither data set a reported reading of it "
            "is clipped or missing, and more where one is"
        )
        return (
            "and its variations in any one reported cycle, from its first slot to its last. An event across "
            f"midnight costs two cycles, 2 epsilon, where a rival that hides any {task.slots} consecutive steps "
            f"has epsilon. A change in one cycle of the history {history}; rivals have no history."
        )

    def expected(self, task: Task) -> Floats:
        return task.keep(("expected", self, task.epsilon, task.n), lambda: self._expected(task))

    def noise_variance(self, task: Task, length: int = 1) -> float:
        pattern, cycle = self._layers(task)
        cycles, part = max(1, length // task.slots), min(length, task.slots)
        blocks = np.eye(task.slots).reshape(-1, part, task.slots).sum(axis=1)
        # The pattern's noise comes again in every cycle, the cycle's is fresh.
        variance = cycles**2 * _mean_variance(pattern, blocks)
        variance += 0.0 if cycle is None else cycles * _mean_variance(cycle, blocks)
        return variance / task.n**2

    def draw(self, task: Task, rng: Random) -> Floats:
        if task.copies > 1:
            raise PlanError("baseline-copies-curator")
        budget = Budget(pattern=task.epsilon, cycle=task.epsilon, delta=task.delta)
        stream = Curator.in_memory(budget).start(
            self.plan(task), history=task.history, acknowledge="untested", accept_worse=True
        )
        return np.array([float(row.exact) for row in stream.report(task.panel)])

    def noise(self, task: Task, rng: Random) -> Floats:
        return self.draw(task, rng) - self.expected(task)

    def _plan(self, task: Task) -> Plan:
        shape = Shape(group_sizes=(task.n,), grid=task.panel.grid, n_cycles=task.cycles)
        public: dict[str, Any] = {
            "epsilon": task.epsilon,
            "level": self.level,
            "domain": task.domain,
            "grid": task.panel.grid,
            "history": task.history.n_cycles,
            # The public value that stands for a slot without a profile must lie in the domain.
            "default_reading": int(np.clip(0, *task.domain)),
            # The plan's own sizes, but for a cycle of fewer slots.
            "basis": Basis(size=min(9, task.slots)),
            "cycle_basis": Basis(size=min(5, task.slots)),
        }
        public["statistic"] = self.statistic
        if self.sooner is not None:
            public["cycle_mechanism"] = self.sooner
        if self.sooner == "blocks" and public_shape(task.panel.grid) is None:
            # No table says how many: some that divide the cycle.
            public["cycle_basis"] = Basis(size=math.gcd(task.slots, 4))
        if self.mechanism is None:
            plan = with_public_bounds(Plan(**public), shape, open_data=task.open_data)
            return choose(plan, shape, open_data=task.open_data)
        low, high = task.profile_range
        if LEVELS[self.level].layers == 2:
            public["cycle_mechanism"] = self.mechanism
        return Plan(**public, mechanism=self.mechanism, body=Body(low=low, high=high))

    def _expected(self, task: Task) -> Floats:
        plan, (pattern, cycle) = self.plan(task), self._layers(task)
        profiles, n = self._profiles(task), task.panel.n_households
        kept = _kept(pattern, profiles)
        days = task.panel.readings.reshape(task.cycles, task.slots, n) - profiles
        if plan.clip is not None:
            days = np.clip(days, -plan.clip, plan.clip)
        if cycle is None or isinstance(cycle, SlotMechanism):
            return np.asarray((days.mean(axis=2) + kept).reshape(-1))
        return np.concatenate([_kept(cycle, day) + kept for day in days])

    def _layers(self, task: Task) -> tuple[Mechanism, Mechanism | None]:
        """The plan's mechanisms, with what is free of the history where the plan takes it."""
        plan, slots = self.plan(task), task.slots
        moves = task.history.readings.reshape(-1, slots, task.history.n_households) - self._profiles(task)
        sums = moves.sum(axis=2).reshape(-1)
        everybody = np.full(len(sums), task.history.n_households)
        known = known_from(plan, sums, everybody, households=task.history.n_households)
        pattern = plan.pattern_layer(1, task.n, known)
        assert pattern is not None
        return pattern, plan.cycle_layer()

    def _profiles(self, task: Task) -> Integers:
        if self.statistic == "mean":
            return task.profiles
        least: Integers = task.history.readings.reshape(-1, task.slots, task.history.n_households).min(axis=0)
        return least


def _when(cycle: Mechanism, slots: int) -> str:
    """When a step's report can be made: the last slot that it waits for tells."""
    return {0: "continual", slots - 1: "day's end"}.get(cycle.ready(0), "block's end")


def _kept(layer: Mechanism, vectors: Integers) -> Floats:
    """What a layer makes of the mean of these vectors, a column a household, before its noise."""
    return layer.expected(layer.contribute(vectors).mean(axis=1))


def _mean_variance(layer: Mechanism, directions: Floats) -> float:
    return float(np.mean([layer.variance(direction) for direction in directions]))
