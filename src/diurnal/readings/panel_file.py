"""Panel file: a panel as a Parquet file, sorted by household and time, whole households in a row group.

Any tool can read it: a column `household`, one `time` (the wall clock, interval start), one `value` (whole units,
null where missing), and one for each partition. What a panel needs beside that is JSON in the file's metadata,
under the key `diurnal`: the format's version, grid, first step, domain, calendar, roster, source and quality.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diurnal.errors import ReadingsError
from diurnal.place import check_place
from diurnal.readings import engines
from diurnal.readings.data import Data, Integers, Marks
from diurnal.readings.engines import Engine
from diurnal.readings.grid import Grid
from diurnal.readings.kernels import Progress, in_order
from diurnal.readings.panel import Arrays, Panel
from diurnal.readings.quality import Quality

VERSION = 1
"""The version of the file's format; a reader refuses a later one."""

KEY = b"diurnal"


@dataclass(frozen=True, eq=False)
class KeptData:
    """The readings of a kept panel, or some of its rows and columns, read when asked."""

    path: Path
    """The file."""
    identity: tuple[int, ...]
    """Which file that was when it was opened: another one in its place is not read."""
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
    engine: ClassVar[None] = None

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
        with Progress("Loading homes", len(wanted)) as bar:
            for arrays in in_order(lambda part: self._read(*part), parts):
                n = arrays.readings.shape[1]
                places = order[done : done + n]
                readings[:, places], present[:, places] = arrays.readings, arrays.present
                done += n
                bar.advance(n)
        return Arrays(readings, present)

    def _read(self, number: int, columns: Integers) -> Arrays:
        with _reading(self.path), self.path.open("rb") as opened, pq.ParquetFile(opened) as file:
            if _identity(os.fstat(opened.fileno())) != self.identity:
                raise ReadingsError("file-replaced", name=self.path.name)
            column = file.read_row_group(number, columns=["value"], use_threads=False).column(0).combine_chunks()
        shape = (self.sizes[number], self.steps)
        if len(column) != shape[0] * shape[1]:
            raise _damaged(self.path)
        # Most blocks are complete, and need no unpacking of marks bit by bit.
        whole = column.null_count == 0
        marks = np.ones(shape, dtype=bool) if whole else column.is_valid().to_numpy(zero_copy_only=False)
        readings = (column if whole else column.fill_null(0)).to_numpy(zero_copy_only=whole).reshape(shape)
        present = marks.reshape(shape)
        rows = slice(*self.window)
        if len(columns) < shape[0]:
            inside = columns - sum(self.sizes[:number])
            readings, present = readings[inside], present[inside]
        arrays = Arrays(readings[:, rows].T, present[:, rows].T)
        gone = np.array([row - rows.start for row in self.gone if rows.start <= row < rows.stop], dtype=np.int64)
        return arrays.without(gone) if len(gone) else arrays


def is_kept(path: str | Path) -> bool:
    """Whether a file is a kept panel, or a folder one in the lake, and not readings of some other layout."""
    path = Path(path)
    if not path.is_file():
        return _engine_of(path) is not None
    try:
        with path.open("rb") as file:
            return KEY in (pq.read_metadata(file).metadata or {})
    except (OSError, pa.ArrowException):
        return False


def open_panel(path: str | Path, *, session: Any = None, spark: Any = None) -> Panel:
    """A kept panel; its readings are read when asked.

    Args:
        path: The file; or the folder of a panel in the lake, whose readings stay there.
        session: The Spark session for a folder; the one that is there, or one on this machine, unless given.
        spark: Deprecated: what `session` is.

    Raises:
        ReadingsError: The file is no kept panel, damaged, or of a later version.
    """
    if spark is not None:
        warnings.warn("open_panel(spark=...) is now open_panel(session=...).", DeprecationWarning, stacklevel=2)
        session = spark
    engine = _engine_of(path, session=session)
    if engine is not None:
        return engine.open(path, session)
    path = Path(path)
    with _reading(path), path.open("rb") as file:
        identity = _identity(os.fstat(file.fileno()))
        metadata = pq.read_metadata(file)
    text = (metadata.metadata or {}).get(KEY)
    if text is None:
        raise ReadingsError("panel-not-kept", name=path.name)
    try:
        facts = json.loads(text)
        version = int(facts["version"])
        if version < 1:
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _damaged(path) from None
    if version > VERSION:
        raise ReadingsError("panel-version", name=path.name, version=version, known=VERSION)
    try:
        panel = _panel(facts, path, identity, metadata)
        _check_rows(panel, metadata)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, ZeroDivisionError):
        # An error of ours is a ValueError too: whatever does not fit together, the file was not written by us.
        raise _damaged(path) from None
    return panel


def _engine_of(path: str | Path, *, session: Any = None) -> Engine | None:
    """The engine of the panel in a folder; None for a file, or anything else.

    What comes with a session, or has a scheme, as s3a://bucket/homes, is taken to be a folder: only a session can
    look.
    """
    is_told = session is not None or "://" in str(path)
    for name, known in engines.ENGINES.items():
        if is_told or (Path(path) / known.facts).is_file():
            return engines.named(name)
    return None


