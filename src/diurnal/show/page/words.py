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
from diurnal.exact import text
from diurnal.planning.accuracy import mechanism_row, nothing_row
from diurnal.planning.plan import Plan
from diurnal.planning.planner import stand_in
from diurnal.promise.guarantee import DELTA, SPANS, Guarantee, Level, up
from diurnal.readings.grid import Grid

PROMISED: dict[Level, str] = {
    "pattern": "Whoever sees all these reports, for ever, can tell only as well as epsilon allows one usual "
    "{cycle} of a household from the same with its readings shifted, slot by slot and alike in every {cycle}.",
    "strong": "Whoever sees all these reports, for ever, can tell only as well as epsilon allows one usual {cycle} "
    "of a household from the same with its readings shifted, slot by slot and alike in every {cycle}; and, "
    "everything else being the same, whether it did one thing or another in any one reported {cycle}.",
    "cycle": "Whoever sees all these reports can tell only as well as epsilon allows, everything else being the "
    "same, whether a household did one thing or another in any one reported {cycle}.",
}
"""What a level promises, in one sentence."""

BOUNDS = "Every bound comes from public knowledge."
FREE_BOUNDS = "Every bound comes from public knowledge, or from sums that both possibilities share."
UNSEEN = "The plan was not chosen, started or stopped by looking at these readings."
UNSEEN_BUT = (
    "The plan was not chosen, started or stopped by looking at more of these readings than their variations."
)
RESTS = (
    "Both possibilities have the same households, groups and gaps.",
    "All readings lie in the declared range.",
    BOUNDS,
    "Nobody publishes the true totals elsewhere.",
    "Every plan over these households is in this one store.",
    "No copy of the store reports beside it.",
    "The system's random generator and SHA-256 are sound.",
    UNSEEN,
)
"""What every promise rests on, in short."""

ROSTER = "Who is on the roster is not hidden, nor which readings are missing or late."
TOGETHER = "Households that change together cost as many times as much, or more."
UNPROTECTED: dict[Level, tuple[str, ...]] = {
    "pattern": (
        "No {cycle} is protected: how each differs from the usual one is published exactly, as a sum.",
        "Where readings cannot be negative, little more than standby load is protected.",
        "Weekends, seasons, an absence or a new tenant show, and no epsilon helps.",
        "One true total that becomes known undoes the noise of its slot for ever, and perhaps most of that of the "
        "slots beside it.",
        "What bounds clip of a household, and what missing readings or too little history of it do, is in no "
        "stated error.",
        ROSTER,
        TOGETHER,
    ),
    "strong": (
        "It is the privacy of a household's reported {cycle}, not of a household or a way of life: {larger}",
        "Weekends, seasons, an absence or a new tenant are protected one {cycle} at a time: other {cycle}s tell.",
        "Where readings cannot be negative, the promise for the usual {cycle} protects little more than standby "
        "load.",
        "One true total that becomes known gives away the noise that repeats in its slot, up to one draw of the "
        "noise that does not, and it may give away most of the noise of the slots beside it.",
        "What bounds clip of a household, and what missing readings or too little history of it do, is in no "
        "stated error.",
        ROSTER,
        TOGETHER,
    ),
    "cycle": (
        "A usual {cycle} is there in every {cycle}, and is not protected.",
        "A home whose reading is missing counts as one in no bin: what that does is in no stated error.",
        "It is the privacy of a household's reported {cycle}, not of a household or a way of life: {larger}",
        ROSTER,
        TOGETHER,
    ),
}
"""What a level does not protect, at no less length."""

NOISE: dict[Level, str] = {
    "pattern": "The noise of a slot is the same in every {cycle}: it does not average out.",
    "strong": "A part of the noise is the same in every {cycle}, and a part is fresh: only that averages out.",
    "cycle": "The noise is fresh in every {cycle}.",
}
"""How the noise of a level comes again."""


APART: dict[Level, str] = {
    "pattern": "Two rows of the same slot carry the same noise: their difference carries none, however much their "
    "bands overlap. It lacks what missing readings, and homes with too little history of that slot, would have "
    "added. Only rows of different slots differ by noise.",
    "strong": "A part of the noise is common to rows of one slot, and most of it may be common to rows beside "
    "each other: differences can be far more exact than the bands suggest. What is clipped or dropped is in no "
    "band.",
    "cycle": "Two rows whose bands overlap may well be equal. Look at many before you say that something has "
    "changed.",
}
"""What two rows tell about a change."""


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
    "how many homes there are; {missing}",
    "sum": "the {channel} of all homes{group} together in {span}, in {unit}; {missing}",
    "weighted": "a weighted sum of the {channel} of all homes{group} in {span}, in {unit}; {missing}",
    "share": "the share of homes{group} whose {channel} in {span} is above {above} {unit}: 0.25 is a quarter, and "
    "a home whose reading is missing counts as not above",
    "histogram": "how many homes{group} have a {channel} in {span} that lies in each of {bins} bins, in {unit}; "
    "one whose reading is missing is in none",
}
"""What a report is, for who has never heard of it, by the kind of the query."""


