"""Settings: `diurnal.toml`, a file of defaults for flags. Flags win.

store = "city.db"          # for every verb that has --store

[plan]                     # for one verb
epsilon = "1"
history = 91
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

NAME = "diurnal.toml"
"""The file that is looked for where diurnal is run."""


def defaults(path: Path | None, commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By verb and parameter, what a file of settings says.

    Args:
        path: The file; `diurnal.toml`, if it is there, unless given.
        commands: The verbs by name, as the parser has them.

    Raises:
        typer.BadParameter: It cannot be read, or says something that no verb understands.
    """
    if path is None and not Path(NAME).is_file():
        return {}
    told = _read(path or Path(NAME))
    flags = {verb: _flags(command) for verb, command in commands.items()}
    found: dict[str, dict[str, Any]] = {verb: {} for verb in commands}
    for key, value in told.items():
        if isinstance(value, dict):
            _take_table(key, value, flags, found)
        else:
            _take_key(key, value, flags, found)
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise _error(f"{path.name} cannot be read: {type(error).__name__}.") from None


def _flags(command: Any) -> dict[str, str]:
    """By flag, without its dashes, the parameter it sets."""
    return {flag.lstrip("-"): each.name for each in command.params for flag in each.opts if flag.startswith("--")}


def _take_table(
    verb: str, table: dict[str, Any], flags: dict[str, dict[str, str]], found: dict[str, dict[str, Any]]
) -> None:
    if verb not in flags:
        raise _error(
            f"Expected a verb as the name of a table, got {verb!r}. Use one of {', '.join(sorted(flags))}."
        )
    for key, value in table.items():
        if _flag(key) not in flags[verb]:
            raise _error(f"{verb} has no flag --{_flag(key)}. Use some of {', '.join(sorted(flags[verb]))}.")
        _check_kind(key, value)
        found[verb][flags[verb][_flag(key)]] = value


def _take_key(key: str, value: Any, flags: dict[str, dict[str, str]], found: dict[str, dict[str, Any]]) -> None:
    verbs = [verb for verb in flags if _flag(key) in flags[verb]]
    if not verbs:
        raise _error(f"No verb has a flag --{_flag(key)}.")
    _check_kind(key, value)
    for verb in verbs:
        found[verb].setdefault(flags[verb][_flag(key)], value)


def _check_kind(key: str, value: Any) -> None:
    """Refuse what a flag cannot be told, and what must be said each time."""
    if key == "truth":
        raise _error("truth cannot have a default: a page with it is private, so give --truth each time.")
    if not isinstance(value, (str, int, float)) and not (isinstance(value, list) and key == "domain"):
        raise _error(f"Expected {key} as text, a number, true or false.")


def _flag(key: str) -> str:
    return key.replace("_", "-")


def _error(text: str) -> typer.BadParameter:
    return typer.BadParameter(text, param_hint=NAME)
