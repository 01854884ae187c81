"""Kept: a panel as a Parquet file, sorted by household and time, whole households in a row group.

Any tool can read it: a column `household`, one `time` (the wall clock, interval start), one `value` (whole units,
null where missing), and one for each partition. What a panel needs beside that is JSON in the file's metadata,
under the key `diurnal`: the format's version, grid, first step, domain, calendar, roster, source and quality.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diurnal.errors import ReadingsError
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Arrays, Data, Integers, Marks, Panel
from diurnal.readings.quality import Quality

VERSION = 1
"""The version of the file's format; a reader refuses a later one."""

KEY = b"diurnal"


@dataclass(frozen=True, eq=False)
class KeptData:
    """The readings of a kept panel, or some of its rows and columns, read when asked."""

    path: Path
    """The file."""
    steps: int
    """How many steps the file has."""
    sizes: tuple[int, ...]
    """How many households each row group has."""
    window: tuple[int, int]
    """Which rows are meant."""
    chosen: Integers | None = None
    """Which columns are meant, in which order; all unless given."""
    gone: frozenset[int] = frozenset()
    """Rows of the file that are missing for everybody since."""

    @property
    def n_steps(self) -> int:
        return self.window[1] - self.window[0]

    @property
    def n_columns(self) -> int:
        """How many columns are meant."""
        return sum(self.sizes) if self.chosen is None else len(self.chosen)

    @property
    def readings(self) -> Integers:
        return self._loaded.readings

    @property
    def present(self) -> Marks:
        return self._loaded.present

    def rows(self, start: int, stop: int) -> KeptData:
        return replace(self, window=(self.window[0] + start, self.window[0] + stop))

    def columns(self, places: Integers) -> KeptData:
        return replace(self, chosen=places if self.chosen is None else self.chosen[places])

    def without(self, rows: Integers) -> KeptData:
        return replace(self, gone=self.gone.union((rows + self.window[0]).tolist()))

    def pieces(self) -> Iterator[tuple[slice, Data]]:
        if self.chosen is not None and (np.diff(self.chosen) < 0).any():
            yield from self._loaded.pieces()
            return
        done = 0
        for _, columns in self._row_groups(np.arange(self.n_columns) if self.chosen is None else self.chosen):
            yield slice(done, done + len(columns)), replace(self, chosen=columns)
            done += len(columns)

    def _row_groups(self, columns: Integers) -> Iterator[tuple[int, Integers]]:
        """The row groups of some columns in ascending order, and which columns are in each."""
        starts = np.cumsum((0, *self.sizes))
        cuts = np.searchsorted(columns, starts)
        for number, (low, high) in enumerate(pairwise(cuts.tolist())):
            if low < high:
                yield number, columns[low:high]

    @cached_property
    def _loaded(self) -> Arrays:
        wanted = np.arange(self.n_columns) if self.chosen is None else self.chosen
        order = np.argsort(wanted, kind="stable")
        parts = list(self._row_groups(wanted[order]))
        if len(parts) == 1 and (np.diff(wanted) > 0).all():
            return self._read(*parts[0])
        readings = np.zeros((self.n_steps, len(wanted)), dtype=np.int64)
        present = np.zeros(readings.shape, dtype=bool)
        done = 0
        for number, columns in parts:
            arrays, places = self._read(number, columns), order[done : done + len(columns)]
            readings[:, places], present[:, places] = arrays.readings, arrays.present
            done += len(columns)
        return Arrays(readings, present)

    def _read(self, number: int, columns: Integers) -> Arrays:
        with _reading(self.path), pq.ParquetFile(self.path) as file:
            column = file.read_row_group(number, columns=["value"], use_threads=False).column(0).combine_chunks()
        shape = (self.sizes[number], self.steps)
        if len(column) != shape[0] * shape[1]:
            raise _damaged(self.path)
        present = column.is_valid().to_numpy(zero_copy_only=False).reshape(shape)
        readings = column.fill_null(0).to_numpy(zero_copy_only=False).reshape(shape)
        rows = slice(*self.window)
        if len(columns) < shape[0]:
            inside = columns - sum(self.sizes[:number])
            readings, present = readings[inside], present[inside]
        arrays = Arrays(readings[:, rows].T, present[:, rows].T)
        gone = np.array([row - rows.start for row in self.gone if rows.start <= row < rows.stop], dtype=np.int64)
        return arrays.without(gone) if len(gone) else arrays


