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
from html import escape
from importlib.resources import files
from string import Template
from typing import Annotated, get_args

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import HTMLResponse

from diurnal.curator.reading import Published
from diurnal.curator.report import Report
from diurnal.planning.planner import when_out
from diurnal.planning.prediction import short
from diurnal.private import public
from diurnal.promise.levels import LEVELS, Level
from diurnal.promise.mechanisms import CycleMechanismName, MechanismName
from diurnal.show.drawing import SCALE
from diurnal.show.page import parts, words
from diurnal.show.page.bars import table
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

OTHERS = "Other plans report from this store too: for a household that is in several of them, their costs add up."

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
async def front(request: Request) -> HTMLResponse:
    """Every stream there is."""
    service: Service = request.app.state.service
    if service.settings.reads_need_token:
        return _closed()
    streams = service.hub.streams()
    listed = "".join(_entry(stream) for stream in reversed(streams))
    none = '<p class="empty">Nothing is reported yet. Once a plan is started, it appears here by itself.</p>'
    content = _filled("streams", streams=f'<ul class="streams">{listed}</ul>' if listed else none)
    return _page("Reports", content, scripts=("streams",))


@router.get("/streams/{key}")
async def one(request: Request, key: str) -> HTMLResponse:
    """A stream: its reports as they come, with its promise."""
    service: Service = request.app.state.service
    if service.settings.reads_need_token:
        return _closed()
    try:
        stream = service.hub.stream(key)
    except ProblemError:
        said = _filled("said", title="There is no such stream", words="It may have another name.")
        return _page("There is no such stream", said, status=404)
    sizes = tuple(group.size for group in stream.groups)
    rows, errors = await service.read(
        lambda: (service.reader.rows(stream, _last_steps(stream)), words.errors(stream.plan, sizes))
    )
    await service.composed(stream)
    alone = len(service.hub.streams()) == 1
    content = _stream(stream, public(rows), errors, alone=alone)
    return _page(words.title(stream.plan), content, scripts=("stream",), charts=("drawing", "zoom"))


@router.get("/custodian")
async def custodian() -> HTMLResponse:
    """The custodian's room, empty: what is private is asked for with a token."""
    return _page(
        "The custodian's room",
        _filled(
            "custodian",
            scale=" ".join(SCALE),
            levels="".join(map(_level_option, LEVELS.values())),
            limits="".join(map(_limits, LEVELS.values())),
            mechanisms=_options(get_args(MechanismName)),
            cycle_mechanisms=_options(get_args(CycleMechanismName)),
        ),
        scripts=("custodian",),
        charts=("drawing", "zoom", "check"),
    )


