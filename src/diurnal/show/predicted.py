"""Predicted: the table of predicted errors as pages draw it, offline and in the service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diurnal.planning.prediction import COLUMNS, Line

PAGE = ("name", "report", "day", "month", "year", "dropped", "promise", "note")
"""The columns of a page's table."""


def predicted_table(lines: Sequence[Line], unit: str) -> dict[str, Any]:
    """The table of a page: headings, lines of text, what each line is, and which columns are numbers."""
    return {
        "names": [COLUMNS[name].heading.format(unit=unit) for name in PAGE],
        "lines": [line.cells(PAGE) for line in lines],
        "kinds": [line.kind for line in lines],
        "numbers": [i for i, name in enumerate(PAGE) if COLUMNS[name].error or name == "dropped"],
    }
