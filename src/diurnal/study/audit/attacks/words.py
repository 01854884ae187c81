"""Words: what each attack asks, what the attacker knows, and what its numbers mean, for a regulator to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diurnal.study.audit.attacks.attackers import (
    ALL_READINGS,
    CALENDAR,
    DIGITS,
    HEAVIEST,
    JOINS,
    KNOWN,
    LEAVES,
    MEAN_DAYS,
    ONE_STORE,
    TWO_STORES,
)
from diurnal.study.audit.attacks.releases import GIVEN, NO_NOISE, PATTERN, STRONG, THEOREM_1, Outcome

ALIKE = "about as well as"


class Numbers:
    """An attack's numbers, as its sentence wants them."""

    def __init__(self, outcomes: tuple[Outcome, ...], chance: float, errors: Mapping[str, float]) -> None:
        self._outcomes, self._chance, self._errors = outcomes, chance, errors

    def of(self, release: str, case: str = "", size: int | None = None) -> str:
        """The value with two digits, or that it was refused."""
        value = self._outcome(release, case, size).value
        return "refused" if value is None else _short(value)

    def before(self, release: str, case: str = "") -> str:
        """What was published, before the attack."""
        return _short(self._outcome(release, case, None).published or 0.0)

    def gained(self, release: str) -> bool:
        """Whether the attack made an error a tenth smaller, at least."""
        each = self._outcome(release, "", None)
        return (each.value or 0.0) < 0.9 * (each.published or 0.0)

    def seen(self, release: str, case: str = "") -> str:
        """How a correlation reads in words, with its number."""
        value = self._outcome(release, case, None).value or 0.0
        word = "hardly seen" if value < 0.25 else "seen in part" if value < 0.75 else "seen"
        return f"{word} ({_short(value)})"

    def flat(self, release: str, case: str) -> bool:
        """Whether there was no shape at all to compare, which is not the same as a shape that is wrong."""
        return self._outcome(release, case, None).value == 0

    def beside(self, release: str, size: int) -> str:
        """How well an attacker does, beside what no noise allows, in words."""
        mine, bare = (self._outcome(each, "", size).value or 0.0 for each in (release, NO_NOISE))
        return ALIKE if mine > bare - 0.05 else "less well than"

    def error(self, release: str) -> str:
        """How many times its own size something is off."""
        return f"{self._errors[release]:.2g}"

    @property
    def chance(self) -> str:
        """The measure when nothing is learned."""
        return _short(self._chance)

    @property
    def given(self) -> str:
        """What is said of a plan that was given: its numbers, or nothing."""
        mine = [each for each in self._outcomes if each.release == GIVEN]
        told = "; ".join(f"{each.words}{_where(each)}" for each in mine)
        return f" This plan: {told}." if mine else ""

    @property
    def sizes(self) -> tuple[int, int]:
        """The smallest and the largest group."""
        found = [each.households for each in self._outcomes if each.households is not None]
        return min(found), max(found)

    def _outcome(self, release: str, case: str, size: int | None) -> Outcome:
        wanted = (release, case, size)
        return next(each for each in self._outcomes if (each.release, each.case, each.households) == wanted)


def _short(value: float) -> str:
    """Two digits, and no minus before nothing."""
    return f"{value:.2f}".replace("-0.00", "0.00")


def _where(outcome: Outcome) -> str:
    said = [outcome.case, f"{outcome.households:,} homes" if outcome.households else ""]
    return "".join(f", {each}" for each in said if each)


@dataclass(frozen=True, kw_only=True)
class Words:
    """What is said of an attack whatever its numbers are, and how they are said."""

    asks: str
    """What the attacker wants to know."""
    knows: str
    """What the attacker has."""
    measure: str
    """What the number is."""
    chance: float = 0.0
    """Its value when nothing is learned; where that depends on the homes, it is found with the rest."""
    certain: float = 1.0
    """Its value when everything is learned."""
    says: Callable[[Numbers], str]
    """The sentence."""


RIGHT = "how often the attacker is right, of two cases"


