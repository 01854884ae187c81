"""Charts of a comparison: everybody's error, and how it changes with epsilon, households and horizon.

Rivals with one promise share a panel, so that like stands beside like; our recommended plan and doing nothing at
all are in every panel. Errors are against the truth: for the custodian's eyes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from diurnal.show.drawing import (
    INK,
    LEADER,
    MARK,
    SCALE,
    SOFT,
    apart,
    leader,
    new_figure,
    plain,
    register_charts,
    styled,
)
from diurnal.study.baselines import OURS as MADE_HERE
from diurnal.study.compare import Comparison
from diurnal.study.curves import Curve, Curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE = SCALE[1]
OURS = "strong, chosen"
"""What is drawn in every panel, with what must be beaten."""
NOTHING = "nothing at all"

HIDES = {
    "all: no data": "uses no data",
    "everything": "hides everything, this horizon",
    "pattern, day": "hides a shift of the pattern and any one reported day, for ever",
    "one day": "hides any day's length of steps; the pattern leaks",
    "calendar day": "hides one day, midnight to midnight; the pattern leaks",
    "one reading": "hides one reading; all else leaks",
    "pattern at 0": "spends nothing on the pattern; variations exact",
    "pattern": "hides a shift of the pattern; variations exact",
    "nothing": "hides nothing",
    "fails": "promise fails",
}
"""What promises protect, in the words of a chart."""

PANELS = (
    ("Everything, for this horizon", ("everything",)),
    ("A shift of the pattern and any one reported day, for ever", ("pattern, day", "fails")),
    ("One day; the pattern leaks", ("one day", "calendar day")),
    ("One reading; all else leaks", ("one reading",)),
    ("A shift of the pattern, for ever; variations exact", ("pattern", "pattern at 0")),
)
"""Who is drawn together, by what is hidden."""

LABELS = {"epsilon": "epsilon", "households": "households", "cycles": "cycles reported"}
STYLES: tuple[tuple[str, str, str], ...] = (
    (BLUE, "-", "o"),
    (MARK, "-", "s"),
    ("#4d7d6b", "-", "^"),
    ("#7a5195", "--", "D"),
    (SCALE[3], "--", "v"),
    ("#5b6672", "-.", "P"),
    ("#a8325e", ":", "X"),
    ("#2a7f9e", ":", "*"),
    ("#8a6d3b", "-", "<"),
    ("#3b5998", "-.", ">"),
    ("#c2571a", "--", "h"),
)
"""Colour, line and mark of a rival; its name is at the line's end."""

GAP = 0.062
"""How far apart names at line ends are, of the panel's height."""


@styled
def overview(comparison: Comparison) -> Figure:
    """Everybody's relative error, those with one promise together."""
    scores = comparison.scores
    figure, axis = new_figure(
        comparison, 8.6, 1.0 + 0.24 * (len(scores) + len({s.promise.protects for s in scores}))
    )
    row, rows, names, before = 0.0, [], [], None
    for each in scores:
        if each.promise.protects != before:
            row += 1.0
            axis.annotate(
                HIDES[each.promise.protects],
                (0.008, row - 0.05),
                xycoords=("axes fraction", "data"),
                ha="left",
                va="center",
                fontsize=8,
                style="italic",
                color="#5b6672",
            )
            before = each.promise.protects
        row += 1.0
        ours = _is_ours(each.name)
        axis.plot(
            each.relative_error,
            row,
            marker="s" if ours else "o",
            color=MARK if ours else BLUE,
            markersize=6,
            linestyle="none",
        )
        axis.annotate(
            f"  {each.relative_error:.3g}{' (delta)' if each.promise.delta else ''}",
            (each.relative_error, row),
            va="center",
            fontsize=8,
            color=INK,
        )
        rows.append(row)
        names.append(each.name)
    least = next((s.relative_error for s in scores if s.name == NOTHING), None)
    if least is not None:
        axis.axvline(least, color=SOFT, linewidth=0.9, linestyle="--")
        axis.annotate(" nothing at all", (least, 0.35), fontsize=8, color=SOFT, va="center")
    axis.set_xscale("log")
    axis.set_ylim(row + 0.8, 0)
    high = max(s.relative_error for s in scores)
    axis.set_xlim(right=30 * high)
    axis.set_yticks(rows, names)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.xaxis.set_major_formatter(plain)
    axis.set_xlabel("relative error: root mean square over the largest true mean (squares: ours)")
    axis.set_title(
        f"{comparison.n_households} households, {comparison.horizon}, epsilon {float(comparison.epsilon):g}"
    )
    return figure


