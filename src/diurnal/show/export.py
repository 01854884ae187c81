"""Export: released rows as a file, or as a page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from diurnal.curator.curator import Curator
from diurnal.curator.release import Report
from diurnal.curator.stream import Stream
from diurnal.errors import InputError, ReadingsError
from diurnal.periodicity.verdict import check
from diurnal.planning.reference import check_open
from diurnal.private import public
from diurnal.readings import kernels
from diurnal.readings.panel import Panel
from diurnal.show.files import write_whole

COLUMNS = ("step", "time", "group", "value", "unit", "std", "plan")
"""What a row has, in every format."""


def export(
    curator: Curator,
    stream: Stream,
    path: str | Path,
    *,
    truth: Panel | None = None,
    open_data: Panel | None = None,
    note: str = "",
) -> int:
    """Write what a stream has released: rows as .csv, .jsonl or .parquet, a page as .html. Returns how many rows.

    Args:
        curator: The stream's curator.
        stream: The stream.
        path: Where to; its ending says how.
        truth: For a page: the private readings. The page is then marked, and for the custodian's eyes.
        open_data: For a page: public readings of other homes, for the predicted errors.
        note: For a page: a public sentence to be said at its top.

    Raises:
        InputError: Another ending, or private readings for a file that is not a page.
    """
    path = Path(path)
    writers = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
    if path.suffix not in {*writers, ".html"}:
        raise InputError("export-ending", name=path.name)
    if truth is not None and path.suffix != ".html":
        raise InputError("export-truth-needs-page")
    if path.suffix == ".html":
        if truth is not None:
            _check_private(path)
        page, count = _page(curator, stream, truth, open_data, note)
        write_whole(path, page, private=truth is not None)
        return count
    rows = public(stream.rows())
    writers[path.suffix](rows, path)
    return len(rows)


def _check_learned(stream: Stream, open_data: Panel | None) -> None:
    """Refuse the readings that the stream learned its profiles from as open data."""
    record, plan = stream._record(), stream.plan
    if open_data is None or open_data.grid.slots != plan.grid.slots or record.profile.size == 0:
        return
    begin, end = (int(step) for step in record.history())
    try:
        open_data = open_data.on_grid(plan.grid)
        history = open_data.between(begin, end)
    except InputError:
        return
    if history.n_steps < end - begin:
        return
    # As the stream has made its profiles, or the same readings would not be recognised.
    history, _ = history.within(*plan.domain)
    profile, _ = kernels.profiles(
        history.readings,
        history.present,
        slots=plan.grid.slots,
        min_readings=plan.k_min,
        statistic=plan.statistic,
    )
    places = {name: place for place, name in enumerate(history.households)}
    order = record.atoms.order
    for column, household in enumerate(record.households[i] for i in order):
        theirs = profile[:, places[household]] if household in places else None
        if theirs is not None and theirs.any() and (theirs == record.profile[:, column]).all():
            raise InputError("open-data-learned-from")


MARK = '<html lang="en" class="custodian">'
"""What a page for the custodian begins with."""


def _check_private(path: Path) -> None:
    """Refuse to put the custodian's page in the place of another one, which may be published from there."""
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace")[:1000]:
        raise InputError("export-not-a-private-page", name=path.name)


def _page(
    curator: Curator, stream: Stream, truth: Panel | None, open_data: Panel | None, note: str
) -> tuple[str, int]:
    from diurnal.show.page import counted_page

    check_open(open_data, truth)
    _check_learned(stream, open_data)
    verdict = None
    if truth is not None:
        # Too little data for a verdict is no reason not to show the rest.
        with suppress(ReadingsError):
            verdict = check(truth)
    return counted_page(curator, stream, truth=truth, verdict=verdict, open_data=open_data, note=note)


def csv_text(rows: Sequence[Report]) -> str:
    """Rows as CSV, with a first line.

    A group's name that a spreadsheet would take for a formula has an apostrophe before it.
    """
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row.to_json(), "group": _plain(row.group)} for row in rows)
    return file.getvalue()


def _plain(name: str) -> str:
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) or (name and ord(name[0]) < 32) else name


def table_of(rows: Sequence[Report]) -> pa.Table:
    """Rows as a table. Values stay decimals in text: a float would not be the released value."""
    kinds = {name: pa.int64() if name == "step" else pa.string() for name in COLUMNS}
    return pa.table({name: pa.array([getattr(row, name) for row in rows], kind) for name, kind in kinds.items()})


def parquet_bytes(rows: Sequence[Report]) -> bytes:
    """Rows as a Parquet file."""
    import pyarrow.parquet as pq

    target = pa.BufferOutputStream()
    pq.write_table(table_of(rows), target)
    return bytes(target.getvalue().to_pybytes())


def _csv(rows: Sequence[Report], path: Path) -> None:
    write_whole(path, csv_text(rows))


def _jsonl(rows: Sequence[Report], path: Path) -> None:
    write_whole(path, "".join(f"{json.dumps(row.to_json())}\n" for row in rows))


def _parquet(rows: Sequence[Report], path: Path) -> None:
    write_whole(path, parquet_bytes(rows))
