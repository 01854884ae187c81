"""How long a vector of noise takes, against OpenDP's of its kind, or its Laplace vector."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from benchmarks.timing import Result, compare
from diurnal.promise import noise
from diurnal.study.baselines.opendp import measurement


def run() -> Iterator[Result]:
    for slots in (48, 336):
        scale, totals = Fraction(3000 * slots), [0] * slots
        laplace, gaussian = measurement(slots, reach=3000, epsilon=1.0), _gaussian(float(scale))
        peer = f"OpenDP Laplace vector, T = {slots}"
        yield compare(
            f"Laplace draw, T = {slots}",
            partial(noise.laplace, slots, scale),
            peer,
            partial(laplace, totals),
            goal="at most 2",
            repeat=60,
        )
        yield compare(
            f"Gaussian draw, T = {slots}",
            partial(noise.gaussian, slots, scale),
            f"OpenDP Gaussian vector, T = {slots}",
            partial(gaussian, totals),
            goal="at most 2",
            repeat=60,
        )
        yield compare(
            f"cube draw, T = {slots}",
            partial(noise.cube, [3000] * slots, Fraction(1, 3000)),
            peer,
            partial(laplace, totals),
            goal="at most 1",
            repeat=60,
        )
    laplace = measurement(48, reach=3000, epsilon=1.0)
    for size in (9, 17):
        yield compare(
            f"l2-norm draw, m = {size}",
            partial(noise.l2_norm, size, Fraction(1, 10**8)),
            "OpenDP Laplace vector, T = 48",
            partial(laplace, [0] * 48),
            goal="-",
            repeat=40,
        )


def _gaussian(scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
