"""Files: what is written for people and programs, whole or not at all, and never over what cannot be had again."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path

from diurnal.errors import InputError
from diurnal.place import check_place
from diurnal.readings.panel import Panel
from diurnal.readings.panel_file import is_kept

SQLITE = b"SQLite format 3"
"""How a file of SQLite begins."""


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file beside its place and move it there: nobody ever sees a part of it.

    Args:
        path: Where to.
        content: What.
        private: Whether its owner alone may read it, from its first byte on.

    Raises:
        InputError: There is something that is not a regular file.
    """
    check_place(path)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.partial")
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        opened = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(opened, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def check_target(path: Path, inputs: Iterable[str | Path] = (), *, panel: bool = False) -> None:
    """Refuse to write over a panel, a store, what is being read, or what is not a regular file.

    Args:
        path: Where something is to be written.
        inputs: What is read.
        panel: Whether it is a panel, which may take an older one's place.

    Raises:
        InputError: The file is one of these.
    """
    if any(_same(path, Path(each)) for each in inputs):
        raise InputError("output-is-input", name=path.name)
    if (is_kept(path) and not panel) or is_store(path):
        raise InputError("output-is-panel-or-store", name=path.name)
    if not panel:
        check_place(path)


def left_out(panel: Panel, given: Sequence[str] | None) -> Panel:
    """A panel without some households: who was erased must not be learned from again.

    Args:
        panel: The panel.
        given: Their names; `@` and a path for a file with a name a line.

    Raises:
        InputError: There is no such file, or some are not on the roster.
    """
    return panel.without(sorted({name for each in given for name in _names(each)})) if given else panel


def _names(given: str) -> list[str]:
    if not given.startswith("@"):
        return [given]
    path = Path(given[1:])
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError):
        raise InputError("names-unreadable", name=path.name) from None


def is_store(path: Path) -> bool:
    """Whether a file is one of SQLite, as stores are."""
    return _begins(path).startswith(SQLITE)


def _begins(path: Path) -> bytes:
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(len(SQLITE))


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.resolve() == other.resolve()
