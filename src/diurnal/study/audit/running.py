"""Running: facts about a stream that is running, from its store."""

from __future__ import annotations

from collections import Counter

from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.exact import text
from diurnal.study.audit.facts import Fact


def running(curator: Curator, stream: Stream) -> list[Fact]:
    """What must hold of a store and one of its streams: looked at, and nothing drawn, spent or written.

    Args:
        curator: The curator of the store.
        stream: The stream.
    """
    return [_whole(curator), _within(curator), _once(stream), _its_own(stream)]


def _whole(curator: Curator) -> Fact:
    looked = curator.verify()
    return Fact(
        name="the store is as its ledger says",
        held=looked.sound,
        says=f"{looked.events} events and {looked.rows} rows were looked at; {len(looked.findings)} finding(s).",
    )


def _within(curator: Curator) -> Fact:
    status = curator.status()
    spent = {"pattern": status.pattern, "strong": status.strong}
    return Fact(
        name="no household has spent more than the budget",
        held=all(used <= allowed for used, allowed in spent.values()),
        says="; ".join(f"{name}: {text(used)} of {text(allowed)}" for name, (used, allowed) in spent.items()) + ".",
    )


def _once(stream: Stream) -> Fact:
    rows = stream.rows()
    times = Counter((row.step, row.group, row.series) for row in rows)
    twice = sum(number > 1 for number in times.values())
    return Fact(
        name="each step of a group has one row",
        held=twice == 0,
        says=f"{len(rows)} rows; {twice} of them more than once.",
    )


def _its_own(stream: Stream) -> Fact:
    """Rows are of the plan, and say as much noise as its mechanisms have."""
    plan, rows = stream.plan, stream.rows()
    other = sum(row.plan != plan.hash for row in rows)
    bare = sum(row.deviation <= 0 for row in rows)
    return Fact(
        name="every row is the plan's, and has noise",
        held=other == bare == 0,
        says=f"{len(rows)} rows; {other} of another plan, {bare} that say to have no noise.",
    )
