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
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from time import monotonic

from diurnal.curator.ledger import Event
from diurnal.curator.public_reader import Published
from diurnal.curator.release import Report
from diurnal.private import public
from diurnal.show.web.problems import ProblemError
from diurnal.show.web.service import Service

STEPS = 500
"""How many steps an event has, at most."""

SOME = 100
"""How many releases are looked up at a time."""

NEAR = 100
"""How many releases somebody may be behind who comes back, and does not replay what is past."""


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
            raise ProblemError("http-event-id")
        release, mark, step = found.groups()
        return cls(release=int(release or 0), mark=mark or "", step=None if step is None else int(step))


async def place_of(service: Service, key: str, since: str | None) -> Place:
    """Where somebody begins to listen: after an id, or after all that there is.

    Raises:
        ProblemError: It is no id.
    """
    feed = service.feed
    if since is None:
        return await _marked(service, key, feed.places(key))
    place = Place.of(since)
    if place.release > feed.places(key):
        # Another process may have told them of something that this one has not looked at yet.
        await feed.refresh()
    known = place.release <= feed.places(key) and place.mark == (await _marked(service, key, place.release)).mark
    return place if known else Place()


async def _marked(service: Service, key: str, release: int) -> Place:
    """The place after so many releases."""
    if not release:
        return Place()
    ((_, number),) = service.feed.released(key, release - 1, 1)
    event = await service.read(lambda: _event(service, number))
    return Place(release=release, mark=_mark(event))


def is_past(service: Service, key: str, place: Place) -> bool:
    """Whether somebody who begins at a place is told first of what is long past."""
    behind = service.feed.places(key) - place.release
    return place.step is not None or behind > (NEAR if place.release else 0)


async def listened(
    service: Service, key: str, place: Place, caught_up: Callable[[], None] | None = None
) -> AsyncIterator[str]:
    """What is released from a place on, for ever; a comment when nothing is, until the service stops.

    Args:
        service: The service.
        key: The stream's name.
        place: Where to begin.
        caught_up: Is called when what is long past has been told, where it begins with that.
    """
    feed, told_end, quiet, beat = service.feed, False, monotonic(), service.settings.heartbeat
    late = monotonic() + service.settings.limits.replay
    seen, step = place.release - (place.step is not None), place.step
    # Who has seen nothing yet knows the place too: nothing is missed that is released while they are cut off.
    yield f"id: {place}\nretry: 2000\n\n"
    while not feed.stopping:
        stream = feed.stream(key)
        for release, number in feed.released(key, seen, SOME):
            async for words in _release(service, stream, release, number, step, is_past=caught_up is not None):
                quiet = monotonic()
                yield words
                if feed.stopping or (caught_up is not None and quiet > late):
                    return
            seen, step = release, None
        if seen < feed.places(key):
            continue
        if caught_up is not None:
            caught_up()
            caught_up = None
        if stream.end is not None and not told_end:
            told_end = True
            yield f"event: stopped\ndata: {json.dumps({'stream': key, 'end': stream.end})}\n\n"
        await feed.news(max(0.0, quiet + beat - monotonic()))
        if monotonic() >= quiet + beat:
            quiet = monotonic()
            yield ": still here\n\n"


async def _release(
    service: Service, stream: Published, release: int, number: int, step: int | None, *, is_past: bool
) -> AsyncIterator[str]:
    """The events of one release, after a step of it."""
    while True:
        if is_past:
            await service.after_batches()
        async with service.past if is_past else nullcontext():
            place, words = await _kept(service, stream, release, number, step)
        if words:
            yield words
        if place.step is None:
            return
        step = place.step


async def _kept(
    service: Service, stream: Published, release: int, number: int, step: int | None
) -> tuple[Place, str]:
    """What `_said` says: read once for all who listen, and kept for who comes after them."""
    name = (stream.key, number, step)
    kept = service.words.get(name)
    if kept is not None:
        return kept

    def read() -> tuple[Place, str]:
        said = _said(service, stream, release, number, step)
        # Kept before it is done: who comes just after the last who waited finds it, and reads nothing again.
        service.words.put(name, said)
        return said

    return await service.once(name, read)


def _said(service: Service, stream: Published, release: int, number: int, step: int | None) -> tuple[Place, str]:
    """The next event of a release after a step of it, and where one is then; nothing if that was its last step."""
    event = _event(service, number)
    spans = [range(first, last + 1) for first, last in event.content["steps"]]
    left = [range(max(span.start, -1 if step is None else step + 1), span.stop) for span in spans]
    left = [span for span in left if span] or [range(0)]
    steps, is_last = left[0][:STEPS], len(left) == 1 and len(left[0]) <= STEPS
    place = Place(release=release, mark=_mark(event), step=None if is_last else steps.stop - 1)
    return place, _words(stream, place, service.reader.rows(stream, steps)) if steps else ""


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
