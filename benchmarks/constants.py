"""Public constants, searched on open data of other regions and on the town. Writes planning/constants.py.

    DIURNAL_DATA=... python -m benchmarks.constants

Three families: 622 Scottish homes (EDRP), 46 apartments of Massachusetts (UMass), two made-up towns. The reference
of a family is the mean of the others' mean days, and the level is off by a tenth, up and down. Taken is what has
the least expected square error in the mean over the families: what bounds and bases drop is computed on the homes,
what noise adds by formula. Nothing is drawn. No other data is read: constants are scored on homes that have no part
in them. What would be taken without the towns is printed first.
"""

from __future__ import annotations

import itertools
import math
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import diurnal as dn
from benchmarks.search import (
    DAY,
    GRAIN,
    QUANTILE,
    Case,
    Homes,
    Recipe,
    Reported,
    base_load,
    block_error,
    clip_error,
    day_error,
    history,
    low_of,
    score,
    square_error,
    total,
    unspent,
)
from diurnal.planning import rows
from diurnal.readings.data import Floats
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel
from diurnal.study.town import Town

FILE = pathlib.Path(rows.__file__).parent / "constants.py"
AMOUNTS = (10, 22.6, 50, 100, 226, 500, 1000, 2260, 5000, 22600)
"""n times epsilon, which the noise follows."""
MIDDLE = 226
"""Where what is the same for every n times epsilon is searched."""
SIZES = range(1, 18, 2)
RADII = (0.2, 0.4, 0.6, 0.9, 1.2, 1.6, 2.2, 3.0, 4.0)
SCALES = (1.0, 1.3, 1.6, 2.0)
DISTANCES = (0.1, 0.2, 0.3)
PAYS = 0.98
"""Shrinkage is taken where it leaves at most so much of the error: a constant more must be worth it."""
FILLS = (0.0, 0.25, 0.5, 1.0)
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)
LOWS = (0.0, 0.3, 0.6, 0.9, 1.2)
HISTORIES = (90, 350)
"""About three months, and about a year: Massachusetts has 50 weeks without a change of the clocks."""
BASE_RADII = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.9, 1.2, 1.6)
BASE_SCALES = (1.0, 1.25, 1.5, 2.0, 2.5)
BASE_LEVELS = ((0.2, 0.25, 0.3, 0.35), (0.0, 0.25, 0.5))
DAY_RADII = (0.4, 0.6, 0.9, 1.2, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0)
BLOCKS = (2, 3, 4, 6, 8, 12, 16)
CLIPS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 3.0, 4.0, 6.0, 9.0)
FREE_LEAST = 60
REAL = ("Scotland", "Massachusetts")
"""Families of real homes: the shapes that the package has are theirs."""


def families(homes: int = 226) -> list[Homes]:
    """Everything that is read or made up; nothing else is."""
    data = pathlib.Path(os.environ["DIURNAL_DATA"])
    scots = dn.read(data / "edrp" / "edrp_622homes_2009-03_2009-05.csv.gz", zone="UTC")
    apartments = dn.panel(data / "umass" / "2015", fold="mean")
    late = [home for i, home in enumerate(apartments.households) if not apartments.present[:DAY, i].any()]
    towns = [Town(homes=homes, days=730, seed=seed, gap_rate=0).panel() for seed in (1, 2)]
    return [
        homes_of("Scotland", dn.panel(scots, zone="Europe/London")),
        homes_of("Massachusetts", apartments.without(late)),
        *(homes_of("town", town) for town in towns),
    ]


def homes_of(family: str, panel: Panel) -> Homes:
    """The whole days of a panel on which every home has every reading; clocks do not change on these."""
    whole = panel.first(panel.n_cycles)
    readings, present = (array.reshape(-1, DAY, panel.n_households) for array in (whole.readings, whole.present))
    full = present.all(axis=(1, 2))
    first = panel.grid.wall(panel.first_step).toordinal()
    return Homes(family, readings[full].transpose(0, 2, 1).astype(float), first + np.flatnonzero(full))


def shapes(homes: Sequence[Homes], *, weekly: bool = False) -> dict[str, Floats]:
    """The mean day or week of each family, of mean 1."""
    found: dict[str, list[Floats]] = {}
    for each in homes:
        mean = (each.weeks() if weekly else each.days).mean(axis=(0, 1))
        found.setdefault(each.family, []).append(mean / mean.mean())
    return {family: np.mean(means, axis=0) for family, means in found.items()}


