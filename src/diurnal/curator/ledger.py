"""Ledger: everything that was ever decided, each event with a hash over the one before.

Whoever changes, removes or reorders an event breaks the chain; whoever changes a released row no longer has what
its event says. The head, the last hash with what was spent and reported so far, is printed on every batch: who
has it can say later that nothing was taken back, and can fence a restored backup.

There are two heads. The public one is of the last event that is not about people, and counts only such events: it
is another after a decision that the public is told of, and stays as it is when a household is erased or moves.
The custodian's is of the last event of all, and says how many erasures and changes of tenancy there were.

Guarantee:
    An event may hold digests of what is private. Its hash is over 256 random bits of its own, which never leave the
    store: what a head hides rests on SHA-256 and on them, not on how hard the rest is to guess. Events of stores of
    version 1 have none; there it rests on the store's salt of 122 random bits.

What a store knows of itself, its facts, is checked as it is read. A fact is JSON in a row of its own. Somebody
may have edited the database, or the disk may have damaged it: a fact of another kind than was written is a
`StoreError`, wherever it is read, and never a traceback.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import sqlalchemy as sa

from diurnal.curator import database
from diurnal.curator.started_plan import readable
from diurnal.errors import StoreError
from diurnal.exact import text
from diurnal.promise.budget import Budget, Loss
from diurnal.readings.grid import Grid

START = "0" * 64
"""What stands before the first event."""

PEOPLE = frozenset({"erased", "forgotten", "moved out", "tenancy"})
"""Kinds of events about people. The public is told neither when there was one nor how many there were."""

DEEDS = frozenset({"forgotten", "tenancy"})
"""Of these there is one for each erasure and each change of tenancy, however many plans it concerns."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that was decided."""

    number: int
    """Its place, from 1."""
    time: str
    """When, by the clock of the store."""
    kind: str
    """What: created, settled, calendar, started, begins, reported, drawn, stopped, raised, erased, forgotten, moved
    out, tenancy, fenced."""
    content: dict[str, Any]
    """The rest."""
    hash: str
    """A hash over all of it and the hash before."""
    nonce: str = ""
    """Random bits that are hashed with it; none in events of a store of version 1."""

    @classmethod
    def after(cls, before: Event | None, kind: str, content: dict[str, Any], now: datetime) -> Event:
        """The next event."""
        number, time = (before.number if before else 0) + 1, now.astimezone(UTC).isoformat(timespec="seconds")
        event = cls(number=number, time=time, kind=kind, content=content, hash="", nonce=nonce())
        return replace(event, hash=chained(before, event))

    @property
    def is_told(self) -> bool:
        """Whether the public may know that there was such an event."""
        return self.kind not in PEOPLE


def nonce() -> str:
    """256 random bits that hide what is hashed with them. They reach no release."""
    return os.urandom(32).hex()


def chained(before: Event | None, event: Event) -> str:
    """The hash of an event after another."""
    last = before.hash if before else START
    parts = [last, event.number, event.time, event.kind, event.content, *([event.nonce] if event.nonce else [])]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def commitment(plan: int, cycle: int, noise: str, nonce: str) -> str:
    """A digest of a cycle's noise that tells nothing of it to who has not the nonce, 256 random bits."""
    return hashlib.sha256(json.dumps([nonce, plan, cycle, noise]).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Head:
    """Where a ledger stands: its last event, and what was spent and reported up to it."""

    store: str
    """Which store's."""
    number: int
    """How many events there are; in a public head, how many that are not about people."""
    hash: str
    """The first half of the last one's hash."""
    step: int
    """The last step of which anything was ever shown, in a report or a free reference; -1 if nothing was."""
    pattern: Loss
    """What all plans together have spent of the pattern budget."""
    strong: Loss
    """What all plans together have spent of the strong budget."""
    people: int | None
    """How many erasures and changes of tenancy there were; None in a public head, which does not tell."""
    levels: str
    """The first letters of the levels of all its plans."""

    def __str__(self) -> str:
        spent = f"{loss_text(self.pattern)}:{loss_text(self.strong)}"
        people = "" if self.people is None else self.people
        return f"{self.store}:{self.number}:{self.hash}:{self.step}:{spent}:{people}:{self.levels}"

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
                people=int(people) if people else None,
                levels=levels,
            )
        except (ValueError, AttributeError, ZeroDivisionError):
            raise StoreError("head-invalid") from None


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
    found = connection.execute(database.LAST_EVENT).one_or_none()
    return None if found is None else _event(found)


