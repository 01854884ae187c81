"""Cycle: any one reported cycle is hidden, for queries that count households (theory 6.8)."""

from __future__ import annotations

from diurnal.promise.levels import words
from diurnal.promise.levels.base import Level, Terms
from diurnal.promise.levels.layers import counting_layer
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.prior import Known


class Cycle(Level):
    """Counts of households with fresh noise; nothing is learned."""

    name = "cycle"
    letter = "c"
    learns = False
    hides_cycle = True
    counts = True

    known_as = "for share and histogram"
    unhidden = (
        "a usual cycle, which is there in every cycle, who is on the roster, and which readings are missing or "
        "late. What lasts for many cycles costs up to ε that many times."
    )

    neighbours = ("one household's readings change in any one reported cycle",)
    unit = "a household's reported {cycle} (event level, not user level)"
    limits = (
        "It is the privacy of one cycle, not of a household: what changes in many cycles costs more, as said "
        "above, and an event as many cycles as it touches. A change of the periodic component is a change in every "
        "cycle, and is not protected: other cycles tell what one of them hides.",
        words.MEMBERSHIP,
        words.TOGETHER,
        words.OTHERS,
    )
    cycle_changes = "readings"

    promised = (
        "Whoever sees all these reports can tell only as well as {allows}, everything else being the same, "
        "whether a household did one thing or another in any one reported {cycle}."
    )
    unprotected = (
        "A usual {cycle} is there in every {cycle}, and is not protected.",
        "A home whose reading is missing counts as one in no bin: what that does is in no stated error.",
        words.NOT_A_LIFE,
        words.WHO,
        words.MANY,
    )
    uncounted = "the usual {cycle} is not protected"
    noise = "The noise is fresh in every {cycle}."
    apart = (
        "Two rows whose bands overlap may well be equal. Look at many before you say that something has changed."
    )

    def pattern_layer(self, terms: Terms, *, weight: int, total: int, known: Known | None) -> None:
        return None

    def cycle_layer(self, terms: Terms, *, weight: int) -> Mechanism:
        return counting_layer(terms, weight=weight)
