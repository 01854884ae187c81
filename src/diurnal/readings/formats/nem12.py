"""NEM12: the interval metering data file of the Australian market (AEMO's Meter Data File Format).

    100,NEM12,201207020000,PROVIDER,RETAILER
    200,4103000001,E1B1,,E1,N1,SERIAL,kWh,30,
    300,20120701,0.110,0.105,...,A,,,20120702000000,
    400,1,20,A,,
    900

A 200 record opens a data stream, each 300 record is a market day of it, and 400 records say the quality of runs of
intervals where the day's own flag is V. Times are market time, UTC+10 all year. A data stream whose suffix begins
with E is what a home takes from the grid, B what it gives. Files may follow one another in one file.

Flags are A (actual), E (estimated), F (final substitute), S (substitute), N (nothing) and V (see the 400 records).
An interval of flag N is a gap, so that the household and the day stay; one of a flag that is not taken is set aside
and counted. A day that comes twice, as a revision, gives its rows twice.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from diurnal.errors import ReadingsError
from diurnal.readings.formats.base import Aside, Format, Rows
from diurnal.readings.formats.text import decimals, open_text
from diurnal.readings.panel import Integers, Marks, Panel
from diurnal.readings.source import Part, TextFile

Channel = Literal["consumption", "generation", "net"]

BATCH = 200_000
"""How many intervals are handed on at a time."""

CHANNELS = {"consumption": {"E": 1}, "generation": {"B": 1}, "net": {"E": 1, "B": -1}}
"""The data streams of a channel, by the first letter of their suffix, with their signs."""

POWERS = {"wh": 0, "kwh": 3, "mwh": 6}
"""Units as powers of ten of a Wh."""

MARKET = 10 * 3600
"""How many seconds market time is ahead of UTC."""

_FLAG = re.compile(r"[AEFNSV][0-9]{0,2}", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Nem12(Format):
    """Interval metering data of the Australian market."""

    name: ClassVar[str] = "nem12"
    unit: str = "kWh"
    """What values are converted to: the file says its units itself."""
    zone: str | None = "Australia/Brisbane"
    channel: Channel = "consumption"
    """Consumption is the E streams, generation the B streams, net is E - B and may be negative."""
    qualities: str = "AEFS"
    """Which quality flags are taken."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_power:
            raise ReadingsError(f"Expected unit={self.unit!r} of energy: NEM12 has no other.", hint="unit='kWh'")
        if self.channel not in CHANNELS:
            raise ReadingsError(
                f"Expected channel={self.channel!r} to be one of {', '.join(CHANNELS)}.", hint="channel='net'"
            )
        if not self.qualities or set(self.qualities) - set("AEFS"):
            raise ReadingsError(
                f"Expected qualities={self.qualities!r} to be some of A, E, F and S.", hint="qualities='A'"
            )

    def recognises(self, part: Part) -> str | None:
        if isinstance(part, TextFile) and part.head and _is_header(_fields(part.head[0])):
            return "its first record is 100,NEM12"
        return None

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        if not isinstance(part, TextFile):
            raise part.error("Expected a text file of NEM12 records.", hint="Give the file as it was delivered.")
        reader, number = _Reader(self, part), 1
        for number, line in part.lines():
            reader.record(number, _fields(line))
            if reader.is_full:
                yield from reader.flush()
        reader.end(number)
        yield from reader.flush()

    def write(self, panel: Panel, path: Path) -> None:
        """Write a file of whole market days, a data stream a household; net ones have two, E1 and B1.

        Args:
            panel: Readings of energy, every 5, 15 or 30 minutes. Of the hour that autumn doubles the first
                occurrence has the reading; gaps have the flag N.
            path: Where to; gzip if it ends in .gz.

        Raises:
            ReadingsError: The panel does not fit the format.
        """
        _check_writable(panel)
        market = _market_days(panel)
        with open_text(path) as file:
            for fields in self._records(panel, market):
                file.write(",".join(fields) + "\r\n")

    def _records(self, panel: Panel, market: _Market) -> Iterator[Sequence[str]]:
        yield "100", "NEM12", market.stamp[:12], "DIURNAL", "DIURNAL"
        suffixes, minutes = (
            {f"{letter}1": sign for letter, sign in CHANNELS[self.channel].items()},
            panel.grid.minutes,
        )
        for block in panel.blocks():
            readings, present = block.readings, block.present
            if self.channel != "net" and (readings < 0).any():
                raise negative(self.channel)
            for (column, name), (suffix, sign) in itertools.product(enumerate(block.households), suffixes.items()):
                values = np.maximum(sign * readings[:, column], 0) if self.channel == "net" else readings[:, column]
                yield "200", name, "".join(suffixes), "", suffix, "", "", "kWh", str(minutes), ""
                yield from market.days(decimals(values, present[:, column], panel.grid.unit, "kWh"))
        yield ("900",)


