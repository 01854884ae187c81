"""Query: what is reported of a roster, or of each group of it, at every step.

Linear queries (`Sum`, `Mean`, `Weighted`) are F(t) = sum_i p_i x_i(t) in integers, divided by a public number
only when shown. Counting queries (`Share`, `Histogram`) look at a transformed reading; a shift of the
reading is no shift of its transform, so they carry the promise of one cycle only (theory 6.8).

A partition of the roster into groups asks the query of each group. A household is in one group, so the
groups cost what one costs (parallel composition). The total of the groups is their sum: ask for that, and
never for a second report (`Stream.total`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from diurnal.errors import QueryError
from diurnal.exact import instance
from diurnal.readings.data import Integers


class Query(ABC):
    """What a plan reports. Use one of `Sum`, `Mean`, `Weighted`, `Share`, `Histogram`."""

    kind: ClassVar[str]
    """What plans and rows call it."""
    title: ClassVar[str]
    """What its reports are called; `{channel}`, `{unit}` and its own fields are filled in."""
    reported: ClassVar[str]
    """What a report is, for who has never heard of it; `{span}`, `{group}`, `{missing}` are filled in as well."""
    counting: ClassVar[bool] = False
    """Whether readings are transformed to counts first."""

    def weights(self, n_households: int) -> Integers:
        """p, an integer weight for every household of the roster."""
        return np.ones(n_households, dtype=np.int64)

    @abstractmethod
    def denominator(self, group_size: int) -> int:
        """q, what the integer sum of a group is divided by when it is shown."""

    @property
    def series(self) -> tuple[str, ...]:
        """A name for each series reported of a group; one without a name unless there are bins."""
        return ("",)

    def unit(self, unit: str) -> str:
        """The unit of a report, given that of a reading."""
        return unit

    @abstractmethod
    def sentence(self) -> str:
        """What is reported, in words."""

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        return {"kind": self.kind}


@dataclass(frozen=True)
class Sum(Query):
    """The sum over the households of a group.

    Examples:
        >>> Sum().denominator(226)
        1
    """

    kind: ClassVar[str] = "sum"
    title: ClassVar[str] = "{channel} of all homes together"
    reported: ClassVar[str] = "the {channel} of all homes{group} together in {span}, in {unit}; {missing}"

    def denominator(self, group_size: int) -> int:
        return 1

    def sentence(self) -> str:
        return "the sum over its households"


@dataclass(frozen=True)
class Mean(Query):
    """The mean over the roster of a group: divided by its public size, never by the number present.

    Examples:
        >>> Mean().denominator(226)
        226
    """

    kind: ClassVar[str] = "mean"
    title: ClassVar[str] = "{channel} of the average home"
    reported: ClassVar[str] = (
        "the {channel} of the average home in {span}, in {unit}: that of all homes{group} together, divided by how "
        "many homes there are; {missing}"
    )

    def denominator(self, group_size: int) -> int:
        return group_size

    def sentence(self) -> str:
        return "the mean over its roster"


@dataclass(frozen=True)
class Weighted(Query):
    """A weighted sum with integer weights over a common denominator.

    Equal weights form atoms. In pattern mode each atom needs the minimum number of households, since exact
    variations can be decoded by weighing (theory 4.6); in strong mode any weights will do.

    Args:
        values: A weight for each household, in the order of the roster.
        over: The common denominator.

    Examples:
        >>> Weighted([1, 2, 2], over=5).values
        (1, 2, 2)
    """

    values: Sequence[int]
    over: int = 1
    kind: ClassVar[str] = "weighted"
    title: ClassVar[str] = "{channel} of the homes, weighted"
    reported: ClassVar[str] = "a weighted sum of the {channel} of all homes{group} in {span}, in {unit}; {missing}"

    def __post_init__(self) -> None:
        instance(self.values, Iterable, "the weights", example="[1, 2, 1]", error=QueryError)
        values = tuple(self.values)
        if any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) for v in (*values, self.over)):
            raise QueryError("weights-not-integers")
        if self.over < 1 or not any(values):
            raise QueryError("weights-all-zero", over=self.over)
        if max(map(abs, values)) >= 1 << 62:
            raise QueryError("weights-too-large")
        object.__setattr__(self, "values", tuple(map(int, values)))
        object.__setattr__(self, "over", int(self.over))

    def weights(self, n_households: int) -> Integers:
        if len(self.values) != n_households:
            raise QueryError("weights-count", households=n_households, given=len(self.values))
        return np.array(self.values, dtype=np.int64)

    def denominator(self, group_size: int) -> int:
        return self.over

    def sentence(self) -> str:
        return f"a weighted sum over its households, divided by {self.over}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": list(self.values), "over": self.over}


class CountingQuery(Query):
    """Counts of households whose reading falls into a cell."""

    counting: ClassVar[bool] = True

    @abstractmethod
    def cells(self, readings: Integers) -> Integers:
        """The cell of each reading, from 0; -1 for none."""


@dataclass(frozen=True)
class Share(CountingQuery):
    """The share of the roster whose reading is above a level. One-cycle promise only (theory 6.8).

    Examples:
        >>> Share(above=1000).series
        ('',)
    """

    above: int
    kind: ClassVar[str] = "share"
    title: ClassVar[str] = "share of homes with {channel} above {above} {unit}"
    reported: ClassVar[str] = (
        "the share of homes{group} whose {channel} in {span} is above {above} {unit}: 0.25 is a quarter, and a "
        "home whose reading is missing counts as not above"
    )

    def __post_init__(self) -> None:
        _check_levels((self.above,), "above")
        object.__setattr__(self, "above", int(self.above))

    def cells(self, readings: Integers) -> Integers:
        return np.where(readings > self.above, 0, -1)

    def denominator(self, group_size: int) -> int:
        return group_size

    def unit(self, unit: str) -> str:
        return "share"

    def sentence(self) -> str:
        return f"the share of its roster whose reading is above {self.above}"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "above": self.above}


@dataclass(frozen=True)
class Histogram(CountingQuery):
    """How many households have a reading in each bin. One-cycle promise only (theory 6.8).

    The bins are up to and including the first edge, above it up to the second, and so on, and above the last.

    Examples:
        >>> Histogram([100, 500]).series
        ('<=100', '100..500', '>500')
    """

    edges: Sequence[int]
    kind: ClassVar[str] = "histogram"
    title: ClassVar[str] = "homes by their {channel}"
    reported: ClassVar[str] = (
        "how many homes{group} have a {channel} in {span} that lies in each of {bins} bins, in {unit}; one whose "
        "reading is missing is in none"
    )

    def __post_init__(self) -> None:
        instance(self.edges, Iterable, "the edges", example="[200, 500, 1000]", error=QueryError)
        edges = tuple(self.edges)
        _check_levels(edges, "edges")
        if not edges or list(edges) != sorted(set(edges)):
            raise QueryError("edges-not-increasing")
        object.__setattr__(self, "edges", tuple(map(int, edges)))

    def cells(self, readings: Integers) -> Integers:
        return np.searchsorted(np.asarray(self.edges), readings, side="left")

    def denominator(self, group_size: int) -> int:
        return 1

    @property
    def series(self) -> tuple[str, ...]:
        inner = (f"{low}..{high}" for low, high in zip(self.edges, self.edges[1:], strict=False))
        return (f"<={self.edges[0]}", *inner, f">{self.edges[-1]}")

    def unit(self, unit: str) -> str:
        return "households"

    def sentence(self) -> str:
        return f"how many of its households have a reading in each of {len(self.series)} bins"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "edges": list(self.edges)}


QUERIES: Mapping[str, type[Query]] = {each.kind: each for each in (Sum, Mean, Weighted, Share, Histogram)}
"""Every query by its kind."""


def query_from_json(data: Mapping[str, Any]) -> Query:
    """The query that `to_json` wrote."""
    instance(data, Mapping, "a query", example="query.to_json()", error=QueryError)
    fields = dict(data)
    kind = fields.pop("kind", None)
    if kind not in QUERIES:
        raise QueryError("query-unknown", kind=kind, choices=", ".join(QUERIES))
    try:
        return QUERIES[kind](**fields)
    except TypeError as cause:
        raise QueryError("query-unknown-fields", kind=kind, fields=sorted(fields)) from cause


def _check_levels(levels: Sequence[int], name: str) -> None:
    if any(isinstance(v, bool) or not isinstance(v, (int, np.integer)) for v in levels):
        raise QueryError("query-levels-not-integers", name=name)
