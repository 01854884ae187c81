"""What goes on the page: one dictionary of plain content, of released rows and public facts.

Nothing here asks for a reading or a profile. What a stream keeps is private as a whole (`StreamRecord`), so the few
public facts of it are taken one by one, in `_facts`, and all of the content passes `public` before it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from diurnal.curator.closing import runs
from diurnal.curator.curator import Curator
from diurnal.curator.release import COLUMNS, Report
from diurnal.curator.stream import Stream
from diurnal.exact import decimal_up, instance
from diurnal.planning.accuracy import clipping
from diurnal.planning.plan import Plan
from diurnal.planning.planner import predict, when_out
from diurnal.planning.prediction import Row, short
from diurnal.private import public
from diurnal.promise.guarantee import Guarantee
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel, Shape
from diurnal.show.page import words
from diurnal.show.page.ledger import ledger_content
from diurnal.show.predicted import predicted_table
from diurnal.show.rows import shown_table

MADE_AGAIN = {"step", "time", "group", "value", "unit", "std", "plan"}
"""The columns that the page's script makes again from less; of others every value is in the page."""

LISTED = 480
"""How many rows the table of the last cycle has, at most."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is public about a stream."""

    plan: Plan
    """Its plan."""
    guarantee: Guarantee
    """Its promise."""
    names: tuple[str, ...]
    """Its groups."""
    sizes: tuple[int, ...]
    """How many households each has."""
    std: tuple[tuple[str, ...], ...]
    """The standard deviation of the noise of a row, by group and slot."""
    mean_std: tuple[float | None, ...]
    """That of the mean of a cycle's rows, by group; None where it is not known."""
    profile: tuple[tuple[Fraction, ...], ...] | None
    """The noisy profile by group, divided as rows are; in pattern mode only."""
    rows: tuple[Report, ...]
    """Every row that was released."""

    @property
    def grid(self) -> Grid:
        """What a step is."""
        return self.plan.grid

    @property
    def unit(self) -> str:
        """The unit of a row."""
        return self.plan.query.unit(self.plan.grid.unit)

    @property
    def steps(self) -> list[int]:
        """The released steps, each once."""
        width = len(self.names) * len(self.plan.query.series)
        return [row.step for row in self.rows[::width]]

    @property
    def cycle(self) -> str:
        """What a cycle is called: a day, a week."""
        return words.cycle_word(self.grid)


def collected(curator: Curator, stream: Stream, open_data: Panel | None) -> tuple[Facts, dict[str, Any]]:
    """What is public about a stream, and the content of its page, looked through for anything private."""
    instance(curator, Curator, "curator", example="Curator.open('city.db')")
    instance(stream, Stream, "stream", example="curator.streams()[0]")
    # One look at one store, so that rows, ledger and head are of the same moment.
    with curator._store.transaction():
        facts = _facts(curator.stream(stream.plan.hash))
        ledger = ledger_content(curator, facts.cycle)
    content = {
        **_about(facts),
        "short": _short(facts, ledger["budgets"]),
        "epsilons": words.epsilons(facts.plan),
        "sentences": words.sentences(facts.guarantee),
        "prediction": _prediction(facts, open_data),
        "ledger": ledger,
        "last": _last_rows(facts),
        "data": {"series": _series(facts), "profile": _profile(facts)},
        "profile_range": _profile_range(facts),
    }
    return facts, public(content)


def _facts(stream: Stream) -> Facts:
    """The public facts of a stream, taken one by one: its record is private."""
    record = stream._record()
    plan, groups = record.plan, record.groups
    over = {group.name: plan.query.denominator(group.size) for group in groups}
    profile = None
    if plan.protection.profile_is_public:
        profile = tuple(
            tuple(value / over[name] for value in values) for name, values in stream.noisy_profile.items()
        )
    return Facts(
        plan=plan,
        guarantee=stream.guarantee,
        names=tuple(group.name for group in groups),
        sizes=tuple(group.size for group in groups),
        std=tuple(tuple(form.std for form in group.forms) for group in groups),
        mean_std=_mean_std(stream, plan, list(over.values())),
        profile=profile,
        # Rows that a wrong clock has put years ahead are released, and in every export; no page begins with them.
        rows=tuple(stream.rows(stop=stream.takes().stop)),
    )


def _mean_std(stream: Stream, plan: Plan, over: Sequence[int]) -> tuple[float | None, ...]:
    """The noise of a cycle's mean; counting queries have several series in one layer, and go without."""
    if plan.query.counting:
        return (None,) * len(over)
    return tuple(layers.mean_deviation(1) / q for layers, q in zip(stream._record().layers, over, strict=True))


def _about(facts: Facts) -> dict[str, Any]:
    """The title, and what is said below it."""
    plan, steps = facts.plan, facts.steps
    return {
        "title": words.title(plan),
        "subtitle": f"{words.reported(plan)} {covered(facts.grid, steps)}",
        "level": plan.level,
        "when": when_out(plan),
        "cycle": facts.cycle,
        "profiled": words.profiled(plan, min(facts.sizes)),
        "unit": facts.unit,
        "facts": _numbers(facts, steps),
        "plan": plan.hash,
        "certificate_number": plan.certificate_number,
        "grouped": plan.groups is not None,
    }


def covered(grid: Grid, steps: Sequence[int]) -> str:
    """The time that reports cover, in a sentence."""
    if not steps:
        return "Nothing has been reported yet."
    first, last = grid.wall(steps[0]), grid.wall(steps[-1])
    from_to = f"from {words.day(first)}, {first:%H:%M}, to {words.day(last)}, {last:%H:%M}"
    return f"Reports so far go {from_to} ({grid.zone})."


