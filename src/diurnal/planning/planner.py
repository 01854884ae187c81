"""Planner: predict, choose and explain a plan, before anything is spent and without touching private data.

Every number here follows from the plan, public sizes and public references. Beside every mechanism stands
what would be had without it: "nothing at all" (a public profile as the report), in pattern mode the public
profile with the exact variations (eps_z = 0), and epsilon split over all reports.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from diurnal.errors import LimitError, PlanError, WorseError
from diurnal.exact import Number, positive, text
from diurnal.planning.accuracy import (
    kept_share,
    known_total,
    mechanism_row,
    nothing_row,
    report_error,
    split_rows,
    unspent_row,
)
from diurnal.planning.bounds import with_public_bounds
from diurnal.planning.plan import Plan
from diurnal.planning.prediction import Prediction, Row, short
from diurnal.planning.public_tables import cycle_bias
from diurnal.planning.reference import check_open
from diurnal.promise.body import Ellipsoid
from diurnal.promise.mechanisms import SLOTS
from diurnal.readings.panel import Panel, Shape
from diurnal.renamed import renamed


def predict(plan: Plan, shape: Shape | Panel, *, open_data: Panel | None = None) -> Prediction:
    """The error of every mechanism before anything is spent, and of doing without any.

    Args:
        plan: What is to be reported and promised; its own mechanisms are among those predicted.
        shape: How large the groups are, and over how many cycles a split budget would be spread; or the panel
            itself, of which nothing else is used.
        open_data: *Public* readings of other households on the same grid, to predict what bounds and bases
            drop. Never the private panel.
    """
    check_open(open_data, shape)
    shape = plan.shape_of(shape)
    n = min(shape.group_sizes)
    wanted = plan.mechanisms
    shown = [pair for pair in _candidates(plan, open_data) if pair[0] in ("basis", pair[-1]) or pair == wanted]
    laplace = mechanism_row(_with(plan, *_first_pair(plan)), n, None, None)
    rows = [mechanism_row(_with(plan, *pair), n, open_data, laplace.std) for pair in shown]
    return Prediction(
        plan=plan,
        n_households=n,
        mechanisms=tuple(sorted(rows, key=lambda row: row.errors.step)),
        without_data=nothing_row(plan, n),
        unspent=unspent_row(plan, n) if plan.protection.exact_variations else None,
        split=split_rows(plan, n, shape.n_cycles * plan.grid.slots),
    )


def worse_than_nothing(plan: Plan, n: int) -> WorseError | None:
    """The error of a plan that is predicted to be worse than publishing nothing at all; None if it is not.

    A report's predicted error, noise and known bias, is held against that of "nothing at all": the public reference
    as the report; without a reference, a guess at the mean reading (a twentieth of the domain); of shares, the same
    part for every bin. All of it follows from the plan and the size of the group.

    Args:
        plan: With its mechanisms named.
        n: The size of the smallest group.
    """
    nothing, error = nothing_row(plan, n), report_error(plan, n)
    if error <= nothing.errors.step:
        return None
    unit = plan.query.unit(plan.grid.unit)
    figures = {"error": short(error), "unit": unit, "nothing": nothing.said(), "note": nothing.note}
    code = "plan-worse-than-nothing-counts" if plan.protection.counts else "plan-worse-than-nothing"
    return WorseError(code, households=n, **figures)


UNLESS = "Starting it is refused unless somebody accepts that (accept_worse=True, --accept-worse)."
"""What follows from being worse than nothing."""


def choose(plan: Plan, shape: Shape | Panel, *, open_data: Panel | None = None) -> Plan:
    """The plan with what it leaves open decided: every mechanism left to `auto`, by predicted error, and W.

    A strong plan that names no bound for variations, or a ball that does not bind, gets half of the domain: noise
    is no larger, and the losses of its layers add up plainly (theory 3). A biased mechanism is chosen only where a
    public reference says how large the bias is: the plan's reference for profiles, open data for the variations of
    a cycle.
    """
    check_open(open_data, shape)
    wanted = plan.mechanisms
    if "auto" not in wanted:
        return bounded(plan)
    n = min(plan.shape_of(shape).group_sizes)
    best: tuple[float, Plan] | None = None
    for pair in _candidates(plan, open_data):
        candidate = _with(plan, *pair)
        if not _keeps(plan, candidate, wanted, pair):
            continue
        error = mechanism_row(candidate, n, open_data, None).errors.step
        if best is None or error < best[0]:
            best = (error, candidate)
    if best is None:
        raise PlanError("planner-no-mechanism")
    return bounded(best[1])


def bounded(plan: Plan) -> Plan:
    """The plan with a W that is half of the domain where nothing else bounds a cycle's variations."""
    return plan if plan.clip is not None or plan.stretch == 1 else plan.with_(variation_bound=plan.half)


