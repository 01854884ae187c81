"""Writes docs/commands.md: the help of every verb, as `diurnal VERB --help` has it, 80 columns wide.

Run it with `python tools/commands.py` when a verb or a flag has changed; a test says when that was forgotten.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from diurnal.show.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"

HEAD = """# The command line

Written by `python tools/commands.py` from the program itself. Exit codes, `--json`, `diurnal.toml` and completion
are explained in [defaults, JSON and scripts](howto/diurnal-toml.md); the [tutorial](tutorial.md) has the verbs in
the order in which one needs them.
"""


def page() -> str:
    """The whole page."""
    group: Any = typer.main.get_command(app)
    context = _context(group, "diurnal")
    parts = [HEAD, _fenced("diurnal", _help(group, context))]
    for name, command in group.commands.items():
        parts.append(_fenced(f"diurnal {name}", _help(command, _context(command, name, parent=context))))
    return "\n".join(parts)


def _context(command: Any, name: str, **more: Any) -> Any:
    return command.context_class(command, info_name=name, terminal_width=80, max_content_width=80, **more)


def _help(command: Any, context: Any) -> str:
    """The help as plain text: no boxes, no colour."""
    command.rich_markup_mode = None
    text = re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.M)
    return text.strip()


def _fenced(title: str, text: str) -> str:
    return f"## {title}\n\n```text\n{text}\n```\n"


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
