"""Source: what a custodian has, as parts that can be read one after the other.

A part is a text file (plain or gzip), a Parquet file, a frame with an Arrow stream, or a database query. Formats
read parts; whatever is wrong with one is a `ReadingsError` that names the part and the line and shows no value.
"""

from __future__ import annotations

import functools
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
from diurnal.readings.panel import Integers

BLOCK_BYTES = 4 << 20
"""How much text is parsed at a time."""

BATCH_ROWS = 1 << 19
"""How many rows of a table are read at a time."""

LINE_BYTES = 16 << 20
"""The longest line: a `wide` file of a million meters has one of about this length."""


@dataclass(frozen=True)
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


class Part(ABC):
    """One piece of a source."""

    name: str
    """What errors call it."""
    row_word: str = "row"
    """What its rows are called: the line of a text file, the row of a table."""

    @property
    @abstractmethod
    def column_names(self) -> tuple[str, ...]:
        """The names of its columns, from the first line of a text file."""

    @abstractmethod
    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        """Its rows, some at a time.

        Args:
            columns: Which columns to read, in this order.
            encoded: Columns with few distinct texts, read as dictionaries where that is faster.
        """

    def digest(self) -> str | None:
        """The SHA-256 of its bytes, if it has any."""
        return None

    def size(self) -> int | None:
        """How many bytes there are to read, for a progress bar."""
        return None

    def error(self, message: str, *, line: int | None = None, hint: str) -> ReadingsError:
        """An error that names this part, and the line in it."""
        place = self.name if line is None else f"{self.name}, {self.row_word} {line}"
        return ReadingsError(f"{place}: {message}", hint=hint)


@dataclass(frozen=True)
class TextFile(Part):
    """A file of text, UTF-8, plain or gzip."""

    path: Path
    row_word = "line"

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    def digest(self) -> str:
        return _file_digest(self.path)

    def size(self) -> int:
        return self.path.stat().st_size

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
                    raise self.error("Expected text, got binary data.", line=number, hint=_ENCODING)
                cut = chunk.rfind(b"\n") + 1
                if not cut and len(rest) + len(chunk) > LINE_BYTES:
                    raise self.error("The line is too long.", line=number, hint="End each line with a newline.")
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
            try:
                text = block.decode()
            except UnicodeDecodeError as cause:
                line = first + block[: cause.start].count(b"\n")
                raise self.error("Expected UTF-8 text.", line=line, hint=_ENCODING) from None
            for number, line_text in enumerate(text.split("\n"), start=first):
                if stripped := line_text.rstrip("\r"):
                    yield number, stripped

    @cached_property
    def delimiter(self) -> str:
        """What stands between the fields of its first line."""
        first = self.head[0] if self.head else ""
        return max(",;\t|", key=first.count)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        return tuple(self.fields(self.head[0])) if self.head else ()

    def fields(self, line: str) -> list[str]:
        """The fields of one line."""
        if '"' not in line:
            return [field.strip() for field in line.split(self.delimiter)]
        options = pacsv.ReadOptions(autogenerate_column_names=True)
        table = pacsv.read_csv(
            io.BytesIO(line.encode()), options, pacsv.ParseOptions(delimiter=self.delimiter), _texts(None)
        )
        return [str(column[0].as_py()).strip() for column in table.columns]

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        return self.rows(self.column_names, columns, header=1)

    def rows(self, names: Sequence[str], columns: Sequence[str], *, header: int) -> Iterator[Table]:
        """The rows below a header of so many lines, as text.

        Raises:
            ReadingsError: A row has more or fewer fields than there are names, or is no UTF-8.
        """
        if len(set(names)) < len(names):
            raise self.error("Two columns have one name.", line=1, hint="Give each column a name of its own.")
        for first, block in self.blocks():
            for _ in range(min(max(header + 1 - first, 0), block.count(b"\n") + 1)):
                block, first = block.partition(b"\n")[2], first + 1
            if block:
                yield self._table(self._parse(block, first, names), first, columns)

    def _table(self, table: pa.Table, first: int, columns: Sequence[str]) -> Table:
        """The columns asked for, without blank lines."""
        blank = functools.reduce(pc.and_, (pc.equal(column, "") for column in table.columns))
        if not pc.any(blank).as_py():
            return Table(table.select(list(columns)), first)
        kept = np.flatnonzero(~blank.to_numpy())
        return Table(table.select(list(columns)).take(kept), first + kept)

    def _parse(self, block: bytes, first: int, names: Sequence[str]) -> pa.Table:
        wrong: list[tuple[int, int]] = []

        def remember(row: pacsv.InvalidRow) -> str:
            wrong.append((row.number or 1, row.actual_columns))
            return "skip"

        try:
            table = pacsv.read_csv(
                io.BytesIO(block),
                pacsv.ReadOptions(column_names=list(names), use_threads=False, block_size=len(block) + 1),
                pacsv.ParseOptions(
                    delimiter=self.delimiter, ignore_empty_lines=False, invalid_row_handler=remember
                ),
                _texts(list(names)),
            )
        except pa.ArrowInvalid:
            # Arrow's own message would show the row.
            raise self.error(
                "Expected rows of UTF-8 text.", line=None if wrong else first, hint=_ENCODING
            ) from None
        if wrong:
            number, found = wrong[0]
            raise self.error(
                f"Expected {len(names)} fields, got {found}.",
                line=first + number - 1,
                hint="A number has no thousands separator, and the file may have been cut short.",
            )
        return table

    def _open(self) -> IO[bytes]:
        with self.path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        return cast("IO[bytes]", gzip.open(self.path)) if zipped else self.path.open("rb")

    def _without_mark(self, chunk: bytes) -> bytes:
        if chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise self.error("Expected UTF-8 text, got UTF-16.", line=1, hint=_ENCODING)
        return chunk.removeprefix(b"\xef\xbb\xbf")

    @contextmanager
    def _reading(self, line: Callable[[], int]) -> Iterator[None]:
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise self.error(
                "The gzip file ends early or is damaged.",
                line=line(),
                hint="Copy it again; nothing of it was taken.",
            ) from None
        except OSError as cause:
            raise self.error(f"It cannot be read ({cause.strerror}).", hint="Check the file.") from None


