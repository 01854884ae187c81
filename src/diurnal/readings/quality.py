"""Quality: what an import kept and what it set aside, and why. For the custodian's eyes only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from diurnal.private import Private, PrivateDict, private
from diurnal.readings.data import Integers, Marks
from diurnal.readings.reasons import counted, identifier_of, words_of

BLANK = "blank"
NOT_A_NUMBER = "not_a_number"
OUTSIDE_DOMAIN = "outside_domain"
SAME = "duplicate_same"
ANOTHER = "duplicate_other"
OFF_GRID = "off_grid"
CALENDAR = "on_calendar"
EARLY = "before_first_day"
AFTER = "after_end"
AHEAD = "ahead_of_clock"
BEFORE = "before_stream"
FAR = "far_from_others"
INCOMPLETE = "incomplete_interval"
OVERLAP = "overlapping"
OTHER_METER = "other_meter_missing"
TERM = "outside_term"
SECOND = "doubled_hour"
NEVER = "skipped_hour"


@dataclass(frozen=True, kw_only=True, repr=False)
class Quality(Private):
    """An import's account: every row was kept or set aside for one of the reasons."""

    rows: int
    """How many rows the source has."""
    kept: int
    """How many of them are in the panel's readings."""
    set_aside: Mapping[str, int]
    """How many are not, by reason."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where the first of each reason stands in the source."""
    households: int = 0
    """n, the size of the roster."""
    steps: int = 0
    """How many steps the panel has."""
    closed: int = 0
    """How many of these are on the calendar."""
    readings: int = 0
    """How many readings the panel has."""
    gaps: int = 0
    """How many are missing at steps that are not on the calendar."""
    late: int = 0
    """How many households start more than a day late."""
    stopped: int = 0
    """How many households stop more than a day early."""
    silent: int = 0
    """How many households have no reading at all."""
    zero_days: int = 0
    """How many days of households are complete and all zero."""
    tenancy_changes: int | None = None
    """How many changes of tenancy there are, where they were given."""
    notes: tuple[str, ...] = ()
    """What was recognised or assumed."""

    def __post_init__(self) -> None:
        # A panel that an earlier version has kept has reasons in words.
        object.__setattr__(self, "set_aside", counted(self.set_aside))
        object.__setattr__(self, "places", {identifier_of(each): place for each, place in self.places.items()})
        assert self.rows == self.kept + sum(self.set_aside.values()), "every row is kept or set aside"

    def to_json(self) -> PrivateDict:
        """Plain data, still private."""
        return PrivateDict({name: private(getattr(self, name)) for name in self.__dataclass_fields__})

    def table(self) -> str:
        """The account as a table of text."""
        lines = [f"{'rows in the source':<42}{self.rows:>16,}", f"{'  kept':<42}{self.kept:>16,}"]
        for reason, count in sorted(self.set_aside.items(), key=lambda item: -item[1]):
            lines.append(f"  {'set aside, ' + words_of(reason):<40}{count:>16,}")
            if reason in self.places:
                lines.append(f"    first: {self.places[reason]}")
        facts = {
            "households": self.households,
            "  that start more than a day late": self.late,
            "  that stop more than a day early": self.stopped,
            "  without any reading": self.silent,
            "  changes of tenancy": self.tenancy_changes,
            "steps": self.steps,
            "  on the calendar": self.closed,
            "readings": self.readings,
            "gaps": self.gaps,
            "days of a household that are all zero": self.zero_days,
        }
        lines += [f"{name:<42}{value:>16,}" for name, value in facts.items() if value is not None]
        return "\n".join([*lines, *self.notes])


def tally(readings: Integers, present: Marks, day: int) -> Counter[str]:
    """What there is to say about some households: a row a household, a column a step, so many steps a day."""
    n, steps = present.shape
    some = present.any(axis=1)
    first = np.where(some, present.argmax(axis=1), 0)
    last = np.where(some, steps - 1 - present[:, ::-1].argmax(axis=1), steps)
    whole = slice(0, steps // day * day)
    complete = present[:, whole].reshape(n, -1, day).all(axis=2)
    zero = ~readings[:, whole].reshape(n, -1, day).any(axis=2)
    return Counter(
        readings=int(np.count_nonzero(present)),
        late=int(np.count_nonzero(first > day)),
        stopped=int(np.count_nonzero(last < steps - 1 - day)),
        silent=int(np.count_nonzero(~some)),
        zero_days=int(np.count_nonzero(complete & zero)),
    )