def others(known: dict[str, Floats], family: str) -> Floats:
    """The public reference of a family: the mean of the others' shapes."""
    pooled: Floats = np.mean([shape for name, shape in known.items() if name != family], axis=0)
    return pooled


def cases(homes: Sequence[Homes], days: int | None = None) -> list[Case]:
    """Histories of so many days, one after the other, of every family that has one; whole ones unless given."""
    known, found = shapes(homes), []
    for each in homes:
        cycles = each.days[: 365 if each.family == "town" else None]
        length = len(cycles) if days is None else days
        for first in range(0, len(cycles) - length + 1, length):
            found.append(history(each.family, cycles[first : first + length], others(known, each.family)))
    return found


def slope(found: Iterable[Case]) -> float:
    """By how much the profile rises where the low quantile does: the mean of the real families'."""
    slopes = []
    for case in found:
        low, mean = low_of(case), case.mean
        slopes.append(float((low - low.mean()) @ (mean - mean.mean()) / ((low - low.mean()) ** 2).sum()))
    return float(np.mean(slopes))


class Found(NamedTuple):
    """The settings with the least error, and that."""

    settings: Any
    error: float


def least(tried: Iterable[Any], error: Callable[[Any], float], label: str) -> Found:
    """The settings with the least mean square error, the first of equals."""
    every = list(tried)
    squares = []
    with Progress(label, len(every)) as bar:
        for each in every:
            squares.append(error(each))
            bar.advance(1)
    place = int(np.argmin(squares))
    return Found(every[place], round(math.sqrt(squares[place]), 4))


def pattern(found: Sequence[Case], amounts: Iterable[float] = AMOUNTS) -> tuple[rows.Pattern, ...]:
    bodies = itertools.product(SIZES, RADII, SCALES, FILLS)
    plain = [Recipe(size, radius, scale, fill=fill) for size, radius, scale, fill in bodies]
    drawn = [each._replace(distance=known) for each in plain for known in DISTANCES]
    table = []
    for amount in amounts:
        at = partial(_score, found, amount)
        best, error = least(plain, at, f"pattern {amount:g}")
        other = least(drawn, at, f"pattern {amount:g}, shrunk")
        if other.error <= PAYS * error:
            best, error = other
        table.append(rows.Pattern(amount, best.size, best.radius, best.scale, best.fill, best.distance, error))
    return tuple(table)


def recipe_of(row: rows.Pattern, rise: float) -> Recipe:
    return Recipe(
        size=row.size, radius=row.radius, scale=row.scale, fill=row.fill, distance=row.distance, slope=rise
    )


def free(found: Sequence[Case], days: int, table: Sequence[rows.Pattern], rise: float) -> rows.FreeRow:
    """Around the body of the table at `MIDDLE`; what is outside the basis is searched apart from what is inside."""
    plain = {row.n_epsilon: recipe_of(row, rise) for row in table}
    tried = [
        plain[MIDDLE]._replace(blend=blend, low=low, fill=fill)
        for blend, low, fill in itertools.product(BLENDS, LOWS, FILLS)
    ]
    best, error = least(tried, partial(_score, found, MIDDLE), f"free, {days} days")
    most = 0.0
    for amount, recipe in plain.items():
        with_it = recipe._replace(blend=best.blend, low=best.low, fill=best.fill)
        if score(found, with_it, amount) >= score(found, recipe, amount):
            break
        most = amount
    return rows.FreeRow(days, best.blend, best.low, best.fill, _mismatch(found, best), error, most)


def _mismatch(found: Iterable[Case], recipe: Recipe) -> float:
    return _root(total([(case.family, unspent(case, recipe)) for case in found]))


