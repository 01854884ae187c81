"""Accuracy: what noise and bias do to a report and to totals of reports, from public numbers alone.

The noise of the pattern layer comes again in every cycle, that of the cycle layer is fresh: a year's total
carries the first 365 times and the second as its square root. Bias is what bounds and bases drop; it is
predicted from a public reference or from open data, never from the private panel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from diurnal.errors import PlanError
from diurnal.exact import instance, text
from diurnal.planning.constants import BASE_LOAD
from diurnal.planning.plan import Plan
from diurnal.planning.prediction import SPANS, Clipping, Errors, Row
from diurnal.planning.public_tables import cycle_bias, free_share, pattern_bias
from diurnal.promise.budget import zcdp_for
from diurnal.promise.mechanisms import Mechanism, SlotMechanism
from diurnal.promise.query import Sum, Weighted
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers
from diurnal.readings.panel import Panel

SPLIT_DELTA = Fraction(1, 10**6)
"""The delta of the split Gaussian baseline where the plan has none."""

USUAL = Fraction(1, 20)
"""The mean reading of homes, as a part of the domain, where nobody says more of it.

Measured is the mean over the largest reading of a half hour: 0.048 (226 Australian homes), 0.036 (622 Scottish
homes), 0.028 (what 226 Australian roofs made). A domain is what a meter can read, and no less than the largest
reading, so that this is more than can be expected: noise as large as this is as large as what is reported, or
larger.
"""


def mechanism_row(plan: Plan, n: int, open_data: Panel | None, laplace: float | None) -> Row:
    """A plan's own mechanisms, for a group of n households.

    Args:
        plan: With its mechanisms named.
        n: The size of the group.
        open_data: Public readings that tell what is dropped.
        laplace: The standard deviation of Laplace noise in the same place, to compare with.
    """
    share, denominator = _share(plan, n), plan.query.denominator(n)
    pattern, cycle = _layers(plan, n)
    slots, cells = plan.grid.slots, len(plan.query.series)
    steps = np.eye(slots)
    noise = [_noise_variance(plan, pattern, cycle, row, cells) for row in steps]
    std = math.sqrt(float(np.mean(noise))) / denominator
    deviations = np.sqrt(noise) / denominator
    apart = isinstance(pattern if cycle is None else cycle, SlotMechanism)
    bias = _Bias.of(plan, pattern, cycle, open_data, share)
    totals = {
        name: math.hypot(
            math.sqrt(_span_variance(plan, pattern, cycle, days, cells)) / denominator,
            bias.of_total(plan.grid.slots_in(days=days)),
        )
        for name, days in SPANS
    }
    return Row(
        name=plan.mechanisms_text,
        promise=plan.guarantee().brief,
        std=std,
        bias=bias.rms if bias.known else None,
        errors=Errors(
            step=math.hypot(std, bias.rms),
            peak=math.hypot(_peak(plan, deviations, share, apart=apart), bias.rms),
            **totals,
        ),
        relative_to_laplace=std / laplace if laplace else None,
        clipping=clipping(plan, open_data) if bias.known else "nothing",
        note=_bias_note(plan, n, bias.known, open_data),
    )


def report_error(plan: Plan, n: int) -> float:
    """The predicted error of a report, from the plan and the size of a group: noise, and bias where it is known.

    Args:
        plan: With its mechanisms named.
        n: The size of the group.
    """
    pattern, cycle = _layers(plan, n)
    std = math.sqrt(_mean_variance(plan, pattern, None) + _mean_variance(plan, None, cycle))
    bias = _Bias.of(plan, pattern, cycle, None, _share(plan, n)).rms
    return math.hypot(std / plan.query.denominator(n), bias)


def kept_share(plan: Plan, n: int) -> str | None:
    """How much of each released coefficient of the usual cycle is reported, in words; None if all of it is.

    Args:
        plan: With its mechanisms named.
        n: The size of the group.
    """
    pattern = _layers(plan, n)[0]
    if pattern is None or pattern.kept == (1.0, 1.0):
        return None
    low, high = (f"{100 * share:.2g} %" for share in pattern.kept)
    return low if low == high else f"{low} to {high}"


def _mean_variance(plan: Plan, pattern: Mechanism | None, cycle: Mechanism | None) -> float:
    """The variance of the noise of one layer in a slot, in the mean over the slots."""
    slots, cells = plan.grid.slots, len(plan.query.series)
    if all(layer is None or isinstance(layer, SlotMechanism) for layer in (pattern, cycle)):
        # The noise of one slot tells nothing of another's: variances add up. A year has too many slots to ask each.
        return _noise_variance(plan, pattern, cycle, np.ones(slots), cells) / slots
    return float(np.mean([_noise_variance(plan, pattern, cycle, row, cells) for row in np.eye(slots)]))


class KnownTotal(NamedTuple):
    """The deviation of a report's noise, for everybody and for who knows one true total (theory 6.3)."""

    unknown: float
    """For everybody."""
    slot: float
    """For who knows it, in reports of the same slot in other cycles."""
    beside: float
    """For who knows it, in the report of the next slot of the same cycle."""


