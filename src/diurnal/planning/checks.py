"""Checks: what a plan must be before it is one. Called once, when a `Plan` is made."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

from diurnal.errors import PlanError
from diurnal.exact import fraction, instance, whole
from diurnal.planning.free import Free
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
        "query": ((Query,), "For example query=Mean()."),
        "grid": ((Grid,), "For example grid=panel.grid, or Grid(slots=48, minutes=30)."),
        "groups": ((str, nothing), "Name a partition of the panel: groups='suburb'."),
        "body": ((Body, Ellipsoid, nothing), "For example body=Body(high=3000)."),
        "basis": ((Basis,), "For example basis=Basis(size=9)."),
        "cycle_basis": ((Basis,), "For example cycle_basis=Basis(size=5)."),
        "reference": ((Reference, nothing), "For example reference=Reference(profile=[...])."),
        "shrink": ((bool,), "True or False."),
        "free": ((Free, nothing), "For example free=Free()."),
        "roster": ((str, nothing), "Leave it out: it is filled in when the plan is started."),
        "calendar": ((str, nothing), "Leave it out: it is filled in when the plan is started."),
        "channel": ((str,), "For example channel='consumption'."),
    }
    for name, (kind, hint) in kinds.items():
        instance(getattr(plan, name), kind, name, hint=hint)


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
            raise PlanError(f"Unknown {name} {getattr(plan, name)!r}.", hint=f"Known are {', '.join(known)}.")


def check_domain(domain: Any) -> tuple[int, int]:
    """The domain as two integers, the low end below the high."""
    try:
        low, high = domain
        Body(low=low, high=high).ranges(1)
    except (TypeError, ValueError) as cause:
        raise PlanError(
            "Expected domain=(low, high), two integers with low < high, below 2^31.",
            hint="What a meter can physically read in a slot, in its unit: domain=(0, 8000) in Wh.",
        ) from cause
    return int(low), int(high)


def check_counts(plan: Plan) -> None:
    """Refuse counts that are no whole numbers, or contradict each other."""
    least = {"history": 0, "horizon": 1, "grace": 0, "deadline": 1, "minimum_group": 1, "min_readings": 1}
    for name, lowest in least.items():
        if getattr(plan, name) is not None:
            object.__setattr__(plan, name, whole(getattr(plan, name), name, least=lowest))
    if plan.min_readings is not None and plan.history and plan.min_readings > plan.history:
        raise PlanError(
            f"Expected min_readings={plan.min_readings} <= history={plan.history}.",
            hint="With more than the history has, no household would have a profile.",
        )
    low, high = plan.domain
    object.__setattr__(plan, "default_reading", whole(plan.default_reading, "default_reading", least=low))
    if plan.default_reading > high:
        raise PlanError(
            f"Expected default_reading={plan.default_reading} in the domain, {low} to {high}.",
            hint="A public value such households have: the reference's mean, say.",
        )


def check_level(plan: Plan) -> None:
    """Refuse what a level cannot promise."""
    level = plan.protection
    if plan.query.counting != level.counts:
        raise PlanError(
            f"The query {plan.query.kind!r} cannot be promised at level {plan.level!r}.",
            hint="Share and Histogram are for level='cycle' (theory 6.8); Sum, Mean and Weighted for 'strong' "
            "and 'pattern'.",
        )
    if not level.learns and (plan.history or plan.mechanism == "basis"):
        raise PlanError(
            f"At level {plan.level!r} there is no profile: no history, and no basis.",
            hint=f"Leave history out and take auto or one of {', '.join(SLOTS)}.",
        )
    if not level.noisy_variations and (plan.cycle_epsilon is not None or plan.variation_bound is not None):
        raise PlanError(
            f"cycle_epsilon and variation_bound are for strong plans, and this one is {plan.level}.",
            hint="Leave them out, or take level='strong'; at level 'cycle' epsilon is a cycle's.",
        )
    if level.learns and plan.history < 1:
        raise PlanError(
            f"Expected history={plan.history} >= 1: the profile is made from it.",
            hint="Say how many cycles, for example history=91.",
        )
    if plan.statistic == "base-load" and not level.exact_variations:
        raise PlanError(
            "The base-load statistic is for pattern mode only.",
            hint="In strong mode one history cycle would move it by the whole domain (theory 5.1).",
        )
    named = [SLOTS[name] for name in (plan.mechanism, plan.cycle_mechanism) if name in SLOTS]
    if plan.delta is None and any(kind.needs_delta for kind in named):
        raise PlanError(
            "A Gaussian mechanism promises (epsilon, delta), and no delta was given.",
            hint="Give delta, for example delta='1e-6'.",
        )


def check_fill(fill: Any) -> Fraction:
    """The share that is put back: from 0 to 1."""
    share = fraction(fill, "fill")
    if not 0 <= share <= 1:
        raise PlanError(f"Expected fill={fill} from 0 to 1.", hint="It is a share of the reference.")
    return share


def check_free(plan: Plan) -> None:
    """Refuse a free reference where it is not free, and what needs a reference and has none."""
    around = isinstance(plan.body, Ellipsoid) and plan.body.reference is not None
    if plan.free is not None:
        if not plan.protection.exact_variations or plan.statistic != "mean":
            raise PlanError(
                "A free reference is for pattern plans with the mean as statistic.",
                hint="In strong mode variations are protected, and nothing that is made of them is free.",
            )
        if not around or plan.reference is None or plan.mechanism not in ("auto", "basis"):
            raise PlanError(
                "A free reference needs a public one to begin with, a basis, and an Ellipsoid around it.",
                hint="Let informed(plan, shape, open_data=...) make the plan.",
            )
    if (plan.shrink or plan.fill) and (not around or plan.reference is None):
        raise PlanError(
            "fill and shrink need an Ellipsoid around a public reference.",
            hint="Let informed(plan, shape, open_data=...) make the plan.",
        )


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
            # What nobody has said may still be filled in by `informed`.
            check_blocks(plan.cycle_basis.size, plan.variation_bound, slots)
        if plan.cycle_basis.noise != "l2-norm":
            raise PlanError(
                f"Blocks have l2-norm noise, and cycle_basis asks for {plan.cycle_basis.noise}.",
                hint="Leave out the noise; 17 blocks are the most.",
            )
    if plan.reference is not None and len(plan.reference.profile) != slots:
        raise PlanError(
            f"Expected a reference of {slots} slots, got {len(plan.reference.profile)}.",
            hint="Give the public profile on the plan's grid.",
        )
