"""Resampling: the rows of some households, in any order, become one reading a household and step.

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
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from diurnal.readings import quality
from diurnal.readings.data import Integers, Marks, Orders, order_of
from diurnal.readings.formats.base import BLANK, NOT_A_NUMBER, TOO_LARGE
from diurnal.readings.spill import Records

Fold = Literal["calendar", "first", "mean"]
OnDuplicate = Literal["refuse", "first", "last"]

PLACED = np.dtype([("value", "i8"), ("seconds", "i4"), ("meter", "i4"), ("minutes", "i4"), ("second", "i4")])
"""A row in its place: millionths, seconds of the wall clock after step 0, the meter's number in the roster's order,
its length, and whether the clock shows its time for the second time."""


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


def half_even(numerator: Integers, denominator: Integers | int) -> Integers:
    """Quotients rounded to the nearest whole number, ties to the even one."""
    quotient, rest = np.divmod(numerator, denominator)
    twice = 2 * rest - denominator
    rounded: Integers = quotient + ((twice > 0) | ((twice == 0) & (quotient % 2 == 1)))
    return rounded
