"""An audit: everything that can be tried against a plan's promise, and what came of it.

    result = audit(plan)              # half a minute
    result = audit(plan, deep=True)   # some minutes: sharper bounds
    print(result)

An audit can find a promise broken. It cannot prove that one is kept: that is what docs/theory.md is for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diurnal.errors import PlanError
from diurnal.picture import Pictured
from diurnal.planning.plan import Plan
from diurnal.promise.mechanisms import Mechanism
from diurnal.readings.kernels import Progress
from diurnal.study.audit import measured
from diurnal.study.audit.exact import Exact, worst_cases
from diurnal.study.audit.measured import ALPHA, UNCLIPPED, WHAT, Bound, Pair, says_what_is_so
from diurnal.study.audit.refusals import refusals
from diurnal.study.audit.statistic import Draws, follows, layers, never_twice, noise
from diurnal.study.audit.transcripts import Canary, Fact, Life, Transcripts, canaries, facts, live, to_audit

VERSION = 1
CYCLES = 3
"""How many cycles a transcript has."""
BATCH = 100
"""How many copies of a canary one curator has."""
TRIES = 200
"""How many households at random are held against each other in closed form."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is tried."""

    copies: int
    """Transcripts of each of the worst canaries, in each of its data sets."""
    eventful: int
    """Transcripts of every canary in a life with restarts and late readings, at least."""
    drawn: int = 27_000
    """Numbers of noise of each layer, at least: enough to see that it is a twentieth too narrow, or too wide."""


QUICK = Effort(copies=200, eventful=60)
DEEP = Effort(copies=6000, eventful=300)
USUAL = 48
"""Of longer cycles there are fewer transcripts, of shorter ones in a deep audit more, up to six times."""
LEAST = 60
"""How many copies there are of a canary that is worth many, at least."""


@dataclass(frozen=True, kw_only=True)
class Audit(Pictured):
    """What was tried against a plan's promise, and what came of it."""

    plan: Plan
    """The plan that was audited."""
    tried: Plan
    """The plan as canaries were put through it."""
    exact: tuple[Exact, ...]
    """The worst cases in closed form."""
    bounds: tuple[Bound, ...]
    """Lower bounds for epsilon, from transcripts of the shipped curator."""
    facts: tuple[Fact, ...]
    """What must hold without exception."""
    transcripts: int
    """How many transcripts were made."""

    @property
    def breaches(self) -> list[str]:
        """What breaks the promise, in sentences; empty if nothing was found."""
        said = [f"Does not hold: {fact.name}. {fact.says}" for fact in self.facts if not fact.held]
        said += [
            f"In closed form, a change of {WHAT[each.change]} can cost {number(each.worst)}, and "
            f"{number(each.promised)} is promised."
            for each in self.exact
            if not each.kept
        ]
        return said + [
            f"Measured, a change of {WHAT[each.change]} costs at least {number(each.found)}, and "
            f"{number(each.promised)} is promised ({each.canary}; {each.statistic})."
            for each in self.bounds
            if not each.kept
        ]

    @property
    def passed(self) -> bool:
        """Whether nothing was found that breaks the promise."""
        return not self.breaches

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        if self.passed:
            return (
                f"Nothing was found that breaks the promise, in {self.transcripts:,} transcripts. That is no "
                "proof: an audit can find a promise broken, and cannot show that it is kept."
            )
        return f"The promise is broken: {len(self.breaches)} finding(s)."

    def sharpest(self, change: str) -> Bound:
        """The largest lower bound found for a change; of equal ones that from the most transcripts."""
        return max(
            (each for each in self.bounds if each.change == change),
            key=lambda each: (each.found, each.counts.trials),
        )

    def to_json(self) -> dict[str, Any]:
        """Versioned plain data."""
        return {
            "diurnal_audit": VERSION,
            "plan": self.plan.hash,
            "promise": self.plan.guarantee().to_json(),
            "tried": self.tried.hash,
            "transcripts": self.transcripts,
            "confidence": 1 - ALPHA,
            "passed": self.passed,
            "verdict": self.verdict,
            "breaches": self.breaches,
            "exact": [each.to_json() for each in self.exact],
            "bounds": [each.to_json() for each in self.bounds],
            "facts": [each.to_json() for each in self.facts],
        }

    def __str__(self) -> str:
        lines = [f"Plan {self.plan.hash[:12]}, level {self.plan.level}, {self.plan.guarantee().brief}", ""]
        lines.append(f"{'a change of':28}{'promised':>10}{'closed form':>14}{'measured, at least':>21}")
        for each in self.exact:
            found = self.sharpest(each.change).found
            lines.append(
                f"{WHAT[each.change]:28}{number(each.promised):>10}{number(each.worst):>14}{number(found):>21}"
            )
        if any(each.change == "history" for each in self.exact):
            lines += ["", UNCLIPPED]
        # Found for several changes, a fact is said once.
        lines += ["", *dict.fromkeys(f"{'held  ' if fact.held else 'BROKEN'}  {fact.name}" for fact in self.facts)]
        return "\n".join([*lines, "", self.verdict, *self.breaches])


