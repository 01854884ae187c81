"""Engines: two verbs, sort rows into blocks of a panel and fold a kernel over its blocks.

Whoever folds does not know where a panel's readings lie. What is read piece by piece, from memory or a file, is
folded by the local engine. Data that bring kernels to where they lie fold themselves (`Folds`). Kernels and sums
are the same, and so are the bits. An `Engine` of the registry does more: it sorts rows into panels of its own, and
keeps profiles beside them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from diurnal.readings.data import Arrays
from diurnal.readings.engines import local
from diurnal.readings.engines.base import Engine
from diurnal.readings.panel import Panel

Result = TypeVar("Result")

ENGINES = {"spark": "diurnal.readings.engines.spark.engine"}
"""The module of each engine, by its name. It has an `ENGINE`, and is imported when the engine is first asked."""

AHEAD = 1 << 24
"""How many readings `batches` brings here at a time, about: some 150 MB, twice that as it goes on."""


@runtime_checkable
class Folds(Protocol):
    """Data of a panel that fold kernels themselves, elsewhere than here."""

    def fold(
        self,
        kernel: Callable[[Panel], Result],
        panel: Panel,
        add: Callable[[Result, Result], Result],
        *,
        label: str,
    ) -> Result:
        """What a kernel finds in the blocks of the panel whose data these are, added up."""


def named(name: str) -> Engine:
    """An engine by its name."""
    engine: Engine = importlib.import_module(ENGINES[name]).ENGINE
    return engine


def reading(source: Any) -> Engine | None:
    """The engine that a frame belongs to; None for whatever is read here."""
    return next((engine for engine in map(named, ENGINES) if engine.reads(source)), None)


def holding(path: str | Path, *, session: Any = None) -> Engine | None:
    """The engine of the panel in a folder; None for a file, or anything else.

    What comes with a session, or has a scheme, as s3a://bucket/homes, is taken to be a folder: only a session can
    look.
    """
    is_told = session is not None or "://" in str(path)
    return next((engine for engine in map(named, ENGINES) if is_told or engine.holds(path)), None)


def of(panel: Panel) -> Engine | None:
    """The engine of a panel that lies elsewhere; None for one in memory or in a file."""
    name = panel.data.engine
    return None if name is None else named(name)


def fold(
    kernel: Callable[[Panel], Result],
    panel: Panel,
    add: Callable[[Result, Result], Result],
    *,
    label: str = "Adding up",
) -> Result:
    """What a kernel finds in the blocks of a panel, added up where its readings lie.

    Args:
        kernel: A function of a panel of whole households. An engine may run it elsewhere: it takes along what it
            needs.
        panel: Private readings.
        add: Adds two results; in any order the sum must be the same, as it is for whole numbers.
        label: What this is about, for people.

    Raises:
        ValueError: The panel has no households.
    """
    if isinstance(panel.data, Folds):
        return panel.data.fold(kernel, panel, add, label=label)
    return local.fold(kernel, panel, add, label=label)


def in_memory(panel: Panel) -> Panel:
    """A panel that is small, with its readings brought here from wherever they lie."""
    if isinstance(panel.data, Arrays):
        return panel
    return replace(panel, data=Arrays(panel.readings, panel.present))


def batches(panel: Panel, cycles: int) -> Iterator[Panel]:
    """A panel some cycles at a time, in order.

    A file holds whole households, so that few of its steps cost as much to read as many: it is read for several
    batches at once. What is folded elsewhere stays there.
    """
    slots, ahead = panel.grid.slots, max(1, AHEAD // panel.n_households)
    here, begin = panel, panel.first_step
    read_to = begin
    while begin < panel.steps.stop:
        end = min((begin // slots + cycles) * slots, panel.steps.stop)
        if end > read_to and not isinstance(panel.data, Folds):
            read_to = max(end, begin + ahead // slots * slots)
            del here
            here = in_memory(panel.between(begin, read_to))
        yield here.between(begin, end)
        begin = end
