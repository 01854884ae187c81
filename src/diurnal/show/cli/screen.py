"""Screen: where a verb's words go.

People get words and tables on standard output; programs (`--json`) get JSON there and nothing else. What is about
the run and not its result, such as the head of the ledger or a structured log, goes to standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from diurnal.show import log

JSON_VERSION = 1
"""The version of the shape of what `--json` prints. Keys may be added; none is taken away or changed in it."""

LEVELS = ("debug", "info", "warning", "error")


class Screen:
    """Where one verb says what it did."""

    def __init__(
        self, verb: str, *, as_json: bool = False, quiet: bool = False, log_level: str = "warning"
    ) -> None:
        if log_level not in LEVELS:
            raise typer.BadParameter(f"Expected one of {', '.join(LEVELS)}.", param_hint="--log-level")
        self.verb, self.as_json, self.quiet, self.log_level = verb, as_json, quiet, log_level
        # Colour only on a terminal; what is printed is never read as markup.
        self._out = Console(highlight=False, markup=False, emoji=False)
        log.set_up(log_level)

    @property
    def wide(self) -> bool:
        """Whether there is room for a table of many columns."""
        return self._out.width >= 66

    @property
    def talks(self) -> bool:
        """Whether people are listening."""
        return not (self.as_json or self.quiet)

    def say(self, text: object = "") -> None:
        """Words for people."""
        if self.talks:
            self._out.print(plain(str(text)), soft_wrap=True)

    def heading(self, text: str) -> None:
        """What comes next, for people."""
        if self.talks:
            self._out.print(f"\n{text}", style="bold")

    def sentences(self, sentences: Iterable[str]) -> None:
        """Sentences for people, numbered, as wide as the terminal."""
        grid = Table.grid(padding=(0, 1, 0, 0))
        for number, sentence in enumerate(sentences, start=1):
            grid.add_row(f"{number}.", sentence)
        self.table(grid)

    def table(self, table: Table) -> None:
        """A table for people, as wide as the terminal."""
        if self.talks:
            self._out.print(table)

    def result(self, content: dict[str, Any]) -> None:
        """What came of it, for programs: one object."""
        if self.as_json:
            self._write({"version": JSON_VERSION, "verb": self.verb, **content})

    def line(self, content: dict[str, Any]) -> None:
        """One of many things that came of it, for programs: an object a line."""
        if self.as_json:
            self._write({"version": JSON_VERSION, **content})

    def aside(self, text: str) -> None:
        """Words about the run, on standard error."""
        if not self.quiet:
            typer.echo(plain(text), err=True)

    def log(self, event: str, **fields: Any) -> None:
        """A line of the structured log. Fields are public ones: sizes, times, keys; never a reading or a sum."""
        log.told(event, verb=self.verb, **fields)

    def _write(self, content: dict[str, Any]) -> None:
        if sys.stdout is None:
            raise BrokenPipeError
        sys.stdout.write(f"{json.dumps(content)}\n")
        sys.stdout.flush()


def plain(text: str) -> str:
    """Text without control characters: names come from files, and must not steer a terminal."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}" for each in text)


def table(*columns: str, right: tuple[str, ...] = (), title: str | None = None) -> Table:
    """An empty table in the house's style: few lines, numbers to the right."""
    made = Table(
        box=None, pad_edge=False, title=title, title_justify="left", title_style="bold", header_style="dim"
    )
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return made
