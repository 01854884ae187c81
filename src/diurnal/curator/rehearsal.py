"""Rehearsal: what would become of a batch, if it were sent. Nothing is written, drawn or remembered.

**Guarantee**: as for a batch that is taken, no answer depends on what a reading was that is held, or was reported:
which readings are there already is told, as it is of a batch, and nothing of their values. A key that was used is
not compared with what comes under it now, and one that was not stays unused.
"""

from __future__ import annotations

from collections.abc import Sequence

from diurnal.curator import batch
from diurnal.curator.batch import Sent
from diurnal.curator.closing import AHEAD
from diurnal.curator.curator import Curator
from diurnal.curator.open_state import OpenState
from diurnal.curator.outcome import Outcome
from diurnal.curator.records import StreamRecord
from diurnal.curator.stream import Stream
from diurnal.errors import ClockError, UnitError
from diurnal.readings.panel import Panel


def known(curator: Curator, sent: Sent, *, stream: str | None = None) -> tuple[Outcome, ...] | None:
    """What would be answered for a key that was used: that it was; None if some stream has yet to take it.

    Raises:
        StreamError: No stream takes readings, or none is called so.
    """
    with curator._store.transaction():
        found, waits = batch.taken_by(curator, sent, stream)
        if found and not waits:
            return tuple(Outcome(stream=record.key, again=True) for record in found)
        batch.open_records(curator, stream)
    return None


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
        records = batch.concerned(curator, panel, stream)
        outcomes = [
            Outcome(stream=record.key, again=True)
            if batch._has_taken(curator, record, sent)
            else _would_be(curator, record, sent, panel)
            for record in records
        ]
        return tuple(outcomes), _refusal(curator, records, sent, panel)


def _refusal(curator: Curator, records: Sequence[StreamRecord], sent: Sent, panel: Panel) -> UnitError | None:
    for record in records:
        if not batch._has_taken(curator, record, sent):
            _, refusal = curator._store.units.would(record, panel, sender=sent.sender)
            if refusal is not None:
                return refusal
    return None


def _would_be(curator: Curator, record: StreamRecord, sent: Sent, panel: Panel) -> Outcome:
    store, stream = curator._store, Stream(curator._store, record.key)
    state = OpenState(record, store, panel.on_grid(record.plan.grid).steps)
    taker = stream._taker(record, state)
    says, _ = store.units.would(record, panel, sender=sent.sender)
    try:
        came = taker.received(panel, close=False)
    except ClockError as error:
        return Outcome(stream=record.key, set_aside={AHEAD: error.rows}, units=says)
    return Outcome(
        stream=record.key,
        taken=came.readings,
        waiting=came.waiting,
        set_aside={what: number for what, number in taker.counts.items() if number},
        units=says,
    )
