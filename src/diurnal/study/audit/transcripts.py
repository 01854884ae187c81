"""Transcripts: what an audited curator says about canaries, run by run.

- `Canary`: two neighbouring lives of a household that a mechanism might tell apart.
- The lives are reported by a real curator, or by a live store, and what it says is collected as transcripts.
- Facts about them that need no statistics.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from diurnal.curator import guard
from diurnal.curator.curator import Curator
from diurnal.curator.release import Report
from diurnal.curator.stream import Stream
from diurnal.errors import DiurnalError, StreamError
from diurnal.exact import text
from diurnal.planning.free import FEWEST
from diurnal.planning.plan import Plan
from diurnal.planning.planner import bounded
from diurnal.promise.budget import Budget
from diurnal.promise.query import CountingQuery, Query, Weighted
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.panel import Panel

Change = Literal["pattern", "cycle", "history"]
"""What differs between neighbours: the periodic component, one reported cycle, or one cycle of the history."""

MOST_STEPS = 91 * 48
"""How many steps of history canaries have at most."""

PARTITION = "transcript"
"""The groups that canaries are put into, one each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Canary:
    """A made-up household's readings in two data sets that are neighbours; its gaps are the same in both."""

    name: str
    """What it does."""
    change: Change
    """In what the two data sets differ."""
    ours: Integers
    """Its readings in the first: a row a cycle, the history's first, and a column a slot."""
    theirs: Integers
    """Its readings in the second."""
    present: Marks
    """Where there is a reading, in both."""
    main: bool = False
    """Whether the loss is largest here, so that it is worth many transcripts."""

    @property
    def sides(self) -> tuple[Integers, Integers]:
        """Both data sets' readings."""
        return self.ours, self.theirs


