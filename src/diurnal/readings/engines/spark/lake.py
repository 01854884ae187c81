"""Lake: a panel as a folder wherever Spark can write, and its readings where they lie.

    lake/homes/diurnal.json         the facts: version, grid, steps, domain, calendar, quality, which table
    lake/homes/homes-20261116.../   the table: place, household, a column a partition, values (null where missing)

The facts are written last and name their table, so that a folder is a whole panel, the older one or the new one.
The driver holds the names of households and their groups, and readings only where somebody asks for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.data import Data, Integers, Marks
from diurnal.readings.engines import ENGINES
from diurnal.readings.engines.spark import folding
from diurnal.readings.engines.spark.folder import Folder
from diurnal.readings.engines.spark.session import active_session, alone, running
from diurnal.readings.engines.spark.sorting import table_ddl
from diurnal.readings.grid import Grid
from diurnal.readings.kernels import Progress, fold_here
from diurnal.readings.panel import BLOCK, Arrays, Panel
from diurnal.readings.quality import Quality

VERSION = 1
"""The version of the folder's format; a reader refuses a later one."""

FACTS = ENGINES["spark"].facts
TABLE = "homes-"
"""How the name of a table begins."""

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, repr=False)
class LakeData:
    """The readings of a panel in the lake, or some of its rows and columns."""

    table: Any
    """The Spark frame with a row a household."""
    n_places: int
    """How many households the table has."""
    tasks: int
    """How many tasks wrote it."""
    cut: folding.Cut
    """Which steps are meant."""
    where: str = ""
    """The folder of the panel; nothing for a table that lies nowhere."""
    chosen: Integers | None = field(default=None)
    """Which households are meant, by place and in this order; all unless given."""
    engine: ClassVar[str] = "spark"

    @property
    def readings(self) -> Integers:
        return self._loaded.readings

    @property
    def present(self) -> Marks:
        return self._loaded.present

    @property
    def n_steps(self) -> int:
        return self.cut.window[1] - self.cut.window[0]

    def rows(self, start: int, stop: int) -> LakeData:
        first = self.cut.window[0]
        return replace(self, cut=replace(self.cut, window=(first + start, first + stop)))

    def columns(self, places: Integers) -> LakeData:
        return replace(self, chosen=np.asarray(places if self.chosen is None else self.chosen[places]))

    def without(self, rows: Integers) -> LakeData:
        gone = {*self.cut.gone, *(rows + self.cut.window[0]).tolist()}
        return replace(self, cut=replace(self.cut, gone=tuple(sorted(gone))))

    def pieces(self) -> Iterator[tuple[slice, Data]]:
        n = self.n_places if self.chosen is None else len(self.chosen)
        width = max(1, BLOCK // max(1, self.cut.steps))
        for start in range(0, n, width):
            place = slice(start, min(start + width, n))
            yield place, self.columns(np.arange(place.start, place.stop))

    def fold(
        self,
        kernel: Callable[[Panel], Result],
        panel: Panel,
        add: Callable[[Result, Result], Result],
        *,
        label: str,
    ) -> Result:
        """What a kernel finds in the households that are meant, added up by tasks."""
        if self.chosen is not None and len(np.unique(self.chosen)) < len(self.chosen):
            # The table has each household once.
            return fold_here(kernel, panel, add, label=label)
        with Progress(label, panel.n_households) as bar:
            found = folding.fold(kernel, panel, self.meant, self.cut, add, tasks=self.tasks, label=label)
            bar.advance(panel.n_households)
        return found

    @cached_property
    def meant(self) -> Any:
        """The rows of the table that are meant."""
        return self.table if self.chosen is None else folding.places_of(self.table, self.chosen)

    @cached_property
    def _loaded(self) -> Arrays:
        wanted = np.arange(self.n_places) if self.chosen is None else self.chosen
        if not len(wanted):
            return Arrays(np.zeros((self.n_steps, 0), dtype=np.int64), np.zeros((self.n_steps, 0), dtype=bool))
        found = _collected(self.meant.select("place", "values"))
        places = found.column("place").to_numpy()
        order = np.argsort(places)
        if not np.array_equal(places[order], np.unique(wanted)):
            raise _damaged()
        arrays = self.cut.arrays(found.column("values").combine_chunks())
        return arrays.columns(order[np.searchsorted(places[order], wanted)])


@alone
def open_panel(path: str | Path, session: Any = None) -> Panel:
    """A panel in the lake.

    Args:
        path: Its folder.
        session: The Spark session; the one that is there, or one on this machine, unless given.

    Raises:
        ReadingsError: The folder is no panel, damaged, or of a later version.
    """
    name = Path(str(path)).name
    session = active_session() if session is None else session
    with running(f"opening {name}"):
        folder = Folder(session, str(path))
        text = folder.read(FACTS)
    if text is None:
        raise ReadingsError("lake-not-a-panel", name=name)
    try:
        facts = json.loads(text)
        version = int(facts["version"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise _damaged() from None
    if version > VERSION:
        raise ReadingsError("panel-version", name=name, version=version, known=VERSION)
    try:
        return _panel(facts, session, folder.path)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        # An error of ours is a ValueError too: whatever does not fit together, the folder was not written by us.
        raise _damaged() from None


def _panel(facts: dict[str, Any], session: Any, path: str) -> Panel:
    partitions, first, steps = facts["partitions"], int(facts["first_step"]), int(facts["steps"])
    table = session.read.schema(table_ddl(partitions)).parquet(f"{path}/{facts['table']}")
    with running("reading names"):
        names = table.select("place", "household", *map(folding.quoted, partitions)).toArrow().sort_by("place")
    n = names.num_rows
    if not np.array_equal(names.column("place").to_numpy(), np.arange(n)):
        raise ValueError
    # What a panel of an array is asked, this one is asked too: names, groups, grid, calendar.
    like = Panel.from_array(
        np.zeros((0, n), dtype=np.int64),
        households=names.column("household").to_pylist(),
        grid=Grid(**facts["grid"]),
        first_step=first,
        groups={name: names.column(2 + i).to_pylist() for i, name in enumerate(partitions)},
        calendar=facts["calendar"],
    )
    if facts["roster"] != roster_digest(like.households, like.groups):
        raise ValueError
    closed = tuple(sorted(step - first for step in like.calendar if first <= step < first + steps))
    cut = folding.Cut(steps=steps, window=(0, steps), gone=closed)
    quality = facts["quality"]
    return replace(
        like,
        data=LakeData(table, n, int(facts["tasks"]), cut, path),
        domain=None if facts["domain"] is None else (int(facts["domain"][0]), int(facts["domain"][1])),
        quality=None if quality is None else Quality(**{**quality, "notes": tuple(quality["notes"])}),
    )


@alone
def _collected(frame: Any) -> Any:
    with running("loading homes"):
        return frame.toArrow()


def roster_digest(households: Any, groups: Any) -> str:
    """A digest of the names of a panel's households and their groups."""
    return hashlib.sha256(json.dumps([households, groups], sort_keys=True).encode()).hexdigest()


def _damaged() -> ReadingsError:
    return ReadingsError("lake-panel-damaged")
