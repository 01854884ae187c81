"""Intake: readings from outside, each batch, file, query or streamed batch taken once.

A batch is what a service is sent. All of it is one transaction: every stream has taken the batch, its reports are
drawn and the key is remembered, or nothing has happened. Whoever sends a batch again under its key, because no
answer came, is told that it was taken before. A key is its sender's own: from another it is another batch.
Without a key nothing is known of a batch but its readings, of which the first of a household and step counts.
`rehearse` says what would become of a batch; nothing is written, drawn or remembered.

**Guarantee**: no answer depends on what a reading was that is held, or was reported. So a key that comes again is
answered alike whatever comes with it, and nothing of that is taken: whether it was the same is counted for the
custodian, as long as all its cycles are open. Of a batch without a key, what is there already is set aside,
whether it is the same or not. In a rehearsal, a key that was used is not compared with what comes under it now,
and one that was not stays unused.

`watch_folder`, `watch_table` and `watch_frame` take what lands in a folder, a table or an engine's stream. A file
is taken whole or not at all: its reports and the note that it was taken are one transaction. Then it is moved to
`taken/`; a file that cannot be read is moved to `bad/`, with its error beside it. A file that is still there is
known by its name and times. One that comes again as another file is read once more, and nothing of it is taken:
the first reading of a household and step counts. What is in a file is not remembered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from diurnal.curator.closing import AHEAD
from diurnal.curator.curator import Curator
from diurnal.curator.release import Outcome, Report
from diurnal.curator.started_plan import StreamRecord
from diurnal.curator.stream import Stream, set_aside
from diurnal.curator.stream import takes as steps_taken
from diurnal.curator.taking import OpenState
from diurnal.errors import ClockError, DiurnalError, ReadingsError, StoreError, StreamError, UnitError
from diurnal.private import Private
from diurnal.readings.importing import check_options, format_named, read
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.panel import Panel
from diurnal.readings.source import engine_of


@dataclass(frozen=True, kw_only=True, repr=False)
class Sent(Private):
    """What a batch goes by, and what is in it."""

    sender: str
    """Who sends it: a digest of their token."""
    key: str | None
    """What they call it; None for a batch that goes by nothing."""
    content: str
    """A digest of what is in it."""


def known(curator: Curator, sent: Sent, *, stream: str | None = None) -> tuple[Outcome, ...] | None:
    """What became of a batch that was taken before; None if some stream has yet to take it.

    Raises:
        StreamError: No stream takes readings, or none is called so.
    """
    with curator._store.transaction():
        return _known(curator, sent, stream, lambda record: _again(curator, record, sent))


def take(curator: Curator, sent: Sent, panel: Panel, *, stream: str | None = None) -> tuple[Outcome, ...]:
    """Let every stream that takes readings report a batch, once.

    A stream of which nobody is in the batch is not concerned, and not told of.

    Args:
        curator: The streams' curator.
        sent: What the batch goes by.
        panel: What is in it.
        stream: The one stream that it is for, by how its name begins; all of them unless given.

    Raises:
        StreamError: No stream takes readings, or none is called so.
        ReadingsError: Nobody in it is on any roster.
        UnitError: It is in another unit, by what this sender has sent so far.
    """
    with curator._store.transaction():
        records = concerned(curator, panel, stream)
        outcomes = [
            _again(curator, record, sent)
            if _has_taken(curator, record, sent)
            else _taken(curator, record, sent, panel)
            for record in records
        ]
        if sent.key is not None:
            # Once all have taken it: what is over in one of them is not remembered in another.
            name = _name(curator, sent.sender, sent.key)
            for record, outcome in zip(records, outcomes, strict=True):
                if not outcome.again and _has_taken(curator, record, sent):
                    Stream(curator._store, record.stream_id).remember(name, sent.content, panel)
        return tuple(outcomes)


def takes(curator: Curator, *, stream: str | None = None) -> range:
    """The steps that a batch may have readings of now, by the clock: others are set aside as it is read.

    Raises:
        StreamError: No stream takes readings, or none is called so.
    """
    with curator._store.transaction():
        now = curator._store.now()
        spans = [steps_taken(record, now) for record in open_records(curator, stream)]
    return range(min(span.start for span in spans), max(span.stop for span in spans))


def count_ahead(curator: Curator, rows: int, *, stream: str | None = None) -> None:
    """Count rows of a batch that was refused because all of them are ahead of the clock."""
    with curator._store.transaction():
        for record in open_records(curator, stream):
            curator._store.count(record.number, {AHEAD: rows})


def _known(
    curator: Curator, sent: Sent, stream: str | None, answer: Callable[[StreamRecord], Outcome]
) -> tuple[Outcome, ...] | None:
    """What is answered for a batch that every stream has taken; None if some stream has yet to take it."""
    records = _named(curator, stream)
    # A stream that has been stopped since has taken it all the same.
    found = [record for record in records if _has_taken(curator, record, sent)]
    if not any(_is_open(curator, record) for record in records if record not in found):
        if found:
            return tuple(map(answer, found))
        if stream is None:
            raise StreamError("no-open-stream")
    return None


def concerned(curator: Curator, panel: Panel, stream: str | None) -> list[StreamRecord]:
    """The streams that a batch is for.

    Raises:
        StreamError: No stream takes readings, or none is called so.
        ReadingsError: Nobody in it is on any roster.
    """
    records = [record for record in open_records(curator, stream) if _concerns(record, panel)]
    if not records:
        raise ReadingsError("batch-no-known-household", households=panel.n_households)
    return records


def open_records(curator: Curator, stream: str | None) -> Sequence[StreamRecord]:
    """The streams that still report something."""
    records = _named(curator, stream)
    found = [record for record in records if stream is not None or _is_open(curator, record)]
    if not found:
        raise StreamError("no-open-stream")
    return found


def _named(curator: Curator, stream: str | None) -> Sequence[StreamRecord]:
    """Every stream, or the one whose name begins so."""
    return curator._store.records() if stream is None else [curator.stream(stream)._record()]


def _is_open(curator: Curator, record: StreamRecord) -> bool:
    if not record.cohort.holds:
        # Its readings come from the lake.
        return False
    if record.end is None:
        return True
    last = curator._store.last_step(record.number, before=record.end)
    return max(record.first_step, -1 if last is None else last + 1) < record.end


def _concerns(record: StreamRecord, panel: Panel) -> bool:
    where = record.where(panel.households)
    return where is None or bool((where >= 0).any())


def _has_taken(curator: Curator, record: StreamRecord, sent: Sent) -> bool:
    """Whether a stream has taken a batch before, by its key."""
    return sent.key is not None and curator._store.has_taken(record.number, _name(curator, sent.sender, sent.key))


def _again(curator: Curator, record: StreamRecord, sent: Sent) -> Outcome:
    """A batch that was taken before, and whatever has come under its key now: that is answered alike."""
    store = curator._store
    assert sent.key is not None, "a batch without a key is never known"
    store.count(record.number, {"batches_sent_again": 1})
    store.compare_content(
        record.number, _name(curator, sent.sender, sent.key), store.keyed("content", sent.content)
    )
    return Outcome(stream=record.stream_id, again=True)


def _taken(curator: Curator, record: StreamRecord, sent: Sent, panel: Panel) -> Outcome:
    store, stream = curator._store, Stream(curator._store, record.stream_id)
    try:
        outcome = stream._receive(panel, sender=sent.sender)
    except ClockError as error:
        # Nothing was taken, so nothing is remembered under its key: it may be sent again when its time has come.
        store.count(record.number, {AHEAD: error.rows})
        return Outcome(stream=record.stream_id, set_aside={AHEAD: error.rows})
    if sent.key is not None:
        store.take(record.number, _name(curator, sent.sender, sent.key))
    # Its sender is told of these rows apart from what became of readings.
    store.count(record.number, set_aside(panel.quality, "batch"))
    return outcome


def _name(curator: Curator, sender: str, key: str) -> str:
    """What is remembered of a batch for ever."""
    return curator._store.keyed("batch", sender, key)


def known_rehearsal(curator: Curator, sent: Sent, *, stream: str | None = None) -> tuple[Outcome, ...] | None:
    """What would be answered for a key that was used: that it was; None if some stream has yet to take it.

    Raises:
        StreamError: No stream takes readings, or none is called so.
    """
    with curator._store.transaction():
        return _known(curator, sent, stream, lambda record: Outcome(stream=record.stream_id, again=True))


def rehearse(
    curator: Curator, sent: Sent, panel: Panel, *, stream: str | None = None
) -> tuple[tuple[Outcome, ...], UnitError | None]:
    """What would become of a batch in every stream that takes readings, and how it would be refused for its unit.

    Args:
        curator: The streams' curator.
        sent: What the batch would go by.
        panel: What is in it.
        stream: The one stream that it is for, by how its name begins; all of them unless given.

    Raises:
        StreamError: No stream takes readings, or none is called so.
        ReadingsError: Nobody in it is on any roster.
    """
    with curator._store.transaction():
        records = concerned(curator, panel, stream)
        outcomes = [
            Outcome(stream=record.stream_id, again=True)
            if _has_taken(curator, record, sent)
            else _would_be(curator, record, sent, panel)
            for record in records
        ]
        return tuple(outcomes), _refusal(curator, records, sent, panel)


def _refusal(curator: Curator, records: Sequence[StreamRecord], sent: Sent, panel: Panel) -> UnitError | None:
    for record in records:
        if not _has_taken(curator, record, sent):
            _, refusal = curator._store.units.would(record, panel, sender=sent.sender)
            if refusal is not None:
                return refusal
    return None


def _would_be(curator: Curator, record: StreamRecord, sent: Sent, panel: Panel) -> Outcome:
    store, stream = curator._store, Stream(curator._store, record.stream_id)
    state = OpenState(record, store, panel.on_grid(record.plan.grid).steps)
    taker = stream._taker(record, state)
    says, _ = store.units.would(record, panel, sender=sent.sender)
    try:
        came = taker.received(panel, close=False)
    except ClockError as error:
        return Outcome(stream=record.stream_id, set_aside={AHEAD: error.rows}, units=says)
    return Outcome(
        stream=record.stream_id,
        taken=came.readings,
        waiting=came.waiting,
        set_aside={what: number for what, number in taker.counts.items() if number},
        units=says,
    )


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
        raise ReadingsError("folder-missing", name=folder.name)
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
        raise ReadingsError("on-bad-unknown", given=on_bad)
    engine = engine_of(frame)
    if engine is None:
        raise ReadingsError("frame-not-streaming")
    about, notes = _reading(said), str(checkpoint).rstrip("/")

    def take(name: str, number: int, batch: Any) -> None:
        # A batch without rows tells nothing, and there is one whenever a source is looked at in vain.
        found, error = Outcome(stream=stream.plan.hash), ""
        if not batch.isEmpty():
            try:
                found = given_again(name, number, batch) if stream.is_far else held(name, batch)
            except ReadingsError as refused:
                if on_bad == "stop":
                    raise
                error = str(refused)
                found = stream.receive_once(name, lambda: None, counts={"batches_skipped": 1})
        told(replace(_told(stream, name, found), error=error))

    def held(name: str, batch: Any) -> Outcome:
        return stream.receive_once(name, lambda: _panel(stream, read(batch.toArrow(), **about), said))

    def given_again(name: str, number: int, batch: Any) -> Outcome:
        since, out = stream.open_from, f"{notes}/diurnal-batch"
        waiting = engine.waiting(batch, read(batch, **about).format, stream.plan.grid, notes)
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
                counts={"late": late, "much_later": ahead},
            )
        except ReadingsError:
            if since is not None and on_bad == "skip":
                waiting.without_batch(number)
            raise
        finally:
            engine.discard(out)

    engine.each_batch(frame, take, checkpoint=notes, once=once, every=every)


PANEL = ("domain", "calendar", "fold", "on_duplicate", "meters", "tenancies", "out")
"""What is told to `panel`; the rest is told to `read`."""


def _check(said: dict[str, Any]) -> None:
    """Refuse what nobody understands here, before any file is called bad for it."""
    options = _reading(said)
    name = options.pop("format", "auto")
    if name == "auto":
        check_options(options)
    elif isinstance(name, str):
        format_named(name, options)


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
