"""Resampling: the rows of some households, in any order, become one reading a household and step.

A `Roster` says which household a row belongs to, a `Placing` which second of the wall clock, and `resample` makes
readings of the rows that are in their places:

- Energy adds, and a reading is there only if its rows cover the whole interval. Power averages over the rows
  present, and is there if they cover half of it.
- A household's meters are added, and its reading is missing if one of them is.
- Numbers are rounded half to even, once, at the end; a reading outside the domain is set aside, never clipped
  (theory 4.4).
- An hour that the clock shows twice is two readings of one step. They are folded by the first or by their floor
  mean, never added: adding does not commute with shifts of the profile (theory 4.2).

Every row ends as part of a reading or under one reason in the counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np

from diurnal.errors import ClockError, ReadingsError
from diurnal.readings import quality
from diurnal.readings.data import Integers, Marks, Orders
from diurnal.readings.formats import BLANK, NOT_A_NUMBER, TOO_LARGE
from diurnal.readings.grid import DAY, Clock
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import order_of
from diurnal.readings.row_buffer import Records, RowBuffer
from diurnal.readings.side_tables import MeterList

if TYPE_CHECKING:
    from diurnal.readings.importing import Options

Fold = Literal["calendar", "first", "mean"]

OnDuplicate = Literal["refuse", "first", "last"]

Key = tuple[str, str]
"""The household and the meter as a source names them."""

PLACED = np.dtype([("value", "i8"), ("seconds", "i4"), ("meter", "i4"), ("minutes", "i4"), ("second", "i4")])
"""A row in its place: millionths, seconds of the wall clock after step 0, the meter's number in the roster's order,
its length, and whether the clock shows its time for the second time."""

FOREVER = (1 << 31) - 1
"""Seconds after step 0 are kept in 32 bits: 68 years."""

MOST_METERS = 250
"""How many meters a household may have: more could lead sums out of 64 bits."""

ISLAND = 2
"""How many days may lie between rows that belong together."""

ROOM = 5_000_000
"""How many cells a grid may have, however few of them rows fill."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Roster:
    """The households in order, and where each meter goes."""

    households: tuple[str, ...]
    """The households, sorted."""
    keys: tuple[Key, ...]
    """The meters in the roster's order, those of a household next to each other."""
    owners: Mapping[Key, str]
    """The household of each buffered meter."""
    meter: Integers
    """For each meter as it was buffered, its number in the roster's order."""
    starts: Integers
    """The first meter of each household, and at the end the number of all."""
    since: Integers
    """From which second after step 0 on each meter counts."""
    until: Integers
    """Until which second."""

    @classmethod
    def of(cls, buffered: Iterable[Key], listed: MeterList | None = None) -> Roster:
        """The roster of buffered meters; a list of meters may give them other households.

        A meter that is listed for a household of the source, but has no row there, is on the roster: where one of
        its meters is missing, so is the household.

        Raises:
            ReadingsError: A meter is not in the list, or a household has too many.
        """
        owners = _owners(list(buffered), listed)
        pairs = sorted([*((owner, key) for key, owner in owners.items()), *_silent(owners, listed)])
        number = {key: i for i, (_, key) in enumerate(pairs)}
        names = [owner for owner, _ in pairs]
        starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
        bounds = np.array([*starts, len(names)], dtype=np.int64)
        if len(starts) and np.diff(bounds).max() > MOST_METERS:
            raise ReadingsError("meters-too-many", most=MOST_METERS)
        return cls(
            households=tuple(names[i] for i in starts),
            keys=tuple(key for _, key in pairs),
            owners=owners,
            meter=np.array([number[key] for key in owners], dtype=np.int64),
            starts=bounds,
            since=np.full(len(names), -FOREVER),
            until=np.full(len(names), FOREVER),
        )

    def with_terms(self, listed: MeterList, anchor: int) -> Roster:
        """The roster with the times from and until which meters count, once it is known when step 0 begins."""
        since, until = self.since.copy(), self.until.copy()
        for place, (household, meter) in enumerate(self.keys):
            term = listed.terms.get(meter) or listed.terms.get(household)
            if term is not None:
                since[place] = -FOREVER if term.since is None else max(-FOREVER, term.since - anchor)
                until[place] = FOREVER if term.until is None else min(FOREVER, term.until - anchor)
        return replace(self, since=since, until=until)

    def meters(self, first: int, stop: int) -> Meters:
        """The meters of the households from `first` up to, not including, `stop`."""
        span = slice(self.starts[first], self.starts[stop])
        return Meters(
            starts=self.starts[first:stop] - self.starts[first], since=self.since[span], until=self.until[span]
        )

    def groups(
        self, buffered: Mapping[str, Mapping[str, str]], given: Mapping[str, Mapping[str, str]]
    ) -> dict[str, tuple[str, ...]]:
        """For each partition a group for every household.

        Args:
            buffered: Groups that the source says, by partition and the source's own household.
            given: Groups that a list says, by partition and household.

        Raises:
            ReadingsError: A household has none, or its meters have different ones.
        """
        partitions = {**{name: self._moved(name, groups) for name, groups in buffered.items()}, **given}
        for name, groups in partitions.items():
            absent = sum(1 for household in self.households if household not in groups)
            if absent:
                raise ReadingsError(
                    "groups-missing", missing=absent, households=len(self.households), partition=name
                )
        return {name: tuple(groups[home] for home in self.households) for name, groups in partitions.items()}

    def _moved(self, partition: str, groups: Mapping[str, str]) -> dict[str, str]:
        """Groups by household, where a list gave the source's meters to others."""
        found: dict[str, str] = {}
        for (household, _), owner in self.owners.items():
            if found.setdefault(owner, groups[household]) != groups[household]:
                raise ReadingsError("groups-across-meters", partition=partition)
        return found