def _differencing(found: Numbers) -> str:
    return (
        "In pattern mode the noise comes again every day, so that changes of a total from day to day are "
        "published exactly. Nothing but the other homes hides one home's changes: to who knows these they are "
        f"{found.seen(THEOREM_1)} with Theorem 1 and {found.seen(PATTERN)} with the chosen plan, as without any "
        f"noise. In strong mode they are {found.seen(STRONG)}."
    )


def _slot_minimum(found: Numbers) -> str:
    rest = (
        "The attack makes our chosen plans' totals no better"
        if not (found.gained(PATTERN) or found.gained(STRONG))
        else "Of our chosen plans' totals is left"
    )
    return (
        f"Theorem 1 publishes totals with an error of {found.before(THEOREM_1)} of the peak; without knowing any "
        f"home an outsider brings that down to {found.of(THEOREM_1)}, where who knows nothing has {found.chance}. "
        "It breaks no promise, which is about a home and not about totals; it shows how little this noise hides. "
        f"{rest}: {found.of(PATTERN)} from {found.before(PATTERN)}, strong {found.of(STRONG)} from "
        f"{found.before(STRONG)}."
    )


def _known_totals(found: Numbers) -> str:
    return (
        "In pattern mode one known total of a time of day undoes the noise of that time of day for ever "
        f"(error {found.of(THEOREM_1, KNOWN)} from {found.before(THEOREM_1, KNOWN)} with Theorem 1). On the public "
        f"calendar such a day is never reported, and nothing is undone ({found.of(THEOREM_1, CALENDAR)}). In "
        "strong mode only a part of the noise repeats: "
        f"{found.of(STRONG, KNOWN)} from {found.before(STRONG, KNOWN)}."
    )


def _leaving(found: Numbers) -> str:
    return (
        f"In a sum of whoever is there, the day of who left is {found.seen(NO_NOISE, LEAVES)}, and of who came "
        f"{found.seen(NO_NOISE, JOINS)}. Here who leaves counts as its profile for ever, and who joins as nothing "
        f"until the next plan: {found.seen(PATTERN, LEAVES)} and {found.seen(PATTERN, JOINS)} in pattern mode, "
        f"{found.seen(STRONG, LEAVES)} and {found.seen(STRONG, JOINS)} in strong mode. What pattern mode shows is "
        "by how much the home's last weeks differed from its profile."
        + (
            " A strong plan of so few homes publishes one level a day: no shape can be in it, and what the level "
            "shows is not measured here."
            if found.flat(STRONG, LEAVES)
            else ""
        )
    )


def _overlapping(found: Numbers) -> str:
    refused = found.of(PATTERN, ONE_STORE) == "refused"
    one_store = (
        "A pattern curator refuses the second one, as long as both are asked of the same store"
        if refused
        else f"A PATTERN CURATOR ALLOWED BOTH IN ONE STORE: the home is {found.seen(PATTERN, ONE_STORE)}"
    )
    return (
        f"Two sums that differ by one home are that home. {one_store}. Over two stores nothing stops it, and every "
        f"change of the home is {found.seen(PATTERN, TWO_STORES)}: keep one store for a population. A strong "
        f"curator allows both, and the home's readings are {found.seen(STRONG, ONE_STORE)}."
    )


def _weights(found: Numbers) -> str:
    digits, pattern = (
        "such weights are refused as well"
        if found.of(STRONG, DIGITS) == "refused"
        else f"they are {found.seen(STRONG, DIGITS)}",
        "Pattern mode refuses weights that fewer than 15 homes share"
        if found.of(PATTERN, HEAVIEST) == "refused"
        else f"PATTERN MODE ALLOWED A WEIGHT OF ITS OWN: that home is {found.seen(PATTERN, HEAVIEST)}",
    )
    return (
        f"Weights can give each home digits of its own in the sum. {pattern}. In strong mode noise grows with the "
        f"heaviest weight: {digits}, and a home that weighs 1,000 times more is {found.seen(STRONG, HEAVIEST)}."
    )


def _absence(found: Numbers) -> str:
    least, most = found.sizes
    return (
        "Pattern mode protects nothing here: to be away is a change between days, and these are published exactly. "
        f"The attacker is right in {found.of(PATTERN, size=least)} of cases in a group of {least} and in "
        f"{found.of(PATTERN, size=most)} of {most}, {found.beside(PATTERN, least)} without any noise; the other "
        f"homes are all that hides it. In strong mode: {found.of(STRONG, size=least)} and "
        f"{found.of(STRONG, size=most)}. It promises to hide any one reported day, and a "
        "fortnight is fourteen of them."
    )


