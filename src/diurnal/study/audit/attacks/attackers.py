"""Attackers: who guesses membership, a person's days, a change of the roster, or a day of known totals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from diurnal.errors import LimitError, RefusedError
from diurnal.planning.plan import Plan
from diurnal.promise.query import Weighted
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.study.audit.attacks.population import Population, Setting
from diurnal.study.audit.attacks.releases import (
    WORLD,
    Alter,
    Found,
    Groups,
    Outcome,
    Release,
    alike,
    block_rates,
    curator_for,
    discriminant,
    error_of,
    panels_of,
    published,
    reported,
    seen,
    spread,
    spread_of_days,
)
from diurnal.study.baselines import Task

SIZES = (15, 30, 60, 125, 250, 500, 1000)
"""How many homes a group has."""
QUICK = (15, 60, 250, 1000)
MEMBERS = 4
"""How many groups a block has: each target is in half of them."""
TARGETS = 20
"""How many targets a block has at most."""


def membership(setting: Setting) -> tuple[Outcome, ...]:
    """How often the attacker is right, for every release and size."""
    population = setting.population.crowd or setting.population
    task = population.recent(setting.epsilon, 14 if setting.deep else 7)
    players, background = halves(task, setting.rng("membership"))
    found, every = [], sizes(population, deep=setting.deep)
    for size in every:
        rng = setting.rng("membership", size)
        game = drawn(size, players, blocks=blocks(size, deep=setting.deep), rng=rng)
        sums = published(setting.releases, task, Groups(game.rosters))
        for release in setting.releases:
            plan = release.plan(task, size)
            rate = right(game, sums[release.name], discriminants(plan, task, game, background))
            found.append(Outcome(release=release.name, households=size, **rate._asdict()))
        setting.advance(1 / len(every))
    return tuple(found)


def sizes(population: Population, *, deep: bool) -> list[int]:
    """Sizes of groups up to as many homes as there are, that number included."""
    most = population.panel.n_households
    return sorted({*(size for size in (SIZES if deep else QUICK) if size <= most), min(most, SIZES[-1])})


def blocks(size: int, *, deep: bool) -> int:
    """How many blocks are played: fewer of large groups, which take long."""
    return 48 if deep else max(4, min(6, 6000 // (MEMBERS * size)))


class Game(NamedTuple):
    """Groups in blocks, their targets, and which of two cases is true of a target in a group."""

    rosters: Integers
    """A row a group, block after block."""
    targets: Integers
    """A row a block: which homes are looked for."""
    inside: Marks
    """Blocks x groups of a block x targets: whether it is there."""


def halves(task: Task, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Homes that groups are drawn of, and homes that the attacker knows; never the same."""
    order = rng.permutation(task.panel.n_households)
    cut = len(order) // 2
    return order[:cut], order[cut:]


def drawn(
    size: int,
    players: Integers,
    *,
    blocks: int,
    rng: np.random.Generator,
    targets: int = TARGETS,
    always: bool = False,
) -> Game:
    """A game of groups of so many homes.

    Args:
        size: How many.
        players: Which homes there are.
        blocks: How many blocks of groups.
        rng: Where choices come from.
        targets: How many homes are looked for in a block, at most.
        always: Whether targets are in all groups of their block, since something else about them is asked.
    """
    count = max(1, min(targets, size // 2, len(players) // 2))
    inside = rng.permuted(np.tile(np.arange(MEMBERS) < MEMBERS // 2, (blocks, count, 1)), axis=2).transpose(0, 2, 1)
    rosters, chosen = [], []
    for block in inside:
        order = rng.permutation(players)
        chosen.append(order[:count])
        for group in block:
            there = order[:count] if always else order[:count][group]
            rosters.append(np.concatenate([there, rng.choice(order[count:], size - len(there))]))
    return Game(np.stack(rosters), np.stack(chosen), inside)


def right(game: Game, sums: Floats, weights: Floats) -> Found:
    """How often the attacker is right, given the published sums and the weights for every target."""
    mine = sums.reshape(len(game.targets), MEMBERS, -1)
    looked = weights.T.reshape(*game.targets.shape, -1)
    rates = [
        block_rates(part @ each.T, inside) for part, each, inside in zip(mine, looked, game.inside, strict=True)
    ]
    return Found.mean(rates, least=0, most=1, trials=len(sums))


def discriminants(plan: Plan | None, task: Task, game: Game, background: Integers) -> Floats:
    """The attacker's weights for all targets, a column each, from the plan and the background homes."""
    size, targets = game.rosters.shape[1], game.targets.ravel()
    shown = seen(plan, task, np.concatenate([targets, background]), size)
    wanted, others = shown.days[:, :, : len(targets)], shown.days[:, :, len(targets) :]
    signals = (wanted - others.mean(axis=2, keepdims=True)).reshape(task.steps, -1)
    # The pattern's noise is the same in all cycles; a cycle's is its own.
    again, fresh = np.ones((task.cycles, task.cycles)), np.eye(task.cycles)
    noise = np.kron(again, shown.pattern) + np.kron(fresh, shown.cycle)
    return discriminant(signals, size * spread_of_days(others) + noise)


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
        means = [_by_day(shown + each, task).mean(axis=1) for each in noise]
        shapes[release.name] = tuple(means[0][0])
        errors[release.name] = float(np.sqrt(np.mean((np.stack(means) - truth) ** 2) / np.mean(truth**2)))
        outcomes.append(_outcome(release.name, MEAN_DAYS, means, truth))
        if release.level is not None:
            above = [_above_least(_by_day(shown + each, task)) for each in noise]
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


def _by_day(series: Floats, task: Task) -> Floats:
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
