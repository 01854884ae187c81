"""Roster: who is in a panel, in which order, and with which meters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.panel import Integers
from diurnal.readings.register import MeterList
from diurnal.readings.resampling import Meters

FOREVER = (1 << 31) - 1
"""Seconds after step 0 are kept in 32 bits: 68 years."""

MOST_METERS = 500
"""How many meters a household may have: more could lead sums out of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Roster:
    """The households in order, and where each staged meter goes."""

    households: tuple[str, ...]
    """The households, sorted."""
    meter: Integers
    """For each meter as it was staged, its number in the roster's order."""
    starts: Integers
    """The first meter of each household, and at the end the number of all."""
    since: Integers
    """From which second after step 0 on each meter counts."""
    until: Integers
    """Until which second."""

    @classmethod
    def of(cls, staged: Iterable[tuple[str, str]], listed: MeterList | None = None) -> Roster:
        """The roster of staged (household, meter) pairs; a list of meters may give them other households.

        Raises:
            ReadingsError: A meter is not in the list, or a household has too many.
        """
        owners = [(_owner(key, listed), key) for key in staged]
        absent = sum(1 for owner, _ in owners if owner is None)
        if absent:
            raise ReadingsError(
                f"{absent} of {len(owners)} meters have no household in the list of meters.",
                hint="List every meter, or leave its rows out of the source.",
            )
        order = sorted(range(len(owners)), key=lambda i: (str(owners[i][0]), owners[i][1]))
        meter = np.empty(len(owners), dtype=np.int64)
        meter[order] = np.arange(len(owners))
        names = [str(owners[i][0]) for i in order]
        starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
        bounds = np.array([*starts, len(names)], dtype=np.int64)
        if len(starts) and np.diff(bounds).max() > MOST_METERS:
            raise ReadingsError(
                f"Expected at most {MOST_METERS} meters a household.", hint="Check the meters' households."
            )
        always = np.full(len(names), FOREVER)
        households = tuple(names[i] for i in starts)
        return cls(households=households, meter=meter, starts=bounds, since=-always, until=always)

    def with_terms(self, staged: Iterable[tuple[str, str]], listed: MeterList, anchor: int) -> Roster:
        """The roster with the times from and until which meters count, once it is known when step 0 begins."""
        since, until = self.since.copy(), self.until.copy()
        for place, (household, meter) in zip(self.meter, staged, strict=True):
            term = listed.terms.get(meter) or listed.terms.get(household)
            if term is not None:
                since[place] = -FOREVER if term.since is None else term.since - anchor
                until[place] = FOREVER if term.until is None else term.until - anchor
        return replace(self, since=since, until=until)

    def meters(self, first: int, stop: int) -> Meters:
        """The meters of the households from `first` up to, not including, `stop`."""
        span = slice(self.starts[first], self.starts[stop])
        return Meters(
            starts=self.starts[first:stop] - self.starts[first], since=self.since[span], until=self.until[span]
        )

    def groups(self, given: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
        """For each partition a group for every household.

        Raises:
            ReadingsError: A household has none.
        """
        for name, groups in given.items():
            absent = sum(1 for household in self.households if household not in groups)
            if absent:
                raise ReadingsError(
                    f"{absent} of {len(self.households)} households have no group in the partition {name!r}.",
                    hint="A partition puts every household into exactly one group.",
                )
        return {name: tuple(groups[home] for home in self.households) for name, groups in given.items()}


def _owner(key: tuple[str, str], listed: MeterList | None) -> str | None:
    household, meter = key
    if listed is None:
        return household
    return listed.households.get(meter) or listed.households.get(household)
