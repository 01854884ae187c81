"""Job: an import whose rows are staged, on its way to a panel, and the account of what became of every row.

The local engine does all of it; others sort rows in tasks, and bring their counts here.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from diurnal.errors import ReadingsError, UnitError
from diurnal.readings import quality
from diurnal.readings.data import Arrays, Marks
from diurnal.readings.engines import local
from diurnal.readings.formats.base import MICRO
from diurnal.readings.grid import Grid
from diurnal.readings.kept import Writer
from diurnal.readings.options import Options
from diurnal.readings.panel import Panel
from diurnal.readings.placing import Placing, is_filled
from diurnal.readings.quality import Quality
from diurnal.readings.reasons import words_of
from diurnal.readings.register import EPOCH
from diurnal.readings.resampling import DuplicateError, Resampled, Rules
from diurnal.readings.source import Readings
from diurnal.readings.stage import Place, Stage

MANY = 100
"""Of fewer rows above the domain it may be one broken meter, and no wrong unit."""


@dataclass(repr=False)
class Job:
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
    def of(cls, given: Readings, options: Options, stage: Stage, n_rows: int) -> Job:
        """Find out who is there, when the panel begins and ends, and by which rules rows become readings.

        Args:
            given: The source.
            options: What the user said.
            stage: Its rows; or, if these are elsewhere, one row at least for every meter and time.
            n_rows: How many rows there are.
        """
        placing = Placing.of(stage, options)
        is_here = given.engine is None
        rules = _rules(stage, options, placing, orders=options.from_first_row and is_here)
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
            groups=placing.roster.groups(stage.groups, options.groups),
            calendar=frozenset(np.flatnonzero(rules.closed).tolist()),
            domain=options.domain,
        )
        return cls(given, options, stage, n_rows, placing, rules, panel)

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
            raise ReadingsError("duplicate-values", places=" and ".join(self._duplicates(cause))) from None
        self.check_some()

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
        for batch in self.stage.spill.batches() if search else ():
            meter = self.placing.roster.meter[batch["meter"]]
            seconds = self.placing.starts(batch)[0] - self.placing.anchor
            for reason, (number, start) in search.items():
                rows = np.flatnonzero((meter == number) & (seconds == start))
                if reason not in found and rows.size:
                    found[reason] = self.stage.place(done + int(rows[0]))
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


def _rules(stage: Stage, options: Options, placing: Placing, *, orders: bool) -> Rules:
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
        orders=orders,
    )


def _check_size(households: int, steps: int, n_rows: int, least: int) -> None:
    """Refuse a grid that rows hardly fill: one wrong date would make it decades long."""
    if not is_filled(households, steps, n_rows, least):
        raise ReadingsError("panel-too-sparse", rows=n_rows, least=least, households=households, steps=steps)


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
