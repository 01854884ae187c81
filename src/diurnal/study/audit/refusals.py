"""Refusals: what a curator must not do, tried on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.errors import RefusedError
from diurnal.planning.plan import Plan
from diurnal.promise.budget import Budget
from diurnal.promise.mechanisms import Basis, Mechanism
from diurnal.promise.query import Share, Sum, Weighted
from diurnal.readings.panel import Panel
from diurnal.study.audit.transcripts import Fact, trusting

_PARTS = "part"
ROOMY = 10
"""A budget of so many times what a plan costs, where something else is to be refused."""
ALIKE = math.log(1e9)
"""Of so many possible draws (as a logarithm) two are the same by something else than chance."""


def refusals(plan: Plan) -> list[Fact]:
    """What must be refused of a plan's kind, tried on the shipped curator, and what it must leave out of reports.

    A refusal for another reason than the one that was looked for is a refusal.

    Args:
        plan: The plan, as `transcripts.to_audit` makes it, but with its own least number of households.
    """
    homes = _Homes(plan)
    found = [_fact(name, work) for name, work in _tries(homes)]
    found += [_known_total(homes), _successor(homes), _own_noise(homes)]
    return found + ([_too_few(homes)] if plan.protection.exact_variations and homes.least > 2 else [])


class _Homes:
    """Made-up homes for a plan: twice as many as a group needs."""

    def __init__(self, plan: Plan) -> None:
        self.least = max(2, plan.minimum_group)
        self.plan = plan.with_(groups=None, query=plan.query if plan.query.counting else Sum())
        n, slots = 2 * self.least, plan.grid.slots
        low, high = plan.domain
        k, s, i = np.indices((plan.history + 3, slots, n))
        readings = low + (high - low) // 2 + (k + s + i) % 2 * min(1, (high - low) // 2)
        small = ["few"] * (self.least - 1)
        self.panel = Panel.from_array(
            readings.reshape(-1, n),
            grid=plan.grid,
            households=[f"home {i}" for i in range(n)],
            groups={_PARTS: [*small, *["many"] * (n - len(small))]},
        )

    def curator(self, times: int = ROOMY) -> Curator:
        epsilon = max(self.plan.eps_z, self.plan.eps_w)
        budget = Budget(pattern=times * epsilon, cycle=times * epsilon, delta=self.plan.delta)
        return trusting(Curator.in_memory(budget))

    def start(self, curator: Curator, plan: Plan, panel: Panel) -> Any:
        return curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)


Try = tuple[str, Callable[[], object]]


def _tries(homes: _Homes) -> Iterator[Try]:
    plan, panel, start = homes.plan, homes.panel, homes.start
    if plan.minimum_group > 1:
        yield (
            "a group of too few households",
            lambda: start(homes.curator(), plan.with_(groups=_PARTS), panel),
        )
    yield "a plan that the budget does not cover", lambda: _beyond(homes)
    if plan.protection.exact_variations and plan.minimum_group > 1:
        yield "two rosters that differ by one home", lambda: _rosters(homes)
        weights = [1] * (panel.n_households - 1) + [2]
        yield (
            "weights that tell homes apart",
            lambda: start(homes.curator(), plan.with_(query=Weighted(weights)), panel),
        )
        yield "the same steps with other profiles", lambda: _profiles(homes)
    if plan.protection.noisy_variations:
        yield "a history that another strong plan reports", lambda: _learned(homes)
    if plan.protection.learns:
        yield "a pattern plan and a strong one over the same homes", lambda: _levels(homes)
        yield "a counting plan over homes whose pattern is hidden", lambda: _counting(homes)
    yield "another domain in the same store", lambda: _population(homes)
    yield "a household that was erased", lambda: _erased(homes)


def _fact(name: str, work: Callable[[], object]) -> Fact:
    try:
        work()
    except RefusedError as refusal:
        held, says = True, f"Refused with {type(refusal).__name__}."
    else:
        held, says = False, "It was not refused."
    return Fact(name=f"refused: {name}", held=held, says=says, tried=name)


def _beyond(homes: _Homes) -> None:
    curator = homes.curator(1)
    homes.start(curator, homes.plan, homes.panel)
    homes.start(curator, homes.plan.with_(epsilon=homes.plan.eps_z / 2), homes.panel)


def _rosters(homes: _Homes) -> None:
    curator = homes.curator()
    homes.start(curator, homes.plan, homes.panel.without([homes.panel.households[0]]))
    homes.start(curator, homes.plan, homes.panel)


def _profiles(homes: _Homes) -> None:
    curator = homes.curator()
    homes.start(curator, homes.plan, homes.panel)
    otherwise = np.full_like(homes.panel.readings, homes.plan.domain[1])
    homes.start(curator, homes.plan, homes.panel.following(otherwise, first_step=0).after(1))


def _learned(homes: _Homes) -> None:
    curator, plan = homes.curator(), homes.plan
    homes.start(curator, plan, homes.panel).report(homes.panel.after(plan.history))
    homes.start(curator, plan, homes.panel.after(1))


def _population(homes: _Homes) -> None:
    curator, (low, high) = homes.curator(), homes.plan.domain
    homes.start(curator, homes.plan, homes.panel)
    homes.start(curator, homes.plan.with_(domain=(low, high + 1)), homes.panel)


def _erased(homes: _Homes) -> None:
    curator, plan = homes.curator(), homes.plan
    homes.start(curator, plan, homes.panel)
    curator.erase(homes.panel.households[0])
    homes.start(curator, plan.with_(epsilon=plan.eps_z / 2), homes.panel)


def _levels(homes: _Homes) -> None:
    curator = homes.curator()
    homes.start(curator, homes.plan, homes.panel)
    if homes.plan.protection.noisy_variations:
        bare = homes.plan.with_(
            level="pattern",
            variation_bound=None,
            cycle_epsilon=None,
            cycle_mechanism="auto",
            basis=homes.plan.basis,
        )
    else:
        bare = homes.plan.with_(level="strong", statistic="mean", free=None, cycle_mechanism="laplace")
    homes.start(curator, bare, homes.panel)


def _counting(homes: _Homes) -> None:
    curator, plan = homes.curator(), homes.plan
    homes.start(curator, plan, homes.panel)
    counting = Plan(
        query=Share(above=plan.domain[0]),
        level="cycle",
        epsilon=plan.eps_z,
        domain=plan.domain,
        grid=plan.grid,
        channel=plan.channel,
        mechanism="laplace",
        default_reading=plan.default_reading,
        basis=Basis(size=1),
        minimum_group=plan.minimum_group,
    )
    homes.start(curator, counting, homes.panel)


def _known_total(homes: _Homes) -> Fact:
    """A step whose true total is public is never reported: it would give its slot's noise away (theory 4.4)."""
    plan, slots = homes.plan, homes.plan.grid.slots
    stream = homes.start(homes.curator(), plan, homes.panel)
    later = homes.panel.after(plan.history)
    known = later.steps.stop - slots
    rows = stream.report(later.closing([known]))
    shown = {row.step for row in rows} | {row.step for row in stream.report(later)}
    return Fact(
        name="left out: a step whose total is public",
        held=known not in shown,
        says=f"It is on the calendar, and was {'reported' if known in shown else 'never reported'}.",
    )


