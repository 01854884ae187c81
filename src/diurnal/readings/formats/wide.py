"""Wide: a row a time and a column a meter, in CSV, Parquet or a frame.

interval_start,17,18,19
2012-07-01 00:00,0.231,0.02,
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diurnal.readings.formats import Aside, Format, Rows, may_be_value
from diurnal.readings.formats.long import NAMES, words_of
from diurnal.readings.formats.text import csv_writer, decimals
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part


@dataclass(frozen=True, kw_only=True)
class Wide(Format):
    """A row a time and a column a meter."""

    name: ClassVar[str] = "wide"
    time: str | None = None
    """The column of times; the first one unless given."""

    def recognises(self, part: Part) -> str | None:
        time = self.time or _time_column(part)
        if time in part.own_columns and len(part.own_columns) > 1:
            return f"a column {time} and {len(part.own_columns) - 1} more, one a meter"
        return None

    def settle(self, part: Part) -> Wide:
        names = part.own_columns
        time = self.time
        if time is None:
            time = _time_column(part) or (names[0] if names else None)
        if time not in names:
            raise part.fault("wide-no-columns" if time is None else "wide-no-time", column=time)
        return replace(self, time=time, label=self.label or ("end" if "end" in words_of(str(time)) else None))

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        assert self.time is not None, "a settled format knows its columns"
        meters = [name for name in part.own_columns if name != self.time]
        if not meters or "" in meters:
            raise part.fault("wide-no-meters", line=1)
        for table in part.tables([self.time, *meters]):
            columns, lines = table.columns, table.lines()
            odd = next((name for name in meters if not may_be_value(columns[name].type)), None)
            if odd is not None:
                raise part.fault("wide-not-numbers", column=odd, given=columns[odd].type)
            each = np.repeat(np.arange(len(meters), dtype=np.int32), len(lines))
            row = np.tile(np.arange(len(lines)), len(meters))
            yield Rows(
                meter=pa.DictionaryArray.from_arrays(pa.array(each), pa.array(meters)),
                time=columns[self.time].combine_chunks().take(pa.array(row)),
                value=pa.concat_arrays(_of_one_kind([columns[name].combine_chunks() for name in meters])),
                line=lines[row],
            )

    def write(self, panel: Panel, path: Path) -> None:
        times = [panel.grid.wall(step) for step in panel.steps]
        with csv_writer(path) as writer, Progress("Writing times", len(times)) as bar:
            writer.writerow(["interval_start", *panel.households])
            for row, time in enumerate(times):
                texts = decimals(panel.readings[row], panel.present[row], panel.grid.unit, "kWh")
                writer.writerow([time, *texts])
                bar.advance(1)


def _time_column(part: Part) -> str:
    """The first column whose name speaks of time."""
    return next((name for name in part.own_columns if any(word in NAMES["time"] for word in words_of(name))), "")


def _of_one_kind(columns: list[pa.Array]) -> list[pa.Array]:
    """Columns that can be put one below the other: floats if all are numbers, else text."""
    numbers = all(pa.types.is_integer(column.type) or pa.types.is_floating(column.type) for column in columns)
    return [pc.cast(column, pa.float64() if numbers else pa.string(), safe=False) for column in columns]