def base_loads(
    homes: Sequence[Homes], amounts: Iterable[float] = AMOUNTS
) -> tuple[tuple[float, float], tuple[rows.BaseLoad, ...]]:
    """The rule for the flat level, level = a (28/days)^b, and the body around it."""
    minima: dict[tuple[str, int], list[Case]] = {}
    for each, length in itertools.product(homes, (28, *HISTORIES)):
        readings = each.days[: 365 if each.family == "town" else None]
        starts = range(0, len(readings) - length + 1, length)
        found = [base_load(each.family, readings[first : first + length]) for first in starts]
        minima.setdefault((each.family, length), []).extend(found)

    # Lengths count alike, however many histories of each a family has.
    def mean(error: Callable[[Case, int], float]) -> float:
        return total(
            (family, float(np.mean([error(case, days) for case in found])))
            for (family, days), found in minima.items()
            if found
        )

    def off(rule: tuple[float, float]) -> float:
        return mean(lambda case, days: (float(case.mean.mean()) - flat(rule, days)) ** 2)

    rule = least(itertools.product(*BASE_LEVELS), off, "flat level").settings
    for (_, days), found in minima.items():
        found[:] = [replace(case, reference=np.full(DAY, flat(rule, days))) for case in found]
    tried = [
        Recipe(size=size, radius=radius, scale=scale)
        for size, radius, scale in itertools.product(SIZES, BASE_RADII, BASE_SCALES)
    ]
    table = []
    for amount in amounts:

        def expected(recipe: Recipe, amount: float = amount) -> float:
            return mean(lambda case, _: square_error(case, recipe, amount))

        best, error = least(tried, expected, f"base load {amount:g}")
        table.append(rows.BaseLoad(amount, best.size, best.radius, best.scale, error))
    return rule, tuple(table)


def flat(rule: tuple[float, float], days: int) -> float:
    return float(rule[0] * (28 / days) ** rule[1])


def cycles(
    homes: Sequence[Homes], amounts: Iterable[float] = AMOUNTS
) -> tuple[tuple[rows.Day, ...], tuple[rows.Blocks, ...], tuple[rows.Clip, ...]]:
    """The layers of a day's variations; the first half of the days is the history, the second is reported."""
    reported = [Reported.of(each) for each in homes]
    day, block, clip = [], [], []
    for amount in amounts:
        at = partial(_cycle_score, reported, amount)
        (size, radius), error = least(
            itertools.product(SIZES, DAY_RADII), partial(at, day_error), f"day {amount:g}"
        )
        day.append(rows.Day(amount, size, radius, error))
        tried = itertools.product(BLOCKS, DAY_RADII)
        (count, radius), error = least(tried, partial(at, block_error), f"blocks {amount:g}")
        block.append(rows.Blocks(amount, count, radius, error))
        (width,), error = least([(clip,) for clip in CLIPS], partial(at, clip_error), f"clip {amount:g}")
        clip.append(rows.Clip(amount, width, error))
    return tuple(day), tuple(block), tuple(clip)


def _score(found: Sequence[Case], amount: float, recipe: Recipe) -> float:
    return score(found, recipe, amount)


def _cycle_score(
    reported: Sequence[Reported], amount: float, error: Callable[..., float], settings: tuple[Any, ...]
) -> float:
    return total([(each.family, error(each, *settings, amount)) for each in reported])


def thousandths(shape: Floats) -> tuple[int, ...]:
    """A shape of mean 1 in whole thousandths of mean 1000: what rounding leaves over goes to the largest rests."""
    scaled = shape / shape.mean() * 1000
    whole = np.floor(scaled).astype(int)
    whole[np.argsort(whole - scaled, kind="stable")[: 1000 * len(shape) - whole.sum()]] += 1
    return tuple(whole.tolist())


class Table(NamedTuple):
    """What goes into the package."""

    shapes: dict[str, tuple[int, ...]]
    week: tuple[int, ...]
    spread: float
    mismatch: float
    slope: float
    base_level: tuple[float, float]
    pattern: tuple[rows.Pattern, ...]
    free: tuple[rows.FreeRow, ...]
    base_load: tuple[rows.BaseLoad, ...]
    day: tuple[rows.Day, ...]
    blocks: tuple[rows.Blocks, ...]
    clip: tuple[rows.Clip, ...]


def search(homes: Sequence[Homes]) -> Table:
    """Every constant."""
    whole = cases(homes)
    mean_days, mean_weeks = (
        {name: of[name] for name in REAL} for of in (shapes(homes), shapes(homes, weekly=True))
    )
    pooled = {**mean_days, "pooled": np.mean(list(mean_days.values()), axis=0)}
    rise = round(slope(case for case in whole if case.family in REAL), 1)
    table = pattern(whole)
    base_level, base = base_loads(homes)
    day, blocks, clip = cycles(homes)
    return Table(
        shapes={name: thousandths(shape) for name, shape in pooled.items()},
        week=thousandths(np.mean(list(mean_weeks.values()), axis=0)),
        spread=_root(middle(whole)),
        mismatch=_root(total([(case.family, unspent(case, Recipe(1, 1, fill=1.0))) for case in whole])),
        slope=rise,
        base_level=base_level,
        pattern=table,
        free=tuple(free(cases(homes, days), days, table, rise) for days in HISTORIES),
        base_load=base,
        day=day,
        blocks=blocks,
        clip=clip,
    )


