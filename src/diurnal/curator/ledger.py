"""Ledger: everything that was ever decided, each event with a hash over the one before.

Whoever changes, removes or reorders an event breaks the chain; whoever changes a released row no longer has what
its event says. The head, the last hash with what was spent and reported so far, is printed on every batch: who has
it can say later that nothing was taken back, and can fence a restored backup.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from diurnal.curator import queries, schema
from diurnal.errors import StoreError
from diurnal.exact import text
from diurnal.promise.budget import Loss

START = "0" * 64
"""What stands before the first event."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that was decided."""

    number: int
    """Its place, from 1."""
    time: str
    """When, by the clock of the machine."""
    kind: str
    """What: created, settled, calendar, started, reported, stopped, raised, erased, forgotten, moved out, tenancy,
    fenced."""
    content: dict[str, Any]
    """The rest."""
    hash: str
    """A hash over all of it and the hash before."""

    @classmethod
    def after(cls, before: Event | None, kind: str, content: dict[str, Any]) -> Event:
        """The next event."""
        number, time = (before.number if before else 0) + 1, datetime.now(UTC).isoformat(timespec="seconds")
        return cls(
            number=number, time=time, kind=kind, content=content, hash=chained(before, number, time, kind, content)
        )


def chained(before: Event | None, number: int, time: str, kind: str, content: dict[str, Any]) -> str:
    """The hash of an event after another."""
    last = before.hash if before else START
    return hashlib.sha256(json.dumps([last, number, time, kind, content], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Head:
    """Where a ledger stands: its last event, and what was spent and reported up to it. Public."""

    store: str
    """Which store's."""
    number: int
    """How many events there are."""
    hash: str
    """The first half of the last one's hash."""
    step: int
    """The last step of which anything was ever shown, in a report or a free reference; -1 if nothing was."""
    pattern: Loss
    """What all plans together have spent of the pattern budget."""
    strong: Loss
    """What all plans together have spent of the strong budget."""
    people: int
    """How many erasures and changes of tenancy there were."""
    levels: str
    """The first letters of the levels of all its plans."""

    def __str__(self) -> str:
        spent = f"{loss_text(self.pattern)}:{loss_text(self.strong)}"
        return f"{self.store}:{self.number}:{self.hash}:{self.step}:{spent}:{self.people}:{self.levels}"

    @classmethod
    def of(cls, words: str) -> Head:
        """The head that was printed.

        Raises:
            StoreError: It is none.
        """
        try:
            store, number, digest, step, pattern, strong, people, levels = words.strip().split(":")
            if len(digest) != 32:
                raise ValueError
            return cls(
                store=store,
                number=int(number),
                hash=digest,
                step=int(step),
                pattern=loss_of(pattern),
                strong=loss_of(strong),
                people=int(people),
                levels=levels,
            )
        except (ValueError, AttributeError, ZeroDivisionError):
            raise StoreError(
                "That is no head of a ledger.",
                hint="Give the line as it was printed, seven colons in it.",
            ) from None


def loss_text(loss: Loss) -> str:
    """A loss in a word: epsilon, and where there is a concentrated part that too."""
    return f"{text(loss.epsilon)}+{text(loss.zcdp)}z" if loss.zcdp else text(loss.epsilon)


def loss_of(words: str) -> Loss:
    """The loss that `loss_text` wrote; its pure part as if it were of one plan, which is the most it can be."""
    pure, _, concentrated = words.partition("+")
    return Loss.pure(Fraction(pure)) + Loss.concentrated(Fraction(concentrated.removesuffix("z") or 0))


def resumes(fence: Mapping[str, Any] | None, slots: int) -> int:
    """The step from which on may be reported: after a fence, with the next whole cycle."""
    return 0 if fence is None else -(-(fence["step"] + 1) // slots) * slots


def digest_of(lines: Iterable[tuple[int, int, str]]) -> str:
    """A digest of released rows (step, place, value), or of a started plan (its number, 0, its content)."""
    found = hashlib.sha256()
    for step, place, value in lines:
        found.update(f"{step} {place} {value}\n".encode())
    return found.hexdigest()


def last(connection: Any) -> Event | None:
    """The last event."""
    found = connection.execute(queries.LAST_EVENT).one_or_none()
    return None if found is None else _event(found)


def append(connection: Any, kind: str, content: dict[str, Any]) -> Event:
    """Add an event, inside the transaction of what it tells of."""
    event = Event.after(last(connection), kind, content)
    told = {"number": event.number, "time": event.time, "kind": kind, "hash": event.hash}
    connection.execute(schema.ledger.insert(), {**told, "content": json.dumps(content, sort_keys=True)})
    return event


def events(connection: Any, after: int = 0, limit: int | None = None) -> Iterator[Event]:
    """All events in order, from the one after a number on; or so many of them."""
    query = sa.select(schema.ledger).where(schema.ledger.c.number > after).order_by(schema.ledger.c.number)
    for found in connection.execute(query.limit(limit)):
        yield _event(found)


def _event(found: Any) -> Event:
    try:
        content = json.loads(found.content)
    except ValueError:
        raise StoreError(
            f"Event {found.number} of the ledger is damaged.", hint="Restore a backup, and fence it."
        ) from None
    return Event(number=found.number, time=found.time, kind=found.kind, content=content, hash=found.hash)
