"""Importing: from what a custodian has to a panel.

    homes = dn.read("ausgrid.csv.gz")
    panel = dn.panel(homes, period="1d", out="homes.parquet")
    print(panel.quality.table())

`read` finds the parts of a source and their format, and reads nothing beyond what tells the format. `panel` reads
every row once into a buffer of integers, puts it in its place on the panel's grid, and resamples household by
household. Either all of that succeeds, or there is an error and nothing else.

Rows come in any order. One pass puts them into buckets of whole households in a file without a name; then each
bucket, small enough for memory, is resampled on its own. Memory depends on the bucket's size, not on the number of
rows. The design had DuckDB number the households. Arrow's own dictionaries do that while a file is read, and were
faster (docs/performance.md has both in one run), so DuckDB is a peer in tests and benchmarks, and not a part.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from diurnal.errors import DiurnalError, ReadingsError, UnitError
from diurnal.exact import instance, whole
from diurnal.place import check_place
from diurnal.private import Private
from diurnal.readings import engines, quality
from diurnal.readings.data import Marks
from diurnal.readings.engines import Engine
from diurnal.readings.formats import MICRO, Aside, Format, Rows
from diurnal.readings.formats.ausgrid import Ausgrid
from diurnal.readings.formats.greenbutton import GreenButton
from diurnal.readings.formats.long import Long
from diurnal.readings.formats.nem12 import Nem12
from diurnal.readings.formats.umass import UMass
from diurnal.readings.formats.wide import Wide
from diurnal.readings.grid import EARLIEST, EPOCH, LATEST, Grid, is_zone, minutes_of, slots_of
from diurnal.readings.kernels import Progress, in_order
from diurnal.readings.panel import Arrays, Panel
from diurnal.readings.panel_file import Writer, keeping, open_panel
from diurnal.readings.quality import Quality, words_of
from diurnal.readings.resampling import (
    PLACED,
    DuplicateError,
    Fold,
    OnDuplicate,
    Placing,
    Resampled,
    Rules,
    is_filled,
    resample,
)
from diurnal.readings.row_buffer import Place, RowBuffer, Spill
from diurnal.readings.side_tables import (
    MeterList,
    calendar_list,
    group_list,
    meter_list,
    tenancy_list,
    wall_seconds,
)
from diurnal.readings.source import ParquetFile, Part, parts_of

FORMATS: dict[str, type[Format]] = {each.name: each for each in (Ausgrid, Nem12, GreenButton, UMass, Long, Wide)}
"""By name, in the order in which `auto` asks them: the particular before the general."""

SUPPLY_KW = 100
"""A home's supply in kW: readings beyond it are set aside unless a domain is given."""

MANY = 100
"""Of fewer rows above the domain it may be one broken meter, and no wrong unit."""

