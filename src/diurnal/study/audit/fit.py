"""Fit: whether draws of noise follow their law, and never come twice.

A lower bound for epsilon looks at one pair of data sets in one way. Noise that is always even, or bare now and
then, or repeated in every second cycle, may hide from it. Here all draws of a curator's lives are held against the
law itself: what is left when they are divided, how their sizes are spread, how large they are in the mean, and that
none comes again. Where there are too few of them to see a twentieth, the mechanism is asked for more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

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
MEAN = 5.0
"""By how many standard deviations a mean size may be off: by chance less than once in a million times."""
REFERENCE = 20_000
"""How many draws of the law itself draws are held against."""
WIDE = 50
"""From which size on, in grains, noise is fine enough for a continuous law to stand for it."""
BIN = 2
"""So many grains count as the same where draws are not known exactly."""
AGAIN = 0.05
"""What share of draws must come twice to be seen, where there are so few possible ones that some do by chance."""
LAGS = 12
"""How far apart draws are held against each other then: those of a group stand together, cycle by cycle."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Draws of a mechanism's noise."""

    rows: Floats
    """A row a draw, in units of 1/multiplier."""
    grain: float = 1.0
    """How finely they are known: 1 if exactly, more where they are worked out from values that were rounded."""


def follows(layer: Mechanism, seen: Draws, made: Floats, what: str, rng: np.random.Generator) -> Fact:
    """Whether draws of a mechanism follow its law.

    Args:
        layer: The mechanism.
        seen: Its draws in a curator's lives.
        made: More of its draws, a row each, asked of it for this.
        what: What it hides, in words.
        rng: For draws of the law, which are no release.
    """
    law = laws.draw(layer, REFERENCE, rng)
    size = float(np.median(np.abs(law)))
    fine = [each for each in (seen, Draws(rows=made)) if len(each.rows) and size >= WIDE * each.grain]
    wrong = [said for each in fine for said in _spread(each.rows, law)]
    wrong += [said for each in fine if each.grain == 1 for said in _residues(each.rows)]
    for some in (fine[:1], fine) if len(fine) > 1 else (fine,):
        wrong += _mean(layer, np.concatenate([each.rows for each in some]), some[0].grain / size) if some else []
    count = sum(len(each.rows) for each in fine)
    return Fact(
        name="the noise follows its law",
        held=not wrong,
        says=f"{count:,} draws that hide {what}: {'; '.join(dict.fromkeys(wrong)) or 'as they should be'}."
        if fine
        else f"Noise that hides {what} is too coarse to be held against it.",
    )


def never_twice(pools: list[tuple[Mechanism, Draws]], rng: np.random.Generator) -> Fact:
    """Whether no draw comes again, in any cycle, group, layer or life; where some must, whether too many do.

    Args:
        pools: The draws of each layer.
        rng: For draws of the law, which are no release.
    """
    known, count, again = set[tuple[float, ...]](), 0, 0
    for layer, pool in pools:
        rows, law = _kept_apart(pool, pool.rows), laws.draw(layer, len(pool.rows), rng)
        if _fine(rows):
            for key in map(tuple, rows.tolist()):
                again += key in known
                known.add(key)
        elif np.median(np.abs(law)) >= WIDE * pool.grain:
            again += _too_many(rows, _kept_apart(pool, law))
        else:
            continue
        count += len(rows)
    return Fact(
        name="no noise comes twice",
        held=again == 0,
        says=f"{count:,} draws; {again:,} had come before."
        if count
        else "Noise is too coarse, or cycles are too short, for draws to be told apart.",
    )


def _kept_apart(pool: Draws, rows: Floats) -> Floats:
    """Whole numbers that are the same for draws that may be the same."""
    apart: Floats = np.rint(rows / (1 if pool.grain == 1 else BIN * pool.grain))
    return apart


def _too_many(rows: Floats, law: Floats) -> int:
    """How many draws are those of a cycle or group shortly before; 0 if that may be chance, as in the law."""
    seen, usual = (max(_as_before(each, lag) for lag in range(1, LAGS + 1)) for each in (rows, law))
    return seen if seen - usual > AGAIN * len(rows) + SURE * math.sqrt(usual) else 0


def _as_before(rows: Floats, lag: int) -> int:
    return int((rows[lag:] == rows[:-lag]).all(axis=1).sum())


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


def _mean(layer: Mechanism, drawn: Floats, coarse: float) -> Iterator[str]:
    """Whether draws are as large as they should be: all of them together say more than how they are spread.

    Sizes in the law's own norm add up to a Gamma variable, whose cube root is nearly normal (Wilson and Hilferty).
    """
    shape = len(drawn) * laws.shape(layer)
    ratio = float(-laws.log_mass(layer, drawn).sum()) / shape
    # What is whole or rounded is off by up to half of it.
    near = max(1.0, ratio - coarse / 2) if ratio > 1 else min(1.0, ratio + coarse / 2)
    if abs(near ** (1 / 3) - 1 + 1 / (9 * shape)) * 3 * math.sqrt(shape) > MEAN:
        deviation = math.sqrt(ratio) if laws.is_gaussian(layer) else ratio
        yield f"they are {deviation:.3f} times as large as they should be in the mean"


def _apart(one: Floats, other: Floats) -> bool:
    """Whether two samples are of different laws, by Kolmogorov and Smirnov."""
    points = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(each), points, side="right") / len(each) for each in (one, other)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    return distance > SPREAD * math.sqrt(1 / len(one) + 1 / len(other))
