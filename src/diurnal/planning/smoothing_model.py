"""Smoothing model: what smoothing rests on, and its filter: numbers only, no plan and no row.

The state is c, a number for each slot of the cycle that stays the same, and a slow and a fast part of each low
harmonic of a day. A Kalman filter takes it from day to day. What a day has of its own is independent of all other
days, so within a day a Cholesky factor of one covariance does it all: its news are independent, in the order of the
slots, and an estimate takes those that were out when its row came out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from diurnal.readings.data import Floats, Marks

# Parts of the mean level, root mean square, for the constant of a day and each harmonic of it (cosine and sine).
# From the mean days of 622 Scottish homes (EDRP, March to May 2009), 46 apartments in Massachusetts (UMass, 2015)
# and the synthetic town (seeds 1 and 2). Ausgrid had no say in them, though the town was made to look like it.
# They need not be exact: SLOW halved or doubled, FAST by 2/3, MEMORY 0.35 or 0.7 change the mean error on these
# data, over n*epsilon from 50 to 10,000, by half a percent or less, OWN three times as large by 2 %.
FAST = (0.165, 0.08, 0.045, 0.025, 0.02, 0.016, 0.012)
"""How far weather takes the coefficients of a day: half as much again as on most days, for the sake of hot ones."""
SLOW = (0.02, 0.006, 0.004, 0.002, 0.002, 0.002, 0.001)
"""How far the seasons take them from one day to the next."""
MEMORY = 0.5
"""Which part of a day's weather is still there on the next."""
OWN = 0.11
"""The variance of a home's own coefficients of a day is OWN/(1 + harmonic), in squares of the level: the standard
deviation of EDRP, UMass and the town is within two fifths of that at every harmonic."""
ALIKE = 300
"""What homes do together within hours is as much as what so many do by themselves: without it, EDRP at n*epsilon of
10,000 would lose 1.4 % by smoothing."""
UNKNOWN = 4.0
"""Without a reference, how far a profile may be from a constant, in levels."""
CAUTION = 1.5
"""Without a reference, how much more than its first day a place may use: too low a level would smooth too much."""


