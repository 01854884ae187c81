"""Store: what a curator remembers, durably: one population, its budget, its plans, its reports, its ledger.

Everything happens inside `transaction()`: at once, alone, and on the disk when it is over. Whoever asks again, in
this process or another, finds what was decided first. Profiles, held readings and cycle noise are private and
have no repr.

Some of it is kept for a while only: noise of open cycles, readings of open steps, and digests of what was in a
batch or a file are erased when their cycle closes. What else stays depends on no reading: facts, that a cycle's
noise was drawn, the names of what was taken (keyed), counters.

It lies in SQLite or PostgreSQL: the engines below `Store` see to it that a transaction is alone and that a commit
waits for the disk, and say in a sentence what a driver finds wrong.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
import os
import re
import sqlite3
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import sqlalchemy as sa

from diurnal.curator import database, ledger
from diurnal.curator.closing import Arrival, Changes, HeldStep, Mark, Opened, Values, runs
from diurnal.curator.ledger import Event, Head
from diurnal.curator.started_plan import UNREADABLE, MemoryShelf, Shelf, StreamRecord, by_step, readable
from diurnal.curator.taking import Scores
from diurnal.errors import DiurnalError, OwedError, StoreError, StreamError
from diurnal.exact import text
from diurnal.planning.plan import Plan
from diurnal.promise.budget import NOTHING, Budget, Loss
from diurnal.readings.quality import Counts, counted

OTHERS = "batches_other_content"
"""How often other readings came under the key of a batch, which changed nothing: not kept beyond the cycle."""


CURRENT = str(database.VERSION)
"""The version of stores that this code writes, as the database has it."""

STREAMED = {"yield_per": 100}
"""Rows come some at a time: those of a million homes are large."""


def _is_sealed(found: Any) -> bool:
    """Whether readings that are held, as the database has them, are what was written."""
    try:
        return bool(found.seal == database.sealed(found.seal[: database.NONCE], **database.unsealed(found)))
    except UNREADABLE:
        return False


def _digits(number: int) -> str:
    """A number in as many letters as any: how long a row was stays to be seen where it is erased."""
    return f"{number:012}"


Clock = Callable[[], datetime]
"""What time it is, with an offset."""


def utc_now() -> datetime:
    """What the clock of this machine shows."""
    return datetime.now(UTC)


ERASED_FROM = frozenset({"held", "noise", "contents", "used", "plans"})
"""Tables from which what is private goes again. They are small, or seldom erased from."""


class Store:
    """What a curator remembers. All methods but `transaction` are called inside it."""

    def __init__(self, engine: sa.Engine, shelf: Shelf, clock: Clock = utc_now) -> None:
        self._engine, self._shelf, self._clock = engine, shelf, clock
        self._lock = RLock()
        self._process = os.getpid()
        self._connection: Any = None
        self._records: dict[str, StreamRecord] = {}
        self._closed_steps: frozenset[int] | None = None
        self._facts: dict[str, str] | None = None
        self._old: dict[str, Callable[[str], None]] = {}
        self._left: dict[str, Callable[[str], None]] = {}
        self._unwiped: set[str] = set()
        self._new: dict[str, Callable[[str], None]] = {}
        self._erasing: set[str] = set()
        """The tables of which something is erased for good in this transaction."""
        self._fresh: set[tuple[int, int]] = set()
        """Plan and cycle of noise that was drawn in this transaction."""
        self.unwritten: set[int] = set()
        """Plans of which something was published in this transaction, and whose open state is yet to be written."""
        self.swept: set[str] = set()
        """Folders of the lake in which nothing is left of processes that were killed."""
        self.units = Scores()
        """How what was sent since then looks. It is not written, and ends with the process."""
        # Whoever had the store before may have been killed before its log was emptied.
        self._log_is_old = True
        # Connections are closed when nobody has the store any more.
        self._closing = weakref.finalize(self, engine.dispose)

    @classmethod
    def in_memory(cls, budget: Budget, clock: Clock = utc_now) -> Store:
        """A store that ends with the process."""
        store = cls(in_memory(), MemoryShelf(), clock)
        with store.transaction():
            store.create(budget, {})
        return store

    @property
    def shelf(self) -> Any:
        """Where rosters and profiles lie."""
        return self._shelf

    def now(self) -> datetime:
        """What the clock of this store shows, with its offset. No sender has a say in it."""
        return self._clock()

    @property
    def connection(self) -> Any:
        """The connection of the transaction that is going on."""
        return self._connection

    @property
    def lasting(self) -> bool:
        """Whether it outlives the process."""
        return not isinstance(self._shelf, MemoryShelf)

    def close(self) -> None:
        """Let go of the database: SQLite then folds its log in. What is asked later opens it again."""
        self._engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens at once, and alone; on the disk when it is over, or not at all."""
        with self._lock:
            if self._connection is not None:
                yield
                return
            self._check_process()
            with errors_translated(), self._engine.connect() as connection:
                transaction = connection.begin()
                self._connection = connection
                try:
                    yield
                except BaseException:
                    transaction.rollback()
                    self._undo()
                    raise
                else:
                    self._commit(transaction)
                    self._tidy(connection)
                finally:
                    self._connection = self._closed_steps = self._facts = None
                    self._old, self._new, self._erasing = {**self._left}, {}, set(self._unwiped)
                    self._fresh, self.unwritten = set(), set()

    def _commit(self, transaction: Any) -> None:
        """The moment at which everything inside a transaction has happened."""
        try:
            if self.unwritten:
                # Somebody has caught an error in between: rows would be there without the noise they have.
                raise StoreError("transaction-unfinished")
            self._write_anew()
            transaction.commit()
        except BaseException as cause:
            transaction.rollback()
            if getattr(cause, "connection_invalidated", False):
                raise StoreError("commit-unknown") from None
            raise

    def _write_anew(self) -> None:
        """Write tables of a SQLite file anew from which something was erased.

        SQLite zeroes the row that is deleted. But it has moved rows between pages before, and where one lay then,
        its bytes are still there. Pages of a table that is emptied are zeroed whole.
        """
        connection = self._connection
        if connection is None or not self.lasting or connection.dialect.name != "sqlite":
            return
        for name in sorted(self._erasing & ERASED_FROM):
            table = database.tables.tables[name]
            rows = connection.execute(sa.select(table).order_by(*table.primary_key.columns)).mappings().all()
            connection.execute(table.delete())
            if rows:
                connection.execute(table.insert(), [dict(row) for row in rows])

    def _tidy(self, connection: Any) -> None:
        """Do away with what the transaction has made superfluous, now that it has happened.

        It has happened, whatever goes wrong here: what cannot be done now is done with the next one.
        """
        self._left = {}
        for name, drop in self._old.items():
            try:
                drop(name)
            except (OSError, DiurnalError):
                self._left[name] = drop
        if self.lasting and (self._erasing or self._log_is_old):
            wipe = self._empty_log if connection.dialect.name == "sqlite" else self._rewrite_tables
            wipe(connection.connection.driver_connection)

    def _empty_log(self, plain: Any) -> None:
        """Fold SQLite's log into its file, and empty it: it still has what was erased there."""
        try:
            plain.execute("PRAGMA busy_timeout=100")
            self._log_is_old = bool(plain.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        except sqlite3.Error:
            self._log_is_old = True
        finally:
            plain.execute(f"PRAGMA busy_timeout={int(1000 * PATIENCE)}")

    def _rewrite_tables(self, plain: Any) -> None:
        """Let PostgreSQL write tables anew from which something was erased: until then its files have dead rows.

        VACUUM alone leaves their bytes where they were, unless the table is empty.
        """
        self._unwiped, self._log_is_old = self._erasing, False
        if self._erasing:
            with suppress(plain.Error):
                plain.autocommit = True
                plain.execute("SET lock_timeout = '1s'")
                for table in sorted(self._erasing):
                    plain.execute(f"VACUUM FULL {table}")
                self._unwiped = set()
            with suppress(plain.Error):
                plain.execute("RESET lock_timeout")
                plain.autocommit = False

    def _undo(self) -> None:
        """Do away with what the transaction has made outside the database, now that it has not happened."""
        for name, drop in self._new.items():
            with suppress(DiurnalError):
                drop(name)

    def _check_process(self) -> None:
        if os.getpid() == self._process:
            return
        if not self.lasting:
            # Two processes with the same memory would use a cycle's noise twice, on different readings.
            raise StreamError("memory-store-child-process")
        # A child must not speak over its parent's connections.
        self._closing.detach()
        self._engine.dispose(close=False)
        self._process = os.getpid()

    # The store itself.

    def exists(self) -> bool:
        """Whether there is a store in the database; an older one is brought up to date."""
        if database.version(self._connection) is None:
            return False
        if database.upgrade(self._connection) < 2:
            # Nothing vouches for noise that was drawn before; from now on the ledger does, and says since when.
            for plan in self._connection.scalars(sa.select(database.plans.c.number).order_by("number")).all():
                self.vouch(plan, found=True)
            self._erasing |= set(database.tables.tables)
        return True

    def create(self, budget: Budget, population: Mapping[str, Any]) -> None:
        """Begin a store."""
        database.create(self._connection)
        self.set_fact("budget", budget.to_json())
        self.set_fact("population", dict(population))
        self.set_fact("salt", uuid.uuid4().hex)
        self.set_fact("id", uuid.uuid4().hex[:8])
        self.set_fact("lineage", uuid.uuid4().hex[:8])
        told = {"budget": budget.to_json(), "population": dict(population), "identity": self.identity()}
        self.note("created", told)

    def identity(self) -> str:
        """A digest of what the store goes by: its name and its salt."""
        return hashlib.sha256(f"{self.fact('id')} {self.fact('salt')}".encode()).hexdigest()

    def settle_population(self, plan: Plan) -> None:
        """Let a started plan decide what nobody has said of the population."""
        own = self.fact("population")
        decided = {"grid": plan.grid.to_json(), "domain": list(plan.domain), "channel": plan.channel}
        if any(name not in own for name in decided):
            self.set_fact("population", {**decided, **own})
            self.note("settled", {"population": {**decided, **own}})

    @property
    def budget(self) -> Budget:
        """The caps."""
        return Budget.from_json(self.fact("budget"))

    def owed(self) -> int:
        """How many erasures and changes of tenancy a restored backup does not know, and that must be said again."""
        return int(self.fact("owed") or 0)

    def check_owed(self) -> None:
        """Refuse to go on with a restored store that does not know who was erased, or has moved out, since."""
        if owed := self.owed():
            raise OwedError("people-owed", owed=owed)

    def fenced(self, name: str) -> Loss:
        """What counts as spent of a budget by plans that a restored backup does not know."""
        found = self.fact("fence")
        return NOTHING if found is None else ledger.loss_of(found[name])

    def unknown_levels(self) -> set[str]:
        """The levels, by their first letters, of plans that a restored backup may not know."""
        found = self.fact("fence")
        return set() if found is None else set(found["levels"])

    def resumes(self, slots: int) -> int:
        """The step from which on may be reported: after a fence, with the next whole cycle."""
        return ledger.resumes(self.fact("fence"), slots)

    def fact(self, name: str) -> Any:
        """A fact about the store; None if there is none of that name.

        Raises:
            StoreError: It is of another kind than was written, or every store has it and this one does not.
        """
        if self._facts is None:
            # They are few, and nobody else writes while a transaction goes on: read once.
            found = dict(self._connection.execute(database.FACTS).all())
            if found.get("version", CURRENT) != CURRENT:
                # A newer diurnal may have brought the store up to date since it was opened here.
                database.known(found["version"])
            self._facts = found
        return ledger.fact(name, self._facts.get(name))

    def set_fact(self, name: str, value: Any) -> None:
        """Remember a fact."""
        self._connection.execute(database.facts.delete().where(database.facts.c.name == name))
        self._connection.execute(database.facts.insert(), {"name": name, "value": json.dumps(value)})
        self._facts = None

    # The ledger.

    def note(self, kind: str, content: dict[str, Any]) -> Event:
        """Add an event to the ledger."""
        return ledger.append(self._connection, kind, content, self.now())

    def last_number(self) -> int:
        """How many events the ledger has."""
        event = ledger.last(self._connection)
        return 0 if event is None else event.number

    def events(self) -> Iterator[Event]:
        """The ledger."""
        return ledger.events(self._connection)

    # Plans.

    def records(self, *, fresh: bool = False) -> tuple[StreamRecord, ...]:
        """Every plan ever started, in order; read anew from where they are kept, if asked."""
        if fresh:
            self._records.clear()
        return tuple(self._record(token) for (token,) in self._connection.execute(database.TOKENS).all())

    def record(self, stream_id: str) -> StreamRecord:
        """A started plan by what its stream goes by."""
        token = self._connection.scalar(database.TOKEN, {"key": stream_id})
        if token is None:
            raise StreamError("stream-unknown", stream=stream_id[:12])
        return self._record(token)

    def _record(self, token: str) -> StreamRecord:
        if token not in self._records:
            known = set(self._connection.scalars(sa.select(database.plans.c.token)).all())
            self._records = {each: record for each, record in self._records.items() if each in known}
            query = sa.select(database.plans.c.content).where(database.plans.c.token == token)
            with readable("A started plan"):
                content = json.loads(self._connection.scalar(query))
                profiles = self._shelf.get(content["roster"]["kept"], content["roster"]["digest"])
                self._records[token] = StreamRecord.of(content, profiles)
        return self._records[token]

    def add(self, record: StreamRecord, calendar: Iterable[int]) -> None:
        """Remember a started plan, spend its budget, and close the calendar's steps."""
        last = self._connection.scalar(sa.select(sa.func.max(database.plans.c.number)))
        record = replace(record, number=1 if last is None else last + 1)
        digest = self._write(record, new=True)
        self.note(
            "started",
            {
                "plan": record.number,
                "key": record.stream_id,
                "level": record.plan.level,
                "households": len(record.members),
                "first_step": record.first_step,
                **{name: _plain_loss(loss) for name, loss in record.plan.losses.items()},
                "acknowledged": record.acknowledged,
                "content": digest,
            },
        )
        self.close_steps(calendar)

    def change(self, record: StreamRecord, kind: str, content: dict[str, Any], *, roster: bool = False) -> None:
        """Remember that a started plan is another from now on, and why; its roster too, if that is another."""
        digest = self._write(record, new=False, roster=roster)
        self.note(kind, {"plan": record.number, **content, "content": digest})

    def undo(self, name: str, drop: Callable[[str], None]) -> None:
        """Drop something outside the database, by its name, if the transaction does not happen."""
        self._new[name] = drop

    @property
    def lineage(self) -> str:
        """By what the store knows the files and folders that are its own."""
        return str(self.fact("lineage"))

    def discard(self, name: str, drop: Callable[[str], None]) -> None:
        """Drop something outside the database, by its name, once the transaction has happened."""
        self._old[name] = drop

    def replaces(self, name: str) -> bool:
        """Whether something outside the database is dropped once this transaction has happened, and not before."""
        return name in self._old

    def _write(self, record: StreamRecord, *, new: bool, roster: bool = True) -> str:
        """Write a plan, and what is kept beside it. Returns a digest of both."""
        token, number = uuid.uuid4().hex, record.number
        kept, digest = self._kept(number) if not new else ("", "")
        if roster:
            if kept:
                self.discard(kept, self._drop_roster)
            # All of the token: events keep digests of what a plan was, and who is erased was in it. Without a name
            # that nobody can guess, their profile could be.
            kept = f"{self.lineage}-{record.stream_id[:16]}-{token}"
            digest = self._shelf.put(kept, record.profiles())
        content = record.to_text(kept, digest)
        if new:
            values = {"number": number, "key": record.stream_id, "token": token, "content": content}
            self._connection.execute(database.plans.insert(), values)
        else:
            changed = {"at": number, "token": token, "content": content}
            self._connection.execute(database.CHANGE_PLAN, changed)
        return ledger.digest_of([(number, 0, content)])

    def _drop_roster(self, name: str) -> None:
        self._shelf.drop(name)

    def _kept(self, number: int) -> tuple[str, str]:
        """The name and the digest of a plan's roster."""
        query = sa.select(database.plans.c.content).where(database.plans.c.number == number)
        with readable("A started plan"):
            found = json.loads(self._connection.scalar(query))["roster"]
            return str(found["kept"]), str(found["digest"])

    def sweep(self, *, spare: bool = False) -> None:
        """Do away with rosters that belong to no plan: what a process that was killed has left behind.

        Args:
            spare: Whether to leave those that this transaction has replaced, until it has happened.
        """
        kept, names, own = self.kept(), self._shelf.names(), f"{self.lineage}-"
        if not (self.has_every_plan() and kept <= names):
            # A roster that is not where its plan says is damage: another that seems to belong to none may be it.
            return
        for name in names - kept.union(self._old if spare else ()):
            # A folder may be shared: what others have put there is theirs.
            if name.startswith(own):
                self._shelf.drop(name)

    def has_every_plan(self) -> bool:
        """Whether every plan that was started is there.

        In a damaged store one may be missing: then nothing that seems to belong to no plan is deleted, since it may
        be the plan's own profiles.
        """
        return self._count_of({"started"}) == len(self._connection.execute(database.TOKENS).all())

    def kept(self) -> set[str]:
        """The names of the rosters of all plans."""
        numbers = self._connection.scalars(sa.select(database.plans.c.number)).all()
        return {self._kept(number)[0] for number in numbers}

    def end(self, record: StreamRecord, step: int) -> None:
        """Remember that a plan reports nothing from a step on."""
        self.change(replace(record, end=step), "stopped", {"step": step})

    def begin(self, record: StreamRecord, step: int) -> None:
        """Remember that a plan that has reported nothing may report from another step on."""
        self.change(replace(record, first_step=step), "begins", {"step": step})

    # The calendar.

    def calendar(self) -> frozenset[int]:
        """Steps that are never reported."""
        if self._closed_steps is None:
            self._closed_steps = frozenset(self._connection.scalars(database.CALENDAR).all())
        return self._closed_steps

    def close_steps(self, steps: Iterable[int], *, apart: int | None = None) -> None:
        """Put more steps on the calendar.

        Args:
            steps: The steps, which are never reported from now on.
            apart: The number of the plan that has reported them ahead of time, if that is why.
        """
        more = sorted(set(steps) - self.calendar())
        if more:
            self._connection.execute(database.calendar.insert(), [{"step": step} for step in more])
            self._closed_steps = None
            self.note("calendar", {"steps": more, **({} if apart is None else {"apart": apart})})

    # What is open.

    def opened(self, plan: int, slots: int, steps: range) -> Opened:
        """What is open of a plan.

        Args:
            plan: The plan's number.
            slots: How many steps a cycle has.
            steps: Steps that are looked at as well.
        """
        held, arrivals = self.held_marks(plan), {each.cycle: each for each in self.arrivals(plan)}
        noisy, contents = frozenset(self.noisy_cycles(plan)), frozenset(self.cycles_with_contents(plan))
        looked_at = range(steps.start // slots, (steps.stop - 1) // slots + 1) if steps else range(0)
        cycles = {step // slots for step in held}.union(arrivals, noisy, contents, looked_at)
        spans = (range(run.start * slots, run.stop * slots) for run in runs(sorted(cycles)))
        return Opened(
            latest=self.latest(plan),
            arrivals=arrivals,
            held=held,
            noisy=noisy,
            contents=contents,
            published=set().union(*(self.published(plan, span) for span in spans)),
        )

    def write_open(self, plan: int, changes: Changes) -> None:
        """Write what has become of a plan's open state, and let the ledger vouch for noise that waits."""
        self.release(plan, [step for step, each in changes.held.items() if each is None])
        self.hold(plan, {step: each for step, each in changes.held.items() if each is not None})
        for cycle, noise in changes.noise.items():
            if noise is None:
                self.close_cycle(plan, cycle)
            else:
                self.keep_noise(plan, cycle, noise)
        for cycle, arrival in changes.arrivals.items():
            self.forget_arrival(plan, cycle) if arrival is None else self.arrive(plan, arrival)
        for cycle in changes.forgotten:
            self.forget_contents(plan, cycle)
        self.see(plan, changes.latest)
        self.vouch(plan)

    # Released rows.

    def rows(self, plan: int, steps: range) -> dict[int, Values]:
        """The published values of those steps that have been published."""
        if not steps:
            return {}
        asked = {"plan": plan, "first": min(steps), "last": max(steps)}
        return by_step(self._connection.execute(database.ROWS, asked).all())

    def used(self, plan: int, step: int) -> str | None:
        """A digest of the readings that went into a published step."""
        table = database.used.c
        found = self._connection.scalar(sa.select(table.digest).where(table.plan == plan, table.step == step))
        return None if found is None else str(found)

    def published(self, plan: int, steps: range) -> set[int]:
        """Those of some steps that have been published."""
        if not steps:
            return set()
        asked = {"plan": plan, "first": min(steps), "last": max(steps)}
        return set(self._connection.scalars(database.PUBLISHED, asked).all())

    def last_step(self, plan: int, *, before: int | None = None) -> int | None:
        """The latest step a plan has published; or the latest before another one."""
        query = sa.select(sa.func.max(database.rows.c.step)).where(database.rows.c.plan == plan)
        found = self._connection.scalar(query if before is None else query.where(database.rows.c.step < before))
        return None if found is None else int(found)

    def publish(
        self, plan: int, rows: Mapping[int, Sequence[Fraction]], used: Mapping[int, str] | None = None
    ) -> None:
        """Remember the values of steps for ever. The database refuses a second one for a step and group.

        Args:
            plan: The plan's number.
            rows: The values of each step.
            used: For pattern plans a digest of the readings that went into each step, private.
        """
        if not rows:
            return
        if used:
            self._connection.execute(
                database.used.insert(),
                [{"plan": plan, "step": step, "digest": digest} for step, digest in used.items()],
            )
        listed = [(step, place, str(value)) for step in sorted(rows) for place, value in enumerate(rows[step])]
        self._connection.execute(
            database.rows.insert(),
            [{"plan": plan, "step": step, "place": place, "value": value} for step, place, value in listed],
        )
        steps = [[run.start, run.stop - 1] for run in runs(sorted(rows))]
        content = {"plan": plan, "steps": steps, "rows": len(listed), "digest": ledger.digest_of(listed)}
        self.note("reported", content)

    # People.

    def erased(self) -> set[str]:
        """Digests of the names of households that were erased."""
        return set(self._connection.scalars(sa.select(database.people.c.household)).all())

    def erase(self, name: str) -> None:
        """Remember that a household was erased, by a digest of its name."""
        digest = self.name_digests([name])[0]
        self._erasing |= {"held", "plans"}
        self._connection.execute(database.people.insert(), {"household": digest, "kind": "erased"})
        self.note("forgotten", {"household": digest})

    def name_digests(self, names: Iterable[str]) -> list[str]:
        """Digests of households' names, with a salt of the store's own."""
        salt = self.fact("salt")
        return [hashlib.sha256(f"{salt} {name}".encode()).hexdigest() for name in names]

    def head(self) -> Head:
        """Where the ledger stands, for the public: at its last event that is not about people.

        It is the same whether a household was erased, or moved, since: the next event is chained to that one.
        """
        query = sa.select(database.ledger.c.number).where(database.ledger.c.kind.not_in(ledger.PEOPLE))
        event = ledger.at(self._connection, self._connection.scalar(query.order_by(sa.desc("number")).limit(1)))
        assert event is not None, "a store begins with an event"
        hidden = self._count_of(ledger.PEOPLE, before=event.number)
        return self._head(event, number=event.number - hidden, people=None)

    def own_head(self) -> Head:
        """Where the ledger stands, for the custodian: at its last event, with how many were about people."""
        event = ledger.last(self._connection)
        assert event is not None, "a store begins with an event"
        return self._head(event, number=event.number, people=self.people() + self.owed())

    def _head(self, event: Event, *, number: int, people: int | None) -> Head:
        steps, pattern, strong = [-1], self.fenced("pattern"), self.fenced("strong")
        records = self.records()
        for record in records:
            last = self.last_step(record.number)
            if record.plan.free is not None:
                # It has shown something of its history when it started.
                last = max(-1 if last is None else last, int(record.history()[1]) - 1)
            steps.append(-1 if last is None else last)
            losses = record.plan.losses
            pattern, strong = pattern + losses["pattern"], strong + losses["strong"]
        fence = self.fact("fence")
        letters = {each.plan.protection.letter for each in records}.union((fence or {}).get("levels", ""))
        return Head(
            store=self.fact("id"),
            number=number,
            hash=event.hash[:32],
            step=max(steps) if fence is None else max(*steps, fence["step"]),
            pattern=pattern,
            strong=strong,
            people=people,
            levels="".join(sorted(letters)),
        )

    def people(self) -> int:
        """How many erasures and changes of tenancy there were."""
        return self._count_of(ledger.DEEDS)

    def _count_of(self, kinds: Iterable[str], before: int | None = None) -> int:
        table = database.ledger.c
        query = sa.select(sa.func.count()).where(table.kind.in_(sorted(kinds)))
        return int(self._connection.scalar(query if before is None else query.where(table.number < before)))

    # Noise of open cycles.

    def cycle_noise(self, plan: int, cycle: int) -> dict[str, tuple[int, ...]] | None:
        """The noise of an open cycle by group, if it has been drawn.

        Raises:
            StoreError: It is erased; or it is not what was drawn, and the cycle reports nothing more.
        """
        found = self._connection.execute(database.NOISE, {"plan": plan, "cycle": cycle}).one_or_none()
        if found is None:
            return None
        if found.content == "":
            raise StoreError("cycle-closed", cycle=cycle)
        if (plan, cycle) not in self._fresh and not self._is_vouched_for(found):
            raise StoreError("noise-changed", plan=plan, cycle=cycle)
        with readable(f"The noise of plan {plan}, cycle {cycle},"):
            return {name: tuple(values) for name, values in json.loads(found.content).items()}

    def keep_noise(self, plan: int, cycle: int, noise: Mapping[str, Sequence[int]]) -> None:
        """Keep the noise of a cycle that goes on."""
        content = json.dumps({name: list(values) for name, values in noise.items()})
        values = {"plan": plan, "cycle": cycle, "content": content}
        self._connection.execute(database.noise.insert(), values)
        self._fresh.add((plan, cycle))

    def vouch(self, plan: int, *, found: bool = False) -> None:
        """Let the ledger commit to a plan's noise that waits, so that nobody can put other noise in its place.

        What opens the commitment is kept beside the noise and erased with it: afterwards no guess can be tried.

        Args:
            plan: The plan's number.
            found: Whether to vouch for noise that was there before, as an upgrade does. Else only for what was
                drawn in this transaction: what somebody has put there must not become vouched for.
        """
        for each in self._connection.execute(database.NOT_VOUCHED_FOR, {"plan": plan}).all():
            if not found and (plan, each.cycle) not in self._fresh:
                continue
            nonce, more = ledger.nonce(), {"found": True} if found else {}
            digest = ledger.commitment(plan, each.cycle, each.content, nonce)
            told = {"plan": plan, "cycle": each.cycle, "noise": digest, **more}
            event = ledger.append(self._connection, "drawn", told, self.now())
            self._change_noise(plan, each.cycle, nonce=nonce, event=event.number)

    def _is_vouched_for(self, found: Any) -> bool:
        event = ledger.at(self._connection, found.event)
        told = {} if event is None or event.kind != "drawn" else event.content
        digest = ledger.commitment(found.plan, found.cycle, found.content, found.nonce)
        expected = {"plan": found.plan, "cycle": found.cycle, "noise": digest}
        return expected.items() <= told.items()

    def odd_noise(self) -> list[tuple[int, int]]:
        """Plan and cycle of noise that is not what was drawn, or of which something is left though it is erased."""
        table = database.noise.c
        found = self._connection.execute(sa.select(database.noise).order_by(table.plan, table.cycle)).all()
        blank = ("", "", 0)
        return [
            (each.plan, each.cycle)
            for each in found
            if (each.content, each.nonce, each.event) != blank and not (each.content and self._is_vouched_for(each))
        ]

    def _change_noise(self, plan: int, cycle: int, **values: Any) -> bool:
        """Change what is kept of a cycle's noise. Returns whether there was any."""
        table = database.noise
        which = (table.c.plan == plan) & (table.c.cycle == cycle)
        return bool(self._connection.execute(table.update().where(which), values).rowcount)

    def close_cycle(self, plan: int, cycle: int) -> None:
        """Erase a cycle's noise, once every step of it is published or on the calendar.

        That it had some stays known: a cycle's noise is never drawn a second time.
        """
        blank = {"content": "", "nonce": "", "event": 0}
        if self._change_noise(plan, cycle, **blank):
            self._erasing.add("noise")
        else:
            # It was drawn and used in this transaction, and never written.
            self._connection.execute(database.noise.insert(), {"plan": plan, "cycle": cycle, **blank})

    def noisy_cycles(self, plan: int) -> list[int]:
        """Cycles whose noise has not been erased yet."""
        return list(self._connection.scalars(database.OPEN_NOISE, {"plan": plan}).all())

    def drawn_cycles(self, plan: int) -> set[int]:
        """Cycles whose noise was ever drawn."""
        return set(
            self._connection.scalars(sa.select(database.noise.c.cycle).where(database.noise.c.plan == plan)).all()
        )

    # Readings of open steps, and how far a stream has come.

    def held(self, plan: int, steps: range) -> dict[int, HeldStep]:
        """The readings of open steps that have arrived.

        Raises:
            StoreError: Some are not what was held. Nothing is reported of them.
        """
        table = database.held
        query = sa.select(table).where(table.c.plan == plan, table.c.step.between(steps.start, steps.stop - 1))
        held = {}
        for found in self._connection.execute(query):
            if not _is_sealed(found):
                raise StoreError("held-changed", plan=plan, step=found.step)
            held[found.step] = HeldStep(
                readings=np.frombuffer(found.readings, dtype="<i8").astype(np.int64),
                present=np.frombuffer(found.present, dtype=np.uint8).astype(bool),
                closed=found.closed,
                reached=found.reached,
            )
        return held

    def odd_held(self) -> list[tuple[int, int]]:
        """Plan and step of readings that are not what was held."""
        with self._connection.execute(sa.select(database.held), execution_options=STREAMED) as found:
            return [(each.plan, each.step) for each in found if not _is_sealed(each)]

    def held_marks(self, plan: int) -> dict[int, Mark]:
        """Which steps are held, and how."""
        table = database.held.c
        query = sa.select(table.step, table.closed, table.reached).where(table.plan == plan).order_by(table.step)
        return {
            found.step: Mark(closed=found.closed, reached=found.reached)
            for found in self._connection.execute(query)
        }

    def hold(self, plan: int, steps: Mapping[int, HeldStep]) -> None:
        """Keep the readings of open steps, in place of what was kept of them."""
        if not steps:
            return
        self._drop_held(plan, steps)
        rows = []
        for step, each in steps.items():
            row: dict[str, Any] = {
                "plan": plan,
                "step": step,
                "closed": bool(each.closed),
                "reached": bool(each.reached),
                "readings": each.readings.astype("<i8").tobytes(),
                "present": each.present.astype(np.uint8).tobytes(),
            }
            rows.append({**row, "seal": database.sealed(ledger.nonce(), **row)})
        self._connection.execute(database.held.insert(), rows)

    def release(self, plan: int, steps: Iterable[int]) -> None:
        """Erase the readings of steps."""
        gone = list(steps)
        if gone:
            self._erasing.add("held")
            self._drop_held(plan, gone)

    def _drop_held(self, plan: int, steps: Iterable[int]) -> None:
        table = database.held
        self._log_is_old = True
        which = (table.c.plan == plan) & (table.c.step == sa.bindparam("at_step"))
        self._connection.execute(table.delete().where(which), [{"at_step": step} for step in steps])

    def latest(self, plan: int) -> int:
        """The latest step of which enough readings were seen; -1 before there was one."""
        found = self.fact(f"latest {plan}")
        return -1 if found is None else int(found)

    def see(self, plan: int, step: int) -> None:
        """Remember the latest step of which enough readings were seen."""
        if step != self.latest(plan):
            self.set_fact(f"latest {plan}", step)

    def arrivals(self, plan: int) -> list[Arrival]:
        """When readings of open cycles began to come."""
        query = (
            sa.select(database.arrivals).where(database.arrivals.c.plan == plan).order_by(database.arrivals.c.cycle)
        )
        with readable("When readings of open cycles began to come"):
            return [
                Arrival(
                    cycle=found.cycle,
                    time=datetime.fromisoformat(found.time).astimezone(UTC),
                    reached=found.reached,
                )
                for found in self._connection.execute(query)
            ]

    def arrive(self, plan: int, arrival: Arrival) -> None:
        """Remember when readings of a cycle began to come, in place of what was known of it."""
        self.forget_arrival(plan, arrival.cycle)
        values = {"cycle": arrival.cycle, "time": arrival.time.isoformat(), "reached": arrival.reached}
        self._connection.execute(database.arrivals.insert(), {"plan": plan, **values})

    def forget_arrival(self, plan: int, cycle: int) -> None:
        """Forget when readings of a cycle began to come."""
        table = database.arrivals
        self._connection.execute(table.delete().where(table.c.plan == plan, table.c.cycle == cycle))

    def settled(self, plan: int) -> int | None:
        """The step before which every step of a plan is reported or never will be; None before that was asked."""
        found = self.fact(f"settled {plan}")
        return None if found is None else int(found)

    def settle(self, plan: int, step: int) -> None:
        """Remember that every step before one is reported or never will be."""
        self.set_fact(f"settled {plan}", step)

    # What was taken, and which readings were used.

    def taken_is_whole(self) -> bool:
        """Whether what was taken is all there, and nothing else."""
        told = self.fact("taken")
        with self._connection.execute(sa.select(database.taken), execution_options=STREAMED) as found:
            return bool(told == database.tally(map(tuple, found)))

    def keyed(self, *words: str) -> str:
        """A digest of words that says nothing to whoever has not the store: HMAC-SHA-256 under its secret."""
        return database.keyed(self.fact("secret"), *words)

    def has_taken(self, plan: int, name: str) -> bool:
        """Whether something of that name, which is keyed, was taken before."""
        return self._connection.scalar(database.HAS_TAKEN, {"plan": plan, "name": name}) is not None

    def take(self, plan: int, name: str) -> None:
        """Remember for ever that something of that name, which is keyed, was taken."""
        self._connection.execute(database.taken.insert(), {"plan": plan, "digest": name})
        self.set_fact("taken", database.tally([(plan, name)], before=self.fact("taken")))

    def keep_content(self, plan: int, name: str, content: str, cycles: range) -> None:
        """Remember for a while what was in a batch that was taken: its readings are of open cycles."""
        values = {"plan": plan, "name": name, "content": content, "first": cycles.start, "last": cycles.stop - 1}
        self._connection.execute(database.contents.insert(), {**values, "others": _digits(0)})

    def compare_content(self, plan: int, name: str, content: str) -> None:
        """Count, as long as it can be told, that something else has come under the name of a batch."""
        found = self._connection.execute(database.CONTENT, {"plan": plan, "name": name}).one_or_none()
        if found is not None:
            # It is written in either case: who waits for the answer does not learn which it was.
            with readable("What is known of a batch"):
                others = _digits(int(found.others) + (not hmac.compare_digest(found.content, content)))
            self._connection.execute(database.COUNT_OTHERS, {"at_plan": plan, "at_name": name, "others": others})

    def cycles_with_contents(self, plan: int) -> set[int]:
        """The cycles of readings of which it is still known in which batch they came."""
        found = self._connection.execute(database.CONTENT_CYCLES, {"plan": plan}).all()
        return {cycle for first, last in found for cycle in range(first, last + 1)}

    def forget_contents(self, plan: int, cycle: int | None = None) -> None:
        """Erase what was in batches that a plan took with readings of a cycle, or in all that it took.

        It is erased in every plan: a digest is of the whole batch, whoever's readings are in it.
        """
        table = database.contents
        self._erasing.add("contents")
        of_cycle = sa.true() if cycle is None else (table.c.first <= cycle) & (table.c.last >= cycle)
        names = sa.select(table.c.name).where(table.c.plan == plan, of_cycle)
        self._connection.execute(table.delete().where(table.c.name.in_(names)))

    def forget_used(self, plan: int) -> None:
        """Erase which readings a pattern plan has used: at its steps others say their noisy profile from now on."""
        self._erasing.add("used")
        self._connection.execute(database.used.delete().where(database.used.c.plan == plan))

    # Counters for the custodian.

    def count(self, plan: int, counts: Mapping[str, int]) -> None:
        """Add to counters for the custodian's eyes."""
        table = database.counts
        for what, number in counts.items():
            if not number:
                continue
            which = (table.c.plan == plan) & (table.c.what == what)
            done = self._connection.execute(table.update().where(which).values(number=table.c.number + number))
            if not done.rowcount:
                self._connection.execute(table.insert(), {"plan": plan, "what": what, "number": number})

    def quality(self, plan: int) -> Counts:
        """The custodian's counters, with what may be known of open cycles only."""
        table = database.contents.c
        with readable("What is known of a batch"):
            others = sum(map(int, self._connection.scalars(sa.select(table.others).where(table.plan == plan))))
        return counted(self.counts(plan) | ({OTHERS: others} if others else {}))

    def counts(self, plan: int) -> dict[str, int]:
        """Counters that stay: none depends on what a reading was."""
        table = database.counts.c
        query = sa.select(table.what, table.number).where(table.plan == plan)
        return counted(dict(self._connection.execute(query).all()))


def _plain_loss(loss: Loss) -> dict[str, str]:
    return {name: text(getattr(loss, name)) for name in ("epsilon", "zcdp")}


PATIENCE = 60
"""How many seconds a transaction waits for its turn."""

LOCK = 0x6469_7572_6E61_6C
"""The number of the lock that PostgreSQL's transactions take: one store to a database or schema."""

DURABLE = (
    "set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)"
)
"""A row that was shown and lost with a crash would be drawn again: a commit waits for the disk."""

PLACE = """
    SELECT d.oid || ' ' || CASE WHEN has_function_privilege('pg_control_system()', 'execute')
        THEN (SELECT system_identifier FROM pg_control_system())::text ELSE '' END
    FROM pg_database d WHERE d.datname = current_database()
"""
"""Which database of which PostgreSQL this is: another one, if it was restored from a dump or copied."""


def place_of(connection: Any) -> str | None:
    """What tells a PostgreSQL database from a copy of it; None of a SQLite file, which may be moved about."""
    found = connection.exec_driver_sql(PLACE).scalar() if connection.dialect.name == "postgresql" else None
    return None if found is None else str(found)


def in_memory() -> sa.Engine:
    """A database that ends with the process.

    An audit makes hundreds of them: all have one dialect, so that a statement is compiled once for all.
    """
    first, compiled = _in_memory()
    options = {"compiled_cache": compiled}
    engine = sa.Engine(
        first.pool.recreate(), first.dialect, first.url, hide_parameters=True, execution_options=options
    )
    _alone(engine)
    return engine


@functools.cache
def _in_memory() -> tuple[sa.Engine, dict[Any, Any]]:
    """What databases in memory are made after, and their compiled statements."""
    return sa.create_engine(
        "sqlite://", poolclass=sa.pool.StaticPool, connect_args={"check_same_thread": False}
    ), {}


def of_file(path: Path) -> sa.Engine:
    """A SQLite file, readable by its owner alone.

    Raises:
        StoreError: It cannot be made.
    """
    try:
        # Made before SQLite makes it, so that nobody else can read it at any moment; its log gets the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        os.chmod(path, 0o600)
    except OSError as cause:
        raise StoreError("store-not-opened", name=path.name, reason=cause.strerror) from None
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        hide_parameters=True,
        connect_args={"check_same_thread": False, "timeout": PATIENCE},
    )

    def durable(connection: sqlite3.Connection, _: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    sa.event.listen(engine, "connect", durable)
    _alone(engine)
    return engine


def of_url(url: str) -> sa.Engine:
    """A PostgreSQL database.

    Raises:
        StoreError: It is no address of one, or its driver is missing.
    """
    engine = _postgres(url, isolation_level="READ COMMITTED")

    def lock(connection: Any) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{PATIENCE}s'")
        connection.exec_driver_sql(f"SELECT {DURABLE}, pg_advisory_xact_lock({LOCK})")

    sa.event.listen(engine, "begin", lock)
    return engine


def _postgres(url: str, **options: Any) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() != "postgresql":
            raise StoreError("database-not-postgresql")
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        return sa.create_engine(parsed, pool_pre_ping=True, hide_parameters=True, **options)
    except sa.exc.ArgumentError:
        raise StoreError("database-address") from None
    except ModuleNotFoundError:
        raise StoreError("extra-missing", what="PostgreSQL", module="psycopg", extra="postgres") from None


def for_reading(where: str | Path) -> sa.Engine:
    """A database that is there, for who only reads: it waits for no writer, and keeps none waiting.

    A transaction sees one moment of the store. What would write is refused by the database.

    Raises:
        StoreError: It is no address of a database, or its driver is missing.
    """
    if "://" in str(where):
        return _postgres(
            str(where), isolation_level="REPEATABLE READ", execution_options={"postgresql_readonly": True}
        )
    # Not made where it is not there: whoever reads leaves nothing behind.
    address = f"{Path(where).absolute().as_uri()}?mode=rw"

    def connected() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, check_same_thread=False, timeout=PATIENCE)

    engine = sa.create_engine("sqlite://", hide_parameters=True, creator=connected, poolclass=sa.pool.QueuePool)

    def reads(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA query_only=ON")

    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    sa.event.listen(engine, "connect", reads)
    sa.event.listen(engine, "begin", begin)
    return engine


def _alone(engine: sa.Engine) -> None:
    """Let SQLite's transactions begin as writers, one at a time; its driver would begin them late."""

    def quiet(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None

    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    sa.event.listen(engine, "connect", quiet)
    sa.event.listen(engine, "begin", begin)


REASONS = (
    (r"disk is full|No space left", "store-disk-full"),
    (r"readonly|read-only|unable to open", "store-not-writable"),
    (r"locked|lock timeout|LockNotAvailable", "store-locked"),
    (r"already exists", "store-foreign-tables"),
    (r"malformed|not a database|decode|bytes-like", "store-damaged"),
    (r"connect|terminat|closed|shutting down", "store-unreachable"),
)
"""What words of a driver mean, as the code of an error."""


@contextmanager
def errors_translated() -> Iterator[None]:
    """Say what is wrong with a database in a sentence, without its statements or values."""
    try:
        yield
    except (sa.exc.StatementError, sqlite3.Error) as cause:
        # The driver's own words: the statement is not to be searched for them.
        said = str(getattr(cause, "orig", cause))
        found = (code for words, code in REASONS if re.search(words, said, re.IGNORECASE))
        raise StoreError(next(found, "store-failed"), reason=type(cause).__name__) from None
