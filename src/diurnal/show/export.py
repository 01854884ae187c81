"""Export: released rows as a file, or as a page."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.errors import InputError, ReadingsError
from diurnal.periodicity.verdict import check
from diurnal.planning.reference import check_open
from diurnal.private import public
from diurnal.readings import kernels
from diurnal.readings.panel import Panel
from diurnal.show.files import write_whole
from diurnal.show.rows import FILES


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
    if path.suffix not in {*FILES, ".html"}:
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
    write_whole(path, FILES[path.suffix](rows))
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
