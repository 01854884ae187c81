"""Formats: how a layout of meter data is read and written, and the rows that every reader gives.

A format of your own is a class with a name and a `read` that yields `Rows`; the text of times and values may be
given as it stands in the file:

    @dataclass(frozen=True, kw_only=True)
    class Retailer(dn.Format):
        name = "retailer"
        unit: str = "Wh"
        minutes: int | None = 30
        zone: str | None = "Europe/Berlin"

        def read(self, part):
            for number, line in part.lines():
                meter, time, value = line.split(";")
                yield Rows(meter=meter, time=[time], value=[value], line=number)

    homes = dn.read("retailer.csv", format=Retailer())
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.grid import is_zone
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part

MICRO = {"MWh": 10**12, "kWh": 10**9, "Wh": 10**6, "MW": 10**12, "kW": 10**9, "W": 10**6}
"""How many millionths of a watt-hour (or of a watt) a unit is: readings are taken to nine decimals of a kWh."""

LARGEST = 10**12
"""No row may reach 1 MWh (or 1 MW): a household's sums of a day of such rows stay within 64 bits."""

BLANK, NOT_A_NUMBER, TOO_LARGE = (np.iinfo(np.int64).min + i for i in range(3))
"""What stands in the place of a value that is none."""

BATCH = 200_000
"""How many intervals are handed on at a time."""

Label = Literal["start", "end"]

Channel = Literal["consumption", "generation", "net"]
"""What is read where meters count both ways: what a home takes, what it gives, or the first less the second."""

Column: TypeAlias = Any
"""A text, or a list or an array with an entry for each row."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Rows:
    """Some rows of a part, as a format reads them. A text stands for every row, a column has one entry a row."""

    meter: Column
    """Whose reading it is."""
    time: Column
    """When: text as `time_format` says, timestamps, or a NumPy array of whole seconds since 1970 (`instants`)."""
    value: Column
    """How much: text or numbers in the format's unit; blank, None or null for a gap."""
    line: int | Integers
    """The line of the first row if each row has a line of its own, or the line of each row."""
    household: Column | None = None
    """Which household the meter belongs to, where the file says so; else the meter is the household."""
    minutes: int | Integers | None = None
    """How long the rows last, where they differ from the format's `minutes`."""
    sign: int = 1
    """-1 for generation that is netted."""
    instants: bool = False
    """Whether whole seconds are moments of the world; else they are the wall clock's."""
    groups: Mapping[str, Column] = field(default_factory=dict)
    """What groups the household is in, by partition."""


@dataclass(frozen=True, kw_only=True)
class Aside:
    """Rows that a reader sets aside itself: counted, never silently dropped."""

    reason: str
    """Why, in a few words."""
    rows: int
    """How many."""
    line: int
    """The line of the first."""


@dataclass(frozen=True, kw_only=True)
class Format(ABC):
    """A layout of meter data. Its fields are what a user may say about a file of that layout."""

    name: ClassVar[str]
    """What it is called in `dn.read(..., format=name)`."""

    unit: str = "kWh"
    """kWh, Wh or MWh (energy, which adds), or kW, W or MW (mean power, which averages)."""
    minutes: int | None = None
    """How long a row lasts; unless given, the smallest step between two times."""
    label: Label | None = None
    """Whether times say when an interval starts or when it ends; the start, unless a column's name says `end`."""
    zone: str | None = None
    """The clock of times without an offset, by its IANA name; the panel's unless given."""
    time_format: str | None = None
    """How times are written, as in `datetime.strptime`; ISO unless given."""

    def __post_init__(self) -> None:
        if self.unit not in MICRO:
            raise ReadingsError("source-unit-unknown", unit=self.unit, choices=", ".join(MICRO))
        if self.label not in (None, "start", "end"):
            raise ReadingsError("label-unknown", label=self.label)
        if self.zone is not None and not is_zone(self.zone):
            raise ReadingsError("zone-unknown", zone=self.zone)
        if self.minutes is not None and not (isinstance(self.minutes, int) and 1 <= self.minutes <= 1440):
            raise ReadingsError("minutes-range", minutes=self.minutes)

    @property
    def is_power(self) -> bool:
        """Whether rows are mean power rather than energy."""
        return self.unit.endswith("W")

    def recognises(self, part: Part) -> str | None:
        """By what a part is seen to be of this format, in a few words; None if it is not."""
        return None

    def settle(self, part: Part) -> Format:
        """This format with what the part itself says filled in: column names, the unit."""
        return self

    def notes(self) -> tuple[str, ...]:
        """What a custodian should know of how it was read."""
        return ()

    @abstractmethod
    def read(self, part: Part) -> Iterator[Rows | Aside]:
        """The rows of a part, gaps included.

        Raises:
            ReadingsError: The part is not of this format; the error names the line and shows no value.
        """

    def write(self, panel: Panel, path: Path) -> None:
        """Write a panel in this format; a gap is a blank cell."""
        raise ReadingsError("format-no-writer", format=self.name)


class Batch:
    """Rows of one sign, until there are enough of them."""

    def __init__(self, *, sign: int, instants: bool) -> None:
        self.sign = sign
        self.instants = instants
        self.values: list[str | None] = []
        self._names: dict[tuple[str, str], int] = {}
        self._pieces: list[tuple[Integers, Integers, Integers, Integers]] = []

    def add(
        self,
        name: tuple[str, str],
        times: Integers,
        values: Sequence[str | None],
        *,
        line: int | Integers,
        minutes: int | Integers,
    ) -> None:
        """Add rows of one (household, meter)."""
        number, n = self._names.setdefault(name, len(self._names)), len(times)
        columns = [np.broadcast_to(np.asarray(column, dtype=np.int64), n) for column in (number, line, minutes)]
        self._pieces.append((columns[0], times, columns[1], columns[2]))
        self.values.extend(values)

    def rows(self) -> Iterator[Rows]:
        """The rows so far, if any; the batch is empty then."""
        if not self.values:
            return
        number, times, lines, minutes = (np.concatenate(column) for column in zip(*self._pieces, strict=True))
        households, meters = zip(*self._names, strict=True)
        yield Rows(
            household=_named(number, households),
            meter=_named(number, meters),
            time=times,
            value=pa.array(self.values, type=pa.string()),
            line=lines,
            minutes=minutes,
            sign=self.sign,
            instants=self.instants,
        )
        self.values, self._names, self._pieces = [], {}, []


