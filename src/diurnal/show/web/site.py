"""Site: the service in a browser. Streams and their reports for everybody, and the custodian's room.

A stream's page is written here, promise and all, so that no chart is ever without it; its scripts ask the same
routes as any program. The custodian's room is an empty shell until a token has been typed: what is private comes by
those routes only. Words and style are those of the page that is one file (`show.page`); its charts are used too.

There is no script and no style but in files of our own, so that the policy of every answer can forbid all others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse

from diurnal.curator.public_reader import Published
from diurnal.curator.release import Report
from diurnal.planning.planner import when_out
from diurnal.planning.prediction import short
from diurnal.private import public
from diurnal.promise.levels import LEVELS
from diurnal.show.drawing import SCALE
from diurnal.show.html import render
from diurnal.show.page import words
from diurnal.show.plan_request import SECTIONS, WhatIfRequest, asked_fields
from diurnal.show.rows import shown_table
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.service import Service

OWN = (
    "service.css",
    "icon.svg",
    *(f"{name}.js" for name in ("again", "api", "budget", "custodian", "dates", "explorer", "fields", "health")),
    *(
        f"{name}.js"
        for name in ("live", "making", "predicted", "series", "starting", "stopping", "stream", "streams")
    ),
    *(f"{name}.js" for name in ("table", "theme", "verdict")),
)
"""The files of this site."""

SHARED = (
    "page.css",
    "drawing.js",
    "zoom.js",
    "check.js",
    "uplot/uPlot.iife.min.js",
    "uplot/uPlot.min.css",
    "uplot/LICENSE",
)
"""The files it has in common with the page that is one file."""

KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

LISTED = 96
"""How many rows a stream's page has as a table for who runs no scripts, at most."""

OTHERS = "Other plans report from this store, too. For a household that is in several plans, their costs add up."

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
async def front(request: Request) -> HTMLResponse:
    """Every stream there is."""
    service: Service = request.app.state.service
    if service.settings.reads_need_token:
        return _closed()
    entries = [_entry(stream) for stream in reversed(service.feed.streams())]
    return _page("streams", "Reports", scripts=("streams",), entries=entries)


@router.get("/streams/{key}")
async def one(request: Request, key: str) -> HTMLResponse:
    """A stream: its reports as they come, with its promise."""
    service: Service = request.app.state.service
    if service.settings.reads_need_token:
        return _closed()
    try:
        stream = service.feed.stream(key)
    except ProblemError:
        return _page("said", "Stream not found", status=404, words="Check its name.")
    sizes = tuple(group.size for group in stream.groups)
    rows, errors = await service.read(
        lambda: (service.reader.rows(stream, _last_steps(stream)), words.errors(stream.plan, sizes))
    )
    await service.composed(stream)
    alone = len(service.feed.streams()) == 1
    content = _stream(stream, public(rows), errors, alone=alone)
    return _page("stream", words.title(stream.plan), scripts=("stream",), charts=("drawing", "zoom"), **content)


@router.get("/custodian")
async def custodian() -> HTMLResponse:
    """The custodian's room, empty: what is private is asked for with a token."""
    asked = asked_fields(WhatIfRequest)
    return _page(
        "custodian",
        "The custodian's room",
        scripts=("custodian",),
        charts=("drawing", "zoom", "check"),
        scale=" ".join(SCALE),
        levels=list(LEVELS.values()),
        sections={name: [each for each in asked if each.section == name] for name in SECTIONS},
    )


@router.get("/static/{name:path}", response_class=Response)
async def static(name: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """A script, a style or a licence."""
    if name not in (*OWN, *SHARED):
        raise ProblemError("http-no-file")
    body, tag = _file(name)
    kind = KINDS.get(name.rpartition(".")[2], "text/plain")
    headers = {"etag": tag, "cache-control": "no-cache"}
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=f"{kind}; charset=utf-8")


