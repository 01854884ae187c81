"""Strong: the periodic component is hidden, and any one reported cycle (theory 4). Recommended."""

from __future__ import annotations

from fractions import Fraction

from diurnal.promise.body import Ellipsoid
from diurnal.promise.levels import words
from diurnal.promise.levels.base import Level, Terms
from diurnal.promise.levels.layers import clip, profile_layer, variation_layer, width
from diurnal.promise.mechanisms import Blocks, Mechanism
from diurnal.promise.mechanisms.prior import Known


class Strong(Level):
    """A noisy profile that stays private, and variations with noise that is fresh in every cycle."""

    name = "strong"
    letter = "s"
    learns = True
    hides_cycle = True
    noisy_variations = True
    mechanism_fields = ("mechanism", "cycle_mechanism")

    known_as = "recommended"
    unhidden = (
        "who is on the roster, and which readings are missing or late. What lasts for many cycles, such as an "
        "absence or a new tenant, costs up to the ε of one cycle that many times; a cycle of the history can be "
        "protected far less than a reported one."
    )

    neighbours = (words.PATTERN_CHANGE, "one household's variations change in any one reported cycle")
    unit = "a household's reported {cycle} (event level, not user level), and a shift of its periodic component"
    limits = (
        "It is the privacy of one cycle, not of a household or of a way of life: what changes in many cycles costs "
        "more, as said above, and an event as many cycles as it touches.",
        words.NARROW.format(what="epsilon for it"),
        "Variations that depend on each other across cycles (weekends, seasons, absence, a new tenant) are "
        "protected one cycle at a time, not as a pattern: other cycles tell what one of them hides.",
        "One true total of a reported step, known to somebody, gives away the noise that repeats in its slot, but "
        "for one draw of the cycle's noise: for them every other report of that slot has little more than the "
        "cycle's noise. Where noise is that of a few coefficients or blocks, it gives most of the noise of the "
        "steps beside it away, and as many known totals of a cycle as there are coefficients all of that cycle's.",
        *words.ROSTER,
    )

    promised = (
        f"{words.USUAL}; and, everything else being the same, whether it did one thing or another in any one "
        "reported {cycle}."
    )
    unprotected = (
        words.NOT_A_LIFE,
        "Weekends, seasons, an absence or a new tenant are protected one {cycle} at a time: other {cycle}s tell.",
        "Where readings cannot be negative, the promise for the usual {cycle} protects little more than standby "
        "load.",
        "One true total that becomes known gives away the noise that repeats in its slot, up to one draw of the "
        "noise that does not, and it may give away most of the noise of the slots beside it.",
        words.UNSTATED,
        words.WHO,
        words.MANY,
    )
    noise = "A part of the noise is the same in every {cycle}, and a part is fresh: only that averages out."
    apart = (
        "A part of the noise is common to rows of one slot, and most of it may be common to rows beside each "
        "other: differences can be far more exact than the bands suggest. What is clipped, dropped or drawn to a "
        "reference is in no band."
    )

    def pattern_layer(self, terms: Terms, *, weight: int, total: int, known: Known | None) -> Mechanism:
        return profile_layer(terms, weight=weight, total=total, known=known)

    def cycle_layer(self, terms: Terms, *, weight: int) -> Mechanism:
        return variation_layer(terms, weight=weight)

    def stretch(self, terms: Terms) -> Fraction:
        """How many times further one cycle's variations can move if the household's profile changes as well.

        Alone they move by R_w = min(2W, R_x), for both readings lie in the domain. If the profile moves too, the
        step in between need not, and they move by up to 2 min(W, R_x) (theory 3). In a ball it is its diameter
        either way.
        """
        if self._in_a_ball(terms):
            return Fraction(1)
        most = 2 * clip(terms)
        return Fraction(most, min(most, width(terms)))

    def _in_a_ball(self, terms: Terms) -> bool:
        """Whether what a cycle contributes is put into a ball: one that is wider than the domain is left out."""
        if not isinstance(terms.variation_bound, Ellipsoid):
            return False
        layer = self.cycle_layer(terms, weight=1)
        return not isinstance(layer, Blocks) or layer.in_a_ball
