"""Service: the store behind it all.

A curator blocks while it works, and SQLite has one writer: so one thread writes, in the order of asking; several
read, through connections that wait for no writer, and one looks whether there is anything new, so that no reader
keeps that from anybody; two make panels of what was sent; and what the custodian wonders about is thought over
apart from all that comes in. The thread that answers requests does none of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from starlette.responses import Response

from diurnal.curator.curator import Curator
from diurnal.curator.public_reader import Published, Reader
from diurnal.errors import NoStoreError, StoreError, StreamError
from diurnal.promise.guarantee import Guarantee
from diurnal.readings.grid import Grid
from diurnal.readings.importing import Readings
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.panel import Panel
from diurnal.show.log import told
from diurnal.show.web.change_feed import ChangeFeed
from diurnal.show.web.limits import Met, Places
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.pages import Page, PageAsked, Pages
from diurnal.show.web.resources import folders, has_room
from diurnal.show.web.response_cache import ResponseCache
from diurnal.show.web.settings import Settings

Result = TypeVar("Result")

READERS = 4
"""How many threads read."""

MAKERS = 2
"""How many threads make panels."""

FRESH = 1.0
"""For how many seconds it is not tried again whether there is room for a write."""

POLITE = 0.2
"""How many seconds who replays what is past waits for batches, at most, before each event."""


def opened(settings: Settings) -> Curator:
    """The store's curator; the store is made where there is none, and caps for it are given.

    Raises:
        StoreError: There is none, or it cannot be opened.
    """
    try:
        curator = Curator.open(settings.store, profiles=settings.profiles, create=False, clock=settings.clock)
    except NoStoreError:
        if settings.budget is None:
            raise
        curator = Curator.open(settings.store, settings.budget, profiles=settings.profiles, clock=settings.clock)
    if settings.trust_units:
        curator.trust_units()
    return curator


class Service:
    """One store, and the threads that work on it."""

    def __init__(self, settings: Settings) -> None:
        """Open a store that is there; one that is not is made where caps for it are given.

        Raises:
            StoreError: There is none, or it cannot be opened.
        """
        self.settings, self.metrics = settings, Metrics()
        self.curator = opened(settings)
        self.reader = Reader.open(settings.store, settings.clock)
        self._writing = ThreadPoolExecutor(1, "diurnal-write")
        self._reading = ThreadPoolExecutor(READERS, "diurnal-read")
        self._looking = ThreadPoolExecutor(1, "diurnal-look")
        self._making = ThreadPoolExecutor(MAKERS, "diurnal-make")
        limits = settings.limits
        self.pages = Pages(self.reader, limits.cache // 2)
        self.answers: ResponseCache[Response] = ResponseCache(limits.cache // 4, lambda answer: len(answer.body))
        self.words: ResponseCache[tuple[Any, str]] = ResponseCache(limits.cache // 4, lambda said: len(said[1]))
        """Events as they are told, with where one is after them."""
        self.met = Met(self.metrics)
        self.listeners = Places("listeners", most=limits.listeners, each=limits.client_listeners, retry=30)
        self.replays = Places("replays", most=limits.replays, each=limits.client_replays, retry=5)
        self._making_pages = Places("pages", most=limits.pages, each=limits.client_pages, retry=1)
        self.metrics.listeners.set_function(lambda: self.listeners.taken)
        self.batches = 0
        """How many batches are in the house."""
        self._state: asyncio.Task[bool] | None = None
        self._tried, self._has_room = -FRESH, True
        self._read_once: dict[Hashable, asyncio.Task[Any]] = {}

    async def open(self) -> None:
        """Begin: within the loop that answers requests."""
        self._thinking = asyncio.Semaphore(1)
        self.past = asyncio.Semaphore(1)
        """Who replays what is past reads it in turn."""
        self.feed = ChangeFeed(self.reader, self.look)
        await self.feed.refresh()
        self._watch = asyncio.create_task(self.feed.watch(self.settings.poll))
        # What many days cost takes a while to compose, the first time: nobody who asks for a promise shall wait.
        self._composing = asyncio.create_task(self._compose_all())
        self._closing = asyncio.create_task(self._close_overdue())

    async def _compose_all(self) -> None:
        for stream in self.feed.streams():
            await self.composed(stream)

    async def _close_overdue(self) -> None:
        """Report what is past its deadline, again and again, for as long as the service runs."""
        await asyncio.sleep(self.settings.overdue_after)
        while True:
            try:
                closed = await self.write(self.curator.close_overdue)
            except StoreError as error:
                told("overdue", level=logging.WARNING, error=error)
            else:
                for stream, rows in closed.items():
                    told("closed by deadline", stream=stream[:12], rows=len(rows))
                if closed:
                    await self.feed.nudge()
            await asyncio.sleep(self.settings.overdue_every)

    async def composed(self, stream: Published) -> Guarantee:
        """A stream's promise, whose losses are composed apart from the loop that answers requests."""
        guarantee = stream.guarantee
        await self.read(guarantee.sentences)
        return guarantee

    async def close(self) -> None:
        """End: what is being written is written."""
        self.feed.stop()
        self._watch.cancel()
        self._composing.cancel()
        self._closing.cancel()
        for pool in (self._making, self._writing, self._reading, self._looking):
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        self.reader.close()
        self.curator.close()

    async def write(self, work: Callable[[], Result]) -> Result:
        """Do something with the curator, when it is its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._writing, work)

    async def read(self, work: Callable[[], Result]) -> Result:
        """Read something."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def look(self, work: Callable[[], Result]) -> Result:
        """Read something small that must not wait for what others read."""
        return await asyncio.get_running_loop().run_in_executor(self._looking, work)

    async def state(self) -> bool:
        """Look at the store, once for all who ask at the same time: whether there is room for a write.

        Raises:
            StoreError: It cannot be reached.
        """
        if self._state is None or self._state.done():
            self._state = asyncio.create_task(self.look(self._looked))
        return await asyncio.shield(self._state)

    def _looked(self) -> bool:
        self.reader.number()
        if monotonic() > self._tried + FRESH:
            self._tried, self._has_room = monotonic(), all(map(has_room, folders(self.settings)))
        return self._has_room

    async def make(self, work: Callable[[], Result]) -> Result:
        """Make something of what was sent."""
        return await asyncio.get_running_loop().run_in_executor(self._making, work)

    async def think(self, work: Callable[[], Result]) -> Result:
        """Work for long on what the custodian wonders about: a check, a prediction. One at a time.

        Nothing is lost if it never ends, so that nobody waits for it when the service stops.
        """
        async with self._thinking:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[Result] = loop.create_future()
            threading.Thread(target=_thought, args=(work, answer, loop), daemon=True).start()
            return await answer

    async def once(self, name: Hashable, work: Callable[[], Result]) -> Result:
        """Read something, once however many ask for it at the same time."""
        found: Result = await asyncio.shield(self._read_once.get(name) or self._begun(name, work))
        return found

    def _begun(self, name: Hashable, work: Callable[[], Result]) -> asyncio.Task[Result]:
        reading = self._read_once[name] = asyncio.create_task(self.read(work))
        reading.add_done_callback(lambda _: self._read_once.pop(name))
        return reading

    async def after_batches(self) -> None:
        """Let everybody else have a turn, and batches that are in the house, if they do not take too long."""
        await asyncio.sleep(0)
        late = monotonic() + POLITE
        while self.batches and monotonic() < late:
            await asyncio.sleep(0.01)

    async def page(self, asked: PageAsked, stream: Published, number: int, client: str) -> Page:
        """A page of reports, made once however many ask for it at the same time.

        Raises:
            ProblemError: So many others are being made, or for this client, that it would take too long.
        """
        if asked not in self._read_once:
            leave = self._making_pages.take(client)
            # It is made to its end, even if nobody waits for it any more.
            making = self._begun(asked, lambda: self.pages.made(asked, stream, number))
            making.add_done_callback(lambda _: leave())
        found: Page = await asyncio.shield(self._read_once[asked])
        return found

    def population(self) -> tuple[Grid, tuple[int, int]]:
        """The grid and the domain that all streams of a store share.

        Raises:
            StreamError: There is no stream.
        """
        streams = self.feed.streams()
        if not streams:
            raise StreamError("no-open-stream")
        return streams[-1].plan.grid, streams[-1].plan.domain

    def panel(self, readings: Readings, steps: range) -> Panel:
        """What was sent, on the grid that all streams share.

        Raises:
            ClockError: All of it is of times that have not come yet.
        """
        grid, domain = self.population()
        return make_panel(readings, like=grid, steps=steps, domain=domain, on_duplicate="first")


def _thought(work: Callable[[], Result], answer: asyncio.Future[Result], loop: asyncio.AbstractEventLoop) -> None:
    """Do some work, and tell the loop what came of it, if it is still there and somebody waits."""

    def tell(setter: Callable[[Any], None], found: Any) -> None:
        if not answer.done():
            setter(found)

    try:
        setter, found = answer.set_result, work()
    except Exception as error:
        setter, found = answer.set_exception, error  # type: ignore[assignment]
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, setter, found)
