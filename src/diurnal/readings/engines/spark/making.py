"""Making: the rows of a Spark frame as a panel in the lake.

The table comes first, the facts that name it last: a folder is the older panel until it is the new one.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from diurnal.errors import ReadingsError
from diurnal.readings.engines.spark.folder import Folder
from diurnal.readings.engines.spark.lake import FACTS, TABLE, VERSION, open_panel, roster_digest
from diurnal.readings.engines.spark.learning import ROWS, learn
from diurnal.readings.engines.spark.session import alone, batches_of, refuse, running
from diurnal.readings.engines.spark.sorting import OWN, Sorting, table_ddl
from diurnal.readings.importing import ImportRun
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel

TASK_ROWS = 1 << 22
"""How many rows of a source a task sorts, about."""


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
