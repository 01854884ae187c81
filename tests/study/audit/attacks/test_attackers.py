"""Each attack: what it finds out about a home without noise, in pattern mode and in strong mode."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal.study.audit.attacks import Population, attacks
from diurnal.study.audit.attacks.attackers import (
    ALL_READINGS,
    CALENDAR,
    DIGITS,
    HEAVIEST,
    HEAVY,
    JOINS,
    KNOWN,
    LEAVES,
    LIGHT,
    MEAN_DAYS,
    MEMBERS,
    ONE_STORE,
    TWO_STORES,
    decoded,
    digits,
    drawn,
    halves,
    right,
    slot_minimum,
)
from diurnal.study.audit.attacks.population import Setting
from diurnal.study.audit.attacks.releases import (
    NO_NOISE,
    PATTERN,
    STRONG,
    THEOREM_1,
    releases,
)

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("attacks")


def value(attack, release, case="", households=None):
    return attack.outcome(release, case=case, households=households).value


def test_one_home_s_changes_are_seen_in_pattern_mode_and_not_in_strong(found):
    """To who knows everybody else they are as plain as without noise; behind strong noise they are not."""
    attack = found["differencing"]
    for name in (NO_NOISE, THEOREM_1, PATTERN):
        assert value(attack, name) == pytest.approx(1, abs=1e-9)
    assert value(attack, STRONG) < 0.5


def test_the_slot_minimum_strips_theorem_1_s_noise(found):
    """What is left of it is a small part; what a better release publishes is not made worse."""
    attack = found["slot minimum"]
    stripped = attack.outcome(THEOREM_1)
    assert stripped.value < stripped.published / 3
    for name in (PATTERN, STRONG):
        assert attack.outcome(name).value <= attack.outcome(name).published
    assert attack.certain == 0 < attack.chance


def test_what_the_slot_minimum_leaves_does_not_depend_on_the_noise(population):
    """Repeated noise goes out exactly: two releases of Theorem 1 leave the same error."""
    setting = Setting(population=population, epsilon=Fraction(1), releases=releases()[1:2])
    one, other = (slot_minimum(setting)[0] for _ in range(2))
    assert one.published != other.published
    assert one.value == pytest.approx(other.value, abs=1e-9)


def test_one_known_day_undoes_repeated_noise_for_ever(found):
    """In pattern mode all other totals follow exactly; on the calendar nothing follows; nor in strong mode."""
    attack = found["known totals"]
    for name in (THEOREM_1, PATTERN):
        assert value(attack, name, KNOWN) < 1e-9
        guarded = attack.outcome(name, case=CALENDAR)
        assert guarded.value == guarded.published > 0
    assert value(attack, STRONG, KNOWN) > 0


def test_leaving_and_joining_show_a_home_in_a_naive_sum_only(found):
    """A naive sum shows the day of who came or left. Ours show nothing of who joins, and of who leaves no more than
    its last variations, the same whatever the noise of the pattern.
    """
    attack = found["leaving and joining"]
    assert min(value(attack, NO_NOISE, case) for case in (LEAVES, JOINS)) > 0.85
    assert value(attack, THEOREM_1, JOINS) == value(attack, PATTERN, JOINS) == 0
    assert value(attack, THEOREM_1, LEAVES) == pytest.approx(value(attack, PATTERN, LEAVES), abs=1e-6)
    assert value(attack, PATTERN, LEAVES) < 0.6


def test_overlapping_rosters_are_refused_in_pattern_mode(found):
    """The second roster is refused in one store. Two stores evade that, and then the home's changes are exact."""
    attack = found["overlapping rosters"]
    assert value(attack, NO_NOISE, ONE_STORE) == pytest.approx(1)
    for name in (THEOREM_1, PATTERN):
        assert "fewer than 15" in attack.outcome(name, case=ONE_STORE).refused
        assert value(attack, name, TWO_STORES) == pytest.approx(1, abs=1e-9)
    assert value(attack, STRONG, ONE_STORE) < 0.5


def test_weights_are_decoded_from_a_naive_sum_and_refused_in_pattern_mode(found):
    """No noise: every heavy home. Pattern mode refuses. Strong mode's noise grows with the weight."""
    attack = found["weights"]
    assert value(attack, NO_NOISE, DIGITS) == pytest.approx(1)
    for name, case in itertools.product((THEOREM_1, PATTERN), (DIGITS, HEAVIEST)):
        assert value(attack, name, case) is None
    assert value(attack, STRONG, HEAVIEST) < 0.5


@given(st.data())
def test_digits_can_be_read_off(data):
    """Whatever homes read, within whatever domain, heavy homes' readings come back from the weighted sum."""
    low = data.draw(st.integers(-9000, 9000))
    domain = (low, low + data.draw(st.integers(1, 9000)))
    reading = st.integers(*domain)
    homes = np.array(data.draw(st.lists(reading, min_size=LIGHT + HEAVY, max_size=LIGHT + HEAVY)), dtype=object)
    total = np.array([homes @ np.array(digits(domain), dtype=object)])
    assert decoded(total, domain)[:, 0].tolist() == homes[LIGHT:].tolist()


