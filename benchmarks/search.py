"""Expected square errors of recipes on open homes, in levels: what the search for public constants minimises.

A recipe knows the level only to a tenth. Everything is computed in levels as the recipe sees them, and given back
in true ones. What is clipped and dropped is computed on the homes. Noise of m coefficients in a ball of radius R
has the variance (m + 1)(2 R/(n epsilon))^2 each, that of a cube (T + 1)(T + 2)/3 (2 W/(n epsilon))^2 a slot.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diurnal.promise.mechanisms import Basis
from diurnal.readings.data import Floats, Integers

DAY = 48
"""The half hours of a day."""
LEVELS = (0.9, 1.1)
"""What the level is taken for, in true levels."""
QUANTILE = 0.02
"""Which order statistic of the aggregate variations of a slot is taken as low: of K days the one after 0.02 K."""
GRAIN = 0.01
"""What the low quantile is rounded to, in levels."""


@dataclass(frozen=True, eq=False)
class Homes:
    """Readings of open homes on whole days."""

    family: str
    """Where they live. Families are weighed equally, however many homes and days they have."""
    days: Floats
    """By day, home and half hour."""
    dates: Integers
    """The day's number; Mondays are 1 modulo 7."""

    def weeks(self) -> Floats:
        """By week, home and half hour from Monday: weeks of which every day is there."""
        place = {int(date): k for k, date in enumerate(self.dates)}
        full = [d for d in place if d % 7 == 1 and all(d + more in place for more in range(7))]
        return np.array([np.hstack([self.days[place[d + more]] for more in range(7)]) for d in full])


@dataclass(frozen=True, eq=False)
class Case:
    """A history of open homes, in their own levels, and the reference that is public for them."""

    family: str
    profiles: Floats
    """By home and slot: what is released the mean of."""
    variations: Floats
    """By cycle and slot: the exact aggregate variations around the mean profile."""
    reference: Floats
    """A public shape of mean 1, from other families."""

    @property
    def mean(self) -> Floats:
        """The profile of all homes: the truth."""
        mean: Floats = self.profiles.mean(axis=0)
        return mean


def history(family: str, cycles: Floats, reference: Floats) -> Case:
    """The case of mean profiles over some cycles."""
    return _case(family, cycles, cycles.mean(axis=0), reference)


def base_load(family: str, cycles: Floats, level: float = 0.0) -> Case:
    """The case of minima over some cycles, around a flat level."""
    return _case(family, cycles, cycles.min(axis=0), np.full(cycles.shape[2], level))


def _case(family: str, cycles: Floats, profiles: Floats, reference: Floats) -> Case:
    level = cycles.mean()
    variations = (cycles.mean(axis=1) - profiles.mean(axis=0)) / level
    return Case(family, profiles / level, variations, reference)


class Recipe(NamedTuple):
    """How a mean profile is released and reported; the fields are those of the table's rows."""

    size: int
    radius: float
    scale: float = 1.0
    distance: float | None = None
    blend: float = 0.0
    slope: float = 0.0
    fill: float = 0.0
    low: float = 0.0


def score(cases: Iterable[Case], recipe: Recipe, n_epsilon: float) -> float:
    """The mean square error over families, each the mean of its cases."""
    return total([(case.family, square_error(case, recipe, n_epsilon)) for case in cases])


def total(errors: Iterable[tuple[str, float]]) -> float:
    """The mean over families of the means within."""
    found: dict[str, list[float]] = {}
    for family, error in errors:
        found.setdefault(family, []).append(error)
    return float(np.mean([np.mean(each) for each in found.values()]))


def square_error(case: Case, recipe: Recipe, n_epsilon: float) -> float:
    """The expected square error of a half hour of the profile."""
    return _mean([level**2 * _seen_at(case, level, recipe, n_epsilon) for level in LEVELS])


def _seen_at(case: Case, level: float, recipe: Recipe, n_epsilon: float) -> float:
    released, target, truth = _inside(
        case, level, recipe.size, recipe.radius, recipe.scale, recipe.blend, recipe.slope
    )
    stds = noise(recipe.size, recipe.radius, n_epsilon)
    kept = gains(recipe.distance, recipe.size, stds)
    inside = (target + kept * (released - target) - truth) ** 2 + (kept * stds) ** 2
    outside = _outside(case, level, recipe.size, recipe.fill, recipe.low)
    return float(inside.sum()) + outside


def unspent(case: Case, recipe: Recipe) -> float:
    """The square error of reporting what is known without a release: the reference, and what is put back."""
    squares = []
    for level in LEVELS:
        _, target, truth = _inside(
            case, level, recipe.size, recipe.radius, recipe.scale, recipe.blend, recipe.slope
        )
        outside = _outside(case, level, recipe.size, recipe.fill, recipe.low)
        squares.append(level**2 * (float(((target - truth) ** 2).sum()) + outside))
    return _mean(squares)


def noise(size: int, radius: float, n_epsilon: float, *, harmonic: bool = True) -> Floats:
    """The standard deviation of each coefficient over the square root of the slots."""
    return math.sqrt(size + 1) * 2 * radius / n_epsilon / (_weights(size) if harmonic else np.ones(size))


