"""Open state: what a stream still waits for. Read once in a transaction, changed here, and written once.

What was held and is reported in the same transaction never reaches the disk; nor does the noise of a cycle that
begins and ends in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from diurnal.curator.closing import Known
from diurnal.curator.started_plan import Arrival, Changes, HeldStep, Mark, Noise, StreamRecord, Values

if TYPE_CHECKING:
    from diurnal.curator.store import Store


class OpenState:
    """What is open of one stream, in one transaction of its store."""

    def __init__(self, record: StreamRecord, store: Store, steps: range = range(0)) -> None:
        """Read what is open.

        Args:
            record: The started plan.
            store: Where it lies; a transaction is going on.
            steps: Steps that are looked at beside those that are open.
        """
        self._record, self._store = record, store
        found = store.opened(record.number, record.plan.grid.slots, steps)
        self.known = Known(
            record=record,
            now=store.now(),
            calendar=store.calendar(),
            resumes=store.resumes(record.plan.grid.slots),
            latest=found.latest,
            arrivals=found.arrivals,
            held=found.held,
            published=found.published,
        )
        """What is decided from: counts, marks and times."""
        self.new: dict[int, Values] = {}
        """The values of steps that were published in this transaction."""
        self._stored = frozenset(found.held)
        self._noisy, self._contents = set(found.noisy), set(found.contents)
        self._readings: dict[int, HeldStep] = {}
        self._noise: dict[int, Noise] = {}
        self._calendar: set[int] = set()
        self._changes = Changes(latest=found.latest)

    # Readings that are held.

    def held(self, steps: Iterable[int]) -> dict[int, HeldStep]:
        """What is held of those of some steps that are."""
        wanted = [step for step in steps if step in self.known.held]
        missing = [step for step in wanted if step not in self._readings]
        if missing:
            span = range(min(missing), max(missing) + 1)
            found = self._store.held(self._record.number, span)
            self._readings |= {step: found[step] for step in missing}
        return {step: self._readings[step] for step in wanted}

    def hold(self, steps: Mapping[int, HeldStep]) -> None:
        """Hold readings of steps, in place of what was held of them."""
        for step, each in steps.items():
            self._readings[step] = self._changes.held[step] = each
            self.known.held[step] = Mark(closed=each.closed, reached=each.reached)

    def release(self, steps: Iterable[int]) -> None:
        """Hold nothing of steps any more."""
        for step in list(steps):
            if self.known.held.pop(step, None) is None:
                continue
            self._readings.pop(step, None)
            if step in self._stored:
                self._changes.held[step] = None
            else:
                del self._changes.held[step]

    # Noise.

    def noise(self, cycle: int) -> Noise | None:
        """The noise of a cycle, if it was drawn.

        Raises:
            StoreError: It is erased, or is not what was drawn.
        """
        return self._noise.get(cycle) or self._store.cycle_noise(self._record.number, cycle)

    def keep_noise(self, cycle: int, noise: Noise) -> None:
        """Keep a cycle's noise before its first use."""
        self._noise[cycle] = self._changes.noise[cycle] = noise
        self._noisy.add(cycle)

    # What else waits.

    def close_steps(self, steps: Iterable[int]) -> None:
        """Put steps on the calendar: in the store once something is published or written."""
        more = set(steps) - self.known.calendar
        self.known.calendar = self.known.calendar | more
        self._calendar |= more

    def see(self, latest: int) -> None:
        """Remember how far the roster has come."""
        self.known.latest = self._changes.latest = latest

    def arrive(self, arrivals: Iterable[Arrival]) -> None:
        """Remember when readings of cycles began to come."""
        for each in arrivals:
            self.known.arrivals[each.cycle] = self._changes.arrivals[each.cycle] = each

    def forget(self, cycle: int) -> None:
        """Keep nothing of a cycle that is over but rows: no reading, no noise, not when or how readings came."""
        self.release(self.known.cycle(cycle))
        self._forget_arrival(cycle)
        if cycle in self._noisy:
            self._noisy.discard(cycle)
            self._noise.pop(cycle, None)
            self._changes.noise[cycle] = None

    def drop(self, cycle: int) -> None:
        """Drop what waits of a cycle that goes on.

        Its noise stays, for some of its steps may be published; and so do readings of these, for the rest of the
        cycle is cut by them.
        """
        self.release(step for step in self.known.cycle(cycle) if step not in self.known.published)
        self._forget_arrival(cycle)

    def _forget_arrival(self, cycle: int) -> None:
        if self.known.arrivals.pop(cycle, None) is not None:
            self._changes.arrivals[cycle] = None
        if cycle in self._contents:
            self._contents.discard(cycle)
            self._changes.forgotten.add(cycle)

    def publish(self, values: Mapping[int, Values], used: Mapping[int, str] | None = None) -> None:
        """Remember the values of steps for ever. The transaction cannot end before `write`."""
        self._write_calendar()
        self._store.unwritten.add(self._record.number)
        self._store.publish(self._record.number, values, used)
        self.known.published.update(values)
        self.new.update(values)

    @property
    def cycles(self) -> set[int]:
        """The cycles of which anything but rows is kept."""
        held = {step // self._record.plan.grid.slots for step in self.known.held}
        return held.union(self._noisy, self.known.arrivals, self._contents)

    def forget_over(self) -> None:
        """Keep nothing but rows of cycles that are over, however they came to be so."""
        for cycle in sorted(self.cycles):
            if self.known.is_over(cycle):
                self.forget(cycle)

    def write(self) -> None:
        """Write what has changed, once everything is decided."""
        self._write_calendar()
        self.forget_over()
        self._store.write_open(self._record.number, self._changes)
        self._store.unwritten.discard(self._record.number)
        self._changes = Changes(latest=self.known.latest)
        self._stored = frozenset(self.known.held)

    def _write_calendar(self) -> None:
        if self._calendar:
            self._store.close_steps(self._calendar)
            self._calendar = set()
