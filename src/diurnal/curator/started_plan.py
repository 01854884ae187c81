"""A started plan and what is open of it, as a curator remembers them, and their form in a database.

The private roster and profiles of a plan are too much for a row: they lie beside the database (`Shelf`), each
plan's in a Parquet file that only its owner can read, and the database has their digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from diurnal.curator.cohort import Cohort, stored
from diurnal.curator.report import Form
from diurnal.errors import StoreError
from diurnal.exact import over
from diurnal.planning.plan import Plan
from diurnal.private import Private
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Profiles(Private):
    """Who is in a plan, and their profiles, in the roster's order."""

    households: tuple[str, ...]
    """Their names."""
    group: Integers
    """The group of each, from 1; 0 for none."""
    weight: Integers
    """The weight of each."""
    profile: Integers = field(repr=False)
    """zhat, a row a slot; no rows at level `cycle`."""
    known: Marks = field(repr=False)
    """Where it is known."""

    def table(self) -> pa.Table:
        """A row a household."""
        columns = {"household": pa.array(self.households), "group": self.group, "weight": self.weight}
        for slot, (values, known) in enumerate(zip(self.profile, self.known, strict=True)):
            columns[f"slot {slot}"] = pa.array(values, mask=~known)
        return pa.table(columns)

    @classmethod
    def of(cls, table: pa.Table) -> Profiles:
        """The profiles that `table` wrote."""
        slots = [table.column(name).combine_chunks() for name in table.column_names[3:]]
        shape = (len(slots), table.num_rows)
        profile, known = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        for slot, column in enumerate(slots):
            known[slot] = column.is_valid().to_numpy(zero_copy_only=False)
            profile[slot] = column.fill_null(0).to_numpy(zero_copy_only=False)
        group, weight = (table.column(name).to_numpy() for name in ("group", "weight"))
        names = tuple(table.column("household").to_pylist())
        return cls(households=names, group=group, weight=weight, profile=profile, known=known)


class Shelf(ABC):
    """Where profiles lie."""

    @abstractmethod
    def put(self, name: str, profiles: Profiles) -> str:
        """Put a plan's profiles under a name, durably, and say their digest."""

    @abstractmethod
    def get(self, name: str, digest: str) -> Profiles:
        """Profiles by their name.

        Raises:
            StoreError: They are not there, or not what was put there.
        """

    @abstractmethod
    def drop(self, name: str) -> None:
        """Forget profiles, if they are there."""

    @abstractmethod
    def names(self) -> set[str]:
        """What lies here."""


