"""Passing: what a store keeps for a while: noise of open cycles, readings of open steps, how far a stream has come.

All of it is private. Noise and readings are erased when they have served; what else is here stays, and says little:
facts, that a cycle's noise was drawn, digests of what a watch has taken, counters. What is decided is in `store`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from diurnal.curator import queries, schema
from diurnal.curator.records import HeldStep
from diurnal.errors import StoreError


class Passing:
    """What passes. A part of a store: its methods are called inside a transaction."""

    _connection: Any
    _erasing: bool
    _facts: dict[str, str] | None

    def fact(self, name: str) -> Any:
        """A fact about the store; None if there is none of that name."""
        if self._facts is None:
            # They are few, and nobody else writes while a transaction goes on: read once.
            facts = dict(self._connection.execute(queries.FACTS).all())
            # A newer diurnal may have brought the store up to date since it was opened here.
            schema.known(facts.get("version", str(schema.VERSION)))
            self._facts = facts
        found = self._facts.get(name)
        try:
            return None if found is None else json.loads(found)
        except ValueError:
            raise StoreError(
                f"What the store knows of its {name} cannot be read.", hint="Restore a backup, behind its fence."
            ) from None

    def set_fact(self, name: str, value: Any) -> None:
        """Remember a fact."""
        self._connection.execute(schema.facts.delete().where(schema.facts.c.name == name))
        self._connection.execute(schema.facts.insert(), {"name": name, "value": json.dumps(value)})
        self._facts = None

    def cycle_noise(self, plan: int, cycle: int) -> dict[str, tuple[int, ...]] | None:
        """The noise of an open cycle by group, if it has been drawn."""
        found = self._connection.scalar(queries.NOISE, {"plan": plan, "cycle": cycle})
        if found == "":
            raise StoreError(
                f"Cycle {cycle} is closed, and its noise is erased.", hint="Nothing more of it is ever reported."
            )
        return None if found is None else {name: tuple(values) for name, values in json.loads(found).items()}

    def keep_noise(self, plan: int, cycle: int, noise: Mapping[str, Sequence[int]]) -> None:
        """Keep a cycle's noise before its first use."""
        content = json.dumps({name: list(values) for name, values in noise.items()})
        values = {"plan": plan, "cycle": cycle, "content": content}
        self._connection.execute(schema.noise.insert(), values)

    def held(self, plan: int, steps: range) -> dict[int, HeldStep]:
        """The readings of open steps that have arrived."""
        table = schema.held
        query = sa.select(table).where(table.c.plan == plan, table.c.step.between(steps.start, steps.stop - 1))
        return {
            found.step: HeldStep(
                readings=np.frombuffer(found.readings, dtype="<i8").astype(np.int64),
                present=np.frombuffer(found.present, dtype=np.uint8).astype(bool),
                closed=found.closed,
            )
            for found in self._connection.execute(query)
        }

    def held_steps(self, plan: int) -> dict[int, bool]:
        """Which steps are held, and whether they take no more."""
        table = schema.held.c
        query = sa.select(table.step, table.closed).where(table.plan == plan).order_by(table.step)
        return dict(self._connection.execute(query).all())

    def hold(self, plan: int, steps: Mapping[int, HeldStep]) -> None:
        """Keep the readings of open steps, in place of what was kept of them."""
        if not steps:
            return
        self.release(plan, steps)
        self._connection.execute(
            schema.held.insert(),
            [
                {
                    "plan": plan,
                    "step": step,
                    "closed": each.closed,
                    "readings": each.readings.astype("<i8").tobytes(),
                    "present": each.present.astype(np.uint8).tobytes(),
                }
                for step, each in steps.items()
            ],
        )

    def release(self, plan: int, steps: Iterable[int]) -> None:
        """Erase the readings of steps."""
        table = schema.held
        gone = [{"at_step": step} for step in steps]
        if gone:
            self._erasing = True
            which = (table.c.plan == plan) & (table.c.step == sa.bindparam("at_step"))
            self._connection.execute(table.delete().where(which), gone)

    def close_cycle(self, plan: int, cycle: int) -> None:
        """Erase a cycle's noise, once every step of it is published or on the calendar.

        That it had some stays known: a cycle's noise is never drawn a second time.
        """
        table = schema.noise
        self._erasing = True
        which = (table.c.plan == plan) & (table.c.cycle == cycle)
        self._connection.execute(table.update().where(which).values(content=""))

    def noisy_cycles(self, plan: int) -> list[int]:
        """Cycles whose noise has not been erased yet."""
        return list(self._connection.scalars(queries.OPEN_NOISE, {"plan": plan}).all())

    def drawn_cycles(self, plan: int) -> set[int]:
        """Cycles whose noise was ever drawn."""
        return set(
            self._connection.scalars(sa.select(schema.noise.c.cycle).where(schema.noise.c.plan == plan)).all()
        )

    def latest(self, plan: int) -> int:
        """The latest step of which a reading was seen; -1 before there was one."""
        found = self.fact(f"latest {plan}")
        return -1 if found is None else int(found)

    def see(self, plan: int, step: int) -> None:
        """Remember the latest step of which a reading was seen."""
        if step > self.latest(plan):
            self.set_fact(f"latest {plan}", step)

    def has_taken(self, plan: int, digest: str) -> bool:
        """Whether a watch has taken something before."""
        table = schema.taken.c
        query = sa.select(table.plan).where(table.plan == plan, table.digest == digest)
        return self._connection.scalar(query) is not None

    def take(self, plan: int, digest: str) -> None:
        """Remember that a watch has taken something."""
        self._connection.execute(schema.taken.insert(), {"plan": plan, "digest": digest})

    def settled(self, plan: int) -> int | None:
        """The step before which every step of a plan is reported or never will be; None before that was asked."""
        found = self.fact(f"settled {plan}")
        return None if found is None else int(found)

    def settle(self, plan: int, step: int) -> None:
        """Remember that every step before one is reported or never will be."""
        self.set_fact(f"settled {plan}", step)

    # Counters.

    def count(self, plan: int, what: str, number: int) -> None:
        """Add to a counter for the custodian's eyes."""
        if not number:
            return
        table = schema.counts
        which = (table.c.plan == plan) & (table.c.what == what)
        done = self._connection.execute(table.update().where(which).values(number=table.c.number + number))
        if not done.rowcount:
            values = {"plan": plan, "what": what, "number": number}
            self._connection.execute(table.insert(), values)

    def counts(self, plan: int) -> dict[str, int]:
        """The custodian's counters."""
        table = schema.counts.c
        query = sa.select(table.what, table.number).where(table.plan == plan)
        return dict(self._connection.execute(query).all())
