"""Run benchmarks and write docs/performance.md, a section for each part of them.

    python -m benchmarks             all of them
    python -m benchmarks spark       some of them; the other sections of the page stay as they are

Speed is a ratio against a peer or a limit in the same run.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import platform
import re
import sys
from collections.abc import Callable, Iterator

from benchmarks import chain, crowd, curator, fuzz, gram, growth, noise, readings, service, spark, step
from benchmarks.timing import Result

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "performance.md"

FUZZED = 100_000
"""How many damaged inputs the readers get."""

HEAD = """# Performance

`make bench` writes this page. Machines differ and are shared, so what counts is the **ratio**: our time divided by
that of a peer or a limit, measured in turns in the same run; the median of the ratios of the turns. Seconds
only give a sense of size.
"""

COLUMNS = """| what | against | ratio | goal | ours | theirs |
|---|---|---|---|---|---|
"""


def _table(run: Callable[[], Iterator[Result]], about: str = "") -> Callable[[], str]:
    def table() -> str:
        rows = []
        for result in run():
            rows.append(result.row())
            print(rows[-1], file=sys.stderr)
        return about + COLUMNS + "\n".join(rows)

    return table


def _fuzzed() -> str:
    """What became of damaged inputs, in a paragraph."""
    fates: collections.Counter[str] = sum(fuzz.fuzz(FUZZED, seed=1).values(), collections.Counter())
    failures = sum(n for fate, n in fates.items() if fate.startswith("!"))
    errors = FUZZED - failures - fates["panel"]
    return (
        f"The readers were given {FUZZED:,} damaged inputs (`benchmarks/fuzz.py`): {fates['panel']:,} ended in a\n"
        f"panel whose rows add up, {errors:,} in an error of diurnal that shows no value, {failures:,} in\n"
        "anything else."
    )


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "chain": ("The whole chain", chain.table),
    "growth": ("How it grows", growth.table),
    "noise": ("Noise", _table(noise.run)),
    "step": ("A step", _table(step.run)),
    "curator": ("The store", _table(curator.run)),
    "gram": ("The check", _table(gram.run)),
    "readings": ("Readings in", _table(readings.run)),
    "service": ("The service", _table(service.run)),
    "crowd": ("The service beside a crowd", _table(crowd.run, crowd.ABOUT)),
    "spark": ("Spark", _table(spark.run)),
    "fuzz": ("Damaged inputs", _fuzzed),
}
"""By the name of its module, the title of a section and what writes it."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/performance.md.")
    parser.add_argument("part", nargs="*", help=f"{', '.join(PARTS)}; all of them unless given")
    wanted = parser.parse_args().part or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"There is no part {sorted(unknown)[0]!r}.")
    machine = (
        f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    )
    for name in wanted:
        title, write = PARTS[name]
        body = f"Last run: {machine}.\n\n{write()}\n"
        PAGE.write_text(_with_section(PAGE.read_text(), title, body))


def _with_section(page: str, title: str, body: str) -> str:
    """The page with a section in its place, made anew; the others stay."""
    sections = dict(re.findall(r"^## (.*?)\n\n(.*?)(?=^## |\Z)", page, flags=re.S | re.M))
    sections[title] = f"{body}\n"
    order = [each for each, _ in PARTS.values()]
    found = [f"## {each}\n\n{sections[each].rstrip()}\n" for each in order if each in sections]
    return "\n".join([HEAD, *found])


if __name__ == "__main__":
    main()
