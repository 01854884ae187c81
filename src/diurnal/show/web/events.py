"""Events: reports as they are released, to whoever keeps listening (server-sent events).

    id: 17.5423
    event: reports
    data: {"stream": "...", "rows": [...]}

An id says how many releases of the stream were seen, and up to which step the last of them: who comes back with it
(`Last-Event-ID`) goes on exactly there. A release of many steps comes in several events.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic

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

    release: int
    """How many releases of the stream they have seen, the last one perhaps in part."""
    step: int | None = None
    """The last step they have seen of that one; None if they have seen all of it."""

    def __str__(self) -> str:
        return f"{self.release}" if self.step is None else f"{self.release}.{self.step}"

    @classmethod
    def of(cls, word: str) -> Place:
        """The place that an id says.

        Raises:
            ProblemError: It says none.
        """
        release, _, step = word.partition(".")
        if not all(part.isdecimal() and len(part) < 13 for part in (release, step or "0")):
            raise ProblemError(422, "event-id", "That is no id of an event.", "Send the last id that was received.")
        return cls(release=int(release), step=int(step) if step else None)


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
    spans = await service.read(lambda: _spans(service, number))
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
        place = Place(release=release, step=None if at == len(parts) else steps.stop - 1)
        yield place, _words(stream, place, rows)


def _spans(service: Service, number: int) -> list[range]:
    """The steps that an event of the ledger released."""
    (event,) = service.reader.events(number - 1, 1)
    return [range(first, last + 1) for first, last in event.content["steps"]]


def _words(stream: Published, place: Place, rows: list[Report]) -> str:
    content = {"stream": stream.key, "rows": [row.to_json() for row in public(rows)]}
    return f"id: {place}\nevent: reports\ndata: {json.dumps(content, separators=(',', ':'))}\n\n"
