"""UMass: the Smart* apartments, a folder with a file an apartment, `Apt12_2015.csv` or `Apt12_2015.csv.gz`.

    2015-01-01 00:00:00,1.389038889

No header; local time, and the mean kW until the next row. Rows come every 15 minutes, later every minute, in one
and the same file. A row lasts until its nearest neighbour, but 15 minutes at most: what is lost is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.formats import Aside, Format, Rows, as_array, seconds_of
from diurnal.readings.formats.text import blocks, csv_writer, decimals
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part, TextFile

LONGEST = 15 * 60
"""How many seconds a row lasts at most."""


@dataclass(frozen=True, kw_only=True)
class UMass(Format):
    """A folder of apartment files of mean kW."""

    name: ClassVar[str] = "umass"
    unit: str = "kW"
    minutes: int | None = 15
    zone: str | None = "America/New_York"

    def recognises(self, part: Part) -> str | None:
        if isinstance(part, TextFile) and part.head and _is_row(part.head[0]):
            return "no header; a time and a number a line"
        return None

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        if not isinstance(part, TextFile):
            raise part.fault("umass-not-text")
        # An apartment is read whole: how long a row lasts depends on its neighbours.
        tables = list(part.rows(["time", "value"], ["time", "value"], header=0))
        if not tables:
            return
        columns = pa.concat_tables(table.columns for table in tables)
        lines = np.concatenate([table.lines() for table in tables])
        seconds, instants, wrong = seconds_of(as_array(columns["time"], 0), self.time_format)
        if wrong is not None:
            raise part.fault("umass-time", line=int(lines[wrong]))
        yield Rows(
            meter=_apartment(part.path),
            time=seconds,
            instants=instants,
            value=columns["value"],
            line=lines,
            minutes=_lengths(seconds),
        )

    def write(self, panel: Panel, path: Path) -> None:
        path.mkdir(exist_ok=True)
        each = min(panel.grid.minutes, 15)
        if panel.grid.minutes % each:
            raise ReadingsError("umass-write-grid", minutes=panel.grid.minutes)
        year = panel.grid.anchor[:4]
        for block in blocks(panel):
            starts = [panel.grid.wall(step) for step in block.steps]
            times = [
                str(time)
                for start in np.array(starts, dtype="datetime64[s]")
                for time in (start + np.arange(0, panel.grid.minutes, each) * np.timedelta64(60, "s")).tolist()
            ]
            for column, household in enumerate(block.households):
                if not re.fullmatch(r"[^\W_][\w .-]*", household):
                    raise ReadingsError("umass-write-name")
                texts = decimals(
                    block.readings[:, column],
                    block.present[:, column],
                    panel.grid.unit,
                    "kW",
                    hours=Fraction(panel.grid.minutes, 60),
                )
                with csv_writer(path / f"{household}_{year}.csv.gz") as writer:
                    writer.writerows(zip(times, np.repeat(texts, panel.grid.minutes // each), strict=True))


def _is_row(line: str) -> bool:
    fields = line.split(",")
    if len(fields) != 2:
        return False
    try:
        datetime.fromisoformat(fields[0].strip())
        float(fields[1] or 0)
    except ValueError:
        return False
    return True


def _apartment(path: Path) -> str:
    """Who the file is about: its name without year and suffix."""
    return re.sub(r"(_\d{4})?(\.csv|\.txt)?(\.gz)?$", "", path.name)


def _lengths(seconds: Integers) -> Integers:
    """How many minutes each row lasts: until its nearest neighbour, 15 at most."""
    times, place = np.unique(seconds, return_inverse=True)
    gaps = np.diff(times, prepend=times[0] - LONGEST, append=times[-1] + LONGEST)
    nearest = np.minimum(np.minimum(gaps[:-1], gaps[1:]), LONGEST)
    lengths: Integers = np.maximum(nearest // 60, 1)[place]
    return lengths
