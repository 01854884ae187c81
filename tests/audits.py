"""Small audits and attacks, for tests of their page and of their verb."""

import dataclasses

import diurnal as dn
import support
from diurnal.study.audit.attacks import Attack, Outcome
from diurnal.study.audit.audit import Effort

SMALL = Effort(copies=80, eventful=6)
FEW = {"domain": (0, 40), "grid": dn.Grid(slots=3), "history": 4, "epsilon": "0.2", "minimum_group": 15}
KINDS = {
    "pattern": {**FEW, "level": "pattern", "mechanism": "cube"},
    "strong": {**FEW, **support.SLOTWISE, "domain": (0, 40), "variation_bound": 10},
    "gaussian": {**FEW, "level": "pattern", "mechanism": "gaussian", "delta": "0.000001"},
    "cycle": {**FEW, "query": dn.Share(above=20), "level": "cycle", "history": 0, "mechanism": "laplace"},
}


def attack(name="membership", *, kind=Attack, value=0.75):
    """What an attack might have found."""
    outcomes = [
        Outcome(release=release, households=size, value=value, low=0.6, high=0.9)
        for release in ("no noise", "this plan")
        for size in (15, 60, 250)
    ]
    return kind(
        name=name,
        asks="Is this home in the group?",
        knows="What is published.",
        measure="how often the attacker is right",
        chance=0.5,
        certain=1.0,
        outcomes=tuple(outcomes),
        says="It is what it is.",
    )


def broken(result, **changes):
    """The same audit, with a fact that did not hold."""
    bad = dataclasses.replace(result.facts[0], held=False, says="Twice.")
    return dataclasses.replace(result, facts=(*result.facts[1:], bad), **changes)
