"""The page's parts as HTML, from plain content. Every text is escaped here, whoever wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from diurnal.planning.prediction import short
from diurnal.promise.guarantee import LEADS, Part
from diurnal.promise.levels import LEVELS
from diurnal.show.page.bars import bars, table

HEADINGS = {"promised": "What is promised", "rests": "What it rests on", "not": "What this does not protect"}
"""The three things that are never said apart."""

WHOLE = {**HEADINGS, "promised": "What is promised, and what a change costs"}
"""The same over the sentences as they are signed, among which is what a change in the history costs."""

TOTAL = (
    "<li>What the whole roster uses can be added up from its groups, at no further cost (means and shares have to "
    "be weighted by the sizes of the groups). Noise of groups is independent, but what bounds clip and bases drop "
    "adds up: the error of such a total can be many times its noise.</li>"
)
"""What is said where groups are reported."""

PRIVATE = "<strong>PRIVATE: for the custodian&rsquo;s eyes. Do not publish.</strong>"
"""The mark of the custodian's page."""


@cache
def static(name: str) -> str:
    """A file of the page's own."""
    return files("diurnal.show.page").joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def _filled(name: str, **values: str) -> str:
    """A part with its places filled in; the values are HTML."""
    return Template(static(f"parts/{name}.html")).substitute(values)


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"<li>{escape(said)}</li>" for said in sentences)


def _fact(name: str, value: str) -> str:
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def head(content: Mapping[str, Any]) -> str:
    """The title, what is reported, and its numbers."""
    facts = "".join(_fact(name, value) for name, value in content["facts"])
    said = {name: escape(content[name]) for name in ("level", "title", "subtitle")}
    note = f'<p class="note">{escape(content["note"])}</p>\n' if content["note"] else ""
    return _filled("head", facts=facts, note=note, **said)


def short_promise(content: Mapping[str, Any]) -> str:
    """The promise, what it rests on and what it leaves out, side by side and of the same weight."""
    numbers = "".join(
        f'<p class="epsilon"><b>ε = {escape(each["value"])}</b> {escape(each["what"])}{escape(each["odds"])}.</p>'
        for each in content["epsilons"]
    )
    cards = [
        f'<div class="card {kind}"><h3>{heading}</h3><ul>{_items(content["short"][kind])}</ul>'
        f"{numbers if kind == 'promised' else ''}</div>"
        for kind, heading in HEADINGS.items()
    ]
    return _filled("promise", cards="".join(cards), count=str(sum(len(part) - 1 for part in content["sentences"])))


def chart(content: Mapping[str, Any], *, truth: bool) -> str:
    """The released series: the chart, what works it, and what is drawn."""
    series, cycle = content["data"]["series"], escape(content["cycle"])
    if not series["values"]:
        return '<p class="empty">Nothing has been reported yet: there is nothing to draw.</p>'
    level = LEVELS[content["level"]]
    known = "" if level.counts else "; the band is two standard deviations of the noise of such a mean"
    return _filled(
        "chart",
        selector=_selector(series["names"]),
        truth='<li><i class="key true"></i>the truth, private</li>' if truth else "",
        cycle=cycle,
        mean_note=f"{known}.",
        noise_note=level.noise.format(cycle=cycle),
        when=escape(content["when"]),
    )


def _selector(names: Sequence[str]) -> str:
    if len(names) == 1:
        return ""
    options = "".join(f'<option value="{place}">{escape(name)}</option>' for place, name in enumerate(names))
    return f'<label class="choose">Series <select id="choose">{options}</select></label>'


def profile(content: Mapping[str, Any]) -> str:
    """The noisy profile, where it is public."""
    found = content["data"]["profile"]
    if found is None:
        return ""
    summary = f"from {short(min(found[0]))} to {short(max(found[0]))} {escape(content['unit'])}"
    return _filled("profile", cycle=escape(content["cycle"]), what=escape(content["profiled"]), summary=summary)


SOURCES = {
    "unknown": " No open data was given, so what bounds clip is not in it.",
    "table": " What bounds clip is in it as it was on homes of other regions, not as these homes tell.",
}
"""What predicted errors have of what bounds clip."""


def prediction(content: Mapping[str, Any]) -> str:
    """Predicted error by mechanism as bars on a log scale, with nothing at all beside them."""
    found, unit = content["prediction"], escape(content["unit"])
    names = ["mechanism", f"report ({content['unit']})", "day", "30 days", "year", "dropped", "promise", "note"]
    lines = [
        [row["name"], row["said"], *row["totals"], row["bias"], row["promise"], row["note"]]
        for row in found["rows"]
    ]
    warned = "".join(f'<p class="warning">Mind: {escape(warning)}.</p>' for warning in found["warnings"])
    return _filled(
        "errors",
        unit=unit,
        households=f"{found['households']:,}",
        source=SOURCES.get(found["clipping"], ""),
        warnings=warned,
        table=table(names, lines, numbers=range(1, 6), caption="Predicted errors of a report and of totals"),
        **bars(found["rows"], found["nothing"], unit),
    )


