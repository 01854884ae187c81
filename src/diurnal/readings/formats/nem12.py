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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.formats import BATCH, Aside, Batch, Channel, Format, Rows, check_channel
from diurnal.readings.formats.text import blocks, check_signs, decimals, moments, open_text
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part, TextFile

CHANNELS = {"consumption": {"E": 1}, "generation": {"B": 1}, "net": {"E": 1, "B": -1}}
"""The data streams of a channel, by the first letter of their suffix, with their signs."""

POWERS = {"wh": 0, "kwh": 3, "mwh": 6}
"""Units as powers of ten of a Wh."""

_FLAG = re.compile(r"[AEFNSV][0-9]{0,2}", re.IGNORECASE)

MARKET = 10 * 3600
"""How many seconds market time is ahead of UTC."""


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
            raise ReadingsError("nem12-unit", unit=self.unit)
        check_channel(self.channel)
        if not self.qualities or set(self.qualities) - set("AEFS"):
            raise ReadingsError("nem12-qualities", qualities=self.qualities)

    def recognises(self, part: Part) -> str | None:
        if isinstance(part, TextFile) and part.head and is_header(fields_of(part.head[0])):
            return "its first record is 100,NEM12"
        return None

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        if not isinstance(part, TextFile):
            raise part.fault("nem12-not-text")
        signs, number = CHANNELS[self.channel], 1
        records = Records(part=part, signs=signs, unit=self.unit, qualities=self.qualities)
        for number, line in part.lines():
            records.take(number, fields_of(line))
            if records.waiting >= BATCH:
                yield from records.flush()
        records.end(number)
        yield from records.flush()

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
        check_signs(panel, self.channel)
        market = _market_days(panel)
        with open_text(path) as file:
            for fields in self._records(panel, market):
                file.write(",".join(fields) + "\r\n")

    def _records(self, panel: Panel, market: _Market) -> Iterator[Sequence[str]]:
        yield "100", "NEM12", market.stamp[:12], "DIURNAL", "DIURNAL"
        suffixes = {f"{letter}1": sign for letter, sign in CHANNELS[self.channel].items()}
        for block in blocks(panel):
            for (column, name), (suffix, sign) in itertools.product(enumerate(block.households), suffixes.items()):
                readings, present = block.readings[:, column], block.present[:, column]
                values = np.maximum(sign * readings, 0) if self.channel == "net" else readings
                yield "200", name, "".join(suffixes), "", suffix, "", "", "kWh", str(panel.grid.minutes), ""
                yield from market.days(decimals(values, present, panel.grid.unit, "kWh"))
        yield ("900",)


