"""Part: one piece of a source, which gives its rows some at a time.

Whatever is wrong with a part is a `ReadingsError` that names the part and the line and shows no value.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers

MOST_COLUMNS = 100_000
"""How many columns a part may have: each is looked at by itself, some rows at a time. A million took hours."""


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
