"""The Spark engine, as the rest of the code sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from diurnal.readings.engines import Engine, Waiting
from diurnal.readings.engines.spark import homes, lake, session, streaming
from diurnal.readings.engines.spark.frame import SparkFrame
from diurnal.readings.engines.spark.lake import Folder, LakeData
from diurnal.readings.engines.spark.streaming import WaitingRows
from diurnal.readings.grid import Grid
from diurnal.readings.importing import Options, Readings
from diurnal.readings.panel import Arrays, Panel
from diurnal.readings.source import Part


class SparkEngine(Engine):
    """Apache Spark, 4.0 or later."""

    name = "spark"

    def part(self, frame: Any) -> Part:
        return SparkFrame(frame)

    def session(self, master: str) -> Any:
        return session.session_at(master)

    def frame(self, session_: Any, paths: Sequence[str]) -> Any:
        with session.running("finding the files"):
            return session_.read.parquet(*paths)

    def sort(self, given: Readings, options: Options, out: str | Path | None) -> Panel:
        return lake.sort(given, options, out)

    def open(self, path: str | Path, session_: Any = None) -> Panel:
        return lake.open_panel(path, session_)

    def folder(self, panel: Panel) -> str:
        return _data(panel).where

    def keep(
        self,
        kernel: Callable[[Panel], Arrays],
        panel: Panel,
        out: str,
        *,
        steps: int,
        renamed: Mapping[str, str] = MappingProxyType({}),
    ) -> Panel:
        return homes.keep(kernel, panel, out, steps=steps, renamed=renamed)

    def beside(self, kept: Panel, panel: Panel) -> Panel:
        return homes.beside(kept, panel)

    def spanning(self, panel: Panel, steps: range) -> Panel:
        data = _data(panel)
        first = data.cut.window[0] - panel.first_step
        # The table may have them, but they are none of this panel's.
        gone = {first + step for step in steps if step not in panel.steps}.union(data.cut.gone)
        cut = replace(data.cut, window=(first + steps.start, first + steps.stop), gone=tuple(sorted(gone)))
        return replace(panel, data=replace(data, cut=cut), first_step=steps.start)

    def empty(self, panel: Panel, grid: Grid, steps: range) -> Panel:
        data = _data(panel)
        cut = replace(data.cut, window=(0, len(steps)), gone=tuple(range(len(steps))))
        return replace(panel, grid=grid, data=replace(data, cut=cut), first_step=steps.start)

    def names(self, path: str) -> list[str]:
        with session.running("looking for homes"):
            return Folder(session.active_session(), path).names() or []

    def discard(self, path: str) -> None:
        with session.running("deleting homes"):
            Folder(session.active_session(), path).delete("")

    def each_batch(
        self,
        frame: Any,
        take: Callable[[str, int, Any], None],
        *,
        checkpoint: str,
        once: bool = False,
        every: float = 10.0,
    ) -> None:
        streaming.each_batch(frame, take, checkpoint=checkpoint, once=once, every=every)

    def waiting(self, batch: Any, format_: Any, grid: Grid, checkpoint: str) -> Waiting:
        return WaitingRows(batch, format_, grid, checkpoint)


def _data(panel: Panel) -> LakeData:
    """Where the readings of a panel lie, which is known to be in the lake."""
    assert isinstance(panel.data, LakeData)
    return panel.data


ENGINE = SparkEngine()