def _harmonics(size: int) -> tuple[Floats, Floats]:
    """The harmonics of a day of so many slots, a column each of mean square one, and how often each goes round."""
    angles = 2 * np.pi * np.arange(size) / size
    columns, rounds = [np.ones(size)], [0.0]
    for h in range(1, size // 2 + 1):
        last = 2 * h == size
        waves = [np.cos(h * angles)] if last else [np.sqrt(2) * np.cos(h * angles), np.sqrt(2) * np.sin(h * angles)]
        columns += waves
        rounds += [float(h)] * len(waves)
    return np.array(columns).T, np.array(rounds)


class Day(NamedTuple):
    """The rows of a group on one day, less the centre."""

    number: int
    slots: tuple[int, ...]
    """Which of the cycle's slots there are rows of."""
    values: Floats


@dataclass(frozen=True, eq=False)
class Noise:
    """What is known of the noise of a group's reports, in their unit."""

    day: int
    """How many slots a day has; the cycle is a whole number of days."""
    pattern: Floats
    """The covariance over a cycle's slots of the noise that stays."""
    cycle: Floats
    """The covariance over a cycle's slots of the noise that is drawn anew."""
    known: tuple[int, ...]
    """For each slot, the last slot of those that come out with it."""
    drawn: bool = True
    """Whether the profile may be drawn towards the reference: not if it was before it went out."""

    @cached_property
    def kept(self) -> Floats:
        """What a report has of a cycle's variations."""
        return _reached(self.cycle)

    @cached_property
    def dropped(self) -> Floats:
        """What a report has not of the profile."""
        return np.eye(len(self.pattern)) - _reached(self.pattern)


def _reached(covariance: Floats) -> Floats:
    """The projection on where a release can go: its noise goes everywhere that what it hides does."""
    return covariance @ np.linalg.pinv(covariance, hermitian=True, rcond=1e-9)


@dataclass(frozen=True, eq=False)
class Model:
    """All that is known before the rows are, in units of the report. The state is c, then slow and fast weather."""

    centre: Floats
    constant: Floats
    """The covariance of c."""
    lost: Floats
    """What of c is thought to be the pattern layer's noise: c less `lost @ c` is the best guess of the profile."""
    rest: Floats
    """The variance of that noise when c is known, slot by slot, and of what the pattern layer drops."""
    waves: Floats
    """The weather's harmonics, in a cycle's slots."""
    own: Floats
    """The covariance of a cycle's own part."""
    kept: Floats
    """What a report has of weather and own part."""
    noise: Floats
    """The covariance of the cycle layer's noise."""
    slow: Floats
    """The variance that a day adds to each harmonic for good."""
    fast: Floats
    """The variance of each harmonic that comes and goes."""
    known: tuple[int, ...]
    """For each slot, the last slot of those that come out with it."""

    @classmethod
    def of(cls, noise: Noise, centre: Floats, mismatch: float, n: float) -> Model:
        """Around a reference, which may be off by a mismatch: c is drawn to it where the pattern layer is noisy."""
        model = cls._around(noise, centre, mismatch, float(np.abs(centre).mean()), n)
        if not noise.drawn:
            return model
        lost: Floats = np.linalg.solve(model.constant, noise.pattern).T.astype(float)
        return replace(model, lost=lost, rest=model.rest - np.diag(lost @ noise.pattern))

    @classmethod
    def without_reference(cls, noise: Noise, values: Floats, n: float) -> Model:
        """Around the mean of a few rows, from which the profile may be anywhere."""
        mean, unsure = float(values.mean()), math.sqrt(float(np.diag(noise.cycle).mean()) / len(values))
        level = CAUTION * max(abs(mean), unsure)
        return cls._around(noise, np.full(len(noise.cycle), mean), UNKNOWN * level, level, n)

    @classmethod
    def _around(cls, noise: Noise, centre: Floats, mismatch: float, level: float, n: float) -> Model:
        days = len(centre) // noise.day
        waves, rounds = _harmonics(len(centre))
        spectrum = (1 + rounds / days) ** -2.0
        off = mismatch**2 * (waves * spectrum) @ waves.T / spectrum.sum()
        waves, rounds = _harmonics(noise.day)
        own = level**2 * OWN * (1 / n + 1 / ALIKE) * (waves / (1 + rounds)) @ waves.T
        low = rounds < len(FAST)
        slow, fast = ((level * np.array(part)[rounds[low].astype(int)]) ** 2 for part in (SLOW, FAST))
        return cls(
            centre=centre,
            constant=off + noise.pattern,
            lost=np.zeros_like(off),
            rest=np.diag(noise.pattern + noise.dropped @ off @ noise.dropped.T),
            waves=np.tile(waves[:, low], (days, 1)),
            own=np.kron(np.eye(days), own).astype(float),
            kept=noise.kept,
            noise=noise.cycle,
            slow=slow,
            fast=fast,
            known=noise.known,
        )

    def start(self) -> Floats:
        """The covariance of the state before the first day."""
        slots, weather = len(self.centre), np.concatenate([0 * self.slow, self.fast])
        square = np.zeros((slots + len(weather),) * 2)
        square[:slots, :slots] = self.constant
        square[slots:, slots:] = np.diag(weather)
        return square

    def passing(self, days: int) -> tuple[Floats, Floats]:
        """What so many days leave of the state, and the variance they add."""
        still, left = np.ones(len(self.centre)), MEMORY**days
        decay = np.concatenate([still, np.ones_like(self.slow), np.full_like(self.fast, left)])
        added = np.concatenate([0 * still, days * self.slow, (1 - left**2) * self.fast])
        return decay, added


class _View:
    """How the rows of a day see the state, and what is wanted of it. Days with the same slots share it."""

    def __init__(self, model: Model, slots: tuple[int, ...]) -> None:
        at = list(slots)
        unit, waves, kept = np.eye(len(model.centre)), model.waves[at], model.kept[at]
        seen = kept @ model.waves
        self.seen = np.hstack([unit[at], seen, seen])
        self.wanted = np.hstack([(unit - model.lost)[at], waves, waves])
        self.own = np.diag(model.own)[at]
        self.shared = model.own[at] @ kept.T
        spread = kept @ model.own @ kept.T + model.noise[np.ix_(at, at)]
        # Where a basis drops everything nothing is left to be uncertain of: a little, so that it can be divided by.
        self.spread = spread + np.eye(len(at)) * (1e-12 * np.diag(model.constant + model.noise).max())
        self.rest = model.rest[at]
        last = np.array(model.known)[at]
        self.out: Marks = np.array(at)[None, :] <= last[:, None]
        """Which rows (a column each) are out when a row is."""


@dataclass(frozen=True, eq=False)
class Step:
    """What one day's rows tell, in the units of a Cholesky factor: news are independent and of variance one."""

    news: Floats
    seen: Floats
    """How the news see the state."""
    gain: Floats
    """What the state learns of them."""
    estimate: Floats
    variance: Floats
    cross: Floats
    """The covariance of the truth and the state once all of the day is known."""
    decay: Floats


def forwards(model: Model, days: Sequence[Day], *, later: bool) -> list[Step]:
    """Go through the days, one after the other."""
    views: dict[tuple[int, ...], _View] = {}
    covariance = model.start()
    mean, before, steps = np.zeros(len(covariance)), days[0].number, []
    for day in days:
        if day.slots not in views:
            views[day.slots] = _View(model, day.slots)
        decay, added = model.passing(day.number - before)
        mean, covariance = decay * mean, covariance * np.outer(decay, decay) + np.diag(added)
        step = _taken(views[day.slots], day.values, mean, covariance, decay, later=later)
        mean, covariance = mean + step.gain @ step.news, covariance - step.gain @ step.gain.T
        steps.append(step)
        before = day.number
    return steps


def _taken(view: _View, values: Floats, mean: Floats, covariance: Floats, decay: Floats, *, later: bool) -> Step:
    """Take in a day's rows, each with those that were out when it came out; or with all of the day."""
    half, wanted = view.seen @ covariance, view.wanted @ covariance
    inverse = np.linalg.inv(np.linalg.cholesky(half @ view.seen.T + view.spread))
    news, gain = inverse @ (values - view.seen @ mean), half.T @ inverse.T
    share = (wanted @ view.seen.T + view.shared) @ inverse.T
    used = share if later else np.where(view.out, share, 0)
    prior = np.einsum("ij,ij->i", wanted, view.wanted) + view.own
    return Step(
        news=news,
        seen=inverse @ view.seen,
        gain=gain,
        estimate=view.wanted @ mean + used @ news,
        variance=np.maximum(prior - (used**2).sum(axis=1), 0) + view.rest,
        cross=wanted - share @ gain.T,
        decay=decay,
    )


def backwards(tape: Sequence[Step]) -> list[tuple[Floats, Floats]]:
    """What later days add (Bryson and Frazier): it divides by no covariance, which may be singular."""
    size = len(tape[0].decay)
    pull, force, found = np.zeros(size), np.zeros((size, size)), []
    for step in reversed(tape):
        less = np.einsum("ij,jk,ik->i", step.cross, force, step.cross, optimize=True)
        found.append((step.estimate + step.cross @ pull, np.maximum(step.variance - less, 0)))
        through = np.eye(size) - step.gain @ step.seen
        pull = step.decay * (step.seen.T @ step.news + through.T @ pull)
        force = step.seen.T @ step.seen + through.T @ force @ through
        force *= np.outer(step.decay, step.decay)
    return found[::-1]
