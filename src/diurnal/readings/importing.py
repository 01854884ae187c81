"""Importing: from what a custodian has to a panel.

    homes = dn.read("ausgrid.csv.gz")
    panel = dn.panel(homes, period="1d", out="homes.parquet")
    print(panel.quality.table())

Every row of the source is staged once as integers, put in its place on the panel's grid, and resampled household by
household. Either all of that succeeds, or there is an error and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from diurnal.errors import ReadingsError
from diurnal.exact import instance
from diurnal.private import Private
from diurnal.readings import quality
from diurnal.readings.data import Arrays, Marks
from diurnal.readings.engines import local
from diurnal.readings.engines.spark import making
from diurnal.readings.engines.spark.frame import SparkFrame
from diurnal.readings.formats import format_of, named, rows_of
from diurnal.readings.formats.base import MICRO, Format
from diurnal.readings.grid import Grid
from diurnal.readings.kept import Writer, keeping, open_panel
from diurnal.readings.options import Options
from diurnal.readings.panel import Panel
from diurnal.readings.part import Part
from diurnal.readings.placing import Placing
from diurnal.readings.progress import Progress
from diurnal.readings.quality import Quality
from diurnal.readings.register import EPOCH
from diurnal.readings.resampling import DuplicateError, Fold, OnDuplicate, Resampled, Rules
from diurnal.readings.source import parts_of
from diurnal.readings.stage import Place, Stage


@dataclass(frozen=True, kw_only=True)
class Readings(Private):
    """A source of readings and how it is read; no row is read before a panel is made of it."""

    parts: tuple[Part, ...] = field(repr=False)
    """The files, or the frame, or the query."""
    format: Format
    """Its format, with everything that was recognised or said about it."""
    recognised: str
    """By what the format was recognised."""

    def __str__(self) -> str:
        name = f"{len(self.parts)} files" if len(self.parts) > 1 else self.parts[0].name
        return f"{name}: format {self.format.name} ({self.recognised})"


def read(
    source: Any,
    *,
    format: str | Format = "auto",  # noqa: A002
    database: str | None = None,
    **options: Any,
) -> Readings:
    """Say where readings are and how they are laid out.

    Args:
        source: A file, a folder, a glob, a list of those; any frame with an Arrow stream (pandas, Polars,
            PyArrow, DuckDB); a Spark frame; or, with `database`, a SQL query.
        format: ausgrid, umass, long, wide, nem12, greenbutton, or a `Format` of your own; recognised unless given.
        database: The address of a database, such as sqlite:///meters.db or postgresql+psycopg://host/name.
        **options: What the format takes, such as unit="Wh", minutes=15, label="end", zone="Europe/Paris",
            time_format="%d/%m/%Y %H:%M"; channel="net"; household="id", time="ts", value="kwh", groups=["suburb"].

    Raises:
        ReadingsError: There is no such source, or no format that fits it.
    """
    parts = parts_of(source, database)
    found, why = format_of(format, parts, options)
    return Readings(parts=tuple(parts), format=found, recognised=why)


def write(panel: Panel, path: str | Path, *, format: str | Format = "long", **options: Any) -> None:  # noqa: A002
    """Write a panel in a format that others read; a gap is a blank cell. It is the homes' private data.

    Args:
        panel: What to write.
        path: A file (gzip if it ends with .gz), or for umass a folder.
        format: As in `read`.
        **options: As in `read`.
    """
    kind = format if isinstance(format, Format) else named(format, options)
    target = Path(path).resolve()
    if not target.parent.is_dir() or (target.is_dir() and kind.name != "umass"):
        raise ReadingsError(f"{target.name} cannot be written there.", hint="Give a path in a folder that exists.")
    # Beside it first: a writer that refuses half-way leaves nothing. The folder, and so what is in it, is private.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        written = Path(folder) / target.name
        kind.write(panel, written)
        files = {file: target / file.name for file in written.iterdir()} if written.is_dir() else {written: target}
        if written.is_dir():
            target.mkdir(mode=0o700, exist_ok=True)
        for file, place in files.items():
            file.chmod(0o600)
            file.replace(place)


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
        out: A Parquet file to keep the panel in, readable by any tool; in memory unless given. For a Spark frame a
            folder wherever Spark can write, in which the panel lies.

    Returns:
        The panel, with what was kept and set aside in `panel.quality`.

    Raises:
        ReadingsError: Something cannot be read as readings; nothing was written.
    """
    given = readings if isinstance(readings, Readings) else read(readings)
    is_far = isinstance(given.parts[0], SparkFrame)
    if like is not None:
        if out is not None and not is_far:
            raise ReadingsError("A panel with like= stays in memory.", hint="Leave out=... away.")
        period, interval, unit, zone = like.slots, like.minutes, like.unit, like.zone
    if getattr(given.format, "channel", None) == "net" and domain is None:
        raise ReadingsError(
            "Net readings may be negative, and the domain begins at 0 unless it is given.",
            hint="Say domain=(-50000, 50000), or what your meters can read.",
        )
    options = Options.of(
        period=period,
        interval=interval,
        unit=unit,
        zone=zone or given.format.zone,
        anchor=anchor,
        from_first_row=like is not None,
        until=until,
        domain=domain,
        calendar=calendar,
        fold=fold,
        on_duplicate=on_duplicate,
        meters=meters,
        groups=groups,
        tenancies=tenancies,
    )
    if is_far:
        if len(given.parts) > 1:
            raise ReadingsError("A Spark frame is imported on its own.", hint="Give one frame: one.union(other).")
        made = making.sort(given, options, out)
        return made if like is None else made.on_grid(like)
    target = None if out is None else _target(out)
    folder = None if target is None else target.parent
    try:
        with closing(Stage(folder, given.format)) as stage:
            _fill(stage, given)
            job = Import.of(given, options, stage, len(stage))
            if target is None:
                made = job.in_memory()
                return made if like is None else made.on_grid(like)
            with keeping(target) as partial:
                job.into_file(partial)
            return open_panel(target)
    except OSError as cause:
        raise ReadingsError(
            f"The rows cannot be put down to be sorted ({cause.strerror}).",
            hint="They need some 50 bytes each beside the output, or in the system's folder for such files.",
        ) from None


