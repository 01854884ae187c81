"""Source: what a custodian has, as parts that can be read one after the other.

A part is a text file (plain or gzip), a Parquet file, a frame with an Arrow stream, a frame of an engine's, or a
database query. It gives its rows some at a time. Whatever is wrong with it is a `ReadingsError` that names the part
and the line and shows no value.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import gzip
import hashlib
import io
import itertools
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from diurnal.errors import ReadingsError
from diurnal.readings import engines
from diurnal.readings.data import Integers
from diurnal.readings.engines import Engine

MOST_COLUMNS = 100_000
"""How many columns a part may have: each is looked at by itself, some rows at a time. A million took hours."""

BLOCK_BYTES = 4 << 20
"""How much text is parsed at a time."""

LINE_BYTES = 16 << 20
"""The longest line: that of a `wide` file with as many meters as are read is shorter."""

BATCH_CELLS = 1 << 21
"""How many values of a table are read at a time."""


def parts_of(source: Any, database: str | None = None) -> list[Part]:
    """The parts of a source: a path, a glob, a folder, a list of those, a frame, or a query on a database.

    Raises:
        ReadingsError: There is no such file, or the source is of no known kind.
    """
    if database is not None:
        return [Query(str(source), str(database))]
    engine = engine_of(source)
    if engine is not None:
        return [engine.part(source)]
    if hasattr(source, "__arrow_c_stream__"):
        return [Frame(source)]
    if isinstance(source, (str, Path)):
        return _files(str(source))
    if isinstance(source, Sequence) and source and not isinstance(source, (bytes, bytearray)):
        return [part for one in source for part in parts_of(one)]
    raise ReadingsError("source-type", given=type(source).__name__)


def engine_of(source: Any) -> Engine | None:
    """The engine that a frame belongs to; None for whatever is read here.

    A frame is known by the name of its class, so that nothing of an engine is imported for other sources.
    """
    kind = type(source)
    for name, known in engines.ENGINES.items():
        if kind.__name__ == known.frame and f"{kind.__module__}.".startswith(f"{known.package}."):
            return engines.named(name)
    return None


class Part(ABC):
    """One piece of a source."""

    name: str
    """What errors call it."""
    row_word: str = "row"
    """What its rows are called: the line of a text file, the row of a table."""
    engine: str | None = None
    """The name of the engine that reads it where it lies; None if it is read here."""

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """The names of its columns, from the first line of a text file."""

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The names of the columns that hold something of the rows: no frame's index, nothing that folders say."""
        return self.column_names

    @abstractmethod
    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        """Its rows, some at a time.

        Args:
            columns: Which columns to read, in this order.
            encoded: Columns with few distinct texts, read as dictionaries where that is faster.
        """

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Several files of one source may differ."""
        own = set(self.column_names)
        absent = [name for name in columns if name not in own]
        if absent:
            raise self.fault("part-column-missing", column=absent[0])

    def _unique(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of columns, if they are not too many and no two are the same."""
        self._few(len(names))
        if len(set(names)) < len(names):
            raise self.fault("columns-repeated", line=1)
        return tuple(names)

    def _few(self, number: int) -> None:
        """Refuse a part with more columns than can be read in any reasonable time, before they are looked at."""
        if number > MOST_COLUMNS:
            raise self.fault("columns-too-many", line=1, columns=number, most=MOST_COLUMNS)

    def digest(self) -> str | None:
        """The SHA-256 of its bytes, if it has any."""
        return None

    def fault(
        self, code: str, *, line: int | None = None, kind: type[ReadingsError] = ReadingsError, **params: Any
    ) -> ReadingsError:
        """An error that names this part, and the line in it, by its code."""
        place = self.name if line is None else f"{self.name}, {self.row_word} {line}"
        return kind(code, place=place, **params)

    def error(self, message: str, *, line: int | None = None, hint: str) -> ReadingsError:
        """An error that names this part, and the line in it, in the words of a format of your own."""
        return self.fault("format-own", line=line, message=message, hint=hint)


