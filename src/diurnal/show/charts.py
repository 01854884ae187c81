"""Charts: verdicts, what periods leave and cost, and drift, as figures (the extra `charts`)."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from diurnal.periodicity.correlation import Correlations, worth_showing
from diurnal.periodicity.drift import Drift
from diurnal.periodicity.periods import Candidate, in_words
from diurnal.periodicity.verdict import Verdict
from diurnal.planning.prediction import short
from diurnal.planning.trade import Trades
from diurnal.readings.grid import Grid
from diurnal.show.drawing import (
    INK,
    MARK,
    SCALE,
    SOFT,
    beside,
    new_figure,
    nothing,
    register_charts,
    styled,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _since(grid: Grid, first_step: int) -> str:
    return f"cycle (0 is {grid.wall(first_step).date()})"


def _lag_name(found: Correlations) -> str:
    cycle = in_words(found.grid.slots, found.grid.minutes)
    return f"cycles apart (a cycle is {cycle})"


@styled
def sheet(verdict: Verdict) -> Figure:
    """All charts of a verdict on one sheet."""
    figure, axes = new_figure(verdict, 11, 9, 2, 2)
    grid = verdict.correlations.grid
    figure.suptitle(
        f"Period of {in_words(grid.slots, grid.minutes)}: what cycles have in common is {verdict.words}.",
        fontsize=12,
        fontweight="bold",
        x=0.01,
        ha="left",
    )
    for axis, draw in zip(axes.flat, (_heatmap, _histogram, _lags, _periods), strict=True):
        draw(axis, verdict)
    return figure


def _heatmap(axis: Axes, verdict: Verdict) -> None:
    """The correlation of every two cycles."""
    put_heatmap(axis, verdict.correlations)


def put_heatmap(axis: Axes, found: Correlations) -> None:
    """Draw the correlation of every two cycles onto axes."""
    from matplotlib.colors import LinearSegmentedColormap

    cycles = found.cycles.numbers
    # Cycles that do not count are blank rows and columns, so that the axes stay in time.
    whole = np.full((int(cycles[-1]) + 1,) * 2, np.nan)
    whole[np.ix_(cycles, cycles)] = found.matrix
    np.fill_diagonal(whole, np.nan)
    image = axis.imshow(
        whole,
        cmap=LinearSegmentedColormap.from_list("diurnal", SCALE),
        vmin=-found.reach,
        vmax=found.reach,
        interpolation="nearest",
        rasterized=True,
    )
    axis.set_title("Correlation of every two cycles")
    axis.set_xlabel(_since(found.grid, found.first_step))
    axis.set_ylabel("cycle")
    axis.xaxis.set_major_locator(whole_numbers())
    axis.yaxis.set_major_locator(whole_numbers())
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.85)
    bar.set_label("correlation c (diagonal left blank)")
    bar.outline.set_visible(False)


def _histogram(axis: Axes, verdict: Verdict) -> None:
    """How many pairs of cycles have which correlation."""
    found, limit = verdict.correlations, verdict.thresholds
    edges, percent = found.histogram(50)
    axis.bar(edges[:-1], percent, np.diff(edges), align="edge", color=SOFT, edgecolor="white", linewidth=0.5)
    axis.axvline(limit.largest, color=MARK, linestyle="--", linewidth=1)
    axis.axvline(found.median, color=INK, linewidth=1)
    axis.set_xlim(0, min(1.0, max(limit.largest, found.largest) * 1.4))
    # At two heights, so that they never meet.
    beside(axis, f" small: all below {limit.largest:g}", limit.largest, 0.98, MARK)
    beside(axis, f" median {found.median:.3f}", found.median, 0.92, INK)
    axis.set_ylim(0, 1.2 * percent.max())
    axis.set_title(f"Size of {len(found.pairs):,} correlations, largest {found.largest:.3f}")
    axis.set_xlabel("size of the correlation |c|")
    axis.set_ylabel("pairs of cycles (%)")


def _lags(axis: Axes, verdict: Verdict) -> None:
    """The mean correlation of cycles so far apart."""
    found = verdict.correlations
    apart, means = found.by_lag()
    shown = worth_showing(apart)
    axis.axhline(0, color=SOFT, linewidth=0.8)
    axis.plot(apart[shown], means[shown], color=INK, linewidth=1.1 if len(apart) < 400 else 0.5)
    lag = verdict.rhythm
    if lag is not None:
        marked = shown & (apart % lag == 0) & (apart <= 8 * lag)
        axis.plot(apart[marked], means[marked], "o", color=MARK, markersize=4)
        name = in_words(lag * found.grid.slots, found.grid.minutes)
        axis.plot([], [], "o", color=MARK, markersize=4, label=f"every {lag} cycles ({name})")
        axis.legend(loc="best")
    axis.set_title("Mean correlation by distance in time")
    axis.set_xlabel(_lag_name(found))
    axis.set_ylabel("mean correlation c")


def _periods(axis: Axes, verdict: Verdict) -> None:
    """What each period leaves."""
    tested = [each for each in verdict.periods if each.largest is not None and each.median is not None]
    axis.set_title("What each period leaves")
    if not tested:
        nothing(axis, "no period is testable")
        return
    _bars(axis, tested)
    limit = verdict.thresholds.largest
    axis.axvline(limit, color=MARK, linestyle="--", linewidth=1, zorder=0)
    axis.set_xlim(0, 1.25 * max([limit, *(each.largest or 0 for each in tested)]))
    axis.set_yticks(range(len(tested)), [f"{each.name}\n{each.why}" for each in tested])
    axis.set_xlabel(f"size of the correlation |c| (dashed: small, all below {limit:g})")


def _bars(axis: Axes, periods: Sequence[Candidate]) -> None:
    """The largest and the median correlation of each period, shortest on top."""
    places = np.arange(len(periods))
    for offset, name, colour in ((-0.2, "largest", INK), (0.2, "median", SOFT)):
        values = [getattr(each, name) for each in periods]
        bars = axis.barh(places + offset, values, 0.38, color=colour, label=f"{name} |c|")
        axis.bar_label(bars, fmt="%.3f", fontsize=8, padding=2)
    axis.set_ylim(len(periods) - 0.4, -0.6)
    axis.figure.legend(*axis.get_legend_handles_labels(), loc="outside lower right", ncols=2)


def _alone(draw: Callable[[Axes, Verdict], None], height: float) -> Callable[[Verdict], Figure]:
    """One of a verdict's charts by itself."""

    def paint(verdict: Verdict) -> Figure:
        figure, axis = new_figure(verdict, 6.4, height)
        draw(axis, verdict)
        return figure

    paint.__name__, paint.__doc__ = draw.__name__.lstrip("_"), draw.__doc__
    return styled(paint)


