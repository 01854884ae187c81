"""Side tables: what a custodian keeps beside the readings.

Small tables, as CSV or Parquet files or as plain data: the meters of each household, the groups of households, the
public calendar, changes of tenancy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from diurnal.errors import ReadingsError
from diurnal.readings.grid import EPOCH
from diurnal.readings.source import Part, parts_of


@dataclass(frozen=True)
class Span:
    """From when until when, by the wall clock, in seconds since 1970; None for no end."""

    since: int | None
    until: int | None


@dataclass(frozen=True, repr=False)
class MeterList:
    """Which household each meter belongs to, and for how long."""

    households: Mapping[str, str]
    terms: Mapping[str, Span]


def meter_list(given: str | Path | Mapping[str, str]) -> MeterList:
    """A file with the columns meter, household and, where meters change, from and until; or a mapping."""
    if isinstance(given, Mapping):
        return MeterList({str(meter): str(home) for meter, home in given.items()}, {})
    part, rows = _rows(given, ["meter", "household"], ["from", "until"])
    households: dict[str, str] = {}
    terms: dict[str, Span] = {}
    for line, row in rows:
        if households.setdefault(row["meter"], row["household"]) != row["household"] or row["meter"] in terms:
            raise part.fault("meters-repeated", line=line)
        since, until = (_time(part, line, name, row[name]) for name in ("from", "until"))
        if since is not None or until is not None:
            terms[row["meter"]] = Span(since, until)
    return MeterList(households, terms)


def group_list(given: str | Path | Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """For each partition the group of each household.

    A file with a column household and one for each partition; or a mapping from partition to household to group.
    """
    if isinstance(given, Mapping):
        if not all(isinstance(groups, Mapping) for groups in given.values()):
            raise ReadingsError("groups-not-mapping")
        return {
            str(name): {str(home): str(group) for home, group in groups.items()} for name, groups in given.items()
        }
    part = _one_part(given)
    partitions = [name for name in part.column_names if name != "household"]
    if not partitions:
        raise part.fault("groups-no-partition", line=1)
    part, rows = _rows(given, ["household", *partitions], [])
    groups: dict[str, dict[str, str]] = {name: {} for name in partitions}
    for line, row in rows:
        for name in partitions:
            if groups[name].setdefault(row["household"], row[name]) != row[name]:
                raise part.fault("groups-conflict", line=line, column=name)
    return groups


def calendar_list(given: str | Path | Iterable[tuple[str, str]]) -> list[tuple[int, int]]:
    """Spans of the wall clock whose true totals are public: outages, tests.

    A file with the columns from and until (and any more, such as a reason); or pairs of times. A date alone is
    its midnight; where `until` is blank, the span is the whole day of `from`.
    """
    if isinstance(given, (str, Path)):
        part, rows = _rows(given, ["from"], ["until"])
        pairs = [(part, line, row["from"], row["until"]) for line, row in rows]
    else:
        given_pairs = [_pair(pair) for pair in given]
        pairs = [(_CALENDAR, line, *pair) for line, pair in enumerate(given_pairs, start=1)]
    spans = []
    for part, line, since, until in pairs:
        start = _time(part, line, "from", since)
        stop = _time(part, line, "until", until) if until else (start or 0) + 86400
        if start is None or stop is None or stop <= start:
            raise part.fault("calendar-order", line=line)
        spans.append((start, stop))
    return spans


def tenancy_list(given: str | Path | Mapping[str, str]) -> list[tuple[str, int]]:
    """Households and when their tenancy changed. A file with the columns household and from, or a mapping."""
    if isinstance(given, Mapping):
        times = [(str(household), wall_seconds(time)) for household, time in given.items()]
        if any(time is None for _, time in times):
            raise ReadingsError("tenancies-not-mapping")
        return [(household, time or 0) for household, time in times]
    part, rows = _rows(given, ["household", "from"], [])
    return [(row["household"], _time(part, line, "from", row["from"]) or 0) for line, row in rows]


def wall_seconds(text: object) -> int | None:
    """A local date, or date and time, in ISO form as seconds since 1970; None if it is none."""
    try:
        time = datetime.fromisoformat(str(text))
    except (ValueError, TypeError):
        return None
    return None if time.tzinfo is not None else (time - EPOCH) // timedelta(seconds=1)


class _Given(Part):
    """Plain data, for errors."""

    name = "calendar"
    row_word = "entry"
    column_names = ()

    def tables(self, columns: Any, *, encoded: Any = ()) -> Any:
        raise NotImplementedError


_CALENDAR = _Given()


def _pair(pair: Any) -> tuple[str, str]:
    if isinstance(pair, str) or not isinstance(pair, Iterable):
        raise ReadingsError("calendar-not-pairs")
    since, *rest = (str(time) for time in pair)
    return since, rest[0] if rest else ""


def _time(part: Part, line: int, name: str, text: str) -> int | None:
    if not text:
        return None
    seconds = wall_seconds(text)
    if seconds is None:
        raise part.fault("table-date", line=line, column=name)
    return seconds


def _one_part(given: str | Path) -> Part:
    if not (isinstance(given, (str, Path)) or hasattr(given, "__arrow_c_stream__")):
        raise ReadingsError("table-type", given=type(given).__name__)
    parts = parts_of(given)
    if len(parts) > 1:
        raise ReadingsError("table-several")
    return parts[0]


def _rows(
    given: str | Path, needed: list[str], optional: list[str]
) -> tuple[Part, list[tuple[int, dict[str, str]]]]:
    """The rows of a small table as text, each with its line; a column that is not there is blank."""
    part = _one_part(given)
    for name in needed:
        if name not in part.column_names:
            raise part.fault("table-column-missing", column=name, columns=",".join(needed + optional))
    there = [name for name in needed + optional if name in part.column_names]
    rows = []
    for table in part.tables(there):
        for line, row in zip(table.lines().tolist(), table.columns.to_pylist(), strict=True):
            texts = {name: str(row.get(name) or "").strip() for name in needed + optional}
            blank = next((name for name in needed if not texts[name]), None)
            if blank is not None:
                raise part.fault("table-blank", line=line, column=blank)
            rows.append((line, texts))
    return part, rows
