"""A real head-end, simulated: every fault for 30 days, and a year of all of them; writes docs/headend.md.

Meters with wrong clocks, batches that are lost, doubled, merged and late, and whatever else is in
`benchmarks.fleet.faults`, are sent to the product by a clock that is the simulation's. An oracle that is written
from the rules alone knows which rows must be out, when, and with which readings. A difference ends it, and no page
is written.

    python -m benchmarks.headend            everything, on as many cores as there are
    python -m benchmarks.headend --quick    a few days of everything; writes nothing
    python -m benchmarks.headend --only "batches lost" --grace 2
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from benchmarks.fleet.faults import ALONE, FAULTS
from benchmarks.fleet.oracle import AGAIN, PUBLISHED
from benchmarks.fleet.simulation import Figures, simulate
from benchmarks.fleet.town import Town
from diurnal.readings.quality import words_of

PAGE = Path(__file__).parents[1] / "docs" / "headend.md"

GRACES = (0, 2, 48)
SPRING, AUTUMN = "2022-03-10", "2022-10-10"
"""When runs of 30 days begin: clocks go forward in one, and back in the other."""
BY_SEASON = ("daylight saving", "times without an offset")
"""Faults that are simulated in autumn as well."""
YEAR, YEAR_GRACE = "2022-01-10", 2
ALL = tuple(name for name in FAULTS if name not in ALONE)
"""Everything at once."""
STEPS_COUNTED = {PUBLISHED, AGAIN}
"""Counters that are not of readings."""

HEAD = """# A head-end with every fault

Written by `make soak` (`python -m benchmarks.headend`). A faulty fleet of meters sends its half hours
through the import and the transaction that the service uses. The store's clock is
the simulation's, and noise is silent, so that a row shows exactly which readings are in it. An **oracle**, written
from the rules alone, keeps the first reading of every home and step that came in time, and knows which steps must
be closed.

Two streams take every batch: one that reports half hours as they close, and one that waits for the whole day.
The run compares:

- **of every batch** how it is answered: refused or not, known by its key or not, how many rows were set aside by
  the import and how many readings by each stream, by reason, how many were taken and how many rows came out;
- **of every row** its exact value, that it comes out at the moment at which it must and at no other, and, every day
  (every week in the year), that all rows so far are there, once, and unchanged;
- **every hour** (every three in the year) which steps are held: none past its deadline, none that should not be;
- **every day** all counters that the custodian sees, and that nothing but rows is left of days that are over;
- **at the end** that every reading that was taken is in a row, that nothing is held, and that the ledger is sound.

A difference ends the run, and no page is written. Deadlines are looked at every hour (every three in the year),
so a step is out within 49 hours (51) of its end, or of the first readings of its day if these came later, or of the
moment at which the fleet reached it; the rows of whole days as long after the end of the day.

## A year of {homes:,} meters, {percent:g} % of them faulty, with all faults at once

| | {kinds} |
|---|{lines}|
{years}

## Every fault for {days} days, {few} meters, {few_percent:g} % of them faulty

Latest is how many hours after the end of its half hour a row was out, at most: of half hours, and of whole days. In
"a past filled in" all readings are weeks old when they come. What was set aside is counted in rows before a stream,
and in readings of the first stream.

| fault | grace | batches | refused | readings | rows out | latest (h) | set aside, and counted |
|---|---|---|---|---|---|---|---|
{rows}

## The faults

{faults}
"""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run."""

    label: str
    names: tuple[str, ...]
    grace: int
    town: Town
    kind: str = "SQLite"
    full_days: int = 1
    every: int = 1

    def __call__(self) -> tuple[Figures, float]:
        """Simulate it. Returns what it has shown, and how many seconds that took."""
        began = time.perf_counter()
        try:
            figures = simulate(
                self.names,
                grace=self.grace,
                town=self.town,
                kind=self.kind,
                full_days=self.full_days,
                every=timedelta(hours=self.every),
                folder=quick_disk() if self.kind == "SQLite" else None,
            )
        except AssertionError as error:
            raise AssertionError(f"{self.label}, grace {self.grace}, {self.kind}: {error}") from None
        figures.fault = self.label
        return figures, time.perf_counter() - began


