"""Public tables: what the table of public constants says for a grid or a plan, and how good it was when tried.

The table is of electricity that homes consume over a day or a week (`constants`, made of `rows`). For anything else
there is none, and bounds are searched on open data (`bounds`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any, TypeVar

from diurnal.errors import PlanError
from diurnal.exact import Number, positive
from diurnal.planning import constants
from diurnal.planning.checks import CYCLE_BASIS
from diurnal.planning.free import VariationReference
from diurnal.planning.plan import Plan
from diurnal.planning.reference import Reference
from diurnal.planning.rows import BaseLoad, Blocks, Clip, Day, FreeRow, Pattern
from diurnal.promise.body import Ellipsoid
from diurnal.promise.mechanisms import SLOTS, Basis
from diurnal.promise.mechanisms.prior import spread
from diurnal.readings.grid import Grid
from diurnal.renamed import renamed

R = TypeVar("R", Pattern, FreeRow, BaseLoad, Day, Blocks, Clip)
Sized = TypeVar("Sized", Pattern, BaseLoad, Day)

HALF_HOUR = 30
"""Minutes of a value of the shapes."""
DAY_MINUTES = 24 * 60
MONDAY = datetime(2001, 1, 1)
"""Some Monday at midnight."""
WEEK_RADIUS = 0.75
"""The radius of a week's variations over a day's, in levels: at n epsilon 226, 15 coefficients and 1.2 levels
had the least error on the town, 0.046 of the peak, against 0.080 with nothing of them."""
WEEKS_FILL = Fraction(1, 2)
"""What is put back of a public week, its days' differences among it."""


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


def is_tabled(plan: Plan) -> bool:
    """Whether the table is about such readings, and a day has room for its smallest row."""
    shown = plan.channel == "consumption" and public_shape(plan.grid) is not None
    return shown and _room(plan) >= min(row.size for row in constants.PATTERN)


def pattern_fields(plan: Plan, n: float, *, free: bool, uneven: bool) -> dict[str, Any]:
    """Body, basis and what is put back, for groups of about n households.

    Args:
        plan: With a public reference.
        n: The size of a middling group.
        free: Whether a pattern plan may take a reference from its history's variations.
        uneven: Whether groups are of very different size: noisy ones are drawn towards the reference then.
    """
    assert plan.reference is not None
    size = n * float(plan.eps_z)
    if plan.statistic == "base-load":
        return _base_load(plan, _best(plan, constants.BASE_LOAD, size))
    row = _best(plan, constants.PATTERN, size)
    fields: dict[str, Any] = {
        "body": _body(plan, row.radius, row.scale, plan.reference.profile),
        "basis": _basis(plan.basis, Basis(), row.size, days=_days(plan)),
        "fill": WEEKS_FILL if _days(plan) > 1 else _fraction(row.fill),
        "shrink": uneven or row.distance is not None,
    }
    found = free_row(_history_days(plan))
    if free and plan.protection.exact_variations and found is not None and size <= found.most:
        weights = {"slope": constants.SLOPE, "blend": found.blend, "low": found.low}
        known = {"quantile": constants.QUANTILE, "grain": constants.GRAIN}
        fields["free"] = VariationReference(**{name: _fraction(value) for name, value in (weights | known).items()})
        if _days(plan) == 1:
            fields["fill"] = _fraction(found.fill)
    return fields


def cycle_fields(plan: Plan, n: float) -> dict[str, Any]:
    """What a cycle's variations are put into, and what is released of it; for a week at its end only."""
    size, unsaid = n * float(plan.eps_w), CYCLE_BASIS
    if _days(plan) > 1:
        return (
            _week_fields(plan, _best(plan, constants.DAY, size))
            if plan.cycle_mechanism in ("auto", "basis")
            else {}
        )
    if plan.cycle_mechanism == "blocks":
        blocks = nearest(constants.BLOCKS, size)
        ball = Ellipsoid(radius=_radius(plan, blocks.radius))
        return {"variation_bound": ball, "cycle_basis": _basis(plan.cycle_basis, unsaid, blocks.blocks)}
    if plan.cycle_mechanism in SLOTS:
        return {"variation_bound": max(1, round(nearest(constants.CLIP, size).clip * _level(plan)))}
    row = _best(plan, constants.DAY, size)
    bound = Ellipsoid(radius=_radius(plan, row.radius), weighting="harmonic")
    return {"variation_bound": bound, "cycle_basis": _basis(plan.cycle_basis, unsaid, row.size)}


def free_share(plan: Plan) -> float:
    """How much of the mismatch of a public reference is left with what the plan takes from variations."""
    found = free_row(_history_days(plan)) if plan.free is not None else None
    return 1.0 if found is None else found.mismatch / constants.MISMATCH


