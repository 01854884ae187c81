"""Fit: whether draws of noise follow their law, and never come twice.

A lower bound for epsilon looks at one pair of data sets in one way. Noise that is always even, or bare now and
then, or repeated in every second cycle, may hide from it. Here all draws of a curator's lives are held against the
law itself: what is left when they are divided, how their sizes are spread, and that none comes again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from diurnal.promise.mechanisms import Mechanism
from diurnal.readings.data import Floats
from diurnal.study.audit import laws
from diurnal.study.audit.facts import Fact

DIVISORS = (2, 3, 5, 16)
"""By what draws are divided: what is left must be anything, alike."""
SURE = 6.0
"""By how many standard deviations a count may be off."""
SPREAD = 3.0
"""By how many units of 1/sqrt(n) two distributions may be apart: by chance less than once in ten million times."""
REFERENCE = 20_000
"""How many draws of the law itself draws are held against."""
WIDE = 50
"""From which size on noise is fine enough for a continuous law to stand for it."""


def follows(layer: Mechanism, drawn: Floats, what: str, rng: np.random.Generator) -> Fact:
    """Whether draws of a mechanism that adds noise slot by slot follow its law.

    Args:
        layer: The mechanism.
        drawn: A row a draw, in units of 1/multiplier.
        what: What it hides, in words.
        rng: For draws of the law, which are no release.
    """
    law = laws.draw(layer, REFERENCE, rng)
    wrong = []
    if np.median(np.abs(law)) >= WIDE:
        wrong = [*_residues(drawn), *_spread(drawn, law)]
    return Fact(
        name="the noise follows its law",
        held=not wrong,
        says=f"{len(drawn):,} draws that hide {what}: {'; '.join(wrong) or 'as they should be'}.",
    )


def never_twice(pools: list[Floats]) -> Fact:
    """Whether no draw comes again, in any cycle, group, layer or life.

    Args:
        pools: Draws of each layer, a row a draw, in units of a total.
    """
    known = set[tuple[float, ...]]()
    count = again = 0
    for pool in pools:
        if not _fine(pool):
            continue
        for row in np.round(pool, 6).tolist():
            key = tuple(row)
            again += key in known
            known.add(key)
            count += 1
    return Fact(
        name="no noise comes twice",
        held=again == 0,
        says=f"{count:,} draws; {again:,} had come before."
        if count
        else "Noise is too coarse, or cycles are too short, for draws to be told apart.",
    )


def _fine(pool: Floats) -> bool:
    """Whether there are so many possible draws that any two are the same less than once in a million times."""
    size = float(np.median(np.abs(pool)))
    # Two draws agree in a slot about once in four times the size of noise.
    alike = 2 * math.log(len(pool)) - int(pool.shape[1]) * math.log(max(4 * size, 1.0))
    return alike < math.log(1e-6)


def _residues(drawn: Floats) -> Iterator[str]:
    whole = np.rint(drawn).astype(np.int64).ravel()
    for divisor in DIVISORS:
        counts = np.bincount(whole % divisor, minlength=divisor)
        share = 1 / divisor
        far = np.abs(counts - len(whole) * share).max() / math.sqrt(len(whole) * share * (1 - share))
        if far > SURE:
            yield f"divided by {divisor}, some remainders come too often"


def _spread(drawn: Floats, law: Floats) -> Iterator[str]:
    slots = drawn.shape[1]
    for slot in sorted({0, slots // 2, slots - 1}):
        if _apart(drawn[:, slot], law[:, slot]):
            yield f"in slot {slot} they are spread otherwise"
    for order in (1, 2, np.inf):
        sizes = (np.linalg.norm(each, ord=order, axis=1) for each in (drawn, law))
        if _apart(*sizes):
            yield f"their sizes (l{order}) are spread otherwise"


def _apart(one: Floats, other: Floats) -> bool:
    """Whether two samples are of different laws, by Kolmogorov and Smirnov."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (one, other)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    return distance > SPREAD * math.sqrt(1 / len(one) + 1 / len(other))
