"""RowBuffer: every row of a source once, as integers, with its place in the source.

Rows come in any order and of any number; meters and households are numbered as they appear. What is no row at
all (no meter, no time, text for a number) is an error that names the line. What is a row but no reading (a blank,
NaN, 10^9 kWh) stays, marked, and is counted later.

Rows lie in a file without a name (`Spill`), so that memory stays flat and a killed import leaves nothing.
"""

from __future__ import annotations

import bisect
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.formats import (
    Aside,
    Format,
    Rows,
    as_array,
    codes,
    is_name,
    is_text,
    micro_values,
    seconds_of,
)
from diurnal.readings.grid import EARLIEST, LATEST
from diurnal.readings.source import Part

Records = npt.NDArray[Any]

ROW = np.dtype([("seconds", "i8"), ("value", "i8"), ("meter", "i4"), ("minutes", "i4"), ("line", "u4")])
"""A buffered row: when (as written), millionths, of which meter, how long (0: as the format says), and line."""

SMALL, POOL = 1000, 100_000
"""Rows that come fewer than the first at a time, as plain text, are put together until there are so many."""

LONGEST_NAME = 200
"""How many characters a name may have: Parquet keeps no statistics of very long texts."""


@dataclass(repr=False)
class RowBuffer:
    """The rows of a source as integers."""

    folder: Path | None
    """Where to spill; the system's folder for such files unless given."""
    format: Format
    meters: dict[tuple[str, str], int] = field(default_factory=dict)
    """The number of each (household, meter), as they appeared."""
    groups: dict[str, dict[str, str]] = field(default_factory=dict)
    """For each partition the group of each household."""
    asides: Counter[str] = field(default_factory=Counter)
    """Rows that the reader set aside, by reason."""
    aside_places: dict[str, Place] = field(default_factory=dict)
    """Where the first of these is."""
    instants: bool | None = None
    """Whether times are moments of the world rather than the wall clock's; None before the first row."""
    mixed: bool = False
    """Whether rows say themselves how long they last."""
    any_date: bool = False
    """Whether dates before 1900 and after 2199 are let pass: they lie outside of every panel, and are set aside."""
    first: int = LATEST
    last: int = EARLIEST
    _parts: list[tuple[Part, int]] = field(default_factory=list)
    """Each batch's part, and how many rows there were when it was buffered."""
    _waiting: list[tuple[Part, Rows]] = field(default_factory=list)
    """Small batches of one part."""
    _n_waiting: int = 0
    """How many rows these have."""

    def __post_init__(self) -> None:
        self.spill = Spill(self.folder, ROW)

    def __len__(self) -> int:
        return len(self.spill)

    def close(self) -> None:
        """Free the file."""
        self.spill.close()

    def add(self, part: Part, given: Rows | Aside) -> None:
        """RowBuffer what a format read.

        Raises:
            ReadingsError: A row has no meter, no time or no number, or contradicts an earlier one's group.
        """
        if isinstance(given, Aside):
            self.asides[given.reason] += given.rows
            self.aside_places.setdefault(given.reason, Place(part.name, given.line, part.row_word))
            return
        small = _is_small(given)
        if self._waiting and (self._waiting[0][0] is not part or not small):
            self.flush()
        if not small:
            _Batch(self, part, given).add()
            return
        self._waiting.append((part, given))
        self._n_waiting += len(given.time)
        if self._n_waiting >= POOL:
            self.flush()

    def flush(self) -> None:
        """RowBuffer the small batches that wait."""
        if self._waiting:
            part, rows = self._waiting[0][0], [rows for _, rows in self._waiting]
            self._waiting, self._n_waiting = [], 0
            _Batch(self, part, _together(rows)).add()

    def place(self, row: int) -> Place:
        """Where a buffered row stands in its source."""
        ends = [end for _, end in self._parts]
        part = self._parts[bisect.bisect_right(ends, row)][0]
        return Place(part.name, int(self.spill.record(row)["line"]), part.row_word)


@dataclass(frozen=True)
class Place:
    """Where a row stands in its source."""

    part: str
    line: int
    word: str = "line"

    def __str__(self) -> str:
        return f"{self.part}, {self.word} {self.line}"


