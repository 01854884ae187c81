"""Answers: what everybody may be told: refusals, streams, reports, the promise, health."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from diurnal.curator.release import COLUMNS
from diurnal.promise.levels import LEVELS
from diurnal.show.web.models.shape import AFTER, NAME, NUMBER, SIGNED, STREAM, shown

REFUSED = {
    "type": "urn:diurnal:budget-exceeded",
    "title": "Conflict",
    "status": 409,
    "detail": "The plan asks for 1 of the pattern budget; 1 was allowed in all and 0.5 is left.",
    "code": "budget",
    "remedy": "An epsilon of at most 0.5 would be allowed.",
    "request": "5f0c1e2d3b4a59687786958493a2b1c0",
}


class Problem(BaseModel):
    """Everything that is refused has this shape (RFC 9457)."""

    model_config = shown(REFUSED)

    type: str = Field(description="What was wrong, as an identifier: urn:diurnal: and the code of the error.")
    title: str = Field(description="What the status means.")
    status: int = Field(description="The status of the answer.")
    detail: str = Field(description="What was wrong, in a sentence.")
    code: str = Field(description="Of which kind that is, in a word, for programs.")
    remedy: str = Field(description="What to do about it.")
    request: str = Field(description="The number of the request, as in the log and in X-Request-Id.")
    error: dict[str, str] = Field(
        default={}, deprecated=True, description="The shape of earlier versions: code, message, hint and request."
    )


LISTED = {
    "stream": STREAM,
    "level": "strong",
    "query": "mean",
    "unit": "Wh",
    "groups": ["all"],
    "households": 226,
    "minutes": 30,
    "slots": 48,
    "zone": "Australia/Sydney",
    "anchor": "2022-07-01T00:00",
    "first_step": 4368,
    "last_step": 4415,
    "first_time": "2022-09-30T00:00:00+10:00",
    "last_time": "2022-09-30T23:30:00+10:00",
    "running": True,
    "end": None,
    "epsilon": "1",
    "cycle_epsilon": "1",
}


class StreamInfo(BaseModel):
    """A stream: a plan that was started."""

    model_config = shown(LISTED)

    stream: str = Field(description=NAME)
    level: str = Field(description="What is protected: see /promise.", json_schema_extra={"enum": list(LEVELS)})
    query: str = Field(description="What is reported: mean, sum, share or histogram.")
    unit: str = Field(description="What values are in.")
    groups: list[str] = Field(description="What the rows of a step are called.")
    households: int = Field(description="How many households it is about. Public: rosters are.")
    minutes: int = Field(description="How long a step is.")
    slots: int = Field(description="How many steps a cycle has.")
    zone: str = Field(description="The time zone of its clock.")
    anchor: str = Field(description="When step 0 begins, by the wall clock.")
    first_step: int = Field(description="The first step it may report.")
    last_step: int | None = Field(description="The latest step it has reported.")
    first_time: str = Field(description="When its first step begins.")
    last_time: str | None = Field(description="When the latest step that it has reported begins.")
    running: bool = Field(description="Whether it goes on.")
    end: int | None = Field(description="The step from which on it reports nothing.")
    epsilon: str | None = Field(
        description="For a shift of a usual cycle. It means nothing without the rest: see /promise."
    )
    cycle_epsilon: str | None = Field(description="The same, for any one reported cycle.")


class Streams(BaseModel):
    """All streams of the store."""

    model_config = shown({"streams": [LISTED]})

    streams: list[StreamInfo] = Field(description="In the order of their start.")


PLAN = {
    "diurnal_plan": 1,
    "query": {"kind": "mean"},
    "grid": {"slots": 48, "minutes": 30, "unit": "Wh", "zone": "Australia/Sydney", "anchor": "2022-07-01T00:00"},
    "domain": [0, 8000],
    "level": "strong",
    "epsilon": "1",
    "history": 91,
    "variation_bound": 1000,
    "grace": 0,
}
"""Less than a plan has; what it has not is as it is by itself."""


class StreamDetail(StreamInfo):
    """A stream with its plan."""

    model_config = shown({**LISTED, "certificate_number": NUMBER, "plan": PLAN})

    certificate_number: str = Field(description=SIGNED)
    plan: dict[str, Any] = Field(description="The plan, whole.")


ROW = {column.name: column.example for column in COLUMNS}

_COLUMNS: dict[str, Any] = {column.name: (column.kind, Field(description=column.description)) for column in COLUMNS}
_Columns: Any = create_model("Columns", **_COLUMNS)


class Row(_Columns):  # type: ignore[misc]
    """A report: one released row. It never changes."""

    model_config = shown(ROW)


class Reports(BaseModel):
    """A page of reports."""

    model_config = shown({"stream": STREAM, "rows": [ROW], "next": "step-4369"})

    stream: str = Field(description=NAME)
    rows: list[Row] = Field(description="By step, then by group.")
    next: str | None = Field(description=f"Give it as `cursor`. {AFTER}")


CHANGE = {"changes": "cycles", "days": 7, "cycles": 7, "epsilon": "5.08", "delta": "0.000001"}

PROMISED = {
    "level": "strong",
    "epsilon": "1",
    "cycle_epsilon": "1",
    "delta": None,
    "zcdp": None,
    "cycle_zcdp": None,
    "history_epsilon": "0.333334",
    "history_epsilon_at_horizon": "547.833334",
    "horizon": 365,
    "unit": "a household's reported day (event level, not user level), and a shift of its periodic component",
    "curve": [CHANGE],
    "sentences": ["Two data sets are neighbours if one household's periodic component changes ..."],
}


LINES = "".join(f"{','.join(map(str, line))}\n" for line in (ROW, ROW.values()))

EVENTS = f"""id: 17-5f0c2a91
event: reports
data: {{"stream": "{STREAM}", "rows": [{json.dumps(ROW)}]}}

