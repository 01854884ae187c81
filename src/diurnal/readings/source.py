"""Source: what a custodian has, as parts that can be read one after the other, and the format they are in.

A part is a text file (plain or gzip), a Parquet file, a frame with an Arrow stream, a frame of an engine's, or a
database query. Nothing of it is read here beyond what tells the format.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diurnal.errors import ReadingsError
from diurnal.private import Private
from diurnal.readings import engines
from diurnal.readings.engines.base import Engine
from diurnal.readings.formats import format_of
from diurnal.readings.formats.base import Format
from diurnal.readings.part import Part
from diurnal.readings.tables import Frame, ParquetFile, Query
from diurnal.readings.textfile import TextFile


@dataclass(frozen=True, kw_only=True)
class Readings(Private):
    """A source of readings and how it is read; no row is read before a panel is made of it."""

    parts: tuple[Part, ...] = field(repr=False)
    """The files, or the frame, or the query."""
    format: Format
    """Its format, with everything that was recognised or said about it."""
    recognised: str
    """By what the format was recognised."""

    @property
    def engine(self) -> Engine | None:
        """The engine that reads it where it lies; None if it is read here."""
        name = self.parts[0].engine
        return None if name is None else engines.named(name)

    def __str__(self) -> str:
        name = f"{len(self.parts)} files" if len(self.parts) > 1 else self.parts[0].name
        return f"{name}: format {self.format.name} ({self.recognised})"


def read(
    source: Any,
    *,
    format: str | Format = "auto",  # noqa: A002
    database: str | None = None,
    **options: Any,
) -> Readings:
    """Say where readings are and how they are laid out.

    Args:
        source: A file, a folder, a glob, a list of those; any frame with an Arrow stream (pandas, Polars,
            PyArrow, DuckDB); a Spark frame; or, with `database`, a SQL query.
        format: A format by its name, such as "nem12" or "long", or a `Format` of your own; recognised unless given.
        database: The address of a database, such as sqlite:///meters.db or postgresql+psycopg://host/name.
        **options: What the format takes, such as unit="Wh", minutes=15, label="end", zone="Europe/Paris",
            time_format="%d/%m/%Y %H:%M"; channel="net"; household="id", time="ts", value="kwh", groups=["suburb"].

    Raises:
        ReadingsError: There is no such source, or no format that fits it.
    """
    parts = parts_of(source, database)
    found, why = format_of(format, parts, options)
    return Readings(parts=tuple(parts), format=found, recognised=why)


def parts_of(source: Any, database: str | None = None) -> list[Part]:
    """The parts of a source: a path, a glob, a folder, a list of those, a frame, or a query on a database.

    Raises:
        ReadingsError: There is no such file, or the source is of no known kind.
    """
    if database is not None:
        return [Query(str(source), str(database))]
    engine = engines.reading(source)
    if engine is not None:
        return [engine.part(source)]
    if hasattr(source, "__arrow_c_stream__"):
        return [Frame(source)]
    if isinstance(source, (str, Path)):
        return _files(str(source))
    if isinstance(source, Sequence) and source and not isinstance(source, (bytes, bytearray)):
        return [part for one in source for part in parts_of(one)]
    raise ReadingsError("source-type", given=type(source).__name__)


def _files(source: str) -> list[Part]:
    root = Path(source)
    if root.is_dir():
        found = sorted(path for path in root.rglob("*") if path.is_file() and _is_shown(path.relative_to(root)))
    elif root.is_file():
        found = [root]
    else:
        found = sorted(Path(path) for path in glob.glob(source, recursive=True) if Path(path).is_file())
    if not found:
        raise ReadingsError("source-missing", source=source)
    return [_file(path) for path in found]


def _file(path: Path) -> Part:
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as cause:
        raise ReadingsError("source-unreadable", name=path.name, reason=cause.strerror) from None
    if not start:
        raise ReadingsError("source-empty", name=path.name)
    if start == b"PAR1":
        return ParquetFile(path, dict(re.findall(r"([^/=]+)=([^/]+)/", path.as_posix())))
    return TextFile(path)


def _is_shown(path: Path) -> bool:
    """Not what tools leave beside their data, such as `_SUCCESS` and `.part.crc`."""
    return not any(name.startswith((".", "_")) for name in path.parts)
