"""Verdict: what the check found, with the numbers of its charts. For the custodian."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from diurnal.show.web.models.shape import shown


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