def _is_ours(name: str) -> bool:
    return name in {each.name for each in MADE_HERE}


def _along(axis_name: str) -> Callable[[Curves], Figure]:
    """The chart of one axis, by its name."""

    def chart(curves: Curves) -> Figure:
        curve = curves.curve(axis_name)
        figure, axes = new_figure(curves, 11, 12, 3, 2)
        for axis, (title, protects) in zip(axes.flat, PANELS, strict=False):
            _panel(axis, curve, [name for name in curve.errors if curves.promises[name].protects in protects])
            axis.set_title(title)
        axes.flat[-1].set_axis_off()
        figure.suptitle(
            f"Relative error against {LABELS[axis_name]}", fontsize=12, fontweight="bold", x=0.01, ha="left"
        )
        return figure

    chart.__name__ = axis_name
    return styled(chart)


def _panel(axis: Axes, curve: Curve, names: Sequence[str]) -> None:
    """Rivals of one panel, ours and doing nothing; the names at the ends."""
    ends: dict[str, tuple[float, str]] = {}
    rivals = [name for name in names if name not in (OURS, NOTHING)]
    styles = {name: STYLES[i % len(STYLES)] for i, name in enumerate(rivals)}
    for name, (colour, line, mark) in {**styles, NOTHING: (SOFT, "--", ""), OURS: (INK, "-", "")}.items():
        if name not in curve.errors:
            continue
        width = 2.2 if name == OURS else 1.3
        values = curve.errors[name]
        axis.loglog(curve.at, values, color=colour, linestyle=line, marker=mark, markersize=4, linewidth=width)
        if name in curve.within:
            axis.errorbar(curve.at, values, curve.within[name], fmt="none", ecolor=colour, capsize=3)
        ends[name] = (values[-1], colour)
    if len(curve.at) > 1:
        axis.set_xlim(curve.at[0], curve.at[-1])
    axis.margins(y=0.06)
    axis.grid(which="major", color=SOFT, linewidth=0.25)
    axis.set_xticks(curve.at, [f"{place:,g}" for place in curve.at])
    axis.minorticks_off()
    _ticks(axis)
    axis.set_xlabel(LABELS[curve.axis])
    axis.set_ylabel("relative error")
    _names(axis, ends)


def _ticks(axis: Axes) -> None:
    """Tens, and where there are few of them what is between, in plain numbers."""
    from matplotlib.ticker import LogLocator

    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 1e3 else (1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(plain)


def _names(axis: Axes, ends: Mapping[str, tuple[float, str]]) -> None:
    """Each line's name at its end, moved apart where they would lie on each other."""
    low, high = np.log(axis.get_ylim())
    order = sorted(ends, key=lambda name: ends[name][0])
    at = [float((np.log(ends[name][0]) - low) / (high - low)) for name in order]
    places = apart(at, GAP)
    led = any(abs(place - end) > GAP for place, end in zip(places, at, strict=True))
    for name, end, place in zip(order, at, places, strict=True):
        weight = "bold" if name == OURS else "normal"
        if led:
            leader(axis, end, place, ends[name][1])
        axis.annotate(
            name,
            (1.02 + LEADER if led else 1.02, place),
            xycoords="axes fraction",
            va="center",
            fontsize=8,
            color=ends[name][1],
            fontweight=weight,
            annotation_clip=False,
        )


CHARTS: dict[str, Callable[[Any], Figure]] = {
    "overview": overview,
    **{axis: _along(axis) for axis in LABELS},
}
"""The charts of a page, by name."""

register_charts(Comparison, overview)
register_charts(Curves, *(CHARTS[axis] for axis in LABELS))