class Spill:
    """Batches of records, each sorted by bucket, read back a batch or a bucket at a time.

    The file has no name: nobody else can open it, and the system frees it when the process ends, however it
    ends.
    """

    def __init__(self, folder: Path | None, dtype: np.dtype[Any], n_buckets: int = 1) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (closed with the spill)
        self._dtype = dtype
        self._n_buckets = n_buckets
        self._bounds: list[Integers] = []
        self._end = 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the file."""
        self._file.close()

    def __len__(self) -> int:
        return self._end

    def add(self, records: Records, bucket: Integers | None = None) -> None:
        """Add a batch; records of one bucket keep their order."""
        counts = np.zeros(self._n_buckets + 1, dtype=np.int64)
        if bucket is None:
            counts[-1] = len(records)
        else:
            np.cumsum(np.bincount(bucket, minlength=self._n_buckets), out=counts[1:])
            if (len(bucket) and bucket[0] != bucket[-1]) or (np.diff(bucket) < 0).any():
                records = records[np.argsort(bucket.astype(np.uint32), kind="stable")]
        view = np.ascontiguousarray(records).view(np.uint8).data if len(records) else memoryview(b"")
        while view:
            view = view[self._file.write(view) :]
        self._bounds.append(self._end + counts)
        self._end += len(records)

    def batches(self) -> Iterator[Records]:
        """The batches as they came."""
        for bounds in self._bounds:
            yield self._read(int(bounds[0]), int(bounds[-1]))

    def bucket(self, number: int) -> Records:
        """All records of a bucket, in the order in which they came."""
        spans = [(int(bounds[number]), int(bounds[number + 1])) for bounds in self._bounds]
        parts = [self._read(start, stop) for start, stop in spans if start < stop]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=self._dtype)

    def record(self, place: int) -> Any:
        """The record that came at that place, batches as they were written."""
        return self._read(place, place + 1)[0]

    def _read(self, start: int, stop: int) -> Records:
        records = np.empty(stop - start, dtype=self._dtype)
        if not len(records):
            return records
        view = records.view(np.uint8).data
        offset = start * self._dtype.itemsize
        while view:
            # Positioned, so that threads do not share a place in the file.
            count = os.preadv(self._file.fileno(), [view], offset)
            if count == 0:
                raise OSError("the spill file ended early")
            view, offset = view[count:], offset + count
        return records


def _is_small(rows: Rows) -> bool:
    """Whether rows are a few lines of plain text of one meter: the only ones that can be pooled without a doubt."""
    return (
        isinstance(rows.meter, str)
        and isinstance(rows.line, int)
        and isinstance(rows.time, list)
        and isinstance(rows.value, list)
        and len(rows.time) == len(rows.value) < SMALL
        and all(isinstance(text, str) for text in rows.time)
        and all(text is None or isinstance(text, str) for text in rows.value)
        and rows.household is None
        and rows.minutes is None
        and rows.sign == 1
        and not rows.groups
    )


def _together(batches: list[Rows]) -> Rows:
    """Small batches as one."""
    return Rows(
        meter=[rows.meter for rows in batches for _ in rows.time],
        time=[time for rows in batches for time in rows.time],
        value=[value for rows in batches for value in rows.value],
        line=np.concatenate([np.arange(len(rows.time)) + rows.line for rows in batches]),
    )


@dataclass(repr=False)
class _Batch:
    """One batch of rows on its way into the buffer."""

    buffer: RowBuffer
    part: Part
    rows: Rows

    def add(self) -> None:
        n = len(self.rows.time)
        if n == 0:
            return
        time = self._column("time", self.rows.time, n)
        meter = self._meters(n)
        records = np.zeros(n, dtype=ROW)
        records["meter"] = meter
        records["seconds"] = self._seconds(time)
        records["value"] = self._values(n)
        records["minutes"] = 0 if self.rows.minutes is None else self._numbers("minutes", self.rows.minutes, n)
        records["line"] = self._lines(n)
        self.buffer.mixed |= self.rows.minutes is not None
        self.buffer.spill.add(records)
        self.buffer._parts.append((self.part, len(self.buffer)))

    def _lines(self, n: int) -> Integers:
        if np.ndim(self.rows.line) == 0:
            return int(self.rows.line) + np.arange(n)
        return self._numbers("line", self.rows.line, n)

    def _numbers(self, name: str, column: int | Integers, n: int) -> Integers:
        numbers = np.asarray(column, dtype=np.int64)
        if numbers.ndim and len(numbers) != n:
            raise self._uneven(name, len(numbers), n)
        return np.broadcast_to(numbers, n)

    def _column(self, name: str, column: object, n: int) -> pa.Array:
        """A column with an entry for each row, whatever it is made of."""
        try:
            array = as_array(column, n)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            array = None
        if array is None:
            # Arrow's own message would show an entry.
            raise self.part.fault("column-mixed", column=name)
        if len(array) != n:
            raise self._uneven(name, len(array), n)
        return array

    def _uneven(self, name: str, found: int, n: int) -> ReadingsError:
        return self.part.fault("column-length", line=int(np.min(self.rows.line)), column=name, rows=n, given=found)

    def _error(self, code: str, row: int, **params: Any) -> ReadingsError:
        number = int(self._lines(len(self.rows.time))[row])
        return self.part.fault(code, line=number, **params)

    def _seconds(self, time: pa.Array) -> Integers:
        if pa.types.is_integer(time.type) and isinstance(self.rows.time, np.ndarray):
            seconds, instants, wrong = np.asarray(self.rows.time, dtype=np.int64), self.rows.instants, None
        else:
            seconds, instants, wrong = seconds_of(time, self.buffer.format.time_format)
        if wrong is None and self.buffer.any_date:
            seconds = np.clip(seconds, EARLIEST, LATEST - 1)
        if wrong is None and ((seconds < EARLIEST) | (seconds >= LATEST)).any():
            wrong = int(np.argmax((seconds < EARLIEST) | (seconds >= LATEST)))
        if wrong is not None:
            kind = "text" if pa.types.is_dictionary(time.type) or is_text(time.type) else str(time.type)
            raise self._error("time-invalid", wrong, given=kind)
        if self.buffer.instants is None:
            self.buffer.instants = instants
        if self.buffer.instants != instants:
            raise self._error("time-offsets-mixed", 0)
        self.buffer.first = min(self.buffer.first, int(seconds.min()))
        self.buffer.last = max(self.buffer.last, int(seconds.max()))
        return seconds

    def _values(self, n: int) -> Integers:
        column = self._column("value", self.rows.value, n)
        micro, wrong = micro_values(column, self.buffer.format.unit)
        if wrong is not None:
            kind = "text" if is_text(column.type) else str(column.type)
            raise self._error("value-invalid", wrong, given=kind)
        return np.where(micro > -(1 << 62), micro * self.rows.sign, micro) if self.rows.sign != 1 else micro

    def _meters(self, n: int) -> Integers:
        meter, meter_names = self._names(self.rows.meter, n, "meter")
        if self.rows.household is None:
            pairs, names = meter, [(name, name) for name in meter_names]
            home = meter
            homes = meter_names
        else:
            home, homes = self._names(self.rows.household, n, "household")
            both = home * len(meter_names) + meter
            distinct, pairs = _distinct(both, len(homes) * len(meter_names))
            names = [(homes[i // len(meter_names)], meter_names[i % len(meter_names)]) for i in distinct]
        known = self.buffer.meters
        number = np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)
        for partition, column in self.rows.groups.items():
            self._group(partition, column, home, homes)
        return number[pairs]

    def _names(self, column: object, n: int, what: str) -> tuple[Integers, list[str]]:
        array = self._column(what, column, n)
        if not is_name(array.type):
            raise self._error("name-not-text", 0, column=what, given=array.type)
        index, texts = codes(array)
        # A frame that was filtered has names in its dictionary that no row uses.
        used, index = _distinct(index, len(texts))
        texts = [texts[place] for place in used]
        if None in texts:
            blank = np.array([text is None for text in texts])[index]
            if blank.any():
                raise self._error("name-blank", int(np.argmax(blank)), column=what)
        broken = np.array([text is not None and not _is_name_text(text) for text in texts], dtype=bool)
        if broken.any():
            raise self._error("name-too-long", int(np.argmax(broken[index])), column=what, most=LONGEST_NAME)
        return index, [text or "" for text in texts]

    def _group(self, partition: str, column: object, home: Integers, homes: list[str]) -> None:
        group, groups = self._names(column, len(home), partition)
        distinct, _ = _distinct(home * len(groups) + group, len(homes) * len(groups))
        known = self.buffer.groups.setdefault(partition, {})
        before = dict(known)
        for pair in distinct:
            household, name = homes[pair // len(groups)], groups[pair % len(groups)]
            if known.setdefault(household, name) != name:
                rows = np.flatnonzero(home == pair // len(groups))
                said = before.get(household, groups[group[rows[0]]])
                other = next(int(row) for row in rows if groups[group[row]] != said)
                raise self._error("group-second", other, column=partition)


def _is_name_text(text: str) -> bool:
    return len(text) <= LONGEST_NAME and "\n" not in text and "\r" not in text


def _distinct(values: Integers, bound: int) -> tuple[list[int], Integers]:
    """The distinct ones of small whole numbers, and for each number its place among these."""
    if bound > 4 * len(values) + 1024:
        distinct, place = np.unique(values, return_inverse=True)
        return distinct.tolist(), place
    found = np.flatnonzero(np.bincount(values, minlength=bound))
    place = np.zeros(bound, dtype=np.int64)
    place[found] = np.arange(len(found))
    return found.tolist(), place[values]
