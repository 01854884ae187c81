"""Buckets: how often somebody may do something. A bucket fills up slowly, and each time takes one out of it."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

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