@dataclass(frozen=True, repr=False)
class Table:
    """Some rows of a part, by column."""

    columns: pa.Table
    """The rows; text where the part is text."""
    line: int | Integers
    """The line (or row) number of the first one, or of each."""

    def lines(self) -> Integers:
        """The line (or row) number of each row."""
        n = self.columns.num_rows
        return np.arange(self.line, self.line + n) if isinstance(self.line, int) else self.line


@dataclass(frozen=True)
class FilePart(Part):
    """A part that is a file."""

    path: Path

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    def digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class TextFile(FilePart):
    """A file of text, UTF-8, plain or gzip."""

    row_word = "line"

    @cached_property
    def head(self) -> tuple[str, ...]:
        """Its first lines, at most twenty."""
        return tuple(line for _, line in itertools.islice(self.lines(), 20))

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines, a few megabytes at a time, each with the number of its first line."""
        number, rest = 1, b""
        with self._reading(lambda: number), self._open() as file:
            while chunk := file.read(BLOCK_BYTES):
                if number == 1 and not rest:
                    chunk = self._without_mark(chunk)
                if b"\0" in chunk:
                    raise self.fault("text-binary", line=number)
                cut = chunk.rfind(b"\n") + 1
                if not cut and len(rest) + len(chunk) > LINE_BYTES:
                    raise self.fault("line-too-long", line=number)
                if cut:
                    block = rest + chunk[:cut]
                    yield number, block
                    number += block.count(b"\n")
                    rest = b""
                rest += chunk[cut:]
            if rest:
                yield number, rest

    def lines(self) -> Iterator[tuple[int, str]]:
        """Its lines with their numbers, without their ends; blank ones left out."""
        for first, block in self.blocks():
            for number, line_text in enumerate(self._text(block, first).split("\n"), start=first):
                if stripped := line_text.rstrip("\r"):
                    yield number, stripped

    @cached_property
    def delimiter(self) -> str:
        """What stands between the fields of its first line."""
        first = self.head[0] if self.head else ""
        return max(",;\t|", key=first.count)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        if not self.head:
            return ()
        # Counted before they are made; a name in quotes may have a delimiter in it.
        if '"' not in self.head[0]:
            self._few(self.head[0].count(self.delimiter) + 1)
        found = tuple(self.fields(self.head[0]))
        self._few(len(found))
        return found

    def fields(self, line: str) -> list[str]:
        """The fields of one line."""
        if '"' not in line:
            return [field.strip() for field in line.split(self.delimiter)]
        try:
            return [field.strip() for field in next(csv.reader([line], delimiter=self.delimiter))]
        except csv.Error:
            # A field of more than 128 kB.
            raise self.fault("text-without-end") from None

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        self._check_columns(columns)
        # Blank lines may come before the first one.
        header = next((number for number, _ in self.lines()), 1)
        return self.rows(self.column_names, columns, header=header)

    def rows(self, names: Sequence[str], columns: Sequence[str], *, header: int) -> Iterator[Table]:
        """The rows below a header of so many lines, as text.

        Raises:
            ReadingsError: A row has more or fewer fields than there are names, or is no UTF-8.
        """
        self._unique(names)
        for first, block in self.blocks():
            for _ in range(min(max(header + 1 - first, 0), block.count(b"\n") + 1)):
                block, first = block.partition(b"\n")[2], first + 1
            if block:
                yield self._table(self._parse(block, first, names), first, columns)

    def _table(self, table: pa.Table, first: int, columns: Sequence[str]) -> Table:
        """The columns asked for, without blank lines."""
        blank = np.ones(table.num_rows, dtype=bool)
        for column in table.columns:
            blank &= pc.equal(column, "").to_numpy(zero_copy_only=False)
            if not blank.any():
                # Of nearly all files the first column tells; a wide one has many thousands.
                return Table(table.select(list(columns)), first)
        kept = np.flatnonzero(~blank)
        return Table(table.select(list(columns)).take(kept), first + kept)

    def _parse(self, block: bytes, first: int, names: Sequence[str]) -> pa.Table:
        # Arrow's own message would show the row, so nothing is raised from it.
        with contextlib.suppress(pa.ArrowInvalid):
            return self._read_csv(block, names)
        raise self._broken(block, first, names)

    def _broken(self, block: bytes, first: int, names: Sequence[str]) -> ReadingsError:
        """What is wrong with rows that Arrow refuses."""
        self._text(block, first)
        wrong: list[tuple[int, int]] = []

        def remember(row: pacsv.InvalidRow) -> str:
            wrong.append((row.number or 1, row.actual_columns))
            return "skip"

        with contextlib.suppress(pa.ArrowInvalid):
            self._read_csv(block, names, remember)
        if not wrong:
            return self.fault("text-not-rows", line=first)
        number, found = wrong[0]
        return self.fault("text-fields", line=first + number - 1, fields=len(names), given=found)

    def _read_csv(self, block: bytes, names: Sequence[str], handler: Callable[..., str] | None = None) -> pa.Table:
        return pacsv.read_csv(
            io.BytesIO(block),
            pacsv.ReadOptions(column_names=list(names), use_threads=False, block_size=len(block) + 1),
            pacsv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=False, invalid_row_handler=handler),
            _texts(list(names)),
        )

    def _text(self, block: bytes, first: int) -> str:
        try:
            return block.decode()
        except UnicodeDecodeError as cause:
            line = first + block[: cause.start].count(b"\n")
            raise self.fault("text-not-utf8", line=line) from None

    def _open(self) -> IO[bytes]:
        with self.path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        return cast("IO[bytes]", gzip.open(self.path)) if zipped else self.path.open("rb")

    def _without_mark(self, chunk: bytes) -> bytes:
        if chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise self.fault("text-utf16", line=1)
        return chunk.removeprefix(b"\xef\xbb\xbf")

    @contextmanager
    def _reading(self, line: Callable[[], int]) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise self.fault("gzip-damaged", line=line()) from None
        except OSError as cause:
            raise self.fault("part-unreadable", reason=cause.strerror) from None


@dataclass(frozen=True)
class ParquetFile(FilePart):
    """A Parquet file, with the columns that its folders name (`suburb=Hill/`)."""

    partitions: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file itself."""
        with self._reading():
            return pq.read_schema(self.path)

    def has_metadata(self, key: bytes) -> bool:
        """Whether somebody has put facts of that name into the file."""
        with self._reading():
            return key in (pq.read_metadata(self.path).metadata or {})

    @property
    def column_names(self) -> tuple[str, ...]:
        names = self._unique(self.schema.names)
        return (*names, *(name for name in self.partitions if name not in names))

    @property
    def own_columns(self) -> tuple[str, ...]:
        self._few(len(self.schema))
        return _without_index(self.schema)

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        self._check_columns(columns)
        there = set(self.schema.names)
        stored = [name for name in columns if name in there]
        texts = [name for name in stored if name in encoded and _is_text(self.schema.field(name).type)]
        first = 1
        # Without buffering ahead: Arrow would keep what it has read of the file until its end.
        with self._reading(), pq.ParquetFile(self.path, read_dictionary=texts, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=_rows_at_a_time(columns), columns=stored):
                # A damaged file may have texts that are no UTF-8, or numbers of entries that a dictionary lacks.
                batch.validate(full=True)
                table = pa.Table.from_batches([batch])
                for name in columns:
                    if name not in there:
                        table = table.append_column(name, pa.repeat(self.partitions[name], batch.num_rows))
                yield Table(table.select(list(columns)), first)
                first += batch.num_rows

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise self.fault("part-not-parquet") from None