@cache
def _file(name: str) -> tuple[bytes, str]:
    """The bytes of a file, and its tag."""
    package = "diurnal.show.web" if name in OWN else "diurnal.show.page"
    body = files(package).joinpath("static", *name.split("/")).read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _page(
    name: str,
    title: str,
    *,
    scripts: Sequence[str] = (),
    charts: Sequence[str] = (),
    status: int = 200,
    **values: Any,
) -> HTMLResponse:
    """A page in the house's frame, with the scripts that it runs."""
    drawn = ("uplot/uPlot.iife.min", *charts) if charts else ()
    made = render(f"site/{name}.html", title=title, scripts=scripts, charts=drawn, **values)
    return HTMLResponse(made, status_code=status)


def _closed() -> HTMLResponse:
    """What is said where even reports ask for a token."""
    said = "Reading reports needs a token here. Use a program, or the custodian's room."
    return _page("said", "Reports are not public here", status=401, words=said)


def _entry(stream: Published) -> dict[str, Any]:
    """A stream in the list of streams. No number of its promise is here, where the rest of it is not."""
    plan = stream.plan
    return {
        "stream": stream.key,
        "title": words.title(plan),
        "facts": _facts(stream),
        "level": plan.level,
        "reported": words.reported(plan),
    }


def _facts(stream: Published) -> list[tuple[str, str]]:
    """What is public about a stream, in a few names and values. Scripts keep them up."""
    plan, grid = stream.plan, stream.plan.grid
    last = "none yet" if stream.last_step is None else _moment(grid.time(stream.last_step))
    state = "running" if stream.end is None else f"stopped at {_moment(grid.time(stream.end))}"
    begins = "reports begin" if stream.last_step is None else "reported from"
    return [
        ("unit", plan.query.unit(grid.unit)),
        ("households", f"{sum(group.size for group in stream.groups):,}"),
        *([("groups", f"{len(stream.groups):,}")] if plan.groups else []),
        (begins, _moment(grid.time(stream.first_step))),
        ("last report", last),
        ("state", state),
    ]


def _moment(time: str) -> str:
    """A time with its offset, as a person reads it."""
    return f"{time[:10]} {time[11:16]} {time[19:]}"


def _last_steps(stream: Published) -> range:
    """The steps of the rows that are there without scripts."""
    if stream.last_step is None:
        return range(0)
    most = max(1, min(stream.plan.grid.slots, LISTED // max(1, stream.width)))
    return range(max(stream.first_step, stream.last_step - most + 1), stream.last_step + 1)


def _stream(stream: Published, rows: Sequence[Report], errors: Mapping[str, str], *, alone: bool) -> dict[str, Any]:
    plan, cycle = stream.plan, words.cycle_word(stream.plan.grid)
    layout = shown_table(rows, plan.query.unit(plan.grid.unit))
    return {
        "stream": stream.key,
        "number": plan.certificate_number,
        "waiting": stream.last_step is None,
        "stopped": stream.end is not None,
        "begins": _moment(plan.grid.time(stream.first_step)),
        "level": plan.level,
        "reported": words.reported(plan),
        "told": [*_facts(stream), *errors.items()],
        "noise": plan.protection.noise.format(cycle=cycle),
        "apart": plan.protection.apart.format(cycle=cycle),
        "when": when_out(plan),
        "spread": _spread(stream),
        "mechanism": plan.mechanisms_text,
        "unit": plan.query.unit(plan.grid.unit),
        "zone": plan.grid.zone,
        "names": stream.names,
        "epsilons": words.epsilons(plan),
        "short": words.in_short(plan, *(() if alone else (OTHERS,))),
        "whole": words.sentences(stream.guarantee),
        "rows": layout.pop("lines"),
        "layout": layout,
        "grouped": bool(plan.groups),
    }


def _spread(stream: Published) -> str:
    """How large the noise of a row is."""
    spread = [float(form.std) for group in stream.groups for form in group.forms]
    low, high = short(min(spread)), short(max(spread))
    return low if low == high else f"{low} to {high}"
