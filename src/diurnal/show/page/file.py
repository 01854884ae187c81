"""The page: reports, promise, errors and ledger of a stream as one HTML file that opens offline.

    Path("reports.html").write_text(public_page(curator, stream), encoding="utf-8")

Guarantee:
    The public page is made of released rows and public facts only: post-processing, which costs nothing. It is
    written from one dictionary that has passed `public`, whichever way a value goes into it. The custodian's page
    has the truth beside the reports; it is marked in its title, at its top and in its footer, and is not to be
    published. A noisy profile is on a page in pattern mode only (theory 4.3).

Whatever a user may have named is escaped, and no script runs but those of this file: the page's own policy names
them by their digests and lets the page ask for nothing from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from string import Template
from typing import Any

from diurnal.check.verdict import Verdict
from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.private import public
from diurnal.readings.panel import Panel
from diurnal.show.page import parts
from diurnal.show.page.content import collected
from diurnal.show.page.truth import private_content


def public_page(curator: Curator, stream: Stream, *, open_data: Panel | None = None) -> str:
    """One self-contained HTML file with released and public values only.

    Args:
        curator: The store's curator, for the ledger.
        stream: Whose reports.
        open_data: *Public* readings of other households, to predict what bounds and bases drop. Never the
            private panel.

    Raises:
        StreamError: The stream is not one of this curator's.
        PrivateError: Something private was about to be written.
    """
    return counted_page(curator, stream, open_data=open_data)[0]


def custodian_page(
    curator: Curator,
    stream: Stream,
    *,
    truth: Panel,
    verdict: Verdict | None = None,
    open_data: Panel | None = None,
) -> str:
    """The same, marked private, with the truth, the realised error and what the check found.

    Args:
        curator: The store's curator, for the ledger.
        stream: Whose reports.
        truth: The private readings that were reported.
        verdict: What the check found on them; without it the page has no charts of correlation.
        open_data: *Public* readings of other households, for predictions.

    Raises:
        StreamError: The stream is not one of this curator's.
        ReadingsError: The truth is on another grid, or has no reading of what was reported.
    """
    return counted_page(curator, stream, truth=truth, verdict=verdict, open_data=open_data)[0]


def counted_page(
    curator: Curator,
    stream: Stream,
    *,
    truth: Panel | None = None,
    verdict: Verdict | None = None,
    open_data: Panel | None = None,
    note: str = "",
) -> tuple[str, int]:
    """The custodian's page where there is a truth, the public one where there is none; and how many rows it has."""
    facts, content = collected(curator, stream, open_data)
    more = None if truth is None else private_content(facts, stream, truth, verdict)
    return _filled({**content, "note": note}, more), len(facts.rows)


def _filled(content: Mapping[str, Any], more: Mapping[str, Any] | None) -> str:
    """The template with its parts. What is private goes into places of its own, and nowhere else."""
    content = public(content)
    names = ["uplot/uPlot.iife.min.js", "drawing.js", "zoom.js", *([] if more is None else ["check.js"]), "page.js"]
    scripts = [parts.static(name) for name in names]
    return Template(parts.static("page.html")).substitute(
        policy=_policy(scripts),
        title=escape(content["title"] if more is None else f"PRIVATE: {content['title']}"),
        style=parts.static("uplot/uPlot.min.css") + parts.static("page.css"),
        kind="public" if more is None else "custodian",
        banner="" if more is None else parts.banner(),
        head=parts.head(content),
        promise=parts.short_promise(content),
        chart=parts.chart(content, truth=more is not None),
        realised="" if more is None else parts.realised(content, more),
        profile=parts.profile(content),
        errors=parts.prediction(content),
        check="" if more is None else parts.check(more),
        sentences=parts.sentences(content),
        ledger=parts.ledger(content),
        use=parts.use(content),
        foot=parts.foot(content, private=more is not None),
        licence=escape(parts.static("uplot/LICENSE")),
        data=_json("data", content["data"]) + ("" if more is None else _json("more", more)),
        scripts="".join(f"<script>{script}</script>\n" for script in scripts),
    )


def _policy(scripts: list[str]) -> str:
    """Nothing is asked for from anywhere, and no script runs but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(name: str, content: Mapping[str, Any]) -> str:
    """Data in a script element: nothing in it can end the element, or be taken for a line's end."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="{name}">{safe}</script>\n'
