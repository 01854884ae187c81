"""Attacks on one stream: its differences, its minima, and totals that somebody knows (theory 6.1, 4.4)."""

from __future__ import annotations

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.readings.data import Floats
from diurnal.study.audit.attacks.releases import Groups, curator_for, published, reported
from diurnal.study.audit.attacks.result import Outcome
from diurnal.study.audit.attacks.scores import Found, alike, error_of, seen
from diurnal.study.audit.attacks.setting import Setting
from diurnal.study.baselines import Task

OFF = 0.25
"""By how much the base load is guessed wrong."""
CALENDAR = "the day is on the public calendar"
KNOWN = "one day's totals are known"


def differencing(setting: Setting) -> tuple[Outcome, ...]:
    """What y(t + T) - y(t) shows of one home's changes to whoever knows everybody else's."""
    task = setting.population.recent(setting.epsilon, 14)
    everybody = np.tile(np.arange(task.panel.n_households), (12 if setting.deep else 4, 1))
    sums = published(setting.releases, task, Groups(everybody))
    changes, found = _changes(task.panel.readings.T.astype(float), task.slots), []
    for release in setting.releases:
        plan = release.plan(task)
        shown = seen(plan, task, everybody[0], task.n).days.reshape(task.steps, -1).T
        own = _changes(shown, task.slots)
        # What the sum's change is off is all that stands between the attacker and what is shown of a home.
        error = _changes(sums[release.name], task.slots) - own.sum(axis=0)
        means = [np.mean([alike(*pair) for pair in zip(own + each, changes, strict=True)]) for each in error]
        found.append(Outcome(release=release.name, **Found.mean(means, least=-1, most=1)._asdict()))
    setting.advance(1)
    return tuple(found)


def slot_minimum(setting: Setting) -> tuple[Outcome, ...]:
    """How far from the truth a release is once each slot's minimum is taken for its noise."""
    task = slot_minimum_task(setting)
    everybody, found = Groups(np.arange(task.panel.n_households)[None]), []
    for release in setting.releases:
        errors, stripped = [], []
        for _ in range(4 if setting.deep and release.level is not None else 1):
            means = published([release], task, everybody)[release.name][0] / task.n
            before = error_of(means, task.truth)
            errors.append(before)
            # Whoever knows how the noise is made keeps what is published where that is better.
            stripped.append(min(before, max(error_of(each, task.truth) for each in _stripped(means, task))))
        after = Found.mean(stripped, least=0)
        found.append(Outcome(release=release.name, published=float(np.mean(errors)), **after._asdict()))
    setting.advance(1)
    return tuple(found)


def slot_minimum_task(setting: Setting) -> Task:
    """The whole horizon, or half a year of it if there is no time."""
    task = setting.population.task(setting.epsilon)
    return task if setting.deep else task.at(cycles=min(task.cycles, 182))


def known_totals(setting: Setting) -> tuple[Outcome, ...]:
    """How far off all other totals are once those of one day are known; and if that day is never reported."""
    task, found = known_totals_task(setting), []
    for release in setting.releases:
        plan = release.plan(task)
        for case in (KNOWN,) if plan is None else (KNOWN, CALENDAR):
            tries = [_undone(plan, case, task) for _ in range(8 if setting.deep else 3)]
            before, after = (Found.mean(each, least=0) for each in zip(*tries, strict=True))
            found.append(Outcome(release=release.name, case=case, published=before.value, **after._asdict()))
    setting.advance(1)
    return tuple(found)


def known_totals_task(setting: Setting) -> Task:
    """Four weeks, or two if there is no time."""
    return setting.population.recent(setting.epsilon, 28 if setting.deep else 14)


def nothing_known(task: Task) -> float:
    """The error of who takes a public mean day for what is published."""
    return error_of(task.public, task.truth)


def _undone(plan: Plan | None, case: str, task: Task) -> tuple[float, float]:
    """The error of the totals after the first day, as published and after the attack."""
    panel, day, truth = task.panel, task.slots, task.truth
    if case == CALENDAR:
        panel = panel.closing(panel.steps[:day])
    means = truth if plan is None else reported(curator_for(plan), plan, task.history, panel)[0] / task.n
    off = means[:day] - truth[:day]
    # What was not reported cannot be held against what is known.
    after = means[day:] - np.tile(np.where(np.isfinite(off), off, 0.0), task.cycles - 1)
    before, undone = (error_of(each, truth[day:], largest=task.largest) for each in (means[day:], after))
    # Whoever knows how the noise is made keeps what is published where that is better.
    return before, min(before, undone)


def _stripped(means: Floats, task: Task) -> list[Floats]:
    """The series less each slot's minimum, plus a guess of the base load, too high and too low."""
    days = means.reshape(-1, task.slots)
    base = float(task.truth.reshape(-1, task.slots).min(axis=0).mean())
    return [(days - days.min(axis=0) + guess * base).reshape(-1) for guess in (1 - OFF, 1 + OFF)]


def _changes(values: Floats, slots: int) -> Floats:
    """From each step to the same slot of the next cycle."""
    return np.asarray(values[:, slots:] - values[:, :-slots])
