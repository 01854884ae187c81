"""Intake: readings as they come, brought to a stream's roster and steps.

Rows come for some households, in any order, early or late, on a grid that begins elsewhere. What is for the stream
is put where it belongs; what is not is counted. A step that has been reported takes no more, nor does a reading
that is there already: the first one counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from diurnal.curator.records import HeldStep, StreamRecord
from diurnal.errors import ReadingsError
from diurnal.readings.data import Arrays, Integers, Marks
from diurnal.readings.panel import Panel

HELD = "held before"
"""The counter of readings that were there already."""


def aligned(record: StreamRecord, panel: Panel, counts: Counter[str]) -> Panel:
    """A panel's readings on the stream's grid, in its roster's order.

    Args:
        record: The stream.
        panel: Readings of some of its households, in any order, perhaps with others among them.
        counts: Gets the number of readings of households that are not on the roster.

    Raises:
        ReadingsError: Another interval, period, unit or clock; or no household of the roster at all.
    """
    panel = panel.on_grid(record.plan.grid)
    where = record.where(panel.households)
    if where is None:
        return panel
    known = where >= 0
    check_known(record, known)
    counts["of households not on the roster"] += int(np.count_nonzero(panel.present[:, ~known]))
    shape = (panel.n_steps, len(record.households))
    readings, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    readings[:, where[known]] = panel.readings[:, known]
    present[:, where[known]] = panel.present[:, known]
    return replace(panel, data=Arrays(readings, present), households=record.households, groups={}, quality=None)


def check_known(record: StreamRecord, known: Marks) -> None:
    """Refuse readings of households of which none is on the roster.

    Args:
        record: The stream.
        known: Which of the households are.
    """
    if not known.any():
        raise ReadingsError(
            f"None of the {len(known)} households is on the roster of {len(record.households)}.",
            hint="Names must be those of the history. A new roster is a new plan.",
        )


def merged(held: HeldStep | None, readings: Integers, present: Marks, counts: Counter[str]) -> HeldStep:
    """What is held of a step with more readings: the first of a household counts."""
    if held is None:
        return HeldStep(readings=readings.copy(), present=present.copy(), closed=False)
    # Whether it is the same is not counted: the number would stay when the reading is erased.
    counts[HELD] += int(np.count_nonzero(held.present & present))
    return HeldStep(
        readings=np.where(held.present, held.readings, readings),
        present=held.present | present,
        closed=held.closed,
        reached=held.reached,
    )


def as_panel(record: StreamRecord, steps: range, held: dict[int, HeldStep]) -> Panel:
    """Consecutive held steps as a panel; what was never held is missing."""
    shape = (len(steps), len(record.households))
    readings, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for row, step in enumerate(steps):
        if step in held:
            readings[row], present[row] = held[step].readings, held[step].present
    return Panel(
        data=Arrays(readings, present),
        households=record.households,
        grid=record.plan.grid,
        first_step=steps.start,
    )


def without_moved(record: StreamRecord, panel: Panel) -> Panel:
    """A panel in which households that have moved out are missing from their step on."""
    if not record.silenced:
        return panel
    present = panel.present.copy()
    for place, step in record.silenced.items():
        present[max(0, step - panel.first_step) :, place] = False
    data = Arrays(np.where(present, panel.readings, 0), present)
    return replace(panel, data=data)
