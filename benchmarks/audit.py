"""The deep audit: every shipped mechanism, its promise, and how near to it transcripts come.

`make audit` writes docs/audit-figures.md and the charts of membership, in about half an hour. The Ausgrid homes
are attacked if DIURNAL_DATA names the folder of the data.
"""

from __future__ import annotations

import os
import pathlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import diurnal as dn
from benchmarks import accuracy
from diurnal.study.audit.attacks import Attack, Population, attacks
from diurnal.study.audit.audit import Audit, Effort, audit, number
from diurnal.study.audit.measured import WHAT, waiting

DOCS = pathlib.Path(__file__).parents[1] / "docs"

DAY = dn.Grid(slots=48)
LEVEL = "377"
"""A public mean of a reading, in Wh."""

HEAD = """# Audit: the figures

Written by `make audit`. Deep audits of the shipped mechanisms, each at epsilon 1 (a strong plan: 1 for a shift of
the pattern and 1 for any one reported cycle), domain 0 to 8,000 Wh. What is promised for one cycle of the history
holds if in neither data set a reported reading of the household is clipped, missing or moved out. *Measured* is a
lower bound for epsilon from transcripts of the shipped curator; the bounds of one audit are right together with
99.9 % confidence. None may be above what is promised; how near one comes shows how sharp the auditor is.
[Audit](audit.md) explains the figures.

| plan | a change of | promised | closed form | measured | share | transcripts | seconds | verdict |
|---|---|---|---|---|---|---|---|---|
"""

MEMBERSHIP = """
## Membership

The tables show how often an attacker is right who must distinguish a group with a certain home in it from one
without, and who knows every reading of that home and as many other homes as there are to draw groups of; 0.5 is a
coin toss. In brackets, 95 %.
"""


def plans() -> Iterator[tuple[str, dn.Plan]]:
    """What is audited, by name."""
    strong = {"level": "strong", "mechanism": "cube", "cycle_mechanism": "cube", "variation_bound": 1000}
    yield "pattern, cube, T = 48", _plan(mechanism="cube")
    yield "pattern, Laplace, T = 2", _plan(grid=dn.Grid(slots=2, minutes=720))
    yield "pattern, Laplace, T = 48, one day of history: Theorem 1", _plan(history=1)
    yield "pattern, Gaussian, delta 1e-6, T = 48", _plan(mechanism="gaussian", delta="0.000001")
    yield "pattern, basis around a free reference, T = 48", _informed("pattern", mechanism="basis")
    yield "strong, cube and cube, T = 48", _plan(**strong)
    yield "strong, basis and basis, T = 48", _informed("strong", mechanism="basis", cycle_mechanism="basis")
    yield "strong, basis and blocks, T = 48", _informed("strong", mechanism="basis", cycle_mechanism="blocks")
    yield "strong, weights 1 and 3, T = 48", _plan(**strong, query=dn.Weighted([1] * 20 + [3] * 20))
    yield "share of homes above 1 kWh, T = 48", _plan(level="cycle", query=dn.Share(above=1000), history=0)


def _plan(**more: Any) -> dn.Plan:
    fields = {"level": "pattern", "mechanism": "laplace", "history": 28, "grid": DAY}
    return dn.Plan(epsilon="1", domain=accuracy.DOMAIN, **{**fields, **more})


def _informed(level: str, **more: Any) -> dn.Plan:
    """A plan as `with_public_bounds` makes it from a public level."""
    shape = dn.Shape(group_sizes=(226,), grid=DAY)
    return dn.with_public_bounds(_plan(level=level, history=91, **more), shape, mean_reading=LEVEL)


def rows(name: str, found: Audit, seconds: float) -> Iterator[str]:
    """A line a change."""
    for each in found.exact:
        bound = found.sharpest(each.change)
        cells = (
            name,
            WHAT[each.change],
            number(each.promised),
            number(each.worst),
            number(bound.found),
            f"{100 * bound.found / each.promised:.0f} %",
            f"{found.transcripts:,}",
            f"{seconds:.0f}",
            "nothing found" if found.passed else "BROKEN",
        )
        yield f"| {' | '.join(cells)} |"


SHARP = ("pattern, cube, T = 48", "pattern, Laplace, T = 2")
"""Of which it is to be shown how near to the promise a bound comes; where noise is spread out, none comes near."""
BROAD = Effort(copies=1500, eventful=200)
"""What the others get."""


def audited(effort: Effort | None) -> Iterator[str]:
    """The table's lines, one plan after the other; each is printed as it comes."""
    for name, plan in plans():
        print(name, file=sys.stderr)
        began = time.monotonic()
        found = audit(plan, deep=True, effort=effort or (None if name in SHARP else BROAD))
        for line in rows(name, found, time.monotonic() - began):
            print(line, file=sys.stderr)
            yield line


def populations() -> Iterator[tuple[str, str, Population]]:
    """Whose membership is asked about: a file's name, a title, the homes."""
    if "DIURNAL_DATA" in os.environ:
        homes = accuracy.ausgrid()
        known = Population.of(homes.year, history=homes.history, domain=accuracy.DOMAIN, profile_range=(0, 3000))
        yield "ausgrid", "226 Ausgrid homes", known
    else:
        print("DIURNAL_DATA is not set: the Ausgrid homes are left out.", file=sys.stderr)
    yield "town", "A made-up town of 1,000 homes", Population.town()


def membership(*, deep: bool) -> Iterator[str]:
    """Charts, and tables of what is in them."""
    for file, title, population in populations():
        (found,) = attacks(population, only=["membership"], deep=deep)
        # Readings of Ausgrid are open for research, and a chart of rates shows none of them: it is not private.
        shown = Attack(**vars(found))
        (DOCS / "images" / f"membership-{file}.svg").write_bytes(shown.picture("svg"))
        words = f"{title}: how often the attacker is right, by homes in the group"
        yield f"\n### {title}\n\n![{words}](images/membership-{file}.svg)\n\n{_by_size(found)}\n"


def _by_size(found: Attack) -> str:
    releases = list(dict.fromkeys(each.release for each in found.outcomes))
    sizes = list(dict.fromkeys(each.households for each in found.outcomes))
    head = f"| homes | {' | '.join(releases)} |\n|{'---|' * (len(releases) + 1)}"
    lines = [
        f"| {size:,} | {' | '.join(found.outcome(each, households=size).words for each in releases)} |"
        for size in sizes
    ]
    return "\n".join([head, *lines])


COROLLARY = """
## Corollary 1 as printed, and its repair

Only the first of a household's cycles changes; T = 48, epsilon 1 is claimed. What it costs at least, the longer an
attacker waits; 99.9 % together.

![epsilon at least, against the cycles reported: as printed it passes what is claimed](images/corollary-1.svg)

| cycles | as printed | repaired |
|---|---|---|
"""


def corollary(transcripts: int) -> str:
    """What waiting gains, chart and table."""
    found = waiting(transcripts=transcripts)
    (DOCS / "images" / "corollary-1.svg").write_bytes(found.picture("svg"))
    rows = zip(found.cycles, found.printed, found.repaired, strict=True)
    return COROLLARY + "".join(f"| {k} | {number(one)} | {number(two)} |\n" for k, one, two in rows)


def main(effort: Effort | None = None, *, deep: bool = True) -> None:
    table = "\n".join(audited(effort))
    waited = corollary(20_000 if deep else 2_000)
    text = f"{HEAD}{table}\n{waited}{MEMBERSHIP}{''.join(membership(deep=deep))}"
    (DOCS / "audit-figures.md").write_text(text)


if __name__ == "__main__":
    main()