@dataclass(kw_only=True)
class Records:
    """The records of a file so far."""

    part: TextFile
    signs: Mapping[str, int]
    """The data streams to take, by the first letter of their suffix, with their signs."""
    unit: str
    """What values are converted to."""
    qualities: Collection[str]
    """Which quality flags are taken."""
    seen: bool = False
    """Whether there was a 100 record."""
    is_open: bool = False
    """Whether there was no 900 record since."""
    stream: Stream | None = None
    day: Day | None = None
    """The last day, as long as 400 records may follow."""
    batches: dict[int, Batch] = field(default_factory=dict)
    asides: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each reason how many rows, and the line of the first."""

    @property
    def waiting(self) -> int:
        """How many intervals of one sign wait to be handed on, at most."""
        return max((len(batch.values) for batch in self.batches.values()), default=0)

    def flush(self) -> Iterator[Rows | Aside]:
        """What has been read so far."""
        for batch in self.batches.values():
            yield from batch.rows()
        for reason, (rows, line) in self.asides.items():
            yield Aside(reason=reason, rows=rows, line=line)
        self.asides = {}

    def take(self, line: int, fields: list[str]) -> None:
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
            raise self.part.fault("nem12-record-kind", line=line)

    def end(self, line: int) -> None:
        """Take the end of the file."""
        self._finish()
        if not self.seen:
            raise self.part.fault("nem12-no-header", line=line)
        if self.is_open:
            raise self.part.fault("nem12-no-end", line=line)

    def _header(self, line: int, fields: list[str]) -> None:
        if self.is_open:
            raise self.part.fault("nem12-header-within", line=line)
        if not is_header(fields):
            raise self.part.fault(
                "nem12-record-after-end" if self.seen else "nem12-record-before-header", line=line
            )
        self.seen = self.is_open = True

    def _stream(self, line: int, fields: list[str]) -> Stream:
        nmi, suffix, unit, length = (_field(fields, i) for i in (1, 4, 7, 8))
        for name, text in (("NMI", nmi), ("NMISuffix", suffix), ("UOM", unit)):
            if not text:
                raise self.part.fault("nem12-blank-name", line=line, field=name)
        minutes = _whole(length)
        if not minutes or 1440 % minutes:
            raise self.part.fault("nem12-interval-length", line=line)
        power = POWERS.get(unit.lower())
        sign = None if power is None else self.signs.get(suffix[0].upper())
        shift = (power or 0) - POWERS[self.unit.lower()]
        return Stream(name=(nmi, f"{nmi}/{suffix}"), minutes=minutes, power=shift, sign=sign)

    def _day(self, line: int, fields: list[str]) -> Day:
        if self.stream is None:
            raise self.part.fault("nem12-day-without-stream", line=line)
        n = self.stream.count
        flag = _field(fields, 2 + n)
        if not _FLAG.fullmatch(flag):
            found = next((i for i, text in enumerate(fields[2:]) if _FLAG.fullmatch(text)), None)
            code = "nem12-no-flag" if found is None else "nem12-values"
            raise self.part.fault(code, line=line, values=n, given=found)
        midnight = _midnight(_field(fields, 1))
        if midnight is None:
            raise self.part.fault("nem12-date", line=line)
        return Day(line=line, midnight=midnight, values=fields[2 : 2 + n], flags=[flag[0].upper()] * n)

    def _event(self, line: int, fields: list[str]) -> None:
        day = self.day
        if day is None:
            raise self.part.fault("nem12-event-without-day", line=line)
        first, last, n = _whole(_field(fields, 1)), _whole(_field(fields, 2)), len(day.flags)
        if not 1 <= first <= last <= n:
            raise self.part.fault("nem12-event-range", line=line, intervals=n)
        flag = _field(fields, 3)
        if not _FLAG.fullmatch(flag) or flag[0] in "Vv":
            raise self.part.fault("nem12-flag", line=line)
        day.flags[first - 1 : last] = [flag[0].upper()] * (last - first + 1)

    def _finish(self) -> None:
        """Hand the last day on: no 400 record follows."""
        day, self.day = self.day, None
        if day is None or self.stream is None:
            return
        if "V" in day.flags:
            number = day.flags.index("V") + 1
            raise self.part.fault("nem12-flag-uncovered", line=day.line, interval=number)
        if self.stream.sign is None:
            self._aside("another_channel", len(day.flags), day.line)
            return
        self._take(self.stream, self.stream.sign, day)

    def _take(self, stream: Stream, sign: int, day: Day) -> None:
        values = _scaled(day.values, stream.power)
        times = day.midnight + 60 * stream.minutes * np.arange(stream.count)
        if not set(day.flags) <= set(self.qualities):
            kept = self._kept(day)
            values, times = [None if day.flags[i] == "N" else values[i] for i in kept], times[kept]
        if sign not in self.batches:
            self.batches[sign] = Batch(sign=sign, instants=False)
        self.batches[sign].add(stream.name, times, values, line=day.line, minutes=stream.minutes)

    def _kept(self, day: Day) -> list[int]:
        """Which intervals are of a flag that is taken, or gaps; the others are counted."""
        others = set(day.flags) - set(self.qualities) - {"N"}
        for flag in sorted(others):
            self._aside(f"quality_flag_{flag}", day.flags.count(flag), day.line)
        return [i for i, flag in enumerate(day.flags) if flag not in others]

    def _aside(self, reason: str, rows: int, line: int) -> None:
        before, first = self.asides.get(reason, (0, line))
        self.asides[reason] = (before + rows, first)


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A data stream: a 200 record."""

    name: tuple[str, str]
    """The household and the meter."""
    minutes: int
    """How long an interval is."""
    power: int
    """By which power of ten its values are to be multiplied."""
    sign: int | None
    """None if it is of another channel."""

    @property
    def count(self) -> int:
        """How many intervals a day has."""
        return 1440 // self.minutes


@dataclass(frozen=True, kw_only=True)
class Day:
    """A day of a data stream: a 300 record."""

    line: int
    midnight: int
    """When it begins, in seconds of market time since 1970."""
    values: list[str]
    flags: list[str]
    """The quality of each interval; V where it is still unknown."""


def fields_of(line: str) -> list[str]:
    """The fields of a record."""
    return [text.strip() for text in line.replace('"', "").split(",")]


def is_header(fields: list[str]) -> bool:
    """Whether a record opens a file."""
    return [text.upper() for text in fields[:2]] == ["100", "NEM12"]


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
        raise ReadingsError("nem12-write-steps", minutes=panel.grid.minutes)
    days = range(int(places.min()) // count, int(places.max()) // count + 1) if len(rows) else range(0)
    dates = [str(np.datetime64(day, "D")).replace("-", "") for day in (*days, days.stop)]
    cells = places - days.start * count
    return _Market(dates=tuple(dates[:-1]), cells=cells, rows=rows, count=count, stamp=f"{dates[-1]}000000")


def _check_writable(panel: Panel) -> None:
    if panel.grid.minutes not in (5, 15, 30) or panel.grid.unit not in ("Wh", "kWh", "MWh"):
        raise ReadingsError("nem12-write-grid", unit=panel.grid.unit, minutes=panel.grid.minutes)
    for number, name in enumerate(panel.households):
        if not name.isprintable() or name != name.strip() or not name or set(name) & set(',"'):
            raise ReadingsError("nem12-write-name", number=number)


def _scaled(values: Sequence[str], power: int) -> Sequence[str | None]:
    """Texts times a power of ten; None for a blank one."""
    # An exponent keeps the decimals as they are; the nearest float is found once, by the row buffer.
    return [f"{text}e{power}" if text else None for text in values] if power else values


def _field(fields: list[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""


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
