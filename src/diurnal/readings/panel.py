"""Panel: the readings of a roster of households on a grid.

What a panel guarantees, so that nobody after it has to ask again, whether it lies in memory or in a file:

- readings are 64-bit integers, a row a step and a column a household, and they are never floats;
- `present` has the same shape; where it is False the reading is missing and its integer is 0;
- the first row is step `first_step` and every step after it is there, in order;
- households have distinct names, and each column of `groups` names a group for every one of them;
- steps on the public calendar (theory 4.4) are missing for every household;
- `blocks()` gives it piece by piece, each piece a panel of whole households that fits into memory; what a kernel
  finds in the pieces adds up to what it would find in the whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import instance, whole
from diurnal.private import Private
from diurnal.readings.data import Data, Floats, Folds, Integers, Marks, Orders
from diurnal.readings.grid import Grid, slots_of
from diurnal.readings.quality import Quality

BLOCK = 1 << 21
"""How many readings a block of a panel has, about: some 20 MB."""

AHEAD = 1 << 24
"""How many readings `batches` brings here at a time, about: some 150 MB, twice that as it goes on."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is public about a panel's size, and all that a prediction needs to know of it."""

    group_sizes: tuple[int, ...]
    """How many households each group has; one entry for a whole roster."""
    grid: Grid = field(default_factory=Grid)
    """The grid of the steps."""
    n_cycles: int = 365
    """How many cycles the prediction looks at."""

    def __post_init__(self) -> None:
        sizes = tuple(
            whole(size, "a group size", least=1, error=ReadingsError)
            for size in _listed(self.group_sizes, "group_sizes")
        )
        if not sizes:
            raise ReadingsError("shape-no-groups")
        object.__setattr__(self, "group_sizes", sizes)

    @property
    def n_households(self) -> int:
        """n, the size of the roster."""
        return sum(self.group_sizes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel(Private):
    """Readings of a roster on a grid. Make one with `dn.panel`, `dn.open_panel` or `Panel.from_array`.

    Its repr shows the grid and no reading or name: a panel is private.
    """

    data: Data = field(repr=False)
    """Where the readings lie: in memory, or in a file that is read when asked."""
    households: tuple[str, ...] = field(repr=False)
    """The roster: a name for each column."""
    grid: Grid = field(default_factory=Grid)
    """What a step and a unit are."""
    first_step: int = 0
    """The step of the first row."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Partitions of the roster by name: for each a group name for every household."""
    calendar: frozenset[int] = frozenset()
    """Steps whose true total is public; missing for everybody and never reported."""
    domain: tuple[int, int] | None = None
    """Between which values all readings are known to lie, where an import has seen to it."""
    quality: Quality | None = field(default=None, repr=False)
    """What an import kept and what it set aside, for the custodian's eyes."""

    @classmethod
    def from_array(
        cls,
        readings: Any,
        *,
        present: Any = None,
        households: Sequence[str] | None = None,
        grid: Grid | None = None,
        first_step: int = 0,
        groups: Mapping[str, Sequence[str]] | None = None,
        calendar: Iterable[int] = (),
    ) -> Panel:
        """A panel from an integer array with a row a step and a column a household.

        Args:
            readings: Integers, or a masked array of integers whose mask says what is missing.
            present: True where there is a reading; everywhere unless given.
            households: A distinct name for each column; numbers from 0 unless given.
            grid: What a step and a unit are; half hours and Wh unless given.
            first_step: The step of the first row.
            groups: Partitions of the roster, for example {"suburb": ["Hill", "Lake", ...]}.
            calendar: Steps whose true total is public (clock changes, outages, tests).

        Raises:
            ReadingsError: The array is not two-dimensional, not of integers, or something has another length.
        """
        n = _integers(readings).shape[1]
        names = tuple(map(str, range(n) if households is None else _listed(households, "households")))
        _check_names(names, n)
        instance(grid or Grid(), Grid, "grid", example="Grid(slots=48)", error=ReadingsError)
        instance(
            {} if groups is None else groups,
            Mapping,
            "groups",
            example="{'suburb': ['Hill', 'Lake', ...]}",
            error=ReadingsError,
        )
        columns = {
            str(name): tuple(map(str, _listed(column, f"groups[{name!r}]")))
            for name, column in (groups or {}).items()
        }
        for name, column in columns.items():
            if len(column) != n:
                raise ReadingsError("groups-count", households=n, name=name, given=len(column))
        closed = [
            whole(step, "a calendar step", least=0, error=ReadingsError) for step in _listed(calendar, "calendar")
        ]
        nobody = np.zeros((0, n), dtype=np.int64)
        empty = cls(
            data=Arrays(nobody, nobody.astype(bool)),
            households=names,
            grid=grid or Grid(),
            groups=columns,
            calendar=frozenset(closed),
        )
        return empty.following(readings, present=present, first_step=first_step)

    def following(self, readings: Any, *, present: Any = None, first_step: int | None = None) -> Panel:
        """Readings of the same roster on the same grid; from the next step on unless said otherwise."""
        values, marks = _integers(readings), _marks(readings, present)
        if values.shape[1] != self.n_households or marks.shape != values.shape:
            raise ReadingsError(
                "array-shape", households=self.n_households, readings=values.shape, marks=marks.shape
            )
        start = self.first_step + self.n_steps if first_step is None else first_step
        start = whole(start, "first_step", least=0, error=ReadingsError)
        steps = range(start, start + len(values))
        marks = marks & np.array([step not in self.calendar for step in steps], dtype=bool)[:, None]
        values[~marks] = 0
        return replace(self, data=Arrays(values, marks), first_step=start, domain=None, quality=None)

    @property
    def readings(self) -> Integers:
        """x, a row a step and a column a household; 0 where missing. Reads a file whole: see `blocks`."""
        return self.data.readings

    @property
    def present(self) -> Marks:
        """False where a reading is missing."""
        return self.data.present

    @property
    def n_households(self) -> int:
        """n, the size of the roster."""
        return len(self.households)

    @property
    def n_steps(self) -> int:
        """How many steps the panel has."""
        return self.data.n_steps

    @property
    def n_cycles(self) -> int:
        """How many whole cycles the panel has."""
        return self.n_steps // self.grid.slots

    @property
    def steps(self) -> range:
        """The steps of the rows."""
        return range(self.first_step, self.first_step + self.n_steps)

    @property
    def shape(self) -> Shape:
        """The public size of the whole roster."""
        return Shape(group_sizes=(self.n_households,), grid=self.grid, n_cycles=max(1, self.n_cycles))

    def shape_by(self, groups: str | None) -> Shape:
        """The public sizes of the groups of a partition."""
        return replace(self.shape, group_sizes=tuple(map(len, self.members(groups).values())))

    def roster(self, groups: str | None) -> str:
        """A digest of who is in the panel, in which order, and in which group of that partition."""
        self.members(groups)
        column = () if groups is None else self.groups[groups]
        return hashlib.sha256(json.dumps([self.households, column]).encode()).hexdigest()

    def members(self, groups: str | None) -> dict[str, Integers]:
        """The columns of each group of a partition, by group name; `all` for the whole roster."""
        if groups is None:
            return {"all": np.arange(self.n_households)}
        if groups not in self.groups:
            code = "partition-unknown" if self.groups else "partitions-missing"
            raise ReadingsError(code, partition=groups, partitions=sorted(self.groups))
        names = np.asarray(self.groups[groups])
        return {str(name): np.flatnonzero(names == name) for name in np.unique(names)}

    def first(self, cycles: int) -> Panel:
        """The first so many cycles."""
        return self._rows(0, self._row_of(cycles))

    def after(self, cycles: int) -> Panel:
        """Everything after the first so many cycles."""
        return self._rows(self._row_of(cycles), self.n_steps)

    def between(self, start: int, stop: int) -> Panel:
        """The steps from `start` up to, not including, `stop`."""
        rows = [min(max(step - self.first_step, 0), self.n_steps) for step in (start, stop)]
        return self._rows(*rows)

    def without(self, households: Iterable[str]) -> Panel:
        """The same steps with some households gone from the roster."""
        gone = set(map(str, _listed(households, "households")))
        kept = [i for i, name in enumerate(self.households) if name not in gone]
        if len(kept) != self.n_households - len(gone) or not kept:
            raise ReadingsError("households-unknown")
        return self.columns(np.array(kept))

    def select(self, **groups: str | Iterable[str]) -> Panel:
        """The households of some groups, for example `panel.select(suburb=["Hill", "Lake"])`."""
        chosen = np.ones(self.n_households, dtype=bool)
        for partition, names in groups.items():
            members = self.members(partition)
            wanted = [names] if isinstance(names, str) else list(_listed(names, partition))
            absent = [name for name in wanted if name not in members]
            if absent or not wanted:
                code, some = "group-unknown" if absent else "group-missing", ", ".join(list(members)[:8])
                raise ReadingsError(code, partition=partition, group=next(iter(absent), None), some=some)
            chosen &= np.isin(np.arange(self.n_households), np.concatenate([members[name] for name in wanted]))
        if not chosen.any():
            raise ReadingsError("groups-disjoint")
        return self.columns(np.flatnonzero(chosen))

    def blocks(self) -> Iterator[Panel]:
        """The panel piece by piece, in the roster's order: panels of whole households, each read when asked."""
        for place, data in self.data.pieces():
            yield self._of(data, np.arange(place.start, place.stop))

    def closing(self, steps: Iterable[int]) -> Panel:
        """The panel with more steps on its calendar."""
        more = frozenset(steps) - self.calendar
        if not more:
            return self
        rows = np.array(sorted(more.intersection(self.steps)), dtype=np.int64) - self.first_step
        return replace(
            self, calendar=self.calendar | more, data=self.data.without(rows) if len(rows) else self.data
        )

    def with_period(self, period: str | int) -> Panel:
        """The same readings with cycles of another length, such as "1d", "7d" or a number of slots."""
        return replace(self, grid=replace(self.grid, slots=slots_of(period, self.grid.minutes)))

    def on_grid(self, grid: Grid) -> Panel:
        """The same readings with steps counted from another anchor.

        Raises:
            ReadingsError: Another interval, period, unit or clock, or steps that begin in between or before.
        """
        if self.grid == grid:
            return self
        if replace(self.grid, anchor=grid.anchor) != grid:
            raise ReadingsError("grid-differs", stream=grid, readings=self.grid)
        apart = datetime.fromisoformat(self.grid.anchor) - datetime.fromisoformat(grid.anchor)
        shift, rest = divmod(int(apart.total_seconds()), 60 * grid.minutes)
        if rest or self.first_step + shift < 0:
            raise ReadingsError("anchor-differs", readings=self.grid.anchor, stream=grid.anchor)
        calendar = frozenset(step + shift for step in self.calendar)
        return replace(self, grid=grid, first_step=self.first_step + shift, calendar=calendar)

    def within(self, low: int, high: int) -> tuple[Panel, int]:
        """The panel with readings outside a domain set aside as missing, and how many these are."""
        # A file was checked when it was opened; what lies in memory is looked at, whatever somebody says about it.
        checked = None if isinstance(self.data, Arrays) else self.domain
        if checked is not None and low <= checked[0] and checked[1] <= high:
            return self, 0
        if self.n_steps == 0 or (low <= self.readings.min() and self.readings.max() <= high):
            return self, 0
        outside = self.present & ((self.readings < low) | (self.readings > high))
        kept = self.following(self.readings, present=self.present & ~outside, first_step=self.first_step)
        return kept, int(np.count_nonzero(outside))

    def _row_of(self, cycles: int) -> int:
        cycles = whole(cycles, "cycles", least=0, error=ReadingsError)
        if not 0 <= cycles <= self.n_cycles:
            raise ReadingsError(
                "cycles-range",
                cycles=cycles,
                most=self.n_cycles,
                slots=self.grid.slots,
                households=self.n_households,
            )
        return cycles * self.grid.slots

    def _rows(self, start: int, stop: int) -> Panel:
        return replace(self, data=self.data.rows(start, stop), first_step=self.first_step + start)

    def columns(self, places: Integers) -> Panel:
        """Some of the households, by their places in the roster."""
        return self._of(self.data.columns(places), places)

    def _of(self, data: Data, places: Integers) -> Panel:
        """A panel of some of the households, whose data these are."""
        return replace(
            self,
            data=data,
            households=tuple(self.households[i] for i in places),
            groups={name: tuple(column[i] for i in places) for name, column in self.groups.items()},
        )


@dataclass(frozen=True, eq=False, repr=False)
class Arrays:
    """Readings in memory."""

    readings: Integers
    present: Marks
    orders: Orders | None = None
    """How large each reading was before it was rounded and held against a domain, where an import for a stream has
    kept that: bits of its millionths, as `order_of` counts them. `curator/taking.py` reads it, nothing else."""
    engine: ClassVar[None] = None

    @property
    def n_steps(self) -> int:
        return int(self.readings.shape[0])

    def rows(self, start: int, stop: int) -> Arrays:
        orders = None if self.orders is None else self.orders[start:stop]
        return Arrays(self.readings[start:stop], self.present[start:stop], orders)

    def columns(self, places: Integers) -> Arrays:
        orders = None if self.orders is None else self.orders[:, places]
        return Arrays(self.readings[:, places], self.present[:, places], orders)

    def without(self, rows: Integers) -> Arrays:
        present = self.present.copy()
        present[rows] = False
        orders = None if self.orders is None else self.orders.copy()
        if orders is not None:
            orders[rows] = 0
        return Arrays(np.where(present, self.readings, 0), present, orders)

    def pieces(self) -> Iterator[tuple[slice, Data]]:
        n = self.readings.shape[1]
        width = max(1, BLOCK // max(1, self.n_steps))
        for start in range(0, n, width):
            place = slice(start, min(start + width, n))
            orders = None if self.orders is None else self.orders[:, place]
            yield place, Arrays(self.readings[:, place], self.present[:, place], orders)


def in_memory(panel: Panel) -> Panel:
    """A panel that is small, with its readings brought here from wherever they lie."""
    if isinstance(panel.data, Arrays):
        return panel
    return replace(panel, data=Arrays(panel.readings, panel.present))


def batches(panel: Panel, cycles: int) -> Iterator[Panel]:
    """A panel some cycles at a time, in order.

    A file holds whole households, so that few of its steps cost as much to read as many: it is read for several
    batches at once. What is folded elsewhere stays there.
    """
    slots, ahead = panel.grid.slots, max(1, AHEAD // panel.n_households)
    here, begin = panel, panel.first_step
    read_to = begin
    while begin < panel.steps.stop:
        end = min((begin // slots + cycles) * slots, panel.steps.stop)
        if end > read_to and not isinstance(panel.data, Folds):
            read_to = max(end, begin + ahead // slots * slots)
            del here
            here = in_memory(panel.between(begin, read_to))
        yield here.between(begin, end)
        begin = end


def order_of(values: Integers | Floats) -> Orders:
    """How many bits each number has without its sign: 0 for 0, 2 for 2 and 3. From 2^53 on perhaps one more."""
    _, bits = np.frexp(np.abs(values).astype(np.float64))
    return bits.astype(np.uint8)


def _integers(readings: Any) -> Integers:
    try:
        array = np.ma.getdata(readings) if np.ma.isMaskedArray(readings) else np.asarray(readings)
    except ValueError as cause:
        raise ReadingsError("array-ragged") from cause
    if array.ndim != 2:
        raise ReadingsError("array-dimensions", dimensions=array.ndim)
    if array.shape[1] == 0:
        raise ReadingsError("array-no-households")
    if array.dtype.kind == "f":
        kind = f"{array.dtype}, NaN among them" if np.isnan(array).any() else str(array.dtype)
        raise ReadingsError("readings-not-integers", given=kind)
    if array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise ReadingsError("readings-integer-type", given=array.dtype)
    return array.astype(np.int64)


def _marks(readings: Any, present: Any) -> Marks:
    if present is None:
        return (
            ~np.ma.getmaskarray(readings)
            if np.ma.isMaskedArray(readings)
            else np.ones(np.shape(readings), dtype=bool)
        )
    marks = np.asarray(present)
    if np.ma.isMaskedArray(readings) and marks.shape == np.shape(readings) and marks.dtype == np.bool_:
        return marks & ~np.ma.getmaskarray(readings)
    if marks.dtype != np.bool_:
        raise ReadingsError("marks-not-boolean", given=marks.dtype)
    return marks


def _listed(values: Any, name: str) -> Iterable[Any]:
    """Refuse what is no list: a text would be taken letter by letter, a mapping key by key."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ReadingsError("argument-not-list", name=name, given=type(values).__name__)
    return values


def _check_names(names: tuple[str, ...], n: int) -> None:
    if len(names) != n:
        raise ReadingsError("households-count", columns=n, given=len(names))
    if len(set(names)) != n:
        raise ReadingsError("households-repeated", repeated=n - len(set(names)))
