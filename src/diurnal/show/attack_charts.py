"""Charts of attacks: what an attacker learns from each release, between nothing and everything.

Made for who is no statistician: the ends of the scale are in words, and every line or point has its name beside it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from diurnal.show.drawing import INK, MARK, SCALE, SOFT, apart, leader, new_figure, register_charts, styled
from diurnal.study.audit.attacks import Attack, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[str, tuple[str, str, str]] = {
    "no noise": ("#5b6672", "--", "D"),
    "Theorem 1": ("#7a5195", "-.", "^"),
    "pattern, chosen": (MARK, "-", "s"),
    "strong, chosen": (SCALE[1], "-", "o"),
    "this plan": ("#4d7d6b", "-", "P"),
}
"""Colour, line and mark of a release."""
GAP = 0.075
"""How far apart names at line ends are, of the axes' height."""
NOTHING, EVERYTHING = "nothing learned", "everything learned"
QUESTIONS = {
    "membership": "how often the attacker is right, of two groups\nwith and without this home",
    "absence": "how often the attacker is right, of two fortnights\nat home and away",
}
"""What the height of a curve is, in words."""


@styled
def chart(attack: Attack) -> Figure:
    """What was learned from each release: along the size of the group if there are several, else a point each."""
    if attack.outcomes[0].households is not None:
        figure, axis = new_figure(attack, 7.6, 4.8)
        _curves(axis, attack)
    elif attack.shapes:
        figure, (axis, day) = new_figure(attack, 10.4, 1.9 + 0.36 * max(6, len(attack.outcomes)), 1, 2)
        _points(axis, attack)
        _day(day, attack)
    else:
        figure, axis = new_figure(attack, 7.6, 1.9 + 0.36 * len(attack.outcomes))
        _points(axis, attack)
    figure.suptitle(attack.asks, fontsize=11, fontweight="bold", x=0.01, ha="left", color=INK)
    return figure


def _points(axis: Axes, attack: Attack) -> None:
    """A point a release and case, with its interval; or that it was refused."""
    reach = _reach(attack)
    for row, each in enumerate(attack.outcomes):
        colour, _, mark = LOOKS[each.release]
        if each.value is None:
            axis.annotate("  refused", (_inside(attack.chance, reach), row), va="center", ha="left", color=colour)
            continue
        if each.low is not None and each.high is not None:
            axis.plot(np.clip([each.low, each.high], *reach), [row, row], color=colour, linewidth=1.4, alpha=0.6)
        beyond = not reach[0] <= each.value <= reach[1]
        axis.plot(_inside(each.value, reach), row, ">" if beyond else mark, color=colour, markersize=6.5)
        _number(axis, each, row, reach)
    _ends(axis, attack, reach)
    axis.set_ylim(len(attack.outcomes) - 0.4, -1.1)
    axis.set_yticks(range(len(attack.outcomes)), [_name(each) for each in attack.outcomes])
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel(textwrap.fill(attack.measure, 60))


def _number(axis: Axes, each: Outcome, row: int, reach: tuple[float, float]) -> None:
    """A point's number above it, and what was published before where that differs."""
    words = f"{each.value:.2f}".replace("-0.00", "0.00")
    if each.published is not None and abs(each.published - (each.value or 0)) > 0.005:
        words += f", published {each.published:.2f}"
    at = _inside(each.value or 0.0, reach)
    share = (at - reach[0]) / (reach[1] - reach[0])
    side = "right" if share > 0.8 else "left" if share < 0.2 else "center"
    aside = {"left": 5, "right": -5, "center": 0}[side]
    axis.annotate(words, (at, row), (aside, 6), textcoords="offset points", ha=side, fontsize=8, color=INK)


def _ends(axis: Axes, attack: Attack, reach: tuple[float, float]) -> None:
    """Dashed lines where nothing and where everything is learned, in words."""
    for at, words in ((attack.chance, NOTHING), (attack.certain, EVERYTHING)):
        axis.axvline(at, color=SOFT, linewidth=0.9, linestyle="--", zorder=0)
        nearer = abs(at - reach[0]) < abs(at - reach[1])
        shown, side = (f" {words}", "left") if nearer else (f"{words} ", "right")
        axis.annotate(shown, (at, -0.8), ha=side, va="center", fontsize=8, color="#5b6672")
    axis.set_xlim(*reach)


def _reach(attack: Attack) -> tuple[float, float]:
    """From nothing to everything with a little room; what lies beyond is drawn at the edge."""
    low, high = sorted((attack.chance, attack.certain))
    values = [each.value for each in attack.outcomes if each.value is not None]
    room = 0.12 * (high - low)
    # Where less than nothing can be known, an error may be many times larger: at most that far is drawn.
    top = min(max([high, *values]), high + (high - low)) if attack.certain < attack.chance else high
    return min([low, *(max(value, low - 2 * room) for value in values)]) - room, top + room


