"""Reference: public knowledge of what such households use. Never made from the private readings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from diurnal.errors import BodyError, PlanError, ReadingsError
from diurnal.exact import Number, instance, positive, text
from diurnal.promise.body import Body
from diurnal.readings.data import Floats
from diurnal.readings.panel import Panel


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Public knowledge of what such households use: from other regions' open data or statistics.

    It predicts what a plan would lose by dropping detail, and what "nothing at all" would give. It is never
    made from the private readings.
    """

    profile: Sequence[int]
    """The mean of a household in each slot, in units of a reading."""
    spread: Number | None = None
    """How far a population's mean is from its own profile, root mean square over time."""
    mismatch: Number | None = None
    """How far this profile is from another population's, root mean square over the slots."""

    def __post_init__(self) -> None:
        try:
            body = Body(high=1, reference=self.profile)
        except BodyError as cause:
            raise PlanError("reference-not-integers") from cause
        if isinstance(body.reference, int) or body.reference is None:
            raise PlanError("reference-not-slots")
        object.__setattr__(self, "profile", tuple(body.reference))
        # Measured: Scottish homes' shape at Australian homes' level is off by 0.25 of it, and the Australian
        # mean moves by 0.26 of it around its own profile (docs/theory.md, 5.1).
        quarter = self.level / 4
        for name in ("spread", "mismatch"):
            value = getattr(self, name)
            exact = quarter if value is None else positive(value, name)
            object.__setattr__(self, name, exact)

    @property
    def level(self) -> Fraction:
        """The mean size of a reading."""
        return Fraction(sum(map(abs, self.profile)), len(self.profile))

    def at_level(self, level: Number) -> Reference:
        """The same shape for households whose mean reading is publicly known to be another."""
        times = positive(level, "level") / self.level if self.level else Fraction(1)
        return Reference(
            profile=[round(times * value) for value in self.profile],
            spread=times * Fraction(self.spread or 0),
            mismatch=times * Fraction(self.mismatch or 0),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in a plan file."""
        return {
            "profile": list(self.profile),
            "spread": text(Fraction(self.spread or 0)),
            "mismatch": text(Fraction(self.mismatch or 0)),
        }


def public_reference(open_data: Panel, *, mismatch: Number | None = None) -> Reference:
    """A reference from *open* readings of other households on the same grid. Never from private ones.

    Args:
        open_data: Public readings in whole cycles.
        mismatch: How far its profile is thought to be from the private population's; a quarter of its level
            unless given.
    """
    instance(open_data, Panel, "open_data", example="Panel.from_array(readings)")
    slots = open_data.grid.slots
    if open_data.n_cycles < 1:
        raise PlanError("open-data-no-cycle")
    mean = _mean_of(open_data.first(open_data.n_cycles)).reshape(-1, slots)
    if np.isnan(mean).all(axis=0).any():
        raise PlanError("open-data-gaps")
    profile = np.nanmean(mean, axis=0)
    spread = math.sqrt(float(np.nanmean((mean - profile) ** 2)))
    return Reference(
        profile=np.rint(profile).astype(int).tolist(),
        spread=Fraction(max(spread, 1e-9)).limit_denominator(1000) or Fraction(1, 1000),
        mismatch=mismatch,
    )


def check_open(open_data: Panel | None, homes: Any) -> None:
    """Refuse private readings as open data: what is made of these is public, their mean day among it.

    Args:
        open_data: What is said to be public.
        homes: The private panel; anything else tells nothing.

    Raises:
        PlanError: A household of the same name has the same readings at the same times.
    """
    if not isinstance(open_data, Panel) or not isinstance(homes, Panel):
        return
    if open_data is homes or _shares_readings(open_data, homes):
        raise PlanError("open-data-private")


LOOKED_AT = 64
"""Of how many households readings are compared."""


def _shares_readings(one: Panel, other: Panel) -> bool:
    """Whether a household of some name has the same readings in both over two cycles: some are looked at."""
    try:
        one = one.on_grid(other.grid)
    except ReadingsError:
        return False
    begin = max(one.steps.start, other.steps.start)
    end = min(one.steps.stop, other.steps.stop, begin + 2 * other.grid.slots)
    ours, theirs = ({name: place for place, name in enumerate(panel.households)} for panel in (one, other))
    shared = sorted(ours.keys() & theirs.keys())
    some = shared[:: max(1, len(shared) // LOOKED_AT)]
    if end - begin < other.grid.slots or not some:
        return False
    mine, yours = (
        panel.columns(np.array([places[name] for name in some])).between(begin, end)
        for panel, places in ((one, ours), (other, theirs))
    )
    both = mine.present & yours.present
    same = ((mine.readings == yours.readings) | ~both).all(axis=0)
    told = (both.sum(axis=0) >= other.grid.slots) & (np.where(both, mine.readings, 0) != 0).any(axis=0)
    return bool((same & told).any())


def _mean_of(panel: Panel) -> Floats:
    """The mean over the households present at each step."""
    count = panel.present.sum(axis=1)
    total = np.where(panel.present, panel.readings, 0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
