"""Standing: which promise is stronger, and so which rival that does better is a reason to choose it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from diurnal.study.baselines.base import Promise

PROTECTED = (
    "all: no data",
    "everything",
    "pattern, day",
    "one day",
    "calendar day",
    "one reading",
    "pattern at 0",
    "pattern",
    "nothing",
    "fails",
)
"""What promises protect, in the order of tables."""

_LESS: Mapping[str, tuple[str, ...]] = {
    "all: no data": PROTECTED[1:8],
    "everything": ("pattern, day", "one day", "calendar day", "one reading", "pattern"),
    "pattern, day": ("pattern",),
    "one day": ("calendar day", "one reading"),
    "calendar day": ("one reading",),
    "one reading": (),
    "pattern at 0": ("pattern",),
    "pattern": (),
}
"""What a promise holds as well, at the same epsilon. A household's pattern and any one day of it are part of
everything; a reading is part of a day, and a day from midnight to midnight is one way to have so many consecutive
steps; not to use the pattern is more than to hide it. How long a promise lasts is another matter: `everything`
lasts for the horizon and no longer.

Pattern and day is no more than a day alone, and no less. It hides the pattern, which a day does not. But an event
across midnight costs it two cycles, where hiding any so many consecutive steps covers it at epsilon; and a change
in a cycle of the history, which others do not have, is not covered by every mechanism."""

Standing = Literal["stronger", "the same", "weaker", "another", "none"]


class Error(NamedTuple):
    """An error, and between what it lies with 95 % confidence."""

    value: float
    """The error."""
    low: float
    """Not less; the value itself if it follows from a formula."""
    high: float
    """Not more."""

    @classmethod
    def known(cls, value: float) -> Error:
        """One that follows from a formula."""
        return cls(value, value, value)

    def below(self, other: Error) -> bool:
        """Whether it is less, or may be."""
        return self.low < other.high

    def alike(self, other: Error) -> bool:
        """Whether it cannot be told from the other: intervals overlap."""
        return self.low <= other.high and other.low <= self.high


def standing(one: Promise, other: Promise) -> Standing:
    """How the first promise stands to the second, by what they protect and whether they may fail."""
    hidden = _standing(one.protects, other.protects)
    if hidden in ("stronger", "the same") and one.delta > other.delta:
        # It hides as much or more, and may fail where the other does not.
        return "weaker" if hidden == "the same" else "another"
    if hidden in ("weaker", "the same") and other.delta > one.delta:
        return "stronger" if hidden == "the same" else "another"
    return hidden


def _standing(one: str, other: str) -> Standing:
    if one == other:
        return "the same"
    if one not in _LESS or other not in _LESS:
        return "none"
    if other in _LESS[one]:
        return "stronger"
    return "weaker" if one in _LESS[other] else "another"


def better(name: str, errors: Mapping[str, Error], promises: Mapping[str, Promise]) -> dict[Standing, list[str]]:
    """Who has less error than the one named, or may have, best first, by how their promise stands to its own.

    Args:
        name: Whom to look at.
        errors: Everybody's error, by name.
        promises: Everybody's promise, by name.
    """
    found: dict[Standing, list[str]] = {}
    for rival in sorted(errors, key=lambda each: errors[each].value):
        if rival != name and errors[rival].below(errors[name]):
            found.setdefault(standing(promises[rival], promises[name]), []).append(rival)
    return found


def best(errors: Mapping[str, float], promises: Mapping[str, Promise], protects: str) -> str | None:
    """Who has the least error among those with that promise; None if there is none."""
    having: Iterable[str] = (name for name in errors if promises[name].protects == protects)
    return min(having, key=errors.__getitem__, default=None)
