"""Standing: how store, streams, budget and panel stand, and what the check found. For the custodian."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, RootModel

from diurnal.curator.status import StreamStatus
from diurnal.periodicity import drift
from diurnal.show.web.models.shape import AFTER, COUNTED, OWN_HEAD, STANDS_OWN, STREAM, Counts, base_of, shown

EVENT = {
    "number": 4,
    "time": "2022-09-30T01:00:00+00:00",
    "kind": "reported",
    "content": {"plan": 1, "rows": 1, "steps": [[4368, 4368]]},
    "hash": "e2f99e9296f4655a68ada77389ebc5cf78a9ff6cdf1dd0e37bbdb352c9171dc8",
    "nonce": "5b0d7c93a1f24e8860c5b9d2e73f14a86d90c2b17e5f3a48c6d1e0f792b8a354",
}


class Event(BaseModel):
    """Something that was decided."""

    model_config = shown(EVENT)

    number: int = Field(description="Its place in the ledger.")
    time: str = Field(description="When it was written.")
    kind: str = Field(description="What it is: created, settled, started, reported, stopped, ...")
    content: dict[str, Any] = Field(description="What was decided; each kind has its own fields.")
    hash: str = Field(description="A digest of it and of the hash before.")
    nonce: str = Field(default="", description="256 random bits that are in the digest. To be kept secret.")


class Ledger(BaseModel):
    """Some of what was ever decided."""

    model_config = shown({"events": [EVENT], "next": None})

    events: list[Event] = Field(description="In order.")
    next: int | None = Field(description=f"Give it as `after`. {AFTER}")


AT_DELTA = "At which what Gaussian plans have spent is read; null where there can be none."


class Of(BaseModel):
    """What is spent of a cap, by the most charged household."""

    model_config = shown({"spent": "1", "allowed": "2"})

    spent: str = Field(description="By the most charged household.")
    allowed: str = Field(description="The cap.")


class Spent(Of):
    """What is spent of a cap, and what is left."""

    model_config = shown({"spent": "1", "allowed": "2", "remaining": "1"})

    remaining: str = Field(description="What is left of it.")


class BudgetLeft(BaseModel):
    """What is spent, by the most charged household."""

    model_config = shown(
        {
            "pattern": {"spent": "1", "allowed": "2", "remaining": "1"},
            "strong": {"spent": "1", "allowed": "2", "remaining": "1"},
            "delta": None,
            "uncounted": {},
            "head": OWN_HEAD,
        }
    )

    pattern: Spent = Field(description="Of the cap for a shift of a periodic component, for ever.")
    strong: Spent = Field(description="Of the cap for any one reported cycle; many together lose more.")
    delta: str | None = Field(description=AT_DELTA)
    uncounted: dict[str, str] = Field(
        description="By cap, what it does not count because plans of some level do not protect it: a 0 is no "
        "loss of nothing there."
    )
    head: str = Field(description=STANDS_OWN)


STANDING = {
    "plan": STREAM,
    "level": "strong",
    "households": 226,
    "groups": 1,
    "first_step": 4368,
    "last_step": 4415,
    "last_time": "2022-09-30T23:30:00+10:00",
    "end": None,
    "open_steps": 2,
    "stray_steps": 0,
    "held_since": "2022-10-01T00:31:07+00:00",
    "closes": "2022-10-03T14:00:00+00:00",
    "overdue": 0,
    "acknowledged": "e310c762fb620205",
    "counts": {"outside_domain": 2},
    "units": [],
    "refused": 0,
    "looked": {"plausible": 10848},
}


class StreamStanding(base_of(StreamStatus)):  # type: ignore[misc]
    """How one stream stands."""

    model_config = shown(STANDING, extra="allow")

    counts: Counts = Field(description=COUNTED)


class Counted(RootModel[Counts]):
    """What a stream has set aside, by reason. Names that begin with "steps" count steps, all others readings."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"outside the domain": 2, "steps published before": 1}]}
    )