@renamed(level="mean_reading")
def best_split(
    plan: Plan,
    shape: Shape | Panel,
    total: Number,
    *,
    open_data: Panel | None = None,
    mean_reading: Number | None = None,
) -> Plan:
    """A strong plan whose two epsilons add up to a total, split so that a report's predicted error is least.

    Bounds and mechanisms that the plan leaves open are chosen for each split, bounds from what is publicly known.

    Args:
        plan: A strong plan.
        shape: How large the groups are; or the panel, of which nothing else is used.
        total: eps_z + eps_w.
        open_data: *Public* readings of other households.
        mean_reading: The *public* mean of a reading.

    Raises:
        PlanError: The plan is not strong.
    """
    if plan.protection.layers != 2:
        raise PlanError("planner-needs-strong")
    whole = positive(total, "total")
    parts = [whole * Fraction(sixteenth, 16) for sixteenth in range(2, 15)]
    tried = [plan.with_(epsilon=part, cycle_epsilon=whole - part) for part in parts]
    return min(tried, key=lambda each: _error(each, shape, open_data, mean_reading))


@renamed(level="mean_reading")
def epsilon_for(
    plan: Plan,
    shape: Shape | Panel,
    error: Number,
    *,
    open_data: Panel | None = None,
    mean_reading: Number | None = None,
) -> Fraction:
    """The least epsilon (to three digits) at which a report's predicted error is at most `error`.

    Both layers of strong mode get the same epsilon. Bounds and mechanisms that the plan leaves open are chosen for
    each epsilon, bounds from what is publicly known: open data, or the mean of a reading.

    Raises:
        PlanError: The bias alone is larger.
    """
    target = float(positive(error, "error"))

    def error_at(epsilon: Fraction) -> float:
        return _error(plan.with_(epsilon=epsilon, cycle_epsilon=None), shape, open_data, mean_reading)

    low, high = Fraction(1, 10**4), Fraction(10**3)
    if error_at(high) > target:
        raise PlanError("planner-error-unreachable", error=error)
    while high / low > 1 + Fraction(1, 2000):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(10**9)
        low, high = (low, middle) if error_at(middle) <= target else (middle, high)
    return _three_digits_up(high)


def _error(plan: Plan, shape: Shape | Panel, open_data: Panel | None, mean_reading: Number | None) -> float:
    """A report's predicted error with what is left open chosen; infinite where no noise can be drawn."""
    n = min(plan.shape_of(shape).group_sizes)
    try:
        if open_data is not None or mean_reading is not None:
            plan = with_public_bounds(plan, shape, open_data=open_data, mean_reading=mean_reading)
        chosen = choose(plan, shape, open_data=open_data)
        return mechanism_row(chosen, n, open_data, None).errors.step
    except LimitError:
        return math.inf


def explain(plan: Plan, shape: Shape | Panel, *, open_data: Panel | None = None) -> list[str]:
    """The plan in plain sentences that a privacy officer can sign, one after the other; see `numbered`."""
    chosen = choose(plan, shape, open_data=open_data)
    prediction = predict(chosen, shape, open_data=open_data)
    row = prediction.row(chosen.mechanisms_text)
    unit = chosen.query.unit(chosen.grid.unit)
    groups = f"for each group of {chosen.groups!r}" if chosen.groups else "for the whole roster"
    said = [
        f"Reported is {chosen.query.sentence()}, {groups}, every {chosen.grid.minutes} minutes of "
        f"{chosen.channel} in {unit}, without end.",
        f"The mechanism is {row.name} ({row.promise}; see {'4 and 5' if chosen.protection.layers == 2 else '4'}); "
        + (f"profiles come from {chosen.history} cycles of history." if chosen.history else "no profile is made."),
        when_out(chosen),
        *chosen.guarantee().sentences(),
        _error_sentence(chosen, row, prediction, unit),
        _drawn_sentence(chosen, prediction.n_households),
        _largest_sentence(chosen, row, max(chosen.shape_of(shape).group_sizes), open_data, unit),
        _why_sentence(row, prediction, unit),
        _history_sentence(chosen),
        _known_total_sentence(chosen, prediction.n_households, unit),
        *prediction.warnings(row),
    ]
    if worse_than_nothing(chosen, prediction.n_households) is not None:
        said.append(UNLESS)
    if chosen.protection.exact_variations:
        said.append(_small_sentence(chosen, prediction.n_households))
    return [sentence for sentence in said if sentence]