@dataclass(frozen=True, kw_only=True)
class Placing:
    """Where buffered rows go."""

    roster: Roster
    instants: bool
    """Whether buffered times are moments of the world."""
    source_clock: Clock | None
    """The clock of buffered times, where it is another one than the panel's."""
    clock: Clock
    """The panel's clock."""
    minutes: int
    """How long a row lasts that does not say so itself."""
    ends: bool
    """Whether times say when an interval ends."""
    anchor: int = 0
    """When step 0 begins, by the panel's clock."""
    until: int = 0
    """When the last step ends, by the panel's clock."""
    window: tuple[int, int] | None = None
    """Between which times rows may start, by the panel's clock; None where every time is welcome."""

    @classmethod
    def of(cls, buffer: RowBuffer, options: Options) -> Placing:
        """Find out who is there, how long rows last, and when the panel begins and ends.

        Raises:
            ReadingsError: Rows do not say how long they last, are longer than a step, or leave no whole step.
        """
        zone, instants = buffer.format.zone, bool(buffer.instants)
        other = zone is not None and zone != options.zone and not instants
        given = [moment for moment in (options.anchor, options.until) if moment is not None]
        first, last = min([buffer.first, *given]), max([buffer.last, *given])
        if options.window is not None:
            # What lies far outside is set aside, whatever clocks showed then: a row of 1970 or 2170 among today's
            # would have every day looked up since, or until then.
            low, high = options.window[0] - DAY, options.window[1] + DAY
            first, last = min(max(first, low), high), max(min(last, high), low)
        placing = cls(
            roster=Roster.of(buffer.meters, options.meters),
            instants=instants,
            source_clock=Clock.of(str(zone), first, last) if other else None,
            clock=Clock.of(options.zone, first, last),
            minutes=_row_minutes(buffer, options.minutes),
            ends=buffer.format.label == "end",
            window=options.window,
        )
        anchor, until = _span(*_extent(buffer, placing, options), options)
        roster = placing.roster
        if options.meters is not None:
            roster = roster.with_terms(options.meters, anchor)
        return replace(placing, anchor=anchor, until=until, roster=roster)

    @property
    def knows_second_showings(self) -> bool:
        """Whether a doubled hour's first showing is told from its second by the times themselves."""
        return self.instants or self.source_clock is not None

    def starts(self, rows: Records) -> tuple[Integers, Marks]:
        """When each row's interval starts by the panel's clock, and whether that is a second showing."""
        seconds = rows["seconds"]
        if self.ends:
            seconds = seconds - 60 * self.lengths(rows)
        if self.source_clock is not None:
            seconds = self.source_clock.moments(seconds)
        if self.knows_second_showings:
            return self.clock.wall(seconds)
        return seconds, np.zeros(len(rows), dtype=bool)

    def lengths(self, rows: Records) -> Integers:
        """How many minutes each row lasts."""
        return np.where(rows["minutes"] > 0, rows["minutes"], self.minutes)

    def place(self, rows: Records) -> tuple[Records, dict[str, int]]:
        """The rows in their places, and how many lie outside the panel's span, by reason."""
        wall, second = self.starts(rows)
        never = self._never_was(rows)
        masks = {quality.NEVER: never, **self._outside(wall, ~never)}
        inside = ~np.logical_or.reduce(list(masks.values()))
        if not inside.all():
            rows, wall, second = rows[inside], wall[inside], second[inside]
        placed = np.empty(len(rows), dtype=PLACED)
        placed["value"] = rows["value"]
        placed["seconds"] = wall - self.anchor
        placed["meter"] = self.roster.meter[rows["meter"]]
        placed["minutes"] = self.lengths(rows)
        placed["second"] = second
        counts = {reason: int(np.count_nonzero(mask)) for reason, mask in masks.items()}
        return placed, {reason: count for reason, count in counts.items() if count}

    def _outside(self, wall: Integers, among: Marks) -> dict[str, Marks]:
        """Which rows start outside the panel's span, by reason."""
        early, late = among & (wall < self.anchor), among & (wall >= self.until)
        if self.window is None:
            return {quality.EARLY: early, quality.AFTER: late}
        start, stop = self.window
        before, ahead = among & (wall < start), among & (wall >= stop)
        return {quality.BEFORE: before, quality.AHEAD: ahead, quality.FAR: (early | late) & ~(before | ahead)}

    def ambiguous(self) -> list[tuple[int, int]]:
        """Spans of the panel's clock in which a row without an offset may be of either of two moments.

        By the panel's own clock the order of rows tells the two showings of an hour apart. By another clock it does
        not; nor does it where times are ends, since the first and the second showing of an end are of rows that
        begin in different hours.
        """
        before = 60 * self.minutes if self.ends else 0
        if self.source_clock is not None:
            return [self._shown(start - before, stop) for start, stop in self.source_clock.doubled_moments()]
        if self.instants or not self.ends:
            return []
        return [(start - before, stop) for start, stop in self.clock.doubled()]

    def _shown(self, start: int, stop: int) -> tuple[int, int]:
        """What the panel's clock shows between two moments, from the least to the largest."""
        wall, _ = self.clock.wall(np.arange(start, stop, 60))
        return int(wall.min()), int(wall.max()) + 60

    def _never_was(self, rows: Records) -> Marks:
        """Which rows claim a time that their clock skipped."""
        never = np.zeros(len(rows), dtype=bool)
        if not self.instants:
            seconds = rows["seconds"] - (60 * self.lengths(rows) if self.ends else 0)
            for start, stop in (self.source_clock or self.clock).skipped():
                never |= (seconds >= start) & (seconds < stop)
        return never


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How rows become readings."""

    steps: int
    """How many steps there are."""
    minutes: int
    """How long a step is."""
    is_power: bool
    """Whether rows average rather than add."""
    micro: int
    """How many millionths of a watt-hour a whole unit is."""
    domain: tuple[int, int]
    """Between which values a reading lies, in whole units."""
    closed: Marks
    """Which steps are on the calendar."""
    doubled: Integers
    """The steps in which the clock shows something twice and that are not on the calendar."""
    doubled_spans: tuple[tuple[int, int], ...]
    """From which second after step 0 until which the clock shows everything twice."""
    fold: Fold
    """How two readings of a doubled step become one."""
    instants: bool
    """Whether the source tells the first from the second showing; else their order does."""
    on_duplicate: OnDuplicate
    """What to do with two values for one meter and time."""
    orders: bool = False
    """Whether it is kept how large readings were before they were rounded and held against the domain."""


@dataclass(frozen=True, kw_only=True)
class Meters:
    """The meters of some households, those of a household next to each other."""

    starts: Integers
    """The first meter of each household."""
    since: Integers
    """From which second on each meter counts."""
    until: Integers
    """Until which second."""

    def __len__(self) -> int:
        return len(self.since)


@dataclass(frozen=True, kw_only=True, repr=False)
class Resampled:
    """The readings of some households, a row a household and a column a step, and what became of their rows."""

    readings: Integers
    present: Marks
    kept: int
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each reason the meter and second of one of its rows."""
    above: int = 0
    """How many rows lie above the domain: if most do, they are in another unit."""
    orders: Orders | None = None
    """How large readings were before they were rounded and held against the domain, where the rules ask for it."""

    def moved(self, before: int) -> Resampled:
        """The same where these meters come after so many others."""
        examples = {reason: (meter + before, seconds) for reason, (meter, seconds) in self.examples.items()}
        return replace(self, examples=examples)


