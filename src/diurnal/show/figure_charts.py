"""Figures: those of the paper's experiments, drawn anew from a reproduction, in the style of the charts.

They show truth beside reports, and coefficients without noise: for readings that are not open, they are for the
custodian's eyes, and say so at the foot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from diurnal.periodicity.correlation import Correlations
from diurnal.readings.data import Floats
from diurnal.readings.grid import Grid
from diurnal.show.charts import put_heatmap
from diurnal.show.drawing import INK, MARK, SCALE, SOFT, beside, new_figure, plain, register_charts, styled
from diurnal.study.reproduction.accuracy import MECHANISMS, Ranges, gain
from diurnal.study.reproduction.hypotheses import FOLD
from diurnal.study.reproduction.results import EPSILON, Reproduction
from diurnal.study.town import figure_one as made_up_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE = SCALE[1]

LINES: dict[str, dict[str, Any]] = {
    "theorem-1": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "repair": {"color": INK, "linestyle": "-", "marker": "s"},
    "corollary-1": {"color": MARK, "linestyle": "--", "marker": "^"},
    "split": {"color": SOFT, "linestyle": "-.", "marker": "D"},
}
"""How a mechanism is drawn; never by colour alone."""

DPI = 200
"""What is drawn as dots and not as lines (heatmaps, a year of half hours) is drawn so finely."""


def _paper(
    study: Reproduction | None, width: float, height: float, rows: int = 1, columns: int = 1
) -> tuple[Figure, Any]:
    """A figure and its axes, with what it shows at its foot."""
    figure, axes = new_figure(None, width, height, rows, columns)
    figure.set_dpi(DPI)
    if study is not None and study.said.name != "town":
        words = "computed on the readings themselves: where these are not open, for the custodian's eyes"
        figure.supxlabel(words, x=0.005, ha="left", fontsize=6.5, color=SOFT)
    return figure, axes


@styled
def figure_one(study: Reproduction) -> Figure:
    """An almost periodic series, as in the paper's Figure 1: made up, the same for every data set."""
    figure, (top, bottom) = _paper(None, 7.2, 4.0, 2, 1)
    panel = made_up_series()
    period, steps = panel.grid.slots, np.arange(panel.n_steps)
    series = panel.readings[:, 0] / 1000
    wave = np.tile(series.reshape(-1, period).mean(axis=0), panel.n_cycles)
    top.plot(steps, series, color=INK, linewidth=1.1, label="series x(t)")
    top.plot(steps, wave, color=MARK, linewidth=1, linestyle="--", label="mean cycle z(s)")
    top.legend(loc="upper right", ncols=2, bbox_to_anchor=(1, 1.22))
    top.set_title("An almost periodic series")
    bottom.axhline(0, color=SOFT, linewidth=0.8)
    bottom.plot(steps, series - wave, color=BLUE, linewidth=1.1)
    bottom.set_title("What is left of it: variations w(t), new in every cycle")
    for axis in (top, bottom):
        for start in range(0, panel.n_steps + 1, period):
            axis.axvline(start, color=SOFT, linewidth=0.3, zorder=0)
        axis.set_xlim(0, panel.n_steps)
    bottom.set_xlabel(f"step (a cycle is {period} steps)")
    return figure


@styled
def heatmaps(study: Reproduction) -> Figure:
    """The correlation of every two days, and of every two weeks."""
    figure, axes = _paper(study, 9.6, 4.4, 1, 2)
    for axis, found, name in _both(study, axes):
        put_heatmap(axis, found)
        axis.set_title(f"Correlation of every two {name}s")
        axis.set_xlabel(f"{name} (0 begins on {_date(found.grid, found.first_step)})")
        axis.set_ylabel(name)
    return figure


