"""Baselines: everything a user might choose instead, each with the promise it keeps, behind one interface.

base.py           Task (what is asked), Promise, Baseline
public.py         nothing at all; eps_z = 0
constant.py       one noisy number
split.py          independent noise: epsilon split over everything, over a day, over one reading
tree.py           running totals from a tree (Chan, Shi, Song 2011)
factorisation.py  running totals from a matrix factorisation (Fichtenberger, Henzinger, Upadhyay 2023)
window.py         w-event privacy (Kellaris et al. 2014)
fourier.py        Fourier perturbation (Rastogi, Nath 2010)
pegasus.py        PeGaSus (Chen et al. 2017)
opendp.py         OpenDP as its user would use it
corollary.py      the paper's Corollary 1 as printed
ours.py           Theorem 1, cube, the repair, and what `choose` chooses
settings.py       their settings, searched on the made-up town
"""

from __future__ import annotations

import dataclasses
import math

from diurnal.study.baselines.base import Additive, Baseline, Promise
from diurnal.study.baselines.constant import Constant
from diurnal.study.baselines.corollary import Corollary
from diurnal.study.baselines.factorisation import Factorisation
from diurnal.study.baselines.fourier import Fourier
from diurnal.study.baselines.opendp import OpenDP
from diurnal.study.baselines.ours import Ours
from diurnal.study.baselines.pegasus import Pegasus
from diurnal.study.baselines.public import Nothing, PublicProfile
from diurnal.study.baselines.settings import SEARCHED
from diurnal.study.baselines.split import Split
from diurnal.study.baselines.task import Span, Task, task_of
from diurnal.study.baselines.tree import Tree
from diurnal.study.baselines.window import Window

OURS: tuple[Baseline, ...] = (
    Ours(name="Theorem 1", mechanism="laplace"),
    Ours(name="cube", mechanism="cube"),
    Ours(name="pattern, chosen"),
    Ours(name="repair, Laplace", level="strong", mechanism="laplace"),
    Ours(name="strong, chosen", level="strong"),
    Ours(name="strong, by block", level="strong", sooner="blocks"),
    Ours(name="strong, by slot", level="strong", sooner="cube"),
    Ours(name="base load", statistic="base-load"),
)
"""What the curator can run."""

PAPER: tuple[Baseline, ...] = (
    Nothing(),
    PublicProfile(),
    Constant(name="constant, true", exact=True),
    Split(name="split Laplace"),
    Split(name="split Gaussian", kind="gaussian"),
    Corollary(),
)
"""What theory 5.1 puts beside it, with the whole domain as the range of a reading: nothing to search. The same
splits with readings cut off are among those that are searched."""

PLAIN: tuple[Baseline, ...] = (
    Constant(name="constant"),
    Split(name="split Laplace, cut"),
    Split(name="split Gaussian, cut", kind="gaussian"),
    Fourier(name="Fourier"),
    Fourier(name="Fourier, one day", span="cycle"),
    Tree(name="tree, one reading"),
    Tree(name="tree, one day", span="cycle"),
    Factorisation(name="matrix, one reading"),
    Factorisation(name="matrix, one day", span="cycle"),
    Window(name="w-event BD"),
    Window(name="w-event BA", method="absorption"),
    Pegasus(name="PeGaSus"),
    Split(name="one reading, Laplace", span="reading"),
    Split(name="one day, Laplace", span="cycle"),
    Split(name="one day, Gaussian", span="cycle", kind="gaussian"),
    OpenDP(name="OpenDP, one day"),
    OpenDP(name="OpenDP, everything", span="everything"),
)
"""The rivals before their settings are put in."""


def rivals(*, size: float = 226, searched: bool = True) -> tuple[Baseline, ...]:
    """Everything there is to compare.

    Args:
        size: n times epsilon, by which settings are chosen: the nearest that was searched.
        searched: With the settings of settings.py; else as their papers have it, on the whole domain.
    """
    nearest = min(SEARCHED, key=lambda other: abs(math.log(other / size)))
    tuned = [dataclasses.replace(each, **SEARCHED[nearest][each.name]) if searched else each for each in PLAIN]
    return (*PAPER, *tuned, *OURS)


__all__ = [
    "OURS",
    "PAPER",
    "PLAIN",
    "Additive",
    "Baseline",
    "Constant",
    "Corollary",
    "Factorisation",
    "Fourier",
    "Nothing",
    "OpenDP",
    "Ours",
    "Pegasus",
    "Promise",
    "PublicProfile",
    "Span",
    "Split",
    "Task",
    "Tree",
    "Window",
    "rivals",
    "task_of",
]