def pattern_bias(plan: Plan) -> float | None:
    """What the pattern layer drops, root mean square, where the table was tried; None for another layer."""
    basis = plan.mechanism == "basis" and plan.protection.learns
    if not basis or not isinstance(plan.body, Ellipsoid) or plan.reference is None or not is_tabled(plan):
        return None
    rows: Sequence[Pattern | BaseLoad] = constants.BASE_LOAD if plan.statistic == "base-load" else constants.PATTERN
    for row in rows:
        same = (row.size, _radius(plan, row.radius)) == (plan.basis.size, plan.body.radius)
        if same and Fraction(plan.body.scale) == _fraction(row.scale):
            return _bias(row) * _level(plan)
    return None


def cycle_bias(plan: Plan) -> float | None:
    """What the cycle layer drops, root mean square, where the table was tried; None for another layer."""
    bound, basis = plan.variation_bound, plan.protection.noisy_variations and plan.cycle_mechanism == "basis"
    if not basis or not isinstance(bound, Ellipsoid) or plan.reference is None or not is_tabled(plan):
        return None
    rows: Sequence[Day] = constants.DAY if _days(plan) == 1 else ()
    for row in rows:
        if (row.size, _radius(plan, row.radius)) == (plan.cycle_basis.size, bound.radius):
            return _bias(row) * _level(plan)
    return None


def _until(shape: Sequence[int], minute: int) -> int:
    """The sum of a shape over the minutes before one; it repeats."""
    half_hours, rest = divmod(minute, HALF_HOUR)
    cycles, place = divmod(half_hours, len(shape))
    return HALF_HOUR * (cycles * sum(shape) + sum(shape[:place])) + rest * shape[place]


def _week_fields(plan: Plan, day: Day) -> dict[str, Any]:
    """A week has more to tell than a day, and varies less about its mean: tried on the made-up town alone."""
    bound = Ellipsoid(radius=_radius(plan, WEEK_RADIUS * day.radius), weighting="harmonic")
    return {"variation_bound": bound, "cycle_basis": _basis(plan.cycle_basis, CYCLE_BASIS, min(15, 3 * day.size))}


def _best(plan: Plan, rows: Sequence[Sized], n_epsilon: float) -> Sized:
    """The row with the least error at so many households times epsilon: what it drops, and its noise there.

    A day of few slots has no room for many coefficients.
    """
    fitting = [row for row in rows if row.size <= _room(plan)]
    return min(fitting, key=lambda row: math.hypot(_bias(row), _noise(row, n_epsilon)))


def _bias(row: Pattern | BaseLoad | Day) -> float:
    """What a row drops, in levels: its error without the noise that was in it."""
    return math.sqrt(max(0.0, row.error**2 - _noise(row, row.n_epsilon) ** 2))


def _noise(row: Pattern | BaseLoad | Day, n_epsilon: float) -> float:
    """What l2-norm noise with a harmonic weighting does, root mean square over the slots, in levels.

    Where coefficients are drawn towards the reference, less noise is left of each, and what is kept back of it is
    missing: with a share of tau^2/(tau^2 + noise) both together are tau^2 noise/(tau^2 + noise).
    """
    harmonics = Basis(size=row.size).harmonics()
    noise = [(row.size + 1) * (2 * row.radius / n_epsilon) ** 2 / (1 + harmonic) for harmonic in harmonics]
    if isinstance(row, Pattern) and row.distance is not None:
        slots = len(constants.SHAPES["pooled"])
        thought = [each / slots for each in spread(row.distance, harmonics, slots)]
        noise = [tau * each / (tau + each) for tau, each in zip(thought, noise, strict=True)]
    return math.sqrt(sum(noise))


def _base_load(plan: Plan, row: BaseLoad) -> dict[str, Any]:
    times, power = constants.BASE_LEVEL
    flat = round(times * (28 / max(1, _history_days(plan))) ** power * _level(plan))
    body = _body(plan, row.radius, row.scale, [flat] * plan.grid.slots)
    return {"body": body, "basis": _basis(plan.basis, Basis(), row.size)}


def _body(plan: Plan, radius: float, scale: float, around: Sequence[int]) -> Ellipsoid:
    return Ellipsoid(
        radius=_radius(plan, radius), reference=tuple(around), weighting="harmonic", scale=_fraction(scale)
    )


def _basis(own: Basis, unsaid: Basis, size: int, *, days: int = 1) -> Basis:
    """The table's coefficients, unless the plan says which."""
    return Basis(size=size, days=days) if own == unsaid else own


def _radius(plan: Plan, times: float) -> int:
    return max(1, round(times * _level(plan) * math.sqrt(plan.grid.slots)))


def _level(plan: Plan) -> float:
    assert plan.reference is not None
    return float(plan.reference.level)


def _room(plan: Plan) -> int:
    """How many coefficients a day can have."""
    return plan.grid.slots // max(1, _days(plan))


def _days(plan: Plan) -> int:
    return plan.grid.slots * plan.grid.minutes // DAY_MINUTES


def _history_days(plan: Plan) -> int:
    return plan.history * _days(plan)


def _fraction(value: float) -> Fraction:
    """A constant as it is written in the table."""
    return Fraction(str(value))
