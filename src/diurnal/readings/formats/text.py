"""Text: what writers of text files share."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.readings.data import Integers, Marks
from diurnal.readings.formats import MICRO
from diurnal.readings.kernels import Progress
from diurnal.readings.panel import Panel


def blocks(panel: Panel) -> Iterator[Panel]:
    """The homes of a panel, some at a time, with a bar once writing them takes long."""
    with Progress("Writing homes", panel.n_households) as bar:
        for block in panel.blocks():
            yield block
            bar.advance(block.n_households)


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """A text file to write, gzip where its name says so."""
    with ExitStack() as stack:
        file: Any = stack.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            # Without a name and a time in its head, the same readings are the same bytes.
            file = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
        yield stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline=""))


@contextmanager
def csv_writer(path: Path) -> Iterator[Any]:
    """A writer of rows of fields."""
    with open_text(path) as file:
        yield csv.writer(file, lineterminator="\n")


def decimals(readings: Integers, present: Marks, unit: str, to: str, *, hours: Fraction | None = None) -> list[str]:
    """Readings as decimal texts in another unit, to nine decimals; a gap is blank.

    Args:
        readings: Whole numbers of `unit`.
        present: Where there is a reading.
        unit: What a whole number is.
        to: What the text is in.
        hours: How long each reading's interval is; needed where energy becomes power, or power energy.

    Raises:
        ReadingsError: A unit is neither of energy nor of power, or it is not known how long an interval is.
    """
    factor = _factor(unit, to, hours)
    texts = {int(value): _decimal(int(value) * factor) for value in set(readings[present].tolist())}
    return [texts[value] if there else "" for value, there in zip(readings.tolist(), present, strict=True)]


def moments(panel: Panel) -> tuple[Integers, Marks]:
    """When each step of a panel begins, in seconds since 1970, and whether the wall clock ever shows its time.

    A time that the clock shows twice is its first occurrence.
    """
    zone = ZoneInfo(panel.grid.zone)
    seconds, exists = np.zeros(panel.n_steps, dtype=np.int64), np.zeros(panel.n_steps, dtype=bool)
    for row, step in enumerate(panel.steps):
        moment = datetime.fromisoformat(panel.grid.time(step))
        seconds[row] = round(moment.timestamp())
        exists[row] = moment.astimezone(zone).replace(tzinfo=None) == moment.replace(tzinfo=None)
    return seconds, exists


def check_signs(panel: Panel, channel: str) -> None:
    """Refuse negative readings of a channel that has none.

    Raises:
        ReadingsError: There are some.
    """
    if channel != "net" and any((block.readings < 0).any() for block in panel.blocks()):
        raise ReadingsError("write-negative", channel=channel)


def _factor(unit: str, to: str, hours: Fraction | None) -> Fraction:
    """How many of one unit another one is."""
    if unit not in MICRO or to not in MICRO:
        raise ReadingsError("write-unit", choices=", ".join(MICRO), unit=unit)
    factor = Fraction(MICRO[unit], MICRO[to])
    if unit.endswith("h") == to.endswith("h"):
        return factor
    if hours is None:
        raise ReadingsError("write-unit-impossible", unit=unit, to=to)
    return factor / hours if unit.endswith("h") else factor * hours


def _decimal(value: Fraction) -> str:
    nano = round(value * 10**9)
    whole, rest = divmod(abs(nano), 10**9)
    text = f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
    return f"-{text}" if nano < 0 else text
