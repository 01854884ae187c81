"""Attacks by who is in a sum: leaving and joining, two rosters that overlap, weights that keep homes apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from diurnal.errors import LimitError, RefusedError
from diurnal.planning.plan import Plan
from diurnal.promise.query import Weighted
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.study.audit.attacks.releases import (
    WORLD,
    Groups,
    Release,
    curator_for,
    panels_of,
    published,
    reported,
)
from diurnal.study.audit.attacks.result import Outcome
from diurnal.study.audit.attacks.scores import Found, alike, seen
from diurnal.study.audit.attacks.setting import Setting
from diurnal.study.baselines import Task

SIZE = 20
"""How many homes a group has: few, so that one of them shows."""
LEAVES, JOINS = "leaves", "joins"
ONE_STORE, TWO_STORES = "one store, as it must be", "two stores, which is forbidden"
LIGHT, HEAVY = 16, 2
"""How many homes have weight 1, and how many are to be told apart."""
HEAVIER = 1000
"""What one home weighs where no sum is large enough for digits."""
DIGITS, HEAVIEST = "two homes have digits of their own", "one home weighs 1,000 times more"

Shapes = Mapping[str, tuple[float, ...]]


class Told(NamedTuple):
    """What attacks on homes found, with the day of the first of them."""

    outcomes: tuple[Outcome, ...]
    shapes: Shapes


def leaving(setting: Setting) -> Told:
    """What mean days before less mean days after show of the home that left, or came, in between."""
    task = setting.population.recent(setting.epsilon, 28)
    rosters = _rosters(setting, "leaving", 96 if setting.deep else 8, SIZE, task)
    truth = _days(task, task.panel.readings[:, rosters[:, 0]].T).mean(axis=1)
    others = {release.name: _others(release, task, rosters) for release in setting.releases}
    outcomes, shapes = [], {"truth": tuple(truth[0])}
    for case in (LEAVES, JOINS):
        for name, sums in published(setting.releases, task, Groups(rosters, _moving(case, task))).items():
            before, after = np.split(_days(task, sums - others[name]), 2, axis=1)
            change = before.mean(axis=1) - after.mean(axis=1)
            outcomes.append(_alike(name, case, change if case == LEAVES else -change, truth))
            if case == LEAVES:
                shapes[name] = tuple(change[0])
        setting.advance(1 / 2)
    return Told(tuple(outcomes), shapes)


def _others(release: Release, task: Task, rosters: Integers) -> Floats:
    """What a release shows of everybody but the first home of each group, a row a group."""
    everybody = np.arange(task.panel.n_households)
    shown = seen(release.plan(task, SIZE), task, everybody, SIZE).days.reshape(task.steps, -1)
    return np.asarray(shown[:, rosters[:, 1:]].sum(axis=2).T)


def overlapping(setting: Setting) -> Told:
    """What the difference of two rosters, of which one has one home more, shows of it."""
    task = setting.population.recent(setting.epsilon, 14)
    rosters = _rosters(setting, "overlapping", 48 if setting.deep else 10, SIZE + 1, task)
    truth, found = task.panel.readings[:, rosters[:, 0]].T.astype(float), []
    days: dict[str, tuple[float, ...]] = {"truth": tuple(_days(task, truth)[0].mean(axis=0))}
    for release in setting.releases:
        plan = release.plan(task, SIZE)
        exact = release.level is not None and release.level.exact_variations
        for case in (ONE_STORE, TWO_STORES) if exact else (ONE_STORE,):
            try:
                found_here = _difference(plan, task, rosters, apart=case == TWO_STORES)
            except RefusedError as refusal:
                found.append(Outcome(release=release.name, case=case, refused=refusal.message))
                continue
            if case == TWO_STORES:
                # Noise that repeats goes out with the mean of its slot, for a home's changes.
                found_here, against = _moves(task, found_here), _moves(task, truth)
            else:
                against = truth
                days[release.name] = tuple(_days(task, found_here)[0].mean(axis=0))
            found.append(_alike(release.name, case, found_here, against))
    setting.advance(1)
    return Told(tuple(found), days)


def weights(setting: Setting) -> tuple[Outcome, ...]:
    """How much of single homes can be read off a sum in which they weigh more than the others."""
    task = setting.population.recent(setting.epsilon, 14)
    rosters = _rosters(setting, "weights", 16 if setting.deep else 4, LIGHT + HEAVY, task)
    found = [_read_off(release, case, task, rosters) for release in setting.releases for case in (DIGITS, HEAVIEST)]
    setting.advance(1)
    return tuple(found)


def _read_off(release: Release, case: str, task: Task, rosters: Integers) -> Outcome:
    """How like the truth what is read off is, in the mean over the heavy homes of each group."""
    heavy = digits(task.domain) if case == DIGITS else [1] * (LIGHT + HEAVY - 1) + [HEAVIER]
    try:
        sums = [_weighed(release, heavy, task, roster) for roster in rosters]
    except (RefusedError, LimitError) as refusal:
        return Outcome(release=release.name, case=case, refused=refusal.message)
    means = []
    for each, roster in zip(sums, rosters, strict=True):
        own = task.panel.readings[:, roster].T
        read = decoded(each, task.domain) if case == DIGITS else [each]
        means.append(np.mean([alike(*pair) for pair in zip(read, own[-len(read) :], strict=True)]))
    return Outcome(release=release.name, case=case, **Found.mean(means, least=-1, most=1)._asdict())


def digits(domain: tuple[int, int]) -> list[int]:
    """Weights so far apart that every home has digits of its own: 1 for the light ones, then the heavy ones."""
    width = domain[1] - domain[0]
    first = LIGHT * width + 1
    return [1] * LIGHT + [first * (width + 1) ** power for power in range(HEAVY)]


def decoded(sums: Floats, domain: tuple[int, int]) -> Floats:
    """What each heavy home must have read, the heaviest first taken off; a row a home."""
    weights, low = digits(domain), domain[0]
    rest, found = [int(each) - low * sum(weights) for each in sums], []
    for weight in weights[: LIGHT - 1 : -1]:
        found.append([low + each // weight for each in rest])
        rest = [each % weight for each in rest]
    return np.array(found[::-1], dtype=float)


def _weighed(release: Release, heavy: list[int], task: Task, roster: Integers) -> Floats:
    """The published weighted sums of one group."""
    query = Weighted(heavy)
    plan, own = release.plan(task, len(roster)), task.among(roster)
    if plan is None:
        exact: Floats = own.panel.readings.astype(object) @ np.array(query.values, dtype=object)
        return exact
    weighted = replace(plan, query=query)
    sums: Floats = reported(curator_for(weighted), weighted, own.history, own.panel)[0]
    return sums


def _difference(plan: Plan | None, task: Task, rosters: Integers, *, apart: bool) -> Floats:
    """The sums of groups with one home more, less those without it, a row a group."""
    history, panel = panels_of(task, Groups(rosters), range(len(rosters)))
    first = np.arange(0, rosters.size, rosters.shape[1])
    names = [panel.households[place] for place in first]
    if plan is None:
        return task.panel.readings[:, rosters[:, 0]].T.astype(float)
    by_group, one = plan.with_(groups=WORLD), curator_for(plan, 2)
    without = reported(one, by_group, history.without(names), panel.without(names))
    other = curator_for(plan, 2) if apart else one
    return reported(other, by_group, history, panel) - without


def _moving(case: str, task: Task) -> Callable[[int, Integers, Marks], None]:
    """The first home of a group is gone from the middle on, or was not there before, its history included."""
    middle = (task.history.n_cycles + task.cycles // 2) * task.slots

    def alter(_: int, readings: Integers, present: Marks) -> None:
        gone = slice(middle, None) if case == LEAVES else slice(0, middle)
        present[gone, 0] = False

    return alter


def _rosters(setting: Setting, name: str, count: int, size: int, task: Task) -> Integers:
    """So many groups of different homes; the first home of each is the one that is looked for."""
    rng, n = setting.rng(name), task.panel.n_households
    first = np.resize(rng.permutation(n), count)
    rest = [rng.choice(np.delete(np.arange(n), home), size - 1, replace=n <= size) for home in first]
    return np.concatenate([first[:, None], np.stack(rest)], axis=1)


def _alike(name: str, case: str, found: Floats, truth: Floats) -> Outcome:
    each = [alike(*pair) for pair in zip(found, truth, strict=True)]
    return Outcome(release=name, case=case, **Found.mean(each, least=-1, most=1)._asdict())


def _days(task: Task, sums: Floats | Integers) -> Floats:
    """Groups x cycles x slots."""
    return np.asarray(sums, dtype=float).reshape(len(sums), task.cycles, task.slots)


def _moves(task: Task, sums: Floats) -> Floats:
    """The same without the mean of each slot."""
    days = _days(task, sums)
    return np.asarray((days - days.mean(axis=1, keepdims=True)).reshape(len(sums), -1))
