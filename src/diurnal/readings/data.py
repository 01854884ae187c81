"""Data: where the readings of a panel lie, in memory or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]
Orders = npt.NDArray[np.uint8]


BLOCK = 1 << 21
"""How many readings a block of a panel has, about: some 20 MB."""


class Data(Protocol):
    """Where the readings of a panel lie. Whatever is cut from it is the same kind of data."""

    @property
    def engine(self) -> str | None:
        """The name of the engine that works on them where they lie; None if that is here."""

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
    orders: Orders | None = None
    """How large each reading was before it was rounded and held against a domain, where an import for a stream has
    kept that: bits of its millionths, as `order_of` counts them. `curator/taking.py` reads it, nothing else."""
    engine: ClassVar[None] = None

    @property
    def n_steps(self) -> int:
        return int(self.readings.shape[0])

    def rows(self, start: int, stop: int) -> Arrays:
        orders = None if self.orders is None else self.orders[start:stop]
        return Arrays(self.readings[start:stop], self.present[start:stop], orders)

    def columns(self, places: Integers) -> Arrays:
        orders = None if self.orders is None else self.orders[:, places]
        return Arrays(self.readings[:, places], self.present[:, places], orders)

    def without(self, rows: Integers) -> Arrays:
        present = self.present.copy()
        present[rows] = False
        orders = None if self.orders is None else self.orders.copy()
        if orders is not None:
            orders[rows] = 0
        return Arrays(np.where(present, self.readings, 0), present, orders)

    def pieces(self) -> Iterator[tuple[slice, Data]]:
        n = self.readings.shape[1]
        width = max(1, BLOCK // max(1, self.n_steps))
        for start in range(0, n, width):
            place = slice(start, min(start + width, n))
            orders = None if self.orders is None else self.orders[:, place]
            yield place, Arrays(self.readings[:, place], self.present[:, place], orders)


def order_of(values: Integers | Floats) -> Orders:
    """How many bits each number has without its sign: 0 for 0, 2 for 2 and 3. From 2^53 on perhaps one more."""
    _, bits = np.frexp(np.abs(values).astype(np.float64))
    return bits.astype(np.uint8)