def _inside(value: float, reach: tuple[float, float]) -> float:
    margin = 0.03 * (reach[1] - reach[0])
    return float(np.clip(value, reach[0] + margin, reach[1] - margin))


def _name(outcome: Outcome) -> str:
    return f"{outcome.release}\n{outcome.case}" if outcome.case else outcome.release


def _curves(axis: Axes, attack: Attack) -> None:
    """A line a release over the size of the group, its name at the end; a coin toss at a half."""
    sizes = sorted({each.households for each in attack.outcomes if each.households is not None})
    names = list(dict.fromkeys(each.release for each in attack.outcomes))
    ends = {}
    for place, name in enumerate(names):
        colour, line, mark = LOOKS[name]
        found = [attack.outcome(name, households=size) for size in sizes]
        values = [each.value or 0.0 for each in found]
        # A little apart, so that intervals do not lie on each other.
        at = np.array(sizes) * 1.025 ** (place - (len(names) - 1) / 2)
        off = [[v - (e.low or v) for v, e in zip(values, found, strict=True)]]
        off.append([(e.high or v) - v for v, e in zip(values, found, strict=True)])
        axis.errorbar(at, values, np.maximum(off, 0), fmt="none", ecolor=colour, elinewidth=1, alpha=0.55)
        axis.plot(at, values, color=colour, linestyle=line, marker=mark, markersize=5, linewidth=1.7)
        ends[name] = (values[-1], colour)
    lowest = min(0.45, *(each.low or each.value or 0.5 for each in attack.outcomes))
    axis.set_ylim(max(0.0, lowest - 0.03), 1.04)
    axis.axhline(attack.chance, color=INK, linewidth=1, linestyle=":")
    _sizes(axis, sizes)
    axis.annotate(" a coin toss", (0, attack.chance), (0, -4), xycoords=("axes fraction", "data"),
                  textcoords="offset points", va="top", fontsize=9)  # fmt: skip
    axis.annotate(" always right", (0, 1.0), (0, 3), xycoords=("axes fraction", "data"),
                  textcoords="offset points", va="bottom", fontsize=9)  # fmt: skip
    axis.axhline(attack.certain, color=SOFT, linewidth=0.6, linestyle=":")
    axis.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axis.set_ylabel(QUESTIONS.get(attack.name, attack.measure))
    _ends_of_lines(axis, ends)


def _sizes(axis: Axes, sizes: Sequence[int]) -> None:
    axis.set_xscale("log")
    axis.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
    axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel("homes in the group")


def _ends_of_lines(axis: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """Each line's name at its end, moved apart where they would lie on each other."""
    low, high = axis.get_ylim()
    order = sorted(ends, key=lambda name: ends[name][0])
    at = [(ends[name][0] - low) / (high - low) for name in order]
    for name, end, place in zip(order, at, apart(at, GAP), strict=True):
        colour = ends[name][1]
        leader(axis, end, place, colour)
        axis.annotate(
            name,
            (1.07, place),
            xycoords="axes fraction",
            va="center",
            fontsize=9,
            color=colour,
            fontweight="bold",
            annotation_clip=False,
        )


def _day(axis: Axes, attack: Attack) -> None:
    """The day of one made-up home, in truth and as found; each around its own level, since shapes are compared."""
    hours = np.arange(len(attack.shapes["truth"])) * attack.minutes / 60
    truth = np.array(attack.shapes["truth"])
    axis.fill_between(hours, 0, truth - truth.min(), color=SOFT, alpha=0.35, linewidth=0, label="the truth")
    for name, day in attack.shapes.items():
        if name == "truth":
            continue
        colour, line, _ = LOOKS[name]
        scaled = _to_scale(np.array(day), truth)
        # Wide below the other pattern plan: the two can show the very same.
        width = 3.2 if name == "Theorem 1" else 1.6
        axis.plot(hours, scaled, color=colour, linestyle=line, linewidth=width, label=name)
    axis.set_xlim(0, 24)
    axis.set_xticks(range(0, 25, 6))
    axis.set_yticks([])
    axis.set_xlabel("hour of the day of one made-up home, each line to its own scale")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3, fontsize=8)


def _to_scale(day: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """A day drawn as high as the true one, whatever noise lies on it."""
    spread = float(np.ptp(day))
    height = float(np.ptp(truth))
    return (day - day.min()) * (height / spread) if spread > 1e-6 else np.full(len(day), height / 2)


register_charts(Attack, chart)
