"""Frame: a Spark frame as a part of a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from diurnal.errors import ReadingsError
from diurnal.readings.source import Frame, Part, Table

NAME = "the frame"
"""As any other is called: which engine reads it is nobody's business afterwards."""


@dataclass(frozen=True)
class SparkFrame(Part):
    """A frame of Spark's: its rows stay where they are, and are read by tasks."""

    frame: Any = field(repr=False)
    name: str = NAME
    engine = "spark"

    @property
    def column_names(self) -> tuple[str, ...]:
        return self._unique(self.frame.columns)

    def tables(self, columns: Sequence[str], *, encoded: Sequence[str] = ()) -> Iterator[Table]:
        raise self.fault("spark-rows-elsewhere")

    def fault(
        self, code: str, *, line: int | None = None, kind: type[ReadingsError] = ReadingsError, **params: Any
    ) -> ReadingsError:
        return super().fault(code, kind=kind, **params)


@dataclass(frozen=True)
class Batch(Frame):
    """Some rows of a Spark frame, in a task. Their numbers are no numbers of the frame, and are not said."""

    name: str = NAME

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> Batch:
        """A batch as a part."""
        return cls(pa.Table.from_batches([batch]))

    def fault(
        self, code: str, *, line: int | None = None, kind: type[ReadingsError] = ReadingsError, **params: Any
    ) -> ReadingsError:
        return super().fault(code, kind=kind, **params)
