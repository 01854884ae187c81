"""Room: whether what the service must write down still fits on the disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

from diurnal.show.web.settings import MEGABYTE, Settings


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
