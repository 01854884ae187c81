"""Reasons: why rows and readings are set aside, as identifiers and in words.

Counters, metrics and answers have identifiers; people are shown `words_of` them. A format of your own may bring
reasons of its own, in any words.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

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
