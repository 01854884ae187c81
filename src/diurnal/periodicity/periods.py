"""Periods: with which lengths a panel repeats, and what correlation each of them leaves.

The search looks at the readings themselves, not at variations alone, so it is not equal for neighbours of any
kind: it is for the custodian's eyes, to see whether a period known from outside fits (theory 7).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from diurnal.errors import InputError, ReadingsError
from diurnal.exact import Number
from diurnal.periodicity.correlation import correlations
from diurnal.periodicity.cycles import KEEP, Tally, sample, tally
from diurnal.private import Private, PrivateDict
from diurnal.readings.data import Floats, Marks
from diurnal.readings.grid import slots_of
from diurnal.readings.panel import Panel

MOST_CYCLES = 1200
"""How many cycles of a candidate are compared, at most: its first ones."""

READINGS = 1 << 23
"""How many readings a candidate is tried on, about; more households than have these are a sample of so many."""

LEAST_SAMPLE = 200
"""How many households it is tried on at least, however many readings each has."""

LEAST = 0.2
"""How much the aggregate must look like itself a period later for the length to be a candidate."""

GOOD = 0.75
"""How much of the best repetition the shortest period must have."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Candidate(Private):
    """A period, and what it leaves."""

    slots: int
    """Its length."""
    name: str
    """Its length in words."""
    why: str
    """Where it comes from: found in the data, the panel's own, usual, or named by the user."""
    repeats: float | None
    """How much the aggregate looks like itself a period later, from -1 to 1; None if the panel is too short."""
    n_cycles: int
    """How many cycles of it the panel has."""
    largest: float | None
    """The largest abs(c_kl); None if it is not testable."""
    median: float | None
    """The median of abs(c_kl)."""
    note: str = ""
    """Why it is not testable."""

    def to_json(self) -> PrivateDict:
        """Plain data, still private."""
        return PrivateDict({name: getattr(self, name) for name in self.__dataclass_fields__})


def candidates(
    panel: Panel,
    named: str | int | Iterable[str | int] = (),
    *,
    keep: Number = KEEP,
    rng: np.random.Generator,
    tallied: Tally | None = None,
) -> tuple[Candidate, ...]:
    """Lengths that the panel may repeat with, shortest first, each with the correlation it leaves.

    Args:
        panel: Private readings; of a large panel a sample of households is looked at.
        named: Lengths to try besides those found: "1d", "12h", 96 slots.
        keep: What share of a cycle's readings must be present for it to count.
        rng: For the sample; it reaches no release.
        tallied: The tally in which lengths are found: of a sample, that of the panel it was drawn from.

    Raises:
        ReadingsError: A length is none.
    """
    minutes, own = panel.grid.minutes, panel.grid.slots
    if isinstance(named, (str, int)):
        named = [named]
    wanted = {slots_of(length, minutes): "named" for length in named}
    repeats = _repeats(panel, tallied)
    why = {slots_of(length, minutes): "usual" for length in ("1d", "1w") if 1440 % minutes == 0}
    found = found_period(repeats)
    why |= {own: "the panel's"} | wanted | ({} if found is None else {found: "found in the data"})
    some = sample(panel, enough(panel), rng)
    return tuple(
        _candidate(some, slots, reason, float(repeats[slots]) if slots < len(repeats) else None, keep)
        for slots, reason in sorted(why.items())
    )


def enough(panel: Panel) -> int:
    """How many households a candidate is tried on."""
    return max(LEAST_SAMPLE, READINGS // max(1, panel.n_steps))


def _candidate(panel: Panel, slots: int, why: str, repeats: float | None, keep: Number) -> Candidate:
    shaped = panel.with_period(slots)
    candidate = Candidate(
        slots=slots,
        name=in_words(slots, panel.grid.minutes),
        why=why,
        repeats=repeats,
        n_cycles=shaped.n_cycles,
        largest=None,
        median=None,
    )
    try:
        found = correlations(shaped if shaped.n_cycles <= MOST_CYCLES else shaped.first(MOST_CYCLES), keep=keep)
    except InputError as error:
        return replace(candidate, note=error.why or error.message)
    return replace(candidate, largest=found.largest, median=found.median)


def _repeats(panel: Panel, tallied: Tally | None) -> Floats:
    try:
        return autocorrelation(panel, tallied)
    except ReadingsError:
        # Homes may move though their sum does not: then there is nothing to find, and lengths can still be tried.
        return np.zeros(0)


def autocorrelation(panel: Panel, tallied: Tally | None = None) -> Floats:
    """How much the mean of the readings looks like itself some steps later, from lag 0 to half of the panel.

    Raises:
        ReadingsError: There are hardly any readings, or they never change.
    """
    level = (tallied or tally(panel)).means
    there = ~np.isnan(level)
    if there.sum() < 4:
        raise ReadingsError("check-hardly-any-readings")
    series = np.where(there, level, 0.0)
    series = np.where(there, series - _trend(series, there, panel.grid.slots_in(days=8)), 0.0)
    size = 1 << (2 * len(series) - 1).bit_length()
    half = len(series) // 2
    products, pairs = (
        np.fft.irfft(np.abs(np.fft.rfft(values, size)) ** 2, size)[: half + 1]
        for values in (series, there.astype(np.float64))
    )
    covariance: Floats = products / np.maximum(np.rint(pairs), 1)
    if covariance[0] <= 0:
        raise ReadingsError("check-aggregate-constant")
    scaled: Floats = covariance / covariance[0]
    return scaled


def _trend(series: Floats, there: Marks, width: int) -> Floats:
    """A moving mean. Taken off, seasons and trends drop out, which make everything look like everything."""
    width = max(2, min(width, len(series) // 4))
    window = np.ones(width)
    sums, counts = (np.convolve(values, window, mode="same") for values in (series, there.astype(np.float64)))
    return sums / np.maximum(counts, 1)


def found_period(repeats: Floats) -> int | None:
    """The length with which a series repeats, from its autocorrelation: the shortest that does it well.

    Every multiple of a period is a period too. Which of these leaves less is a question for the correlations.
    """
    if len(repeats) < 3:
        return None
    here = repeats[1:-1]
    peaks = 1 + np.flatnonzero((here > LEAST) & (here >= repeats[:-2]) & (here > repeats[2:]))
    peaks = peaks[peaks > 1]
    good = peaks[repeats[peaks] >= GOOD * repeats[peaks].max(initial=0)]
    return int(good[0]) if len(good) else None


def in_words(slots: int, minutes: int) -> str:
    """A length as a person would say it."""
    length = slots * minutes
    for unit, size in (("week", 10080), ("day", 1440), ("hour", 60)):
        if length % size == 0:
            number = length // size
            return f"{number} {unit}s" if number > 1 else f"1 {unit}"
    return f"{length} minutes"