def _numbers(facts: Facts, steps: Sequence[int]) -> list[list[str]]:
    plan = facts.plan
    spread = [float(each) for group in facts.std for each in group]
    low, high = short(min(spread)), short(max(spread))
    groups = [["groups", f"{len(facts.names):,}"]] if plan.groups else []
    return [
        ["households", f"{sum(facts.sizes):,}"],
        *groups,
        [f"reported {facts.cycle}s", f"{len({facts.grid.cycle(step) for step in steps}):,}"],
        ["rows", f"{len(facts.rows):,}"],
        [f"noise of a row (std, {facts.unit})", low if low == high else f"{low} to {high}"],
        ["mechanism", plan.mechanisms_text],
    ]


def _short(facts: Facts, budgets: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """The promise in short; and what the store's plans cost together."""
    # At the delta of the store, as what is spent: a plan's own figure is at the plan's.
    deltas = [Fraction(each["delta"]) if each["delta"] else None for each in budgets]
    own = [decimal_up(loss.at(delta)) for loss, delta in zip(facts.plan.losses.values(), deltas, strict=True)]
    more = []
    if any(Fraction(each["spent"]) > Fraction(cost) for each, cost in zip(budgets, own, strict=True)):
        # A cost of 0 for one day is a promise that nobody made.
        names = (f"a shift of the usual {facts.cycle}", f"any one reported {facts.cycle}")
        costs = zip(names, (each["spent"] for each in budgets), strict=True)
        told = " and ".join(f"{spent} for {name}" for name, spent in costs if Fraction(spent))
        at = f" (at delta {budgets[0]['delta']})" if budgets[0]["delta"] else ""
        more.append(
            f"The store has had other plans too: all of them together cost the most charged household {told}{at}."
        )
    # Where nothing is counted, it is this plan's own level that protects nothing of it, and says so.
    without = [each["uncounted"] for each in budgets if Fraction(each["spent"]) and each["uncounted"]]
    more += [f"{said[0].upper()}{said[1:]}." for said in without]
    return words.in_short(facts.plan, *more)


def _prediction(facts: Facts, open_data: Panel | None) -> dict[str, Any]:
    """The predicted error of every mechanism, and of doing without: from the plan and public sizes alone."""
    plan = facts.plan
    cycles = len({plan.grid.cycle(step) for step in facts.steps})
    shape = Shape(group_sizes=facts.sizes, grid=plan.grid, n_cycles=max(1, cycles))
    found, own = predict(plan, shape, open_data=open_data), plan.mechanisms_text
    lines = found.lines(own)
    return {
        "households": found.n_households,
        "nothing": found.without_data.errors.step,
        "clipping": clipping(plan, open_data),
        "rows": [
            {"kind": line.kind, "error": line.row.errors.step, "said": line.row.said(), **_words(line.row)}
            for line in lines
        ],
        "table": predicted_table(lines, facts.unit),
        "warnings": found.warnings(found.row(own)),
    }


def _words(row: Row) -> dict[str, str]:
    return {"name": row.name, "promise": row.promise, "note": row.note}


def _last_rows(facts: Facts) -> dict[str, Any] | None:
    """The rows of the last reported cycle, as they were released."""
    if not facts.rows:
        return None
    cycle = facts.grid.cycle(facts.rows[-1].step)
    last = [row for row in facts.rows if facts.grid.cycle(row.step) == cycle]
    return shown_table(last[-LISTED:], facts.unit)


def _series(facts: Facts) -> dict[str, Any]:
    """Every released row, series by series: values as they were written, so that a copy of them is the release."""
    grid, rows = facts.grid, facts.rows
    width = len(facts.names) * len(facts.plan.query.series)
    times = [row.time[19:] for row in rows[::width]]
    at = [0, *(i for i in range(1, len(times)) if times[i] != times[i - 1])] if times else []
    groups = [group for _ in facts.plan.query.series for group in range(len(facts.names))]
    return {
        "names": [row.group for row in rows[:width]],
        "values": [" ".join(row.value for row in rows[place::width]) for place in range(width if rows else 0)],
        "groups": groups,
        "std": [list(each) for each in facts.std],
        "mean_std": [None if each is None else float(f"{each:.4g}") for each in facts.mean_std],
        "runs": [[run.start, run.stop - 1] for run in runs(facts.steps)],
        "offsets": [[i, times[i]] for i in at],
        "anchor": int((grid.wall(0) - datetime(1970, 1, 1)).total_seconds()),
        **{name: getattr(grid, name) for name in ("minutes", "slots", "zone")},
        "unit": facts.unit,
        "plan": facts.plan.hash,
        "cycle": facts.cycle,
        "columns": [column.name for column in COLUMNS],
        "more": {
            column.name: [[getattr(row, column.name) for row in rows[place::width]] for place in range(width)]
            for column in COLUMNS
            if column.name not in MADE_AGAIN
        },
    }


def _profile(facts: Facts) -> list[list[float]] | None:
    """The noisy profile by group, where it is public."""
    if facts.profile is None:
        return None
    return [[float(f"{float(value):.7g}") for value in values] for values in facts.profile]


def _profile_range(facts: Facts) -> list[str] | None:
    """The least and the largest value of the first group's noisy profile, where it is public."""
    found = _profile(facts)
    return None if found is None else [short(min(found[0])), short(max(found[0]))]
