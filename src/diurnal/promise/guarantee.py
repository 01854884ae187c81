"""Guarantee: what is protected, for whom, with what epsilon, under which assumptions, and what is not.

A guarantee is a value. It is never shown in part: its words carry the neighbours, the numbers, the
assumptions and the limits together (theory 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from diurnal.exact import decimal, text
from diurnal.promise.budget import Loss

Level = Literal["pattern", "strong", "cycle"]
LEVELS: tuple[Level, ...] = ("pattern", "strong", "cycle")

NEIGHBOURS: dict[Level, tuple[str, ...]] = {
    "pattern": ("one household's periodic component changes, the same in every cycle, and its variations stay",),
    "strong": (
        "one household's periodic component changes, the same in every cycle, and its variations stay",
        "one household's variations change in any one reported cycle",
    ),
    "cycle": ("one household's readings change in any one cycle",),
}
"""What may differ between two data sets that the reports can hardly tell apart (theory 2, 3 and 6.8)."""

ASSUMPTIONS: tuple[str, ...] = (
    "Both data sets have the same roster, the same group memberships and the same missing marks.",
    "All readings of both lie in the declared domain.",
    "Bounds, references, bases and the calendar come from public knowledge, not from these readings.",
    "The true totals of reported steps are not published elsewhere.",
    "Every plan over these households is in this one store.",
)

LIMITS: dict[Level, tuple[str, ...]] = {
    "pattern": (
        "The sums of variations are published exactly: differences between cycles carry no noise.",
        "Readings are not negative, so the smallest report of each slot gives most of the noise away: on such "
        "data this level protects little more than standby load. Strong is recommended.",
        "Variations that depend on each other across cycles (weekends, seasons, absence, a new tenant) carry "
        "pattern information that no epsilon protects.",
        "One true total of a reported step, known to somebody, undoes the noise of its slot for ever.",
        "The noise repeats: it does not average out, and a yearly total carries it once for each cycle.",
        "What bounds clip of a household is in no stated deviation, and nobody outside is told.",
        "Membership is not protected: the roster and its size are public.",
        "k households that change together cost k times as much.",
    ),
    "strong": (
        "It is the privacy of one cycle: a change in m cycles costs m times as much, an event across midnight "
        "two cycles', and a whole household over K cycles epsilon + K times the cycle's.",
        "Variations that depend on each other across cycles (weekends, seasons, absence, a new tenant) are "
        "protected one cycle at a time, not as a pattern.",
        "What bounds clip of a household is in no stated deviation, and nobody outside is told.",
        "Membership is not protected: the roster and its size are public.",
        "k households that change together cost k times as much.",
    ),
    "cycle": (
        "It is the privacy of one cycle: a change in m cycles costs m times as much. A change of the "
        "periodic component is a change in every cycle and is not protected.",
        "Membership is not protected: the roster and its size are public.",
        "k households that change together cost k times as much.",
    ),
}
"""What each level does not promise (theory 6)."""


FREE = (
    "The reference that profiles are put around is made from the history's exact sums of variations: one low value "
    "a slot, rounded, is given away. It is the same for neighbours, and not hidden."
)
"""What a free reference gives away (theory 5.1)."""

BASE_LOAD = (
    "The profile is the least reading of each slot over the history: little more than standby load is hidden, and "
    "all above it is published in exact sums. It is formally the same promise, and shows how little that one is."
)
"""What a base load hides (theory 5.1, 6.1)."""


@dataclass(frozen=True, kw_only=True)
class HistoryBound:
    """What a change in one history cycle costs in strong mode (theory 4.3)."""

    base: Loss
    """If no reported cycle of the household was clipped or had a reading set to zero."""
    each: Loss
    """More for each reported cycle that was."""
    horizon: int
    """The number of reported cycles the bound is stated for."""

    def worst(self) -> Loss:
        """If every reported cycle up to the horizon was clipped."""
        times = self.horizon
        return self.base + Loss(
            epsilon=times * self.each.epsilon,
            zcdp=times * self.each.zcdp,
            squares=times * self.each.squares,
        )


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A promise in words and numbers. Print it, or take `sentences()` for a form to sign."""

    level: Level
    """`pattern`, `strong` or `cycle`."""
    pattern: Loss | None
    """What a change of the periodic component costs; None if it is not protected."""
    cycle: Loss | None
    """What a change in one cycle costs; None if it is not protected."""
    delta: Fraction | None
    """The delta at which Gaussian noise is read."""
    history: HistoryBound | None
    """What a change in one cycle of the history costs; None if it is not covered."""
    groups: bool
    """Whether the promise is for groups that share no household."""
    free: bool = False
    """Whether a reference is made from the history's variations, which neighbours share."""
    base_load: bool = False
    """Whether what is hidden is the least reading of a slot, and not its mean."""

    @property
    def neighbours(self) -> tuple[str, ...]:
        """What may differ between two data sets that the reports can hardly tell apart."""
        return NEIGHBOURS[self.level]

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on."""
        return ASSUMPTIONS

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised."""
        more = ((FREE, self.free), (BASE_LOAD, self.base_load))
        return (*LIMITS[self.level], *(said for said, meant in more if meant))

    def numbers(self) -> dict[str, Any]:
        """The numbers as decimal strings: what each change costs."""
        return {
            "level": self.level,
            "epsilon": self._epsilon(self.pattern),
            "cycle_epsilon": self._epsilon(self.cycle),
            "delta": None if self.delta is None else text(self.delta),
            "zcdp": _zcdp(self.pattern),
            "cycle_zcdp": _zcdp(self.cycle),
            "history_epsilon": self._epsilon(self.history.base if self.history else None),
            "history_epsilon_at_horizon": self._epsilon(self.history.worst() if self.history else None),
            "horizon": self.history.horizon if self.history else None,
        }

    def sentences(self) -> list[str]:
        """Plain sentences, in the order a privacy officer reads them."""
        losses = [loss for loss in (self.pattern, self.cycle) if loss is not None]
        whom = "Within each group, two" if self.groups else "Two"
        said = [
            f"{whom} data sets are neighbours if {neighbour}: all reports together, however many there are, "
            f"are then at most {self._promise(loss)} apart."
            for neighbour, loss in zip(self.neighbours, losses, strict=True)
        ]
        if self.groups:
            said.append("A household is in one group only, so the groups together cost what one costs.")
        if self.level == "strong":
            said.append(self._history_sentence())
        said += [f"Assumed: {assumption}" for assumption in self.assumptions]
        said += [f"Not promised: {limit}" for limit in self.limits]
        return said

    def to_json(self) -> dict[str, Any]:
        """Numbers and words together."""
        return {**self.numbers(), "sentences": self.sentences()}

    def __str__(self) -> str:
        return "\n".join(f"{i}. {said}" for i, said in enumerate(self.sentences(), start=1))

    def _promise(self, loss: Loss) -> str:
        if loss.zcdp:
            rho = _zcdp(loss)
            return f"(epsilon = {self._epsilon(loss)}, delta = {text(self.delta or Fraction(0))}; zCDP {rho})"
        return f"epsilon = {self._epsilon(loss)}"

    def _epsilon(self, loss: Loss | None) -> str | None:
        return None if loss is None else _up(loss.at(self.delta if loss.zcdp else None))

    def _history_sentence(self) -> str:
        if self.history is None:
            return (
                "A change in one cycle of the history is not covered: the pattern is learned from it, and this "
                "mechanism gives no bound."
            )
        return (
            f"A change in one cycle of the history costs at most {self._promise(self.history.base)} if no "
            "reported reading of that household is clipped, missing or moved out, and "
            f"{self._promise(self.history.worst())} if one is in every one of {self.history.horizon} reported "
            "cycles. A history cycle that a pattern plan reported or learned from has that plan's promise only."
        )


def _zcdp(loss: Loss | None) -> str | None:
    return _up(loss.zcdp) if loss is not None and loss.zcdp else None


def _up(value: Fraction) -> str:
    """A number as a decimal, never below itself."""
    if text(value) == decimal(value, 6).rstrip("0").rstrip("."):
        return text(value)
    return decimal(Fraction(-(-value * 10**6 // 1), 10**6), 6)
