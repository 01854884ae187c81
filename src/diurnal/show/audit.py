"""The certificate of an audit: what was tried against a plan's promise and what came of it, on a page to be filed.

A broken promise is the first thing on the page. A promise stands on it whole: with its neighbours, its assumptions
and its limits. Attacks on made-up homes may be shown to anybody; those on a custodian's own are for its eyes, and
then so is the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diurnal import __version__
from diurnal.private import Private
from diurnal.show import document
from diurnal.show.document import Block, Heading, Items, Picture, Table, Text
from diurnal.show.drawing import INK, MARK, SCALE, SOFT, new_figure, register_charts, styled
from diurnal.study.audit.attacks import Attack
from diurnal.study.audit.audit import CYCLES, TRIES, Audit, number
from diurnal.study.audit.exact import SLACK, Exact
from diurnal.study.audit.measured import ALPHA, UNCLIPPED, WHAT, Waiting
from diurnal.study.audit.transcripts import Fact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SURE = f"{100 * (1 - ALPHA):g} %"
"""How sure all measured bounds together are."""

PRIVATE = (
    "Private: the attacks were tried on real homes and are judged by their readings, so this page is for the "
    "custodian's eyes. An audit without --data makes one to be filed."
)
FIRST = "membership"
"""The attack whose chart comes first: the one that everybody asks about."""


def write(audit: Audit, folder: Path, *, attacks: Sequence[Attack] = (), about: Sequence[str] = ()) -> list[Path]:
    """Write the page, its charts and its numbers into a folder, and say which files these are.

    Args:
        audit: What came of it.
        folder: Where to.
        attacks: What attacks found out, if any were made; private ones make the whole page so.
        about: What was audited, and who was attacked, in sentences.

    Raises:
        InputError: There is no matplotlib.
    """
    drawn = {"bounds": audit.picture("svg"), **{_file(each): each.picture("svg") for each in attacks}}
    page = tuple(blocks(audit, attacks, about))
    return document.write(folder, "audit", page, drawn, numbers(audit, attacks), private=is_private(attacks))


def is_private(attacks: Sequence[Attack]) -> bool:
    """Whether a page with these is for the custodian's eyes."""
    return any(isinstance(each, Private) for each in attacks)


def numbers(audit: Audit, attacks: Sequence[Attack]) -> dict[str, Any]:
    """Everything as plain data."""
    return {**audit.to_json(), "software": __version__, "attacks": [each.to_json() for each in attacks]}


def blocks(audit: Audit, attacks: Sequence[Attack] = (), about: Sequence[str] = ()) -> Iterator[Block]:
    """Everything on the page, from top to bottom."""
    yield from _verdict(audit)
    if is_private(attacks):
        yield Text(text=PRIVATE)
    yield from _promise(audit)
    yield from _run(audit, about)
    yield from _bounds(audit)
    yield from _facts(audit)
    yield Heading(text="Signed")
    yield Table(
        head=("who ran the audit", "for the custodian", "for the privacy officer"),
        rows=[(f"{each}:",) * 3 for each in ("name", "date", "signature")],
    )
    if attacks:
        yield from _attacks(attacks)


def _verdict(audit: Audit) -> Iterator[Block]:
    if not audit.passed:
        yield Heading(text="Audit: THE PROMISE IS BROKEN", level=1)
        yield Items(texts=audit.breaches)
        yield Text(text="Publish nothing under this plan until the cause is known.")
        return
    yield Heading(text="Audit: nothing was found that breaks the promise", level=1)
    yield Text(text=audit.verdict)


def _promise(audit: Audit) -> Iterator[Block]:
    plan, promise = audit.plan, audit.plan.guarantee()
    yield Heading(text="What is promised, what is assumed, what is not promised")
    yield Text(
        text=f"Level {plan.level}, {promise.brief}. Digest of the plan (SHA-256): {plan.hash}. The promise, "
        "never to be cited without what it assumes and what it leaves open:"
    )
    yield Items(
        texts=[
            *promise.parts()["promised"],
            f"Assumed: {' '.join(promise.assumptions)}",
            f"Not promised: {' '.join(promise.limits)}",
        ]
    )


