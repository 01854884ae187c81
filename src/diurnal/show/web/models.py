"""Models: the shapes of answers and questions, as /openapi.json tells them to programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Decimal = Annotated[str | None, Field(pattern=r"^[0-9]{1,12}(\.[0-9]{1,12})?$")]
"""A decimal in text, so that nothing is lost in a float."""


class Refusal(BaseModel):
    """Why something was refused."""

    code: str = Field(examples=["budget"], description="The reason in a word, for programs.")
    message: str = Field(examples=["The cap would be passed."], description="The reason in a sentence.")
    hint: str = Field(description="What to do about it.")
    request: str = Field(description="The number of the request, as in the log and in X-Request-Id.")


class Error(BaseModel):
    """Everything that is refused has this shape."""

    error: Refusal


class StreamInfo(BaseModel):
    """A stream: a plan that was started."""

    stream: str = Field(examples=["3f2a9c1b7d04"], description="Its name: the plan's hash.")
    level: Literal["pattern", "strong", "cycle"]
    query: str = Field(examples=["mean"])
    unit: str = Field(examples=["Wh"])
    groups: list[str] = Field(description="What the rows of a step are called.")
    households: int = Field(description="How many households it is about. Public: rosters are.")
    minutes: int = Field(description="How long a step is.")
    slots: int = Field(description="How many steps a cycle has.")
    zone: str = Field(examples=["Australia/Sydney"])
    anchor: str = Field(description="When step 0 begins, by the wall clock.")
    first_step: int = Field(description="The first step it may report.")
    last_step: int | None = Field(description="The latest step it has reported.")
    first_time: str
    last_time: str | None
    running: bool
    end: int | None = Field(description="The step from which on it reports nothing.")
    epsilon: str | None = Field(description="Never without the rest of the promise: see /promise.")
    cycle_epsilon: str | None


class Streams(BaseModel):
    """All streams of the store."""

    streams: list[StreamInfo]
    head: str = Field(description="Where the ledger stands: keep it. It fences a restored backup.")


class StreamDetail(StreamInfo):
    """A stream with its plan."""

    plan: dict[str, Any] = Field(description="The plan, whole.")
    head: str


class Row(BaseModel):
    """A report: one released row. It never changes."""

    step: int
    time: str = Field(examples=["2022-08-01T00:00:00+10:00"])
    group: str = Field(examples=["all"])
    value: str = Field(examples=["412.3"], description="A decimal in text: a float would not be what was released.")
    unit: str
    std: str = Field(description="The standard deviation of its noise.")
    plan: str


class Reports(BaseModel):
    """A page of reports."""

    stream: str
    rows: list[Row]
    next: str | None = Field(description="Give it as `cursor` to have the next page; null after the last.")


class Promise(BaseModel):
    """What is promised: words and numbers together, and nothing of it alone."""

    stream: str
    level: str
    epsilon: str | None
    cycle_epsilon: str | None
    delta: str | None
    zcdp: str | None
    cycle_zcdp: str | None
    history_epsilon: str | None
    history_epsilon_at_horizon: str | None
    horizon: int | None
    neighbours: list[str] = Field(
        description="What may differ between two data sets that reports hardly tell apart."
    )
    assumptions: list[str] = Field(description="What the promise rests on.")
    limits: list[str] = Field(description="What is not promised.")
    sentences: list[str] = Field(description="All of it in plain sentences, in the order one reads them.")


class TakenBy(BaseModel):
    """What became of a batch in one stream."""

    stream: str
    again: bool = Field(description="Whether this stream had taken the batch before.")
    taken: int = Field(description="How many readings it has taken.")
    set_aside: dict[str, int] = Field(description="What it has not, by reason: late, not on the roster, ...")
    reports: int = Field(description="How many rows were released with it.")


class Taken(BaseModel):
    """What became of a batch."""

    key: str = Field(description="What it goes by.")
    again: bool = Field(description="Whether all of it had been taken before; then nothing was done.")
    rows: int = Field(description="How many rows were sent.")
    kept: int = Field(description="How many of them are readings.")
    set_aside: dict[str, int] = Field(description="How many are not, by reason: outside the domain, blank, ...")
    streams: list[TakenBy]
    head: str = Field(description="Where the ledger stands now.")


class PlanQuestion(BaseModel):
    """What a plan is asked for: as the flags of `diurnal plan`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"epsilon": "1", "level": "strong", "period": "1d", "mean_reading": "400"}]
        },
    )

    epsilon: Decimal = None
    target_error: Decimal = None
    total_epsilon: Decimal = None
    cycle_epsilon: Decimal = None
    level: Literal["strong", "pattern", "cycle"] = "strong"
    query: Literal["mean", "sum", "share", "histogram"] = "mean"
    above: int | None = Field(None, ge=-(10**9), le=10**9)
    edges: str | None = Field(None, max_length=200, pattern=r"^-?\d{1,9}(,-?\d{1,9}){0,15}$")
    groups: str | None = Field(None, max_length=64)
    history: int = Field(91, ge=1, le=3660)
    period: str | None = Field(None, max_length=16, examples=["1d", "7d"])
    households: int | None = Field(None, ge=1, le=10**8, description="n; as many as the panel has unless given.")
    statistic: Literal["mean", "base-load"] = "mean"
    domain: tuple[int, int] | None = None
    mean_reading: Decimal = None
    free: bool = True
    body_radius: int | None = Field(None, ge=1, le=10**9)
    cycle_radius: int | None = Field(None, ge=1, le=10**9)
    variation_bound: int | None = Field(None, ge=1, le=10**9)
    mechanism: Literal["auto", "laplace", "cube", "gaussian", "basis"] = "auto"
    cycle_mechanism: Literal["auto", "laplace", "cube", "gaussian", "basis", "blocks"] = "auto"
    delta: str | None = Field(None, pattern=r"^(0\.[0-9]{1,20}|1e-[0-9]{1,2})$")
    grace: int = Field(0, ge=0, le=10_000)
    minimum_group: int = Field(15, ge=1, le=10**6)


