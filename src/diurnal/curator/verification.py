"""Verification: whether a store is still what its ledger says it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from diurnal.curator import far, ledger, schema
from diurnal.curator.layers import in_parts
from diurnal.curator.ledger import Event, Head
from diurnal.curator.records import StreamRecord
from diurnal.curator.store import Store
from diurnal.errors import StoreError


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a look through a whole store found."""

    events: int
    """How many events the ledger has."""
    rows: int
    """How many released rows there are."""
    findings: tuple[str, ...]
    """What is not as it was written; nothing, in a store that nobody has touched."""

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings

    def __str__(self) -> str:
        head = (
            f"{self.events:,} events, {self.rows:,} rows: {'sound' if self.sound else 'NOT as they were written'}"
        )
        return "\n".join([head, *(f"  {finding}" for finding in self.findings)])


def verify(store: Store, head: str | None = None) -> Verification:
    """Look through a store: the chain of events, released rows, plans and their profiles, calendar, budget.

    Args:
        store: The store.
        head: A head that was published: it must still be in the ledger, or something was taken back since.
    """
    with store.transaction():
        try:
            events = list(store.events())
        except StoreError as error:
            return Verification(events=0, rows=0, findings=(error.message,))
        rows = int(store.connection.scalar(sa.select(sa.func.count()).select_from(schema.rows)))
        found = [
            *_chain(events),
            *_published(events, head),
            *_rows(store, events, rows),
            *_plans(store, events),
        ]
        try:
            found += _facts(store, events)
        except StoreError as error:
            found.append(error.message)
    return Verification(events=len(events), rows=rows, findings=tuple(found))


def _chain(events: list[Event]) -> Iterator[str]:
    before: Event | None = None
    for place, event in enumerate(events, start=1):
        if event.number != place:
            yield f"event {place} is missing"
            return
        if event.hash != ledger.chained(before, event.number, event.time, event.kind, event.content):
            yield f"event {place} is not what was written, or not where it was"
            return
        before = event
    if not events:
        yield "the ledger is empty"


def _published(events: list[Event], words: str | None) -> Iterator[str]:
    if words is None:
        return
    head = Head.of(words)
    if head.number > len(events) or events[head.number - 1].hash[:32] != head.hash:
        yield f"the head that was published, of event {head.number}, is not in the ledger"


def _rows(store: Store, events: list[Event], total: int) -> Iterator[str]:
    told = 0
    for event in events:
        if event.kind != "reported":
            continue
        told += event.content["rows"]
        found: list[Any] = []
        for first, last in event.content["steps"]:
            table = schema.rows.c
            query = (
                sa.select(table.step, table.place, table.value)
                .where(table.plan == event.content["plan"], table.step.between(first, last))
                .order_by(table.step, table.place)
            )
            found += store.connection.execute(query).all()
        if ledger.digest_of(tuple(row) for row in found) != event.content["digest"]:
            yield f"rows of event {event.number} are not what was released"
    if told != total:
        yield f"{total:,} rows are there, and {told:,} were released"


def _plans(store: Store, events: list[Event]) -> Iterator[str]:
    told = {event.content["plan"]: event.content["content"] for event in events if "content" in event.content}
    there = dict(store.connection.execute(sa.select(schema.plans.c.number, schema.plans.c.content)).all())
    for number in sorted(told.keys() | there.keys()):
        if number not in there:
            yield f"plan {number} is missing"
        elif told.get(number) != ledger.digest_of([(number, 0, there[number])]):
            yield f"plan {number} is not what was started"
    try:
        for record in store.records(fresh=True):
            yield from _noise(store, record)
            if record.lake is not None and not far.is_sound(record):
                yield f"the profiles of plan {record.number}, in the lake, are not what was put there"
    except StoreError as error:
        yield error.message
    except (ValueError, KeyError, TypeError):
        yield "a plan cannot be read"


def _noise(store: Store, record: StreamRecord) -> Iterator[str]:
    """Noise that was used stays until its cycle closes, and leaves an empty row: else it could be drawn again."""
    layer = record.plan.cycle_layer()
    slots = record.plan.grid.slots
    if layer is None or not in_parts(layer, slots):
        return
    query = sa.select(schema.rows.c.step // slots).where(schema.rows.c.plan == record.number).distinct()
    missing = set(store.connection.scalars(query).all()) - store.drawn_cycles(record.number)
    if missing:
        yield f"the noise of plan {record.number}, cycle {min(missing)}, is missing"


def _facts(store: Store, events: list[Event]) -> Iterator[str]:
    closed: set[int] = set()
    people: set[str] = set()
    budget = fence = population = identity = None
    for event in events:
        if event.kind == "calendar":
            closed.update(event.content["steps"])
        if event.kind in ("created", "raised"):
            budget = event.content["budget"]
        if event.kind == "created":
            identity = event.content["identity"]
        if event.kind in ("created", "settled"):
            population = event.content["population"]
        if event.kind == "fenced":
            fence = event.content["fence"]
        if event.kind == "forgotten":
            people.add(event.content["household"])
    if closed != store.calendar():
        yield "the calendar is not what was written"
    if budget != store.fact("budget"):
        yield "the budget is not what was written"
    if population != store.fact("population"):
        yield "the population is not what was written"
    if identity != store.identity():
        yield "the store's name or salt is not what was written"
    if people != store.erased():
        yield "who was erased is not what was written"
    if fence != store.fact("fence"):
        yield "the fence is not what was written"
