"""Pattern: the paper's promise. The periodic component is hidden, and nothing else (theory 2 and 3)."""

from __future__ import annotations

from diurnal.promise.levels import words
from diurnal.promise.levels.base import Level, Terms
from diurnal.promise.levels.layers import profile_layer
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.prior import Known


class Pattern(Level):
    """A noisy profile, and sums of variations as they are."""

    name = "pattern"
    letter = "p"
    learns = True
    hides_cycle = False
    exact_variations = True
    profile_is_public = True

    known_as = "the paper's"
    unhidden = (
        "how each cycle differs from the usual one, such as a weekend, an absence or a new tenant, who is on the "
        "roster, and which readings are missing or late. No cycle is protected."
    )

    neighbours = (words.PATTERN_CHANGE,)
    unit = "a shift of a household's periodic component, which is less than anything it did"
    limits = (
        "The sums of variations are published exactly: differences between cycles carry no noise. A sum is about "
        "the homes of a group, `minimum_group` of them at least: of few homes it is close to raw data, of one it "
        "is that home's own, and homes that put their readings together leave fewer.",
        f"{words.NARROW.format(what='this level')} The smallest report of each slot gives most of the noise away. "
        "Strong is recommended.",
        "Variations that depend on each other across cycles (weekends, seasons, absence, a new tenant) carry "
        "pattern information that no epsilon protects.",
        "One true total of a reported step, known to somebody, undoes the noise of its slot for ever; where noise "
        "is that of a few coefficients, most of that of the slots beside it too, and as many known totals as there "
        "are coefficients undo all of it.",
        "The noise repeats: it does not average out, and a yearly total carries it once for each cycle.",
        *words.ROSTER,
    )

    promised = f"{words.USUAL}."
    unprotected = (
        "No {cycle} is protected: how each differs from the usual one is published exactly, as a sum over a group. "
        "Of few homes that is close to raw data, and of one it is that home's own.",
        "Where readings cannot be negative, little more than standby load is protected.",
        "Weekends, seasons, an absence or a new tenant show, and no epsilon helps.",
        "One true total that becomes known undoes the noise of its slot for ever, and perhaps most of that of the "
        "slots beside it.",
        words.UNSTATED,
        words.WHO,
        words.MANY,
    )
    uncounted = "no {cycle} is protected"
    noise = "The noise of a slot is the same in every {cycle}: it does not average out."
    apart = (
        "Two rows of the same slot carry the same noise: their difference carries none, however much their bands "
        "overlap. It lacks what missing readings, and homes with too little history of that slot, would have "
        "added. Only rows of different slots differ by noise."
    )

    def pattern_layer(self, terms: Terms, *, weight: int, total: int, known: Known | None) -> Mechanism:
        return profile_layer(terms, weight=weight, total=total, known=known)

    def cycle_layer(self, terms: Terms, *, weight: int) -> None:
        return None
