"""Places: how many may do something at a time, all together and of one client; and limits that were met."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from time import monotonic

from diurnal.show.web.buckets import MOST
from diurnal.show.web.log import told
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.problems import ProblemError

EVERY = 60.0
"""After how many seconds a limit that is met again is told again."""


class Places:
    """So many places, and so many of them for one client."""

    def __init__(self, limit: str, *, most: int, each: int | None = None, retry: float) -> None:
        """Places under a limit, whose name its words end with; `each` of None lets one client have all of them."""
        self._limit, self._most, self._each, self._retry = limit, most, each, retry
        self._by: Counter[str] = Counter()
        self.taken = 0
        """How many are taken."""

    def take(self, client: str) -> Callable[[], None]:
        """Take a place. Returns what gives it back; called again, that does nothing.

        Raises:
            ProblemError: There is none: 429 if the client has as many as one may, 503 if all are taken.
        """
        if self._each is not None and self._by[client] >= self._each:
            limit = f"client_{self._limit}"
            raise ProblemError(f"http-many-{self._limit}", each=self._each, retry=self._retry, limit=limit)
        if self.taken >= self._most:
            raise ProblemError(f"http-busy-{self._limit}", retry=self._retry, limit=self._limit)
        self._count(client, 1)
        held = [client]

        def leave() -> None:
            while held:
                self._count(held.pop(), -1)

        return leave

    def _count(self, client: str, by: int) -> None:
        self.taken += by
        self._by[client] += by
        if not self._by[client]:
            del self._by[client]


class Later:
    """Who was told to come back later: whoever comes before is told the same, before anything is looked at."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._told: OrderedDict[str, tuple[float, ProblemError]] = OrderedDict()

    def check(self, client: str) -> None:
        """Refuse who comes too soon.

        Raises:
            ProblemError: The one that they were told.
        """
        until, problem = self._told.get(client, (0.0, None))
        if problem is None:
            return
        if until > self._clock():
            raise problem
        del self._told[client]

    def tell(self, client: str, problem: ProblemError) -> None:
        """Remember what a client was told, if it says when to come back. Told again, they wait no longer."""
        waits = (problem.headers or {}).get("Retry-After")
        if waits is not None and client not in self._told:
            self._told[client] = self._clock() + float(waits), problem
            if len(self._told) > MOST:
                self._told.popitem(last=False)


class Met:
    """Counts limits that are met, and tells of each once a minute: a flood of requests is no flood of lines."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float] = monotonic) -> None:
        self._metrics, self._clock = metrics, clock
        self._untold: Counter[tuple[str, str]] = Counter()
        self._told: dict[tuple[str, str], float] = {}

    def __call__(self, limit: str, who: str, *, public: bool) -> None:
        """Somebody of a kind has met a limit; whether the public may know of it."""
        self._metrics.limit(limit, who, public=public)
        name, now = (limit, who), self._clock()
        self._untold[name] += 1
        if name not in self._told or now - self._told[name] >= EVERY:
            self._told[name] = now
            told("limit met", level=logging.WARNING, limit=limit, who=who, times=self._untold.pop(name))
