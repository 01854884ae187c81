"""Drift: whether the pattern has moved away from what reports are held against.

A profile is made once; homes change. What is watched is what was released (theory 6.7): in pattern mode reports
against the noisy profile G, whose noise cancels; in strong mode, where G is private, against the first reported
cycles. All of that is post-processing of public rows, and public. On private readings the same is asked by the
custodian, on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import whole
from diurnal.periodicity.cycles import KEEP, tally
from diurnal.picture import Pictured
from diurnal.private import Private, PrivateDict, private
from diurnal.readings.data import Floats
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel
from diurnal.renamed import renamed

CHANCE = 4.0
"""How many times what chance gives a move must be, in squares. Chance alone exceeds it in 5 % of windows if all
slots move as one, more rarely else."""


MOST = 1e6
"""How many times what chance gives is said, at most."""


class Row(Protocol):
    """What is needed of a released row."""

    @property
    def step(self) -> int:
        """The step."""

    @property
    def group(self) -> str:
        """The group."""

    @property
    def exact(self) -> Fraction:
        """The value."""

    @property
    def unit(self) -> str:
        """What it counts."""


@dataclass(frozen=True, kw_only=True)
class Drift(Pictured):
    """How far the pattern has moved, window after window."""

    group: str
    """The group whose reports these are."""
    against: str
    """What they are held against."""
    unit: str
    """What a move counts."""
    level: float | None
    """The mean of the pattern over its slots; None where noise hides it, and nobody has said it."""
    grid: Grid
    """The grid of the steps."""
    window: int
    """How many cycles a window has."""
    threshold: float
    """From which move on there is an alarm, as a share of the level."""
    cycles: tuple[int, ...] = field(repr=False)
    """The last cycle of each window."""
    moves: tuple[float, ...] = field(repr=False)
    """How far the mean cycle of the window lies from the pattern, root mean square over the slots; what chance
    gives is taken off."""
    chance: tuple[float, ...] = field(repr=False)
    """How many times, in squares, what chance alone gives; a million stands for more."""

    @property
    def alarms(self) -> tuple[bool, ...]:
        """Whether the pattern has moved, by each window. Where the level is not known, by chance alone."""
        least = 0.0 if self.level is None else self.threshold * self.level
        return tuple(move > least and times > CHANCE for move, times in zip(self.moves, self.chance, strict=True))

    @property
    def alarm(self) -> bool:
        """Whether the pattern has moved, by the latest window."""
        return bool(self.alarms) and self.alarms[-1]

    @property
    def since(self) -> str | None:
        """When the last cycle of the first window of the alarm that is on now began."""
        if not self.alarm:
            return None
        last = len(self.alarms) - 1
        while last > 0 and self.alarms[last - 1]:
            last -= 1
        return self.grid.time(self.cycles[last] * self.grid.slots)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "group": self.group,
            "against": self.against,
            "unit": self.unit,
            "level": self.level,
            "window": self.window,
            "threshold": self.threshold,
            "alarm": self.alarm,
            "since": self.since,
            "cycles": list(self.cycles),
            "moves": list(self.moves),
            "chance": list(self.chance),
        }

    def __str__(self) -> str:
        if not self.cycles:
            return f"{self.group}: no window of {self.window} cycles to hold against {self.against} yet."
        said = "The pattern has moved" if self.alarm else "No alarm"
        since = f", since {self.since}" if self.alarm else ""
        if self.level is None:
            hidden = "noise hides the level: mean_reading=... sets alarms from a share on"
            far = f"{self.moves[-1]:.4g} {self.unit} away ({hidden})"
        else:
            far = f"{self.moves[-1] / self.level:.0%} of the level away (alarm from {self.threshold:.0%} on)"
        return (
            f"{self.group}: {said}{since}. From {self.against} the last {self.window} cycles lie {far}, "
            f"{self.chance[-1]:.3g} times what chance gives, in squares (alarm from {CHANCE:g} on)."
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateDrift(Private, Drift):
    """The same, computed on private readings: for the custodian's eyes."""

    def to_json(self) -> PrivateDict:
        """Plain data, still private."""
        content: PrivateDict = private(super().to_json())
        return content

    def __str__(self) -> str:
        return f"{super().__str__()} For the custodian's eyes."


@renamed(level="mean_reading")
def drift(
    rows: Iterable[Row],
    grid: Grid,
    profiles: Mapping[str, Sequence[Fraction]] | None = None,
    *,
    noise: Mapping[str, float] | None = None,
    mean_reading: float | None = None,
    window: int = 28,
    threshold: float = 0.3,
) -> dict[str, Drift]:
    """How far the pattern of each group has moved, from its released rows.

    Args:
        rows: Released rows of one stream.
        grid: Their grid.
        profiles: G by group, a value a slot, in units of a row's value, where it is public; the first cycles of the
            rows, as many as a window has, unless given.
        noise: By group, the standard deviation of the noise in the pattern's mean over its slots; none unless
            given. The level is taken from the pattern only where it is ten times that.
        mean_reading: The level, from public knowledge: the mean of a reading in the reports' unit.
        window: How many cycles are averaged. Whole weeks, so that weekends do not look like a move.
        threshold: From which move on there is an alarm, as a share of the level.

    Raises:
        ReadingsError: The window, the level or the threshold make no sense.
    """
    _check(window, threshold, mean_reading)
    by_group: dict[str, list[Row]] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(row)
    found = {}
    for group, own in by_group.items():
        first, values = _table(own, grid.slots)
        profile = None if profiles is None else np.array([float(value) for value in profiles[group]])
        found[group] = Drift(
            group=group,
            against=f"its first {window} reported cycles" if profile is None else "the noisy profile",
            unit=own[0].unit,
            grid=grid,
            window=window,
            threshold=threshold,
            **_windows(first, values, profile, window, mean_reading, (noise or {}).get(group, 0.0)),
        )
    return found