def _successor(homes: _Homes) -> Fact:
    """What a stopped plan has reported, its successor never reports again (theory 4.5)."""
    name = "left out: steps that a stopped plan has reported"
    plan, curator = homes.plan, homes.curator()
    first = homes.start(curator, plan, homes.panel)
    later = homes.panel.after(plan.history)
    stop = later.steps.start + plan.grid.slots
    first.report(later.between(later.steps.start, stop))
    first.stop()
    try:
        second = homes.start(curator, plan.with_(epsilon=plan.eps_z / 2), homes.panel)
    except RefusedError:
        # Who may not begin reports nothing twice.
        return Fact(name=name, held=True, says="Its successor was refused.")
    again = [row.step for row in second.report(later) if row.step < stop]
    return Fact(
        name=name,
        held=not again,
        says=f"Its successor was asked for them, and reported {len(again)}.",
    )


def _own_noise(homes: _Homes) -> Fact:
    """Two plans over the same homes have noise of their own: shared, it would be gone from their difference."""
    name = "two plans over the same homes have noise of their own"
    plan, curator, later = homes.plan, homes.curator(), homes.panel.after(homes.plan.history)
    first = homes.start(curator, plan, homes.panel)
    try:
        second = homes.start(curator, plan.with_(horizon=plan.horizon + 1), homes.panel)
    except RefusedError:
        # A free reference has its history to itself.
        return Fact(name=name, held=True, says="The second was refused.")
    both = _noisy(first, later), _noisy(second, later)
    sizes = [_possible(layer, times) for layer, times in ((plan.pattern_layer(), 1), (plan.cycle_layer(), 3))]
    shared = any(size > ALIKE and one == two for size, one, two in zip(sizes, *both, strict=True))
    return Fact(
        name=name,
        held=not shared,
        says=f"Two were started in one store. Noise was {'the same' if shared else 'not the same'} in both.",
    )


def _noisy(stream: Stream, later: Panel) -> tuple[list[Fraction], list[Fraction]]:
    """A plan's noisy profile, and its reports less that."""
    profile = list(stream._record().groups[0].noisy_profile)
    rows = [
        row.exact - (Fraction(profile[row.step % len(profile)]) if profile else 0) for row in stream.report(later)
    ]
    return profile, rows


def _possible(layer: Mechanism | None, times: int) -> float:
    """The logarithm of about how many different draws there are."""
    if layer is None:
        return 0.0
    slots = len(layer.to_slots([0] * layer.dimension))
    each = sorted(math.log(max(1.0, 4 * math.sqrt(layer.variance(row)))) for row in np.eye(slots))
    return times * sum(each[-layer.dimension :])


def _too_few(homes: _Homes) -> Fact:
    """Where fewer homes than the least number are there, a pattern plan says its noisy profile alone (4.6)."""
    plan = homes.plan
    stream = homes.start(homes.curator(), plan, homes.panel)
    later = homes.panel.after(plan.history)
    present = np.zeros(later.present.shape, dtype=bool)
    present[:, : homes.least - 1] = True
    few = later.following(later.readings, present=present, first_step=later.first_step)
    rows = stream.report(few, close=True)
    profile = stream.noisy_profile["all"]
    more = sum(row.numerator != profile[row.step % plan.grid.slots] for row in rows)
    return Fact(
        name="left out: variations of too few households",
        held=more == 0,
        says=f"{homes.least - 1} of {later.n_households} homes were there; {more} of {len(rows)} reports said more "
        "than the noisy profile.",
    )
