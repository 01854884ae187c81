"""Store: what a curator remembers. Here in memory; the seam at which it becomes durable.

Everything a stream has decided lives behind this interface, and every change is made inside
`transaction()`: a plan's start, a cycle's noise, a batch of rows. Whoever asks again finds what was decided
first. Profiles, held readings and cycle noise are private and have no repr.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from threading import RLock

import numpy as np

from diurnal.curator.report import Report
from diurnal.errors import StreamError
from diurnal.planning.plan import Plan
from diurnal.private import Private
from diurnal.promise.budget import Budget
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """One group of a plan's roster."""

    name: str
    """Its name."""
    size: int
    """How many households of the roster it has."""
    weight: int
    """p*, the largest absolute weight in it."""
    noisy_profile: tuple[Fraction, ...] = field(repr=False)
    """G, a value a slot. Public in pattern mode, private in strong mode."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamRecord(Private):
    """A started plan."""

    plan: Plan
    """The plan, with its roster, calendar and first cycle filled in."""
    households: tuple[str, ...] = field(repr=False)
    """The roster."""
    groups: tuple[Group, ...]
    """Its groups."""
    atoms: Atoms = field(repr=False)
    """Its atoms: the households of one group and weight."""
    profile: Integers = field(repr=False)
    """zhat, in the order of the atoms. Private."""
    known: Marks = field(repr=False)
    """Where zhat is known. Private."""
    first_step: int
    """The first step it may report: after its history, and after a predecessor."""
    end: int | None = None
    """The step at which it was stopped."""
    acknowledged: str | None = None
    """The digest of the verdict that somebody has read, or that nothing was tested; None at level `cycle`."""

    @property
    def key(self) -> str:
        """The plan's hash."""
        return self.plan.hash

    @cached_property
    def members(self) -> frozenset[str]:
        """The households whose readings it uses: those with a weight."""
        return frozenset(self.households[i] for i in self.atoms.order)

    @property
    def history_start(self) -> int:
        """The first step of the history."""
        return (self.plan.first_cycle or 0) * self.plan.grid.slots

    def history(self) -> tuple[float, float]:
        """The steps its profiles are made from, from and up to."""
        return self.history_start, self.history_start + self.plan.history * self.plan.grid.slots

    @property
    def last(self) -> float:
        """The step before which its reports end; infinite while it runs."""
        return float("inf") if self.end is None else self.end

    def reports(self) -> tuple[float, float]:
        """The steps it reports, from and up to."""
        return self.first_step, self.last

    def speaks_about(self) -> tuple[float, float]:
        """The steps whose readings its reports show: a pattern plan's history too."""
        return self.history_start if self.plan.level == "pattern" else self.first_step, self.last


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldCycle(Private):
    """Readings of a cycle that reports when it is complete. Private."""

    readings: Integers = field(repr=False)
    """A row a slot."""
    present: Marks = field(repr=False)
    """Where there is a reading."""
    arrived: Marks = field(repr=False)
    """Which slots have arrived."""


class Store(ABC):
    """What a curator remembers. All methods are called inside `transaction()`."""

    budget: Budget

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside happens at once, and alone."""

    @abstractmethod
    def records(self) -> tuple[StreamRecord, ...]:
        """Every plan ever started, in order."""

    @abstractmethod
    def add(self, record: StreamRecord, calendar: Iterable[int]) -> None:
        """Remember a started plan, spend its budget, and close the calendar's steps."""

    @abstractmethod
    def end(self, key: str, step: int) -> None:
        """Remember that a plan reports nothing from a step on."""

    @abstractmethod
    def calendar(self) -> frozenset[int]:
        """Steps that are never reported."""

    @abstractmethod
    def close_steps(self, steps: Iterable[int]) -> None:
        """Put more steps on the calendar."""

    @abstractmethod
    def rows(self, key: str, steps: Iterable[int]) -> dict[int, tuple[Report, ...]]:
        """The published rows of those steps that have been published."""

    @abstractmethod
    def last_step(self, key: str) -> int | None:
        """The latest step a plan has published."""

    @abstractmethod
    def publish(self, key: str, rows: Mapping[int, tuple[Report, ...]]) -> None:
        """Remember rows for ever. A step that has rows already keeps them."""

    @abstractmethod
    def cycle_noise(self, key: str, cycle: int) -> dict[str, tuple[int, ...]] | None:
        """The noise of an open cycle by group, if it has been drawn."""

    @abstractmethod
    def keep_noise(self, key: str, cycle: int, noise: Mapping[str, Sequence[int]]) -> None:
        """Keep a cycle's noise before its first use."""

    @abstractmethod
    def held(self, key: str, cycle: int) -> HeldCycle | None:
        """The readings of an open cycle that have arrived."""

    @abstractmethod
    def hold(self, key: str, step: int, readings: Integers, present: Marks) -> bool:
        """Keep the readings of a step of an open cycle; False, and nothing kept, if it has some already."""

    @abstractmethod
    def close_cycle(self, key: str, cycle: int) -> None:
        """Erase a cycle's noise and readings, once every step of it is published or on the calendar."""

    @abstractmethod
    def open_cycles(self, key: str) -> list[int]:
        """Cycles with noise or readings that have not been erased yet."""

    @abstractmethod
    def count(self, key: str, what: str, number: int) -> None:
        """Add to a counter for the custodian's eyes."""

    @abstractmethod
    def counts(self, key: str) -> dict[str, int]:
        """The custodian's counters."""

    def record(self, key: str) -> StreamRecord:
        """A started plan by its hash."""
        for record in self.records():
            if record.key == key:
                return record
        raise StreamError(f"No stream {key[:12]} in this store.", hint="Start the plan first.")


