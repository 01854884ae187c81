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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.formats.base import Aside, Channel, Format, Rows, check_channel
from diurnal.readings.formats.batch import BATCH
from diurnal.readings.formats.mdff import Records, fields_of, is_header
from diurnal.readings.formats.text import blocks, check_signs, decimals, moments, open_text
from diurnal.readings.panel import Panel
from diurnal.readings.part import Part
from diurnal.readings.textfile import TextFile

CHANNELS = {"consumption": {"E": 1}, "generation": {"B": 1}, "net": {"E": 1, "B": -1}}
"""The data streams of a channel, by the first letter of their suffix, with their signs."""

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
