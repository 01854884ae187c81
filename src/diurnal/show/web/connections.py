"""Connections: which there are, and which gives way when there is no place for another.

Before a request is read nothing is known of a connection but where it comes from, and behind a proxy not even that.
So a connection that asks nothing has no place of its own. Where all are taken, the one that has asked nothing for
longest is closed for who comes. One that is being answered stays: how many those are is counted by what they ask
for, and the sum of it is how many connections there may be.
"""

from __future__ import annotations

from typing import Protocol

from diurnal.show.web.places import Met


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
