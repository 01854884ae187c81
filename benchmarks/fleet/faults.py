"""Faults: what goes wrong between a meter and the service. One class each; a line in the registry, `FAULTS`.

A fault gets every batch that the one before it sends, and sends what it makes of it: changed, later, twice, or not
at all. So any of them can be put after one another. It never knows what should become of it: that is the oracle's.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from benchmarks.fleet.town import HALF_HOUR, MILLI, ZONE, Batch, Town, together
from diurnal.readings.data import Integers

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


class Fault:
    """Nothing goes wrong: every batch is sent as it comes."""

    meters_wanted = False
    """Whether it is something about meters, of which it gets some."""

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        self.town, self.meters = town, meters
        self.random = np.random.default_rng((town.seed, seed))

    def sent(self, batch: Batch) -> Iterable[Batch]:
        """What is sent for a batch."""
        yield batch

    def rest(self) -> Iterable[Batch]:
        """What was kept back, in the end."""
        return ()

    def happens(self, probability: float) -> bool:
        """Whether something that is as likely, in a fleet where a lot goes wrong, happens now."""
        return bool(self.random.random() < probability * self.town.rate)

    def day(self, batch: Batch) -> int:
        """On which day a batch comes."""
        return (batch.at - self.town.begin).days


class Honest(Fault):
    """Nothing goes wrong."""


class _Clocks(Fault):
    """Meters whose clocks are off, each by its own."""

    meters_wanted = True
    off: tuple[int, ...] = ()

    def sent(self, batch: Batch) -> Iterator[Batch]:
        for number, meter in enumerate(self.meters.tolist()):
            batch = batch.moved(batch.homes == meter, self.off[number % len(self.off)])
        yield batch


class MinutesOff(_Clocks):
    """Clocks that are minutes off, back and ahead: rows that begin between two steps."""

    off = (7 * MINUTE, -11 * MINUTE, 29 * MINUTE, 1)


class HoursBack(_Clocks):
    """Clocks that are half an hour, hours or a day behind."""

    off = (-HOUR // 2, -5 * HOUR, -26 * HOUR, -HOUR)


class HoursAhead(_Clocks):
    """Clocks that are half an hour, hours or a day ahead."""

    off = (HOUR // 2, 4 * HOUR, HOUR, 26 * HOUR)


class YearsBack(_Clocks):
    """Clocks that are weeks or years behind, down to 1970."""

    off = (-12 * DAY, -3 * YEAR, -52 * YEAR, -200 * DAY)


class YearsAhead(_Clocks):
    """Clocks that are weeks or years ahead, up to 2172; and now and then all of a concentrator's."""

    off = (12 * DAY, YEAR, 30 * YEAR, 150 * YEAR)

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if self.happens(0.01):
            few = batch.only(batch.homes < 7, f"{batch.key} ahead")
            yield few.moved(np.ones(len(few), dtype=bool), YEAR)
        yield from super().sent(batch)


class ClockJumps(Fault):
    """Clocks that are right until they jump, by up to three days either way, and right again a few hours later."""

    meters_wanted = True

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        self.off = np.zeros(len(meters), dtype=np.int64)

    def sent(self, batch: Batch) -> Iterator[Batch]:
        for number, meter in enumerate(self.meters.tolist()):
            if self.happens(0.05):
                wrong = HOUR // 2 * int(self.random.integers(-144, 145))
                self.off[number] = wrong if self.off[number] == 0 else 0
            batch = batch.moved(batch.homes == meter, int(self.off[number]))
        yield batch


class DaylightSaving(Fault):
    """Clocks that do not know of daylight saving, or change a week too late."""

    meters_wanted = True

    def sent(self, batch: Batch) -> Iterator[Batch]:
        never, late = self.meters[::2], self.meters[1::2]
        summer = self._summer_time(batch.at)
        # Nobody tells it: it shows winter time all year, which is read as the time of the day.
        batch = batch.moved(batch.of(never), -HOUR if summer else 0)
        before = self._summer_time(batch.at - timedelta(days=7))
        yield batch.moved(batch.of(late), HOUR * (int(before) - int(summer)))

    def _summer_time(self, moment: datetime) -> bool:
        return bool(moment.astimezone(ZoneInfo(ZONE)).dst())


