"""Ausgrid: the "Solar home electricity data" as its publisher writes it, a row a customer, category and day.

    (a title)
    Customer,Generator Capacity,Postcode,Consumption Category,date,0:30,1:00,...,23:30,0:00,Row Quality
    1,3.78,2076,GC,1/07/2012,2.105,2.036,...

Values are kWh in the half hour that ends at the column's label, so `0:00` is the last one of its day. Categories
are GC (general consumption), CL (controlled load, where a home has it) and GG (solar generation).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.formats import Aside, Channel, Format, Rows, check_channel
from diurnal.readings.formats.text import blocks, check_signs, csv_writer, decimals
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part, TextFile

COLUMNS = ["Customer", "Generator Capacity", "Postcode", "Consumption Category", "date"]
HALF_HOURS = [f"{minute // 60 % 24}:{minute % 60:02d}" for minute in range(30, 1441, 30)]
QUALITY = "Row Quality"

CHANNELS = {
    "consumption": {"GC": 1, "CL": 1},
    "generation": {"GG": 1},
    "net": {"GC": 1, "CL": 1, "GG": -1},
}
"""The categories of a channel with their signs."""


@dataclass(frozen=True, kw_only=True)
class Ausgrid(Format):
    """Ausgrid's yearly files; several years are several files."""

    name: ClassVar[str] = "ausgrid"
    minutes: int | None = 30
    zone: str | None = "Australia/Sydney"
    channel: Channel = "consumption"
    """Consumption is GC + CL, generation is GG, net is GC + CL - GG and may be negative."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_channel(self.channel)

    def recognises(self, part: Part) -> str | None:
        if isinstance(part, TextFile) and any(_is_header(part, line) for line in part.head):
            return "a header Customer, Generator Capacity, ... with 48 half hours"
        return None

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        text, header, n_fields = _header(part)
        names = [*COLUMNS, *HALF_HOURS, QUALITY][:n_fields]
        for table in text.rows(names, names[:53], header=header):
            columns, lines = table.columns, table.lines()
            categories = np.array([name.strip() for name in columns["Consumption Category"].to_pylist()])
            for category in np.unique(categories):
                rows = np.flatnonzero(categories == category)
                yield self._rows(part, columns.take(rows), lines[rows], str(category))

    def _rows(self, part: Part, table: pa.Table, lines: Integers, category: str) -> Rows | Aside:
        if category not in CHANNELS["net"]:
            raise part.fault("ausgrid-category", line=int(lines[0]))
        sign = CHANNELS[self.channel].get(category)
        if sign is None:
            return Aside(reason="another_channel", rows=len(lines) * 48, line=int(lines[0]))
        customers = [name.strip() for name in table["Customer"].to_pylist()]
        meters = [name and f"{name}/{category}" for name in customers]
        # Half hour by half hour, as the columns are stored: the order of rows does not matter.
        day = pa.array(np.tile(np.arange(len(lines)), 48))
        return Rows(
            household=pa.array(customers).take(day),
            meter=pa.array(meters).take(day),
            time=(_midnights(part, table["date"].to_pylist(), lines) + 1800 * np.arange(48)[:, None]).ravel(),
            value=pa.concat_arrays([table[name].combine_chunks() for name in HALF_HOURS]),
            line=np.tile(lines, 48),
            sign=sign,
        )

    def write(self, panel: Panel, path: Path) -> None:
        check_signs(panel, self.channel)
        if panel.grid.minutes != 30 or panel.first_step % 48 or panel.n_steps % 48:
            raise ReadingsError("ausgrid-write-grid")
        with csv_writer(path) as writer:
            writer.writerow(["Half-hourly kWh, written by diurnal", *[""] * 52])
            writer.writerow([*COLUMNS, *HALF_HOURS])
            for block in blocks(panel):
                for column in range(block.n_households):
                    self._write_home(writer, block, column)

    def _write_home(self, writer: Any, panel: Panel, column: int) -> None:
        """A row a day and category; of net readings, what is positive is consumed and what is not generated."""
        categories = {"consumption": {"GC": 1}, "generation": {"GG": 1}, "net": {"GC": 1, "GG": -1}}[self.channel]
        readings, present = panel.readings[:, column], panel.present[:, column]
        for category, sign in categories.items():
            values = np.maximum(sign * readings, 0) if self.channel == "net" else readings
            texts = decimals(values, present, panel.grid.unit, "kWh")
            for day in range(0, len(texts), 48):
                date = panel.grid.wall(panel.first_step + day).strftime("%d/%m/%Y")
                writer.writerow([panel.households[column], "", "", category, date, *texts[day : day + 48]])


def _is_header(part: TextFile, line: str) -> bool:
    return line.startswith("Customer,") and part.fields(line)[:53] == [*COLUMNS, *HALF_HOURS]


def _header(part: Part) -> tuple[TextFile, int, int]:
    """The part as text, the line of its header, and how many fields this has."""
    if isinstance(part, TextFile):
        for number, line in itertools.islice(part.lines(), 20):
            if _is_header(part, line):
                return part, number, len(part.fields(line))
    raise part.fault("ausgrid-header")


def _midnights(part: Part, dates: list[str], lines: Integers) -> Integers:
    parsed = {text: _date(text) for text in set(dates)}
    for text, line in zip(dates, lines, strict=True):
        if parsed[text] is None:
            raise part.fault("ausgrid-date", line=int(line))
    return np.array([parsed[text] for text in dates], dtype=np.int64)


def _date(text: str) -> int | None:
    for style in ("%d/%m/%Y", "%d-%b-%y", "%d-%b-%Y"):
        try:
            day = datetime.strptime(text.strip(), style)
        except ValueError:
            continue
        return (day - datetime(1970, 1, 1)).days * 86400
    return None
