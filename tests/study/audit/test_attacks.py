import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diurnal as dn
from diurnal.errors import InputError, PlanError, PrivateError
from diurnal.private import public
from diurnal.study.audit.attacks import ATTACKS, Population, PrivateAttack, attacks
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
    absence,
    decoded,
    digits,
    drawn,
    halves,
    right,
    slot_minimum,
)
from diurnal.study.audit.attacks.population import Setting
from diurnal.study.audit.attacks.releases import (
    GIVEN,
    NO_NOISE,
    PATTERN,
    STRONG,
    THEOREM_1,
    WORLD,
    Found,
    Groups,
    alike,
    covariance,
    curator_for,
    discriminant,
    panels_of,
    published,
    releases,
    right_of_two,
    seen,
    spread,
    spread_of_days,
)
from diurnal.study.town import Town
from support import refuses

# What they share is made by one worker, once.
pytestmark = pytest.mark.xdist_group("attacks")

MODES = (THEOREM_1, PATTERN, STRONG)


@pytest.fixture(scope="module")
def population():
    town = Town(homes=70, days=28 + 56, minutes=60)
    panel, known = town.panel(), {"domain": town.domain, "profile_range": (0, 6000), "made_up": True}
    return Population.of(panel.after(28), history=panel.first(28), **known)


@pytest.fixture(scope="module")
def found(population):
    """All attacks on a small town, by name."""
    return {attack.name: attack for attack in attacks(population)}


def value(attack, release, case="", households=None):
    return attack.outcome(release, case=case, households=households).value


def test_every_attack_has_a_number_for_every_release(found):
    """Nine results; each release has a number within its interval, or was refused with a reason."""
    assert list(found) == list(ATTACKS)
    for attack in found.values():
        assert {each.release for each in attack.outcomes} == {NO_NOISE, *MODES}
        for each in attack.outcomes:
            assert (each.value is None) == bool(each.refused)
            if each.low is not None:
                assert each.low <= each.value + 1e-9
                assert each.value <= each.high + 1e-9
            assert 0 <= attack.learned(each) <= 1


def test_pattern_mode_publishes_differences_exactly(found, population):
    """y(t + T) - y(t) is the true difference, as a fraction, with either pattern plan; in strong mode it is not."""
    task = population.recent("1", 3)
    truth = task.panel.readings.sum(axis=1)
    true_changes = (truth[task.slots :] - truth[: -task.slots]).tolist()
    for release in releases()[1:]:
        plan = release.plan(task)
        stream = curator_for(plan).start(plan, history=task.history, acknowledge="untested", accept_worse=True)
        sums = [row.numerator for row in stream.report(task.panel)]
        changes = [after - before for before, after in zip(sums, sums[task.slots :], strict=False)]
        assert (changes == true_changes) == release.level.exact_variations


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


def test_a_shape_that_cannot_be_is_not_sold_as_protection(found):
    """Where strong reports are flat over a day, a correlation of 0 says nothing, and the text says that."""
    attack = found["leaving and joining"]
    assert ("not measured here" in attack.says) == (value(attack, STRONG, LEAVES) == 0)


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


def test_who_stands_out_is_always_found():
    """A target that uses a hundred times more than the others is found in every pair."""
    rng = np.random.default_rng(3)
    game, usual = drawn(10, np.arange(20), blocks=10, rng=rng), np.cov(rng.standard_normal((6, 400)))
    for block, target in enumerate(game.targets[:, 0]):
        homes = rng.standard_normal((6, 20))
        homes[:, target] += 100
        sums = homes[:, game.rosters[block * MEMBERS : (block + 1) * MEMBERS]].sum(axis=2)
        scores = discriminant(homes[:, target], 10 * usual) @ sums
        inside = game.inside[block, :, 0]
        assert right_of_two(scores[inside], scores[~inside]) == 1


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
    assert max(value(attack, name, MEAN_DAYS) for name in MODES) < 0.75
    assert value(attack, THEOREM_1, ALL_READINGS) == pytest.approx(value(attack, PATTERN, ALL_READINGS), abs=0.02)
    assert value(attack, THEOREM_1, ALL_READINGS) > 0.8
    assert value(attack, STRONG, ALL_READINGS) < 0.75


