"""Guard: what a curator refuses, before anything is drawn (theory 4.5 and 4.6).

- `check_acknowledged`: somebody has read the verdict on the assumption that a pattern's promise rests on.
- `check_owed`: a restored store has been told again who was erased, or has moved out, since.
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
- `check_far`: a plan whose homes are in the lake has them to itself.
- `check_profiles`: pattern plans that report the same steps of a household hold the same profile of it.
- `check_worth`: reports are predicted to be better than publishing nothing at all, or somebody accepts that.
- `first_step`: where a plan begins to report: after its history, and after what a stopped plan has reported.

What a budget refuses is in `spending`; what is held back while reporting is in `usage`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from diurnal.check.verdict import UNTESTED, subject
from diurnal.curator import far
from diurnal.curator.records import StreamRecord, overlap
from diurnal.curator.usage import atom_numbers, spread
from diurnal.errors import AcknowledgeError, DifferencingError, OverlapError, OwedError, PopulationError, WorseError
from diurnal.planning.plan import Plan
from diurnal.planning.planner import worse_than_nothing
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


def check_owed(store: Store) -> None:
    """Refuse to go on with a restored store that does not know who was erased, or has moved out, since."""
    if store.owed():
        raise OwedError(
            f"This store was restored: {store.owed()} erasure(s) or change(s) of tenancy are not in it.",
            hint="Say them again before anything goes on: curator.erase(...), curator.move_out(...).",
        )


def check_people(history: Panel, store: Store) -> None:
    """Refuse a roster with a household that was erased."""
    gone = store.erased()
    if gone and not gone.isdisjoint(store.name_digests(history.households)):
        raise PopulationError(
            "The history has a household that was erased.",
            hint="Leave it out: history.without([...]). Who asked to be forgotten stays forgotten.",
        )


def check_population(record: StreamRecord, store: Store) -> None:
    """Refuse another grid, domain or channel than the store's; the first plan decides what nobody has said."""
    plan = record.plan
    ours = {"grid": plan.grid.to_json(), "domain": list(plan.domain), "channel": plan.channel}
    theirs = store.fact("population")
    for name, value in ours.items():
        if theirs.setdefault(name, value) != value:
            raise PopulationError(
                f"This store has {name} {theirs[name]}, the plan has {value}.",
                hint="One store is one population with one period: plans with different periods do not "
                "compose. Use the store's, or a store of another population.",
            )


def check_beside(record: StreamRecord, others: Sequence[StreamRecord], *, is_far: bool) -> None:
    """Refuse a plan that may not stand beside those that have been started, as far as is seen without readings.

    Profiles are compared once they are made: `check_profiles`.

    Args:
        record: The plan, with its first step.
        others: Those that were started before it.
        is_far: Whether its households are in the lake.
    """
    check_groups(record)
    check_overlap(record, others)
    check_history(record, others)
    check_differencing(record, others)
    check_free(record, others)
    check_far(record, others, is_far=is_far)


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
                f"The {other.plan.level} plan {other.key[:12]} has households of this {record.plan.level} plan "
                "at the same steps; exact variations would void the strong promise.",
                hint="Stop it, and let this plan's steps (a pattern plan's history too) begin after its last.",
            )
        if conflict == "periodic component":
            raise OverlapError(
                f"The {other.plan.level} plan {other.key[:12]} has households of this {record.plan.level} plan; a "
                "counting plan reveals the periodic component that the other one protects.",
                hint="Keep counting plans to other households (theory 6.8).",
            )


def check_restored(record: StreamRecord, store: Store) -> None:
    """Refuse, in a restored store, what plans and reports that it does not know may speak against."""
    slots = record.plan.grid.slots
    if record.plan.history and record.history_start < store.resumes(slots):
        raise OverlapError(
            f"This store was restored: it does not know all that was reported before step {store.resumes(slots)}.",
            hint="Take a history from then on.",
        )
    ours, unknown = record.plan.protection, store.unknown_levels()
    if any(ours.conflict(level) == "periodic component" for level in LEVELS.values() if level.letter in unknown):
        raise OverlapError(
            "This store was restored, and plans that it does not know may be over the same households: a counting "
            "plan beside one that protects the periodic component.",
            hint="After a restore, stay with the levels that there were (theory 6.8).",
        )


def check_history(record: StreamRecord, others: Iterable[StreamRecord]) -> None:
    """Refuse strong plans of which one learns from cycles that the other reports.

    What a history cycle loses grows with the reports that follow (theory 4.3), and these have no end: the
    promise made for a reported cycle would be gone.
    """
    for other in others:
        strong = record.plan.protection.noisy_variations and other.plan.protection.noisy_variations
        learns = overlap(record.history(), other.reports()) or overlap(other.history(), record.reports())
        if strong and learns and record.members & other.members:
            raise OverlapError(
                f"One of this strong plan and {other.key[:12]} makes profiles from cycles that the other reports.",
                hint="Take a history that no strong plan reports: the other plan's own history will do.",
            )


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
            raise OverlapError(
                f"This plan and {other.key[:12]} have some of the same households, and a free reference made from "
                "a history that the other one shows or learns from.",
                hint="Make this plan without one (diurnal plan --no-free, or informed with free False), or take a "
                "history that no other plan reports or learns from.",
            )


def check_far(record: StreamRecord, others: Iterable[StreamRecord], *, is_far: bool) -> None:
    """Refuse a plan in the lake that is not alone, or asks for what is not done there.

    Whether two plans' profiles and readings are the same is not compared in the lake: at the steps of which one
    speaks, no other plan has any of its households.
    """
    if is_far:
        far.check(record)
    for other in others:
        if not is_far and other.lake is None:
            continue
        if record.members & other.members and overlap(record.speaks_about(), other.speaks_about()):
            raise OverlapError(
                f"This plan and {other.key[:12]} have some of the same households at the same steps, and one of "
                "them is in the lake: they are not held against each other there.",
                hint="Stop it, and let this plan's steps (a pattern plan's history too) begin after its last.",
            )


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
                raise OverlapError(
                    f"The pattern plan {other.key[:12]} reports the same steps with other profiles of the same "
                    "households; the difference of the two would be exact sums over their histories.",
                    hint="Give this plan that one's history (cycles, readings, statistic), or stop that one first.",
                )


def check_worth(record: StreamRecord, *, accept: bool) -> None:
    """Refuse a plan that is predicted to be worse than publishing nothing at all, unless somebody accepts that.

    The budget would be spent for ever on reports that tell nothing. It is predicted from the plan and the size of
    the smallest group, which are public: refusing tells nothing of a reading.
    """
    said = None if accept else worse_than_nothing(record.plan, min(group.size for group in record.groups))
    if said is not None:
        raise WorseError(said, hint=WORTH)


WORTH = (
    "Bounds from public knowledge bring far less noise: plan = dn.informed(plan, panel, level=the public mean of a "
    "reading), or open_data=panel of other homes. So do larger groups, and a larger epsilon. To spend the budget "
    "on it all the same: accept_worse=True."
)


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
            f"Exact sums of {who} would be about {len(small)} set(s) of fewer than {minimum} households: "
            f"sizes {small[:5]}.",
            hint="Use equal weights and groups whose refinement is large enough, or level='strong'.",
            sizes=small,
            minimum=minimum,
        )