def known_total(plan: Plan, n: int) -> KnownTotal | None:
    """What one known total gives away of the noise of other reports, root mean square over the slots.

    It tells the noise of its step: in pattern mode that of the slot for ever, in strong mode the part that repeats,
    but for one draw of the part that does not; and where coefficients are released, slots beside each other have
    most of their noise in common. None at level `cycle`, where nothing repeats.

    Args:
        plan: With its mechanisms named.
        n: The size of the group.
    """
    denominator = plan.query.denominator(n)
    pattern, cycle = _layers(plan, n)
    if pattern is None:
        return None
    slots = np.eye(plan.grid.slots)
    pairs = slots + np.roll(slots, 1, axis=1)

    def variances(rows: Floats, *layers: Mechanism | None) -> Floats:
        return np.array([sum(layer.variance(row) for layer in layers if layer is not None) for row in rows])

    repeats, all_of_it = variances(slots, pattern), variances(slots, pattern, cycle)
    beside = np.roll(all_of_it, -1)
    shared = (variances(pairs, pattern, cycle) - all_of_it - beside) / 2
    known = np.where(all_of_it > 0, all_of_it, 1)
    left = [all_of_it, all_of_it - repeats**2 / known, beside - shared**2 / known]
    # Where all of the noise is given away, what is left of it is what floats could not take off.
    left = [np.where(each > 1e-9 * all_of_it, each, 0.0) for each in left]
    return KnownTotal(*(math.sqrt(float(np.mean(each))) / denominator for each in left))


def _peak(plan: Plan, deviations: Floats, share: float, *, apart: bool) -> float:
    """What noise does to a cycle's largest report, for a mean cycle like the public one.

    Args:
        plan: With a reference, or a flat cycle is thought of.
        deviations: Of the noise in each slot.
        share: What the query makes of a household's mean value.
        apart: Whether each slot has noise of its own: the largest of many is larger than any of them.
    """
    slots = plan.grid.slots
    usual = np.zeros(slots) if plan.reference is None else share * np.array(plan.reference.profile, dtype=float)
    top = int(np.argmax(usual))
    if not apart:
        return float(deviations[top])
    # The largest of independent normal values is below x with the product of their chances.
    spread = np.maximum(deviations, 1e-9 * (1 + abs(usual[top])))
    reach = 6 * float(spread.max())
    edges = np.linspace(usual[top] - reach, usual[top] + reach, 400)
    below = np.ones_like(edges)
    for middle, deviation in zip(usual, spread, strict=True):
        below *= 0.5 * (1 + _erf((edges - middle) / (math.sqrt(2) * deviation)))
    middles = (edges[1:] + edges[:-1]) / 2 - usual[top]
    return math.sqrt(float(np.sum(middles**2 * np.diff(below))))


_erf = np.vectorize(math.erf, otypes=[float])


