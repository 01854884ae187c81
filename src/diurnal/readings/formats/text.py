"""Text: what writers of text files share."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

from diurnal.readings.formats.base import MICRO
from diurnal.readings.panel import Integers, Marks


def open_text(path: Path) -> IO[str]:
    """A text file to write, gzip where its name says so."""
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


@contextmanager
def csv_writer(path: Path) -> Iterator[Any]:
    """A writer of rows of fields."""
    with open_text(path) as file:
        yield csv.writer(file, lineterminator="\n")


def decimals(readings: Integers, present: Marks, unit: str, to: str, *, hours: Fraction = Fraction(1)) -> list[str]:
    """Readings as decimal texts in another unit, to nine decimals; a gap is blank.

    Args:
        readings: Whole numbers of `unit`.
        present: Where there is a reading.
        unit: What a whole number is.
        to: What the text is in.
        hours: For power: how long each reading's interval is.
    """
    factor = Fraction(MICRO[unit], MICRO[to]) / hours
    texts = {int(value): _decimal(int(value) * factor) for value in set(readings[present].tolist())}
    return [texts[value] if there else "" for value, there in zip(readings.tolist(), present, strict=True)]


def _decimal(value: Fraction) -> str:
    nano = round(value * 10**9)
    whole, rest = divmod(abs(nano), 10**9)
    text = f"{whole}.{rest:09d}".rstrip("0").rstrip(".")
    return f"-{text}" if nano < 0 else text
