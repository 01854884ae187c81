"""Public: what everybody may read. Every answer passes `public`, which lets nothing private through."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Header, Query, Request
from fastapi import Path as InPath
from starlette.responses import Response, StreamingResponse

from diurnal.curator.public_reader import Published
from diurnal.private import public
from diurnal.readings.grid import Grid
from diurnal.show.web import events
from diurnal.show.web.access import FOR_PUBLIC, shown_by
from diurnal.show.web.limits import client_in
from diurnal.show.web.models import answers, shape
from diurnal.show.web.pages import MEDIA, Page, PageAsked, cursor, of_cursor
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.response_cache import CachedRoute, knows
from diurnal.show.web.service import Service

router = APIRouter(prefix="/v1/streams", tags=["public"], dependencies=[FOR_PUBLIC], route_class=CachedRoute)

StreamName = Annotated[
    str,
    InPath(pattern="^[0-9a-f]{8,64}$", description="The stream's name, or how it begins.", examples=["3f2a9c1b"]),
]
Edge = Annotated[
    str | None,
    Query(
        pattern=r"^(\d{1,12}|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([+ -]\d\d:\d\d|Z)?)?)$",
        description="A step, or a time: 2022-08-01T00:00, by the stream's clock unless it has an offset.",
        examples=["2022-08-01"],
    ),
]

FOREVER = "max-age=31536000, immutable"
"""A page that never changes need not be asked for again."""

ASK_AGAIN = "no-cache"
"""One that may still grow may be kept, and must be asked for with its tag."""


def service_of(request: Request) -> Service:
    """The service that an application is."""
    found: Service = request.app.state.service
    return found


def kept_by(request: Request, words: str) -> str:
    """Who may keep an answer, and for how long: everybody, unless reading needs a token."""
    who = "private" if service_of(request).settings.reads_need_token else "public"
    return f"{who}, {words}"


@router.get("", response_model=answers.Streams, summary="Every stream")
async def streams(request: Request, response: Response) -> Any:
    """The streams of the store, in the order of their start."""
    feed = service_of(request).feed
    response.headers["Cache-Control"] = kept_by(request, ASK_AGAIN)
    return public({"streams": [_about(stream) for stream in feed.streams()]})


@router.get("/{stream}", response_model=answers.StreamDetail, summary="One stream, with its plan")
async def stream_detail(request: Request, response: Response, stream: StreamName) -> Any:
    """A stream by its name: what it reports, how far it has come, its plan."""
    feed = service_of(request).feed
    found = feed.stream(stream)
    response.headers["Cache-Control"] = kept_by(request, ASK_AGAIN)
    plan = found.plan
    return public({**_about(found), "certificate_number": plan.certificate_number, "plan": plan.to_json()})


@router.get("/{stream}/promise", response_model=answers.Promise, summary="What is promised")
async def promise(request: Request, response: Response, stream: StreamName) -> Any:
    """The guarantee, whole: neighbours, numbers, assumptions and limits. No number of it means anything alone."""
    service = service_of(request)
    found = service.feed.stream(stream)
    guarantee = await service.composed(found)
    response.headers["Cache-Control"] = kept_by(request, FOREVER)
    parts = {name: list(getattr(guarantee, name)) for name in ("neighbours", "assumptions", "limits")}
    return public({"stream": found.key, **guarantee.to_json(), **parts})


@router.get(
    "/{stream}/reports",
    summary="Released rows",
    response_class=Response,
    responses={
        200: {
            "model": answers.Reports,
            "description": "A page of rows. Where there are more, Link has the next one.",
            "content": {
                **shape.text_of("text/csv", answers.LINES),
                **{MEDIA[form]: {"schema": shape.BYTES} for form in ("arrow", "parquet")},
            },
            "headers": {"ETag": {"schema": {"type": "string"}}, "Link": {"schema": {"type": "string"}}},
        },
        304: {"description": "It is as it was (If-None-Match)."},
    },
)
async def reports(
    request: Request,
    stream: StreamName,
    start: Edge = None,
    stop: Edge = None,
    step: Annotated[
        int | None, Query(ge=0, le=10**12, description="One step only, without start and stop.")
    ] = None,
    group: Annotated[str | None, Query(max_length=200, description="One group's rows only.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000_000, description="The most rows of a page.")] = 10_000,
    cursor: Annotated[
        str | None, Query(max_length=20, pattern=r"^step-\d{1,12}$", description="`next` of the page before.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, Query(pattern="^(json|csv|arrow|parquet)$", description="Else Accept says it, or it is json.")
    ] = None,
    accept: Annotated[str | None, Header(max_length=500)] = None,
    accept_encoding: Annotated[str | None, Header(max_length=500)] = None,
    if_none_match: Annotated[str | None, Header(max_length=2000)] = None,
) -> Response:
    """The rows of steps, from one up to, not including, another. A row that was released never changes."""
    service = service_of(request)
    found = service.feed.stream(stream)
    if step is not None:
        if start is not None or stop is not None:
            raise ProblemError("http-range")
        start, stop = str(step), str(step + 1)
    first = _step(start, found.plan.grid, found.first_step)
    asked = PageAsked(
        stream=found.key,
        start=max(found.first_step, first, 0 if cursor is None else of_cursor(cursor) or 0),
        stop=None if stop is None else _step(stop, found.plan.grid, 0),
        limit=min(limit, service.settings.limits.page),
        group=_group(group, found),
        form=format or _accepted(accept),
        packed=bool(re.search(r"gzip(?!\s*;\s*q=0(\.0*)?\s*(,|$))", accept_encoding or "")),
    )
    number = service.feed.told
    page = service.pages.kept(asked, number)
    (service.metrics.from_store if page is None else service.metrics.from_cache).inc()
    if page is None:
        page = await service.page(asked, found, number, client_in(request.scope))
    return _answer(request, page, asked, if_none_match)


@router.get(
    "/{stream}/events",
    summary="New rows as they are released",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": shape.text_of("text/event-stream", answers.EVENTS),
            "description": "Server-sent events, without end.",
        }
    },
)
async def new_reports(
    request: Request,
    stream: StreamName,
    last_event_id: Annotated[str | None, Header(max_length=30, description="Where to go on.")] = None,
    after: Annotated[str | None, Query(max_length=30, description="The same, for a first visit; 0 is all.")] = None,
) -> StreamingResponse:
    """Events `reports` with rows, and `stopped`. Whoever comes back with the last id misses nothing."""
    service, access = service_of(request), request.app.state.access
    shown, client = shown_by(request.headers.get("Authorization")), client_in(request.scope)
    found, held = service.feed.stream(stream), request.scope["diurnal.held"]
    if service.settings.reads_need_token:
        # Everybody else has taken a place at the gate; here it is known that somebody may read.
        held.callback(service.listeners.take(client))
    place, leave = await events.place_of(service, found.key, last_event_id or after), None
    if events.is_past(service, found.key, place):
        leave = service.replays.take(client)
        held.callback(leave)

    async def words() -> Any:
        async for each in events.listened(service, found.key, place, leave):
            # Who came in with a token is heard out when it has ended, or is revoked.
            if not access.still(shown):
                return
            yield each

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(words(), media_type="text/event-stream", headers=headers)


def _about(stream: Published) -> dict[str, Any]:
    plan, grid, numbers = stream.plan, stream.plan.grid, stream.guarantee.numbers()
    return {
        "stream": stream.key,
        "level": plan.level,
        "query": plan.query.kind,
        "unit": plan.query.unit(grid.unit),
        "groups": list(stream.names),
        "households": sum(group.size for group in stream.groups),
        **{name: getattr(grid, name) for name in ("minutes", "slots", "zone", "anchor")},
        "first_step": stream.first_step,
        "last_step": stream.last_step,
        "first_time": grid.time(stream.first_step),
        "last_time": None if stream.last_step is None else grid.time(stream.last_step),
        "running": stream.end is None,
        "end": stream.end,
        "epsilon": numbers["epsilon"],
        "cycle_epsilon": numbers["cycle_epsilon"],
    }


def _answer(request: Request, page: Page, asked: PageAsked, known: str | None) -> Response:
    headers = {
        "ETag": page.tag,
        "Cache-Control": kept_by(request, FOREVER if page.final and request.query_params else ASK_AGAIN),
        "Vary": "Accept, Accept-Encoding",
    }
    if page.after is not None:
        query = {**dict(request.query_params), "cursor": cursor(page.after)}
        headers["Link"] = f'<{request.url.path}?{urlencode(query)}>; rel="next"'
    if knows(page.tag, known):
        return Response(status_code=304, headers=headers)
    if page.tag.endswith('-gzip"'):
        headers["Content-Encoding"] = "gzip"
    return Response(page.body, headers=headers, media_type=MEDIA[asked.form])


def _accepted(accept: str | None) -> str:
    """The format that a client would like: the first it names that there is."""
    named = [each.partition(";")[0].strip() for each in (accept or "*/*").split(",")]
    forms = {media.partition(";")[0]: form for form, media in MEDIA.items()}
    for name in named:
        if name in forms:
            return forms[name]
    if {"*/*", "application/*"}.intersection(named):
        return "json"
    raise ProblemError("http-format", choices=", ".join(MEDIA))


def _group(name: str | None, stream: Published) -> str | None:
    if name is not None and name not in {*stream.names, *(group.name for group in stream.groups)}:
        raise ProblemError("http-no-group")
    return name


def _step(edge: str | None, grid: Grid, otherwise: int) -> int:
    """The step that an edge of a range says; of a time, the first that begins then or later."""
    if edge is None:
        return otherwise
    if edge.isdecimal():
        return int(edge)
    try:
        # A plus in a query is a space once it has arrived.
        moment = datetime.fromisoformat(re.sub(r" (\d\d:\d\d)$", r"+\1", edge) if len(edge) > 16 else edge)
        if moment.tzinfo is not None:
            moment = moment.astimezone(ZoneInfo(grid.zone)).replace(tzinfo=None)
        apart = moment - datetime.fromisoformat(grid.anchor)
    except (ValueError, OverflowError):
        raise ProblemError("http-time") from None
    return max(0, -(-apart // timedelta(minutes=grid.minutes)))
