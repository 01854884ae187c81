import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal import Budget
from diurnal.errors import PlanError
from diurnal.promise.budget import Loss, epsilon_of, zcdp_for
from support import refuses

epsilons = st.fractions(min_value=Fraction(1, 1000), max_value=3, max_denominator=1000)
DELTA = Fraction(1, 10**6)


@given(st.lists(epsilons, min_size=1, max_size=6))
def test_pure_losses_add_up_exactly(parts):
    """Ten tenths are one, to the last digit, in any order."""
    forward = sum(map(Loss.pure, parts), Loss())
    backward = sum(map(Loss.pure, reversed(parts)), Loss())
    assert forward.at(None) == backward.at(None) == sum(parts)


@given(st.fractions(min_value=Fraction(1, 10**4), max_value=2, max_denominator=10**4))
def test_concentrated_losses_are_converted_safely(rho):
    """OpenDP's epsilon is at most the classic rho + 2 sqrt(rho ln(1/delta)), and at least what theory allows."""
    classic = float(rho) + 2 * math.sqrt(float(rho) * math.log(10**6))
    assert 0 < epsilon_of(rho, DELTA) <= classic * (1 + 1e-9)


@given(
    st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6),
    st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 2), max_denominator=10**10),
)
def test_what_opendp_is_asked_is_rounded_to_the_safe_side(rho, delta):
    """It is asked at a distance of at least sqrt(2 rho) and a delta not above; its answer is taken as it is."""
    import opendp.prelude as dp

    class Curve:
        def map(self, distance):
            assert Fraction(distance) ** 2 >= 2 * rho
            assert distance <= math.sqrt(2 * rho) * (1 + 1e-14)
            return self

        def epsilon(self, at):
            assert delta * (1 - Fraction(1, 2**50)) <= Fraction(at) <= delta
            return 0.1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dp.c, "make_zCDP_to_approxDP", lambda _: Curve())
        assert epsilon_of.__wrapped__(rho, delta) == Fraction(0.1)


@given(st.fractions(min_value=Fraction(1001, 10), max_value=10**6, max_denominator=1000))
def test_large_concentrated_losses_are_the_classic_ones_rounded_up(rho):
    """Beyond rho = 100 the epsilon is rho + 2 sqrt(rho ln(1/delta)), not below it in thirty digits."""
    with localcontext(prec=40):
        exact = Decimal(rho.numerator) / rho.denominator
        classic = Fraction(exact + 2 * (exact * Decimal(10**6).ln()).sqrt())
    assert classic <= epsilon_of(rho, DELTA) <= classic * Fraction(1000001, 1000000)


@given(st.fractions(min_value=Fraction(1, 10), max_value=5, max_denominator=100))
def test_the_largest_rho_is_within_epsilon_and_not_far_below(epsilon):
    """zcdp_for gives a rho whose epsilon is at most the one asked for, and a slightly larger rho's is above."""
    rho = zcdp_for(epsilon, DELTA)
    assert epsilon_of(rho, DELTA) <= epsilon
    assert epsilon_of(rho * Fraction(100001, 100000), DELTA) > epsilon


def test_a_gaussian_loss_is_converted_right():
    """For a continuous Gaussian of the same rho the exact delta at the stated epsilon is below the delta asked."""
    rho = zcdp_for(Fraction(1), DELTA)
    mu = math.sqrt(2 * rho)

    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    exact = phi(mu / 2 - 1 / mu) - math.e * phi(-mu / 2 - 1 / mu)
    assert exact <= float(DELTA)


@given(st.lists(epsilons, max_size=4), st.fractions(min_value=0, max_value=1, max_denominator=1000))
def test_a_mixture_costs_the_smaller_of_two_valid_readings(parts, rho):
    """Mixed, it is the pure sum plus the concentrated part's own epsilon, or that of all of it concentrated."""
    mixed = sum(map(Loss.pure, parts), Loss.concentrated(rho))
    apart = sum(parts, Fraction(0)) + (epsilon_of(rho, DELTA) if rho else 0)
    together = rho + sum((e * e for e in parts), Fraction(0)) / 2
    assert mixed.at(DELTA) == (min(apart, epsilon_of(together, DELTA)) if together else 0)


def test_many_pure_losses_compose_below_their_sum_at_a_delta():
    """A hundred plans of epsilon 0.1 cost 10 purely, and about half of that at a delta."""
    many = sum((Loss.pure(Fraction(1, 10)) for _ in range(100)), Loss())
    assert many.at(None) == 10
    assert many.at(DELTA) < 6


@given(st.lists(epsilons, min_size=1, max_size=5))
def test_a_pure_loss_is_half_its_square_concentrated(parts):
    """At a delta, pure losses cost the smaller of their sum and the conversion of half the sum of squares."""
    loss = sum(map(Loss.pure, parts), Loss())
    squares = sum((e * e for e in parts), Fraction(0))
    assert loss.at(DELTA) == min(sum(parts), epsilon_of(squares / 2, DELTA))


def test_sums_are_those_of_opendp_s_own_composition():
    """Three Gaussian releases composed by OpenDP cost what our exact sum says, and two Laplace ones as well."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    composed = dp.c.make_composition([dp.m.make_gaussian(*space, scale=s) for s in (2.0, 3.0, 5.0)])
    ours = sum((Loss.concentrated(Fraction(1, 2 * s * s)) for s in (2, 3, 5)), Loss())
    assert composed.map(1.0) == pytest.approx(float(ours.zcdp), rel=1e-9)
    pure = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    composed = dp.c.make_composition([dp.m.make_laplace(*pure, scale=s) for s in (2.0, 4.0)])
    assert composed.map(1) == pytest.approx(float((Loss.pure(Fraction(1, 2)) + Loss.pure(Fraction(1, 4))).at(None)))


def test_a_concentrated_loss_needs_a_delta():
    """Reading a Gaussian loss without a delta raises, with a remedy."""
    with refuses(PlanError, "plan-needs-delta"):
        Loss.concentrated(Fraction(1)).at(None)


@pytest.mark.parametrize(
    "wrong", [{"pattern": 0}, {"cycle": "-1"}, {"pattern": 0.5}, {"delta": "0"}, {"delta": "1"}, {"delta": 1e-6}]
)
def test_budgets_are_positive_and_exact(wrong):
    """Caps of zero or below, floats, and deltas outside (0, 1) raise a PlanError."""
    with pytest.raises(PlanError):
        Budget(**wrong)


def test_the_cap_of_a_cycle_is_still_understood_by_its_old_name():
    """`strong` is now `cycle`: the old name works and warns, and a store has the same text for either."""
    with pytest.warns(DeprecationWarning, match=r"Budget\(strong=\.\.\.\) is now cycle=\.\.\."):
        old = Budget(pattern="2", strong="3")
    assert old == Budget(pattern="2", cycle="3")
    with pytest.warns(DeprecationWarning, match="Budget.strong is now Budget.cycle"):
        assert old.strong == 3
    assert old.to_json() == {"pattern": "2", "strong": "3", "delta": None}
    assert Budget.from_json(old.to_json()) == old
