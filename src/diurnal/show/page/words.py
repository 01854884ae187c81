"""Words: what is said of a plan and its promise, the same on the page and in the service.

A promise is never said in part: what is promised, what it rests on and what it does not protect come together, in
short and whole (theory 6).
"""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache

from diurnal.exact import text
from diurnal.periodicity.periods import in_words
from diurnal.planning.accuracy import kept_share, mechanism_row, nothing_row
from diurnal.planning.plan import Plan
from diurnal.planning.planner import stand_in
from diurnal.promise.guarantee import DELTA, SPANS, Guarantee, up
from diurnal.readings.grid import Grid

BOUNDS = "Every bound comes from public knowledge."
FREE_BOUNDS = "Every bound comes from public knowledge, or from sums that both possibilities share."
UNSEEN = "The plan was not chosen, started or stopped by looking at these readings."
UNSEEN_BUT = (
    "The plan was not chosen, started or stopped by looking at more of these readings than their variations."
)
RESTS = (
    "Both possibilities have the same households, groups and gaps.",
    "All readings are in the declared range.",
    BOUNDS,
    "The true totals are not published elsewhere.",
    "Every plan over these households is in this one store.",
    "No copy of the store reports beside it.",
    "The system's random generator and SHA-256 are sound.",
    UNSEEN,
)
"""What every promise rests on, in short."""


NAMED = {60: "hour", 1440: "day", 10080: "week"}
"""Lengths of time that have a name, in minutes."""


def cycle_word(grid: Grid) -> str:
    """What a cycle is called where it has a name."""
    return NAMED.get(grid.slots * grid.minutes, "cycle")


def profiled(plan: Plan, smallest: int) -> str:
    """What the noisy profile is of, and what is done to it.

    Args:
        plan: Whose profile.
        smallest: The size of the smallest group.
    """
    usual = f"the usual {cycle_word(plan.grid)}"
    what = usual if plan.statistic == "mean" else "what homes used least in each slot of the history"
    share = kept_share(plan, smallest)
    if share is None:
        return f"{what}, as far as bounds and basis leave it,"
    where, whose = "the public reference", "its own"
    if plan.free is not None:
        where, whose = "its reference, public and free", "what was released with noise"
    return (
        f"{what}, as far as bounds and basis leave it and drawn to {where} (of the smallest group {share} of each "
        f"coefficient is {whose}),"
    )


def title(plan: Plan) -> str:
    """What a stream is called: what it reports, and how often."""
    whole = plan.query.title.format(**_told(plan))
    each = "" if plan.groups is None else ", by group"
    return f"{whole[0].upper()}{whole[1:]}{each}, every {_every(plan.grid)}"


def reported(plan: Plan) -> str:
    """What is reported, for everybody; and as the plan has it."""
    what = plan.query.reported.format(**_told(plan))
    each = "" if plan.groups is None else f" for each group of {plan.groups!r}"
    often = f"There is one{each} every {_every(plan.grid)}, with noise."
    return f"A report is {what}. {often} (In the plan: {plan.query.sentence()}.)"


def _every(grid: Grid) -> str:
    return NAMED.get(grid.minutes) or in_words(1, grid.minutes)


def _told(plan: Plan) -> dict[str, str]:
    """What titles and sentences are filled with."""
    return {
        "channel": plan.channel,
        "span": in_words(1, plan.grid.minutes),
        "unit": plan.grid.unit,
        "group": "" if plan.groups is None else " of a group",
        **{name: f"{value:,}" for name, value in plan.query.to_json().items() if isinstance(value, int)},
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
    share = kept_share(plan, n)
    rest = "public" if plan.free is None else "public knowledge, and what their sums of variations give away"
    drawn = {} if share is None else {"of the usual cycle, released with noise": f"{share}; the rest is {rest}"}
    return {
        f"predicted error of {whose}": f"{own.said()} {unit}{more}",
        "error of publishing nothing": f"{nothing.said()} {unit}",
        **drawn,
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
    level, guarantee = plan.protection, plan.guarantee()
    allows = "epsilon and delta allow" if guarantee.has_delta else "epsilon allows"
    told = {"cycle": cycle_word(plan.grid), "larger": larger(guarantee), "allows": allows}
    unprotected = level.unprotected
    if level.noisy_variations and guarantee.history is None:
        unprotected = (*unprotected, "A change in one {cycle} of the history has no bound of its own.")
    if level.noisy_variations and guarantee.history is not None:
        numbers = guarantee.numbers()
        unprotected = (
            *unprotected,
            "A change in one {cycle} of the history costs, by this plan's reports alone, up to "
            f"{numbers['history_epsilon_at_horizon']} over {numbers['horizon']} reported {{cycle}}s"
            f"{'' if guarantee.delta is None else f' (at delta {text(guarantee.delta)})'}.",
        )
    rests = {BOUNDS: FREE_BOUNDS} if guarantee.free else {}
    if level.exact_variations:
        rests[UNSEEN] = UNSEEN_BUT
    if guarantee.free:
        unprotected = (*unprotected, "One low value of each slot, rounded, is given away.")
    if guarantee.has_delta:
        unprotected = (
            *unprotected,
            "Delta is slack: the probability of any conclusion may grow by that much more.",
        )
    return {
        "promised": [level.promised.format(**told)],
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
        "epsilon": f"for a shift of the usual {cycle}, the same every {cycle}, over all reports",
        "cycle_epsilon": f"for any one reported {cycle}",
    }
    about = {"epsilon": "this shift", "cycle_epsilon": f"that {cycle}"}
    more = {"cycle_epsilon": f". Where {cycle}s are related, as in an absence, other {cycle}s reveal more"}
    found = []
    for name, what in named.items():
        if numbers[name] is not None:
            loose = numbers["zcdp" if name == "epsilon" else "cycle_zcdp"]
            delta = f", plus a delta of {numbers['delta']}" if loose else ""
            # With a delta there is nothing that odds become at most.
            whose = f"for an observer who knows everything else, even odds about {about[name]}"
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
    """The guarantee's sentences in its own order, each part with its name first."""
    return [[kind, *said] for kind, said in guarantee.parts().items()]
