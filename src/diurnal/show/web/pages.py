"""Pages: released rows of a stream, some steps at a time, in any format.

A page is so many steps, whether they are reported yet or not: so it has the same edges for ever. Once every one of
its steps is reported, or never will be, it never changes, because a report never does: then its bytes are kept,
here and by whoever read them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass

from diurnal.curator.public_reader import Published, Reader
from diurnal.curator.release import Report
from diurnal.private import public
from diurnal.show.rows import arrow_bytes, csv_text, parquet_bytes
from diurnal.show.web.response_cache import ResponseCache

MEDIA = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
"""What a page may be written as."""

LEAST = 1024
"""From how many bytes on it is worth packing."""


@dataclass(frozen=True, kw_only=True)
class PageAsked:
    """What is asked for: all that decides the bytes of a page."""

    stream: str
    """The stream's name."""
    start: int
    """The first step."""
    stop: int | None
    """The step after the last; None for as far as there is."""
    limit: int
    """The most rows."""
    group: str | None
    """One group's rows only."""
    form: str
    """json, csv, arrow or parquet."""
    packed: bool
    """Whether as gzip."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page as it is sent."""

    body: bytes
    """Its bytes."""
    tag: str
    """A strong tag: a digest of its bytes, which are packed or not."""
    after: int | None
    """Where the next page begins; None after the last."""
    final: bool
    """Whether it never changes."""


class Pages:
    """Makes pages, and keeps those that were made. It may be used by several threads at once."""

    def __init__(self, reader: Reader, size: int) -> None:
        self._reader = reader
        self._kept: ResponseCache[Page] = ResponseCache(size, lambda page: len(page.body))

    def kept(self, asked: PageAsked, number: int) -> Page | None:
        """A page that was made before: one that never changes, or that was made since the last event."""
        return self._kept.get((asked, 0)) or self._kept.get((asked, number))

    def made(self, asked: PageAsked, stream: Published, number: int) -> Page:
        """A page, made now.

        Args:
            asked: What is asked for.
            stream: The stream.
            number: How many events the ledger has, by which a page that may change is kept.
        """
        steps, after = _steps(asked, stream)
        settled = self._reader.settled(stream, steps) and (after is not None or steps.stop == asked.stop)
        rows = public(self._reader.rows(stream, steps))
        rows = [row for row in rows if asked.group in (None, row.group, row.group.removesuffix(f" {row.series}"))]
        body = encoded(rows, asked.form, stream=stream.key, after=after)
        packed = asked.packed and len(body) >= LEAST and asked.form != "parquet"
        # The same bytes whenever they are packed: no time in them.
        body = gzip.compress(body, 6, mtime=0) if packed else body
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}{"-gzip" if packed else ""}"'
        page = Page(body=body, tag=tag, after=after, final=settled)
        self._kept.put((asked, 0 if settled else number), page)
        return page

    def size(self) -> int:
        """How many bytes are kept."""
        return self._kept.total()


def _steps(asked: PageAsked, stream: Published) -> tuple[range, int | None]:
    """The steps of a page, and where the next one begins."""
    width = 1 if asked.group is not None else max(1, stream.width)
    stop = asked.start + max(1, asked.limit // width)
    if asked.stop is not None:
        stop = min(stop, asked.stop)
    reached = -1 if stream.last_step is None else stream.last_step
    more = stop <= reached and (asked.stop is None or stop < asked.stop)
    return range(asked.start, max(asked.start, stop)), stop if more else None


def encoded(rows: list[Report], form: str, *, stream: str, after: int | None) -> bytes:
    """Rows in a format. JSON has beside them where the next page begins."""
    if form == "json":
        content = {"stream": stream, "rows": [row.to_json() for row in rows], "next": cursor(after)}
        return json.dumps(content, separators=(",", ":")).encode()
    if form == "csv":
        return csv_text(rows).encode()
    if form == "parquet":
        return parquet_bytes(rows)
    return arrow_bytes(rows)


def cursor(after: int | None) -> str | None:
    """Where the next page begins, as a word."""
    return None if after is None else f"step-{after}"


def of_cursor(word: str) -> int | None:
    """The step that a cursor stands for; None if it is none."""
    number = word.removeprefix("step-")
    return int(number) if word.startswith("step-") and number.isdecimal() and len(number) < 13 else None