@styled
def histograms(study: Reproduction) -> Figure:
    """How large the correlations are, with the paper's figures as dashed lines."""
    figure, axes = _paper(study, 9.6, 3.6, 1, 2)
    bounds = {"day": study.said.largest, "week": study.said.weekly_largest}
    for axis, found, name in _both(study, axes):
        _sizes(axis, found, bounds[name], study.said.median if name == "day" else None)
        axis.set_title(f"{name.title()}s: size of {len(found.pairs):,} correlations")
    return figure


def _date(grid: Grid, step: int) -> str:
    when = grid.wall(step)
    return f"{when.day} {when:%B %Y}"


def _both(study: Reproduction, axes: Any) -> Any:
    return zip(axes, (study.daily, study.weekly), ("day", "week"), strict=True)


def _sizes(axis: Axes, found: Correlations, bound: float | None, median: float | None) -> None:
    edges = np.arange(0, 1.0001, 0.01 if len(found.pairs) > 10_000 else 0.02)
    counts, _ = np.histogram(np.abs(found.pairs), edges)
    percent = 100 * counts / len(found.pairs)
    axis.bar(edges[:-1], percent, np.diff(edges), align="edge", color=SOFT, edgecolor="white", linewidth=0.3)
    axis.set_xlim(0, max(found.largest, bound or 0) * 1.12)
    axis.set_ylim(0, 1.3 * percent.max())
    axis.axvline(found.median, ymax=0.80, color=INK, linewidth=1.2)
    axis.plot(found.largest, 0, marker="v", color=INK, markersize=6, clip_on=False, zorder=5)
    beside(axis, f" median {found.median:.4f}", found.median, 0.80, INK)
    axis.annotate(
        f"largest {found.largest:.4f}",
        (found.largest, 0.02),
        (0.965 * found.largest, 0.30),
        xycoords=("data", "axes fraction"),
        ha="right",
        arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.7, "shrinkB": 4},
    )
    if median is not None:
        axis.axvline(median, ymax=0.90, color=MARK, linewidth=1, linestyle="--")
        beside(axis, f" paper: median {median:.4f}", median, 0.90, MARK)
    if bound is not None:
        axis.axvline(bound, color=MARK, linewidth=1, linestyle="--")
        beside(axis, f" paper: all below {bound:g}", bound, 1.0, MARK)
    axis.set_xlabel("size of the correlation |c|")
    axis.set_ylabel("pairs (%)")


@styled
def report(study: Reproduction) -> Figure:
    """The report of Theorem 1 at epsilon = 5 against the truth: the range of every day, and the first week."""
    figure, (top, bottom) = _paper(study, 9.6, 5.4, 2, 1)
    homes, slots = study.series.setting.homes, study.series.setting.slots
    truth, reported = study.series.truth / 1000, study.reports / homes / 1000
    _bands(top, truth.reshape(-1, slots), reported.reshape(-1, slots))
    top.set_title(f"Theorem 1 at epsilon = {EPSILON:g}, the mean of {homes} homes: from least to most of every day")
    days, week = np.arange(len(truth)) / slots, slice(0, 7 * slots)
    bottom.plot(days[week], reported[week], color=MARK, linewidth=1.2, linestyle="-")
    bottom.plot(days[week], truth[week], color=BLUE, linewidth=1.6)
    bottom.set_title("The first week, every half hour: the same error every day")
    bottom.set_xlim(0, 7)
    for axis in (top, bottom):
        axis.axhline(0, color=SOFT, linewidth=0.6)
        axis.set_ylabel("kWh a half hour")
    bottom.set_xlabel(f"day (0 is {_date(study.days.grid, study.days.first_step)})")
    top.legend(loc="lower right", bbox_to_anchor=(1, 1.0), ncols=2)
    return figure


def _bands(axis: Axes, truth: Floats, reported: Floats) -> None:
    """From the least to the most of every day, a row a day, with the day's mean."""
    days = np.arange(len(truth))
    for values, colour, words, shade in ((reported, MARK, "report", 0.35), (truth, BLUE, "truth", 0.75)):
        low, high = values.min(axis=1), values.max(axis=1)
        axis.fill_between(days, low, high, step="mid", color=colour, alpha=shade, linewidth=0)
        axis.plot([], [], color=colour, linewidth=2, label=words)
    axis.set_xlim(0, len(truth) - 1)


