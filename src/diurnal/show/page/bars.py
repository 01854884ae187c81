"""Bars on a log scale, which need no script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

TAGS = {"own": "this plan", "beside": "for comparison", "split": "for comparison"}
"""What a bar's kind is called."""


class LogScale:
    """Where a value lies on a log scale from one power of ten to another, in percent."""

    def __init__(self, values: Iterable[float]) -> None:
        logs = [math.log10(value) for value in values if 0 < value < math.inf]
        # Not so close to the least that its bar would be none.
        self.low = math.floor(min(logs, default=0.0) - 0.3)
        self.high = max(self.low + 1, math.ceil(max(logs, default=1.0)))

    def __call__(self, value: float) -> float:
        if value <= 0:
            return 0.0
        place = (math.log10(value) - self.low) / (self.high - self.low) if value < math.inf else 1.0
        return round(100 * max(0.0, min(1.0, place)), 2)

    def ticks(self, unit: str) -> list[dict[str, Any]]:
        """The powers of ten that are written above the bars, the largest first; not all where there are many."""
        every = -(-(self.high - self.low) // 6)
        powers = range(self.high - every, self.low, -every)
        largest = {"at": 100, "text": f"{_power(self.high)}{unit}"}
        return [largest, *({"at": self(10.0**power), "text": _power(power)} for power in powers)]


def _power(power: int) -> str:
    """A power of ten in few letters, so that they fit beside each other on a phone."""
    if not 0 <= power < 12:
        return f"{10.0**power:g} "
    letter = ("", "k", "M", "G")[power // 3]
    return f"{10 ** (power % 3)} {letter}"


def bars(rows: Sequence[Mapping[str, Any]], nothing: float, unit: str) -> dict[str, Any]:
    """Bars for predicted errors: how wide each is, and where marks stand, in percent."""
    place = LogScale([row["error"] for row in rows])
    # A unit of many letters is said above, once.
    brief = unit if len(unit) <= 4 else ""
    return {
        "rows": [_bar(row, place(row["error"])) for row in rows],
        "nothing": place(nothing),
        "ticks": place.ticks(brief),
        "decade": round(100 / (place.high - place.low), 4),
        "unit": brief,
    }


def _bar(row: Mapping[str, Any], width: float) -> dict[str, Any]:
    kind = row["kind"]
    wanted = ("note",) if kind == "beside" else ("promise", "note")
    # What the other mechanisms promise is what this plan does: said once, and in the table.
    what = None if kind == "other" else "; ".join(row[name] for name in wanted if row[name])
    return {**row, "width": width, "tag": TAGS.get(kind), "what": what}
