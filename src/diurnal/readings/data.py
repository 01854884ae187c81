"""Data: the types of readings, and what every place where they lie can do, in memory or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from diurnal.readings.panel import Panel

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]
Orders = npt.NDArray[np.uint8]

Result = TypeVar("Result")


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


@runtime_checkable
class Folds(Protocol):
    """Data of a panel that fold kernels themselves, elsewhere than here."""

    def fold(
        self,
        kernel: Callable[[Panel], Result],
        panel: Panel,
        add: Callable[[Result, Result], Result],
        *,
        label: str,
    ) -> Result:
        """What a kernel finds in the blocks of the panel whose data these are, added up."""
