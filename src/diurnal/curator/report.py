"""What comes out of a stream: rows, what became of readings that were given, and how a store stands."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from diurnal.errors import InputError
from diurnal.exact import decimal, decimal_up, text
from diurnal.private import Private, PrivateDict, private
from diurnal.readings.reasons import words_of


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of released rows, in every format: files, answers, pages and tables are made of these."""

    name: str
    """The attribute of `Report`, the key of JSON, and the heading of CSV."""
    kind: type[int] | type[str] = str
    """What it holds. Decimals are text: a float would not be the released value."""
    description: str
    """What it is."""
    example: int | str
    """What it can be."""
    heading: str = ""
    """What it is called in tables for people, `{unit}` filled in; it is not in them unless given."""
    is_number: bool = False
    """Whether it stands to the right in them."""


COLUMNS = (
    Column(name="step", kind=int, description="The number of the step.", example=4368),
    Column(name="time", description="When the step begins.", example="2022-09-30T00:00:00+10:00", heading="time"),
    Column(name="group", description="Whose value it is.", example="all", heading="series"),
    Column(
        name="value",
        description="A decimal in text: a float would not be what was released.",
        example="412.3",
        heading="value ({unit})",
        is_number=True,
    ),
    Column(name="unit", description="What the value is in.", example="Wh"),
    Column(
        name="std",
        description="The standard deviation of its noise.",
        example="14.2",
        heading="std",
        is_number=True,
    ),
    Column(
        name="plan",
        description="The stream's name: the plan's hash.",
        example="3a1b3149bb7fe87d60ac2e3819c5f46c1334df1fd2bcf7e36636ec382efb9fb0",
    ),
)
"""The columns of a released row, in order."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One released row. Public; everything computed from rows is post-processing and costs nothing."""

    step: int
    """The step."""
    time: str
    """When it begins, with its offset."""
    group: str
    """The group, `all` for the whole roster; a histogram's bin follows its group."""
    series: str = ""
    """The histogram's bin by itself."""
    value: str
    """The reported value as a decimal."""
    unit: str
    """What it counts."""
    std: str
    """The standard deviation of its noise, in the same unit. Bias from clipping or a basis is not in it."""
    plan: str
    """The hash of the plan it is released under."""
    numerator: Fraction
    """F, the value before it was divided; exact."""
    denominator: int
    """q, what it was divided by."""
    deviation: float
    """`std` as a number, of the numerator."""

    @property
    def exact(self) -> Fraction:
        """The value, not rounded."""
        return self.numerator / self.denominator

    def to_json(self) -> dict[str, Any]:
        """The keys others may rely on."""
        return {column.name: getattr(self, column.name) for column in COLUMNS}


@dataclass(frozen=True)
class Form:
    """How rows with the same noise are written: decimals as fine as a thousandth of it."""

    deviation: float
    denominator: int
    places: int
    std: str

    @classmethod
    def of(cls, deviation: float, denominator: int) -> Form:
        """The form of rows whose sums have noise of a standard deviation, and are divided by a denominator."""
        shown = deviation / denominator
        places = max(0, 3 - math.floor(math.log10(shown))) if shown > 0 else 3
        return cls(deviation, denominator, places, decimal(Fraction(shown), places))

    def to_json(self) -> list[Any]:
        """Plain data, the float to its last bit."""
        return [self.deviation.hex(), self.denominator, self.places, self.std]

    @classmethod
    def from_json(cls, content: Sequence[Any]) -> Form:
        """The form that `to_json` wrote."""
        deviation, denominator, places, std = content
        return cls(float.fromhex(deviation), denominator, places, std)

    def write(self, numerator: Fraction, **names: Any) -> Report:
        """A row."""
        return Report(
            numerator=numerator,
            denominator=self.denominator,
            deviation=self.deviation,
            value=decimal(numerator, self.places, over=self.denominator),
            std=self.std,
            **names,
        )


