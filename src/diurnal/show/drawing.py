"""Drawing: the house's style, empty figures and what is put on them, and how charts are hung up; in matplotlib.

Colours run from dark to light through grey at zero, so that a print in grey tells the same; nothing is told by
colour alone. A chart of private results says so in its corner.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from diurnal import picture
from diurnal.errors import InputError
from diurnal.private import Private

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Result = TypeVar("Result")

INK, SOFT, MARK = "#1d2733", "#8793a0", "#b3541e"
"""Text and lines; grids; what to look at."""

SCALE = ("#0b1d4f", "#2f5d9b", "#8d8d8d", "#e0a458", "#fff6d6")
"""From -1 over 0 to 1: dark blue, grey, pale yellow. Lightness grows all the way."""

STYLE = {
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "legend.frameon": False,
    "svg.hashsalt": "diurnal",
}

LEADER = 0.05
"""How far off names are where lines lead to them, of the panel's width."""


def style() -> AbstractContextManager[Any]:
    """The house's style, or what is missing for it."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError("charts-missing", extra="charts") from None
    return mpl.rc_context(STYLE)


def styled(paint: Callable[[Result], Figure]) -> Callable[[Result], Figure]:
    """Draw in the house's style."""

    @wraps(paint)
    def painted(result: Result) -> Figure:
        with style():
            return paint(result)

    return painted


def new_figure(result: object, width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Any]:
    """An empty figure with its axes; marked if what it shows is private."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    if isinstance(result, Private):
        figure.supxlabel("private: for the custodian's eyes", x=0.005, ha="left", fontsize=7, color=MARK)
    return figure, figure.subplots(rows, columns)


def plain(value: float, _: float) -> str:
    """A tick without powers of ten."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def whole_numbers() -> Any:
    """Ticks at whole cycles."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True)


def beside(axis: Axes, words: str, at: float, height: float, colour: str) -> None:
    """Words beside a vertical line: to its left where there is no room to its right."""
    side, pad = ("right", f"{words.strip()} ") if at > 0.7 * axis.get_xlim()[1] else ("left", words)
    axis.annotate(pad, (at, height), xycoords=("data", "axes fraction"), va="top", ha=side, color=colour)


def nothing(axis: Axes, words: str) -> None:
    """Empty axes that say why."""
    axis.set_axis_off()
    axis.text(0.5, 0.5, words, ha="center", va="center", color=SOFT, transform=axis.transAxes)


def leader(axis: Axes, end: float, place: float, colour: str) -> None:
    """A thin line from a line's end to its name, in parts of the panel."""
    axis.plot(
        (1.005, 1.012 + LEADER),
        (end, place),
        transform=axis.transAxes,
        color=colour,
        linewidth=0.5,
        clip_on=False,
        scalex=False,
        scaley=False,
    )


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Rising places, each at least a gap above the one before, moved as little as that takes."""
    moved = list(places)
    for _ in range(50):
        for i in range(1, len(moved)):
            short = gap - (moved[i] - moved[i - 1])
            if short > 1e-9:
                moved[i - 1] -= short / 2
                moved[i] += short / 2
    # None below the panel, where the axis has its own words.
    return [max(place, i * gap) for i, place in enumerate(moved)]


def _painter(paint: Callable[[Any], Figure]) -> picture.Painter:
    """A chart as a picture: without date or random names, so that the same result is the same file."""

    def painted(result: Any, form: str) -> bytes:
        figure, target = paint(result), io.BytesIO()
        with style():
            figure.savefig(target, format=form, metadata={"Date": None} if form == "svg" else None)
        return target.getvalue()

    return painted


def register_charts(kind: type, *charts: Callable[[Any], Figure]) -> None:
    """Say how results of a kind are drawn: by these charts, the first unless another is named."""
    picture.register_charts(kind, {chart.__name__: _painter(chart) for chart in charts})