def gains(distance: float | None, size: int, stds: Floats) -> Floats:
    """How much of each released coefficient is kept: the rest is the reference's.

    What families differ by is thought to fall off with the square of the harmonic, `distance` being all of it.
    """
    if distance is None:
        return np.ones(size)
    every = np.maximum(1.0, (np.arange(DAY) + 1) // 2) ** -2.0
    prior = distance**2 * every[:size] / every.sum()
    kept: Floats = prior / (prior + stds**2)
    return kept


@functools.cache
def _inside(
    case: Case, level: float, size: int, radius: float, scale: float, blend: float, slope: float
) -> tuple[Floats, Floats, Floats]:
    """Coefficients over the square root of the slots: expected release, reference, truth."""
    basis, weights = _basis(size, len(case.reference)), _weights(size)
    target = basis @ blended(case, level, blend, slope)
    moved = (case.profiles / level @ basis.T - scale * target) * weights
    lengths = np.sqrt((moved**2).sum(axis=1))
    inside = moved * np.minimum(1, radius / np.maximum(lengths, 1e-12))[:, None]
    return inside.mean(axis=0) / weights + scale * target, target, basis @ case.mean / level


@functools.cache
def _outside(case: Case, level: float, size: int, fill: float, low: float) -> float:
    """The square error of what the basis drops, after what is put back."""
    back = fill * case.reference + low * low_of(case, level)
    return float(np.mean(_dropped(back - case.mean / level, size) ** 2))


def blended(case: Case, level: float, blend: float, slope: float) -> Floats:
    """The reference, some of its shape replaced by that of the low quantile."""
    day = case.reference
    if not blend:
        return day
    low = low_of(case, level)
    mixed: Floats = day + blend * (slope * (low - low.mean()) - (day - day.mean()))
    return mixed


@functools.cache
def low_of(case: Case, level: float = 1.0) -> Floats:
    """How far the low quantile of the aggregate variations is below the profile: it bounds the profile."""
    low = -np.sort(case.variations, axis=0)[int(QUANTILE * len(case.variations))]
    rounded: Floats = np.rint(low / level / GRAIN) * GRAIN
    return rounded


def _dropped(values: Floats, size: int) -> Floats:
    basis = _basis(size, len(values))
    rest: Floats = values - basis.T @ (basis @ values) * len(values)
    return rest


@functools.cache
def _basis(size: int, slots: int) -> Floats:
    """Rows whose products with values are coefficients over the square root of the slots."""
    rows: Floats = Basis(size=size, days=slots // DAY).rows(slots) / math.sqrt(slots)
    return rows


@functools.cache
def _weights(size: int) -> Floats:
    weights: Floats = np.sqrt(1 + np.array(Basis(size=size).harmonics()))
    return weights


@dataclass(frozen=True, eq=False)
class Reported:
    """Days of open homes after a history, in their levels: each home's variations around its profile."""

    family: str
    variations: Floats
    """By day, home and half hour."""
    mean: Floats
    """By day and half hour, over the homes: the truth."""

    @classmethod
    def of(cls, homes: Homes) -> Reported:
        """The second half of the days, around the mean of the first."""
        half = len(homes.days) // 2
        variations = (homes.days[half:] - homes.days[:half].mean(axis=0)) / homes.days.mean()
        return cls(homes.family, variations, variations.mean(axis=1))

    @functools.cached_property
    def coefficients(self) -> Floats:
        """Of every home and day in the largest basis."""
        found: Floats = self.variations @ _basis(17, DAY).T
        return found


def day_error(reported: Reported, size: int, radius: float, n_epsilon: float) -> float:
    """The expected square error of a half hour of variations that are released at the end of the day."""
    added = float((noise(size, radius, n_epsilon) ** 2).sum())
    return _mean([_day_dropped(reported, size, radius * level) + level**2 * added for level in LEVELS])


@functools.cache
def _day_dropped(reported: Reported, size: int, radius: float) -> float:
    moved = reported.coefficients[:, :, :size] * _weights(size)
    lengths = np.sqrt(np.einsum("khm,khm->kh", moved, moved))
    kept = np.einsum("kh,khm->km", np.minimum(1, radius / np.maximum(lengths, 1e-12)), moved) / moved.shape[1]
    said = kept / _weights(size) @ _basis(size, DAY) * DAY
    return float(np.mean((said - reported.mean) ** 2))


def block_error(reported: Reported, blocks: int, radius: float, n_epsilon: float) -> float:
    """The expected square error of a half hour of variations that are released block by block."""
    added = float((noise(blocks, radius, n_epsilon, harmonic=False) ** 2).sum())
    return _mean([_block_dropped(reported, blocks, radius * level) + level**2 * added for level in LEVELS])


@functools.cache
def _block_dropped(reported: Reported, blocks: int, radius: float) -> float:
    """Each block is cut off where the squares of the blocks so far leave no more room in the ball."""
    shape = (*reported.variations.shape[:2], blocks, DAY // blocks)
    sums = reported.variations.reshape(shape).mean(axis=3) / math.sqrt(blocks)
    left, kept = np.full(shape[:2], radius**2), np.empty((shape[0], blocks))
    for block in range(blocks):
        room = np.sqrt(left)
        inside = np.clip(sums[:, :, block], -room, room)
        left = np.maximum(left - inside**2, 0)
        kept[:, block] = inside.mean(axis=1)
    said = np.repeat(kept * math.sqrt(blocks), DAY // blocks, axis=1)
    return float(np.mean((said - reported.mean) ** 2))


def clip_error(reported: Reported, clip: float, n_epsilon: float) -> float:
    """The expected square error of a half hour of variations that are released slot by slot, with cube noise."""
    added = (DAY + 1) * (DAY + 2) / 3 * (2 * clip / n_epsilon) ** 2
    return _mean([_clipped(reported, clip * level) + level**2 * added for level in LEVELS])


@functools.cache
def _clipped(reported: Reported, clip: float) -> float:
    said = np.clip(reported.variations, -clip, clip).mean(axis=1)
    return float(np.mean((said - reported.mean) ** 2))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
