"""Decisions: what the custodian asks for, starts and stops."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from diurnal.show.plan_request import WhatIfRequest, asked_fields
from diurnal.show.web.models.answers import PLAN, PROMISED, Numbers
from diurnal.show.web.models.shape import HEAD, NAME, NUMBER, SIGNED, STANDS, STREAM, shown

_FIELDS: dict[str, Any] = {
    field.name: (
        Literal[field.choices] if field.choices else field.kind,
        Field(field.default, description=field.description, **field.limits),
    )
    for field in asked_fields(WhatIfRequest)
}
"""The fields of a request, as a model has them."""

_Fields: Any = create_model("PlanFields", **_FIELDS)


class PlanQuestion(_Fields):  # type: ignore[misc]
    """What a plan is asked for: as the flags of `diurnal plan`."""

    model_config = shown({"epsilon": "1", "level": "strong", "period": "1d", "mean_reading": "400"}, extra="forbid")

    def request(self) -> WhatIfRequest:
        """What is asked for."""
        return WhatIfRequest(**self.model_dump())


PREDICTED = {
    "name": "basis+basis",
    "promise": "epsilon 1 for a shift of the periodic component, 1 for variations in any one reported cycle",
    "std": 11.4,
    "bias": 9.6,
    "error": 14.9,
    "error_of_totals": {"day": 434.1, "month": 11555.3, "year": 139987.9},
    "error_of_peak": 15.2,
    "relative_to_laplace": 0.14,
    "note": "",
}


TABLE = {
    "names": ["mechanism", "report (Wh)", "day"],
    "lines": [["basis+basis", "14.9", "434.1"]],
    "kinds": ["own"],
    "numbers": [1, 2],
}


class Predicted(BaseModel):
    """How good the reports of one way would be."""

    model_config = shown(PREDICTED, extra="allow")

    name: str = Field(description="The way: the mechanisms of pattern and cycle.")
    promise: str = Field(description="What it promises, short for the sentences of a promise.")
    std: float = Field(description="The standard deviation of a report's noise.")
    bias: float | None = Field(description="What is dropped; null where nothing public tells.")
    error: float = Field(
        description="Noise and known bias of a report together; what bounds clip as far as the note says."
    )
    error_of_totals: dict[str, float] = Field(description="The same, of the total of a day, a month, a year.")
    error_of_peak: float = Field(description="The same, at the peak.")
    relative_to_laplace: float | None = Field(description="The noise over that of Laplace noise in its place.")
    note: str = Field(description="What to know when comparing.")


class PredictedTable(BaseModel):
    """The predicted errors as a table of text, as pages draw it."""

    model_config = shown(TABLE)

    names: list[str] = Field(description="The headings.")
    lines: list[list[str]] = Field(description="The cells of each line, as text.")
    kinds: list[Literal["own", "other", "beside", "split"]] = Field(
        description="What each line is: this plan, another mechanism, doing without, a budget that is split."
    )
    numbers: list[int] = Field(description="Which columns are numbers.")


class Proposed(BaseModel):
    """What would be promised, and how good reports would be, before anything is spent."""

    model_config = shown(
        {
            "plan": STREAM,
            "document": PLAN,
            "chosen": "basis+basis",
            "epsilon": "1",
            "cycle_epsilon": "1",
            "level": "strong",
            "unit": "Wh",
            "n_households": 226,
            "mechanisms": [PREDICTED],
            "without_data": {**PREDICTED, "name": "nothing at all", "relative_to_laplace": None},
            "unspent": None,
            "split": [{**PREDICTED, "name": "split Laplace", "relative_to_laplace": None}],
            "table": TABLE,
            "warnings": [],
            "promise": PROMISED,
            "sentences": ["Reported is the mean over its roster, every 30 minutes, without end."],
        },
        extra="allow",
    )

    plan: str = Field(description="The plan's hash.")
    document: dict[str, Any] = Field(description="The plan itself, for /v1/custodian/start.")
    chosen: str = Field(description="The name of its mechanisms, one of `mechanisms`.")
    epsilon: str = Field(description="For a shift of a home's periodic component, for ever.")
    cycle_epsilon: str | None = Field(description="For one home in one reported cycle.")
    level: str = Field(description="What would be protected.")
    unit: str = Field(description="What errors are in.")
    n_households: int = Field(description="How many homes the smallest group has: errors are its.")
    mechanisms: list[Predicted] = Field(description="Every mechanism it could use, the least error first.")
    without_data: Predicted = Field(description="Nothing at all: a public profile as the report.")
    unspent: Predicted | None = Field(description="In pattern mode: a public profile with the exact variations.")
    split: list[Predicted] = Field(description="A budget split over all reports, and nothing left after them.")
    table: PredictedTable = Field(description="All of these, with what each line is.")
    warnings: list[str] = Field(description="What to think about before starting it.")
    promise: Numbers = Field(description="What would be promised.")
    sentences: list[str] = Field(description="The plan in plain sentences.")


class StartQuestion(BaseModel):
    """A plan to be started."""

    model_config = shown(
        {"plan": PLAN, "acknowledge": "e310c762fb620205-59604850b28ac0d4", "skip": 0}, extra="forbid"
    )

    plan: dict[str, Any] = Field(description="A plan, as /v1/custodian/plan gives it in `document`.")
    acknowledge: str | None = Field(None, max_length=128, description="The digest of the verdict that was read.")
    skip: int = Field(0, ge=0, le=100_000, description="How many cycles of the panel come before the history.")
    confirm: str | None = Field(None, max_length=200, description="What /v1/custodian/explain says is to be typed.")
    accept_worse: bool = Field(
        False,
        strict=True,
        description="Start it although it is predicted to be worse than publishing nothing at all (`worse`).",
    )


COSTS = "It costs 1 of the pattern budget of 2; 0 was spent before by its most charged household, and 1 is left."


class Meaning(BaseModel):
    """What starting a plan would mean."""

    model_config = shown(
        {
            "stream": STREAM,
            "certificate_number": NUMBER,
            "sentences": [COSTS],
            "confirm": "spend 1 for ever and 1 a cycle on 3a1b3149",
            "worse": None,
        }
    )

    stream: str = Field(description="The name that the stream would have: the plan's hash with this roster.")
    certificate_number: str = Field(description=SIGNED)
    sentences: list[str] = Field(description="In plain sentences.")
    confirm: str = Field(description="What must be typed to start it.")
    worse: str | None = Field(
        description="Why it is predicted to be worse than publishing nothing at all; null if it is not. Starting "
        "it is refused then unless `accept_worse` is sent."
    )


class Started(BaseModel):
    """A stream that runs."""

    model_config = shown(
        {
            "stream": STREAM,
            "certificate_number": NUMBER,
            "sentences": [COSTS],
            "head": HEAD,
        }
    )

    stream: str = Field(description=NAME)
    certificate_number: str = Field(description=SIGNED)
    sentences: list[str] = Field(description="What was done, in plain sentences.")
    head: str = Field(description=STANDS)


class StopQuestion(BaseModel):
    """A stream to be stopped."""

    model_config = shown({"confirm": STREAM[:8]}, extra="forbid")

    confirm: str | None = Field(None, max_length=64, description="The first eight letters of the stream's name.")
    at: int | None = Field(None, ge=0, le=10**12, description="The step from which on it reports nothing.")
    dry_run: bool = Field(False, description="Only say where it would end; nothing needs to be confirmed.")


class CloseQuestion(BaseModel):
    """Open steps to be closed."""

    model_config = shown({"confirm": STREAM[:8]}, extra="forbid")

    confirm: str | None = Field(None, max_length=64, description="The first eight letters of the stream's name.")
    before: int | None = Field(
        None,
        ge=0,
        le=10**12,
        description="Close cycles that end by this step; those that have ended by now unless given.",
    )
    dry_run: bool = Field(False, description="Only say what would be closed; nothing needs to be confirmed.")


class Closed(BaseModel):
    """Steps that were closed with what was there."""

    model_config = shown(
        {"stream": STREAM, "before": 4416, "time": "2022-10-01T00:00:00+10:00", "steps": 48, "head": HEAD}
    )

    stream: str = Field(description=NAME)
    before: int = Field(description="The step by which cycles had ended.")
    time: str = Field(description="When that step begins.")
    steps: int = Field(description="How many steps were closed.")
    head: str = Field(description=STANDS)


class Stopped(BaseModel):
    """A stream that reports nothing from a step on."""

    model_config = shown({"stream": STREAM, "end": 4416, "time": "2022-10-01T00:00:00+10:00", "head": HEAD})

    stream: str = Field(description=NAME)
    end: int = Field(description="The step from which on it reports nothing.")
    time: str = Field(description="When that step begins.")
    head: str = Field(description=STANDS)