@router.get("/static/{name:path}", response_class=Response)
async def static(name: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """A script, a style or a licence."""
    if name not in (*OWN, *SHARED):
        raise ProblemError(404, "not-found", "There is no such file.", "See the pages for what there is.")
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


@cache
def _template(name: str) -> Template:
    return Template(files("diurnal.show.web").joinpath("templates", f"{name}.html").read_text(encoding="utf-8"))


def _filled(name: str, **values: str) -> str:
    """A template with its places filled in; the values are HTML."""
    return _template(name).substitute(values)


def _page(
    title: str, content: str, *, scripts: Sequence[str] = (), charts: Sequence[str] = (), status: int = 200
) -> HTMLResponse:
    """A page: what is on it in the house's frame."""
    drawn = ("uplot/uPlot.iife.min", *charts) if charts else ()
    loaded = [f'<script defer src="/static/{name}.js"></script>' for name in drawn]
    loaded += [f'<script type="module" src="/static/{name}.js"></script>' for name in scripts]
    return HTMLResponse(
        _filled("house", title=escape(title), content=content, scripts="\n".join(loaded)), status_code=status
    )


def _closed() -> HTMLResponse:
    """What is said where even reports ask for a token."""
    said = "Reports are read with a token here: by programs, or in the custodian's room."
    content = _filled("said", title="Reports are not open to everybody here", words=said)
    return _page("Reports are not open to everybody here", content, status=401)


def _entry(stream: Published) -> str:
    """A stream in the list of streams. No number of its promise is here, where the rest of it is not."""
    plan = stream.plan
    return _filled(
        "entry",
        stream=escape(stream.key),
        title=escape(words.title(plan)),
        facts=_facts(stream),
        level=escape(plan.level),
        reported=escape(words.reported(plan)),
    )


def _facts(stream: Published) -> str:
    """What is public about a stream, in a few names and values. Scripts keep them up."""
    plan, grid = stream.plan, stream.plan.grid
    last = "none yet" if stream.last_step is None else _moment(grid.time(stream.last_step))
    state = "running" if stream.end is None else f"stopped at {_moment(grid.time(stream.end))}"
    groups = {"groups": f"{len(stream.groups):,}"} if plan.groups else {}
    told = {
        "unit": plan.query.unit(grid.unit),
        "households": f"{sum(group.size for group in stream.groups):,}",
        **groups,
        "reports begin" if stream.last_step is None else "reported from": _moment(grid.time(stream.first_step)),
        "last report": last,
        "state": state,
    }
    return _listed(told)


def _listed(told: Mapping[str, str]) -> str:
    """Names and values as they stand below a title."""
    return "".join(
        f'<div><dt>{escape(name)}</dt><dd data-fact="{escape(name)}">{escape(value)}</dd></div>'
        for name, value in told.items()
    )


def _moment(time: str) -> str:
    """A time with its offset, as a person reads it."""
    return f"{time[:10]} {time[11:16]} {time[19:]}"


def _last_steps(stream: Published) -> range:
    """The steps of the rows that are there without scripts."""
    if stream.last_step is None:
        return range(0)
    most = max(1, min(stream.plan.grid.slots, LISTED // max(1, stream.width)))
    return range(max(stream.first_step, stream.last_step - most + 1), stream.last_step + 1)


def _stream(stream: Published, rows: Sequence[Report], errors: Mapping[str, str], *, alone: bool) -> str:
    plan, cycle = stream.plan, words.cycle_word(stream.plan.grid)
    unit = plan.query.unit(plan.grid.unit)
    return _filled(
        "stream",
        stream=escape(stream.key),
        number=escape(plan.certificate_number),
        waiting=" data-waiting" if stream.last_step is None else "",
        none=_none(stream),
        level=escape(plan.level),
        title=escape(words.title(plan)),
        reported=escape(words.reported(plan)),
        facts=_facts(stream) + _listed(errors),
        noise=escape(plan.protection.noise.format(cycle=cycle)),
        when=escape(when_out(plan)),
        spread=escape(_spread(stream)),
        mechanism=escape(plan.mechanisms_text),
        unit=escape(unit),
        zone=escape(plan.grid.zone),
        options=_options(stream.names),
        single=" hidden" if len(stream.names) == 1 else "",
        promise=_promise(stream, alone=alone),
        sentences=parts.sentences({"sentences": words.sentences(stream.guarantee)}),
        last=_last(rows, unit) if rows else "",
        total=parts.TOTAL if plan.groups else "",
    )


def _options(names: Sequence[str]) -> str:
    return "".join(f"<option>{escape(name)}</option>" for name in names)


def _level_option(level: Level) -> str:
    """A level to choose, with what the form asks for there; which ones count is decided by the query."""
    traits = {"data-learns": level.learns, "data-counts": level.counts, "hidden": level.counts}
    marks = "".join(f" {name}" for name, has in traits.items() if has)
    shown = escape(level.label, quote=False)
    return f'<option value="{escape(level.name)}" data-layers="{level.layers}"{marks}>{shown}</option>'


def _limits(level: Level) -> str:
    told = f"<strong>What no ε here hides:</strong> {escape(level.unhidden)}"
    return f'<p data-limits="{escape(level.name)}">{told}</p>\n'


def _none(stream: Published) -> str:
    """What is there instead of a chart, until the first report."""
    if stream.end is not None:
        return "<h3>There are no reports</h3><p>This stream was stopped before it reported anything.</p>"
    begins = escape(_moment(stream.plan.grid.time(stream.first_step)))
    return (
        "<h3>Nothing has been reported yet</h3>"
        f"<p>This stream was started and waits for readings. It reports from {begins} on, and its first report "
        "appears here by itself: you may leave this page open, or come back.</p>"
    )


def _spread(stream: Published) -> str:
    """How large the noise of a row is."""
    spread = [float(form.std) for group in stream.groups for form in group.forms]
    low, high = short(min(spread)), short(max(spread))
    return low if low == high else f"{low} to {high}"


def _promise(stream: Published, *, alone: bool) -> str:
    """The promise, what it rests on and what it leaves out: the three together, as on the page that is one file."""
    content = {
        "epsilons": words.epsilons(stream.plan),
        "short": words.in_short(stream.plan, *(() if alone else (OTHERS,))),
        "sentences": words.sentences(stream.guarantee),
    }
    return parts.short_promise(content)


def _last(rows: Sequence[Report], unit: str) -> str:
    names = ["time", "series", f"value ({unit})", "std"]
    lines = [[row.time, row.group, row.value, row.std] for row in rows]
    return table(names, lines, numbers=(2, 3), unbroken=(0,), caption="The last reports")
