"""Bars on a log scale and tables, as HTML: they need no script."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
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

    def ticks(self, unit: str) -> str:
        """The powers of ten, written above the bars; not all of them where there are many."""
        every = -(-(self.high - self.low) // 6)
        marks = [f'<b class="last" style="left:100%">{_power(self.high)}{unit}</b>']
        for power in range(self.high - every, self.low, -every):
            marks.append(f'<b style="left:{self(10.0**power)}%">{_power(power)}</b>')
        return f'<li class="scale" aria-hidden="true"><span class="ticks">{"".join(marks)}</span></li>'


def _power(power: int) -> str:
    """A power of ten in few letters, so that they fit beside each other on a phone."""
    if not 0 <= power < 12:
        return f"{10.0**power:g} "
    letter = ("", "k", "M", "G")[power // 3]
    return f"{10 ** (power % 3)} {letter}"


def bars(rows: Sequence[Mapping[str, Any]], nothing: float, unit: str) -> dict[str, str]:
    """The bars, the marks above them, and how far apart these are."""
    place = LogScale([row["error"] for row in rows])
    # A unit of many letters is said above, once.
    brief = unit if len(unit) <= 4 else ""
    return {
        "bars": "".join(_bar(row, place(row["error"]), place(nothing), brief) for row in rows),
        "ticks": place.ticks(brief),
        "decade": str(round(100 / (place.high - place.low), 4)),
    }


def _bar(row: Mapping[str, Any], width: float, nothing: float, unit: str) -> str:
    kind = row["kind"]
    marked = f' <span class="tag">{TAGS[kind]}</span>' if kind in TAGS else ""
    wanted = ("note",) if kind == "beside" else ("promise", "note")
    said = "; ".join(escape(row[name]) for name in wanted if row[name])
    # What the other mechanisms promise is what this plan does: said once, and in the table.
    what = "" if kind == "other" else f'<span class="what">{said}</span>'
    return (
        f'<li class="{kind}"><span class="name">{escape(row["name"])}{marked}</span>'
        f'<span class="value">{escape(row["said"])} {unit}</span>'
        f'<span class="track" style="--at:{nothing}%" aria-hidden="true"><i style="width:{width}%"></i></span>'
        f"{what}</li>"
    )


def table(
    names: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    caption: str,
    numbers: Iterable[int] = (),
    unbroken: Iterable[int] = (),
) -> str:
    """A table that scrolls in its own box where it is too wide.

    Args:
        names: What stands above each column.
        lines: The cells, as plain text.
        caption: What the table is, for who does not see it.
        numbers: The columns that are numbers.
        unbroken: The columns whose cells are not broken into lines.
    """
    kinds = {**dict.fromkeys(numbers, ' class="number"'), **dict.fromkeys(unbroken, ' class="unbroken"')}
    marks = [kinds.get(place, "") for place in range(len(names))]
    head = "".join(f'<th scope="col"{mark}>{escape(name)}</th>' for name, mark in zip(names, marks, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{mark}>{escape(cell)}</td>" for cell, mark in zip(line, marks, strict=True)) + "</tr>"
        for line in lines
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f'<caption class="unseen">{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
