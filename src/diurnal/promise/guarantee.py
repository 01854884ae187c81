"""Guarantee: what is protected, for whom, with what epsilon, under which assumptions, and what is not.

A guarantee is a value. It is never shown in part: its words carry the neighbours, the numbers, the
assumptions and the limits together (theory 6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from diurnal.exact import decimal_up, text
from diurnal.promise.budget import NOTHING, Loss
from diurnal.promise.composition import Law
from diurnal.promise.levels import LEVELS

SPANS: Mapping[str, int] = {"7 calendar days": 7, "30": 30, "365": 365}
"""Over how many days in a row a change is composed, by what they are called one after the other."""
FORTNIGHT = 14
"""For how many days a home is away, where it is said how often that is told."""
FALSE = 0.01
"""How often it may be told of a home that was not."""
DELTA = Fraction("1e-6")
"""The delta at which many cycles are read together, where the plan says none."""

PUBLIC_BOUNDS = "Bounds, references, bases and the calendar come from public knowledge, not from these readings."
UNSEEN = "The plan, and whether and when to start or stop it, were not chosen by looking at these readings."
ASSUMPTIONS: tuple[str, ...] = (
    "Both data sets have the same roster, the same group memberships, and the same missing and late readings.",
    "All readings of both lie in the declared domain.",
    PUBLIC_BOUNDS,
    "The true totals of reported steps are not published elsewhere.",
    "Every plan over these households is in this one store.",
    "No copy of the store, nor a clone of its machine, reports beside it, and a restored store goes on behind a "
    "fence only.",
    "The operating system's random generator is sound, and SHA-256 does not give away what it digests.",
    UNSEEN,
)

LEARNED = "A history cycle that a pattern plan reported or learned from has that plan's promise only."
"""What no later plan can protect any more."""

Part = Literal["promised", "rests", "not"]
"""What a sentence of a guarantee is: a promise, something it rests on, or a limit."""
LEADS: Mapping[Part, str] = {"promised": "", "rests": "Assumed: ", "not": "Not promised: "}
"""How a sentence begins where it stands in a list with the others."""

FREE = (
    "The reference that profiles are put around is made from the history's exact sums of variations: one low value "
    "a slot, rounded, is given away. It is the same for neighbours, and not hidden."
)
"""What a free reference gives away (theory 5.1)."""

SLACK = (
    "A delta of {delta} is slack beside epsilon: for any conclusion about a household, the probability may grow by "
    "that much more than epsilon allows. It means something only where it is far below 1 in the number of homes."
)
"""What a delta is."""

BASE_LOAD = (
    "The profile is the least reading of each slot over the history: little more than standby load is hidden, and "
    "all above it is published in exact sums. It is formally the same promise, and shows how little that one is."
)
"""What a base load hides (theory 5.1, 6.1)."""


@dataclass(frozen=True, kw_only=True)
class HistoryBound:
    """What a change in one history cycle costs in strong mode (theory 4.3)."""

    base: Loss
    """If no reported cycle of the household was clipped or had a reading set to zero."""
    each: Loss
    """More for each reported cycle that was."""
    horizon: int
    """The number of reported cycles the bound is stated for."""

    def worst(self) -> Loss:
        """If every reported cycle up to the horizon was clipped."""
        times = self.horizon
        return self.base + Loss(
            epsilon=times * self.each.epsilon,
            zcdp=times * self.each.zcdp,
            squares=times * self.each.squares,
        )


@dataclass(frozen=True, kw_only=True)
class CurveRow:
    """What one change of a household costs, larger than a promise's neighbours allow."""

    changes: Literal["cycles", "both", "everything"]
    """All cycles of some days in a row; the periodic component and one cycle; all of it, history too."""
    days: int | None
    """Of how many days in a row; None for one cycle."""
    cycles: int
    """How many reported cycles these can touch."""
    epsilon: Fraction
    """What it costs."""
    delta: Fraction | None
    """At which delta; None if it is pure."""

    def to_json(self) -> dict[str, Any]:
        """Plain data with decimals as strings, epsilon rounded up."""
        delta = None if self.delta is None else text(self.delta)
        return {
            "changes": self.changes,
            "days": self.days,
            "cycles": self.cycles,
            "epsilon": up(self.epsilon),
            "delta": delta,
        }


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A promise in words and numbers. Print it, or take `sentences()` for a form to sign."""

    level: str
    """Its name: one of `LEVELS`."""
    pattern: Loss | None
    """What a change of the periodic component costs; None if it is not protected."""
    cycle: Loss | None
    """What a change in one cycle costs; None if it is not protected."""
    delta: Fraction | None
    """The delta at which Gaussian noise is read."""
    history: HistoryBound | None
    """What a change in one cycle of the history costs; None if it is not covered."""
    groups: bool
    """Whether the promise is for groups that share no household."""
    free: bool = False
    """Whether a reference is made from the history's variations, which neighbours share."""
    base_load: bool = False
    """Whether what is hidden is the least reading of a slot, and not its mean."""
    law: Law | None = None
    """How the loss of one cycle is spread; None if no cycle is protected."""
    stretched: Law | None = None
    """The same where the periodic component changes as well."""
    stretch: Fraction = Fraction(1)
    """How many times further one cycle's variations can move then (theory 3)."""
    cycle_days: Fraction = Fraction(1)
    """How many days a cycle has."""
    from_midnight: bool = True
    """Whether a cycle begins at every midnight, or all cycles begin at one."""

    @property
    def neighbours(self) -> tuple[str, ...]:
        """What may differ between two data sets that the reports can hardly tell apart."""
        return LEVELS[self.level].neighbours

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on."""
        told = {}
        if self.free:
            told[PUBLIC_BOUNDS] = (
                f"{PUBLIC_BOUNDS[:-1]}, but for the free reference, which is made of what both data sets share."
            )
        if LEVELS[self.level].exact_variations:
            # What the check finds at the plan's own period is a function of variations (theory 6.7).
            told[UNSEEN] = f"{UNSEEN[:-1]}, but for their variations, which both data sets share."
        return tuple(told.get(said, said) for said in ASSUMPTIONS)

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised."""
        more = ((FREE, self.free), (BASE_LOAD, self.base_load))
        slack = () if not self.has_delta else (SLACK.format(delta=text(self.delta or Fraction(0))),)
        return (*LEVELS[self.level].limits, *(said for said, meant in more if meant), *slack)

    @property
    def has_delta(self) -> bool:
        """Whether the promise has a delta: whether a layer is Gaussian."""
        return any(loss is not None and loss.zcdp for loss in (self.pattern, self.cycle))

    @property
    def unit(self) -> str:
        """What is protected as one, in standard terms."""
        cycle = {Fraction(1): "day", Fraction(7): "week"}.get(self.cycle_days, "cycle")
        return LEVELS[self.level].unit.format(cycle=cycle)

    @property
    def brief(self) -> str:
        """Its numbers with what each is for, short for its sentences: where a table has no room for them."""
        changes = "" if self.pattern is None else "variations in "
        losses = {
            "a shift of the periodic component": self.pattern,
            f"{changes}any one reported cycle": self.cycle,
        }
        parts = [f"{self._epsilon(loss)} for {what}" for what, loss in losses.items() if loss is not None]
        loose = any(loss is not None and loss.zcdp for loss in losses.values())
        return f"epsilon {', '.join(parts)}{f', delta {text(self.delta or Fraction(0))}' if loose else ''}"

    def curve(self) -> tuple[CurveRow, ...]:
        """What changes cost that are larger than those of neighbours: many cycles, both layers, everything.

        Many cycles are composed by privacy-loss distributions, at the plan's delta or at 1e-6; m times the cycle's
        epsilon would be as true, and larger (theory 3.1).
        """
        if self.law is None or self.cycle is None:
            return ()
        delta = self.delta or DELTA
        rows = [self._row("cycles", days, self.law.composed(self._cycles(days), delta)) for days in SPANS.values()]
        if self.pattern is not None:
            both = self._together(1)
            read_at = self.delta if both.zcdp else None
            rows.append(CurveRow(changes="both", days=None, cycles=1, epsilon=both.at(read_at), delta=read_at))
            rows.append(self._row("everything", max(SPANS.values()), self._everything(max(SPANS.values()))))
        return tuple(rows)

    def _row(self, changes: Literal["cycles", "everything"], days: int, epsilon: Fraction) -> CurveRow:
        delta = self.delta or DELTA
        return CurveRow(changes=changes, days=days, cycles=self._cycles(days), epsilon=epsilon, delta=delta)

    def _cycles(self, days: int) -> int:
        """How many cycles so many calendar days in a row can touch, whichever they are."""
        if not self.from_midnight:
            return math.ceil(days / self.cycle_days) + 1
        if self.cycle_days <= 1:
            return math.ceil(days / self.cycle_days)
        return math.ceil((days - 1) / self.cycle_days) + 1

    def _together(self, cycles: int) -> Loss:
        """The loss if the periodic component changes, and the variations of so many cycles."""
        each, times = self.cycle or NOTHING, self.stretch
        squared = cycles * times**2
        return (self.pattern or NOTHING) + Loss(
            epsilon=cycles * times * each.epsilon, zcdp=squared * each.zcdp, squares=squared * each.squares
        )

    def _everything(self, days: int) -> Fraction:
        """What all that a household ever did costs, with so many days of reports."""
        delta, cycles = self.delta or DELTA, self._cycles(days)
        summed = self._together(cycles).at(delta)
        if self.stretched is None or self.pattern is None or self.pattern.zcdp:
            return summed
        return min(summed, self.pattern.epsilon + self.stretched.composed(cycles, delta))

    def numbers(self) -> dict[str, Any]:
        """The numbers as decimal strings: what each change costs."""
        return {
            "level": self.level,
            "epsilon": self._epsilon(self.pattern),
            "cycle_epsilon": self._epsilon(self.cycle),
            "delta": None if self.delta is None else text(self.delta),
            "zcdp": _zcdp(self.pattern),
            "cycle_zcdp": _zcdp(self.cycle),
            "history_epsilon": self._epsilon(self.history.base if self.history else None),
            "history_epsilon_at_horizon": self._epsilon(self.history.worst() if self.history else None),
            "horizon": self.history.horizon if self.history else None,
        }

    def sentences(self) -> list[str]:
        """Plain sentences, in the order a privacy officer reads them."""
        return [f"{LEADS[kind]}{said}" for kind, part in self.parts().items() for said in part]

    def parts(self) -> dict[Part, list[str]]:
        """The same by what they are: what is promised, what it rests on, what is not promised."""
        return {"promised": self._promised(), "rests": list(self.assumptions), "not": list(self.limits)}

    def _promised(self) -> list[str]:
        losses = [loss for loss in (self.pattern, self.cycle) if loss is not None]
        whom = "Within each group, two" if self.groups else "Two"
        said = [
            f"{whom} data sets are neighbours if {neighbour}: all reports of this plan together, however many "
            f"there are, are then at most {self._promise(loss)} apart."
            for neighbour, loss in zip(self.neighbours, losses, strict=True)
        ]
        said.append(f"In standard terms the unit of privacy is {self.unit}.")
        if self.groups:
            said.append("A household is in one group only, so the groups together cost what one costs.")
        said += self._larger_sentences()
        if LEVELS[self.level].noisy_variations:
            said.append(self._history_sentence())
        return said

    def to_json(self) -> dict[str, Any]:
        """Numbers and words together."""
        curve = [row.to_json() for row in self.curve()]
        return {**self.numbers(), "unit": self.unit, "curve": curve, "sentences": self.sentences()}

    def __str__(self) -> str:
        return "\n".join(f"{i}. {said}" for i, said in enumerate(self.sentences(), start=1))

    def _promise(self, loss: Loss) -> str:
        if loss.zcdp:
            rho = _zcdp(loss)
            return f"(epsilon = {self._epsilon(loss)}, delta = {text(self.delta or Fraction(0))}; zCDP {rho})"
        return f"epsilon = {self._epsilon(loss)}"

    def _epsilon(self, loss: Loss | None) -> str | None:
        return None if loss is None else decimal_up(loss.at(self.delta if loss.zcdp else None))

    def _larger_sentences(self) -> list[str]:
        """What larger changes than those of neighbours cost."""
        if self.law is None:
            return []
        rows, delta = self.curve(), text(self.delta or DELTA)
        spans = [f"{up(row.epsilon)} over {name}" for name, row in zip(SPANS, rows, strict=False)]
        told = math.ceil(100 * self.law.told(self._cycles(FORTNIGHT), FALSE))
        said = [
            f"A change in many reported cycles in a row costs more: epsilon is at most {', '.join(spans)} (at "
            f"delta = {delta}). Somebody who knows everything else, and accepts one false alarm in a hundred, "
            f"detects an absence of {FORTNIGHT} calendar days in up to {told} % of cases. Each end of it that "
            f"falls within a further day adds a day{', and perhaps a cycle' if self.cycle_days > 1 else ''}."
        ]
        return [*said, self._together_sentence(rows[-2], rows[-1], delta)] if self.pattern is not None else said

    def _together_sentence(self, both: CurveRow, everything: CurveRow, delta: str) -> str:
        said = (
            f"The periodic component and one reported cycle together cost at most epsilon = {up(both.epsilon)}"
            f"{'' if both.delta is None else f' (at delta = {delta})'}; all readings of a household over a year of "
            f"reports of this plan, its history included, at most {up(everything.epsilon)} (at delta = {delta})."
        )
        if self.stretch == 1:
            return said
        times, squared = up(self.stretch), up(self.stretch**2)
        return (
            f"{said} A cycle's pure epsilon counts {times} times then, its zCDP {squared} times, for variations "
            "are not clipped to half of the domain."
        )

    def _history_sentence(self) -> str:
        if self.history is None:
            return (
                "A change in one cycle of the history is not covered by a bound of its own: the pattern is learned "
                "from it. It is within what all readings of a household cost, and grows with every reported cycle. "
                f"{LEARNED}"
            )
        return (
            f"A change in one cycle of the history costs at most {self._promise(self.history.base)} if in neither "
            "data set a reported reading of that household is clipped, missing or moved out, and "
            f"{self._promise(self.history.worst())} if in either one is in every one of {self.history.horizon} "
            f"reported cycles. {LEARNED}"
        )


def _zcdp(loss: Loss | None) -> str | None:
    """The zCDP of a loss that is not pure, with what its pure parts are of it: half the square of each."""
    return decimal_up(loss.zcdp + loss.squares / 2) if loss is not None and loss.zcdp else None


def up(value: Fraction) -> str:
    """A number with three digits, never below itself."""
    if not value or value.denominator == 1:
        return text(value)
    places = max(0, 2 - math.floor(math.log10(value)))
    return text(Fraction(math.ceil(value * 10**places), 10**places))
