"""Service: the store behind it all.

A curator blocks while it works, and SQLite has one writer: so one thread writes, in the order of asking; several
read, through connections that wait for no writer; two make panels of what was sent. The thread that answers
requests does none of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from starlette.responses import Response

from diurnal.curator.curator import Curator
from diurnal.curator.reading import Reader
from diurnal.errors import NoStoreError, StreamError
from diurnal.readings.grid import Grid
from diurnal.readings.importing import Readings
from diurnal.readings.importing import panel as make_panel
from diurnal.readings.panel import Panel
from diurnal.show.web.hub import Hub
from diurnal.show.web.kept import Kept
from diurnal.show.web.metrics import Metrics
from diurnal.show.web.pages import Pages
from diurnal.show.web.settings import Settings

Result = TypeVar("Result")

READERS = 4
"""How many threads read."""

MAKERS = 2
"""How many threads make panels."""


def _opened(settings: Settings) -> Curator:
    try:
        return Curator.open(settings.store, profiles=settings.profiles, create=False)
    except NoStoreError:
        if settings.budget is None:
            raise
        return Curator.open(settings.store, settings.budget, profiles=settings.profiles)


class Service:
    """One store, and the threads that work on it."""

    def __init__(self, settings: Settings) -> None:
        """Open a store that is there; one that is not is made where caps for it are given.

        Raises:
            StoreError: There is none, or it cannot be opened.
        """
        self.settings, self.metrics = settings, Metrics()
        self.curator = _opened(settings)
        self.reader = Reader.open(settings.store)
        self._writing = ThreadPoolExecutor(1, "diurnal-write")
        self._reading = ThreadPoolExecutor(READERS, "diurnal-read")
        self._making = ThreadPoolExecutor(MAKERS, "diurnal-make")
        self.pages = Pages(self.reader, settings.limits.cache // 2)
        self.answers: Kept[Response] = Kept(settings.limits.cache // 2, lambda answer: len(answer.body) + 2000)
        self.batches = 0
        """How many batches are in the house."""

    async def open(self) -> None:
        """Begin: within the loop that answers requests."""
        self.hub = Hub(self.reader, self.read, lambda: self.write(lambda: self.curator.head))
        await self.hub.refresh()
        self._watch = asyncio.create_task(self.hub.watch(self.settings.poll))

    async def close(self) -> None:
        """End: what is being written is written."""
        self.hub.stop()
        self._watch.cancel()
        for pool in (self._making, self._writing, self._reading):
            await asyncio.to_thread(pool.shutdown, wait=True, cancel_futures=True)
        self.reader.close()

    async def write(self, work: Callable[[], Result]) -> Result:
        """Do something with the curator, when it is its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._writing, work)

    async def read(self, work: Callable[[], Result]) -> Result:
        """Read something."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, work)

    async def make(self, work: Callable[[], Result]) -> Result:
        """Work on something for long: a panel, a check, a prediction."""
        return await asyncio.get_running_loop().run_in_executor(self._making, work)

    def population(self) -> tuple[Grid, tuple[int, int]]:
        """The grid and the domain that all streams of a store share.

        Raises:
            StreamError: There is no stream.
        """
        streams = self.hub.streams()
        if not streams:
            raise StreamError("No stream takes readings.", hint="Start a plan first.")
        return streams[-1].plan.grid, streams[-1].plan.domain

    def panel(self, readings: Readings) -> Panel:
        """What was sent, on the grid that all streams share."""
        grid, domain = self.population()
        return make_panel(readings, like=grid, domain=domain)
