"""Wide: a row a time and a column a meter, in CSV, Parquet or a frame.

interval_start,17,18,19
2012-07-01 00:00,0.231,0.02,
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from diurnal.readings.formats.base import Aside, Format, Rows
from diurnal.readings.formats.long import NAMES, words_of
from diurnal.readings.formats.text import csv_writer, decimals
from diurnal.readings.panel import Panel
from diurnal.readings.part import Part
from diurnal.readings.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Wide(Format):
    """A row a time and a column a meter."""

    name: ClassVar[str] = "wide"
    time: str | None = None
    """The column of times; the first one unless given."""

    def recognises(self, part: Part) -> str | None:
        names = part.column_names
        time = self.time or (names[0] if names else "")
        if len(names) > 1 and (self.time or any(word in NAMES["time"] for word in words_of(time))):
            return f"a column {time} and {len(names) - 1} more, one a meter"
        return None

    def settle(self, part: Part) -> Wide:
        names = part.column_names
        time = names[0] if self.time is None and names else self.time
        if time not in names:
            what = "no columns" if time is None else f"no column {time!r}"
            raise part.error(f"It has {what}.", hint="Name a column of the first line: time='...'.")
        return replace(self, time=time, label="end" if "end" in words_of(str(time)) else self.label)

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        assert self.time is not None, "a settled format knows its columns"
        meters = [name for name in part.column_names if name != self.time]
        if not meters:
            raise part.error("Expected a column a meter, got none.", hint="Each column beside the time is a meter.")
        for table in part.tables([self.time, *meters]):
            columns, lines = table.columns, table.lines()
            each = np.repeat(np.arange(len(meters), dtype=np.int32), len(lines))
            row = np.tile(np.arange(len(lines)), len(meters))
            yield Rows(
                meter=pa.DictionaryArray.from_arrays(pa.array(each), pa.array(meters)),
                time=columns[self.time].combine_chunks().take(pa.array(row)),
                value=pa.concat_arrays(_of_one_kind([columns[name].combine_chunks() for name in meters])),
                line=lines[row],
            )

    def write(self, panel: Panel, path: Path) -> None:
        times = [datetime.fromisoformat(panel.grid.time(step)).replace(tzinfo=None) for step in panel.steps]
        with csv_writer(path) as writer, Progress("Writing times", len(times)) as bar:
            writer.writerow(["interval_start", *panel.households])
            for row, time in enumerate(times):
                texts = decimals(panel.readings[row], panel.present[row], panel.grid.unit, "kWh")
                writer.writerow([time, *texts])
                bar.advance(1)


def _of_one_kind(columns: list[pa.Array]) -> list[pa.Array]:
    """Columns that can be put one below the other: floats if all are numbers, else text."""
    numbers = all(pa.types.is_integer(column.type) or pa.types.is_floating(column.type) for column in columns)
    return [pc.cast(column, pa.float64() if numbers else pa.string(), safe=False) for column in columns]
