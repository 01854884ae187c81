"""Lake: a panel as a folder wherever Spark can write: how it is made, opened, and its readings where they lie.

    lake/homes/diurnal.json         the facts: version, grid, steps, domain, calendar, quality, which table
    lake/homes/homes-20261116.../   the table: place, household, a column a partition, values (null where missing)

The table comes first, the facts that name it last: a folder is the older panel, whole, until it is the new one.
The driver holds the names of households and their groups, and readings only where somebody asks for them.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections import Counter
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
from diurnal.readings.engines.spark.frame import ROWS, learn
from diurnal.readings.engines.spark.session import active_session, alone, batches_of, refuse, running
from diurnal.readings.engines.spark.sorting import OWN, Sorting, table_ddl
from diurnal.readings.grid import Grid
from diurnal.readings.importing import ImportRun
from diurnal.readings.kernels import Progress, fold_here
from diurnal.readings.panel import BLOCK, Arrays, Panel
from diurnal.readings.quality import Quality

VERSION = 1
"""The version of the folder's format; a reader refuses a later one."""

FACTS = ENGINES["spark"].facts
TABLE = "homes-"
"""How the name of a table begins."""

TASK_ROWS = 1 << 22
"""How many rows of a source a task sorts, about."""

Result = TypeVar("Result")


class Folder:
    """A folder by its path: on this machine, or hdfs://, s3a://, abfss://..."""

    def __init__(self, session: Any, path: str) -> None:
        self._jvm = session._jvm
        self._gateway = session._sc._gateway
        self._settings = session._jsc.hadoopConfiguration()
        _check(path)
        here = "://" not in path and str(self._settings.get("fs.defaultFS", "file:///")).startswith("file:")
        # Java has a working folder of its own, that of the moment when it began; and it wants no %20.
        self.path = f"file://{Path(path).resolve()}" if here else path.rstrip("/")
        self._files = self._at("").getFileSystem(self._settings)
        self._files.setWriteChecksum(False)

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{name}" if name else self.path)

    def names(self) -> list[str] | None:
        """What is in it; None if there is no such folder."""
        here = self._at("")
        if not self._files.exists(here):
            return None
        if not self._files.getFileStatus(here).isDirectory():
            raise NotADirectoryError
        return [status.getPath().getName() for status in self._files.listStatus(here)]

    def make(self) -> None:
        """Make it, for its owner alone."""
        permission = self._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
        self._files.mkdirs(self._at(""), permission)
        self._files.setPermission(self._at(""), permission)

    def read(self, name: str) -> str | None:
        """The text of a file in it; None if there is none."""
        if not self._files.exists(self._at(name)):
            return None
        stream = self._files.open(self._at(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file in it, whole or not at all, in the place of an older one."""
        beside = self._at(f".{name}.partial")
        stream = self._files.create(beside, True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        rename = getattr(self._jvm.org.apache.hadoop.fs, "Options$Rename")
        over = self._gateway.new_array(rename, 1)
        over[0] = rename.OVERWRITE
        context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(beside.toUri(), self._settings)
        context.rename(beside, self._at(name), over)

    def delete(self, name: str) -> None:
        """Delete what is in it under a name, if it is there."""
        self._files.delete(self._at(name), True)


def _check(path: str) -> None:
    """Refuse a path that would be another one for Spark.

    Raises:
        ReadingsError: It has signs of a pattern, or has been through `Path`, which takes one of two slashes away.
    """
    if re.search(r"[\[\]{}*?\\\n]", path):
        raise ReadingsError("spark-folder-name")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)", path):
        raise ReadingsError("spark-address")


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


@alone
def sort(given: Any, options: Any, out: str | Path | None) -> Panel:
    """Make a panel in the lake of the rows of a Spark frame.

    Raises:
        ReadingsError: Something cannot be read as readings, or cannot be kept there; there is no new panel.
    """
    if out is None:
        raise ReadingsError("spark-needs-folder")
    frame = given.parts[0].frame
    session = frame.sparkSession
    if options.on_duplicate != "refuse":
        raise ReadingsError("spark-no-order")
    with running(f"writing {Path(str(out)).name}"):
        folder = Folder(session, str(out))
        _check_place(folder, Path(str(out)).name)
    buffer, n_rows = learn(given)
    try:
        run = ImportRun.of(given, options, buffer, n_rows)
        if len(run.rules.doubled) and not run.rules.instants:
            raise ReadingsError("spark-doubled-hour")
        for name in run.panel.groups:
            if name.casefold() in OWN:
                raise ReadingsError("partition-name", name=name)
        name = f"{TABLE}{uuid.uuid4().hex[:16]}"
        try:
            facts = _written(session, folder, name, run, n_rows)
        except BaseException:
            with running("tidying up"):
                folder.delete(name)
            raise
    finally:
        buffer.close()
    with running(f"writing {Path(str(out)).name}"):
        folder.write(FACTS, json.dumps(facts))
        # The older panel's table, and any that an import has left which died.
        for each in folder.names() or ():
            if each.startswith(TABLE) and each != name:
                folder.delete(each)
    return open_panel(out, session)


def _check_place(folder: Folder, name: str) -> None:
    """Refuse a folder with something else in it; it is made if it is not there."""
    try:
        names = folder.names()
    except NotADirectoryError:
        names = ["a file"]
    if any(not each.startswith((TABLE, FACTS, f".{FACTS}")) for each in names or ()):
        raise ReadingsError("spark-folder-taken", name=name)
    folder.make()


def _written(session: Any, folder: Folder, name: str, run: Any, n_rows: int) -> dict[str, Any]:
    """Write the table, and give the facts about it."""
    n = len(run.panel.households)
    tasks = min(n, max(session.sparkContext.defaultParallelism, -(-n_rows // TASK_ROWS)))
    sorting = Sorting.of(run, tasks)
    path = f"{folder.path}/{name}"
    with Progress("Sorting rows", n_rows) as bar, running("sorting rows"), batches_of(session, ROWS):
        writer = sorting.table(run.given.parts[0].frame).write
        # A file counts once its task is committed, and a task is once.
        writer.option("mapreduce.fileoutputcommitter.algorithm.version", "1").parquet(path)
        bar.advance(n_rows)
    table = session.read.schema(table_ddl(run.panel.groups)).parquet(path)
    with running("counting rows"):
        accounts = [json.loads(each) for each in _accounts(table)]
        homes = table.where("place is not null").count()
    for account in sorted((each for each in accounts if "error" in each), key=str):
        refuse(tuple(account["error"]))
    for account in accounts:
        run.set_aside += Counter(account["set_aside"])
        run.tally += Counter(account["tally"])
    run.check_some()
    if homes != n or run.tally["kept"] + run.set_aside.total() != n_rows:
        raise run.given.parts[0].fault("spark-rows-changed")
    panel = run.panel
    return {
        "version": VERSION,
        "table": name,
        "tasks": len(sorting.firsts),
        "grid": panel.grid.to_json(),
        "first_step": panel.first_step,
        "steps": run.rules.steps,
        "domain": panel.domain,
        "calendar": sorted(panel.calendar),
        "partitions": list(panel.groups),
        "roster": roster_digest(panel.households, panel.groups),
        "source": {"format": run.given.format.name, "parts": 1},
        "quality": run.quality().to_json(),
    }


def _accounts(table: Any) -> list[str]:
    found: list[str] = table.where("account is not null").select("account").toArrow().column(0).to_pylist()
    return found
