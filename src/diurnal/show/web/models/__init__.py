"""Models: the shapes of answers and questions, as /openapi.json tells them to programs, each with an example.

    shape       what all of them have in common
    answers     what everybody may be told
    batches     readings as they are sent, and what became of them
    decisions   what the custodian asks for, starts and stops
    standing    how everything stands, and what the check found, for the custodian

Here is what finishes the description.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, RootModel

from diurnal.show.web.models import answers, batches, decisions, standing

PARTS = (answers, batches, decisions, standing)


def examples() -> dict[str, list[dict[str, Any]]]:
    """By model, its examples, whole."""
    found = [kind for part in PARTS for kind in vars(part).values() if isinstance(kind, type)]
    kinds = [kind for kind in found if issubclass(kind, BaseModel) and kind not in (BaseModel, RootModel)]
    told = {kind.__name__: kind.model_json_schema() for kind in kinds}
    return {name: schema["examples"] for name, schema in told.items() if "examples" in schema}
