"""TextFile: a file of text as lines, or as rows of fields, each with its line number."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from diurnal.errors import ReadingsError
from diurnal.readings.part import FilePart, Table

BLOCK_BYTES = 4 << 20
"""How much text is parsed at a time."""

LINE_BYTES = 16 << 20
"""The longest line: that of a `wide` file with as many meters as are read is shorter."""

_ENCODING = "Save the file as UTF-8 text."


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


def _texts(names: Sequence[str]) -> pacsv.ConvertOptions:
    kinds = {name: pa.string() for name in names}
    return pacsv.ConvertOptions(column_types=kinds, strings_can_be_null=False)
