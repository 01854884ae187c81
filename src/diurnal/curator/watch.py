"""Watch: readings that land in a folder, in a table, or in a stream of Spark's, taken each once.

A file is taken whole or not at all: its reports and the note that it was taken are one transaction. Then it is
moved to `taken/`; a file that cannot be read is moved to `bad/`, with its error beside it. A file that is still
there is known by its name and times. One that comes again as another file is read once more, and nothing of it is
taken: the first reading of a household and step counts. What is in a file is not remembered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from diurnal.curator.outcome import Outcome
from diurnal.curator.report import Report
from diurnal.curator.stream import Stream
from diurnal.errors import DiurnalError, ReadingsError, StoreError
from diurnal.readings.engines.spark.homes import discard
from diurnal.readings.engines.spark.streaming import each_batch
from diurnal.readings.engines.spark.waiting import WaitingRows
from diurnal.readings.formats import check_options, named
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.panel import Panel
from diurnal.readings.source import read


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What became of one file, or of one look at a table."""

    name: str
    """The file, or the table."""
    outcome: Outcome | None = field(default=None, repr=False)
    """What became of its readings; None if it was not taken."""
    error: str = ""
    """Why it was not taken, and what to do about it."""
    set_aside: Mapping[str, int] = field(default_factory=dict, repr=False)
    """How many of its rows were not taken as readings, by reason. For the custodian's eyes."""
    units: tuple[str, ...] = ()
    """In which directions readings of this stream look wrong that came in this process: too small, too large."""
    head: str = ""
    """Where the ledger stands after it: publish it with the rows. It fences a restored backup."""

    @property
    def rows(self) -> tuple[Report, ...]:
        """The rows of its steps, and of earlier ones that closed with it."""
        return () if self.outcome is None else tuple(self.outcome.rows)

    @property
    def before(self) -> int:
        """How many of these had been published before it came: other readings for their steps are not taken."""
        return 0 if self.outcome is None else len(self.outcome.old)

    @property
    def again(self) -> bool:
        """Whether it had been taken before."""
        return self.outcome is not None and self.outcome.again


def watch_folder(
    stream: Stream,
    folder: str | Path,
    *,
    once: bool = False,
    every: float = 10.0,
    wait: Callable[[float], None] = time.sleep,
    **said: Any,
) -> Iterator[Taken]:
    """Take every file that lands in a folder, for as long as this is asked for more.

    Put a file there under another name and rename it when it is whole: names that begin with a dot or end with
    `.partial` are left alone.

    Args:
        stream: Whose readings these are.
        folder: Where they land.
        once: Whether to stop when the folder is empty.
        every: How many seconds to wait before looking again.
        wait: How to wait.
        said: What `read` and `panel` are to be told about the files: format, zone, minutes (a file of one step does
            not tell how long a row lasts), meters and so on.

    Raises:
        StoreError: The store cannot be reached; the file is left where it is.
    """
    _check(said)
    folder = Path(folder)
    if not folder.is_dir():
        raise ReadingsError(f"There is no folder {folder.name}.", hint="Make it, and let files land in it.")
    while True:
        for path in sorted(each for each in folder.iterdir() if _is_whole(each)):
            yield _take(stream, path, said)
        yield from _overdue(stream)
        if once:
            return
        wait(every)


def watch_table(
    stream: Stream,
    query: str,
    database: str,
    *,
    once: bool = False,
    every: float = 10.0,
    wait: Callable[[float], None] = time.sleep,
    **said: Any,
) -> Iterator[Taken]:
    """Take what a query gives, again and again; readings of steps that are reported change nothing.

    Args:
        stream: Whose readings these are.
        query: SQL that gives recent rows: household, time, value.
        database: Where, as for `read`.
        once: Whether to look once only.
        every: How many seconds to wait before looking again.
        wait: How to wait.
        said: What `read` and `panel` are to be told about the rows.
    """
    _check(said)
    while True:
        try:
            panel = _panel(stream, read(query, database=database, **_reading(said)), said)
            yield _told(stream, "query", stream.receive(panel), panel)
        except StoreError:
            raise
        except DiurnalError as error:
            yield Taken(name="query", error=str(error))
            yield from _overdue(stream)
        if once:
            return
        wait(every)


