"""Words: what is said of a plan and its promise, the same on the page and in the service.

A promise is never said in part: what is promised, what it rests on and what it does not protect come together, in
short and whole (theory 6).
"""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache
from itertools import groupby

from diurnal.check.periods import in_words
from diurnal.planning.accuracy import mechanism_row, nothing_row
from diurnal.planning.plan import Plan
from diurnal.planning.prediction import short
from diurnal.promise.guarantee import Guarantee, Level
from diurnal.readings.grid import Grid

PROMISED: dict[Level, str] = {
    "pattern": "Whoever sees all these reports, for ever, can hardly tell one usual {cycle} of a household, its "
    "periodic component, from another.",
    "strong": "Whoever sees all these reports, for ever, can hardly tell one usual {cycle} of a household from "
    "another, nor what it did differently in any one reported {cycle}.",
    "cycle": "Whoever sees all these reports can hardly tell what a household did in any one {cycle}.",
}
"""What a level promises, in one sentence."""

RESTS = (
    "Both possibilities have the same households, groups and gaps.",
    "All readings lie in the declared range.",
    "Every bound comes from public knowledge.",
    "Nobody publishes the true totals elsewhere.",
    "Every plan over these households is in this one store.",
)
"""What every promise rests on, in short."""

UNPROTECTED: dict[Level, tuple[str, ...]] = {
    "pattern": (
        "How each {cycle} differs from the usual one is published exactly, as a sum.",
        "Where readings cannot be negative, little more than standby load is protected.",
        "Weekends, seasons, an absence or a new tenant show, and no epsilon helps.",
        "One true total that becomes known undoes the noise of its slot for ever.",
        "Who is on the roster is not hidden, nor what bounds clip.",
    ),
    "strong": (
        "A change in many {cycle}s together, such as an absence, a new tenant or a way of life, costs that many "
        "times as much.",
        "Weekends and seasons are protected one {cycle} at a time.",
        "What bounds clip of a household is in no stated error.",
        "Who is on the roster is not hidden.",
        "Households that change together cost as many times as much.",
    ),
    "cycle": (
        "A usual {cycle} is there in every {cycle}, and is not protected.",
        "A change in many {cycle}s together costs that many times as much.",
        "Who is on the roster is not hidden.",
        "Households that change together cost as many times as much.",
    ),
}
"""What a level does not protect, at no less length."""

NOISE: dict[Level, str] = {
    "pattern": "The noise of a slot is the same in every {cycle}: it does not average out.",
    "strong": "A part of the noise is the same in every {cycle}, and a part is fresh: only that averages out.",
    "cycle": "The noise is fresh in every {cycle}.",
}
"""How the noise of a level comes again."""


def cycle_word(grid: Grid) -> str:
    """What a cycle is called where it has a name."""
    words = in_words(grid.slots, grid.minutes)
    return words.removeprefix("1 ") if words in ("1 day", "1 week", "1 hour") else "cycle"


TITLES = {
    "mean": "{channel} of the average home",
    "sum": "{channel} of all homes together",
    "weighted": "{channel} of the homes, weighted",
    "share": "share of homes with {channel} above {above} {unit}",
    "histogram": "homes by their {channel}",
}
"""What a query is called, by its kind."""

REPORTED = {
    "mean": "the {channel} of the average home in {span}, in {unit}: that of all homes{group} together, divided by "
    "how many homes there are",
    "sum": "the {channel} of all homes{group} together in {span}, in {unit}",
    "weighted": "a weighted sum of the {channel} of all homes{group} in {span}, in {unit}",
    "share": "the share of homes{group} whose {channel} in {span} is above {above} {unit}: 0.25 is a quarter",
    "histogram": "how many homes{group} have a {channel} in {span} that lies in each of {bins} bins, in {unit}",
}
"""What a report is, for who has never heard of it, by the kind of the query."""


def title(plan: Plan) -> str:
    """What a stream is called: what it reports, and how often."""
    whole = TITLES[plan.query.kind].format(**_told(plan))
    each = "" if plan.groups is None else ", by group"
    return f"{whole[0].upper()}{whole[1:]}{each}, every {_every(plan.grid)}"