def middle(found: Sequence[Case]) -> float:
    """The mean square of variations: the median over families, since electric heating moves one far more."""
    squares = [(case.family, float(np.mean(case.variations**2))) for case in found]
    return float(np.median([total(x for x in squares if x[0] == family) for family in dict(squares)]))


def _root(square: float) -> float:
    return round(math.sqrt(square), 3)


HEAD = '''"""Constants: what is known of homes in general. Public. Written by `python -m benchmarks.constants`.

Sources: 622 Scottish homes, March to May 2009 (Energy Demand Research Project, sample of the R package phovafer);
46 apartments of Massachusetts, 2015 (UMass Smart*, the complete ones of 49); two made-up towns of 226 homes
(`diurnal.study.town`). Shapes, week and slope are of the real homes alone. All else is by cross-validation over the
three families, and so used the towns, which were set by hand to look like Australian homes (docs/town.md). No
Australian reading was read. Taken is what has the least expected square error with the level off by a tenth. What
the fields mean is in `rows`.
"""

from diurnal.planning.rows import BaseLoad, Blocks, Clip, Day, FreeRow, Pattern

'''
DOCS = {
    "SHAPES": "The mean day from midnight by half hours, in thousandths of its mean; `pooled`: that of both.",
    "WEEK": "The mean week from Monday on, three lines a day, in thousandths of its mean: that of both families.",
    "SPREAD": "How far a population's mean is from its own profile, root mean square in levels: the middle family.",
    "MISMATCH": "How far the others' mean day is from a family's, root mean square over the slots, in levels.",
    "QUANTILE": "Which part of the days of a slot the low quantile leaves below: floor(QUANTILE days) of them.",
    "GRAIN": "What the low quantile is rounded to, in levels.",
    "SLOPE": "By how much a mean day rises where the low quantile does.",
    "FREE_LEAST": "The least days of history that aggregate variations tell anything reliable from.",
    "BASE_LEVEL": "a and b: the least reading over so many days is about a (28/days)^b levels.",
    "PATTERN": "The pattern layer of a mean, by n times epsilon.",
    "FREE": "What exact variations add to it, by days of history.",
    "BASE_LOAD": "The pattern layer of a minimum, by n times epsilon.",
    "DAY": "The cycle layer at the end of the day, by n times epsilon.",
    "BLOCKS": "The cycle layer block by block, by n times epsilon.",
    "CLIP": "The cycle layer slot by slot, by n times epsilon.",
}
"""What each constant is."""


def module(table: Table) -> str:
    """The text of the module. Integers are set by hand, many a line: a formatter would give each a line."""
    shapes_text = "".join(
        f'    "{name}": (\n{_lines(shape, 16, 8)}    ),\n' for name, shape in table.shapes.items()
    )
    parts = {
        "SHAPES": f"{{\n{shapes_text}}}",
        "WEEK": f"(\n{_lines(table.week, 16, 4)})",
        "SPREAD": str(table.spread),
        "MISMATCH": str(table.mismatch),
        "QUANTILE": str(QUANTILE),
        "GRAIN": str(GRAIN),
        "SLOPE": str(table.slope),
        "FREE_LEAST": str(FREE_LEAST),
        "BASE_LEVEL": str(table.base_level),
        "PATTERN": _rows(table.pattern),
        "FREE": _rows(table.free),
        "BASE_LOAD": _rows(table.base_load),
        "DAY": _rows(table.day),
        "BLOCKS": _rows(table.blocks),
        "CLIP": _rows(table.clip),
    }
    text = HEAD
    for name, value in parts.items():
        assigned = f'{name} = {value}\n"""{DOCS[name]}"""\n'
        text += f"# fmt: off\n{assigned}# fmt: on\n" if name in ("SHAPES", "WEEK") else assigned
    return text


def _lines(values: Sequence[int], each: int, indent: int) -> str:
    lines = [values[start : start + each] for start in range(0, len(values), each)]
    return "".join(f"{' ' * indent}{', '.join(map(str, line))},\n" for line in lines)


def _rows(table: Iterable[NamedTuple]) -> str:
    return f"(\n{''.join(f'    {row!r},{chr(10)}' for row in table)})"


def main() -> None:
    homes = families()
    for table in (search([each for each in homes if each.family in REAL]), search(homes)):
        print(module(table).partition("# fmt: on\n")[2], file=sys.stderr)
    FILE.write_text(module(table))


if __name__ == "__main__":
    main()
