"""What a kernel makes of each household, kept in the lake, and put beside other steps of it."""

import numpy as np
import pytest

from diurnal.errors import LimitError
from diurnal.readings import kernels
from diurnal.readings.engines.spark import homes
from diurnal.readings.panel import Arrays


def test_what_is_kept_is_what_the_kernel_makes_of_each_home(town, tmp_path):
    """Of homes in any order, under other names where asked: the kernel's own numbers and gaps, a column a home."""
    here, there = (panel.columns(np.array([7, 3, 59])) for panel in town)

    def kernel(block):
        return Arrays(block.readings[:48] * 2, block.present[:48])

    kept = homes.keep(kernel, there, str(tmp_path / "kept"), steps=48, renamed={here.households[1]: "somebody"})
    assert kept.households == (here.households[0], "somebody", here.households[2])
    assert kept.groups == here.groups
    np.testing.assert_array_equal(kept.present, here.present[:48])
    np.testing.assert_array_equal(kept.readings[kept.present], 2 * here.readings[:48][kept.present])


def test_a_kernel_that_refuses_leaves_nothing(town, tmp_path):
    """An error of ours in a task is the same error here, and there is no folder."""

    def kernel(block):
        raise LimitError("sums-overflow", what="readings", households=3, weight=1, magnitude=9)

    with pytest.raises(LimitError, match="64 bits"):
        homes.keep(kernel, town[1], str(tmp_path / "kept"), steps=48)
    assert not (tmp_path / "kept").exists()


def test_kept_steps_stand_before_the_others_by_household(town, tmp_path):
    """First what was kept of a home, then its readings; who has none now is there with gaps."""
    here, there = (panel.columns(np.arange(5)).between(0, 96) for panel in town)

    def kernel(block):
        return Arrays(block.readings[:2], block.present[:2])

    kept = homes.keep(kernel, there, str(tmp_path / "kept"), steps=2)
    both = homes.beside(kept, there.without(there.households[:1]).between(10, 20))

    def by_home(block):
        return {name: (block.readings[:, i], block.present[:, i]) for i, name in enumerate(block.households)}

    found = kernels.fold(by_home, both, lambda one, other: {**one, **other})
    assert sorted(found) == sorted(here.households)
    for column, name in enumerate(here.households):
        readings, present = found[name]
        later = here.present[10:20, column] if column else np.zeros(10, dtype=bool)
        np.testing.assert_array_equal(present, [*here.present[:2, column], *later])
        np.testing.assert_array_equal(readings[2:], here.readings[10:20, column] * later)