def quick_disk() -> Path | None:
    """A folder in memory, where there is one: durability is not what is simulated here."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else None


def _run(job: Job) -> tuple[Figures, float]:
    return job()


def years(*, homes: int, days: int, rate: float = 1.0) -> Iterator[Job]:
    """All faults at once, on each database."""
    town = Town(homes=homes, days=days, start=YEAR, faulty=0.02, rate=rate)
    for kind in ("PostgreSQL", "SQLite"):
        yield Job(label="all at once", names=ALL, grace=YEAR_GRACE, town=town, kind=kind, full_days=7, every=3)


def singles(*, homes: int, days: int, graces: Sequence[int], only: str | None = None) -> Iterator[Job]:
    """Every fault by itself."""
    spring, autumn = (Town(homes=homes, days=days, start=start) for start in (SPRING, AUTUMN))
    for name in FAULTS if only is None else [only]:
        for grace in graces:
            yield Job(label=name, names=(name,), grace=grace, town=spring)
        for grace in graces if name in BY_SEASON else ():
            yield Job(label=f"{name}, in autumn", names=(name,), grace=grace, town=autumn)


def run(jobs: Sequence[Job], *, workers: int) -> list[tuple[Figures, float]]:
    """Run jobs beside each other. Returns what they have shown, in their order.

    Raises:
        AssertionError: The product did something else than the oracle says.
    """
    if workers == 1:
        return [_told(_run(job)) for job in jobs]
    # Whole processes: noise is silent in each until its job is done.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures: dict[Future[tuple[Figures, float]], int] = {
            pool.submit(_run, job): i for i, job in enumerate(jobs)
        }
        try:
            for future in as_completed(futures):
                _told(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _told(found: tuple[Figures, float]) -> tuple[Figures, float]:
    figures, seconds = found
    print(f"{_row(figures)} {figures.kind}, {seconds:.0f} s", flush=True)
    return found


def _row(figures: Figures) -> str:
    latest = ", ".join(f"{hours:.1f}" for hours in figures.latest.values())
    cells = (
        figures.fault,
        figures.grace,
        f"{figures.batches:,}",
        f"{figures.refused:,}",
        f"{figures.readings:,}",
        f"{figures.rows:,}",
        latest,
        _counted(figures),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _counted(figures: Figures) -> str:
    """Counters in words, the largest first."""
    found = [(what, number) for what, number in figures.counted.most_common() if what not in STEPS_COUNTED]
    return "; ".join(f"{number:,} {words_of(what)}" for what, number in found) or "-"


def _year_rows(found: Sequence[tuple[Figures, float]]) -> str:
    columns = [
        {
            "batches": f"{figures.batches:,}",
            "of them known by their key": f"{figures.again:,}",
            "of them refused, as was to be": f"{figures.refused:,}",
            "readings sent": f"{figures.readings:,}",
            "rows out": f"{figures.rows:,}",
            **{f"latest, {name} (h)": f"{hours:.1f}" for name, hours in figures.latest.items()},
            **{
                f"set aside: {words_of(what)}": f"{number:,}"
                for what, number in figures.counted.most_common()
                if what not in STEPS_COUNTED
            },
            "steps closed by a wrong clock": "0",
            "rows lost, changed or doubled": "0",
            "steps held past their deadline": "0",
            "faults that are not counted": "0",
            "minutes it took": f"{seconds / 60:.0f}",
        }
        for figures, seconds in found
    ]
    names = dict.fromkeys(name for column in columns for name in column)
    return "\n".join(f"| {name} | {' | '.join(column.get(name, '0') for column in columns)} |" for name in names)


def write(
    year: Sequence[tuple[Figures, float]], single: Sequence[tuple[Figures, float]], jobs: Sequence[Job]
) -> None:
    """Write the page."""
    large = next(job.town for job in jobs if job.names == ALL)
    small = next(job.town for job in jobs if job.names != ALL)
    PAGE.write_text(
        HEAD.format(
            homes=large.homes,
            percent=100 * large.faulty,
            kinds=" | ".join(figures.kind for figures, _ in year),
            lines="|".join("---" for _ in year),
            years=_year_rows(year),
            days=small.days,
            few=small.homes,
            few_percent=100 * small.faulty,
            rows="\n".join(_row(figures) for figures, _ in single),
            faults="\n".join(f"- **{name}**: {_sentence(kind.__doc__)}" for name, kind in FAULTS.items()),
        )
    )


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split())


def everything(*, workers: int | None = None) -> None:
    """Run it all, and write the page."""
    large = list(years(homes=1000, days=365, rate=0.2))
    small = list(singles(homes=60, days=30, graces=GRACES))
    found = run([*large, *small], workers=workers or os.cpu_count() or 1)
    write(found[: len(large)], found[len(large) :], [*large, *small])


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--quick", action="store_true", help="A few days of everything; nothing is written.")
    asked.add_argument("--only", choices=[*FAULTS, "all"], help="One fault, or all at once; nothing is written.")
    asked.add_argument("--grace", type=int, nargs="*", default=list(GRACES), help="With --only, at which graces.")
    asked.add_argument("--days", type=int, default=30, help="With --only, for how many days.")
    asked.add_argument("--homes", type=int, default=100, help="With --only, how many homes.")
    asked.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="How many processes.")
    said = asked.parse_args()
    if said.only == "all":
        run(list(years(homes=said.homes, days=said.days)), workers=said.workers)
    elif said.only is not None:
        jobs = singles(homes=said.homes, days=said.days, graces=said.grace, only=said.only)
        run(list(jobs), workers=said.workers)
    elif said.quick:
        jobs = singles(homes=40, days=4, graces=(2,))
        run([*years(homes=200, days=6), *jobs], workers=said.workers)
    else:
        everything(workers=said.workers)


if __name__ == "__main__":
    main()
