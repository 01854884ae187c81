"""Verdict: what the tests found, in plain words, always both sides: how large, and how sure that it is not zero.

    verdict = dn.check(panel)
    print(verdict)
    verdict.draw("check.svg")
    curator.start(plan, history, acknowledge=verdict.digest)

A verdict never says that cycles have nothing in common: no test can. It says how much was found, and how much would
have been found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from diurnal.errors import InputError, ReadingsError
from diurnal.exact import Number, instance, whole
from diurnal.periodicity import nonlinear as beyond
from diurnal.periodicity.correlation import Correlations, correlations
from diurnal.periodicity.cycles import KEEP, sample, tally
from diurnal.periodicity.evidence import Evidence, evidence, weighed
from diurnal.periodicity.nonlinear import Nonlinear
from diurnal.periodicity.periods import Candidate, candidates, enough, in_words
from diurnal.picture import Pictured
from diurnal.private import Private, PrivateDict, PrivateList, private
from diurnal.readings.panel import Panel

UNTESTED = "untested"
"""What is acknowledged instead of a digest where there is too little data for a verdict."""

VERSION = 1
"""The version of what `to_json` gives."""

LAGS = (1, 2, 3, 7, 14, 28, 91, 182)
"""Lags worth a number in the table."""


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """From where on something is worth saying."""

    largest: float = 0.5
    """abs(c) below which all coefficients are called small; the paper's data stay below."""
    median: float = 0.15
    """abs(c) below which half of them must lie, to be called small; the paper's are 0.13 and 0.07."""
    level: float = 0.05
    """How often chance alone may be taken for more."""
    confidence: float = 0.95
    """How sure the bound on the largest coefficient is."""
    rhythm: float = 0.02
    """By how much cycles so far apart must be more alike than those beside them, to be called a rhythm."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
                raise ReadingsError("argument-not-share", name=name, value=value)
        if self.level < 0.01 or self.confidence > 0.99:
            raise ReadingsError("check-level-range", level=self.level, confidence=self.confidence)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Verdict(Pictured, Private):
    """Whether a panel is almost periodic. Private: prints as a table, for the custodian's eyes."""

    correlations: Correlations
    """How large: the paper's coefficients."""
    evidence: Evidence
    """How sure that they are not zero."""
    nonlinear: Nonlinear | None
    """What is there beyond correlation; None if that was not looked at."""
    not_looked: str
    """Why not."""
    periods: tuple[Candidate, ...]
    """Other lengths, and what they leave."""
    thresholds: Thresholds
    """From where on something is worth saying."""
    subject: str
    """A digest of the roster and the grid that were looked at."""

    @property
    def small(self) -> bool:
        """Whether the paper's criterion is met: all coefficients, and half of them, below the thresholds."""
        found, limit = self.correlations, self.thresholds
        return found.largest < limit.largest and found.median < limit.median

    @property
    def found(self) -> bool:
        """Whether it is clear that coefficients are not all zero."""
        return self.evidence.p_all < self.thresholds.level

    @property
    def words(self) -> str:
        """The verdict in a few words, both sides."""
        size = "small" if self.small else "not small"
        return (
            f"{size}, {'but' if self.small else 'and'} not zero" if self.found else f"{size}, and zero is possible"
        )

    @property
    def rhythm(self) -> int | None:
        """How many cycles apart cycles are more alike than their neighbours, again and again: 7 for a week."""
        return self.correlations.rhythm(self.thresholds.rhythm)

    def sentences(self) -> PrivateList:
        """The verdict in plain sentences, one after the other. Private, as all of it."""
        found, sure, limit = self.correlations, self.evidence, self.thresholds
        meets = "This meets" if self.small else "This does not meet"
        said = [
            f"How large: of {len(found.pairs):,} pairs of cycles the largest correlation is {found.largest:.3f} in "
            f"size, and half of them are below {found.median:.3f}. {meets} the paper's criterion (all below "
            f"{limit.largest:g}, half below {limit.median:g}).",
            self._sure_sentence(),
            f"With {limit.confidence:.0%} confidence every coefficient of such homes is below {sure.bound:.2f} in "
            "size."
            if sure.bound < 1
            else "So few homes give no bound on what coefficients of such homes may be.",
            self._beyond_sentence(),
            self._rhythm_sentence(),
            self._short_sentence(),
            "What cycles have in common is no part of the pattern that is protected: in pattern mode it is "
            "published, and epsilon does not help; strong mode covers it one cycle at a time (theory 6.2).",
        ]
        return PrivateList(sentence for sentence in said if sentence)

    def _sure_sentence(self) -> str:
        sure, level = self.evidence, self.thresholds.level
        share = f"{sure.significant(level):.0%} of the pairs differ from zero at {level:.0%}"
        chance = f"{share}, where chance gives {level:.0%}"
        if self.found:
            return (
                f"How sure: {chance}; {sure.discovered(level):.0%} do with false discoveries held at {level:.0%}, "
                f"{sure.negative(level):.0%} of the significant ones are negative, and p is {_p(sure.p_all)} "
                "for all together. That is more than chance."
            )
        return (
            f"How sure: {chance}, and p is {_p(sure.p_all)} for all together. Nothing beyond chance was found in "
            f"{sure.n_households:,} households; that is no proof that there is nothing."
        )

    def _beyond_sentence(self) -> str:
        seen = self.nonlinear
        if seen is None:
            return f"Beyond correlation: not looked at ({self.not_looked})."
        level = self.thresholds.level
        planted = next(((s, share) for s, share in seen.power if share >= 0.8), seen.power[-1])
        return (
            f"Beyond correlation: distance correlation differs from zero in {seen.significant(level):.0%} of "
            f"{seen.n_pairs} pairs at {level:.0%}, and in {seen.significant_scaled(level):.0%} once each home's "
            f"own size is taken out; planted dependence of strength {planted[0]:g} is seen in {planted[1]:.0%}."
        )

    def _rhythm_sentence(self) -> str:
        lag = self.rhythm
        if lag is None:
            return ""
        grid = self.correlations.grid
        return (
            f"Cycles {lag} apart ({in_words(lag * grid.slots, grid.minutes)}) are more alike than those beside "
            "them: a longer rhythm is left in the variations."
        )

    def _short_sentence(self) -> str:
        k = len(self.correlations.cycles)
        if k >= 20:
            return ""
        return (
            f"There are {k} cycles only: taking away each home's mean alone gives coefficients of about "
            f"{-1 / (k - 1):.2f}, which the evidence allows for and the paper's criterion does not."
        )

    @property
    def digest(self) -> str:
        """What `start` wants acknowledged: which homes and period these are, and what was found."""
        findings = json.dumps(_rounded(self._findings()), sort_keys=True).encode()
        return f"{self.subject}-{hashlib.sha256(findings).hexdigest()[:16]}"

    def to_json(self) -> PrivateDict:
        """The keys others may rely on. Plain data, still private."""
        content: PrivateDict = private({"version": VERSION, **self._findings(), "digest": self.digest})
        return content

    def _findings(self) -> dict[str, Any]:
        found, sure, seen, limit = self.correlations, self.evidence, self.nonlinear, self.thresholds
        lags, means = found.by_lag()
        return {
            "period_slots": found.grid.slots,
            "n_households": found.n_households,
            "n_cycles": len(found.cycles),
            "cycles_left_out": len(found.cycles.left_out),
            "gaps": found.cycles.gaps,
            "max_abs_correlation": found.largest,
            "median_abs_correlation": found.median,
            "correlation_by_lag": {str(lag): mean for lag, mean in zip(lags.tolist(), means.tolist(), strict=True)},
            "rhythm": self.rhythm,
            "share_significant": sure.significant(limit.level),
            "share_discovered": sure.discovered(limit.level),
            "p_all": sure.p_all,
            "p_largest": sure.p_largest,
            "p_share": sure.p_share,
            "bound": sure.bound,
            "households_weighed": sure.n_households,
            "nonlinear": None
            if seen is None
            else {
                "n_pairs": seen.n_pairs,
                "share_significant": seen.significant(limit.level),
                "share_significant_scaled": seen.significant_scaled(limit.level),
                "power": [list(each) for each in seen.power],
            },
            "periods": [each.to_json() for each in self.periods],
            "thresholds": {name: getattr(limit, name) for name in limit.__dataclass_fields__},
            "verdict": self.words,
            "sentences": self.sentences(),
        }

    def __str__(self) -> str:
        found, sure, limit = self.correlations, self.evidence, self.thresholds
        grid, cycles = found.grid, found.cycles
        lags, means = found.by_lag()
        shown = [f"{lag}: {mean:+.2f}" for lag, mean in zip(lags, means, strict=True) if lag in LAGS]
        rows = [
            ("how large", f"largest |c| {found.largest:.3f} (small: below {limit.largest:g})"),
            ("", f"median  |c| {found.median:.3f} (small: below {limit.median:g})"),
            ("how sure", f"{sure.significant(limit.level):.0%} of pairs not zero (by chance {limit.level:.0%})"),
            ("", f"{sure.discovered(limit.level):.0%} if at most {limit.level:.0%} of those found may be false"),
            (
                "",
                f"all together: p {_p(sure.p_all)}; {self._bound_words()}",
            ),
            ("by lag", "  ".join(shown[:4])),
            *([("", "  ".join(shown[4:]))] if shown[4:] else []),
            *([("", f"every {self.rhythm} cycles more alike than beside: a longer rhythm")] if self.rhythm else []),
            ("beyond", self._beyond_row()),
            ("periods", "largest |c|, median |c|"),
            *(("", f"{each.name:12}{_sizes(each)}  {each.why}") for each in self.periods),
        ]
        head = [
            f"Almost periodic with a period of {in_words(grid.slots, grid.minutes)}? For the custodian's eyes.",
            f"{found.n_households:,} households, {len(cycles):,} cycles ({len(cycles.left_out)} left out, "
            f"{cycles.gaps:,} gaps), {len(found.pairs):,} pairs",
            "",
        ]
        body = [f"{name:11}{text}".rstrip() for name, text in rows]
        tail = [
            f"Verdict: what cycles have in common is {self.words}.",
            "It is not protected: in pattern mode it is published with the variations, and",
            "no epsilon helps; strong mode protects it one cycle at a time.",
            "So take a strong plan; a pattern plan only where this may be known.",
            f"digest  {self.digest}",
        ]
        return "\n".join([*head, *body, "", *tail])

    def _bound_words(self) -> str:
        if self.evidence.bound >= 1:
            return "no bound on |c|"
        return f"every |c| below {self.evidence.bound:.2f} ({self.thresholds.confidence:.0%} sure)"

    def _beyond_row(self) -> str:
        seen = self.nonlinear
        if seen is None:
            return f"not looked at: {self.not_looked}"
        return (
            f"{seen.significant_scaled(self.thresholds.level):.0%} of {seen.n_pairs} pairs "
            f"(by chance {self.thresholds.level:.0%}), own size taken out"
        )


