"""HTML: every page of diurnal is a Jinja2 template, and every text in it is escaped, whoever wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from diurnal.promise.guarantee import LEADS

HEADINGS = {"promised": "What is promised", "rests": "What it rests on", "not": "What this does not protect"}
"""The three things that are never said apart."""

WHOLE = {**HEADINGS, "promised": "What is promised, and what a change costs"}
"""The same over the sentences as they are signed, among which is what a change in the history costs."""

SOURCES = {
    "unknown": " No open data was given, so it does not include what bounds clip.",
    "table": " What bounds clip is included as it was on homes of two other regions and of a made-up town, not as "
    "it is on these homes.",
}
"""What predicted errors have of what bounds clip."""


@cache
def _environment() -> Environment:
    rooms = {"page": "diurnal.show.page", "site": "diurnal.show.web", "document": "diurnal.show"}
    made = Environment(
        loader=PrefixLoader({name: PackageLoader(package) for name, package in rooms.items()}),
        autoescape=True,
        # A name that is missing is a mistake of ours, and no empty place on a page.
        undefined=StrictUndefined,
        trim_blocks=True,
        extensions=["jinja2.ext.do"],
    )
    made.filters["sentence"] = _sentence
    made.globals |= {"HEADINGS": HEADINGS, "WHOLE": WHOLE, "LEADS": LEADS, "SOURCES": SOURCES, "data": data}
    return made


def render(name: str, **values: Any) -> str:
    """A template of a room, by its name such as "page/page.html", with its places filled in."""
    return _environment().get_template(name).render(values)


def data(content: Mapping[str, Any], name: str) -> Markup:
    """Data in a script element: nothing in it can end the element, or be taken for a line's end."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup('<script type="application/json" id="{}">{}</script>\n').format(name, Markup(safe))


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"
