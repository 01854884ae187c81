"""Attacks with a person in mind: what somebody could learn about a home from what is published, as a number.

population.py  Population: the homes, real or made up
releases.py    what is attacked, drawn through the shipped curator; the attacker's statistic, how sure a number is
attackers.py   differencing, slot minimum, known totals; leaving and joining, overlapping rosters, weights; absence,
               profile; membership, as in Pyrgelis et al.
words.py       what each asks and what its number means
run.py         all of them

found = attacks(Population.town())
print(found[0])
"""

from diurnal.study.audit.attacks.population import Population
from diurnal.study.audit.attacks.releases import Attack, Outcome, PrivateAttack
from diurnal.study.audit.attacks.run import ATTACKS, attacks

__all__ = ["ATTACKS", "Attack", "Outcome", "Population", "PrivateAttack", "attacks"]