BUCKET = 1 << 20
"""How many rows or readings a bucket holds, about: some 50 MB while it is worked on."""


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
        format: A format by its name, such as "nem12" or "long", or a `Format` of your own; recognised unless given.
        database: The address of a database, such as sqlite:///meters.db or postgresql+psycopg://host/name.
        **options: What the format takes, such as unit="Wh", minutes=15, label="end", zone="Europe/Paris",
            time_format="%d/%m/%Y %H:%M"; channel="net"; household="id", time="ts", value="kwh", groups=["suburb"].

    Raises:
        ReadingsError: There is no such source, or no format that fits it.
    """
    parts = parts_of(source, database)
    found, why = format_of(format, parts, options)
    return Readings(parts=tuple(parts), format=found, recognised=why)


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
        with closing(RowBuffer(folder, given.format)) as buffer:
            # A meter in another century is set aside with all that is outside of these steps.
            buffer.any_date = steps is not None
            _fill(buffer, given)
            run = ImportRun.of(given, options, buffer, len(buffer))
            if target is None:
                made = run.in_memory()
                return made if like is None else made.on_grid(like)
            with keeping(target) as partial:
                run.into_file(partial)
            return open_panel(target)
    except OSError as cause:
        raise ReadingsError("rows-not-sorted", reason=cause.strerror) from None


@dataclass(frozen=True, kw_only=True)
class Readings(Private):
    """A source of readings and how it is read; no row is read before a panel is made of it."""

    parts: tuple[Part, ...] = field(repr=False)
    """The files, or the frame, or the query."""
    format: Format
    """Its format, with everything that was recognised or said about it."""
    recognised: str
    """By what the format was recognised."""

    @property
    def engine(self) -> Engine | None:
        """The engine that reads it where it lies; None if it is read here."""
        name = self.parts[0].engine
        return None if name is None else engines.named(name)

    def __str__(self) -> str:
        name = f"{len(self.parts)} files" if len(self.parts) > 1 else self.parts[0].name
        return f"{name}: format {self.format.name} ({self.recognised})"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a panel is to be made."""

    minutes: int
    """The length of a step."""
    slots: int
    """How many steps a cycle has."""
    unit: str
    """What one whole number is."""
    zone: str
    """The wall clock of the homes."""
    anchor: int | None
    """When step 0 begins, in seconds of the wall clock since 1970; the first complete local day unless given."""
    from_first_row: bool
    """Whether step 0 is that of the first row instead, however little of its day there is."""
    until: int | None
    """When the last step ends; after the last row unless given."""
    window: tuple[int, int] | None
    """Between which times rows may start that are for a stream; others are set aside, and stretch no panel."""
    domain: tuple[int, int]
    """Between which values a reading lies, in whole units."""
    calendar: tuple[tuple[int, int], ...]
    """Spans of the wall clock whose true totals are public."""
    fold: Fold
    """What becomes of the hour that a clock change doubles."""
    on_duplicate: OnDuplicate
    """What to do with different values for one meter and time."""
    meters: MeterList | None
    """Which household each meter belongs to."""
    groups: Mapping[str, Mapping[str, str]] = field(repr=False)
    """For each partition the group of each household."""
    tenancies: tuple[tuple[str, int], ...] | None = field(repr=False)
    """Households and when their tenancy changed."""

    @classmethod
    def of(
        cls,
        *,
        period: str | int,
        interval: str | int,
        unit: str,
        zone: str | None,
        anchor: str | None,
        from_first_row: bool,
        until: str | None,
        window: tuple[int, int] | None,
        domain: tuple[int, int] | None,
        calendar: str | Path | Iterable[tuple[str, str]] | None,
        fold: Fold,
        on_duplicate: OnDuplicate,
        meters: str | Path | Mapping[str, str] | None,
        groups: str | Path | Mapping[str, Mapping[str, str]] | None,
        tenancies: str | Path | Mapping[str, str] | None,
    ) -> Options:
        """What the user said, read and checked.

        Raises:
            ReadingsError: Some of it makes no sense.
        """
        minutes = minutes_of(interval)
        if unit not in ("Wh", "kWh"):
            raise ReadingsError("panel-unit-unknown", unit=unit)
        return cls(
            minutes=minutes,
            slots=slots_of(period, minutes),
            unit=unit,
            zone=_zone(zone),
            anchor=_wall(anchor, "anchor"),
            from_first_row=from_first_row,
            until=_wall(until, "until"),
            window=window,
            domain=_domain(domain, unit, minutes),
            calendar=() if calendar is None else tuple(calendar_list(calendar)),
            fold=_one_of(fold, "fold", ("calendar", "first", "mean")),
            on_duplicate=_one_of(on_duplicate, "on_duplicate", ("refuse", "first", "last")),
            meters=None if meters is None else meter_list(meters),
            groups={} if groups is None else group_list(groups),
            tenancies=None if tenancies is None else tuple(tenancy_list(tenancies)),
        )


