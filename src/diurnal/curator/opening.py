"""Opening: a store is found or made, backed up, restored behind a fence, and verified.

Verification: the database checks its own files first. Then what the ledger tells of is held against it: released
rows, plans and their profiles, noise that waits, the calendar, the budget, the population, who was erased, the
fence. Readings that are held have a seal each, and what was taken has a digest: these find damage. Whoever can
write the store can also write the ledger, seals and digests anew: who has kept a head sees that of the ledger.
`NOT_LOOKED_AT` can be changed unseen.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from diurnal.curator import database, ledger
from diurnal.curator.closing import TOLERANCE
from diurnal.curator.database import damage
from diurnal.curator.ledger import Event, Head, loss_of, loss_text
from diurnal.curator.release import in_parts
from diurnal.curator.started_plan import UNREADABLE, FolderShelf, StreamRecord
from diurnal.curator.store import Clock, Store, errors_translated, of_file, of_url, place_of, utc_now
from diurnal.curator.taking import forget_over, is_over
from diurnal.errors import NoStoreError, PopulationError, StoreError
from diurnal.place import check_place
from diurnal.promise.budget import Budget, Loss
from diurnal.readings.grid import Grid


def opened(
    where: str | Path,
    budget: Budget | None,
    *,
    population: dict[str, Any],
    calendar: Iterable[int],
    profiles: str | Path | None,
    fence: str | None,
    people: int | None,
    strays: Collection[int] = (),
    create: bool,
    clock: Clock | None = None,
) -> Store:
    """The store at a path or a PostgreSQL address; made if there is none, and that is wanted."""
    store = _at(where, profiles, create=create, clock=clock)
    with store.transaction():
        if store.exists():
            _check(store, budget, population, frozenset(calendar))
            _check_place(store, fence)
            go_behind(store, fence, people, strays)
            if fence is not None:
                forget_over(store, store.records())
            store.sweep()
        elif fence is not None or not create:
            raise NoStoreError("store-missing")
        else:
            store.create(Budget() if budget is None else budget, population)
            store.close_steps(calendar)
            _check_place(store, None)
    return store


def _at(where: str | Path, profiles: str | Path | None, *, create: bool, clock: Clock | None) -> Store:
    """A store, of which it is not known yet whether it is there."""
    is_address = isinstance(where, str) and "://" in where
    if is_address and profiles is None:
        raise StoreError("postgresql-needs-profiles")
    path = Path(where)
    if not is_address:
        _check_file(path, create=create)
    engine = of_url(str(where)) if is_address else of_file(path)
    folder = Path(profiles) if profiles is not None else path.with_name(f"{path.name}-profiles")
    return Store(engine, FolderShelf(folder), clock or utc_now)


class _OverError(Exception):
    """A rehearsal is over."""


def rehearsed(
    where: str | Path,
    *,
    profiles: str | Path | None,
    fence: str,
    people: int | None,
    strays: Collection[int],
    clock: Clock | None = None,
) -> int:
    """From which step on a store would report behind a fence; nothing is written.

    Raises:
        StoreError: There is no store, or it would be refused.
    """
    store, resumes = _at(where, profiles, create=False, clock=clock), 0
    try:
        with store.transaction():
            if not store.exists():
                raise NoStoreError("store-missing")
            go_behind(store, fence, people, strays)
            slots = (store.fact("population") or {}).get("grid", {}).get("slots", 1)
            resumes = store.resumes(slots)
            raise _OverError
    except _OverError:
        return resumes


def _check_file(path: Path, *, create: bool) -> None:
    """Refuse a file that is something else, before anything of it is touched."""
    if path.exists() and not path.is_file():
        raise StoreError("store-not-a-file", name=path.name)
    there = path.is_file() and path.stat().st_size > 0
    if not there and not create:
        raise NoStoreError("store-missing-at", name=path.name)
    if not there:
        return
    with path.open("rb") as file:
        if not file.read(15).startswith(b"SQLite format 3"):
            raise StoreError("store-invalid", name=path.name)


def _check_place(store: Store, fence: str | None) -> None:
    """Refuse a database that was restored from a dump, or copied, until it is fenced."""
    here, known = place_of(store.connection), store.fact("place")
    if here is None or here == known:
        return
    if known is not None and fence is None:
        raise StoreError("store-copied")
    store.set_fact("place", here)


def _check(store: Store, budget: Budget | None, population: dict[str, Any], calendar: frozenset[int]) -> None:
    """Refuse to open a store with another budget or population than its own."""
    if budget is not None and budget != store.budget:
        raise PopulationError("population-budget-differs", has=_caps(store.budget), given=_caps(budget))
    if not calendar <= store.calendar():
        raise PopulationError("population-calendar-differs")
    own = store.fact("population") or {}
    for name, value in population.items():
        if name in own and own[name] != value:
            raise PopulationError("population-differs", field=name, has=own[name], given=value)


def _caps(budget: Budget) -> str:
    return ", ".join(f"{name} {value}" for name, value in budget.to_json().items() if value is not None)


def back_up(store: Store, target: Path) -> Head:
    """Copy a store, profiles and all, into a SQLite file that wants a fence when it is opened.

    Raises:
        StoreError: There is something already, or it cannot be written.
    """
    folder = target.with_name(f"{target.name}-profiles")
    partial = target.with_name(f"{target.name}.{uuid.uuid4().hex[:8]}.partial")
    mine = False
    try:
        # Inside the transaction: of two backups to one name the second finds the first.
        with _writing(), store.transaction():
            check_place(target)
            if not target.name or target.exists() or folder.exists():
                raise StoreError("backup-exists", name=target.name)
            mine, head = True, store.head()
            with errors_translated():
                _copy(store, partial, str(store.own_head()))
            _copy_profiles(store, folder)
            partial.rename(target)
    except BaseException:
        if mine:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        for left in (partial, Path(f"{partial}-wal"), Path(f"{partial}-shm")):
            left.unlink(missing_ok=True)
    return head


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        raise StoreError("backup-not-written", reason=cause.strerror) from None


def _copy_profiles(store: Store, target: Path) -> None:
    # The folder first, so that nobody else sees a file at any moment.
    target.mkdir(mode=0o700)
    for name in store.kept():
        path = target / f"{name}.parquet"
        shutil.copyfile(store.shelf.folder / path.name, path)
        os.chmod(path, 0o600)


def _copy(store: Store, path: Path, head: str) -> None:
    engine = of_file(path)
    with engine.begin() as target:
        database.make_tables(target)
        for table in database.tables.sorted_tables:
            found = store.connection.execution_options(yield_per=10_000).execute(sa.select(table))
            for some in found.partitions():
                target.execute(table.insert(), [dict(row._mapping) for row in some])
        target.execute(database.facts.delete().where(database.facts.c.name == "backup"))
        target.execute(database.facts.insert().values(name="backup", value=f'"{head}"'))
        # A life of its own, so that it never takes its original's files for its own.
        lineage = database.facts.update().where(database.facts.c.name == "lineage")
        target.execute(lineage.values(value=f'"{uuid.uuid4().hex[:8]}"'))
    engine.dispose()
    # One file, with its log folded in.
    with sqlite3.connect(path) as plain:
        plain.execute("PRAGMA journal_mode=DELETE")


def go_behind(store: Store, words: str | None, people: int | None = None, strays: Collection[int] = ()) -> None:
    """Let a restored backup go on behind its fence: what it does not know counts as spent, and is never drawn.

    Args:
        store: The backup.
        words: The last head that was published, or the custodian's own, which says more.
        people: How many erasures and changes of tenancy there were since the backup was taken.
        strays: Steps that have not come yet, and were published all the same because a clock was wrong.

    Raises:
        StoreError: There is no head, or it is not of this store, or it does not say how many there were.
    """
    taken = store.fact("backup")
    if words is None:
        if taken is not None:
            raise StoreError("backup-needs-fence", head=taken)
        return
    head, own = Head.of(words), store.own_head()
    # What it knew when it was taken: whatever it has done since is its own, and no part of what is missing.
    base = Head.of(taken) if taken else own
    empty: dict[str, Any] = {
        "heads": [],
        "base": str(base),
        "pattern": "0",
        "strong": "0",
        "step": -1,
        "levels": "",
    }
    past: dict[str, Any] = store.fact("fence") or empty
    knew = base.people if taken else store.fact("knew")
    base = Head.of(past["base"])
    known = head.hash in past["heads"] or _is_there(store, head, behind=bool(past["heads"]))
    missing = {
        "heads": [*past["heads"], head.hash],
        "base": past["base"],
        "pattern": loss_text(loss_of(past["pattern"]) + _less(head.pattern, base.pattern)),
        "strong": loss_text(loss_of(past["strong"]) + _less(head.strong, base.strong)),
        "step": max(past["step"], _last_step(store, head, strays)),
        "levels": "".join(sorted({*past["levels"], *head.levels})),
    }
    knew = (base.people or 0) if knew is None else knew
    owed = max(store.owed(), _people_by(head, people, knew) - store.people())
    if not known:
        # Noise of a stray's cycle was drawn, and this store does not know it: the whole cycle is never reported.
        store.close_steps(_cycles_of(store, strays), apart=0)
        store.set_fact("fence", missing)
    if not known or owed > store.owed():
        store.set_fact("owed", owed)
        store.set_fact("knew", knew)
        told = {name: store.fact(name) for name in ("fence", "owed", "knew")}
        store.note("fenced", {"head": words.strip(), **told})
    store.set_fact("backup", None)


def _is_there(store: Store, head: Head, *, behind: bool) -> bool:
    """Whether a store knows the event that a head is of.

    Raises:
        StoreError: It is a head of another store.
    """
    events = [event for event in store.events() if head.people is not None or event.is_told]
    there = events[head.number - 1].hash[:32] if 0 < head.number <= len(events) else None
    # Behind a fence the ledger has gone another way than what it was restored from, and numbers say nothing.
    if head.store != store.fact("id") or (there not in (None, head.hash) and not behind):
        raise StoreError("fence-foreign-head")
    return there == head.hash


def _last_step(store: Store, head: Head, strays: Collection[int]) -> int:
    """The last step that was published in its time, by a head.

    Raises:
        StoreError: It has not come yet, and nobody says that it was published ahead of time.
    """
    population = store.fact("population") or {}
    if "grid" not in population:
        return head.step
    grid = Grid(**population["grid"])
    now = grid.step_at(store.now() + TOLERANCE)
    wrong = [step for step in strays if step <= now]
    if wrong:
        raise StoreError("fence-stray-has-come", step=wrong[0], time=grid.time(wrong[0]))
    if head.step <= now:
        return head.step
    if head.step not in strays:
        raise StoreError("fence-step-ahead", time=grid.time(head.step), step=head.step)
    return now


def _cycles_of(store: Store, steps: Collection[int]) -> set[int]:
    """All steps that have not come yet of the cycles that some steps are of. What has come is behind the fence."""
    if not steps:
        return set()
    grid = Grid(**store.fact("population")["grid"])
    now, slots = grid.step_at(store.now() + TOLERANCE), grid.slots
    cycles = (range(step - step % slots, step - step % slots + slots) for step in steps)
    return {step for cycle in cycles for step in cycle if step > now}


def _people_by(head: Head, said: int | None, knew: int) -> int:
    """How many erasures and changes of tenancy there were in all, by a head or by who knows.

    A public head does not tell, nor does it move when a household is erased: some may be missing even from a store
    that knows its last event.

    Args:
        head: The head.
        said: How many there were since a backup was taken, if somebody says so.
        knew: How many the backup knew.
    """
    if said is None and head.people is None:
        raise StoreError("fence-needs-people")
    return max(head.people or 0, knew + (said or 0))


def _less(later: Loss, earlier: Loss) -> Loss:
    """What was lost in between."""
    pure, concentrated = (max(Fraction(0), getattr(later, n) - getattr(earlier, n)) for n in ("epsilon", "zcdp"))
    return Loss.pure(pure) + Loss.concentrated(concentrated)


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
        rows = int(store.connection.scalar(sa.select(sa.func.count()).select_from(database.rows)))
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
        found = _of_steps(store, event, database.rows, "place", "value")
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
    found = store.connection.execute(sa.select(database.plans)).all()
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
        if not record.cohort.is_sound():
            yield f"the profiles of plan {record.number}, in the lake, are not what was put there"


def _noise(store: Store, record: StreamRecord) -> Iterator[str]:
    """Noise that was used stays until its cycle closes, and leaves an empty row: else it could be drawn again."""
    layer = record.plan.cycle_layer()
    slots = record.plan.grid.slots
    if layer is None or not in_parts(layer, slots):
        return
    query = sa.select(database.rows.c.step // slots).where(database.rows.c.plan == record.number).distinct()
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
    if people != set(map(tuple, store.connection.execute(sa.select(database.people)).all())):
        yield "who was erased is not what was written"
    if owed != store.owed():
        yield "what the store owes to people is not what was written"
    if store.fact("version") != database.VERSION:
        yield "the version of the store is not this one's"
    for name, told in facts.items():
        if told != store.fact(name):
            yield f"the {NAMES.get(name, name)} is not what was written"


NAMES = {"knew": "number of erasures that a backup knew"}
"""What facts are called, where they are not called by their name."""
