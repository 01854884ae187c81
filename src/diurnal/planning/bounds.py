"""Bounds: a plan's reference and bounds from public knowledge.

What a household's profile and its days are put into must come from public knowledge (theory 5). Open data of
another region is such knowledge, and so are statistics of a region, a table of other regions' homes, and the number
of households. Where there is no table, radii are tried on the open data alone, and those with the least predicted
error are taken. Nothing private is looked at, so nothing is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from diurnal.errors import PlanError
from diurnal.exact import Number, instance
from diurnal.planning.accuracy import mechanism_row
from diurnal.planning.plan import Plan
from diurnal.planning.public_tables import cycle_fields, is_tabled, pattern_fields, typical
from diurnal.planning.reference import Reference, check_open, public_reference
from diurnal.promise.body import Ellipsoid
from diurnal.readings.panel import Panel, Shape
from diurnal.renamed import renamed

RADII = (1, 1.5, 2, 3, 4, 6, 9, 13, 20)
"""The radii that are tried, in levels: means of a slot."""
UNEVEN = 4
"""How many times larger the largest group is than the smallest, to be called very different."""


@renamed(level="mean_reading")
def with_public_bounds(
    plan: Plan,
    shape: Shape | Panel,
    *,
    open_data: Panel | None = None,
    mean_reading: Number | None = None,
    free: bool = True,
) -> Plan:
    """A plan with what is publicly known: reference, body, basis, bound of a cycle's variations.

    What the plan says itself stays as it is. For electricity over a day or a week, bounds come from a table that
    was made of other regions' homes (`constants`); for anything else they are searched on the open data. A plan at
    level `cycle` needs none of it.

    Args:
        plan: What is to be reported and promised.
        shape: How large the groups are; or the panel, of which nothing else is used.
        open_data: *Public* readings of other households on the same grid. Never the private panel.
        mean_reading: The *public* mean of a reading, such as a statistic of the region: the reference is brought to
            it. Without open data, it is a typical day of that level.
        free: Whether a pattern plan may make its reference from the variations of its history, which neighbours
            share (`VariationReference`).

    Raises:
        PlanError: Nothing public is given; the open data is on another grid, has no whole cycle, or is the private
            panel.
    """
    instance(plan, Plan, "plan", example="Plan(...)")
    check_open(open_data, shape)
    if not plan.protection.learns:
        return plan
    whole = None if open_data is None else _whole(open_data, plan)
    if plan.reference is None:
        plan = plan.with_(reference=reference_of(plan, whole, mean_reading))
    sizes = plan.shape_of(shape).group_sizes
    plan = _with_body(plan, sizes, whole, free=free)
    return _with_bound(plan, sizes, whole)


def _whole(open_data: Panel, plan: Plan) -> Panel:
    """The whole cycles of open data on the plan's grid."""
    instance(open_data, Panel, "open_data", example="dn.open_panel('public.parquet')")
    if open_data.grid.slots != plan.grid.slots or open_data.grid.unit != plan.grid.unit:
        raise PlanError(
            "open-data-grid",
            data_slots=open_data.grid.slots,
            data_unit=open_data.grid.unit,
            slots=plan.grid.slots,
            unit=plan.grid.unit,
        )
    return open_data.first(open_data.n_cycles)


def reference_of(plan: Plan, open_data: Panel | None, mean_reading: Number | None) -> Reference:
    """The reference from what is publicly known.

    Raises:
        PlanError: Nothing is.
    """
    if open_data is not None:
        found = public_reference(open_data)
        return found if mean_reading is None else found.at_level(mean_reading)
    if mean_reading is None:
        raise PlanError("public-knowledge-missing")
    return typical(plan.grid, mean_reading)


def _with_body(plan: Plan, sizes: Sequence[int], open_data: Panel | None, *, free: bool) -> Plan:
    if plan.body is not None or plan.mechanism not in ("auto", "basis"):
        return plan
    middle, uneven = sorted(sizes)[len(sizes) // 2], max(sizes) >= UNEVEN * min(sizes)
    if is_tabled(plan):
        return plan.with_(**pattern_fields(plan, middle, free=free, uneven=uneven))
    return plan if open_data is None else plan.with_(body=_body(plan, middle, open_data))


def _with_bound(plan: Plan, sizes: Sequence[int], open_data: Panel | None) -> Plan:
    if not plan.protection.noisy_variations or plan.variation_bound is not None:
        return plan
    middle = sorted(sizes)[len(sizes) // 2]
    if is_tabled(plan) and (fields := cycle_fields(plan, middle)):
        return plan.with_(**fields)
    if open_data is None or plan.cycle_mechanism not in ("auto", "basis"):
        return plan
    return plan.with_(variation_bound=_variation_bound(plan, middle, open_data))


def _body(plan: Plan, n: int, open_data: Panel) -> Ellipsoid:
    """Around the public profile, narrower in high frequencies."""
    assert plan.reference is not None
    profile = plan.reference.profile

    def tried(radius: int) -> tuple[Ellipsoid, Plan]:
        body = Ellipsoid(radius=radius, reference=profile, weighting="harmonic")
        changes = {"level": "pattern", "variation_bound": None, "cycle_epsilon": None}
        return body, plan.with_(**changes, body=body, mechanism="basis")

    return _least(tried, _radii(plan), n, open_data)


def _variation_bound(plan: Plan, n: int, open_data: Panel) -> Ellipsoid:
    """A ball that a day's variations are put into."""

    def tried(radius: int) -> tuple[Ellipsoid, Plan]:
        bound = Ellipsoid(radius=radius)
        changed = plan.with_(variation_bound=bound, cycle_mechanism="basis")
        if isinstance(plan.body, Ellipsoid) or plan.mechanism == "auto":
            changed = changed.with_(mechanism="basis")
        return bound, changed

    return _least(tried, _radii(plan), n, open_data)


def _radii(plan: Plan) -> list[int]:
    assert plan.reference is not None
    level = max(1.0, float(plan.reference.level))
    return [max(1, round(times * level)) for times in RADII]


def _least(
    tried: Callable[[int], tuple[Ellipsoid, Plan]], radii: Iterable[int], n: int, open_data: Panel
) -> Ellipsoid:
    """The body with the least predicted error among some."""
    bodies = [tried(radius) for radius in radii]
    errors = [mechanism_row(plan, n, open_data, None).errors.step for _, plan in bodies]
    return bodies[errors.index(min(errors))][0]
