"""Setting: what all attacks of one run share."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from diurnal.study.audit.attacks.population import Population
from diurnal.study.audit.attacks.releases import Release


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Setting:
    """On whom, at which epsilon, against which releases, and how thoroughly."""

    population: Population
    """On whom."""
    epsilon: Fraction
    """What each release may spend."""
    releases: tuple[Release, ...]
    """What is attacked."""
    deep: bool = False
    """Whether to take minutes for narrow intervals."""
    seed: int = 1
    """Which homes are looked at."""
    advance: Callable[[float], None] = lambda _: None
    """Told which share of an attack has been done."""

    def rng(self, attack: str, *more: int) -> np.random.Generator:
        """For choices of homes: an attack's own, so that it finds the same alone as among others."""
        return np.random.default_rng([self.seed, zlib.crc32(attack.encode()), *more])