def profiled(plan: Plan) -> str:
    """What the noisy profile is of."""
    usual = f"the usual {cycle_word(plan.grid)}"
    return usual if plan.statistic == "mean" else "what homes used least in each slot of the history"


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
        "missing": f"a missing reading counts as {stand_in(plan)}",
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
    return {
        f"predicted error of {whose}": f"{own.said()} {unit}{more}",
        "error of publishing nothing": f"{nothing.said()} {unit}",
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
    level, guarantee = plan.level, plan.guarantee()
    told = {"cycle": cycle_word(plan.grid), "larger": larger(guarantee)}
    unprotected = UNPROTECTED[level]
    if level == "strong" and guarantee.history is None:
        unprotected = (*unprotected, "A change in one {cycle} of the history has no bound of its own.")
    if level == "strong" and guarantee.history is not None:
        numbers = guarantee.numbers()
        unprotected = (
            *unprotected,
            "A change in one {cycle} of the history costs, by this plan's reports alone, up to "
            f"{numbers['history_epsilon_at_horizon']} over {numbers['horizon']} reported {{cycle}}s"
            f"{'' if guarantee.delta is None else f' (at delta {text(guarantee.delta)})'}.",
        )
    rests = {BOUNDS: FREE_BOUNDS} if guarantee.free else {}
    if level == "pattern":
        rests[UNSEEN] = UNSEEN_BUT
    if guarantee.free:
        unprotected = (*unprotected, "One low value of each slot, rounded, is given away.")
    return {
        "promised": [PROMISED[level].format(**told)],
        "rests": [rests.get(said, said) for said in RESTS],
        "not": [*(said.format(**told) for said in unprotected), *more],
    }


def larger(guarantee: Guarantee) -> str:
    """What a change over many cycles costs, in short."""
    rows = [row for row in guarantee.curve() if row.changes == "cycles"]
    spans = ", ".join(f"{up(row.epsilon)} over {name}" for name, row in zip(SPANS, rows, strict=False))
    at = text(guarantee.delta or DELTA)
    return (
        f"a change in every cycle costs, by this plan's reports alone, an epsilon of up to {spans} (at delta {at})."
    )


def epsilons(plan: Plan) -> list[dict[str, str]]:
    """The numbers of the promise, each with what it is for."""
    numbers, cycle = plan.guarantee().numbers(), cycle_word(plan.grid)
    named = {
        "epsilon": f"for a shift of the usual {cycle}, the same every {cycle}, for ever",
        "cycle_epsilon": f"for any one reported {cycle}",
    }
    about = {"epsilon": "such a shift", "cycle_epsilon": f"that {cycle}"}
    more = {"cycle_epsilon": f". Where {cycle}s go together, as in an absence, other {cycle}s tell more"}
    found = []
    for name, what in named.items():
        if numbers[name] is not None:
            loose = numbers["zcdp" if name == "epsilon" else "cycle_zcdp"]
            delta = f", plus a delta of {numbers['delta']}" if loose else ""
            # With a delta there is nothing that odds become at most.
            whose = f"for somebody who knows everything else, even odds about {about[name]}"
            odds = "" if loose else f": {whose} become at most {_odds(float(numbers[name]))}"
            told = f"{odds}{more.get(name, '')}"
            found.append({"value": numbers[name], "what": f"{what}{delta}", "odds": told})
    return found


def _odds(epsilon: float) -> str:
    """What even odds can become."""
    exact = 100 / (1 + math.exp(-epsilon))
    places = 0 if exact < 98 else 1 if exact < 99.8 else 3
    share = min(100.0, math.ceil(exact * 10**places) / 10**places)
    return f"{share:.{places}f} : {100 - share:.{places}f}"


def sentences(guarantee: Guarantee) -> list[list[str]]:
    """The guarantee's sentences in its own order, cut where assumptions and limits begin."""
    kinds = {"Assumed:": "rests", "Not promised:": "not"}
    parts = groupby(
        guarantee.sentences(),
        key=lambda said: next((kind for lead, kind in kinds.items() if said.startswith(lead)), "promised"),
    )
    return [[kind, *said] for kind, said in parts]
