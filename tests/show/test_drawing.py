"""The house's style, and what is put on figures."""

import itertools

import pytest

from diurnal.show import drawing


@pytest.mark.parametrize("places", [[0.1, 0.1, 0.1], [0, 0.01, 0.5], [0.9, 0.95, 1.0], [0.3]])
def test_names_are_moved_apart(places):
    """No two names at line ends are closer than a gap, none falls below the panel, and their order stays."""
    moved = drawing.apart(places, 0.06)
    assert moved[0] >= 0
    assert all(after - before >= 0.059 for before, after in itertools.pairwise(moved))
