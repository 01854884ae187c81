"""Limits: how often and how many at a time: requests, places and connections, of everybody and of one client."""

from __future__ import annotations

import ipaddress
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Protocol

from diurnal.show.log import told
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


MOST = 20_000
"""How many clients are remembered; the one that was quiet for longest is forgotten."""


class Buckets:
    """A bucket for each client."""

    def __init__(self, *, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        """Buckets that hold `burst` and fill by `rate` a second; a rate of 0 is no limit."""
        self._rate, self._burst, self._clock = rate, burst, clock
        self._full: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """How many seconds until a client may; 0 if it may now. Takes nothing."""
        if not self._rate:
            return 0.0
        return max(0.0, (1 - self._level(client)) / self._rate)

    def take(self, client: str) -> float:
        """Take one, if there is one: how many seconds until there is, 0 if there was."""
        waits = self.wait(client)
        if not waits and self._rate:
            self.spend(client)
        return waits

    def spend(self, client: str) -> None:
        """Take one, whether there is one or not."""
        self._full[client] = max(0.0, self._level(client) - 1), self._clock()
        self._full.move_to_end(client)
        if len(self._full) > MOST:
            self._full.popitem(last=False)

    def _level(self, client: str) -> float:
        level, since = self._full.get(client, (float(self._burst), self._clock()))
        return min(float(self._burst), level + (self._clock() - since) * self._rate)


def client_in(scope: Mapping[str, Any]) -> str:
    """Whom a request is from."""
    return client_of((scope.get("client") or ("unknown",))[0])


def client_of(address: str) -> str:
    """Whom an address stands for: itself, or of IPv6 its network, which has more addresses than anybody counts."""
    if ":" not in address:
        return address
    try:
        known = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    # An address of IPv4 that came to a door for both is itself.
    mapped = known.ipv4_mapped
    return str(ipaddress.ip_network((known, 64), strict=False)) if mapped is None else str(mapped)


class Caller(Protocol):
    """Somebody at the other end of a connection."""

    def give_way(self) -> None:
        """Hang up on them."""


class Connections:
    """All connections of a process."""

    def __init__(self, most: int, met: Met) -> None:
        self._most, self.met = most, met
        self._all: set[Caller] = set()
        self._quiet: dict[Caller, None] = {}

    def come(self, caller: Caller) -> bool:
        """Somebody has come: whether there is a place for them."""
        self._all.add(caller)
        self._quiet[caller] = None
        if len(self._all) <= self._most:
            return True
        longest = next(iter(self._quiet))
        self.met("connections", "unknown", public=True)
        self.go(longest)
        if longest is caller:
            return False
        longest.give_way()
        return True

    def ask(self, caller: Caller) -> None:
        """They have asked something, and are being answered."""
        self._quiet.pop(caller, None)

    def rest(self, caller: Caller) -> None:
        """They were answered."""
        if caller in self._all:
            self._quiet[caller] = None

    def go(self, caller: Caller) -> None:
        """They are gone."""
        self._all.discard(caller)
        self._quiet.pop(caller, None)