class Proposed(BaseModel):
    """What would be promised, and how good reports would be, before anything is spent."""

    model_config = ConfigDict(extra="allow")

    plan: str = Field(description="The plan's hash.")
    document: dict[str, Any] = Field(description="The plan itself, for /v1/custodian/start.")
    chosen: str
    unit: str = Field(description="What errors are in.")
    mechanisms: list[dict[str, Any]]
    without_data: dict[str, Any] = Field(description="Nothing at all: a public profile as the report.")
    split: list[dict[str, Any]]
    warnings: list[str]
    sentences: list[str]


class StartQuestion(BaseModel):
    """A plan to be started."""

    model_config = ConfigDict(extra="forbid")

    plan: dict[str, Any] = Field(description="A plan, as /v1/custodian/plan gives it in `document`.")
    acknowledge: str | None = Field(None, max_length=128, description="The digest of the verdict that was read.")
    skip: int = Field(0, ge=0, le=100_000, description="How many cycles of the panel come before the history.")
    confirm: str | None = Field(None, max_length=200, description="What /v1/custodian/explain says is to be typed.")


class Meaning(BaseModel):
    """What starting a plan would mean."""

    sentences: list[str]
    confirm: str = Field(description="What must be typed to start it.")


class Started(BaseModel):
    """A stream that runs."""

    stream: str
    sentences: list[str]
    head: str


class StopQuestion(BaseModel):
    """A stream to be stopped."""

    model_config = ConfigDict(extra="forbid")

    confirm: str | None = Field(None, max_length=64, description="The first eight letters of the stream's name.")


class Stopped(BaseModel):
    """A stream that reports nothing from a step on."""

    stream: str
    end: int
    time: str
    head: str


class Ledger(BaseModel):
    """Some of what was ever decided."""

    events: list[dict[str, Any]]
    next: int | None = Field(description="Give it as `after` to have the next ones; null after the last.")


class Spent(BaseModel):
    """What is spent of a cap."""

    spent: str
    allowed: str
    remaining: str


class BudgetLeft(BaseModel):
    """What is spent, by the most charged household."""

    pattern: Spent
    strong: Spent
    head: str


class Ready(BaseModel):
    """Whether it can be asked."""

    status: Literal["ok"]