def check(
    panel: Panel,
    *,
    periods: str | int | Iterable[str | int] = (),
    thresholds: Thresholds | None = None,
    keep: Number = KEEP,
    seed: int = 0,
) -> Verdict:
    """Test whether a panel is almost periodic with its period, and look for other periods.

    Args:
        panel: Private readings, in memory or in a file.
        periods: Lengths to try besides those found, such as "7d" or 96 slots.
        thresholds: From where on something is worth saying; `Thresholds()` unless given.
        keep: What share of a cycle's readings must be present for it to count.
        seed: For samples and the bootstrap, so that one panel has one verdict. It reaches no release.

    Raises:
        ReadingsError: The readings are not testable, and why.
    """
    instance(panel, Panel, "panel", example="dn.panel(...)", error=ReadingsError)
    chosen = Thresholds() if thresholds is None else thresholds
    instance(chosen, Thresholds, "thresholds", example="Thresholds(largest=0.4)", error=ReadingsError)
    rng = np.random.default_rng(whole(seed, "seed", least=0, error=ReadingsError))
    tallied = tally(panel)
    found = correlations(panel, keep=keep, tallied=tallied)
    # What looks at a sample draws its own from this one: a file is read once for all of them.
    most = max(weighed(panel, found.cycles), beyond.HOUSEHOLDS, enough(panel))
    some = sample(panel, most, rng)
    sure = evidence(some, found.cycles, rng=rng, confidence=chosen.confidence)
    seen, why = _beyond(some, found, rng)
    return Verdict(
        correlations=found,
        evidence=sure,
        nonlinear=seen,
        not_looked=why,
        periods=candidates(some, periods, keep=keep, rng=rng, tallied=tallied),
        thresholds=chosen,
        subject=subject(panel),
    )


def subject(panel: Panel) -> str:
    """The first half of a verdict's digest: a digest of the roster and of the grid with its period."""
    about = json.dumps([panel.households, panel.grid.to_json()]).encode()
    return hashlib.sha256(about).hexdigest()[:16]


def _beyond(panel: Panel, found: Correlations, rng: np.random.Generator) -> tuple[Nonlinear | None, str]:
    try:
        return beyond.nonlinear(panel, found.cycles, rng=rng), ""
    except InputError as error:
        return None, error.why or error.message


def _sizes(candidate: Candidate) -> str:
    if candidate.largest is None or candidate.median is None:
        return f"{'not testable':14}"
    return f"{candidate.largest:.3f}   {candidate.median:.3f} "


def _p(value: float) -> str:
    return "below 0.01" if value < 0.01 else f"{value:.2g}"


def _rounded(value: Any) -> Any:
    """Figures to four places: what is beyond may differ between two computers."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value
