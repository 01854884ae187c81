"""Smoothing: what released reports say of each other. Free, since it reads nothing but released rows.

A report of a strong plan is

    y(t) = r(s) + c(s) + weather(t) + own(t) + v_w(t)

    r        a public reference
    c        how far the noisy profile is from it: the same in every cycle. It has the pattern layer's noise in it,
             which no averaging over cycles takes out; what is known of it is its variance
    weather  what homes do together: it comes back to its mean within days, and moves slowly with the seasons
    own      what they do by themselves, which a mean over n of them has by 1/n
    v_w      the cycle layer's noise, drawn for each cycle; its covariance follows from the plan

Taken as Gaussian with known variances, the best estimate of the truth is a conditional mean. A Kalman filter goes
from day to day; within a day rows are taken in the order in which they came out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from diurnal.errors import InputError, PlanError
from diurnal.exact import instance, whole
from diurnal.planning.plan import Plan
from diurnal.planning.reference import Reference
from diurnal.planning.smoothing_model import Day, Model, Noise, backwards, forwards
from diurnal.promise.mechanisms.base import Mechanism, SlotMechanism
from diurnal.promise.query import Sum, Weighted
from diurnal.readings.data import Floats


class Row(Protocol):
    """What is read of a released row: a `Report` has it."""

    @property
    def step(self) -> int: ...
    @property
    def time(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def series(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def exact(self) -> Fraction: ...
    @property
    def denominator(self) -> int: ...
    @property
    def deviation(self) -> float: ...


@dataclass(frozen=True)
class Smoothed:
    """One released row, and what it and others say of the truth."""

    row: Row
    """As it was released."""
    value: float
    """The estimate, in the row's unit."""
    std: float
    """The standard deviation of its error: of the noise that is left, of what was lost by smoothing, and of what a
    basis drops, as far as the reference tells. As with a row's own, bias from clipping is not in it."""

    def to_json(self) -> dict[str, Any]:
        """Plain data, the value as released beside the estimate."""
        names = {name: getattr(self.row, name) for name in ("step", "time", "group", "unit", "plan")}
        return {**names, "released": float(self.row.exact), "value": self.value, "std": self.std}


def smooth(
    reports: Iterable[Row],
    plan: Plan,
    *,
    reference: Reference | None = None,
    households: int | Mapping[str, int] | None = None,
    later: bool = False,
) -> list[Smoothed]:
    """Estimates of the truth behind released rows, and how sure they are. Post-processing: it costs no privacy.

    Nothing is read but the rows, the plan and public knowledge: no reading, and not the noisy profile, which stays
    private in strong mode. Each estimate uses the rows that were out when its own came out (of its slot, block of
    slots or cycle, as the mechanism releases them) and none that came later, so it could be published with it.

    It is for strong plans that report slot by slot or in blocks, where fresh noise is large; at the end of the day
    it brings little. Where the noise is small against the weather the estimate is the report. A smoothed report
    bears more noise, so a wider variation bound suits it: at n*epsilon = 226 1.2 to 2 levels rather than 0.8. A
    reference at half the true level smooths too much: 8 % worse where noise is small.

    In pattern mode the error is the same in every cycle and variations are exact: there is nothing to average, and
    to take the variations for noisy would only lose. Those rows come back as they are. So do rows of whose weather
    nothing is known beforehand (Share and Histogram, generation and net, weights of both signs, periods that are
    not whole days), and those that wait for more than a day.

    Args:
        reports: Released rows of one stream, in any order, with or without gaps. Several groups are apart.
        plan: The stream's plan, `stream.plan`.
        reference: Public knowledge; the plan's unless given. Without any, the first day's rows come back as they
            are and serve for it.
        households: How many a group has, or each of them by name: needed for a Sum, whose rows do not tell.
        later: Use the rows that came later too. Better, for studies afterwards; not to be compared with what was
            known at the time.

    Returns:
        An estimate for each row, in the order of the rows.

    Raises:
        InputError: Rows of another plan, or two rows of one group and step.
        PlanError: A Sum, and nobody says of how many.

    Examples:
        >>> smooth([], Plan(epsilon="1", domain=(0, 8000), history=91))
        []
    """
    instance(plan, Plan, "plan", example="stream.plan")
    rows = list(reports)
    _check(rows, plan)
    cycle = _fresh(plan) if rows else None
    if cycle is None:
        return [_as_it_is(row) for row in rows]
    known = plan.reference if reference is None else reference
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row.group, row.series].append(place)
    found: dict[int, Smoothed] = {}
    for own in places.values():
        own.sort(key=lambda place: rows[place].step)
        mine = [rows[place] for place in own]
        results = _smoothed(mine, plan, cycle, known, households, later=later)
        found.update(zip(own, results, strict=True))
    return [found[place] for place in range(len(rows))]


def _smoothed(
    rows: Sequence[Row],
    plan: Plan,
    cycle: Mechanism,
    reference: Reference | None,
    households: int | Mapping[str, int] | None,
    *,
    later: bool,
) -> list[Smoothed]:
    """The estimates of one group's rows, which are in order."""
    if rows[0].deviation == 0:
        return [_as_it_is(row) for row in rows]
    crowd = _Crowd.of(plan, rows[0], households)
    noise = _noise(plan, crowd, cycle, rows[0])
    return _group(rows, noise, _profile(plan, reference, crowd), crowd.n).estimates(later=later)


def _check(rows: Sequence[Row], plan: Plan) -> None:
    if any(row.plan != plan.hash for row in rows):
        raise InputError("rows-other-plan")
    if len({(row.group, row.series, row.step) for row in rows}) != len(rows):
        raise InputError("rows-repeated")