class DuplicateError(Exception):
    """Two different values for one meter and time; which is for the importer to say."""

    def __init__(self, meter: int, seconds: int, values: tuple[int, int]) -> None:
        self.meter, self.seconds, self.values = meter, seconds, values


def resample(rows: Records, meters: Meters, rules: Rules) -> Resampled:
    """The readings of some households from all of their rows.

    Raises:
        DuplicateError: Two rows of one meter and time have different values, and the rules refuse that.
    """
    account = _Account()
    if len(rules.doubled) and not rules.instants:
        # Before anything is set aside: a blank first showing is a showing.
        rows = _with_second_showings(rows, _key(rows, rules), rules)
    rows = _readable(rows, meters, rules, account)
    cells = _Cells.of_whole_rows(rows, len(meters), rules)
    if cells is None:
        rows, key = _distinct(*_sorted(rows, rules), rules, account)
        cells = _Cells.of(rows, key, len(meters), rules, account)
    readings, present, n_rows, orders = _households(cells, meters, rules, account)
    readings, present, n_rows = _folded(readings, present, n_rows, rules, account)
    return Resampled(
        readings=readings,
        present=present,
        kept=int(n_rows[present].sum()),
        counts=account.counts,
        examples=account.examples,
        above=account.above,
        # Of a step that the clock shows twice the first showing does: it is as large as the second.
        orders=None if orders is None else orders[:, : rules.steps],
    )


