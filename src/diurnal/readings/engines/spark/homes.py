"""Homes: what is made of each household of a panel in the lake, kept there, and put beside other steps of it.

A plan's profiles are such a table: a row a household, a value a slot. They are private, and never come here; what
is summed of them beside readings does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from diurnal.errors import DiurnalError
from diurnal.readings.data import Integers
from diurnal.readings.engines.spark.folding import Cut, quoted
from diurnal.readings.engines.spark.lake import FACTS, TABLE, VERSION, Folder, LakeData, open_panel, roster_digest
from diurnal.readings.engines.spark.session import (
    Batches,
    alone,
    batches_of,
    mapped,
    refusal,
    refuse,
    running,
)
from diurnal.readings.engines.spark.sorting import table_ddl
from diurnal.readings.panel import Arrays, Panel

READINGS = 1 << 20
"""How many readings a batch has, about."""

NAME = f"{TABLE}made"


@alone
def keep(
    kernel: Callable[[Panel], Arrays],
    panel: Panel,
    out: str,
    *,
    steps: int,
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> Panel:
    """What a kernel makes of each household, as a panel in the lake of so many steps.

    Args:
        kernel: A function of a panel of whole households: for each of these a column, for each step a row.
        panel: A panel in the lake.
        out: The folder for it, that is not there yet.
        steps: How many steps the result has, from step 0 on.
        renamed: Other names for some households.

    Raises:
        DiurnalError: The kernel refuses; nothing is kept.
    """
    data = panel.data
    assert isinstance(data, LakeData)
    nobody = np.zeros((0, 0), dtype=np.int64)
    like = replace(panel, data=Arrays(nobody, nobody.astype(bool)), households=(), groups={}, quality=None)
    partitions, cut, session, aliases = tuple(panel.groups), data.cut, data.table.sparkSession, dict(renamed)
    chosen = data.chosen
    schema = pa.schema(
        [
            ("place", pa.int64()),
            ("household", pa.string()),
            *((name, pa.string()) for name in partitions),
            ("values", pa.list_(pa.int64())),
            ("account", pa.string()),
        ]
    )

    def make(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                made = _made(kernel, batch, like, partitions, cut, schema, aliases)
                yield made if chosen is None else made.set_column(0, "place", _places(made.column(0), chosen))

    folder = Folder(session, out)
    with running("keeping homes"), batches_of(session, READINGS // max(1, cut.steps)):
        folder.make()
        rows = data.meant.select("place", "household", *map(quoted, partitions), "values")
        mapped(rows, make, table_ddl(partitions)).write.parquet(f"{folder.path}/{NAME}")
        table = session.read.schema(table_ddl(partitions)).parquet(f"{folder.path}/{NAME}")
        refused = table.where("place is null").select("account").limit(1).toArrow().column(0).to_pylist()
    if refused:
        with running("tidying up"):
            folder.delete("")
        refuse(tuple(json.loads(refused[0])))
    facts = {
        "version": VERSION,
        "table": NAME,
        "tasks": data.tasks,
        "grid": panel.grid.to_json(),
        "first_step": 0,
        "steps": steps,
        "domain": None,
        "calendar": [],
        "partitions": list(partitions),
        "roster": roster_digest([renamed.get(name, name) for name in panel.households], panel.groups),
        "source": None,
        "quality": None,
    }
    with running("keeping homes"):
        folder.write(FACTS, json.dumps(facts))
    return open_panel(out, session)


def _places(places: pa.Array, chosen: Integers) -> pa.Array:
    """Where some households of a table stand among those that are meant; what has no place has none."""
    order = np.argsort(chosen)
    found = order[np.searchsorted(chosen[order], places.fill_null(int(chosen[0])).to_numpy())]
    return pa.array(found, pa.int64(), mask=places.is_null().to_numpy(zero_copy_only=False))


def _made(
    kernel: Callable[[Panel], Arrays],
    batch: pa.RecordBatch,
    like: Panel,
    partitions: tuple[str, ...],
    cut: Cut,
    schema: pa.Schema,
    renamed: Mapping[str, str],
) -> pa.RecordBatch:
    groups = {name: tuple(batch.column(2 + i).to_pylist()) for i, name in enumerate(partitions)}
    homes = tuple(batch.column(1).to_pylist())
    try:
        block = replace(like, data=cut.arrays(batch.column(batch.num_columns - 1)), households=homes, groups=groups)
        made = kernel(block)
    except DiurnalError as error:
        # As data: an exception in a task would be tried again, and come back as a trace.
        nothing = [pa.array([None], field.type) for field in list(schema)[:-1]]
        said = pa.array([json.dumps(refusal(error))], pa.string())
        return pa.RecordBatch.from_arrays([*nothing, said], schema=schema)
    values = pa.array(made.readings.T.ravel(), mask=~made.present.T.ravel())
    offsets = pa.array(np.arange(len(homes) + 1, dtype=np.int32) * made.readings.shape[0])
    lists = pa.ListArray.from_arrays(offsets, values)
    empty = pa.nulls(len(homes), pa.string())
    columns = [batch.column(i).cast(schema.field(i).type) for i in range(2 + len(partitions))]
    columns[1] = pa.array([renamed.get(name, name) for name in homes], pa.string())
    return pa.RecordBatch.from_arrays([*columns, lists, empty], schema=schema)


def beside(kept: Panel, panel: Panel) -> Panel:
    """A panel whose first steps are those of a kept one, and whose others are those of another, by household.

    Households that are not in both are in it with nothing: those of the kept one alone have no readings, those of
    the other alone are left out.
    """
    from pyspark.sql import functions as f

    first, second = kept.data, panel.data
    assert isinstance(first, LakeData)
    assert isinstance(second, LakeData)
    (start, stop), (begin, end) = second.cut.window, second.cut.inside
    partitions = tuple(kept.groups)
    left = first.meant.select("household", *map(quoted, partitions), f.col("values").alias("usual"))

    def nothing(steps: int) -> Any:
        return f.array_repeat(f.lit(None).cast("bigint"), steps)

    inside = f.slice("values", begin + 1, end - begin) if begin < end else nothing(0)
    right = second.meant.select("household", inside.alias("now"))
    now = f.coalesce("now", nothing(end - begin))
    values = f.concat("usual", nothing(begin - start), now, nothing(stop - end))
    rows = left.join(right, "household", "left").select(
        "household", *map(quoted, partitions), values.alias("values")
    )
    length = kept.n_steps + stop - start
    gone = tuple(kept.n_steps + row - start for row in second.cut.gone if start <= row < stop)
    data = LakeData(rows, first.n_places, max(first.tasks, second.tasks), Cut(length, (0, length), gone))
    return replace(kept, data=data)