def check_channel(channel: str) -> None:
    """Refuse a channel that there is not.

    Raises:
        ReadingsError: There is no such channel.
    """
    if channel not in get_args(Channel):
        raise ReadingsError("channel-unknown", channel=channel, choices=", ".join(get_args(Channel)))


def as_array(column: Column, n: int) -> pa.Array:
    """A column as an Arrow array of n entries."""
    if isinstance(column, str):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([column]))
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column if isinstance(column, pa.Array) else pa.array(column)


def codes(column: pa.Array) -> tuple[Integers, list[str | None]]:
    """A column of names as numbers into a list of its distinct texts, without spaces around them."""
    if pa.types.is_dictionary(column.type):
        encoded = column
    else:
        encoded = column.dictionary_encode()
    texts = [None if text is None else str(text).strip() or None for text in encoded.dictionary.to_pylist()]
    if encoded.null_count:
        texts.append(None)
    indices = encoded.indices.fill_null(len(texts) - 1) if encoded.null_count else encoded.indices
    return indices.to_numpy(zero_copy_only=False).astype(np.int64), texts


def micro_values(column: pa.Array, unit: str) -> tuple[Integers, int | None]:
    """Values in millionths, exact for nine decimals of a kWh, and the first row that is no number.

    Whatever is no reading stays in its place as BLANK, NOT_A_NUMBER or TOO_LARGE. Decimals are told apart by
    rounding the nearest float: up to LARGEST its error is a hundredth of a millionth.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return np.full(len(column), BLANK), None
    if is_text(column.type):
        column, wrong = _numbers(column)
        if wrong is not None:
            return np.zeros(0, dtype=np.int64), wrong
    if not (_is_number(column.type) or pa.types.is_decimal(column.type)):
        return np.zeros(0, dtype=np.int64), 0
    blank = column.is_null().to_numpy(zero_copy_only=False)
    values = pc.cast(column, pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.rint(values * float(MICRO[unit]))
    large = np.abs(scaled) >= LARGEST
    odd = ~np.isfinite(values)
    micro = np.where(large | odd, 0.0, scaled).astype(np.int64)
    micro[large] = TOO_LARGE
    micro[odd] = NOT_A_NUMBER
    micro[blank] = BLANK
    return micro, None


def _numbers(column: pa.Array) -> tuple[pa.Array, int | None]:
    """Texts as floats, and the first row that is neither a number nor blank."""
    trimmed = pc.utf8_trim_whitespace(pc.cast(column, pa.large_string()))
    filled = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
    try:
        return pc.cast(filled, pa.float64()), None
    except pa.ArrowInvalid:
        pass
    for row, text in enumerate(filled):
        try:
            pc.cast(text, pa.float64())
        except pa.ArrowInvalid:
            return column, row
    raise AssertionError("a column that cannot be cast has an entry that cannot be")


def seconds_of(column: pa.Array, time_format: str | None) -> tuple[Integers, bool, int | None]:
    """Times as seconds since 1970, whether these are moments of the world, and the first row that is no time."""
    wrong = np.zeros(0, dtype=np.int64)
    if pa.types.is_date(column.type):
        column = pc.cast(column, pa.timestamp("s"))
    if pa.types.is_timestamp(column.type):
        if column.null_count:
            return wrong, False, int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        seconds = pc.cast(column, pa.timestamp("s", column.type.tz), safe=False)
        return seconds.cast(pa.int64()).to_numpy(zero_copy_only=False), column.type.tz is not None, None
    if not (is_text(column.type) or pa.types.is_dictionary(column.type)):
        return wrong, False, 0
    index, texts = codes(column)
    times = [_moment(text, time_format) for text in texts]
    bad = np.array([time is None for time in times])
    if bad.any() and bad[index].any():
        return wrong, False, int(np.argmax(bad[index]))
    aware = [time is not None and time[1] for time in times]
    if any(aware) and not all(aware):
        return wrong, False, int(np.argmax(np.array(aware)[index] != aware[index[0]]))
    return np.array([0 if time is None else time[0] for time in times])[index], any(aware), None


def _moment(text: str | None, time_format: str | None) -> tuple[int, bool] | None:
    try:
        time = datetime.strptime(text or "", time_format) if time_format else datetime.fromisoformat(text or "")
    except (ValueError, re.error):
        # A format such as "%d %d" makes no pattern.
        return None
    aware = time.tzinfo is not None
    since = time - datetime(1970, 1, 1, tzinfo=time.tzinfo if aware else None)
    offset = time.utcoffset()
    return since.days * 86400 + since.seconds - (int(offset.total_seconds()) if offset else 0), aware


def is_name(kind: pa.DataType) -> bool:
    """Whether a column holds what may be names."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return is_text(kind) or bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def may_be_value(kind: pa.DataType) -> bool:
    """Whether a column holds what may be values: numbers, or text that says them."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return is_text(kind) or _is_number(kind) or bool(pa.types.is_decimal(kind) or pa.types.is_null(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _named(number: Integers, names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(number.astype(np.int32)), pa.array(names, type=pa.string()))
