"""Batches: readings as they are sent, and what became of them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from diurnal.curator.release import Outcome
from diurnal.show.web.models.shape import COUNTED, HEAD, STANDS, STREAM, Counts, base_of, shown


class Reading(BaseModel):
    """What one meter has read in one step."""

    model_config = shown({"household": "17", "time": "2022-07-01T00:00", "value": "231"}, extra="forbid")

    household: str = Field(description="Whose meter it is.")
    time: str = Field(description="When the step begins, by the wall clock or with an offset.")
    value: str | float = Field(description="A decimal, best in text.")


class Readings(BaseModel):
    """A batch of readings, as JSON."""

    model_config = shown({"readings": [{"household": "17", "time": "2022-07-01T00:00", "value": "231"}]})

    readings: list[Reading] = Field(description="In any order. Send all homes of a step together.")


TAKEN_BY = {
    "stream": STREAM,
    "again": False,
    "taken": 225,
    "waiting": 0,
    "set_aside": {"held_before": 1},
    "reports": 1,
    "units": "plausible",
}


class TakenBy(base_of(Outcome, TAKEN_BY.keys() - {"reports", "units"})):  # type: ignore[misc]
    """What became of a batch in one stream."""

    model_config = shown(TAKEN_BY)

    set_aside: Counts = Field(description=COUNTED)
    reports: int = Field(description="How many rows were released with it.")
    units: Literal["plausible", "too small", "too large", "not known"] = Field(
        description="What most households of this batch look like beside the plan's public reference: a thousand "
        "times too small or too large is another unit. Not known of a batch that comes again, and of zeros."
    )


class Taken(BaseModel):
    """What became of a batch."""

    model_config = shown(
        {
            "key": "2022-09-30T00:00",
            "again": False,
            "rows": 227,
            "kept": 226,
            "set_aside": {"blank": 1},
            "streams": [TAKEN_BY],
            "head": HEAD,
            "dry_run": False,
            "refused": None,
        }
    )

    key: str = Field(description="What it goes by; empty if it was sent without a key.")
    again: bool = Field(description="Whether a batch was taken under its key before; then nothing was done.")
    rows: int = Field(description="How many rows were sent.")
    kept: int = Field(description="How many of them are readings.")
    set_aside: Counts = Field(description="How many are not, by reason: outside the domain, blank, ...")
    streams: list[TakenBy] = Field(description="What became of it in each stream.")
    head: str = Field(description=STANDS)
    dry_run: bool = Field(description="Whether nothing was done: it says what would become of the batch.")
    refused: str | None = Field(
        description="Of a dry run: why the batch would be refused for its unit, by what came under this token."
    )