def test_pattern_noise_hides_no_absence(found):
    """With repeated noise the attacker is right exactly as often as without noise: more often than a coin."""
    attack = found["absence"]
    for size in {each.households for each in attack.outcomes}:
        without = value(attack, NO_NOISE, households=size)
        assert value(attack, THEOREM_1, households=size) == value(attack, PATTERN, households=size) == without
    assert value(attack, NO_NOISE, households=15) > 0.6


def test_membership_is_plain_in_pattern_mode_and_not_in_strong(found):
    """In a group of 15 the attacker is mostly right without noise and in pattern mode, in larger groups less often;
    in strong mode not much more often than a coin.
    """
    attack = found["membership"]
    assert value(attack, NO_NOISE, households=15) > 0.75
    assert value(attack, PATTERN, households=15) > 0.6
    assert value(attack, STRONG, households=15) < 0.85
    assert value(attack, NO_NOISE, households=70) < value(attack, NO_NOISE, households=15)


def test_an_attacker_who_sees_noise_alone_tosses_a_coin(population):
    """Scores of sums that have nothing to do with the groups are right half of the time, within five errors."""
    players, _ = halves(population.recent("1", 1), np.random.default_rng(1))
    rng = np.random.default_rng(2)
    game = drawn(15, players, blocks=200, rng=rng)
    sums, weights = rng.standard_normal((200 * MEMBERS, 40)), rng.standard_normal((40, game.targets.size))
    rate = right(game, sums, weights)
    assert abs(rate.value - 0.5) < 5 * (rate.high - rate.low) / 3.92


@given(size=st.integers(2, 60), homes=st.integers(6, 40), always=st.booleans(), seed=st.integers(0, 99))
def test_a_game_is_fair(size, homes, always, seed):
    """Every group has its size; each target is once in half of its block's groups, or in all where asked."""
    game = drawn(size, np.arange(homes), blocks=3, rng=np.random.default_rng(seed), always=always)
    assert game.rosters.shape == (3 * MEMBERS, size)
    assert (game.inside.sum(axis=1) == MEMBERS // 2).all()
    times = (game.rosters.reshape(3, MEMBERS, size, 1) == game.targets[:, None, None, :]).sum(axis=2)
    assert (times == (np.ones_like(times) if always else game.inside)).all()


def test_background_and_players_are_apart(population):
    """No home is both known to the attacker and in a group."""
    players, background = halves(population.recent("1", 1), np.random.default_rng(1))
    assert set(players).isdisjoint(background)
    assert len(players) + len(background) == 70


def test_a_mean_day_is_hidden_until_all_readings_of_others_are_known(found):
    """Averages hide a home's day in both modes. Its least readings bring it back in pattern mode, whatever noise
    was drawn, and not in strong mode.
    """
    attack = found["profile"]
    assert value(attack, NO_NOISE, MEAN_DAYS) == pytest.approx(1)
    assert max(value(attack, name, MEAN_DAYS) for name in (THEOREM_1, PATTERN, STRONG)) < 0.75
    assert value(attack, THEOREM_1, ALL_READINGS) == pytest.approx(value(attack, PATTERN, ALL_READINGS), abs=0.02)
    assert value(attack, THEOREM_1, ALL_READINGS) > 0.8
    assert value(attack, STRONG, ALL_READINGS) < 0.75


@pytest.fixture(scope="module")
def real(ausgrid):
    """226 Ausgrid homes: a year of history, a year to report."""
    year = ausgrid.after(366)
    return Population.of(year, history=ausgrid.first(366), domain=(0, 8000), profile_range=(0, 3000))


def test_the_slot_minimum_on_ausgrid(real):
    """Theorem 1's noise on 226 homes, about two thirds of the peak, comes down to less than a tenth."""
    setting = Setting(population=real, epsilon=Fraction(1), releases=releases()[1:2], deep=True)
    (outcome,) = slot_minimum(setting)
    assert outcome.published > 0.3
    assert outcome.value < 0.09


def test_membership_on_ausgrid(real):
    """In groups of 15 real homes pattern mode leaves the attacker nearly always right, strong mode does not."""
    (attack,) = attacks(real, only=["membership"])
    assert {each.households for each in attack.outcomes} == {15, 60, 226}
    assert value(attack, NO_NOISE, households=15) > 0.85
    assert value(attack, PATTERN, households=15) > 0.75
    assert value(attack, STRONG, households=15) < 0.85
    assert value(attack, NO_NOISE, households=226) < value(attack, NO_NOISE, households=15)
