"""Guard: what a curator refuses, before anything is drawn (theory 4.5 and 4.6).

- `check_acknowledged`: somebody has read the verdict on the assumption that a pattern's promise rests on.
- `check_people`: who was erased stays so.
- `check_population`: one store is one grid, one period, one domain and one channel.
- `check_restored`: what a restored store does not know is not contradicted.
- `check_beside`: a plan may stand beside those that have been started, by all of the next six.
- `check_groups`: groups that are large enough.
- `check_overlap`: pattern and strong plans never speak about the same steps of the same household, and
  counting plans, which do not protect the periodic component, never stand beside plans that do.
- `check_history`: no strong plan learns patterns from cycles that another one has promised to protect.
- `check_differencing`: every sum that all pattern plans together give away is about enough households.
- `check_free`: what a free reference gives away of a history, no other plan's reports can be held against.
- `check_apart`: pattern plans whose profiles and readings cannot be compared have their households to themselves.
- `check_profiles`: pattern plans that report the same steps of a household hold the same profile of it.
- `check_worth`: reports are predicted to be better than publishing nothing at all, or somebody accepts that.
- `first_step`: where a plan begins to report: after its history, and after what a stopped plan has reported.

What a budget refuses (theory 4.5):

- `check_budget`: every plan a household is in adds up, and stays within the caps.
- `costs`: what a plan would cost, and what it would leave, in sentences.
- `spent`: what the most charged household has lost so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from diurnal.curator.closing import overlap
from diurnal.curator.release import atom_numbers, spread
from diurnal.curator.started_plan import StreamRecord
from diurnal.errors import (
    AcknowledgeError,
    BudgetError,
    DifferencingError,
    OverlapError,
    PlanError,
    PopulationError,
)
from diurnal.exact import decimal_down, decimal_up, text
from diurnal.periodicity.verdict import UNTESTED, subject
from diurnal.planning.plan import Plan
from diurnal.planning.planner import worse_than_nothing
from diurnal.promise.budget import NOTHING, Loss
from diurnal.promise.levels import LEVELS
from diurnal.readings.kernels import Atoms
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store


def check_acknowledged(plan: Plan, history: Panel, digest: str | None) -> None:
    """Refuse a plan with a pattern layer unless somebody says to have read the verdict on these homes."""
    if not plan.protection.learns or digest == UNTESTED:
        return
    if digest is None:
        raise AcknowledgeError("acknowledge-missing", untested=UNTESTED)
    if not isinstance(digest, str) or not re.fullmatch(f"{subject(history)}-[0-9a-f]{{16}}", digest):
        raise AcknowledgeError("acknowledge-other-homes")


def check_people(history: Panel, store: Store) -> None:
    """Refuse a roster with a household that was erased."""
    gone = store.erased()
    if gone and not gone.isdisjoint(store.name_digests(history.households)):
        raise PopulationError("history-erased-household")


def check_population(record: StreamRecord, store: Store) -> None:
    """Refuse another grid, domain or channel than the store's; the first plan decides what nobody has said."""
    plan = record.plan
    ours = {"grid": plan.grid.to_json(), "domain": list(plan.domain), "channel": plan.channel}
    theirs = store.fact("population")
    for name, value in ours.items():
        if theirs.setdefault(name, value) != value:
            raise PopulationError("population-differs-from-plan", field=name, store=theirs[name], plan=value)


def check_beside(record: StreamRecord, others: Sequence[StreamRecord]) -> None:
    """Refuse a plan that may not stand beside those that have been started, as far as is seen without readings.

    Profiles are compared once they are made: `check_profiles`.

    Args:
        record: The plan, with its first step.
        others: Those that were started before it.
    """
    check_groups(record)
    check_overlap(record, others)
    check_history(record, others)
    check_differencing(record, others)
    check_free(record, others)
    check_apart(record, others)


def check_groups(record: StreamRecord) -> None:
    """Refuse groups below the minimum, and in pattern mode atoms below it."""
    plan = record.plan
    small = [group.size for group in record.groups if group.size < plan.minimum_group]
    if small:
        raise DifferencingError(
            "groups-too-small", groups=len(small), minimum=plan.minimum_group, shown=sorted(small)[:5], sizes=small
        )
    if plan.protection.exact_variations:
        _check_atoms(record.atoms, plan.minimum_group, "this plan alone")


