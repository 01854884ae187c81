"""Data: where the readings of a panel lie, in memory or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


BLOCK = 1 << 21
"""How many readings a block of a panel has, about: some 20 MB."""


class Data(Protocol):
    """Where the readings of a panel lie. Whatever is cut from it is the same kind of data."""

    @property
    def readings(self) -> Integers:
        """A row a step and a column a household."""

    @property
    def present(self) -> Marks:
        """Where there is a reading."""

    @property
    def n_steps(self) -> int:
        """How many rows there are."""

    def rows(self, start: int, stop: int) -> Data:
        """Some of the rows."""

    def columns(self, places: Integers) -> Data:
        """Some of the columns, in the order given."""

    def without(self, rows: Integers) -> Data:
        """The same with some rows missing for everybody."""

    def pieces(self) -> Iterator[tuple[slice, Data]]:
        """Runs of columns in order, each small enough for memory; read when asked."""


@dataclass(frozen=True, eq=False, repr=False)
class Arrays:
    """Readings in memory."""

    readings: Integers
    present: Marks

    @property
    def n_steps(self) -> int:
        return int(self.readings.shape[0])

    def rows(self, start: int, stop: int) -> Arrays:
        return Arrays(self.readings[start:stop], self.present[start:stop])

    def columns(self, places: Integers) -> Arrays:
        return Arrays(self.readings[:, places], self.present[:, places])

    def without(self, rows: Integers) -> Arrays:
        present = self.present.copy()
        present[rows] = False
        return Arrays(np.where(present, self.readings, 0), present)

    def pieces(self) -> Iterator[tuple[slice, Data]]:
        n = self.readings.shape[1]
        width = max(1, BLOCK // max(1, self.n_steps))
        for start in range(0, n, width):
            place = slice(start, min(start + width, n))
            yield place, Arrays(self.readings[:, place], self.present[:, place])
