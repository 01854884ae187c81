"""The population that attacks are run on, and the setting of each attack."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from diurnal.errors import PlanError
from diurnal.exact import Number
from diurnal.private import Private
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel
from diurnal.study.audit.attacks.releases import Release
from diurnal.study.baselines import Task, task_of
from diurnal.study.town import Town

HISTORY = 28
"""How many cycles profiles are learned from where many groups are made up of the same homes."""
HOMES = 30
"""How many homes there must be."""
CROWD = 1000
"""How many homes the largest group of a made-up town has."""
OTHER = 900
"""Seed of the made-up town that serves as open data."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Population(Private):
    """Homes with a history and the cycles after it, and what is publicly known of such homes."""

    panel: Panel
    """What is reported."""
    history: Panel
    """The cycles before."""
    open_data: Panel
    """*Public* readings of other homes."""
    domain: tuple[int, int]
    """The public range of a reading."""
    profile_range: tuple[int, int]
    """The public range of a profile in a slot."""
    made_up: bool = False
    """Whether nobody lives there, so that results may be shown to anybody."""
    crowd: Population | None = None
    """More homes of the same kind over fewer cycles, for large groups."""

    @classmethod
    def of(
        cls,
        panel: Panel,
        *,
        domain: tuple[int, int] | None = None,
        history: Panel | None = None,
        open_data: Panel | None = None,
        profile_range: tuple[int, int] | None = None,
        made_up: bool = False,
    ) -> Population:
        """The homes of a panel.

        Args:
            panel: Readings of at least 30 homes and 56 cycles; a year shows more. Gaps are filled with a home's
                mean in that slot.
            domain: The public range of a reading; the panel's own unless given.
            history: The cycles before; the first quarter of the panel, but at least 28 cycles, unless given.
            open_data: *Public* readings of other homes; a made-up town unless given.
            profile_range: The public range of a profile in a slot; the domain unless given.
            made_up: Whether nobody lives there.

        Raises:
            PlanError: There are fewer than 30 homes, or 28 cycles of history or to report; or no domain; or no town
                of that grid.
        """
        if history is None:
            cut = min(max(HISTORY, panel.n_cycles // 4), panel.n_cycles)
            history, panel = panel.first(cut), panel.after(cut)
        if min(history.n_cycles, panel.n_cycles) < HISTORY:
            raise PlanError("attack-too-short", needed=HISTORY, history=history.n_cycles, cycles=panel.n_cycles)
        if panel.n_households < HOMES:
            raise PlanError("attack-too-few-homes", needed=HOMES, homes=panel.n_households)
        domain = domain or panel.domain
        if domain is None:
            raise PlanError("domain-missing")
        return cls(
            panel=panel,
            history=history,
            open_data=_other_town(panel.grid) if open_data is None else open_data,
            domain=domain,
            profile_range=domain if profile_range is None else profile_range,
            made_up=made_up,
        )

    @classmethod
    def town(cls, *, homes: int = 226, days: int = 365, crowd: int = CROWD, seed: int = 1) -> Population:
        """A made-up town.

        Args:
            homes: How many homes.
            days: How many days are reported, after 28 of history.
            crowd: How many homes it has over the first weeks, for large groups.
            seed: Another seed, another town.
        """
        made, more = (Town(homes=n, days=HISTORY + k, seed=seed) for n, k in ((homes, days), (crowd, HISTORY)))
        known = {"domain": made.domain, "profile_range": (0, 3000), "made_up": True}
        open_data = _other_town(made.grid)
        whole, wide = (
            cls.of(each.after(HISTORY), history=each.first(HISTORY), open_data=open_data, **known)  # type: ignore[arg-type]
            for each in (made.panel(), more.panel())
        )
        return replace(whole, crowd=wide)

    @cached_property
    def _whole(self) -> Task:
        return self._task(self.panel, self.history, "1")

    @cached_property
    def _wide(self) -> Task:
        recent = self.history.after(self.history.n_cycles - HISTORY)
        return self._task(self.panel.first(min(self.panel.n_cycles, 2 * HISTORY)), recent, "1")

    def task(self, epsilon: Number) -> Task:
        """The whole population over its whole horizon, gaps filled."""
        return self._whole.at(epsilon=epsilon)

    def recent(self, epsilon: Number, cycles: int) -> Task:
        """The last 28 cycles of history and the first cycles after it, to make many groups of."""
        return self._wide.at(epsilon=epsilon, cycles=cycles)

    def _task(self, panel: Panel, history: Panel, epsilon: Number) -> Task:
        return task_of(
            panel,
            epsilon=epsilon,
            open_data=self.open_data,
            history=history,
            domain=self.domain,
            profile_range=self.profile_range,
        )


def _other_town(grid: Grid) -> Panel:
    """Open data that nobody has to give: a made-up town on the same grid."""
    slots = 24 * 60 // grid.minutes
    if grid.unit != "Wh" or grid.slots != slots or 60 % grid.minutes:
        raise PlanError("town-grid", slots=grid.slots, minutes=grid.minutes, unit=grid.unit)
    return Town(homes=100, days=2 * HISTORY, seed=OTHER, minutes=grid.minutes).panel()


__all__ = ["HISTORY", "Population"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Setting:
    """On whom, at which epsilon, against which releases, and how thoroughly."""

    population: Population
    """On whom."""
    epsilon: Fraction
    """What each release may spend."""
    releases: tuple[Release, ...]
    """What is attacked."""
    deep: bool = False
    """Whether to take minutes for narrow intervals."""
    seed: int = 1
    """Which homes are looked at."""
    advance: Callable[[float], None] = lambda _: None
    """Told which share of an attack has been done."""

    def rng(self, attack: str, *more: int) -> np.random.Generator:
        """For choices of homes: an attack's own, so that it finds the same alone as among others."""
        return np.random.default_rng([self.seed, zlib.crc32(attack.encode()), *more])