def reported(plan: Plan) -> str:
    """What is reported, for everybody; and as the plan has it."""
    what = REPORTED[plan.query.kind].format(**_told(plan))
    each = "" if plan.groups is None else f" for each group of {plan.groups!r}"
    often = f"There is one{each} every {_every(plan.grid)}, with noise."
    return f"A report is {what}. {often} (In the plan: {plan.query.sentence()}.)"


def _every(grid: Grid) -> str:
    return in_words(1, grid.minutes).removeprefix("1 ")


def _told(plan: Plan) -> dict[str, str]:
    """What titles and sentences are filled with."""
    return {
        "channel": plan.channel,
        "span": in_words(1, plan.grid.minutes),
        "unit": plan.grid.unit,
        "group": "" if plan.groups is None else " of a group",
        "above": f"{getattr(plan.query, 'above', 0):,}",
        "bins": f"{len(plan.query.series)}",
    }


@lru_cache(maxsize=64)
def errors(plan: Plan, sizes: tuple[int, ...]) -> dict[str, str]:
    """How large a report's error is predicted to be, and that of publishing nothing: from public facts alone.

    Args:
        plan: Whose reports, with its mechanisms named.
        sizes: How many households each group has; said is of the smallest.
    """
    n, unit = min(sizes), plan.query.unit(plan.grid.unit)
    own, nothing = mechanism_row(plan, n, None, None), nothing_row(plan, n)
    whose = "a report" if len(sizes) == 1 else "a report, smallest group"
    # What is known to be dropped is in the number; what is not is said beside it.
    more = f"; {own.note}" if own.note else ""
    least = "" if own.bias is not None else "at least "
    most = "at most " if nothing.note.startswith("at most") else ""
    return {
        f"predicted error of {whose}": f"{least}{short(own.errors.step)} {unit}{more}",
        "error of publishing nothing": f"{most}{short(nothing.errors.step)} {unit}",
    }


def day(moment: datetime) -> str:
    """A date as a person writes it."""
    return f"{moment.day} {moment:%B %Y}"


def in_short(plan: Plan, *more: str) -> dict[str, list[str]]:
    """The promise, what it rests on and what it leaves out, in short.

    Args:
        plan: Whose promise.
        more: What else is not protected.
    """
    level, cycle = plan.level, cycle_word(plan.grid)
    unprotected = UNPROTECTED[level]
    if level == "strong" and plan.guarantee().history is None:
        unprotected = (*unprotected, "A change in one {cycle} of the history is not covered.")
    return {
        "promised": [PROMISED[level].format(cycle=cycle)],
        "rests": list(RESTS),
        "not": [*(said.format(cycle=cycle) for said in unprotected), *more],
    }


def epsilons(plan: Plan) -> list[dict[str, str]]:
    """The numbers of the promise, each with what it is for."""
    numbers, cycle = plan.guarantee().numbers(), cycle_word(plan.grid)
    named = {
        "epsilon": f"for the usual {cycle}, for ever",
        "cycle_epsilon": f"for any one reported {cycle}",
    }
    found = []
    for name, what in named.items():
        if numbers[name] is not None:
            loose = numbers["zcdp" if name == "epsilon" else "cycle_zcdp"]
            delta = f", but for a chance of delta {numbers['delta']}" if loose else ""
            found.append({"value": numbers[name], "what": f"{what}{delta}", "odds": _odds(float(numbers[name]))})
    return found


def _odds(epsilon: float) -> str:
    """What even odds can become."""
    share = 100 / (1 + math.exp(-epsilon))
    places = 0 if share < 99 else 1 if share < 99.9 else 3
    return f"{share:.{places}f} : {100 - share:.{places}f}"


def sentences(guarantee: Guarantee) -> list[list[str]]:
    """The guarantee's sentences in its own order, cut where assumptions and limits begin."""
    kinds = {"Assumed:": "rests", "Not promised:": "not"}
    parts = groupby(
        guarantee.sentences(),
        key=lambda said: next((kind for lead, kind in kinds.items() if said.startswith(lead)), "promised"),
    )
    return [[kind, *said] for kind, said in parts]