heatmap = _alone(_heatmap, 5.6)
histogram = _alone(_histogram, 3.8)
lags = _alone(_lags, 3.8)
periods = _alone(_periods, 3.8)


@styled
def trade(trades: Trades) -> Figure:
    """What each period leaves, beside what it costs."""
    points = [row for row in trades.rows if row.error is not None and row.period.largest is not None]
    figure, (left, right) = new_figure(trades, 8.4, 2.2 + 0.55 * len(points), 1, 2)
    unit = trades.plan.query.unit(trades.plan.grid.unit)
    left.set_title("What each period leaves")
    right.set_title("What it costs")
    if not points:
        for axis in (left, right):
            nothing(axis, "no period is testable and fits the plan")
        return figure
    _bars(left, [row.period for row in points])
    left.set_xlim(0, 1.25 * max(row.period.largest or 0 for row in points))
    left.set_yticks(range(len(points)), [row.period.name for row in points])
    left.set_xlabel("correlation left |c|")
    bars = right.barh(range(len(points)), [row.error or 0 for row in points], 0.5, color=SOFT)
    right.bar_label(bars, [f"{short(row.error or 0)}  {row.mechanism}" for row in points], fontsize=8, padding=2)
    right.set_xlim(0, 1.45 * max(row.error or 0 for row in points))
    right.set_ylim(*left.get_ylim())
    right.set_yticks([])
    right.set_xlabel(f"predicted error of a report ({unit})")
    return figure


@styled
def drift(found: Drift) -> Figure:
    """How far the pattern has moved, window after window."""
    figure, axis = new_figure(found, 7.2, 3.8)
    title = f"{found.group}: how far the last {found.window} cycles lie from {found.against}"
    axis.set_title(textwrap.fill(title, 80))
    if not found.cycles:
        nothing(axis, f"no window of {found.window} cycles yet")
        return figure
    scale = 1.0 if found.level is None else 100 / found.level
    cycles, moves, alarms = (
        np.array(found.cycles),
        scale * np.array(found.moves),
        np.array(found.alarms, dtype=bool),
    )
    axis.plot(cycles, moves, color=INK, linewidth=1.2, marker="o" if len(cycles) < 10 else None, markersize=3)
    top = float(moves.max())
    if found.level is not None:
        axis.axhline(100 * found.threshold, color=MARK, linestyle="--", linewidth=1, label="threshold")
        top = max(top, 100 * found.threshold)
    if alarms.any():
        axis.plot(cycles[alarms], moves[alarms], "o", color=MARK, markersize=3, label="alarm")
    if axis.get_legend_handles_labels()[0]:
        axis.legend(loc="upper right", ncols=2)
    axis.set_ylim(0, 1.3 * top or 1)
    axis.xaxis.set_major_locator(whole_numbers())
    axis.set_xlabel(_since(found.grid, 0))
    axis.set_ylabel(f"move ({found.unit})" if found.level is None else "move (% of the level)")
    return figure


register_charts(Verdict, sheet, heatmap, histogram, lags, periods)
register_charts(Trades, trade)
register_charts(Drift, drift)
