"""Shelf: the private rosters and profiles of started plans, beside the database.

A million profiles are too much for a row. Each lies in a Parquet file of its own, readable by its owner alone, and
the database holds its digest: a file that is not what was put there is refused.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diurnal.errors import StoreError
from diurnal.private import Private
from diurnal.readings.data import Integers, Marks


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
            raise StoreError(
                f"Profiles cannot be kept ({cause.strerror}).",
                hint="Check the folder and its free space; nothing was done.",
            ) from None
        return digest

    def get(self, name: str, digest: str) -> Profiles:
        path = self._path(name)
        try:
            if _digest(path) != digest:
                raise StoreError(
                    f"The profiles {path.name} are not the ones that were kept.",
                    hint="Bring back the file from a backup of the same time; nothing was done.",
                )
            return Profiles.of(pq.read_table(path, use_threads=False))
        except OSError as cause:
            raise StoreError(
                f"The profiles {path.name} cannot be read ({cause.strerror or 'damaged'}).",
                hint="Bring back the file from a backup of the same time; nothing was done.",
            ) from None

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
