"""Middleware: what every request passes, before it is known what it asks for, and what every answer leaves with.

A number of its own; limits on how often, how many at once and how large; headers that let a browser do as little as
it needs; a line in the log and a count. Whatever goes wrong inside ends here as an answer that says nothing.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, MutableMapping
from contextlib import ExitStack
from time import perf_counter
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from diurnal.show.log import told
from diurnal.show.web import problems
from diurnal.show.web.access import Access, shown_by
from diurnal.show.web.limits import Buckets, Later, Met, Places, client_in
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a page of ours may load: what comes from here, and nothing from anybody else."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
}

PUBLIC = ("/v1/streams", "/metrics", "/healthz", "/readyz", "/openapi.json")
"""How the paths begin that everybody may read, from any page."""

HEALTH = ("/healthz", "/readyz")
"""What is asked to learn whether the service lives: it must not be the crowd that answers."""

OTHERS = ("/v1/readings", "/v1/custodian")
"""How the paths begin of which the public is not even told how often they are asked."""

CROSS = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "ETag, Link, X-Request-Id",
    "cross-origin-resource-policy": "cross-origin",
}
"""What lets a page from elsewhere read them. Nothing else may be read, and nothing sent, from elsewhere."""

PREFLIGHT = {
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": "If-None-Match, Last-Event-ID",
    "access-control-max-age": "86400",
}


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


_ALWAYS, _CROSS, _OWN = _raw(HEADERS), _raw(CROSS), _raw({"cross-origin-resource-policy": "same-origin"})

BATCHES = "/v1/readings"
"""The only path to which much may be sent."""


class Gate:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        access: Access,
        metrics: Metrics,
        met: Met,
        listeners: Places,
    ) -> None:
        self._app, self._settings, self._access, self._metrics, self._met = app, settings, access, metrics, met
        self._listeners, self._later = listeners, Later()
        limits = settings.limits
        self._buckets = Buckets(rate=limits.requests, burst=limits.burst)
        self._places = Places("requests", most=limits.at_once, retry=1)
        self._kept = Places("kept", most=limits.kept, retry=1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, passing, asked = perf_counter(), _Passing(scope, send, self._settings), _asked(scope)
        kind, client = self._who(scope)
        try:
            with passing.held:
                await self._enter(asked, receive, passing, kind, client)
        except ProblemError as problem:
            asked["diurnal.problem"] = problem
            await passing.refuse(problem)
        except Exception as error:
            told("failed", level=logging.ERROR, error=error, request=passing.request)
            await passing.refuse(problems.internal())
        finally:
            self._count(scope["method"], asked, passing, kind, perf_counter() - began)

    def _who(self, scope: Scope) -> tuple[str, str]:
        """Of which kind a request is, and whose: what the public does is not counted against anybody else."""
        if scope["path"] in HEALTH:
            return "health", client_in(scope)
        keeper = self._access.keeper(shown_by(_header(scope, b"authorization")))
        return ("public", client_in(scope)) if keeper is None else (keeper.role, keeper.digest)

    async def _enter(self, scope: Scope, receive: Receive, passing: _Passing, kind: str, client: str) -> None:
        limits, path = self._settings.limits, scope["path"]
        waits = self._buckets.take(f"{kind} {client}")
        if waits:
            raise ProblemError("http-too-often", retry=waits, limit="client_requests")
        if _listens(scope) and not self._settings.reads_need_token:
            # Who waits for events is counted by their address, whatever they show. They are refused here, before
            # it is known what they ask for: a crowd that comes again and again costs little.
            self._later.check(client_in(scope))
            passing.held.callback(self._listeners.take(client_in(scope)))
        elif not _listens(scope):
            passing.held.callback((self._places if kind == "public" else self._kept).take(client))
        if scope["method"] == "OPTIONS" and path.startswith(PUBLIC):
            await passing.preflight()
            return
        limit = limits.body if path == BATCHES else limits.question
        length = _header(scope, b"content-length")
        # More digits than a number needs are no number: whatever it is, it is too much.
        if length is not None and (len(length) > 15 or (length.isdigit() and int(length) > limit)):
            raise problems.too_large(limit)
        await self._app(scope, _counted(receive, limit, limits.patience), passing.send)

    def _count(self, method: str, asked: Scope, passing: _Passing, kind: str, seconds: float) -> None:
        route = getattr(asked.get("route"), "path", None) or "unmatched"
        status = passing.status or 499
        is_public = not asked["path"].startswith(OTHERS)
        self._metrics.request(method, route, status, seconds, public=is_public)
        problem = asked.get("diurnal.problem")
        if problem is not None and problem.limit is not None:
            if _listens(asked):
                self._later.tell(client_in(asked), problem)
            # No line of its own: whoever meets limits on purpose would fill the disk with them.
            self._met(problem.limit, kind, public=is_public and kind == "public")
            return
        told(
            "request",
            request=passing.request,
            method=method[:8],
            route=route,
            status=status,
            milliseconds=round(1000 * seconds, 2),
        )


class _Passing:
    """A request on its way through."""

    def __init__(self, scope: Scope, send: Send, settings: Settings) -> None:
        self.request = uuid.uuid4().hex
        self.status: int | None = None
        self._scope, self._send, self._settings = scope, send, settings
        self.held = ExitStack()
        """What is given back when it has passed: the places it took."""
        scope["diurnal.request"], scope["diurnal.held"] = self.request, self.held

    async def send(self, message: Message) -> None:
        """Send a part of the answer, its head with all headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._dress(message)
        await self._send(message)

    async def refuse(self, problem: ProblemError) -> None:
        """Answer with a problem, if nothing was answered yet."""
        if self.status is None:
            await problems.answer(problem, self.request)(self._scope, _nothing, self.send)

    async def preflight(self) -> None:
        """Answer a browser that asks whether a page from elsewhere may ask."""
        await self.send({"type": "http.response.start", "status": 204, "headers": _raw(PREFLIGHT)})
        await self.send({"type": "http.response.body", "body": b""})

    def _dress(self, message: MutableMapping[str, Any]) -> None:
        headers = [*message.get("headers", ()), *_ALWAYS, (b"x-request-id", self.request.encode())]
        # What says nothing of keeping is not to be kept: the custodian's answers are private.
        if not any(name == b"cache-control" for name, _ in headers):
            headers.append((b"cache-control", b"no-store"))
        is_open = self._scope["path"].startswith(PUBLIC) and not self._settings.reads_need_token
        headers += _CROSS if is_open else _OWN
        if self._settings.secure:
            headers.append((b"strict-transport-security", b"max-age=31536000"))
        message["headers"] = headers


def _header(scope: Scope, name: bytes) -> str | None:
    return next((value.decode("latin-1") for each, value in scope["headers"] if each == name), None)


def _asked(scope: Scope) -> Scope:
    """What a request asks for: a HEAD what a GET does. The server leaves its body out."""
    is_head = scope["method"] == "HEAD" and not scope["path"].endswith("/events")
    return {**scope, "method": "GET"} if is_head else scope


def _listens(scope: Scope) -> bool:
    """Whether a request waits for events."""
    return scope["method"] == "GET" and str(scope["path"]).endswith("/events")


def _counted(receive: Receive, limit: int, patience: float) -> Receive:
    """What arrives, as long as it is not too much, nor takes too long."""
    so_far, whole, late = 0, False, asyncio.get_running_loop().time() + patience

    async def counting() -> Message:
        nonlocal so_far, whole
        if whole:
            # Nothing comes any more but that the client has gone: that may take as long as it likes.
            return await receive()
        try:
            async with asyncio.timeout_at(late):
                message = await receive()
        except TimeoutError:
            raise problems.too_slow() from None
        whole = not message.get("more_body", False)
        so_far += len(message.get("body", b""))
        if so_far > limit:
            raise problems.too_large(limit)
        return message

    return counting


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
