"""Passing: what a store keeps for a while: noise of open cycles, readings of open steps, how far a stream has come.

All of it is private. Noise, readings, and digests of what was in a batch or a file are erased when their cycle
closes. What else is here stays, and depends on no reading: facts, that a cycle's noise was drawn, the names of what
was taken (keyed), counters. What is decided is in `store`.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from diurnal.curator import facts, ledger, queries, schema
from diurnal.curator.closing import Arrival, Mark
from diurnal.curator.records import REMEDY, UNREADABLE, HeldStep, readable
from diurnal.errors import StoreError

OTHERS = "batches sent again with other readings (of open cycles)"
"""How often other readings came under the key of a batch, which changed nothing: not kept beyond the cycle."""


STREAMED = {"yield_per": 100}
"""Rows come some at a time: those of a million homes are large."""


class Passing:
    """What passes. A part of a store: its methods are called inside a transaction."""

    _connection: Any
    _erasing: set[str]
    """The tables of which something is erased for good in this transaction."""
    _log_is_old: bool
    _fresh: set[tuple[int, int]]
    """Plan and cycle of noise that was drawn in this transaction."""
    _facts: dict[str, str] | None

    def now(self) -> datetime:
        """What the clock of this store shows."""
        raise NotImplementedError

    def fact(self, name: str) -> Any:
        """A fact about the store; None if there is none of that name.

        Raises:
            StoreError: It is of another kind than was written, or every store has it and this one does not.
        """
        if self._facts is None:
            # They are few, and nobody else writes while a transaction goes on: read once.
            found = dict(self._connection.execute(queries.FACTS).all())
            # A newer diurnal may have brought the store up to date since it was opened here.
            schema.known(found.get("version", str(schema.VERSION)))
            self._facts = found
        return facts.fact(name, self._facts.get(name))

    def set_fact(self, name: str, value: Any) -> None:
        """Remember a fact."""
        self._connection.execute(schema.facts.delete().where(schema.facts.c.name == name))
        self._connection.execute(schema.facts.insert(), {"name": name, "value": json.dumps(value)})
        self._facts = None

    def cycle_noise(self, plan: int, cycle: int) -> dict[str, tuple[int, ...]] | None:
        """The noise of an open cycle by group, if it has been drawn.

        Raises:
            StoreError: It is erased; or it is not what was drawn, and the cycle reports nothing more.
        """
        found = self._connection.execute(queries.NOISE, {"plan": plan, "cycle": cycle}).one_or_none()
        if found is None:
            return None
        if found.content == "":
            raise StoreError(
                f"Cycle {cycle} is closed, and its noise is erased.", hint="Nothing more of it is ever reported."
            )
        if (plan, cycle) not in self._fresh and not self._is_vouched_for(found):
            raise StoreError(
                f"The noise of plan {plan}, cycle {cycle}, is not what was drawn.",
                hint="Nothing was reported. Restore a backup, behind its fence.",
            )
        with readable(f"The noise of plan {plan}, cycle {cycle},"):
            return {name: tuple(values) for name, values in json.loads(found.content).items()}

    def keep_noise(self, plan: int, cycle: int, noise: Mapping[str, Sequence[int]]) -> None:
        """Keep the noise of a cycle that goes on."""
        content = json.dumps({name: list(values) for name, values in noise.items()})
        values = {"plan": plan, "cycle": cycle, "content": content}
        self._connection.execute(schema.noise.insert(), values)
        self._fresh.add((plan, cycle))

    def vouch(self, plan: int, *, found: bool = False) -> None:
        """Let the ledger commit to a plan's noise that waits, so that nobody can put other noise in its place.

        What opens the commitment is kept beside the noise and erased with it: afterwards no guess can be tried.

        Args:
            plan: The plan's number.
            found: Whether to vouch for noise that was there before, as an upgrade does. Else only for what was
                drawn in this transaction: what somebody has put there must not become vouched for.
        """
        for each in self._connection.execute(queries.NOT_VOUCHED_FOR, {"plan": plan}).all():
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
        table = schema.noise.c
        found = self._connection.execute(sa.select(schema.noise).order_by(table.plan, table.cycle)).all()
        blank = ("", "", 0)
        return [
            (each.plan, each.cycle)
            for each in found
            if (each.content, each.nonce, each.event) != blank and not (each.content and self._is_vouched_for(each))
        ]

    def _change_noise(self, plan: int, cycle: int, **values: Any) -> bool:
        """Change what is kept of a cycle's noise. Returns whether there was any."""
        table = schema.noise
        which = (table.c.plan == plan) & (table.c.cycle == cycle)
        return bool(self._connection.execute(table.update().where(which), values).rowcount)

    def held(self, plan: int, steps: range) -> dict[int, HeldStep]:
        """The readings of open steps that have arrived.

        Raises:
            StoreError: Some are not what was held. Nothing is reported of them.
        """
        table = schema.held
        query = sa.select(table).where(table.c.plan == plan, table.c.step.between(steps.start, steps.stop - 1))
        held = {}
        for found in self._connection.execute(query):
            if not _is_sealed(found):
                raise StoreError(
                    f"The readings that plan {plan} holds of step {found.step} are not what was written.",
                    hint=f"Nothing was reported. {REMEDY}",
                )
            held[found.step] = HeldStep(
                readings=np.frombuffer(found.readings, dtype="<i8").astype(np.int64),
                present=np.frombuffer(found.present, dtype=np.uint8).astype(bool),
                closed=found.closed,
                reached=found.reached,
            )
        return held

    def odd_held(self) -> list[tuple[int, int]]:
        """Plan and step of readings that are not what was held."""
        with self._connection.execute(sa.select(schema.held), execution_options=STREAMED) as found:
            return [(each.plan, each.step) for each in found if not _is_sealed(each)]

    def taken_is_whole(self) -> bool:
        """Whether what was taken is all there, and nothing else."""
        told = self.fact("taken")
        with self._connection.execute(sa.select(schema.taken), execution_options=STREAMED) as found:
            return bool(told == schema.tally(map(tuple, found)))

    def held_marks(self, plan: int) -> dict[int, Mark]:
        """Which steps are held, and how."""
        table = schema.held.c
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
            rows.append({**row, "seal": schema.sealed(ledger.nonce(), **row)})
        self._connection.execute(schema.held.insert(), rows)

    def release(self, plan: int, steps: Iterable[int]) -> None:
        """Erase the readings of steps."""
        gone = list(steps)
        if gone:
            self._erasing.add("held")
            self._drop_held(plan, gone)

    def _drop_held(self, plan: int, steps: Iterable[int]) -> None:
        table = schema.held
        self._log_is_old = True
        which = (table.c.plan == plan) & (table.c.step == sa.bindparam("at_step"))
        self._connection.execute(table.delete().where(which), [{"at_step": step} for step in steps])

    def close_cycle(self, plan: int, cycle: int) -> None:
        """Erase a cycle's noise, once every step of it is published or on the calendar.

        That it had some stays known: a cycle's noise is never drawn a second time.
        """
        blank = {"content": "", "nonce": "", "event": 0}
        if self._change_noise(plan, cycle, **blank):
            self._erasing.add("noise")
        else:
            # It was drawn and used in this transaction, and never written.
            self._connection.execute(schema.noise.insert(), {"plan": plan, "cycle": cycle, **blank})

    def noisy_cycles(self, plan: int) -> list[int]:
        """Cycles whose noise has not been erased yet."""
        return list(self._connection.scalars(queries.OPEN_NOISE, {"plan": plan}).all())

    def drawn_cycles(self, plan: int) -> set[int]:
        """Cycles whose noise was ever drawn."""
        return set(
            self._connection.scalars(sa.select(schema.noise.c.cycle).where(schema.noise.c.plan == plan)).all()
        )

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
        query = sa.select(schema.arrivals).where(schema.arrivals.c.plan == plan).order_by(schema.arrivals.c.cycle)
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
        self._connection.execute(schema.arrivals.insert(), {"plan": plan, **values})

    def forget_arrival(self, plan: int, cycle: int) -> None:
        """Forget when readings of a cycle began to come."""
        table = schema.arrivals
        self._connection.execute(table.delete().where(table.c.plan == plan, table.c.cycle == cycle))

    def keyed(self, *words: str) -> str:
        """A digest of words that says nothing to whoever has not the store: HMAC-SHA-256 under its secret."""
        return schema.keyed(self.fact("secret"), *words)

    def has_taken(self, plan: int, name: str) -> bool:
        """Whether something of that name, which is keyed, was taken before."""
        return self._connection.scalar(queries.HAS_TAKEN, {"plan": plan, "name": name}) is not None

    def take(self, plan: int, name: str) -> None:
        """Remember for ever that something of that name, which is keyed, was taken."""
        self._connection.execute(schema.taken.insert(), {"plan": plan, "digest": name})
        self.set_fact("taken", schema.tally([(plan, name)], before=self.fact("taken")))

    def keep_content(self, plan: int, name: str, content: str, cycles: range) -> None:
        """Remember for a while what was in a batch that was taken: its readings are of open cycles."""
        values = {"plan": plan, "name": name, "content": content, "first": cycles.start, "last": cycles.stop - 1}
        self._connection.execute(schema.contents.insert(), {**values, "others": _digits(0)})

    def compare_content(self, plan: int, name: str, content: str) -> None:
        """Count, as long as it can be told, that something else has come under the name of a batch."""
        found = self._connection.execute(queries.CONTENT, {"plan": plan, "name": name}).one_or_none()
        if found is not None:
            # It is written in either case: who waits for the answer does not learn which it was.
            with readable("What is known of a batch"):
                others = _digits(int(found.others) + (not hmac.compare_digest(found.content, content)))
            self._connection.execute(queries.COUNT_OTHERS, {"at_plan": plan, "at_name": name, "others": others})

    def cycles_with_contents(self, plan: int) -> set[int]:
        """The cycles of readings of which it is still known in which batch they came."""
        found = self._connection.execute(queries.CONTENT_CYCLES, {"plan": plan}).all()
        return {cycle for first, last in found for cycle in range(first, last + 1)}

    def forget_contents(self, plan: int, cycle: int | None = None) -> None:
        """Erase what was in batches that a plan took with readings of a cycle, or in all that it took.

        It is erased in every plan: a digest is of the whole batch, whoever's readings are in it.
        """
        table = schema.contents
        self._erasing.add("contents")
        of_cycle = sa.true() if cycle is None else (table.c.first <= cycle) & (table.c.last >= cycle)
        names = sa.select(table.c.name).where(table.c.plan == plan, of_cycle)
        self._connection.execute(table.delete().where(table.c.name.in_(names)))

    def forget_used(self, plan: int) -> None:
        """Erase which readings a pattern plan has used: at its steps others say their noisy profile from now on."""
        self._erasing.add("used")
        self._connection.execute(schema.used.delete().where(schema.used.c.plan == plan))

    def settled(self, plan: int) -> int | None:
        """The step before which every step of a plan is reported or never will be; None before that was asked."""
        found = self.fact(f"settled {plan}")
        return None if found is None else int(found)

    def settle(self, plan: int, step: int) -> None:
        """Remember that every step before one is reported or never will be."""
        self.set_fact(f"settled {plan}", step)

    # Counters.

    def count(self, plan: int, counts: Mapping[str, int]) -> None:
        """Add to counters for the custodian's eyes."""
        table = schema.counts
        for what, number in counts.items():
            if not number:
                continue
            which = (table.c.plan == plan) & (table.c.what == what)
            done = self._connection.execute(table.update().where(which).values(number=table.c.number + number))
            if not done.rowcount:
                self._connection.execute(table.insert(), {"plan": plan, "what": what, "number": number})

    def quality(self, plan: int) -> dict[str, int]:
        """The custodian's counters, with what may be known of open cycles only."""
        table = schema.contents.c
        with readable("What is known of a batch"):
            others = sum(map(int, self._connection.scalars(sa.select(table.others).where(table.plan == plan))))
        return self.counts(plan) | ({OTHERS: others} if others else {})

    def counts(self, plan: int) -> dict[str, int]:
        """Counters that stay: none depends on what a reading was."""
        table = schema.counts.c
        query = sa.select(table.what, table.number).where(table.plan == plan)
        return dict(self._connection.execute(query).all())


def _is_sealed(found: Any) -> bool:
    """Whether readings that are held, as the database has them, are what was written."""
    try:
        return bool(found.seal == schema.sealed(found.seal[: schema.NONCE], **schema.unsealed(found)))
    except UNREADABLE:
        return False


def _digits(number: int) -> str:
    """A number in as many letters as any: how long a row was stays to be seen where it is erased."""
    return f"{number:012}"