event: stopped
data: {{"stream": "{STREAM}", "end": 4416}}

"""


class Change(BaseModel):
    """What a larger change than that of neighbours costs."""

    model_config = shown(CHANGE)

    changes: Literal["cycles", "both", "everything"] = Field(
        description="Every reported cycle of some days in a row; the periodic component and one reported cycle; "
        "all readings of a household."
    )
    days: int | None = Field(description="Over how many days in a row; null for one cycle.")
    cycles: int = Field(description="How many reported cycles that is.")
    epsilon: str = Field(description="What it costs, rounded up.")
    delta: str | None = Field(description="At which delta; null if it is pure.")


class Numbers(BaseModel):
    """The numbers of a promise, and its sentences."""

    model_config = shown(PROMISED)

    level: str = Field(description=f"One of {', '.join(LEVELS)}.")
    epsilon: str | None = Field(description="For a shift of a household's periodic component, for ever.")
    cycle_epsilon: str | None = Field(description="For a household's variations in any one reported cycle.")
    delta: str | None = Field(description="Where noise is Gaussian.")
    zcdp: str | None = Field(description="Of a shift of the periodic component, where noise is Gaussian.")
    cycle_zcdp: str | None = Field(description="Of any one reported cycle, where noise is Gaussian.")
    history_epsilon: str | None = Field(
        description="For one cycle of the history, if in neither data set a reported reading of the household is "
        "clipped, missing or moved out."
    )
    history_epsilon_at_horizon: str | None = Field(
        description="The same, if one is in every reported cycle up to the horizon."
    )
    horizon: int | None = Field(description="Of how many cycles that is said.")
    unit: str = Field(description="What is protected as one, in standard terms.")
    curve: list[Change] = Field(description="What larger changes cost.")
    sentences: list[str] = Field(description="All of it in plain sentences, in the order one reads them.")


class Promise(Numbers):
    """What is promised: words and numbers together, and nothing of it alone."""

    model_config = shown(
        {
            "stream": STREAM,
            **PROMISED,
            "neighbours": ["one household's variations change in any one reported cycle"],
            "assumptions": ["All readings of both lie in the declared domain."],
            "limits": ["Every other plan over these households adds a loss of its own."],
        }
    )

    stream: str = Field(description=NAME)
    neighbours: list[str] = Field(
        description="What may differ between two data sets that reports hardly tell apart."
    )
    assumptions: list[str] = Field(description="What the promise rests on.")
    limits: list[str] = Field(description="What is not promised.")


class Ready(BaseModel):
    """Whether it can be asked."""

    model_config = shown({"status": "ok"})

    status: Literal["ok"] = Field(description="It is.")
