"""Rows: what was released, in every format: CSV, JSON lines, Parquet, Arrow, and tables for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from diurnal.curator.release import COLUMNS, Report

SHOWN = tuple(column for column in COLUMNS if column.heading)
"""The columns of tables for people."""

TYPES = {int: pa.int64(), str: pa.string()}


def csv_text(rows: Sequence[Report]) -> str:
    """Rows as CSV, with a first line.

    A group's name that a spreadsheet would take for a formula has an apostrophe before it.
    """
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, [column.name for column in COLUMNS], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row.to_json(), "group": _plain(row.group)} for row in rows)
    return file.getvalue()


def _plain(name: str) -> str:
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) or (name and ord(name[0]) < 32) else name


def json_lines(rows: Sequence[Report]) -> str:
    """Rows as JSON, a line each."""
    return "".join(f"{json.dumps(row.to_json())}\n" for row in rows)


def table_of(rows: Sequence[Report]) -> pa.Table:
    """Rows as a table."""
    kinds = {column.name: TYPES[column.kind] for column in COLUMNS}
    return pa.table({name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in kinds.items()})


def parquet_bytes(rows: Sequence[Report]) -> bytes:
    """Rows as a Parquet file."""
    import pyarrow.parquet as pq

    target = pa.BufferOutputStream()
    pq.write_table(table_of(rows), target)
    return bytes(target.getvalue().to_pybytes())


def arrow_bytes(rows: Sequence[Report]) -> bytes:
    """Rows as an Arrow IPC stream."""
    target, table = pa.BufferOutputStream(), table_of(rows)
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return bytes(target.getvalue().to_pybytes())


FILES: Mapping[str, Callable[[Sequence[Report]], str | bytes]] = {
    ".csv": csv_text,
    ".jsonl": json_lines,
    ".parquet": parquet_bytes,
}
"""How rows are written, by the ending of a file."""


def shown_table(rows: Sequence[Report], unit: str) -> dict[str, Any]:
    """Rows as a table for people: its lines, and how it is headed and laid out."""
    return {
        "lines": [[getattr(row, column.name) for column in SHOWN] for row in rows],
        "names": [column.heading.format(unit=unit) for column in SHOWN],
        "numbers": [place for place, column in enumerate(SHOWN) if column.is_number],
        "unbroken": [place for place, column in enumerate(SHOWN) if column.name == "time"],
        "columns": [column.name for column in SHOWN],
    }
