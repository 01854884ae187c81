"""Tables: parts that have columns with types: Parquet files, frames, database queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from diurnal.readings.part import FilePart, Part, Table

BATCH_CELLS = 1 << 21
"""How many values of a table are read at a time."""


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


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _rows_at_a_time(columns: Sequence[str]) -> int:
    return max(1, BATCH_CELLS // max(1, len(columns)))


def _without_index(schema: pa.Schema) -> tuple[str, ...]:
    """The columns but for a pandas index that has no name."""
    return tuple(name for name in schema.names if not re.fullmatch(r"__index_level_\d+__", name))