def audit(plan: Plan, *, deep: bool = False, effort: Effort | None = None, seed: int = 1) -> Audit:
    """Try to break a plan's promise: in closed form, on transcripts of the shipped curator, and by what it refuses.

    Args:
        plan: With its mechanisms chosen.
        deep: Whether to take minutes instead of half a minute, for sharper bounds.
        effort: How much is tried, if neither will do.
        seed: For households at random. The noise of transcripts is the curator's own, and has no seed.

    Raises:
        PlanError: A mechanism is still to be chosen.
    """
    if "auto" in plan.mechanisms:
        raise PlanError("audit-plan-undecided")
    tried = to_audit(plan)
    every = canaries(tried, CYCLES)
    main = [canary for canary in every if canary.main]
    chosen = _effort(tried, every, deep=deep) if effort is None else effort
    transcripts = 2 * (chosen.eventful * len(every) + chosen.copies * len(main))
    rng = np.random.default_rng(seed)
    with Progress("Transcripts", transcripts) as bar:
        closed = worst_cases(tried, tries=TRIES, rng=rng)
        life = live(tried, every, copies=chosen.eventful, cycles=CYCLES, eventful=True)
        bar.advance(2 * chosen.eventful * len(every))
        many = list(_many(tried, main, chosen.copies, bar))
        held = facts(tried, every, life)
        held.append(says_what_is_so(tried, cycles=CYCLES))
        held += refusals(tried.with_(minimum_group=plan.minimum_group, query=plan.query, groups=None))
        held += [measured.width(tried, *each, CYCLES) for each in zip(main, many, strict=True)]
        seen = [*zip(every, life.transcripts, strict=True), *zip(main, many, strict=True)]
        held += _noise(tried, seen, chosen.drawn, rng)
        alone = [measured.inside(tried, *each, CYCLES) for each in zip(main, many, strict=True)]
    return Audit(
        plan=plan,
        tried=tried,
        exact=tuple(closed),
        bounds=tuple(measured.bounds(tried, measured.outside(every, life), alone)),
        facts=tuple(held),
        transcripts=transcripts,
    )


def _many(plan: Plan, main: list[Canary], copies: int, bar: Progress) -> Iterator[tuple[Transcripts, Transcripts]]:
    """Many transcripts of the worst canaries, from as many curators as it takes."""
    lives: list[Life] = []
    for begin in range(0, copies, BATCH):
        size = min(BATCH, copies - begin)
        lives.append(live(plan, main, copies=size, cycles=CYCLES, eventful=False))
        bar.advance(2 * size * len(main))
    for place in range(len(main)):
        sides = [_together([life.transcripts[place][side] for life in lives]) for side in (0, 1)]
        yield sides[0], sides[1]


def _noise(plan: Plan, seen: list[tuple[Canary, Pair]], drawn: int, rng: np.random.Generator) -> list[Fact]:
    """Whether all the noise of all lives follows its law, and none of it comes twice."""
    draws = [noise(plan, canary, each, side) for canary, pair in seen for side, each in enumerate(pair)]
    both, found, pools = layers(plan), list[Fact](), list[tuple[Mechanism, Draws]]()
    for layer, pool, what in (
        (both.pattern, [each[0] for each in draws], WHAT["pattern"]),
        (both.cycle, [each[1] for each in draws], WHAT["cycle"]),
    ):
        if layer is None:
            continue
        there = [each for each in pool if each is not None]
        together = Draws(rows=np.concatenate([each.rows for each in there]), grain=there[0].grain)
        missing = math.ceil(drawn / layer.dimension) - len(together.rows)
        more = np.array([layer.noise() for _ in range(missing)], dtype=np.float64)
        found.append(follows(layer, together, more, what, rng))
        pools.append((layer, together))
    return [*found, never_twice(pools, rng)]


def _together(parts: list[Transcripts]) -> Transcripts:
    def stacked(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if each[0] is None else np.concatenate(each)

    return replace(parts[0], **{name: stacked(name) for name in ("values", "profile", "hidden")})


def _effort(plan: Plan, every: list[Canary], *, deep: bool) -> Effort:
    """As much as a promise of this size asks for: no bound exceeds the logarithm of the number of transcripts."""
    chosen = DEEP if deep else QUICK
    largest = max(measured.promised(plan, canary.change) for canary in every if canary.change != "history")
    wanted = math.ceil(25 * math.exp(min(largest, 10)))
    times = min(6 if deep else 1, USUAL / plan.grid.slots)
    copies = max(LEAST, round(times * chosen.copies))
    return Effort(copies=copies, eventful=max(chosen.eventful, min(DEEP.eventful, wanted)))


def number(value: float) -> str:
    """An epsilon with three digits; one without end is everything."""
    return f"{value:.3g}" if math.isfinite(value) else "everything"
