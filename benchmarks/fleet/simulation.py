"""Simulation: a fleet with faults sends to the product, and the oracle says what must come of it.

Compared are, of every batch, how it was answered: refused or not, what was set aside and why, how many readings
were taken and how many rows released; of every row, its value, when it comes out, and every day that it is as it
was; every hour, which steps are held; every day, all counters and what is kept of which days. Any difference is an
error.
"""

from __future__ import annotations

import heapq
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import diurnal as dn
from benchmarks.fleet import faults
from benchmarks.fleet.desk import PLANS, Answer, Desk, silence
from benchmarks.fleet.judge import Judge
from benchmarks.fleet.oracle import TWO_DAYS, Importer, Oracle, Wall, expected
from benchmarks.fleet.town import Batch, Town
from benchmarks.soaking.city import place
from diurnal.readings.data import Integers

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(kw_only=True)
class Figures:
    """What a run has shown."""

    fault: str
    grace: int
    kind: str = "SQLite"
    batches: int = 0
    """How many were sent."""
    again: int = 0
    """How many of them were known by their key."""
    refused: int = 0
    """How many of them were refused, as was to be."""
    readings: int = 0
    """How many rows all of them had."""
    rows: int = 0
    """How many rows are out, of all streams."""
    latest: dict[str, float] = field(default_factory=dict)
    """By stream, how many hours after the end of a step its row was out, at most."""
    counted: Counter[str] = field(default_factory=Counter)
    """What was set aside, by reason, before a stream and by the first one."""