def to_audit(plan: Plan) -> Plan:
    """The plan as canaries are put through it: each in a group of its own, which it shares with one other home.

    Groups have noise of their own, so one life of a curator has as many transcripts as there are groups. A group
    may be of two, a very long history is cut, and what is only done to noisy values is left out: a share of them
    says no more than all. It has the bound that a start would give it.
    """
    history = min(plan.history, max(FEWEST if plan.free is not None else 3, MOST_STEPS // plan.grid.slots))
    tried = plan.with_(
        query=_for_two(plan.query),
        groups=PARTITION,
        roster=None,
        calendar=None,
        first_cycle=None,
        history=history,
        min_readings=None if plan.min_readings is None else min(plan.min_readings, max(1, history)),
        minimum_group=1,
        grace=0,
        shrink=False,
    )
    return bounded(tried)


def enough(plan: Plan) -> int:
    """How many readings a slot needs to have a profile: half of the history's, unless the plan says a number.

    The plan works out the same (`k_min`). What it is audited by must not change with it.
    """
    return max(1, -(-plan.history // 2) if plan.min_readings is None else plan.min_readings)


def weights(plan: Plan) -> tuple[int, int]:
    """What the canary and the other home of its group weigh: the canary as much as anybody."""
    values = getattr(plan.query, "values", (1,))
    heavy = max(values, key=abs)
    return int(heavy), int(min((value for value in values if value), key=abs))


def of_everybody(plan: Plan, groups: int) -> Plan:
    """A plan as `to_audit` makes it, for so many groups: weights are given household by household."""
    if not isinstance(plan.query, Weighted):
        return plan
    return plan.with_(query=Weighted(weights(plan) * groups, over=plan.query.over))


def companion(plan: Plan, cycles: int) -> Integers:
    """The other home's readings: what everybody knows, and not always the same."""
    low, high = plan.domain
    k, s = np.indices((plan.history + cycles, plan.grid.slots))
    readings: Integers = low + (high - low) // 2 + ((3 * k + 5 * s) % 7) * (high - low) // 20
    return readings


def canaries(plan: Plan, cycles: int) -> list[Canary]:
    """What a plan as `to_audit` makes it is tried with.

    Args:
        plan: The plan.
        cycles: How many cycles are reported; the change of one cycle is in the second.
    """
    found = list(_patterns(plan, cycles)) if plan.protection.learns else []
    if plan.protection.hides_cycle:
        found += _cycles(plan, cycles)
    if plan.protection.noisy_variations and plan.guarantee().history is not None:
        found.append(_history(plan, cycles))
    return found


def _for_two(query: Query) -> Query:
    if not isinstance(query, Weighted):
        return query
    values = (max(query.values, key=abs), min((value for value in query.values if value), key=abs))
    return replace(query, values=values)


def _patterns(plan: Plan, cycles: int) -> Iterator[Canary]:
    low, high = plan.domain
    slots, rows = plan.grid.slots, plan.history + cycles
    k, s = np.indices((rows, slots))
    # Means of the history fall between two whole numbers, which only a floor takes along when all move.
    moves = (k + s) % 2 if high - low > 2 else np.zeros_like(k)
    top = high - int(moves.max())
    everywhere = np.ones((rows, slots), dtype=bool)
    ends = Canary(
        name="profile from end to end",
        change="pattern",
        ours=low + moves,
        theirs=top + moves,
        present=everywhere,
        main=True,
    )
    yield ends
    yield replace(ends, name="gaps, and leaves", present=_gaps(plan, rows), main=False)
    if slots > 1:
        odd = np.arange(slots) % 2 == 1
        # It comes late, when the cycle is half over and its first slot is closed.
        late = everywhere.copy()
        late[-1, 0] = False
        yield Canary(
            name="every other slot",
            change="pattern",
            ours=np.where(odd, top, low) + moves,
            theirs=np.where(odd, low, top) + moves,
            present=late,
        )


def _gaps(plan: Plan, rows: int) -> Marks:
    """Slots without a history, with one reading too few and with just enough; gaps in cycles, gone in the last."""
    slots, present = plan.grid.slots, np.ones((rows, plan.grid.slots), dtype=bool)
    if slots > 1:
        present[: plan.history, 0] = False
        present[plan.history :, slots // 2] = False
    if slots > 2:
        present[enough(plan) - 1 : plan.history, 1] = False
    # Of an even number of readings that take turns the mean lies in the middle between two whole numbers.
    if slots > 3 and plan.history % 2 and plan.history > enough(plan):
        present[0, 3] = False
    if slots > 4:
        present[enough(plan) : plan.history, 4] = False
    present[-1, slots // 2 :] = False
    return present


def _cycles(plan: Plan, cycles: int) -> Iterator[Canary]:
    low, high = plan.domain
    slots, rows = plan.grid.slots, plan.history + cycles
    usual = np.full((rows, slots), low + (high - low) // 2, dtype=np.int64)
    if isinstance(plan.query, CountingQuery):
        usual[:] = low
    changed = plan.history + min(1, cycles - 1)
    everywhere = np.ones((rows, slots), dtype=bool)
    ends = _with_row(usual, changed, low), _with_row(usual, changed, high)
    yield Canary(
        name="one cycle from end to end",
        change="cycle",
        ours=ends[0],
        theirs=ends[1],
        present=everywhere,
        main=True,
    )
    if slots > 1:
        odd = np.arange(slots) % 2 == 1
        yield Canary(
            name="every other slot of one cycle",
            change="cycle",
            ours=_with_row(usual, changed, np.where(odd, high, low)),
            theirs=_with_row(usual, changed, np.where(odd, low, high)),
            present=everywhere,
        )


def _history(plan: Plan, cycles: int) -> Canary:
    """One cycle of the history changes, by no more than leaves every reported variation unclipped."""
    low, high = plan.domain
    usual = np.full((plan.history + cycles, plan.grid.slots), low + (high - low) // 2, dtype=np.int64)
    reach = (high - low) // 2 if plan.clip is None else min((high - low) // 2, plan.history * plan.clip)
    return Canary(
        name="one cycle of the history",
        change="history",
        ours=usual,
        theirs=_with_row(usual, 0, usual[0] + reach),
        present=np.ones(usual.shape, dtype=bool),
    )


def _with_row(readings: Integers, row: int, values: Integers | int) -> Integers:
    changed = readings.copy()
    changed[row] = values
    return changed


_Rows = dict[str, dict[tuple[int, str], Fraction]]
_Profiles = dict[str, list[Fraction]]

Values = npt.NDArray[np.object_]
"""Exact values, as fractions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Transcripts:
    """All that was published of one canary's groups in one of its data sets; a row a group."""

    values: Values
    """The reports, a column each, in the order of their steps."""
    steps: tuple[int, ...]
    """The step of each column."""
    profile: Values | None
    """The noisy profile, if it was given away; a column a slot."""
    hidden: Values | None
    """The noisy profile as the store keeps it, which nobody outside sees; None where there is none."""

    @property
    def seen(self) -> Floats:
        """Everything that is published, as floats, for whoever looks for differences."""
        all_of_it = self.values if self.profile is None else np.concatenate([self.values, self.profile], axis=1)
        return all_of_it.astype(np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Life:
    """What became of a curator with canaries."""

    transcripts: tuple[tuple[Transcripts, Transcripts], ...]
    """Of each canary: in the first data set, and in the second."""
    asked: int
    """How often a row was given again."""
    changed: int
    """How often it was another one then."""
    unlike: int
    """At how many steps something else than a row's value was not the same in all groups."""
    spent: tuple[Fraction, Fraction]
    """Of the pattern budget and of the strong one, by the most charged household."""
    streams: int
    """How many streams there are in the end."""
    profile_shown: bool
    """Whether the noisy profile was given to whoever asked."""


def live(plan: Plan, canaries: Sequence[Canary], *, copies: int, cycles: int, eventful: bool) -> Life:
    """Put canaries through a curator's life.

    Args:
        plan: As `to_audit` makes it.
        canaries: Who.
        copies: How many groups of each, in each of its two data sets.
        cycles: How many cycles are reported.
        eventful: Whether it is restarted, corrected and asked again; else it only starts and reports.
    """
    names = [
        f"{number:02d}{side}{copy:06d}"
        for number in range(len(canaries))
        for side in "ot"
        for copy in range(copies)
    ]
    panel = _panel(plan, canaries, copies, names, cycles)
    plan = of_everybody(plan, len(names))
    allowed = Budget(pattern=plan.eps_z, cycle=max(plan.eps_z, plan.eps_w), delta=plan.delta)
    seen = _Seen()
    with tempfile.TemporaryDirectory() as folder:
        if eventful:
            curator, stream = _eventful(
                plan, panel, lambda: trusting(Curator.open(Path(folder) / "audit.db", allowed)), seen
            )
        else:
            curator, stream = _plain(plan, panel, trusting(Curator.in_memory(allowed)), seen)
        profile, status = _shown(stream), curator.status()
        hidden = {group.name: list(group.noisy_profile) for group in stream._record().groups}
    return Life(
        transcripts=tuple(_pairs(names, seen.rows, profile, hidden, copies, plan.query.series)),
        asked=seen.asked,
        changed=seen.changed,
        unlike=sum(len(each) > 1 for each in seen.beside.values()),
        spent=(status.pattern[0], status.strong[0]),
        streams=len(status.streams),
        profile_shown=profile is not None,
    )


class _Seen:
    """Every row that was shown, and whether it was ever shown otherwise."""

    def __init__(self) -> None:
        self.rows: _Rows = {}
        self.asked = 0
        self.changed = 0
        self.beside: dict[tuple[int, str], set[tuple[object, ...]]] = {}

    def look(self, rows: Iterable[Report]) -> None:
        for row in rows:
            known = self.rows.setdefault(row.group.split(" ")[0], {})
            key, value = (row.step, row.series), row.exact
            self.beside.setdefault(key, set()).add((row.time, row.unit, row.std, row.plan, row.deviation))
            if key in known:
                self.asked += 1
                self.changed += known[key] != value
            else:
                known[key] = value


def trusting(curator: Curator) -> Curator:
    """A curator that takes readings whatever unit they look to be in: an audit's are worst cases, and no home's."""
    curator.trust_units()
    return curator


def _plain(plan: Plan, panel: Panel, curator: Curator, seen: _Seen) -> tuple[Curator, Stream]:
    stream = curator.start(plan, history=panel.first(plan.history), acknowledge="untested", accept_worse=True)
    seen.look(stream.report(panel.after(plan.history)))
    return curator, stream


def _eventful(plan: Plan, panel: Panel, reopen: Callable[[], Curator], seen: _Seen) -> tuple[Curator, Stream]:
    slots, history, later = plan.grid.slots, panel.first(plan.history), panel.after(plan.history)
    first, last = later.steps.start, later.steps.stop
    middle = last - slots + slots // 2

    def restarted() -> tuple[Curator, Stream]:
        curator = reopen()
        return curator, curator.start(plan, history=history, acknowledge="untested", accept_worse=True)

    if plan.history:
        # Of several cycles nothing may come; a single one is reported in pattern mode.
        seen.look(restarted()[1].report(history))
    seen.look(restarted()[1].report(later.between(first, middle)))
    _, stream = restarted()
    # Of steps that are reported, and of those that are held until their cycle is over.
    seen.look(stream.report(_corrected(plan, later.between(first, middle))))
    seen.look(stream.report(later.between(middle, last)))
    curator, stream = restarted()
    seen.look(stream.rows())
    return curator, stream


def _corrected(plan: Plan, panel: Panel) -> Panel:
    """Other readings of the same steps, and some where there were none: late, and nothing may come of them."""
    low, high = plan.domain
    return panel.following(low + high - panel.readings, first_step=panel.first_step)


def _shown(stream: Stream) -> _Profiles | None:
    try:
        return stream.noisy_profile
    except StreamError:
        return None


def _panel(plan: Plan, canaries: Sequence[Canary], copies: int, names: Sequence[str], cycles: int) -> Panel:
    """Every canary's groups, a canary and its companion each."""
    other = companion(plan, cycles).reshape(-1)
    columns: list[Integers] = []
    marks: list[Marks] = []
    for canary in canaries:
        for side in canary.sides:
            pair = np.stack([side.reshape(-1), other], axis=1)
            there = np.stack([canary.present.reshape(-1), np.ones(len(other), dtype=bool)], axis=1)
            columns.append(np.tile(pair, copies))
            marks.append(np.tile(there, copies))
    groups = [name for name in names for _ in range(2)]
    return Panel.from_array(
        np.concatenate(columns, axis=1),
        present=np.concatenate(marks, axis=1),
        households=[f"{name}{who}" for name in names for who in "ab"],
        grid=plan.grid,
        groups={PARTITION: groups},
    )


def _pairs(
    names: Sequence[str],
    rows: _Rows,
    profile: _Profiles | None,
    hidden: _Profiles,
    copies: int,
    series: Sequence[str],
) -> Iterable[tuple[Transcripts, Transcripts]]:
    # In the order of steps, and of a histogram's bins within.
    keys = sorted(rows[names[0]], key=lambda key: (key[0], series.index(key[1])))

    def transcripts(here: Sequence[str]) -> Transcripts:
        return Transcripts(
            values=_array([[rows[name][key] for key in keys] for name in here]),
            steps=tuple(step for step, _ in keys),
            profile=None if profile is None else _array([profile[name] for name in here]),
            hidden=_array([hidden[name] for name in here]) if hidden[names[0]] else None,
        )

    for place in range(0, len(names), 2 * copies):
        middle = place + copies
        yield transcripts(names[place:middle]), transcripts(names[middle : middle + copies])


def _array(rows: Any) -> Values:
    return np.array(rows, dtype=object)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that must hold, and whether it did."""

    name: str
    """What must hold."""
    held: bool
    """Whether it did."""
    says: str
    """What was looked at, in how many places."""
    tried: str = ""
    """What the curator must refuse, where that is the fact."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "held": self.held, "says": self.says}


def facts(plan: Plan, canaries: Sequence[Canary], life: Life) -> list[Fact]:
    """What a curator's life shows without statistics.

    Args:
        plan: As `to_audit` makes it.
        canaries: Who was aboard.
        life: What became of it.
    """
    found = [_once(life), _alike(life), _spent(plan, life)]
    if plan.protection.exact_variations:
        found += [_repeats(plan, life), *_tells_nothing(plan, canaries, life)]
    else:
        found.append(_hidden(life))
    if plan.history:
        found.append(_no_history(plan, life))
    return found


def _once(life: Life) -> Fact:
    return Fact(
        name="each report is released once",
        held=life.changed == 0,
        says=f"{life.asked:,} rows were asked for again, after restarts and with late and corrected readings; "
        f"{life.changed:,} were another one then.",
    )


def _alike(life: Life) -> Fact:
    return Fact(
        name="nothing of a row but its value depends on readings",
        held=life.unlike == 0,
        says="Time, unit, deviation and plan of rows were held against each other in all groups; they were not the "
        f"same at {life.unlike:,} step(s).",
    )


def _spent(plan: Plan, life: Life) -> Fact:
    # A budget is read at its own delta, where a pure loss may come to less.
    delta = None if plan.delta is None else Fraction(plan.delta)
    losses = (plan.guarantee().pattern, plan.guarantee().cycle)
    owed = tuple(Fraction(0) if loss is None else loss.at(delta) for loss in losses)
    held = life.streams == 1 and life.spent == owed
    return Fact(
        name="the budget is spent once",
        held=held,
        says=f"Started again after each restart, it was {life.streams} stream(s), and cost what it promises."
        if held
        else f"There were {life.streams} stream(s), or they cost something else than is promised.",
    )


def _repeats(plan: Plan, life: Life) -> Fact:
    """In pattern mode the noise of a slot is the same in every cycle: anything else averages out."""
    fresh = sum(not _same(_beside(plan, each)) for pair in life.transcripts for each in pair)
    return Fact(
        name="the noise of a slot never changes",
        held=fresh == 0,
        says=f"Of {2 * len(life.transcripts)} kinds of transcripts, {fresh} had reports whose distance to the "
        "noisy profile was not the same in all copies.",
    )


def _tells_nothing(plan: Plan, canaries: Sequence[Canary], life: Life) -> list[Fact]:
    """What goes out beside the noisy profile is the same, bit for bit, for both neighbours."""
    found = []
    for canary, (ours, theirs) in zip(canaries, life.transcripts, strict=True):
        if canary.change == "pattern":
            same = np.array_equal(_beside(plan, ours)[0], _beside(plan, theirs)[0])
            found.append(
                Fact(
                    name="variations tell nothing of the pattern",
                    held=same,
                    says=f"Canary: {canary.name}. All {len(ours.steps)} reports less the noisy profile were "
                    f"{'the same' if same else 'not the same'} in both data sets.",
                )
            )
    return found


def _hidden(life: Life) -> Fact:
    return Fact(
        name="the noisy profile stays private",
        held=not life.profile_shown,
        says="It was asked for, and " + ("given." if life.profile_shown else "refused."),
    )


def _no_history(plan: Plan, life: Life) -> Fact:
    """A history of several cycles is never reported, nor any in strong mode (theory 4.2, 4.3)."""
    end = plan.history * plan.grid.slots
    steps = {step for pair in life.transcripts for each in pair for step in each.steps if step < end}
    may = plan.protection.exact_variations and plan.history == 1
    return Fact(
        name="the history is not reported" if not may else "of the history only the noisy profile is reported",
        held=may or not steps,
        says=f"Its {end} steps were given to be reported; {len(steps)} were.",
    )


def _beside(plan: Plan, transcripts: Transcripts) -> Any:
    """Reports less the noisy profile, which is public in pattern mode: nothing but sums of variations."""
    assert transcripts.profile is not None
    slots = [step % plan.grid.slots for step in transcripts.steps]
    return transcripts.values * plan.query.denominator(2) - transcripts.profile[:, slots]


def _same(rows: Any) -> bool:
    return bool((rows == rows[0]).all())


def running(curator: Curator, stream: Stream) -> list[Fact]:
    """What must hold of a store and one of its streams: looked at, and nothing drawn, spent or written.

    Args:
        curator: The curator of the store.
        stream: The stream.
    """
    return [_whole(curator), _within(curator), _allowed(curator), _rows(stream)]


def _whole(curator: Curator) -> Fact:
    looked = curator.verify()
    return Fact(
        name="the store is as its ledger says",
        held=looked.sound,
        # How many events there are is not said: an audit is published, and people are among them.
        says=f"Of the ledger and {looked.rows:,} rows, {len(looked.findings)} finding(s).",
    )


def _within(curator: Curator) -> Fact:
    status = curator.status()
    spent = {"pattern": status.pattern, "strong": status.strong}
    return Fact(
        name="no household has spent more than the budget",
        held=all(used <= allowed for used, allowed in spent.values()),
        says="; ".join(f"{name}: {text(used)} of {text(allowed)}" for name, (used, allowed) in spent.items()) + ".",
    )


def _allowed(curator: Curator) -> Fact:
    """The guard's rules between plans, applied again to those that are there."""
    store, refused = curator._store, []
    with store.transaction():
        records = store.records()
    for place, record in enumerate(records):
        others = records[:place]
        try:
            guard.check_beside(record, others)
            guard.check_profiles(record, others)
        except DiurnalError as refusal:
            refused.append(f"{record.stream_id[:12]}: {type(refusal).__name__}")
    return Fact(
        name="the plans may stand beside each other",
        held=not refused,
        says=f"{len(records)} plan(s); would be refused today: {'; '.join(refused) or 'none'}.",
    )


def _rows(stream: Stream) -> Fact:
    """Rows are of the plan's own steps, and say to have noise."""
    record, rows = stream._record(), stream.rows()
    outside = sum(not record.first_step <= row.step < record.last for row in rows)
    bare = sum(row.deviation <= 0 for row in rows)
    return Fact(
        name="every row is at a step of the plan, and has noise",
        held=outside == bare == 0,
        says=f"{len(rows):,} rows; {outside} at steps that are not the plan's, {bare} that say to have no noise.",
    )
