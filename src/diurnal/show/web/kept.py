"""Kept: answers that were made before, as many as there is room for; what nobody asked for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """What is kept, by name. It may be used by several threads at once."""

    def __init__(self, room: int, size: Callable[[Value], int]) -> None:
        """Keep as much as there is room for, in bytes."""
        self._room, self._size = room, size
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

    def total(self) -> int:
        """How many bytes are kept."""
        with self._lock:
            return sum(map(self._size, self._values.values()))


class KeptRoute(APIRoute):
    """A route whose answers that never change are given again as they are, before anything is made of the question.

    Only where reads are open to everybody: else the question must be looked at, for who asks it.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with what is kept before it."""
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            service = request.app.state.service
            answers: Kept[Response] = service.answers
            if service.settings.reads_need_token:
                return await handler(request)
            name = _name(request)
            found = answers.get(name)
            if found is None:
                made = await handler(request)
                if made.status_code == 200 and "immutable" in made.headers.get("cache-control", ""):
                    answers.put(name, made)
                return made
            service.metrics.from_cache.inc()
            return _again(found, request.headers.get("if-none-match"))

        return handled


def _name(request: Request) -> Hashable:
    """All of a question that decides its answer."""
    scope, headers = request.scope, request.headers
    return scope["path"], scope["query_string"], headers.get("accept"), headers.get("accept-encoding")


def _again(kept: Response, known: str | None) -> Response:
    """An answer once more; that it is known, if it is."""
    tag = kept.headers.get("etag")
    status = 304 if tag is not None and known is not None and tag in known.split(", ") else 200
    again = Response(status_code=status)
    again.body = kept.body if status == 200 else b""
    # Headers are put on while it is sent: the kept ones stay as they are.
    again.raw_headers = [*kept.raw_headers] if status == 200 else _without_body(kept.raw_headers)
    return again


def _without_body(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    about = (b"content-length", b"content-type", b"content-encoding")
    return [(name, value) for name, value in headers if name not in about]
