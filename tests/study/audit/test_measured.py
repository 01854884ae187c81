"""Corollary 1 as printed against its repair."""

import numpy as np
import pytest

from diurnal.study import paper
from diurnal.study.audit import measured
from diurnal.study.audit.measured import waiting


@pytest.fixture(scope="module")
def found():
    return waiting(cycles=(1, 30), transcripts=20_000)


def test_corollary_1_as_printed_exceeds_its_claim_by_thirty_cycles(found):
    """At T = 48 and epsilon 1, thirty cycles of the printed mechanism cost more than 1, at 99.9 % confidence."""
    assert found.printed[1] > 1.2


def test_the_repair_does_not(found):
    """Under the same attack, even told the pattern's noise, the repair stays within 1 however long one waits."""
    assert max(found.repaired) < 1
    assert found.repaired[1] == pytest.approx(found.repaired[0], abs=0.15)


def test_the_attack_sees_what_the_printed_code_says():
    """The noise that the attack takes apart is the printed code's: the first cycle's comes again in all others."""
    rng, slots, cycles = np.random.default_rng(1), 3, 4
    readings, changed = measured._neighbours(slots, cycles)
    first, later = rng.integers(-50, 50, slots), rng.integers(-50, 50, (cycles - 1, slots))
    without = measured._noiseless(slots, cycles)
    for data, base in zip((readings, changed), without, strict=True):
        said = paper.corollary_1_as_printed(data, np.zeros((slots, 1), dtype=int), first, later)
        noise = np.concatenate([first[None], first + later])
        assert np.array_equal(said.reshape(cycles, slots), base + noise)
