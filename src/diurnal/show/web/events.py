"""Events: reports as they are released, to whoever keeps listening (server-sent events).

    id: 17-5f0c2a91.5423
    event: reports
    data: {"stream": "...", "rows": [...]}

An id says how many releases of the stream were seen, which one was the last, and up to which step of it: who comes
back with it (`Last-Event-ID`) goes on exactly there. A store that was restored from a backup may not know that
release: then everything is told from the beginning, since rows that were told never change. A release of many steps
comes in several events.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic

from diurnal.curator.ledger import Event
from diurnal.curator.reading import Published
from diurnal.curator.report import Report
from diurnal.private import public
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.service import Service

STEPS = 500
"""How many steps an event has, at most."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far somebody has listened."""

    release: int = 0
    """How many releases of the stream they have seen, the last one perhaps in part."""
    mark: str = ""
    """Which one that was, by a digest of what it released; nothing before the first."""
    step: int | None = None
    """The last step they have seen of that one; None if they have seen all of it."""

    def __str__(self) -> str:
        release = f"{self.release}-{self.mark}" if self.mark else f"{self.release}"
        return release if self.step is None else f"{release}.{self.step}"

    @classmethod
    def of(cls, word: str) -> Place:
        """The place that an id says.

        Raises:
            ProblemError: It says none.
        """
        found = re.fullmatch(r"0|([0-9]{1,12})-([0-9a-f]{8})(?:\.([0-9]{1,12}))?", word)
        if found is None:
            raise ProblemError(422, "event-id", "That is no id of an event.", "Send the last id that was received.")
        release, mark, step = found.groups()
        return cls(release=int(release or 0), mark=mark or "", step=None if step is None else int(step))


async def place_of(service: Service, key: str, since: str | None) -> Place:
    """Where somebody begins to listen: after an id, or after all that there is.

    Raises:
        ProblemError: It is no id.
    """
    hub = service.hub
    if since is None:
        return await _marked(service, key, hub.places(key))
    place = Place.of(since)
    if place.release > hub.places(key):
        # Another process may have told them of something that this one has not looked at yet.
        await hub.refresh()
    known = place.release <= hub.places(key) and place.mark == (await _marked(service, key, place.release)).mark
    return place if known else Place()


async def _marked(service: Service, key: str, release: int) -> Place:
    """The place after so many releases."""
    if not release:
        return Place()
    ((_, number),) = list(service.hub.released(key, release - 1))[:1]
    event = await service.read(lambda: _event(service, number))
    return Place(release=release, mark=_mark(event))


async def listened(service: Service, key: str, place: Place) -> AsyncIterator[str]:
    """What is released from a place on, for ever; a comment when nothing is, until the service stops."""
    hub, told_end, quiet, beat = service.hub, False, monotonic(), service.settings.heartbeat
    # Who has seen nothing yet knows the place too: nothing is missed that is released while they are cut off.
    yield f"id: {place}\nretry: 2000\n\n"
    while not hub.stopping:
        stream = hub.stream(key)
        for release, number in hub.released(key, place.release - (place.step is not None)):
            async for reached, words in _release(service, stream, release, number, place):
                place, quiet = reached, monotonic()
                yield words
                if hub.stopping:
                    return
        if stream.end is not None and not told_end:
            told_end = True
            yield f"event: stopped\ndata: {json.dumps({'stream': key, 'end': stream.end})}\n\n"
        await hub.news(max(0.0, quiet + beat - monotonic()))
        if monotonic() >= quiet + beat:
            quiet = monotonic()
            yield ": still here\n\n"


async def _release(
    service: Service, stream: Published, release: int, number: int, place: Place
) -> AsyncIterator[tuple[Place, str]]:
    """The events of one release, after a place in it."""
    seen = place.step if place.release == release else None
    event = await service.read(lambda: _event(service, number))
    spans = [range(first, last + 1) for first, last in event.content["steps"]]
    parts = [
        range(first, min(first + STEPS, span.stop))
        for span in spans
        for first in range(span.start, span.stop, STEPS)
        if seen is None or span.stop - 1 > seen
    ]
    for at, part in enumerate(parts, start=1):
        steps = part if seen is None else range(max(part.start, seen + 1), part.stop)
        if not steps:
            continue
        rows = await service.read(lambda steps=steps: service.reader.rows(stream, steps))  # type: ignore[misc]
        place = Place(release=release, mark=_mark(event), step=None if at == len(parts) else steps.stop - 1)
        yield place, _words(stream, place, rows)


def _event(service: Service, number: int) -> Event:
    (event,) = service.reader.events(number - 1, 1)
    return event


def _mark(event: Event) -> str:
    """A release in a word, made of what it released; the event's own hash is made of private ones as well."""
    told = json.dumps([event.content["steps"], event.content["digest"]])
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def _words(stream: Published, place: Place, rows: list[Report]) -> str:
    content = {"stream": stream.key, "rows": [row.to_json() for row in public(rows)]}
    return f"id: {place}\nevent: reports\ndata: {json.dumps(content, separators=(',', ':'))}\n\n"