class Standing(BaseModel):
    """How a store stands."""

    model_config = shown(
        {
            "head": OWN_HEAD,
            "pattern": {"spent": "1", "allowed": "2"},
            "strong": {"spent": "1", "allowed": "2"},
            "delta": None,
            "uncounted": {},
            "streams": [STANDING],
        },
        extra="allow",
    )

    head: str = Field(description=STANDS_OWN)
    pattern: Of = Field(description="Of the cap for a shift of a periodic component, for ever.")
    strong: Of = Field(description="Of the cap for any one reported cycle; many together lose more.")
    delta: str | None = Field(description=AT_DELTA)
    uncounted: dict[str, str] = Field(
        description="By cap, what it does not count because plans of some level do not protect it: a 0 is no "
        "loss of nothing there."
    )
    streams: list[StreamStanding] = Field(description="In the order of their start.")


MOVED = {
    "group": "all",
    "against": "its first 28 reported cycles",
    "unit": "Wh",
    "level": 412.3,
    "window": 28,
    "threshold": 0.3,
    "alarm": False,
    "since": None,
    "cycles": [146, 147],
    "moves": [11.2, 10.9],
    "chance": [1.4, 1.3],
}


class Moved(base_of(drift.Drift, MOVED.keys() - {"alarm", "since"})):  # type: ignore[misc]
    """How far the pattern of one group has moved, window after window."""

    model_config = shown(MOVED, extra="allow")

    alarm: bool = Field(description="Whether it has moved, by the latest window.")
    since: str | None = Field(description="Since when there is an alarm.")


class Drift(BaseModel):
    """How far patterns have moved."""

    model_config = shown({"groups": {"all": MOVED}})

    groups: dict[str, Moved] = Field(description="By group.")


class Homes(BaseModel):
    """How large the panel is."""

    model_config = shown(
        {
            "households": 226,
            "cycles": 182,
            "minutes": 30,
            "slots": 48,
            "unit": "Wh",
            "domain": [0, 8000],
            "partitions": {"suburb": 18},
        }
    )

    households: int = Field(description="How many homes it has.")
    cycles: int = Field(description="How many cycles of its own period it has.")
    minutes: int = Field(description="How long a step is.")
    slots: int = Field(description="How many steps a cycle has.")
    unit: str = Field(description="What readings are in.")
    domain: tuple[int, int] | None = Field(description="What a meter can read in a step.")
    partitions: dict[str, int] = Field(description="How many homes the smallest group of each has.")


class Told(BaseModel):
    """The last that was decided, in words."""

    model_config = shown({"lines": [["1", "2022-09-30 01:00 UTC", "The store was made.", ""]]})

    lines: list[list[str]] = Field(description="Number, time, words, spent; reports in a row are one line.")


class Lately(BaseModel):
    """When a batch last had reports released, and when a stream ended."""

    model_config = shown({"streams": {STREAM: "2022-09-30T01:00:00+00:00"}, "ends": {}})

    streams: dict[str, str | None] = Field(description="By stream, by the service's clock; null before the first.")
    ends: dict[str, str] = Field(description="Of each that was stopped, from when on it reports nothing.")


class Period(BaseModel):
    """A period, and what correlation it leaves."""

    model_config = shown(
        {
            "slots": 48,
            "name": "1 day",
            "why": "the panel's",
            "repeats": 0.61,
            "n_cycles": 182,
            "largest": 0.388,
            "median": 0.083,
            "note": "",
        },
        extra="allow",
    )

    slots: int = Field(description="How many steps it has.")
    name: str = Field(description="How long it is, in words.")
    why: str = Field(description="Where it comes from: the panel's, usual, or found in the data.")
    repeats: float | None = Field(description="How much the total looks like itself a period later, from -1 to 1.")
    n_cycles: int = Field(description="How many cycles of it the panel has.")
    largest: float | None = Field(description="The largest correlation in size; null if it is not testable.")
    median: float | None = Field(description="The median in size.")
    note: str = Field(description="Why it is not testable.")


