"""Checks: what a plan must be before it is one. Called once, when a `Plan` is made."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

from diurnal.errors import PlanError
from diurnal.exact import fraction, instance, whole
from diurnal.planning.free import VariationReference
from diurnal.planning.reference import Reference
from diurnal.promise.body import Body, Ellipsoid
from diurnal.promise.levels import LEVELS
from diurnal.promise.mechanisms import SLOTS, Basis, CycleMechanismName, MechanismName
from diurnal.promise.mechanisms.blocks import check_blocks
from diurnal.promise.query import Query
from diurnal.readings.grid import Grid

if TYPE_CHECKING:
    from diurnal.planning.plan import Plan

CYCLE_BASIS = Basis(size=5)
"""The coefficients of a cycle layer of which nobody has said anything."""


def check_kinds(plan: Plan) -> None:
    """Refuse a field of another kind than its name says."""
    nothing = type(None)
    kinds: dict[str, tuple[tuple[type, ...], str]] = {
        "query": ((Query,), "query=Mean()"),
        "grid": ((Grid,), "grid=panel.grid, or Grid(slots=48, minutes=30)"),
        "groups": ((str, nothing), "groups='suburb'"),
        "body": ((Body, Ellipsoid, nothing), "body=Body(high=3000)"),
        "basis": ((Basis,), "basis=Basis(size=9)"),
        "cycle_basis": ((Basis,), "cycle_basis=Basis(size=5)"),
        "reference": ((Reference, nothing), "reference=Reference(profile=[...])"),
        "shrink": ((bool,), "shrink=True"),
        "free": ((VariationReference, nothing), "free=VariationReference()"),
        # Roster and calendar are filled in when a plan is started.
        "roster": ((str, nothing), "roster=None"),
        "calendar": ((str, nothing), "calendar=None"),
        "channel": ((str,), "channel='consumption'"),
    }
    for name, (kind, example) in kinds.items():
        instance(getattr(plan, name), kind, name, example=example)


def check_choices(plan: Plan) -> None:
    """Refuse a name that is not known."""
    choices: dict[str, Iterable[str]] = {
        "level": tuple(LEVELS),
        "mechanism": get_args(MechanismName),
        "cycle_mechanism": get_args(CycleMechanismName),
        "statistic": ("mean", "base-load"),
    }
    for name, known in choices.items():
        if getattr(plan, name) not in known:
            raise PlanError("field-unknown-value", name=name, value=getattr(plan, name), choices=", ".join(known))


def check_domain(domain: Any) -> tuple[int, int]:
    """The domain as two integers, the low end below the high."""
    try:
        low, high = domain
        Body(low=low, high=high).ranges(1)
    except (TypeError, ValueError) as cause:
        raise PlanError("plan-domain") from cause
    return int(low), int(high)


def check_counts(plan: Plan) -> None:
    """Refuse counts that are no whole numbers, or contradict each other."""
    least = {"history": 0, "horizon": 1, "grace": 0, "deadline": 1, "minimum_group": 1, "min_readings": 1}
    for name, lowest in least.items():
        if getattr(plan, name) is not None:
            object.__setattr__(plan, name, whole(getattr(plan, name), name, least=lowest))
    if plan.min_readings is not None and plan.history and plan.min_readings > plan.history:
        raise PlanError("plan-min-readings", min_readings=plan.min_readings, history=plan.history)
    low, high = plan.domain
    object.__setattr__(plan, "default_reading", whole(plan.default_reading, "default_reading", least=low))
    if plan.default_reading > high:
        raise PlanError("plan-default-reading", reading=plan.default_reading, low=low, high=high)


def check_level(plan: Plan) -> None:
    """Refuse what a level cannot promise."""
    level = plan.protection
    if plan.query.counting != level.counts:
        levels = " or ".join(each.name for each in LEVELS.values() if each.counts == plan.query.counting)
        raise PlanError("plan-query-level", query=plan.query.kind, level=plan.level, levels=levels)
    if not level.learns and (plan.history or plan.mechanism == "basis"):
        raise PlanError("plan-level-no-profile", level=plan.level, choices=", ".join(SLOTS))
    if not level.noisy_variations and (plan.cycle_epsilon is not None or plan.variation_bound is not None):
        raise PlanError("plan-level-no-cycle", level=plan.level)
    if level.learns and plan.history < 1:
        raise PlanError("plan-history-missing", history=plan.history)
    if plan.statistic == "base-load" and not level.exact_variations:
        raise PlanError("plan-base-load-level")
    named = [SLOTS[name] for name in (plan.mechanism, plan.cycle_mechanism) if name in SLOTS]
    if plan.delta is None and any(kind.needs_delta for kind in named):
        raise PlanError("plan-needs-delta")


def check_fill(fill: Any) -> Fraction:
    """The share that is put back: from 0 to 1."""
    share = fraction(fill, "fill")
    if not 0 <= share <= 1:
        raise PlanError("plan-fill-range", fill=fill)
    return share


def check_free(plan: Plan) -> None:
    """Refuse a free reference where it is not free, and what needs a reference and has none."""
    around = isinstance(plan.body, Ellipsoid) and plan.body.reference is not None
    if plan.free is not None:
        if not plan.protection.exact_variations or plan.statistic != "mean":
            raise PlanError("plan-free-level")
        if not around or plan.reference is None or plan.mechanism not in ("auto", "basis"):
            raise PlanError("plan-free-needs-reference")
    if (plan.shrink or plan.fill) and (not around or plan.reference is None):
        raise PlanError("plan-fill-needs-ball")


def check_bodies(plan: Plan) -> None:
    """Refuse bounds and references of another number of slots."""
    slots = plan.grid.slots
    if isinstance(plan.body, Body):
        plan.body.ranges(slots)
    elif isinstance(plan.body, Ellipsoid):
        plan.body.centre(slots)
    bound = plan.variation_bound
    if isinstance(bound, Ellipsoid):
        bound.centre(slots)
    elif bound is not None:
        object.__setattr__(plan, "variation_bound", whole(bound, "variation_bound", least=1))
    if plan.protection.noisy_variations and plan.cycle_mechanism == "blocks":
        if plan.cycle_basis != CYCLE_BASIS:
            # What nobody has said may still be filled in by `with_public_bounds`.
            check_blocks(plan.cycle_basis.size, plan.variation_bound, slots)
        if plan.cycle_basis.noise != "l2-norm":
            raise PlanError("plan-blocks-noise", noise=plan.cycle_basis.noise)
    if plan.reference is not None and len(plan.reference.profile) != slots:
        raise PlanError("plan-reference-slots", slots=slots, given=len(plan.reference.profile))