def _bias_note(plan: Plan, n: int, known: bool, open_data: Panel | None) -> str:
    if not known:
        missing = "a public reference" if plan.reference is None else "open data"
        return f"what is dropped is not known without {missing}"
    source = clipping(plan, open_data)
    return CLIPPED[source] + (SMALL if source == "table" and n < FEWEST else "")


FEWEST = 46
"""The smallest population that the table of constants was found on."""
SMALL = (
    f", {FEWEST} and more together; fewer differ from all others by their own ways, and err more: expect about "
    "twice as much of a handful"
)
"""What a table does not know of a small group."""


CLIPPED: Mapping[Clipping, str] = {
    "nothing": "",
    "open data": "",
    "table": "what bounds clip is as it was on homes of two other regions and of a made-up town",
    "unknown": "what bounds clip is not known without open data",
}
"""What is to be known of what bounds clip, beside an error."""


def clipping(plan: Plan, open_data: Panel | None) -> Clipping:
    """From where it is known how much of these homes bounds clip.

    Args:
        plan: With its mechanisms named.
        open_data: Public readings, if there are any.
    """
    if not plan.bounded:
        return "nothing"
    if pattern_bias(plan) is not None or cycle_bias(plan) is not None:
        # What was found on several regions' homes counts more than what one of them says: see `_Bias.of`.
        return "table"
    return "unknown" if open_data is None else "open data"


def _noise_variance(
    plan: Plan, pattern: Mechanism | None, cycle: Mechanism | None, direction: Floats, cells: int
) -> float:
    variance = 0.0
    if pattern is not None:
        variance += pattern.variance(direction)
    if cycle is not None:
        variance += cycle.variance(np.repeat(direction, cells) * _first_cells(plan, cells))
    return variance


def _span_variance(plan: Plan, pattern: Mechanism | None, cycle: Mechanism | None, days: int, cells: int) -> float:
    """The variance of a total: the pattern's noise repeats in every cycle, the cycle's is fresh."""
    whole, rest = divmod(plan.grid.slots_in(days=days), plan.grid.slots)
    ones = np.ones(plan.grid.slots)
    part = (np.arange(plan.grid.slots) < rest).astype(float)
    variance = _noise_variance(plan, pattern, None, whole * ones + part, cells)
    variance += whole * _noise_variance(plan, None, cycle, ones, cells)
    return variance + _noise_variance(plan, None, cycle, part, cells)


def _first_cells(plan: Plan, cells: int) -> Floats:
    """Picks one of a histogram's bins in every slot."""
    picked: Floats = (np.arange(plan.grid.slots * cells) % cells == 0).astype(float)
    return picked


class _Bias:
    """What bounds and bases drop of a report, from public references."""

    def __init__(self, pattern: Floats, cycle: Floats | None, *, known: bool) -> None:
        self._pattern, self._cycle, self.known = pattern, cycle, known
        varying = 0.0 if cycle is None else float(np.nanmean(cycle**2))
        self.rms = math.sqrt(float(np.mean(pattern**2)) + varying)

    @classmethod
    def of(
        cls,
        plan: Plan,
        pattern: Mechanism | None,
        cycle: Mechanism | None,
        open_data: Panel | None,
        share: float,
    ) -> _Bias:
        dropped, varying = np.zeros(plan.grid.slots), None
        if open_data is not None:
            dropped, varying = _open_bias(plan, pattern, cycle, open_data, share)
        elif pattern is not None and plan.reference is not None:
            # The reference says nothing of how far the homes are from it, which is where reports are drawn to.
            dropped = share * np.hypot(
                _dropped(pattern, np.array(plan.reference.profile, dtype=np.int64)[:, None]), pattern.drawn
            )
        # What was found on several regions' homes counts more than what one of them says.
        tried, tried_cycle = pattern_bias(plan), cycle_bias(plan)
        if tried is not None:
            # As if all of it had one sign: totals are not promised to be better.
            dropped = np.full(plan.grid.slots, share * math.hypot(tried, 0.0 if pattern is None else pattern.drawn))
        if tried_cycle is not None:
            varying = np.full(plan.grid.slots, share * tried_cycle)
        unknown = (pattern is not None and pattern.biased and plan.reference is None) or (
            cycle is not None and cycle.biased and varying is None
        )
        return cls(dropped, varying, known=open_data is not None or not unknown)

    def of_total(self, steps: int) -> float:
        """Of a total over so many steps, as if all of it had one sign, and came again in every cycle."""
        whole, rest = divmod(steps, len(self._pattern))
        pattern = np.abs(self._pattern)
        fixed = whole * float(pattern.sum()) + float(pattern[:rest].sum())
        if self._cycle is None:
            return fixed
        cycles = np.abs(self._cycle).reshape(-1, len(self._pattern))
        varying = [float(np.nanmean(part.sum(axis=1) ** 2)) for part in (cycles, cycles[:, :rest])]
        return math.hypot(fixed, whole * math.sqrt(varying[0]), math.sqrt(varying[1]))


