"""What a started plan knows of its households: their profiles, and what stands for those that are missing."""

import numpy as np

import diurnal as dn
import support


def test_a_household_without_history_in_a_slot_shows_nothing_there(silence):
    """With fewer than k_min readings in a slot, what the household does there later never reaches a report."""
    panel = support.town()
    present = panel.present.copy()
    present[1:16:4, 7] = False
    one = panel.following(panel.readings, present=present, first_step=0)
    readings = panel.readings.copy()
    readings[17::4, 7] = 99
    other = panel.following(readings, present=present, first_step=0)
    for name in ("pattern", "strong", "strong, basis", "strong, blocks"):
        assert support.numerators(support.begin(name, one).report(one)) == support.numerators(
            support.begin(name, other).report(other)
        )


def test_a_slot_without_history_contributes_the_public_constant(silence):
    """G holds the declared constant for a slot without a profile, clipped into the body."""
    panel = support.town(n=2)
    present = panel.present.copy()
    present[:16] = False
    empty = panel.following(panel.readings, present=present, first_step=0)
    stream = support.begin("pattern", empty, default_reading=21)
    assert stream.noisy_profile["all"] == [42] * 4


def test_a_household_that_leaves_contributes_its_profile(silence):
    """After a household falls silent the reports stay at its profile: its leaving takes nothing away."""
    panel = support.town()
    present = panel.present.copy()
    present[24:, 3] = False
    left = panel.following(panel.readings, present=present, first_step=0)
    stream = support.begin("pattern", left, query=dn.Sum())
    rows = support.numerators(stream.report(left))
    others = np.delete(panel.readings, 3, axis=1).sum(axis=1)
    profile = (panel.readings[:16, 3].reshape(4, 4).sum(axis=0)) // 4
    assert rows[8:] == (others + np.tile(profile, 12))[24:].tolist()


def test_base_load_is_the_least_reading_and_commutes(silence):
    """The opt-in statistic takes each slot's least reading of the history."""
    panel = support.town()
    stream = support.begin("pattern", panel, statistic="base-load", query=dn.Sum())
    least = panel.readings[:16].reshape(4, 4, -1).min(axis=0).sum(axis=1)
    assert stream.noisy_profile["all"] == least.tolist()
