"""Resources: what the system leaves the service: room on the disk, and open files."""

from __future__ import annotations

import resource
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from diurnal.errors import InputError
from diurnal.show.web.settings import MEGABYTE, Limits, Settings


def folders(settings: Settings) -> list[Path]:
    """Where the service writes: beside a SQLite file, and where profiles lie. A disk of PostgreSQL is not seen."""
    beside = [] if "://" in settings.store else [Path(settings.store).absolute().parent]
    profiles = [] if settings.profiles is None else [Path(settings.profiles).absolute()]
    return [folder for folder in (*beside, *profiles) if folder.is_dir()]


def has_room(folder: Path) -> bool:
    """Whether a megabyte can be written to a folder. It is tried: no count of free blocks knows of a quota."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(MEGABYTE))
            probe.flush()
    except OSError:
        return False
    return True


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
