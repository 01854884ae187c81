"""Batch: rows that a reader finds one by one, on their way into columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from diurnal.readings.data import Integers
from diurnal.readings.formats.base import Rows

BATCH = 200_000
"""How many intervals are handed on at a time."""


class Batch:
    """Rows of one sign, until there are enough of them."""

    def __init__(self, *, sign: int, instants: bool) -> None:
        self.sign = sign
        self.instants = instants
        self.values: list[str | None] = []
        self._names: dict[tuple[str, str], int] = {}
        self._pieces: list[tuple[Integers, Integers, Integers, Integers]] = []

    def add(
        self,
        name: tuple[str, str],
        times: Integers,
        values: Sequence[str | None],
        *,
        line: int | Integers,
        minutes: int | Integers,
    ) -> None:
        """Add rows of one (household, meter)."""
        number, n = self._names.setdefault(name, len(self._names)), len(times)
        columns = [np.broadcast_to(np.asarray(column, dtype=np.int64), n) for column in (number, line, minutes)]
        self._pieces.append((columns[0], times, columns[1], columns[2]))
        self.values.extend(values)

    def rows(self) -> Iterator[Rows]:
        """The rows so far, if any; the batch is empty then."""
        if not self.values:
            return
        number, times, lines, minutes = (np.concatenate(column) for column in zip(*self._pieces, strict=True))
        households, meters = zip(*self._names, strict=True)
        yield Rows(
            household=_named(number, households),
            meter=_named(number, meters),
            time=times,
            value=pa.array(self.values, type=pa.string()),
            line=lines,
            minutes=minutes,
            sign=self.sign,
            instants=self.instants,
        )
        self.values, self._names, self._pieces = [], {}, []


def _named(number: Integers, names: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(number.astype(np.int32)), pa.array(names, type=pa.string()))