def test_what_is_seen_of_homes_is_what_the_curator_says_without_noise(population, silence):
    """With all samplers silenced a group's published sums are the sum of what is seen of its homes, but for
    rounding.
    """
    task, roster = population.recent("1", 4), np.arange(30)
    for release in releases():
        said = published([release], task, Groups(roster[None]))[release.name][0]
        shown = seen(release.plan(task, 30), task, roster, 30, group=roster).days.sum(axis=2).reshape(-1)
        assert np.abs(said - shown).max() < 3, release.name


@pytest.mark.parametrize("name", MODES)
def test_covariances_are_the_mechanisms_own(population, name):
    """Along any direction the covariance says what the mechanism's variance says."""
    task = population.recent("1", 1)
    plan = next(release for release in releases() if release.name == name).plan(task)
    layers = [layer for layer in (plan.pattern_layer(1, 70), plan.cycle_layer()) if layer is not None]
    rng = np.random.default_rng(1)
    for layer, way in itertools.product(layers, rng.standard_normal((5, task.slots))):
        assert way @ covariance(layer, task.slots) @ way == pytest.approx(layer.variance(way))


def test_a_series_covariance_is_right_where_cycles_are_related_alike():
    """On homes made so, fewer than there are steps, it is nearer to the truth than the plain estimate."""
    rng, cycles, slots, homes = np.random.default_rng(5), 10, 6, 40
    days = rng.standard_normal((1, slots, homes)) + 0.5 * rng.standard_normal((cycles, slots, homes))
    truth = np.kron(np.ones((cycles, cycles)), np.eye(slots)) + 0.25 * np.eye(cycles * slots)
    found, plain = spread_of_days(days), np.cov(days.reshape(-1, homes))
    assert np.linalg.norm(found - truth) < np.linalg.norm(plain - truth)
    assert np.linalg.eigvalsh(found).min() > 0
    assert np.allclose(spread_of_days(days[:1]), spread(days[0]))


@given(st.lists(st.integers(-3, 3), min_size=1), st.lists(st.integers(-3, 3), min_size=1))
def test_right_of_two_is_the_share_of_pairs_in_order(yes, no):
    """Ties count half; and who is right with one score is wrong as often with its opposite."""
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(yes, no)]
    one, other = np.array(yes, dtype=float), np.array(no, dtype=float)
    assert right_of_two(one, other) == pytest.approx(np.mean(pairs))
    assert right_of_two(one, other) + right_of_two(other, one) == pytest.approx(1)


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=9), st.integers(-9, 9), st.integers(1, 9))
def test_alike_looks_at_shapes(day, level, scale):
    """The same shape at another level and size is the same; a flat one tells nothing."""
    expected = 1.0 if len(set(day)) > 1 else 0.0
    assert alike([level + scale * each for each in day], day) == pytest.approx(expected)
    assert alike([level] * len(day), day) == 0


def test_intervals_hold_the_mean_and_are_never_surer_than_the_trials():
    """About 95 of 100; where all cases went one way, no surer than three in as many; none for a single draw."""
    rng = np.random.default_rng(4)
    held = [Found.mean(rng.standard_normal(8)) for _ in range(400)]
    assert 360 <= sum(each.low < 0 < each.high for each in held) <= 398
    assert Found.mean([1.0] * 5, least=0, most=1, trials=60) == Found(1.0, 0.95, 1.0)
    assert Found.mean([0.4]) == Found(0.4, None, None)


def test_groups_of_the_same_homes_have_noise_of_their_own(population):
    """Two groups of the same homes in one curator: other pattern noise, the same exact variations."""
    task = population.recent("1", 2)
    one, other = published(releases()[1:2], task, Groups(np.tile(np.arange(20), (2, 1))))[THEOREM_1]
    noise = (one - other).reshape(2, -1)
    assert np.abs(noise[0]).min() > 0
    assert np.array_equal(noise[0], noise[1])


