"""Proposal: a plan made of what was asked for, with its predicted errors: `diurnal plan`, and the service's.

Of the homes nothing but their public sizes, grid and domain is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from diurnal.curator.guard import check_groups
from diurnal.curator.starting import prepared
from diurnal.errors import PlanError
from diurnal.exact import text
from diurnal.planning.bounds import reference_of, with_public_bounds
from diurnal.planning.plan import Plan
from diurnal.planning.planner import best_split, choose, epsilon_for, explain, predict
from diurnal.planning.prediction import Prediction, Row
from diurnal.promise.body import Ellipsoid
from diurnal.promise.levels import LEVELS
from diurnal.readings.panel import Panel, Shape
from diurnal.show.plan_request import PlanRequest


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A plan with all that was left open chosen, and what is predicted of it. Public."""

    plan: Plan
    """The plan."""
    prediction: Prediction
    """The error of every mechanism, and of doing without."""
    own: Row
    """The plan's own row of it."""
    sentences: tuple[str, ...]
    """The plan in plain sentences."""

    @property
    def unit(self) -> str:
        """What errors are in."""
        return self.plan.query.unit(self.plan.grid.unit)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plan = self.plan
        return {
            "plan": plan.hash,
            "chosen": self.own.name,
            "epsilon": text(plan.eps_z),
            "cycle_epsilon": text(plan.eps_w) if plan.protection.hides_cycle else None,
            "level": plan.level,
            "unit": self.unit,
            **self.prediction.to_json(),
            "warnings": self.prediction.warnings(self.own),
            "promise": plan.guarantee().to_json(),
            "sentences": list(self.sentences),
        }


def propose(
    request: PlanRequest,
    homes: Shape | Panel,
    *,
    domain: tuple[int, int] | None = None,
    open_data: Panel | None = None,
) -> Proposal:
    """Make a plan of what was asked for, before anything is spent.

    Args:
        request: What is asked for.
        homes: How many there are, and on which grid; or a panel, of which nothing else is used.
        domain: What a meter can read, where the asker does not say.
        open_data: *Public* readings of other homes.

    Raises:
        InputError: It cannot be meant.
        RefusedError: No store would start it: a group of the panel has too few homes.
    """
    draft = _draft(request, homes, domain)
    level = request.mean_reading
    if request.body_radius is not None:
        draft = _around(draft, open_data, level, request.body_radius)
    if request.target_error is not None:
        least = epsilon_for(draft, homes, request.target_error, open_data=open_data, mean_reading=level)
        draft = draft.with_(epsilon=least, cycle_epsilon=None)
    if request.total_epsilon is not None:
        draft = best_split(draft, homes, request.total_epsilon, open_data=open_data, mean_reading=level)
    if open_data is not None or level is not None:
        draft = with_public_bounds(draft, homes, open_data=open_data, mean_reading=level, free=request.free)
    chosen = choose(draft, homes, open_data=open_data)
    if isinstance(homes, Panel):
        # What `start` refuses whatever the store: nobody is to sign for a plan that cannot begin.
        check_groups(prepared(chosen, homes, None))
    prediction = predict(chosen, homes, open_data=open_data)
    return Proposal(
        plan=chosen,
        prediction=prediction,
        own=prediction.row(chosen.mechanisms_text),
        sentences=tuple(explain(chosen, homes, open_data=open_data)),
    )


def _draft(request: PlanRequest, homes: Shape | Panel, domain: tuple[int, int] | None) -> Plan:
    bound = request.variation_bound if request.cycle_radius is None else Ellipsoid(radius=request.cycle_radius)
    return Plan(
        query=request.asked_query(),
        level=request.level,
        epsilon=_epsilon(request),
        cycle_epsilon=request.cycle_epsilon,
        delta=request.delta,
        domain=_domain(request.domain, domain),
        history=request.history if _learns(request) else 0,
        groups=request.groups,
        grid=homes.grid,
        mechanism=request.mechanism,  # type: ignore[arg-type]
        cycle_mechanism=request.cycle_mechanism,  # type: ignore[arg-type]
        statistic=request.statistic,  # type: ignore[arg-type]
        variation_bound=bound,
        grace=request.grace,
        deadline=request.deadline,
        minimum_group=request.minimum_group,
    )


def _learns(request: PlanRequest) -> bool:
    """Whether a history is used; a level that nobody knows is refused by the plan."""
    return request.level not in LEVELS or LEVELS[request.level].learns


def _domain(given: tuple[int, int] | None, homes: tuple[int, int] | None) -> tuple[int, int]:
    found = homes if given is None else given
    if found is None:
        raise PlanError("cli-domain-missing")
    return found


def _epsilon(request: PlanRequest) -> str:
    ways = (request.epsilon, request.target_error, request.total_epsilon)
    if sum(given is not None for given in ways) != 1:
        raise PlanError("cli-epsilon-missing")
    return "1" if request.epsilon is None else request.epsilon


def _around(draft: Plan, elsewhere: Panel | None, level: str | None, body_radius: int) -> Plan:
    """The plan with a body of a radius, around what is publicly known where something is."""
    known = elsewhere is not None or level is not None
    reference = reference_of(draft, elsewhere, level) if known else None
    around = None if reference is None else reference.profile
    body = Ellipsoid(radius=body_radius, reference=around, weighting="harmonic")
    return draft.with_(body=body, reference=reference)
