"""Desk: the product, fed as the service feeds it, with the simulation's clock and without noise.

A batch goes through the real import, by the steps that the stream takes, and then to all streams in one
transaction. There is no HTTP, so that a year goes by in minutes; the soak has that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import diurnal as dn
from benchmarks.fleet.town import DOMAIN, MINUTES, Batch, Town
from diurnal.curator import intake as batches
from diurnal.curator.intake import Sent
from diurnal.curator.release import Outcome
from diurnal.errors import ReadingsError
from diurnal.promise import noise
from diurnal.promise.mechanisms import CycleMechanismName

PLANS: dict[str, CycleMechanismName] = {"half hours": "laplace", "days": "basis"}
"""The streams: one whose rows come when their step closes, and one whose rows wait for the whole day."""

SILENT: dict[str, Any] = {
    "laplace": lambda size, scale: [0] * size,
    "gaussian": lambda size, scale: [0] * size,
    "cube": lambda ranges, rate: [0] * len(ranges),
    "l2_norm": lambda size, rate: [0] * size,
}
"""What stands for every sampler, so that a row is what noise would be added to."""


@contextmanager
def silence() -> Iterator[None]:
    """No noise in this process, until it is left."""
    with mock.patch.multiple(noise, **SILENT):
        yield


@dataclass(frozen=True, kw_only=True)
class Became:
    """What became of a batch in one stream."""

    rows: int = 0
    """How many rows were released with it."""
    taken: int = 0
    """How many readings were taken."""
    aside: dict[str, int] = field(default_factory=dict)
    """What was not, by reason."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a batch was answered: by the product, or by what the oracle says."""

    refused: str | None = None
    """The kind of error, if all of it was refused."""
    again: bool = False
    """Whether it was known by its key."""
    beyond: dict[str, int] = field(default_factory=dict)
    """What the import set aside."""
    streams: dict[str, Became] = field(default_factory=dict)
    """What became of it in each stream."""


class Desk:
    """The product, as a service runs it."""

    def __init__(self, town: Town, store: str, profiles: Path, *, grace: int, plans: tuple[str, ...]) -> None:
        self._town, self._store, self._profiles = town, store, profiles
        self.now = town.begin
        """What the store's clock shows."""
        # Whoever keeps a store tells it of the clock changes to come: batches of a half hour each do not.
        self.curator = self._open(budget=dn.Budget(pattern="9", cycle="9"), calendar=sorted(town.odd_steps))
        self._keys: dict[str, str] = {}
        for name in plans:
            plan = dn.Plan(
                query=dn.Sum(),
                grid=town.grid,
                domain=DOMAIN,
                history=2,
                reference=dn.Reference(profile=[500] * town.grid.slots),
                epsilon="1",
                level="strong",
                mechanism="cube",
                cycle_mechanism=PLANS[name],
                variation_bound=DOMAIN[1],
                grace=grace,
            )
            started = self.curator.start(plan, history=town.history(), acknowledge="untested", accept_worse=True)
            self._keys[name] = started.plan.hash

    def _open(self, **more: Any) -> dn.Curator:
        return dn.Curator.open(self._store, profiles=self._profiles, clock=lambda: self.now, **more)

    def reopen(self) -> None:
        """End the service, and begin it again on the same store."""
        self.curator.close()
        self.curator = self._open(create=False)
        self.__dict__.pop("_streams", None)

    def streams(self) -> dict[str, dn.Stream]:
        """The streams by name."""
        if "_streams" not in self.__dict__:
            self.__dict__["_streams"] = {name: self.curator.stream(key) for name, key in self._keys.items()}
        found: dict[str, dn.Stream] = self.__dict__["_streams"]
        return found

    def send(self, batch: Batch) -> Answer:
        """Send a batch, as the service would take it."""
        table = self._town.table(batch)
        content = hashlib.sha256(batch.times.tobytes() + batch.values.tobytes()).hexdigest()
        sent = Sent(sender="head-end", key=batch.key, content=content)
        known = batches.known(self.curator, sent)
        if known is not None:
            return Answer(again=all(fate.again for fate in known))
        stream = next(iter(self.streams().values()))
        try:
            read = dn.read(table, format="long", minutes=MINUTES)
            panel = dn.panel(read, like=self._town.grid, steps=stream.takes(), domain=DOMAIN)
            fates = batches.take(self.curator, sent, panel)
        except ReadingsError as error:
            return Answer(refused=type(error).__name__)
        names = {key: name for name, key in self._keys.items()}
        assert panel.quality is not None
        return Answer(
            beyond=dict(panel.quality.set_aside), streams={names[fate.stream]: _became(fate) for fate in fates}
        )

    def tick(self) -> dict[str, list[dn.Report]]:
        """Let deadlines be seen to. Returns the rows that are new, by stream."""
        names = {key: name for name, key in self._keys.items()}
        return {names[key]: rows for key, rows in self.curator.close_overdue().items()}

    def held(self, name: str) -> set[int]:
        """Steps of which readings are held."""
        record, store = self.streams()[name]._record(), self.curator._store
        with store.transaction():
            return set(store.held_marks(record.number))

    def open_cycles(self, name: str) -> set[int]:
        """Cycles of which anything but rows is kept: noise, readings, or when and in which batches they came."""
        record, store = self.streams()[name]._record(), self.curator._store
        with store.transaction():
            number, slots = record.number, record.plan.grid.slots
            held = {step // slots for step in store.held_marks(number)}
            came = {arrival.cycle for arrival in store.arrivals(number)}
            return held.union(came, store.noisy_cycles(number), store.cycles_with_contents(number))

    def counts(self, name: str) -> dict[str, int]:
        """What the custodian is told, in both places."""
        stream = self.streams()[name]
        told = stream.quality()
        found = next(each for each in self.curator.status().streams if each.plan == stream.plan.hash)
        assert {what: told[what] for what in found.counts} == found.counts, "status tells other counts"
        return told


def _became(fate: Outcome) -> Became:
    return Became(rows=fate.reports, taken=fate.taken, aside=dict(fate.set_aside))