def open_panel(path: str | Path) -> Panel:
    """A kept panel; its readings are read when asked.

    Raises:
        ReadingsError: The file is no kept panel, damaged, or of a later version.
    """
    path = Path(path)
    with _reading(path):
        metadata = pq.read_metadata(path)
    text = (metadata.metadata or {}).get(KEY)
    if text is None:
        raise ReadingsError(
            f"{path.name} is a Parquet file, but no kept panel.",
            hint="Import it with dn.panel(dn.read(...), out=...).",
        )
    facts = json.loads(text)
    if facts["version"] > VERSION:
        raise ReadingsError(
            f"{path.name} is of version {facts['version']}, this diurnal reads up to {VERSION}.",
            hint="Install a newer diurnal.",
        )
    steps = facts["steps"]
    groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    if sum(groups) != steps * len(facts["households"]) or any(rows % max(steps, 1) for rows in groups):
        raise _damaged(path)
    quality = facts["quality"]
    return Panel(
        data=KeptData(path, steps, tuple(rows // steps for rows in groups), (0, steps)),
        households=tuple(facts["households"]),
        grid=Grid(**facts["grid"]),
        first_step=facts["first_step"],
        groups={name: tuple(column) for name, column in facts["groups"].items()},
        calendar=frozenset(facts["calendar"]),
        domain=None if facts["domain"] is None else tuple(facts["domain"]),
        quality=None if quality is None else Quality(**{**quality, "notes": tuple(quality["notes"])}),
    )


@contextlib.contextmanager
def keeping(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when all went well, and is gone when not.

    Whatever happens, also a kill or a power cut, `path` is the old file or the whole new one.
    """
    for left in path.parent.glob(f".{path.name}.*.partial"):
        if not _is_running(int(left.name.split(".")[-2])):
            left.unlink(missing_ok=True)
    partial = path.parent / f".{path.name}.{os.getpid()}.partial"
    try:
        partial.touch(mode=0o600)
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as cause:
        raise ReadingsError(
            f"{path.name} cannot be written ({cause.strerror}).", hint="Check the folder and its free space."
        ) from None
    finally:
        partial.unlink(missing_ok=True)


class Writer:
    """Writes the households of a panel, some at a time, in the roster's order."""

    def __init__(self, path: Path, panel: Panel, steps: int) -> None:
        for name in panel.groups:
            if name in ("household", "time", "value"):
                raise ReadingsError(f"A partition cannot be called {name!r}.", hint="Give it another name.")
        names = pa.dictionary(pa.int32(), pa.string())
        fields = [("household", names), ("time", pa.timestamp("s")), ("value", pa.int64())]
        self._schema = pa.schema([*fields, *((name, names) for name in panel.groups)])
        self._panel, self._steps = panel, steps
        start = np.datetime64(panel.grid.anchor, "s")
        self._times = start + (panel.first_step + np.arange(steps)) * np.timedelta64(60 * panel.grid.minutes, "s")
        self._file = pq.ParquetWriter(
            path,
            self._schema,
            use_dictionary=["household", *panel.groups],
            column_encoding={"time": "DELTA_BINARY_PACKED", "value": "DELTA_BINARY_PACKED"},
            compression="none",
        )

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def write(self, first: int, readings: Integers, present: Marks) -> None:
        """Write the next households: a row a household, a column a step."""
        n = len(readings)
        each = pa.array(np.repeat(np.arange(n, dtype=np.int32), self._steps))
        columns = (self._panel.households, *self._panel.groups.values())
        named = [pa.DictionaryArray.from_arrays(each, pa.array(column[first : first + n])) for column in columns]
        values = pa.array(readings.ravel(), mask=~present.ravel())
        arrays = [named[0], pa.array(np.tile(self._times, n)), values, *named[1:]]
        self._file.write_table(pa.table(arrays, schema=self._schema), row_group_size=n * self._steps)

    def finish(self, quality: Quality | None, source: Mapping[str, Any] | None) -> None:
        """Write the facts, with the account of the import and what it was made from."""
        panel = self._panel
        facts = {
            "version": VERSION,
            "grid": panel.grid.to_json(),
            "first_step": panel.first_step,
            "steps": self._steps,
            "domain": panel.domain,
            "calendar": sorted(panel.calendar),
            "source": source,
            "households": panel.households,
            "groups": panel.groups,
            "quality": None if quality is None else quality.to_json(),
        }
        self._file.add_key_value_metadata({KEY.decode(): json.dumps(facts)})


def save_panel(panel: Panel, path: str | Path) -> Panel:
    """Keep a panel as a file, and open it from there."""
    path = Path(path)
    with keeping(path) as partial, Writer(partial, panel, panel.n_steps) as writer:
        for place, data in panel.data.pieces():
            writer.write(place.start, data.readings.T, data.present.T)
        writer.finish(panel.quality, source=None)
    return open_panel(path)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process != os.getpid()


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ReadingsError(f"There is no file {path.name}.", hint="Check the path.") from None
    except (pa.ArrowException, OSError):
        raise _damaged(path) from None


def _damaged(path: Path) -> ReadingsError:
    return ReadingsError(f"{path.name} is no Parquet file, or damaged.", hint="Import it again.")
