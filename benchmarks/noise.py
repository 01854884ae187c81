"""How long a vector of noise takes, against an OpenDP Laplace vector of the same length."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from benchmarks.timing import Result, compare
from diurnal.promise import noise


def run() -> Iterator[Result]:
    for slots in (48, 336):
        peer = f"OpenDP Laplace vector, T = {slots}"

        def laplace(slots: int = slots) -> list[int]:
            return noise.laplace(slots, Fraction(3000 * slots))

        def cube(slots: int = slots) -> list[int]:
            return noise.cube([3000] * slots, Fraction(1, 3000))

        yield compare(f"cube draw, T = {slots}", cube, peer, laplace, goal="at most 1", repeat=60)
    for size in (9, 17):

        def l2_norm(size: int = size) -> list[int]:
            return noise.l2_norm(size, Fraction(1, 10**8))

        def vector() -> list[int]:
            return noise.laplace(48, Fraction(144000))

        peer = "OpenDP Laplace vector, T = 48"
        yield compare(f"l2-norm draw, m = {size}", l2_norm, peer, vector, goal="-", repeat=40)
