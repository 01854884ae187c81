"""Facts: what a store knows of itself, checked as it is read.

A fact is JSON in a row of its own. Somebody may have edited the database, or the disk may have damaged it: a fact
of another kind than was written is a `StoreError`, wherever it is read, and never a traceback.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from diurnal.curator.ledger import Head, loss_of
from diurnal.curator.records import readable
from diurnal.errors import StoreError
from diurnal.promise.budget import Budget
from diurnal.readings.grid import Grid


def fact(name: str, words: Any) -> Any:
    """A fact from its text in the database; None if there is none, or if it says so.

    Args:
        name: Its name. Facts about a plan end in its number.
        words: Its text; None if there is no such row.

    Raises:
        StoreError: It is missing, or of another kind than was written.
    """
    kind = name.split()[0]
    with readable(f"What the store knows of its {kind}"):
        value = None if words is None else json.loads(words)
        if value is None and kind not in REQUIRED:
            return None
        if not KINDS[kind](value):
            raise ValueError
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_key(value: Any) -> bool:
    """256 bits in hexadecimal digits."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _is_head(value: Any) -> bool:
    try:
        return bool(str(Head.of(value)))
    except StoreError:
        return False


def _is_budget(value: Any) -> bool:
    # From decimals as they were written: `Budget` would also take a number, which nobody has written here.
    names = {"pattern", "strong", "delta"}
    return isinstance(value, dict) and value.keys() == names and Budget(**value).to_json() == value


def _is_population(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {"grid", "domain", "channel"}:
        return False
    domain = value.get("domain", [0, 1])
    return (
        ("grid" not in value or Grid(**value["grid"]).to_json() == value["grid"])
        and isinstance(domain, list)
        and len(domain) == 2
        and all(map(_is_number, domain))
        and isinstance(value.get("channel", ""), str)
    )


def _is_fence(value: Any) -> bool:
    losses = [loss_of(value[name]) for name in ("pattern", "strong")]
    return (
        len(losses) == 2
        and isinstance(value["heads"], list)
        and all(map(_is_word, value["heads"]))
        and _is_head(value["base"])
        and _is_number(value["step"])
        and isinstance(value["levels"], str)
    )


KINDS: dict[str, Callable[[Any], bool]] = {
    "version": _is_count,
    "budget": _is_budget,
    "population": _is_population,
    "salt": _is_word,
    "id": _is_word,
    "lineage": _is_word,
    "secret": _is_key,
    "taken": _is_key,
    "backup": _is_head,
    "fence": _is_fence,
    "owed": _is_count,
    "knew": _is_count,
    "place": _is_word,
    "latest": _is_number,
    "settled": _is_number,
}
"""By the name of a fact, or by the first word of it, whether a value is of the kind that is written there."""

REQUIRED = frozenset({"version", "budget", "population", "salt", "id", "lineage", "secret", "taken"})
"""Facts that every store has."""
