"""Accuracy: the error of the paper's mechanisms, of the repair and of the split budget.

Every one of them adds noise to the true mean and nothing else, so that the error has a closed form: standard
deviations of Laplace noise, over the largest true mean. Draws of the mechanisms as printed confirm it.
The noise here is drawn from a NumPy Generator: nothing of this reaches a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from diurnal.private import Private
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel
from diurnal.study import paper

MECHANISMS = {
    "theorem-1": "Theorem 1",
    "repair": "two layers, the repair",
    "corollary-1": "Corollary 1 as printed",
    "split": "epsilon split over the year",
}
"""What is compared, and what it is called."""

EPSILONS = tuple(10 ** (exponent / 20) for exponent in range(-20, 21))
"""From 0.1 to 10, as in the paper's figure."""

DRAWN_AT = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Where draws confirm the closed form."""

DRAWS = 25
"""How many draws a point is made of."""


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """By how much one home may change what is added up, in Wh. The paper does not say which it took."""

    profile: float
    """Df_z: the periodic component, in one slot."""
    variation: float
    """Df_w: the variation, in one step."""
    reading: float
    """Df_x: the reading, in one step."""


STATED = Ranges(profile=3000, variation=8600, reading=8000)
"""What this project states: no mean half hour above 3 kWh, no half hour above 8 kWh; and variations span 8.6 kWh in
the homes at hand, which stands for the paper's Df_w. The same for both data sets."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a relative error depends on besides ranges and epsilon."""

    homes: int
    """n."""
    slots: int
    """T."""
    cycles: int
    """K, so that K T reports are made."""
    peak: float
    """The largest true mean over all steps, in Wh."""


def noise(mechanism: str, ranges: Ranges, *, slots: int, cycles: int) -> float:
    """The standard deviation of the noise in a sum at epsilon = 1, over all reports, in Wh."""
    z, w, x = ranges.profile, ranges.variation, ranges.reading
    # The first cycle's noise stays in every report of Corollary 1; later cycles have more on top.
    later = (cycles - 1) / cycles
    reach = {
        "theorem-1": z,
        "repair": math.hypot(z, w),
        "corollary-1": math.sqrt((z + w) ** 2 + later * w**2),
        "split": cycles * x,
    }[mechanism]
    return math.sqrt(2) * slots * reach


def error(mechanism: str, ranges: Ranges, setting: Setting, epsilon: float) -> float:
    """The relative error of the mean: root mean square error over the largest true mean."""
    spread = noise(mechanism, ranges, slots=setting.slots, cycles=setting.cycles)
    return spread / (epsilon * setting.homes * setting.peak)


def gain(mechanism: str, ranges: Ranges, cycles: int) -> float:
    """How many times less error than the split budget: K Df_x/Df_z for Theorem 1."""
    split, own = (noise(each, ranges, slots=1, cycles=cycles) for each in ("split", mechanism))
    return split / own


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Series(Private):
    """The sums of a panel, as the mechanisms take them: gaps are filled with the home's own profile."""

    readings: Integers = field(repr=False)
    """A row a step and a column a home."""
    profile: Integers = field(repr=False)
    """Each home's mean cycle, a row a slot."""
    span: Ranges
    """By how much profiles, variations and readings differ, over homes and steps that are there."""

    @classmethod
    def of(cls, panel: Panel) -> Series:
        """Of the whole cycles of a panel."""
        whole, slots = panel.first(panel.n_cycles), panel.grid.slots
        profile, _ = kernels.profiles(whole.readings, whole.present, slots=slots, min_readings=1)
        usual = np.tile(profile, (whole.n_cycles, 1))
        readings = np.where(whole.present, whole.readings, usual)
        variation = (readings - usual)[whole.present]
        there = whole.readings[whole.present]
        spans = (float(np.ptp(each)) for each in (profile, variation, there))
        return cls(readings=readings, profile=profile, span=Ranges(**dict(zip(RANGES, spans, strict=True))))

    @property
    def truth(self) -> Floats:
        """The mean over homes at every step, in Wh."""
        mean: Floats = self.readings.mean(axis=1)
        return mean

    @property
    def setting(self) -> Setting:
        """What the errors depend on."""
        slots, homes = self.profile.shape
        cycles = len(self.readings) // slots
        return Setting(homes=homes, slots=slots, cycles=cycles, peak=float(self.truth.max()))

    def pooled(self) -> Series:
        """The same sums as if of one home: queries are sums, so that reports do not change."""
        one = (array.sum(axis=1, keepdims=True) for array in (self.readings, self.profile))
        return Series(**dict(zip(("readings", "profile"), one, strict=True)), span=self.span)


