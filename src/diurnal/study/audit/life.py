"""Life: what a curator goes through in years, in a minute, with canaries aboard.

The shipped curator: started, reporting, and in an eventful life on a store in a file, restarted in the middle of a
cycle, given late and corrected readings of steps that it has reported, asked again for everything. What it answers
is all there is to see: the transcripts. Nothing in here knows how a report is made.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diurnal.curator.curator import Curator
from diurnal.curator.report import Report
from diurnal.curator.stream import Stream
from diurnal.errors import StreamError
from diurnal.planning.plan import Plan
from diurnal.promise.budget import Budget
from diurnal.readings.data import Floats, Integers, Marks
from diurnal.readings.panel import Panel
from diurnal.study.audit.canary import PARTITION, Canary, companion, of_everybody

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
        plan: As `canary.to_audit` makes it.
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
    allowed = Budget(pattern=plan.eps_z, strong=max(plan.eps_z, plan.eps_w), delta=plan.delta)
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