def _fill(stage: Stage, given: Readings) -> None:
    with Progress("Reading rows") as bar:
        for part in given.parts:
            for rows in rows_of(given.format, part):
                before = len(stage)
                stage.add(part, rows)
                bar.advance(len(stage) - before)
            stage.flush()
    if not len(stage):
        raise given.parts[0].error("It has no rows.", hint="Check that it is the right file.")


@dataclass(repr=False)
class Import:
    """An import whose rows are staged, so that roster, grid and rules are known."""

    given: Readings
    options: Options
    stage: Stage
    n_rows: int
    placing: Placing
    rules: Rules
    panel: Panel
    """The panel without its readings."""
    set_aside: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, given: Readings, options: Options, stage: Stage, n_rows: int) -> Import:
        """Find out who is there, when the panel begins and ends, and by which rules rows become readings.

        Args:
            given: The source.
            options: What the user said.
            stage: Its rows; or, if these are elsewhere, one row at least for every meter and time.
            n_rows: How many rows there are.
        """
        placing = Placing.of(stage, options)
        rules = _rules(stage, options, placing)
        # In the lake a gap costs next to nothing; here it costs memory.
        least = 10_000 if isinstance(given.parts[0], SparkFrame) else 100
        _check_size(len(placing.roster.households), rules.steps, n_rows, least)
        nobody = np.zeros((0, len(placing.roster.households)), dtype=np.int64)
        anchor = EPOCH + timedelta(seconds=placing.anchor)
        panel = Panel(
            data=Arrays(nobody, nobody.astype(bool)),
            households=placing.roster.households,
            grid=Grid(
                slots=options.slots,
                minutes=options.minutes,
                unit=options.unit,
                zone=options.zone,
                anchor=anchor.isoformat(timespec="minutes"),
            ),
            groups=placing.roster.groups(stage.groups, options.groups),
            calendar=frozenset(np.flatnonzero(rules.closed).tolist()),
            domain=options.domain,
        )
        return cls(given, options, stage, n_rows, placing, rules, panel)

    def in_memory(self) -> Panel:
        """The panel in memory."""
        shape = (self.rules.steps, len(self.panel.households))
        readings, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        for first, block in self._blocks(None):
            place = slice(first, first + len(block.readings))
            readings[:, place], present[:, place] = block.readings.T, block.present.T
        return replace(self.panel, data=Arrays(readings, present), quality=self.quality())

    def into_file(self, path: Path) -> None:
        """The panel as a file."""
        with Writer(path, self.panel, self.rules.steps) as writer:
            for first, block in self._blocks(path.parent):
                writer.write(first, block.readings, block.present)
            writer.finish(self.quality(), source=_source(self.given, self.stage))

    def _blocks(self, folder: Path | None) -> Iterator[tuple[int, Resampled]]:
        """The readings of the roster, some households at a time."""
        rows = self.stage.spill.batches()
        try:
            for first, block in local.sort(
                rows, len(self.stage), self.placing, self.rules, outside=self.set_aside, folder=folder
            ):
                self._count(block)
                yield first, block
        except DuplicateError as cause:
            raise ReadingsError(
                f"{' and '.join(self._duplicates(cause))}: Two values for one meter and time.",
                hint="Correct the source, or say on_duplicate='first' or 'last'.",
            ) from None
        self.check_some()

    def check_some(self) -> None:
        """Refuse a panel without any reading."""
        if not self.tally["readings"]:
            counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self.set_aside.items()))
            raise self.given.parts[0].error(
                f"No reading is left ({counts}).", hint="Check unit, domain, zone, interval and anchor."
            )

    def _count(self, block: Resampled) -> None:
        self.set_aside += block.counts
        for reason, example in block.examples.items():
            self.examples.setdefault(reason, example)
        self.tally += quality.tally(block.readings, block.present, 1440 // self.rules.minutes)
        self.tally["kept"] += block.kept

    def quality(self) -> Quality:
        """What became of every row."""
        places = {reason: found[0] for reason, found in self._places(self.examples, most=1).items() if found}
        n, closed = len(self.panel.households), len(self.panel.calendar)
        return Quality(
            rows=self.n_rows + sum(self.stage.asides.values()),
            kept=self.tally["kept"],
            set_aside=dict(sorted((self.set_aside + self.stage.asides).items())),
            places={reason: str(place) for reason, place in sorted({**places, **self.stage.aside_places}.items())},
            households=n,
            steps=self.rules.steps,
            closed=closed,
            readings=self.tally["readings"],
            gaps=n * (self.rules.steps - closed) - self.tally["readings"],
            late=self.tally["late"],
            stopped=self.tally["stopped"],
            silent=self.tally["silent"],
            zero_days=self.tally["zero_days"],
            tenancy_changes=self._tenancy_changes(),
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        """What was recognised, assumed and not found."""
        rows, options = self.given.format, self.options
        length = "as long as it says" if self.stage.mixed else f"{self.placing.minutes} minutes"
        notes = [
            str(self.given),
            f"a row is {length}, in {rows.unit}, by the clock of {rows.zone or options.zone}",
            f"a reading is {options.minutes} minutes, in {options.unit} from {options.domain[0]} to "
            f"{options.domain[1]}, by the clock of {options.zone}",
        ]
        if options.meters is not None:
            unheard = set(options.meters.households.values()) - set(self.panel.households)
            notes += [f"{len(unheard)} listed households have no row at all"] if unheard else []
        if self.set_aside[quality.NEVER]:
            notes.append("rows claim an hour that their clock skipped: if they are not zeros, it is another clock")
        return tuple(notes)

    def _places(self, wanted: Mapping[str, tuple[int, int]], *, most: int) -> dict[str, list[Place]]:
        """Where in the source the rows of some meters and times stand."""
        plain = {quality.BLANK, quality.CALENDAR, quality.SAME}
        search = {reason: key for reason, key in wanted.items() if reason not in plain}
        found: dict[str, list[Place]] = {reason: [] for reason in search}
        done = 0
        for batch in self.stage.spill.batches() if search else ():
            meter = self.placing.roster.meter[batch["meter"]]
            seconds = self.placing.starts(batch)[0] - self.placing.anchor
            for reason, (number, start) in search.items():
                rows = np.flatnonzero((meter == number) & (seconds == start))[: most - len(found[reason])]
                found[reason] += [self.stage.place(done + int(row)) for row in rows]
            done += len(batch)
        return found

    def _duplicates(self, found: DuplicateError) -> list[str]:
        """Where the two rows stand that contradict each other."""
        places: list[tuple[int, int]] = []
        done = 0
        for batch in self.stage.spill.batches():
            meter = self.placing.roster.meter[batch["meter"]] == found.meter
            there = meter & (self.placing.starts(batch)[0] - self.placing.anchor == found.seconds)
            places += [(done + int(row), int(batch["value"][row])) for row in np.flatnonzero(there)]
            done += len(batch)
        first = next(row for row, value in places if value == found.values[0])
        other = next(row for row, value in places if value == found.values[1] and row != first)
        return [str(self.stage.place(row)) for row in sorted((first, other))]

    def _tenancy_changes(self) -> int | None:
        if self.options.tenancies is None:
            return None
        there = set(self.panel.households)
        inside = range(self.placing.anchor, self.placing.until)
        return sum(1 for household, when in self.options.tenancies if household in there and when in inside)


def _rules(stage: Stage, options: Options, placing: Placing) -> Rules:
    steps = (placing.until - placing.anchor) // (60 * options.minutes)

    def touched(spans: Iterable[tuple[int, int]]) -> Marks:
        """The steps that spans of the wall clock touch."""
        marks, length = np.zeros(steps, dtype=bool), 60 * options.minutes
        for start, stop in spans:
            low, high = (start - placing.anchor) // length, -((placing.anchor - stop) // length)
            marks[max(0, low) : max(0, high)] = True
        return marks

    doubled_spans = [(start - placing.anchor, stop - placing.anchor) for start, stop in placing.clock.doubled()]
    doubled = touched(placing.clock.doubled())
    closed = touched([*placing.clock.skipped(), *placing.ambiguous(), *options.calendar])
    if options.fold == "calendar":
        closed |= doubled
    return Rules(
        steps=steps,
        minutes=options.minutes,
        is_power=stage.format.is_power,
        micro=MICRO[options.unit],
        domain=options.domain,
        closed=closed,
        doubled=np.flatnonzero(doubled & ~closed),
        doubled_spans=tuple(doubled_spans),
        fold=options.fold,
        instants=placing.knows_second_showings,
        on_duplicate=options.on_duplicate,
    )


def _check_size(households: int, steps: int, n_rows: int, least: int) -> None:
    """Refuse a grid that rows hardly fill: one wrong date would make it decades long."""
    if households * steps > 5_000_000 and n_rows < households * steps // least:
        raise ReadingsError(
            f"{n_rows} rows would fill less than 1 in {least:,} of {households} households and {steps} steps.",
            hint="A date may be wrong; otherwise give anchor= and until= for the span that counts.",
        )


def _source(given: Readings, stage: Stage) -> dict[str, Any]:
    """What a panel was made from: its format, and a digest of its bytes or, without bytes, of its rows."""
    digest = hashlib.sha256()
    digests = [part.digest() for part in given.parts]
    for each in digests:
        digest.update((each or "").encode())
    if None in digests:
        for batch in stage.spill.batches():
            digest.update(batch.tobytes())
    return {"format": given.format.name, "parts": len(given.parts), "sha256": digest.hexdigest()}


def _target(out: str | Path) -> Path:
    instance(out, (str, Path), "out", hint="Give a file, such as homes.parquet.", error=ReadingsError)
    # Where a link leads, so that the link stays one.
    path = Path(out).resolve()
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ReadingsError(f"{path.name} cannot be written there.", hint="Give a file in a folder that exists.")
    return path