RANGES = ("profile", "variation", "reading")


@dataclass(frozen=True, kw_only=True)
class Point:
    """A relative error that was drawn."""

    mechanism: str
    """Of which mechanism."""
    epsilon: float
    """At which epsilon."""
    drawn: float
    """The root of the mean square error over all draws, over the largest true mean."""
    sure: float
    """One standard error of it."""
    expected: float
    """What the closed form gives."""

    @property
    def agrees(self) -> bool:
        """Whether the draws lie within four standard errors of the closed form."""
        return abs(self.drawn - self.expected) <= 4 * self.sure


def points(series: Series, ranges: Ranges, rng: np.random.Generator, *, draws: int = DRAWS) -> tuple[Point, ...]:
    """Draw every mechanism as printed, some times at some epsilons."""
    pooled, found = series.pooled(), []
    with Progress("Drawing reports", len(MECHANISMS) * len(DRAWN_AT)) as bar:
        for mechanism in MECHANISMS:
            for epsilon in DRAWN_AT:
                squares = [_square(pooled, report(pooled, mechanism, ranges, epsilon, rng)) for _ in range(draws)]
                found.append(_point(mechanism, epsilon, squares, ranges, series.setting))
                bar.advance(1)
    return tuple(found)


def _square(series: Series, reports: Integers) -> float:
    return float(np.mean((reports - series.readings.sum(axis=1)).astype(float) ** 2))


def _point(mechanism: str, epsilon: float, squares: Sequence[float], ranges: Ranges, setting: Setting) -> Point:
    scale = setting.homes * setting.peak
    rms = math.sqrt(np.mean(squares))
    sure = float(np.std(squares, ddof=1)) / math.sqrt(len(squares)) / (2 * rms)
    expected = error(mechanism, ranges, setting, epsilon)
    return Point(mechanism=mechanism, epsilon=epsilon, drawn=rms / scale, sure=sure / scale, expected=expected)


def report(series: Series, mechanism: str, ranges: Ranges, epsilon: float, rng: np.random.Generator) -> Integers:
    """The reported sums of a mechanism over the whole horizon, by the paper's own recursion where it has one."""
    slots = len(series.profile)
    cycles = len(series.readings) // slots
    z, w, x = (getattr(ranges, each) for each in RANGES)

    def laplace(reach: float, rows: int) -> Integers:
        return discrete_laplace(rng, slots * reach / epsilon, (rows, slots))

    printed: dict[str, Callable[[], Integers]] = {
        "theorem-1": lambda: paper.theorem_1(series.readings, series.profile, laplace(z, 1)[0]),
        "corollary-1": lambda: paper.corollary_1_as_printed(
            series.readings, series.profile, laplace(z + w, 1)[0], laplace(w, cycles - 1)
        ),
        "repair": lambda: paper.two_layers(series.readings, laplace(z, 1)[0], laplace(w, cycles)),
        "split": lambda: series.readings.sum(axis=1) + laplace(cycles * x, cycles).reshape(-1),
    }
    return printed[mechanism]()


def discrete_laplace(rng: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Integers:
    """Whole numbers with P(v) proportional to exp(-abs(v)/scale): the difference of two geometric ones."""
    rate = -math.expm1(-1 / scale)
    drawn: Integers = rng.geometric(rate, shape) - rng.geometric(rate, shape)
    return drawn