def private_drift(panel: Panel, *, history: int, window: int = 28, threshold: float = 0.3) -> PrivateDrift:
    """How far the mean of a panel has moved away from its first cycles. For the custodian's eyes.

    Args:
        panel: Private readings.
        history: How many cycles the profile is made from; those after it are held against it.
        window: How many cycles are averaged.
        threshold: From which move on there is an alarm, as a share of the level.

    Raises:
        ReadingsError: The window, the threshold or the history make no sense.
    """
    _check(window, threshold, None)
    before, after = panel.first(whole(history, "history", least=1, error=ReadingsError)), panel.after(history)
    first = after.first_step // after.grid.slots
    return PrivateDrift(
        group="all",
        against=f"the mean of the first {history} cycles",
        unit=panel.grid.unit,
        grid=panel.grid,
        window=window,
        threshold=threshold,
        **_windows(first, _means(after), _mean(_means(before)), window, None, 0.0),
    )


def _check(window: int, threshold: float, mean_reading: float | None) -> None:
    whole(window, "window", least=2, error=ReadingsError)
    for name, value in {
        "threshold": threshold,
        "mean_reading": 1 if mean_reading is None else mean_reading,
    }.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
            raise ReadingsError("argument-not-positive", name=name, value=value)


def _means(panel: Panel) -> Floats:
    """The mean of the readings present, a row a cycle and a column a slot."""
    return tally(panel).means[: panel.n_cycles * panel.grid.slots].reshape(-1, panel.grid.slots)


def _table(rows: Sequence[Row], slots: int) -> tuple[int, Floats]:
    """The first cycle, and values with a row a cycle, NaN where there is none."""
    steps = np.array([row.step for row in rows])
    first, last = int(steps.min()) // slots, int(steps.max()) // slots
    values = np.full((last - first + 1) * slots, np.nan)
    values[steps - first * slots] = [float(row.exact) for row in rows]
    return first, values.reshape(-1, slots)


def _windows(
    first: int, values: Floats, profile: Floats | None, window: int, level: float | None, noise: float
) -> dict[str, Any]:
    """The level, and the move of every window of complete cycles."""
    complete = np.mean(~np.isnan(values), axis=1) >= float(KEEP)
    numbers, cycles = first + np.flatnonzero(complete), values[complete]
    own_chance = 0.0
    if profile is None:
        reference, numbers, cycles = cycles[:window], numbers[window:], cycles[window:]
        profile = _mean(reference)
        own_chance = _chance(reference - profile)
    seen = abs(float(np.nanmean(profile))) if np.isfinite(profile).any() else 0.0
    if level is None and seen > 10 * noise:
        level = seen
    moves, times = [], []
    for stop in range(window, len(cycles) + 1):
        apart = cycles[stop - window : stop] - profile
        mean = _mean(apart)
        by_chance = own_chance + _chance(apart - mean)
        size = float(np.mean(mean[np.isfinite(mean)] ** 2)) if np.isfinite(mean).any() else 0.0
        moves.append(float(np.sqrt(max(0.0, size - by_chance))))
        times.append(min(size / by_chance, MOST) if by_chance > 0 else MOST * float(size > 0))
    numbers = numbers[window - 1 :] if moves else numbers[:0]
    return {"level": level, "cycles": tuple(numbers.tolist()), "moves": tuple(moves), "chance": tuple(times)}


def _mean(cycles: Floats) -> Floats:
    """The mean of a slot's values that are there; NaN where there is none."""
    there = ~np.isnan(cycles)
    total, count = np.where(there, cycles, 0.0).sum(axis=0), there.sum(axis=0)
    mean: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _chance(apart: Floats) -> float:
    """The mean square that the mean of cycles would have by chance, cycles next to each other being alike.

    A long-run variance with Bartlett weights (Newey and West, 1987).
    """
    apart = np.nan_to_num(apart)
    n = len(apart)
    if n == 0:
        return 0.0
    reach = min(n - 1, 1 + round(n ** (1 / 3)))
    total = float(np.mean(apart**2))
    for lag in range(1, reach + 1):
        total += 2 * (1 - lag / (reach + 1)) * float(np.mean(apart[lag:] * apart[:-lag])) * (n - lag) / n
    return max(total, float(np.mean(apart**2)) / 10) / n
