"""A report step for a million households against a bare NumPy integer subtraction and sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import diurnal as dn
from benchmarks.streams import started
from benchmarks.timing import Result, compare
from diurnal.readings import kernels
from diurnal.readings.kernels import Atoms

N = 1_000_000


def run() -> Iterator[Result]:
    rng = np.random.default_rng(1)
    grid = dn.Grid(slots=4)
    readings = rng.integers(0, 3000, size=(8, N))
    panel = dn.Panel.from_array(readings, grid=grid)
    profile = readings[:4].copy()
    known = np.ones(profile.shape, dtype=bool)
    atoms = Atoms.of(np.ones((1, N), dtype=np.int64))
    slots = np.array([1])

    def bare() -> Any:
        return (panel.readings[5] - profile[1]).sum()

    def kernel(row: dn.Panel) -> Any:
        return kernels.variation_sums(row.readings, row.present, profile, known, slots, atoms)

    whole = panel.between(5, 6)
    marks = np.ones((1, N), dtype=bool)
    marks[0, ::50] = False
    gappy = panel.following(readings[5:6], present=marks, first_step=5)
    peer = "bare NumPy subtraction and sum"
    yield compare("kernel, 1,000,000 homes", lambda: kernel(whole), peer, bare, goal="at most 5, better 2")
    yield compare("kernel, 2 % of readings missing", lambda: kernel(gappy), peer, bare, goal="at most 5, better 2")
    for level in ("pattern", "strong"):
        yield compare(
            f"`report` of a step, {level}",
            _reporter(panel, level),
            peer,
            bare,
            goal="at most 5, better 2",
        )


def _reporter(panel: dn.Panel, level: Any) -> Any:
    """Reports a new step each time it is called."""
    bound = 500 if level == "strong" else None
    stream = started(dn.Curator.in_memory(), panel, level, variation_bound=bound)
    rows = [panel.following(panel.readings[5:6], first_step=step) for step in range(4, 24)]

    def report() -> Any:
        return stream.report(rows.pop())

    return report
