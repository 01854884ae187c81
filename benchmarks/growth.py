"""How the stages of the chain grow with homes, days, groups and period: what they take a reading."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from benchmarks.stages import Town, bring, check, make, measure, report, start

TURNS = 3

SERIES: dict[str, list[dict[str, Any]]] = {
    "{homes:,} homes, 90 days": [{"homes": homes, "days": 90} for homes in (500, 1_000, 2_000, 4_000)],
    "{days} days, 1,000 homes": [{"homes": 1_000, "days": days} for days in (90, 180, 365)],
    "groups: {suburbs:,}, of 2,000 homes, 12 days": [
        {"homes": 2_000, "days": 12, "suburbs": suburbs} for suburbs in (1, 10, 100, 1_000)
    ],
    "{slots} slots a cycle, 1,000 homes, 365 days": [
        {"homes": 1_000, "days": 365, "slots": slots} for slots in (48, 336)
    ],
}
"""By what is said of them, towns that differ in one thing; the first is what the others are held against."""

HEAD = """The time that a reading takes, over what it takes in the first row of its kind: 1.00 is linear growth.
First rows have the time itself. Medians of {turns} turns, each over all sizes. A check compares every two cycles: a
reading takes longer the more days there are. More groups are more rows to report of as many readings.

| size | import | check | start | reports |
|---|---|---|---|---|
"""

Times = tuple[float, ...]
"""What each stage takes, in seconds a reading."""


def table() -> str:
    """What stages take a reading as things grow, a row for each size."""
    with tempfile.TemporaryDirectory() as folder:
        series = {name: [_town(folder, **size) for size in sizes] for name, sizes in SERIES.items()}
        # Some are in more than one series, and measured once.
        towns = list(dict.fromkeys(town for each in series.values() for town in each))
        for town in towns:
            measure(town, make)
        turns = [_turn(towns, number) for number in range(1, TURNS + 1)]
    return HEAD.format(turns=TURNS) + "\n".join(row for name in series for row in _rows(name, series[name], turns))


def _town(folder: str, *, homes: int, days: int, suburbs: int = 10, slots: int = 48) -> Town:
    place = f"{folder}/{homes}-{days}-{suburbs}-{slots}"
    return Town(folder=place, homes=homes, days=days, suburbs=suburbs, slots=slots)


def _turn(towns: list[Town], number: int) -> dict[Town, Times]:
    times = {}
    for town in towns:
        seconds, _ = measure(town, bring, check, start, report)
        steps = (town.steps, town.steps, town.first, town.steps - town.first)
        times[town] = tuple(each / (town.homes * n) for each, n in zip(seconds, steps, strict=True))
        shown = ", ".join(f"{each:.2f} s" for each in seconds)
        size = f"{town.homes:,} homes, {town.days} days, {town.suburbs:,} groups, {town.slots} slots"
        print(f"growth, turn {number}: {size}: {shown}", file=sys.stderr)
    return times


def _rows(name: str, towns: list[Town], turns: list[dict[Town, Times]]) -> Iterator[str]:
    """The rows of a series: times of the first town, and the medians of the others' ratios to it."""
    first = towns[0]
    for town in towns:
        if town is first:
            cells = [f"{1e9 * each:,.0f} ns" for each in _medians([turn[town] for turn in turns])]
        else:
            cells = [f"**{each:.2f}**" for each in _medians([_ratios(turn[town], turn[first]) for turn in turns])]
        sizes = {"homes": town.homes, "days": town.days, "suburbs": town.suburbs, "slots": town.slots}
        yield f"| {' | '.join([name.format(**sizes), *cells])} |"


def _ratios(ours: Times, theirs: Times) -> Times:
    return tuple(one / two for one, two in zip(ours, theirs, strict=True))


def _medians(turns: list[Times]) -> Times:
    return tuple(statistics.median(each) for each in zip(*turns, strict=True))
