"""Membership: is this home in the group?

As in Pyrgelis, Troncoso, De Cristofaro, "Knock Knock, Who's There? Membership Inference on Aggregate Location Data"
(arXiv 1708.06145), it is a game. Half of the homes are the attacker's background; of the other half groups are
drawn. In a block of four groups each target is in two and not in the other two; the rest of a group is drawn at
random, with replacement, so that groups can be as large as one likes. The attacker scores each group with Fisher's
discriminant for the target's readings, made from the background homes and the plan, which is public. What is
reported: how often, of a group with and a group without the target, the right one is picked.

It is what one attacker reaches, not the most that anybody can. Who sees no noise could add some and be no worse off
than who sees it; where that line lies below another, its statistic was not the best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diurnal.planning.plan import Plan
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.study.audit.attacks.population import Population
from diurnal.study.audit.attacks.releases import Groups, published
from diurnal.study.audit.attacks.result import Outcome
from diurnal.study.audit.attacks.scores import Found, block_rates, discriminant, seen, spread_of_days
from diurnal.study.audit.attacks.setting import Setting
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
