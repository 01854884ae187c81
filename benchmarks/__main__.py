"""Run every benchmark and write docs/performance.md. Speed is a ratio against a peer or a limit in the same run."""

from __future__ import annotations

import os
import pathlib
import platform
import sys

from benchmarks import noise, readings, step
from benchmarks.timing import Result

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "performance.md"

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
    for module in (noise, step, readings):
        for result in module.run():
            print(result.row(), file=sys.stderr)
            results.append(result)
    machine = (
        f"Last run: Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, "
        f"{platform.system()}."
    )
    PAGE.write_text(HEAD.format(machine=machine) + "\n".join(result.row() for result in results) + "\n")


if __name__ == "__main__":
    main()
