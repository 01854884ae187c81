"""What the words of an attack say of its numbers."""

import pytest

from diurnal.study.audit.attacks.attackers import (
    LEAVES,
)
from diurnal.study.audit.attacks.releases import (
    STRONG,
)

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("attacks")


def test_a_shape_that_cannot_be_is_not_sold_as_protection(found):
    """Where strong reports are flat over a day, a correlation of 0 says nothing, and the text says that."""
    attack = found["leaving and joining"]
    assert ("not measured here" in attack.says) == (attack.outcome(STRONG, case=LEAVES).value == 0)


def test_results_print_as_tables(found):
    """What is asked, what is known, a row an outcome, and what it means."""
    for attack in found.values():
        lines = str(attack).splitlines()
        assert lines[0] == f"{attack.name}: {attack.asks}"
        assert len(lines) == 4 + len(attack.outcomes)
        assert lines[-1].strip() == attack.says
