"""Sorting: the rows of a Spark frame as readings of whole households, in a table with a row a household.

Tasks buffer and place rows as a local import does, and send on what they have of a meter as one row of bytes;
Spark brings the rows of some households together, sorted by household, and a task resamples as many of them at a
time as a local import would. The account of every block is beside its first household: whatever Spark commits is
counted once, however often a task ran.
"""

from __future__ import annotations

import bisect
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from diurnal.errors import DiurnalError, ReadingsError
from diurnal.readings import quality
from diurnal.readings.data import Integers
from diurnal.readings.engines.spark.folding import quoted
from diurnal.readings.engines.spark.frame import NAME, ROWS, buffered
from diurnal.readings.engines.spark.session import Batches, mapped, refusal
from diurnal.readings.formats import Format
from diurnal.readings.importing import BUCKET
from diurnal.readings.resampling import PLACED, DuplicateError, Placing, Resampled, Roster, Rules, resample
from diurnal.readings.row_buffer import Records
from diurnal.readings.side_tables import MeterList

RECORD = np.dtype([(name, PLACED[name]) for name in ("value", "seconds", "minutes", "second")])
"""A placed row of a known meter."""

PLACED_ROWS = pa.schema(
    [
        ("part", pa.int32()),
        ("owner", pa.string()),
        ("household", pa.string()),
        ("meter", pa.string()),
        ("records", pa.binary()),
        ("account", pa.string()),
    ]
)
PLACED_DDL = "part int, owner string, household string, meter string, records binary, account string"

FEW_ROWS = 64
"""How many rows of a meter a batch should have, about."""

OWN = ("place", "household", "values", "account")
"""Columns of the table that are no partition of the roster."""