class Batch:
    """Rows of one sign on their way out of a reader."""

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


@dataclass(frozen=True, kw_only=True)
class _Stream:
    """A data stream: a 200 record."""

    name: tuple[str, str]
    """The household and the meter."""
    minutes: int
    power: int
    """By which power of ten its values are to be multiplied."""
    sign: int | None
    """None if it is of another channel."""

    @property
    def count(self) -> int:
        return 1440 // self.minutes


@dataclass(frozen=True, kw_only=True)
class _Day:
    """A day of a data stream: a 300 record."""

    line: int
    midnight: int
    values: list[str]
    flags: list[str]
    """The quality of each interval; V where it is still unknown."""


@dataclass
class _Reader:
    """The records of a file, one after the other, on their way into rows."""

    format: Nem12
    part: TextFile
    seen: bool = False
    """Whether there was a 100 record."""
    is_open: bool = False
    """Whether there was no 900 record since."""
    stream: _Stream | None = None
    day: _Day | None = None
    """The last day, as long as 400 records may follow."""
    batches: dict[int, Batch] = field(default_factory=dict)
    asides: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each reason how many rows, and the line of the first."""

    @property
    def is_full(self) -> bool:
        """Whether it is time to flush."""
        return any(len(batch.values) >= BATCH for batch in self.batches.values())

    def flush(self) -> Iterator[Rows | Aside]:
        """What has been read so far."""
        for batch in self.batches.values():
            yield from batch.rows()
        for reason, (rows, line) in self.asides.items():
            yield Aside(reason=reason, rows=rows, line=line)
        self.asides = {}

    def record(self, line: int, fields: list[str]) -> None:
        """Take a record."""
        kind = fields[0]
        if not any(fields):
            return
        if kind != "400":
            self._finish()
        if kind == "100" or not self.is_open:
            self._header(line, fields)
        elif kind == "200":
            self.stream = self._stream(line, fields)
        elif kind == "300":
            self.day = self._day(line, fields)
        elif kind == "400":
            self._event(line, fields)
        elif kind == "900":
            self.is_open, self.stream = False, None
        elif kind != "500":
            raise self._wrong(line, "field RecordIndicator: Expected 100, 200, 300, 400, 500 or 900.", _WHOLE)

    def end(self, line: int) -> None:
        """Take the end of the file."""
        self._finish()
        if not self.seen:
            raise self._wrong(line, "Expected a record 100,NEM12 first.", _WHOLE)
        if self.is_open:
            raise self._wrong(line, "Expected a 900 record at the end: the file was cut short.", _WHOLE)

    def _header(self, line: int, fields: list[str]) -> None:
        if self.is_open:
            raise self._wrong(line, "Expected a 900 record before another 100.", _WHOLE)
        if not _is_header(fields):
            place = "after the 900 record but another 100,NEM12" if self.seen else "before a record 100,NEM12"
            raise self._wrong(line, f"Expected nothing {place}.", _WHOLE)
        self.seen = self.is_open = True

    def _stream(self, line: int, fields: list[str]) -> _Stream:
        nmi, suffix, unit, length = (_field(fields, i) for i in (1, 4, 7, 8))
        for name, text in (("NMI", nmi), ("NMISuffix", suffix), ("UOM", unit)):
            if not text:
                raise self._wrong(line, f"field {name}: Expected a name, got a blank.", _STREAM)
        minutes = _whole(length)
        if not minutes or 1440 % minutes:
            raise self._wrong(line, "field IntervalLength: Expected minutes that divide a day.", "5, 15 or 30.")
        power = POWERS.get(unit.lower())
        sign = None if power is None else CHANNELS[self.format.channel].get(suffix[0].upper())
        shift = (power or 0) - POWERS[self.format.unit.lower()]
        return _Stream(name=(nmi, f"{nmi}/{suffix}"), minutes=minutes, power=shift, sign=sign)

    def _day(self, line: int, fields: list[str]) -> _Day:
        if self.stream is None:
            raise self._wrong(line, "Expected a 200 record before a 300.", _STREAM)
        n = self.stream.count
        flag = _field(fields, 2 + n)
        if not _FLAG.fullmatch(flag):
            found = next((i for i, text in enumerate(fields[2:]) if _FLAG.fullmatch(text)), "no flag at all")
            raise self._wrong(
                line, f"field IntervalValue: Expected {n} values before the flag, got {found}.", _COUNT
            )
        midnight = _midnight(_field(fields, 1))
        if midnight is None:
            raise self._wrong(line, "field IntervalDate: Expected a date that exists.", "YYYYMMDD, as 20120701.")
        return _Day(line=line, midnight=midnight, values=fields[2 : 2 + n], flags=[flag[0].upper()] * n)

    def _event(self, line: int, fields: list[str]) -> None:
        day = self.day
        if day is None:
            raise self._wrong(line, "Expected a 300 record before a 400.", _EVENTS)
        first, last, n = _whole(_field(fields, 1)), _whole(_field(fields, 2)), len(day.flags)
        if not 1 <= first <= last <= n:
            raise self._wrong(
                line, f"field StartInterval or EndInterval: Expected a range within 1 to {n}.", _EVENTS
            )
        flag = _field(fields, 3)
        if not _FLAG.fullmatch(flag) or flag[0] in "Vv":
            raise self._wrong(line, "field QualityMethod: Expected a flag A, E, F, N or S.", "Such as A or S14.")
        day.flags[first - 1 : last] = [flag[0].upper()] * (last - first + 1)

    def _finish(self) -> None:
        """Hand the last day on: no 400 record follows."""
        day, self.day = self.day, None
        if day is None or self.stream is None:
            return
        if "V" in day.flags:
            number = day.flags.index("V") + 1
            raise self._wrong(day.line, f"field QualityMethod: V, and no 400 covers interval {number}.", _EVENTS)
        if self.stream.sign is None:
            self._aside("another channel", len(day.flags), day.line)
            return
        self._take(self.stream, self.stream.sign, day)

    def _take(self, stream: _Stream, sign: int, day: _Day) -> None:
        values: Sequence[str | None] = day.values
        if stream.power:
            # An exponent keeps the decimals as they are; the nearest float is found once, by the stage.
            values = [f"{text}e{stream.power}" if text else None for text in day.values]
        times = day.midnight + 60 * stream.minutes * np.arange(stream.count)
        if not set(day.flags) <= set(self.format.qualities):
            kept = [i for i, flag in enumerate(day.flags) if flag in self.format.qualities or flag == "N"]
            for flag in sorted(set(day.flags) - set(self.format.qualities) - {"N"}):
                self._aside(f"quality flag {flag}", day.flags.count(flag), day.line)
            values, times = [None if day.flags[i] == "N" else values[i] for i in kept], times[kept]
        if sign not in self.batches:
            self.batches[sign] = Batch(sign=sign, instants=False)
        self.batches[sign].add(stream.name, times, values, line=day.line, minutes=stream.minutes)

    def _aside(self, reason: str, rows: int, line: int) -> None:
        before, first = self.asides.get(reason, (0, line))
        self.asides[reason] = (before + rows, first)

    def _wrong(self, line: int, message: str, hint: str) -> ReadingsError:
        return self.part.error(message, line=line, hint=hint)


@dataclass(frozen=True, kw_only=True)
class _Market:
    """The market days of a panel."""

    dates: tuple[str, ...]
    cells: Integers
    """Where each step that exists stands among the intervals of these days."""
    rows: Integers
    """Which row of the panel that is."""
    count: int
    """How many intervals a day has."""
    stamp: str
    """When the file is said to be of: when its last day ends."""

    def days(self, texts: list[str]) -> Iterator[Sequence[str]]:
        """The 300 and 400 records of a household's values."""
        values = [""] * (self.count * len(self.dates))
        for cell, row in zip(self.cells.tolist(), self.rows.tolist(), strict=True):
            values[cell] = texts[row]
        for number, day in enumerate(self.dates):
            today = values[number * self.count : (number + 1) * self.count]
            flag = "A" if all(today) else "V" if any(today) else "N"
            yield "300", day, *today, flag, "", "", self.stamp, ""
            if flag == "V":
                yield from _events(today)


