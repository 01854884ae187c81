"""Attacks on a home that is known to be in the sum: was it away, and what does its usual day look like?"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.study.audit.attacks.membership import MEMBERS, QUICK, SIZES, Game, drawn, halves, right
from diurnal.study.audit.attacks.releases import Alter, Groups, published
from diurnal.study.audit.attacks.result import Outcome
from diurnal.study.audit.attacks.scores import Found, alike, discriminant, seen, spread
from diurnal.study.audit.attacks.setting import Setting
from diurnal.study.baselines import Task

FORTNIGHT = 14
"""For how many cycles a home is away; and with how many before, these are compared."""
MEAN_DAYS, ALL_READINGS = "others' mean days are known", "others' readings are all known"
MOST = 100
"""How many homes the group has whose mean day is published, at most."""


def absence(setting: Setting) -> tuple[Outcome, ...]:
    """How often who knows a home's usual day tells whether it was away for a fortnight."""
    task = setting.population.recent(setting.epsilon, 2 * FORTNIGHT)
    players, background = halves(task, setting.rng("absence"))
    most, found = task.panel.n_households, []
    every = [size for size in (SIZES[:5] if setting.deep else QUICK[:2]) if size <= most]
    for size in every:
        few, rng = max(1, size // 5), setting.rng("absence", size)
        game = drawn(size, players, blocks=24 if setting.deep else 4, rng=rng, targets=few, always=True)
        sums = published(setting.releases, task, Groups(game.rosters, _away(task, game)))
        for release in setting.releases:
            weights = _telling(release.plan(task, size), task, game, background)
            rate = right(game, _contrast(sums[release.name], task), weights)
            found.append(Outcome(release=release.name, households=size, **rate._asdict()))
        setting.advance(1 / len(every))
    return tuple(found)


class Recovered(NamedTuple):
    """What was found of homes' mean days."""

    outcomes: tuple[Outcome, ...]
    """How like the truth, from each release and knowledge."""
    shapes: dict[str, tuple[float, ...]]
    """The day of the first home."""
    errors: dict[str, float]
    """By release, from mean days: how far off a home's mean day is, of its own size."""


def profile(setting: Setting) -> Recovered:
    """What a long stretch's averages show of a home's mean day to who knows the others'."""
    task = setting.population.task(setting.epsilon)
    task = task.at(cycles=task.cycles if setting.deep else min(task.cycles, 42))
    n = min(MOST, task.panel.n_households)
    homes = np.sort(setting.rng("profile").choice(task.panel.n_households, n, replace=False))
    own = task.panel.readings[:, homes].T.astype(float)
    truth = own.reshape(n, -1, task.slots).mean(axis=1)
    same = Groups(np.tile(homes, (16 if setting.deep else 6, 1)))
    outcomes, shapes, errors = [], {"truth": tuple(truth[0])}, {}
    for release in setting.releases:
        shown = seen(release.plan(task, n), task, homes, n, group=homes).days.reshape(task.steps, n).T
        # The sum less what it shows of all others: what it shows of the home, and the noise of the sum.
        noise = published([release], task, same)[release.name] - shown.sum(axis=0)
        means = [_days(shown + each, task).mean(axis=1) for each in noise]
        shapes[release.name] = tuple(means[0][0])
        errors[release.name] = float(np.sqrt(np.mean((np.stack(means) - truth) ** 2) / np.mean(truth**2)))
        outcomes.append(_outcome(release.name, MEAN_DAYS, means, truth))
        if release.level is not None:
            above = [_above_least(_days(shown + each, task)) for each in noise]
            outcomes.append(_outcome(release.name, ALL_READINGS, above, truth))
        setting.advance(1 / len(setting.releases))
    return Recovered(tuple(outcomes), shapes, errors)


def _above_least(days: Floats) -> Floats:
    """Each home's mean day above its least reading of each slot, which no noise that repeats can hide."""
    return np.asarray(days.mean(axis=1) - days.min(axis=1))


def _outcome(name: str, case: str, found: list[Floats], truth: Floats) -> Outcome:
    """How like the truth what was found of each home is: the mean over homes, for each draw."""
    values = [np.mean([alike(*pair) for pair in zip(each, truth, strict=True)]) for each in found]
    return Outcome(release=name, case=case, **Found.mean(values, least=-1, most=1)._asdict())


def _days(series: Floats, task: Task) -> Floats:
    """Homes x cycles x slots."""
    return series.reshape(len(series), -1, task.slots)


def _away(task: Task, game: Game) -> Alter:
    """Targets that are away read, in the second fortnight, the least that they ever read in that slot."""
    least = _least(task)
    first = (task.history.n_cycles + FORTNIGHT) * task.slots

    def alter(group: int, readings: Integers, _: Marks) -> None:
        block, member = divmod(group, MEMBERS)
        away = np.flatnonzero(game.inside[block, member])
        # Targets come first in a group.
        readings[first:, away] = np.tile(least[:, game.targets[block, away]], (FORTNIGHT, 1))

    return alter


def _telling(plan: Plan | None, task: Task, game: Game, background: Integers) -> Floats:
    """Weights for every target on the mean day of the fortnight less that before."""
    size, homes = game.rosters.shape[1], game.targets.ravel()
    two = np.concatenate([task.profiles, _least(task)])
    days = replace(task, panel=task.panel.following(two, first_step=task.panel.first_step))
    usual, away = seen(plan, days, homes, size).days
    others = seen(plan, task, background, size)
    flat = others.days.transpose(2, 0, 1).reshape(len(background), -1)
    noise = size * spread(_contrast(flat, task).T) + 2 / FORTNIGHT * others.cycle
    return discriminant(away - usual, noise)


def _contrast(sums: Floats, task: Task) -> Floats:
    """The mean day of the second fortnight less that of the first; noise that repeats is gone."""
    days = sums.reshape(len(sums), 2, FORTNIGHT, task.slots).mean(axis=2)
    return np.asarray(days[:, 1] - days[:, 0])


def _least(task: Task) -> Integers:
    """What each home reads in each slot when nobody is there: the least of its history."""
    least: Integers = task.history.readings.reshape(-1, task.slots, task.history.n_households).min(axis=0)
    return least
