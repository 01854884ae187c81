"""Verification: whether a store is still what its ledger says it is.

The database checks its own files first. Then what the ledger tells of is held against it: released rows, plans
and their profiles, noise that waits, the calendar, the budget, the population, who was erased, the fence. Readings
that are held have a seal each, and what was taken has a digest: these find damage. Whoever can write the store can
also write the ledger, seals and digests anew: who has kept a head sees that of the ledger. `NOT_LOOKED_AT` can be
changed unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from diurnal.curator import far, ledger, schema
from diurnal.curator.damage import damage
from diurnal.curator.layers import in_parts
from diurnal.curator.ledger import Event, Head
from diurnal.curator.publishing import is_over
from diurnal.curator.records import UNREADABLE, StreamRecord
from diurnal.curator.store import Store
from diurnal.errors import StoreError

NOT_LOOKED_AT: dict[str, frozenset[str]] = {
    "arrivals": frozenset({"plan", "cycle", "time", "reached"}),
    "contents": frozenset({"plan", "name", "content", "first", "last", "others"}),
    "used": frozenset({"plan", "step", "digest"}),
    "counts": frozenset({"plan", "what", "number"}),
    "plans": frozenset({"token"}),
    "facts": frozenset({"latest", "settled", "lineage", "backup", "place", "secret"}),
}
"""By table, the columns (of `facts`, the facts) that may be another than was written without anybody's seeing it.

When readings of open cycles began to come (`arrivals`: another time closes a cycle sooner or later), and how far a
stream has come (`latest`, `settled`). What was in batches of open cycles, and the secret by which what was taken is
known: taken a second time, it reports no step again. Which readings pattern plans have used: the ledger would keep
a digest of them for ever, also of who was erased; who forges one can have a later plan publish what differs between
two versions of a reading. Counters, names of files and of copies in memory. That it is a backup, or where it was
made: without that a copy looks like the store itself.

A row of `held` that is gone altogether, its seal with it, is found by SQLite's own check where damage took it, and
not where somebody has deleted it. By blocks, somebody who puts other readings, with a seal of their own, in the
place of what is held of a block that is out lets a household count twice in its cycle.
"""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a look through a whole store found."""

    events: int
    """How many events the ledger has."""
    rows: int
    """How many released rows there are."""
    findings: tuple[str, ...]
    """What is not as it was written; nothing, in a store that nobody has touched."""
    not_checked: tuple[str, ...] = ()
    """What of the database could not be checked here, and why."""

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings

    def __str__(self) -> str:
        head = (
            f"{self.events:,} events, {self.rows:,} rows: {'sound' if self.sound else 'NOT as they were written'}"
        )
        not_checked = [f"  not checked: {each}" for each in self.not_checked]
        return "\n".join([head, *(f"  {finding}" for finding in self.findings), *not_checked])


def verify(store: Store, head: str | None = None) -> Verification:
    """Look through a store: the database itself, the chain of events, and all that the ledger tells of.

    Nothing that is read from a damaged database can be relied on: where there is damage, only that is said.

    Args:
        store: The store.
        head: A head that was published: it must still be in the ledger, or something was taken back since.
    """
    # A head that is none is the asker's mistake, and no finding.
    digest = None if head is None else Head.of(head).hash
    with store.transaction():
        own = damage(store.connection)
        if own.found:
            return Verification(events=0, rows=0, findings=own.found, not_checked=own.not_checked)
        events: list[Event] = []
        if unread := list(_said("the ledger", lambda: _read(store, events))):
            return Verification(events=0, rows=0, findings=tuple(unread), not_checked=own.not_checked)
        rows = int(store.connection.scalar(sa.select(sa.func.count()).select_from(schema.rows)))
        checks: dict[str, Callable[[], Iterator[str]]] = {
            "the chain of events": lambda: _chain(events),
            "the head": lambda: _published(events, digest),
            "noise": lambda: _drawn_twice(events),
            "released rows": lambda: _rows(store, events, rows),
            "plans": lambda: _plans(store, events),
            "waiting noise": lambda: _odd(store),
            "facts": lambda: _facts(store, events),
        }
        found = [each for what, check in checks.items() for each in _said(what, check)]
    return Verification(events=len(events), rows=rows, findings=tuple(found), not_checked=own.not_checked)


def _said(what: str, check: Callable[[], Iterator[str]]) -> Iterator[str]:
    """What a check finds; where it cannot read what it looks at, that."""
    try:
        yield from check()
    except StoreError as error:
        yield error.message
    except (*UNREADABLE, sa.exc.DBAPIError):
        yield f"{what} cannot be read"


def _read(store: Store, events: list[Event]) -> Iterator[str]:
    events.extend(store.events())
    yield from ()


def _odd(store: Store) -> Iterator[str]:
    """What waits and is not what was written."""
    for plan, cycle in store.odd_noise():
        yield f"the noise of plan {plan}, cycle {cycle}, is not what was drawn"
    for plan, step in store.odd_held():
        yield f"the readings that plan {plan} holds of step {step} are not what was written"
    if not store.taken_is_whole():
        yield "what was taken is not what was written"


def _chain(events: list[Event]) -> Iterator[str]:
    before: Event | None = None
    for place, event in enumerate(events, start=1):
        if event.number != place:
            yield f"event {place} is missing"
            return
        if event.hash != ledger.chained(before, event):
            yield f"event {place} is not what was written, or not where it was"
            return
        before = event
    if not events:
        yield "the ledger is empty"


