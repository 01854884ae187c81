from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diurnal import exact
from diurnal.errors import PlanError

fractions = st.fractions(min_value=0, max_value=10**6, max_denominator=10**6)


@given(fractions)
def test_a_float_is_never_below_the_fraction_it_stands_for(value):
    """float_up is at least the fraction, and the next float below is under it."""
    result = exact.float_up(value)
    assert Fraction(result) >= value
    assert value == 0 or Fraction(result) <= value * (1 + Fraction(1, 2**50))


@given(st.integers(min_value=0, max_value=2**140))
def test_integer_roots_are_rounded_up_exactly(square):
    """sqrt_up is the least integer whose square reaches the number."""
    root = exact.sqrt_up(square)
    assert root * root >= square
    assert root == 0 or (root - 1) ** 2 < square


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=10**18, max_denominator=10**9))
def test_fraction_roots_are_above_and_close(square):
    """sqrt_up_fraction is never too small and at most 2^-18 too large, relatively."""
    root = exact.sqrt_up_fraction(square)
    assert root * root >= square
    assert root * root <= square * (1 + Fraction(1, 2**18))


@given(fractions)
def test_text_is_exact(value):
    """A fraction written as text reads back as itself."""
    assert Fraction(exact.text(value)) == value


@given(st.fractions(max_denominator=10**6), st.integers(0, 8), st.integers(1, 400))
def test_decimals_round_half_to_even(value, places, over):
    """decimal() is Python's own rounding of the exact quotient."""
    assert Fraction(exact.decimal(value, places, over=over)) == round(value / over, places)


@pytest.mark.parametrize("value", ["0.1", Decimal("0.1"), Fraction(1, 10)])
def test_a_tenth_is_a_tenth(value):
    """Strings, Decimals and Fractions are taken exactly."""
    assert exact.positive(value, "epsilon") == Fraction(1, 10)


@pytest.mark.parametrize("value", [0.1, float("nan"), None, True, "one", "", "1/0", "nan", "inf", 0, "-1", b"1"])
def test_what_is_not_an_exact_positive_number_is_refused(value):
    """Floats, booleans, words, infinities and numbers below zero raise a PlanError with a remedy."""
    with pytest.raises(PlanError, match="Hint:"):
        exact.positive(value, "epsilon")