@dataclass(frozen=True, repr=False)
class Sorting:
    """What tasks must know: no household but the first one of each task."""

    format: Format
    placing: Placing
    """Where rows go, without a roster."""
    rules: Rules
    listed: MeterList | None
    """Which household each meter belongs to, where that was given."""
    firsts: Sequence[str]
    """The first household of each task."""
    starts: Sequence[int]
    """Its place in the roster, and at the end the number of all."""
    groups: Mapping[str, tuple[list[str], Integers]]
    """For each partition its groups, and the number of every household's among them."""

    @classmethod
    def of(cls, run: Any, tasks: int) -> Sorting:
        """The sorting of an import whose rows are known, by so many tasks."""
        homes, roster = run.panel.households, run.placing.roster
        starts = sorted({len(homes) * task // tasks for task in range(tasks + 1)})
        nobody = replace(roster, households=(), keys=(), owners={}, meter=roster.meter[:0])
        return cls(
            format=run.given.format,
            placing=replace(run.placing, roster=nobody),
            rules=run.rules,
            listed=run.options.meters,
            firsts=[homes[start] for start in starts[:-1]],
            starts=starts,
            groups={name: _coded(column) for name, column in run.panel.groups.items()},
        )

    def table(self, frame: Any) -> Any:
        """The readings of a frame's rows: a Spark frame with a row a household."""

        # Functions of their own: Spark wants no methods.
        def place(batches: Batches) -> Batches:
            return self._place(batches)

        def make(batches: Batches) -> Batches:
            return self._resample(batches)

        placed = mapped(self._gathered(frame), place, PLACED_DDL)
        brought = placed.repartitionById(len(self.firsts), "part").sortWithinPartitions("part", "owner")
        return mapped(brought, make, table_ddl(self.groups))

    def _gathered(self, frame: Any) -> Any:
        """The same rows, those of a meter together if a batch would have few of each.

        A head-end writes all meters of a time, and then the next: of millions, a batch has each once. What is said
        once for a meter and batch would be said for every row.
        """
        names = [getattr(self.format, name, None) for name in ("household", "meter")]
        keys = [quoted(name) for name in names if name is not None]
        if not keys or self.starts[-1] < ROWS // FEW_ROWS:
            return frame
        return frame.repartition(len(self.firsts), *keys).sortWithinPartitions(*keys)

    def _place(self, batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                yield self._placed(batch)

    def _placed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What a batch has of each meter, whether any of it is inside the panel's span or not."""
        with closing(buffered(self.format, batch)) as buffer:
            roster = Roster.of(buffer.meters, self.listed)
            placing, lost, parts = replace(self.placing, roster=roster), Counter[str](), []
            for records in buffer.spill.batches():
                placed, outside = placing.place(records)
                lost.update(outside)
                parts.append(placed)
        rows = np.concatenate(parts) if parts else np.zeros(0, dtype=PLACED)
        rows = rows[np.argsort(rows["meter"], kind="stable")]
        cuts = np.searchsorted(rows["meter"], np.arange(len(roster.keys) + 1)).tolist()
        records = _without_meter(rows)
        owners = list(roster.owners.values())
        columns = [
            [bisect.bisect_right(self.firsts, owner) - 1 for owner in owners],
            owners,
            [household for household, _ in roster.owners],
            [meter for _, meter in roster.owners],
            [records[cuts[number] : cuts[number + 1]].tobytes() for number in roster.meter.tolist()],
            # Beside one row, so that it is counted once.
            [json.dumps(lost) if lost and not at else None for at in range(len(owners))],
        ]
        arrays = [pa.array(column, type=field.type) for column, field in zip(columns, PLACED_ROWS, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=PLACED_ROWS)

    def _resample(self, batches: Batches) -> Batches:
        part, place = -1, 0
        try:
            for block in _blocks(batches, self.rules.steps):
                if part != block.part:
                    part, place = block.part, self.starts[block.part]
                made = self._block(block, place)
                place += made.num_rows
                yield made
        except DiurnalError as error:
            # Nothing else goes on: what was written is no panel.
            yield self._row(account=json.dumps({"error": refusal(error)}))

    def _block(self, block: _Block, place: int) -> pa.RecordBatch:
        """The readings of some households."""
        roster = Roster.of(block.keys, self.listed)
        if self.listed is not None:
            roster = roster.with_terms(self.listed, self.placing.anchor)
        rows = block.rows(roster)
        try:
            found = resample(rows, roster.meters(0, len(roster.households)), self.rules)
        except DuplicateError:
            raise ReadingsError("spark-duplicate", name=NAME) from None
        return self._table(found, roster.households, place, found.counts + block.lost)

    def _table(
        self, found: Resampled, households: Sequence[str], place: int, set_aside: Counter[str]
    ) -> pa.RecordBatch:
        n, steps = found.readings.shape
        tally = quality.tally(found.readings, found.present, 1440 // self.rules.minutes)
        account = {"set_aside": set_aside, "tally": {**tally, "kept": found.kept, "above": found.above}}
        values = pa.array(found.readings.ravel(), mask=~found.present.ravel())
        groups = [
            pa.array([names[code] for code in codes[place : place + n].tolist()], pa.string())
            for names, codes in self.groups.values()
        ]
        return pa.RecordBatch.from_arrays(
            [
                pa.array(np.arange(place, place + n)),
                pa.array(households, pa.string()),
                *groups,
                pa.ListArray.from_arrays(pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(steps)), values),
                pa.array([json.dumps(account), *[None] * (n - 1)], pa.string()),
            ],
            schema=table_schema(self.groups),
        )

    def _row(self, account: str) -> pa.RecordBatch:
        schema = table_schema(self.groups)
        return pa.RecordBatch.from_pylist([{"account": account}], schema=schema)


@dataclass(repr=False)
class _Block:
    """What there is of some households, those of one task next to each other."""

    part: int
    keys: dict[tuple[str, str], int]
    """The meters, numbered as they came."""
    records: list[tuple[int, bytes]]
    """The number of a meter, and some of its rows."""
    lost: Counter[str]
    """Rows that lie outside the panel's span."""
    homes: int = 0
    n_rows: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        number = self.keys.setdefault((row["household"], row["meter"]), len(self.keys))
        self.records.append((number, row["records"]))
        self.n_rows += len(row["records"]) // RECORD.itemsize
        if row["account"]:
            self.lost.update(json.loads(row["account"]))

    def rows(self, roster: Roster) -> Records:
        """The placed rows, with the roster's numbers of their meters."""
        numbers = np.array([number for number, _ in self.records], dtype=np.int64)
        counts = [len(data) // RECORD.itemsize for _, data in self.records]
        records = np.frombuffer(b"".join(data for _, data in self.records), dtype=RECORD)
        rows = np.empty(len(records), dtype=PLACED)
        for name in RECORD.names or ():
            rows[name] = records[name]
        rows["meter"] = np.repeat(roster.meter[numbers], counts)
        return rows


def _blocks(batches: Batches, steps: int) -> Iterator[_Block]:
    """Whole households, as many at a time as fit into a bucket of a local import."""
    block: _Block | None = None
    owner = None
    for batch in batches:
        for row in batch.to_pylist():
            if row["owner"] != owner or block is None or row["part"] != block.part:
                owner = row["owner"]
                full = block is not None and max(block.n_rows, (len(block.keys) + 1) * steps) > BUCKET
                if block is None or full or row["part"] != block.part:
                    if block is not None:
                        yield block
                    block = _Block(row["part"], {}, [], Counter())
            block.add(row)
    if block is not None:
        yield block


def _without_meter(rows: Records) -> Records:
    records = np.empty(len(rows), dtype=RECORD)
    for name in RECORD.names or ():
        records[name] = rows[name]
    return records


def _coded(column: Sequence[str]) -> tuple[list[str], Integers]:
    names, codes = np.unique(np.asarray(column, dtype=object), return_inverse=True)
    return names.tolist(), codes.astype(np.int32)


def table_schema(partitions: Iterable[str]) -> pa.Schema:
    """The columns of the table."""
    return pa.schema(
        [
            ("place", pa.int64()),
            ("household", pa.string()),
            *((name, pa.string()) for name in partitions),
            ("values", pa.list_(pa.int64())),
            ("account", pa.string()),
        ]
    )


def table_ddl(partitions: Iterable[str]) -> str:
    """The columns of the table, as Spark says it."""
    groups = "".join(f"`{name.replace('`', '``')}` string, " for name in partitions)
    return f"place bigint, household string, {groups}values array<bigint>, account string"