def when_out(plan: Plan) -> str:
    """When rows come out, in a sentence: the same wherever a plan is spoken of. It is no part of the promise.

    Raises:
        PlanError: A mechanism is still `auto`: choose first.
    """
    slots, cycle = plan.grid.slots, plan.cycle_layer()
    length = 1 if cycle is None else cycle.ready(0) + 1
    if length == 1:
        said = "Rows come out step by step, each step's with its readings"
    elif length < slots:
        said = f"Rows of a block come out together, with the readings of its last step: every {length} steps"
    else:
        said = f"Rows of a cycle come out together, with the readings of its last step: every {slots} steps"
    waits = f", or up to {plan.grace} steps later where readings are missing" if plan.grace else ""
    deadline = plan.grid.slots_in(days=2) if plan.deadline is None else plan.deadline
    waits += f", and {deadline} steps later at the latest"
    sooner = ""
    if length == slots > 1 and plan.protection.noisy_variations:
        sooner = (
            " The cycle mechanism blocks gives them sooner, usually with a larger error; a change in many cycles "
            "then costs more."
        )
    return f"{said}{waits}.{sooner}"


def numbered(sentences: Sequence[str]) -> str:
    """Sentences as a numbered list."""
    return "\n".join(f"{i}. {sentence}" for i, sentence in enumerate(sentences, start=1))


def _keeps(plan: Plan, candidate: Plan, wanted: Sequence[str], pair: Sequence[str]) -> bool:
    """Whether a candidate leaves what the user named, and the user's bounds, as they are."""
    named = all(asked in ("auto", given) for asked, given in zip(wanted, pair, strict=True))
    return named and (candidate.body, candidate.variation_bound) == (plan.body, plan.variation_bound)


def _first_pair(plan: Plan) -> tuple[str, ...]:
    return ("laplace",) * len(plan.mechanisms)


def _candidates(plan: Plan, open_data: Panel | None) -> Iterator[tuple[str, ...]]:
    """Names of mechanisms that the plan could use: one, or one for each layer of strong mode.

    A biased one is among them where the user named it for that layer, or where its bias is known: for profiles
    from a reference or open data, for a cycle's variations from open data.
    """
    wanted = plan.mechanisms
    slot_names = [name for name, kind in SLOTS.items() if plan.delta is not None or not kind.needs_delta]
    if not plan.protection.learns:
        yield from ((name,) for name in slot_names)
        return
    tried = plan.protection.noisy_variations and cycle_bias(plan.with_(cycle_mechanism="basis")) is not None
    known = [
        (plan.reference is not None or open_data is not None) and plan.basis.fits(plan.grid.slots),
        (open_data is not None or tried) and plan.cycle_basis.fits(plan.grid.slots),
    ]
    layers = [
        # Blocks come at another time of the day than the others: they are for who asks for them.
        [*slot_names, *["basis"] * (asked == "basis" or bias_known), *["blocks"] * (asked == "blocks")]
        for asked, bias_known in zip(wanted, known, strict=False)
    ]
    yield from itertools.product(*layers)


def _with(plan: Plan, *names: str) -> Plan:
    """The plan with these mechanisms, and with the domain for a body where theirs would not fit."""
    changes: dict[str, Any] = {"mechanism": names[0]}
    if names[0] != "basis" and isinstance(plan.body, Ellipsoid):
        changes |= {"body": None, "fill": 0, "shrink": False, "free": None}
    if plan.protection.noisy_variations:
        changes["cycle_mechanism"] = names[1]
        if names[1] not in ("basis", "blocks") and isinstance(plan.variation_bound, Ellipsoid):
            changes["variation_bound"] = None
    return plan.with_(**changes)


def _error_sentence(plan: Plan, row: Row, prediction: Prediction, unit: str) -> str:
    beside = prediction.without_data
    left_out = (
        "dropped" if kept_share(plan, prediction.n_households) is None else "dropped or drawn to the reference"
    )
    bias = (
        # What bounds clip may be much, where the note says that it is not known.
        ("noise alone" if row.note else "nothing is dropped")
        if not row.bias
        else f"noise {short(row.std)} and what is {left_out} {short(row.bias)}, squares adding up"
    )
    if row.note:
        bias = f"{bias}; {row.note}" if row.bias is not None else row.note
    whose = f", for a group of {prediction.n_households:,} households, the smallest," if plan.groups else ""
    return (
        f"A report's predicted error{whose} is {row.said()} {unit} ({bias}); that of a day's total "
        f"{row.said('day')}, of a year's {row.said('year')}. Nothing at all would have {beside.said()} "
        f"({beside.note}).{_whose(plan)} {missing(plan)} All of these are predicted, not promised: actual errors "
        "can be several times as large."
    )