def _membership(found: Numbers) -> str:
    least, most = found.sizes
    alike = found.beside(PATTERN, least) == found.beside(PATTERN, most) == ALIKE
    size = "Not the noise protects there, but the size of the group. " if alike else ""
    return (
        "Neither mode promises to hide who is in the group. In pattern mode the attacker does "
        f"{found.beside(PATTERN, least)} without any noise: {found.of(PATTERN, size=least)} against "
        f"{found.of(NO_NOISE, size=least)} for {least} homes, {found.of(PATTERN, size=most)} against "
        f"{found.of(NO_NOISE, size=most)} for {most:,}. {size}"
        f"In strong mode: {found.of(STRONG, size=least)} and {found.of(STRONG, size=most)}, where 0.5 is a "
        "coin toss. A better attacker may be right more often, without noise above all."
    )


def _profile(found: Numbers) -> str:
    return (
        "To who knows the mean days of all others a home's mean day is, from averages, "
        f"{found.seen(PATTERN, MEAN_DAYS)} in pattern mode ({found.error(PATTERN)} times its own size off) and "
        f"{found.seen(STRONG, MEAN_DAYS)} in strong mode ({found.error(STRONG)} times). That is what the pattern "
        "promise is for. But who knows all readings of the others has the home's changes, exactly in pattern mode, "
        f"and its least reading is near zero: by that its mean day is {found.seen(PATTERN, ALL_READINGS)} in "
        f"pattern mode and {found.seen(STRONG, ALL_READINGS)} in strong mode."
    )


OUTSIDER = "What is published, and the plan."

WORDS: dict[str, Words] = {
    "differencing": Words(
        asks="How did one home's use change from one day to the next?",
        knows=f"{OUTSIDER} And every reading of everybody else.",
        measure="correlation of the changes found with the home's own",
        says=_differencing,
    ),
    "slot minimum": Words(
        asks="What are the true totals behind the noise?",
        knows=f"{OUTSIDER} And the base load of such homes, guessed a quarter wrong.",
        measure="error of the totals after the attack, over the largest total",
        certain=0.0,
        says=_slot_minimum,
    ),
    "known totals": Words(
        asks="What are the true totals of all other days?",
        knows=f"{OUTSIDER} And the true totals of one day, from an outage or a newspaper.",
        measure="error of all other totals after the attack, over the largest total",
        certain=0.0,
        says=_known_totals,
    ),
    "leaving and joining": Words(
        asks="What is the usual day of the home that has just left, or come?",
        knows=f"{OUTSIDER} When it left or came, of 20 homes; and every reading of the others.",
        measure="correlation of the day found with the home's mean day",
        says=_leaving,
    ),
    "overlapping rosters": Words(
        asks="What did the one home read that is in one sum and not in the other?",
        knows="What is published of 20 homes, and of these and one more.",
        measure="correlation of what is found with the home's readings, or with their changes if noise repeats",
        says=_overlapping,
    ),
    "weights": Words(
        asks="What did single homes of a weighted sum read?",
        knows=f"{OUTSIDER} The attacker has chosen the weights.",
        measure="correlation of what is decoded with the homes' readings",
        says=_weights,
    ),
    "absence": Words(
        asks="Was this home away for that fortnight?",
        knows=f"{OUTSIDER} And the home's usual day, its standby load, and how other homes vary.",
        measure=RIGHT,
        chance=0.5,
        says=_absence,
    ),
    "membership": Words(
        asks="Is this home in the group?",
        knows=f"{OUTSIDER} And every reading of the home, reported and before; and those of other homes, as many "
        "as groups are drawn of, none of which is in a group.",
        measure=RIGHT,
        chance=0.5,
        says=_membership,
    ),
    "profile": Words(
        asks="What is this home's usual day?",
        knows=f"{OUTSIDER} And the mean day of everybody else; or, in the second case, all their readings.",
        measure="correlation of the day found with the home's mean day",
        says=_profile,
    ),
}
"""By an attack's name."""