class MemoryStore(Store):
    """A store that lasts as long as the process: for notebooks, tests and studies."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._lock = RLock()
        self._process = os.getpid()
        self._records: dict[str, StreamRecord] = {}
        self._calendar: frozenset[int] = frozenset()
        self._rows: dict[str, dict[int, tuple[Report, ...]]] = {}
        self._noise: dict[tuple[str, int], dict[str, tuple[int, ...]]] = {}
        self._held: dict[tuple[str, int], HeldCycle] = {}
        self._counts: dict[str, Counter[str]] = {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        if os.getpid() != self._process:
            # Two processes with the same memory would use a cycle's noise twice, on different readings.
            raise StreamError(
                "A store in memory belongs to the process that made it, and this is a child of it.",
                hint="Report in one process, or keep streams in a database.",
            )
        with self._lock:
            yield

    def records(self) -> tuple[StreamRecord, ...]:
        return tuple(self._records.values())

    def add(self, record: StreamRecord, calendar: Iterable[int]) -> None:
        self._records[record.key] = record
        self._rows[record.key] = {}
        self._counts[record.key] = Counter()
        self.close_steps(calendar)

    def end(self, key: str, step: int) -> None:
        self._records[key] = replace(self._records[key], end=step)

    def calendar(self) -> frozenset[int]:
        return self._calendar

    def close_steps(self, steps: Iterable[int]) -> None:
        self._calendar = self._calendar.union(steps)

    def rows(self, key: str, steps: Iterable[int]) -> dict[int, tuple[Report, ...]]:
        kept = self._rows[key]
        return {step: kept[step] for step in steps if step in kept}

    def last_step(self, key: str) -> int | None:
        return max(self._rows[key], default=None)

    def publish(self, key: str, rows: Mapping[int, tuple[Report, ...]]) -> None:
        kept = self._rows[key]
        # One update, so that an interrupt leaves all of them or none.
        kept.update({step: row for step, row in rows.items() if step not in kept})

    def cycle_noise(self, key: str, cycle: int) -> dict[str, tuple[int, ...]] | None:
        return self._noise.get((key, cycle))

    def keep_noise(self, key: str, cycle: int, noise: Mapping[str, Sequence[int]]) -> None:
        self._noise[key, cycle] = {name: tuple(values) for name, values in noise.items()}

    def held(self, key: str, cycle: int) -> HeldCycle | None:
        return self._held.get((key, cycle))

    def hold(self, key: str, step: int, readings: Integers, present: Marks) -> bool:
        cycle, slot = divmod(step, self._records[key].plan.grid.slots)
        held = self._held.get((key, cycle))
        if held is None:
            empty = np.zeros((self._records[key].plan.grid.slots, len(readings)), dtype=np.int64)
            held = HeldCycle(readings=empty, present=empty.astype(bool), arrived=np.zeros(len(empty), dtype=bool))
            self._held[key, cycle] = held
        if held.arrived[slot]:
            return False
        held.readings[slot], held.present[slot], held.arrived[slot] = readings, present, True
        return True

    def close_cycle(self, key: str, cycle: int) -> None:
        self._noise.pop((key, cycle), None)
        self._held.pop((key, cycle), None)

    def open_cycles(self, key: str) -> list[int]:
        return sorted({cycle for kept in (self._noise, self._held) for name, cycle in kept if name == key})

    def count(self, key: str, what: str, number: int) -> None:
        self._counts[key][what] += number

    def counts(self, key: str) -> dict[str, int]:
        return dict(self._counts[key])
