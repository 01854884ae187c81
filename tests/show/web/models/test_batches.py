"""Readings as they are sent, and what became of them."""

import pydantic
import pytest

from diurnal.show.web.models.batches import Reading, TakenBy

READING = {"household": "17", "time": "2022-07-01T00:00", "value": "231"}


def test_a_value_stays_as_it_was_sent():
    """A decimal in text is not turned into a float; a number is taken as well."""
    assert Reading(**{**READING, "value": "0.1000"}).value == "0.1000"
    assert Reading(**{**READING, "value": 231}).value == 231


@pytest.mark.parametrize("changed", [{"unit": "Wh"}, {"household": None}, {"value": [231]}])
def test_what_is_no_reading_is_refused(changed):
    """A reading has a household, a time and a value, and nothing besides."""
    with pytest.raises(pydantic.ValidationError):
        Reading(**{**READING, **changed})


def test_what_became_of_a_batch_says_nothing_else():
    """Of what a stream knows of a batch its counts are answered, and none of its rows."""
    fields = {"stream", "again", "taken", "waiting", "set_aside", "reports", "units"}
    assert TakenBy.model_fields.keys() == fields
    assert TakenBy.model_fields["reports"].annotation is int