def watch_frame(
    stream: Stream,
    frame: Any,
    *,
    checkpoint: str | Path,
    told: Callable[[Taken], None] = lambda _: None,
    once: bool = False,
    every: float = 10.0,
    on_bad: Literal["stop", "skip"] = "stop",
    **said: Any,
) -> None:
    """Take what keeps coming into a streaming frame of Spark's, each batch once, until the query is stopped.

    How long a step waits for what is late is the plan's grace, as for readings that come in any other way; what is
    later is counted (`stream.quality()`), and changes nothing. Killed and started again with the same checkpoint,
    Spark gives the batch once more that it was at, and the store knows whether it was taken.

    Args:
        stream: Whose readings these are.
        frame: A streaming frame with the columns household, time and a value: `spark.readStream...`.
        checkpoint: The folder where Spark writes down how far it has come. Keep it as long as the store.
        told: Is told of each batch.
        once: Whether to end when there are no more rows.
        every: How many seconds there are between two batches, at least.
        on_bad: What to do with a batch that cannot be read as readings: stop, and be given it again after a
            restart; or skip it, which is counted, and told.
        said: What `read` and `panel` are to be told about the rows.

    Raises:
        DiurnalError: A batch cannot be taken; nothing of it was.
    """
    _check(said)
    if on_bad not in ("stop", "skip"):
        raise ReadingsError(f"Expected on_bad to be 'stop' or 'skip', got {on_bad!r}.", hint="on_bad='stop'")
    about, notes = _reading(said), str(checkpoint).rstrip("/")

    def take(name: str, number: int, batch: Any) -> None:
        # A batch without rows tells nothing, and there is one whenever a source is looked at in vain.
        found, error = Outcome(stream=stream.plan.hash), ""
        if not batch.isEmpty():
            try:
                found = far(name, number, batch) if stream.is_far else near(name, batch)
            except ReadingsError as refused:
                if on_bad == "stop":
                    raise
                error = str(refused)
                found = stream.receive_once(name, lambda: None, counts={"batches passed by": 1})
        told(replace(_told(stream, name, found), error=error))

    def near(name: str, batch: Any) -> Outcome:
        return stream.receive_once(name, lambda: _panel(stream, read(batch.toArrow(), **about), said))

    def far(name: str, number: int, batch: Any) -> Outcome:
        since, out = stream.open_from, f"{notes}/diurnal-batch"
        waiting = WaitingRows(batch, read(batch, **about).format, stream.plan.grid, notes)
        rows = batch if since is None else waiting.with_batch(number, since)
        there = waiting.by_step(rows)
        reach = stream.reach(there)
        late = sum(n for step, n in there.items() if step < reach.start)
        # Where steps wait, rows of much later ones wait as well.
        ahead = sum(n for step, n in there.items() if step >= reach.stop) if since is None else 0
        wanted = waiting.between(rows, reach)

        def panel() -> Panel | None:
            if late + ahead and wanted.isEmpty():
                return None
            return _panel(stream, read(wanted, **about), {**said, "out": out})

        try:
            return stream.receive_once(
                name,
                panel,
                again=since is not None,
                counts={"late, and not taken": late, "of a much later step": ahead},
            )
        except ReadingsError:
            if since is not None and on_bad == "skip":
                waiting.without_batch(number)
            raise
        finally:
            discard(out)

    each_batch(frame, take, checkpoint=notes, once=once, every=every)


PANEL = ("domain", "calendar", "fold", "on_duplicate", "meters", "tenancies", "out")
"""What is told to `panel`; the rest is told to `read`."""


def _check(said: dict[str, Any]) -> None:
    """Refuse what nobody understands here, before any file is called bad for it."""
    options = _reading(said)
    name = options.pop("format", "auto")
    if name == "auto":
        check_options(options)
    elif isinstance(name, str):
        named(name, options)


def _reading(said: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name not in PANEL}


def _panel(stream: Stream, readings: Any, said: dict[str, Any]) -> Panel:
    plan = stream.plan
    about = {name: value for name, value in said.items() if name in PANEL}
    steps = None if stream.is_far else stream.takes()
    return make_panel(readings, like=plan.grid, steps=steps, **{"domain": plan.domain, **about})


def _overdue(stream: Stream) -> Iterator[Taken]:
    """What is past its deadline, once all that has landed is taken."""
    rows = stream.close_overdue()
    if rows:
        outcome = Outcome(stream=stream.plan.hash, new=tuple(rows))
        yield Taken(name="past their deadline", outcome=outcome, head=stream.head)


def _told(stream: Stream, name: str, outcome: Outcome, panel: Panel | None = None) -> Taken:
    account = None if panel is None else panel.quality
    aside = {} if account is None else account.set_aside
    return Taken(name=name, outcome=outcome, set_aside=aside, units=stream.units, head=stream.head)


def _is_whole(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".") and not path.name.endswith(".partial")


def _take(stream: Stream, path: Path, said: dict[str, Any]) -> Taken:
    try:
        version = _version(path)
        made: list[Panel] = []

        def panel() -> Panel:
            made.append(_panel(stream, read(path, **_reading(said)), said))
            return made[0]

        outcome = stream.receive_once(version, panel)
    except StoreError:
        raise
    except FileNotFoundError:
        # Another watch was faster.
        return Taken(name=path.name, outcome=Outcome(stream=stream.plan.hash, again=True))
    except (DiurnalError, OSError) as error:
        reason = str(error) if isinstance(error, DiurnalError) else f"It cannot be read ({error.strerror})."
        _aside(path, "bad").with_suffix(f"{path.suffix}.error.txt").write_text(f"{reason}\n")
        return Taken(name=path.name, error=reason)
    with suppress(FileNotFoundError):
        _aside(path, "taken")
    return _told(stream, path.name, outcome, made[0] if made else None)


def _version(path: Path) -> str:
    """What a file goes by: its name, and what the system knows it by. How long it is depends on its readings."""
    found = path.stat()
    return f"file {path.name} {found.st_ino} {found.st_mtime_ns} {found.st_ctime_ns}"


def _aside(path: Path, folder: str) -> Path:
    """Move a file into a folder beside it, under a name that is free there."""
    target = path.parent / folder
    target.mkdir(mode=0o700, exist_ok=True)
    place, number = target / path.name, 1
    while place.exists():
        number += 1
        place = target / f"{path.stem}-{number}{path.suffix}"
    return path.rename(place)