def total(reports: Iterable[Report], *, n_groups: int, denominator: int) -> list[Report]:
    """The whole roster's rows, from the rows of its groups. Free: nothing is asked twice.

    Groups have independent noise, so variances add up.

    Args:
        reports: Rows of one stream, every group of a step.
        n_groups: How many groups there are.
        denominator: What the whole roster's sum is divided by.
    """
    parts: dict[tuple[int, str], list[Report]] = defaultdict(list)
    for row in reports:
        parts[row.step, row.series].append(row)
    for (step, _), rows in parts.items():
        if len(rows) != n_groups or len({(row.plan, row.group) for row in rows}) != n_groups:
            raise InputError("total-groups", groups=n_groups, step=step)
    return [_total(parts[at], denominator) for at in sorted(parts)]


def _total(rows: list[Report], denominator: int) -> Report:
    first = rows[0]
    form = Form.of(math.hypot(*(row.deviation for row in rows)), denominator)
    return form.write(
        sum((row.numerator for row in rows), Fraction(0)),
        step=first.step,
        time=first.time,
        group=f"total {first.series}".strip(),
        series=first.series,
        unit=first.unit,
        plan=first.plan,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome(Private):
    """What became of readings in one stream. For who gave them, and the custodian."""

    stream: str
    """The stream's name."""
    again: bool = False
    """Whether they had been taken before, by their name: then nothing has happened."""
    new: tuple[Report, ...] = ()
    """The rows that were released with them, in order."""
    old: tuple[Report, ...] = ()
    """The rows of their steps that had been released before: other readings for these are not taken."""
    taken: int = 0
    """How many readings were taken."""
    waiting: int = 0
    """How many of these are ahead of what the other homes have sent: they wait for them, and close nothing."""
    set_aside: Mapping[str, int] = field(default_factory=dict)
    """What was not taken, by reason."""
    open: int = 0
    """How many of their steps are still open."""
    units: str = "not known"
    """Whether the readings, held against what is public, are plausible, too small or too large."""

    @property
    def rows(self) -> list[Report]:
        """All rows of their steps, and of earlier steps that closed with them, in order."""
        return sorted([*self.old, *self.new], key=lambda row: row.step)

    @property
    def reports(self) -> int:
        """How many rows were released with them."""
        return len(self.new)


@dataclass(frozen=True, kw_only=True, repr=False)
class StreamStatus(Private):
    """How one stream stands."""

    plan: str
    """The plan's hash."""
    level: str
    """Its level."""
    households: int
    """How many households it uses."""
    groups: int
    """How many groups it reports."""
    first_step: int
    """The first step it may report."""
    last_step: int | None
    """The last it has reported."""
    last_time: str | None
    """When that began."""
    end: int | None
    """The step from which on it is stopped."""
    open_steps: int
    """How many steps are held."""
    stray_steps: int
    """How many of them are ahead of what the other homes have sent: they wait, and close nothing."""
    held_since: str | None
    """When readings of the oldest open cycle began to come; None where nothing is open."""
    closes: str | None
    """When the oldest open cycle is closed at the latest, with what is there."""
    overdue: int
    """How many cycles are past their deadline, and still open: nothing closes them here."""
    acknowledged: str | None
    """What was acknowledged when it was started: whom and which period a verdict is about."""
    counts: dict[str, int]
    """What was set aside."""
    units: tuple[str, ...] = ()
    """In which directions readings look wrong that came in this process: "too small", "too large"."""
    refused: int = 0
    """How many batches this process has refused for their unit."""
    looked: dict[str, int] = field(default_factory=dict)
    """How many households looked how, batch by batch, in this process: plausible, too small, too large."""


SPENT_FOR = {"pattern": "for a shift of its usual {cycle}", "strong": "for any one reported {cycle}"}
"""What each cap of a budget counts."""

LEVEL_WITHOUT = {"pattern": "c", "strong": "p"}
"""By the cap, the first letter of the level whose plans protect nothing that it counts."""

NOTHING_COUNTED = {
    "pattern": "a usual {cycle} is not protected by plans of level cycle, so nothing is counted",
    "strong": "no {cycle} is protected by plans of level pattern, so nothing is counted: sums of variations are "
    "published exactly",
}
"""By the cap, what is said where it counts nothing although plans report."""

NOT_COUNTED = {
    "pattern": "the usual {cycle} of households in plans of level cycle is not protected, and not counted",
    "strong": "{cycle}s that plans of level pattern report are not protected, and not counted: sums of variations "
    "are published exactly",
}
"""By the cap, what is said where it does not count all that is reported."""


def uncounted(levels: str, spent: Mapping[str, Fraction], *, cycle: str = "cycle") -> dict[str, str]:
    """By cap, what it does not count because some plans do not protect it at all; caps that count all are left out.

    A figure of 0 would look like a loss of 0, where there is no bound on the loss (theory 6.1, 6.8).

    Args:
        levels: The first letters of those of all plans of the store.
        spent: By cap, what the most charged household has lost.
        cycle: What a cycle is called.
    """
    return {
        cap: (NOT_COUNTED if lost else NOTHING_COUNTED)[cap].format(cycle=cycle)
        for cap, lost in spent.items()
        if LEVEL_WITHOUT[cap] in levels
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class Status(Private):
    """How a store stands: prints as a table."""

    head: str
    """The ledger's head with how many erasures and changes of tenancy there were: to be kept, not published."""
    pattern: tuple[Fraction, Fraction]
    """Spent by the most charged household for a shift of its usual cycle, and allowed."""
    strong: tuple[Fraction, Fraction]
    """Spent by the most charged household for any one reported cycle, and allowed."""
    delta: Fraction | None
    """The delta at which Gaussian plans are read; None where there can be none."""
    levels: str
    """The first letters of the levels of all its plans, those behind a fence included."""
    streams: tuple[StreamStatus, ...]
    """Its streams, in the order of their start."""

    def uncounted(self, cycle: str = "cycle") -> dict[str, str]:
        """By cap, what it does not count because some plans do not protect it at all."""
        spent = {"pattern": self.pattern[0], "strong": self.strong[0]}
        return uncounted(self.levels, spent, cycle=cycle)

    def spending(self) -> dict[str, str]:
        """By cap, what is spent of it and what for, or that it counts nothing."""
        without, said = self.uncounted(), {}
        for name, (spent, allowed) in (("pattern", self.pattern), ("strong", self.strong)):
            what = SPENT_FOR[name].format(cycle="cycle")
            at = "" if self.delta is None else f" (at delta {text(self.delta)})"
            figure = f"{decimal_up(spent)} of {text(allowed)} spent by the most charged household, {what}{at}"
            counted = [figure] if spent or name not in without else []
            said[name] = "; ".join([*counted, *([without[name]] if name in without else [])])
        return said

    def to_json(self) -> PrivateDict:
        """Plain data, still private."""
        content: PrivateDict = private(
            {
                "head": self.head,
                "pattern": {"spent": text(self.pattern[0]), "allowed": text(self.pattern[1])},
                "strong": {"spent": text(self.strong[0]), "allowed": text(self.strong[1])},
                "delta": None if self.delta is None else text(self.delta),
                "uncounted": self.uncounted(),
                "streams": [
                    {name: getattr(stream, name) for name in stream.__dataclass_fields__} for stream in self.streams
                ],
            }
        )
        return content

    def __str__(self) -> str:
        lines = [f"head     {self.head}"]
        lines += [f"{name:9}{said}" for name, said in self.spending().items()]
        for stream in self.streams:
            lines += _lines(stream)
        return "\n".join(lines)


def _lines(stream: StreamStatus) -> list[str]:
    state = "running" if stream.end is None else f"stopped at step {stream.end}"
    reached = "nothing reported yet" if stream.last_step is None else f"reported to {stream.last_time}"
    about: list[Any] = [
        f"stream   {stream.plan[:12]}  {stream.level}, {stream.households:,} households, {state}",
        f"         {reached}; {stream.open_steps} step(s) held",
    ]
    if stream.stray_steps:
        about.append(f"         {stream.stray_steps:,} of them ahead of all other homes: is a clock wrong?")
    if stream.held_since is not None:
        about.append(f"         open since {stream.held_since}, closed at the latest at {stream.closes}")
    if stream.overdue:
        about.append(f"         OVERDUE: {stream.overdue:,} cycle(s). Close them: diurnal close")
    about += [f"         UNITS: readings look a thousand times {each}" for each in stream.units]
    about += [f"         {stream.refused:,} batches refused for their unit"] if stream.refused else []
    return about + [f"         {number:,} {words_of(what)}" for what, number in sorted(stream.counts.items())]
