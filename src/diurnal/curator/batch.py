"""Batch: readings that come from elsewhere under a key, taken once by every stream they are for.

All of it is one transaction: every stream has taken the batch, its reports are drawn and the key is remembered, or
nothing has happened. Whoever sends a batch again, because no answer came, is told that it was taken before. The
same key with other readings is refused: somebody would believe that they had been taken.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from diurnal.curator import ledger
from diurnal.curator.curator import Curator
from diurnal.curator.publishing import reportable
from diurnal.curator.records import StreamRecord
from diurnal.curator.stream import Stream
from diurnal.errors import BatchError, ReadingsError, StreamError
from diurnal.private import Private
from diurnal.readings.panel import Panel

HELD = ("repeated", "corrected, and not taken")
"""Counters of readings that were held already. Who sends a guess is not told whether it is the same."""

NOT_TAKEN = ("late, and not taken", "outside the domain", *HELD)
"""Counters of single readings that a stream has set aside."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Fate(Private):
    """What became of a batch in one stream. For who sent it, and the custodian."""

    stream: str
    """The stream's name."""
    again: bool = False
    """Whether it had taken the batch before."""
    reports: int = 0
    """How many rows were released with it."""
    taken: int = 0
    """How many readings it has taken."""
    set_aside: dict[str, int] = field(default_factory=dict)
    """What it has not taken, by reason."""


def known(curator: Curator, key: str, digest: str, *, stream: str | None = None) -> tuple[Fate, ...] | None:
    """What became of a batch that was taken before; None if some stream has yet to take it.

    Raises:
        BatchError: The key was used for other readings.
        StreamError: No stream takes readings, or none is called so.
    """
    with curator._store.transaction():
        records = curator._store.records() if stream is None else [curator.stream(stream)._record()]
        # A stream that has been stopped since has taken it all the same.
        fates = {record.key: _again(curator, record, key, digest) for record in records}
        found = tuple(fate for fate in fates.values() if fate is not None)
        if found and not any(_is_open(curator, record) and fates[record.key] is None for record in records):
            return found
        _open(curator, stream)
    return None


def take(curator: Curator, key: str, digest: str, panel: Panel, *, stream: str | None = None) -> tuple[Fate, ...]:
    """Let every stream that takes readings report a batch, once.

    A stream of which nobody is in the batch is not concerned, and not told of.

    Args:
        curator: The streams' curator.
        key: What the batch goes by.
        digest: A digest of what is in it.
        panel: What is in it.
        stream: The one stream that it is for, by how its name begins; all of them unless given.

    Raises:
        BatchError: The key was used for other readings.
        StreamError: No stream takes readings, or none is called so.
        ReadingsError: Nobody in it is on any roster.
    """
    with curator._store.transaction():
        records = [record for record in _open(curator, stream) if _concerns(record, panel)]
        if not records:
            raise ReadingsError(
                f"None of the {panel.n_households} households is on the roster of a stream.",
                hint="Names must be those of the history. A new roster is a new plan.",
            )
        return tuple(
            _again(curator, record, key, digest) or _taken(curator, record, key, digest, panel)
            for record in records
        )


def _open(curator: Curator, stream: str | None) -> Sequence[StreamRecord]:
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
    last = curator._store.last_step(record.number)
    return record.end is None or max(record.first_step, -1 if last is None else last + 1) < record.end


def _concerns(record: StreamRecord, panel: Panel) -> bool:
    where = record.where(panel.households)
    return where is None or bool((where >= 0).any())


def _again(curator: Curator, record: StreamRecord, key: str, digest: str) -> Fate | None:
    store, (name, content) = curator._store, _names(key, digest)
    if not store.has_taken(record.number, name):
        return None
    if not store.has_taken(record.number, content):
        raise BatchError(
            "Other readings were taken under this key.", hint="Give every batch a key of its own, such as a digest."
        )
    return Fate(stream=record.key, again=True)


def _taken(curator: Curator, record: StreamRecord, key: str, digest: str, panel: Panel) -> Fate:
    store = curator._store
    for name in _names(key, digest):
        store.take(record.number, name)
    before, given = store.counts(record.number), _given(curator, record, panel)
    last = ledger.last(store.connection)
    Stream(store, record.key).report(panel)
    counts = Counter(store.counts(record.number))
    counts.subtract(before)
    taken = given - sum(counts[what] for what in NOT_TAKEN)
    counts["held before"] = sum(counts.pop(what, 0) for what in HELD)
    return Fate(
        stream=record.key,
        reports=_released(curator, record, 0 if last is None else last.number),
        taken=taken,
        set_aside={what: number for what, number in counts.items() if number},
    )


def _released(curator: Curator, record: StreamRecord, after: int) -> int:
    """How many rows of a stream the ledger tells of after an event."""
    events = ledger.events(curator._store.connection, after)
    own = (event.content for event in events if event.kind == "reported")
    return sum(content["rows"] for content in own if content["plan"] == record.number)


def _given(curator: Curator, record: StreamRecord, panel: Panel) -> int:
    """How many readings of a panel are of the stream's households and steps."""
    panel = panel.on_grid(record.plan.grid)
    mine = np.array(reportable(record, panel.steps, curator._store), dtype=np.int64) - panel.first_step
    where = record.where(panel.households)
    present = panel.present[mine]
    return int(np.count_nonzero(present if where is None else present[:, where >= 0]))


def _names(key: str, digest: str) -> tuple[str, str]:
    """What is remembered of a batch: its key, and its key with what was in it."""
    name = f"batch {hashlib.sha256(key.encode()).hexdigest()}"
    return name, f"{name} {digest}"
