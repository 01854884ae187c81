"""Status: how a store stands, for the custodian: its streams, its budget, and what its caps do not count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from diurnal.exact import decimal_up, text
from diurnal.private import Private, PrivateDict, private
from diurnal.promise.levels import LEVELS, Level
from diurnal.readings.quality import words_of


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


COUNTED: Mapping[str, Callable[[Level], bool]] = {
    "pattern": lambda level: level.learns,
    "strong": lambda level: level.hides_cycle,
}
"""By the cap, whether plans of a level protect what it counts."""


NOTHING_COUNTED = {
    "pattern": "a usual {cycle} is not protected by plans of level {levels}, so nothing is counted",
    "strong": "no {cycle} is protected by plans of level {levels}, so nothing is counted: sums of variations are "
    "published exactly",
}
"""By the cap, what is said where it counts nothing although plans report."""


NOT_COUNTED = {
    "pattern": "the usual {cycle} of households in plans of level {levels} is not protected, and not counted",
    "strong": "{cycle}s that plans of level {levels} report are not protected, and not counted: sums of variations "
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
    found = {}
    for cap, lost in spent.items():
        names = [each.name for each in LEVELS.values() if each.letter in levels and not COUNTED[cap](each)]
        if names:
            words = (NOT_COUNTED if lost else NOTHING_COUNTED)[cap]
            found[cap] = words.format(cycle=cycle, levels=" and ".join(names))
    return found


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