class WallClock(Fault):
    """Times without an offset, so that an hour is skipped and one is doubled; some clocks are not changed."""

    meters_wanted = True

    def sent(self, batch: Batch) -> Iterator[Batch]:
        walls = np.array([_wall(second) for second in batch.times.tolist()], dtype=np.int64)
        stays = batch.times + HOUR
        times = np.where(batch.of(self.meters), stays, walls)
        yield replace(batch, times=times, is_wall=True)


def _wall(second: int) -> int:
    local = datetime.fromtimestamp(second, ZoneInfo(ZONE)).replace(tzinfo=UTC)
    return int(local.timestamp())


class Units(Fault):
    """Meters that come to send thousandths, or a thousand times too much; and every week whole batches of that.

    Too much is refused at once, and then sent as it should be. Of too little, the first half hour may be an outage,
    and is taken; the next ones are refused, and sent again.
    """

    meters_wanted = True

    def sent(self, batch: Batch) -> Iterator[Batch]:
        number = int(batch.at.timestamp()) // 1800
        if number % 336 == 100:
            yield replace(batch, key=f"{batch.key} in mWh", values=batch.values * MILLI)
        if number % 336 in (200, 201, 202):
            yield replace(batch, key=f"{batch.key} in kWh", values=batch.values // MILLI)
            if number % 336 == 200:
                return
        if self.day(batch) < self.town.days // 3:
            yield batch
            return
        values = batch.values.copy()
        large, small = batch.of(self.meters[::2]), batch.of(self.meters[1::2])
        values[large] *= MILLI
        values[small] //= MILLI
        yield replace(batch, values=values)


class Swapped(Fault):
    """Meters that are changed for others: for a day it is unknown whose the new one is, then its days come again.

    In the half hour of the change both meters have a part.
    """

    meters_wanted = True

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        span = town.half_hours
        self.when = self.random.integers(span // 10, span // 2, size=len(meters))
        self._unknown: list[Batch] = []

    def sent(self, batch: Batch) -> Iterator[Batch]:
        for number, (meter, when) in enumerate(zip(self.meters.tolist(), self.when.tolist(), strict=True)):
            changed = self.town.begin + when * HALF_HOUR
            mine = batch.homes == meter
            if not mine.any():
                continue
            if timedelta(0) < batch.at - changed <= HALF_HOUR + timedelta(minutes=5):
                batch = self._both(batch, mine)
            elif HALF_HOUR < batch.at - changed < timedelta(days=1):
                self._unknown.append(batch.only(mine, f"{batch.key} of {meter}"))
                homes, meters = batch.homes.copy(), batch.meters.copy()
                homes[mine], meters[mine] = self.town.homes + number % 5, 1
                batch = replace(batch, homes=homes, meters=meters)
            elif batch.at > changed:
                meters = batch.meters.copy()
                meters[mine] = 1
                batch = replace(batch, meters=meters)
        yield batch
        if self._unknown and batch.at - self._unknown[0].at > timedelta(days=1):
            waiting, self._unknown = self._unknown, []
            yield together(waiting, at=batch.at, key=f"{batch.key} found")

    def _both(self, batch: Batch, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Batch:
        part = batch.only(mine, batch.key)
        first, second = part.values // (3 * MILLI) * MILLI, part.values - part.values // (3 * MILLI) * MILLI
        both = [batch.only(~mine, batch.key), replace(part, values=first)]
        both.append(replace(part, values=second, meters=np.ones(len(part), dtype=np.int64)))
        return replace(together(both, at=batch.at, key=batch.key), parts=(), reopens=batch.reopens)


class Strangers(Fault):
    """Rosters with strangers: unknown meters among the others, and batches of unknown meters only."""

    def sent(self, batch: Batch) -> Iterator[Batch]:
        n = min(3, len(batch))
        unknown = batch.only(np.arange(len(batch)) < n, f"{batch.key} unknown")
        homes = self.town.homes + np.arange(n)
        unknown = replace(unknown, homes=homes, meters=np.zeros(n, dtype=np.int64))
        if self.happens(0.02):
            yield unknown
        if self.happens(0.5):
            batch = replace(together([batch, unknown], at=batch.at, key=batch.key), parts=(), reopens=batch.reopens)
        yield batch


class Corrected(Fault):
    """Readings that are corrected: in a batch of their own, or within one batch, which contradicts itself then."""

    def sent(self, batch: Batch) -> Iterator[Batch]:
        some = self.random.random(len(batch)) < 0.05
        other = batch.only(some, f"{batch.key} corrected")
        other = replace(other, values=other.values + MILLI)
        if self.happens(0.02) and len(other):
            yield together([batch, other], at=batch.at, key=f"{batch.key} both")
            return
        yield batch
        if self.happens(0.1) and len(other):
            yield other.later(timedelta(minutes=int(self.random.integers(1, 90))))


class FewHeard(Fault):
    """Hours in which hardly a meter sends; their readings never come."""

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        self._until = town.begin

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if batch.at >= self._until and self.happens(0.008):
            self._until = batch.at + timedelta(hours=int(self.random.integers(2, 40)))
        if batch.at < self._until:
            few = self.random.random(len(batch)) < 0.04
            if few.any():
                yield batch.only(few, batch.key)
        else:
            yield batch


class Split(Fault):
    """Batches that come in parts: some homes minutes later, some hours later."""

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if not self.happens(0.5):
            yield batch
            return
        part = self.random.integers(0, 3, size=len(batch))
        waits = (0, int(self.random.integers(1, 40)), int(self.random.integers(40, 600)))
        for number, minutes in enumerate(waits):
            some = part == number
            if some.any():
                yield batch.only(some, f"{batch.key} part {number}").later(timedelta(minutes=minutes))


class Lost(Fault):
    """Batches that never arrive: one by one, for hours, and for more than two days."""

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        self._until = town.begin

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if self.happens(0.004):
            hours = int(self.random.choice([3, 10, 60], p=[0.6, 0.3, 0.1]))
            self._until = batch.at + timedelta(hours=hours)
        if batch.at >= self._until and not self.happens(0.01):
            yield batch


class Merged(Fault):
    """Batches that are kept back and sent as one, of up to a day."""

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        self._kept: list[Batch] = []
        self._wanted = 0

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if not self._kept and not self.happens(0.05):
            yield batch
            return
        if not self._kept:
            self._wanted = int(self.random.choice([2, 3, 6, 48], p=[0.4, 0.3, 0.25, 0.05]))
        self._kept.append(batch)
        if len(self._kept) >= self._wanted:
            yield from self.rest()

    def rest(self) -> Iterator[Batch]:
        if self._kept:
            at = max(batch.at for batch in self._kept)
            kept, self._kept = self._kept, []
            yield together(kept, at=at, key=f"{kept[0].key} to {kept[-1].key}")


class Reordered(Fault):
    """Batches that overtake each other, by hours and by days."""

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if self.happens(0.05):
            batch = batch.later(timedelta(minutes=int(self.random.integers(0, 4 * 1440))))
        elif self.happens(0.1):
            batch = batch.later(timedelta(minutes=int(self.random.integers(0, 200))))
        yield batch


class LateFleet(Fault):
    """A fleet that is silent for a day, once in ten days, and then sends all at once: as one batch, or as many."""

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        self._kept: list[Batch] = []

    def sent(self, batch: Batch) -> Iterator[Batch]:
        if self.day(batch) % 10 == 1:
            self._kept.append(batch)
            return
        yield from self._all_at_once(batch.at)
        yield batch

    def rest(self) -> Iterator[Batch]:
        if self._kept:
            yield from self._all_at_once(max(batch.at for batch in self._kept))

    def _all_at_once(self, at: datetime) -> Iterator[Batch]:
        kept, self._kept = self._kept, []
        if kept and self.happens(0.5):
            yield together(kept, at=at, key=f"{kept[0].key} to {kept[-1].key}")
        else:
            yield from (replace(batch, at=at) for batch in kept)


class Doubled(Fault):
    """Batches that come twice: under their key, under another one, and under none; at once, or days later."""

    def sent(self, batch: Batch) -> Iterator[Batch]:
        yield batch
        if self.happens(0.1):
            key = (batch.key, f"{batch.key} again", None)[int(self.random.integers(3))]
            wait = int(self.random.choice([0, 20, 300, 4000]))
            yield replace(batch, key=key, reopens=False).later(timedelta(minutes=wait))


class Restarts(Fault):
    """A sender that begins again, with what it sent in the last hours; and a service that does."""

    def __init__(self, town: Town, meters: Integers, seed: int) -> None:
        super().__init__(town, meters, seed)
        self._last: list[Batch] = []

    def sent(self, batch: Batch) -> Iterator[Batch]:
        self._last = [*self._last[-11:], batch]
        if not self.happens(0.01):
            yield batch
            return
        knows_keys = self.happens(0.5)
        for old in self._last:
            key = old.key if knows_keys else f"{old.key} after {batch.key}"
            yield replace(old, at=max(old.at, batch.at), key=key, reopens=old is self._last[0])


class FilledIn(Fault):
    """A past that is filled in: all of it comes months later, a day in an hour, some homes' rows days ahead."""

    meters_wanted = True

    def sent(self, batch: Batch) -> Iterator[Batch]:
        at = self.town.begin + timedelta(days=self.town.days + 40) + (batch.at - self.town.begin) / 24
        if self.happens(0.02):
            one = batch.homes == int(self.random.choice(self.meters))
            batch = batch.moved(one, DAY * int(self.random.integers(1, int(self.town.days) + 10)))
        yield replace(batch, at=at.replace(microsecond=0))


FAULTS: dict[str, type[Fault]] = {
    "nothing": Honest,
    "clocks minutes off": MinutesOff,
    "clocks hours back": HoursBack,
    "clocks hours ahead": HoursAhead,
    "clocks years back": YearsBack,
    "clocks years ahead": YearsAhead,
    "clocks that jump": ClockJumps,
    "daylight saving": DaylightSaving,
    "times without an offset": WallClock,
    "units that change": Units,
    "meters swapped": Swapped,
    "strangers": Strangers,
    "readings corrected": Corrected,
    "few are heard": FewHeard,
    "batches in parts": Split,
    "batches lost": Lost,
    "batches merged": Merged,
    "batches reordered": Reordered,
    "a fleet late for a day": LateFleet,
    "batches doubled": Doubled,
    "restarts": Restarts,
    "a past filled in": FilledIn,
}
"""Every fault by name. All at once they come in this order: what is about meters first."""

ALONE = ("nothing", "times without an offset", "a past filled in")
"""Those that are about a whole feed, and are not put together with others."""


def chain(town: Town, names: Sequence[str]) -> list[Fault]:
    """Some faults after one another, each with meters of its own."""
    random = np.random.default_rng((town.seed, zlib.crc32(" ".join(names).encode())))
    bad = random.permutation(town.homes)[: max(1, round(town.faulty * town.homes))]
    wanting = [name for name in names if FAULTS[name].meters_wanted]
    shares = dict(zip(wanting, np.array_split(bad, max(1, len(wanting))), strict=False))
    nobody = np.zeros(0, dtype=np.int64)
    return [FAULTS[name](town, shares.get(name, nobody), zlib.crc32(name.encode())) for name in names]


def sent(faults: Sequence[Fault], batch: Batch) -> list[Batch]:
    """What is sent for a batch after all faults."""
    batches = [batch]
    for fault in faults:
        batches = [each for one in batches for each in fault.sent(one)]
    return batches


def rest(faults: Sequence[Fault]) -> list[Batch]:
    """What all of them have kept back."""
    batches: list[Batch] = []
    for fault in faults:
        batches = [each for one in batches for each in fault.sent(one)]
        batches += fault.rest()
    return batches
