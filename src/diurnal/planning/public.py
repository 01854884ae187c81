"""Public: what the table of constants says for a grid, a number of homes, a length of history."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TypeVar

from diurnal.errors import PlanError
from diurnal.exact import Number, positive
from diurnal.planning import constants
from diurnal.planning.reference import Reference
from diurnal.planning.rows import BaseLoad, Blocks, Clip, Day, FreeRow, Pattern
from diurnal.readings.grid import Grid
from diurnal.renamed import renamed

R = TypeVar("R", Pattern, FreeRow, BaseLoad, Day, Blocks, Clip)

HALF_HOUR = 30
"""Minutes of a value of the shapes."""
MONDAY = datetime(2001, 1, 1)
"""Some Monday at midnight."""


def nearest(rows: Sequence[R], size: float) -> R:
    """The row whose first field is nearest in ratio: n times epsilon, or days of history.

    Examples:
        >>> nearest(constants.PATTERN, 226).size
        7
        >>> nearest(constants.DAY, 1e9).n_epsilon
        22600
    """
    return min(rows, key=lambda row: abs(math.log(max(row[0], 1e-9) / max(size, 1e-9))))


def free_row(days: int) -> FreeRow | None:
    """What exact variations of so many days of history add to a release; None where they are too few.

    Examples:
        >>> free_row(365).low, free_row(30)
        (0.6, None)
    """
    return nearest(constants.FREE, days) if days >= constants.FREE_LEAST else None


def public_shape(grid: Grid) -> tuple[int, ...] | None:
    """The mean day or week of homes elsewhere on a grid, in thousandths of its mean; None for another period.

    Consumption only. A slot is the mean over the half hours it covers, from the time of day and the day of the week
    at which the grid begins.

    Examples:
        >>> shape = public_shape(Grid(slots=24, minutes=60))
        >>> shape[4] < 1000 < shape[19]
        True
        >>> public_shape(Grid(slots=10)) is None
        True
    """
    length = grid.slots * grid.minutes
    known = {len(shape) * HALF_HOUR: shape for shape in (constants.SHAPES["pooled"], constants.WEEK)}
    if length not in known:
        return None
    begins = (datetime.fromisoformat(grid.anchor) - MONDAY) // timedelta(minutes=1)
    ends = [_until(known[length], begins % length + slot * grid.minutes) for slot in range(grid.slots + 1)]
    return tuple(round((after - before) / grid.minutes) for before, after in itertools.pairwise(ends))


@renamed(level="mean_reading")
def typical(grid: Grid, mean_reading: Number) -> Reference:
    """A reference for homes of which nothing is known but how much they use.

    Args:
        grid: Of a day or a week.
        mean_reading: The public mean of a reading, for example from statistics of the region. Never from private
            readings.

    Raises:
        PlanError: The period is another, or the mean is not positive.

    Examples:
        >>> typical(Grid(), 400).profile[38]
        533
    """
    mean = positive(mean_reading, "mean_reading")
    shape = public_shape(grid)
    if shape is None:
        raise PlanError("public-shape-unknown", slots=grid.slots, minutes=grid.minutes)
    return Reference(
        profile=[round(mean * value / 1000) for value in shape],
        spread=mean * Fraction(str(constants.SPREAD)),
        mismatch=mean * Fraction(str(constants.MISMATCH)),
    )


def _until(shape: Sequence[int], minute: int) -> int:
    """The sum of a shape over the minutes before one; it repeats."""
    half_hours, rest = divmod(minute, HALF_HOUR)
    cycles, place = divmod(half_hours, len(shape))
    return HALF_HOUR * (cycles * sum(shape) + sum(shape[:place])) + rest * shape[place]