def _drawn_sentence(plan: Plan, n: int) -> str:
    """How much of the usual cycle in reports is the households' own."""
    share = kept_share(plan, n)
    if share is None:
        return ""
    where, whose = "the public reference", "their own"
    if plan.free is not None:
        where = "its reference, which is made of the public one and of these homes' sums of variations"
        whose = "what was released with noise"
    return (
        f"What is released of the usual cycle is drawn to {where}, the more so the fewer households there are: of "
        f"a group of {n:,} households, the smallest, {share} of each coefficient is {whose}."
    )


def _largest_sentence(plan: Plan, row: Row, n: int, open_data: Panel | None, unit: str) -> str:
    """What a larger group's error is, where that is larger: of a sum, more is dropped the more homes there are."""
    largest = mechanism_row(plan, n, open_data, None)
    if largest.errors.step <= row.errors.step:
        return ""
    return f"For a group of {n:,} households, the largest, the predicted error is {largest.said()} {unit}."


def missing(plan: Plan) -> str:
    """What missing readings count as, in sentences: the same wherever an error is stated."""
    if plan.query.counting:
        return "A home whose reading is missing counts as one in no bin; what that does is in no stated error."
    return (
        f"A missing reading counts as {stand_in(plan)}. A home with fewer than {plan.k_min} readings of a slot in "
        f"the history counts there as {plan.default_reading} {plan.grid.unit}, put into the bounds, as long as the "
        "plan reports, whatever it sends. What either does is in no stated error."
    )


def stand_in(plan: Plan) -> str:
    """What a missing reading of a home with a profile counts as."""
    if plan.statistic == "base-load":
        return "the home's least reading of that slot in the history, put into the bounds"
    return "the home's usual one, put into the bounds"


OTHERS_BOUNDS = (
    "Others that this plan's bounds do not fit are reckoned with the whole domain: with bounds of their own they "
    "might be about as good."
)
"""What other mechanisms are compared with."""


def _why_sentence(row: Row, prediction: Prediction, unit: str) -> str:
    """Why this one: what the next best would have had."""
    others = [each for each in prediction.mechanisms if each.name != row.name]
    if not others:
        return ""
    best = min(others, key=lambda each: each.errors.step)
    beside = f" {OTHERS_BOUNDS}" if prediction.plan.bounded else ""
    if row.bias is None:
        return (
            f"It cannot be held against the {len(others)} other ways to add noise: what it drops is not known. Of "
            f"those {best.name} has the least predicted error of a report, {best.said()} {unit}.{beside}"
        )
    words = "least" if row.errors.step <= best.errors.step else "not the least"
    return (
        f"Of {len(prediction.mechanisms)} ways to add noise it has {words} predicted error of a report; of the "
        f"others {best.name} has the least, {best.said()} {unit}.{beside}"
    )


def _history_sentence(plan: Plan) -> str:
    """What a longer history would bring."""
    days = plan.history * plan.grid.slots * plan.grid.minutes // (24 * 60)
    if not plan.protection.learns or days >= 300:
        return ""
    return (
        f"{days} days of history hold few seasons, and no predicted error has what other seasons do: errors grow "
        "as they come, less so where profiles are from a year (docs/accuracy-figures.md)."
    )


def _known_total_sentence(plan: Plan, n: int, unit: str) -> str:
    """What one known total would give away."""
    found = known_total(plan, n)
    if found is None:
        return ""
    unknown, slot, beside = map(short, found)
    next_slot = f", and to {beside} in the report of the next slot" if beside != unknown else ""
    return (
        f"For whoever knows the true total of one reported step, noise falls from {unknown} to {slot} {unit} in "
        f"other cycles' reports of that slot{next_slot} (root mean square over the slots: single ones may keep far "
        "less): put steps whose totals become public on the calendar before they are reported."
    )


def _whose(plan: Plan) -> str:
    if plan.reference is None:
        return ""
    off = float(plan.reference.mismatch or 0) * plan.grid.slots / max(1, sum(map(abs, plan.reference.profile)))
    return f" Predicted is for homes that are like the public reference's to within {off:.0%} of their level."


def _small_sentence(plan: Plan, n: int) -> str:
    if n * plan.eps_z >= 100:
        return ""
    return (
        f"With {n} households and epsilon {text(plan.eps_z)} no release of the mean profile has beaten eps_z = 0 "
        "on real readings (theory 5.1): do not trust a predicted gain."
    )


def _three_digits_up(value: Fraction) -> Fraction:
    places = 2 - math.floor(math.log10(value))
    factor = Fraction(10) ** places
    return Fraction(math.ceil(value * factor)) / factor
