"""Window: w-event privacy, budget distribution and budget absorption.

G. Kellaris, S. Papadopoulos, X. Xiao, D. Papadias, "Differentially private event sequences over infinite streams",
PVLDB 7(12), 2014. Half of epsilon (`share`) asks at every step whether the stream has moved away from what was
published last; the other half publishes where it has. Distribution gives a publication half of what the window has
left; absorption lets it take what the steps before it did not use, and skips as many steps after it.

Two things help it on such data, and both are settings: to look at the distance from the public mean day, and to
publish the mean of a block of steps instead of each step. The window then has as many blocks as the cycle, m, and
still covers any cycle's length of consecutive steps: these may touch m + 1 blocks, but move the first by part f
of R/n and the last by 1 - f of it, so that the loss is f (e_1 + ... + e_m) + (1 - f) (e_2 + ... + e_(m+1)), and
both sums are at most epsilon.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Baseline, Promise, Random
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Window(Baseline):
    """BD or BA on one series, w a cycle's length; the sensitivity of a value and of a distance is R/n."""

    name: str = "w-event BD"
    method: Literal["distribution", "absorption"] = "distribution"
    """BD or BA."""
    share: float = 0.5
    """The part of epsilon that asks; a half in the paper."""
    block: int = 1
    """How many steps are published as one mean; the largest divisor of it that divides the cycle is taken."""
    centred: bool = False
    """Whether the public mean day is taken off first and put back after."""
    clamp: float | None = None
    """Where readings are cut off, in levels."""

    def promise(self, task: Task) -> Promise:
        block = self.steps(task)
        late = "" if block == 1 else f"; {block} steps are known when the last of them is"
        return Promise(
            protects="one day",
            over="for ever",
            when="continual" if block == 1 else "block's end",
            sentence=f"All readings of a household within any {task.slots} consecutive steps, across midnight too; "
            f"its pattern is in every cycle, and m cycles cost m epsilon{late}.",
        )

    def width(self, task: Task) -> int:
        """w, in blocks: as many as a cycle has."""
        return task.slots // self.steps(task)

    def steps(self, task: Task) -> int:
        """How many steps a block has."""
        return math.gcd(self.block, task.slots)

    def draw(self, task: Task, rng: Random) -> Floats:
        public = task.public if self.centred else np.full(task.steps, task.level)
        series = (task.clamped(self.clamp) - public).reshape(-1, self.steps(task)).mean(axis=1)
        released, _ = self.run(series, task, rng)
        return np.repeat(released, self.steps(task)) + public

    def run(self, series: Floats, task: Task, rng: Random) -> tuple[Floats, Floats]:
        """What is published of a series, and what each publication spent."""
        reach, w, epsilon = task.reach(self.clamp), self.width(task), float(task.epsilon)
        purse = (_Distribution if self.method == "distribution" else _Absorption)((1 - self.share) * epsilon, w)
        distances = rng.laplace(0.0, w * reach / (self.share * epsilon), len(series))
        noise = rng.laplace(0.0, 1.0, len(series))
        # Nothing is published yet: what is publicly known, here 0, stands for it.
        last, released, spent = 0.0, np.empty(len(series)), np.zeros(len(series))
        for i, value in enumerate(series.tolist()):
            offer = purse.offer()
            if offer and abs(value - last) + distances[i] > reach / offer:
                last, spent[i] = value + noise[i] * reach / offer, offer
            purse.take(spent[i])
            released[i] = last
        return released, spent


class _Distribution:
    """Each publication takes half of what the window has left."""

    def __init__(self, epsilon: float, w: int) -> None:
        self._left, self._window = epsilon, deque([0.0] * (w - 1), maxlen=w - 1)

    def offer(self) -> float:
        # A window of one block has nothing to keep for others.
        return self._left / 2 if self._window.maxlen else self._left

    def take(self, spent: float) -> None:
        # What was spent w steps before the next one comes back.
        self._left += (self._window[0] if self._window else spent) - spent
        self._window.append(spent)


class _Absorption:
    """Each publication takes what was not used since the last, and the steps after it pay for that."""

    def __init__(self, epsilon: float, w: int) -> None:
        self._each, self._w, self._unused, self._skip = epsilon / w, w, 1, 0

    def offer(self) -> float:
        return 0.0 if self._skip else self._each * min(self._unused, self._w)

    def take(self, spent: float) -> None:
        if self._skip:
            self._skip -= 1
            return
        if spent:
            self._skip = min(self._unused, self._w) - 1
            self._unused = 0
        self._unused += 1
