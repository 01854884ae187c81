"""Guard: what a curator refuses, before anything is drawn (theory 4.5 and 4.6).

- `check_acknowledged`: somebody has read the verdict on the assumption that a pattern's promise rests on.
- `check_population`: one store is one grid, one period, one domain and one channel.
- `check_groups`: groups that are large enough.
- `check_overlap`: pattern and strong plans never speak about the same steps of the same household, and
  counting plans, which do not protect the periodic component, never stand beside plans that do.
- `check_history`: no strong plan learns patterns from cycles that another one has promised to protect.
- `check_differencing`: every sum that all pattern plans together give away is about enough households.
- `check_budget`: every plan a household is in adds up.
- `check_profiles`: pattern plans that report the same steps of a household hold the same profile of it.
- `first_step`: where a plan begins to report: after its history, and after what a stopped plan has reported.
- `silent_steps`: while reporting, the steps where a pattern plan may only say its noisy profile, because an
  earlier plan has spoken about them and the two together would say too much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from diurnal.check.verdict import UNTESTED, subject
from diurnal.curator.report import Report
from diurnal.curator.store import Store, StreamRecord
from diurnal.errors import (
    AcknowledgeError,
    BudgetError,
    DifferencingError,
    OverlapError,
    PlanError,
    PopulationError,
)
from diurnal.exact import text
from diurnal.planning.plan import Plan
from diurnal.promise.budget import NOTHING, Budget, Loss
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms, variation_sums
from diurnal.readings.panel import Panel

_LossOf = Callable[[StreamRecord], Loss]


def check_acknowledged(plan: Plan, history: Panel, digest: str | None) -> None:
    """Refuse a plan with a pattern layer unless somebody says to have read the verdict on these homes."""
    if plan.level == "cycle" or digest == UNTESTED:
        return
    if digest is None:
        raise AcknowledgeError(
            "The promise protects what repeats, and nobody has said to have read whether these readings do.",
            hint="Read print(dn.check(panel)), then start(..., acknowledge=verdict.digest); with too little data "
            f"for a verdict, acknowledge={UNTESTED!r}.",
        )
    if not isinstance(digest, str) or not re.fullmatch(f"{subject(history)}-[0-9a-f]{{16}}", digest):
        raise AcknowledgeError(
            "What is acknowledged is no verdict on these households and this period.",
            hint="Check a panel of the plan's own roster and grid, and give its verdict's digest.",
        )


def check_population(record: StreamRecord, others: Sequence[StreamRecord]) -> None:
    """Refuse another grid, domain or channel than the first plan's."""
    for other in others[:1]:
        for name in ("grid", "domain", "channel"):
            ours, theirs = getattr(record.plan, name), getattr(other.plan, name)
            if ours != theirs:
                raise PopulationError(
                    f"This store has {name} {theirs}, the plan has {ours}.",
                    hint="One store is one population with one period: plans with different periods do not "
                    "compose. Use the store's, or a store of another population.",
                )


def check_groups(record: StreamRecord) -> None:
    """Refuse groups below the minimum, and in pattern mode atoms below it."""
    plan = record.plan
    small = [group.size for group in record.groups if group.size < plan.minimum_group]
    if small:
        raise DifferencingError(
            f"{len(small)} group(s) have fewer than {plan.minimum_group} households: {sorted(small)[:5]}.",
            hint="Merge them with others, or lower minimum_group if that many are enough.",
            sizes=small,
            minimum=plan.minimum_group,
        )
    if plan.level == "pattern":
        _check_atoms(record.atoms, plan.minimum_group, "this plan alone")