def _open_bias(
    plan: Plan, pattern: Mechanism | None, cycle: Mechanism | None, panel: Panel, share: float
) -> tuple[Floats, Floats | None]:
    """What the layers drop of public households: of their profiles, and of every cycle's variations."""
    instance(panel, Panel, "open_data", example="Panel.from_array(readings)")
    slots = plan.grid.slots
    if panel.grid.slots != slots or panel.n_cycles < 1:
        raise PlanError("open-data-short", slots=slots)
    whole = panel.first(panel.n_cycles)
    readings = _as_others(whole.readings, plan)
    profile, known = kernels.profiles(
        readings, whole.present, slots=slots, min_readings=1, statistic=plan.statistic
    )
    dropped = np.zeros(slots) if pattern is None else share * _dropped(pattern, profile)
    if cycle is None or (isinstance(cycle, SlotMechanism) and plan.clip is None):
        return dropped, None
    rows = readings.reshape(-1, slots, whole.n_households)
    marks = whole.present.reshape(rows.shape) & known
    variations = np.where(marks, rows - profile, 0)
    if isinstance(cycle, SlotMechanism):
        clipped = np.clip(variations, -(plan.clip or 0), plan.clip)
        return dropped, share * (clipped - variations).mean(axis=2).reshape(-1)
    return dropped, share * np.concatenate([_dropped(cycle, each) for each in variations])


def _as_others(readings: Integers, plan: Plan) -> Integers:
    """Open readings as those of homes that use more, by as much as two populations are thought to differ.

    The private homes are others than the open ones. Judged on the open ones themselves, the best body around their
    mean would be that mean and nothing around it.
    """
    reference = plan.reference
    if reference is None:
        return readings
    level = max(1, sum(map(abs, reference.profile)))
    more = 1 + Fraction(_mismatch(plan)) * len(reference.profile) / level
    # Few digits, so that no product leaves 64 bits.
    more = min(more, Fraction(100)).limit_denominator(1000)
    return readings * more.numerator // more.denominator


def _mismatch(plan: Plan) -> float:
    """How far the reference is thought to be from the private homes' mean day, with what is taken for free."""
    return 0.0 if plan.reference is None else float(plan.reference.mismatch or 0) * free_share(plan)


def _dropped(layer: Mechanism, vectors: Any) -> Floats:
    """The mean over households of what a mechanism keeps of a vector, less the vector."""
    dropped: Floats = layer.expected(layer.contribute(vectors).mean(axis=1)) - vectors.mean(axis=1)
    return dropped


def _layers(plan: Plan, n: int) -> tuple[Mechanism | None, Mechanism | None]:
    """The layers that a group of n households gets: how much a layer draws towards its prior depends on n."""
    weight, query = _heaviest(plan), plan.query
    total = sum(query.values) if isinstance(query, Weighted) else n
    return plan.pattern_layer(weight, total), plan.cycle_layer(weight)


def _heaviest(plan: Plan) -> int:
    query = plan.query
    return max(map(abs, query.values)) if isinstance(query, Weighted) else 1


def _share(plan: Plan, n: int) -> float:
    """What the query makes of a household's mean value: the mean itself, or n of it for a sum."""
    query = plan.query
    if isinstance(query, Weighted):
        return sum(map(abs, query.values)) / query.over
    return float(n) if isinstance(query, Sum) else 1.0


