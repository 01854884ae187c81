"""How often the tests of almost periodicity speak: where there is nothing, and where something is planted.

`make power` writes docs/power.md and its chart, in some minutes.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from diurnal.periodicity.cycles import count
from diurnal.periodicity.evidence import evidence
from diurnal.periodicity.nonlinear import nonlinear
from diurnal.readings.kernels import Progress
from diurnal.study.planted import Kind, Noise, planted

DOCS = pathlib.Path(__file__).parents[1] / "docs"

PANELS = 200
"""How many panels without anything in common."""

PLANTED = 60
"""How many panels for each point of a curve."""

SHAPES = ((20, 10, 4), (50, 28, 12), (100, 56, 12), (200, 20, 48), (15, 40, 48), (400, 30, 8))
"""Homes, cycles, slots."""

STRENGTHS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)

KINDS: dict[Kind, str] = {
    "weekday": "a habit on two days of seven",
    "memory": "one day carries over to the next",
    "season": "a habit that comes and goes with the year",
    "swing": "wide days follow wide days (no correlation)",
}

HEAD = """# How often the check speaks

`make power` writes this page. It measures the tests of [the check](checking.md) on made-up panels
(`diurnal.study.planted`), for which the right answer is known.

## If there is nothing to find

{panels} panels of each kind, with cycles that have nothing in common. *Pairs* is the mean share of pairs of cycles
that differ from zero at 5 %: it should be near 5 %. *Together* is the share of panels for which all pairs together
are found to be more than chance at 5 %, and *any discovery* that of panels in which any pair is found with false
discoveries held at 5 %: both should be at most 5 %.

| homes | cycles | slots | variations | pairs | together | any discovery |
|---|---|---|---|---|---|---|
"""

POWER = """
## If dependence is planted

{planted} panels for each point, {homes} homes, 56 cycles of 12 slots, skewed variations. *Found* is the share of
panels for which all pairs together are more than chance at 5 %; *pairs* the mean share of pairs that differ from
zero; *beyond* the share of sampled pairs in which distance correlation sees something, own sizes taken out (mean of
three panels).

![power](images/power.svg)

| planted | strength | found | pairs | beyond |
|---|---|---|---|---|
"""


def null_rows() -> Iterator[str]:
    kinds: list[tuple[Noise, bool]] = [("normal", False), ("skewed", False), ("skewed", True), ("heavy", True)]
    with Progress("Panels without anything", len(SHAPES) * len(kinds) * PANELS) as bar:
        for homes, cycles, slots in SHAPES:
            for noise, unequal in kinds:
                found = []
                for seed in range(PANELS):
                    panel = planted(
                        homes=homes, cycles=cycles, slots=slots, noise=noise, unequal=unequal, seed=seed
                    )
                    sure = evidence(panel, count(panel), rng=np.random.default_rng(seed))
                    found.append((sure.significant(), sure.p_all < 0.05, sure.discovered() > 0))
                    bar.advance(1)
                pairs, together, any_ = np.mean(found, axis=0)
                name = f"{noise}, homes of unequal size" if unequal else noise
                yield (f"| {homes} | {cycles} | {slots} | {name} | {pairs:.1%} | {together:.1%} | {any_:.1%} |")


def curve(kind: Kind, homes: int) -> list[tuple[float, float, float, float]]:
    """Strength, found, pairs and beyond."""
    points = []
    for strength in STRENGTHS:
        found = []
        for seed in range(PLANTED):
            panel = planted(kind, strength, homes=homes, seed=seed)
            sure = evidence(panel, count(panel), rng=np.random.default_rng(seed))
            found.append((sure.p_all < 0.05, sure.significant()))
        seen = [
            nonlinear(panel, count(panel), rng=np.random.default_rng(seed)).significant_scaled()
            for seed in range(3)
            for panel in [planted(kind, strength, homes=homes, seed=seed)]
        ]
        points.append((strength, *np.mean(found, axis=0).tolist(), float(np.mean(seen))))
    return points


def draw(curves: dict[tuple[Kind, int], list[tuple[float, float, float, float]]]) -> None:
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots(1, len(KINDS), sharey=True)
    for axis, (kind, name) in zip(axes, KINDS.items(), strict=True):
        for homes, style in ((50, "--"), (200, "-")):
            points = np.array(curves[kind, homes])
            axis.plot(points[:, 0], 100 * points[:, 1], style, color="#1d2733", label=f"found, {homes} homes")
            axis.plot(points[:, 0], 100 * points[:, 3], style, color="#b3541e", label=f"beyond, {homes} homes")
        axis.set_ylim(0, 103)
        axis.axhline(5, color="#8793a0", linewidth=0.8)
        axis.set_title(textwrap.fill(name, 24), fontsize=9)
        axis.set_xlabel("strength")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("share of panels, or of pairs (%)")
    axes[-1].legend(frameon=False, fontsize=8, loc="upper left")
    (DOCS / "images").mkdir(exist_ok=True)
    figure.savefig(DOCS / "images" / "power.svg", metadata={"Date": None})


def main() -> None:
    rows = list(null_rows())
    curves = {(kind, homes): curve(kind, homes) for kind in KINDS for homes in (50, 200)}
    draw(curves)
    table = [
        f"| {name} | {strength:g} | {found:.0%} | {pairs:.0%} | {beyond:.0%} |"
        for kind, name in KINDS.items()
        for strength, found, pairs, beyond in curves[kind, 200]
    ]
    text = HEAD.format(panels=PANELS) + "\n".join(rows) + "\n" + POWER.format(planted=PLANTED, homes=200)
    (DOCS / "power.md").write_text(text + "\n".join(table) + "\n")


if __name__ == "__main__":
    main()