def _run(audit: Audit, about: Sequence[str]) -> Iterator[Block]:
    tried = audit.tried
    canaries = {(each.canary, each.change) for each in audit.bounds}
    pairs = sum(each.pairs for each in audit.exact)
    yield Heading(text="What was run")
    yield Items(
        texts=[
            *about,
            f"By diurnal {__version__}, as it is installed where the audit ran.",
            f"Transcripts: {audit.transcripts:,}, each of {_counted(CYCLES, 'cycle')}, made by the shipped curator "
            "with noise from the system's generator. Some are of a curator on a store in a file that was restarted "
            "several times, once in the middle of a cycle, was given late and corrected readings, and was asked "
            "again for everything.",
            f"Canaries: {_counted(len(canaries), 'household')}, made up to be as hard to hide as can be, each "
            f"in two neighbouring data sets: {'; '.join(sorted({name for name, _ in canaries}))}.",
            f"In closed form: {pairs:,} pairs of neighbours, {TRIES} households at random among them, by the "
            "curator's own kernels and the exact law of the noise.",
            "On the audited plan as canaries are put through it: the same mechanisms, bounds and epsilons; each "
            f"canary in a group with one other home, after {_counted(tried.history, 'cycle')} of history (digest "
            f"{tried.hash[:16]}).",
        ]
    )


def _bounds(audit: Audit) -> Iterator[Block]:
    yield Heading(text="How far apart neighbours are, in epsilon")
    head = ("a change of", "promised, at most", "worst in closed form", f"measured, at least ({SURE})")
    yield Table(
        head=(*head, "over cycles", "transcripts counted", ""), rows=[_row(audit, each) for each in audit.exact]
    )
    yield Picture(
        name="bounds", caption="Promised, worked out and measured. No bar may be longer than the promise's."
    )
    yield Text(
        text="Worst in closed form: the farthest apart of the pairs that were tried. Measured: from how often "
        "something was seen in the transcripts of either data set, epsilon is at least this; all such bounds "
        f"together are right with {SURE} confidence. A measured 0 means that none of the tests tried could tell "
        "the data sets apart with that many transcripts. It does not mean that nothing is given away: with more of "
        "them (a deep audit) the bound comes nearer to the truth from below."
    )
    if any(each.change == "history" for each in audit.exact):
        yield Text(text=UNCLIPPED)
    yield from _other_history(audit)


def _other_history(audit: Audit) -> Iterator[Block]:
    """That a promise about the history is another one where the history is shorter."""
    tried, own = (plan.guarantee().numbers()["history_epsilon"] for plan in (audit.tried, audit.plan))
    if tried != own:
        yield Text(
            text=f"A change in the history costs the more the shorter it is: {own} is promised for the plan's "
            f"{_counted(audit.plan.history, 'cycle')}, {tried} for the {audit.tried.history} it was tried with."
        )


def _row(audit: Audit, each: Exact) -> tuple[str, ...]:
    bound = audit.sharpest(each.change)
    counted = bound.counts.trials + bound.counts.other_trials
    kept = "kept" if each.kept and bound.kept else "BROKEN"
    found = number(each.promised), number(each.worst), number(bound.found)
    return WHAT[each.change], *found, each.cycles, f"{counted:,}", kept


def _facts(audit: Audit) -> Iterator[Block]:
    refused = [fact for fact in audit.facts if fact.held and fact.tried]
    yield Heading(text="What must hold without exception")
    yield Table(
        head=("fact", "", "what was looked at"),
        rows=_by_name([fact for fact in audit.facts if fact not in refused]),
    )
    if refused:
        tried = "; ".join(fact.tried for fact in refused)
        yield Text(text=f"Tried on the curator, and refused as it must be: {tried}.")


def _by_name(facts: Sequence[Fact]) -> list[tuple[str, str, str]]:
    """A row a name: a fact that was looked at in several places held in all of them, or did not in these."""
    rows = []
    for name in dict.fromkeys(fact.name for fact in facts):
        same = [fact for fact in facts if fact.name == name]
        broken = [fact for fact in same if not fact.held]
        rows.append((name, "BROKEN" if broken else "held", " ".join(fact.says for fact in broken or same)))
    return rows


def _attacks(attacks: Sequence[Attack]) -> Iterator[Block]:
    yield Heading(text="What somebody could learn about a home")
    yield Text(
        text="Attacks break no promise: they show what a promise is worth, where it ends, and what else keeps a "
        "home hidden. Beside each number is what it would be if nothing or if all were learned; intervals of 95 % "
        "are in the charts and in numbers.json."
    )
    yield scores(attacks)
    for attack in sorted(attacks, key=lambda each: each.name != FIRST):
        yield Heading(text=f"{attack.name.capitalize()}: {attack.asks}", level=3)
        yield Text(text=attack.says)
        yield Picture(
            name=_file(attack), caption=f"{attack.measure.capitalize()}. The attacker knows: {attack.knows}"
        )


