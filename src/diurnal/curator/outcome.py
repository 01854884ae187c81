"""Outcome: what became of readings that were given to a stream. Nobody has to work it out again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diurnal.curator.report import Report
from diurnal.private import Private


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome(Private):
    """What became of readings in one stream. For who gave them, and the custodian."""

    stream: str
    """The stream's name."""
    again: bool = False
    """Whether they had been taken before, by their name: then nothing has happened."""
    keyed: bool = False
    """Whether they are known by their key from now on."""
    new: tuple[Report, ...] = ()
    """The rows that were released with them, in order."""
    old: tuple[Report, ...] = ()
    """The rows of their steps that had been released before: other readings for these are not taken."""
    taken: int = 0
    """How many readings were taken."""
    waiting: int = 0
    """How many of these are ahead of what the other homes have sent: they wait for them, and close nothing."""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    """What was not taken, by reason."""
    open: int = 0
    """How many of their steps are still open."""
    units: str = "not known"
    """Whether the readings, held against what is public, are plausible, too small or too large."""

    @property
    def rows(self) -> list[Report]:
        """All rows of their steps, and of earlier steps that closed with them, in order."""
        return sorted([*self.old, *self.new], key=lambda row: row.step)

    @property
    def reports(self) -> int:
        """How many rows were released with them."""
        return len(self.new)