@styled
def errors(study: Reproduction) -> Figure:
    """Relative error against epsilon, for each mechanism: closed forms as lines, draws as points."""
    figure, axis = _paper(None, 7.2, 5.0)
    for name, words in MECHANISMS.items():
        line = LINES[name]
        values = study.errors(name)
        axis.loglog(study.epsilons, values, color=line["color"], linestyle=line["linestyle"], linewidth=1.4)
        drawn = [point for point in study.points if point.mechanism == name]
        axis.loglog(
            [point.epsilon for point in drawn],
            [point.drawn for point in drawn],
            linestyle="none",
            clip_on=False,
            zorder=5,
            marker=line["marker"],
            markersize=5,
            color=line["color"],
            markeredgecolor="white",
            markeredgewidth=0.6,
        )
        place = (1.08 * study.epsilons[-1], float(values[-1]))
        axis.annotate(words, place, va="center", color=line["color"], annotation_clip=False)
    axis.axhline(1, color=SOFT, linewidth=0.6)
    axis.annotate("as large as the peak", (0.105, 1), va="bottom", fontsize=8, color=SOFT)
    axis.set_xlim(0.1, 10)
    axis.grid(which="major", color=SOFT, linewidth=0.25)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter(plain)
    axis.set_xlabel("epsilon")
    axis.set_ylabel("relative error: root mean square over the peak")
    axis.set_title("Relative error (lines: closed form; points: draws of the printed mechanism)")
    return figure


@styled
def gains(study: Reproduction) -> Figure:
    """How many times less error than the split budget, against the number of days."""
    figure, axis = _paper(None, 7.2, 4.6)
    cycles, equal = np.unique(np.geomspace(1, 1100, 120).round()), Ranges(profile=1, variation=1, reading=1)
    drawn: tuple[tuple[str, str, Ranges, dict[str, Any]], ...] = (
        ("Theorem 1, stated ranges", "theorem-1", study.ranges, {"color": BLUE}),
        ("Theorem 1, the homes' own ranges", "theorem-1", study.series.span, {"color": BLUE, "linestyle": ":"}),
        ("Theorem 1, equal ranges", "theorem-1", equal, {"color": INK}),
        ("repair, equal ranges", "repair", equal, {"color": INK, "linestyle": ":"}),
        ("Corollary 1, the homes' own ranges", "corollary-1", study.series.span, {"color": MARK}),
        ("Corollary 1, equal ranges", "corollary-1", equal, {"color": MARK, "linestyle": "--"}),
    )
    for words, name, ranges, line in drawn:
        axis.loglog(cycles, [gain(name, ranges, int(each)) for each in cycles], linewidth=1.3, label=words, **line)
    axis.axhline(FOLD, color=SOFT, linewidth=1, linestyle="--")
    axis.annotate(f'the paper: "about {FOLD} fold"', (1.05, FOLD), va="bottom", color=SOFT)
    axis.axvline(study.said.cycles, color=SOFT, linewidth=0.8)
    axis.annotate(f"{study.said.cycles} days ", (study.said.cycles, 2600), ha="right", color=SOFT)
    axis.set_xlim(1, 1100)
    axis.set_ylim(0.3, 4000)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(plain)
    axis.legend(loc="lower right", fontsize=8, frameon=True, facecolor="white", edgecolor="none", framealpha=1)
    axis.set_xlabel("days reported, K")
    axis.set_ylabel("gain over the split budget")
    axis.set_title("Gain over the split budget: K Df_x/Df_z for Theorem 1")
    return figure


FIGURES: dict[str, Callable[[Reproduction], Figure]] = {
    chart.__name__: chart for chart in (figure_one, heatmaps, histograms, report, errors, gains)
}
"""The figures, by name, in the order of the page."""

register_charts(Reproduction, *FIGURES.values())