def _events(values: list[str]) -> Iterator[Sequence[str]]:
    start = 1
    for there, run in itertools.groupby(values, key=bool):
        stop = start + len(list(run))
        yield "400", str(start), str(stop - 1), "A" if there else "N", "", ""
        start = stop


def _market_days(panel: Panel) -> _Market:
    count, length = 1440 // panel.grid.minutes, 60 * panel.grid.minutes
    seconds, exists = moments(panel)
    rows = np.flatnonzero(exists)
    places, off = np.divmod(seconds[rows] + MARKET, length)
    if off.any():
        raise ReadingsError(
            f"Expected steps that begin with an interval of {panel.grid.minutes} minutes of market time.",
            hint="Write it as 'long' or 'wide'.",
        )
    days = range(int(places.min()) // count, int(places.max()) // count + 1) if len(rows) else range(0)
    dates = [str(np.datetime64(day, "D")).replace("-", "") for day in (*days, days.stop)]
    cells = places - days.start * count
    return _Market(dates=tuple(dates[:-1]), cells=cells, rows=rows, count=count, stamp=f"{dates[-1]}000000")


def _check_writable(panel: Panel) -> None:
    if panel.grid.minutes not in (5, 15, 30) or panel.grid.unit not in ("Wh", "kWh", "MWh"):
        raise ReadingsError(
            f"Expected Wh, kWh or MWh in 5, 15 or 30 minutes for a NEM12 file, got {panel.grid.unit} in "
            f"{panel.grid.minutes}.",
            hint="Write it as 'long' or 'wide'.",
        )
    for number, name in enumerate(panel.households):
        if not name.isprintable() or name != name.strip() or not name or set(name) & set(',"'):
            raise ReadingsError(
                f"Expected household number {number} to have a name without commas, quotes and line breaks.",
                hint="Rename it, or write it as 'long'.",
            )


def moments(panel: Panel) -> tuple[Integers, Marks]:
    """When each step of a panel begins, in seconds since 1970, and whether the wall clock ever shows its time.

    A time that the clock shows twice is its first occurrence.
    """
    zone = ZoneInfo(panel.grid.zone)
    seconds, exists = np.zeros(panel.n_steps, dtype=np.int64), np.zeros(panel.n_steps, dtype=bool)
    for row, step in enumerate(panel.steps):
        moment = datetime.fromisoformat(panel.grid.time(step))
        seconds[row] = round(moment.timestamp())
        exists[row] = moment.astimezone(zone).replace(tzinfo=None) == moment.replace(tzinfo=None)
    return seconds, exists


def negative(channel: str) -> ReadingsError:
    """What a writer says to a negative reading."""
    return ReadingsError(
        f"Expected no negative reading for channel={channel!r}, got some.",
        hint="Write it with channel='net', in two streams.",
    )


def _fields(line: str) -> list[str]:
    return [text.strip() for text in line.replace('"', "").split(",")]


def _field(fields: list[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""


def _is_header(fields: list[str]) -> bool:
    return [text.upper() for text in fields[:2]] == ["100", "NEM12"]


def _whole(text: str) -> int:
    """A whole number; 0 if it is none."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


@lru_cache(maxsize=4096)
def _midnight(text: str) -> int | None:
    """The beginning of a day YYYYMMDD in seconds; None if there is no such day."""
    if not re.fullmatch(r"[0-9]{8}", text):
        return None
    try:
        day = date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return None
    return (day - date(1970, 1, 1)).days * 86400


def _named(number: Integers, names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(number.astype(np.int32)), pa.array(names, type=pa.string()))


_WHOLE = "Give the whole file as delivered, from 100,NEM12 to 900; such files may follow one another."
_STREAM = "A 200 record says whose data follow: NMI, NMISuffix, UOM, IntervalLength."
_COUNT = "A day has 1440 / IntervalLength values, then its flag; a gap is a blank value."
_EVENTS = "400 records follow the 300 they speak about; after a flag V they cover the day, counted from 1."
