"""Units: whether readings are in the unit they are said to be in, judged by what is public about a plan.

A value in kWh that is taken as Wh is a thousand times too small; the other way round it is a thousand times too
large. One reading cannot tell: a home may use next to nothing for weeks. So each *household* of a batch is judged
by most of its readings, and these judgements add up over the batches of a sender.

- A **reading** counts unless it is 0, which is 0 in every unit. It is too small (or too large) if it is less (or
  more) than the plan's public reference in its slot by a factor of 32 to 64: never below 32, always from 64 on. A
  reading above the domain is too large as well. Slots in which the reference is below a quarter of its level do
  not count. Without a reference the domain says what is too large; too small is then, for consumption, less than 1
  to 2 W, which only an import can see, for a panel has whole numbers.
- A **household** looks too small (or too large) in a batch if more than half of its readings that count do.
- A **sender** has a score for each direction. It rises by one for each household that looks wrong, once a
  household, and falls by one for each that does not. It never falls below 0; at 0 households may be counted anew.
  From `ALARM` on the custodian is told. From `REFUSE` on, the batch at hand included, a batch most of whose
  households look wrong is refused. Batches that look too small are refused only if more than one step says so: an
  outage that begins just after a step does leaves a little in every home.

**False alarms.** Assume that the next household looks wrong with a chance of at most 1/10, whatever came before.
Then 9 to the power of the score is a product of e-values (9 with that chance, at most 1/9 otherwise: a mean of 1
or less), and the score is a CUSUM. It takes at least 9^10, 3.5 thousand million, judgements on average to reach
`REFUSE` by chance, and 9^5 = 59,049 to reach `ALARM` (Lorden 1971; Shin, Ramdas and Rinaldo 2024). The chances
measured on real homes are far smaller (docs/curator.md).

**Guarantee**: what a sender is answered depends on what was sent under the same token since the process began, and
on the plan; never on readings of others, and never on what is held or was reported. Nothing of it is written, and
all of it ends with the process. Where a batch is refused, presence depends on values, of all homes in it and of
those that were counted before: theory 4.4 states that assumption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from diurnal.errors import UnitError
from diurnal.planning.plan import Plan
from diurnal.private import Private
from diurnal.readings.data import Marks, Orders
from diurnal.readings.formats import MICRO
from diurnal.readings.panel import BLOCK, Panel, in_memory, order_of

if TYPE_CHECKING:
    from diurnal.curator.started_plan import StreamRecord

Says = Literal["plausible", "too small", "too large", "not known"]
"""What readings look like, by the households of a batch."""

BITS = 6
"""By how many bits a reading must differ from the reference: 32 to 64 times. Between units lie 10."""

QUIET = 4
"""A slot with less than this part of the reference's level does not count: at dusk all roofs make little."""

FAINT = 2
"""Watts that a home draws at least, for all that is known without a reference."""

ALARM, REFUSE = 5, 10
"""From which score on the custodian is told, and batches are refused."""

MOST = 2 * REFUSE
"""The highest score: so many households that look right undo it."""

REMEMBERED = 10_000
"""Of how many households it is remembered that they were counted, about: a score needs far fewer."""

LOCAL = ""
"""The sender of what comes from a file, a table, a stream of Spark's, or a program that has the store."""