def at(connection: Any, number: int) -> Event | None:
    """An event by its number."""
    found = connection.execute(database.EVENT, {"number": number}).one_or_none()
    return None if found is None else _event(found)


def append(connection: Any, kind: str, content: dict[str, Any], now: datetime) -> Event:
    """Add an event, inside the transaction of what it tells of."""
    event = Event.after(last(connection), kind, content, now)
    told = {name: getattr(event, name) for name in ("number", "time", "kind", "hash", "nonce")}
    connection.execute(database.ledger.insert(), {**told, "content": json.dumps(content, sort_keys=True)})
    return event


def events(connection: Any, after: int = 0, limit: int | None = None) -> Iterator[Event]:
    """All events in order, from the one after a number on; or so many of them."""
    query = sa.select(database.ledger).where(database.ledger.c.number > after).order_by(database.ledger.c.number)
    for found in connection.execute(query.limit(limit)):
        yield _event(found)


def _event(found: Any) -> Event:
    try:
        content = json.loads(found.content)
        if not isinstance(content, dict):
            raise TypeError
    except (ValueError, TypeError, RecursionError):
        raise StoreError("ledger-event-damaged", event=found.number) from None
    named = {name: getattr(found, name) for name in ("number", "time", "kind", "hash", "nonce")}
    return Event(content=content, **named)


def fact(name: str, words: Any) -> Any:
    """A fact from its text in the database; None if there is none, or if it says so.

    Args:
        name: Its name. Facts about a plan end in its number.
        words: Its text; None if there is no such row.

    Raises:
        StoreError: It is missing, or of another kind than was written.
    """
    kind = name.split()[0]
    with readable(f"What the store knows of its {kind}"):
        value = None if words is None else json.loads(words)
        if value is None and kind not in REQUIRED:
            return None
        if not KINDS[kind](value):
            raise ValueError
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_key(value: Any) -> bool:
    """256 bits in hexadecimal digits."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _is_head(value: Any) -> bool:
    try:
        return bool(str(Head.of(value)))
    except StoreError:
        return False


def _is_budget(value: Any) -> bool:
    # From decimals as they were written: `Budget` would also take a number, which nobody has written here.
    names = {"pattern", "strong", "delta"}
    return isinstance(value, dict) and value.keys() == names and Budget.from_json(value).to_json() == value


def _is_population(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {"grid", "domain", "channel"}:
        return False
    domain = value.get("domain", [0, 1])
    return (
        ("grid" not in value or Grid(**value["grid"]).to_json() == value["grid"])
        and isinstance(domain, list)
        and len(domain) == 2
        and all(map(_is_number, domain))
        and isinstance(value.get("channel", ""), str)
    )


def _is_fence(value: Any) -> bool:
    losses = [loss_of(value[name]) for name in ("pattern", "strong")]
    return (
        len(losses) == 2
        and isinstance(value["heads"], list)
        and all(map(_is_word, value["heads"]))
        and _is_head(value["base"])
        and _is_number(value["step"])
        and isinstance(value["levels"], str)
    )


KINDS: dict[str, Callable[[Any], bool]] = {
    "version": _is_count,
    "budget": _is_budget,
    "population": _is_population,
    "salt": _is_word,
    "id": _is_word,
    "lineage": _is_word,
    "secret": _is_key,
    "taken": _is_key,
    "backup": _is_head,
    "fence": _is_fence,
    "owed": _is_count,
    "knew": _is_count,
    "place": _is_word,
    "latest": _is_number,
    "settled": _is_number,
}
"""By the name of a fact, or by the first word of it, whether a value is of the kind that is written there."""

REQUIRED = frozenset({"version", "budget", "population", "salt", "id", "lineage", "secret", "taken"})
"""Facts that every store has."""
