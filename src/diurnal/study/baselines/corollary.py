"""Corollary: the paper's Corollary 1 as it is printed. It does not keep its promise (theory 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diurnal.readings.data import Floats, Integers
from diurnal.study import paper
from diurnal.study.baselines.base import Additive, Promise, Random, laplace, laplace_variance
from diurnal.study.baselines.task import Task


@dataclass(frozen=True, kw_only=True)
class Corollary(Additive):
    """Noise of scale T (Dz + Dw)/(n epsilon) that repeats, and fresh noise of scale T Dw/(n epsilon) after cycle 1.

    Dz is the width of the public range of a profile, Dw that of a reading (Farokhi 2019, Corollary 1).
    """

    name: str = "Corollary 1, printed"

    def promise(self, task: Task) -> Promise:
        loss = paper.corollary_1_loss(
            cycles=task.cycles, epsilon=float(task.epsilon), df_z=self._widths(task)[0], df_w=self._widths(task)[1]
        )
        return Promise(
            protects="fails",
            over="never",
            when="continual",
            sentence="Claimed for the pattern and one day. It does not hold: a change in the first cycle is seen "
            f"behind fresh noise in all later ones, a loss of up to {loss:.4g}.",
        )

    def noise(self, task: Task, rng: Random) -> Floats:
        first, later = self._scales(task)
        slots, empty = task.slots, np.zeros((task.steps, 1), dtype=np.int64)
        drawn = [
            _whole(laplace(rng, scale * task.n, size))
            for scale, size in ((first, slots), (later, task.steps - slots))
        ]
        reports = paper.corollary_1_as_printed(empty, empty[:slots], drawn[0], drawn[1].reshape(-1, slots))
        return np.asarray(reports / task.n)

    def noise_variance(self, task: Task, length: int = 1) -> float:
        repeated, fresh = map(laplace_variance, self._scales(task))
        per_cycle = max(1, length // task.slots)
        # A total over m cycles has each of the repeated values m times.
        same = repeated * min(length, task.slots) * per_cycle**2
        return same + fresh * length * (task.cycles - 1) / task.cycles

    def _widths(self, task: Task) -> tuple[int, int]:
        (low, high), (least, most) = task.profile_range, task.domain
        return high - low, most - least

    def _scales(self, task: Task) -> tuple[float, float]:
        dz, dw = self._widths(task)
        each = task.slots / task.n / float(task.epsilon)
        return each * (dz + dw), each * dw


def _whole(noise: Floats) -> Integers:
    return np.rint(noise).astype(np.int64)
