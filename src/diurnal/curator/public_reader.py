"""Public reader: what is public of a store, read without keeping anybody waiting.

A curator's transactions are alone. Whoever answers the public all day must not stand in their queue, nor have at
hand what they need: a `Reader` reads only, in transactions of its own that wait for nobody, and never opens the
folder of rosters and profiles. Of a started plan it knows what `Published` has, and nothing else.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from diurnal.curator import database, ledger
from diurnal.curator.closing import TOLERANCE
from diurnal.curator.ledger import Event, fact
from diurnal.curator.release import Report, RowWriter
from diurnal.curator.started_plan import Group, by_step, check_version, readable
from diurnal.curator.store import Clock, errors_translated, for_reading, utc_now
from diurnal.planning.plan import Plan
from diurnal.promise.guarantee import Guarantee


@dataclass(frozen=True, kw_only=True)
class Published:
    """What is public about a started plan. Its roster, profiles and, in strong mode, G are not in it."""

    plan: Plan
    """The plan."""
    number: int
    """Its number in the store."""
    groups: tuple[Group, ...]
    """Its groups, without their noisy profiles."""
    first_step: int
    """The first step it may report."""
    end: int | None
    """The step from which on it reports nothing; None while it runs."""
    last_step: int | None
    """The latest step it has reported, of those that have come by now."""

    @property
    def key(self) -> str:
        """The plan's hash."""
        return self.plan.hash

    @cached_property
    def writer(self) -> RowWriter:
        """What writes its rows."""
        return RowWriter(self.plan, self.groups)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.plan.guarantee()

    @property
    def width(self) -> int:
        """How many rows a step has."""
        return len(self.groups) * len(self.plan.query.series)

    @property
    def names(self) -> tuple[str, ...]:
        """What the rows of a step are called, in their order."""
        return tuple(group.row_name(series) for series in self.plan.query.series for group in self.groups)


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at a store."""

    number: int
    """How many events its ledger has."""
    streams: tuple[Published, ...]
    """Its plans, in the order of their start."""
    events: tuple[Event, ...]
    """What was decided since the last look. For the custodian: see `page.ledger` for what the public is told."""


class Reader:
    """Reads what is public of a store that is there. It may be used by several threads at once."""

    def __init__(self, engine: sa.Engine, clock: Clock = utc_now) -> None:
        """Read through an engine that `store.for_reading` has made; `Reader.open` does both."""
        self._engine, self._clock = engine, clock
        self._plans: dict[str, tuple[Plan, tuple[Group, ...]]] = {}
        self._closing = weakref.finalize(self, engine.dispose)

    @classmethod
    def open(cls, where: str | Path, clock: Clock = utc_now) -> Reader:
        """Read a store: a SQLite file, or an address of PostgreSQL. A curator has opened it before.

        Raises:
            StoreError: It is no address of a database, or its driver is missing.
        """
        return cls(for_reading(where), clock)

    def close(self) -> None:
        """Let go of the database."""
        self._closing()

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        with errors_translated(), self._engine.connect() as connection, connection.begin():
            yield connection

    def look(self, after: int = 0) -> Look:
        """How the store stands, and what was decided after an event."""
        with self._reading() as connection:
            last = ledger.last(connection)
            found = connection.execute(sa.select(database.plans).order_by(database.plans.c.number)).all()
            return Look(
                number=0 if last is None else last.number,
                streams=tuple(self._published(connection, each) for each in found),
                events=tuple(ledger.events(connection, after)),
            )

    def number(self) -> int:
        """How many events the ledger has: whether there is anything new."""
        with self._reading() as connection:
            return int(connection.scalar(sa.select(sa.func.max(database.ledger.c.number))) or 0)

    def events(self, after: int, limit: int) -> list[Event]:
        """Some events, from the one after a number on. For the custodian."""
        with self._reading() as connection:
            return list(ledger.events(connection, after, limit))

    def decided(self, last: int) -> list[Event]:
        """The last events that are not about reports, and all reports between and after them. For the custodian."""
        kept = database.ledger.c
        reports = ("reported", "drawn")
        query = sa.select(kept.number).where(kept.kind.not_in(reports)).order_by(kept.number.desc()).limit(last)
        with self._reading() as connection:
            numbers = list(connection.scalars(query))
            return list(ledger.events(connection, numbers[-1] - 1 if numbers else 0))

    def rows(self, stream: Published, steps: range) -> list[Report]:
        """The rows that have been published, of some steps."""
        if not steps:
            return []
        asked = {"plan": stream.number, "first": steps.start, "last": steps.stop - 1}
        with self._reading() as connection:
            found = by_step(connection.execute(database.ROWS, asked).all())
        return stream.writer.rows(found)

    def settled(self, stream: Published, steps: range) -> bool:
        """Whether every one of some steps is reported, or never will be: what was read of them stays as it is."""
        asked = {"plan": stream.number, "first": steps.start, "last": steps.stop - 1}
        with self._reading() as connection:
            published = set(connection.scalars(database.PUBLISHED, asked))
            closed = set(connection.scalars(database.CALENDAR))
            fence = connection.scalar(sa.select(database.facts.c.value).where(database.facts.c.name == "fence"))
        # Nothing up to the fence is ever drawn again, nor of the cycle that it cuts.
        first = max(stream.first_step, ledger.resumes(fact("fence", fence), stream.plan.grid.slots))
        end = steps.stop if stream.end is None else min(steps.stop, stream.end)
        return all(step in published or step in closed for step in range(max(first, steps.start), end))

    def _published(self, connection: Any, found: Any) -> Published:
        with readable("A started plan"):
            content = json.loads(found.content)
            plan, groups = self._plan(found.token, content)
            first_step, end = content["first_step"], content["end"]
        query = sa.select(sa.func.max(database.rows.c.step)).where(database.rows.c.plan == found.number)
        # Rows that a wrong clock has put years ahead are there, and nobody wants to begin with them.
        come = query.where(database.rows.c.step <= plan.grid.step_at(self._clock() + TOLERANCE))
        last = connection.scalar(come)
        return Published(
            plan=plan,
            number=found.number,
            groups=groups,
            first_step=first_step,
            end=end,
            last_step=None if last is None else int(last),
        )

    def _plan(self, token: str, content: dict[str, Any]) -> tuple[Plan, tuple[Group, ...]]:
        if token not in self._plans:
            check_version(content)
            groups = tuple(map(Group.published, content["groups"]))
            self._plans[token] = Plan.from_json(content["plan"]), groups
        return self._plans[token]
