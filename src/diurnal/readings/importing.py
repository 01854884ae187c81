"""Importing: from what a custodian has to a panel.

    homes = dn.read("ausgrid.csv.gz")
    panel = dn.panel(homes, period="1d", out="homes.parquet")
    print(panel.quality.table())

Every row of the source is staged once as integers, put in its place on the panel's grid, and resampled household by
household. Either all of that succeeds, or there is an error and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from diurnal.errors import ReadingsError
from diurnal.exact import instance
from diurnal.place import check_place
from diurnal.readings.formats import rows_of
from diurnal.readings.grid import Grid
from diurnal.readings.job import Job
from diurnal.readings.kept import keeping, open_panel
from diurnal.readings.options import Options
from diurnal.readings.panel import Panel
from diurnal.readings.progress import Progress
from diurnal.readings.resampling import Fold, OnDuplicate
from diurnal.readings.source import Readings, read
from diurnal.readings.stage import Stage


def panel(
    readings: Any,
    *,
    period: str | int = "1d",
    interval: str | int = "30min",
    unit: str = "Wh",
    zone: str | None = None,
    anchor: str | None = None,
    until: str | None = None,
    domain: tuple[int, int] | None = None,
    calendar: str | Path | Iterable[tuple[str, str]] | None = None,
    fold: Fold = "calendar",
    on_duplicate: OnDuplicate = "refuse",
    meters: str | Path | Mapping[str, str] | None = None,
    groups: str | Path | Mapping[str, Mapping[str, str]] | None = None,
    tenancies: str | Path | Mapping[str, str] | None = None,
    like: Grid | None = None,
    steps: range | None = None,
    out: str | Path | None = None,
) -> Panel:
    """Make a panel of readings: whole numbers on a regular grid, a column a household.

    Args:
        readings: What `read` gives, or whatever `read` takes.
        period: The length of a cycle: "1d", "7d", or a number of slots.
        interval: The length of a step. Energy adds and power averages up to it.
        unit: What one whole number is: Wh, or kWh.
        zone: The wall clock of the homes, by its IANA name; the format's own unless given.
        anchor: The local time at which step 0 begins; the first complete local day unless given.
        until: The local time at which the last step ends; after the last row unless given.
        domain: The least and the largest reading, in units; others are set aside. From 0 to what a supply of
            100 kW gives, unless given; net export needs a domain that begins below 0.
        calendar: Spans of local time whose true totals are public (outages, tests), as a file with the columns
            from and until or as pairs. The hours that a clock change skips are on it anyway.
        fold: What becomes of the hour that a clock change doubles: it is on the calendar, or it is folded by the
            first of the two or by their floor mean.
        on_duplicate: What to do with different values for one meter and time: refuse, or take the first or last.
        meters: Which household each meter belongs to: a file with the columns meter and household (and from and
            until where meters change), or a mapping.
        groups: A file with the columns household and one for each partition, or a mapping of mappings.
        tenancies: A file with the columns household and from, or a mapping: when tenants changed.
        like: The grid of a stream that these are more readings for: period, interval, unit, zone and the count of
            steps are its own, and the panel begins with the first row.
        steps: With `like`, the steps that readings may be of, such as `stream.takes()`. Rows of other steps are set
            aside: one clock that is wrong by years does not make a panel of years.
        out: A Parquet file to keep the panel in, readable by any tool; in memory unless given. For a Spark frame a
            folder wherever Spark can write, in which the panel lies.

    Returns:
        The panel, with what was kept and set aside in `panel.quality`.

    Raises:
        ReadingsError: Something cannot be read as readings; nothing was written.
    """
    given = readings if isinstance(readings, Readings) else read(readings)
    engine = given.engine
    if like is not None:
        if out is not None and engine is None:
            raise ReadingsError("panel-like-stays-in-memory")
        period, interval, unit, zone = like.slots, like.minutes, like.unit, like.zone
    elif steps is not None:
        raise ReadingsError("panel-steps-without-grid")
    if getattr(given.format, "channel", None) == "net" and domain is None:
        raise ReadingsError("panel-net-domain")
    options = Options.of(
        period=period,
        interval=interval,
        unit=unit,
        zone=zone or given.format.zone,
        anchor=anchor,
        from_first_row=like is not None,
        until=until,
        window=None if like is None or steps is None else _window(like, steps),
        domain=domain,
        calendar=calendar,
        fold=fold,
        on_duplicate=on_duplicate,
        meters=meters,
        groups=groups,
        tenancies=tenancies,
    )
    if engine is not None:
        if len(given.parts) > 1:
            raise ReadingsError("spark-several-frames")
        made = engine.sort(given, options, out)
        return made if like is None else made.on_grid(like)
    target = None if out is None else _target(out)
    folder = None if target is None else target.parent
    try:
        with closing(Stage(folder, given.format)) as stage:
            # A meter in another century is set aside with all that is outside of these steps.
            stage.any_date = steps is not None
            _fill(stage, given)
            job = Job.of(given, options, stage, len(stage))
            if target is None:
                made = job.in_memory()
                return made if like is None else made.on_grid(like)
            with keeping(target) as partial:
                job.into_file(partial)
            return open_panel(target)
    except OSError as cause:
        raise ReadingsError("rows-not-sorted", reason=cause.strerror) from None


def _window(grid: Grid, steps: range) -> tuple[str, str]:
    return grid.wall(steps.start).isoformat(), grid.wall(steps.stop).isoformat()


def _fill(stage: Stage, given: Readings) -> None:
    with Progress("Reading rows") as bar:
        for part in given.parts:
            for rows in rows_of(given.format, part):
                before = len(stage)
                stage.add(part, rows)
                bar.advance(len(stage) - before)
            stage.flush()
    if not len(stage):
        raise given.parts[0].fault("source-no-rows")


def _target(out: str | Path) -> Path:
    instance(out, (str, Path), "out", example="'homes.parquet'", error=ReadingsError)
    path = Path(out).absolute()
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ReadingsError("output-not-writable", name=path.name)
    check_place(path)
    return path