@dataclass(frozen=True)
class ParquetFile(Part):
    """A Parquet file, with the columns that its folders name (`suburb=Hill/`)."""

    path: Path
    partitions: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    def digest(self) -> str:
        return _file_digest(self.path)

    def size(self) -> int:
        return self.path.stat().st_size

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the file itself."""
        with self._reading():
            return pq.read_schema(self.path)

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*self.schema.names, *(name for name in self.partitions if name not in self.schema.names))

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        stored = [name for name in columns if name in self.schema.names]
        texts = [name for name in stored if name in encoded and _is_text(self.schema.field(name).type)]
        first = 1
        # Without buffering ahead: Arrow would keep what it has read of the file until its end.
        with self._reading(), pq.ParquetFile(self.path, read_dictionary=texts, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=stored):
                table = pa.Table.from_batches([batch])
                for name in columns:
                    if name not in stored:
                        table = table.append_column(name, pa.repeat(self.partitions[name], batch.num_rows))
                yield Table(table.select(list(columns)), first)
                first += batch.num_rows

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError):
            raise self.error("It is no Parquet file, or damaged.", hint="Write or copy it again.") from None


@dataclass(frozen=True)
class Frame(Part):
    """Any object with an Arrow stream: a pandas, Polars, PyArrow or DuckDB frame."""

    frame: Any = field(repr=False)
    name: str = "the frame"

    @cached_property
    def reader(self) -> pa.RecordBatchReader:
        """Its rows; a stream can be read once."""
        try:
            return pa.RecordBatchReader.from_stream(self.frame)
        except (pa.ArrowException, TypeError) as cause:
            raise self.error(
                f"Its columns cannot be read as Arrow ({type(cause).__name__}).",
                hint="Give each column one type.",
            ) from None

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(self.reader.schema.names)

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        first = 1
        try:
            for batch in self.reader:
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    part = batch.slice(start, BATCH_ROWS)
                    yield Table(pa.Table.from_batches([part]).select(list(columns)), first)
                    first += part.num_rows
        except pa.ArrowException:
            raise self.error("The stream broke off.", line=first, hint="Nothing of it was taken.") from None


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
            return tuple(result.keys())

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        first = 1
        with self._rows() as result:
            places = [list(result.keys()).index(name) for name in columns]
            for rows in result.partitions(BATCH_ROWS // 8):
                arrays = [self._array([row[place] for row in rows], first) for place in places]
                yield Table(pa.table(dict(zip(columns, arrays, strict=True))), first)
                first += len(rows)

    def _array(self, values: list[Any], first: int) -> pa.Array:
        try:
            return pa.array(values)
        except pa.ArrowException:
            raise self.error(
                "A column has values of several types.", line=first, hint="Cast it to one type in the query."
            ) from None

    @contextmanager
    def _rows(self) -> Iterator[Any]:
        import sqlalchemy as sa

        try:
            engine = sa.create_engine(self.database)
        except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError):
            raise self.error(
                "The database's address cannot be understood, or is of an unknown kind.",
                hint="Give postgresql+psycopg://user@host/name or sqlite:///file.",
            ) from None
        except ModuleNotFoundError as cause:
            raise self.error(
                f"The module {cause.name} is not installed.", hint="pip install 'diurnal[postgres]'"
            ) from None
        try:
            with (
                engine.connect() as connection,
                connection.execution_options(stream_results=True).execute(sa.text(self.sql)) as result,
            ):
                yield result
        except sa.exc.SQLAlchemyError as cause:
            # The driver's message may show values or the address.
            raise self.error(
                f"The database refused it ({type(cause).__name__}).", hint="Try it in the database's own shell."
            ) from None
        finally:
            engine.dispose()


def parts_of(source: Any, database: str | None = None) -> list[Part]:
    """The parts of a source: a path, a glob, a folder, a list of those, a frame, or a query on a database.

    Raises:
        ReadingsError: There is no such file, or the source is of no known kind.
    """
    if database is not None:
        return [Query(str(source), str(database))]
    if hasattr(source, "__arrow_c_stream__"):
        return [Frame(source)]
    if isinstance(source, (str, Path)):
        return _files(str(source))
    if isinstance(source, Sequence) and source and not isinstance(source, (bytes, bytearray)):
        return [part for one in source for part in parts_of(one)]
    raise ReadingsError(
        f"Expected a path, a list of paths, a frame or a query, got {type(source).__name__}.",
        hint="A frame is anything with an Arrow stream: pandas, Polars, PyArrow, DuckDB.",
    )


def _files(source: str) -> list[Part]:
    root = Path(source)
    if root.is_dir():
        found = sorted(path for path in root.rglob("*") if path.is_file() and _is_shown(path.relative_to(root)))
    elif root.is_file():
        found = [root]
    else:
        found = sorted(Path(path) for path in glob.glob(source, recursive=True) if Path(path).is_file())
    if not found:
        raise ReadingsError(
            f"There is no file at {source}.", hint="Give a file, a folder or a glob such as '*.csv'."
        )
    return [_file(path) for path in found]


def _file(path: Path) -> Part:
    try:
        with path.open("rb") as file:
            start = file.read(4)
    except OSError as cause:
        raise ReadingsError(f"{path.name}: It cannot be read ({cause.strerror}).", hint="Check the file.") from None
    if not start:
        raise ReadingsError(f"{path.name}: The file is empty.", hint="Leave it out, or write it again.")
    if start == b"PAR1":
        return ParquetFile(path, dict(re.findall(r"([^/=]+)=([^/]+)/", path.as_posix())))
    return TextFile(path)


def _is_shown(path: Path) -> bool:
    """Not what tools leave beside their data, such as `_SUCCESS` and `.part.crc`."""
    return not any(name.startswith((".", "_")) for name in path.parts)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _texts(names: Sequence[str] | None) -> pacsv.ConvertOptions:
    kinds = {name: pa.string() for name in names or [f"f{i}" for i in range(1000)]}
    return pacsv.ConvertOptions(column_types=kinds, strings_can_be_null=False)


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_ENCODING = "Save the file as UTF-8 text."
