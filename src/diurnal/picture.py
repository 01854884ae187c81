"""Picture: results that can be drawn.

How that is done is the business of `show`, which registers its charts here.
"""

from __future__ import annotations

import base64
import html
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from diurnal.errors import InputError
from diurnal.place import check_place
from diurnal.private import Private

Painter = Callable[[Any, str], bytes]
"""Makes a picture of a result, in a format."""

FORMATS = ("svg", "png")

_PAINTERS: dict[type, Mapping[str, Painter]] = {}
_MODULES: list[str] = []


def register_charts(kind: type, painters: Mapping[str, Painter]) -> None:
    """Say how results of a kind are drawn; the first of the charts is the one drawn unless another is named."""
    _PAINTERS[kind] = painters


def find_charts_in(*modules: str) -> None:
    """Say which modules register charts: they are imported when a picture is wanted, and not before."""
    _MODULES.extend(modules)


def _painters(kind: type) -> Mapping[str, Painter]:
    while _MODULES:
        importlib.import_module(_MODULES.pop())
    return next(_PAINTERS[each] for each in kind.__mro__ if each in _PAINTERS)


class Pictured:
    """A result that prints as a table, draws itself and shows both in a notebook."""

    def draw(self, path: str | Path, chart: str | None = None) -> Path:
        """Draw into a file, SVG or PNG by its ending.

        Args:
            path: Where to.
            chart: Which of its charts; all on one sheet, or the only one, unless given.

        Raises:
            InputError: Another ending, a chart there is none of, no matplotlib, or a place that is not a
                regular file's.
        """
        path = Path(path)
        check_place(path)
        drawn = self.picture(path.suffix.lstrip(".").lower(), chart)
        if isinstance(self, Private):
            # Its owner's alone from the first byte on, also in the place of a picture that all could see.
            path.touch(mode=0o600)
            path.chmod(0o600)
        path.write_bytes(drawn)
        return path

    def picture(self, format: str = "svg", chart: str | None = None) -> bytes:  # noqa: A002
        """The drawing itself, as SVG or PNG."""
        if format not in FORMATS:
            raise InputError("picture-format", given=format)
        painters = _painters(type(self))
        name = next(iter(painters)) if chart is None else chart
        if name not in painters:
            raise InputError("chart-unknown", chart=chart, choices=", ".join(painters))
        return painters[name](self, format)

    def _repr_html_(self) -> str:
        table = f"<pre>{html.escape(str(self))}</pre>"
        try:
            drawn = base64.b64encode(self.picture("svg")).decode()
        except InputError:
            return table
        return f'{table}<img src="data:image/svg+xml;base64,{drawn}" alt="{html.escape(type(self).__name__)}">'
