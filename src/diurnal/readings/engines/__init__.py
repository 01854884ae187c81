"""Engines: two verbs, sort rows into blocks of a panel and fold a kernel over its blocks.

Whoever folds does not know where a panel's readings lie: in memory and in a file the local engine does it, in the
lake Spark. Kernels and sums are the same, and so are the bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from diurnal.readings.data import Arrays
from diurnal.readings.engines import local
from diurnal.readings.engines.spark.lake import LakeData
from diurnal.readings.panel import Panel

Result = TypeVar("Result")


def fold(
    kernel: Callable[[Panel], Result],
    panel: Panel,
    add: Callable[[Result, Result], Result],
    *,
    label: str = "Adding up",
) -> Result:
    """What a kernel finds in the blocks of a panel, added up where its readings lie.

    Args:
        kernel: A function of a panel of whole households. On Spark it runs elsewhere: it takes along what it needs.
        panel: Private readings.
        add: Adds two results; in any order the sum must be the same, as it is for whole numbers.
        label: What this is about, for people.

    Raises:
        ValueError: The panel has no households.
    """
    if isinstance(panel.data, LakeData):
        return panel.data.fold(kernel, panel, add, label=label)
    return local.fold(kernel, panel, add, label=label)


def at_hand(panel: Panel) -> Panel:
    """A panel that is small, with its readings brought here if they lie in the lake."""
    if not isinstance(panel.data, LakeData):
        return panel
    return replace(panel, data=Arrays(panel.readings, panel.present))