@dataclass(repr=False)
class ImportRun:
    """An import whose rows are buffered, so that roster, grid and rules are known."""

    given: Readings
    options: Options
    buffer: RowBuffer
    n_rows: int
    placing: Placing
    rules: Rules
    panel: Panel
    """The panel without its readings."""
    set_aside: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, given: Readings, options: Options, buffer: RowBuffer, n_rows: int) -> ImportRun:
        """Find out who is there, when the panel begins and ends, and by which rules rows become readings.

        Args:
            given: The source.
            options: What the user said.
            buffer: Its rows; or, if these are elsewhere, one row at least for every meter and time.
            n_rows: How many rows there are.
        """
        placing = Placing.of(buffer, options)
        is_here = given.engine is None
        rules = _rules(buffer, options, placing, orders=options.from_first_row and is_here)
        # In the lake a gap costs next to nothing; here it costs memory.
        least = 100 if is_here else 10_000
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
            groups=placing.roster.groups(buffer.groups, options.groups),
            calendar=frozenset(np.flatnonzero(rules.closed).tolist()),
            domain=options.domain,
        )
        return cls(given, options, buffer, n_rows, placing, rules, panel)

    def in_memory(self) -> Panel:
        """The panel in memory."""
        shape = (self.rules.steps, len(self.panel.households))
        readings, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
        orders = np.zeros(shape, dtype=np.uint8) if self.rules.orders else None
        for first, block in self._blocks(None):
            place = slice(first, first + len(block.readings))
            readings[:, place], present[:, place] = block.readings.T, block.present.T
            if orders is not None and block.orders is not None:
                orders[:, place] = block.orders.T
        return replace(self.panel, data=Arrays(readings, present, orders), quality=self.quality())

    def into_file(self, path: Path) -> None:
        """The panel as a file."""
        with Writer(path, self.panel, self.rules.steps) as writer:
            for first, block in self._blocks(path.parent):
                writer.write(first, block.readings, block.present)
            writer.finish(self.quality(), source=_source(self.given, self.buffer))

    def _blocks(self, folder: Path | None) -> Iterator[tuple[int, Resampled]]:
        """The readings of the roster, some households at a time, each counted as it comes."""
        try:
            for first, block in self._sorted(folder):
                self._count(block)
                yield first, block
        except DuplicateError as cause:
            raise ReadingsError("duplicate-values", places=" and ".join(self._duplicates(cause))) from None
        self.check_some()

    def _sorted(self, folder: Path | None) -> Iterator[tuple[int, Resampled]]:
        """The readings of whole households in the roster's order, from buffered rows in any order.

        Args:
            folder: Where to spill; the system's folder for such files unless given.

        Yields:
            The number of the first household of a block, and the block's readings.
        """
        n_rows, roster = len(self.buffer), self.placing.roster
        n = len(roster.households)
        width = max(1, BUCKET * n // max(n_rows, len(roster.keys) * self.rules.steps, 1))
        bucket_of = np.repeat(np.arange(n) // width, np.diff(roster.starts))
        bounds = [(first, min(first + width, n)) for first in range(0, n, width)]
        with Spill(folder, PLACED, len(bounds)) as spill:
            with Progress("Sorting rows", n_rows) as bar:
                for batch in self.buffer.spill.batches():
                    placed, outside = self.placing.place(batch)
                    self.set_aside.update(outside)
                    spill.add(placed, bucket_of[placed["meter"]])
                    bar.advance(len(batch))

            def block(number: int) -> tuple[int, Resampled]:
                first, stop = bounds[number]
                rows, before = spill.bucket(number), int(roster.starts[first])
                rows["meter"] -= before
                try:
                    return first, resample(rows, roster.meters(first, stop), self.rules).moved(before)
                except DuplicateError as cause:
                    raise DuplicateError(cause.meter + before, cause.seconds, cause.values) from None

            with Progress("Making readings", len(bounds)) as bar:
                for made in in_order(block, range(len(bounds))):
                    bar.advance(1)
                    yield made

    def check_some(self) -> None:
        """Refuse a panel without any reading, and one of which most was in another unit, surely."""
        above, kept = self.tally["above"], self.tally["kept"]
        # Readings for a stream are held against its plan, which knows more than a domain (curator/taking.py): here,
        # only where none is left to be looked at.
        most = above >= MANY and above > kept and not self.rules.orders
        if most or (not self.tally["readings"] and 2 * above > sum(self.set_aside.values())):
            raise self.given.parts[0].fault(
                "unit-outside-domain",
                kind=UnitError,
                rows=above,
                most=self.options.domain[1],
                unit=self.options.unit,
                kept=kept,
                taken=self.given.format.unit,
            )
        if not self.tally["readings"]:
            counts = ", ".join(f"{count} {words_of(reason)}" for reason, count in sorted(self.set_aside.items()))
            raise self.given.parts[0].fault("no-reading-left", counts=counts)

    def _count(self, block: Resampled) -> None:
        self.set_aside += block.counts
        for reason, example in block.examples.items():
            self.examples.setdefault(reason, example)
        self.tally += quality.tally(block.readings, block.present, 1440 // self.rules.minutes)
        self.tally["kept"] += block.kept
        self.tally["above"] += block.above

    def quality(self) -> Quality:
        """What became of every row."""
        places = self._places(self.examples)
        n, closed = len(self.panel.households), len(self.panel.calendar)
        return Quality(
            rows=self.n_rows + sum(self.buffer.asides.values()),
            kept=self.tally["kept"],
            set_aside=dict(sorted((self.set_aside + self.buffer.asides).items())),
            places={reason: str(place) for reason, place in sorted({**places, **self.buffer.aside_places}.items())},
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
        length = "as long as it says" if self.buffer.mixed else f"{self.placing.minutes} minutes"
        notes = [
            str(self.given),
            f"a row is {length}, in {rows.unit}, by the clock of {rows.zone or options.zone}",
            f"a reading is {options.minutes} minutes, in {options.unit} from {options.domain[0]} to "
            f"{options.domain[1]}, by the clock of {options.zone}",
        ]
        if options.meters is not None:
            unheard = set(options.meters.households.values()) - set(self.panel.households)
            notes += [f"{len(unheard)} listed households have no row at all"] if unheard else []
        notes += rows.notes()
        if self.set_aside[quality.NEVER]:
            notes.append("rows claim an hour that their clock skipped: if they are not zeros, it is another clock")
        return tuple(notes)

    def _places(self, wanted: Mapping[str, tuple[int, int]]) -> dict[str, Place]:
        """Where in the source the first row of each of some meters and times stands, as far as there is one."""
        plain = {quality.BLANK, quality.CALENDAR, quality.SAME}
        search = {reason: key for reason, key in wanted.items() if reason not in plain}
        found: dict[str, Place] = {}
        done = 0
        for batch in self.buffer.spill.batches() if search else ():
            meter = self.placing.roster.meter[batch["meter"]]
            seconds = self.placing.starts(batch)[0] - self.placing.anchor
            for reason, (number, start) in search.items():
                rows = np.flatnonzero((meter == number) & (seconds == start))
                if reason not in found and rows.size:
                    found[reason] = self.buffer.place(done + int(rows[0]))
            done += len(batch)
        return found

    def _duplicates(self, found: DuplicateError) -> list[str]:
        """Where the two rows stand that contradict each other."""
        places: list[tuple[int, int]] = []
        done = 0
        for batch in self.buffer.spill.batches():
            meter = self.placing.roster.meter[batch["meter"]] == found.meter
            there = meter & (self.placing.starts(batch)[0] - self.placing.anchor == found.seconds)
            places += [(done + int(row), int(batch["value"][row])) for row in np.flatnonzero(there)]
            done += len(batch)
        first = next(row for row, value in places if value == found.values[0])
        other = next(row for row, value in places if value == found.values[1] and row != first)
        return [str(self.buffer.place(row)) for row in sorted((first, other))]

    def _tenancy_changes(self) -> int | None:
        if self.options.tenancies is None:
            return None
        there = set(self.panel.households)
        inside = range(self.placing.anchor, self.placing.until)
        return sum(1 for household, when in self.options.tenancies if household in there and when in inside)


def format_of(format: str | Format, parts: Sequence[Part], options: dict[str, Any]) -> tuple[Format, str]:  # noqa: A002
    """The format of a source, and by what it was recognised.

    Raises:
        ReadingsError: No format recognises the source, or a part of it is of another one.
    """
    if isinstance(format, Format):
        if options:
            raise ReadingsError("format-options")
        return format.settle(parts[0]), "as you say"
    if format != "auto":
        return format_named(format, options).settle(parts[0]), "as you say"
    check_options(options)
    if isinstance(parts[0], ParquetFile) and parts[0].has_metadata(b"diurnal"):
        raise parts[0].fault("panel-already-kept")
    refused: ReadingsError | None = None
    for kind in FORMATS.values():
        if not set(options) <= set(kind.__dataclass_fields__):
            continue
        try:
            candidate = kind(**options)
        except ReadingsError as cause:
            # What one format refuses another may take, such as unit='W' or household='id'.
            refused = refused or cause
            continue
        reason = candidate.recognises(parts[0])
        if reason is not None:
            settled = candidate.settle(parts[0])
            _check_all(settled, parts)
            return settled, reason
    if refused is not None:
        raise refused
    raise parts[0].fault("format-unrecognised", formats=", ".join(FORMATS))


def format_named(name: str, options: dict[str, Any]) -> Format:
    """The format of a name.

    Raises:
        ReadingsError: There is none of that name, or it has no such option.
    """
    kind = FORMATS.get(name)
    if kind is None:
        raise ReadingsError("format-unknown", name=name, choices=", ".join(FORMATS))
    unknown = set(options) - set(kind.__dataclass_fields__)
    if unknown:
        raise ReadingsError(
            "format-unknown-option",
            format=name,
            option=sorted(unknown)[0],
            choices=", ".join(kind.__dataclass_fields__),
        )
    return kind(**options)


def check_options(options: dict[str, Any]) -> None:
    """Refuse options that no format has.

    Raises:
        ReadingsError: No format has all of them.
    """
    if not any(set(options) <= set(kind.__dataclass_fields__) for kind in FORMATS.values()):
        every = {name for kind in FORMATS.values() for name in kind.__dataclass_fields__}
        raise ReadingsError("option-unknown", options=", ".join(sorted(options)), choices=", ".join(sorted(every)))


def rows_of(format_: Format, part: Part) -> Iterator[Rows | Aside]:
    """What a format reads; a format of somebody's own may fail in ways of its own."""
    rows, failure = format_.read(part), None
    while failure is None:
        try:
            given = next(rows, None)
        except Exception as cause:
            if isinstance(cause, (DiurnalError, OSError, MemoryError)) or type(format_) in FORMATS.values():
                raise
            failure = type(cause).__name__
        else:
            if given is None:
                return
            yield given
    # Not from what failed: its message may show what it could not read.
    raise part.fault("format-reader-failed", format=format_.name, reason=failure)


def _check_all(format_: Format, parts: Sequence[Part]) -> None:
    for part in parts[1:]:
        if format_.recognises(part) is None:
            raise part.fault("format-mixed", format=format_.name, first=parts[0].name)


def _window(grid: Grid, steps: range) -> tuple[int, int]:
    """When some steps begin and end, in seconds of the wall clock, as far as there are panels at these times."""
    low, high = ((grid.wall(step) - EPOCH) // timedelta(seconds=1) for step in (steps.start, steps.stop))
    return max(low, EARLIEST), min(high, LATEST)


def _fill(buffer: RowBuffer, given: Readings) -> None:
    with Progress("Reading rows") as bar:
        for part in given.parts:
            for rows in rows_of(given.format, part):
                before = len(buffer)
                buffer.add(part, rows)
                bar.advance(len(buffer) - before)
            buffer.flush()
    if not len(buffer):
        raise given.parts[0].fault("source-no-rows")


def _target(out: str | Path) -> Path:
    instance(out, (str, Path), "out", example="'homes.parquet'", error=ReadingsError)
    path = Path(out).absolute()
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ReadingsError("output-not-writable", name=path.name)
    check_place(path)
    return path


def _domain(domain: tuple[int, int] | None, unit: str, minutes: int) -> tuple[int, int]:
    if domain is None:
        return 0, SUPPLY_KW * minutes * 10**9 // (60 * MICRO[unit])
    if isinstance(domain, str) or not isinstance(domain, Iterable) or len(bounds := tuple(domain)) != 2:
        raise ReadingsError("domain-not-pair")
    low, high = (whole(bound, "domain", least=-(10**12), error=ReadingsError) for bound in bounds)
    if low > high:
        raise ReadingsError("domain-order")
    return low, high


def _zone(zone: str | None) -> str:
    if zone is None or not is_zone(zone):
        raise ReadingsError("zone-missing" if zone is None else "panel-zone-unknown", zone=zone)
    return zone


def _wall(text: str | None, name: str) -> int | None:
    if text is None:
        return None
    seconds = wall_seconds(text)
    if seconds is None or seconds % 60 or not EARLIEST <= seconds < LATEST:
        raise ReadingsError("time-not-local", name=name)
    return seconds


def _one_of(value: Any, name: str, values: tuple[str, ...]) -> Any:
    if value not in values:
        raise ReadingsError("argument-unknown-value", name=name, choices=", ".join(values), example=values[0])
    return value


def _rules(buffer: RowBuffer, options: Options, placing: Placing, *, orders: bool) -> Rules:
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
        is_power=buffer.format.is_power,
        micro=MICRO[options.unit],
        domain=options.domain,
        closed=closed,
        doubled=np.flatnonzero(doubled & ~closed),
        doubled_spans=tuple(doubled_spans),
        fold=options.fold,
        instants=placing.knows_second_showings,
        on_duplicate=options.on_duplicate,
        orders=orders,
    )


def _check_size(households: int, steps: int, n_rows: int, least: int) -> None:
    """Refuse a grid that rows hardly fill: one wrong date would make it decades long."""
    if not is_filled(households, steps, n_rows, least):
        raise ReadingsError("panel-too-sparse", rows=n_rows, least=least, households=households, steps=steps)


def _source(given: Readings, buffer: RowBuffer) -> dict[str, Any]:
    """What a panel was made from: its format, and a digest of its bytes or, without bytes, of its rows."""
    digest = hashlib.sha256()
    digests = [part.digest() for part in given.parts]
    for each in digests:
        digest.update((each or "").encode())
    if None in digests:
        for batch in buffer.spill.batches():
            digest.update(batch.tobytes())
    return {"format": given.format.name, "parts": len(given.parts), "sha256": digest.hexdigest()}