def _published(events: list[Event], digest: str | None) -> Iterator[str]:
    # By its hash: a public head counts other events than the custodian's.
    if digest is not None and not any(event.hash.startswith(digest) for event in events):
        yield "the head that was published is not in the ledger"


def _drawn_twice(events: list[Event]) -> Iterator[str]:
    """Noise is drawn once for each cycle, so that the ledger commits to it once."""
    seen = set[tuple[int, int]]()
    for event in (event for event in events if event.kind == "drawn"):
        cycle = event.content["plan"], event.content["cycle"]
        if cycle in seen:
            yield f"the noise of plan {cycle[0]}, cycle {cycle[1]}, was drawn more than once"
        seen.add(cycle)


def _rows(store: Store, events: list[Event], total: int) -> Iterator[str]:
    told = 0
    for event in events:
        if event.kind != "reported":
            continue
        told += event.content["rows"]
        found = _of_steps(store, event, schema.rows, "place", "value")
        if ledger.digest_of(tuple(row) for row in found) != event.content["digest"]:
            yield f"rows of event {event.number} are not what was released"
    if told != total:
        yield f"{total:,} rows are there, and {told:,} were released"


def _of_steps(store: Store, event: Event, table: sa.Table, *names: str) -> list[Any]:
    """What a table has of the plan and the steps of an event: the step, and some columns."""
    columns = [table.c[name] for name in ("step", *names)]
    found: list[Any] = []
    for first, last in event.content["steps"]:
        which = (table.c.plan == event.content["plan"]) & table.c.step.between(first, last)
        found += store.connection.execute(sa.select(*columns).where(which).order_by(*columns[:2])).all()
    return found


def _plans(store: Store, events: list[Event]) -> Iterator[str]:
    told = {event.content["plan"]: event.content["content"] for event in events if "content" in event.content}
    keys = {event.content["plan"]: event.content["key"] for event in events if event.kind == "started"}
    found = store.connection.execute(sa.select(schema.plans)).all()
    there = {each.number: each.content for each in found}
    if keys != {each.number: each.key for each in found}:
        yield "plans do not go by the names that they were started with"
    for number in sorted(told.keys() | there.keys()):
        if number not in there:
            yield f"plan {number} is missing"
        elif told.get(number) != ledger.digest_of([(number, 0, there[number])]):
            yield f"plan {number} is not what was started"
    for record in store.records(fresh=True):
        yield from _noise(store, record)
        if record.lake is not None and not far.is_sound(record):
            yield f"the profiles of plan {record.number}, in the lake, are not what was put there"


def _noise(store: Store, record: StreamRecord) -> Iterator[str]:
    """Noise that was used stays until its cycle closes, and leaves an empty row: else it could be drawn again."""
    layer = record.plan.cycle_layer()
    slots = record.plan.grid.slots
    if layer is None or not in_parts(layer, slots):
        return
    query = sa.select(schema.rows.c.step // slots).where(schema.rows.c.plan == record.number).distinct()
    reported, drawn = set(store.connection.scalars(query).all()), store.drawn_cycles(record.number)
    early = [cycle for cycle in drawn - set(store.noisy_cycles(record.number)) if _is_open(store, record, cycle)]
    for cycle in sorted((reported - drawn).union(early))[:1]:
        yield f"the noise of plan {record.number}, cycle {cycle}, is missing"
    for cycle in sorted(drawn - reported)[:1]:
        yield f"there is noise of plan {record.number}, cycle {cycle}, which has reported nothing"


def _is_open(store: Store, record: StreamRecord, cycle: int) -> bool:
    return not is_over(record, cycle, store)


def _facts(store: Store, events: list[Event]) -> Iterator[str]:
    closed: set[int] = set()
    people: set[tuple[str, str]] = set()
    facts: dict[str, Any] = dict.fromkeys(("budget", "population", "fence", "knew"))
    identity, owed, deeds = None, 0, 0
    for event in events:
        content = event.content
        facts |= {name: content[name] for name in facts if name in content}
        if event.kind == "calendar":
            closed.update(content["steps"])
        if event.kind == "created":
            identity = content["identity"]
        if event.kind == "forgotten":
            people.add((content["household"], "erased"))
        if event.kind in ledger.DEEDS:
            deeds, owed = deeds + 1, max(0, owed - 1)
        if event.kind == "fenced":
            # A store of version 1 does not tell what it owed; its heads say how many there were.
            owed = content.get("owed", max(owed, (Head.of(content["head"]).people or 0) - deeds))
    if closed != store.calendar():
        yield "the calendar is not what was written"
    if identity != store.identity():
        yield "the store's name or salt is not what was written"
    if people != set(map(tuple, store.connection.execute(sa.select(schema.people)).all())):
        yield "who was erased is not what was written"
    if owed != store.owed():
        yield "what the store owes to people is not what was written"
    if store.fact("version") != schema.VERSION:
        yield "the version of the store is not this one's"
    for name, told in facts.items():
        if told != store.fact(name):
            yield f"the {NAMES.get(name, name)} is not what was written"


NAMES = {"knew": "number of erasures that a backup knew"}
"""What facts are called, where they are not called by their name."""