def _as_it_is(row: Row) -> Smoothed:
    return Smoothed(row, float(row.exact), row.deviation / row.denominator)


def _fresh(plan: Plan) -> Mechanism | None:
    """The layer whose noise can be smoothed away; None where there is none, or the constants do not hold."""
    day, slots = plan.grid.slots_in(days=1), plan.grid.slots
    weights = plan.query.values if isinstance(plan.query, Weighted) else (1,)
    if (
        not plan.protection.noisy_variations
        or plan.channel != "consumption"
        or not day
        or slots % day
        or min(weights) < 0
    ):
        return None
    cycle = plan.cycle_layer()
    within = cycle is not None and all(slot // day == cycle.ready(slot) // day for slot in range(slots))
    return cycle if within else None


class _Crowd(NamedTuple):
    """Whom a group's rows are of."""

    n: float
    """Of how many equal homes: the roster's number, or what unequal weights leave of it."""
    total: int
    """The sum of their weights."""
    share: float
    """What a report is of a home's mean."""

    @classmethod
    def of(cls, plan: Plan, row: Row, households: int | Mapping[str, int] | None) -> _Crowd:
        query = plan.query
        if isinstance(query, Weighted):
            weights = np.array(query.values, dtype=float)
            total = sum(query.values)
            # Which weights a group has the plan does not say: then there is no reference for it.
            share = 0.0 if plan.groups is not None else total / query.over
            return cls(max(1.0, total**2 / max(1.0, float(weights @ weights))), max(1, total), share)
        if not isinstance(query, Sum):
            return cls(row.denominator, row.denominator, 1.0)
        given = households.get(row.group) if isinstance(households, Mapping) else households
        if given is None:
            raise PlanError("group-size-unknown", group=row.group)
        n = whole(given, "households", least=1)
        return cls(n, n, n)


def _profile(plan: Plan, reference: Reference | None, crowd: _Crowd) -> tuple[Floats, float] | None:
    """What the reference says of a report, and how far off it may be."""
    if reference is None:
        return None
    profile = crowd.share * np.array(reference.profile, dtype=float)
    if len(profile) != plan.grid.slots:
        raise PlanError("reference-slots", given=len(profile), slots=plan.grid.slots)
    return (profile, abs(crowd.share) * float(reference.mismatch or 0)) if profile.any() else None


def _noise(plan: Plan, crowd: _Crowd, cycle: Mechanism, row: Row) -> Noise:
    """The noise of a group's reports. How heavy its heaviest home is the rows tell by themselves."""
    slots, pattern = range(plan.grid.slots), plan.pattern_layer(total=crowd.total)
    stays = np.zeros((len(slots),) * 2) if pattern is None else _covariance(pattern, len(slots))
    fresh, slot = _covariance(cycle, len(slots)), plan.grid.slot(row.step)
    scale = (row.deviation / row.denominator) ** 2 / (stays + fresh)[slot, slot]
    known = tuple(cycle.ready(each) for each in slots)
    return Noise(plan.grid.slots_in(days=1), scale * stays, scale * fresh, known, drawn=not plan.shrink)


def _covariance(mechanism: Mechanism, slots: int) -> Floats:
    """The covariance of a mechanism's noise, from the variances of sums of two slots."""
    unit = np.eye(slots)
    matrix = np.diag([mechanism.variance(row) for row in unit])
    if isinstance(mechanism, SlotMechanism):
        return matrix  # every slot has noise of its own sign
    for s in range(slots):
        for t in range(s):
            both = mechanism.variance(unit[s] + unit[t])
            matrix[s, t] = matrix[t, s] = (both - matrix[s, s] - matrix[t, t]) / 2
    return matrix


def _group(rows: Sequence[Row], noise: Noise, reference: tuple[Floats, float] | None, n: float) -> _Group:
    """The rows of a group in order, and their model."""
    values, first = np.array([float(row.exact) for row in rows]), 0
    if reference is None:
        first = sum(row.step // noise.day == rows[0].step // noise.day for row in rows)
        model = Model.without_reference(noise, values[:first], n)
    else:
        model = Model.of(noise, *reference, n)
    slots = [row.step % len(model.centre) for row in rows]
    centre = model.centre[slots]
    return _Group(rows, model, centre, _days(rows, values - centre, noise.day, slots), first)


class _Group(NamedTuple):
    """All that the estimates of a group follow from."""

    rows: Sequence[Row]
    model: Model
    centre: Floats
    days: list[Day]
    first: int
    """How many rows stood for a reference."""

    def estimates(self, *, later: bool) -> list[Smoothed]:
        """An estimate for each row."""
        steps = forwards(self.model, self.days, later=later)
        pairs = backwards(steps) if later else [(step.estimate, step.variance) for step in steps]
        values, variances = (np.concatenate(each) for each in zip(*pairs, strict=True))
        found = zip(self.rows, (self.centre + values).tolist(), np.sqrt(variances).tolist(), strict=True)
        return [
            _as_it_is(row) if place < self.first else Smoothed(row, value, std)
            for place, (row, value, std) in enumerate(found)
        ]


def _days(rows: Sequence[Row], values: Floats, day: int, slots: Sequence[int]) -> list[Day]:
    """The rows day by day."""
    numbers = np.array([row.step // day for row in rows])
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)).tolist()
    return [
        Day(int(numbers[start]), tuple(slots[start:end]), values[start:end])
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True)
    ]
