"""Ours: plans as the curator runs them, beside their rivals. Drawn through the shipped curator, noise and all.

Theorem 1 and cube hide profiles within the public range of a profile; the repair hides any one day as well; the
chosen ones take bounds and mechanisms from open data, as `informed` and `choose` do for anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from diurnal.curator.curator import Curator
from diurnal.errors import PlanError
from diurnal.planning.bounds import informed
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose
from diurnal.promise.body import Body
from diurnal.promise.budget import Budget
from diurnal.promise.mechanisms import Basis, Mechanism
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
    """Within the public range of a profile; chosen with bounds from open data if None."""

    def plan(self, task: Task) -> Plan:
        """The plan, from public knowledge and the number of households alone."""
        return task.keep(("plan", self, task.epsilon, task.n), lambda: self._plan(task))

    def promise(self, task: Task) -> Promise:
        cycle = self.plan(task).cycle_layer()
        strong = self.level == "strong"
        more = self._day(task) if strong else "sums of variations are published exactly, in all cycles."
        return Promise(
            protects="pattern, day" if strong else "pattern",
            over="for ever",
            when="continual" if cycle is None or cycle.by_slot else "day's end",
            sentence=f"A household's periodic component, whatever it is; {more}",
        )

    def _day(self, task: Task) -> str:
        """What strong adds for any one cycle, and in what that differs from hiding any cycle's length of steps."""
        bound = self.plan(task).guarantee().history
        history = (
            "is not covered"
            if bound is None
            else f"costs at most {float(bound.base.epsilon):.3g} if no reported reading is clipped or missing"
        )
        return (
            "and any one cycle of it, from its first slot to its last. An event across midnight costs two cycles, "
            f"2 epsilon, where a rival that hides any {task.slots} consecutive steps has epsilon. A change in one "
            f"cycle of the history {history}; rivals have no history."
        )

    def expected(self, task: Task) -> Floats:
        return task.keep(("expected", self, task.epsilon, task.n), lambda: self._expected(task))

    def noise_variance(self, task: Task, length: int = 1) -> float:
        plan = self.plan(task)
        pattern, cycle = plan.pattern_layer(), plan.cycle_layer()
        assert pattern is not None
        cycles, part = max(1, length // task.slots), min(length, task.slots)
        blocks = np.eye(task.slots).reshape(-1, part, task.slots).sum(axis=1)
        # The pattern's noise comes again in every cycle, the cycle's is fresh.
        variance = cycles**2 * _mean_variance(pattern, blocks)
        variance += 0.0 if cycle is None else cycles * _mean_variance(cycle, blocks)
        return variance / task.n**2

    def draw(self, task: Task, rng: Random) -> Floats:
        if task.copies > 1:
            raise PlanError("The curator draws for the households that are there.", hint="Take copies=1.")
        budget = Budget(pattern=task.epsilon, strong=task.epsilon, delta=task.delta)
        stream = Curator.in_memory(budget).start(self.plan(task), history=task.history, acknowledge="untested")
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
        if self.mechanism is None:
            plan = informed(Plan(**public), shape, open_data=task.open_data)
            return choose(plan, shape, open_data=task.open_data)
        low, high = task.profile_range
        if self.level == "strong":
            public["cycle_mechanism"] = self.mechanism
        return Plan(**public, mechanism=self.mechanism, body=Body(low=low, high=high))

    def _expected(self, task: Task) -> Floats:
        plan = self.plan(task)
        pattern, cycle = plan.pattern_layer(), plan.cycle_layer()
        assert pattern is not None
        profiles, n = task.profiles, task.panel.n_households
        kept = _kept(pattern, profiles) / n
        days = task.panel.readings.reshape(task.cycles, task.slots, n) - profiles
        if plan.clip is not None:
            days = np.clip(days, -plan.clip, plan.clip)
        if cycle is None or cycle.by_slot:
            return np.asarray((days.mean(axis=2) + kept).reshape(-1))
        return np.concatenate([_kept(cycle, day) / n + kept for day in days])


def _kept(layer: Mechanism, vectors: Integers) -> Floats:
    """What a layer makes of the sum of these vectors, a column a household, before its noise."""
    kept = layer.to_slots([int(v) * layer.multiplier for v in layer.contribute(vectors).sum(axis=1)])
    return np.array(kept, dtype=float) / layer.multiplier


def _mean_variance(layer: Mechanism, directions: Floats) -> float:
    return float(np.mean([layer.variance(direction) for direction in directions]))
