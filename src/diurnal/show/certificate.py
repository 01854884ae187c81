"""Certificate: what a plan promises, as a document that can be filed and signed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from diurnal.exact import text
from diurnal.planning.accuracy import clipping
from diurnal.planning.plan import Plan
from diurnal.planning.planner import OTHERS_BOUNDS, explain, missing, predict
from diurnal.planning.prediction import Line
from diurnal.readings.panel import Panel, Shape

VERSION = 1
"""The version of the wording: of the sentences here and of all that `explain`, levels and guarantees say in them.

A certificate is signed, so a change of its wording is a new version: a test keeps the words of every version."""


def certificate(plan: Plan, shape: Shape | Panel, *, open_data: Panel | None = None) -> str:
    """A plan's promise in Markdown: words, numbers, predicted errors, and the plan itself by its digest.

    It holds public values only: of the shape nothing but sizes is used.

    Args:
        plan: With its mechanisms chosen.
        shape: How large the groups are; or the panel, of which nothing else is used.
        open_data: *Public* readings of other households, as for `predict`.
    """
    prediction = predict(plan, shape, open_data=open_data)
    sentences = explain(plan, shape, open_data=open_data)
    return "\n".join(
        [
            "# Certificate of a plan",
            "",
            f"Level **{plan.level}**. It does not say whether the plan was started. Its number is",
            "",
            f"`{plan.certificate_number}`",
            "",
            "The stream that is started from this plan names it: when it starts, on its page, and in the service.",
            "",
            f"The wording of this certificate is version {VERSION}.",
            "",
            "## What is promised, what is assumed, what is not promised",
            "",
            *(f"{number}. {sentence}" for number, sentence in enumerate(sentences, start=1)),
            "",
            "## In numbers",
            "",
            *_table(("what", "value"), _numbers(plan)),
            "",
            f"## Predicted error in {plan.query.unit(plan.grid.unit)}",
            "",
            f"For the smallest group, of {prediction.n_households} households; errors of sums can be larger in "
            "larger groups. Root mean square, predicted and not promised: actual errors can be several times as "
            f"large. {_clipped(plan, open_data)}{missing(plan)} Totals take what is known to be dropped, and "
            "what a public reference is off, as if it always had one sign, which makes them larger. "
            "A budget that is split is spent after so many reports: totals over more of them are what they would "
            "be. Promises are short here: 4 and what follows say this plan's in full.",
            "",
            *_table(
                ("way to report", "a report", "a day's total", "a year's total", "promise"),
                (_errors(line) for line in prediction.lines(plan.mechanisms_text)),
            ),
            "",
            "## The plan",
            "",
            *_table(("field", "value"), _fields(plan)),
            "",
            "The number is a digest (SHA-256) of all fields. When it is started, the roster, the calendar and the "
            "first cycle are filled in, and every report carries the digest with these.",
            "",
            "## Signed",
            "",
            "| for the custodian | for the privacy officer |",
            "|---|---|",
            "| name, date: | name, date: |",
            "",
        ]
    )


def _clipped(plan: Plan, open_data: Panel | None) -> str:
    """What predicted errors have of what bounds clip."""
    if not plan.bounded:
        return ""
    said = {
        "unknown": "No open data was given, so what bounds clip is not in them: actual errors can be much larger. ",
        "open data": "What bounds clip is in them as far as open data tells: actual errors can be larger. ",
        "table": "What bounds clip is in them by the package's table, as it was on homes of two other regions and "
        "of a made-up town, not as open data or these homes tell: actual errors can be much larger. ",
    }
    return f"{OTHERS_BOUNDS} {said[clipping(plan, open_data)]}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [_line(head), _line(("---",) * len(head)), *(_line(row) for row in rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


NUMBERS = {
    "epsilon": "epsilon for a shift of a household's periodic component, for ever",
    "cycle_epsilon": "epsilon for a household's {what} in any one reported cycle",
    "delta": "delta",
    "zcdp": "zCDP of a shift of the periodic component",
    "cycle_zcdp": "zCDP of any one reported cycle",
    "history_epsilon": "epsilon for one cycle of the history, if in neither data set a reported reading of the "
    "household is clipped, missing or moved out",
    "history_epsilon_at_horizon": "the same, if one is in each of {horizon} reported cycles",
}
"""The numbers of a guarantee, in words."""


CHANGES = {
    "cycles": "epsilon for a change in every reported cycle of {days} days in a row{at}",
    "both": "epsilon for a change of the periodic component and of one reported cycle together{at}",
    "everything": "epsilon for all readings of a household, its history and {days} days of reports{at}",
}
"""Larger changes than those of neighbours, in words."""


def _numbers(plan: Plan) -> list[tuple[str, str]]:
    guarantee = plan.guarantee()
    numbers = guarantee.numbers()
    told = {"what": plan.protection.cycle_changes, "horizon": numbers["horizon"]}
    own = [
        (words.format(**told), str(numbers[name])) for name, words in NUMBERS.items() if numbers[name] is not None
    ]
    rows = [row.to_json() for row in guarantee.curve()]
    return [
        ("unit of privacy", guarantee.unit),
        *own,
        *((CHANGES[row["changes"]].format(**row, at=_at(row["delta"])), row["epsilon"]) for row in rows),
    ]


def _at(delta: str | None) -> str:
    return "" if delta is None else f", at delta = {delta}"


def _errors(line: Line) -> tuple[str, ...]:
    name, *cells = line.cells(("name", "report", "day", "year", "promise"))
    return f"**{name}** (this plan)" if line.kind == "own" else name, *cells


def _fields(plan: Plan) -> list[tuple[str, str]]:
    content = plan.to_json()
    return [(name, _plain(value)) for name, value in content.items() if value is not None]


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, (list, tuple)):
        shown = [_plain(each) for each in value]
        return " ".join(shown) if len(shown) <= 8 else f"{' '.join(shown[:4])} ... ({len(shown)} in all)"
    return text(value) if hasattr(value, "numerator") and not isinstance(value, (bool, int)) else str(value)