GUESSED = (
    "the mean reading guessed at a twentieth of the domain, which is more than homes elsewhere use; a public mean "
    "or reference says more"
)
"""What is compared with where nobody says what is publicly known."""


def _usual(plan: Plan) -> float:
    """How far a guess at the mean reading is off, where nothing public is said: by about as much as it is."""
    return float(USUAL * (plan.domain[1] - plan.domain[0]))


def nothing_row(plan: Plan, n: int) -> Row:
    """A public profile as the report: what a plan must beat to be worth anything."""
    share = _share(plan, n)
    if plan.query.counting:
        # The spread of a part where every way to share homes out among the bins is as likely; of two bins 0.29.
        bins = max(2, len(plan.query.series))
        spread = math.sqrt((bins - 1) / (bins + 1)) / bins * n / plan.query.denominator(n)
        note = (
            f"one part in {bins} for every bin as the report, if all ways to share homes out are as likely; where "
            "most homes are in one bin, a constant may be far better than that, and than these reports"
        )
        return _flat_row("nothing at all", spread, plan, note)
    if plan.reference is None:
        return _flat_row("nothing at all", share * _usual(plan), plan, GUESSED)
    spread, mismatch = float(plan.reference.spread or 0), float(plan.reference.mismatch or 0)
    note = "the public reference as the report, no private data used"
    return _flat_row("nothing at all", share * math.hypot(spread, mismatch), plan, note)


def unspent_row(plan: Plan, n: int) -> Row:
    """A public profile with the exact variations: what a pattern plan must beat to be worth its epsilon."""
    share = _share(plan, n)
    note = "a public profile with the exact variations spends no pattern budget (eps_z = 0)"
    if plan.reference is None:
        return _flat_row("eps_z = 0", share * _usual(plan), plan, f"{note}; {GUESSED}")
    if plan.statistic == "base-load":
        level = float(plan.reference.level)
        return _flat_row("eps_z = 0", share * level * BASE_LOAD[0].error, plan, note)
    return _flat_row("eps_z = 0", share * _mismatch(plan), plan, note)


def _flat_row(name: str, error: float, plan: Plan, note: str) -> Row:
    """Errors that may all point the same way, so that those of totals are as many times as large."""
    spans = {span: plan.grid.slots_in(days=days) * error for span, days in SPANS}
    promise = "no private data" if name != "eps_z = 0" else "pattern only, variations exact"
    errors = Errors(step=error, peak=error, **spans)
    return Row(name=name, promise=promise, std=0.0, bias=error, errors=errors, note=note)


def split_rows(plan: Plan, n: int, reports: int) -> tuple[Row, ...]:
    """Epsilon split over every report of the horizon, by Laplace and by Gaussian noise."""
    width, cells = plan.domain[1] - plan.domain[0], 1
    if plan.query.counting:
        # A household that changes leaves one bin and enters another.
        width, cells = 1, min(2, len(plan.query.series))
    reach = _heaviest(plan) * width / plan.query.denominator(n)
    delta = Fraction(plan.delta) if plan.delta is not None else SPLIT_DELTA
    rho = float(zcdp_for(plan.eps_z, delta))
    stds = {
        "split Laplace": math.sqrt(2) * reports * cells * reach / float(plan.eps_z),
        "split Gaussian": math.sqrt(reports * cells / (2 * rho)) * reach,
    }
    return tuple(
        Row(
            name=name,
            promise=f"everything of a household, over {reports:,} reports only"
            + (f", delta {text(delta)}" if "Gaussian" in name else ""),
            std=std,
            bias=0.0,
            errors=Errors(
                step=std,
                peak=_peak(plan, np.full(plan.grid.slots, std), _share(plan, n), apart=True),
                **{span: std * math.sqrt(plan.grid.slots_in(days=days)) for span, days in SPANS},
            ),
            note="and nothing is left after that",
        )
        for name, std in stds.items()
    )