def is_filled(households: int, steps: int, rows: int, least: int = 100) -> bool:
    """Whether rows fill a grid well enough: one wrong date would make it decades long."""
    return households * steps <= ROOM or rows >= households * steps // least


def half_even(numerator: Integers, denominator: Integers | int) -> Integers:
    """Quotients rounded to the nearest whole number, ties to the even one."""
    quotient, rest = np.divmod(numerator, denominator)
    twice = 2 * rest - denominator
    rounded: Integers = quotient + ((twice > 0) | ((twice == 0) & (quotient % 2 == 1)))
    return rounded


def _owners(buffered: list[Key], listed: MeterList | None) -> dict[Key, str]:
    if listed is None:
        return {key: key[0] for key in buffered}
    found = {key: _listed_name(key, listed) for key in buffered}
    absent = sum(1 for name in found.values() if name is None)
    if absent:
        raise ReadingsError("meters-missing", missing=absent, meters=len(found))
    homes: dict[str, str] = {}
    for (household, meter), name in found.items():
        if name == meter and homes.setdefault(meter, household) != household:
            raise ReadingsError("meters-ambiguous")
    return {key: listed.households[str(name)] for key, name in found.items()}


def _listed_name(key: Key, listed: MeterList) -> str | None:
    """Under which name a meter is listed: its own, or its household's."""
    household, meter = key
    return meter if meter in listed.households else household if household in listed.households else None


def _silent(owners: Mapping[Key, str], listed: MeterList | None) -> list[tuple[str, Key]]:
    """Listed meters of these households that have no row."""
    if listed is None:
        return []
    seen = {_listed_name(key, listed) for key in owners}
    there = set(owners.values())
    return [
        (owner, (owner, meter))
        for meter, owner in listed.households.items()
        if owner in there and meter not in seen
    ]


def _row_minutes(buffer: RowBuffer, step: int) -> int:
    """How long a row lasts that does not say so itself."""
    minutes = buffer.format.minutes
    if minutes is None:
        gap = _smallest_gap(buffer)
        if gap is None or gap % 60:
            raise ReadingsError("row-length-unknown")
        minutes = gap // 60
    if minutes > step:
        raise ReadingsError("row-length-uneven", minutes=minutes, steps=step)
    return minutes