class MemoryShelf(Shelf):
    """Profiles of a store that ends with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, Profiles] = {}

    def put(self, name: str, profiles: Profiles) -> str:
        self._kept[name] = profiles
        return name

    def get(self, name: str, digest: str) -> Profiles:
        return self._kept[name]

    def drop(self, name: str) -> None:
        self._kept.pop(name, None)

    def names(self) -> set[str]:
        return set(self._kept)


class FolderShelf(Shelf):
    """Profiles as Parquet files in a folder that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, profiles: Profiles) -> str:
        path, partial = self._path(name), self._path(f"{name}.partial")
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                pq.write_table(profiles.table(), file, compression="zstd")
                file.flush()
                os.fsync(file.fileno())
            # The digest is of what lies on the disk, not of what should.
            digest = _digest(partial)
            partial.rename(path)
            self._sync()
        except OSError as cause:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise StoreError("profiles-not-kept", reason=cause.strerror) from None
        return digest

    def get(self, name: str, digest: str) -> Profiles:
        path = self._path(name)
        try:
            if _digest(path) != digest:
                raise StoreError("profiles-changed", name=path.name)
            return Profiles.of(pq.read_table(path, use_threads=False))
        except OSError as cause:
            raise StoreError("profiles-unreadable", name=path.name, reason=cause.strerror or "damaged") from None

    def drop(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def names(self) -> set[str]:
        return {path.stem for path in self.folder.glob("*.parquet")} if self.folder.is_dir() else set()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"

    def _sync(self) -> None:
        """Make the name as durable as the file."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


VERSION = 1
"""The version of the form in a database; a later one is refused."""


UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What goes wrong where a value is not of the kind that was written."""


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Say in a sentence that something in the store cannot be read, without any of its content.

    Raises:
        StoreError: It is not of the kind that was written.
    """
    try:
        yield
    except UNREADABLE:
        # Not raised from it: its words may show what is private.
        raise StoreError("store-content-unreadable", what=what) from None


Values = tuple[Fraction, ...]
"""The released values of a step, in the order of a plan's series and groups."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldStep(Private):
    """Readings of an open step. Private."""

    readings: Integers = field(repr=False)
    """A reading for each household of the roster."""
    present: Marks = field(repr=False)
    """Where there is one."""
    closed: bool
    """Whether it takes no more."""
    reached: bool = False
    """Whether enough readings are there for it to close by what is sent."""


class Mark(NamedTuple):
    """How a step is held."""

    closed: bool
    """Whether it takes no more."""
    reached: bool
    """Whether enough readings are there for it to close by what is sent."""


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """When readings of a cycle began to come."""

    cycle: int
    """The cycle."""
    time: datetime
    """When the first of them came; or, once the roster has reached the cycle, when it did."""
    reached: bool
    """Whether the roster has reached it."""


Noise = Mapping[str, Sequence[int]]
"""The noise of a cycle, by group."""


class Opened(NamedTuple):
    """What a store knows of a stream that is open."""

    latest: int
    """The latest step that the roster has reached; -1 before there was one."""
    arrivals: dict[int, Arrival]
    """When readings of a cycle began to come, by cycle."""
    held: dict[int, Mark]
    """How steps are held."""
    noisy: frozenset[int]
    """Cycles whose noise is kept."""
    contents: frozenset[int]
    """Cycles of which it is known in which batch their readings came."""
    published: set[int]
    """Which steps have rows, of all these cycles and of those that were asked for."""


@dataclass(kw_only=True, repr=False)
class Changes(Private):
    """What becomes of a stream's open state."""

    latest: int
    """The latest step that the roster has reached."""
    arrivals: dict[int, Arrival | None] = field(default_factory=dict)
    """Arrivals by cycle; None where they are forgotten."""
    held: dict[int, HeldStep | None] = field(default_factory=dict)
    """What is held of a step from now on; None where it is erased."""
    noise: dict[int, Noise | None] = field(default_factory=dict)
    """Noise that was drawn, by cycle; None where the cycle is over and it is erased, or was never written."""
    forgotten: set[int] = field(default_factory=set)
    """Cycles of which it is no longer known in which batch their readings came."""


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
    forms: tuple[Form, ...] = field(default=(), repr=False)
    """How its rows are written, by slot: fixed when the plan is started, so that a row never changes its looks."""

    @classmethod
    def published(cls, content: Mapping[str, Any]) -> Group:
        """What is public of a group in a database: all but G."""
        return cls(
            name=content["name"],
            size=content["size"],
            weight=content["weight"],
            noisy_profile=(),
            forms=tuple(Form.from_json(form) for form in content["forms"]),
        )

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Group:
        """A group in a database, with G."""
        return replace(cls.published(content), noisy_profile=tuple(map(Fraction, content["noisy_profile"])))

    def row_name(self, series: str) -> str:
        """What its rows of a series are called."""
        return f"{self.name} {series}" if series else self.name


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
    cohort: Cohort = field(repr=False)
    """Where the profiles of its households lie, and what is summed of them. Private."""
    first_step: int
    """The first step it may report: after its history, and after a predecessor."""
    number: int = 0
    """Its number in the store, from 1; 0 before it is there."""
    end: int | None = None
    """The step at which it was stopped."""
    acknowledged: str | None = None
    """Whom and which period the verdict is about that somebody has read, or that nothing was tested; None at level
    `cycle`. Plans of earlier versions have the verdict's whole digest.
    """
    silenced: Mapping[int, int] = field(default_factory=dict, repr=False)
    """Households that do not move from a step on (a new tenant), by place in the roster. Private."""

    @property
    def key(self) -> str:
        """The plan's hash."""
        return self.plan.hash

    @property
    def profile(self) -> Integers:
        """zhat, in the order of the atoms; no rows where it is not in this process. Private."""
        return self.cohort.profile

    @property
    def known(self) -> Marks:
        """Where zhat is known. Private."""
        return self.cohort.known

    @cached_property
    def members(self) -> frozenset[str]:
        """The households whose readings it uses: those with a weight."""
        return frozenset(self.households[i] for i in self.atoms.order)

    @cached_property
    def totals(self) -> tuple[int, ...]:
        """The sum of the weights of each group."""
        sizes = np.diff(np.append(self.atoms.starts, len(self.atoms.order)))
        return tuple(self.atoms.by_group(sizes).tolist())

    def where(self, households: tuple[str, ...]) -> Integers | None:
        """Where each of some households stands in the roster, -1 for a stranger; None if all stand as they are.

        The last answer is kept: readings come step after step for the same households, and a million names take
        longer to compare than their readings to add.
        """
        if households is self.households:
            return None
        last = self.__dict__.get("_asked")
        if last is None or last[0] is not households:
            last = (households, self._find(households))
            self.__dict__["_asked"] = last
        found: Integers | None = last[1]
        return found

    def _find(self, households: tuple[str, ...]) -> Integers | None:
        if households == self.households:
            return None
        places = pc.index_in(pa.array(households, pa.string()), value_set=self._names)
        return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False)).astype(np.int64)

    @cached_property
    def _names(self) -> Any:
        return pa.array(self.households, pa.string())

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each household stands in the roster."""
        return {name: place for place, name in enumerate(self.households)}

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
        return self.history_start if self.plan.protection.exact_variations else self.first_step, self.last

    def profiles(self) -> Profiles:
        """What is kept beside the database: households, weights, and profiles in the roster's order."""
        group, weight = (
            np.zeros(len(self.households), dtype=np.int64),
            np.zeros(len(self.households), dtype=np.int64),
        )
        order = self.atoms.order
        spread = np.repeat(np.arange(len(self.atoms)), self.atoms.sizes)
        group[order], weight[order] = self.atoms.columns[0, spread], self.atoms.columns[1, spread]
        profile = np.zeros((self.profile.shape[0], len(self.households)), dtype=np.int64)
        known = np.zeros(profile.shape, dtype=bool)
        profile[:, order], known[:, order] = self.profile, self.known
        return Profiles(households=self.households, group=group, weight=weight, profile=profile, known=known)

    def to_text(self, kept: str, digest: str) -> str:
        """Its form in the database; what is kept beside it goes by name and digest."""
        return json.dumps(
            {
                "version": VERSION,
                "number": self.number,
                "plan": self.plan.to_json(),
                "groups": [
                    {
                        "name": group.name,
                        "size": group.size,
                        "weight": group.weight,
                        "noisy_profile": [str(value) for value in group.noisy_profile],
                        "forms": [form.to_json() for form in group.forms],
                    }
                    for group in self.groups
                ],
                "first_step": self.first_step,
                "end": self.end,
                "acknowledged": self.acknowledged,
                "silenced": {str(place): step for place, step in self.silenced.items()},
                "roster": {"kept": kept, "digest": digest},
                **self.cohort.to_json(),
            },
            sort_keys=True,
        )

    @classmethod
    def of(cls, content: Mapping[str, Any], profiles: Profiles) -> StreamRecord:
        """The record that `to_text` wrote.

        Raises:
            StoreError: It is of a later version.
        """
        check_version(content)
        atoms = Atoms.of(np.stack([profiles.group, profiles.weight]))
        return cls(
            plan=Plan.from_json(content["plan"]),
            households=profiles.households,
            groups=tuple(map(Group.of, content["groups"])),
            atoms=atoms,
            cohort=stored(
                content,
                np.ascontiguousarray(profiles.profile[:, atoms.order]),
                np.ascontiguousarray(profiles.known[:, atoms.order]),
            ),
            first_step=content["first_step"],
            number=content["number"],
            end=content["end"],
            acknowledged=content["acknowledged"],
            silenced={int(place): step for place, step in content["silenced"].items()},
        )

    def awaited(self, step: int) -> Marks:
        """Which households a step waits for: those that count, have a profile, and have not moved out."""
        counts = np.zeros(len(self.households), dtype=bool)
        counts[self.atoms.order] = self.cohort.has_profile(self)
        for place, since in self.silenced.items():
            counts[place] &= step < since
        return counts

    def moved_out(self, places: Sequence[int], step: int) -> StreamRecord:
        """The same with some households, by place in the roster, not moving from a step on."""
        silenced = {**self.silenced, **{place: min(step, self.silenced.get(place, step)) for place in places}}
        return replace(self, silenced=silenced)

    def forgetting(self, place: int, alias: str) -> StreamRecord:
        """The same with a household, by place in the roster, nameless: it moves no more. Its profile stays."""
        names = (*self.households[:place], f"erased {alias}", *self.households[place + 1 :])
        return replace(self, households=names, silenced={**self.silenced, place: 0})


def check_version(content: Mapping[str, Any]) -> None:
    """Refuse a started plan that a later diurnal has written.

    Raises:
        StoreError: It is of a later version.
    """
    if content["version"] > VERSION:
        raise StoreError("record-version", version=content["version"], known=VERSION)


def by_step(found: Iterable[Any]) -> dict[int, Values]:
    """Released values by step, from rows of a database: a step and one of its values, in order."""
    values: dict[int, list[Fraction]] = {}
    with readable("A released row"):
        for step, value in found:
            above, _, below = value.partition("/")
            values.setdefault(step, []).append(over(int(above), int(below or 1)))
    return {step: tuple(each) for step, each in values.items()}


def runs(steps: list[int]) -> list[range]:
    """Runs of consecutive steps."""
    cuts = [0, *(at for at, (one, two) in enumerate(pairwise(steps), 1) if two != one + 1), len(steps)]
    return [range(steps[a], steps[b - 1] + 1) for a, b in pairwise(cuts) if a < b]


def overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two spans of steps, each from and up to, have a step in common."""
    return one[0] < other[1] and other[0] < one[1]
