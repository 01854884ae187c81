"""Guard: what a curator refuses, before anything is drawn (theory 4.5 and 4.6).

- `check_acknowledged`: somebody has read the verdict on the assumption that a pattern's promise rests on.
- `check_people`: who was erased stays so.
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
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from diurnal.check.verdict import UNTESTED, subject
from diurnal.curator.records import StreamRecord
from diurnal.errors import (
    AcknowledgeError,
    BudgetError,
    DifferencingError,
    OverlapError,
    PlanError,
    PopulationError,
    StoreError,
)
from diurnal.exact import text
from diurnal.planning.plan import Plan
from diurnal.promise.budget import NOTHING, Loss
from diurnal.readings.data import Integers, Marks
from diurnal.readings.kernels import Atoms, variation_sums
from diurnal.readings.panel import Panel

if TYPE_CHECKING:
    from diurnal.curator.store import Store

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


def check_owed(store: Store) -> None:
    """Refuse to go on with a restored store that does not know who was erased, or has moved out, since."""
    if store.owed():
        raise StoreError(
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


def check_history(record: StreamRecord, others: Iterable[StreamRecord], store: Store) -> None:
    """Refuse strong plans of which one learns from cycles that the other reports.

    What a history cycle loses grows with the reports that follow (theory 4.3), and these have no end: the
    promise made for a reported cycle would be gone.
    """
    slots = record.plan.grid.slots
    if record.plan.history and record.history_start < store.resumes(slots):
        raise OverlapError(
            f"This store was restored: it does not know all that was reported before step {store.resumes(slots)}.",
            hint="Take a history from then on.",
        )
    unknown = store.unknown_levels()
    if unknown & ({"p", "s"} if record.plan.level == "cycle" else {"c"}):
        raise OverlapError(
            "This store was restored, and plans that it does not know may be over the same households: a counting "
            "plan beside one that protects the periodic component.",
            hint="After a restore, stay with the levels that there were (theory 6.8).",
        )
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
    were not (theory 4.2). One cycle of history has no variations at all, and is. A step that a stopped plan over
    some of the households has reported is never reported again by its successor (theory 4.5).
    """
    after_history = int(record.history()[1])
    start = record.history_start if record.plan.level != "strong" and record.plan.history <= 1 else after_history
    ends = [
        other.end
        for other in others
        if other.end is not None and other.plan.level == record.plan.level and other.members & record.members
    ]
    return max([start, *ends])


