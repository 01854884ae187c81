"""The local engine: one machine, flat memory, as many threads as it has cores.

Rows come in any order. One pass puts them into buckets of whole households in a nameless file; then each bucket,
small enough for memory, is resampled on its own. Memory depends on the bucket's size, not on the number of rows.

The design had DuckDB number the households. Arrow's own dictionaries do that while a file is read, and were faster
(docs/performance.md has both in one run), so DuckDB is a peer in tests and benchmarks, and not a part.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from diurnal.readings.panel import Panel
from diurnal.readings.placing import Placing
from diurnal.readings.progress import Progress
from diurnal.readings.resampling import PLACED, DuplicateError, Resampled, Rules, resample
from diurnal.readings.spill import Records, Spill

BUCKET = 1 << 20
"""How many rows or readings a bucket holds, about: some 50 MB while it is worked on."""

THREADS = os.cpu_count() or 1

Item = TypeVar("Item")
Result = TypeVar("Result")


def sort(
    batches: Iterable[Records],
    n_rows: int,
    placing: Placing,
    rules: Rules,
    *,
    outside: Counter[str],
    folder: Path | None = None,
) -> Iterator[tuple[int, Resampled]]:
    """The readings of whole households in the roster's order, from rows in any order.

    Args:
        batches: Staged rows.
        n_rows: How many there are.
        placing: Where they go.
        rules: How they become readings.
        outside: Gets the number of rows outside the panel's span, by reason.
        folder: Where to spill; the system's folder for such files unless given.

    Yields:
        The number of the first household of a block, and the block's readings.
    """
    roster = placing.roster
    n = len(roster.households)
    width = max(1, BUCKET * n // max(n_rows, len(roster.keys) * rules.steps, 1))
    bucket_of = np.repeat(np.arange(n) // width, np.diff(roster.starts))
    bounds = [(first, min(first + width, n)) for first in range(0, n, width)]
    with Spill(folder, PLACED, len(bounds)) as spill:
        with Progress("Sorting rows", n_rows) as bar:
            for batch in batches:
                placed, lost = placing.place(batch)
                outside.update(lost)
                spill.add(placed, bucket_of[placed["meter"]])
                bar.advance(len(batch))

        def block(number: int) -> tuple[int, Resampled]:
            first, stop = bounds[number]
            rows, before = spill.bucket(number), int(roster.starts[first])
            rows["meter"] -= before
            try:
                return first, resample(rows, roster.meters(first, stop), rules).moved(before)
            except DuplicateError as cause:
                raise DuplicateError(cause.meter + before, cause.seconds, cause.values) from None

        with Progress("Making readings", len(bounds)) as bar:
            for result in in_order(block, range(len(bounds))):
                bar.advance(1)
                yield result


def fold(
    kernel: Callable[[Panel], Result],
    panel: Panel,
    add: Callable[[Result, Result], Result],
    *,
    label: str = "Adding up",
) -> Result:
    """What a kernel finds in the blocks of a panel, added up in the blocks' order.

    Threads go over blocks, and a product of matrices within one has a thread to itself: the two together would be
    in each other's way.

    Raises:
        ValueError: The panel has no households.
    """
    total: Result | None = None
    with threadpool_limits(1, user_api="blas"), Progress(label, panel.n_households) as bar:
        for result, households in in_order(lambda block: (kernel(block), block.n_households), panel.blocks()):
            total = result if total is None else add(total, result)
            bar.advance(households)
    if total is None:
        raise ValueError("a panel has at least one household")
    return total


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results of work on items, by threads, in the items' order, only as many ahead as there are threads."""
    running: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(THREADS) as pool:
        try:
            for item in items:
                running.append(pool.submit(work, item))
                if len(running) > THREADS:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()
