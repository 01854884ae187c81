"""Experiments: what the paper says about each of its data sets, and how the data at hand is read.

The panel that is judged is read as the paper describes it. Where the paper does not say, the other ways to read
the same files are read too, so that their figures can be put beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from diurnal.errors import InputError, ReadingsError
from diurnal.private import Private
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.importing import read
from diurnal.readings.panel import Arrays, Panel
from diurnal.study.town import Town

NET = (-50_000, 50_000)
"""Between which Wh a net reading lies: what a supply of 100 kW gives or takes in half an hour."""

STANDARD = "Australia/Brisbane"
"""A clock like Sydney's that has no daylight saving."""

UMASS_CYCLES = 349
"""Days from 1 January to 14 December of a leap year, which is what the paper reports on."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What the paper says about one data set."""

    name: str
    """What the verb calls it."""
    title: str
    """What people call it."""
    paper_data: str
    """What the paper had."""
    homes: int
    """How many homes the paper had."""
    cycles: int
    """How many days it reports on."""
    horizon: int
    """The number of half hours that the paper prints for it."""
    largest: float
    """Below what it says that all abs(c) lie, with a period of a day."""
    median: float
    """The median of abs(c) it gives, with a period of a day."""
    weekly_largest: float | None
    """The same as `largest` with a period of a week, where it says so."""
    gap: str
    """How the data at hand differs from the paper's, and why figures may differ for it."""

    @property
    def made_up(self) -> bool:
        """Whether it is about no data of the paper's."""
        return self.name == "town"


AUSGRID = Experiment(
    name="ausgrid",
    title="Ausgrid, solar homes around Sydney",
    paper_data="300 homes, July 2012 to June 2013",
    homes=300,
    cycles=365,
    horizon=16_752,
    largest=0.5,
    median=0.1259,
    weekly_largest=0.33,
    gap="the data at hand has 226 of the paper's 300 homes, the same year",
)

UMASS = Experiment(
    name="umass",
    title="UMass Smart*, apartments in Massachusetts",
    paper_data="114 apartments, 1 January to 14 December 2016",
    homes=114,
    cycles=UMASS_CYCLES,
    horizon=17_520,
    largest=0.35,
    median=0.0746,
    weekly_largest=None,
    gap="the data at hand is of 2015 instead of 2016, 49 of the paper's 114 apartments, 46 of them complete",
)

TOWN = replace(
    AUSGRID,
    name="town",
    title="a made-up town, beside the paper's figures for Ausgrid",
    gap="these homes are made up to look like Ausgrid's, and say nothing about the paper's data",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Source(Private):
    """The data at hand for an experiment."""

    experiment: Experiment
    """What the paper says."""
    panel: Panel
    """The readings that are judged, a day a cycle."""
    readings: Mapping[str, Panel] = field(default_factory=dict)
    """The same files, read in the other ways that are possible, by what is different."""


def source(name: str, data: str | Path | None = None) -> Source:
    """Read the data of an experiment, in every way that is possible.

    Raises:
        InputError: There is no such experiment, or data is missing where it is needed.
        ReadingsError: The data cannot be read as the experiment's.
    """
    if name not in EXPERIMENTS:
        raise InputError("experiment-unknown", name=name, choices=", ".join(EXPERIMENTS))
    if name == "town":
        return made_up()
    if data is None:
        raise InputError("experiment-needs-data", name=name)
    return _ausgrid(data) if name == "ausgrid" else _umass(data)


def made_up(town: Town | None = None) -> Source:
    """A made-up town in the place of Ausgrid's homes."""
    town = town or Town(homes=120)
    net = replace(town, channel="net").panel()
    return Source(experiment=TOWN, panel=town.panel(), readings={"consumption less generation": net})


def _ausgrid(data: str | Path) -> Source:
    """General consumption and controlled load of each home; the clock's skipped and doubled hours set aside."""
    homes = read(data, format="ausgrid")
    panel = make_panel(homes)
    others: dict[str, Callable[[], Panel]] = {
        "consumption less generation (net)": lambda: make_panel(
            read(data, format="ausgrid", channel="net"), domain=NET
        ),
        "generation": lambda: make_panel(read(data, format="ausgrid", channel="generation")),
        "consumption, slots by standard time all year": lambda: make_panel(homes, zone=STANDARD, fold="mean"),
        # By a clock that never changes nothing is set aside.
        "consumption, clock changes as they stand in the file": lambda: make_panel(
            read(data, format="ausgrid", zone="UTC")
        ),
    }
    readings = {}
    for name, made in others.items():
        # A file without generation, say, is judged by what it has.
        with suppress(ReadingsError):
            readings[name] = made()
    return Source(experiment=AUSGRID, panel=panel, readings=readings)


def _umass(data: str | Path) -> Source:
    """Apartments that are there from the first day; a half hour is the mean of its rows, a doubled hour too."""
    homes = read(data, format="umass")
    everybody, finer = make_panel(homes, fold="mean"), make_panel(homes, fold="mean", interval="15min")
    panel, quarters = _complete(everybody), _complete(finer)
    others = {
        "all apartments, three of them from 23 January on": everybody,
        "the paper's 349 days, 1 January to 14 December": _at_most(panel, UMASS_CYCLES),
        "slots of 15 minutes": quarters,
        "a half hour is its first row, not the mean": _picked(quarters, 0),
        "a half hour is its first row; 349 days": _at_most(_picked(quarters, 0), UMASS_CYCLES),
        "a half hour is its last row; 349 days": _at_most(_picked(quarters, 1), UMASS_CYCLES),
    }
    return Source(experiment=UMASS, panel=panel, readings=others)


def _complete(panel: Panel) -> Panel:
    """The homes that have readings on the first day."""
    there = panel.present[: panel.grid.slots].any(axis=0)
    return panel.columns(np.flatnonzero(there))


def _at_most(panel: Panel, cycles: int) -> Panel:
    return panel.first(min(cycles, panel.n_cycles))


def _picked(panel: Panel, place: int) -> Panel:
    """One of every two steps: what comes of taking every second row instead of averaging."""
    grid = replace(panel.grid, slots=panel.grid.slots // 2, minutes=2 * panel.grid.minutes)
    data = Arrays(panel.readings[place::2].copy(), panel.present[place::2].copy())
    return replace(panel, data=data, grid=grid, calendar=frozenset(), quality=None)


EXPERIMENTS = {each.name: each for each in (AUSGRID, UMASS, TOWN)}
"""The experiments, by name."""