def check_budget(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> None:
    """Refuse a plan that would take any of its households past a cap."""
    budget = store.budget
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
        pasts = [past + store.fenced(name) for past in _past_losses(record, others, loss)]
        worst = max(pasts, key=lambda past: (past + asked).at(delta))
        if (worst + asked).at(delta) > cap:
            remaining = max(Fraction(0), cap - worst.at(delta))
            raise BudgetError(
                f"The plan asks for {text(asked.at(delta))} of the {name} budget; {text(cap)} was allowed in all "
                f"and {text(remaining)} is left for the most charged household.",
                hint=(
                    f"An epsilon of at most {text(remaining)} would be allowed" if remaining else "Nothing is left"
                )
                + "; a roster without the charged households is another matter, and a cap can be raised by whoever "
                "answers for it: curator.raise_cap(...), diurnal raise-cap.",
                remaining=remaining,
                requested=asked.at(delta),
            )


def costs(record: StreamRecord, others: Sequence[StreamRecord], store: Store) -> list[str]:
    """What a plan costs, and what it leaves to the most charged of its households, in sentences."""
    said, budget = [], store.budget
    delta = None if budget.delta is None else Fraction(budget.delta)
    for name, loss in (("pattern", pattern_loss), ("strong", cycle_loss)):
        asked = loss(record)
        if asked == NOTHING:
            continue
        past = max(
            (past + store.fenced(name) for past in _past_losses(record, others, loss)), key=lambda p: p.at(delta)
        )
        left = Fraction(getattr(budget, name)) - (past + asked).at(delta)
        said.append(
            f"It costs {text(asked.at(delta))} of the {name} budget of {text(Fraction(getattr(budget, name)))}; "
            f"{text(past.at(delta))} was spent before by its most charged household, and {text(left)} is left."
        )
    return said


def spent(records: Sequence[StreamRecord], store: Store, name: str) -> Fraction:
    """What the most charged household has lost so far, of the pattern or strong budget."""
    delta = None if store.budget.delta is None else Fraction(store.budget.delta)
    loss = {"pattern": pattern_loss, "strong": cycle_loss}[name]
    pasts = [past for record in records for past in _past_losses(record, records, loss)] or [NOTHING]
    return max((past + store.fenced(name)).at(delta) for past in pasts)


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
    spoken = panel.steps.start, panel.steps.stop
    patterns = [
        other
        for other in store.records()
        if other.plan.level == "pattern" and other.key != record.key and _overlap(other.reports(), spoken)
    ]
    others = _connected(record, patterns) if patterns else []
    published = {other.key: store.published(other.number, panel.steps) for other in others}
    silent = np.zeros(panel.n_steps, dtype=bool)
    for step in sorted(set().union(*published.values())):
        earlier = [other for other in others if step in published[other.key]]
        silent[step - panel.first_step] = not _compatible(record, earlier, panel.between(step, step + 1), store)
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


def _compatible(record: StreamRecord, earlier: Sequence[StreamRecord], row: Panel, store: Store) -> bool:
    """Whether a plan may say a step's variations beside all plans that have published the step."""
    effective = [_effective(record, row, row.households)]
    for other in earlier:
        if not set(other.households) <= set(row.households):
            return False
        seen = _columns_of(row, other.households)
        if used_digests(other, seen, store) != [store.used(other.number, row.first_step)]:
            return False
        effective.append(_effective(other, seen, row.households))
    minimum = max(each.plan.minimum_group for each in (record, *earlier))
    return bool((Atoms.of(np.stack(effective)).sizes >= minimum).all())


def _columns_of(row: Panel, households: Sequence[str]) -> Panel:
    places = {name: i for i, name in enumerate(row.households)}
    columns = np.array([places[name] for name in households], dtype=np.int64)
    return replace(row, data=row.data.columns(columns), households=tuple(households), groups={})


def used_digests(record: StreamRecord, panel: Panel, store: Store) -> list[str]:
    """For each step, a digest of the readings that a pattern plan uses there: private, and keyed by the store.

    Sums would not tell: readings that differ may have the same. A reading counts with a multiplier of its
    household, and so does its being there, so that two steps that are not the same differ, but for next to no
    chance.
    """
    atoms, key, n = record.atoms, store.key(), len(record.households)
    slots = np.array([panel.grid.slot(step) for step in panel.steps], dtype=np.int64)
    order: slice | Integers = slice(None) if atoms.in_order and len(atoms.order) == n else atoms.order
    marks = panel.present[:, order] & record.known[slots]
    values, whole = panel.readings[:, order], bool(marks.all())
    if not whole:
        values = values * marks
    halves = []
    for half in (0, 1):
        reading, being = (_multipliers(key, n, half, part) for part in (0, 1))
        there = _everybody(key, n, half) if whole else marks @ being[order]
        # Whole numbers of 64 bits that go round: nothing is lost, and nothing overflows that matters.
        halves.append(((values @ reading[order]) + there).astype(np.uint64).tolist())
    return [f"{first:016x}{second:016x}" for first, second in zip(*halves, strict=True)]


@lru_cache(maxsize=16)
def _multipliers(key: int, n: int, half: int, part: int) -> Integers:
    """A multiplier for each household, from the store's key: odd, and looking like chance (splitmix64)."""
    mixed = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64((key >> (64 * half)) & (2**64 - 1)) + np.uint64(part << 40)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) | np.uint64(1)).astype(np.int64)


@lru_cache(maxsize=16)
def _everybody(key: int, n: int, half: int) -> np.int64:
    """What it adds that all households are there."""
    total: np.int64 = _multipliers(key, n, half, 1).sum()
    return total


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
