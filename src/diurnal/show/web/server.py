"""Server: how the service is run, and how it ends.

Told to stop (SIGTERM, an interrupt), it takes no more connections, finishes what it has begun, lets who listens for
events go, writes what is being written, and ends. Killed, it leaves a store in which everything is whole.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from diurnal.errors import DiurnalError, InputError, StoreError
from diurnal.show import log
from diurnal.show.web import problems
from diurnal.show.web.access import Access
from diurnal.show.web.app import application
from diurnal.show.web.limits import Connections
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.resources import fitted
from diurnal.show.web.service import opened
from diurnal.show.web.settings import Settings
from diurnal.show.web.tls import check_tls
from diurnal.show.web.workers import supervise

GRACE = 30
"""How many seconds requests have to end."""


QUIET = 20
"""How many seconds a connection may take to say what it wants."""

LONGEST = 64 * 1024
"""How many bytes the head of a request may have, about: so many are listened to without an end to it."""

STUCK = 120
"""How many seconds somebody may leave an answer lying that is more than fits on the way."""


@dataclass(frozen=True, kw_only=True)
class Door:
    """Where the service is to be found, and how one comes in."""

    host: str = "127.0.0.1"
    """The address to listen at."""
    port: int = 8080
    """The port; 0 for any that is free."""
    certificate: str | None = None
    """A TLS certificate, as a file."""
    key: str | None = None
    """Its key."""
    proxy: str | None = None
    """Addresses or networks of a proxy that clients come through: what it says of them is believed."""
    workers: int = 1
    """How many processes answer."""

    def check(self, store: str) -> None:
        """Refuse to be reached from elsewhere in clear text, and several writers to one file.

        Raises:
            InputError: One of these.
        """
        if (self.certificate is None) != (self.key is None):
            raise InputError("tls-pair")
        if not is_own(self.host) and self.certificate is None and self.proxy is None:
            raise InputError("tls-needed", host=self.host)
        if self.proxy is not None and not all(map(is_network, self.proxy.split(","))):
            raise InputError("proxy-addresses")
        if self.workers > 1 and "://" not in store:
            raise InputError("sqlite-one-writer")

    @property
    def secure(self) -> bool:
        """Whether clients come over TLS."""
        return self.certificate is not None or self.proxy is not None


def is_own(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_network(words: str) -> bool:
    """Whether words are an address, or a network of addresses."""
    try:
        ipaddress.ip_network(words.strip(), strict=False)
    except ValueError:
        return False
    return True


class Patient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that is closed if it says nothing, or half a request, for too long: places are few.

    Where they are all taken it gives way to another at once.
    So is one whose head does not end, nor what comes after a body: the parser keeps all of it, however much it is.
    So is one that asks and does not take the answer.
    """

    house: Connections
    """Whose connection it is."""
    _closing: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None
    _running: Any = None
    _heard = 0
    """How many bytes have come since anything was whole: a head, or a part of a body."""
    _whole = False
    """Whether something was, in what has come now."""

    def connection_made(self, transport: Any) -> None:
        """Somebody has come."""
        super().connection_made(transport)
        if self.house.come(self):
            self._expect()
        else:
            self._refuse("503 Service Unavailable", problems.full())

    def data_received(self, data: bytes) -> None:
        """They say something."""
        self._whole = False
        super().data_received(data)
        self._heard = 0 if self._whole else self._heard + len(data)
        if self._heard > LONGEST and not self.transport.is_closing():
            self.house.met("head", "unknown", public=True)
            self._refuse("431 Request Header Fields Too Large", problems.too_long())
        self._expect()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._whole = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._whole = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body has come: how much there may be of that is counted elsewhere."""
        self._whole = True
        super().on_body(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        for each in (self._closing, self._leaving):
            if each is not None:
                each.cancel()
        super().connection_lost(exc)
        self.house.go(self)
        # Told that they have gone is the request that came last: the one that is being answered may be another.
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()

    def pause_writing(self) -> None:
        """They do not take what they are sent."""
        super().pause_writing()
        if self._leaving is None:
            # To close it would be to wait until they have taken all.
            self._leaving = self.loop.call_later(STUCK, self.transport.abort)

    def resume_writing(self) -> None:
        """They do again."""
        super().resume_writing()
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _expect(self) -> None:
        """Expect a whole head of a request, unless one is being answered."""
        if self._closing is None and not self._answers():
            self._closing = self.loop.call_later(QUIET, self._look)

    def _look(self) -> None:
        self._closing = None
        if not self._answers() and not self.transport.is_closing():
            self.transport.close()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._running = cycle
        self.house.ask(self)
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """A request is answered: what was sent behind it is answered before more is listened to."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()
        if not self._answers():
            self.house.rest(self)

    def give_way(self) -> None:
        """Hang up at once: nothing is being answered."""
        self.transport.abort()

    def _refuse(self, status: str, problem: ProblemError) -> None:
        """Hang up; and say why, unless an answer is being given."""
        if not self._answers():
            answer = problems.answer(problem, uuid.uuid4().hex)
            headers = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
            head = f"HTTP/1.1 {status}\r\n{headers}connection: close\r\n\r\n"
            self.transport.write(head.encode() + answer.body)
        self.transport.close()

    def _answers(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


class Server(uvicorn.Server):
    """A server that says when it listens; and tells who waits for events when it ends, or would wait for them."""

    def __init__(self, config: uvicorn.Config, *, ready: Callable[[], None], stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready, self._stop = ready, stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen. From here on a signal ends it in order."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end. Asked a second time by an interrupt, end at once."""
        self._stop()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def run(settings: Settings, door: Door, *, ready: Callable[[str], None], log_level: str = "info") -> None:
    """Run the service until it is told to stop.

    Args:
        settings: What it serves.
        door: Where.
        ready: Is told the address once the service listens.
        log_level: From which level on lines are logged.

    Raises:
        InputError: The port is taken, the door is refused, certificate or key cannot be used, or there are too few
            open files.
        StoreError: There is no store.
    """
    door.check(settings.store)
    if door.certificate is not None and door.key is not None:
        check_tls(door.certificate, door.key)
    settings = _fitted(settings, log_level)
    if door.workers == 1:
        # Made before the port is taken: what is wrong with store or tokens is said first.
        app = application(settings)
        taken = _taken(door)
        _answer(app, door, log_level, taken, lambda: ready(_address(door, taken)))
        return
    # So is what is wrong for all processes, by this one; and a store that is not there is made once.
    Access(settings)
    opened(settings)
    taken = _taken(door)
    ready(_address(door, taken))
    supervise(partial(_work, settings, door, log_level, taken), door.workers)


def _fitted(settings: Settings, log_level: str) -> Settings:
    limits, wanted = fitted(settings.limits), settings.limits.listeners
    if limits.listeners < wanted:
        log.set_up(log_level)
        log.told(
            "too few open files: fewer may listen", level=logging.WARNING, listeners=limits.listeners, wanted=wanted
        )
    return replace(settings, limits=limits)


def _work(settings: Settings, door: Door, log_level: str, taken: socket.socket) -> None:
    """What each of several processes does."""
    try:
        _answer(application(settings), door, log_level, taken, lambda: None)
    except DiurnalError as error:
        log.set_up(log_level)
        log.told("could not begin", level=logging.ERROR, error=error)
        sys.exit(1)


def _answer(app: FastAPI, door: Door, log_level: str, taken: socket.socket, ready: Callable[[], None]) -> None:
    log.set_up(log_level)
    service = app.state.service

    def stop() -> None:
        # A signal may come before the first request could.
        if hasattr(service, "feed"):
            service.feed.stop()

    server = Server(_config(app, door), ready=ready, stop=stop)
    server.run(sockets=[taken])
    if not server.started:
        raise StoreError("service-not-begun")


def _config(app: FastAPI, door: Door) -> uvicorn.Config:
    service = app.state.service

    class Counted(Patient):
        house = Connections(service.settings.limits.connections, service.met)

    return uvicorn.Config(
        app,
        http=Counted,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        ssl_certfile=door.certificate,
        ssl_keyfile=door.key,
        proxy_headers=door.proxy is not None,
        forwarded_allow_ips=door.proxy,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=32 * 1024,
    )


def _taken(door: Door) -> socket.socket:
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((door.host, door.port))
        # Who is told the address may come before the first process answers: they wait, and are not refused.
        taken.listen(socket.SOMAXCONN)
    except (OSError, OverflowError) as cause:
        taken.close()
        why = getattr(cause, "strerror", None) or "no such port"
        raise InputError("service-port", port=door.port, host=door.host, reason=why) from None
    taken.set_inheritable(True)
    return taken


def _address(door: Door, taken: socket.socket) -> str:
    host = f"[{door.host}]" if ":" in door.host else door.host
    return f"{'https' if door.certificate else 'http'}://{host}:{taken.getsockname()[1]}"