def _panel(facts: dict[str, Any], path: Path, identity: tuple[int, ...], metadata: pq.FileMetaData) -> Panel:
    """The panel that a file's facts speak of."""
    quality, steps, first = facts["quality"], int(facts["steps"]), int(facts["first_step"])
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    # What a panel of an array is asked, this one is asked too: names, groups, grid, calendar.
    like = Panel.from_array(
        np.zeros((0, len(facts["households"])), dtype=np.int64),
        households=facts["households"],
        grid=Grid(**facts["grid"]),
        first_step=first,
        groups=facts["groups"],
        calendar=facts["calendar"],
    )
    closed = frozenset(step - first for step in like.calendar if first <= step < first + steps)
    sizes = tuple(count // steps for count in rows)
    return replace(
        like,
        data=KeptData(path, identity, steps, sizes, (0, steps), gone=closed),
        domain=None if facts["domain"] is None else (int(facts["domain"][0]), int(facts["domain"][1])),
        quality=None if quality is None else Quality(**{**quality, "notes": tuple(quality["notes"])}),
    )


def _check_rows(panel: Panel, metadata: pq.FileMetaData) -> None:
    """Whether the rows are what the facts say, as far as the file's own statistics tell without reading it.

    Every row group holds whole households, the next ones of the roster, from the first step to the last, and no
    value outside the domain.
    """
    assert isinstance(panel.data, KeptData)
    steps, done = panel.data.steps, 0
    names = [metadata.schema.column(i).name for i in range(metadata.num_columns)]
    times = tuple(panel.grid.wall(panel.first_step + step) for step in (0, steps - 1))
    for number, size in enumerate(panel.data.sizes):
        group, homes = metadata.row_group(number), panel.households[done : done + size]
        household, time, value = (group.column(names.index(name)) for name in ("household", "time", "value"))
        fits = (
            group.num_rows == size * steps
            and value.physical_type == "INT64"
            and _ends(household) == (min(homes), max(homes))
            and _ends(time) == times
        )
        if not fits or not _is_inside(value, panel.domain):
            raise ValueError
        done += size
    if done != panel.n_households:
        raise ValueError


def _ends(column: pq.ColumnChunkMetaData) -> tuple[Any, Any]:
    return column.statistics.min, column.statistics.max


def _is_inside(column: pq.ColumnChunkMetaData, domain: tuple[int, int] | None) -> bool:
    found = column.statistics
    return domain is None or not found.has_min_max or (domain[0] <= found.min and found.max <= domain[1])


@contextlib.contextmanager
def keeping(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when all went well, and is gone when not.

    Whatever happens, also a kill or a power cut, `path` is the old file or the whole new one.

    Raises:
        InputError: There is something that is not a regular file.
        ReadingsError: It cannot be written.
    """
    check_place(path)
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        found = re.fullmatch(r".*\.(\d{1,9})\.\w+\.partial", left.name)
        if found is not None and not _is_running(int(found[1])):
            left.unlink(missing_ok=True)
    try:
        # Only its owner can read it, and no other import has a file of that name.
        number, name = tempfile.mkstemp(prefix=f".{path.name}.{os.getpid()}.", suffix=".partial", dir=path.parent)
        os.close(number)
    except OSError as cause:
        raise _not_written(path, cause) from None
    partial = Path(name)
    try:
        yield partial
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as cause:
        raise _not_written(path, cause) from None
    finally:
        partial.unlink(missing_ok=True)


class Writer:
    """Writes the households of a panel, some at a time, in the roster's order."""

    def __init__(self, path: Path, panel: Panel, steps: int) -> None:
        for name in panel.groups:
            if name in ("household", "time", "value"):
                raise ReadingsError("partition-name", name=name)
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
        columns = (self._panel.households, *self._panel.groups.values())
        named = [self._named(column[first : first + n]) for column in columns]
        values = pa.array(readings.ravel(), mask=~present.ravel())
        arrays = [named[0], pa.array(np.tile(self._times, n)), values, *named[1:]]
        self._file.write_table(pa.table(arrays, schema=self._schema), row_group_size=n * self._steps)

    def _named(self, names: Sequence[str]) -> pa.DictionaryArray:
        """A name for every step of each household; each stands in the file once, and rows have its number."""
        distinct = pa.array(names).dictionary_encode()
        rows = np.repeat(distinct.indices.to_numpy(), self._steps)
        return pa.DictionaryArray.from_arrays(pa.array(rows), distinct.dictionary)

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
    path = Path(path).absolute()
    if panel.n_steps == 0:
        raise ReadingsError("panel-no-steps")
    with (
        keeping(path) as partial,
        Writer(partial, panel, panel.n_steps) as writer,
        Progress("Keeping homes", panel.n_households) as bar,
    ):
        for place, data in panel.data.pieces():
            writer.write(place.start, data.readings.T, data.present.T)
            bar.advance(place.stop - place.start)
        writer.finish(panel.quality, source=None)
    return open_panel(path)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _not_written(path: Path, cause: OSError) -> ReadingsError:
    return ReadingsError("file-not-written", name=path.name, reason=cause.strerror)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ReadingsError("file-missing", name=path.name) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise _damaged(path) from None


def _damaged(path: Path) -> ReadingsError:
    return ReadingsError("parquet-damaged", name=path.name)