def check_overlap(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse plans that may not stand beside one that has been started."""
    for other in others:
        if not record.members & other.members:
            continue
        conflict = record.plan.protection.conflict(other.plan.protection)
        if conflict == "exact variations" and overlap(record.speaks_about(), other.speaks_about()):
            raise OverlapError(
                "overlap-exact-variations",
                other_level=other.plan.level,
                other=other.stream_id[:12],
                level=record.plan.level,
            )
        if conflict == "periodic component":
            raise OverlapError(
                "overlap-counting",
                other_level=other.plan.level,
                other=other.stream_id[:12],
                level=record.plan.level,
            )


def check_restored(record: StreamRecord, store: Store) -> None:
    """Refuse, in a restored store, what plans and reports that it does not know may speak against."""
    slots = record.plan.grid.slots
    if record.plan.history and record.history_start < store.resumes(slots):
        raise OverlapError("restored-history", step=store.resumes(slots))
    ours, unknown = record.plan.protection, store.unknown_levels()
    if any(ours.conflict(level) == "periodic component" for level in LEVELS.values() if level.letter in unknown):
        raise OverlapError("restored-levels")


def check_history(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse strong plans of which one learns from cycles that the other reports.

    What a history cycle loses grows with the reports that follow (theory 4.3), and these have no end: the
    promise made for a reported cycle would be gone.
    """
    for other in others:
        strong = record.plan.protection.noisy_variations and other.plan.protection.noisy_variations
        learns = overlap(record.history(), other.reports()) or overlap(other.history(), record.reports())
        if strong and learns and record.members & other.members:
            raise OverlapError("overlap-history", other=other.stream_id[:12])


def check_differencing(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse a pattern plan whose sums, with those of the others, are about too few households."""
    if not record.plan.protection.exact_variations:
        return
    beside = [
        other
        for other in others
        if other.plan.protection.exact_variations and overlap(record.reports(), other.reports())
    ]
    if not beside:
        return
    everybody = sorted(set(record.households).union(*(other.households for other in beside)))
    columns = np.stack([spread(each, atom_numbers(each), everybody) for each in (record, *beside)])
    minimum = max(each.plan.minimum_group for each in (record, *beside))
    _check_atoms(Atoms.of(columns), minimum, f"this plan and {len(beside)} running one(s) together")


def check_free(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse a free reference beside any other plan that shows or learns from steps of its history.

    It publishes one sum of variations a slot, rounded. Held against another plan's sums at the same step (over
    nearly the same households, other readings of them, or another order statistic) the difference could be about
    one household, and nobody has counted these. Nor would a strong plan's bound on its history hold beside it.
    """
    for other in others:
        free = [each for each in (record, other) if each.plan.free is not None]
        if not free or not record.members & other.members:
            continue
        shown = any(
            overlap(each.history(), beside.reports())
            for each, beside in ((record, other), (other, record))
            if each.plan.free is not None
        )
        if shown or overlap(record.history(), other.history()):
            raise OverlapError("overlap-free-reference", other=other.stream_id[:12])


def check_apart(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse two pattern plans of which it cannot be told whether they use the same profiles and readings.

    Both say exact sums of variations: where they use other readings, or other profiles, of a household, the
    difference of two reports is about it. Plans with noise in every report are not held against each other: what
    they cost a household adds up, wherever it lies.
    """
    for other in others:
        if record.cohort.compares and other.cohort.compares:
            continue
        exact = record.plan.protection.exact_variations and other.plan.protection.exact_variations
        if exact and record.members & other.members and overlap(record.speaks_about(), other.speaks_about()):
            raise OverlapError("overlap-not-compared", other=other.stream_id[:12])


def check_profiles(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse a pattern plan that has another profile of a household than a plan reporting the same steps.

    The difference of the two reports would be the difference of the profiles, exactly: sums over history steps,
    which nobody has counted as published. Profiles move together for neighbours, so refusing tells nothing.
    """
    if not record.plan.protection.exact_variations:
        return
    for other in others:
        if other.plan.protection.exact_variations and overlap(record.reports(), other.reports()):
            ours, theirs = _places(record), _places(other)
            shared = sorted(ours.keys() & theirs.keys())
            at, there = [ours[name] for name in shared], [theirs[name] for name in shared]
            same = np.array_equal(record.profile[:, at], other.profile[:, there])
            if not (same and np.array_equal(record.known[:, at], other.known[:, there])):
                raise OverlapError("overlap-other-profiles", other=other.stream_id[:12])


def check_worth(record: StreamRecord, *, accept: bool) -> None:
    """Refuse a plan that is predicted to be worse than publishing nothing at all, unless somebody accepts that.

    The budget would be spent for ever on reports that tell nothing. It is predicted from the plan and the size of
    the smallest group, which are public: refusing tells nothing of a reading.
    """
    worse = None if accept else worse_than_nothing(record.plan, min(group.size for group in record.groups))
    if worse is not None:
        raise worse


def first_step(record: StreamRecord, others: Iterable[StreamRecord]) -> int:
    """The first step a plan may report.

    A history of several cycles is never reported: the variations of a household add up to nearly nothing over
    the cycles its profile is made from, so sums of reports would single out whoever was present when others
    were not (theory 4.2). One cycle of history has no variations at all, and is. A step that a stopped plan over
    some of the households has reported is never reported again by its successor (theory 4.5).
    """
    plan, after_history = record.plan, int(record.history()[1])
    start = record.history_start if not plan.protection.noisy_variations and plan.history <= 1 else after_history
    ends = [
        other.end
        for other in others
        if other.end is not None
        and plan.protection.follows(other.plan.protection)
        and other.members & record.members
    ]
    return max([start, *ends])


def _places(record: StreamRecord) -> dict[str, int]:
    """Where each household stands in the order of the atoms."""
    return {record.households[i]: place for place, i in enumerate(record.atoms.order)}


def _check_atoms(atoms: Atoms, minimum: int, who: str) -> None:
    small = sorted(int(size) for size in atoms.sizes if size < minimum)
    if small:
        raise DifferencingError(
            "differencing-small-sets", who=who, sets=len(small), minimum=minimum, shown=small[:5], sizes=small
        )


def check_budget(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> None:
    """Refuse a plan that would take any of its households past a cap."""
    delta = _delta(store)
    for name, asked in record.plan.losses.items():
        cap = store.budget.caps[name]
        if asked == NOTHING:
            continue
        if delta is None and any(each.plan.losses[name].zcdp for each in (*others, record)):
            raise PlanError("budget-needs-delta")
        past = _most_charged(name, record, others, store)
        if (past + asked).at(delta) > cap:
            remaining = max(Fraction(0), cap - past.at(delta))
            raise BudgetError(
                "budget-exceeded" if remaining else "budget-spent",
                asked=text(asked.at(delta)),
                budget=name,
                cap=text(cap),
                left=text(remaining),
                remaining=remaining,
                requested=asked.at(delta),
            )


def costs(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> list[str]:
    """What a plan costs, and what it leaves to the most charged of its households, in sentences."""
    said, delta = [], _delta(store)
    for name, asked in record.plan.losses.items():
        cap = store.budget.caps[name]
        if asked == NOTHING:
            continue
        past = _most_charged(name, record, others, store)
        left = cap - (past + asked).at(delta)
        said.append(
            f"It costs {decimal_up(asked.at(delta))} of the {name} budget of {text(cap)}; "
            f"{decimal_up(past.at(delta))} was spent before by its most charged household, and "
            f"{decimal_down(left)} is left."
        )
    return said


def spent(records: Sequence[StreamRecord], store: Store, name: str) -> Fraction:
    """What the most charged household has lost so far, of the pattern or strong budget."""
    pasts = [past for record in records for past in _past_losses(name, record, records)] or [NOTHING]
    return max((past + store.fenced(name)).at(_delta(store)) for past in pasts)


def _delta(store: Store) -> Fraction | None:
    return None if store.budget.delta is None else Fraction(store.budget.delta)


def _most_charged(name: str, record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> Loss:
    """What the household of a plan has lost so far that would have lost most with it.

    Losses at a delta do not add up as numbers do: each household's total is read by itself.
    """
    asked, delta = record.plan.losses[name], _delta(store)
    pasts = [past + store.fenced(name) for past in _past_losses(name, record, others)]
    return max(pasts, key=lambda past: (past + asked).at(delta))


def _past_losses(name: str, record: StreamRecord, others: Sequence[StreamRecord]) -> list[Loss]:
    """What the households of a plan have lost so far: one entry for each set of plans they were in."""
    ours = sorted(record.members)
    if not others:
        return [NOTHING]
    member = [other.members for other in others]
    losses = [other.plan.losses[name] for other in others]
    sets = {tuple(home in each for each in member) for home in ours}
    return [sum((cost for cost, inside in zip(losses, one, strict=True) if inside), NOTHING) for one in sets]
