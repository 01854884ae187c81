"""Shape: what all models have in common: kinds of fields, names for examples, and how an example is told."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection
from itertools import pairwise
from typing import Any, Literal, get_type_hints

from pydantic import ConfigDict, Field, create_model

Counts = dict[str, int]
"""How many were set aside, by reason."""

PLACE = "#/components/schemas/{model}"
"""Where the description has a model."""

STREAM = "3a1b3149bb7fe87d60ac2e3819c5f46c1334df1fd2bcf7e36636ec382efb9fb0"
HEAD = "add74c6a:4:e2f99e9296f4655a68ada77389ebc5cf:55:1:1::s"
OWN_HEAD = "add74c6a:4:e2f99e9296f4655a68ada77389ebc5cf:55:1:1:0:s"

AFTER = "The next page's; null after the last."
STANDS = "Where the ledger stands: keep it. It fences a restored backup. It tells nothing about people."
STANDS_OWN = (
    "Where the ledger stands, with how many erasures and changes of tenancy there were: keep it, but not "
    "in public. It fences a restored backup."
)
NAME = "The stream's name: the plan's hash."
SIGNED = "The number of the plan's certificate: its hash without roster, calendar and first cycle."
NUMBER = "9c41f0d27b6e8a3355d1c0be94a7f2680e5b13d97ca24f8816309bd7e2f5a4c1"
COUNTED = (
    'What was set aside, by reason: late, outside the domain, held before, ... Names that begin with "steps" count '
    "steps, all others readings."
)


def shown(example: dict[str, Any], *, extra: Literal["allow", "forbid", "ignore"] = "ignore") -> ConfigDict:
    """What a model is told so that its description has an example; and whether it has other fields besides."""
    return ConfigDict(json_schema_extra={"examples": [example]}, extra=extra)


def base_of(kind: type, names: Collection[str] = ()) -> Any:
    """A model of a dataclass, as a base of what is answered: with its types, and its words as descriptions.

    Args:
        kind: The dataclass, with a line below each field.
        names: The fields that are answered; all unless given.
    """
    made: Any = ast.parse(inspect.getsource(kind)).body[0]
    hints, told = get_type_hints(kind), dict[str, Any]()
    for field, below in pairwise(made.body):
        name = ast.unparse(field.target) if isinstance(field, ast.AnnAssign) else ""
        if name and (not names or name in names):
            words = " ".join(below.value.value.split()).replace("None", "null")
            told[name] = hints[name], Field(description=words)
    return create_model(kind.__name__, **told)


BYTES = {"type": "string", "format": "binary"}
"""The shape of what is no text."""


def text_of(media: str, example: str) -> dict[str, Any]:
    """A body that is text, by its kind."""
    return {media: {"schema": {"type": "string"}, "example": example}}


METRICS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Metrics, as Prometheus reads them.",
        "content": text_of(
            "text/plain",
            "# HELP diurnal_streams Streams, by whether they run.\n# TYPE diurnal_streams gauge\n"
            'diurnal_streams{state="running"} 1.0\n',
        ),
    }
}
