"""Descriptors: whether the system lets the service have as many open files as its limits need."""

from __future__ import annotations

import resource
from contextlib import suppress
from dataclasses import replace

from diurnal.errors import InputError
from diurnal.show.web.settings import Limits

SPARE = 128
"""How many files are open besides connections: the store, several times; the door, the log, what is being made."""


def fitted(limits: Limits) -> Limits:
    """Limits that there are enough descriptors for: as many as are needed are asked for; else fewer may listen.

    Raises:
        InputError: There are so few that nobody could listen.
    """
    needed = limits.connections + SPARE
    have = _raised(needed)
    fewer = limits.listeners - max(0, needed - have)
    if fewer == limits.listeners:
        return limits
    if fewer < 1:
        raise InputError("service-open-files", needed=needed - limits.listeners, have=have)
    return replace(limits, listeners=fewer)


def _raised(needed: int) -> int:
    """How many descriptors this process may have, after it has asked for as many as it needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    if soft != endless and soft < needed:
        with suppress(ValueError, OSError):
            wanted = needed if hard == endless else min(needed, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return needed if soft == endless else soft