NEVER = 255


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Which sizes are plausible, by slot, in bits of millionths of a Wh. From public knowledge alone."""

    small: Orders
    """Up to how many bits a reading is too small; 0 where that cannot be told."""
    large: Orders
    """From how many bits on it is too large; `NEVER` where that cannot be told."""
    above: int
    """How many bits the domain's upper end has."""
    counts: Marks
    """Which slots count."""

    @classmethod
    def of(cls, plan: Plan) -> Bounds:
        """The bounds of a plan."""
        micro, slots = MICRO[plan.grid.unit], plan.grid.slots
        above = int(order_of(np.array([max(0, plan.domain[1]) * micro]))[0])
        reference = plan.reference
        level = 0 if reference is None else reference.level
        if reference is None or not 0 < level <= max(map(abs, plan.domain)):
            # A reference beyond the domain is in another unit itself.
            faint = int(order_of(np.array([FAINT * MICRO["Wh"] * plan.grid.minutes // 60]))[0]) - 1
            small = faint if plan.channel == "consumption" else 0
            return cls(
                small=np.full(slots, small, dtype=np.uint8),
                large=np.full(slots, NEVER, dtype=np.uint8),
                above=above,
                counts=np.ones(slots, dtype=bool),
            )
        profile = np.abs(np.array(reference.profile, dtype=np.int64))
        bits = order_of(profile * micro).astype(np.int64)
        return cls(
            small=np.maximum(bits - BITS, 0).astype(np.uint8),
            large=np.minimum(bits + BITS, NEVER - 1).astype(np.uint8),
            above=above,
            counts=(profile > 0) & (QUIET * profile >= float(level)),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Look(Private):
    """How the households of a batch look. It depends on the batch and the plan alone."""

    small: tuple[int, ...] = ()
    """The places in the roster of those whose readings look too small."""
    large: tuple[int, ...] = ()
    """Of those whose readings look too large."""
    plausible: int = 0
    """How many look as they should."""
    steps: frozenset[int] = frozenset()
    """Two of the steps at which readings look too small, or fewer if there are not as many."""

    @property
    def says(self) -> Says:
        """What most of them look like."""
        if not (self.small or self.large or self.plausible):
            return "not known"
        if len(self.small) > len(self.large) + self.plausible:
            return "too small"
        return "too large" if len(self.large) > len(self.small) + self.plausible else "plausible"

    @property
    def households(self) -> int:
        """How many could be judged."""
        return len(self.small) + len(self.large) + self.plausible


def look(record: StreamRecord, panel: Panel) -> Look:
    """How the households of a panel look that are on a stream's roster."""
    if not record.cohort.holds:
        # Readings stay in the lake, and only the domain was looked at there, by the import.
        return Look()
    panel, bounds = panel.on_grid(record.plan.grid), Bounds.of(record.plan)
    where = record.where(panel.households)
    places = np.arange(panel.n_households) if where is None else where
    counted, small, large = (np.zeros(panel.n_households, dtype=np.int64) for _ in range(3))
    steps = set[int]()
    panel, rows = in_memory(panel), max(1, BLOCK // max(1, panel.n_households))
    for start in range(panel.first_step, panel.steps.stop, rows):
        part = panel.between(start, start + rows)
        slots = np.array(part.steps) % part.grid.slots
        orders, outside = _sizes(part, record.plan)
        there = (orders > 0) & bounds.counts[slots][:, None] & (places >= 0)
        is_small = there & (orders <= bounds.small[slots][:, None])
        is_large = there & ((orders >= bounds.large[slots][:, None]) | (outside & (orders >= bounds.above)))
        counted += np.count_nonzero(there, axis=0)
        small += np.count_nonzero(is_small & ~is_large, axis=0)
        large += np.count_nonzero(is_large, axis=0)
        if len(steps) < 2:
            some = np.flatnonzero(is_small.any(axis=1))[:2]
            steps.update(part.first_step + int(row) for row in some)
    looks_small, looks_large = 2 * small > counted, 2 * large > counted
    return Look(
        small=tuple(places[looks_small].tolist()),
        large=tuple(places[looks_large].tolist()),
        plausible=int(np.count_nonzero((counted > 0) & ~looks_small & ~looks_large)),
        steps=frozenset(sorted(steps)[:2]),
    )


def _sizes(panel: Panel, plan: Plan) -> tuple[Orders, Marks]:
    """How large readings are, those that an import has set aside among them; and which lie outside the domain."""
    orders: Orders | None = getattr(panel.data, "orders", None)
    readings, present = panel.readings, panel.present
    if orders is not None:
        return orders, ~present | (readings > plan.domain[1])
    made = order_of(np.where(present, readings, 0).astype(np.float64) * MICRO[plan.grid.unit])
    return made, present & (readings > plan.domain[1])


@dataclass(repr=False)
class Run(Private):
    """What speaks for another unit, in one direction, since the score was last 0."""

    score: int = 0
    homes: set[int] = field(default_factory=set)
    """Households that were counted, by their places in the roster."""
    steps: set[int] = field(default_factory=set)
    """Two of the steps that say so."""

    def add(self, wrong: Iterable[int], others: int, steps: Iterable[int]) -> None:
        """Count the households of a batch: those that look wrong and are new, and those that do not."""
        fresh = set(wrong) - self.homes
        self.score = min(MOST, max(0, self.score + len(fresh) - others))
        if not self.score:
            self.homes, self.steps = set(), set()
            return
        if len(self.homes) < REMEMBERED:
            self.homes |= set(sorted(fresh)[:REMEMBERED])
        self.steps = set(sorted(self.steps.union(steps))[:2])

    def copy(self) -> Run:
        """The same, apart."""
        return Run(self.score, set(self.homes), set(self.steps))


@dataclass(repr=False)
class Scores(Private):
    """What senders have sent to the streams of a store, since the process began. Kept in memory alone."""

    trusts: bool = False
    """Whether nothing is refused: the custodian knows better than a plan's reference."""
    looked: Counter[tuple[int, Says]] = field(default_factory=Counter)
    """How many households, batch by batch, looked how, by the stream's number."""
    refused: Counter[int] = field(default_factory=Counter)
    """How many batches were refused, by the stream's number."""
    last: Says = "not known"
    """What was judged last looks like."""
    _runs: dict[tuple[str | None, int, Says], Run] = field(default_factory=dict)
    """By sender (None: all of them together), stream and direction."""

    def judge(self, record: StreamRecord, panel: Panel, *, sender: str = LOCAL) -> None:
        """Look at readings for a stream, and remember how they look.

        Args:
            record: The stream.
            panel: What was sent.
            sender: Who sent it: only what the same one has sent before counts against it.

        Raises:
            UnitError: They are in another unit, by what this sender has sent so far.
        """
        found = look(record, panel)
        self.last = found.says
        self.looked[record.number, "too small"] += len(found.small)
        self.looked[record.number, "too large"] += len(found.large)
        self.looked[record.number, "plausible"] += found.plausible
        for who in (sender, None):
            for direction, run in self._after(record, found, who).items():
                self._runs[who, record.number, direction] = run
        refusal = self._refusal(record, found, self._of(record, sender))
        if refusal is not None:
            self.refused[record.number] += 1
            raise refusal

    def would(self, record: StreamRecord, panel: Panel, *, sender: str) -> tuple[Says, UnitError | None]:
        """What readings look like, and how they would be refused; nothing is remembered."""
        found = look(record, panel)
        return found.says, self._refusal(record, found, self._after(record, found, sender))

    def alarms(self, number: int) -> tuple[Says, ...]:
        """In which directions readings of a stream look wrong, by one sender or by all of them together."""
        directions: tuple[Says, ...] = ("too small", "too large")
        return tuple(
            direction
            for direction in directions
            if any(
                run.score >= ALARM
                for (_, stream, wrong), run in self._runs.items()
                if stream == number and wrong == direction
            )
        )

    def counted(self, number: int) -> dict[str, int]:
        """How many households of a stream looked how, batch by batch."""
        return {says: count for (stream, says), count in sorted(self.looked.items()) if stream == number and count}

    def _of(self, record: StreamRecord, sender: str | None) -> dict[Says, Run]:
        directions: tuple[Says, ...] = ("too small", "too large")
        return {each: self._runs.get((sender, record.number, each), Run()) for each in directions}

    def _after(self, record: StreamRecord, found: Look, sender: str | None) -> dict[Says, Run]:
        """A sender's runs with one more batch."""
        runs = {direction: run.copy() for direction, run in self._of(record, sender).items()}
        runs["too small"].add(found.small, len(found.large) + found.plausible, found.steps)
        runs["too large"].add(found.large, len(found.small) + found.plausible, ())
        return runs

    def _refusal(self, record: StreamRecord, found: Look, runs: dict[Says, Run]) -> UnitError | None:
        says = found.says
        if self.trusts or says not in runs or runs[says].score < REFUSE:
            return None
        if says == "too small" and len(runs[says].steps) < 2:
            return None
        wrong = found.small if says == "too small" else found.large
        what = "the plan's public reference" if record.plan.reference is not None else "a home"
        return UnitError("unit-implausible", wrong=len(wrong), households=found.households, says=says, what=what)
