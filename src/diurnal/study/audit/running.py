"""Running: facts about a stream that is running, from its store."""

from __future__ import annotations

from diurnal.curator import guard
from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.errors import DiurnalError
from diurnal.exact import text
from diurnal.study.audit.facts import Fact


def running(curator: Curator, stream: Stream) -> list[Fact]:
    """What must hold of a store and one of its streams: looked at, and nothing drawn, spent or written.

    Args:
        curator: The curator of the store.
        stream: The stream.
    """
    return [_whole(curator), _within(curator), _allowed(curator), _rows(stream)]


def _whole(curator: Curator) -> Fact:
    looked = curator.verify()
    return Fact(
        name="the store is as its ledger says",
        held=looked.sound,
        # How many events there are is not said: an audit is published, and people are among them.
        says=f"Of the ledger and {looked.rows:,} rows, {len(looked.findings)} finding(s).",
    )


def _within(curator: Curator) -> Fact:
    status = curator.status()
    spent = {"pattern": status.pattern, "strong": status.strong}
    return Fact(
        name="no household has spent more than the budget",
        held=all(used <= allowed for used, allowed in spent.values()),
        says="; ".join(f"{name}: {text(used)} of {text(allowed)}" for name, (used, allowed) in spent.items()) + ".",
    )


def _allowed(curator: Curator) -> Fact:
    """The guard's rules between plans, applied again to those that are there."""
    store, refused = curator._store, []
    with store.transaction():
        records = store.records()
    for place, record in enumerate(records):
        others = records[:place]
        try:
            guard.check_beside(record, others, is_far=record.lake is not None)
            guard.check_profiles(record, others)
        except DiurnalError as refusal:
            refused.append(f"{record.key[:12]}: {type(refusal).__name__}")
    return Fact(
        name="the plans may stand beside each other",
        held=not refused,
        says=f"{len(records)} plan(s); would be refused today: {'; '.join(refused) or 'none'}.",
    )


def _rows(stream: Stream) -> Fact:
    """Rows are of the plan's own steps, and say to have noise."""
    record, rows = stream._record(), stream.rows()
    outside = sum(not record.first_step <= row.step < record.last for row in rows)
    bare = sum(row.deviation <= 0 for row in rows)
    return Fact(
        name="every row is at a step of the plan, and has noise",
        held=outside == bare == 0,
        says=f"{len(rows):,} rows; {outside} at steps that are not the plan's, {bare} that say to have no noise.",
    )