class Simulation:
    """A fleet, a product and an oracle."""

    def __init__(
        self,
        town: Town,
        desk: Desk,
        names: Sequence[str],
        *,
        grace: int,
        plans: Sequence[str],
        every: timedelta,
        full_days: int,
    ) -> None:
        self._town, self._desk = town, desk
        self._faults = faults.chain(town, names)
        self._wall = Wall(town)
        self._importer = Importer(town, self._wall)
        self._oracles = {
            name: Oracle(town, self._wall, grace=grace, patience=every, of_day=_of_day(desk.streams()[name].plan))
            for name in plans
        }
        self._judges = {name: Judge() for name in plans}
        self._keys: set[str] = set()
        self._seen: dict[str, dict[int, str]] = {name: {} for name in plans}
        self._queue: list[tuple[datetime, int, Batch]] = []
        self._number, self._every, self._full_days = 0, every, full_days
        self._ticked, self._day = town.begin, 0
        self.figures = Figures(fault=", ".join(names), grace=grace)

    def run(self) -> Figures:
        """Let all days pass, and then what deadlines there are.

        Raises:
            AssertionError: The product did something else than the oracle says.
        """
        for number in range(self._town.half_hours):
            honest = self._town.honest(number)
            self._push(faults.sent(self._faults, honest))
            self._pass(honest.at)
        self._push(faults.rest(self._faults))
        last = max((at for at, _, _ in self._queue), default=self._desk.now)
        self._pass(max(last, self._desk.now) + 2 * TWO_DAYS)
        self._compare_all()
        self._compare_end()
        return self.figures

    def _push(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self._number += 1
            heapq.heappush(self._queue, (batch.at, self._number, batch))

    def _pass(self, until: datetime) -> None:
        """Let time pass, with what comes in it."""
        while self._queue and self._queue[0][0] <= until:
            at, _, batch = heapq.heappop(self._queue)
            self._tick_until(at)
            self._desk.now = at
            self._send(batch)
        self._tick_until(until)

    def _tick_until(self, until: datetime) -> None:
        if not self.figures.batches:
            # Nobody has sent anything yet: there is nothing to see to.
            self._ticked = max(self._ticked, until.replace(minute=0, second=0))
        while self._ticked + self._every <= until:
            self._ticked += self._every
            self._desk.now = max(self._desk.now, self._ticked)
            self._tick()
            day = (self._ticked - self._town.begin) // DAY
            if day > self._day:
                self._day = day
                self._compare_counts()
                if day % self._full_days == 0:
                    self._compare_all()
        self._desk.now = max(self._desk.now, until)

    def _tick(self) -> None:
        now, new = self._desk.now, self._desk.tick()
        for name, oracle in self._oracles.items():
            out = oracle.tick(now)
            rows = new.get(name, [])
            assert {row.step for row in rows} == out, _differ(
                f"at {now}, {name}: the deadline of other steps has passed", out, {row.step for row in rows}
            )
            self._compare_rows(name, rows, oracle)
            held = self._desk.held(name)
            assert held == oracle.held, _differ(f"at {now}, {name}: other steps are held", oracle.held, held)

    def _send(self, batch: Batch) -> None:
        if batch.reopens:
            self._desk.reopen()
            self._judges = {name: Judge() for name in self._oracles}
        answer, now = self._desk.send(batch), self._desk.now
        self.figures.batches += 1
        self.figures.readings += len(batch)
        wanted, out = self._expected(batch)
        assert answer == wanted, _differ(f"at {now}, a batch ({batch.key}) was answered otherwise", wanted, answer)
        if answer.again:
            self.figures.again += 1
        elif answer.refused:
            self.figures.refused += 1
            # Whoever put it together sends again what it was put together from.
            for part in batch.parts:
                self._send(_part_of(batch, part))
        else:
            if batch.key is not None:
                self._keys.add(batch.key)
            self.figures.counted.update(answer.beyond)
        for name, steps in out.items():
            if steps:
                stream = self._desk.streams()[name]
                rows = stream.rows(min(steps), max(steps) + 1)
                there = {row.step for row in rows}
                assert steps <= there, _differ(f"at {now}, {name}: rows are not out", steps, there)
                self._compare_rows(name, rows, self._oracles[name])

    def _expected(self, batch: Batch) -> tuple[Answer, dict[str, set[int]]]:
        if batch.key in self._keys:
            for oracle in self._oracles.values():
                oracle.again()
            return Answer(again=True), {}
        now = self._desk.now
        return expected(self._importer.read(batch, now), self._oracles, self._judges, now)

    def _compare_rows(self, name: str, rows: Iterable[dn.Report], oracle: Oracle) -> None:
        """Rows are what they must be, and what they were."""
        seen = self._seen[name]
        for row in rows:
            told = f"{row.time} {row.value} {row.numerator}"
            assert row.step in oracle.out, f"{name}: step {row.step} is out, and must not be, at {self._desk.now}"
            wanted = oracle.out[row.step]
            assert row.numerator == wanted, _differ(f"{name}: step {row.step} says", wanted, row.numerator)
            assert seen.setdefault(row.step, told) == told, f"{name}: the row of step {row.step} has changed"

    def _compare_all(self) -> None:
        """All rows there ever were are there, once, and as they were; nothing is left of days that are over."""
        for name, oracle in self._oracles.items():
            rows = self._desk.streams()[name].rows()
            steps = [row.step for row in rows]
            assert len(steps) == len(set(steps)), f"{name}: a row is there twice"
            assert set(steps) == oracle.out.keys(), _differ(f"{name}: other rows are out", {*oracle.out}, {*steps})
            self._compare_rows(name, rows, oracle)

    def _compare_counts(self) -> None:
        for name, oracle in self._oracles.items():
            told, wanted = self._desk.counts(name), +oracle.counts
            assert told == wanted, _differ(f"{name}: the custodian is told", dict(wanted), told)
            over = self._desk.open_cycles(name) & oracle.days_over
            assert not over, f"at {self._desk.now}, {name}: something is kept of days that are over: {sorted(over)}"

    def _compare_end(self) -> None:
        self._compare_counts()
        assert self._desk.curator.verify().sound, "the ledger is not sound"
        for name, oracle in self._oracles.items():
            assert not self._desk.open_cycles(name), f"{name}: something is kept for ever"
            assert oracle.used == oracle.taken, f"{name}: readings were taken that are in no row"
            self.figures.rows += len(oracle.out)
            self.figures.latest[name] = oracle.latest_close / HOUR
        self.figures.counted.update(+next(iter(self._oracles.values())).counts)


def _part_of(batch: Batch, part: Batch) -> Batch:
    return replace(part, at=batch.at, key=None if batch.key is None else f"{batch.key}: {part.key}", reopens=False)


def _of_day(plan: dn.Plan) -> Callable[[Integers], Iterable[int]] | None:
    """What a stream that waits for whole days says of a day's sums: by its public basis."""
    layer: Any = plan.cycle_layer(1)
    if plan.cycle_mechanism != "basis":
        return None
    return lambda moves: layer.to_slots((layer.matrix @ moves).tolist())


def _differ(what: str, wanted: Any, found: Any) -> str:
    if isinstance(wanted, set) and isinstance(found, set):
        missing, more = sorted(wanted - found), sorted(found - wanted)
        return f"{what}: missing {missing[:20]}, too many {more[:20]}"
    return f"{what}: must be {wanted}, is {found}"


def simulate(
    names: Sequence[str],
    *,
    grace: int,
    town: Town,
    kind: str = "SQLite",
    plans: Sequence[str] = tuple(PLANS),
    full_days: int = 1,
    every: timedelta = HOUR,
    folder: Path | None = None,
) -> Figures:
    """Send all days of a town with some faults, and compare.

    Args:
        names: The faults.
        grace: The plans' grace.
        town: The homes.
        kind: SQLite or PostgreSQL.
        plans: Which streams there are.
        full_days: After how many days all rows there ever were are compared again.
        every: How often deadlines are looked at.
        folder: Where the store is made; a folder of its own unless given.

    Raises:
        AssertionError: The product did something else than the oracle says.
    """
    with tempfile.TemporaryDirectory(prefix="diurnal-fleet-", dir=folder, ignore_cleanup_errors=True) as name:
        where = Path(name)
        with place(kind, where) as store, silence():
            # Whether what was committed survives a power cut is not what is simulated here.
            store += "&options=-csynchronous_commit%3Doff" if kind == "PostgreSQL" else ""
            desk = Desk(town, store, where / "profiles", grace=grace, plans=tuple(plans))
            simulation = Simulation(town, desk, names, grace=grace, plans=plans, every=every, full_days=full_days)
            figures = simulation.run()
            desk.curator.close()
    figures.kind = kind
    return figures