def check_overlap(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse plans that may not stand beside one that has been started."""
    for other in others:
        if not record.members & other.members:
            continue
        levels = {record.plan.level, other.plan.level}
        if levels == {"pattern", "strong"} and _overlap(record.speaks_about(), other.speaks_about()):
            raise OverlapError(
                f"The {other.plan.level} plan {other.key[:12]} has households of this {record.plan.level} plan "
                "at the same steps; exact variations would void the strong promise.",
                hint="Stop it, and let this plan's steps (a pattern plan's history too) begin after its last.",
            )
        if len(levels) == 2 and "cycle" in levels:
            raise OverlapError(
                f"The {other.plan.level} plan {other.key[:12]} has households of this {record.plan.level} plan; a "
                "counting plan reveals the periodic component that the other one protects.",
                hint="Keep counting plans to other households (theory 6.8).",
            )


def check_history(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse strong plans of which one learns from cycles that the other reports.

    What a history cycle loses grows with the reports that follow (theory 4.3), and these have no end: the
    promise made for a reported cycle would be gone.
    """
    for other in others:
        strong = record.plan.level == other.plan.level == "strong"
        learns = _overlap(record.history(), other.reports()) or _overlap(other.history(), record.reports())
        if strong and learns and record.members & other.members:
            raise OverlapError(
                f"One of this strong plan and {other.key[:12]} makes profiles from cycles that the other reports.",
                hint="Take a history that no strong plan reports: the other plan's own history will do.",
            )


def check_differencing(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse a pattern plan whose sums, with those of the others, are about too few households."""
    if record.plan.level != "pattern":
        return
    beside = [
        other for other in others if other.plan.level == "pattern" and _overlap(record.reports(), other.reports())
    ]
    if not beside:
        return
    everybody = sorted(set(record.households).union(*(other.households for other in beside)))
    columns = np.stack([_spread(each, _atom(each), everybody) for each in (record, *beside)])
    minimum = max(each.plan.minimum_group for each in (record, *beside))
    _check_atoms(Atoms.of(columns), minimum, f"this plan and {len(beside)} running one(s) together")


def check_profiles(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse a pattern plan that has another profile of a household than a plan reporting the same steps.

    The difference of the two reports would be the difference of the profiles, exactly: sums over history steps,
    which nobody has counted as published. Profiles move together for neighbours, so refusing tells nothing.
    """
    if record.plan.level != "pattern":
        return
    for other in others:
        if other.plan.level == "pattern" and _overlap(record.reports(), other.reports()):
            ours, theirs = _places(record), _places(other)
            shared = sorted(ours.keys() & theirs.keys())
            at, there = [ours[name] for name in shared], [theirs[name] for name in shared]
            same = np.array_equal(record.profile[:, at], other.profile[:, there])
            if not (same and np.array_equal(record.known[:, at], other.known[:, there])):
                raise OverlapError(
                    f"The pattern plan {other.key[:12]} reports the same steps with other profiles of the same "
                    "households; the difference of the two would be exact sums over their histories.",
                    hint="Give this plan that one's history (cycles, readings, statistic), or stop that one first.",
                )


def first_step(record: StreamRecord, others: Iterable[StreamRecord]) -> int:
    """The first step a plan may report.

    A history of several cycles is never reported: the variations of a household add up to nearly nothing over
    the cycles its profile is made from, so sums of reports would single out whoever was present when others
    were not (theory 4.2). One cycle of history has no variations at all, and is. A step that a stopped pattern
    plan over some of the households has reported is never reported again (theory 4.5).
    """
    after_history = int(record.history()[1])
    start = record.history_start if record.plan.level != "strong" and record.plan.history <= 1 else after_history
    if record.plan.level == "strong":
        return start
    ends = [
        other.end
        for other in others
        if other.end is not None and other.plan.level == record.plan.level and other.members & record.members
    ]
    return max([start, *ends])


def check_budget(record: StreamRecord, others: Sequence[StreamRecord], budget: Budget) -> None:
    """Refuse a plan that would take any of its households past a cap."""
    delta = None if budget.delta is None else Fraction(budget.delta)
    caps: tuple[tuple[str, Fraction, _LossOf], ...] = (
        ("pattern", Fraction(budget.pattern), pattern_loss),
        ("strong", Fraction(budget.strong), cycle_loss),
    )
    for name, cap, loss in caps:
        asked = loss(record)
        if asked == NOTHING:
            continue
        if delta is None and any(loss(each).zcdp for each in (*others, record)):
            raise PlanError(
                "A Gaussian plan is counted at the budget's delta, and this budget has none.",
                hint="Open the store with Budget(..., delta='1e-6').",
            )
        # Losses at a delta do not add up as numbers do: each household's total is read by itself.
        pasts = _past_losses(record, others, loss)
        worst = max(pasts, key=lambda past: (past + asked).at(delta))
        if (worst + asked).at(delta) > cap:
            remaining = max(Fraction(0), cap - worst.at(delta))
            raise BudgetError(
                f"The plan asks for {text(asked.at(delta))} of the {name} budget; {text(cap)} was allowed in all "
                f"and {text(remaining)} is left for the most charged household.",
                hint=(
                    f"An epsilon of at most {text(remaining)} would be allowed" if remaining else "Nothing is left"
                )
                + "; a roster without the charged households is another matter.",
                remaining=remaining,
                requested=asked.at(delta),
            )


def pattern_loss(record: StreamRecord) -> Loss:
    """What a plan costs the periodic component of each of its households."""
    layer = record.plan.pattern_layer()
    return layer.loss if layer else NOTHING


def cycle_loss(record: StreamRecord) -> Loss:
    """What a plan costs any one cycle of each of its households."""
    layer = record.plan.cycle_layer()
    return layer.loss if layer else NOTHING


def silent_steps(record: StreamRecord, panel: Panel, store: Store) -> Marks:
    """Where a pattern plan may say its noisy profile only, a mark for each step of the panel (theory 4.6).

    An earlier plan has published the step, and either the readings are not the ones it used (a correction
    would come out as a difference of two reports), or the two plans together would give away the sum of too
    few households.
    """
    patterns = [other for other in store.records() if other.plan.level == "pattern" and other.key != record.key]
    others = _connected(record, patterns) if patterns else []
    published = {other.key: store.rows(other.key, panel.steps) for other in others}
    silent = np.zeros(panel.n_steps, dtype=bool)
    for step in sorted(set().union(*published.values())):
        earlier = [(other, published[other.key][step]) for other in others if step in published[other.key]]
        silent[step - panel.first_step] = not _compatible(record, earlier, panel.between(step, step + 1))
    return silent


def used_sums(record: StreamRecord, panel: Panel) -> tuple[Integers, Integers]:
    """Sums of variations of each atom at each step as a pattern plan may use them, and how many are in them.

    Where fewer than the minimum of an atom's readings are used, and at steps of the plan's own history, all its
    variations count as zero.
    """
    slots = np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)
    sums, used = variation_sums(panel.readings, panel.present, record.profile, record.known, slots, record.atoms)
    # Of its own history a plan says nothing but G, whatever readings are given for it now.
    later = np.array([step >= record.history()[1] for step in panel.steps], dtype=bool)
    enough = (used >= record.plan.minimum_group) & later[:, None]
    return np.where(enough, sums, 0), np.where(enough, used, 0)


def _connected(record: StreamRecord, others: Sequence[StreamRecord]) -> list[StreamRecord]:
    """The plans that share a household with a plan, or with one that does, and so on.

    Sums of two plans that have no household in common still tell more than each alone beside a third one.
    """
    reached = record.members
    found: list[StreamRecord] = []
    while more := [other for other in others if other not in found and other.members & reached]:
        found += more
        reached = reached.union(*(other.members for other in more))
    return found


def _compatible(record: StreamRecord, earlier: Sequence[tuple[StreamRecord, Sequence[Report]]], row: Panel) -> bool:
    """Whether a plan may say a step's variations beside all plans that have published the step."""
    effective = [_effective(record, row, row.households)]
    for other, published in earlier:
        if not set(other.households) <= set(row.households):
            return False
        seen = _columns_of(row, other.households)
        if not _same_readings(other, seen, published):
            return False
        effective.append(_effective(other, seen, row.households))
    minimum = max(each.plan.minimum_group for each in (record, *(other for other, _ in earlier)))
    return bool((Atoms.of(np.stack(effective)).sizes >= minimum).all())


def _columns_of(row: Panel, households: Sequence[str]) -> Panel:
    places = {name: i for i, name in enumerate(row.households)}
    columns = np.array([places[name] for name in households], dtype=np.int64)
    return replace(row, data=row.data.columns(columns), households=tuple(households), groups={})


def _same_readings(record: StreamRecord, row: Panel, published: Sequence[Report]) -> bool:
    """Whether a plan's published rows are what these readings would give."""
    slot, sums = row.grid.slot(row.first_step), used_sums(record, row)[0][0]
    totals = record.atoms.by_group(sums).tolist()
    again = [group.noisy_profile[slot] + total for group, total in zip(record.groups, totals, strict=True)]
    return again == [report.numerator for report in published]


def _effective(record: StreamRecord, row: Panel, everybody: Sequence[str]) -> Integers:
    """The atom (from 1) of each household whose reading a plan uses at this step, 0 for the others."""
    slot, order, atom = row.grid.slot(row.first_step), record.atoms.order, _atom(record)
    used = used_sums(record, row)[1][0]
    active = row.present[0, order] & record.known[slot] & (used[atom - 1] > 0)
    return _spread(record, atom * active, everybody)


def _atom(record: StreamRecord) -> Integers:
    """The atom (from 1) of each household, in the order of the atoms."""
    return np.repeat(np.arange(1, len(record.atoms) + 1), record.atoms.sizes)


def _spread(record: StreamRecord, atom: Integers, everybody: Sequence[str]) -> Integers:
    """Atoms in their order, put where each household stands among everybody."""
    places = {name: i for i, name in enumerate(everybody)}
    spread = np.zeros(len(everybody), dtype=np.int64)
    spread[[places[record.households[i]] for i in record.atoms.order]] = atom
    return spread


def _places(record: StreamRecord) -> dict[str, int]:
    """Where each household stands in the order of the atoms."""
    return {record.households[i]: place for place, i in enumerate(record.atoms.order)}


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _past_losses(record: StreamRecord, others: Sequence[StreamRecord], loss: _LossOf) -> list[Loss]:
    """What the households of a plan have lost so far: one entry for each set of plans they were in."""
    ours = sorted(record.members)
    if not others:
        return [NOTHING]
    member = [other.members for other in others]
    losses = [loss(other) for other in others]
    sets = {tuple(name in each for each in member) for name in ours}
    return [sum((cost for cost, inside in zip(losses, one, strict=True) if inside), NOTHING) for one in sets]


def _check_atoms(atoms: Atoms, minimum: int, who: str) -> None:
    small = sorted(int(size) for size in atoms.sizes if size < minimum)
    if small:
        raise DifferencingError(
            f"Exact sums of {who} would be about {len(small)} set(s) of fewer than {minimum} households: "
            f"sizes {small[:5]}.",
            hint="Use equal weights and groups whose refinement is large enough, or level='strong'.",
            sizes=small,
            minimum=minimum,
        )
