"""Judge: which batches must be refused because they are in another unit. Written from the rules alone.

The rules:

1. A reading of 0 says nothing. One above the domain is too large; one that has six bits fewer than the public
   reference, a flat 500 Wh, is too small: 8 Wh, about.
2. A home looks so in a batch if more than half of its readings do that say something.
3. For each direction there is a score: one more for each home that looks so, once a home; one less for each that
   says something else. It is 0 at least and 20 at most, and at 0 homes count anew. It ends with the process.
4. A batch in which most homes look so is refused from a score of 10 on; if they look too small, only if readings of
   two steps or more have said so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from benchmarks.fleet.town import DOMAIN, MILLI
from diurnal.readings.data import Integers, Marks

LEAST = 2**23 / 1000
"""Below how many thousandths of a Wh a reading is too small."""
REFUSED, MOST = 10, 20


@dataclass
class Score:
    """What speaks for another unit, in one direction."""

    number: int = 0
    homes: set[int] = field(default_factory=set)
    steps: set[int] = field(default_factory=set)

    def add(self, homes: set[int], others: int, steps: set[int]) -> None:
        """One more batch."""
        new = homes - self.homes
        self.number = max(0, min(MOST, self.number + len(new) - others))
        if self.number:
            self.homes |= new
            self.steps |= steps
        else:
            self.homes, self.steps = set(), set()


class Judge:
    """What one stream has seen since the process began."""

    def __init__(self) -> None:
        self._small, self._large = Score(), Score()

    def refuses(self, homes: Integers, steps: Integers, values: Integers) -> bool:
        """Whether a batch must be refused; it counts either way.

        Args:
            homes: Whose readings there are, of the roster.
            steps: Of which steps.
            values: What they are, in thousandths of a Wh.
        """
        says = values != 0
        is_small, is_large = says & (values < LEAST), says & (values > DOMAIN[1] * MILLI + MILLI // 2)
        small, large = (self._most(homes, says, marks) for marks in (is_small, is_large))
        plausible = set(np.unique(homes[says]).tolist()) - small - large
        self._small.add(small, len(large) + len(plausible), set(np.unique(steps[is_small]).tolist()))
        self._large.add(large, len(small) + len(plausible), set())
        if len(small) > len(large) + len(plausible):
            return self._small.number >= REFUSED and len(self._small.steps) > 1
        return len(large) > len(small) + len(plausible) and self._large.number >= REFUSED

    @staticmethod
    def _most(homes: Integers, says: Marks, marks: Marks) -> set[int]:
        """Homes of which most of what says something says this."""
        size = int(homes.max(initial=0)) + 1
        all_of_it, this = (np.bincount(homes[each], minlength=size) for each in (says, marks))
        return set(np.flatnonzero(2 * this > all_of_it).tolist())
