"""Progress: a bar on a terminal, once a job has taken two seconds."""

from __future__ import annotations

import sys
import time
from typing import Any

PATIENCE = 2.0
"""After how many seconds a bar appears."""


class Progress:
    """Counts what is done; shows a bar on a terminal if it takes long."""

    def __init__(self, label: str, total: int | None = None, *, shown: bool | None = None) -> None:
        self._label = label
        self._total = total
        self._shown = _is_terminal() if shown is None else shown
        self._began = time.monotonic()
        self._done = 0
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, amount: int) -> None:
        """Say that so much more is done."""
        self._done += amount
        if self._bar is None and self._shown and time.monotonic() - self._began > PATIENCE:
            self._bar = _bar(self._label, self._total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done)


def _is_terminal() -> bool:
    # Standard error may be closed.
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(label: str, total: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(label, total=total)
    bar.start()
    return bar
