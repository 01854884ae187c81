"""Opening: a store in a file or a database, made or found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from diurnal.curator import database
from diurnal.curator.backup import go_behind
from diurnal.curator.publishing import forget_over
from diurnal.curator.shelf import FolderShelf
from diurnal.curator.store import Clock, Store, utc_now
from diurnal.errors import NoStoreError, PopulationError, StoreError
from diurnal.promise.budget import Budget


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
            raise NoStoreError("There is no store there.", hint="Say where it is; starting a plan makes one.")
        else:
            store.create(Budget() if budget is None else budget, population)
            store.close_steps(calendar)
            _check_place(store, None)
    return store


def _at(where: str | Path, profiles: str | Path | None, *, create: bool, clock: Clock | None) -> Store:
    """A store, of which it is not known yet whether it is there."""
    is_address = isinstance(where, str) and "://" in where
    if is_address and profiles is None:
        raise StoreError(
            "A store on PostgreSQL keeps its private profiles in a folder that all its machines see.",
            hint="Say profiles='/a/shared/folder', readable by its owner alone.",
        )
    path = Path(where)
    if not is_address:
        _check_file(path, create=create)
    engine = database.of_url(str(where)) if is_address else database.of_file(path)
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
                raise NoStoreError("There is no store there.", hint="Say where it is; starting a plan makes one.")
            go_behind(store, fence, people, strays)
            slots = (store.fact("population") or {}).get("grid", {}).get("slots", 1)
            resumes = store.resumes(slots)
            raise _OverError
    except _OverError:
        return resumes


def _check_file(path: Path, *, create: bool) -> None:
    """Refuse a file that is something else, before anything of it is touched."""
    if path.exists() and not path.is_file():
        raise StoreError(f"{path.name} is no regular file, and no store.", hint="Say where the store is.")
    there = path.is_file() and path.stat().st_size > 0
    if not there and not create:
        raise NoStoreError(f"There is no store {path.name}.", hint="Say where it is; starting a plan makes one.")
    if not there:
        return
    with path.open("rb") as file:
        if not file.read(15).startswith(b"SQLite format 3"):
            raise StoreError(f"{path.name} is no store.", hint="Say where the store is.")


def _check_place(store: Store, fence: str | None) -> None:
    """Refuse a database that was restored from a dump, or copied, until it is fenced."""
    here, known = database.place_of(store.connection), store.fact("place")
    if here is None or here == known:
        return
    if known is not None and fence is None:
        raise StoreError(
            "This store was copied from another database. What was published there since is not in it.",
            hint="Open it with fence= the last head that was published: what is missing counts as spent then, "
            "and is never drawn again.",
        )
    store.set_fact("place", here)


def _check(store: Store, budget: Budget | None, population: dict[str, Any], calendar: frozenset[int]) -> None:
    """Refuse to open a store with another budget or population than its own."""
    if budget is not None and budget != store.budget:
        raise PopulationError(
            f"This store has {_caps(store.budget)}, and {_caps(budget)} was given.",
            hint="Leave the budget out to take the store's. curator.raise_cap(...) raises it: the ledger tells.",
        )
    if not calendar <= store.calendar():
        raise PopulationError(
            "This store's calendar does not have all of these steps.",
            hint="A calendar is given when a store is made, and grows with the panels that are reported.",
        )
    own = store.fact("population") or {}
    for name, value in population.items():
        if name in own and own[name] != value:
            raise PopulationError(
                f"This store has {name} {own[name]}, and {value} was given.",
                hint="One store is one population. Leave it out to take the store's.",
            )


def _caps(budget: Budget) -> str:
    return ", ".join(f"{name} {value}" for name, value in budget.to_json().items() if value is not None)
