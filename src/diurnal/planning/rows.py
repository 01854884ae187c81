"""Rows: what the table of public constants is made of. The table itself is `constants`, which a script writes.

A level is the public mean of a reading. Radii are in levels times the square root of the slots of a cycle, so that
they are the same for half hours and hours, days and weeks. Errors are root mean squares in levels, by
cross-validation with the level known to a tenth.
"""

from __future__ import annotations

from typing import NamedTuple


class Pattern(NamedTuple):
    """The release of a mean profile with nothing free: a ball around a public reference, in a Fourier basis."""

    n_epsilon: float
    """n times epsilon that it suits."""
    size: int
    """m, how many coefficients are released; for a week those of its mean day."""
    radius: float
    """Of the body with harmonic weighting."""
    scale: float
    """The body lies around so many times the reference."""
    fill: float
    """With which weight what the basis drops of the reference is put back."""
    distance: float | None
    """How far the mean is thought to be from the reference, for shrinkage; None for no shrinkage."""
    error: float
    """Of the profile."""


class FreeRow(NamedTuple):
    """What exact aggregate variations add to a `Pattern` row of the same n times epsilon. For a pattern promise."""

    days: int
    """The length of history that it suits."""
    blend: float
    """How much of the reference's shape gives way to that of the low quantile, times `SLOPE`."""
    low: float
    """With which weight what the basis drops of the low quantile is put back."""
    fill: float
    """With which weight what the basis drops of the reference is put back."""
    mismatch: float
    """How far the reference is from the profile with all this and nothing spent, root mean square in levels."""
    error: float
    """Of the profile, at n times epsilon 226."""
    most: float
    """Up to which n times epsilon of the table it beat a release with nothing free."""


class BaseLoad(NamedTuple):
    """The release of a minimum over the history, around a flat public level."""

    n_epsilon: float
    """n times epsilon that it suits."""
    size: int
    """m, how many coefficients are released."""
    radius: float
    """Of the body with harmonic weighting."""
    scale: float
    """The body lies around so many times the flat level."""
    error: float
    """Of the profile of minima."""


class Day(NamedTuple):
    """The release of a day's variations at its end."""

    n_epsilon: float
    """n times epsilon that it suits."""
    size: int
    """m, how many coefficients are released."""
    radius: float
    """Of the body with harmonic weighting."""
    error: float
    """Of a day's variations."""


class Blocks(NamedTuple):
    """The release of a day's variations block by block."""

    n_epsilon: float
    """n times epsilon that it suits."""
    blocks: int
    """How many blocks a day has."""
    radius: float
    """Of the ball that sums over blocks, each over the square root of its slots, are kept in as they come."""
    error: float
    """Of a day's variations."""


class Clip(NamedTuple):
    """The release of a day's variations slot by slot, with cube noise."""

    n_epsilon: float
    """n times epsilon that it suits."""
    clip: float
    """Where the variation of a slot is cut off, to both sides, in levels."""
    error: float
    """Of a day's variations."""
