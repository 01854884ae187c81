"""Change feed: what is new in the store, and who waits for it.

The store is looked at once a second, and whenever this service has written to it. What was found is kept: which
streams there are, how far they have come, and which events of the ledger released rows of each. Readers of pages
ask here what there is, and ask the store for rows only; who waits for events is woken.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from diurnal.curator.ledger import Event
from diurnal.curator.public_reader import Look, Published, Reader
from diurnal.errors import DiurnalError
from diurnal.show.log import told
from diurnal.show.web.problems import ProblemError

TOLD_AT_ONCE = 10
"""How many who wait for events are told of a release at a time."""

BETWEEN = 0.005
"""How many seconds until the next ones are: a thousand hear of it within a second, and pages are read meanwhile."""

Result = TypeVar("Result")
Read = Callable[[Callable[[], Result]], Awaitable[Result]]


class ChangeFeed:
    """What the public may know, as of the last look."""

    def __init__(self, reader: Reader, read: Read[Look]) -> None:
        self._reader, self._read = reader, read
        self._looking = asyncio.Lock()
        self._waiting: dict[asyncio.Future[None], None] = {}
        self._waking: set[asyncio.Task[None]] = set()
        self._streams: dict[str, Published] = {}
        self._journal: dict[str, array[int]] = {}
        self.number = 0
        """How many events the ledger had."""
        self.told = 0
        """Which was the last one that is not about people: what the public asks for is made anew after it alone."""
        self.reachable = False
        """Whether the store could be looked at."""
        self.stopping = False
        """Whether the service is about to end."""

    async def refresh(self) -> None:
        """Look at the store."""
        async with self._looking:
            try:
                look = await self._read(lambda: self._reader.look(self.number))
                self.reachable = True
            except DiurnalError:
                self.reachable = False
                raise
            self._take(look)
            if any(event.is_told for event in look.events):
                waking = asyncio.create_task(self._wake_in_turns())
                self._waking.add(waking)
                waking.add_done_callback(self._waking.discard)

    async def watch(self, every: float) -> None:
        """Look at the store again and again. A store that cannot be reached is looked for again."""
        while not self.stopping:
            await asyncio.sleep(every)
            await self.nudge()

    async def nudge(self) -> None:
        """Look at the store now, if it can be looked at; if not, the next look finds the same.

        Whoever has written to the store asks for it afterwards: what was written is written, and whatever goes
        wrong here must not be answered as if it were not.
        """
        try:
            await self.refresh()
        except Exception as error:
            told("store", level=logging.WARNING, error=error)

    def stop(self) -> None:
        """Let everybody who waits go home. May be called from a signal."""
        self.stopping = True
        _wake(self._waiting)

    async def _wake_in_turns(self) -> None:
        """Tell everybody who waits that something is new: some at a time, others are answered in between."""
        waiting = list(self._waiting)
        for first in range(0, len(waiting), TOLD_AT_ONCE):
            _wake(waiting[first : first + TOLD_AT_ONCE])
            await asyncio.sleep(BETWEEN)

    async def news(self, seconds: float) -> None:
        """Wait until something is new, but no longer than so many seconds."""
        waits = asyncio.get_running_loop().create_future()
        self._waiting[waits] = None
        try:
            async with asyncio.timeout(seconds):
                await waits
        except TimeoutError:
            pass
        finally:
            del self._waiting[waits]

    def streams(self) -> list[Published]:
        """Every stream there is, in the order of their start."""
        return list(self._streams.values())

    def stream(self, key: str) -> Published:
        """A stream by its name, or by how that begins.

        Raises:
            ProblemError: None begins so, or several do.
        """
        found = self._streams.get(key)
        if found is None:
            begins = [each for name, each in self._streams.items() if len(key) >= 8 and name.startswith(key)]
            if len(begins) != 1:
                raise ProblemError("http-no-stream")
            found = begins[0]
        return found

    def released(self, key: str, after: int, most: int) -> list[tuple[int, int]]:
        """What released rows of a stream, after so many of them: its place, and the number of the ledger's event.

        Places are counted for each stream: numbers of the ledger would tell when a household was erased.
        """
        journal = self._journal.get(key, array("q"))
        return list(enumerate(journal[after : after + most], start=after + 1))

    def places(self, key: str) -> int:
        """How many times a stream has released rows."""
        return len(self._journal.get(key, ()))

    def _take(self, look: Look) -> None:
        keys = {stream.number: stream.key for stream in look.streams}
        self._streams = {stream.key: stream for stream in look.streams}
        for event in look.events:
            self._note(event, keys)
            if event.is_told:
                self.told = event.number
        self.number = max(self.number, look.number)

    def _note(self, event: Event, keys: dict[int, str]) -> None:
        if event.kind == "reported" and event.number > self.number:
            self._journal.setdefault(keys[event.content["plan"]], array("q")).append(event.number)


def _wake(waiting: Iterable[asyncio.Future[None]]) -> None:
    for each in waiting:
        if not each.done():
            each.set_result(None)
