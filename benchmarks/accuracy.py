"""How good reports are: plans with public bounds, on real homes, drawn through the shipped mechanisms.

    DIURNAL_DATA=... python -m benchmarks.accuracy

Writes docs/accuracy-figures.md: every target of the project with an interval, what each ingredient brings, and how
error falls with homes and epsilon. Constants are the package's, made without Australian readings
(`benchmarks.constants`); the public level is what was publicly known: the mean of the year before.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import diurnal as dn
from diurnal.readings.data import Floats, Integers
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "accuracy-figures.md"
DRAWS = 200
DOMAIN = (0, 8000)


@dataclasses.dataclass(frozen=True)
class Homes:
    """Readings to report, those before them, and what is publicly known of their level."""

    name: str
    history: Panel
    year: Panel
    level: str

    @property
    def open(self) -> Integers:
        """Which steps of the year are reported: not those on the calendar."""
        return np.array([i for i, step in enumerate(self.year.steps) if step not in self.year.calendar])

    @property
    def truth(self) -> Floats:
        """The true mean at each reported step."""
        mean: Floats = self.year.readings.mean(axis=1)[self.open]
        return mean


class Found(NamedTuple):
    """An error over the largest true mean, its 95 % interval, and the skill."""

    error: float
    low: float
    high: float
    skill: float

    def __str__(self) -> str:
        return f"{self.error:.4f} ({self.low:.4f} to {self.high:.4f}) | {self.skill:.3f}"


def ausgrid() -> Homes:
    """226 homes, July 2012 to June 2013 after the year before; the level is that year's, known when it began."""
    folder = pathlib.Path(os.environ["DIURNAL_DATA"]) / "ausgrid"
    files = [str(folder / f"ausgrid_{year}_226homes.csv.gz") for year in ("2011-2012", "2012-2013")]
    panel = dn.panel(dn.read(files))
    return _homes("226 Ausgrid homes", panel, 366)


def umass() -> Homes:
    """49 apartments, the second half of 2015 after the first."""
    folder = pathlib.Path(os.environ["DIURNAL_DATA"]) / "umass" / "2015"
    panel = dn.panel(dn.read(sorted(map(str, folder.glob("*.csv.gz")))), zone="America/New_York")
    return _homes("49 UMass apartments", panel, 182)


def town() -> Homes:
    """A made-up town that no constant was made with."""
    from diurnal.study.town import Town

    return _homes("226 homes of a made-up town", Town(homes=226, days=731, seed=5).panel(), 366)


def _homes(name: str, panel: Panel, cycles: int) -> Homes:
    history = panel.first(cycles)
    level = float(history.readings[history.present].mean())
    return Homes(name, history, panel.between(cycles * 48, panel.n_cycles * 48), f"{level:.0f}")


def draft(homes: Homes, **more: Any) -> dn.Plan:
    fields: dict[str, Any] = {
        "epsilon": "1",
        "level": "pattern",
        "domain": DOMAIN,
        "history": homes.history.n_cycles,
        "grid": homes.history.grid,
        "mechanism": "basis",
    }
    if more.get("level") == "strong":
        fields["cycle_mechanism"] = "basis"
    return dn.Plan(**{**fields, **more})


def made(homes: Homes, *, free: bool = True, **more: Any) -> dn.Plan:
    """A plan as `with_public_bounds` makes it from the public level alone."""
    return dn.with_public_bounds(draft(homes, **more), homes.history, mean_reading=homes.level, free=free)


def pattern(plan: dn.Plan, homes: Homes, draws: int = DRAWS) -> Found:
    """Started so many times: in pattern mode a report is off by what the noisy profile is off, in every cycle."""
    squares = []
    for _ in range(draws):
        noisy, profile = _started(plan, homes)
        squares.append(float(np.mean((noisy - profile) ** 2)))
    return _found(np.array(squares), homes)


