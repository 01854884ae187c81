"""Batch: readings that come from elsewhere, taken once by every stream they are for.

All of it is one transaction: every stream has taken the batch, its reports are drawn and the key is remembered, or
nothing has happened. Whoever sends a batch again under its key, because no answer came, is told that it was taken
before. A key is its sender's own: from another it is another batch. Without a key nothing is known of a batch but
its readings, of which the first of a household and step counts.

**Guarantee**: no answer depends on what a reading was that is held, or was reported. So a key that comes again is
answered alike whatever comes with it, and nothing of that is taken: whether it was the same is counted for the
custodian, as long as all its cycles are open. Of a batch without a key, what is there already is set aside, whether
it is the same or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from diurnal.curator.closing import AHEAD
from diurnal.curator.curator import Curator
from diurnal.curator.outcome import Outcome
from diurnal.curator.records import StreamRecord
from diurnal.curator.stream import Stream, set_aside
from diurnal.curator.stream import takes as steps_taken
from diurnal.errors import ClockError, ReadingsError, StreamError
from diurnal.private import Private
from diurnal.readings.panel import Panel


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
        found, waits = taken_by(curator, sent, stream)
        if found and not waits:
            return tuple(_again(curator, record, sent) for record in found)
        open_records(curator, stream)
    return None


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
            for record, outcome in zip(records, outcomes, strict=True):
                if outcome.keyed:
                    name = _name(curator, sent.sender, sent.key)
                    Stream(curator._store, record.key).remember(name, sent.content, panel)
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


def taken_by(curator: Curator, sent: Sent, stream: str | None) -> tuple[list[StreamRecord], bool]:
    """The streams that have taken a batch before, and whether another has yet to."""
    records = curator._store.records() if stream is None else [curator.stream(stream)._record()]
    # A stream that has been stopped since has taken it all the same.
    found = [record for record in records if _has_taken(curator, record, sent)]
    return found, any(_is_open(curator, record) for record in records if record not in found)


def concerned(curator: Curator, panel: Panel, stream: str | None) -> list[StreamRecord]:
    """The streams that a batch is for.

    Raises:
        StreamError: No stream takes readings, or none is called so.
        ReadingsError: Nobody in it is on any roster.
    """
    records = [record for record in open_records(curator, stream) if _concerns(record, panel)]
    if not records:
        raise ReadingsError(
            f"None of the {panel.n_households} households is on the roster of a stream.",
            hint="Names must be those of the history. A new roster is a new plan.",
        )
    return records


def open_records(curator: Curator, stream: str | None) -> Sequence[StreamRecord]:
    """The streams that still report something."""
    if stream is not None:
        return [curator.stream(stream)._record()]
    found = [record for record in curator._store.records() if _is_open(curator, record)]
    if not found:
        raise StreamError("No stream takes readings.", hint="Start a plan first.")
    return found


def _is_open(curator: Curator, record: StreamRecord) -> bool:
    if record.lake is not None:
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
    store.count(record.number, {"batches sent again": 1})
    store.compare_content(
        record.number, _name(curator, sent.sender, sent.key), store.keyed("content", sent.content)
    )
    return Outcome(stream=record.key, again=True)


def _taken(curator: Curator, record: StreamRecord, sent: Sent, panel: Panel) -> Outcome:
    store, stream = curator._store, Stream(curator._store, record.key)
    try:
        outcome = stream._receive(panel, sender=sent.sender)
    except ClockError as error:
        # Nothing was taken, so nothing is remembered under its key: it may be sent again when its time has come.
        store.count(record.number, {AHEAD: error.rows})
        return Outcome(stream=record.key, set_aside={AHEAD: error.rows})
    if sent.key is not None:
        store.take(record.number, _name(curator, sent.sender, sent.key))
        outcome = replace(outcome, keyed=True)
    # Its sender is told of these rows apart from what became of readings.
    store.count(record.number, set_aside(panel.quality, "batch"))
    return outcome


def _name(curator: Curator, sender: str, key: str) -> str:
    """What is remembered of a batch for ever."""
    return curator._store.keyed("batch", sender, key)
