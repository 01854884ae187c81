"""Export: released rows as a file, or as a page."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from diurnal.check.verdict import check
from diurnal.curator.curator import Curator
from diurnal.curator.report import Report
from diurnal.curator.stream import Stream
from diurnal.errors import InputError, ReadingsError
from diurnal.private import public
from diurnal.readings.panel import Panel

COLUMNS = ("step", "time", "group", "value", "unit", "std", "plan")
"""What a row has, in every format."""


def export(
    curator: Curator,
    stream: Stream,
    path: str | Path,
    *,
    truth: Panel | None = None,
    open_data: Panel | None = None,
) -> int:
    """Write what a stream has released: rows as .csv, .jsonl or .parquet, a page as .html. Returns how many rows.

    Args:
        curator: The stream's curator.
        stream: The stream.
        path: Where to; its ending says how.
        truth: For a page: the private readings. The page is then marked, and for the custodian's eyes.
        open_data: For a page: public readings of other homes, for the predicted errors.

    Raises:
        InputError: Another ending, or private readings for a file that is not a page.
    """
    path = Path(path)
    writers = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
    if path.suffix not in {*writers, ".html"}:
        raise InputError(f"Cannot write {path.name}.", hint="Its ending is .csv, .jsonl, .parquet or .html.")
    if truth is not None and path.suffix != ".html":
        raise InputError("Private readings go on a page only.", hint="Leave the truth out, or write .html.")
    rows = public(stream.rows())
    if path.suffix == ".html":
        path.write_text(_page(curator, stream, truth, open_data), encoding="utf-8")
        if truth is not None:
            path.chmod(0o600)
    else:
        writers[path.suffix](rows, path)
    return len(rows)


def _page(curator: Curator, stream: Stream, truth: Panel | None, open_data: Panel | None) -> str:
    from diurnal.show.page import custodian_page, public_page

    if truth is None:
        return public_page(curator, stream, open_data=open_data)
    try:
        verdict = check(truth)
    except ReadingsError:
        # Too little data for a verdict is no reason not to show the rest.
        verdict = None
    return custodian_page(curator, stream, truth=truth, verdict=verdict, open_data=open_data)


def _csv(rows: Sequence[Report], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.to_json() for row in rows)


def _jsonl(rows: Sequence[Report], path: Path) -> None:
    path.write_text("".join(f"{json.dumps(row.to_json())}\n" for row in rows), encoding="utf-8")


def _parquet(rows: Sequence[Report], path: Path) -> None:
    """Values stay decimals in text: a float would not be the released value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {name: pa.int64() if name == "step" else pa.string() for name in COLUMNS}
    columns = {name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in kinds.items()}
    pq.write_table(pa.table(columns), path)