def strong(plan: dn.Plan, homes: Homes, draws: int = DRAWS) -> Found:
    """Noisy profiles and fresh noise of every cycle, as the curator adds them up."""
    cycle, slots = plan.cycle_layer(), plan.grid.slots
    assert cycle is not None
    n = homes.year.n_households
    readings = homes.year.readings.reshape(-1, slots, n)
    present = homes.year.present.reshape(readings.shape)
    _, profile = _started(plan, homes, by_home=True)
    days = np.where(present, readings - profile, 0)
    if plan.clip is not None:
        days = np.clip(days, -plan.clip, plan.clip)
    sums = [cycle.contribute(day).sum(axis=1).tolist() for day in days]
    squares = []
    for _ in range(draws):
        noisy, _ = _started(plan, homes)
        shown = [np.array(cycle.to_slots(cycle.release(each))) / cycle.multiplier / n for each in sums]
        off = (np.concatenate(shown) + np.tile(noisy, len(days)))[homes.open] - homes.truth
        squares.append(float(np.mean(off**2)))
    return _found(np.array(squares), homes)


def _started(plan: dn.Plan, homes: Homes, *, by_home: bool = False) -> tuple[Floats, Floats]:
    """The noisy mean profile of a stream that was started, and the true one (or each home's)."""
    budget = dn.Budget(pattern=plan.epsilon, cycle=plan.eps_w, delta="1e-6")
    record = (
        dn.Curator.in_memory(budget)
        .start(plan, history=homes.history, acknowledge="untested", accept_worse=True)
        ._record()
    )
    noisy = np.array([float(value) for value in record.groups[0].noisy_profile]) / len(record.atoms.order)
    known = np.where(record.known, record.profile, 0)
    if not by_home:
        return noisy, known.mean(axis=1)
    placed = np.zeros_like(known)
    placed[:, record.atoms.order] = known
    return noisy, placed


def _found(squares: Floats, homes: Homes) -> Found:
    mean, half = float(squares.mean()), 1.97 * float(squares.std(ddof=1)) / math.sqrt(len(squares))
    largest, variance = float(homes.truth.max()), float(homes.truth.var())
    low, high = (math.sqrt(max(0.0, mean + sign * half)) / largest for sign in (-1, 1))
    return Found(math.sqrt(mean) / largest, low, high, 1 - mean / variance)


def nothing(homes: Homes) -> float:
    """The relative error of a typical day at the public level, over and over."""
    profile = np.array(dn.typical(homes.year.grid, homes.level).profile, dtype=float)
    off = np.tile(profile, homes.year.n_cycles)[homes.open] - homes.truth
    return math.sqrt(float(np.mean(off**2))) / float(homes.truth.max())


def weeks(homes: Homes) -> Homes:
    """The same with a period of a week: whole weeks only."""
    whole = homes.history.with_period("7d")
    return dataclasses.replace(homes, name=f"{homes.name}, T = 336", history=whole.first(whole.n_cycles))


def targets(homes: Homes) -> Iterator[tuple[str, str, Found]]:
    """Every plan of the table, with its goal on the Australian homes."""
    yield "pattern, mean", "0.025, skill 0.94", pattern(made(homes), homes)
    yield "pattern, mean, nothing free", "", pattern(made(homes, free=False), homes)
    yield "pattern, base load", "0.012", pattern(made(homes, statistic="base-load"), homes)
    week = weeks(homes)
    yield "pattern, mean, T = 336", "0.028", pattern(made(week), week)
    yield "strong, end of the day", "0.052, skill 0.75", strong(made(homes, level="strong"), homes)
    yield "strong, block by block", "", strong(by_block(homes), homes)
    yield "strong, slot by slot", "", strong(by_slot(homes), homes)


def by_block(homes: Homes) -> dn.Plan:
    """A strong plan that reports every few hours."""
    return made(homes, level="strong", cycle_mechanism="blocks")


