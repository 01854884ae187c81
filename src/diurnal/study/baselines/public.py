"""Public: reports that spend nothing. Whatever does worse is not worth its epsilon (theory 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diurnal.readings.data import Floats
from diurnal.study.baselines.base import Additive, Promise, Random
from diurnal.study.baselines.task import Task


class _Silent(Additive):
    """Without noise."""

    def noise(self, task: Task, rng: Random) -> Floats:
        return np.zeros(task.steps)

    def noise_variance(self, task: Task, length: int = 1) -> float:
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Nothing(_Silent):
    """The public mean day as the report: y(t) = r(s)."""

    name: str = "nothing at all"

    def promise(self, task: Task) -> Promise:
        return Promise(
            protects="all: no data",
            over="for ever",
            when="in advance",
            sentence="No private reading is used: everything is protected, for ever.",
        )

    def expected(self, task: Task) -> Floats:
        return task.public


@dataclass(frozen=True, kw_only=True)
class PublicProfile(_Silent):
    """The public mean day with the exact variations: y(t) = r(s) + f(t) - mean zhat(s)."""

    name: str = "eps_z = 0"

    def promise(self, task: Task) -> Promise:
        return Promise(
            protects="pattern at 0",
            over="for ever",
            when="continual",
            sentence="A household's periodic component is not used, so that it costs nothing: more than a pattern "
            "plan promises for any epsilon. Sums of variations are published exactly.",
        )

    def expected(self, task: Task) -> Floats:
        profile = task.profiles.mean(axis=1)
        return np.asarray(task.public + task.truth - np.tile(profile, task.cycles))
