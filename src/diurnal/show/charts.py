"""Charts: results as figures, in matplotlib (the extra `charts`).

Colours run from dark to light through grey at zero, so that a print in grey tells the same; nothing is told by
colour alone. A chart of private results says so in its corner.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from diurnal import picture
from diurnal.check.correlation import Correlations
from diurnal.check.drift import Drift
from diurnal.check.periods import in_words
from diurnal.check.verdict import Verdict
from diurnal.errors import InputError
from diurnal.planning.trade import Trades
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


def _style() -> AbstractContextManager[Any]:
    """The house's style, or what is missing for it."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError("Charts need matplotlib.", hint="pip install 'diurnal[charts]'") from None
    return mpl.rc_context(STYLE)


def _styled(paint: Callable[[Result], Figure]) -> Callable[[Result], Figure]:
    """Draw in the house's style."""

    @wraps(paint)
    def styled(result: Result) -> Figure:
        with _style():
            return paint(result)

    return styled


def _new(result: object, width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, Any]:
    """An empty figure with its axes; marked if what it shows is private."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    if isinstance(result, Private):
        figure.supxlabel("private: for the custodian's eyes", x=0.995, ha="right", fontsize=7, color=MARK)
    return figure, figure.subplots(rows, columns)


def _since(found: Correlations) -> str:
    return f"cycle (0 is {found.grid.wall(found.first_step).date()})"


def _lag_name(found: Correlations) -> str:
    cycle = in_words(found.grid.slots, found.grid.minutes)
    return f"cycles apart (a cycle is {cycle})"


@_styled
def sheet(verdict: Verdict) -> Figure:
    """All charts of a verdict on one sheet."""
    figure, axes = _new(verdict, 11, 9, 2, 2)
    grid = verdict.correlations.grid
    figure.suptitle(
        f"Almost periodic with a period of {in_words(grid.slots, grid.minutes)}? {verdict.words.capitalize()}.",
        fontsize=12,
        fontweight="bold",
        x=0.01,
        ha="left",
    )
    for axis, draw in zip(axes.flat, (_heatmap, _histogram, _lags, _periods), strict=True):
        draw(axis, verdict)
    return figure


@_styled
def heatmap(verdict: Verdict) -> Figure:
    """The correlation of every two cycles."""
    figure, axis = _new(verdict, 6.4, 5.6)
    _heatmap(axis, verdict)
    return figure


@_styled
def histogram(verdict: Verdict) -> Figure:
    """How many pairs of cycles have which correlation."""
    figure, axis = _new(verdict, 6.4, 3.8)
    _histogram(axis, verdict)
    return figure


@_styled
def lags(verdict: Verdict) -> Figure:
    """The mean correlation of cycles so far apart."""
    figure, axis = _new(verdict, 6.4, 3.8)
    _lags(axis, verdict)
    return figure


@_styled
def periods(verdict: Verdict) -> Figure:
    """What each period leaves."""
    figure, axis = _new(verdict, 6.4, 3.8)
    _periods(axis, verdict)
    return figure


def _heatmap(axis: Axes, verdict: Verdict) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    found = verdict.correlations
    cycles = found.cycles.numbers
    # Cycles that do not count are blank rows and columns, so that the axes stay in time.
    whole = np.full((int(cycles[-1]) + 1,) * 2, np.nan)
    whole[np.ix_(cycles, cycles)] = found.matrix
    np.fill_diagonal(whole, np.nan)
    reach = float(np.ceil(found.largest * 10) / 10) or 0.1
    image = axis.imshow(
        whole,
        cmap=LinearSegmentedColormap.from_list("diurnal", SCALE),
        vmin=-reach,
        vmax=reach,
        interpolation="nearest",
        rasterized=True,
    )
    axis.set_title("Correlation of every two cycles")
    axis.set_xlabel(_since(found))
    axis.set_ylabel("cycle")
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.85)
    bar.set_label("correlation c (diagonal left blank)")
    bar.outline.set_visible(False)


def _histogram(axis: Axes, verdict: Verdict) -> None:
    found, limit = verdict.correlations, verdict.thresholds
    edges, percent = found.histogram(50)
    axis.bar(edges[:-1], percent, np.diff(edges), align="edge", color=SOFT, edgecolor="white", linewidth=0.5)
    axis.axvline(limit.largest, color=MARK, linestyle="--", linewidth=1)
    axis.annotate(
        f" threshold {limit.largest:g}",
        (limit.largest, 0.97),
        xycoords=("data", "axes fraction"),
        va="top",
        color=MARK,
    )
    axis.axvline(found.median, color=INK, linewidth=1)
    axis.annotate(f" median {found.median:.3f}", (found.median, 0.97), xycoords=("data", "axes fraction"), va="top")
    axis.set_xlim(0, max(limit.largest, found.largest) * 1.25)
    axis.set_ylim(0, 1.15 * percent.max())
    axis.set_title(f"Size of {len(found.pairs):,} correlations, largest {found.largest:.3f}")
    axis.set_xlabel("size of the correlation |c|")
    axis.set_ylabel("pairs of cycles (%)")


def _lags(axis: Axes, verdict: Verdict) -> None:
    found = verdict.correlations
    apart, means = found.by_lag()
    # The furthest lags have a few pairs each, and say little.
    shown = apart <= max(10, int(apart[-1] * 0.9))
    axis.axhline(0, color=SOFT, linewidth=0.8)
    axis.plot(apart[shown], means[shown], color=INK, linewidth=1.1)
    lag = verdict.rhythm
    if lag is not None:
        marked = shown & (apart % lag == 0) & (apart <= 8 * lag)
        axis.plot(apart[marked], means[marked], "o", color=MARK, markersize=4)
        name = in_words(lag * found.grid.slots, found.grid.minutes)
        axis.plot([], [], "o", color=MARK, markersize=4, label=f"every {lag} cycles ({name})")
        axis.legend(loc="upper right")
    axis.set_title("Mean correlation by distance in time")
    axis.set_xlabel(_lag_name(found))
    axis.set_ylabel("mean correlation c")


def _periods(axis: Axes, verdict: Verdict) -> None:
    tested = [each for each in verdict.periods if each.largest is not None and each.median is not None]
    places = np.arange(len(tested))
    for offset, name, colour in ((-0.2, "largest", INK), (0.2, "median", SOFT)):
        values = [getattr(each, name) for each in tested]
        bars = axis.bar(places + offset, values, 0.38, color=colour, label=f"{name} |c|")
        axis.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
    axis.axhline(verdict.thresholds.largest, color=MARK, linestyle="--", linewidth=1)
    axis.annotate(
        f"threshold {verdict.thresholds.largest:g}",
        (0.995, verdict.thresholds.largest),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        color=MARK,
    )
    axis.set_xticks(places, [f"{each.name}\n{each.why}" for each in tested])
    axis.set_xlim(-0.7, max(1, len(tested)) - 0.3)
    axis.set_ylim(0, 1.3 * max([verdict.thresholds.largest, *(each.largest or 0 for each in tested)]))
    axis.legend(loc="upper left", ncols=2)
    axis.set_title("What each period leaves")
    axis.set_ylabel("size of the correlation |c|")


@_styled
def trade(trades: Trades) -> Figure:
    """What each period leaves, against what it costs."""
    figure, axis = _new(trades, 6.4, 4.2)
    unit = trades.plan.query.unit(trades.plan.grid.unit)
    points = [row for row in trades.rows if row.error is not None and row.period.largest is not None]
    for row in points:
        axis.plot([row.error] * 2, [row.period.median, row.period.largest], color=SOFT, linewidth=1)
        axis.plot(row.error, row.period.largest, "o", color=INK)
        axis.plot(row.error, row.period.median, "o", color=INK, markerfacecolor="white")
        axis.annotate(f"  {row.period.name}\n  {row.mechanism}", (row.error, row.period.largest), va="center")
    axis.plot([], [], "o", color=INK, label="largest |c|")
    axis.plot([], [], "o", color=INK, markerfacecolor="white", label="median |c|")
    axis.legend(loc="upper right")
    axis.set_xlim(0, 1.25 * max((row.error or 0 for row in points), default=1))
    axis.set_ylim(0, 1.2 * max((row.period.largest or 0 for row in points), default=1))
    axis.set_title("Periods: what each leaves, and what it costs")
    axis.set_xlabel(f"predicted error of a report ({unit})")
    axis.set_ylabel("correlation left |c|")
    return figure


@_styled
def drift(found: Drift) -> Figure:
    """How far the pattern has moved, window after window."""
    figure, axis = _new(found, 7.2, 3.6)
    cycles, moves, alarms = np.array(found.cycles), 100 * np.array(found.moves), np.array(found.alarms, dtype=bool)
    axis.plot(cycles, moves, color=INK, linewidth=1.2)
    axis.axhline(100 * found.threshold, color=MARK, linestyle="--", linewidth=1)
    if alarms.any():
        axis.plot(cycles[alarms], moves[alarms], "o", color=MARK, markersize=3, label="alarm")
        axis.legend(loc="upper left")
    axis.set_ylim(0, max(100 * found.threshold, moves.max(initial=0)) * 1.2)
    axis.set_title(f"{found.group}: how far the last {found.window} cycles lie from {found.against}")
    axis.set_xlabel("cycle")
    axis.set_ylabel("move (% of the level)")
    return figure


def _painter(paint: Callable[[Any], Figure]) -> picture.Painter:
    """A chart as a picture: without date or random names, so that the same result is the same file."""

    def painted(result: Any, form: str) -> bytes:
        figure, target = paint(result), io.BytesIO()
        with _style():
            figure.savefig(target, format=form, metadata={"Date": None} if form == "svg" else None)
        return target.getvalue()

    return painted


def _hang(kind: type, *charts: Callable[[Any], Figure]) -> None:
    picture.hang(kind, {chart.__name__: _painter(chart) for chart in charts})


_hang(Verdict, sheet, heatmap, histogram, lags, periods)
_hang(Trades, trade)
_hang(Drift, drift)