def by_slot(homes: Homes) -> dn.Plan:
    """A strong plan that reports every half hour."""
    return made(homes, level="strong", cycle_mechanism="cube")


def ablations(homes: Homes) -> Iterator[tuple[str, Found]]:
    """The pattern plan with one ingredient changed at a time."""
    full = made(homes)
    body = full.body
    assert isinstance(body, dn.Ellipsoid)
    yield "all of it", pattern(full, homes)
    yield "nothing free", pattern(made(homes, free=False), homes)
    yield "nothing put back", pattern(_without_fill(full), homes)
    yield (
        "around the reference itself (scale 1)",
        pattern(full.with_(body=dataclasses.replace(body, scale=1)), homes),
    )
    yield (
        "all frequencies alike (flat)",
        pattern(full.with_(body=dataclasses.replace(body, weighting="flat")), homes),
    )
    yield "drawn towards the reference (shrink)", pattern(full.with_(shrink=True), homes)
    for kind in ("cosine", "spline"):
        yield f"{kind} basis", pattern(full.with_(basis=dn.Basis(size=full.basis.size, kind=kind)), homes)
    for size in (5, 9):
        yield f"{size} coefficients", pattern(full.with_(basis=dn.Basis(size=size)), homes)
    around_zero = dn.Ellipsoid(radius=round(2 * float(homes.level) * math.sqrt(48)))
    yield "a ball around zero", pattern(full.with_(body=around_zero, free=None, fill=0), homes)
    yield (
        "cube noise, profiles within 3 kWh",
        pattern(draft(homes, mechanism="cube", body=dn.Body(high=3000)), homes),
    )
    yield (
        "Theorem 1, profiles within 3 kWh",
        pattern(draft(homes, mechanism="laplace", body=dn.Body(high=3000)), homes),
    )


def _without_fill(plan: dn.Plan) -> dn.Plan:
    free = None if plan.free is None else dataclasses.replace(plan.free, low="1e-9")
    return plan.with_(fill=0, free=free)


def histories(homes: Homes) -> Iterator[tuple[str, Found]]:
    """The same plan with shorter histories: the days before the year."""
    for days in (28, 91, 182, 366):
        start = homes.history.n_cycles - days
        shorter = dataclasses.replace(homes, history=homes.history.after(start))
        yield f"{days} days", pattern(made(shorter), shorter, 100)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parts = [HEAD]
    with Progress("Accuracy", None) as bar:
        for make in (ausgrid, umass, town):
            homes = make()
            rows = []
            for name, goal, found in targets(homes):
                rows.append((name, goal if make is ausgrid else "", *str(found).split(" | ")))
                bar.advance(1)
            head = ("plan", "goal", f"relative error ({DRAWS} draws, 95 %)", "skill")
            parts += [
                f"## {homes.name}",
                f"Public level {homes.level} Wh. Nothing at all has {nothing(homes):.4f}.",
                _table(head, rows),
            ]
        homes = ausgrid()
        parts += ["## What each ingredient brings (Ausgrid, pattern)"]
        parts += [_table(("", "error", "skill"), [(name, *str(f).split(" | ")) for name, f in ablations(homes)])]
        parts += ["## How long a history (Ausgrid, pattern)"]
        parts += [_table(("", "error", "skill"), [(name, *str(f).split(" | ")) for name, f in histories(homes)])]
    PAGE.write_text("\n\n".join(parts) + "\n")


HEAD = f"""# Accuracy: the figures

Written by `python -m benchmarks.accuracy`. Plans are as `with_public_bounds(plan, panel, mean_reading=...)` makes
them from the public mean of a reading (the year before's) and the package's table of constants, epsilon 1 (a strong
plan: 1 for a shift of the pattern and 1 for any one reported day), {DRAWS} starts each through the shipped curator
and its integer mechanisms. Nothing was tuned on Australian readings. [Accuracy](accuracy.md)
explains the figures."""


if __name__ == "__main__":
    main()
