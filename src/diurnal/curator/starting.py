"""Starting: what a plan and its history become when a stream begins.

    bound_to -> prepared -> (the guard's checks) -> learned -> with_profile -> with_forms

Each step takes what the one before gave; only `with_profile` draws, and it is the only use of the pattern budget.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from diurnal.curator.release import noised
from diurnal.curator.started_plan import Group, StreamRecord, cohort_of
from diurnal.errors import PlanError, QueryError, ReadingsError
from diurnal.planning.free import known_from
from diurnal.planning.plan import Plan
from diurnal.planning.planner import choose
from diurnal.promise.mechanisms import Mechanism
from diurnal.promise.mechanisms.prior import Known
from diurnal.readings import kernels
from diurnal.readings.kernels import Atoms
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


def bound_to(plan: Plan, history: Panel) -> Plan:
    """The plan with what its history decides filled in."""
    if history.grid != plan.grid:
        raise PlanError("plan-grid-differs", plan=plan.grid, history=history.grid)
    if history.n_steps != plan.history * plan.grid.slots or history.first_step % plan.grid.slots:
        raise PlanError(
            "history-incomplete", history=plan.history, steps=history.n_steps, first_step=history.first_step
        )
    if plan.groups is not None:
        history.members(plan.groups)
    facts: dict[str, Any] = {
        "roster": history.roster(plan.groups),
        "calendar": hashlib.sha256(
            json.dumps(sorted(history.calendar.intersection(history.steps))).encode()
        ).hexdigest(),
        "first_cycle": history.first_step // plan.grid.slots,
    }
    for name, fact in facts.items():
        if getattr(plan, name) not in (None, fact):
            raise PlanError("plan-bound-elsewhere", field=name.replace("_", " "))
    return choose(plan.with_(**facts), history.shape_by(plan.groups))


def prepared(plan: Plan, history: Panel, acknowledged: str | None) -> StreamRecord:
    """A plan's groups and atoms; nothing learned and nothing drawn yet."""
    weights = plan.query.weights(history.n_households)
    members = history.members(plan.groups)
    groups = []
    for name, columns in members.items():
        heaviest = int(np.abs(weights[columns]).max())
        if heaviest == 0:
            raise QueryError("group-weightless", group=name)
        groups.append(Group(name=name, size=len(columns), weight=heaviest, noisy_profile=()))
        _check_sums(plan, n=len(columns), weight=heaviest)
    return StreamRecord(
        plan=plan,
        households=history.households,
        groups=tuple(groups),
        atoms=Atoms.of_groups(weights, list(members.values())),
        cohort=cohort_of(history),
        first_step=history.first_step,
        # Whom and which period the verdict is about: what it found is of the readings, and is not kept.
        acknowledged=acknowledged.partition("-")[0]
        if plan.protection.learns and acknowledged is not None
        else None,
    )


def _check_sums(plan: Plan, *, n: int, weight: int) -> None:
    """Prove from public bounds that no sum of the stream can leave 64 bits."""
    low, high = plan.domain
    reach = max(abs(low), abs(high), high - low, abs(plan.default_reading))
    kernels.check_limits(n_households=n, weight=weight, magnitude=reach, what="readings")
    for layer in (plan.pattern_layer(weight), plan.cycle_layer(weight)):
        _check_layer(layer, n=n, weight=weight)


def _check_layer(layer: Mechanism | None, *, n: int, weight: int) -> None:
    if layer is not None:
        kernels.check_limits(n_households=n, weight=weight, magnitude=layer.magnitude, what="contributions")


def in_domain(plan: Plan, history: Panel) -> Panel:
    """The history without what lies outside the domain; refused if that is most of it: another unit, surely.

    Readings outside are missing marks, which neighbours share, so refusing tells nothing else.
    """
    used, outside = history.within(*plan.domain)
    if outside and 2 * outside > int(np.count_nonzero(history.present)):
        raise ReadingsError("history-outside-domain", domain=plan.domain)
    return used


def learned(record: StreamRecord, history: Panel, store: Store | None) -> StreamRecord:
    """A plan with its profiles, made where its households lie.

    Args:
        record: The plan.
        history: What they are made from.
        store: Where the plan is to be, for profiles that are kept elsewhere; None where nothing is kept.
    """
    return replace(record, cohort=record.cohort.learned(record, history, store))


def with_profile(record: StreamRecord, history: Panel) -> StreamRecord:
    """Draw the noisy profile of each group. The only use of the pattern budget."""
    plan = record.plan
    if not plan.protection.learns:
        return record
    known = _known(record, history)
    weights = zip(record.groups, record.totals, strict=True)
    layers = [plan.pattern_layer(group.weight, total, known) for group, total in weights]
    for group, layer in zip(record.groups, layers, strict=True):
        # A free reference may lie elsewhere than the public one that `_check_sums` was about.
        _check_layer(layer, n=group.size, weight=group.weight)
    noisy = _noisy(record, [layer for layer in layers if layer is not None])
    groups = [
        replace(group, noisy_profile=tuple(values)) for group, values in zip(record.groups, noisy, strict=True)
    ]
    return replace(record, groups=tuple(groups))


def _noisy(record: StreamRecord, layers: Sequence[Mechanism]) -> list[list[Fraction]]:
    """The noisy profile of each group, a value a slot."""
    first = layers[0]
    # They differ by noise only: what a household contributes does not depend on its group, so it is summed once.
    sums = record.cohort.stand_in_sums(record, first.contribute, first.dimension)
    return noised(layers, record.atoms.by_group(sums))


def _known(record: StreamRecord, history: Panel) -> Known | None:
    """What the history's variations say of the mean day, where the plan takes it: equal for neighbours."""
    if record.plan.free is None:
        return None
    sums, used = (each.sum(axis=1) for each in record.cohort.variation_sums(record, history))
    return known_from(record.plan, sums, used, households=len(record.atoms.order))


def with_forms(record: StreamRecord) -> StreamRecord:
    """Fix how rows are written, for ever: a row asked for in ten years has the same decimals."""
    layers = record.layers
    groups = [replace(group, forms=each.forms) for group, each in zip(record.groups, layers, strict=True)]
    return replace(record, groups=tuple(groups))


def differences(record: StreamRecord, others: Sequence[StreamRecord]) -> list[str]:
    """How a plan differs from the one that it is most like, among those that share a household with it."""
    beside = [other for other in others if other.members & record.members]
    if not beside:
        return ["It is the first plan over these households."]
    names = [each.name for each in fields(Plan) if each.name not in ("roster", "calendar")]

    def changed(other: StreamRecord) -> list[str]:
        return [name for name in names if getattr(record.plan, name) != getattr(other.plan, name)]

    nearest = min(beside, key=lambda other: (len(changed(other)), -other.number))
    gone, new = (len(one - two) for one, two in itertools.permutations((nearest.members, record.members)))
    state = "running" if nearest.end is None else f"stopped at step {nearest.end}"
    what = ", ".join(changed(nearest)) or "nothing but its households"
    return [
        f"Of the plans over these households it is most like {nearest.stream_id[:12]} ({state}); "
        f"it differs in {what}.",
        f"{gone} household(s) of that one are not in it, {new} are new.",
    ]