def test_groups_can_be_altered_and_do_not_alter_the_homes(population):
    """What happens to a group's readings happens to that group alone, and the population stays as it is."""
    task = population.recent("1", 1)
    before = task.panel.readings.copy()

    def gone(group, readings, present):
        present[:, 0] = group != 1
        readings[:] += 1000 * group

    _, panel = panels_of(task, Groups(np.tile(np.arange(15), (2, 1)), gone), range(2))
    first, second = panel.members(WORLD).values()
    assert panel.present[:, first].all()
    assert not panel.present[:, second[0]].any()
    assert np.array_equal(panel.readings[:, second[1:]] - 1000, panel.readings[:, first[1:]])
    assert np.array_equal(task.panel.readings, before)


def test_a_made_up_town_s_results_are_public_and_a_real_one_s_are_not(found, population):
    """Results on real homes are private, their plain data too, and hold no home's day; made-up ones pass."""
    for attack in found.values():
        assert json.loads(json.dumps(public(attack.to_json())))["name"] == attack.name
    assert found["profile"].shapes.keys() == {"truth", NO_NOISE, *MODES}
    town = Town(homes=30, days=56, seed=5)
    real = Population.of(town.panel(), domain=town.domain, profile_range=(0, 3000))
    (attack,) = attacks(real, only=["overlapping rosters"])
    assert isinstance(attack, PrivateAttack)
    assert not attack.shapes
    assert "private" in repr(attack)
    for each in (attack, attack.to_json()):
        with pytest.raises(PrivateError):
            public(each)


def test_a_plan_of_one_s_own_is_attacked_beside_the_others(population):
    """It has a number of its own, and a sentence; at a large epsilon strong noise hides little."""
    plan = dn.Plan(
        epsilon="100000",
        domain=population.domain,
        grid=population.panel.grid,
        history=28,
        mechanism="laplace",
        cycle_mechanism="laplace",
        reference=None,
    )
    (attack,) = attacks(population, only=["differencing"], plan=plan)
    assert value(attack, GIVEN) > 0.9
    assert "This plan: " in attack.says


def test_results_print_as_tables(found):
    """What is asked, what is known, a row an outcome, and what it means."""
    for attack in found.values():
        lines = str(attack).splitlines()
        assert lines[0] == f"{attack.name}: {attack.asks}"
        assert len(lines) == 4 + len(attack.outcomes)
        assert lines[-1].strip() == attack.says


def test_the_choice_of_homes_follows_the_seed(population, found):
    """The same seed, the same groups: without noise the same number, alone as among others."""
    settings = [
        Setting(population=population, epsilon=Fraction(1), releases=releases()[:1], seed=seed) for seed in (1, 2)
    ]
    one, other = (absence(setting) for setting in settings)
    assert one == tuple(each for each in found["absence"].outcomes if each.release == NO_NOISE)
    assert one != other


def test_wrong_usage_is_told(population):
    """Unknown attacks, counting plans, panels that are too small and grids that no town has are refused."""
    with refuses(InputError, "attack-unknown"):
        attacks(population, only=["guess"])
    counting = dn.Plan(query=dn.Share(above=500), level="cycle", epsilon="1", domain=(0, 8000))
    with refuses(PlanError, "attack-counting-plan"):
        attacks(population, plan=counting)
    panel = Town(homes=30, days=40).panel()
    with pytest.raises(PlanError, match="28 cycles"):
        Population.of(panel, domain=(0, 8000))
    with pytest.raises(PlanError, match="at least 30 homes"):
        Population.of(Town(homes=29, days=56).panel(), domain=(0, 8000))
    with refuses(PlanError, "domain-missing"):
        Population.of(Town(homes=30, days=56).panel())
    with refuses(PlanError, "town-grid"):
        Population.of(Town(homes=30, days=56).panel().with_period(24), domain=(0, 8000))


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