@dataclass(frozen=True)
class Frame(Part):
    """Any object with an Arrow stream: a pandas, Polars, PyArrow or DuckDB frame."""

    frame: Any = field(repr=False)
    name: str = "the frame"

    @cached_property
    def schema(self) -> pa.Schema:
        """Its columns."""
        if isinstance(self.frame, pa.RecordBatchReader):
            return self.frame.schema
        # Closed at once: an open stream of a database's frame would block its connection.
        with self._open() as reader:
            return reader.schema

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._unique(self.schema.names)

    @property
    def own_columns(self) -> tuple[str, ...]:
        self._few(len(self.schema))
        return _without_index(self.schema)

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        self._check_columns(columns)
        if isinstance(self.frame, pa.RecordBatchReader) and "was read" in self.__dict__:
            raise self.fault("stream-read-before")
        self.__dict__["was read"] = True
        reader = self._open()
        first, rows = 1, _rows_at_a_time(columns)
        try:
            for batch in reader:
                for start in range(0, batch.num_rows, rows):
                    part = batch.slice(start, rows)
                    yield Table(pa.Table.from_batches([part]).select(list(columns)), first)
                    first += part.num_rows
        except pa.ArrowException:
            raise self.fault("stream-broken", line=first) from None

    def _open(self) -> pa.RecordBatchReader:
        try:
            return pa.RecordBatchReader.from_stream(self.frame)
        except (pa.ArrowException, TypeError, ValueError) as cause:
            raise self.fault("stream-not-arrow", reason=type(cause).__name__) from None