def _smallest_gap(buffer: RowBuffer) -> int | None:
    """The smallest step between two times, in seconds; None if there is only one time."""
    times = np.zeros(0, dtype=np.int64)
    with Progress("Looking at times", len(buffer)) as bar:
        for batch in buffer.spill.batches():
            times = np.union1d(times, batch["seconds"])
            bar.advance(len(batch))
    return int(np.diff(times).min()) if len(times) > 1 else None


def _extent(buffer: RowBuffer, placing: Placing, options: Options) -> tuple[int, int]:
    """When the first row starts and the last one ends, by the panel's clock, of those that a panel is made for.

    Raises:
        ClockError: Every row starts after the window that the stream leaves open.
    """
    days: dict[int, _Day] = {}
    ahead = 0
    with Progress("Looking at times", len(buffer)) as bar:
        for batch in buffer.spill.batches():
            wall = placing.starts(batch)[0]
            ends = wall + 60 * placing.lengths(batch)
            if placing.window is not None:
                start, stop = placing.window
                ahead += int(np.count_nonzero(wall >= stop))
                inside = (wall >= start) & (wall < stop)
                wall, ends = wall[inside], ends[inside]
            _add_days(days, wall, ends)
            bar.advance(len(batch))
    if not days:
        _refuse_all(len(buffer), ahead)
    kept = _near_each_other(days, len(placing.roster.households), options)
    return min(day.first for day in kept), max(day.last for day in kept)


@dataclass
class _Day:
    """The rows of a day."""

    number: int
    rows: int
    first: int
    last: int


