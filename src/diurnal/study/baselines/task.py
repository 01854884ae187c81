"""Task: what every rival is asked, with all that it may know.

The mean of n households at every step of a horizon. Every rival gets the same readings, the same public knowledge
(domain, reference, open data) and the same epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

import numpy as np

from diurnal.errors import PlanError, ReadingsError
from diurnal.exact import Number, instance, positive
from diurnal.planning.reference import Reference, check_open, public_reference
from diurnal.private import Private
from diurnal.promise.budget import check_delta, zcdp_for
from diurnal.readings import kernels
from diurnal.readings.data import Floats, Integers
from diurnal.readings.panel import Panel
from diurnal.renamed import renamed

Made = TypeVar("Made")
Span = Literal["reading", "cycle", "everything"]
"""How much of one household is protected: one reading, any one cycle (a day), or its readings of all steps."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Task(Private):
    """Report the mean of these households at every step. Make one with `task_of`."""

    panel: Panel
    """What is reported: whole cycles, and no gaps."""
    history: Panel
    """The cycles before, to learn profiles from."""
    epsilon: Fraction
    """What every rival may spend."""
    delta: Fraction = Fraction(1, 10**6)
    """For those with Gaussian noise."""
    domain: tuple[int, int]
    """The public range of a reading."""
    profile_range: tuple[int, int]
    """The public range of a household's profile in a slot."""
    reference: Reference
    """What is publicly known of such households: a mean day."""
    open_data: Panel
    """Public readings of other households, scaled to the publicly known level."""
    copies: int = 1
    """As if each household were there so often: the same mean of more households, for charts."""
    _kept: dict[Hashable, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """How many households the mean is of."""
        return self.panel.n_households * self.copies

    @property
    def slots(self) -> int:
        """T, the slots of a cycle."""
        return self.panel.grid.slots

    @property
    def cycles(self) -> int:
        """K, the cycles of the horizon."""
        return self.panel.n_cycles

    @property
    def steps(self) -> int:
        """T K, how many reports there are."""
        return self.slots * self.cycles

    @property
    def level(self) -> float:
        """The publicly known mean of a reading."""
        return float(self.reference.level)

    @property
    def truth(self) -> Floats:
        """f, the true mean at every step."""
        return self.keep("truth", lambda: self.panel.readings.mean(axis=1))

    @property
    def largest(self) -> float:
        """The largest true value, which errors are divided by."""
        return float(np.abs(self.truth).max())

    @property
    def public(self) -> Floats:
        """The public mean day, again and again."""
        return np.tile(np.array(self.reference.profile, dtype=float), self.cycles)

    @property
    def profiles(self) -> Integers:
        """zhat: each household's floor mean in each slot of the history, a column a household."""
        return self.keep("profiles", lambda: self._profiles(self.history))

    def centre(self, wanted: bool) -> Floats:
        """What is taken off before a release and put back after: the public mean day if wanted, else nothing."""
        return self.public if wanted else np.zeros(self.steps)

    def clamped(self, levels: float | None) -> Floats:
        """The mean at every step of readings cut off at so many levels above the least; the truth if None."""
        if levels is None:
            return self.truth
        top = self.top(levels)
        return self.keep(("clamped", top), lambda: np.minimum(self.panel.readings, top).mean(axis=1))

    def top(self, levels: float | None) -> int:
        """Where readings are cut off, in units of a reading."""
        low, high = self.domain
        return high if levels is None else min(high, low + max(1, round(levels * self.level)))

    def reach(self, levels: float | None = None) -> float:
        """By how much one household's one reading, cut off there, can move the mean."""
        return (self.top(levels) - self.domain[0]) / self.n

    def length(self, span: Span) -> int:
        """How many consecutive readings of a household a span has."""
        return {"reading": 1, "cycle": self.slots, "everything": self.steps}[span]

    def zcdp(self) -> float:
        """The rho whose loss is (epsilon, delta)-DP."""
        return float(zcdp_for(self.epsilon, self.delta))

    def at(self, *, epsilon: Number | None = None, cycles: int | None = None, copies: int | None = None) -> Task:
        """The same task with another epsilon, over fewer cycles, or for more households."""
        return replace(
            self,
            epsilon=self.epsilon if epsilon is None else positive(epsilon, "epsilon"),
            panel=self.panel if cycles is None else self.panel.first(cycles),
            copies=self.copies if copies is None else copies,
            _kept=dict(self._kept) if cycles is None else {},
        )

    def among(self, households: Integers) -> Task:
        """The same task for some of the households."""
        panel, history = self.panel.columns(households), self.history.columns(households)
        return replace(self, panel=panel, history=history, _kept={})

    def keep(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What was made before under that key, else made now. The key names all it follows from but the panel."""
        if key not in self._kept:
            self._kept[key] = make()
        made: Made = self._kept[key]
        return made

    def _profiles(self, panel: Panel) -> Integers:
        return kernels.profiles(panel.readings, panel.present, slots=self.slots, min_readings=1)[0]


@renamed(level="mean_reading")
def task_of(
    panel: Panel,
    *,
    epsilon: Number,
    open_data: Panel,
    history: Panel | None = None,
    delta: Number = "1e-6",
    domain: tuple[int, int] | None = None,
    profile_range: tuple[int, int] | None = None,
    mean_reading: float | None = None,
) -> Task:
    """The task of reporting a panel's mean.

    Args:
        panel: Private readings. Gaps are filled with the household's mean in that slot, so that all rivals get the
            same; a broken last cycle is left out.
        epsilon: What every rival may spend.
        open_data: *Public* readings of other households on the same grid.
        history: The cycles before the panel, of which the households in both are taken; the panel's own first
            half, at most 91, unless given. These are not reported.
        delta: For Gaussian noise.
        domain: The public range of a reading; the panel's own unless given.
        profile_range: The public range of a profile in a slot; the domain unless given.
        mean_reading: The publicly known mean of a reading; the open data's unless given, to which it is scaled.

    Raises:
        PlanError: There are not two cycles, or no domain; the open data is private or on another grid; what is
            said to be publicly known cannot be.
        ReadingsError: The history is on another grid, comes after the panel, or is of other households; or there
            are readings outside the domain.
    """
    instance(panel, Panel, "panel", example="dn.panel(...)")
    check_public(
        epsilon=epsilon, delta=delta, domain=domain, profile_range=profile_range, mean_reading=mean_reading
    )
    _check_open(open_data, panel, history)
    if history is None:
        cut = min(91, panel.n_cycles // 2)
        history, panel = panel.first(cut), panel.after(cut)
    else:
        panel, history = _together(panel, history)
    if not history.n_cycles or not panel.n_cycles:
        raise PlanError("compare-too-short")
    domain = domain or panel.domain
    if domain is None:
        raise PlanError("domain-missing")
    _check_inside((panel, history), domain)
    open_data = _at_level(open_data, mean_reading)
    return Task(
        panel=_complete(panel.first(panel.n_cycles), domain),
        history=_complete(history.first(history.n_cycles), domain),
        epsilon=positive(epsilon, "epsilon"),
        delta=check_delta(delta),
        domain=domain,
        profile_range=profile_range or domain,
        reference=public_reference(open_data),
        open_data=open_data,
    )


def check_public(
    *,
    epsilon: Number,
    delta: Number,
    domain: tuple[int, int] | None,
    profile_range: tuple[int, int] | None,
    mean_reading: float | None,
) -> None:
    """Refuse what cannot be publicly known, before any work is done with it.

    Raises:
        PlanError: Something is no range, no level, no epsilon or no delta.
    """
    positive(epsilon, "epsilon")
    check_delta(delta)
    for name, pair in (("domain", domain), ("profile_range", profile_range)):
        if pair is not None and not pair[0] < pair[1]:
            raise PlanError("range-order", name=name, pair=tuple(pair))
    if mean_reading is not None and not (math.isfinite(mean_reading) and mean_reading > 0):
        raise PlanError("mean-reading-range", mean=mean_reading)


def _check_inside(panels: Iterable[Panel], domain: tuple[int, int]) -> None:
    """Refuse readings outside the domain: no rival's noise would cover them, and the truth is never cut off."""
    low, high = domain
    outside = sum(
        int(np.count_nonzero(each.present & ((each.readings < low) | (each.readings > high)))) for each in panels
    )
    if outside:
        raise ReadingsError("readings-outside-domain", readings=outside)


def _check_open(open_data: Panel, panel: Panel, history: Panel | None) -> None:
    """Refuse open data that is private, or that tells nothing about such a cycle."""
    instance(open_data, Panel, "open_data", example="dn.open_panel('public.parquet')")
    for private in (panel, *([] if history is None else [history])):
        check_open(open_data, private)
    own, other = ((grid.slots, grid.minutes, grid.unit) for grid in (panel.grid, open_data.grid))
    if own != other:
        raise PlanError(
            "open-data-grid-of-panel",
            slots=own[0],
            minutes=own[1],
            unit=own[2],
            data_slots=other[0],
            data_minutes=other[1],
            data_unit=other[2],
        )


def _together(panel: Panel, history: Panel) -> tuple[Panel, Panel]:
    """Both on the history's grid, with the households that are in both, in one order."""
    instance(history, Panel, "history", example="dn.panel(...)")
    panel = panel.on_grid(history.grid)
    if panel.first_step % panel.grid.slots or history.first_step % panel.grid.slots:
        raise ReadingsError("panel-within-cycle")
    if history.steps.stop > panel.first_step:
        raise ReadingsError("history-overlaps-panel")
    places = {name: place for place, name in enumerate(history.households)}
    both = [place for place, name in enumerate(panel.households) if name in places]
    if not both:
        raise ReadingsError("history-other-households")
    theirs = [places[panel.households[place]] for place in both]
    return panel.columns(np.array(both)), history.columns(np.array(theirs))


def _complete(panel: Panel, domain: tuple[int, int]) -> Panel:
    """In memory, with every gap filled by the household's floor mean in that slot, and no calendar.

    Where a household has no reading in a slot at all, what stands for it is the domain's value nearest to 0.
    """
    readings, present = panel.readings, panel.present
    filled, known = kernels.profiles(readings, present, slots=panel.grid.slots, min_readings=1)
    repeated = np.tile(np.where(known, filled, np.clip(0, *domain)), (panel.n_cycles, 1))
    return Panel.from_array(
        np.where(present, readings, repeated),
        households=panel.households,
        grid=panel.grid,
        first_step=panel.first_step,
    )


def _at_level(open_data: Panel, mean_reading: float | None) -> Panel:
    """Other households' readings, as if they used as much as these are publicly known to use."""
    if mean_reading is None:
        return open_data
    readings, present = open_data.readings, open_data.present
    scaled = np.rint(readings * (mean_reading / readings[present].mean())).astype(np.int64)
    return Panel.from_array(scaled, present=present, households=open_data.households, grid=open_data.grid)
