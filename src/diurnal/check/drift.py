"""Drift: whether the pattern has moved away from what reports are held against.

A profile is made once; homes change. What is watched is what was released (theory 6.7): in pattern mode reports
against the noisy profile G, whose noise cancels; in strong mode, where G is private, against the first reported
cycles. All of that is post-processing of public rows, and public. On private readings the same is asked by the
custodian, on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import whole
from diurnal.picture import Pictured
from diurnal.private import Private
from diurnal.readings.data import Floats
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel

COMPLETE = 0.9
"""What share of a cycle's steps must be reported for it to count."""

CHANCE = 4.0
"""How many times what chance gives a move must be, in squares. Chance alone exceeds it in 5 % of windows if all
slots move as one, more rarely else."""


class Row(Protocol):
    """What is needed of a released row."""

    @property
    def step(self) -> int: ...
    @property
    def group(self) -> str: ...
    @property
    def exact(self) -> Fraction: ...
    @property
    def deviation(self) -> float: ...
    @property
    def denominator(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Drift(Pictured):
    """How far the pattern has moved, window after window."""

    group: str
    """The group whose reports these are."""
    against: str
    """What they are held against."""
    grid: Grid
    """The grid of the steps."""
    window: int
    """How many cycles a window has."""
    threshold: float
    """From which move on there is an alarm, as a share of the level."""
    cycles: tuple[int, ...]
    """The last cycle of each window."""
    moves: tuple[float, ...]
    """How far the mean cycle of the window lies from the pattern, root mean square over the slots, as a share of
    its level; what chance gives is taken off."""
    chance: tuple[float, ...]
    """How many times, in squares, what chance alone gives."""

    @property
    def alarms(self) -> tuple[bool, ...]:
        """Whether the pattern has moved, by each window."""
        return tuple(
            move > self.threshold and times > CHANCE for move, times in zip(self.moves, self.chance, strict=True)
        )

    @property
    def alarm(self) -> bool:
        """Whether the pattern has moved, by the latest window."""
        return bool(self.alarms) and self.alarms[-1]

    @property
    def since(self) -> str | None:
        """When the first window of the alarm that is on now ended."""
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
        return (
            f"{self.group}: {said}{since}. The last {self.window} cycles lie {self.moves[-1]:.0%} of the level "
            f"away from {self.against} (alarm from {self.threshold:.0%} on), {self.chance[-1]:.1f} times what "
            "chance gives."
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateDrift(Private, Drift):
    """The same, computed on private readings: for the custodian's eyes."""


def drift(
    rows: Iterable[Row],
    grid: Grid,
    profiles: Mapping[str, Sequence[Fraction]] | None = None,
    *,
    window: int = 28,
    threshold: float = 0.3,
) -> dict[str, Drift]:
    """How far the pattern of each group has moved, from its released rows.

    Args:
        rows: Released rows of one stream.
        grid: Their grid.
        profiles: G by group, a value a slot, in units of a row's value, where it is public; the first cycles of the
            rows, as many as a window has, unless given.
        window: How many cycles are averaged. Whole weeks, so that weekends do not look like a move.
        threshold: From which move on there is an alarm, as a share of the level.

    Raises:
        ReadingsError: The window or the threshold make no sense.
    """
    _check(window, threshold)
    by_group: dict[str, list[Row]] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(row)
    found = {}
    for group, own in by_group.items():
        first, values = _table(own, grid.slots)
        profile = None if profiles is None else np.array([float(value) for value in profiles[group]])
        windows = _windows(first, values, profile, window)
        against = f"its first {window} reported cycles" if profile is None else "the noisy profile"
        found[group] = Drift(group=group, against=against, grid=grid, window=window, threshold=threshold, **windows)
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
    _check(window, threshold)
    before, after = panel.first(whole(history, "history", least=1, error=ReadingsError)), panel.after(history)
    values = _means(after)
    profile = _mean(_means(before))
    first = after.first_step // after.grid.slots
    windows = _windows(first, values, profile, window)
    against = f"the mean of the first {history} cycles"
    return PrivateDrift(
        group="all", against=against, grid=panel.grid, window=window, threshold=threshold, **windows
    )


def _check(window: int, threshold: float) -> None:
    whole(window, "window", least=2, error=ReadingsError)
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 < threshold < 10:
        raise ReadingsError(
            f"Expected threshold={threshold!r} above 0.", hint="For example 0.3, a share of the level."
        )


def _means(panel: Panel) -> Floats:
    """The mean of the readings present, a row a cycle and a column a slot."""
    slots, total, present = panel.grid.slots, 0, 0
    for block in panel.blocks():
        total, present = total + block.readings.sum(axis=1), present + block.present.sum(axis=1)
    mean = np.where(np.asarray(present) > 0, np.asarray(total) / np.maximum(present, 1), np.nan)
    return mean[: panel.n_cycles * slots].reshape(-1, slots)


def _table(rows: Sequence[Row], slots: int) -> tuple[int, Floats]:
    """The first cycle, and values with a row a cycle, NaN where there is none."""
    steps = np.array([row.step for row in rows])
    first, last = int(steps.min()) // slots, int(steps.max()) // slots
    values = np.full((last - first + 1) * slots, np.nan)
    values[steps - first * slots] = [float(row.exact) for row in rows]
    return first, values.reshape(-1, slots)


def _windows(first: int, values: Floats, profile: Floats | None, window: int) -> dict[str, Any]:
    """The move of every window of complete cycles."""
    complete = np.mean(~np.isnan(values), axis=1) >= COMPLETE
    numbers = first + np.flatnonzero(complete)
    cycles = values[complete]
    own_chance = 0.0
    if profile is None:
        reference, numbers, cycles = cycles[:window], numbers[window:], cycles[window:]
        if not len(cycles):
            return {"cycles": (), "moves": (), "chance": ()}
        profile = _mean(reference)
        own_chance = _chance(reference - profile)
    # The mean over slots, where most of the noise cancels; of net readings around zero, a tenth of their size.
    level = max(abs(float(profile.mean())), float(np.sqrt(np.mean(profile**2))) / 10)
    moves, times = [], []
    for stop in range(window, len(cycles) + 1):
        apart = cycles[stop - window : stop] - profile
        mean = _mean(apart)
        by_chance = own_chance + _chance(apart - mean)
        size = float(np.mean(mean**2))
        moves.append(float(np.sqrt(max(0.0, size - by_chance)) / level) if level else 0.0)
        times.append(size / by_chance if by_chance > 0 else (np.inf if size else 0.0))
    return {"cycles": tuple(numbers[window - 1 :].tolist()), "moves": tuple(moves), "chance": tuple(times)}


def _mean(cycles: Floats) -> Floats:
    """The mean of a slot's values that are there; zero where there is none."""
    there = ~np.isnan(cycles)
    mean: Floats = np.where(there, cycles, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return mean


def _chance(apart: Floats) -> float:
    """The mean square that the mean of cycles would have by chance, cycles next to each other being alike.

    A long-run variance with Bartlett weights (Newey and West, 1987).
    """
    apart = np.nan_to_num(apart)
    n = len(apart)
    reach = min(n - 1, 1 + round(n ** (1 / 3)))
    total = float(np.mean(apart**2))
    for lag in range(1, reach + 1):
        total += 2 * (1 - lag / (reach + 1)) * float(np.mean(apart[lag:] * apart[:-lag])) * (n - lag) / n
    return max(total, float(np.mean(apart**2)) / 10) / n
