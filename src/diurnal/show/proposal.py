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
from diurnal.promise.query import Histogram, Mean, Query, Share, Sum
from diurnal.readings.panel import Panel, Shape


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a plan is asked for: the flags of `diurnal plan`, which say what each is."""

    epsilon: str | None = None
    """For a shift of a home's periodic component, for ever."""
    target_error: str | None = None
    """Instead: the least epsilon with such an error."""
    total_epsilon: str | None = None
    """Instead: both of a strong plan together, split at best."""
    cycle_epsilon: str | None = None
    """For one home in one reported cycle."""
    level: str = "strong"
    """strong, pattern or cycle."""
    query: str = "mean"
    """mean, sum, share or histogram."""
    above: int | None = None
    """For share."""
    edges: str | None = None
    """For histogram."""
    groups: str | None = None
    """The partition to report by."""
    history: int = 91
    """How many cycles to learn from."""
    statistic: str = "mean"
    """A home's profile."""
    domain: tuple[int, int] | None = None
    """The least and the largest reading."""
    mean_reading: str | None = None
    """The public mean of a reading."""
    free: bool = True
    """Whether a pattern plan may make its reference from the history's variations."""
    body_radius: int | None = None
    """How far a home's profile may be from the public one."""
    cycle_radius: int | None = None
    """How long a day's variations may be."""
    variation_bound: int | None = None
    """What variations are clipped to instead."""
    mechanism: str = "auto"
    """The noise of the pattern."""
    cycle_mechanism: str = "auto"
    """The noise of a cycle."""
    delta: str | None = None
    """For Gaussian noise."""
    grace: int = 2
    """How many steps to wait for late readings."""
    deadline: int | None = None
    """After how many steps a step is closed with what is there; two days unless given."""
    minimum_group: int = 15
    """The least homes a published sum may be of."""

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is read.

        Raises:
            PlanError: Two things were asked for that exclude each other.
        """
        for flag, given in (("--target-error", self.target_error), ("--total-epsilon", self.total_epsilon)):
            if given is not None and self.cycle_epsilon is not None:
                raise PlanError("cli-epsilon-twice", flag=flag)
        if self.cycle_radius is not None and self.variation_bound is not None:
            raise PlanError("cli-bound-twice")


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

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plan = self.plan
        return {
            "plan": plan.hash,
            "chosen": self.own.name,
            "epsilon": text(plan.eps_z),
            "cycle_epsilon": text(plan.eps_w) if plan.protection.hides_cycle else None,
            "level": plan.level,
            "unit": plan.query.unit(plan.grid.unit),
            **self.prediction.to_json(),
            "warnings": self.prediction.warnings(self.own),
            "promise": plan.guarantee().to_json(),
            "sentences": list(self.sentences),
        }


def propose(
    asked: Asked, homes: Shape | Panel, *, domain: tuple[int, int] | None = None, open_data: Panel | None = None
) -> Proposal:
    """Make a plan of what was asked for, before anything is spent.

    Args:
        asked: What was asked for.
        homes: How many there are, and on which grid; or a panel, of which nothing else is used.
        domain: What a meter can read, where the asker does not say.
        open_data: *Public* readings of other homes.

    Raises:
        InputError: It cannot be meant.
        RefusedError: No store would start it: a group of the panel has too few homes.
    """
    draft = _draft(asked, homes, domain)
    level = asked.mean_reading
    if asked.body_radius is not None:
        draft = _around(draft, open_data, level, asked.body_radius)
    if asked.target_error is not None:
        least = epsilon_for(draft, homes, asked.target_error, open_data=open_data, mean_reading=level)
        draft = draft.with_(epsilon=least, cycle_epsilon=None)
    if asked.total_epsilon is not None:
        draft = best_split(draft, homes, asked.total_epsilon, open_data=open_data, mean_reading=level)
    if open_data is not None or level is not None:
        draft = with_public_bounds(draft, homes, open_data=open_data, mean_reading=level, free=asked.free)
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


def _draft(asked: Asked, homes: Shape | Panel, domain: tuple[int, int] | None) -> Plan:
    bound = asked.variation_bound if asked.cycle_radius is None else Ellipsoid(radius=asked.cycle_radius)
    return Plan(
        query=_query(asked.query, asked.above, asked.edges),
        level=asked.level,
        epsilon=_epsilon(asked),
        cycle_epsilon=asked.cycle_epsilon,
        delta=asked.delta,
        domain=_domain(asked.domain, domain),
        history=asked.history if _learns(asked) else 0,
        groups=asked.groups,
        grid=homes.grid,
        mechanism=asked.mechanism,  # type: ignore[arg-type]
        cycle_mechanism=asked.cycle_mechanism,  # type: ignore[arg-type]
        statistic=asked.statistic,  # type: ignore[arg-type]
        variation_bound=bound,
        grace=asked.grace,
        deadline=asked.deadline,
        minimum_group=asked.minimum_group,
    )


def _learns(asked: Asked) -> bool:
    """Whether a history is used; a level that nobody knows is refused by the plan."""
    return asked.level not in LEVELS or LEVELS[asked.level].learns


def _domain(asked: tuple[int, int] | None, homes: tuple[int, int] | None) -> tuple[int, int]:
    found = homes if asked is None else asked
    if found is None:
        raise PlanError("cli-domain-missing")
    return found


def _epsilon(asked: Asked) -> str:
    ways = (asked.epsilon, asked.target_error, asked.total_epsilon)
    if sum(given is not None for given in ways) != 1:
        raise PlanError("cli-epsilon-missing")
    return "1" if asked.epsilon is None else asked.epsilon


def _query(name: str, above: int | None, edges: str | None) -> Query:
    if name == "share" and above is not None:
        return Share(above=above)
    if name == "histogram" and edges is not None:
        try:
            return Histogram(tuple(int(edge) for edge in edges.split(",")))
        except ValueError:
            raise PlanError("cli-edges") from None
    if name in ("mean", "sum"):
        return Mean() if name == "mean" else Sum()
    raise PlanError("cli-query", given=name)


def _around(draft: Plan, elsewhere: Panel | None, level: str | None, body_radius: int) -> Plan:
    """The plan with a body of a radius, around what is publicly known where something is."""
    known = elsewhere is not None or level is not None
    reference = reference_of(draft, elsewhere, level) if known else None
    around = None if reference is None else reference.profile
    body = Ellipsoid(radius=body_radius, reference=around, weighting="harmonic")
    return draft.with_(body=body, reference=reference)
