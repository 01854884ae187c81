"""The whole chain, from a head-end's rows to a year of reports, each stage in turns with its limit or peer."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks import stages
from benchmarks.stages import Town, Work, make, measure

HEAD = """From a long Parquet file, sorted by time, to reports in a SQLite store: means by suburb, level `strong`, a
cycle a day, {suburbs} suburbs. Patterns are learned from the first {history} days of a year. The other {rest} are
reported, seven at a time as `diurnal report` does: {batches} durable transactions. Readings are those that a stage
is about. Times are warm, and medians of turns ({turns}); memory is the peak of a stage's own process.

Each stage is compared with:

- Import: DuckDB sorts the same rows by household and time, and writes them.
- Check: a bare matrix product with all products and sums of the Gram pass over all homes, and DuckDB's sum of the
  values. The rest of a check, evidence and other periods on samples of homes, is not in that limit.
- Start: Arrow reads the values on every core, and those of the history go into an array. A row group of a panel has
  whole homes, so that a history cannot be read without what follows it.
- Reports: DuckDB's sums by suburb and time, a Laplace draw of OpenDP for each of them, and SQLite's durable inserts
  of them, in as many transactions. `cube` reports slot by slot, `basis` when the day is over: until then the store
  holds its readings, durably too.

| stage | readings | time | memory | million readings a second | limit or peer | its time | ratio |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Stage:
    """A stage, and what it is held against."""

    name: str
    work: Work
    against: str
    limit: Work
    steps: Callable[[Town], int]
    """Of how many steps it takes the readings."""
    mechanism: str = "cube"


def _all(town: Town) -> int:
    return town.steps


def _history(town: Town) -> int:
    return town.first


def _rest(town: Town) -> int:
    return town.steps - town.first


SCAN = "Arrow's scan of the values"

BARE = "DuckDB's sums, OpenDP's noise, bare durable inserts"

STAGES = (
    Stage("import", stages.bring, "DuckDB's rewrite, sorted", stages.rewrite, _all),
    Stage("check", stages.check, "bare GEMM, as many products, and DuckDB's sum", stages.multiply, _all),
    Stage("start, `cube`", stages.start, SCAN, stages.scan, _history),
    Stage("reports, `cube`", stages.report, BARE, stages.add_up, _rest),
    Stage("start, `basis`", stages.start, SCAN, stages.scan, _history, "basis"),
    Stage("reports, `basis`", stages.report, BARE, stages.add_up, _rest, "basis"),
)

RUNS = ((2_000, 3, STAGES), (10_000, 1, STAGES[:-2]))
"""Of how many homes, in how many turns and which stages; a year of these is 35 and 175 million readings.

What `basis` takes is seen on the smaller: minutes on the larger would tell no more.
"""

Turn = tuple[float, float, float]
"""Our seconds, theirs, and our peak memory in MB."""


def table() -> str:
    """What was measured and how, and a row for each size and stage."""
    rows: list[str] = []
    for homes, turns, chosen in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            town = Town(folder=folder, homes=homes)
            seen = _turns(town, turns, chosen)
        rows += (_row(stage, town, seen[stage.name]) for stage in chosen)
    return _head(town) + "\n".join(rows)


def _head(town: Town) -> str:
    return HEAD.format(
        suburbs=town.suburbs,
        history=town.history,
        rest=town.days - town.history,
        batches=len(list(town.batches())),
        turns=", ".join(f"{turns} of {homes:,} homes" for homes, turns, _ in RUNS),
    )


def _turns(town: Town, turns: int, chosen: tuple[Stage, ...]) -> dict[str, list[Turn]]:
    """What every stage and its limit take, the whole chain again and again."""
    measure(town, make)
    seen: dict[str, list[Turn]] = {stage.name: [] for stage in chosen}
    for number in range(1, turns + 1):
        for stage in chosen:
            case = replace(town, mechanism=stage.mechanism)
            ((ours,), memory), ((theirs,), _) = measure(case, stage.work), measure(case, stage.limit)
            seen[stage.name].append((ours, theirs, memory))
            print(f"chain, turn {number}: {_row(stage, town, seen[stage.name][-1:])}", file=sys.stderr)
    return seen


def _row(stage: Stage, town: Town, seen: list[Turn]) -> str:
    ours, theirs, ratio = (
        statistics.median(each) for each in zip(*((a, b, a / b) for a, b, _ in seen), strict=True)
    )
    millions = stage.steps(town) * town.homes / 1e6
    cells = (
        stage.name,
        f"{millions:.1f} million",
        f"{ours:.3g} s",
        f"{max(memory for *_, memory in seen):.0f} MB",
        f"{millions / ours:.3g}",
        stage.against,
        f"{theirs:.3g} s",
        f"**{ratio:.2f}**",
    )
    return f"| {' | '.join(cells)} |"
