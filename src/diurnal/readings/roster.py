"""Roster: who is in a panel, in which order, and with which meters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers
from diurnal.readings.register import MeterList
from diurnal.readings.resampling import Meters

FOREVER = (1 << 31) - 1
"""Seconds after step 0 are kept in 32 bits: 68 years."""

MOST_METERS = 250
"""How many meters a household may have: more could lead sums out of 64 bits."""

Key = tuple[str, str]
"""The household and the meter as a source names them."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Roster:
    """The households in order, and where each meter goes."""

    households: tuple[str, ...]
    """The households, sorted."""
    keys: tuple[Key, ...]
    """The meters in the roster's order, those of a household next to each other."""
    owners: Mapping[Key, str]
    """The household of each staged meter."""
    meter: Integers
    """For each meter as it was staged, its number in the roster's order."""
    starts: Integers
    """The first meter of each household, and at the end the number of all."""
    since: Integers
    """From which second after step 0 on each meter counts."""
    until: Integers
    """Until which second."""

    @classmethod
    def of(cls, staged: Iterable[Key], listed: MeterList | None = None) -> Roster:
        """The roster of staged meters; a list of meters may give them other households.

        A meter that is listed for a household of the source, but has no row there, is on the roster: where one of
        its meters is missing, so is the household.

        Raises:
            ReadingsError: A meter is not in the list, or a household has too many.
        """
        owners = _owners(list(staged), listed)
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
        self, staged: Mapping[str, Mapping[str, str]], given: Mapping[str, Mapping[str, str]]
    ) -> dict[str, tuple[str, ...]]:
        """For each partition a group for every household.

        Args:
            staged: Groups that the source says, by partition and the source's own household.
            given: Groups that a list says, by partition and household.

        Raises:
            ReadingsError: A household has none, or its meters have different ones.
        """
        partitions = {**{name: self._moved(name, groups) for name, groups in staged.items()}, **given}
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


def _owners(staged: list[Key], listed: MeterList | None) -> dict[Key, str]:
    if listed is None:
        return {key: key[0] for key in staged}
    found = {key: _listed_name(key, listed) for key in staged}
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