class Heatmap(BaseModel):
    """The correlation of every two cycles; of a long panel, every so-manyeth."""

    model_config = shown({"cycles": [0, 1], "rows": [[1.0, 0.06], [0.06, 1.0]]})

    cycles: list[int] = Field(description="The numbers of the cycles.")
    rows: list[list[float]] = Field(description="A row for each of them.")


class Lags(BaseModel):
    """The mean correlation of cycles so far apart."""

    model_config = shown({"lag": [1, 2], "mean": [-0.0193, -0.0064]})

    lag: list[int] = Field(description="How many cycles apart.")
    mean: list[float] = Field(description="The mean of each.")


class Bins(BaseModel):
    """How correlations are distributed."""

    model_config = shown({"edges": [-0.1, 0.0, 0.1], "percent": [48.2, 51.8]})

    edges: list[float] = Field(description="Between which values are counted.")
    percent: list[float] = Field(description="How many per cent lie between two edges.")


class Checked(BaseModel):
    """The verdict on a panel, with the numbers of its charts. Private."""

    model_config = shown(
        {
            "version": 1,
            "period_slots": 48,
            "n_households": 226,
            "n_cycles": 182,
            "cycles_left_out": 0,
            "gaps": 0,
            "max_abs_correlation": 0.388,
            "median_abs_correlation": 0.083,
            "correlation_by_lag": {"1": -0.0193, "2": -0.0064},
            "rhythm": None,
            "share_significant": 0.046,
            "share_discovered": 0.0,
            "p_all": 0.33,
            "p_largest": 0.17,
            "p_share": 0.48,
            "bound": 0.45,
            "households_weighed": 226,
            "nonlinear": None,
            "periods": [],
            "thresholds": {"largest": 0.5, "median": 0.15, "level": 0.05, "confidence": 0.95, "rhythm": 0.02},
            "verdict": "small, and zero is possible",
            "sentences": ["How large: of 16,471 pairs of cycles the largest correlation is 0.388 in size ..."],
            "digest": "e310c762fb620205-59604850b28ac0d4",
            "heatmap": {"cycles": [0, 1], "rows": [[1.0, 0.06], [0.06, 1.0]]},
            "lags": {"lag": [1, 2], "mean": [-0.0193, -0.0064]},
            "histogram": {"edges": [-0.1, 0.0, 0.1], "percent": [48.2, 51.8]},
        },
        extra="allow",
    )

    version: int = Field(description="Of these keys.")
    period_slots: int = Field(description="How many steps a cycle has.")
    n_households: int = Field(description="How many homes were looked at.")
    n_cycles: int = Field(description="How many cycles were looked at.")
    cycles_left_out: int = Field(description="How many have too little in them.")
    gaps: int = Field(description="How many readings are missing.")
    max_abs_correlation: float = Field(description="The largest correlation of two cycles, in size.")
    median_abs_correlation: float = Field(description="The median of them, in size.")
    correlation_by_lag: dict[str, float] = Field(description="The mean of cycles so far apart.")
    rhythm: int | None = Field(description="How many cycles apart they are more alike than beside.")
    share_significant: float = Field(description="How many of the pairs differ from zero, as a share.")
    share_discovered: float = Field(description="The same, if few of those found may be false.")
    p_all: float = Field(description="How often chance alone gives as much, all together.")
    p_largest: float = Field(description="The same, by the largest.")
    p_share: float = Field(description="The same, by how many differ from zero.")
    bound: float | None = Field(description="What every correlation of such homes is below, with confidence.")
    households_weighed: int = Field(description="How many homes that rests on.")
    nonlinear: dict[str, Any] | None = Field(description="What was found beyond correlation; null if not looked.")
    periods: list[Period] = Field(description="Other periods, and what they leave.")
    thresholds: dict[str, float] = Field(description="From where on something is called large.")
    verdict: str = Field(description="The verdict, in a few words.")
    sentences: list[str] = Field(description="The verdict in plain sentences.")
    digest: str = Field(description="What /v1/custodian/start wants as `acknowledge`.")
    heatmap: Heatmap = Field(description="Correlations of cycles.")
    lags: Lags = Field(description="Correlations by how far apart.")
    histogram: Bins = Field(description="Correlations by size.")
