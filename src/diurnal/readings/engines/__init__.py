"""Engines: two verbs, sort rows into blocks of a panel and fold a kernel over its blocks.

Whoever folds does not know where a panel's readings lie. Data that are read piece by piece, from memory or a file,
are folded by the local engine. Data that bring kernels to where they lie, as Spark's in the lake, fold themselves.
Kernels and sums are the same, and so are the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar, runtime_checkable

from diurnal.readings.data import Arrays
from diurnal.readings.engines import local
from diurnal.readings.panel import Panel

Result = TypeVar("Result")

AHEAD = 1 << 24
"""How many readings `batches` brings here at a time, about: some 150 MB, twice that as it goes on."""


@runtime_checkable
class Engine(Protocol):
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
    if isinstance(panel.data, Engine):
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
        if end > read_to and not isinstance(panel.data, Engine):
            read_to = max(end, begin + ahead // slots * slots)
            del here
            here = in_memory(panel.between(begin, read_to))
        yield here.between(begin, end)
        begin = end
