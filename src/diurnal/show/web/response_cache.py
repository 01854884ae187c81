"""Response cache: answers that were made before, up to a number of bytes; the least recently used goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from fastapi import Request
from starlette.responses import Response

from diurnal.show.web.access import Handler, PublicRoute

Value = TypeVar("Value")

LONGEST = 400
"""How many letters a question has whose answer is kept, at most."""

AROUND = 2500
"""How many bytes are taken by whatever is kept, besides its own: names, headers, places in lists."""


class ResponseCache(Generic[Value]):
    """What is kept, by name. It may be used by several threads at once."""

    def __init__(self, room: int, size: Callable[[Value], int]) -> None:
        """Keep as much as there is room for, in bytes."""
        self._room, self._of_value = room, size
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, name: Hashable) -> Value | None:
        """What is kept under a name."""
        with self._lock:
            found = self._values.get(name)
            if found is not None:
                self._values.move_to_end(name)
            return found

    def put(self, name: Hashable, value: Value) -> None:
        """Keep something, and let go of what there is no room for."""
        with self._lock:
            gone = self._values.pop(name, None)
            self._room += 0 if gone is None else self._size(gone)
            self._values[name] = value
            self._room -= self._size(value)
            while self._room < 0:
                self._room += self._size(self._values.popitem(last=False)[1])

    def _size(self, value: Value) -> int:
        return self._of_value(value) + AROUND

    def total(self) -> int:
        """How many bytes are kept."""
        with self._lock:
            return sum(map(self._size, self._values.values()))


class CachedRoute(PublicRoute):
    """A route whose answers that never change are given again as they are, before anything is made of the question.

    Only where reads are open to everybody: else the question must be looked at, for who asks it.
    """

    def get_route_handler(self) -> Handler:
        """The handler, with what is kept before it."""
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            service = request.app.state.service
            answers: ResponseCache[Response] = service.answers
            if service.settings.reads_need_token:
                return await handler(request)
            name = _name(request)
            found = answers.get(name)
            if found is None:
                made = await handler(request)
                is_final = made.status_code == 200 and "immutable" in made.headers.get("cache-control", "")
                # A question may be as long as somebody likes, and every one would be remembered.
                if is_final and sum(map(len, name)) <= LONGEST:
                    answers.put(name, made)
                return made
            service.metrics.from_cache.inc()
            return _again(found, request.headers.get("if-none-match"))

        return handled


def _name(request: Request) -> tuple[str | bytes, ...]:
    """All of a question that decides its answer."""
    scope, headers = request.scope, request.headers
    accepts = (headers.get(name, "") for name in ("accept", "accept-encoding"))
    return scope["path"], scope["query_string"], *accepts


def knows(tag: str | None, known: str | None) -> bool:
    """Whether somebody has what a tag stands for (If-None-Match); a proxy that packs it weakens its tag."""
    tags = [each.strip().removeprefix("W/") for each in (known or "").split(",")]
    return tag is not None and (tag in tags or "*" in tags)


def _again(kept: Response, known: str | None) -> Response:
    """An answer once more; that it is known, if it is."""
    status = 304 if knows(kept.headers.get("etag"), known) else 200
    again = Response(status_code=status)
    again.body = kept.body if status == 200 else b""
    # Headers are put on while it is sent: the kept ones stay as they are.
    again.raw_headers = [*kept.raw_headers] if status == 200 else _without_body(kept.raw_headers)
    return again


def _without_body(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    about = (b"content-length", b"content-type", b"content-encoding")
    return [(name, value) for name, value in headers if name not in about]
