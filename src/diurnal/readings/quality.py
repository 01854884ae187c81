"""Quality: what an import kept, what it set aside, and why. For the custodian's eyes only.

Counters, metrics and answers name reasons by identifiers; people are shown `words_of` them. A format of your own
may bring reasons of its own, in any words.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from diurnal.private import Private, PrivateDict, private
from diurnal.readings.data import Integers, Marks

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

WORDS = {
    # Rows of a source.
    "blank": "blank",
    "not_a_number": "not a number",
    "outside_domain": "outside the domain",
    "duplicate": "duplicate",
    "duplicate_same": "duplicate, same value",
    "duplicate_other": "duplicate, another value",
    "off_grid": "off the grid",
    "on_calendar": "on the calendar",
    "before_first_day": "before the first day",
    "after_end": "after the end",
    "before_stream": "before the stream begins",
    "far_from_others": "dated far from the other rows",
    "incomplete_interval": "part of the interval missing",
    "overlapping": "overlapping rows",
    "other_meter_missing": "another meter of the household missing",
    "outside_term": "outside the meter's term",
    "doubled_hour": "second pass of a repeated hour",
    "skipped_hour": "skipped by daylight saving",
    "another_channel": "another channel",
    "counting_meter": "from a cumulative meter",
    # Readings for a stream.
    "ahead_of_clock": "ahead of the clock",
    "ahead_of_homes": "dropped, ahead of the other homes",
    "late": "too late",
    "held_before": "already held",
    "unknown_household": "of households not on the roster",
    "steps_outside_stream": "steps outside the stream",
    "steps_published_before": "steps already published",
    "steps_behind_fence": "steps behind a fence",
    "much_later": "of a much later step",
    "batches_sent_again": "batches sent again",
    "batches_skipped": "batches skipped",
    "batches_other_content": "batches sent again with changed readings (of open cycles)",
}
"""What people are shown of a reason, where that is not its identifier with spaces."""

FROM = {"file": "rows of a file, ", "batch": "rows of a batch, "}
"""What people are shown of reasons that begin so: rows that an import for a stream has set aside."""

_FORMER = {
    "second of a doubled hour": "doubled_hour",
    "at an hour that never was": "skipped_hour",
    "a meter that counts up": "counting_meter",
    "ahead of the other homes, and dropped": "ahead_of_homes",
    "late, and not taken": "late",
    "held before": "held_before",
    "steps outside the stream's": "steps_outside_stream",
    "steps published before": "steps_published_before",
    "batches passed by": "batches_skipped",
    "batches sent again with other readings (of open cycles)": "batches_other_content",
}
"""Words that earlier versions have written down, where they are other ones today. Stores and panels keep them."""

_IDENTIFIERS = {words: reason for reason, words in WORDS.items()} | _FORMER


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


def words_of(reason: str) -> str:
    """What people are shown of a reason."""
    if reason in WORDS:
        return WORDS[reason]
    begin, _, rest = reason.partition("_")
    return f"{FROM[begin]}{words_of(rest)}" if begin in FROM and rest else reason.replace("_", " ")


def identifier_of(words: str) -> str:
    """The identifier of a reason that an earlier version has written down in words."""
    found = next((name for name, said in FROM.items() if words.startswith(said)), None)
    if found is not None:
        return f"{found}_{identifier_of(words.removeprefix(FROM[found]))}"
    if words.startswith("quality flag "):
        return words.replace(" ", "_")
    return _IDENTIFIERS.get(words, words)


class Counts(dict[str, int]):
    """How many there are of each reason. For one version it can be asked in words, too, as it was before."""

    def __missing__(self, key: str) -> int:
        reason = identifier_of(key)
        if reason == key or reason not in self:
            raise KeyError(key)
        warnings.warn(f"The reason {key!r} is now {reason!r}.", DeprecationWarning, stacklevel=2)
        return self[reason]


def counted(found: Mapping[str, int]) -> Counts:
    """Counts by identifier, also of reasons that were written down in words."""
    counts = Counts()
    for reason, number in found.items():
        name = identifier_of(reason)
        counts[name] = counts.get(name, 0) + number
    return counts
