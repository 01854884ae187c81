"""The ledger in words: of every kind of event the public fields and no others.

An event's content may hold digests of private things: of households' names, of what was acknowledged, of what is
kept. So nothing is shown because it is there: each kind names what it shows, and a kind that nobody has named shows
nothing. Of events about people the public is told neither when there was one nor how many there were: whoever looks
at a page again and again would place it between two looks. So lines are numbered for the public, not events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from diurnal.curator.curator import Curator
from diurnal.exact import decimal_up, text
from diurnal.promise.levels import LEVELS

if TYPE_CHECKING:
    from diurnal.curator.ledger import Event

PEOPLE = {
    "erased": "A household was erased from a plan.",
    "forgotten": "A household was forgotten.",
    "moved out": "A household of a plan moved out.",
    "tenancy": "A tenancy changed.",
}
"""Events about people: what they are, and nothing else. For the custodian."""

COUNTED = {"pattern": "shift of the usual {cycle}", "strong": "any one reported {cycle}"}
"""What each cap counts."""

UNSAID = frozenset({"drawn"})
"""Events that are no decision, and come with reports."""


def ledger_content(curator: Curator, cycle: str = "cycle") -> dict[str, Any]:
    """The ledger's events in words, its head, and what is spent of both budgets.

    Where plans do not protect what a budget counts, that is said, and no figure that would look like a loss of 0.

    Args:
        curator: Of whose store.
        cycle: What a cycle is called.
    """
    status = curator.status()
    # The status as a whole is the operator's; the caps, what is spent of them and the levels are in every head.
    without = status.uncounted(cycle)
    budgets = [
        {
            "name": COUNTED[cap].format(cycle=cycle),
            "spent": decimal_up(spent),
            "allowed": text(allowed),
            "left": text(max(allowed - Fraction(decimal_up(spent)), Fraction(0))),
            "delta": "" if status.delta is None else text(status.delta),
            "uncounted": without.get(cap, ""),
            # A figure of 0 would look like a loss of 0.
            "share": None if cap in without and not spent else round(min(100.0, 100 * float(spent / allowed)), 2),
        }
        for cap, (spent, allowed) in (("pattern", status.pattern), ("strong", status.strong))
    ]
    return {"head": curator.head, "budgets": budgets, "events": list(lines(curator.ledger(), cycle=cycle))}


def lines(events: Sequence[Event], *, people: bool = False, cycle: str = "cycle") -> Iterator[list[str]]:
    """A line for each event, one for reports that follow each other: number, time, words, what was spent.

    Args:
        events: The ledger.
        people: Whether events about people are told and events are numbered, for the custodian. Else lines are.
        cycle: What a cycle is called.
    """
    told = [event for event in events if event.kind not in UNSAID and (people or event.is_told)]
    for number, line in enumerate(_lines(told, cycle), start=1):
        yield line if people else [f"{number}", *line[1:]]


def _lines(events: Sequence[Event], cycle: str) -> Iterator[list[str]]:
    for reported, some in groupby(events, key=lambda event: event.kind == "reported"):
        if reported:
            yield _batches(list(some))
        else:
            yield from (_line(event, cycle) for event in some)


def _line(event: Event, cycle: str) -> list[str]:
    time = _moment(event.time)
    say = WORDS.get(event.kind)
    words = PEOPLE.get(event.kind, "Something else was decided.") if say is None else say(event.content, cycle)
    return [f"{event.number}", time, words, _spent(event.content, cycle) if event.kind == "started" else ""]


def _batches(events: Sequence[Event]) -> list[str]:
    first, last = events[0], events[-1]
    number = f"{first.number}" if first is last else f"{first.number} to {last.number}"
    plans = sorted({int(event.content["plan"]) for event in events})
    words = [_batch(plan, [event.content for event in events if event.content["plan"] == plan]) for plan in plans]
    moments = list(dict.fromkeys([_moment(first.time), _moment(last.time)]))
    return [number, " to ".join(moments), " ".join(words), ""]


def _batch(plan: int, contents: Sequence[Mapping[str, Any]]) -> str:
    spans = [span for content in contents for span in content["steps"]]
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    count = sum(span[1] - span[0] + 1 for span in spans)
    gaps = "" if count == last - first + 1 else f" ({count:,} of them)"
    batches = "1 batch" if len(contents) == 1 else f"{len(contents):,} batches"
    rows = sum(int(content["rows"]) for content in contents)
    return f"Plan {plan} reported: steps {first} to {last}{gaps}, {batches}, {rows:,} rows."


def _moment(time: str) -> str:
    """To the minute: the machine's clock is told in UTC."""
    return f"{time[:10]} {time[11:16]} UTC"


def _caps(content: Mapping[str, Any], cycle: str) -> str:
    budget = content["budget"]
    delta = "" if budget.get("delta") is None else f", at delta {budget['delta']}"
    return (
        f"epsilon {budget['pattern']} for a shift of the usual {cycle}, and {budget['strong']} for any one "
        f"reported {cycle}{delta}, where their levels protect these"
    )


def _settled(content: Mapping[str, Any], _: str) -> str:
    found = content["population"]
    grid, (low, high) = found["grid"], found["domain"]
    return (
        f"The population was settled: {found['channel']}, {grid['slots']} slots of {grid['minutes']} minutes, "
        f"{grid['zone']}; a reading is from {low} to {high} {grid['unit']}."
    )


def _started(content: Mapping[str, Any], _: str) -> str:
    return (
        f"Plan {content['plan']} ({content['key'][:12]}) was started: level {content['level']}, "
        f"{content['households']:,} households, reports from step {content['first_step']} on."
    )


def _closed(content: Mapping[str, Any], _: str) -> str:
    number = f"{len(content['steps']):,} steps"
    if "apart" in content:
        return f"{number} that were reported ahead of time are never reported again."
    return f"{number} were closed: their totals are public."


def _spent(content: Mapping[str, Any], cycle: str) -> str:
    """What a plan costs, and for what; and what its level does not protect, for which nothing is counted."""
    names = {"pattern": f"a shift of the usual {cycle}", "strong": f"any one reported {cycle}"}
    costs = [f"{_loss(content[cap])} for {name}" for cap, name in names.items() if _loss(content[cap])]
    uncounted = LEVELS[content["level"]].uncounted.format(cycle=cycle)
    return "; ".join([", ".join(costs), *([uncounted] if uncounted else [])])


def _loss(loss: Mapping[str, str]) -> str:
    parts = [f"{lead}{loss[name]}" for name, lead in (("epsilon", ""), ("zcdp", "zCDP ")) if loss[name] != "0"]
    return " + ".join(parts)


WORDS: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "created": lambda content, cycle: (
        "The store was made; until the caps are raised, its plans together may cost a household "
        f"{_caps(content, cycle)}. Many {cycle}s together lose more."
    ),
    "settled": _settled,
    "calendar": _closed,
    "started": _started,
    "begins": lambda content, _: (
        f"Plan {content['plan']} had reported nothing yet, and reports from step {content['step']} on."
    ),
    "stopped": lambda content, _: (
        f"Plan {content['plan']} was stopped; it reports nothing from step {content['step']} on."
    ),
    "raised": lambda content, cycle: f"The caps were raised: plans together may now cost {_caps(content, cycle)}.",
    "fenced": lambda content, _: "The store was restored from a backup, behind a fence.",
}
"""What is said of an event, by its kind; and of cycles, as they are called."""
