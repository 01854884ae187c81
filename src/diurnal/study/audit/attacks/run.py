"""Run: all attacks on a population, each with what it asks and what its numbers mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from diurnal.errors import InputError
from diurnal.exact import Number, instance, positive
from diurnal.planning.plan import Plan
from diurnal.readings.kernels import Progress
from diurnal.study.audit.attacks import attackers, words
from diurnal.study.audit.attacks.attackers import membership
from diurnal.study.audit.attacks.population import Population, Setting
from diurnal.study.audit.attacks.releases import Attack, Outcome, PrivateAttack, releases

Outcomes = tuple[Outcome, ...]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What an attack found, before it is put into words."""

    outcomes: Outcomes
    """One a release, case and size."""
    chance: float | None = None
    """The measure when nothing is learned, where it depends on the homes."""
    shapes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The day of one home."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """What else its sentence needs."""


def _slot_minimum(setting: Setting) -> Findings:
    chance = attackers.nothing_known(attackers.slot_minimum_task(setting))
    return Findings(outcomes=attackers.slot_minimum(setting), chance=chance)


def _known_totals(setting: Setting) -> Findings:
    chance = attackers.nothing_known(attackers.known_totals_task(setting))
    return Findings(outcomes=attackers.known_totals(setting), chance=chance)


def _plain(attack: Callable[[Setting], Outcomes]) -> Callable[[Setting], Findings]:
    return lambda setting: Findings(outcomes=attack(setting))


def _told(attack: Callable[[Setting], Any]) -> Callable[[Setting], Findings]:
    return lambda setting: Findings(**attack(setting)._asdict())


ATTACKS: dict[str, Callable[[Setting], Findings]] = {
    "differencing": _plain(attackers.differencing),
    "slot minimum": _slot_minimum,
    "known totals": _known_totals,
    "leaving and joining": _told(attackers.leaving),
    "overlapping rosters": _told(attackers.overlapping),
    "weights": _plain(attackers.weights),
    "absence": _plain(attackers.absence),
    "membership": _plain(membership),
    "profile": _told(attackers.profile),
}
"""How each is made, by its name."""

PARTS = 60
"""Into how many parts an attack is cut on a progress bar."""


def attacks(
    population: Population,
    *,
    epsilon: Number = "1",
    deep: bool = False,
    seed: int = 1,
    only: Iterable[str] | None = None,
    plan: Plan | None = None,
) -> tuple[Attack, ...]:
    """Attack what the shipped curator publishes of a population.

    Every release is drawn by the curator, its noise from the system's generator: numbers differ a little from run
    to run, within their intervals.

    Args:
        population: Whose readings; made up, or a custodian's own.
        epsilon: What each release may spend.
        deep: Whether to take minutes, for more sizes and narrower intervals; else it takes seconds.
        seed: For the choice of homes and groups.
        only: Names of some of `ATTACKS`; all unless given.
        plan: A plan to attack as well, as "this plan".

    Returns:
        A result each, in the order of `ATTACKS`; private unless the population is made up.

    Raises:
        InputError: There is no attack of that name.
        PlanError: The plan counts households, or does not fit the population.
    """
    instance(population, Population, "population", example="Population.of(panel, domain=...)")
    names = _named(only)
    with Progress("Attacks", PARTS * len(names)) as bar:
        setting = Setting(
            population=population,
            epsilon=positive(epsilon, "epsilon"),
            releases=releases(plan),
            deep=deep,
            seed=seed,
            advance=_counted(bar),
        )
        return tuple(_result(name, setting) for name in names)


def _counted(bar: Progress) -> Callable[[float], None]:
    """Moves a bar by shares of an attack."""
    done = 0.0

    def advance(share: float) -> None:
        nonlocal done
        before, done = done, done + share
        bar.advance(round(PARTS * done) - round(PARTS * before))

    return advance


def _named(only: Iterable[str] | None) -> list[str]:
    wanted = set(ATTACKS) if only is None else {only} if isinstance(only, str) else set(only)
    unknown = wanted - set(ATTACKS)
    if unknown:
        raise InputError("attack-unknown", unknown=sorted(unknown)[0], choices=", ".join(ATTACKS))
    return [name for name in ATTACKS if name in wanted]


def _result(name: str, setting: Setting) -> Attack:
    found, said = ATTACKS[name](setting), words.WORDS[name]
    chance = said.chance if found.chance is None else found.chance
    numbers = words.Numbers(found.outcomes, chance, found.errors)
    made_up = setting.population.made_up
    return (Attack if made_up else PrivateAttack)(
        name=name,
        asks=said.asks,
        knows=said.knows,
        measure=said.measure,
        chance=chance,
        certain=said.certain,
        outcomes=found.outcomes,
        says=said.says(numbers) + numbers.given,
        # A real home's day is in no picture.
        shapes=found.shapes if made_up else {},
        minutes=setting.population.panel.grid.minutes,
    )
