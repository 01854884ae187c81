"""Store: what a curator remembers, durably: one population, its budget, its plans, its reports, its ledger.

Everything happens inside `transaction()`: at once, alone, and on the disk when it is over. Whoever asks again, in
this process or another, finds what was decided first. Profiles, held readings and cycle noise are private and have
no repr.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from threading import RLock
from typing import Any

import sqlalchemy as sa

from diurnal.curator import ledger, queries, schema
from diurnal.curator.closing import Changes, Opened
from diurnal.curator.database import PATIENCE, errors_translated, in_memory
from diurnal.curator.ledger import Event, Head
from diurnal.curator.passing import Passing
from diurnal.curator.records import StreamRecord, Values, by_step, readable, runs
from diurnal.curator.shelf import MemoryShelf, Shelf
from diurnal.curator.units import Scores
from diurnal.errors import DiurnalError, StoreError, StreamError
from diurnal.exact import text
from diurnal.planning.plan import Plan
from diurnal.promise.budget import NOTHING, Budget, Loss
from diurnal.readings.engines.spark import homes

Clock = Callable[[], datetime]
"""What time it is, with an offset."""


def utc_now() -> datetime:
    """What the clock of this machine shows."""
    return datetime.now(UTC)


ERASED_FROM = frozenset({"held", "noise", "contents", "used", "plans"})
"""Tables from which what is private goes again. They are small, or seldom erased from."""


class Store(Passing):
    """What a curator remembers. All methods but `transaction` are called inside it."""

    def __init__(self, engine: sa.Engine, shelf: Shelf, clock: Clock = utc_now) -> None:
        self._engine, self._shelf, self._clock = engine, shelf, clock
        self._lock = RLock()
        self._process = os.getpid()
        self._connection: Any = None
        self._records: dict[str, StreamRecord] = {}
        self._closed_steps: frozenset[int] | None = None
        self._facts = None
        self._old: list[str] = []
        self._left: list[str] = []
        self._unwiped: set[str] = set()
        self._new: list[str] = []
        self._erasing: set[str] = set()
        self._fresh: set[tuple[int, int]] = set()
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
                    self._old, self._new, self._erasing = [*self._left], [], set(self._unwiped)
                    self._fresh, self.unwritten = set(), set()

    def _commit(self, transaction: Any) -> None:
        """The moment at which everything inside a transaction has happened."""
        try:
            if self.unwritten:
                # Somebody has caught an error in between: rows would be there without the noise they have.
                raise StoreError("What was begun was not finished.", hint="Nothing has happened. Ask again.")
            self._write_anew()
            transaction.commit()
        except BaseException as cause:
            transaction.rollback()
            if getattr(cause, "connection_invalidated", False):
                raise StoreError(
                    "The database was lost at the commit: whether it was done is not known.",
                    hint="Ask again when it is back: a step that was reported has its row, and no other is drawn.",
                ) from None
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
            table = schema.tables.tables[name]
            rows = connection.execute(sa.select(table).order_by(*table.primary_key.columns)).mappings().all()
            connection.execute(table.delete())
            if rows:
                connection.execute(table.insert(), [dict(row) for row in rows])

    def _tidy(self, connection: Any) -> None:
        """Do away with what the transaction has made superfluous, now that it has happened.

        It has happened, whatever goes wrong here: what cannot be done now is done with the next one.
        """
        left = []
        for name in self._old:
            try:
                # What lies in the lake goes by its folder.
                homes.discard(name) if "/" in name else self._shelf.drop(name)
            except (OSError, DiurnalError):
                left.append(name)
        self._left = left
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
        for folder in self._new:
            with suppress(DiurnalError):
                homes.discard(folder)

    def _check_process(self) -> None:
        if os.getpid() == self._process:
            return
        if not self.lasting:
            # Two processes with the same memory would use a cycle's noise twice, on different readings.
            raise StreamError(
                "A store in memory belongs to the process that made it, and this is a child of it.",
                hint="Report in one process, or keep streams in a database.",
            )
        # A child must not speak over its parent's connections.
        self._closing.detach()
        self._engine.dispose(close=False)
        self._process = os.getpid()

    # The store itself.

    def exists(self) -> bool:
        """Whether there is a store in the database; an older one is brought up to date."""
        if schema.version(self._connection) is None:
            return False
        if schema.upgrade(self._connection) < 2:
            # Nothing vouches for noise that was drawn before; from now on the ledger does, and says since when.
            for plan in self._connection.scalars(sa.select(schema.plans.c.number).order_by("number")).all():
                self.vouch(plan, found=True)
            self._erasing |= set(schema.tables.tables)
        return True

    def create(self, budget: Budget, population: Mapping[str, Any]) -> None:
        """Begin a store."""
        schema.create(self._connection)
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
        return Budget(**self.fact("budget"))

    def owed(self) -> int:
        """How many erasures and changes of tenancy a restored backup does not know, and that must be said again."""
        return int(self.fact("owed") or 0)

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
        return tuple(self._record(token) for (token,) in self._connection.execute(queries.TOKENS).all())

    def record(self, key: str) -> StreamRecord:
        """A started plan by its hash."""
        token = self._connection.scalar(queries.TOKEN, {"key": key})
        if token is None:
            raise StreamError(f"No stream {key[:12]} in this store.", hint="Start the plan first.")
        return self._record(token)

    def _record(self, token: str) -> StreamRecord:
        if token not in self._records:
            known = set(self._connection.scalars(sa.select(schema.plans.c.token)).all())
            self._records = {each: record for each, record in self._records.items() if each in known}
            query = sa.select(schema.plans.c.content).where(schema.plans.c.token == token)
            with readable("A started plan"):
                content = json.loads(self._connection.scalar(query))
                profiles = self._shelf.get(content["roster"]["kept"], content["roster"]["digest"])
                self._records[token] = StreamRecord.of(content, profiles)
        return self._records[token]

    def add(self, record: StreamRecord, calendar: Iterable[int]) -> None:
        """Remember a started plan, spend its budget, and close the calendar's steps."""
        last = self._connection.scalar(sa.select(sa.func.max(schema.plans.c.number)))
        record = replace(record, number=1 if last is None else last + 1)
        digest = self._write(record, new=True)
        self.note(
            "started",
            {
                "plan": record.number,
                "key": record.key,
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

    def undo(self, folder: str) -> None:
        """Delete a folder in the lake if the transaction that it is made in does not happen."""
        self._new.append(folder)

    @property
    def lineage(self) -> str:
        """By what the store knows the files and folders that are its own."""
        return str(self.fact("lineage"))

    def discard(self, folder: str) -> None:
        """Delete a folder of profiles in the lake, once the transaction has happened."""
        self._old.append(folder)

    def _write(self, record: StreamRecord, *, new: bool, roster: bool = True) -> str:
        """Write a plan, and what is kept beside it. Returns a digest of both."""
        token, number = uuid.uuid4().hex, record.number
        kept, digest = self._kept(number) if not new else ("", "")
        if roster:
            if kept:
                self._old.append(kept)
            # All of the token: events keep digests of what a plan was, and who is erased was in it. Without a name
            # that nobody can guess, their profile could be.
            kept = f"{self.lineage}-{record.key[:16]}-{token}"
            digest = self._shelf.put(kept, record.profiles())
        content = record.to_text(kept, digest)
        if new:
            values = {"number": number, "key": record.key, "token": token, "content": content}
            self._connection.execute(schema.plans.insert(), values)
        else:
            changed = {"at": number, "token": token, "content": content}
            self._connection.execute(queries.CHANGE_PLAN, changed)
        return ledger.digest_of([(number, 0, content)])

    def _kept(self, number: int) -> tuple[str, str]:
        """The name and the digest of a plan's roster."""
        query = sa.select(schema.plans.c.content).where(schema.plans.c.number == number)
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
        return self._count_of({"started"}) == len(self._connection.execute(queries.TOKENS).all())

    def kept(self) -> set[str]:
        """The names of the rosters of all plans."""
        numbers = self._connection.scalars(sa.select(schema.plans.c.number)).all()
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
            self._closed_steps = frozenset(self._connection.scalars(queries.CALENDAR).all())
        return self._closed_steps

    def close_steps(self, steps: Iterable[int], *, apart: int | None = None) -> None:
        """Put more steps on the calendar.

        Args:
            steps: The steps, which are never reported from now on.
            apart: The number of the plan that has reported them ahead of time, if that is why.
        """
        more = sorted(set(steps) - self.calendar())
        if more:
            self._connection.execute(schema.calendar.insert(), [{"step": step} for step in more])
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
        return by_step(self._connection.execute(queries.ROWS, asked).all())

    def used(self, plan: int, step: int) -> str | None:
        """A digest of the readings that went into a published step."""
        table = schema.used.c
        found = self._connection.scalar(sa.select(table.digest).where(table.plan == plan, table.step == step))
        return None if found is None else str(found)

    def published(self, plan: int, steps: range) -> set[int]:
        """Those of some steps that have been published."""
        if not steps:
            return set()
        asked = {"plan": plan, "first": min(steps), "last": max(steps)}
        return set(self._connection.scalars(queries.PUBLISHED, asked).all())

    def last_step(self, plan: int, *, before: int | None = None) -> int | None:
        """The latest step a plan has published; or the latest before another one."""
        query = sa.select(sa.func.max(schema.rows.c.step)).where(schema.rows.c.plan == plan)
        found = self._connection.scalar(query if before is None else query.where(schema.rows.c.step < before))
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
                schema.used.insert(),
                [{"plan": plan, "step": step, "digest": digest} for step, digest in used.items()],
            )
        listed = [(step, place, str(value)) for step in sorted(rows) for place, value in enumerate(rows[step])]
        self._connection.execute(
            schema.rows.insert(),
            [{"plan": plan, "step": step, "place": place, "value": value} for step, place, value in listed],
        )
        steps = [[run.start, run.stop - 1] for run in runs(sorted(rows))]
        content = {"plan": plan, "steps": steps, "rows": len(listed), "digest": ledger.digest_of(listed)}
        self.note("reported", content)

    # People.

    def erased(self) -> set[str]:
        """Digests of the names of households that were erased."""
        return set(self._connection.scalars(sa.select(schema.people.c.household)).all())

    def erase(self, name: str) -> None:
        """Remember that a household was erased, by a digest of its name."""
        digest = self.name_digests([name])[0]
        self._erasing |= {"held", "plans"}
        self._connection.execute(schema.people.insert(), {"household": digest, "kind": "erased"})
        self.note("forgotten", {"household": digest})

    def name_digests(self, names: Iterable[str]) -> list[str]:
        """Digests of households' names, with a salt of the store's own."""
        salt = self.fact("salt")
        return [hashlib.sha256(f"{salt} {name}".encode()).hexdigest() for name in names]

    def head(self) -> Head:
        """Where the ledger stands, for the public: at its last event that is not about people.

        It is the same whether a household was erased, or moved, since: the next event is chained to that one.
        """
        query = sa.select(schema.ledger.c.number).where(schema.ledger.c.kind.not_in(ledger.PEOPLE))
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
        for record in self.records():
            last = self.last_step(record.number)
            if record.plan.free is not None:
                # It has shown something of its history when it started.
                last = max(-1 if last is None else last, int(record.history()[1]) - 1)
            steps.append(-1 if last is None else last)
            losses = record.plan.losses
            pattern, strong = pattern + losses["pattern"], strong + losses["strong"]
        fence = self.fact("fence")
        letters = {each.plan.protection.letter for each in self.records()}.union((fence or {}).get("levels", ""))
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
        table = schema.ledger.c
        query = sa.select(sa.func.count()).where(table.kind.in_(sorted(kinds)))
        return int(self._connection.scalar(query if before is None else query.where(table.number < before)))


def _plain_loss(loss: Loss) -> dict[str, str]:
    return {name: text(getattr(loss, name)) for name in ("epsilon", "zcdp")}
