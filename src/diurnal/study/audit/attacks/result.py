"""Result: what an attack found out, a number a release, between nothing and everything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from diurnal.picture import Pictured
from diurnal.private import Private, private


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an attack found out from one release."""

    release: str
    """From which."""
    case: str = ""
    """In which case, where an attack has several."""
    households: int | None = None
    """n, where an attack was made on groups of several sizes."""
    value: float | None = None
    """The attack's measure; None if the curator refused."""
    low: float | None = None
    """Not less, with 95 % confidence; None if nothing about it is random."""
    high: float | None = None
    """Not more."""
    published: float | None = None
    """The same measure of what was published, before the attack; where that is something else."""
    refused: str = ""
    """Why the curator refused, in its own words."""

    @property
    def words(self) -> str:
        """The number with its interval, or that it was refused."""
        if self.value is None:
            return "refused"
        if self.low is None or self.high is None:
            return f"{self.value:.3f}"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Attack(Pictured):
    """An attack with a person in mind, on a made-up population. Prints as a table."""

    name: str
    """What it is called."""
    asks: str
    """What the attacker wants to know."""
    knows: str
    """What the attacker has."""
    measure: str
    """What the number is."""
    chance: float
    """Its value when nothing is learned."""
    certain: float
    """Its value when everything is learned."""
    outcomes: tuple[Outcome, ...]
    """One a release, case and size."""
    says: str
    """What it means, in plain words."""
    shapes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The day of one made-up home, in truth and as found from each release; never that of a real one."""
    minutes: int = 30
    """How long a slot of a shape is."""

    def outcome(self, release: str, *, case: str = "", households: int | None = None) -> Outcome:
        """What was found from a release, in a case, for a size."""
        named = {(each.release, each.case, each.households): each for each in self.outcomes}
        return named[release, case, households]

    def learned(self, outcome: Outcome) -> float:
        """How much of all there is to learn was learned: 0 nothing, 1 everything."""
        if outcome.value is None:
            return 0.0
        share = (outcome.value - self.chance) / (self.certain - self.chance)
        return min(1.0, max(0.0, share))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        data: dict[str, Any] = {**asdict(self), "shapes": {name: list(day) for name, day in self.shapes.items()}}
        data["outcomes"] = [{**asdict(each), "learned": self.learned(each)} for each in self.outcomes]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.outcomes)} outcome(s))"

    def __str__(self) -> str:
        head = [
            f"{self.name}: {self.asks}",
            f"  knows: {self.knows}",
            f"  number: {self.measure}; {self.chance:.3g} if nothing is learned, {self.certain:g} if everything",
        ]
        width = max(len(each.case) for each in self.outcomes)
        sizes = any(each.households for each in self.outcomes)
        rows = [
            f"  {each.release:18}"
            + (f"{each.case:{width + 2}}" if width else "")
            + (f"{each.households or 0:>6,}  " if sizes else "")
            + each.words
            for each in self.outcomes
        ]
        return "\n".join([*head, *rows, f"  {self.says}"])


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateAttack(Private, Attack):
    """The same on real homes: it is against the truth, so it is for the custodian's eyes."""

    def to_json(self) -> dict[str, Any]:
        """Plain data with the mark on it."""
        made: dict[str, Any] = private(super().to_json())
        return made