def sentences(content: Mapping[str, Any]) -> str:
    """The guarantee whole: its sentences, numbered through, in three boxes of the same weight."""
    boxes, number = [], 1
    for kind, *said in content["sentences"]:
        items = "".join(f"<li>{_sentence(kind, each)}</li>" for each in said)
        boxes.append(f'<div class="card {kind}"><h3>{WHOLE[kind]}</h3><ol start="{number}">{items}</ol></div>')
        number += len(said)
    return f'<div class="whole">{"".join(boxes)}</div>'


def _sentence(kind: Part, said: str) -> str:
    lead = LEADS[kind].strip()
    return f'<span class="lead">{lead}</span> {escape(said)}' if lead else escape(said)


def ledger(content: Mapping[str, Any]) -> str:
    """What was decided and spent, and where the ledger stands."""
    found = content["ledger"]
    names = ["no.", "time", "what", "spent (ε)"]
    return _filled(
        "ledger",
        budgets="".join(_budget(each) for each in found["budgets"]),
        cycle=escape(content["cycle"]),
        events=table(names, found["events"], caption="Events of the ledger", unbroken=(0, 1)),
        head=escape(found["head"]),
    )


def _budget(each: Mapping[str, str]) -> str:
    title, without = f"<h3>{escape(_sentence_case(each['name']))}</h3>", each["uncounted"]
    said = f"<p>{escape(_sentence_case(without))}.</p>" if without else ""
    if without and not Fraction(each["spent"]):
        # A figure of 0 would look like a loss of 0.
        return f'<div class="budget">{title}{said}</div>'
    spent, allowed, left = (escape(each[name]) for name in ("spent", "allowed", "left"))
    at = f" (at delta {escape(each['delta'])})" if each["delta"] else ""
    share = round(min(100.0, 100 * float(Fraction(each["spent"]) / Fraction(each["allowed"]))), 2)
    return (
        f'<div class="budget">{title}<p><b>{spent}</b> of {allowed} spent, {left} left{at}</p>'
        f'<span class="meter" aria-hidden="true"><i style="width:{share}%"></i></span>{said}</div>'
    )


def _sentence_case(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def use(content: Mapping[str, Any]) -> str:
    """How to read the rows, what to do with them, and the last of them as a table."""
    cycle, rows = escape(content["cycle"]), content["last"]
    names = ["time", "series", f"value ({content['unit']})", "std"]
    last = table(
        names, rows, numbers=(2, 3), unbroken=(0,), caption=f"Rows of the last reported {content['cycle']}"
    )
    return _filled(
        "use",
        unit=escape(content["unit"]),
        cycle=cycle,
        total=TOTAL if content["grouped"] else "",
        apart=LEVELS[content["level"]].apart.format(cycle=cycle),
        disabled="" if rows else " disabled",
        last=f"<details><summary>The last {cycle} as a table</summary>{last}</details>" if rows else "",
    )


def realised(content: Mapping[str, Any], more: Mapping[str, Any]) -> str:
    """How far reports are from the truth, for the custodian."""
    names, errors = content["data"]["series"]["names"], more["errors"]
    measures = next((list(each) for each in errors if each), [])
    if not measures:
        return _filled("realised", found='<p class="empty">Nothing to compare yet.</p>')
    if len(names) == 1:
        facts = "".join(_fact(measure, errors[0][measure]) for measure in measures)
        return _filled("realised", found=f'<dl class="facts">{facts}</dl>')
    lines = [[name, *(each.get(what, "") for what in measures)] for name, each in zip(names, errors, strict=True)]
    right = range(1, len(measures) + 1)
    found = table(["series", *measures], lines, numbers=right, unbroken=(0,), caption="Realised error by series")
    return _filled("realised", found=found)


def check(more: Mapping[str, Any]) -> str:
    """What the check found, for the custodian."""
    found = more["check"]
    if found is None:
        return ""
    lag = found["rhythm"]
    return _filled(
        "check",
        **{name: escape(found[name]) for name in ("period", "words", "since")},
        **{name: f"{found[name]:.3f}" for name in ("median", "largest")},
        limit=f"{found['limit']:g}",
        pairs=f"{found['pairs']:,}",
        near=f"{found['means'][0]:.2f}",
        rhythm="" if lag is None else f" Dots: every {lag} cycles, where a longer rhythm shows.",
        sentences=_items(found["sentences"]),
    )


def banner() -> str:
    """What nobody can overlook."""
    return static("parts/banner.html")


def foot(content: Mapping[str, Any], *, private: bool) -> str:
    """Under which plan, and for whom."""
    mark = PRIVATE if private else "Released and public values only."
    return _filled("foot", plan=escape(content["plan"]), number=escape(content["certificate_number"]), mark=mark)
