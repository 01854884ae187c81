"""Run every benchmark and write docs/performance.md. Speed is a ratio against a peer or a limit in the same run."""

from __future__ import annotations

import collections
import os
import pathlib
import platform
import sys

from benchmarks import curator, fuzz, gram, noise, readings, service, spark, step
from benchmarks.timing import Result

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "performance.md"

FUZZED = 100_000
"""How many damaged inputs the readers get."""

HEAD = """# Performance

Written by `make bench`. Machines differ and are shared, so what counts is the **ratio**: the time of ours over
that of a peer or a limit, measured in turns in the same run; the median of the ratios of the turns. Seconds
are there for a sense of size only.

{machine}

| what | against | ratio | goal | ours | theirs |
|---|---|---|---|---|---|
"""


def main() -> None:
    results: list[Result] = []
    for module in (noise, step, curator, gram, readings, service, spark):
        for result in module.run():
            print(result.row(), file=sys.stderr)
            results.append(result)
    machine = (
        f"Last run: Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"{platform.system()}."
    )
    table = "\n".join(result.row() for result in results)
    PAGE.write_text(f"{HEAD.format(machine=machine)}{table}\n\n{_fuzzed(FUZZED)}")


def _fuzzed(count: int) -> str:
    """What became of damaged inputs, in a paragraph."""
    fates: collections.Counter[str] = sum(fuzz.fuzz(count, seed=1).values(), collections.Counter())
    failures = sum(n for fate, n in fates.items() if fate.startswith("!"))
    errors = count - failures - fates["panel"]
    return (
        f"The readers were given {count:,} damaged inputs (`benchmarks/fuzz.py`): {fates['panel']:,} ended in a\n"
        f"panel whose rows add up, {errors:,} in an error of diurnal that shows no value, {failures:,} in\n"
        "anything else.\n"
    )


if __name__ == "__main__":
    main()