def scores(attacks: Sequence[Attack], releases: Sequence[str] = ()) -> Table:
    """What every attack found out, by release: a row a case.

    Args:
        attacks: The attacks.
        releases: Of which releases; all there are unless given.
    """
    releases = releases or list(dict.fromkeys(each.release for attack in attacks for each in attack.outcomes))
    return Table(
        head=("attack", "if nothing", "if all", *releases),
        rows=[row for attack in attacks for row in _scores(attack, releases)],
    )


def _scores(attack: Attack, releases: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A row a case; where groups of several sizes were attacked, the smallest and the largest."""
    found = {(each.case, each.households, each.release): each for each in attack.outcomes}
    sizes = sorted({each.households for each in attack.outcomes if each.households is not None})
    cases = dict.fromkeys((each.case, each.households) for each in attack.outcomes)
    for case, size in cases:
        if size is not None and size not in (sizes[0], sizes[-1]):
            continue
        words = (attack.name, case, "" if size is None else f"{size:,} homes")
        cells = [found.get((case, size, release)) for release in releases]
        yield (
            ", ".join(each for each in words if each),
            f"{attack.chance:.2f}",
            f"{attack.certain:.2f}",
            *("" if each is None else _score(each.value) for each in cells),
        )


def _score(value: float | None) -> str:
    return "refused" if value is None else f"{value:.2f}".replace("-0.00", "0.00")


def _file(attack: Attack) -> str:
    return attack.name.replace(" ", "-")


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


@styled
def bounds(audit: Audit) -> Figure:
    """Three bars a change: what is promised, the worst in closed form, and what was measured at least."""
    figure, axis = new_figure(audit, 7.6, 0.9 + 0.95 * len(audit.exact))
    rows = [
        (WHAT[each.change], (each.promised, each.worst, audit.sharpest(each.change).found)) for each in audit.exact
    ]
    reach = max((value for _, values in rows for value in values if math.isfinite(value)), default=1.0)
    for place, (words, values) in enumerate(rows):
        _bars(axis, 4 * place, f"a change of {words}", values, reach)
    axis.set_ylim(4 * len(rows) - 0.7, -1.5)
    axis.set_xlim(0, 1.25 * reach)
    axis.set_yticks([4 * place + i for place in range(len(rows)) for i in range(3)], NAMES * len(rows))
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("epsilon: the larger, the easier neighbours are told apart")
    return figure


NAMES = ("promised, at most", "worst in closed form", f"measured, at least ({SURE})")
"""The bars of a change."""


def _bars(axis: Axes, top: int, words: str, values: tuple[float, float, float], reach: float) -> None:
    """The bars of one change, numbers at their ends; one beyond the promise stands out."""
    axis.annotate(words, (0, top - 0.85), va="center", fontsize=9, fontweight="bold")
    axis.plot([values[0]] * 2, [top - 0.4, top + 2.4], color=INK, linewidth=0.9, linestyle="--")
    for row, (value, colour) in enumerate(zip(values, (SOFT, SCALE[1], INK), strict=True)):
        broken = value > values[0] * (1 + SLACK)
        length = value if math.isfinite(value) else 1.2 * reach
        axis.barh(top + row, length, height=0.72, color=MARK if broken else colour)
        told = f" {number(value)}{': above the promise' if broken else ''}"
        inside = broken and length > 0.6 * reach
        axis.annotate(
            f"{told} " if inside else told,
            (length, top + row),
            va="center",
            ha="right" if inside else "left",
            fontsize=8,
            color="white" if inside else INK,
        )


@styled
def growing(found: Waiting) -> Figure:
    """What a first cycle costs at least, the longer an attacker waits: as printed, and repaired."""
    figure, axis = new_figure(found, 7.2, 3.4)
    axis.axhline(found.epsilon, color=INK, linewidth=0.9, linestyle="--")
    axis.annotate(
        "what is claimed", (found.cycles[0], found.epsilon), (0, 4), textcoords="offset points", fontsize=9
    )
    for name, values, colour in (
        ("as printed", found.printed, MARK),
        ("repaired", found.repaired, SCALE[1]),
    ):
        axis.plot(found.cycles, values, color=colour, marker="o", markersize=4)
        axis.annotate(f"  {name}", (found.cycles[-1], values[-1]), va="center", color=colour, fontsize=9)
    axis.set_xscale("log")
    axis.set_xticks(found.cycles, [str(each) for each in found.cycles])
    axis.minorticks_off()
    axis.set_xlim(found.cycles[0] * 0.9, found.cycles[-1] * 1.9)
    # Nothing at all must not lie on the axis.
    axis.set_ylim(bottom=-0.06 * max(found.epsilon, *found.printed))
    axis.set_xlabel("cycles reported")
    axis.set_ylabel("epsilon, at least (99.9 %)")
    return figure


register_charts(Audit, bounds)
register_charts(Waiting, growing)
