"""Long: a row a reading, in CSV, Parquet, a frame or a query, under any column names.

    household,time,kwh,suburb
    17,2012-07-01 00:00,0.231,Hill

A `meter` column beside or instead of `household`, group columns, and columns that folders name (`suburb=Hill/`)
are taken where they are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diurnal.readings.formats import Aside, Format, Rows
from diurnal.readings.formats.text import blocks, csv_writer, decimals
from diurnal.readings.panel import Panel
from diurnal.readings.source import Part

NAMES = {
    "household": ("household", "home", "house", "customer", "dwelling"),
    "meter": ("meter", "nmi", "mpan", "lclid", "meterid", "device", "sensor"),
    "time": ("time", "timestamp", "datetime", "tstp", "start", "begin", "end", "moment"),
    "value": ("value", "reading", "kwh", "wh", "mwh", "kw", "w", "energy", "consumption", "usage", "power", "load"),
}
"""Words by which columns are known, where the user does not name them."""

UNITS = {"kwh": "kWh", "wh": "Wh", "mwh": "MWh", "kw": "kW", "w": "W", "mw": "MW"}
"""Words in a value column's name that say its unit."""


@dataclass(frozen=True, kw_only=True)
class Long(Format):
    """A row a reading."""

    name: ClassVar[str] = "long"
    unit: str = ""
    """As the value column's name says (`kwh`, `energy_wh`), unless given."""
    household: str | None = None
    """The column of households; known by its name unless given."""
    meter: str | None = None
    """The column of meters, where a household has several."""
    time: str | None = None
    """The column of times."""
    value: str | None = None
    """The column of values."""
    groups: Sequence[str] = ()
    """Columns that say which group a household is in."""

    def __post_init__(self) -> None:
        if self.unit:
            super().__post_init__()
        object.__setattr__(self, "groups", (self.groups,) if isinstance(self.groups, str) else tuple(self.groups))

    def recognises(self, part: Part) -> str | None:
        found = self._columns(part.column_names)
        if found["time"] and found["value"] and (found["household"] or found["meter"]):
            return f"columns {', '.join(str(name) for name in found.values() if name)}"
        return None

    def settle(self, part: Part) -> Long:
        found = self._columns(part.column_names)
        missing = [role for role in ("time", "value") if not found[role]]
        if missing or not (found["household"] or found["meter"]):
            role = missing[0] if missing else "household"
            raise part.fault(
                "column-unclear", role=role, columns=len(part.column_names), choices=", ".join(NAMES[role][:4])
            )
        absent = [name for name in (*found.values(), *self.groups) if name and name not in part.column_names]
        if absent:
            raise part.fault("column-missing", column=absent[0])
        unit = self.unit or unit_in(str(found["value"]))
        if not unit:
            raise part.fault("column-unit-unclear", column=found["value"])
        label = self.label or ("end" if "end" in words_of(str(found["time"])) else None)
        return replace(
            self,
            unit=unit,
            label=label,
            household=found["household"],
            meter=found["meter"],
            time=found["time"],
            value=found["value"],
        )

    def notes(self) -> tuple[str, ...]:
        named = unit_in(self.value or "")
        if not named or named == self.unit:
            return ()
        return (f"the column {self.value} was read in {self.unit}, as was said, though its name says {named}",)

    def read(self, part: Part) -> Iterator[Rows | Aside]:
        assert self.time, "a settled format knows its columns"
        assert self.value
        names = [name for name in (self.household, self.meter, *self.groups) if name]
        # One column may have two roles, such as household and group.
        distinct = list(dict.fromkeys([*names, self.time, self.value]))
        for table in part.tables(distinct, encoded=[*names, self.time]):
            columns = table.columns
            yield Rows(
                meter=columns[self.meter or self.household or ""],
                household=columns[self.household] if self.household and self.meter else None,
                time=columns[self.time],
                value=columns[self.value],
                groups={name: columns[name] for name in self.groups},
                line=table.line,
            )

    def write(self, panel: Panel, path: Path) -> None:
        times = [panel.grid.wall(step) for step in panel.steps]
        if path.suffix == ".parquet":
            _write_parquet(panel, path, np.array(times, dtype="datetime64[s]"))
            return
        value = panel.grid.unit.lower()
        with csv_writer(path) as writer:
            writer.writerow(["household", "time", value, *panel.groups])
            for block in blocks(panel):
                for column, household in enumerate(block.households):
                    groups = [names[column] for names in block.groups.values()]
                    texts = decimals(
                        block.readings[:, column], block.present[:, column], panel.grid.unit, panel.grid.unit
                    )
                    writer.writerows(
                        [household, time, text, *groups] for time, text in zip(times, texts, strict=True)
                    )

    def _columns(self, names: Sequence[str]) -> dict[str, str | None]:
        """The column of each role: as the user says, else the first that is known by its name."""
        found: dict[str, str | None] = {role: getattr(self, role) for role in NAMES}
        taken = {name for name in found.values() if name} | set(self.groups)
        for role, words in NAMES.items():
            if found[role] is None:
                found[role] = next(
                    (name for name in names if name not in taken and any(word in words for word in words_of(name))),
                    None,
                )
                taken.add(found[role] or "")
        return found


def unit_in(name: str) -> str:
    """The unit that a column's name says; none if it says none."""
    return next((UNITS[word] for word in words_of(name) if word in UNITS), "")


def words_of(name: str) -> list[str]:
    """The words in the name of a column."""
    return [word for word in re.split(r"[^a-z]+", name.lower()) if word]


def _write_parquet(panel: Panel, path: Path, times: Any) -> None:
    texts = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            ("household", texts),
            ("time", pa.timestamp("s")),
            (panel.grid.unit.lower(), pa.int64()),
            *((name, texts) for name in panel.groups),
        ]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for block in blocks(panel):
            each = np.repeat(np.arange(block.n_households, dtype=np.int32), block.n_steps)
            named = [
                pa.DictionaryArray.from_arrays(pa.array(each), pa.array(names))
                for names in (block.households, *block.groups.values())
            ]
            readings = pa.array(block.readings.T.ravel(), mask=~block.present.T.ravel())
            columns = [named[0], pa.array(np.tile(times, block.n_households)), readings, *named[1:]]
            writer.write_table(pa.table(columns, schema=schema))