@dataclass(frozen=True)
class Query(Part):
    """A query on a database that SQLAlchemy knows: PostgreSQL or SQLite."""

    sql: str
    database: str = field(repr=False)
    """The database's address, which may hold a password."""
    name: str = "the query"

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        with self._rows() as result:
            return self._unique(tuple(result.keys()))

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        first = 1
        with self._rows() as result:
            found = {name: place for place, name in enumerate(result.keys())}
            places = [found[name] for name in columns]
            for rows in result.partitions(_rows_at_a_time(columns) // 8 + 1):
                arrays = [self._array([row[place] for row in rows], first) for place in places]
                yield Table(pa.table(dict(zip(columns, arrays, strict=True))), first)
                first += len(rows)

    def _check_file(self, url: Any) -> None:
        """SQLite would make a file that is not there."""
        name = url.database or ""
        if url.get_backend_name() == "sqlite" and name not in ("", ":memory:") and not Path(name).exists():
            raise self.fault("database-file-missing")

    def _array(self, values: list[Any], first: int) -> pa.Array:
        try:
            return pa.array(values)
        except pa.ArrowException:
            raise self.fault("column-several-types", line=first) from None

    @contextmanager
    def _rows(self) -> Iterator[Any]:
        import sqlalchemy as sa

        try:
            engine = sa.create_engine(self.database)
            self._check_file(engine.url)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError):
            raise self.fault("database-url") from None
        except ModuleNotFoundError as cause:
            raise self.fault("database-module-missing", module=cause.name, extra="postgres") from None
        try:
            with (
                engine.connect() as connection,
                connection.execution_options(stream_results=True).execute(sa.text(self.sql)) as result,
            ):
                yield result
        except sa.exc.SQLAlchemyError as cause:
            # The driver's message may show values or the address.
            raise self.fault("database-refused", reason=type(cause).__name__) from None
        finally:
            engine.dispose()


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


def _texts(names: Sequence[str]) -> pacsv.ConvertOptions:
    kinds = {name: pa.string() for name in names}
    return pacsv.ConvertOptions(column_types=kinds, strings_can_be_null=False)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _rows_at_a_time(columns: Sequence[str]) -> int:
    return max(1, BATCH_CELLS // max(1, len(columns)))


def _without_index(schema: pa.Schema) -> tuple[str, ...]:
    """The columns but for a pandas index that has no name."""
    return tuple(name for name in schema.names if not re.fullmatch(r"__index_level_\d+__", name))
