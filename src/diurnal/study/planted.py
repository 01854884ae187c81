"""Planted: made-up panels whose cycles have something in common, of a known kind and strength, or nothing at all.

What a test of almost periodicity is worth shows on these: how often it speaks where there is nothing, and how soon
where there is something. Seeded, and never near a release.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import whole
from diurnal.readings.data import Floats
from diurnal.readings.grid import Grid
from diurnal.readings.panel import Panel

Kind = Literal["nothing", "weekday", "memory", "season", "swing"]
Noise = Literal["normal", "skewed", "heavy"]

SPREAD = 100
"""The standard deviation of a home's variations, in units."""


def planted(
    kind: Kind = "nothing",
    strength: float = 0.0,
    *,
    homes: int = 100,
    cycles: int = 56,
    slots: int = 12,
    noise: Noise = "skewed",
    unequal: bool = False,
    seed: int = 1,
) -> Panel:
    """A panel of homes with a pattern each, variations around it, and what is planted among these.

    Args:
        kind: `weekday`: on two days of seven each home has a habit of its own. `memory`: variations carry over to
        the
            next day. `season`: a habit of its own comes and goes with the year. `swing`: homes that vary widely one
            day do so the next, up or down, without correlation.
        strength: For `memory` the correlation of one day with the next; else the size of what is planted over that
            of the variations.
        homes: How many homes.
        cycles: How many cycles.
        slots: How many slots a cycle has.
        noise: How the variations are spread: normal, exponential, or log-normal with a heavy tail.
        unequal: Whether homes differ in size.
        seed: For all of it.

    Raises:
        ReadingsError: A kind that there is none of, or a size that is none.
    """
    if kind not in get_args(Kind) or noise not in get_args(Noise):
        raise ReadingsError("planted-unknown", kinds=", ".join(get_args(Kind)), noises=", ".join(get_args(Noise)))
    for name, value in {"homes": homes, "cycles": cycles, "slots": slots}.items():
        whole(value, name, least=1, error=ReadingsError)
    rng = np.random.default_rng([seed, homes, cycles, slots])
    moves = _variations(rng, noise, (homes, cycles, slots))
    habit = rng.standard_normal((homes, 1, slots))
    day = np.arange(cycles)
    if kind == "weekday":
        moves += strength * habit * (day % 7 >= 5)[None, :, None]
    elif kind == "season":
        moves += strength * habit * np.sqrt(2) * np.cos(2 * np.pi * day / cycles)[None, :, None]
    elif kind == "memory":
        for at in range(1, cycles):
            moves[:, at] = strength * moves[:, at - 1] + np.sqrt(1 - strength**2) * moves[:, at]
    elif kind == "swing":
        sizes = rng.standard_normal((homes, cycles))
        for at in range(1, cycles):
            sizes[:, at] = 0.9 * sizes[:, at - 1] + np.sqrt(1 - 0.9**2) * sizes[:, at]
        moves *= np.exp(strength * sizes)[:, :, None]
    if unequal:
        moves *= rng.lognormal(0, 0.7, (homes, 1, 1))
    profile = 5 * SPREAD + 2 * SPREAD * rng.standard_normal((homes, 1, slots))
    readings = np.rint(profile + SPREAD * moves).astype(np.int64)
    return Panel.from_array(readings.transpose(1, 2, 0).reshape(cycles * slots, homes), grid=Grid(slots=slots))


def _variations(rng: np.random.Generator, noise: Noise, shape: tuple[int, int, int]) -> Floats:
    """Variations with mean 0 and standard deviation 1."""
    if noise == "normal":
        return rng.standard_normal(shape)
    if noise == "skewed":
        return rng.exponential(1, shape) - 1
    mean, size = np.exp(0.5), np.sqrt((np.e - 1) * np.e)
    scaled: Floats = (rng.lognormal(0, 1, shape) - mean) / size
    return scaled
