"""Spill: fixed-size records in a nameless file, so that memory stays flat and a killed import leaves nothing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diurnal.readings.data import Integers

Records = npt.NDArray[Any]


class Spill:
    """Batches of records, each sorted by bucket, read back a batch or a bucket at a time.

    The file has no name: nobody else can open it, and the system frees it when the process ends, however it
    ends.
    """

    def __init__(self, folder: Path | None, dtype: np.dtype[Any], n_buckets: int = 1) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 (closed with the spill)
        self._dtype = dtype
        self._n_buckets = n_buckets
        self._bounds: list[Integers] = []
        self._end = 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the file."""
        self._file.close()

    def __len__(self) -> int:
        return self._end

    def add(self, records: Records, bucket: Integers | None = None) -> None:
        """Add a batch; records of one bucket keep their order."""
        counts = np.zeros(self._n_buckets + 1, dtype=np.int64)
        if bucket is None:
            counts[-1] = len(records)
        else:
            np.cumsum(np.bincount(bucket, minlength=self._n_buckets), out=counts[1:])
            if (len(bucket) and bucket[0] != bucket[-1]) or (np.diff(bucket) < 0).any():
                records = records[np.argsort(bucket.astype(np.uint32), kind="stable")]
        view = np.ascontiguousarray(records).view(np.uint8).data if len(records) else memoryview(b"")
        while view:
            view = view[self._file.write(view) :]
        self._bounds.append(self._end + counts)
        self._end += len(records)

    def batches(self) -> Iterator[Records]:
        """The batches as they came."""
        for bounds in self._bounds:
            yield self._read(int(bounds[0]), int(bounds[-1]))

    def bucket(self, number: int) -> Records:
        """All records of a bucket, in the order in which they came."""
        spans = [(int(bounds[number]), int(bounds[number + 1])) for bounds in self._bounds]
        parts = [self._read(start, stop) for start, stop in spans if start < stop]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=self._dtype)

    def record(self, place: int) -> Any:
        """The record that came at that place, batches as they were written."""
        return self._read(place, place + 1)[0]

    def _read(self, start: int, stop: int) -> Records:
        records = np.empty(stop - start, dtype=self._dtype)
        if not len(records):
            return records
        view = records.view(np.uint8).data
        offset = start * self._dtype.itemsize
        while view:
            # Positioned, so that threads do not share a place in the file.
            count = os.preadv(self._file.fileno(), [view], offset)
            if count == 0:
                raise OSError("the spill file ended early")
            view, offset = view[count:], offset + count
        return records
