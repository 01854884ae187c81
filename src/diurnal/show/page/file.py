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
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from diurnal.curator.curator import Curator
from diurnal.curator.stream import Stream
from diurnal.periodicity.verdict import Verdict
from diurnal.private import public
from diurnal.promise.levels import LEVELS
from diurnal.readings.panel import Panel
from diurnal.show.html import render
from diurnal.show.page.bars import bars
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
    """The page, filled in. What is private is in `more`, which the public page does not have."""
    content = public(content)
    names = ["uplot/uPlot.iife.min.js", "drawing.js", "zoom.js", *([] if more is None else ["check.js"]), "page.js"]
    scripts = [_static(name) for name in names]
    return render(
        "page/page.html",
        content=content,
        more=more,
        level=LEVELS[content["level"]],
        bars=bars(content["prediction"]["rows"], content["prediction"]["nothing"], content["unit"]),
        policy=Markup(_policy(scripts)),
        style=Markup(_static("uplot/uPlot.min.css") + _static("page.css")),
        licence=_static("uplot/LICENSE"),
        scripts=[Markup(script) for script in scripts],
    )


@cache
def _static(name: str) -> str:
    """A file of the page's own."""
    return files("diurnal.show.page").joinpath("static", *name.split("/")).read_text(encoding="utf-8")


def _policy(scripts: list[str]) -> str:
    """Nothing is asked for from anywhere, and no script runs but these."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