def _add_days(days: dict[int, _Day], starts: Integers, ends: Integers) -> None:
    numbers, where = np.unique(starts // DAY, return_inverse=True)
    for place, number in enumerate(numbers.tolist()):
        mine = where == place if len(numbers) > 1 else slice(None)
        found = _Day(number, len(starts[mine]), int(starts[mine].min()), int(ends[mine].max()))
        known = days.setdefault(number, found)
        if known is not found:
            known.rows += found.rows
            known.first, known.last = min(known.first, found.first), max(known.last, found.last)


def _refuse_all(rows: int, ahead: int) -> NoReturn:
    if ahead:
        raise ClockError("rows-not-placed", rows=ahead)
    raise ReadingsError("rows-before-stream", rows=rows)


def _near_each_other(days: dict[int, _Day], households: int, options: Options) -> list[_Day]:
    """The days that a panel for a stream is made of: without stray ones, if these would make it huge and empty.

    A meter whose clock has fallen back to 1970 sends rows among those of all others. Islands of days at either end
    are left out, the one with fewer rows first, until the rows fill the panel well enough.
    """
    kept = [days[number] for number in sorted(days)]
    if not options.from_first_row:
        return kept
    islands: list[list[_Day]] = []
    for day in kept:
        if islands and day.number - islands[-1][-1].number <= ISLAND:
            islands[-1].append(day)
        else:
            islands.append([day])
    while len(islands) > 1:
        steps = (islands[-1][-1].last - islands[0][0].first) // (60 * options.minutes)
        rows = sum(day.rows for island in islands for day in island)
        if is_filled(households, steps, rows):
            break
        first, last = (sum(day.rows for day in islands[end]) for end in (0, -1))
        islands.pop(0 if first < last else -1)
    return [day for island in islands for day in island]


def _span(first: int, last: int, options: Options) -> tuple[int, int]:
    """When the panel begins and ends: with the first complete local day, and with the last row."""
    step = 60 * options.minutes
    start = first // step * step if options.from_first_row else -(-first // DAY) * DAY
    anchor = start if options.anchor is None else options.anchor
    until = anchor + -(-(last - anchor) // step) * step if options.until is None else options.until
    if not 0 < until - anchor < FOREVER or (until - anchor) % step:
        raise ReadingsError("panel-span")
    return anchor, until


class _Account:
    """Rows set aside, by reason."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, tuple[int, int]] = {}
        self.above = 0

    def rows(self, reason: str, rows: Records, mask: Marks) -> None:
        if mask.any():
            row = rows[int(np.argmax(mask))]
            self.cells(reason, int(np.count_nonzero(mask)), int(row["meter"]), int(row["seconds"]))

    def cells(self, reason: str, n_rows: int, meter: int, seconds: int) -> None:
        if n_rows:
            self.counts[reason] += n_rows
            self.examples.setdefault(reason, (meter, seconds))


def _readable(rows: Records, meters: Meters, rules: Rules, account: _Account) -> Records:
    """The rows that hold a number at a step that counts."""
    value, seconds, meter = rows["value"], rows["seconds"], rows["meter"]
    length = 60 * rules.minutes
    step = seconds // length
    reasons = {
        quality.BLANK: value == BLANK,
        quality.NOT_A_NUMBER: value == NOT_A_NUMBER,
        quality.OUTSIDE_DOMAIN: value == TOO_LARGE,
        quality.TERM: (seconds < meters.since[meter]) | (seconds >= meters.until[meter]),
        quality.OFF_GRID: seconds - step * length + 60 * rows["minutes"] > length,
        quality.CALENDAR: rules.closed[step],
    }
    alive = np.ones(len(rows), dtype=bool)
    for reason, mask in reasons.items():
        account.rows(reason, rows, mask & alive)
        alive &= ~mask
    account.above += int(np.count_nonzero(reasons[quality.OUTSIDE_DOMAIN]))
    return rows if alive.all() else rows[alive]


def _sorted(rows: Records, rules: Rules) -> tuple[Records, Integers]:
    """The rows by meter and time, and their keys; second showings of doubled steps come after all steps."""
    key = _key(rows, rules)
    if len(key) and not (key[1:] > key[:-1]).all():
        order = np.argsort(key, kind="stable")
        return rows[order], key[order]
    return rows, key


def _key(rows: Records, rules: Rules) -> Integers:
    length = 60 * rules.minutes
    seconds = rows["seconds"].astype(np.int64)
    if len(rules.doubled):
        step = seconds // length
        place = np.minimum(np.searchsorted(rules.doubled, step), len(rules.doubled) - 1)
        twice = (rows["second"] != 0) & (rules.doubled[place] == step)
        seconds = np.where(twice, (rules.steps + place) * length + seconds % length, seconds)
    return rows["meter"].astype(np.int64) * (rules.steps + len(rules.doubled)) * length + seconds


def _with_second_showings(rows: Records, key: Integers, rules: Rules) -> Records:
    """Where the source does not say, the second row of a meter and time in a doubled hour is the second showing."""
    twice = np.zeros(len(rows), dtype=bool)
    for start, stop in rules.doubled_spans:
        twice |= (rows["seconds"] >= start) & (rows["seconds"] < stop)
    among = np.flatnonzero(twice)
    order = among[np.argsort(key[among], kind="stable")]
    again = np.zeros(len(order), dtype=bool)
    again[1:] = key[order][1:] == key[order][:-1]
    rows = rows.copy()
    rows["second"] = 0
    rows["second"][order[again]] = 1
    return rows


def _distinct(rows: Records, key: Integers, rules: Rules, account: _Account) -> tuple[Records, Integers]:
    """One row a meter and time."""
    first = np.ones(len(key), dtype=bool)
    first[1:] = key[1:] != key[:-1]
    if first.all():
        return rows, key
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(key)) - 1
    group = np.cumsum(first) - 1
    chosen = (ends if rules.on_duplicate == "last" else starts)[group]
    spare = np.arange(len(key)) != chosen
    other = (rows["value"] != rows["value"][chosen]) | (rows["minutes"] != rows["minutes"][chosen])
    if rules.on_duplicate == "refuse" and other.any():
        place = int(np.argmax(other))
        values = int(rows["value"][chosen[place]]), int(rows["value"][place])
        raise DuplicateError(int(rows["meter"][place]), int(rows["seconds"][place]), values)
    account.rows(quality.ANOTHER, rows, other)
    account.rows(quality.SAME, rows, spare & ~other)
    return rows[~spare], key[~spare]


@dataclass(frozen=True, repr=False)
class _Cells:
    """A cell is a meter at a step; the second showings of doubled steps are columns of their own, at the end."""

    total: Integers
    """What its rows add up to, in millionths; of power times minutes."""
    covered: Integers
    """How many minutes its rows cover."""
    n_rows: Integers
    present: Marks

    @classmethod
    def of_whole_rows(cls, rows: Records, n_meters: int, rules: Rules) -> _Cells | None:
        """The common case, without sorting: every row is a step long, and no two are of one meter and step."""
        if len(rules.doubled) or not (rows["minutes"] == rules.minutes).all():
            return None
        cell = rows["meter"].astype(np.int64) * rules.steps + rows["seconds"] // (60 * rules.minutes)
        present = np.zeros(n_meters * rules.steps, dtype=bool)
        present[cell] = True
        if np.count_nonzero(present) < len(rows):
            return None
        total = np.zeros(len(present), dtype=np.int64)
        total[cell] = rows["value"] * rules.minutes if rules.is_power else rows["value"]
        there: Marks = present.reshape(n_meters, -1)
        return cls(total.reshape(n_meters, -1), there * rules.minutes, there.astype(np.int64), there)

    @classmethod
    def of(cls, rows: Records, key: Integers, n_meters: int, rules: Rules, account: _Account) -> _Cells:
        length, width = 60 * rules.minutes, rules.steps + len(rules.doubled)
        cell = key // length
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        total, covered, n_rows = (np.zeros(n_meters * width, dtype=np.int64) for _ in range(3))
        present = np.zeros(n_meters * width, dtype=bool)
        if len(rows):
            where = cell[starts]
            minutes = rows["minutes"].astype(np.int64)
            values = rows["value"] * minutes if rules.is_power else rows["value"]
            total[where] = np.add.reduceat(values, starts)
            covered[where] = np.add.reduceat(minutes, starts)
            n_rows[where] = np.diff(starts, append=len(rows))
            present[where] = cls._complete(rows, key, cell, where, starts, covered, rules, account)
        shape = (n_meters, width)
        return cls(total.reshape(shape), covered.reshape(shape), n_rows.reshape(shape), present.reshape(shape))

    @staticmethod
    def _complete(
        rows: Records,
        key: Integers,
        cell: Integers,
        where: Integers,
        starts: Integers,
        covered: Integers,
        rules: Rules,
        account: _Account,
    ) -> Marks:
        """Which cells are covered well enough, by rows that do not overlap."""
        ends = key + 60 * rows["minutes"].astype(np.int64)
        clash = np.zeros(len(rows), dtype=bool)
        clash[1:] = (ends[:-1] > key[1:]) & (cell[1:] == cell[:-1])
        overlap = np.logical_or.reduceat(clash, starts)
        part = covered[where]
        enough = 2 * part >= rules.minutes if rules.is_power else part == rules.minutes
        n_rows = np.diff(starts, append=len(rows))
        for reason, mask in ((quality.OVERLAP, overlap), (quality.INCOMPLETE, ~overlap & ~enough)):
            if mask.any():
                row = rows[starts[int(np.argmax(mask))]]
                account.cells(reason, int(n_rows[mask].sum()), int(row["meter"]), int(row["seconds"]))
        complete: Marks = ~overlap & enough
        return complete


def _households(
    cells: _Cells, meters: Meters, rules: Rules, account: _Account
) -> tuple[Integers, Marks, Integers, Orders | None]:
    """The reading of each household at each step, in whole units, where it is there, and how many rows made it.

    Where the rules ask for it, also how large it was before.
    """
    expected, swapped = _terms(meters, rules)
    counted = cells.present & expected
    complete = np.logical_and.reduceat(counted | ~expected, meters.starts, axis=0)
    some = np.logical_or.reduceat(expected, meters.starts, axis=0)
    there = complete & some & ~np.logical_or.reduceat(swapped, meters.starts, axis=0)
    n_rows = np.add.reduceat(np.where(cells.present, cells.n_rows, 0), meters.starts, axis=0)
    _set_aside(quality.OTHER_METER, n_rows, ~there, meters, rules, account)
    readings = np.where(there, _rounded(cells, counted, there, meters, rules), 0)
    orders = np.where(there, _orders(cells, counted, meters, rules), 0).astype(np.uint8) if rules.orders else None
    inside = (readings >= rules.domain[0]) & (readings <= rules.domain[1])
    _set_aside(quality.OUTSIDE_DOMAIN, n_rows, there & ~inside, meters, rules, account)
    account.above += int(n_rows[there & (readings > rules.domain[1])].sum())
    present = there & inside
    return np.where(present, readings, 0), present, np.where(present, n_rows, 0), orders


def _orders(cells: _Cells, counted: Marks, meters: Meters, rules: Rules) -> Orders:
    """How large the reading of each household at each step is, in bits of its millionths."""
    total = np.where(counted, cells.total, 0)
    if rules.is_power:
        # It is power times minutes.
        total = total * rules.minutes // (60 * np.maximum(cells.covered, 1))
    return order_of(np.add.reduceat(total, meters.starts, axis=0))


def _terms(meters: Meters, rules: Rules) -> tuple[Marks, Marks]:
    """Which meters count at which step, and at which steps a term begins or ends on the way."""
    length = 60 * rules.minutes
    start = np.concatenate([np.arange(rules.steps), rules.doubled]) * length
    since, until = meters.since[:, None], meters.until[:, None]
    expected = (since <= start) & (start < until)
    swapped = ((since > start) & (since < start + length)) | ((until > start) & (until < start + length))
    return expected, swapped


def _rounded(cells: _Cells, counted: Marks, there: Marks, meters: Meters, rules: Rules) -> Integers:
    """What the meters of each household add up to in whole units, rounded half to even, once.

    Energy is a whole number of millionths. Mean power is a fraction whose denominator depends on the minutes
    covered: where these are the same for all meters of a household, as they nearly always are, so is the
    denominator; elsewhere fractions are added one by one.
    """
    hours = Fraction(rules.minutes, 60) if rules.is_power else Fraction(1)
    numerator = np.where(counted, cells.total, 0) * hours.numerator
    minutes = np.maximum(cells.covered, 1) if rules.is_power else np.ones_like(cells.total)
    most = np.maximum.reduceat(np.where(counted, minutes, 1), meters.starts, axis=0)
    least = np.minimum.reduceat(np.where(counted, minutes, np.iinfo(np.int64).max), meters.starts, axis=0)
    total = np.add.reduceat(numerator, meters.starts, axis=0)
    readings = half_even(total, most * hours.denominator * rules.micro)
    bounds = np.append(meters.starts, len(meters))
    for household, step in np.argwhere(there & (least < most)):
        span = slice(bounds[household], bounds[household + 1])
        parts = zip(numerator[span, step].tolist(), minutes[span, step].tolist(), strict=True)
        exact = sum((Fraction(value, covered) for value, covered in parts), Fraction(0))
        readings[household, step] = round(exact / (hours.denominator * rules.micro))
    return readings


def _set_aside(reason: str, n_rows: Integers, mask: Marks, meters: Meters, rules: Rules, account: _Account) -> None:
    lost = np.where(mask, n_rows, 0)
    if lost.any():
        household, column = np.unravel_index(int(np.argmax(lost > 0)), lost.shape)
        step = column if column < rules.steps else rules.doubled[column - rules.steps]
        account.cells(reason, int(lost.sum()), int(meters.starts[household]), int(step) * 60 * rules.minutes)


def _folded(
    readings: Integers, present: Marks, n_rows: Integers, rules: Rules, account: _Account
) -> tuple[Integers, Marks, Integers]:
    """Two showings of a step as one reading."""
    once, twice = slice(0, rules.steps), slice(rules.steps, None)
    if not len(rules.doubled):
        return readings, present, n_rows
    first, second = readings[:, rules.doubled], readings[:, twice]
    has_first, has_second = present[:, rules.doubled], present[:, twice]
    if rules.fold == "first":
        account.counts[quality.SECOND] += int(n_rows[:, twice].sum())
        return readings[:, once], present[:, once], n_rows[:, once]
    both = has_first & has_second
    readings[:, rules.doubled] = np.where(both, (first + second) // 2, first + second)
    present[:, rules.doubled] = has_first | has_second
    n_rows[:, rules.doubled] += n_rows[:, twice]
    return readings[:, once], present[:, once], n_rows[:, once]
