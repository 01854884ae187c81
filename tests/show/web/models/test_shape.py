"""What all models have in common."""

from dataclasses import dataclass

from diurnal.show.web.models.shape import base_of, shown


@dataclass(frozen=True, kw_only=True)
class _Counted:
    steps: int
    """How many steps
    there are."""
    since: str | None
    """Since when; None before the first."""
    secret: str
    """What is not answered."""


def test_a_model_has_the_types_and_words_of_its_dataclass():
    """Of the fields that are answered, types and the line below each become the description; None is null there."""
    told = base_of(_Counted, ["steps", "since"]).model_json_schema()["properties"]
    assert list(told) == ["steps", "since"]
    assert (told["steps"]["type"], told["steps"]["description"]) == ("integer", "How many steps there are.")
    assert {each["type"] for each in told["since"]["anyOf"]} == {"string", "null"}
    assert told["since"]["description"] == "Since when; null before the first."


def test_all_fields_are_answered_unless_some_are_named():
    """Without names a model has every field of its dataclass."""
    assert list(base_of(_Counted).model_fields) == ["steps", "since", "secret"]


def test_fields_that_are_not_told_of_are_left_out_unless_said_otherwise():
    """An example is told as it is, and other fields are neither kept nor refused by themselves."""
    assert shown({"a": 1}) == {"json_schema_extra": {"examples": [{"a": 1}]}, "extra": "ignore"}
    assert shown({}, extra="forbid")["extra"] == "forbid"
