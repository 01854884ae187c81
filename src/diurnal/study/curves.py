"""Curves: how everybody's error changes with epsilon, with the number of households and with the horizon."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.exact import Number
from diurnal.picture import Pictured
from diurnal.private import Private, PrivateDict, private
from diurnal.readings.kernels import Progress
from diurnal.study.baselines import Baseline, Task
from diurnal.study.baselines.base import Promise
from diurnal.study.baselines.score import Estimate, relative_error
from diurnal.study.compare import MINIMUM, suited
from diurnal.study.standing import Error

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
FACTORS = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(4), Fraction(16), Fraction(64))
"""Of how many times the households there are."""
PARTS = (52, 13, 4, 2, 1)
"""Which parts of the horizon: of a year a week, four of them, a quarter, a half, all."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Curve(Private):
    """Everybody's relative error along one axis."""

    axis: str
    """epsilon, households or cycles."""
    at: tuple[float, ...]
    """Where."""
    errors: Mapping[str, tuple[float, ...]]
    """A rival's error at each place, by its name."""
    within: Mapping[str, tuple[float, ...]]
    """How far an error from draws may be off with 95 % confidence; those not here follow from formulas."""

    def place(self, index: int) -> dict[str, Error]:
        """Everybody's error at one place."""
        return {name: self._error(name, index) for name in self.errors}

    def _error(self, name: str, index: int) -> Error:
        value, within = self.errors[name][index], self.within[name][index] if name in self.within else 0.0
        return Error(value, value - within, value + within)


@dataclass(frozen=True, kw_only=True, repr=False)
class Curves(Pictured, Private):
    """Everybody's relative error along three axes, all over the same largest value."""

    curves: tuple[Curve, ...]
    """One an axis."""
    promises: Mapping[str, Promise]
    """What each promises, by its name."""
    draws: int
    """How many releases were drawn where no formula tells."""

    def curve(self, axis: str) -> Curve:
        """The one along an axis."""
        return {curve.axis: curve for curve in self.curves}[axis]

    def to_json(self) -> PrivateDict:
        """Plain data: {"epsilon": {"at": [...], "relative_error": {name: [...]}, "within": {...}}, ...}."""
        found: dict[str, Any] = {
            curve.axis: {
                "at": list(curve.at),
                "relative_error": {name: list(values) for name, values in curve.errors.items()},
                "within": {name: list(values) for name, values in curve.within.items()},
            }
            for curve in self.curves
        }
        made: PrivateDict = private({**found, "draws": self.draws})
        return made

    def __str__(self) -> str:
        return "\n\n".join(map(_table, self.curves))


def curves(
    task: Task,
    *,
    epsilons: Sequence[Number] = EPSILONS,
    sizes: Sequence[int] | None = None,
    cycles: Sequence[int] | None = None,
    baselines: Iterable[Baseline] | None = None,
    draws: int = 20,
    seed: int = 1,
) -> Curves:
    """Relative errors against epsilon, the number of households and the horizon.

    Fewer households are some of them at random; more are the same ones several times over, which leaves the mean as
    it is and makes the noise smaller. All errors are over the largest value of the whole task, to compare.

    Args:
        task: What is asked.
        epsilons: At which.
        sizes: For how many households: fewer than there are, or a multiple.
        cycles: Over how many cycles.
        baselines: Who; everybody, with the settings that suit each place, unless given.
        draws: How many releases are drawn where no formula tells.
        seed: For the draws, and for which households.
    """
    given = None if baselines is None else tuple(baselines)
    axes = _axes(task, epsilons, sizes, cycles, seed)
    made, promises = [], {}
    with Progress("Curves", sum(len(at) for at, _ in axes.values())) as bar:
        for axis, (at, change) in axes.items():
            found: dict[str, list[Estimate]] = {}
            for place in at:
                changed = change(place)
                for each in suited(changed) if given is None else given:
                    error = relative_error(each, changed, draws=draws, seed=seed, largest=task.largest)
                    found.setdefault(each.name, []).append(error)
                    promises[each.name] = each.promise(changed)
                bar.advance(1)
            made.append(_curve(axis, at, found))
    return Curves(curves=tuple(made), promises=promises, draws=draws)


def _curve(axis: str, at: Sequence[Number], found: Mapping[str, Sequence[Estimate]]) -> Curve:
    return Curve(
        axis=axis,
        at=tuple(float(Fraction(place)) for place in at),
        errors={name: tuple(each.value for each in row) for name, row in found.items()},
        within={
            name: tuple(each.within for each in row)
            for name, row in found.items()
            if any(each.within for each in row)
        },
    )


def _axes(
    task: Task,
    epsilons: Sequence[Number],
    sizes: Sequence[int] | None,
    cycles: Sequence[int] | None,
    seed: int,
) -> dict[str, tuple[Sequence[Number], Callable[[Any], Task]]]:
    """Where to look along each axis, and how the task changes there."""
    n = task.panel.n_households
    shuffled = np.random.default_rng(seed).permutation(n)

    def sized(size: int) -> Task:
        return task.at(copies=size // n) if size >= n else task.among(np.sort(shuffled[:size]))

    # Ours are at every place or at none.
    least = MINIMUM if n >= MINIMUM else 1
    sizes = sizes or sorted({max(least, int(n * factor)) for factor in FACTORS})
    cycles = cycles or sorted({max(1, task.cycles // part) for part in PARTS})
    return {
        "epsilon": (epsilons, lambda epsilon: task.at(epsilon=epsilon)),
        "households": (sizes, sized),
        "cycles": (cycles, lambda count: task.at(cycles=count)),
    }


def _table(curve: Curve) -> str:
    """A row a rival, a column a place."""
    head = f"{curve.axis:21}" + "".join(f"{place:>9,g}" for place in curve.at)
    rows = [f"{name:21}" + "".join(f"{value:>9.3g}" for value in row) for name, row in curve.errors.items()]
    return "\n".join([head, *rows])
