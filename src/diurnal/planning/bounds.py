"""Bounds: a plan's reference and bounds from public readings of other households.

What a household's profile and its days are put into must come from public knowledge (theory 5). Open data of
another region is such knowledge, and so is the number of households: radii are tried on these alone, and those
with the least predicted error are taken. Nothing private is looked at, so nothing is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from diurnal.errors import PlanError
from diurnal.exact import instance
from diurnal.planning.accuracy import mechanism_row
from diurnal.planning.plan import Plan
from diurnal.planning.reference import check_open, public_reference
from diurnal.promise.body import Ellipsoid
from diurnal.readings.panel import Panel, Shape

RADII = (1, 1.5, 2, 3, 4, 6, 9, 13, 20)
"""The radii that are tried, in levels: means of a slot."""


def informed(plan: Plan, shape: Shape | Panel, *, open_data: Panel) -> Plan:
    """A plan with what public readings of other households tell: reference, body, bound of a cycle's variations.

    What the plan says itself stays as it is. A plan at level `cycle` needs none of it.

    Args:
        plan: What is to be reported and promised.
        shape: How large the groups are; or the panel, of which nothing else is used.
        open_data: *Public* readings of other households on the same grid. Never the private panel.

    Raises:
        PlanError: The open data is on another grid, has no whole cycle, or is the private panel.
    """
    instance(plan, Plan, "plan", hint="Make one with Plan(...).")
    instance(open_data, Panel, "open_data", hint="Public readings as a panel, never the private ones.")
    check_open(open_data, shape)
    if plan.level == "cycle":
        return plan
    if open_data.grid.slots != plan.grid.slots or open_data.grid.unit != plan.grid.unit:
        raise PlanError(
            f"The open data has {open_data.grid.slots} slots of {open_data.grid.unit}, the plan "
            f"{plan.grid.slots} of {plan.grid.unit}.",
            hint="Import it with the same interval, period and unit.",
        )
    sizes = shape.shape_by(plan.groups) if isinstance(shape, Panel) else shape
    n, whole = min(sizes.group_sizes), open_data.first(open_data.n_cycles)
    if plan.reference is None:
        plan = plan.with_(reference=public_reference(whole))
    if plan.body is None and plan.mechanism in ("auto", "basis"):
        plan = plan.with_(body=_body(plan, n, whole))
    if plan.level == "strong" and plan.variation_bound is None and plan.cycle_mechanism in ("auto", "basis"):
        plan = plan.with_(variation_bound=_variation_bound(plan, n, whole))
    return plan


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
    level = max(1.0, sum(map(abs, plan.reference.profile)) / plan.grid.slots)
    return [max(1, round(times * level)) for times in RADII]


def _least(
    tried: Callable[[int], tuple[Ellipsoid, Plan]], radii: Iterable[int], n: int, open_data: Panel
) -> Ellipsoid:
    """The body with the least predicted error among some."""
    bodies = [tried(radius) for radius in radii]
    errors = [mechanism_row(plan, n, open_data, None).errors.step for _, plan in bodies]
    return bodies[errors.index(min(errors))][0]
