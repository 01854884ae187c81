"""Tree: running totals from a tree of partial sums, each with noise of its own.

T.-H. H. Chan, E. Shi, D. Song, "Private and continual release of statistics", ACM TISSEC 14(3), 2011 (the binary
mechanism), with b children a node. A running total is the sum of at most b - 1 nodes a level. A report is the
difference of two running totals, so single steps are not its strength; totals are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diurnal.readings.data import Floats, Integers
from diurnal.study.baselines.base import Additive, Promise, Random, laplace, laplace_variance
from diurnal.study.baselines.split import span_promise
from diurnal.study.baselines.task import Span, Task


@dataclass(frozen=True, kw_only=True)
class Tree(Additive):
    """Laplace noise of scale D/epsilon in every node, D the l1 norm by which a span moves all nodes.

    One reading is in at most floor(log_b tau) + 1 nodes, the paper's log T; for longer spans D is counted exactly,
    because the last child of a node is never used on its own.
    """

    name: str = "binary tree"
    span: Span = "reading"
    """How much of a household is hidden; the paper's is one reading."""
    arity: int = 2
    """b, how many children a node has."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        return span_promise(self.span, task, more="; the length of the horizon is fixed before")

    def sensitivity(self, task: Task) -> float:
        """By how much the nodes move, in the l1 norm."""
        counts = self.memberships(task.steps)
        sums = np.cumsum(np.r_[0, counts])
        length = task.length(self.span)
        return task.reach(self.clamp) * float((sums[length:] - sums[:-length]).max())

    def memberships(self, steps: int) -> Integers:
        """In how many nodes each step is."""
        items, counts = np.arange(steps), np.zeros(steps, dtype=np.int64)
        for size in self._sizes(steps):
            node = items // size
            counts += (node % self.arity != self.arity - 1) & ((node + 1) * size <= steps)
        return counts

    def statistics(self, values: Floats) -> Floats:
        """The nodes that running totals are made of, level by level."""
        found = []
        for size in self._sizes(len(values)):
            nodes = values[: len(values) // size * size].reshape(-1, size).sum(axis=1)
            found.append(nodes[np.arange(len(nodes)) % self.arity != self.arity - 1])
        return np.concatenate(found)

    def expected(self, task: Task) -> Floats:
        return task.clamped(self.clamp)

    def noise(self, task: Task, rng: Random) -> Floats:
        scale, times = self.sensitivity(task) / float(task.epsilon), np.arange(task.steps + 1)
        running = np.zeros(task.steps + 1)
        for size in self._sizes(task.steps):
            sums = np.cumsum(np.r_[0.0, laplace(rng, scale, task.steps // size)])
            last = times // size
            running += sums[last] - sums[last - last % self.arity]
        return np.diff(running)

    def noise_variance(self, task: Task, length: int = 1) -> float:
        scale = self.sensitivity(task) / float(task.epsilon)
        return laplace_variance(scale) * float(self.nodes_apart(task.steps, length).mean())

    def nodes_apart(self, steps: int, length: int) -> Integers:
        """How many nodes two running totals `length` steps apart do not share; each adds its variance."""
        starts = np.arange(0, steps, length)
        ends = starts + length
        apart = np.zeros(len(starts), dtype=np.int64)
        for size in self._sizes(steps):
            first, last = starts // size % self.arity, ends // size % self.arity
            same = starts // (size * self.arity) == ends // (size * self.arity)
            apart += np.where(same, last - first, last + first)
        return apart

    def _sizes(self, steps: int) -> list[int]:
        """How many steps a node has, level by level."""
        sizes = [1]
        while sizes[-1] * self.arity <= steps:
            sizes.append(sizes[-1] * self.arity)
        return sizes
