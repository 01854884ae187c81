"""Engines: places other than this process where panels lie and kernels run, such as a cluster.

An `Engine` sorts rows into panels of its own, and keeps profiles beside them; the data of its panels fold kernels
where they lie. Engines go by name. The registry tells by what the frames and folders of each are known, so that an
engine is imported and called for its own data only.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from diurnal.readings.grid import Grid
    from diurnal.readings.importing import Options, Readings
    from diurnal.readings.panel import Arrays, Panel
    from diurnal.readings.source import Part


@dataclass(frozen=True, kw_only=True)
class Registered:
    """How an engine is found."""

    module: str
    """The module that has it as `ENGINE`."""
    package: str
    """The package that the class of its frames is in."""
    frame: str
    """The name of that class."""
    facts: str
    """The file that makes a folder a panel of its own."""


ENGINES = {
    "spark": Registered(
        module="diurnal.readings.engines.spark.engine",
        package="pyspark.sql",
        frame="DataFrame",
        facts="diurnal.json",
    )
}
"""Every engine, by its name."""


def named(name: str) -> Engine:
    """An engine by its name."""
    engine: Engine = importlib.import_module(ENGINES[name].module).ENGINE
    return engine


class Engine(ABC):
    """Sorts rows into panels that lie elsewhere, as folders of a lake; their data fold kernels there.

    What it does with a session, a frame or a batch is its own affair: whoever calls it passes them on.
    """

    name: str
    """What the command line calls it."""

    @abstractmethod
    def part(self, frame: Any) -> Part:
        """A frame as a part of a source."""

    @abstractmethod
    def session(self, master: str) -> Any:
        """A session, where there is none yet, at an address."""

    @abstractmethod
    def frame(self, session: Any, paths: Sequence[str]) -> Any:
        """Parquet files or folders as a frame."""

    @abstractmethod
    def sort(self, given: Readings, options: Options, out: str | Path | None) -> Panel:
        """Make a panel, in a folder, of the rows of a frame."""

    @abstractmethod
    def open(self, path: str | Path, session: Any = None) -> Panel:
        """The panel in a folder.

        Raises:
            ReadingsError: There is none, or it is damaged.
        """

    @abstractmethod
    def folder(self, panel: Panel) -> str:
        """Where a panel lies."""

    @abstractmethod
    def keep(
        self,
        kernel: Callable[[Panel], Arrays],
        panel: Panel,
        out: str,
        *,
        steps: int,
        renamed: Mapping[str, str] = MappingProxyType({}),
    ) -> Panel:
        """What a kernel makes of each household, as a panel in a new folder."""

    @abstractmethod
    def beside(self, kept: Panel, panel: Panel) -> Panel:
        """A panel whose first steps are those of a kept one, and whose others are another's, by household."""

    @abstractmethod
    def spanning(self, panel: Panel, steps: range) -> Panel:
        """A panel's readings of some steps; of those that it has not, everything is missing."""

    @abstractmethod
    def empty(self, panel: Panel, grid: Grid, steps: range) -> Panel:
        """The households of a panel with no reading at some steps of a grid."""

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing, if there is none."""

    @abstractmethod
    def discard(self, path: str) -> None:
        """Delete a folder, if it is there."""

    @abstractmethod
    def each_batch(
        self,
        frame: Any,
        take: Callable[[str, int, Any], None],
        *,
        checkpoint: str,
        once: bool = False,
        every: float = 10.0,
    ) -> None:
        """Give every batch of a streaming frame to a function, in order, until the query is stopped."""

    @abstractmethod
    def waiting(self, batch: Any, format_: Any, grid: Grid, checkpoint: str) -> Waiting:
        """The rows of open steps, with those of a batch."""


class Waiting(Protocol):
    """Rows of open steps, which go from batch to batch until their steps close."""

    def with_batch(self, number: int, since: int) -> Any:
        """The rows of a batch and those before it from a step on, as a frame."""

    def without_batch(self, number: int) -> None:
        """Let wait what waited before a batch, and nothing of the batch."""

    def by_step(self, rows: Any) -> dict[int, int]:
        """How many rows there are of each step."""

    def between(self, rows: Any, steps: range) -> Any:
        """The rows of some steps."""
