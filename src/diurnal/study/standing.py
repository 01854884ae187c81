"""Standing: which promise is stronger, and so which rival that does better is a reason to choose it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from diurnal.study.baselines.base import Promise

PROTECTED = (
    "all: no data",
    "everything",
    "pattern, day",
    "one day",
    "one reading",
    "pattern",
    "nothing",
    "fails",
)
"""What promises protect, in the order of tables."""

_LESS: Mapping[str, tuple[str, ...]] = {
    "all: no data": ("everything", "pattern, day", "one day", "one reading", "pattern"),
    "everything": ("pattern, day", "one day", "one reading", "pattern"),
    "pattern, day": ("one day", "one reading", "pattern"),
    "one day": ("one reading",),
    "one reading": (),
    "pattern": (),
}
"""What a promise holds as well, at the same epsilon: a household's pattern and any one day of it are part of
everything; a reading is part of a day; a pattern and a day are neither part of the other. How long a promise lasts
is another matter: `everything` lasts for the horizon and no longer."""

Standing = Literal["stronger", "the same", "weaker", "another", "none"]


def standing(one: str, other: str) -> Standing:
    """How the first promise stands to the second, by what they protect."""
    if one not in _LESS or other not in _LESS:
        return "the same" if one == other else "none"
    if one == other:
        return "the same"
    if other in _LESS[one]:
        return "stronger"
    return "weaker" if one in _LESS[other] else "another"


def better(name: str, errors: Mapping[str, float], promises: Mapping[str, Promise]) -> dict[Standing, list[str]]:
    """Who has less error than the one named, best first, by how their promise stands to its own.

    Args:
        name: Whom to look at.
        errors: Everybody's error, by name.
        promises: Everybody's promise, by name.
    """
    found: dict[Standing, list[str]] = {}
    for rival in sorted(errors, key=errors.__getitem__):
        if errors[rival] < errors[name]:
            how = standing(promises[rival].protects, promises[name].protects)
            found.setdefault(how, []).append(rival)
    return found


def best(errors: Mapping[str, float], promises: Mapping[str, Promise], protects: str) -> str | None:
    """Who has the least error among those with that promise; None if there is none."""
    having: Iterable[str] = (name for name in errors if promises[name].protects == protects)
    return min(having, key=errors.__getitem__, default=None)
