"""A prediction as a table, as plain data and in words."""

import pytest

import diurnal as dn
import support
from diurnal.planning.prediction import Errors, Prediction, Row
from diurnal.promise.mechanisms import SLOTS
from diurnal.show.certificate import certificate


def test_columns_of_the_table_stay_apart():
    """Errors as long as they are ever written leave a gap between any two columns of a printed prediction."""
    errors = Errors(step=9_999_000, peak=9_999_000, day=9_999_000, month=9_999_000, year=9_999_000)
    row = Row(name="nothing at all", promise="", std=0.0, bias=0.0, errors=errors)
    made = Prediction(
        plan=support.daily_plan(), n_households=9, mechanisms=(), without_data=row, unspent=None, split=()
    )
    head, line = str(made).splitlines()[1:]
    assert head.split() == ["report", "peak", "day", "month", "year", "dropped"]
    assert line.split()[3:] == ["9,999,000"] * 5 + ["0"]


def test_an_error_of_which_not_all_is_known_is_a_least_one():
    """Where what is dropped is not known, errors are said to be least ones, and are held against no others."""
    one = support.daily_plan(mechanism="basis")
    row = dn.predict(one, support.SHAPE).row("basis")
    assert row.said() == f"at least {row.errors.step:.4g}"
    said = " ".join(dn.explain(one, support.SHAPE))
    assert f"predicted error is {row.said()} Wh" in said
    assert "It cannot be held against the" in said
    assert "has least predicted error" not in said
    known = dn.predict(support.daily_plan(), support.SHAPE).row("cube")
    assert "least" not in known.said()
    table = certificate(one, support.SHAPE)
    assert "reckoned with the whole domain" in said
    assert "reckoned with the whole domain" in table.partition("## Predicted error")[2]
    assert f"| **basis** (this plan) | {row.said()} | {row.said('day')} | {row.said('year')} |" in table


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        (
            {"default_reading": 7},
            "A missing reading counts as the home's usual one, put into the bounds. A home with fewer than 46 "
            "readings of a slot in the history counts there as 7 Wh, put into the bounds, as long as the plan "
            "reports, whatever it sends.",
        ),
        ({"statistic": "base-load"}, "A missing reading counts as the home's least reading of that slot in the"),
        (
            {"level": "cycle", "query": dn.Share(above=500), "history": 0, "body": None},
            "as one in no bin; what that",
        ),
    ],
)
def test_what_a_missing_reading_counts_as_is_said_with_every_error(fields, counts):
    """Explanation and certificate say what a missing reading counts as, and that no stated error has it."""
    one = support.daily_plan(mechanism="laplace", **fields)
    assert counts in " ".join(dn.explain(one, support.SHAPE))
    assert counts in certificate(one, support.SHAPE).partition("## Predicted error")[2]


def test_predictions_are_plain_data():
    """A prediction's JSON holds every row with its totals."""
    data = dn.predict(support.daily_plan(), support.SHAPE).to_json()
    assert {row["name"] for row in data["mechanisms"]} == {
        name for name, kind in SLOTS.items() if not kind.needs_delta
    }
    assert set(data["without_data"]["error_of_totals"]) == {"day", "month", "year"}
